use super::super::{build, fat_tree_defaults, parse_ns3};
use super::*;
use crate::{ClosInput, ClosKind, TopologySpec, clos_defaults};
use anabranch_base::{Duration, Purpose, Rate, stream};
use proptest::prelude::*;

fn tree(hosts: u32, tiers: u32) -> Topology {
    let (link, ns) = (Rate::from_gbps(400), Duration::from_ns(1));
    let (tier, pod_hosts) = fat_tree_defaults(hosts, tiers, 1, None, link, ns, ns).unwrap();
    build(&TopologySpec::FatTree { hosts, tier, pod_hosts }, None).unwrap()
}

fn graph() -> Topology {
    let text = "6 3 6\n2 3 5\n0 2 1Gbps 1ns 0\n1 2 1Gbps 1ns 0\n4 3 1Gbps 1ns 0\n\
                2 3 1Gbps 1ns 0\n2 3 1Gbps 1ns 0\n3 5 1Gbps 1ns 0\n";
    parse_ns3("g", text, Duration::ZERO).unwrap()
}

fn links(t: &Topology, text: &str) -> Result<Vec<String>, String> {
    let mut random = stream(1, 0, Purpose::FaultSelection);
    let selector = Selector::parse(text).map_err(|e| e.to_string())?;
    let links = selector.links(t, &mut random).map_err(|e| e.to_string())?;
    assert!(links.is_sorted_by(|a, b| a < b), "{text}: {links:?}");
    Ok(links.into_iter().map(|l| t.link_name(l)).collect())
}

fn switches(t: &Topology, text: &str) -> Result<Vec<String>, String> {
    let mut random = stream(1, 0, Purpose::FaultSelection);
    let selector = Selector::parse(text).map_err(|e| e.to_string())?;
    let nodes = selector.switches(t, &mut random).map_err(|e| e.to_string())?;
    Ok(nodes.into_iter().map(|n| t.node_name(n)).collect())
}

#[test]
fn forms_that_name_links() {
    let (two, three, g) = (tree(32, 2), tree(128, 3), graph());
    let got = |t, text| links(t, text).unwrap();
    assert_eq!(got(&two, "tor:0/up"), ["tor:0/up:0", "tor:0/up:1", "tor:0/up:2", "tor:0/up:3"]);
    assert_eq!(got(&two, " tor:7/up:3 "), ["tor:7/up:3"]);
    assert_eq!(got(&two, "tor:0/down:1"), ["tor:0/down:1"]);
    assert_eq!(got(&two, "spine:2/down:4"), ["spine:2/down:4"]);
    assert_eq!(got(&two, "switch:10/down:4"), ["spine:2/down:4"]);
    assert_eq!(got(&two, "tier2:2/down:4"), ["spine:2/down:4"]);
    assert_eq!(got(&two, "host:5"), ["host:5"]);
    assert_eq!(got(&two, "tor-uplinks").len(), 32);
    assert_eq!(got(&two, "host-links").len(), 32);
    assert_eq!(got(&two, "all").len(), 128);
    assert_eq!(got(&three, "agg:31/up:3"), ["agg:31/up:3"]);
    assert_eq!(got(&three, "core:15/down").len(), 8);
    assert_eq!(got(&three, "agg-uplinks").len(), 128);
    assert_eq!(got(&g, "node:2->node:3"), ["tor:0/up:0", "tor:0/up:1"]);
    assert_eq!(got(&g, "node:3 -> node:4"), ["tor:1/down:0"]);
    assert_eq!(got(&g, "node:4->node:3"), ["host:2"]);
    assert_eq!(got(&g, "node:3/up"), ["tor:1/up:0", "tor:1/up:1", "tor:1/up:2"]);
    assert_eq!(got(&g, "tor-uplinks").len(), 5);
    let cables = got(&g, "tor-uplinks:3");
    assert_eq!(cables, ["tor:0/up:0", "tor:0/up:1", "tor:1/up:2"], "each cable once");
}

#[test]
fn an_error_rate_names_the_links_to_which_the_file_gives_it() {
    let text = "4 2 3\n2 3\n0 2 1Gbps 1ns 0.001\n1 3 1Gbps 1ns 0\n2 3 1Gbps 1ns 1e-3\n";
    let lossy = parse_ns3("g", text, Duration::ZERO).unwrap();
    assert_eq!(
        links(&lossy, "error-rate:0.001").unwrap(),
        ["host:0", "tor:0/down:0", "tor:0/up:0", "tor:1/up:0"]
    );
    let error = links(&lossy, "error-rate:0.01").unwrap_err();
    assert!(error.contains("the file gives 0.001; write: \"error-rate:0.001\""), "{error}");
    let error = links(&graph(), "error-rate:0.01").unwrap_err();
    assert!(
        error.contains("no file gives links of this topology an error rate; write: \"tor-uplinks\""),
        "{error}"
    );
    for wrong in ["error-rate:0", "error-rate:2", "error-rate:x"] {
        assert!(
            links(&lossy, wrong).unwrap_err().contains("is no error rate; write: one above 0"),
            "{wrong}"
        );
    }
}

#[test]
fn a_cable_is_both_directions_and_a_name_with_a_direction_is_that_one() {
    let (two, g) = (tree(32, 2), graph());
    let got = |t, text| links(t, text).unwrap();
    assert_eq!(got(&two, "cable:tor:0/up:3"), ["tor:0/up:3", "spine:3/down:0"]);
    assert_eq!(got(&two, "cable:spine:3/down:0"), ["tor:0/up:3", "spine:3/down:0"]);
    assert_eq!(got(&two, "cable: host:5"), ["host:5", "tor:1/down:1"]);
    assert_eq!(got(&two, "cable:tor-uplinks:3").len(), 6);
    assert_eq!(got(&two, "cable:all"), got(&two, "all"));
    assert_eq!(got(&g, "cable:node:2->node:3").len(), 4);
    let cables = |text: &str| Selector::parse(text).unwrap().names_cables();
    for text in ["cable:tor:0/up:3", "tor-uplinks", "tor-uplinks:3%", "host:5", "host-links", "all"] {
        assert!(cables(text), "{text}");
    }
    assert!(["tor:0/up", "spine:2/down:4", "node:2->node:3"].iter().all(|text| !cables(text)));
    let wrong = links(&two, "cable:tor:0/up:9").unwrap_err();
    assert!(wrong.ends_with("write: \"cable:tor:0/up:3\""), "{wrong}");
    let switch = links(&two, "cable:tor:0").unwrap_err();
    assert!(switch.ends_with("a cable is named by a link; write: \"cable:tor:0/up:0\""), "{switch}");
}

#[test]
fn shares_and_numbers_pick_distinct_cables_by_the_stream_alone() {
    let t = tree(128, 2);
    let pick = |text: &str, seed| {
        let mut random = stream(seed, 0, Purpose::FaultSelection);
        Selector::parse(text).unwrap().links(&t, &mut random).unwrap()
    };
    assert_eq!(pick("tor-uplinks:3%", 1).len(), 4, "3.84 of 128");
    assert_eq!(pick("tor-uplinks:0.1%", 1).len(), 1, "at least one");
    assert_eq!(pick("tor-uplinks:100%", 1), pick("tor-uplinks", 1));
    assert_eq!(pick("tor-uplinks:20", 7), pick("tor-uplinks:20", 7));
    assert_ne!(pick("tor-uplinks:20", 7), pick("tor-uplinks:20", 8));
    assert_eq!(pick("host-links:50%", 1).len(), 64);
    let mut seen: Vec<LinkId> = (0..200).flat_map(|seed| pick("tor-uplinks:10", seed)).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 128, "every cable comes up at some seed");
}

#[test]
fn forms_that_name_switches() {
    let (two, three, g) = (tree(32, 2), tree(128, 3), graph());
    assert_eq!(switches(&two, "tor:3").unwrap(), ["tor:3"]);
    assert_eq!(switches(&two, "spine:1").unwrap(), ["spine:1"]);
    assert_eq!(switches(&two, "switch:9").unwrap(), ["spine:1"]);
    assert_eq!(switches(&two, "spine:5%").unwrap().len(), 1);
    assert_eq!(switches(&two, "tor:50%").unwrap().len(), 4);
    assert_eq!(switches(&three, "agg:3").unwrap(), ["agg:3"]);
    assert_eq!(switches(&g, "node:5").unwrap(), ["spine:0"]);
}

fn single() -> Topology {
    let single = TopologySpec::SingleSwitch {
        hosts: 2,
        link: Rate::from_gbps(1),
        link_latency: Duration::ZERO,
        switch_latency: Duration::ZERO,
    };
    build(&single, None).unwrap()
}

fn assert_errors(cases: &[(&Topology, &str, &str)]) {
    for (t, text, expected) in cases {
        let got = links(t, text).unwrap_err();
        assert!(got.starts_with(expected), "{text}: {got}");
    }
}

#[test]
fn errors_say_the_range_and_the_nearest_name() {
    let (two, three) = (tree(32, 2), tree(128, 3));
    let cases = [
        (&two, "tor:9/up", "\"tor:9/up\": there is no tor:9; they are tor:0 to tor:7"),
        (&two, "tor:0/up:4", "\"tor:0/up:4\": there is no tor:0/up:4; they are tor:0/up:0 to tor:0/up:3"),
        (&two, "host:32", "\"host:32\": there is no host:32; they are host:0 to host:31"),
        (&two, "agg:0/up", "\"agg:0/up\": this topology has no such switches; it has tor, spine"),
        (
            &three,
            "spine-uplinks",
            "\"spine-uplinks\": this topology has no such switches; it has tor, agg, core",
        ),
        (&two, "spine-uplinks", "\"spine-uplinks\": these switches have no links upwards"),
        (&two, "spine:0/up", "\"spine:0/up\": there is no spine:0/up"),
        (
            &two,
            "tor:9/up:7",
            "\"tor:9/up:7\": there is no tor:9; they are tor:0 to tor:7; write: \"tor:7/up:3\"",
        ),
        (
            &two,
            "spine:0/up:1",
            "\"spine:0/up:1\": there is no spine:0/up: the switch has no such links; write: \"spine:0/down:1\"",
        ),
        (
            &two,
            "core-uplinks:3%",
            "\"core-uplinks:3%\": this topology has no such switches; it has tor, spine; write: \"tor-uplinks:3%\"",
        ),
        (
            &two,
            "leaf:2/up",
            "\"leaf:2/up\": this topology has no such switches; it has tor, spine; write: \"tor:2/up\"",
        ),
        (&two, "host:99", "\"host:99\": there is no host:99; they are host:0 to host:31; write: \"host:31\""),
    ];
    assert_errors(&cases);
}

#[test]
fn errors_say_the_forms_or_what_is_missing() {
    let (two, g, single) = (tree(32, 2), graph(), single());
    let cases = [
        (&two, "tor-uplinks:33", "\"tor-uplinks:33\": 33 uplinks are more than there are; write: 1 to 32"),
        (&two, "tor-uplinks:0", "\"tor-uplinks:0\": 0 links are no selection"),
        (&two, "tor-uplinks:0%", "\"tor-uplinks:0%\": \"0\" % is no share"),
        (&two, "tor-uplinks:101%", "\"tor-uplinks:101%\": \"101\" % is no share"),
        (&two, "tor-uplinks:NaN%", "\"tor-uplinks:NaN%\": \"NaN\" % is no share"),
        (&two, "tor-uplinks:x", "\"tor-uplinks:x\": \"x\" is neither a number of links nor a share"),
        (&two, "tor:3", "\"tor:3\": this names a switch, but links are wanted; write: \"tor:3/up\""),
        (&two, "tor:99", "\"tor:99\": this names a switch, but links are wanted; write: \"tor:7/up\""),
        (
            &two,
            "spine:100%",
            "\"spine:100%\": this names a switch, but links are wanted; write: \"tor-uplinks:100%\"",
        ),
        (
            &two,
            "core-uplinks:500",
            "\"core-uplinks:500\": this topology has no such switches; it has tor, spine; write: \"tor-uplinks:1\"",
        ),
        (
            &single,
            "tor-uplinks:3%",
            "\"tor-uplinks:3%\": these switches have no links upwards; write: \"host-links:3%\"",
        ),
        (
            &single,
            "cable:tor-uplinks:3%",
            "\"cable:tor-uplinks:3%\": these switches have no links upwards; write: \"cable:host-links:3%\"",
        ),
        (
            &single,
            "cable:tor-uplinks",
            "\"cable:tor-uplinks\": these switches have no links upwards; write: \"cable:host-links\"",
        ),
        (&two, "node:1->node:2", "\"node:1->node:2\": only a topology from an ns-3 file"),
        (&g, "node:1->node:4", "\"node:1->node:4\": there is no link from node 1 to node 4"),
        (&g, "node:9->node:4", "\"node:9->node:4\": there is no node:9; they are node:0 to node:5"),
        (&g, "node:0/up", "\"node:0/up\": node 0 is a host"),
        (&single, "tor-uplinks", "\"tor-uplinks\": these switches have no links upwards"),
    ];
    assert_errors(&cases);
    for text in
        ["", "tor", "tor:0/sideways", "rack:0/up", "tor:x", "uplinks", "node:1->2", "tier0:1", "tor:-1"]
    {
        let got = links(&two, text).unwrap_err();
        let is_number = got.contains("is not a number from 0");
        assert!(is_number || got.contains("this is no form of selector"), "{text}: {got}");
    }
    assert!(switches(&two, "tor:0/up").unwrap_err().ends_with("a switch is wanted; write: \"tor:0\""));
    assert!(switches(&two, "tor:8").unwrap_err().contains("they are tor:0 to tor:7"));
    assert!(switches(&g, "node:0").unwrap_err().contains("node 0 is a host"));
}

#[test]
fn every_link_and_switch_reads_back_from_its_name() {
    let mut random = stream(1, 0, Purpose::FaultSelection);
    for t in [tree(32, 2), tree(128, 3), graph(), cluster()] {
        for link in (0..t.links()).map(LinkId) {
            let selector = Selector::parse(&t.link_name(link)).unwrap();
            assert_eq!(selector.links(&t, &mut random), Ok(vec![link]), "{selector}");
        }
        for node in (t.hosts..t.nodes()).map(NodeId) {
            let selector = Selector::parse(&t.node_name(node)).unwrap();
            assert_eq!(selector.switches(&t, &mut random), Ok(vec![node]), "{selector}");
        }
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in prop_oneof![
        "\\PC*",
        "(cable:|nic-links:)?(server|rail|plane|host):[0-9]{0,3}(/(nic|port|tor|spine|tor-uplinks|switch):?[0-9]{0,2}%?){0,2}\
         (/up|/down)?(:[0-9]{0,2})?",
        "(cable:)?(tor|spine|host|node|switch|tier[0-9]{1,3}|host-links|(tor|spine|core|esw)-uplinks|core)\
         [:/]?[0-9]{0,11}[%:/]?(up|down|->node:)?:?[0-9]{0,3}"
    ]) {
        let mut random = stream(1, 0, Purpose::FaultSelection);
        if let Ok(selector) = Selector::parse(&text) {
            for t in [tree(32, 2), graph(), single(), cluster()] {
                // A suggested selector names at least one link or switch.
                let offered = |error: SelectorError| {
                    let near = error.problem.fix?.to_string();
                    Some(Selector::parse(near.strip_prefix('"')?.trim_end_matches('"')).unwrap())
                };
                if let Some(near) = selector.links(&t, &mut random).err().and_then(offered) {
                    prop_assert!(near.links(&t, &mut random).is_ok(), "{near}");
                }
                if let Some(near) = selector.switches(&t, &mut random).err().and_then(offered) {
                    prop_assert!(near.switches(&t, &mut random).is_ok(), "{near}");
                }
            }
        }
    }
}

/// Two planes, each with four ToRs and one spine. A server has 2 NICs, and a segment has 2 servers.
fn cluster() -> Topology {
    let rate = Rate::from_gbps(200);
    let input = ClosInput {
        nics: Some(2),
        segment: Some(2),
        ..ClosInput::new(4, rate, Duration::ZERO, Duration::ZERO)
    };
    build(&TopologySpec::Hpn(clos_defaults(ClosKind::Hpn, &input).unwrap()), None).unwrap()
}

#[test]
fn forms_that_name_parts_of_a_cluster() {
    let t = cluster();
    assert_eq!((t.hosts, t.tors(), t.switches.len()), (8, 8, 10));
    let got = |text| links(&t, text).unwrap();
    assert_eq!(got("server:1/nic:0/port:1"), ["server:1/nic:0/port:1"]);
    assert_eq!(got("host:2/port:1"), ["server:1/nic:0/port:1"]);
    assert_eq!(got("server:1/nic:0"), ["server:1/nic:0/port:0", "server:1/nic:0/port:1"]);
    assert_eq!(got("server:1/nic:0"), got("host:2"));
    assert_eq!(got("server:3").len(), 4);
    assert_eq!(got("rail:1").len(), 4 * 2);
    assert_eq!(got("rail:1")[..2], ["server:0/nic:1/port:0", "server:0/nic:1/port:1"]);
    assert_eq!((got("host-links").len(), got("nic-links").len()), (16, 16));
    let plane = got("nic-links:plane:1");
    assert!(plane.len() == 8 && plane.iter().all(|name| name.ends_with("/port:1")), "{plane:?}");
    assert_eq!(got("nic-links:plane:1:25%").len(), 2);
    assert_eq!(got("plane:0").len() + got("plane:1").len(), got("all").len());
    assert_eq!(got("plane:1/tor:0/up"), ["plane:1/tor:0/up:0"]);
    assert_eq!(got("plane:1/tor:0/up"), got("tor:4/up"));
    assert_eq!(got("plane:1/tor-uplinks").len(), 4);
    assert_eq!(got("cable:server:0/nic:0/port:0"), ["server:0/nic:0/port:0", "plane:0/tor:0/down:0"]);
    let got = |text| switches(&t, text).unwrap();
    assert_eq!(got("plane:1/tor:3"), ["plane:1/tor:3"]);
    assert_eq!(got("tor:7"), ["plane:1/tor:3"]);
    assert_eq!(got("plane:0/spine:0"), ["plane:0/spine:0"]);
    assert_eq!(got("plane:1/tor:50%").len(), 2);
    assert_eq!(got("plane:0").len(), 5);
    assert_eq!(got("rail:1"), ["plane:0/tor:1", "plane:0/tor:3", "plane:1/tor:1", "plane:1/tor:3"]);
    let cables = |text: &str| Selector::parse(text).unwrap().names_cables();
    assert!(
        ["server:0", "server:0/nic:1/port:0", "rail:0", "plane:1", "nic-links:plane:1"]
            .map(cables)
            .iter()
            .all(|is| *is)
    );
    assert!(!cables("plane:1/tor:0/up"));
}

#[test]
fn errors_about_parts_of_a_cluster_have_the_nearest_name() {
    let (t, tree) = (cluster(), tree(32, 2));
    for (t, text, expected) in [
        (&t, "server:4", "there is no server:4; they are server:0 to server:3; write: \"server:3\""),
        (
            &t,
            "server:1/nic:2",
            "there is no server:1/nic:2; they are server:1/nic:0 to server:1/nic:1; write: \"server:1/nic:1\"",
        ),
        (
            &t,
            "server:9/nic:9/port:9",
            "there is no server:9; they are server:0 to server:3; write: \"server:3/nic:1/port:1\"",
        ),
        (&t, "host:9/port:3", "there is no host:9; they are host:0 to host:7; write: \"host:7/port:1\""),
        (&t, "rail:2", "there is no rail:2; they are rail:0 to rail:1; write: \"rail:1\""),
        (&t, "plane:2", "there is no plane:2; they are plane:0 to plane:1; write: \"plane:1\""),
        (
            &t,
            "nic-links:plane:7",
            "there is no plane:7; they are plane:0 to plane:1; write: \"nic-links:plane:1\"",
        ),
        (
            &t,
            "plane:1/tor:4/up",
            "there is no plane:1/tor:4; they are plane:1/tor:0 to plane:1/tor:3; write: \"plane:1/tor:3/up\"",
        ),
        (
            &t,
            "plane:9/tor-uplinks",
            "there is no plane:9; they are plane:0 to plane:1; write: \"plane:1/tor-uplinks\"",
        ),
        (&t, "plane:1/tor:0", "this names a switch, but links are wanted; write: \"plane:1/tor:0/up\""),
        (&tree, "plane:1", "this topology has no planes; write: \"tor-uplinks\""),
        (&tree, "plane:1/tor:3/up", "this topology has no planes; write: \"tor:3/up\""),
        (&tree, "server:1/nic:0", "this topology has no servers; write: \"host:0\""),
        (&tree, "rail:0", "this topology has no servers; write: \"tor-uplinks\""),
        (
            &tree,
            "host:1/port:1",
            "there is no host:1/port:1; the only one is host:1/port:0; write: \"host:1/port:0\"",
        ),
    ] {
        let error = links(t, text).unwrap_err();
        assert_eq!(error, format!("{text:?}: {expected}"));
        let near = error.rsplit_once("write: ").unwrap().1.trim_matches('"');
        links(t, near).unwrap();
    }
    let error = switches(&t, "plane:1/spine:1").unwrap_err();
    assert!(error.ends_with("the only one is plane:1/spine:0; write: \"plane:1/spine:0\""), "{error}");
    for text in [
        "plane:1/host:0",
        "plane:1/plane:0/tor:0/up",
        "server:0/nic",
        "server:0/port:1",
        "host:0/nic:1",
        "rail",
        "server:0/nic:0/port:0/x",
    ] {
        let error = links(&t, text).unwrap_err();
        assert!(error.contains("this is no form of selector"), "{text}: {error}");
    }
}

#[test]
fn examples_of_selectors_exist() {
    for t in [cluster(), tree(32, 2), tree(128, 3), single(), graph()] {
        for text in Selector::examples(&t, true) {
            links(&t, &text).unwrap();
        }
        for text in Selector::examples(&t, false) {
            switches(&t, &text).unwrap();
        }
        assert!(Selector::examples(&t, true).len() > 1 && !Selector::examples(&t, false).is_empty());
    }
    assert_eq!(
        Selector::examples(&cluster(), true).join(" "),
        "server:0 server:0/nic:0 server:0/nic:0/port:0 rail:0 nic-links nic-links:plane:0 plane:0/tor:0/up \
         plane:0/tor-uplinks:3%"
    );
}

#[test]
fn a_range_is_answered_with_its_names() {
    let error = links(&cluster(), "server:0-2").unwrap_err();
    let list = "a list in [[fault]]: [\"server:0\", \"server:1\", \"server:2\"]";
    assert!(error.ends_with(&format!("a selector has no ranges; write: {list}")), "{error}");
    assert!(links(&cluster(), "server:2-0").unwrap_err().contains("is not a number from 0"));
}

#[test]
fn parts_of_servers_and_rails_are_found_by_their_numbers() {
    let t = cluster();
    let meant = |text, links| Selector::suggest(text, &t, links).unwrap_or_default();
    for (text, expected) in [
        ("rail:1/tor:0", "plane:0/tor:1/up"),
        ("server:2/gpu:1", "server:2/nic:1"),
        ("nic:1", "server:0/nic:1"),
        ("nic:5", "server:2/nic:1"),
        ("mlx5_1", "server:0/nic:1"),
        ("mlx5_1/port:1", "server:0/nic:1/port:1"),
        ("server:3/rail:1", "server:3/nic:1"),
        ("rail:1/server:3", "server:3/nic:1"),
        ("server3.hca1", ""),
        ("server:3/hca:1/port:1", "server:3/nic:1/port:1"),
        ("server:3/nic:1/plane:1", "server:3/nic:1/port:1"),
        ("plane:1/server:3/nic:1", "server:3/nic:1/port:1"),
        ("node:3/nic:1/port:1", "server:3/nic:1/port:1"),
        ("host:3/nic:0", "server:3/nic:0"),
        ("nic-links:rail:1", "rail:1"),
        ("nics", "nic-links"),
        ("all-nics", "nic-links"),
        ("plane:1/nics", "nic-links:plane:1"),
        ("plane:1/nic-links", "nic-links:plane:1"),
        ("plane:1/server:3", ""),
        ("swp1", ""),
        ("nvlink", ""),
    ] {
        assert_eq!(meant(text, true), expected, "{text}");
        assert!(expected.is_empty() || links(&t, expected).is_ok());
    }
    assert_eq!(meant("rail:1/tor:2", false), "plane:1/tor:1");
    for (text, expected) in [("leaf-uplinks:2", "tor-uplinks:2"), ("leaf-uplinks:9999", "tor-uplinks:1")] {
        let error = links(&tree(32, 2), text).unwrap_err();
        assert!(error.ends_with(&format!("write: \"{expected}\"")), "{error}");
    }
}
