//! Jobs from traces as written.

use super::ScenarioError;
use super::context::Context;
use super::keys;
use super::table::Table;
use anabranch_base::Bytes;
use anabranch_workload::collective::{Algorithm, DEFAULT_CHUNK, Placement};
use anabranch_workload::{AlgorithmFrom, Format, SendEnds, TraceSpec};

/// A job from a file of another tool. What its file says and does not fit is found when the workload is built.
pub(super) fn trace(cx: &Context, table: &Table) -> Result<TraceSpec, ScenarioError> {
    table.only(&keys::of("trace"))?;
    let file: String = table.need("file")?;
    let format = table.word("format", &Format::ALL)?;
    let comm_groups: Option<String> = table.get("comm_groups")?;
    match format {
        Format::Chakra => cx.files_of_ranks(table, "file", &file, comm_groups.as_deref())?,
        _ => drop(cx.file(table, "file", &file)?),
    }
    let placement = match table.node("placement").is_some() {
        true => table.word("placement", &Placement::ALL)?,
        false => Placement::Blocks,
    };
    let ends = match table.node("ends").is_some() {
        true => table.word("ends", &SendEnds::ALL)?,
        false => format.ends(),
    };
    for (key, whose) in [
        ("bytes", &[Format::Msccl][..]),
        ("chunk", &[Format::Simai, Format::Chakra]),
        ("without_pipeline", &[Format::Simai]),
        ("comm_groups", &[Format::Chakra]),
        ("algorithm", &[Format::Simai, Format::Chakra]),
    ] {
        if table.node(key).is_some() && !whose.contains(&format) {
            let whose: Vec<String> = whose.iter().map(|format| format!("{:?}", format.name())).collect();
            let message = format!("{key} is for format = {}, not {:?}", whose.join(" or "), format.name());
            return Err(table.wrong(key, message, format!("[workload] without {key}")));
        }
    }
    let bytes = match format {
        Format::Msccl => Some(table.need("bytes")?),
        _ => None,
    };
    if bytes == Some(Bytes(0)) {
        return Err(table.wrong("bytes", "bytes must be above 0", "bytes = \"8MiB\""));
    }
    let chunk = match format {
        Format::Simai | Format::Chakra => Some(table.get("chunk")?.unwrap_or(DEFAULT_CHUNK)),
        _ => None,
    };
    if chunk == Some(Bytes(0)) {
        return Err(table.wrong("chunk", "a chunk must have at least 1B", "chunk = \"128KB\""));
    }
    let without_pipeline = table.get("without_pipeline")?.unwrap_or_default();
    let algorithm = algorithms(table)?;
    Ok(TraceSpec { format, file, placement, ends, bytes, chunk, without_pipeline, comm_groups, algorithm })
}

/// Which algorithms do collectives from which size on.
fn algorithms(table: &Table) -> Result<Vec<AlgorithmFrom>, ScenarioError> {
    let mut algorithms: Vec<AlgorithmFrom> = Vec::new();
    for table in table.tables("algorithm", "workload.algorithm")? {
        table.only(&keys::of("algorithm"))?;
        let algorithm = table.word("algorithm", &Algorithm::ALL)?;
        let from = table.get("from")?.unwrap_or(Bytes(0));
        let same = |other: &&AlgorithmFrom| {
            other.from == from && other.algorithm.collective() == algorithm.collective()
        };
        if let Some(other) = algorithms.iter().find(same) {
            let message = format!(
                "from {from} on, {} already does every {}",
                other.algorithm.name(),
                algorithm.collective()
            );
            return Err(table.wrong("from", message, "another from, such as \"1MB\""));
        }
        algorithms.push(AlgorithmFrom { algorithm, from });
    }
    Ok(algorithms)
}
