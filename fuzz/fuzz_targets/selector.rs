//! Selectors of links and switches, applied to fat trees of 2 and 3 tiers and to a graph.
#![no_main]

use anabranch_base::{Duration, Purpose, stream};
use anabranch_fabric::{Selector, Topology, build, parse_ns3, parse_topo};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static FABRICS: LazyLock<[Topology; 3]> = LazyLock::new(|| {
    let fat_tree = |text| build(&parse_topo("seed.topo", text).unwrap(), None).unwrap();
    let graph = include_str!("../corpus/ns3_topology/leaf-spine");
    [
        fat_tree(include_str!("../corpus/topo/two-tiers")),
        fat_tree(include_str!("../corpus/topo/three-tiers")),
        parse_ns3("seed.txt", graph, Duration::ZERO).unwrap(),
    ]
});

fuzz_target!(|text: &str| {
    let Ok(selector) = text.parse::<Selector>() else { return };
    for topology in &*FABRICS {
        let mut random = stream(1, 0, Purpose::FaultSelection);
        if let Ok(links) = selector.links(topology, &mut random) {
            assert!(links.is_sorted_by(|a, b| a < b), "{text:?} names a link twice");
            assert!(links.iter().all(|link| link.index() < topology.ports.len()));
        }
        if let Ok(switches) = selector.switches(topology, &mut random) {
            assert!(switches.iter().all(|switch| topology.switch(*switch).is_some()));
        }
    }
});
