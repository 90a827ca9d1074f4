//! Equal-cost routes: at every switch, the ports on shortest paths to every destination ToR.

use super::{MOST_HOST_PORTS, Topology};
use anabranch_base::{HostId, LinkId, NodeId};
use std::collections::BTreeMap;

/// ECMP routes for each destination port: the shortest paths, in hops, over the links that are alive.
///
/// A packet to a port of a host follows the routes to that port's ToR. For each switch and destination ToR, a table has
/// the index (4 bytes) of a group of ports of the switch. Each distinct group is stored once. Between planes, which
/// have no link to each other, the groups are empty.
#[derive(Clone, Debug)]
pub struct Routing {
    tors: u32,
    /// The index of the group in `groups`, by switch, then by destination ToR.
    table: Vec<u32>,
    /// All groups in sequence. A group is stored as its length followed by its ports. The first group is empty.
    groups: Vec<u16>,
    /// The number of entries for each host in `tor_index`.
    host_ports: u32,
    /// The ToR of each host's port, by host and port; `u32::MAX` for ports that a host does not have.
    tor_index: Vec<u32>,
    /// For each host, a mask of its ports whose links are not alive; empty if all hosts have one port.
    dead_ports: Vec<u16>,
}

impl Routing {
    /// Routes over the links for which `alive` is true. The state of host links matters only for hosts with several
    /// ports: their ToRs withdraw the ports with dead links, so that packets go to the host's other ports.
    pub fn new(topology: &Topology, alive: &dyn Fn(LinkId) -> bool) -> Routing {
        let tors = topology.tors();
        let host_ports = topology.most_host_ports();
        let tor_of = |host: HostId, port: u16| match port < topology.host_ports(host) {
            true => topology.tor_of(host, port).0 - topology.hosts,
            false => u32::MAX,
        };
        let tor_index =
            (0..topology.hosts).flat_map(|host| (0..host_ports).map(move |port| tor_of(HostId(host), port)));
        let mut routing = Routing {
            tors,
            table: vec![0; topology.switches.len() * tors as usize],
            groups: vec![0],
            host_ports: u32::from(host_ports),
            tor_index: tor_index.collect(),
            dead_ports: dead_ports(topology, alive),
        };
        let mut search = Search::new(topology, alive);
        let mut interner = BTreeMap::from([(Vec::new(), 0)]);
        for first in (0..tors).step_by(64) {
            search.run(first, tors.min(first + 64));
            // A switch that has not been reached, such as a switch of another plane, has no path to these ToRs.
            for switch in (0..topology.switches.len()).filter(|&switch| search.seen[switch] != 0) {
                for (destinations, ports) in search.classes(switch) {
                    let group = routing.intern(&mut interner, ports);
                    let row = switch * tors as usize + first as usize;
                    for bit in bits(destinations) {
                        routing.table[row + bit] = group;
                    }
                }
            }
        }
        routing.groups.shrink_to_fit();
        routing
    }

    /// The ports at switch `switch_index` (its index in [`Topology::switches`]) on shortest paths to ToR
    /// `dst_tor_index`, ascending. The group is empty if the ToR cannot be reached. It is also empty at that ToR
    /// itself, where the packet leaves by the port to its host.
    #[inline]
    pub fn group(&self, switch_index: usize, dst_tor_index: u32) -> &[u16] {
        let at = self.table[switch_index * self.tors as usize + dst_tor_index as usize] as usize;
        let len = usize::from(self.groups[at]);
        &self.groups[at + 1..at + 1 + len]
    }

    /// The row of the table for switch `switch_index`. Entry `d` identifies the group of ports to destination ToR `d`.
    #[inline]
    pub fn row(&self, switch_index: usize) -> &[u32] {
        let tors = self.tors as usize;
        &self.table[switch_index * tors..][..tors]
    }

    /// The index in [`Topology::switches`] of the ToR at a port of `host`.
    #[inline]
    pub fn tor_index(&self, host: HostId, port: u16) -> u32 {
        self.tor_index[host.index() * self.host_ports as usize + usize::from(port)]
    }

    /// The number of links from switch `from` to ToR `to`, given by their indices; `None` without a route.
    pub fn distance(&self, topology: &Topology, from: u32, to: u32) -> Option<u32> {
        let (mut at, mut hops) = (from, 0);
        while at != to {
            let port = *self.group(at as usize, to).first()?;
            let link = topology.link(NodeId(topology.hosts + at), port);
            (at, hops) = (topology.ports[link.index()].peer.0 - topology.hosts, hops + 1);
        }
        Some(hops)
    }

    /// The ports of `dst` at the least distance from port `src_port` of `src`, in the form of
    /// [`Routing::nearest_ports`].
    pub fn best_ports(
        &self,
        topology: &Topology,
        (src, src_port): (HostId, u16),
        dst: HostId,
        among: u16,
    ) -> u16 {
        self.nearest_ports(topology, self.tor_index(src, src_port), dst, among)
    }

    /// The ports of `dst` at the least distance from the switch `from`, as a mask in which bit `p` is port `p`. No bit
    /// is set if no port can be reached. Only ports in the mask `among` count, so that a sender can leave out ports
    /// that it knows to be dead. Ports whose links were not alive when the routes were made are left out too. If this
    /// applies to all ports in `among`, none is left out.
    ///
    /// With planes, only the port in the plane of the switch can be reached. Without planes, several ports may be at
    /// the least distance.
    pub fn nearest_ports(&self, topology: &Topology, from: u32, dst: HostId, among: u16) -> u16 {
        let dead = self.dead_ports.get(dst.index()).copied().unwrap_or(0);
        let among = if among & !dead == 0 { among } else { among & !dead };
        let (mut least, mut best) = (u32::MAX, 0);
        for port in (0..topology.host_ports(dst).min(MOST_HOST_PORTS)).filter(|port| among >> port & 1 == 1) {
            match self.distance(topology, from, self.tor_index(dst, port)) {
                Some(distance) if distance < least => (least, best) = (distance, 1 << port),
                Some(distance) if distance == least => best |= 1 << port,
                _ => {}
            }
        }
        best
    }

    /// Whether any port of `src` reaches a port of `dst`.
    pub fn reaches(&self, topology: &Topology, src: HostId, dst: HostId) -> bool {
        (0..topology.host_ports(src)).any(|port| self.best_ports(topology, (src, port), dst, u16::MAX) != 0)
    }

    /// Whether switch `switch_index` has no route to ToR `dst_tor_index`. This is also true at that ToR itself.
    #[inline]
    pub fn is_empty(&self, switch_index: usize, dst_tor_index: u32) -> bool {
        self.group(switch_index, dst_tor_index).is_empty()
    }

    /// The memory that the routes occupy, in bytes.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + (self.table.capacity() + self.tor_index.capacity()) * size_of::<u32>()
            + (self.groups.capacity() + self.dead_ports.capacity()) * size_of::<u16>()
    }

    fn intern(&mut self, interner: &mut BTreeMap<Vec<u16>, u32>, ports: Vec<u16>) -> u32 {
        if let Some(&group) = interner.get(&ports) {
            return group;
        }
        let group = self.groups.len() as u32;
        self.groups.push(ports.len() as u16);
        self.groups.extend_from_slice(&ports);
        interner.insert(ports, group);
        group
    }
}

/// For each host, a mask of its ports whose links are not alive in one direction or both; empty if all hosts have one
/// port.
fn dead_ports(topology: &Topology, alive: &dyn Fn(LinkId) -> bool) -> Vec<u16> {
    if !topology.has_several_ports() {
        return Vec::new();
    }
    let dead = |host: HostId, port: u16| {
        let link = topology.link(host.into(), port);
        !alive(link) || !alive(topology.reverse(link))
    };
    let mask = |host: HostId| {
        let ports = 0..topology.host_ports(host).min(MOST_HOST_PORTS);
        ports.filter(|port| dead(host, *port)).fold(0, |mask, port| mask | 1 << port)
    };
    (0..topology.hosts).map(HostId).map(mask).collect()
}

/// A breadth-first search that starts from up to 64 consecutive destination ToRs at the same time. Bit d of a word
/// represents the ToR that is d places after the first one.
struct Search {
    /// The first port of each switch, counted without the ports of hosts, followed by the number of switch ports.
    port_base: Vec<u32>,
    /// For each switch port, the switch that sends to it over a live link and the sending port.
    senders: Vec<Option<(u32, u32)>>,
    /// For each switch, the destinations from which the search has reached it.
    seen: Vec<u64>,
    /// The destinations at the current distance from each switch.
    frontier: Vec<u64>,
    /// The destinations at the next distance from each switch.
    next: Vec<u64>,
    /// For each switch port, the destinations to which it is on a shortest path.
    leads_to: Vec<u64>,
}

impl Search {
    fn new(topology: &Topology, alive: &dyn Fn(LinkId) -> bool) -> Search {
        let (hosts, switches) = (topology.hosts, topology.switches.len());
        // The ports of hosts come first.
        let first = topology.port_base[hosts as usize];
        let port_base: Vec<u32> = topology.port_base[hosts as usize..].iter().map(|&p| p - first).collect();
        let ports = topology.ports.len() - first as usize;
        let senders = (0..ports as u32)
            .map(|p| {
                let port = LinkId(p + first);
                let sender = topology.ports[port.index()].peer.0.checked_sub(hosts)?;
                let link = topology.reverse(port);
                alive(link).then(|| (sender, link.0 - first))
            })
            .collect();
        Search {
            port_base,
            senders,
            seen: vec![0; switches],
            frontier: vec![0; switches],
            next: vec![0; switches],
            leads_to: vec![0; ports],
        }
    }

    /// Searches from the ToRs `first..end`, which are at most 64.
    fn run(&mut self, first: u32, end: u32) {
        self.seen.fill(0);
        self.leads_to.fill(0);
        let mut open: Vec<u32> = (first..end).collect();
        for &tor in &open {
            self.frontier[tor as usize] = 1 << (tor - first);
            self.seen[tor as usize] = 1 << (tor - first);
        }
        while !open.is_empty() {
            let mut reached = Vec::new();
            for &switch in &open {
                let here = std::mem::take(&mut self.frontier[switch as usize]);
                for port in self.port_base[switch as usize]..self.port_base[switch as usize + 1] {
                    let Some((sender, link)) = self.senders[port as usize] else { continue };
                    let sender = sender as usize;
                    let new = here & !self.seen[sender];
                    if new != 0 {
                        if self.next[sender] == 0 {
                            reached.push(sender as u32);
                        }
                        self.next[sender] |= new;
                        self.leads_to[link as usize] |= new;
                    }
                }
            }
            // Within one distance, `seen` must not change, because a switch may have several equally short paths. It
            // is therefore updated once all switches of this distance have been processed.
            for &switch in &reached {
                self.seen[switch as usize] |= self.next[switch as usize];
            }
            std::mem::swap(&mut self.frontier, &mut self.next);
            open = reached;
        }
    }

    /// The destinations of the last search that `switch` can reach, grouped by the ports that lead to them.
    fn classes(&self, switch: usize) -> Vec<(u64, Vec<u16>)> {
        let range = self.port_base[switch] as usize..self.port_base[switch + 1] as usize;
        let mut classes = vec![(u64::MAX, Vec::new())];
        for (port, &leads_to) in self.leads_to[range].iter().enumerate() {
            let mut rest = leads_to;
            for i in 0..classes.len() {
                if rest == 0 {
                    break;
                }
                let both = classes[i].0 & rest;
                rest &= !both;
                if both != 0 && both == classes[i].0 {
                    classes[i].1.push(port as u16);
                } else if both != 0 {
                    let mut ports: Vec<u16> = classes[i].1.clone();
                    ports.push(port as u16);
                    classes[i].0 &= !both;
                    classes.push((both, ports));
                }
            }
        }
        classes.retain(|(_, ports)| !ports.is_empty());
        classes
    }
}

fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::super::{build, fat_tree_defaults};
    use super::*;
    use crate::{TierSpec, TopologySpec};
    use anabranch_base::{Duration, Purpose, Rate, stream};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn tree(hosts: u32, tiers: u32, oversubscription: u32, bundle: u32) -> Topology {
        let (link, none) = (Rate::from_gbps(400), Duration::ZERO);
        let (mut tier, pod_hosts) =
            fat_tree_defaults(hosts, tiers, oversubscription, None, link, none, none).unwrap();
        for t in 1..tier.len() {
            tier[t].bundle = bundle;
            tier[t].radix_down *= bundle;
            tier[t - 1].radix_up *= bundle;
        }
        build(&TopologySpec::FatTree { hosts, tier, pod_hosts }, None).unwrap()
    }

    /// Routes by a plain breadth-first search for each destination.
    fn plain(t: &Topology, alive: &dyn Fn(LinkId) -> bool) -> Vec<Vec<Vec<u16>>> {
        let switches = t.switches.len();
        let mut routes = vec![vec![Vec::new(); t.tors() as usize]; switches];
        for dst in 0..t.tors() as usize {
            let mut distance = vec![None; switches];
            distance[dst] = Some(0u32);
            for round in 0u32.. {
                let mut grown = false;
                for s in 0..switches {
                    let here = NodeId(t.hosts + s as u32);
                    let near: Vec<u16> = t
                        .links_of(here)
                        .enumerate()
                        .filter(|(_, l)| alive(LinkId(*l)))
                        .filter(|(_, l)| {
                            let peer = t.ports[*l as usize].peer.0.checked_sub(t.hosts);
                            peer.is_some_and(|p| distance[p as usize] == Some(round))
                        })
                        .map(|(port, _)| port as u16)
                        .collect();
                    if distance[s].is_none() && !near.is_empty() {
                        distance[s] = Some(round + 1);
                        routes[s][dst] = near;
                        grown = true;
                    }
                }
                if !grown {
                    break;
                }
            }
        }
        routes
    }

    fn assert_same_as_plain(t: &Topology, alive: &dyn Fn(LinkId) -> bool) {
        let routing = Routing::new(t, alive);
        for (s, row) in plain(t, alive).iter().enumerate() {
            for (dst, ports) in row.iter().enumerate() {
                assert_eq!(routing.group(s, dst as u32), &ports[..], "switch {s} to ToR {dst}");
                assert_eq!(routing.is_empty(s, dst as u32), ports.is_empty());
            }
        }
    }

    #[test]
    fn a_healthy_tree_goes_up_by_every_port_and_down_by_one() {
        let t = tree(128, 3, 1, 1);
        let routing = Routing::new(&t, &|_| true);
        assert_eq!(routing.group(0, 1), [4, 5, 6, 7]);
        assert_eq!(routing.group(0, 31), [4, 5, 6, 7]);
        assert!(routing.group(0, 0).is_empty());
        assert_eq!(routing.group(32, 3), [3], "an aggregation switch down to a ToR of its pod");
        assert_eq!(routing.group(32, 4), [4, 5, 6, 7]);
        assert_eq!(routing.group(64 + 5, 31), [7], "a core down to pod 7");
        assert_eq!(routing.tor_index(HostId(127), 0), 31);
        // A group is stored as its length and its ports: the empty group takes 1 entry, the four uplinks take 5, and
        // each of the eight single ports takes 2.
        assert_eq!(routing.groups.len(), 1 + 5 + 8 * 2);
    }

    #[test]
    fn a_failed_link_is_avoided_and_a_cut_off_tor_is_unreachable() {
        let t = tree(128, 2, 1, 1);
        let failed = t.link(NodeId(128), 8);
        let routing = Routing::new(&t, &|l| l != failed);
        assert_eq!(routing.group(0, 1), [9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(routing.group(1, 0), [8, 9, 10, 11, 12, 13, 14, 15], "the other direction still works");
        let routing = Routing::new(&t, &|l| l != failed && l != t.reverse(failed));
        assert_eq!(routing.group(1, 0), [9, 10, 11, 12, 13, 14, 15]);
        let cut = Routing::new(&t, &|l| t.source(l) != NodeId(128));
        assert!((1..16).all(|dst| cut.is_empty(0, dst)));
        assert!(!cut.is_empty(1, 0));
    }

    #[test]
    fn every_pair_is_reached_in_the_right_number_of_hops() {
        let t = tree(128, 3, 1, 1);
        let routing = Routing::new(&t, &|_| true);
        for src in (0..128).map(HostId) {
            for dst in (0..128).map(HostId) {
                let path = t.ideal_path(&routing, src, dst);
                let hops = match (src == dst, src.0 / 4 == dst.0 / 4, src.0 / 16 == dst.0 / 16) {
                    (true, ..) => 0,
                    (_, true, _) => 2,
                    (_, _, true) => 4,
                    _ => 6,
                };
                assert_eq!(path.len(), hops, "{src} to {dst}");
                if let (Some(first), Some(last)) = (path.first(), path.last()) {
                    assert_eq!((t.source(*first), t.ports[last.index()].peer), (src.into(), dst.into()));
                    assert!(path.windows(2).all(|w| t.ports[w[0].index()].peer == t.source(w[1])));
                }
            }
        }
    }

    #[test]
    fn the_largest_fabrics_fit_in_memory() {
        for (tiers, switches) in [(2, 512 + 256), (3, 2048 + 2048 + 4096)] {
            let t = tree(131_072, tiers, 1, 1);
            assert_eq!(t.switches.len(), switches);
            let routing = Routing::new(&t, &|_| true);
            let memory = t.memory_bytes() + routing.memory_bytes();
            println!("{tiers} tiers: {} B and {} B", t.memory_bytes(), routing.memory_bytes());
            assert!(memory < 200_000_000, "{tiers} tiers take {memory} B");
            assert_eq!(t.longest_path(&routing).len(), 2 * tiers as usize);
            assert_eq!(routing.group(0, t.tors() - 1).len(), if tiers == 2 { 256 } else { 64 });
        }
    }

    #[test]
    fn more_than_64_destinations_are_searched_in_blocks() {
        assert_same_as_plain(&tree(8192, 2, 4, 1), &|_| true);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn routes_are_those_of_plain_search(
            (hosts, tiers) in prop::sample::select(vec![(2u32, 2u32), (32, 2), (128, 2), (16, 3), (128, 3)]),
            bundle in 1u32..3, dead_percent in 0u32..60, seed in any::<u64>(),
        ) {
            let t = tree(hosts, tiers, 1, bundle);
            let mut random = stream(seed, 0, Purpose::Model);
            let dead: BTreeSet<LinkId> =
                (0..t.links()).filter(|_| random.below(100) < dead_percent).map(LinkId).collect();
            assert_same_as_plain(&t, &|l| !dead.contains(&l));
        }

        #[test]
        fn routes_in_any_graph_are_those_of_plain_search(
            switches in 2u32..90, extra in prop::collection::vec((0u32..90, 0u32..90), 0..120),
            dead_percent in 0u32..40, seed in any::<u64>(),
        ) {
            let mut text = String::new();
            let mut links = 2;
            for s in 1..switches {
                text += &format!("{} {} 1Gbps 1ns 0\n", 2 + s, 2 + (s * 7 / 10));
                links += 1;
            }
            for (a, b) in extra {
                text += &format!("{} {} 1Gbps 1ns 0\n", 2 + a % switches, 2 + b % switches);
                links += 1;
            }
            let ids: Vec<String> = (2..2 + switches).map(|s| s.to_string()).collect();
            let head = format!("{} {switches} {links}\n{}\n0 2 1Gbps 1ns 0\n", switches + 2, ids.join(" "));
            let text = format!("{head}1 {} 1Gbps 1ns 0\n{text}", 1 + switches);
            let t = super::super::parse_ns3("g", &text, Duration::ZERO).unwrap();
            let mut random = stream(seed, 0, Purpose::Model);
            let dead: BTreeSet<LinkId> =
                (0..t.links()).filter(|_| random.below(100) < dead_percent).map(LinkId).collect();
            assert_same_as_plain(&t, &|l| !dead.contains(&l));
        }
    }

    #[test]
    fn tiers_of_different_sizes_route_too() {
        let tier = |radix_down, radix_up, bundle| TierSpec {
            link: Rate::from_gbps(100),
            link_latency: Duration::ZERO,
            switch_latency: Duration::ZERO,
            radix_down,
            radix_up,
            bundle,
        };
        let tier = vec![tier(6, 4, 1), tier(6, 3, 2), tier(5, 0, 1)];
        let t = build(&TopologySpec::FatTree { hosts: 90, tier, pod_hosts: 18 }, None).unwrap();
        assert_same_as_plain(&t, &|_| true);
        assert_same_as_plain(&t, &|l| !l.0.is_multiple_of(5));
    }
}
