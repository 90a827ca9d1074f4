//! The hardware state of each balancer (REPS, Table 1), of each program (Themis-spraying, Tables 3 and 4), and of DCP's
//! transport (DCP, section 4.5).

use super::{field_bits, of_transport, row};
use crate::scenario::{scheme, schemes};
use anabranch_engine::RunResult;
use anabranch_proto::lb::StateField;
use anabranch_proto::{LbConfig, ProgramConfig};
use std::collections::BTreeMap;

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
                    let of_size = |buffer| {
                        let state =
                            LbConfig::Reps(anabranch_proto::lb::RepsConfig { buffer, ..config.clone() })
                                .state();
                        result(listing.name, Some(buffer), &state)
                    };
                    sizes.into_iter().map(of_size).collect()
                }
                lb => {
                    let mut result = result(listing.name, None, &lb.state());
                    result.run.extra.extend(program);
                    result.run.extra.extend(of_transport(&scheme.transport));
                    vec![result]
                }
            }
        })
        .collect()
}

/// The bytes of a program's state for a queue pair, in total (`program_bytes`) and at the source and destination ToRs.
/// `tor_bytes` is the whole state of a ToR with the numbers of NICs and queue pairs in Table 2 of Themis-spraying.
fn of_program(program: &ProgramConfig) -> BTreeMap<String, f64> {
    let state = program.state();
    let bytes = |side: &str| -> f64 {
        let fields = state.iter().filter(|field| field.name.starts_with(side));
        fields.map(field_bits).sum::<f64>() / 8.0
    };
    let mut extra = BTreeMap::from([("program_bytes".to_owned(), bytes(""))]);
    if let Some(tor_bytes) = program.tor_bytes(512, 16) {
        extra.insert("source_tor_bytes".to_owned(), bytes("S: "));
        extra.insert("destination_tor_bytes".to_owned(), bytes("D: "));
        extra.insert("tor_bytes".to_owned(), tor_bytes as f64);
    }
    extra
}

fn result(scheme: &str, buffer: Option<u32>, state: &[StateField]) -> RunResult {
    let mut extra = BTreeMap::from([("state_bits".to_owned(), state.iter().map(field_bits).sum())]);
    extra.extend(state.iter().map(|field| (format!("state_bits:{}", field.name), field_bits(field))));
    row(scheme, buffer.map(|buffer| ("buffer", i64::from(buffer))), extra)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_results::Value;

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

    /// DCP, section 4.5: 2 B per message, and eight messages. Table 3 gives 32 B per queue pair; the fields that the
    /// text names have 24 B here.
    #[test]
    fn dcp_has_the_state_that_its_text_names() {
        for row in run().into_iter().map(|result| result.run) {
            let bytes = |name| row.extra.get(name).copied();
            let expected = match row.scheme.as_str() {
                "dcp" | "dcp-dcqcn" => [Some(2.0), Some(16.0), Some(24.0)],
                _ => [None; 3],
            };
            let found = ["message_bytes", "messages_bytes", "transport_bytes"].map(bytes);
            assert_eq!(found, expected, "{}", row.scheme);
        }
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
