//! The hardware state of each balancer (REPS, Table 1) and of each program (Themis-spraying, Tables 3 and 4).

use crate::RunResult;
use crate::scenario::{scheme, schemes};
use anabranch_proto::lb::StateField;
use anabranch_proto::program::ThemisSpraying;
use anabranch_proto::{LbConfig, ProgramConfig};
use anabranch_results::{RunRow, Value};
use std::collections::BTreeMap;

/// A row for each scheme that comes with the program; two for one whose balancer has a buffer.
pub(super) fn run() -> Vec<RunResult> {
    schemes()
        .into_iter()
        .flat_map(|listing| {
            let scheme = scheme(listing.name).expect("a scheme that is listed exists");
            let program = scheme.fabric.program.as_ref().map(of_program).unwrap_or_default();
            match scheme.lb {
                LbConfig::Reps(config) => {
                    let mut sizes = vec![1, config.buffer];
                    sizes.dedup();
                    let row = |buffer| {
                        let state =
                            LbConfig::Reps(anabranch_proto::lb::RepsConfig { buffer, ..config.clone() })
                                .state();
                        result(listing.name, Some(buffer), &state)
                    };
                    sizes.into_iter().map(row).collect()
                }
                lb @ (LbConfig::Ecmp {}
                | LbConfig::Ops { .. }
                | LbConfig::Strack(_)
                | LbConfig::MpRdma(_)) => {
                    let mut result = result(listing.name, None, &lb.state());
                    result.run.extra.extend(program);
                    vec![result]
                }
            }
        })
        .collect()
}

/// Bytes of a program's state for a queue pair, in all (`program_bytes`) and at either ToR; and of a ToR with as many
/// NICs and queue pairs as Themis-spraying, Table 2 (`tor_bytes`).
fn of_program(program: &ProgramConfig) -> BTreeMap<String, f64> {
    let state = program.state();
    let bytes = |side: &str| -> f64 {
        let fields = state.iter().filter(|field| field.name.starts_with(side));
        fields.map(|field| f64::from(field.bits) * f64::from(field.count)).sum::<f64>() / 8.0
    };
    let mut extra = BTreeMap::from([("program_bytes".to_owned(), bytes(""))]);
    if let ProgramConfig::ThemisSpraying(config) = program {
        extra.insert("source_tor_bytes".to_owned(), bytes("S: "));
        extra.insert("destination_tor_bytes".to_owned(), bytes("D: "));
        extra.insert("tor_bytes".to_owned(), ThemisSpraying::tor_bytes(config, 512, 16) as f64);
    }
    extra
}

fn result(scheme: &str, buffer: Option<u32>, state: &[StateField]) -> RunResult {
    let bits = |field: &StateField| f64::from(field.bits) * f64::from(field.count);
    let mut extra = BTreeMap::from([("state_bits".to_owned(), state.iter().map(bits).sum())]);
    extra.extend(state.iter().map(|field| (format!("state_bits:{}", field.name), bits(field))));
    let sweep = buffer.map(|buffer| ("buffer".to_owned(), Value::Integer(i64::from(buffer))));
    let run =
        RunRow { scheme: scheme.to_owned(), sweep: sweep.into_iter().collect(), extra, ..RunRow::default() };
    RunResult { run, flows: Vec::new(), jobs: Vec::new(), series: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(rows: &[RunResult], scheme: &str, buffer: Option<i64>) -> f64 {
        let wanted = |row: &&RunResult| {
            row.run.scheme == scheme && row.run.sweep.get("buffer") == buffer.map(Value::Integer).as_ref()
        };
        rows.iter().find(wanted).unwrap().run.extra["state_bits"]
    }

    /// REPS, Table 1: 74 bits with one element, 193 with eight.
    #[test]
    fn reps_has_the_papers_state() {
        let rows = run();
        assert_eq!(bits(&rows, "reps", Some(1)), 74.0);
        assert_eq!(bits(&rows, "reps", Some(8)), 193.0);
        assert_eq!(bits(&rows, "ops", None), 0.0);
    }

    /// Themis-spraying, Tables 3 and 4 and equation 5.
    #[test]
    fn themis_has_the_papers_state() {
        let rows = run();
        let themis = &rows.iter().find(|row| row.run.scheme == "themis-spraying").unwrap().run.extra;
        assert_eq!((themis["source_tor_bytes"], themis["destination_tor_bytes"]), (516.0, 661.0));
        assert_eq!(themis["program_bytes"], 1_177.0);
        assert_eq!(themis["tor_bytes"], 9_642_240.0);
    }

    #[test]
    fn fields_add_up() {
        for row in run() {
            let fields: f64 = row
                .run
                .extra
                .iter()
                .filter(|(name, _)| name.starts_with("state_bits:"))
                .map(|(_, bits)| bits)
                .sum();
            assert_eq!(fields, row.run.extra["state_bits"], "{}", row.run.scheme);
        }
    }
}
