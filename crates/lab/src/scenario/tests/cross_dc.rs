//! Scenarios with several data centres: their defaults, and bad inputs with the whole error text.

use crate::scenario::tests::{assert_round_trip, folder, on, scenario};
use crate::scenario::*;
use anabranch_base::{Bytes, Duration, HostId, Rate};

/// The fabric of Themis-longhaul, section VII-A, in lines 3 to 10.
const PAPER: &str = r#"schemes = ["reps"]
[topology]
kind = "cross-dc"
tors = 4
leaves = 4
hosts_per_tor = 4
link = "100Gbps"
link_latency = "1us"
switch_latency = "0ns"
wan_latency = "500us"
"#;

const PERMUTATION: &str = "[workload]\nkind = \"permutation\"\nbytes = \"1MB\"\n";

fn attempt(text: &str) -> Result<Scenario, Diagnostic> {
    let scenario = read("s.toml", text, &folder(), &Overrides::default())?;
    scenario.check().map(|_| scenario)
}

fn spec(scenario: &Scenario) -> &CrossDcSpec {
    match &scenario.topology {
        TopologySpec::CrossDc(spec) => spec,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_not_said_carries_all_that_the_hosts_send() {
    let read = scenario(&format!("{PAPER}{PERMUTATION}"));
    let us = Duration::from_us(1);
    let paper = CrossDcSpec {
        dcs: 2,
        tors: 4,
        leaves: 4,
        hosts_per_tor: 4,
        link: Rate::from_gbps(100),
        link_latency: us,
        esw_link: Rate::from_gbps(400),
        esw_link_latency: us,
        wan_link: Rate::from_gbps(1600),
        wan_latency: us * 500,
        switch_latency: Duration::ZERO,
    };
    assert_eq!(spec(&read), &paper);
    let WorkloadSpec::Permutation { hosts, .. } = read.workload else { panic!("{:?}", read.workload) };
    assert_eq!(hosts, 32);

    let shapes = "dcs = 3\nesw_link = \"200Gbps\"\nesw_link_latency = \"7us\"\nwan_link = \"300Gbps\"\n";
    let other = scenario(&format!("{PAPER}{shapes}{PERMUTATION}"));
    let expected = CrossDcSpec {
        dcs: 3,
        esw_link: Rate::from_gbps(200),
        esw_link_latency: us * 7,
        wan_link: Rate::from_gbps(300),
        ..paper
    };
    assert_eq!(spec(&other), &expected);
}

/// Lines of [`PAPER`], each with its replacement and the whole error text.
const CASES: &[(&str, &str, &str)] = &[
    (
        "tors = 4",
        "dcs = 1\ntors = 4",
        r#"s.toml:4:1: the data centres can number 2 to 65535, so 1 are not possible
  write: dcs = 2"#,
    ),
    (
        "tors = 4",
        "dcs = 100000\ntors = 4",
        r#"s.toml:4:1: the data centres can number 2 to 65535, so 100000 are not possible
  write: dcs = 2730"#,
    ),
    (
        "tors = 4",
        "hosts = 32",
        r#"s.toml:4:1: unknown key "hosts" in [topology]
  write: one of kind, dcs, tors, leaves, hosts_per_tor, link, link_latency, esw_link, esw_link_latency, wan_link, wan_latency, switch_latency ("hosts" is a key of fat-tree, leaf-spine, single-switch, dumbbell)"#,
    ),
    (
        "tors = 4\n",
        "",
        r#"s.toml:2:2: [topology] has no "tors"
  write: tors = 4"#,
    ),
    (
        "tors = 4",
        "tors = 0",
        r#"s.toml:4:1: the ToRs of a data centre can number 1 to 65535, so 0 are not possible
  write: tors = 1"#,
    ),
    (
        "leaves = 4",
        "leaves = 0",
        r#"s.toml:5:1: the leaves of a data centre can number 1 to 65535, so 0 are not possible
  write: leaves = 1"#,
    ),
    (
        "leaves = 4\n",
        "",
        r#"s.toml:2:2: [topology] has no "leaves"
  write: leaves = 4"#,
    ),
    (
        "hosts_per_tor = 4",
        "hosts_per_tor = 65532",
        r#"s.toml:6:1: each ToR would have 65536 ports, and the most is 65535
  write: fewer hosts_per_tor or leaves"#,
    ),
    (
        "hosts_per_tor = 4\n",
        "",
        r#"s.toml:2:2: [topology] has no "hosts_per_tor"
  write: hosts_per_tor = 8"#,
    ),
    (
        "link = \"100Gbps\"\n",
        "",
        r#"s.toml:2:2: [topology] has no "link"
  write: link = "400Gbps""#,
    ),
    (
        "link = \"100Gbps\"",
        "link = \"100Gbps\"\nesw_link = \"0Gbps\"",
        r#"s.toml:8:1: esw_link must be above 0
  write: esw_link = "400Gbps""#,
    ),
    (
        "link = \"100Gbps\"",
        "link = \"100Gbps\"\nwan_link = \"0Gbps\"",
        r#"s.toml:8:1: wan_link must be above 0
  write: wan_link = "1600Gbps""#,
    ),
    (
        "wan_latency = \"500us\"\n",
        "",
        r#"s.toml:2:2: [topology] has no "wan_latency"
  write: wan_latency = "500us""#,
    ),
    (
        "wan_latency = \"500us\"\n",
        "wan_latency = \"100km\"\n",
        r#"s.toml:10:1: wan_latency: "100km" is not a time such as "500ns", "1.5us" or "10ms"; the units are ps, ns, us, ms, s
  write: wan_latency = "500us""#,
    ),
];

#[test]
fn bad_fabrics_are_refused_with_their_place_and_what_to_write() {
    for (written, instead, expected) in CASES {
        assert_eq!(PAPER.matches(written).count(), 1, "{written}");
        let text = format!("{}{PERMUTATION}", PAPER.replace(written, instead));
        let error = attempt(&text).expect_err(instead).to_string();
        assert_eq!(error, *expected, "{instead}");
    }
}

#[test]
fn faults_and_measures_name_leaves_and_esws() {
    let watched = |links: &str| {
        format!(
            "{PAPER}{PERMUTATION}[[fault]]\nkind = \"rate\"\nlinks = \"{links}\"\nat = \"1us\"\nrate = \"10Gbps\"\n\
             [[measure]]\nseries = \"queue-depth\"\nevery = \"1us\"\nlinks = \"{links}\"\n"
        )
    };
    for links in ["esw:0/up:0", "leaf:3/up", "esw-uplinks:100%", "leaf:7/down:3", "esw:1/down"] {
        scenario(&watched(links));
    }
    let refused = |links: &str| attempt(&watched(links)).unwrap_err().to_string();
    assert_eq!(
        refused("core:0/up"),
        "s.toml:16:1: \"core:0/up\": this topology has no such switches; it has tor, leaf, esw\n  write: links = \
         \"esw:0/up\""
    );
    assert_eq!(
        refused("esw:7/up:3"),
        "s.toml:16:1: \"esw:7/up:3\": there is no esw:7; they are esw:0 to esw:1\n  write: links = \"esw:1/up:0\""
    );
}

#[test]
fn what_is_no_place_here_is_answered_with_one_that_is() {
    let watched = |what: &str| {
        let fault = format!("[[fault]]\nkind = \"link-down\"\nlinks = \"{what}\"\n");
        attempt(&format!("{PAPER}{PERMUTATION}{fault}")).unwrap_err().help().unwrap()
    };
    assert_eq!(watched("wan"), "links = \"esw-uplinks\"");
    assert_eq!(
        watched("esw:100%"),
        "kind = \"switch-down\" with switches = \"esw:100%\" instead of links; or links = \"esw-uplinks:100%\" for links \
         alone"
    );
    assert_eq!(
        watched("spine:0"),
        "kind = \"switch-down\" with switches = \"esw:0\" instead of links; or links = \"cable:esw:0/up\" for links alone"
    );
    let edge = PAPER.replace("reps", "themis-longhaul");
    let edge = format!("{edge}{PERMUTATION}[set]\n\"themis-longhaul.fabric.program_at\" = \"spine:100%\"\n");
    assert!(attempt(&edge).unwrap_err().to_string().ends_with("program_at\" = \"esw:100%\""));
    let far = format!("{}{PERMUTATION}", PAPER.replace("500us", "10000000s"));
    assert_eq!(
        attempt(&far).unwrap_err().to_string(),
        "s.toml:2:2: the longest path's round trip takes more than an hour\n  write: shorter latencies: 500us are 100 km"
    );
}

#[test]
fn what_is_over_before_an_ack_can_be_back_is_warned_of() {
    let warnings = |text: &str| -> Vec<String> {
        let read = read("s.toml", &on("reps-paper", text), &folder(), &Overrides::default()).unwrap();
        read.check().unwrap().iter().map(ToString::to_string).collect()
    };
    let far = format!("{PAPER}{PERMUTATION}");
    let told = warnings(&far);
    let begins = "s.toml:1:1: scheme \"reps\": transport.rto = \"70us\" is not above the round trip of 1020us from host ";
    let ends = "of 32 queue pairs in all, packets are sent again before their ACK can be back\n  write: \
                \"reps.transport.rto\" = \"4rtt\" below [set]";
    assert!(told.len() == 1 && told[0].starts_with(begins) && told[0].ends_with(ends), "{told:?}");
    let set = |value: &str| format!("{far}[set]\n\"*.transport.rto\" = \"{value}\"\n");
    assert_eq!(warnings(&set("4rtt")), [""; 0]);
    assert!(warnings(&set("1ms"))[0].starts_with("s.toml:15:1: scheme"), "{:?}", warnings(&set("1ms")));
    let queued = warnings(&set("1021us"));
    assert!(queued.len() == 1 && queued[0].contains("behind a full queue"), "{queued:?}");
    let swept = format!("{}[sweep]\n\"topology.wan_latency\" = [\"2ms\", \"1ms\"]\n", set("100us"));
    assert_eq!(warnings(&swept).len(), 1, "once, however many points it is true of");
    assert!(warnings(&swept)[0].contains("4020us"), "the longest of them: {:?}", warnings(&swept));
    let swept = format!("{far}[sweep]\n\"reps.transport.rto\" = [\"4rtt\", \"50us\"]\n");
    assert!(
        warnings(&swept)[0].ends_with("write: longer ones, such as \"4rtt\", in [sweep]"),
        "{:?}",
        warnings(&swept)
    );
    let space = set("4rtt").replace("500us", "500s");
    let limits = warnings(&space);
    assert!(
        limits[0].starts_with("s.toml: limits.max_time = \"1s\" is not above the longest path's"),
        "{limits:?}"
    );
    assert!(
        limits[0].ends_with("write: max_time = \"20100s\" below [limits]") && limits.len() == 1,
        "{limits:?}"
    );
    let low = on("dcp-paper", &far.replace("\"reps\"", "\"irn-ecmp\""));
    let low = warnings(&low);
    assert!(low[1].contains("transport.rto_low = \"100us\"") && low[1].contains("\"1.5rtt\""), "{low:?}");
    let near = "schemes = [\"reps\"]\n[topology]\nkind = \"single-switch\"\nhosts = 8\nlink = \"100Gbps\"\n";
    assert_eq!(warnings(&format!("{near}{PERMUTATION}")), [""; 0]);
}

/// The traffic of Themis-longhaul, figure 14, in lines 11 to 19.
const MIXED: &str = r#"[workload]
kind = "poisson"
sizes = "websearch"
load = 0.3
duration = "2ms"
incast = { degree = 8, bytes = "32KB", load = 0.3 }
[workload.pipeline]
bytes = "1MB"
load = 0.2
"#;

const TWO: &str = r#"[workload]
kind = "messages"
[[workload.message]]
from = 13
to = 15
bytes = "100MB"
[[workload.message]]
from = 10
to = 31
bytes = "100MB"
start = "20us"
"#;

#[test]
fn pipelines_and_listed_messages_are_read_and_read_back() {
    let mixed = scenario(&format!("{PAPER}{MIXED}"));
    let WorkloadSpec::Poisson { incast: Some(incast), pipeline: Some(pipeline), hosts: 32, .. } =
        &mixed.workload
    else {
        panic!("{:?}", mixed.workload)
    };
    assert_eq!(incast, &IncastsSpec { degree: 8, bytes: Bytes(32_000), load: 0.3 });
    assert_eq!(pipeline, &PipelineSpec { bytes: Bytes(1_000_000), load: 0.2, persistent: false });
    assert_round_trip(&mixed);
    let two = scenario(&format!("{PAPER}{TWO}"));
    let message = |from, to, start| MessageSpec {
        from: HostId(from),
        to: HostId(to),
        bytes: Bytes(100_000_000),
        start: Duration::from_us(start),
    };
    assert_eq!(
        two.workload,
        WorkloadSpec::Messages { message: vec![message(13, 15, 0), message(10, 31, 20)] }
    );
    assert_round_trip(&two);
    let swept = format!("{PAPER}{MIXED}[sweep]\n\"workload.pipeline.load\" = [0.1, 0.4]\n");
    let loads: Vec<f64> = scenario(&swept)
        .points()
        .unwrap()
        .into_iter()
        .map(|point| match point.workload {
            WorkloadSpec::Poisson { pipeline: Some(pipeline), .. } => pipeline.load,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(loads, [0.1, 0.4]);
}

/// Each entry has the traffic, a part of its text, the replacement of that part, and the whole error text.
const TRAFFIC: &[(&str, &str, &str, &str)] = &[
    (
        MIXED,
        "load = 0.2",
        "load = 20",
        r#"s.toml:19:1: load of a pipeline must be above 0 and, with the 0.6 of the other parts, at most 1.5 of the hosts' line rate, not 20
  write: load = 0.2"#,
    ),
    (
        MIXED,
        "load = 0.2",
        "load = \"20%\"",
        r#"s.toml:19:1: load: must be a number, not "20%"
  write: load = 0.2"#,
    ),
    (
        MIXED,
        "degree = 8",
        "degree = \"8\"",
        r#"s.toml:16:12: degree: must be a whole number, not "8"
  write: degree = 8"#,
    ),
    (
        MIXED,
        "load = 0.2",
        "loads = 0.2",
        r#"s.toml:19:1: unknown key "loads" in [workload.pipeline]
  write: load = 0.2 (did you mean "load"?)"#,
    ),
    (
        MIXED,
        "load = 0.2\n",
        "",
        r#"s.toml:17:11: [workload.pipeline] has no "load"
  write: load = 0.6"#,
    ),
    (
        MIXED,
        "\"1MB\"",
        "\"0B\"",
        r#"s.toml:18:1: bytes must be above 0
  write: bytes = "8MiB""#,
    ),
    (
        MIXED,
        "[workload.pipeline]\nbytes = \"1MB\"\nload = 0.2",
        "pipeline = 0.2",
        r#"s.toml:17:1: [workload.pipeline] must be a table, not 0.2
  write: [workload.pipeline] and below it its keys, such as bytes = "8MiB""#,
    ),
    (
        MIXED,
        "duration",
        "hosts = 16\nduration",
        r#"s.toml:15:1: hosts: every host is a stage of the pipeline, so 16 of 32 are too few
  write: hosts = 32"#,
    ),
    (
        MIXED,
        "\"1MB\"",
        "\"10GB\"",
        r#"s.toml:15:1: duration: no micro-batch starts in 2ms: a host starts one every 4000000.0 us
  write: a longer duration"#,
    ),
    (
        TWO,
        "from = 10",
        "from = 32",
        r#"s.toml:18:1: there is no host 32: the fabric's 32 hosts are 0 to 31
  write: from = 31"#,
    ),
    (
        TWO,
        "to = 31",
        "to = 10",
        r#"s.toml:19:1: host 10 cannot send to itself
  write: to = 11"#,
    ),
    (
        TWO,
        "start = \"20us\"",
        "begin = \"20us\"",
        r#"s.toml:21:1: unknown key "begin" in [[workload.message]]
  write: one of from, to, bytes, start"#,
    ),
    (
        TWO,
        "to = 31\n",
        "",
        r#"s.toml:17:1: [[workload.message]] has no "to"
  write: to = 1"#,
    ),
    (
        "[workload]\nkind = \"messages\"\n",
        "kind",
        "kind",
        r#"s.toml:11:2: there is no message
  write: [[workload.message]] and below it from = 0, to = 1, bytes = "8MiB""#,
    ),
];

#[test]
fn bad_traffic_is_refused_with_its_place_and_what_to_write() {
    let mut wrong = String::new();
    for (traffic, written, instead, expected) in TRAFFIC {
        let text = format!("{PAPER}{}", traffic.replacen(written, instead, 1));
        let error = attempt(&text).expect_err(&text).to_string();
        if error != *expected {
            wrong += &format!("{instead}\n--- said\n{error}\n--- expected\n{expected}\n\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_pipeline_needs_a_second_data_centre() {
    let one = "schemes = [\"reps\"]\n[topology]\nkind = \"single-switch\"\nhosts = 16\nlink = \"100Gbps\"\n";
    assert_eq!(
        attempt(&format!("{one}{MIXED}")).unwrap_err().to_string(),
        "s.toml:12:11: pipeline: a pipeline leads from data centre to data centre, and this fabric is one\n  write: \
         [topology] kind = \"cross-dc\", or a workload without pipeline"
    );
}

#[test]
fn the_facts_for_readers_have_the_hosts_and_those_of_a_tor() {
    let hosts = |topology: &str| {
        let text = format!(
            "schemes = [\"reps\"]\n[topology]\n{topology}\nlink = \"100Gbps\"\n[workload]\nkind = \"permutation\"\nbytes = \"1MB\"\n"
        );
        let scenario = scenario(&text);
        let facts = scenario.facts(&scenario.examine().unwrap().facts);
        (facts.points[0].hosts, facts.points[0].hosts_per_tor)
    };
    let sites = "kind = \"cross-dc\"\ntors = 2\nleaves = 2\nhosts_per_tor = 4\nwan_latency = \"500us\"";
    assert_eq!(hosts(sites), (Some(16), Some(4)));
    assert_eq!(hosts("kind = \"fat-tree\"\nhosts = 16"), (Some(16), Some(4)));
    assert_eq!(hosts("kind = \"multi-plane\"\nservers = 4\nnics = 2\nsegment = 2"), (Some(8), Some(4)));
    assert_eq!(hosts("kind = \"rails\"\nservers = 4\nnics = 2"), (Some(8), None));
    assert_eq!(hosts("kind = \"single-switch\"\nhosts = 4"), (Some(4), None));
}
