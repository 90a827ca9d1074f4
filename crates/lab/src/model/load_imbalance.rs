//! The uneven load on a switch's uplinks from flows that use all their entropy values (REPS, section 4.5.2, figure 14).
//!
//! Each of m flows has one ball for each entropy value, and the n uplinks are the bins. The load imbalance is the load
//! of the most loaded uplink divided by the mean, minus 1. `random` is the paper's model: balls are thrown uniformly
//! and independently. `hash` is the ECMP hash of this simulator's switches, with a salt that depends on the seed. Its
//! flows all go to different hosts.

use crate::scenario::ModelSpec;
use anabranch_base::{HostId, Purpose, QpId, stream};
use anabranch_engine::{RunResult, ecmp_member};
use anabranch_results::{RunRow, Value};
use std::collections::BTreeMap;

pub(super) fn run(spec: &ModelSpec) -> Vec<RunResult> {
    let ModelSpec::LoadImbalance { uplinks, flows, evs, seeds } = spec else { return Vec::new() };
    let mut rows = Vec::new();
    for scheme in ["random", "hash"] {
        for &flows in flows {
            for &evs in evs {
                for &seed in seeds {
                    let loads = match scheme {
                        "random" => thrown(*uplinks, flows, evs, seed),
                        _ => hashed(*uplinks, flows, evs, seed),
                    };
                    let mean = f64::from(flows) * f64::from(evs) / f64::from(*uplinks);
                    let most = loads.into_iter().max().unwrap_or(0);
                    let count = |number: u32| Value::Integer(i64::from(number));
                    let run = RunRow {
                        scheme: scheme.to_owned(),
                        seed,
                        sweep: BTreeMap::from([
                            ("evs".to_owned(), count(evs)),
                            ("active_flows".to_owned(), count(flows)),
                        ]),
                        extra: BTreeMap::from([("load_imbalance".to_owned(), f64::from(most) / mean - 1.0)]),
                        ..RunRow::default()
                    };
                    rows.push(RunResult::new(run, Vec::new(), Vec::new(), Vec::new()));
                }
            }
        }
    }
    rows
}

fn thrown(uplinks: u32, flows: u32, evs: u32, seed: u64) -> Vec<u32> {
    let mut random = stream(seed, u64::from(flows) << 32 | u64::from(evs), Purpose::Model);
    let mut loads = vec![0; uplinks as usize];
    for _ in 0..u64::from(flows) * u64::from(evs) {
        loads[random.below(uplinks) as usize] += 1;
    }
    loads
}

fn hashed(uplinks: u32, flows: u32, evs: u32, seed: u64) -> Vec<u32> {
    let mut random = stream(seed, u64::from(flows) << 32 | u64::from(evs), Purpose::Model);
    let salt = u64::from(random.next_u32()) << 32 | u64::from(random.next_u32());
    let mut loads = vec![0; uplinks as usize];
    for flow in 0..flows {
        for ev in 0..evs {
            loads[ecmp_member((QpId(flow), HostId(flow)), ev as u16, salt, uplinks as usize)] += 1;
        }
    }
    loads
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(rows: &[RunResult], scheme: &str, evs: i64) -> f64 {
        let of =
            rows.iter().filter(|row| row.run.scheme == scheme && row.run.sweep["evs"] == Value::Integer(evs));
        let found: Vec<f64> = of.map(|row| row.run.extra["load_imbalance"]).collect();
        found.iter().sum::<f64>() / found.len() as f64
    }

    /// The expected value is computed by hand: with 32 x `evs` balls in 32 bins, a bin has `evs` balls on average,
    /// with a standard deviation of about the square root of `evs`. The most loaded of 32 bins is about 2.07 standard
    /// deviations above the mean, the expected maximum of 32 normal numbers.
    #[test]
    fn the_most_loaded_uplink_is_two_deviations_above_the_mean() {
        let seeds: Vec<u64> = (1..=50).collect();
        let spec = ModelSpec::LoadImbalance { uplinks: 32, flows: vec![32], evs: vec![256, 4096], seeds };
        let rows = run(&spec);
        assert_eq!(rows.len(), 2 * 2 * 50);
        for scheme in ["random", "hash"] {
            for evs in [256, 4096] {
                let expected = 2.07 / libm::sqrt(evs as f64);
                let found = mean(&rows, scheme, evs);
                assert!(libm::fabs(found / expected - 1.0) < 0.1, "{scheme}, {evs}: {found}, {expected}");
            }
        }
    }

    #[test]
    fn every_ball_is_in_a_bin_and_one_bin_may_have_them_all() {
        for loads in [thrown(8, 3, 100, 1), hashed(8, 3, 100, 1)] {
            assert_eq!(loads.iter().sum::<u32>(), 300);
        }
        let spec = ModelSpec::LoadImbalance { uplinks: 32, flows: vec![1], evs: vec![1], seeds: vec![1] };
        assert!(run(&spec).iter().all(|row| row.run.extra["load_imbalance"] == 31.0));
    }
}
