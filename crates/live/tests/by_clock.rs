//! Runs in real time over pairs of sockets, which need no privileges.

use anabranch_live::{Links, LiveOutcome, Settings, live, replay};
use anabranch_sim::scenario::{NoFiles, Overrides, RunPoint, read};
use anabranch_sim::{Control, build, run};
use std::fs;
use std::path::Path;
use std::time::Duration;

fn points(text: &str) -> Vec<RunPoint> {
    let scenario = read("test.toml", text, &NoFiles, &Overrides::default());
    scenario.unwrap_or_else(|error| panic!("{error}\n{text}")).points().unwrap()
}

fn by_clock(point: &RunPoint, dilation: u32, record: &Path) -> LiveOutcome {
    let settings = Settings {
        dilation,
        links: Links::SocketPairs,
        limit: Duration::from_secs(60),
        record: Some(record),
        interrupted: &|| false,
    };
    let built = build(point).unwrap();
    live(point, &built, &settings).unwrap_or_else(|error| panic!("{}: {error}", point.scheme.name))
}

// This file has a single test, because a process that forks should have no other running threads.
#[test]
fn messages_arrive_whole_in_nearly_the_simulated_time_and_records_are_replayed() {
    let text = r#"
        schemes = ["reps", "rocev2", "dcp"]
        seeds = [1]
        topology = { kind = "fat-tree", hosts = 4, hosts_per_tor = 2, link = "100Gbps" }
        workload = { kind = "permutation", bytes = "256KiB" }
        set = { "*.transport.rto" = "500us" }
        [[fault]]
        kind = "packet-loss"
        links = "tor:0/up"
        probability = 0.01
        at = "0us"
    "#;
    let lossless = &text[..text.find("[[fault]]").unwrap()];
    for point in points(lossless) {
        let name = &point.scheme.name;
        let folder = tempfile::tempdir().unwrap();
        let live = by_clock(&point, 40_000, folder.path());
        let simulated = run(&point, &Control::default()).unwrap().run;
        let (live_us, simulated_us) = (live.result.run.fct_mean_us, simulated.fct_mean_us);
        // If nodes acted too late because the machine was busy, the times are not compared.
        let is_near = (0.8..1.25).contains(&(live_us / simulated_us));
        assert!(
            is_near || live.needed_dilation().is_some(),
            "{name}: {live_us} us live, {simulated_us} us simulated"
        );
        assert_eq!(live.result.run.drops + live.result.run.retransmissions, 0, "{name}");
    }
    for point in points(text) {
        let name = &point.scheme.name;
        let folder = tempfile::tempdir().unwrap();
        // At this small dilation nodes may act late, so the times are not compared.
        let live = by_clock(&point, 2_000, folder.path());
        let simulated = run(&point, &Control::default()).unwrap().run;
        assert_eq!(
            (live.checked, live.result.run.flows_finished),
            (simulated.flows, simulated.flows),
            "{name}"
        );
        assert_eq!(live.kernel_drops, 0, "{name}");
        check_replay(&point, folder.path());
    }
}

/// Checks that a record can be replayed, but not with another seed or after changes to the record.
fn check_replay(point: &RunPoint, folder: &Path) {
    let (name, built) = (&point.scheme.name, build(point).unwrap());
    let replayed = replay(point, &built, folder, false).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(
        replayed.outputs > 1_000 && replayed.inputs > 1_000 && replayed.processes == 5,
        "{name}: {replayed:?}"
    );
    // With another seed, the nodes lose other packets and choose other paths than in the record.
    let other = RunPoint { seed: point.seed + 1, ..point.clone() };
    let error = replay(&other, &built, folder, false).unwrap_err().to_string();
    assert!(error.contains("departs from the record"), "{name}: {error}");
    // The changes are another time, a missing line, and one more digit in the bytes after the payload.
    let path = folder.join("process-0.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    type Change<'a> = (&'a str, &'a dyn Fn(&str) -> String);
    let changes: [Change<'_>; 3] = [
        ("departs", &|line| line.replacen("\"acts\":", "\"acts\":1", 1)),
        ("departs", &|_| String::new()),
        ("departs", &|line| line.replacen("\"tail\":\"", "\"tail\":\"0", 1)),
    ];
    for (expected, change) in changes {
        let sent = text.lines().position(|line| line.contains("Sent") && line.contains("tail")).unwrap();
        let lines = text.lines().enumerate().map(|(number, line)| match number == sent {
            true => change(line),
            false => line.to_owned(),
        });
        let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
        fs::write(&path, lines.join("\n")).unwrap();
        let error = replay(point, &built, folder, false).unwrap_err().to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
}
