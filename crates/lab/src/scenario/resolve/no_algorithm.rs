//! Errors for collectives and algorithms of NCCL and MPI that are not simulated.

use crate::scenario::read::table::Table;
use anabranch_base::{Code, Diagnostic, Fix};

/// The error for the value of `key` if it is such a collective or algorithm.
pub(in crate::scenario) fn error(table: &Table, key: &str, written: &str) -> Option<Diagnostic> {
    let plain = written.to_lowercase().replace(['-', '_', ' '], "");
    let plain = plain.strip_suffix("perf").unwrap_or(&plain);
    if ["sharp", "collnet"].iter().any(|name| plain.contains(name)) {
        let message = "switches of the network that reduce (SHARP, CollNet) are not simulated";
        let help = "algorithm = \"allreduce-hierarchical\" with nvls = true below [workload.server], which reduces in \
                    NVLink switches, or another algorithm";
        return Some(unknown(table, key, message.to_owned(), help));
    }
    let instead = match (plain, key) {
        ("bcast", "algorithm") => {
            let fix = Fix::set("algorithm", "\"broadcast-ring\"");
            let error = table.wrong(key, format!("unknown algorithm {written:?}"), fix);
            return Some(Diagnostic { code: Code::UnknownName, ..error });
        }
        ("alltoallv" | "all2allv" | "dispatch" | "combine" | "moe", "algorithm") => {
            "algorithm = \"alltoall\", whose blocks are equal; a trace (kind = \"trace\") has blocks of any size"
        }
        ("alltoallv" | "all2allv" | "dispatch" | "combine", "operation") => {
            "operation = \"alltoall\", whose blocks are equal"
        }
        ("pat" | "allgatherpat", "algorithm") => "algorithm = \"allgather-ring\"",
        ("reducescatterpat", "algorithm") => "algorithm = \"reducescatter-ring\"",
        ("gather", _) => "kind = \"incast\", in which many hosts send to one",
        ("scatter", _) => "kind = \"messages\" with a [[workload.message]] from the root to each other host",
        ("reduce" | "reducering" | "reducetree", "algorithm") => {
            "algorithm = \"broadcast-ring\", which sends as many bytes the other way round the ring"
        }
        ("reduce", "operation") => {
            "operation = \"broadcast\", which sends as many bytes the other way round the ring"
        }
        ("reduce", _) => {
            "kind = \"collective\" and below it algorithm = \"broadcast-ring\", which sends as many bytes the other way round the \
             ring"
        }
        _ => return None,
    };
    Some(unknown(table, key, format!("{written:?} is not simulated"), instead))
}

fn unknown(table: &Table, key: &str, message: String, help: &str) -> Diagnostic {
    Diagnostic { code: Code::UnknownName, ..table.wrong(key, message, Fix::text(help)) }
}
