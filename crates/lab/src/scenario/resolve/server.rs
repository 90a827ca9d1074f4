//! The table `[workload.server]`.

use crate::scenario::keys;
use crate::scenario::read::table::Table;
use crate::scenario::resolve::fabric_values::{nvlink_rate, refused};
use crate::scenario::schema::files::Context;
use crate::scenario::schema::unknown_keys::only;
use anabranch_base::{Code, Diagnostic, Rate};
use anabranch_fabric::{NvLink, TopologySpec};
use anabranch_workload::ServerSpec;

#[derive(Clone, Copy)]
struct TopologyServers {
    gpus: u32,
    /// The number of NICs of the NVLink domain with the most NICs.
    nics: u32,
    nvlink: Option<NvLink>,
}

impl TopologyServers {
    fn of(cx: &Context, table: &Table, topology: &TopologySpec) -> Result<Option<Self>, Diagnostic> {
        if let Some((_, spec)) = topology.clos() {
            let (gpus, nvlink) = (spec.servers.saturating_mul(spec.gpus), spec.nvlink_of_gpu());
            let nics = spec.nics.saturating_mul(spec.nvlink_domain);
            return Ok(Some(TopologyServers { gpus, nics, nvlink }));
        }
        if !matches!(topology, TopologySpec::Registered(_) | TopologySpec::Graph { .. }) {
            return Ok(None);
        }
        let text = topology.file().map(|file| cx.file(table, "file", file)).transpose()?;
        let built = anabranch_fabric::build(topology, text.as_deref());
        let servers = built.map_err(|error| refused(table, error))?.servers;
        Ok(servers.map(|servers| TopologyServers {
            gpus: servers.gpus(),
            nics: servers.nics_of_domain(),
            nvlink: servers.nvlink,
        }))
    }
}

fn without_nvlink(table: &Table) -> Diagnostic {
    let message =
        format!("{} has no \"link\", the rate of NVLink, and takes none from [topology]", table.name);
    let help = "link = \"3600Gbps\" (18 NVLinks of an H100, one direction)";
    Diagnostic { code: Code::MissingKey, ..table.wrong("link", message, help) }
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
    only(table, &keys::of("server"))?;
    let ranks: Option<u32> = match (table.node("ranks"), servers) {
        (None, Some(_)) => None,
        _ => Some(table.need("ranks")?),
    };
    if let Some(ranks) = ranks {
        table.within("ranks", u64::from(ranks), 2, MOST_RANKS)?;
    }
    let of_topology = servers.filter(|_| ranks.is_none());
    let nvlink = of_topology.and_then(|servers| servers.nvlink);
    let link: Rate = match (nvlink_rate(table, "link")?, nvlink) {
        (None, Some(nvlink)) => nvlink.rate,
        (Some(link), _) => link,
        (None, None) => return Err(without_nvlink(table)),
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
