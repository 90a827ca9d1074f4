//! Frames of bytes with exact times give the results of the simulator, and every message arrives byte for byte.

use anabranch_live::exact;
use anabranch_sim::results::RunRow;
use anabranch_sim::scenario::{NoFiles, Overrides, RunPoint, read};
use anabranch_sim::{Control, build, run};

/// The runs of a scenario.
fn points(text: &str) -> Vec<RunPoint> {
    let scenario = read("test.toml", text, &NoFiles, &Overrides::default());
    scenario.unwrap_or_else(|error| panic!("{error}\n{text}")).points().unwrap()
}

fn check(text: &str) {
    for point in points(text) {
        let name = &point.scheme.name;
        let built = build(&point).unwrap();
        let live = exact(&point, &built).unwrap_or_else(|error| panic!("{name}: {error}"));
        let simulated = run(&point, &Control::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(live.checked, live.row.flows, "{name}");
        // The driver makes no rows of messages, so that its row has no ideal times.
        let RunRow { slowdown_mean, slowdown_p50, slowdown_p95, slowdown_p99, .. } = live.row;
        let expected = RunRow {
            digest: String::new(),
            warnings: Vec::new(),
            faults: Vec::new(),
            ideal_fct_max_us: 0.0,
            ideal_cct_max_us: 0.0,
            slowdown_mean,
            slowdown_p50,
            slowdown_p95,
            slowdown_p99,
            ..simulated.run
        };
        assert_eq!(live.row, expected, "{name}");
    }
}

#[test]
fn permutation() {
    check(
        r#"
        schemes = ["reps", "strack", "themis-spraying", "dcp", "ecmp", "ops", "rocev2", "uet-nscc"]
        topology = { kind = "fat-tree", hosts = 8, hosts_per_tor = 4, link = "100Gbps" }
        workload = { kind = "permutation", bytes = "1MiB" }
        "#,
    );
}

#[test]
fn incast() {
    check(
        r#"
        schemes = ["reps", "strack", "themis-spraying", "dcp", "ecmp", "ops", "rocev2", "uet-nscc"]
        topology = { kind = "fat-tree", hosts = 12, hosts_per_tor = 4, link = "100Gbps" }
        workload = { kind = "incast", degree = 8, bytes = "256KiB" }
        "#,
    );
}
