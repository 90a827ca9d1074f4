//! Made-up results for the tests of this crate.

use anabranch_results::{FlowRow, ResultSet, RunRow, SeriesRow, Value};
use std::collections::BTreeMap;

/// `reps` and `ops` at 8 and 16 MiB with seeds 1 and 2. Largest FCT, mean of the seeds: reps 100 and 200 us, ops 120
/// and 400 us (each 5 us less at seed 1, 5 us more at seed 2).
pub(crate) fn two_schemes() -> ResultSet {
    let mut set = ResultSet {
        title: "Two <schemes>".into(),
        scenario_toml: "title = \"Two <schemes>\"\n".into(),
        ..ResultSet::default()
    };
    for (scheme, maxima, drops) in [("reps", [100.0, 200.0], 0), ("ops", [120.0, 400.0], 30)] {
        for (bytes, max) in ["8MiB", "16MiB"].into_iter().zip(maxima) {
            for seed in [1, 2] {
                let max = max + if seed == 1 { -5.0 } else { 5.0 };
                add_run(&mut set, scheme, bytes, seed, max, drops);
            }
        }
    }
    set
}

fn add_run(set: &mut ResultSet, scheme: &str, bytes: &str, seed: u64, max: f64, drops: u64) {
    let run = set.runs.len() as u32;
    set.runs.push(RunRow {
        scheme: scheme.into(),
        seed,
        sweep: BTreeMap::from([("workload.bytes".into(), Value::Text(bytes.into()))]),
        flows: 2,
        flows_finished: 2,
        fct_mean_us: max - 10.0,
        fct_p50_us: max - 20.0,
        fct_p99_us: max,
        fct_max_us: max,
        ideal_fct_max_us: 50.0,
        completion_us: max,
        drops,
        retransmissions: drops,
        packet_hops: 1_234_567,
        sim_time_us: max,
        wall_s: 0.5,
        extra: BTreeMap::from([("mean_max_queue".into(), 7.0)]),
        ..RunRow::default()
    });
    for (flow, fct_us) in [(0, max - 20.0), (1, max)] {
        set.flows.push(FlowRow {
            run,
            flow,
            qp: flow,
            src: flow,
            dst: 1 - flow,
            bytes: 1000 * (1 + u64::from(flow)),
            start_ps: Some(0),
            delivery_ps: Some(((fct_us - 1.0) * 1e6) as u64),
            fct_ps: Some((fct_us * 1e6) as u64),
            ideal_fct_ps: 50_000_000,
        });
    }
    for (entity, base) in [("tor:0/up:0", 100.0), ("tor:0/up:1", 200.0), ("tor:1/up:0", 900.0)] {
        for step in 1..=4_u32 {
            set.series.push(SeriesRow {
                run,
                series: "queue_depth_bytes".into(),
                entity: entity.into(),
                time_ps: u64::from(step) * 10_000_000,
                value: base + f64::from(step),
            });
        }
    }
}
