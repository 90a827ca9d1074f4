//! Reads `[workload]` as written, including its short forms.

use crate::scenario::keys;
use crate::scenario::read::document::Node;
use crate::scenario::read::table::{Table, example, list, nearest};
use crate::scenario::resolve::no_algorithm;
use crate::scenario::resolve::other_tools;
use crate::scenario::resolve::server;
use crate::scenario::resolve::trace;
use crate::scenario::schema::files::Context;
use crate::scenario::schema::nccl_words;
use crate::scenario::schema::unknown_keys::only;
use anabranch_base::{Bytes, Diagnostic, Duration, Fix, HostId, Problem};
use anabranch_fabric::TopologySpec;
use anabranch_workload::collective::{
    Algorithm, Clock, CollectiveSpec, DEFAULT_CHUNK, Members, Operation, Placement,
};
use anabranch_workload::{
    FlowFormat, IncastsSpec, MOST_LOAD, MessageSpec, PipelineSpec, SizeDistribution, WorkloadError,
    WorkloadSpec,
};

const SIZES: &[&str] = SizeDistribution::NAMES;

/// The time at which traffic begins in the flow files of the usual generators.
const NS3_ORIGIN: Duration = Duration::from_us(2_000_000);

#[derive(Clone, Copy)]
enum Kind {
    Permutation,
    Tornado,
    Incast,
    Poisson,
    Collective,
    Messages,
    Cm,
    Ns3Flows,
    Trace,
    Jobs,
    NcclTests,
}

/// The kind of a workload that sweeps sizes as nccl-tests does.
pub(in crate::scenario) const NCCL_TESTS: &str = "nccl-tests";

const KINDS: &[(&str, Kind)] = &[
    ("permutation", Kind::Permutation),
    ("tornado", Kind::Tornado),
    ("incast", Kind::Incast),
    ("poisson", Kind::Poisson),
    ("collective", Kind::Collective),
    (NCCL_TESTS, Kind::NcclTests),
    ("messages", Kind::Messages),
    ("cm", Kind::Cm),
    ("ns3-flows", Kind::Ns3Flows),
    ("trace", Kind::Trace),
    ("jobs", Kind::Jobs),
];

pub(in crate::scenario) fn read(
    cx: &Context,
    table: &Table,
    (topology, hosts): (&TopologySpec, u32),
) -> Result<WorkloadSpec, Diagnostic> {
    if let Some(spec) = cx.plugins.workload_of(table)? {
        return Ok(spec);
    }
    match kind_of(cx, table)? {
        Kind::Permutation => {
            only(table, &keys::of("permutation"))?;
            Ok(WorkloadSpec::Permutation {
                bytes: bytes(table)?,
                hosts: taking_part(table, "hosts", 2, hosts)?,
                cross_tor: table.get("cross_tor")?.unwrap_or(false),
            })
        }
        Kind::Tornado => {
            only(table, &keys::of("tornado"))?;
            Ok(WorkloadSpec::Tornado {
                bytes: bytes(table)?,
                senders: taking_part(table, "senders", 1, hosts)?,
            })
        }
        Kind::Incast => {
            only(table, &keys::of("incast"))?;
            let target: u32 = table.get("target")?.unwrap_or(0);
            if target >= hosts {
                let message =
                    format!("there is no host {target}: the fabric's {hosts} hosts are 0 to {}", hosts - 1);
                return Err(table.wrong("target", message, Fix::set("target", hosts - 1)));
            }
            let degree: u32 = table.get("degree")?.unwrap_or(hosts - 1);
            table.within("degree", u64::from(degree), 1, u64::from(hosts - 1))?;
            Ok(WorkloadSpec::Incast { bytes: bytes(table)?, degree, target: HostId(target) })
        }
        Kind::Poisson => poisson(cx, table, hosts),
        Kind::Collective => collective(cx, table, (topology, hosts)),
        Kind::Messages => messages(table, hosts),
        Kind::Cm => {
            only(table, &keys::of("cm"))?;
            let file: String = table.need("file")?;
            cx.file(table, "file", &file)?;
            let start_unit = table.get("start_unit")?.unwrap_or(Duration(1));
            table.above_zero("start_unit", start_unit)?;
            Ok(WorkloadSpec::Cm { file, start_unit })
        }
        Kind::Ns3Flows => {
            only(table, &keys::of("ns3-flows"))?;
            let file: String = table.need("file")?;
            cx.file(table, "file", &file)?;
            let format = match table.node("format") {
                None => None,
                Some(_) => Some(table.word("format", &FlowFormat::ALL)?),
            };
            let origin = table.get("origin")?.unwrap_or(NS3_ORIGIN);
            Ok(WorkloadSpec::Ns3Flows { file, origin, format })
        }
        Kind::Trace => Ok(WorkloadSpec::Trace(trace::trace(cx, table, topology)?)),
        Kind::Jobs => Ok(WorkloadSpec::Jobs { job: trace::jobs(cx, table, topology)? }),
        // The sizes of `[workload]` have already been expanded into the points of a sweep, each with a `collective`.
        Kind::NcclTests => {
            let message =
                "nccl-tests sweeps over sizes, so it can only be the kind of [workload], not that of a class";
            Err(table.wrong("kind", message, Fix::set("kind", "\"collective\"")))
        }
    }
}

/// The kind of the workload; a `.cm` file needs no `kind`.
fn kind_of(cx: &Context, table: &Table) -> Result<Kind, Diagnostic> {
    match (table.node("kind"), table.get::<String>("file")?) {
        (None, Some(file)) if file.ends_with(".cm") => Ok(Kind::Cm),
        (None, Some(file)) => {
            let message = format!("{file:?} does not end in .cm, so its kind must be said");
            let help = "kind = \"cm\", kind = \"ns3-flows\" or kind = \"trace\"";
            Err(table.wrong("file", message, help))
        }
        _ => {
            if let Some(error) = collective_kind(table).or_else(|| program_of_nccl_tests(table)) {
                return Err(error);
            }
            let written = table.get::<String>("kind").ok().flatten();
            let named = written.as_deref().unwrap_or_default();
            if let Some(error) =
                no_algorithm::error(table, "kind", named).or_else(|| other_tools::kind(table, named))
            {
                return Err(error);
            }
            let complete = |error| cx.plugins.with_workloads(written.as_deref(), error);
            table.word("kind", KINDS).map_err(complete)
        }
    }
}

fn poisson(cx: &Context, table: &Table, hosts: u32) -> Result<WorkloadSpec, Diagnostic> {
    only(table, &keys::of("poisson"))?;
    let sizes: String = table.need("sizes")?;
    // As in `anabranch_workload::files_needed`, the name of a file contains a `.` or a `/`.
    if sizes.contains(['.', '/']) {
        cx.file(table, "sizes", &sizes)?;
    } else if !SIZES.contains(&sizes.as_str()) {
        let help = match nearest(&sizes, SIZES) {
            Some(near) => Fix::set("sizes", format!("{near:?}")),
            None => format!("sizes = one of {}, or a file's name such as \"sizes.cdf\"", list(SIZES)).into(),
        };
        return Err(table.wrong("sizes", format!("unknown size distribution {sizes:?}"), help));
    }
    let load: f64 = table.need("load")?;
    if !(load > 0.0 && load <= MOST_LOAD) {
        let message =
            format!("load must be above 0 and at most {MOST_LOAD} of a host's line rate, not {load}");
        // The rounding removes digits that exist only because of the binary representation.
        let percent = (load * 1e7).round() / 1e9;
        let instead = match load {
            // A load a little above the limit is not meant as a percentage.
            load if load > MOST_LOAD && load <= 2.0 * MOST_LOAD => MOST_LOAD.to_string(),
            _ if percent > 0.0 && percent <= MOST_LOAD => percent.to_string(),
            _ => example("load").to_owned(),
        };
        return Err(table.wrong("load", message, Fix::set("load", instead)));
    }
    let duration: Duration = table.need("duration")?;
    table.above_zero("duration", duration)?;
    let hosts = taking_part(table, "hosts", 2, hosts)?;
    let inter = match table.node("inter").map(Node::value) {
        None => None,
        Some(toml::Value::String(word)) if word == UNIFORM => None,
        Some(_) => Some(share(table)?),
    };
    let incast = match table.node("incast") {
        Some(node) => Some(incasts(&Table::open(table.file, "[workload.incast]", node)?, hosts, load)?),
        None => None,
    };
    let pipeline = match table.node("pipeline") {
        Some(node) => {
            let beside = load + incast.as_ref().map_or(0.0, |incast| incast.load);
            Some(pipeline(&Table::open(table.file, "[workload.pipeline]", node)?, beside)?)
        }
        None => None,
    };
    Ok(WorkloadSpec::Poisson { sizes, load, hosts, duration, inter, incast, pipeline })
}

/// The value of `inter` with which receivers are drawn from all other hosts.
const UNIFORM: &str = "uniform";

fn share(table: &Table) -> Result<f64, Diagnostic> {
    let share: f64 = table.need("inter")?;
    if (0.0..=1.0).contains(&share) {
        return Ok(share);
    }
    let percent = share / 100.0;
    let instead = match (0.0..=1.0).contains(&percent) {
        true => percent.to_string(),
        false => example("inter").to_owned(),
    };
    let message = format!("inter must be 0 to 1, the share of messages between data centres, not {share}");
    Err(table.wrong("inter", message, Fix::set("inter", instead)))
}

/// `beside` is the load of the background.
fn incasts(table: &Table, hosts: u32, beside: f64) -> Result<IncastsSpec, Diagnostic> {
    only(table, &keys::of("incasts"))?;
    let degree: u32 = table.need("degree")?;
    table.within("degree", u64::from(degree), 1, u64::from(hosts - 1))?;
    let bytes = bytes(table)?;
    let load = load_beside(table, "incasts", beside, "the background")?;
    Ok(IncastsSpec { degree, bytes, load })
}

/// `beside` is the total load of the other parts of the workload.
fn pipeline(table: &Table, beside: f64) -> Result<PipelineSpec, Diagnostic> {
    only(table, &keys::of("pipeline"))?;
    let bytes = bytes(table)?;
    let load = load_beside(table, "a pipeline", beside, "the other parts")?;
    Ok(PipelineSpec { bytes, load, persistent: table.get("persistent")?.unwrap_or_default() })
}

/// Reads the `load` of a part, and checks that its sum with the load `beside` of the other parts is at most
/// [`MOST_LOAD`]. `of` and `others` name the parts in the error.
fn load_beside(table: &Table, of: &str, beside: f64, others: &str) -> Result<f64, Diagnostic> {
    let load: f64 = table.need("load")?;
    if load > 0.0 && beside + load <= MOST_LOAD {
        return Ok(load);
    }
    let message = format!(
        "load of {of} must be above 0 and, with the {beside} of {others}, at most {MOST_LOAD} of the hosts' line \
         rate, not {load}"
    );
    let percent = load / 100.0;
    let fits = percent > 0.0 && beside + percent <= MOST_LOAD;
    let help = match (fits, beside + 0.05 <= MOST_LOAD) {
        (true, _) => Fix::set("load", percent),
        (false, true) => Fix::set("load", "0.05"),
        (false, false) => "load = 0.05, and a smaller load of [workload]".to_owned().into(),
    };
    Err(table.wrong("load", message, help))
}

fn messages(table: &Table, hosts: u32) -> Result<WorkloadSpec, Diagnostic> {
    only(table, &keys::of("messages"))?;
    let written = table.tables("message", "workload.message")?;
    if written.is_empty() {
        let help = "[[workload.message]] and below it from = 0, to = 1, bytes = \"8MiB\"";
        return Err(table.wrong("message", "there is no message", help));
    }
    let message = written.iter().map(|table| message(table, hosts)).collect::<Result<_, _>>()?;
    Ok(WorkloadSpec::Messages { message })
}

fn message(table: &Table, hosts: u32) -> Result<MessageSpec, Diagnostic> {
    only(table, &keys::of("message"))?;
    let host = |key: &str| -> Result<HostId, Diagnostic> {
        let host: u32 = table.need(key)?;
        if host < hosts {
            return Ok(HostId(host));
        }
        let message = format!("there is no host {host}: the fabric's {hosts} hosts are 0 to {}", hosts - 1);
        Err(table.wrong(key, message, Fix::set(key, hosts - 1)))
    };
    let (from, to) = (host("from")?, host("to")?);
    if from == to {
        let other = (to.0 + 1) % hosts;
        return Err(table.wrong("to", format!("host {from} cannot send to itself"), Fix::set("to", other)));
    }
    let start = table.get("start")?.unwrap_or(Duration::ZERO);
    Ok(MessageSpec { from, to, bytes: bytes(table)?, start })
}

/// The algorithms that perform the collective `written`, whatever separates its words: all-reduce, AllReduce.
fn algorithms_of(written: &str) -> Vec<&'static str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let all = Algorithm::ALL.iter().map(|(name, _)| *name);
    all.filter(|name| !plain(written).is_empty() && plain(name).starts_with(&plain(written))).collect()
}

fn named_algorithm(names: &[&str]) -> Option<String> {
    let (first, others) = names.split_first()?;
    let others = if others.is_empty() { String::new() } else { format!(", or one of {}", list(others)) };
    Some(format!("algorithm = {first:?}{others}"))
}

/// The error for a workload whose kind is the name of a collective.
fn collective_kind(table: &Table) -> Option<Diagnostic> {
    let kind = table.get::<String>("kind").ok()??;
    let instead = named_algorithm(&algorithms_of(&kind))?;
    let message = format!("{kind:?} is a collective and no kind of workload");
    Some(table.wrong("kind", message, format!("kind = \"collective\" and below it {instead}")))
}

/// The error for a kind that is the name of a program of nccl-tests, such as `all_reduce_perf`.
fn program_of_nccl_tests(table: &Table) -> Option<Diagnostic> {
    let kind = table.get::<String>("kind").ok()??;
    let operation = kind.strip_suffix("_perf").unwrap_or(&kind);
    let (name, _) = Operation::ALL.iter().find(|(name, _)| operation == *name)?;
    let message = format!("{kind:?} is a program of nccl-tests and no kind of workload");
    let help = format!("kind = {:?} and below it operation = {name:?}", NCCL_TESTS);
    Some(table.wrong("kind", message, help))
}

/// The algorithm that a value of NCCL's variable NCCL_ALGO names for an operation.
pub(in crate::scenario) fn named_by_nccl(operation: Operation, name: &str) -> Option<Algorithm> {
    let is_allreduce = operation == Operation::AllReduce;
    if Algorithm::ALL.iter().any(|(known, _)| *known == name) {
        return None;
    }
    let plain = name.to_ascii_lowercase().replace(['-', '_', ' '], "");
    let of_operation = operation.name().replace('_', "");
    match plain.strip_prefix(of_operation.as_str()).unwrap_or(&plain) {
        "ring" if is_allreduce => Some(Algorithm::AllreduceRing),
        "ring" => Some(operation.usual_algorithm(false)),
        "tree" | "doubletree" if is_allreduce => Some(Algorithm::AllreduceDoubleBinaryTree),
        "nvls" | "nvlstree" if is_allreduce => Some(Algorithm::AllreduceHierarchical),
        "rabenseifner" if is_allreduce => Some(Algorithm::AllreduceHalvingDoubling),
        _ => None,
    }
}

/// The algorithm that the key `algo` names, which other tools have in place of `algorithm`.
fn named_by_algo(table: &Table) -> Option<&'static str> {
    let written = table.node("algo").filter(|_| table.node("algorithm").is_none())?.value();
    let written = written.as_str()?;
    let known = Algorithm::ALL.iter().map(|(name, _)| *name).find(|name| *name == written);
    let of_nccl = || named_by_nccl(Operation::AllReduce, written).map(|algorithm| algorithm.name());
    known.or_else(of_nccl).or_else(|| algorithms_of(written).first().copied())
}

/// The error for an algorithm that is named as in `NCCL_ALGO`. It is `instead` here.
pub(in crate::scenario) fn of_nccl_algo(table: &Table, instead: Algorithm) -> Diagnostic {
    let name = instead.name();
    let reduces_in_switches = || {
        let server = Table::open(table.file, "[workload.server]", table.node("server")?).ok()?;
        server.get::<bool>("nvls").ok()?
    };
    let is_nvls = instead == Algorithm::AllreduceHierarchical;
    let (of_servers, fix) = match is_nvls && reduces_in_switches() != Some(true) {
        true => (
            " with nvls = true",
            Fix::text(format!("algorithm = {name:?}, and nvls = true below [workload.server]")),
        ),
        false => ("", Fix::set("algorithm", format!("{name:?}"))),
    };
    table.wrong("algorithm", format!("the algorithm that NCCL_ALGO names is {name:?}{of_servers} here"), fix)
}

fn algorithm(table: &Table) -> Result<Algorithm, Diagnostic> {
    let all: Vec<&str> = Algorithm::ALL.iter().map(|(name, _)| *name).collect();
    if let Some(node) = table.node("collective") {
        let written = node.value();
        let meant = algorithms_of(written.as_str().unwrap_or_default());
        let help = named_algorithm(if meant.is_empty() { &all } else { &meant }).unwrap_or_default();
        return Err(table.wrong("collective", "which collective it is says its algorithm", help));
    }
    table.word("algorithm", &Algorithm::ALL).map_err(|error| {
        if let Some(instead) = named_by_algo(table) {
            return error.with_fix(Fix::text(format!("algorithm = {instead:?} in place of algo")));
        }
        let written = table.get::<String>("algorithm").ok().flatten().unwrap_or_default();
        if let Some(instead) = named_by_nccl(Operation::AllReduce, &written) {
            let Diagnostic { message, fix, .. } = of_nccl_algo(table, instead);
            return Diagnostic { message, fix, ..error };
        }
        if let Some(error) = no_algorithm::error(table, "algorithm", &written) {
            return error;
        }
        let meant = named_algorithm(&algorithms_of(&written));
        Diagnostic { fix: meant.map(Fix::from).or(error.fix.clone()), ..error }
    })
}

fn collective(
    cx: &Context,
    table: &Table,
    (topology, hosts): (&TopologySpec, u32),
) -> Result<WorkloadSpec, Diagnostic> {
    let algorithm = algorithm(table)?;
    only(table, &keys::of("collective"))?;
    let (server, gpus) = server::read(cx, (table, "workload"), topology)?.unzip();
    // With `[workload.server]` but without its key `ranks`, the job runs on the topology's GPUs. Otherwise it runs on
    // the topology's hosts.
    let hosts = gpus.flatten().unwrap_or(hosts);
    let members = members(table, hosts)?;
    let to_all = algorithm == Algorithm::Alltoall;
    let chunk = table.get("chunk")?.or_else(|| (!to_all).then_some(DEFAULT_CHUNK));
    let all = members.largest().saturating_sub(1);
    let connections = table.get("connections")?.or_else(|| to_all.then_some(all));
    let depth = table.get("depth")?;
    let clock = match table.node("clock").is_some() {
        true => Some(table.word("clock", &Clock::ALL)?),
        false => depth.map(|_| Clock::Ack),
    };
    let bytes = bytes(table).map_err(|error| nccl_words::of_size(table, "bytes", error))?;
    let jitter = table.get("jitter")?.filter(|jitter: &Duration| jitter.0 > 0);
    let spec = CollectiveSpec { algorithm, bytes, members, chunk, connections, depth, clock, jitter, server };
    match spec.check(hosts) {
        Ok(()) => Ok(WorkloadSpec::Collective(spec)),
        Err(WorkloadError::Key { key, what: Problem { message, fix } }) => {
            let help = fix.map_or_else(|| Fix::text(format!("another {key}")), |fix| fix.of_key(key));
            Err(table.wrong(key, format!("{key}: {message}"), help))
        }
        Err(other) => Err(table.wrong("algorithm", other.to_string(), "another workload")),
    }
}

/// The groups as listed, or placed jobs. The default is one job on all hosts.
fn members(table: &Table, hosts: u32) -> Result<Members, Diagnostic> {
    let Some(groups) = table.get("groups")? else {
        let ranks = table.get("ranks")?.unwrap_or(hosts);
        let jobs = table.get("jobs")?.unwrap_or(1);
        let placement = match table.node("placement") {
            None => Placement::Blocks,
            Some(_) => table.word("placement", &Placement::ALL)?,
        };
        return Ok(Members::Placed { ranks, jobs, placement });
    };
    match ["ranks", "jobs", "placement"].iter().find(|key| table.node(key).is_some()) {
        None => Ok(Members::Groups { groups }),
        Some(key) => {
            let message = format!("{key} says what groups already say");
            Err(table.wrong(key, message, format!("groups or {key}, not both")))
        }
    }
}

fn bytes(table: &Table) -> Result<Bytes, Diagnostic> {
    let bytes: Bytes = table.need("bytes")?;
    table.above_zero("bytes", bytes)?;
    Ok(bytes)
}

/// The number of hosts that take part. The default is all hosts of the fabric.
fn taking_part(table: &Table, key: &str, least: u32, hosts: u32) -> Result<u32, Diagnostic> {
    let count = table.get(key)?.unwrap_or(hosts);
    if count > hosts {
        let message = format!("{key} is {count}, but the fabric has {hosts} hosts");
        return Err(table.wrong(key, message, Fix::set(key, hosts)));
    }
    table.within(key, u64::from(count), u64::from(least), u64::from(hosts))?;
    Ok(count)
}
