use super::*;
use crate::TopologySpec;
use crate::{Routing, Selector, build as build_topology};
use anabranch_base::{HostId, LinkId, Purpose, stream};
use std::collections::BTreeSet;

const US: Duration = Duration::from_us(1);

/// The fabric of Themis-longhaul, section VII-A.
fn paper() -> CrossDcSpec {
    CrossDcSpec {
        dcs: 2,
        tors: 4,
        leaves: 4,
        hosts_per_tor: 4,
        link: Rate::from_gbps(100),
        link_latency: US,
        esw_link: Rate::from_gbps(400),
        esw_link_latency: US,
        wan_link: Rate::from_gbps(1600),
        wan_latency: US * 500,
        switch_latency: Duration::ZERO,
    }
}

fn fabric(spec: CrossDcSpec) -> Topology {
    build_topology(&TopologySpec::CrossDc(spec), None).unwrap()
}

fn refused(spec: CrossDcSpec) -> String {
    build_topology(&TopologySpec::CrossDc(spec), None).unwrap_err().to_string()
}

fn names(t: &Topology, path: &[LinkId]) -> Vec<String> {
    path.iter().map(|link| t.link_name(*link)).collect()
}

#[test]
fn the_papers_fabric_has_its_nodes_links_and_sites() {
    let t = fabric(paper());
    assert_eq!((t.hosts, t.tors(), t.nodes(), t.top_tier()), (32, 8, 50, 3));
    // Cables: 32 to hosts, 2 x 4 x 4 between ToRs and leaves, 8 between leaves and ESWs, 1 long one.
    assert_eq!(t.links(), 2 * (32 + 32 + 8 + 1));
    assert!(t.is_connected());
    let site = |nodes: std::ops::Range<u32>| {
        nodes.map(|n| t.site_of(NodeId(n))).collect::<BTreeSet<u16>>().into_iter().collect::<Vec<_>>()
    };
    for (nodes, dc) in [(0..16, 0), (16..32, 1), (32..36, 0), (36..40, 1), (40..44, 0), (44..48, 1)] {
        assert_eq!(site(nodes.clone()), [dc], "{nodes:?}");
    }
    assert_eq!((site(48..49), site(49..50)), (vec![0], vec![1]));
    assert!(t.crosses(HostId(15), HostId(16)) && t.crosses(HostId(31), HostId(0)));
    assert!(!t.crosses(HostId(0), HostId(15)) && !t.crosses(HostId(16), HostId(31)));
    let port = |name: &str| {
        let mut random = stream(1, 0, Purpose::FaultSelection);
        let link = Selector::parse(name).unwrap().links(&t, &mut random).unwrap()[0];
        (t.ports[link.index()].rate.0 / 1_000_000_000, t.ports[link.index()].latency)
    };
    for (name, expected) in [
        ("host:31", (100, US)),
        ("tor:7/down:3", (100, US)),
        ("tor:7/up:3", (100, US)),
        ("leaf:7/down:3", (100, US)),
        ("leaf:0/up:0", (400, US)),
        ("esw:1/down:3", (400, US)),
        ("esw:0/up:0", (1600, US * 500)),
        ("esw:1/up:0", (1600, US * 500)),
    ] {
        assert_eq!(port(name), expected, "{name}");
    }
}

#[test]
fn links_of_other_data_centres_do_not_exist() {
    let t = fabric(CrossDcSpec { dcs: 3, tors: 2, leaves: 3, hosts_per_tor: 1, ..paper() });
    for link in (0..t.links()).map(LinkId) {
        let (from, to) = (t.source(link), t.ports[link.index()].peer);
        let esw = |node: NodeId| t.switch(node).is_some_and(|switch| switch.tier == ESW_TIER);
        assert_eq!(t.site_of(from) != t.site_of(to), esw(from) && esw(to), "{}", t.link_name(link));
    }
    for esw in t.tier_range(ESW_TIER) {
        let node = NodeId(t.hosts + esw as u32);
        assert_eq!((t.down_ports(node), t.links_of(node).len()), (3, 5), "3 leaves, 2 other ESWs");
    }
}

/// The artifact of the paper prints 1,012,365 ns for the longest round trip of this fabric. This is the propagation
/// delay of seven links in both directions, and the serialisation delay of a packet of 1000 B on each link of the
/// forward path. Headers and the serialisation delay of the ACK are not included.
#[test]
fn the_longest_round_trip_is_that_of_the_papers_simulator() {
    let t = fabric(paper());
    let routing = Routing::new(&t, &|_| true);
    let path = t.longest_path(&routing);
    assert_eq!(
        names(&t, &path),
        [
            "host:0",
            "tor:0/up:0",
            "leaf:0/up:0",
            "esw:0/up:0",
            "esw:1/down:0",
            "leaf:4/down:3",
            "tor:7/down:3"
        ]
    );
    let ports = || path.iter().map(|link| t.ports[link.index()]);
    let there_and_back = ports().fold(Duration::ZERO, |sum, port| sum + port.latency * 2);
    let packet = ports().fold(Duration::ZERO, |sum, port| sum + port.rate.time_for(1000));
    assert_eq!((there_and_back, packet), (US * 1012, Duration::from_ns(365)));
    assert_eq!(there_and_back + packet, Duration::from_ns(1_012_365));
}

#[test]
fn routes_stay_inside_a_data_centre_or_cross_once() {
    let t = fabric(CrossDcSpec { dcs: 3, ..paper() });
    let routing = Routing::new(&t, &|_| true);
    let tier = |node: NodeId| t.switch(node).map(|switch| switch.tier);
    for (src, dst) in (0..t.hosts).flat_map(|src| (0..t.hosts).map(move |dst| (HostId(src), HostId(dst)))) {
        if src == dst {
            continue;
        }
        let path = t.ideal_path(&routing, src, dst);
        let tiers: Vec<_> = path.iter().skip(1).map(|link| tier(t.source(*link)).unwrap()).collect();
        let expected: &[u8] = match (t.tor_of(src, 0) == t.tor_of(dst, 0), t.crosses(src, dst)) {
            (true, _) => &[1],
            (false, false) => &[1, 2, 1],
            (false, true) => &[1, 2, 3, 3, 2, 1],
        };
        assert_eq!(tiers, expected, "{src} -> {dst}: {:?}", names(&t, &path));
    }
    let across = |switch: usize, tor| routing.group(switch, tor).len();
    assert_eq!(across(0, 1), 4, "every leaf, to a ToR next door");
    assert_eq!(across(0, 11), 4, "every leaf, to a ToR far away");
    let (leaves, esws) = (t.tier_range(2), t.tier_range(3));
    assert_eq!((across(leaves.start, 11), across(leaves.start, 1)), (1, 1));
    assert_eq!((across(esws.start, 11), across(esws.end - 1, 11)), (1, 4), "one long link, then every leaf");
}

#[test]
fn without_its_leaf_a_way_leads_past_another_one() {
    let t = fabric(paper());
    let mut random = stream(1, 0, Purpose::FaultSelection);
    let down = Selector::parse("leaf:0/up").unwrap().links(&t, &mut random).unwrap()[0];
    let routing = Routing::new(&t, &|link| link != down && link != t.reverse(down));
    let path = t.ideal_path(&routing, HostId(0), HostId(31));
    assert_eq!(names(&t, &path)[1..3], ["tor:0/up:1", "leaf:1/up:0"]);
    assert_eq!(routing.group(0, 7), [5, 6, 7], "ports 0 to 3 lead to hosts, 4 to leaf 0");
    let cut = Selector::parse("esw:0/up").unwrap().links(&t, &mut random).unwrap()[0];
    let routing = Routing::new(&t, &|link| link != cut);
    assert!(t.ideal_path(&routing, HostId(0), HostId(31)).is_empty());
    assert!(!t.ideal_path(&routing, HostId(31), HostId(0)).is_empty());
}

#[test]
fn every_link_and_switch_reads_back_from_its_name() {
    let t = fabric(CrossDcSpec { dcs: 3, ..paper() });
    let mut random = stream(1, 0, Purpose::FaultSelection);
    for link in (0..t.links()).map(LinkId) {
        let selector = Selector::parse(&t.link_name(link)).unwrap();
        assert_eq!(selector.links(&t, &mut random), Ok(vec![link]), "{selector}");
    }
    for node in (t.hosts..t.nodes()).map(NodeId) {
        let selector = Selector::parse(&t.node_name(node)).unwrap();
        assert_eq!(selector.switches(&t, &mut random), Ok(vec![node]), "{selector}");
    }
}

#[test]
fn selectors_know_leaves_and_esws_here_and_only_here() {
    let t = fabric(paper());
    let mut random = stream(1, 0, Purpose::FaultSelection);
    let mut links = |text: &str| {
        let found = Selector::parse(text).unwrap().links(&t, &mut random).map_err(|e| e.to_string())?;
        Ok::<_, String>(names(&t, &found))
    };
    assert_eq!(links("leaf:3/up").unwrap(), ["leaf:3/up:0"]);
    assert_eq!(links("esw-uplinks").unwrap(), ["esw:0/up:0", "esw:1/up:0"]);
    assert_eq!(links("esw-uplinks:100%").unwrap(), ["esw:0/up:0", "esw:1/up:0"], "all of them");
    assert_eq!(links("esw-uplinks:1").unwrap(), ["esw:0/up:0"], "one cable");
    assert_eq!(links("leaf-uplinks").unwrap().len(), 8);
    for (word, near) in [("spine", "esw:0/up"), ("agg", "leaf:7/up"), ("core", "esw:0/up")] {
        let got = links(&format!("{word}:{}/up", if word == "agg" { 9 } else { 0 })).unwrap_err();
        let expected = format!("this topology has no such switches; it has tor, leaf, esw; write: {near:?}");
        assert!(got.ends_with(&expected), "{got}");
    }
    let all = Selector::parse("esw:100%").unwrap().switches(&t, &mut random).unwrap();
    assert_eq!(all, [NodeId(48), NodeId(49)]);
    let single = TopologySpec::SingleSwitch {
        hosts: 2,
        link: Rate::from_gbps(1),
        link_latency: US,
        switch_latency: US,
    };
    let single = build_topology(&single, None).unwrap();
    for word in ["leaf:0", "esw:0"] {
        let got = Selector::parse(word).unwrap().switches(&single, &mut random).unwrap_err().to_string();
        assert!(got.ends_with("this topology has no such switches; it has tor; write: \"tor:0\""), "{got}");
    }
    assert!(!single.has_sites() && !single.crosses(HostId(0), HostId(1)));
}

#[test]
fn impossible_numbers_are_refused_with_what_would_fit() {
    let cases = [
        (
            CrossDcSpec { dcs: 1, ..paper() },
            "topology.dcs: the data centres can number 2 to 65535, so 1 are not possible; write: 2",
        ),
        (
            CrossDcSpec { tors: 0, ..paper() },
            "topology.tors: the ToRs of a data centre can number 1 to 65535, so 0 are not possible; write: 1",
        ),
        (
            CrossDcSpec { leaves: 0, ..paper() },
            "topology.leaves: the leaves of a data centre can number 1 to",
        ),
        (
            CrossDcSpec { hosts_per_tor: 70_000, ..paper() },
            "topology.hosts_per_tor: the hosts of a ToR can number 1 to 65535, so 70000 are not possible; write: 65531",
        ),
        (
            CrossDcSpec { hosts_per_tor: 65_532, ..paper() },
            "topology.hosts_per_tor: each ToR would have 65536 ports, and the most is 65535; write: fewer hosts_per_tor \
             or leaves",
        ),
        (
            CrossDcSpec { tors: 65_535, ..paper() },
            "topology.tors: each leaf would have 65536 ports, and the most is 65535; write: fewer tors",
        ),
        (
            CrossDcSpec { leaves: 65_531, dcs: 6, ..paper() },
            "topology.leaves: each ESW would have 65536 ports, and the most is 65535; write: fewer leaves or dcs",
        ),
        (
            CrossDcSpec { tors: 4000, leaves: 4000, ..paper() },
            "topology.tors: 64080002 links are more than the 16777216 that can be simulated",
        ),
        (
            CrossDcSpec { tors: 10_000, leaves: 1, ..paper() },
            "topology.tors: 20004 switches times 20000 ToRs are too many routes, the most is 268435456",
        ),
        (CrossDcSpec { link: Rate(0), ..paper() }, "topology.link: a link with rate 0"),
        (CrossDcSpec { esw_link: Rate(0), ..paper() }, "topology.esw_link: a link with rate 0"),
        (CrossDcSpec { wan_link: Rate(0), ..paper() }, "topology.wan_link: a link with rate 0"),
    ];
    for (spec, expected) in cases {
        let got = refused(spec);
        assert!(got.starts_with(expected), "{got}");
    }
    let most = u32::MAX;
    for huge in [
        CrossDcSpec { dcs: most, ..paper() },
        CrossDcSpec { dcs: 65_535, tors: 65_534, leaves: 1, hosts_per_tor: 65_534, ..paper() },
    ] {
        refused(huge);
    }
}
