//! Tests of round trips, sweeps, settings and figures. Tests of bad input are in separate files.

mod bad_input;
mod bad_input_cases;
mod bad_list_cases;
mod bad_sweep_cases;
mod clusters;
mod cross_dc;
mod first_steps;
mod followed;
mod followed_again;
mod hpcc;
mod idle_nics;
mod json_schemas;
mod lossless;
mod mix;
mod newcomers;
mod ns3_files;
mod numbers;
mod other_tools;
mod programs;
mod registry;
mod settings;
mod setups;
mod trimming;
mod unhit_faults;
mod windows;
mod workloads;

use crate::scenario::*;
use anabranch_base::{Duration, Rate};
use anabranch_proto::lb::OpsConfig;
use anabranch_proto::{LbConfig, Size};
use anabranch_results::{ClaimValue, Value};
use proptest::prelude::*;
use std::collections::BTreeMap;

pub(in crate::scenario) struct Folder(pub BTreeMap<String, String>);

impl Files for Folder {
    fn read(&self, name: &str) -> Result<String, String> {
        self.0.get(name).cloned().ok_or_else(|| "no such file".to_owned())
    }
}

pub(in crate::scenario) fn folder() -> Folder {
    let files = [
        (
            "leaf.topo",
            "Nodes 8\nTiers 2\nPodsize 8\nTier 0\nDownlink_speed_Gbps 400\nRadix_Down 4\nRadix_Up 4\n\
          Downlink_Latency_ns 1000\nSwitch_Latency_ns 0\nTier 1\nDownlink_speed_Gbps 400\nRadix_Down 2\n\
          Downlink_Latency_ns 1000\nSwitch_Latency_ns 0\n",
        ),
        ("broken.topo", "Nodes 8\nTiers 2\nPodsise 8\n"),
        (
            "pair.txt",
            "4 2 4\n2 3\n0 2 100Gbps 1000ns 0\n1 3 100Gbps 1000ns 0\n2 3 100Gbps 1000ns 0\n2 3 100Gbps 1000ns 0\n",
        ),
        ("two.cm", "Nodes 8\nConnections 1\n0->5 id 1 start 0 size 2000\n"),
    ];
    Folder(files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
}

pub(in crate::scenario) const GOOD: &str = r#"title = "t"
schemes = ["reps", "ops"]
seeds = [1, 2]
[topology]
kind = "fat-tree"
hosts = 32
link = "400Gbps"
[workload]
kind = "permutation"
bytes = "1MiB"
"#;

pub(in crate::scenario) fn scenario(text: &str) -> Scenario {
    let scenario =
        read("s.toml", text, &folder(), &Overrides::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    scenario.check().unwrap_or_else(|e| panic!("{e}\n{text}"));
    scenario
}

/// Adds the setup of a paper at the end of a scenario, unless the scenario has a `[setup]`. Line numbers do not
/// change.
pub(in crate::scenario) fn on(setup: &str, text: &str) -> String {
    let said = text.contains("[setup]");
    if said { text.to_owned() } else { format!("{text}\n[setup]\nbase = {setup:?}\n") }
}

/// Checks that reading the resolved form gives the same scenario, the same runs and the same text.
pub(in crate::scenario) fn assert_round_trip(scenario: &Scenario) {
    let text = scenario.to_toml();
    let files = Folder(scenario.files.clone());
    let again =
        read("resolved.toml", &text, &files, &Overrides::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(&again, scenario, "{text}");
    assert_eq!(again.to_toml(), text);
    assert_eq!(again.canonical(), scenario.canonical());
    assert_eq!(again.points(), scenario.points());
    again.check().unwrap_or_else(|e| panic!("{e}\n{text}"));
}

fn with(topology: &str, workload: &str) -> Scenario {
    scenario(&format!("schemes = [\"reps\"]\n[topology]\n{topology}\n[workload]\n{workload}\n"))
}

#[test]
fn defaults_are_filled_in() {
    let s = scenario(GOOD);
    let TopologySpec::FatTree { hosts: 32, tier, pod_hosts: 32 } = &s.topology else {
        panic!("{:?}", s.topology)
    };
    assert_eq!(tier.len(), 2);
    assert!(tier.iter().all(|t| t.link == Rate::from_gbps(400) && t.link_latency == Duration::from_ns(500)));
    assert_eq!(
        s.workload,
        WorkloadSpec::Permutation { bytes: anabranch_base::Bytes(1 << 20), hosts: 32, cross_tor: false }
    );
    assert_eq!(s.limits, Limits::default());
    assert_eq!(s.points().unwrap().len(), 4);
}

#[test]
fn resolved_forms_read_back() {
    let permutation = "kind = \"permutation\"\nbytes = \"2MB\"";
    for (topology, workload) in [
        ("kind = \"fat-tree\"\nhosts = 128\ntiers = 3\nlink = \"100Gbps\"", permutation),
        (
            "kind = \"leaf-spine\"\nhosts = 64\nhosts_per_tor = 16\noversubscription = 4\nlink = \"1.6Tbps\"",
            permutation,
        ),
        (
            "kind = \"fat-tree\"\nhosts = 32\nlink = \"400Gbps\"\n[[topology.tier]]\n[[topology.tier]]\nlink = \"800Gbps\"",
            permutation,
        ),
        ("kind = \"single-switch\"\nhosts = 4\nlink = \"10Gbps\"", "kind = \"incast\"\nbytes = \"1B\""),
        (
            "kind = \"dumbbell\"\nhosts = 8\nlink = \"10Gbps\"\ntrunk = \"1Gbps\"",
            "kind = \"tornado\"\nbytes = \"1KiB\"",
        ),
        (
            "kind = \"cross-dc\"\ntors = 2\nleaves = 3\nhosts_per_tor = 5\nlink = \"10Gbps\"\nwan_latency = \"5ms\"",
            permutation,
        ),
        ("file = \"leaf.topo\"", "file = \"two.cm\"\nstart_unit = \"1us\""),
        ("kind = \"graph\"\nfile = \"pair.txt\"", permutation),
        (
            "kind = \"fat-tree\"\nhosts = 32\nlink = \"400Gbps\"",
            "kind = \"poisson\"\nsizes = \"websearch\"\nload = 0.3\nduration = \"10us\"",
        ),
        (
            "kind = \"fat-tree\"\nhosts = 32\nlink = \"400Gbps\"",
            "kind = \"poisson\"\nsizes = \"websearch\"\nload = 0.3\nduration = \"100us\"\n\
             incast = { degree = 8, bytes = \"64KB\", load = 0.1 }",
        ),
    ] {
        assert_round_trip(&with(topology, workload));
    }
}

#[test]
fn faults_measures_limits_and_sweeps_read_back() {
    assert_round_trip(&scenario(&format!(
        r#"{GOOD}
        [[fault]]
        kind = "link-down"
        links = "tor-uplinks:3%"
        at = "100us"
        duration = "1.5us"
        [[fault]]
        kind = "switch-down"
        switches = "spine:0"
        [[fault]]
        kind = "rate"
        links = "tor:0/up:1"
        rate = "200Gbps"
        both_directions = false
        [[fault]]
        kind = "packet-loss"
        links = "all"
        probability = 1e-5
        [[fault]]
        kind = "bit-errors"
        links = "host:3"
        probability = 0
        [[measure]]
        series = "queue-depth"
        links = "tor:0/up"
        [[measure]]
        series = "queue-delay"
        links = "tor:0/up"
        above = "8us"
        every = "1us"
        [[measure]]
        series = "flow-throughput"
        qps = "0,4,9-12"
        [[measure]]
        series = "sender-rtt"
        qps = "all"
        [limits]
        max_time = "3ms"
        [[scheme]]
        base = "reps"
        name = "reps-16"
        set = {{ "lb.buffer" = 16, "fabric.routing_delay" = "1ms" }}
        [set]
        "*.fabric.queue" = "100packets"
        [sweep]
        "topology.oversubscription" = [1, 2]
        "reps.lb" = [{{ kind = "ops", evs = 7 }}, {{ kind = "ecmp" }}]
        "fault.3.probability" = [0.5, 1]
        "#
    )));
}

#[test]
fn linked_parameters_change_together_and_with_every_other_one() {
    let linked = scenario(&format!(
        "{GOOD}[sweep]\n\"*.lb.evs\" = [16, 256]\n[[sweep.zip]]\n\"topology.hosts\" = [32, 128, 128]\n\"workload.bytes\" = [\"1MB\", \"1MB\", \"2MB\"]\n"
    ));
    let points = linked.points().unwrap();
    assert_eq!(points.len(), 2 * (2 * 3) * 2);
    let at: Vec<String> = points[..12]
        .iter()
        .step_by(2)
        .map(|point| point.sweep.values().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(at, ["16 32 1MB", "16 128 1MB", "16 128 2MB", "256 32 1MB", "256 128 1MB", "256 128 2MB"]);
    for point in &points {
        let hosts = if point.sweep["topology.hosts"] == Value::Integer(128) { 128 } else { 32 };
        let WorkloadSpec::Permutation { hosts: taking_part, .. } = point.workload else { panic!() };
        assert_eq!(taking_part, hosts);
    }
    assert_round_trip(&linked);
    let one_table = scenario(&format!(
        "{GOOD}[sweep.zip]\n\"topology.hosts\" = [32, 128]\nworkload.bytes = [\"1MB\", \"2MB\"]\n"
    ));
    assert_eq!(one_table.points().unwrap().len(), 2 * 2 * 2);
    assert_round_trip(&one_table);
}

#[test]
fn every_series_reads_with_its_defaults() {
    let measure = |text: &str| {
        let measures = scenario(&format!("{GOOD}[[measure]]\n{text}\n")).measures;
        assert_eq!(measures.len(), 1);
        measures[0].clone()
    };
    let us = Duration::from_us;
    for (word, series) in [
        ("link-utilisation", Series::LinkUtilisation),
        ("queue-depth", Series::QueueDepth),
        ("queue-delay", Series::QueueDelay),
        ("arrival-rate", Series::ArrivalRate),
        ("drops", Series::Drops),
        ("pauses", Series::Pauses),
        ("pause-time", Series::PauseTime),
        ("pause-victims", Series::PauseVictims),
    ] {
        let read = measure(&format!("series = {word:?}\nlinks = \"all\""));
        let links = Some("all".to_owned());
        assert_eq!(
            read,
            MeasureSpec { series, every: us(20), links, switches: None, qps: None, above: None, by: None }
        );
    }
    for (word, series) in [("program-buffer", Series::ProgramBuffer), ("table-entries", Series::TableEntries)]
    {
        let read = measure(&format!("series = {word:?}\nswitches = \"tor:0\""));
        let switches = Some("tor:0".to_owned());
        assert_eq!(
            read,
            MeasureSpec { series, every: us(20), links: None, switches, qps: None, above: None, by: None }
        );
    }
    for (word, series, every) in [
        ("flow-throughput", Series::FlowThroughput, us(20)),
        ("sender-rtt", Series::SenderRtt, Duration::ZERO),
        ("sender-ecn", Series::SenderEcn, Duration::ZERO),
    ] {
        let read = measure(&format!("series = {word:?}\nqps = \"0-31\""));
        let qps = Some("0-31".to_owned());
        assert_eq!(
            read,
            MeasureSpec { series, every, links: None, switches: None, qps, above: None, by: None }
        );
    }
    for kind in SeriesKind::ALL {
        assert_eq!(
            serde_json::to_value(kind.series).unwrap(),
            kind.name,
            "as it is written and as it is listed"
        );
    }
    let former = scenario(&format!("{GOOD}[[measure]]\nseries = \"set-aside\"\nswitches = \"tor:0\"\n"));
    assert_eq!(former.measures, [measure("series = \"program-buffer\"\nswitches = \"tor:0\"")]);
    let resolved = former.to_toml();
    assert!(resolved.contains("\"program-buffer\"") && !resolved.contains("set-aside"), "{resolved}");
    let delay = measure("series = \"queue-delay\"\nlinks = \"all\"\nabove = \"8us\"\nevery = \"1us\"");
    assert_eq!((delay.above, delay.every), (Some(us(8)), us(1)));
}

#[test]
fn queue_pairs_are_looked_up_at_every_point_of_a_sweep() {
    let text = format!(
        "{GOOD}[[measure]]\nseries = \"sender-rtt\"\nqps = \"40\"\n[sweep]\ntopology.hosts = [128, 32]\n"
    );
    let swept = read("s.toml", &text, &folder(), &Overrides::default()).unwrap();
    let help = Some("qps = \"31\"".to_owned());
    let refused = swept.check().unwrap_err();
    assert_eq!((refused.span.line, refused.help()), (Some(13), help), "{}", refused.message);
    assert!(refused.message.contains("32 queue pairs"), "{}", refused.message);
    let text = text.replace("[128, 32]", "[128, 64]");
    read("s.toml", &text, &folder(), &Overrides::default()).unwrap().check().unwrap();
}

#[test]
fn a_sweep_multiplies_the_runs_and_defaults_follow_it() {
    let s = scenario(&format!(
        "{GOOD}[sweep]\n\"topology.hosts\" = [32, 128]\nworkload.bytes = [\"1MB\", \"2MB\", \"4MB\"]\n\"*.lb.evs\" = [16, 256]\n"
    ));
    let points = s.points().unwrap();
    assert_eq!(points.len(), 2 * (2 * 3 * 2) * 2);
    for point in &points {
        let hosts = if point.sweep["topology.hosts"] == Value::Integer(128) { 128 } else { 32 };
        let WorkloadSpec::Permutation { hosts: taking_part, .. } = point.workload else { panic!() };
        assert_eq!(taking_part, hosts);
        let evs = match &point.scheme.lb {
            LbConfig::Ops(OpsConfig { evs }) => *evs,
            LbConfig::Reps(reps) => reps.evs,
            _ => panic!(),
        };
        assert_eq!(point.sweep["*.lb.evs"], Value::Integer(i64::from(evs)));
    }
    // The scheme changes slowest and the seed fastest.
    assert!(points[..24].iter().all(|p| p.scheme.name == "reps"));
    assert_eq!((points[0].seed, points[1].seed), (1, 2));
}

#[test]
fn parameters_are_set_one_scheme_or_all() {
    let s = scenario(&format!(
        "{GOOD}[set]\nreps.lb.buffer = 16\n\"*.fabric.queue\" = \"2bdp\"\n\"*.lb.buffer\" = 4\n"
    ));
    let LbConfig::Reps(reps) = &s.schemes[0].lb else { panic!() };
    // Settings are applied in the order of their paths. `*` comes before names, so a setting with a name wins.
    assert_eq!(reps.buffer, 16);
    assert!(s.schemes.iter().all(|scheme| scheme.fabric.queue == Some(Size::Bdp(2.0))));
}

#[test]
fn schemes_of_ones_own_run_beside_the_known_ones() {
    let own = "[[scheme]]\nbase = \"reps\"\nname = \"reps-16\"\nset = { \"lb.buffer\" = 16 }\n";
    let s = scenario(&format!("{GOOD}{own}"));
    assert_eq!(s.schemes.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["reps", "ops", "reps-16"]);
    let over =
        Overrides { schemes: vec!["reps-16".into(), "ecmp".into()], seeds: vec![9], ..Overrides::default() };
    let s = read("s.toml", &format!("{GOOD}{own}"), &folder(), &over).unwrap();
    assert_eq!(s.schemes.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["reps-16", "ecmp"]);
    assert_eq!(s.seeds, [9]);
}

#[test]
fn the_examples_and_their_resolved_forms_are_sound() {
    let examples = [
        include_str!("../../../../../examples/permutation-1024.toml"),
        include_str!("../../../../../examples/websearch-128.toml"),
        include_str!("../../../../../examples/link-failure.toml"),
        include_str!("../../../../../examples/incast.toml"),
        include_str!("../../../../../examples/reps-buffer.toml"),
        include_str!("../../../../../examples/allreduce.toml"),
        include_str!("../../../../../examples/rails.toml"),
        include_str!("../../../../../examples/lossy-link.toml"),
        include_str!("../../../../../examples/longhaul.toml"),
    ];
    for text in examples {
        assert_round_trip(&scenario(text));
    }
}

#[test]
fn the_files_are_part_of_what_the_digest_sees() {
    let text = GOOD.replace("kind = \"permutation\"\nbytes = \"1MiB\"", "file = \"two.cm\"");
    let one = scenario(&text);
    let mut files = folder();
    files.0.insert("two.cm".into(), "Nodes 8\nConnections 1\n0->5 id 1 start 0 size 3000\n".into());
    let other = read("s.toml", &text, &files, &Overrides::default()).unwrap();
    assert_eq!(one.to_toml(), other.to_toml());
    assert_ne!(one.canonical(), other.canonical());
}

pub(in crate::scenario) struct Disk(pub std::path::PathBuf);

impl Files for Disk {
    fn read(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(name)).map_err(|e| e.to_string())
    }
}

#[test]
fn published_files_make_scenarios() {
    let Some(peers) = std::env::var_os("ANABRANCH_PEERS") else {
        println!("skipped: ANABRANCH_PEERS is not set");
        return;
    };
    let disk = Disk(std::path::Path::new(&peers).join("data"));
    for (topology, workload) in [
        ("htsim/leaf_spine_8192_400g.topo", "file = \"htsim/perm_8192n_8192c_2MB.cm\""),
        ("htsim/fat_tree_128_1os_3t_400g.topo", "file = \"htsim/perm_128n_16MiB.cm\""),
        (
            "ns3/leaf_spine_128_100G_OS2.txt",
            "kind = \"ns3-flows\"\nfile = \"ns3/alistorage_128h_load25_5ms.flow.txt\"",
        ),
    ] {
        let text = format!("schemes = [\"reps\"]\n[topology]\nfile = {topology:?}\n[workload]\n{workload}\n");
        let scenario = read("s.toml", &text, &disk, &Overrides::default()).unwrap();
        scenario.check().unwrap();
        assert_round_trip(&scenario);
    }
}

const FIGURE: &str = r#"
id = "reps/fig-2"
title = "Tornado"
figure = "Figure 2"
schemes = ["reps", "ops"]
assumptions = ["The paper does not say the seed."]
[topology]
kind = "fat-tree"
hosts = 128
link = "400Gbps"
[workload]
kind = "tornado"
bytes = "16MiB"
[plot]
kind = "cdf"
[[claim]]
says = "REPS is faster"
source = "figure 2"
paper = 1.25
measure = "fct_max(ops) / fct_max(reps)"
kind = "ratio"
[[claim]]
says = "a range"
source = "figure 2"
paper = [1, 1.5]
measure = "m"
kind = "range"
[quick]
seeds = [1]
[quick.topology]
hosts = 32
[paper]
seeds = [1, 2, 3]
"#;

#[test]
fn a_figure_has_two_scales() {
    let quick = read_figure("f.toml", FIGURE, Scale::Quick, &folder()).unwrap();
    let paper = read_figure("f.toml", FIGURE, Scale::Paper, &folder()).unwrap();
    assert_eq!((quick.paper.as_str(), quick.id.as_str()), ("reps", "reps/fig-2"));
    assert_eq!(quick.claims[0].paper, Some(ClaimValue::Number(1.25)));
    assert_eq!(quick.claims[1].paper, Some(ClaimValue::Range([1.0, 1.5])));
    let (quick, paper) = (quick.scenario.unwrap(), paper.scenario.unwrap());
    assert!(matches!(quick.topology, TopologySpec::FatTree { hosts: 32, .. }), "{:?}", quick.topology);
    assert!(matches!(paper.topology, TopologySpec::FatTree { hosts: 128, .. }));
    assert_eq!((quick.seeds.len(), paper.seeds.len()), (1, 3));
    assert_round_trip(&quick);
}

#[test]
fn a_figure_can_be_a_model() {
    let text = "id = \"reps/fig-17\"\ntitle = \"Balls\"\nseeds = [4]\n[model]\nkind = \"balls-into-bins\"\nports = [4, 8]\n\
                rounds = 1000\nload = 0.99\nvariants = [\"ops\"]\n[quick.model]\nrounds = 10\n";
    let figure = read_figure("f.toml", text, Scale::Quick, &folder()).unwrap();
    assert_eq!(figure.scenario, None);
    let Some(ModelSpec::BallsIntoBins { rounds: 10, load, seeds, .. }) = figure.model else { panic!() };
    assert_eq!((load, seeds), (0.99, vec![4]));
    let text = "id = \"reps/table-1\"\ntitle = \"State\"\n[model]\nkind = \"state-bits\"\n";
    let figure = read_figure("f.toml", text, Scale::Paper, &folder()).unwrap();
    assert_eq!(figure.model, Some(ModelSpec::StateBits {}));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sound_scenario_reads_back(
        hosts_log in 2u32..7,
        gbps in 1u64..2_000,
        latency_ps in 0u64..5_000_000,
        bytes in 1u64..1_000_000_000,
        seed in 0..i64::MAX as u64,
        probability in 0.0f64..=1.0,
        evs in 1u32..=65_536,
        swept in proptest::collection::btree_set(1u32..=32, 1..4),
    ) {
        let swept: Vec<u32> = swept.into_iter().collect();
        let text = format!(
            "schemes = [\"reps\", \"ecmp\"]\nseeds = [{seed}]\n[topology]\nkind = \"fat-tree\"\nhosts = {}\n\
             link = \"{gbps}Gbps\"\nlink_latency = \"{latency_ps}ps\"\n[workload]\nkind = \"permutation\"\n\
             bytes = \"{bytes}B\"\n[[fault]]\nkind = \"packet-loss\"\nlinks = \"all\"\nprobability = {probability:?}\n\
             [set]\nreps.lb.evs = {evs}\n[sweep]\n\"reps.lb.buffer\" = {swept:?}\n",
            1 << hosts_log,
        );
        let s = read("s.toml", &text, &folder(), &Overrides::default()).unwrap();
        prop_assert_eq!(s.points().unwrap().len(), 2 * swept.len());
        assert_round_trip(&s);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        let _ = read("s.toml", &text, &folder(), &Overrides::default());
        let _ = read_figure("s.toml", &text, Scale::Quick, &folder());
    }

    #[test]
    fn no_change_to_a_good_file_panics(at in 0usize..1_000, cut in 0usize..40, put in "[a-z0-9\"\\[\\]={}.,\n-]{0,12}") {
        let good = format!("{GOOD}[set]\nreps.lb.evs = 4\n[[fault]]\nkind = \"rate\"\nlinks = \"all\"\nrate = \"1Gbps\"\n[sweep]\n\"topology.hosts\" = [4, 8]\n");
        let from = at % good.len();
        let to = (from + cut).min(good.len());
        let text = format!("{}{put}{}", &good[..from], &good[to..]);
        let _ = read("s.toml", &text, &folder(), &Overrides::default()).and_then(|s| s.check());
        let _ = read_figure("s.toml", &text, Scale::Paper, &folder());
    }
}
