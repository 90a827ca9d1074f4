//! The measure language, parsed and evaluated on a few runs.
#![no_main]

use anabranch_report::Measure;
use anabranch_results::{FlowRow, ResultSet, RunRow, SeriesRow, Value};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static RESULTS: LazyLock<ResultSet> = LazyLock::new(results);

fuzz_target!(|text: &str| {
    if let Ok(measure) = Measure::parse(text) {
        let _ = measure.evaluate(&RESULTS);
    }
});

/// Runs of two schemes, two sizes and two seeds. Each run has a message and a point of a curve.
fn results() -> ResultSet {
    let mut set = ResultSet::default();
    for scheme in ["reps", "ops"] {
        for bytes in ["8MiB", "16MiB"] {
            for seed in [1, 2] {
                let run = set.runs.len() as u32;
                set.runs.push(RunRow {
                    scheme: scheme.to_owned(),
                    seed,
                    sweep: BTreeMap::from([("workload.bytes".to_owned(), Value::Text(bytes.to_owned()))]),
                    fct_max_us: 100.0 + f64::from(run),
                    extra: BTreeMap::from([("mean_max_queue".to_owned(), 7.0)]),
                    ..RunRow::default()
                });
                set.flows.push(FlowRow {
                    run,
                    flow: 0,
                    qp: 0,
                    src: 0,
                    dst: 1,
                    bytes: 1000,
                    start_ps: Some(0),
                    delivery_ps: Some(99_000_000),
                    fct_ps: Some(100_000_000),
                    ideal_fct_ps: 50_000_000,
                    group: "incast".into(),
                    packets: 1,
                    retransmissions: Some(0),
                    timeouts: Some(0),
                    path_changes: Some(0),
                    lost: Some(0),
                });
                set.series.push(SeriesRow {
                    run,
                    series: "queue_depth_bytes".to_owned(),
                    entity: "tor:0/up:0".to_owned(),
                    time_ps: 250_000_000,
                    value: 4096.0,
                });
            }
        }
    }
    set
}
