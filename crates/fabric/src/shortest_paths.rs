//! The number of shortest paths between two hosts, for tests.

use super::{Routing, Topology};
use anabranch_base::{HostId, NodeId};
use std::collections::BTreeMap;

/// The number of links of the shortest paths from `src` to `dst`, and the number of these paths over all ports of
/// both; `None` if no port of `src` reaches `dst`.
pub(super) fn between(t: &Topology, src: HostId, dst: HostId) -> Option<(usize, usize)> {
    let routing = Routing::new(t, &|_| true);
    let mut of_ports = Vec::new();
    for port in 0..t.host_ports(src) {
        let best = routing.best_ports(t, (src, port), dst, u16::MAX);
        for dst_port in (0..t.host_ports(dst)).filter(|port| best >> port & 1 == 1) {
            let (from, to) = (routing.tor_index(src, port), routing.tor_index(dst, dst_port));
            of_ports.push(between_tors(t, &routing, from, to));
        }
    }
    let shortest = of_ports.iter().map(|(links, _)| *links).min()?;
    let paths = of_ports.iter().filter(|(links, _)| *links == shortest).map(|(_, paths)| paths).sum();
    Some((shortest + 2, paths))
}

fn between_tors(t: &Topology, routing: &Routing, from: u32, to: u32) -> (usize, usize) {
    let (mut here, mut links) = (BTreeMap::from([(from, 1)]), 0);
    while !here.contains_key(&to) {
        let mut next = BTreeMap::new();
        for (switch, paths) in here {
            for &port in routing.group(switch as usize, to) {
                let peer = t.ports[t.link(NodeId(t.hosts + switch), port).index()].peer.0 - t.hosts;
                *next.entry(peer).or_insert(0) += paths;
            }
        }
        assert!(!next.is_empty(), "no route from ToR {from} to ToR {to}");
        (here, links) = (next, links + 1);
    }
    (links, here[&to])
}
