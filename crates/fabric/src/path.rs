//! Paths through an idle fabric, which determine base round-trip times and ideal completion times.

use super::{Routing, Topology};
use anabranch_base::{Duration, HostId, LinkId, NodeId};

/// The largest number of ToRs for which [`Topology::longest_path`] tries every pair.
const EVERY_PAIR: u32 = 512;

/// The packet size, in bytes, with which paths are compared: a full packet of 4 KiB.
const FULL_PACKET: u64 = 4096;

impl Topology {
    /// The links from `src` to `dst` if every switch takes the first port of its group. The path leaves by the first
    /// port of `src` that reaches `dst`, and arrives at the first port of `dst` among those at the least distance.
    /// The path is empty if `dst` is `src` or cannot be reached.
    pub fn ideal_path(&self, routing: &Routing, src: HostId, dst: HostId) -> Vec<LinkId> {
        let paths = (0..self.host_ports(src)).map(|port| self.ideal_path_from(routing, (src, port), dst));
        paths.into_iter().find(|path| !path.is_empty()).unwrap_or_default()
    }

    /// The [`Topology::ideal_path`] that leaves by `port` of `src`.
    pub fn ideal_path_from(&self, routing: &Routing, (src, port): (HostId, u16), dst: HostId) -> Vec<LinkId> {
        if src == dst {
            return Vec::new();
        }
        let dst_port = match self.host_ports(dst) {
            1 => 0,
            _ => match routing.best_ports(self, (src, port), dst, u16::MAX) {
                0 => return Vec::new(),
                best => best.trailing_zeros() as u16,
            },
        };
        let mut path = vec![self.link(src.into(), port)];
        let destination = routing.tor_index(dst, dst_port);
        let mut switch = routing.tor_index(src, port);
        while switch != destination {
            let Some(&port) = routing.group(switch as usize, destination).first() else { return Vec::new() };
            let link = self.link(NodeId(self.hosts + switch), port);
            path.push(link);
            switch = self.ports[link.index()].peer.0 - self.hosts;
        }
        path.push(self.reverse(self.link(dst.into(), dst_port)));
        path
    }

    /// The path between two hosts on which a full packet (4 KiB) takes longest, store and forward, if every switch
    /// takes the first port of its group. Among paths that take equally long, the first source and the last
    /// destination win.
    ///
    /// Each ToR is represented by its host ports with the slowest links. Up to 512 ToRs every pair is tried, which is
    /// exact if each host has one port. With more ToRs, only ToR 0 and the ToR farthest from it are tried as sources.
    /// This is exact in fat trees, where all ToRs are alike, and an approximation in other graphs.
    pub fn longest_path(&self, routing: &Routing) -> Vec<LinkId> {
        let ends = self.end_hosts();
        let tors = ends.len() as u32;
        if tors <= EVERY_PAIR {
            return self.farthest(routing, &ends, 0..tors);
        }
        let from_first = self.farthest(routing, &ends, 0..1);
        let Some(&last) = from_first.last() else { return from_first };
        let far = self.source(last).0 - self.hosts;
        let far = ends.partition_point(|ends| ends.tor < far) as u32;
        let from_far = self.farthest(routing, &ends, far..far + 1);
        if self.packet_time(&from_far) > self.packet_time(&from_first) { from_far } else { from_first }
    }

    fn packet_time(&self, path: &[LinkId]) -> Duration {
        path.iter().enumerate().fold(Duration::ZERO, |sum, (hop, &link)| {
            let port = &self.ports[link.index()];
            let switch = if hop == 0 { None } else { self.switch(self.source(link)) };
            sum + port.latency
                + port.rate.time_for(FULL_PACKET)
                + switch.map_or(Duration::ZERO, |s| s.latency)
        })
    }

    fn farthest(&self, routing: &Routing, ends: &[Ends], from: std::ops::Range<u32>) -> Vec<LinkId> {
        let mut longest = (Duration::ZERO, Vec::new());
        for source in from {
            for destination in (0..ends.len() as u32).rev() {
                let src = ends[source as usize].first;
                let dst = match source == destination {
                    true => ends[source as usize].other,
                    false => ends[destination as usize].last,
                };
                let path = self.ideal_path_from(routing, src, dst.0);
                let time = self.packet_time(&path);
                if time > longest.0 {
                    longest = (time, path);
                }
            }
        }
        longest.1
    }

    /// The host ports of each ToR among which [`longest_path`](Self::longest_path) looks: the first and the last port
    /// with the slowest link, and the slowest port other than the first.
    fn end_hosts(&self) -> Vec<Ends> {
        let link_time = |(host, port): HostPort| self.packet_time(&[self.link(host.into(), port)]);
        let mut ends: Vec<Option<(Duration, Ends)>> = vec![None; self.tors() as usize];
        let hosts = (0..self.hosts).map(HostId);
        for here in hosts.flat_map(|host| (0..self.host_ports(host)).map(move |port| (host, port))) {
            let tor = self.tor_of(here.0, here.1).0 - self.hosts;
            let (time, slot) = (link_time(here), &mut ends[tor as usize]);
            match slot {
                Some((slowest, known)) if time == *slowest => (known.last, known.other) = (here, here),
                Some((slowest, known)) if time < *slowest => {
                    if known.other == known.first
                        || (known.last == known.first && time >= link_time(known.other))
                    {
                        known.other = here;
                    }
                }
                Some((_, known)) => {
                    *slot = Some((time, Ends { tor, first: here, last: here, other: known.last }));
                }
                None => *slot = Some((time, Ends { tor, first: here, last: here, other: here })),
            }
        }
        ends.into_iter().flatten().map(|(_, ends)| ends).collect()
    }
}

type HostPort = (HostId, u16);

/// The host ports of a ToR that may be the start or the end of the longest path.
#[derive(Clone, Copy)]
struct Ends {
    tor: u32,
    first: HostPort,
    last: HostPort,
    /// The destination of a path from `first` within the ToR; `first` itself if the ToR has only this port.
    other: HostPort,
}

#[cfg(test)]
mod tests {
    use super::super::{build, parse_ns3};
    use super::*;
    use crate::TopologySpec;
    use anabranch_base::Rate;

    fn names(t: &Topology, path: &[LinkId]) -> Vec<String> {
        path.iter().map(|l| t.link_name(*l)).collect()
    }

    #[test]
    fn in_a_tree_the_longest_path_leads_from_the_first_host_to_the_last() {
        let (rate, ns) = (Rate::from_gbps(100), Duration::from_ns(1));
        let (tier, pod_hosts) = super::super::fat_tree_defaults(128, 3, 1, None, rate, ns, ns).unwrap();
        let t = build(&TopologySpec::FatTree { hosts: 128, tier, pod_hosts }, None).unwrap();
        let routing = Routing::new(&t, &|_| true);
        let path = t.longest_path(&routing);
        assert_eq!(path, t.ideal_path(&routing, HostId(0), HostId(127)));
        assert_eq!(
            names(&t, &path),
            ["host:0", "tor:0/up:0", "agg:0/up:0", "core:0/down:7", "agg:28/down:3", "tor:31/down:3"]
        );
    }

    #[test]
    fn in_a_graph_latency_and_rate_decide() {
        // ToRs 4, 5 and 6 in a row; host 1 has a link of high latency to ToR 4, and host 3 is on ToR 6.
        let text = |last: &str| {
            format!(
                "7 3 6\n4 5 6\n0 4 100Gbps 1us 0\n1 4 100Gbps 9us 0\n2 5 100Gbps {last} 0\n\
                 3 6 100Gbps 1us 0\n4 5 100Gbps 1us 0\n5 6 100Gbps 1us 0\n"
            )
        };
        let ends = |last| {
            let t = parse_ns3("g", &text(last), Duration::ZERO).unwrap();
            let path = t.longest_path(&Routing::new(&t, &|_| true));
            (t.source(path[0]), t.ports[path[path.len() - 1].index()].peer)
        };
        assert_eq!(ends("1us"), (NodeId(1), NodeId(3)));
        assert_eq!(ends("1ms"), (NodeId(1), NodeId(2)), "one hop less, but much farther");
    }

    #[test]
    fn within_a_tor_the_two_slowest_hosts_are_the_ends() {
        for (latencies, ends) in [
            ([122, 448, 313, 3_000], (3, 1)),
            ([3_000, 448, 313, 122], (0, 1)),
            ([10, 30, 20, 30], (1, 3)),
            ([30, 10, 10, 20], (0, 3)),
            ([10, 10, 20, 10], (2, 3)),
            ([5, 5, 5, 5], (0, 3)),
        ] {
            let cables: String =
                (0..4).zip(latencies).map(|(host, ns)| format!("{host} 4 100Gbps {ns}ns 0\n")).collect();
            let t = parse_ns3("g", &format!("5 1 4\n4\n{cables}"), Duration::ZERO).unwrap();
            let routing = Routing::new(&t, &|_| true);
            let (src, dst) = (HostId(ends.0), HostId(ends.1));
            assert_eq!(t.longest_path(&routing), t.ideal_path(&routing, src, dst), "{latencies:?}");
        }
    }

    #[test]
    fn without_a_route_there_is_no_path() {
        let text = "4 2 3\n2 3\n0 2 1Gbps 1ns 0\n1 3 1Gbps 1ns 0\n2 3 1Gbps 1ns 0\n";
        let t = parse_ns3("g", text, Duration::ZERO).unwrap();
        let routing = Routing::new(&t, &|_| false);
        assert!(t.ideal_path(&routing, HostId(0), HostId(1)).is_empty());
        assert!(t.longest_path(&routing).iter().all(|l| t.source(*l) != NodeId(2)));
        assert!(t.ideal_path(&routing, HostId(1), HostId(1)).is_empty());
    }
}
