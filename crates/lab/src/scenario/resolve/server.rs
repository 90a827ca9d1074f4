//! The table `[workload.server]`.

use crate::scenario::keys;
use crate::scenario::read::table::Table;
use crate::scenario::resolve::fabric_values::{nvlink_rate, refused};
use crate::scenario::schema::files::Context;
use crate::scenario::schema::unknown_keys::only;
use anabranch_base::{Code, Diagnostic, Fix, Rate};
use anabranch_fabric::{NvLink, TopologySpec, is_astra_network, parse_astra};
use anabranch_workload::ServerSpec;

#[derive(Clone, Copy)]
struct TopologyServers {
    gpus: u32,
    /// The number of GPUs of a server.
    of_each: u32,
    /// Whether `[topology]` has keys for the GPUs and for NVLink.
    has_keys: bool,
    /// The number of NICs of the NVLink domain with the most NICs.
    nics: u32,
    nics_of_server: u32,
    nvlink: Option<NvLink>,
}

impl TopologyServers {
    fn of(cx: &Context, table: &Table, topology: &TopologySpec) -> Result<Option<Self>, Diagnostic> {
        if let Some((_, spec)) = topology.clos() {
            let (gpus, nvlink) = (spec.servers.saturating_mul(spec.gpus), spec.nvlink_of_gpu());
            let nics = spec.nics.saturating_mul(spec.nvlink_domain);
            let (of_each, nics_of_server) = (spec.gpus, spec.nics);
            return Ok(Some(TopologyServers { gpus, of_each, has_keys: true, nics, nics_of_server, nvlink }));
        }
        if !matches!(topology, TopologySpec::Registered(_) | TopologySpec::Graph { .. }) {
            return Ok(None);
        }
        let text = topology.file().map(|file| cx.file(table, "file", file)).transpose()?;
        let built = anabranch_fabric::build(topology, text.as_deref());
        let servers = built.map_err(|error| refused(table, error))?.servers;
        Ok(servers.map(|servers| TopologyServers {
            gpus: servers.gpus(),
            of_each: servers.gpus() / servers.count().max(1),
            has_keys: false,
            nics: servers.nics_of_domain(),
            nics_of_server: u32::from(servers.rails()),
            nvlink: servers.nvlink,
        }))
    }
}

/// `server = {}` with the written keys that remain without `left_out`, and with `link` if it is given.
fn without(table: &Table, left_out: &[&str], link: Option<&str>) -> String {
    let kept = table.fields.iter().filter(|(key, _)| !left_out.contains(&key.as_str()));
    let kept = kept.map(|(key, node)| format!("{key} = {}", node.value()));
    let all: Vec<String> = link.map(|link| format!("link = {link}")).into_iter().chain(kept).collect();
    if all.is_empty() { "server = {}".to_owned() } else { format!("server = {{ {} }}", all.join(", ")) }
}

/// The error for a number of GPUs, which follows from the topology's servers.
fn only_without_gpus(table: &Table, servers: Option<TopologyServers>) -> Result<(), Diagnostic> {
    let names = ["gpus", "ngpus", "num_gpus", "gpus_per_server", "gpus_per_node"];
    let written = names.iter().find_map(|name| Some((*name, table.node(name)?)));
    let (Some(TopologyServers { of_each, has_keys, nics_of_server, nvlink, .. }), Some((key, node))) =
        (servers, written)
    else {
        return Ok(());
    };
    let message = format!(
        "unknown key {key:?} in {}: its GPUs are those of the topology's servers, {of_each} each",
        table.name
    );
    let link = (nvlink.is_none() && table.node("link").is_none()).then_some(H100);
    let left_out: Vec<&str> = names.into_iter().chain(["ranks"]).collect();
    let server = without(table, &left_out, link);
    let help = match node.value().as_integer() {
        Some(gpus) if has_keys && gpus != i64::from(of_each) => {
            // A GPU uses one NIC.
            let nics =
                if gpus < i64::from(nics_of_server) { format!(" and nics = {gpus}") } else { String::new() };
            format!("{server}, and gpus = {gpus}{nics} below [topology]")
        }
        _ => server,
    };
    Err(Diagnostic { code: Code::UnknownKey, ..table.wrong(key, message, help) })
}

/// The rate of an H100's NVLinks as a value.
const H100: &str = "\"3600Gbps\"";

fn without_nvlink(table: &Table, servers: Option<TopologyServers>, ranks: Option<u32>) -> Diagnostic {
    let name = &table.name;
    let message = format!("{name} has no \"link\", the rate of NVLink, and takes none from [topology]");
    let of_h100 = "(18 NVLinks of an H100, one direction)";
    let (message, help) = match (servers, ranks) {
        (Some(TopologyServers { nvlink, .. }), Some(_)) => {
            let link = nvlink.is_none().then_some(H100);
            let why = ", since ranks makes other servers than those of the topology";
            (format!("{message}{why}"), without(table, &["ranks"], link))
        }
        (Some(TopologyServers { has_keys: true, .. }), None) => {
            (message, format!("nvlink = {H100} below [topology], or link = {H100} in {name} {of_h100}"))
        }
        _ => (message, format!("link = {H100} in {name} {of_h100}")),
    };
    Diagnostic { code: Code::MissingKey, ..table.wrong("link", message, help) }
}

/// The error for a server without `ranks` on a topology without servers.
fn without_ranks(cx: &Context, table: &Table, topology: &TopologySpec) -> Diagnostic {
    let error = table.missing("ranks");
    let error = Diagnostic {
        message: format!("{}, the ranks of a server, and the topology has no servers", error.message),
        ..error
    };
    let of_astra = || {
        let file = topology.file().filter(|file| is_astra_network(file))?;
        let text = cx.file(table, "server", file).ok()?;
        parse_astra(file, &text).ok()?.dims.first().copied()
    };
    let fix = of_astra().map_or_else(
        || Fix::set("ranks", 8),
        |first| {
            let link = Rate::from_gbps(first.link.0 / 1_000_000_000);
            Fix::text(format!(
                "no server: the links of the first dimension, of {npus}, are simulated as they are; or server = {{ ranks = {npus}, \
                 link = \"{link}\" }} for NVLink in their place",
                npus = first.npus
            ))
        },
    );
    error.with_fix(fix)
}

const MOST_RANKS: u64 = 1 << 20;
/// NCCL's largest number of channels.
const MOST_CHANNELS: u64 = 64;

/// Reads the table `server` of a job, if there is one. `name` is the name of the job's table in errors. Without the
/// key `ranks`, the servers are those of the topology. Their number of GPUs is then returned too, and the topology's
/// NVLink values are the defaults.
pub(in crate::scenario) fn read(
    cx: &Context,
    (table, name): (&Table, &str),
    topology: &TopologySpec,
) -> Result<Option<(ServerSpec, Option<u32>)>, Diagnostic> {
    let Some(node) = table.node("server") else { return Ok(None) };
    let servers = TopologyServers::of(cx, table, topology)?;
    let table = &Table::open(table.file, &format!("[{name}.server]"), node)?;
    only_without_gpus(table, servers)?;
    only(table, &keys::of("server"))?;
    let ranks: Option<u32> = match (table.node("ranks"), servers) {
        (None, Some(_)) => None,
        (None, None) => return Err(without_ranks(cx, table, topology)),
        (Some(_), _) => Some(table.need("ranks")?),
    };
    if let Some(ranks) = ranks {
        table.within("ranks", u64::from(ranks), 2, MOST_RANKS)?;
    }
    let of_topology = servers.filter(|_| ranks.is_none());
    let nvlink = of_topology.and_then(|servers| servers.nvlink);
    let link: Rate = match (nvlink_rate(table, "link")?, nvlink) {
        (None, Some(nvlink)) => nvlink.rate,
        (Some(link), _) => link,
        (None, None) => return Err(without_nvlink(table, servers, ranks)),
    };
    table.above_zero("link", link)?;
    let of_nvlink = nvlink.map_or(NvLink::LATENCY, |nvlink| nvlink.latency);
    let link_latency = table.get("link_latency")?.unwrap_or(of_nvlink);
    let pxn = table.get("pxn")?.or_else(|| of_topology.map(|_| true));
    let nics = |servers: TopologyServers| servers.nics.clamp(1, MOST_CHANNELS as u32);
    let channels: Option<u32> = table.get("channels")?.or_else(|| of_topology.map(nics));
    if let Some(channels) = channels {
        table.within("channels", u64::from(channels), 1, MOST_CHANNELS)?;
    }
    let nvls = table.get("nvls")?.unwrap_or_default();
    let spec = ServerSpec { ranks, link, link_latency, pxn, channels, nvls };
    Ok(Some((spec, of_topology.map(|servers| servers.gpus))))
}
