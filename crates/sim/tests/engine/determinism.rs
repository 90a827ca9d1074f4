//! Tests of determinism: runs of a scenario with the same seed have the same digest.

use super::support::*;
use anabranch_sim::scenario::RunPoint;
use std::collections::{BTreeMap, BTreeSet};

/// A scenario with several uses of random numbers: a permutation, three load balancers, losses, marks and randomly
/// chosen links.
const BUSY: &str = r#"
schemes = ["reps", "ops", "ecmp"]
setup = "reps-paper"
seeds = [1, 2, 3]

[topology]
kind = "fat-tree"
hosts = 32
tiers = 2
hosts_per_tor = 8
link = "100Gbps"
oversubscription = 2

[workload]
kind = "permutation"
bytes = "300KB"

[[fault]]
kind = "packet-loss"
links = "tor-uplinks:30%"
probability = 0.01

[[fault]]
kind = "link-down"
links = "tor-uplinks:1"
at = "20us"
duration = "60us"

[set]
"*.fabric.routing_delay" = "30us"
"#;

const MEASURES: &str = r#"
[[measure]]
series = "link-utilisation"
every = "3us"
links = "all"

[[measure]]
series = "queue-depth"
every = "700ns"
links = "all"
"#;

fn digests(points: &[RunPoint]) -> Vec<String> {
    points.iter().map(|point| finish(point).run.digest).collect()
}

#[test]
fn the_same_seed_gives_the_same_digest_and_another_seed_another() {
    let points = points(BUSY, &[]);
    let first = digests(&points);
    assert_eq!(first, digests(&points));
    let distinct: BTreeSet<&String> = first.iter().collect();
    assert_eq!(distinct.len(), points.len(), "two of the runs are the same");
}

#[test]
fn a_run_does_not_see_what_runs_beside_it() {
    let points = points(BUSY, &[]);
    let alone = digests(&points);
    let halves = points.split_at(points.len() / 2);
    let (front, back) = std::thread::scope(|scope| {
        let front = scope.spawn(|| digests(halves.0));
        let back = scope.spawn(|| digests(halves.1));
        (front.join().unwrap(), back.join().unwrap())
    });
    assert_eq!(alone, [front, back].concat());
}

#[test]
fn observers_change_nothing() {
    let unseen = finish_all(BUSY, &[]);
    let seen = finish_all(&format!("{BUSY}{MEASURES}"), &[]);
    for (unseen, seen) in unseen.iter().zip(&seen) {
        assert!(unseen.series.is_empty() && seen.series.iter().any(|point| point.value > 0.0));
        assert_eq!(unseen.run.digest, seen.run.digest);
        assert_eq!(unseen.flows, seen.flows);
    }
}

#[test]
fn the_resolved_scenario_runs_the_same() {
    let matrix = "Nodes 8\nConnections 2\nTriggers 1\n0->7 id 1 start 0 size 90000 recv_done_trigger 1\n1->6 id 2 trigger 1 size 50000\ntrigger id 1 oneshot\n";
    let with_file = r#"
        schemes = ["reps", "ecmp"]
        setup = "reps-paper"
        [topology]
        kind = "fat-tree"
        hosts = 8
        tiers = 3
        link = "100Gbps"
        [workload]
        file = "two.cm"
        [sweep]
        "topology.link_latency" = ["100ns", "1us"]
        "reps.lb.buffer" = [1, 8]
    "#;
    for text in [BUSY, &format!("{BUSY}{MEASURES}"), with_file] {
        let written = read(text, &[("two.cm", matrix)]);
        let resolved_text = written.to_toml();
        let files: BTreeMap<String, String> = written.files.clone();
        let files: Vec<(&str, &str)> = files.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
        let resolved = read(&resolved_text, &files);
        assert_eq!(resolved.to_toml(), resolved_text);
        assert_eq!(digests(&written.points().unwrap()), digests(&resolved.points().unwrap()));
    }
}
