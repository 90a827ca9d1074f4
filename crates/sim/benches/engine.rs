//! The cost of a packet-hop, measured by `cargo bench -p anabranch-sim`. The time of an iteration divided by its
//! element count is the time of a hop.
//!
//! The benchmark `switch_hop` has a chain of 64 switches, so 64 of the 65 hops of a packet start at a switch. It
//! mainly measures hops of switches and the ordering of events. The benchmark `permutation` measures a fat tree.

use anabranch_sim::scenario::{self, Files, Overrides, RunPoint};
use anabranch_sim::{Control, RunResult, run};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::fmt::Write;
use std::hint::black_box;
use std::time::Duration;

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(4));
    targets = switch_hop, permutation
}
criterion_main!(benches);

const SWITCHES: u32 = 64;

/// Flows along a chain of switches. With two senders, the first switch has a queue.
fn switch_hop(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("switch_hop");
    for senders in [1, 2] {
        let point = chain(senders);
        let hops = simulate(&point).run.packet_hops;
        group.throughput(Throughput::Elements(hops));
        group.bench_function(format!("chain of {SWITCHES}, {senders} senders"), |bencher| {
            bencher.iter(|| black_box(simulate(&point)));
        });
    }
    group.finish();
}

fn chain(senders: u32) -> RunPoint {
    let hosts = senders + 1;
    let first = hosts;
    let last = first + SWITCHES - 1;
    let mut graph = format!("{} {SWITCHES} {}\n", hosts + SWITCHES, senders + SWITCHES);
    let numbers: Vec<String> = (first..=last).map(|number| number.to_string()).collect();
    let _ = writeln!(graph, "{}", numbers.join(" "));
    let mut cable = |a: u32, b: u32| {
        let _ = writeln!(graph, "{a} {b} 400Gbps 500ns 0");
    };
    (0..senders).for_each(|host| cable(host, first));
    (first..last).for_each(|switch| cable(switch, switch + 1));
    cable(senders, last);
    let text = format!(
        r#"
        schemes = ["ecmp"]
        setup = "reps-paper"
        [topology]
        kind = "graph"
        file = "chain.txt"
        [workload]
        kind = "incast"
        bytes = "8MB"
        degree = {senders}
        target = {senders}
        [set]
        "*.transport.rto" = "9ms"
        "#
    );
    point(&text, &graph)
}

fn permutation(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("permutation");
    for scheme in ["reps", "ops"] {
        let text = format!(
            r#"
            schemes = ["{scheme}"]
            setup = "reps-paper"
            [topology]
            kind = "fat-tree"
            hosts = 128
            tiers = 2
            link = "400Gbps"
            [workload]
            kind = "permutation"
            bytes = "512KiB"
            "#
        );
        let point = point(&text, "");
        group.throughput(Throughput::Elements(simulate(&point).run.packet_hops));
        group.bench_function(format!("128 hosts, {scheme}"), |bencher| {
            bencher.iter(|| black_box(simulate(&point)))
        });
    }
    group.finish();
}

fn simulate(point: &RunPoint) -> RunResult {
    run(point, &Control::default()).expect("the run ends")
}

fn point(text: &str, file: &str) -> RunPoint {
    struct One<'a>(&'a str);
    impl Files for One<'_> {
        fn read(&self, _: &str) -> Result<String, String> {
            Ok(self.0.to_owned())
        }
    }
    let scenario =
        scenario::read("bench.toml", text, &One(file), &Overrides::default()).expect("the scenario is sound");
    scenario.points().expect("the scenario has one run").remove(0)
}
