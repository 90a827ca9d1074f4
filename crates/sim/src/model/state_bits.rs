//! The hardware state of each balancer (REPS, Table 1).

use crate::RunResult;
use crate::scenario::{scheme, schemes};
use anabranch_proto::LbConfig;
use anabranch_proto::lb::StateField;
use anabranch_results::{RunRow, Value};
use std::collections::BTreeMap;

/// A row for each scheme that comes with the program; two for one whose balancer has a buffer.
pub(super) fn run() -> Vec<RunResult> {
    schemes()
        .into_iter()
        .flat_map(|listing| {
            let scheme = scheme(listing.name).expect("a scheme that is listed exists");
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
                lb @ (LbConfig::Ecmp {} | LbConfig::Ops { .. } | LbConfig::Strack(_)) => {
                    vec![result(listing.name, None, &lb.state())]
                }
            }
        })
        .collect()
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
