//! Cyclic buffer dependencies: cycles of links in which each waits for the next once the buffers are full.
//!
//! Under PFC, a full buffer pauses the link that feeds it. If the routes use links one after another in a cycle, all
//! of these links may stay paused for ever (Dally, Seitz: Deadlock-Free Message Routing in Multiprocessor
//! Interconnection Networks, 1987).

use super::{Routing, Topology};
use anabranch_base::{LinkId, NodeId};
use std::collections::{BTreeMap, BTreeSet};

/// The number of destinations whose routes are added before the first search for a cycle.
const FIRST_DESTINATIONS: usize = 64;

impl Topology {
    /// A cycle of links between switches: each link is followed by the next one on the route to some destination, and
    /// the last link by the first. Once the buffers at the ends of all these links are full, the links deadlock. `None`
    /// if the routes have no such cycle.
    ///
    /// `senders` lists the ToRs that send to each destination ToR, by their indices. All shortest paths from a sender
    /// to its destination count.
    pub fn cyclic_buffers(
        &self,
        routing: &Routing,
        senders: &BTreeMap<u32, BTreeSet<u32>>,
    ) -> Option<Vec<LinkId>> {
        let mut dependencies = Dependencies::new(self);
        let mut destinations: Vec<u32> = senders.keys().copied().collect();
        // The bit-reversed order spreads the first destinations over the whole fabric. If cycles exist, the routes to
        // a part of the destinations therefore usually contain one.
        destinations.sort_by_key(|destination| destination.reverse_bits());
        let mut next_search = FIRST_DESTINATIONS;
        for (number, destination) in (1..).zip(&destinations) {
            dependencies.add(self, routing, *destination, &senders[destination]);
            if number == next_search || number == destinations.len() {
                let circle = dependencies.circle(self);
                if circle.is_some() {
                    return circle;
                }
                next_search *= 2;
            }
        }
        None
    }

    /// Whether every route goes up, then over at most one link between switches of the same tier, then down. Such
    /// routes contain no cycle.
    pub fn turns_down_for_good(&self, routing: &Routing) -> bool {
        let hosts = self.hosts;
        let goes_down: Vec<u16> = (hosts..self.nodes()).map(|node| self.down_ports(NodeId(node))).collect();
        let has_level = |switch: usize| {
            let node = NodeId(hosts + switch as u32);
            let links = self.links_of(node);
            let tier = self.switches[switch].tier;
            self.ports[links.start as usize..links.end as usize]
                .iter()
                .any(|port| self.switch(port.peer).is_some_and(|peer| peer.tier == tier))
        };
        (0..self.switches.len()).all(|switch| {
            let has_level = has_level(switch);
            (0..self.tors()).all(|destination| {
                let group = routing.group(switch, destination);
                // The downward ports of a switch have lower numbers than its other ports.
                let skip = !has_level && group.first().is_none_or(|first| *first >= goes_down[switch]);
                skip || group.iter().all(|&port| {
                    let link = self.link(NodeId(hosts + switch as u32), port);
                    let peer = (self.ports[link.index()].peer.0 - hosts) as usize;
                    let is_up = self.switches[peer].tier > self.switches[switch].tier;
                    let onward = routing.group(peer, destination);
                    is_up || onward.last().is_none_or(|last| *last < goes_down[peer])
                })
            })
        })
    }
}

/// For each link between switches, the ports over which the packets that arrive on the link continue.
struct Dependencies {
    /// The index of each link's first word in `onward`.
    first: Vec<u32>,
    /// For each link between switches, one bit per port of the switch to which the link leads.
    onward: Vec<u64>,
}

impl Dependencies {
    fn new(topology: &Topology) -> Dependencies {
        let (mut first, mut words) = (Vec::with_capacity(topology.ports.len()), 0_u32);
        for (link, port) in topology.ports.iter().enumerate() {
            first.push(words);
            let between_switches =
                port.peer.0 >= topology.hosts && link >= topology.port_base[topology.hosts as usize] as usize;
            if between_switches {
                words += topology.links_of(port.peer).len().div_ceil(64) as u32;
            }
        }
        Dependencies { first, onward: vec![0; words as usize] }
    }

    fn add(&mut self, topology: &Topology, routing: &Routing, destination: u32, senders: &BTreeSet<u32>) {
        let mut open: Vec<u32> = senders.iter().copied().collect();
        let mut seen = senders.clone();
        while let Some(switch) = open.pop() {
            for &port in routing.group(switch as usize, destination) {
                let link = topology.link(NodeId(topology.hosts + switch), port);
                let peer = topology.ports[link.index()].peer.0 - topology.hosts;
                for &next in routing.group(peer as usize, destination) {
                    let word = self.first[link.index()] as usize + usize::from(next) / 64;
                    self.onward[word] |= 1 << (next % 64);
                }
                if seen.insert(peer) {
                    open.push(peer);
                }
            }
        }
    }

    fn after(&self, topology: &Topology, link: LinkId) -> Vec<LinkId> {
        let peer = topology.ports[link.index()].peer;
        if peer.0 < topology.hosts {
            return Vec::new();
        }
        let ports = 0..topology.links_of(peer).len() as u16;
        let first = self.first[link.index()] as usize;
        let follows = |port: &u16| self.onward[first + usize::from(*port) / 64] >> (port % 64) & 1 == 1;
        ports.filter(follows).map(|port| topology.link(peer, port)).collect()
    }

    fn circle(&self, topology: &Topology) -> Option<Vec<LinkId>> {
        // The links on the current path of the search, and the links from which no cycle can be reached.
        let (mut on_path, mut is_done) =
            (vec![false; topology.ports.len()], vec![false; topology.ports.len()]);
        for start in (topology.port_base[topology.hosts as usize]..topology.links()).map(LinkId) {
            if is_done[start.index()] || topology.ports[start.index()].peer.0 < topology.hosts {
                continue;
            }
            on_path[start.index()] = true;
            let mut path = vec![(start, self.after(topology, start))];
            while let Some((link, onward)) = path.last_mut() {
                let Some(next) = onward.pop() else {
                    on_path[link.index()] = false;
                    is_done[link.index()] = true;
                    path.pop();
                    continue;
                };
                if on_path[next.index()] {
                    let links = path.iter().map(|(link, _)| *link);
                    return Some(links.skip_while(|link| *link != next).collect());
                }
                if !is_done[next.index()] {
                    on_path[next.index()] = true;
                    path.push((next, self.after(topology, next)));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ClosInput, ClosKind, CrossDcSpec, DragonflySpec, FullMeshSpec, SpineGroup, TopologySpec, TorusSpec,
        build, clos_defaults, fat_tree_defaults, parse_ns3,
    };
    use anabranch_base::{Duration, Rate};

    const LINK: Rate = Rate::from_gbps(100);
    const NS: Duration = Duration::from_ns(1);

    /// A cycle in the routes if every ToR sends to every other ToR.
    fn circle(t: &Topology) -> Option<Vec<LinkId>> {
        let routing = Routing::new(t, &|_| true);
        let all: BTreeSet<u32> = (0..t.tors()).collect();
        let circle = t.cyclic_buffers(&routing, &all.iter().map(|tor| (*tor, all.clone())).collect());
        assert!(circle.is_none() || !t.turns_down_for_good(&routing));
        circle
    }

    fn torus(dims: &[u32]) -> Topology {
        let spec = TorusSpec {
            dims: dims.to_vec(),
            link: LINK,
            link_latency: NS,
            host_link: LINK,
            host_link_latency: NS,
            switch_latency: NS,
            radix: None,
        };
        build(&TopologySpec::Torus(spec), None).unwrap()
    }

    fn ring(switches: u32) -> Topology {
        let mut text = format!("{switches} 0 {switches}\n");
        for host in 0..switches {
            text += &format!("{host} {} 1Gbps 1ns 0\n", (host + 1) % switches);
        }
        parse_ns3("g", &text, Duration::ZERO).unwrap()
    }

    fn assert_circle(t: &Topology) {
        let circle = circle(t).expect("a circle");
        for (link, next) in circle.iter().zip(circle.iter().cycle().skip(1)) {
            assert_eq!(t.ports[link.index()].peer, t.source(*next));
        }
    }

    #[test]
    fn rings_tori_and_dragonflies_have_circles() {
        // A ring of three switches is a full mesh, so each route has only one link of the ring.
        assert!(circle(&ring(3)).is_none());
        for switches in [4, 5, 6, 100] {
            assert_circle(&ring(switches));
        }
        for dims in [&[4][..], &[3, 3], &[4, 4], &[4, 8], &[2, 5], &[3, 3, 3], &[40, 40]] {
            assert_circle(&torus(dims));
        }
        for (p, a, h, groups) in [(1, 2, 1, 3), (2, 4, 2, 9), (4, 8, 4, 33)] {
            let spec = DragonflySpec {
                hosts_per_router: p,
                routers: a,
                global_links: h,
                router_groups: groups,
                link: LINK,
                link_latency: NS,
                global_link: LINK,
                global_link_latency: NS,
                switch_latency: NS,
                radix: None,
            };
            assert_circle(&build(&TopologySpec::Dragonfly(spec), None).unwrap());
        }
    }

    #[test]
    fn trees_meshes_and_joined_data_centres_have_none() {
        let (tier, pod_hosts) = fat_tree_defaults(128, 3, 1, None, LINK, NS, NS).unwrap();
        let mut specs = vec![TopologySpec::FatTree { hosts: 128, tier, pod_hosts }];
        for kind in [ClosKind::Rails, ClosKind::MultiPlane, ClosKind::Hpn, ClosKind::DcnPlus] {
            let spec = clos_defaults(kind, &ClosInput::new(64, LINK, NS, NS)).unwrap();
            specs.push(match kind {
                ClosKind::Rails => TopologySpec::Rails(spec),
                ClosKind::MultiPlane => TopologySpec::MultiPlane(spec),
                ClosKind::Hpn => TopologySpec::Hpn(spec),
                ClosKind::DcnPlus => TopologySpec::DcnPlus(spec),
            });
        }
        let cores = ClosInput {
            tiers: Some(3),
            spine_group: Some(SpineGroup::Rail),
            ..ClosInput::new(64, LINK, NS, NS)
        };
        specs.push(TopologySpec::Rails(clos_defaults(ClosKind::Rails, &cores).unwrap()));
        specs.push(TopologySpec::FullMesh(FullMeshSpec {
            tors: 8,
            hosts_per_tor: 2,
            link: LINK,
            link_latency: NS,
            host_link: LINK,
            host_link_latency: NS,
            switch_latency: NS,
            radix: None,
        }));
        specs.push(TopologySpec::CrossDc(CrossDcSpec {
            dcs: 4,
            tors: 3,
            leaves: 2,
            hosts_per_tor: 2,
            link: LINK,
            link_latency: NS,
            esw_link: LINK,
            esw_link_latency: NS,
            wan_link: LINK,
            wan_latency: NS,
            switch_latency: NS,
        }));
        for spec in specs {
            let t = build(&spec, None).unwrap();
            assert!(t.turns_down_for_good(&Routing::new(&t, &|_| true)), "{spec:?}");
            assert_eq!(circle(&t), None, "{spec:?}");
        }
        assert_eq!(circle(&torus(&[2, 2])).map(|circle| circle.len()), Some(4), "a square");
        // In a line of switches no route turns back.
        let line = "5 3 4\n2 3 4\n0 2 1Gbps 1ns 0\n1 4 1Gbps 1ns 0\n2 3 1Gbps 1ns 0\n3 4 1Gbps 1ns 0\n";
        assert_eq!(circle(&parse_ns3("g", line, Duration::ZERO).unwrap()), None);
    }

    #[test]
    fn valleys_are_no_proof_of_a_circle() {
        // Two spines above three ToRs, in a row: ToR 0 - spine 0 - ToR 1 - spine 1 - ToR 2. The route through ToR 1
        // goes down and then up.
        let text = "8 5 7\n3 4 5 6 7\n0 3 1Gbps 1ns 0\n1 4 1Gbps 1ns 0\n2 5 1Gbps 1ns 0\n3 6 1Gbps 1ns 0\n\
            6 4 1Gbps 1ns 0\n4 7 1Gbps 1ns 0\n7 5 1Gbps 1ns 0\n";
        let t = parse_ns3("g", text, Duration::ZERO).unwrap();
        assert!(!t.turns_down_for_good(&Routing::new(&t, &|_| true)));
        assert_eq!(circle(&t), None);
    }

    #[test]
    fn only_routes_that_are_used_count() {
        let t = ring(8);
        let routing = Routing::new(&t, &|_| true);
        let circle = |hops: u32| {
            let senders = (0..8).map(|tor| ((tor + hops) % 8, BTreeSet::from([tor]))).collect();
            t.cyclic_buffers(&routing, &senders)
        };
        assert_eq!(circle(1), None, "neighbours send to each other");
        assert_eq!(circle(2).map(|circle| circle.len()), Some(8));
    }
}
