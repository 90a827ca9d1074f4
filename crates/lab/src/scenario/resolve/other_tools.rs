//! Errors for kinds of workloads and formats of traces by the names of other tools.

use crate::scenario::read::table::Table;
use anabranch_base::{Code, Diagnostic, Fix};
use anabranch_workload::Format;

/// The format of the traces of a tool.
fn format_of(tool: &str) -> Option<&'static str> {
    match tool.to_lowercase().replace(['-', '_', ' '], "").as_str() {
        "simai" | "aicb" | "simaiworkload" => Some("simai"),
        "astrasim" | "astra" | "chakra" | "et" | "chakraet" => Some("chakra"),
        "goal" | "atlahs" | "logopsim" | "loggopsim" => Some("goal"),
        "msccl" | "xml" => Some("msccl"),
        "mscclpp" | "msccl++" => Some("mscclpp"),
        _ => None,
    }
}

/// The error for a kind of workload that is a tool or a mixture of experts.
pub(in crate::scenario) fn kind(table: &Table, written: &str) -> Option<Diagnostic> {
    let help = match (format_of(written), written.to_lowercase().as_str()) {
        (Some(format), _) => {
            let file = match table.node("file") {
                Some(_) => String::new(),
                None => ", and file, the name of its file".to_owned(),
            };
            format!("kind = \"trace\" and below it format = {format:?}{file}")
        }
        (None, "moe" | "mixture-of-experts" | "expert-parallel" | "ep" | "deepep") => {
            "kind = \"collective\" and below it algorithm = \"alltoall\", with groups for groups of experts; its blocks are equal"
                .to_owned()
        }
        _ => return None,
    };
    Some(unknown(table, "kind", written, Fix::text(help)))
}

/// Reads the format of a trace. The error for the name of a tool has the format of its traces.
pub(in crate::scenario) fn format(table: &Table) -> Result<Format, Diagnostic> {
    table.word("format", &Format::ALL).map_err(|error| {
        let written = table.get::<String>("format").ok().flatten();
        match written.as_deref().and_then(format_of) {
            Some(format) => error.with_fix(Fix::set("format", format!("{format:?}"))),
            None => error,
        }
    })
}

fn unknown(table: &Table, key: &str, written: &str, help: Fix) -> Diagnostic {
    Diagnostic { code: Code::UnknownName, ..table.wrong(key, format!("unknown {key} {written:?}"), help) }
}
