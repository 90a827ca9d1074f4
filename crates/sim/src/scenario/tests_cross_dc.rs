//! Scenarios of more than one data centre: what is filled in, and bad input with the whole of what is said.

use super::tests::{folder, scenario};
use super::*;
use anabranch_base::{Duration, Rate};

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

fn attempt(text: &str) -> Result<Scenario, ScenarioError> {
    let scenario = read("s.toml", text, &folder(), &Overrides::default())?;
    scenario.check().map(|()| scenario)
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

/// Which line of [`PAPER`] is replaced, by what, and the whole of what is said.
const CASES: &[(&str, &str, &str)] = &[
    (
        "tors = 4",
        "dcs = 1\ntors = 4",
        r#"s.toml:4:1: the data centres can number 2 to 65535, so 1 are not possible
  write: dcs = 2"#,
    ),
    (
        "tors = 4",
        "hosts = 32",
        r#"s.toml:4:1: unknown key "hosts" in [topology]
  write: hosts_per_tor = 32 (did you mean "hosts_per_tor"?)"#,
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
        let error = attempt(&text).expect_err(instead);
        assert_eq!(error.to_string(), *expected);
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
    assert_eq!(
        attempt(&watched("core:0/up")).unwrap_err().to_string(),
        "s.toml:16:1: \"core:0/up\": this topology has no such switches; it has tor, leaf, esw\n  write: links = \
         \"tor-uplinks:3%\""
    );
}
