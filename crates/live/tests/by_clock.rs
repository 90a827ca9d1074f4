//! Runs by the clock over pairs of sockets, which need no privileges.

use anabranch_live::{Links, LiveOutcome, Settings, live};
use anabranch_sim::scenario::{NoFiles, Overrides, RunPoint, read};
use anabranch_sim::{Control, build, run};
use std::time::Duration;

/// The runs of a scenario.
fn points(text: &str) -> Vec<RunPoint> {
    let scenario = read("test.toml", text, &NoFiles, &Overrides::default());
    scenario.unwrap_or_else(|error| panic!("{error}\n{text}")).points().unwrap()
}

fn by_clock(point: &RunPoint, dilation: u32) -> LiveOutcome {
    let settings = Settings {
        dilation,
        links: Links::SocketPairs,
        limit: Duration::from_secs(60),
        record: None,
        interrupted: &|| false,
    };
    let built = build(point).unwrap();
    live(point, &built, &settings).unwrap_or_else(|error| panic!("{}: {error}", point.scheme.name))
}

// One test only, since a process that forks should have no other threads at work.
#[test]
fn messages_arrive_whole_and_nearly_in_the_simulated_time() {
    let text = r#"
        schemes = ["reps", "dcp"]
        topology = { kind = "fat-tree", hosts = 4, hosts_per_tor = 2, link = "100Gbps" }
        workload = { kind = "permutation", bytes = "256KiB" }
    "#;
    for point in points(text) {
        let live = by_clock(&point, 20_000);
        let simulated = run(&point, &Control::default()).unwrap().run;
        println!(
            "{}: {} us live, {} us simulated, lateness {:.3} packets, max {:.1} ms",
            point.scheme.name,
            live.row.fct_mean_us,
            simulated.fct_mean_us,
            live.lateness(),
            live.frames.max_ns as f64 / 1e6
        );
        println!("{:?}\n{:?}", live.row, simulated);
        assert_eq!((live.checked, live.row.flows_finished), (simulated.flows, simulated.flows));
        assert_eq!(live.kernel_drops, 0);
    }
}
