//! Reads the keys of workloads and jobs that come from traces.

use crate::scenario::keys;
use crate::scenario::read::table::Table;
use crate::scenario::resolve::fabric_values::refused;
use crate::scenario::resolve::other_tools;
use crate::scenario::resolve::server;
use crate::scenario::schema::files::Context;
use crate::scenario::schema::unknown_keys::only;
use anabranch_base::{Bytes, Diagnostic, Duration, Fix, Problem};
use anabranch_fabric::TopologySpec;
use anabranch_workload::collective::{Algorithm, DEFAULT_CHUNK, Placement, without_servers};
use anabranch_workload::{AlgorithmFrom, Format, RankHosts, RankOrder, SendEnds, Streams, TraceSpec};

pub(in crate::scenario) fn trace(
    cx: &Context,
    table: &Table,
    topology: &TopologySpec,
) -> Result<TraceSpec, Diagnostic> {
    only(table, &keys::of("trace"))?;
    job(cx, table, "workload", topology)
}

pub(in crate::scenario) fn jobs(
    cx: &Context,
    table: &Table,
    topology: &TopologySpec,
) -> Result<Vec<TraceSpec>, Diagnostic> {
    only(table, &keys::of("jobs"))?;
    let written = table.tables("job", "workload.job")?;
    if written.is_empty() {
        let help = "[[workload.job]] and below it format = \"goal\", file = \"job.goal\"";
        return Err(table.wrong("job", "there is no job", help));
    }
    let of = |table: &Table| {
        no_collective(table)?;
        only(table, &keys::of("job"))?;
        job(cx, table, "workload.job", topology)
    };
    written.iter().map(of).collect()
}

/// Rejects a job that is a collective in place of a trace.
fn no_collective(table: &Table) -> Result<(), Diagnostic> {
    let names_one = |key: &&str| table.node(key).is_some_and(|node| node.value().is_str());
    let Some(key) = ["algorithm", "operation", "kind"].into_iter().find(names_one) else { return Ok(()) };
    if table.node("file").is_some() {
        return Ok(());
    }
    let message = format!("{} is a job of a trace, with format and file, and has no {key}", table.name);
    let help = "kind = \"collective\" below [workload] for one collective, with jobs or groups for several like it; for another one \
                beside it [[class]] with name, scheme and [class.workload], each with groups of its own";
    Err(table.wrong(key, message, help))
}

fn job(cx: &Context, table: &Table, name: &str, topology: &TopologySpec) -> Result<TraceSpec, Diagnostic> {
    let file: String = table.need("file")?;
    let format = other_tools::format(table)?;
    let comm_groups: Option<String> = table.get("comm_groups")?;
    match format {
        Format::Chakra => cx.files_of_ranks(table, "file", &file, comm_groups.as_deref())?,
        Format::Goal => cx.goal(table, "file", &file)?,
        Format::Msccl | Format::Mscclpp | Format::Simai => drop(cx.file(table, "file", &file)?),
    }
    let rank_hosts = rank_hosts(cx, table)?;
    let ends = match table.node("ends").is_some() {
        true => table.word("ends", &SendEnds::ALL)?,
        false => format.ends(),
    };
    refuse_keys_of_other_formats(table, format)?;
    let bytes = bytes(table, format)?;
    let chunk = chunk(table, format)?;
    let without_pipeline = table.get("without_pipeline")?.unwrap_or_default();
    let layers = layers(table)?;
    let ranks = table.get("ranks")?;
    let rank_order = match table.node("rank_order").is_some() {
        true => table.word("rank_order", &RankOrder::ALL)?,
        false => RankOrder::default(),
    };
    let system: Option<String> = table.get("system")?;
    if let Some(system) = &system {
        cx.file(table, "system", system)?;
    }
    let dims = dims(cx, table, system.is_some())?;
    let replicate = table.get("replicate")?;
    if let Some(replicate) = replicate {
        table.within("replicate", u64::from(replicate), 2, MOST_RANKS)?;
    }
    let without_missing = table.get("without_missing")?.unwrap_or_default();
    let without_control = table.get("without_control")?.unwrap_or_default();
    let streams = match table.node("streams").is_some() {
        true => table.word("streams", &Streams::ALL)?,
        false => Streams::One,
    };
    let server = server::read(cx, (table, name), topology)?.map(|(server, _)| server);
    let algorithm = algorithms(table, name)?;
    let knows_servers = server.is_some_and(|server| server.channels.is_some());
    if let Some(needs) = algorithm.iter().find(|from| from.algorithm.needs_servers() && !knows_servers) {
        let Problem { message, fix } = without_servers(needs.algorithm);
        return Err(table.wrong("algorithm", message, fix.unwrap_or_else(|| Fix::text("another algorithm"))));
    }
    let start = table.get("start")?.unwrap_or(Duration::ZERO);
    Ok(TraceSpec {
        format,
        file,
        rank_hosts,
        start,
        ends,
        bytes,
        chunk,
        without_pipeline,
        layers,
        ranks,
        rank_order,
        comm_groups,
        system,
        dims,
        replicate,
        without_missing,
        without_control,
        streams,
        server,
        algorithm,
    })
}

fn refuse_keys_of_other_formats(table: &Table, format: Format) -> Result<(), Diagnostic> {
    for (key, whose) in [
        ("bytes", &[Format::Msccl, Format::Mscclpp][..]),
        ("chunk", &[Format::Simai, Format::Chakra]),
        ("without_pipeline", &[Format::Simai]),
        ("layers", &[Format::Simai]),
        ("ranks", &[Format::Simai]),
        ("rank_order", &[Format::Simai]),
        ("comm_groups", &[Format::Chakra]),
        ("system", &[Format::Chakra]),
        ("dims", &[Format::Chakra]),
        ("replicate", &[Format::Chakra]),
        ("without_missing", &[Format::Chakra]),
        ("without_control", &[Format::Chakra]),
        ("streams", &[Format::Chakra]),
        ("algorithm", &[Format::Simai, Format::Chakra]),
    ] {
        if table.node(key).is_some() && !whose.contains(&format) {
            let whose: Vec<String> = whose.iter().map(|format| format!("{:?}", format.name())).collect();
            let message = format!("{key} is for format = {}, not {:?}", whose.join(" or "), format.name());
            return Err(table.wrong(key, message, format!("{} without {key}", table.name)));
        }
    }
    Ok(())
}

/// The size of the buffers, for formats whose files do not contain it.
fn bytes(table: &Table, format: Format) -> Result<Option<Bytes>, Diagnostic> {
    let bytes = match format {
        Format::Msccl | Format::Mscclpp => Some(table.need("bytes")?),
        _ => None,
    };
    if bytes == Some(Bytes(0)) {
        return Err(table.wrong("bytes", "bytes must be above 0", Fix::set("bytes", "\"8MiB\"")));
    }
    Ok(bytes)
}

fn chunk(table: &Table, format: Format) -> Result<Option<Bytes>, Diagnostic> {
    let chunk = match format {
        Format::Simai | Format::Chakra => Some(table.get("chunk")?.unwrap_or(DEFAULT_CHUNK)),
        _ => None,
    };
    if chunk == Some(Bytes(0)) {
        return Err(table.wrong("chunk", "a chunk must have at least 1B", Fix::set("chunk", "\"128KB\"")));
    }
    Ok(chunk)
}

/// The first and the last layer that are simulated, counted from 1. None if all layers are simulated.
fn layers(table: &Table) -> Result<Option<[u32; 2]>, Diagnostic> {
    const MESSAGE: &str = "layers are the first and the last one, from 1";
    if let Some(count) = table.node("layers").and_then(|node| node.value().as_integer()) {
        return Err(table.wrong("layers", MESSAGE, Fix::set("layers", format!("[1, {}]", count.max(1)))));
    }
    let instead = match table.get::<Vec<u32>>("layers")?.as_deref() {
        None => return Ok(None),
        Some(&[first, last]) if first > 0 && first <= last => return Ok(Some([first, last])),
        Some(&[one]) => [1, one.max(1)],
        Some(&[one, other]) => [one.min(other).max(1), one.max(other).max(1)],
        Some(_) => [1, 8],
    };
    Err(table.wrong("layers", MESSAGE, Fix::set("layers", format!("{instead:?}"))))
}

/// The hosts of the ranks. They are named in the scenario or in a file with one host per line, or follow from
/// `placement`.
fn rank_hosts(cx: &Context, table: &Table) -> Result<RankHosts, Diagnostic> {
    let Some(node) = table.node("rank_hosts") else {
        let placement = match table.node("placement").is_some() {
            true => table.word("placement", &Placement::ALL)?,
            false => Placement::Blocks,
        };
        return Ok(RankHosts::Placed { placement });
    };
    if table.node("placement").is_some() {
        let message = "rank_hosts says where the ranks are, and so does placement";
        return Err(table.wrong("rank_hosts", message, "rank_hosts or placement, not both"));
    }
    let value = node.value();
    let Some(name) = value.as_str() else {
        let rank_hosts: Vec<u32> = table.need("rank_hosts")?;
        if rank_hosts.is_empty() {
            return Err(table.wrong("rank_hosts", "it names no host", "one host for each rank of the trace"));
        }
        return Ok(RankHosts::Named { rank_hosts });
    };
    let text = cx.file(table, "rank_hosts", name)?;
    let host = |(number, line): (usize, &str)| {
        line.trim().parse().map_err(|_| {
            let message =
                format!("{name}:{}: expected the number of a host, not {:?}", number + 1, line.trim());
            table.wrong("rank_hosts", message, format!("one host per line into {name}, that of rank 0 first"))
        })
    };
    let lines =
        text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.trim().starts_with('#'));
    let rank_hosts: Vec<u32> = lines.map(host).collect::<Result<_, _>>()?;
    if rank_hosts.is_empty() {
        let help = format!("one host per line into {name}, that of rank 0 first");
        return Err(table.wrong("rank_hosts", format!("{name} names no host"), help));
    }
    Ok(RankHosts::Named { rank_hosts })
}

/// The dimensions of collectives, from a list or from a file of ASTRA-sim's ns-3 backend.
fn dims(cx: &Context, table: &Table, has_system: bool) -> Result<Option<Vec<u32>>, Diagnostic> {
    let Some(node) = table.node("dims") else { return Ok(None) };
    if !has_system {
        let message = "dims divides collectives as system says, and there is no system";
        return Err(table.wrong("dims", message, Fix::set("system", "\"system.json\"")));
    }
    let dims: Vec<u32> = match node.value().as_str() {
        None => table.need("dims")?,
        Some(name) => {
            let text = cx.file(table, "dims", name)?;
            anabranch_fabric::parse_logical_dims(name, &text).map_err(|error| refused(table, error))?
        }
    };
    match dims.is_empty() || dims.contains(&0) {
        true => Err(table.wrong("dims", "a dimension has 1 rank or more", Fix::set("dims", "[8, 2]"))),
        false => Ok(Some(dims)),
    }
}

const MOST_RANKS: u64 = 1 << 20;

/// The algorithms of collectives, each with the smallest size for which it is used.
fn algorithms(table: &Table, name: &str) -> Result<Vec<AlgorithmFrom>, Diagnostic> {
    let mut algorithms: Vec<AlgorithmFrom> = Vec::new();
    for table in table.tables("algorithm", &format!("{name}.algorithm"))? {
        only(&table, &keys::of("algorithm"))?;
        let algorithm = table.word("algorithm", &Algorithm::ALL)?;
        let min_bytes = table.get("min_bytes")?.unwrap_or(Bytes(0));
        let same = |other: &&AlgorithmFrom| {
            other.min_bytes == min_bytes && other.algorithm.collective() == algorithm.collective()
        };
        if let Some(other) = algorithms.iter().find(same) {
            let message = format!(
                "from {min_bytes} on, {} already does every {}",
                other.algorithm.name(),
                algorithm.collective()
            );
            return Err(table.wrong("min_bytes", message, "another min_bytes, such as \"1MB\""));
        }
        algorithms.push(AlgorithmFrom { algorithm, min_bytes });
    }
    Ok(algorithms)
}
