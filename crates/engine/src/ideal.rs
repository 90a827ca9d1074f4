//! Closed forms for the FCT of a message that is alone in the network, and lower bounds for the CCTs of jobs.

mod classes;
mod jobs;

pub use classes::Ideals;

use crate::spec::Scheme;
use anabranch_base::{Bytes, Duration, HostId, LinkId, NodeId, Rate};
use anabranch_fabric::{Routing, Topology};
use anabranch_proto::transport::Framing;
use anabranch_proto::{PathFacts, TransportConfig};
use anabranch_results::PathChoice;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Add;

/// The computation of ideal completion times on a fabric.
pub struct Ideal<'a> {
    topology: &'a Topology,
    routing: Routing,
    framing: Framing,
    /// The number of queue pairs among which a message is split.
    split: u64,
    /// Whether packets of one queue pair may take different paths.
    spreads: bool,
    /// Whether the packets of every queue pair may leave by all ports of their NIC.
    uses_all_ports: bool,
    /// Whether, between any two hosts, all paths have the same rates and latencies, link by link.
    uniform: bool,
}

/// The links that packets from one host to another may use at one distance from the sender, counted in hops.
#[derive(Clone, Copy, Debug)]
struct Tier {
    /// The rate of the fastest link.
    rate: Rate,
    /// The sum of the rates of all links. In a uniform fabric, it is the rate of one link unless packets or parts of a
    /// message may take different paths.
    total_rate: u128,
    /// The shortest time from the departure of the last bit of a packet until the next node may act on the packet. It
    /// is the latency of the link, plus the latency of the next node if that is a switch.
    onward: Duration,
    /// The shortest time that an ACK takes on the way back over these links.
    ack: Duration,
    /// Whether all packets of the message are known to take one link.
    single: bool,
}

/// Parts of a message that all have the same length.
struct MessageParts {
    count: u64,
    /// The number of full packets in each part, without its last packet.
    full: u64,
    /// The wire size of the last packet of a part, in bytes.
    last: u64,
}

impl<'a> Ideal<'a> {
    /// The ideal times of messages that `transport` carries, each message on one queue pair and one path.
    pub fn new(topology: &'a Topology, routing: Routing, transport: &TransportConfig) -> Self {
        let framing = transport.framing();
        Ideal {
            topology,
            routing,
            framing,
            split: 1,
            spreads: false,
            uses_all_ports: false,
            uniform: is_uniform(topology),
        }
    }

    /// The ideal times of messages under `scheme`, with its number of queue pairs per connection and its spreading over
    /// paths.
    pub fn carried_by(self, scheme: &Scheme) -> Self {
        let uses_all_ports = scheme.uses_all_ports();
        let spreads =
            scheme.path_choice() != PathChoice::Hash || uses_all_ports && self.topology.has_several_ports();
        Ideal { split: u64::from(scheme.qps), spreads, uses_all_ports, ..self }
    }

    /// Facts of the longest path: the round trip time of a full packet and its ACK, and the BDP at line rate. The queue
    /// length is 0 here, and [`FabricSpec::facts`](crate::FabricSpec::facts) adds it.
    pub fn path_facts(&self) -> PathFacts {
        self.facts_on(&self.topology.longest_path(&self.routing))
    }

    /// The facts of the path between two hosts. On this path, every switch uses the first port of its group.
    pub fn path_facts_of(&self, src: HostId, dst: HostId) -> PathFacts {
        self.facts_on(&self.topology.ideal_path(&self.routing, src, dst))
    }

    fn facts_on(&self, path: &[LinkId]) -> PathFacts {
        let packet = Bytes(self.framing.payload.0 + self.framing.header.0);
        let path: Vec<Tier> = path.iter().map(|&link| self.tier(link)).collect();
        let base_rtt = self.last_arrival(&path, 1, packet.0) + ack_return(&path);
        let port_rate = self.topology.ports[0].rate;
        let rate = match self.uses_all_ports {
            true => self.topology.host_rate(HostId(0)),
            false => port_rate,
        };
        let bdp = Bytes(rate.bytes_in(base_rtt));
        PathFacts { base_rtt, bdp, packet, line_rate: rate, port_rate, queue: Bytes(0) }
    }

    /// The payload of a full packet in bytes.
    pub fn payload(&self) -> u64 {
        self.framing.payload.0
    }

    /// The FCT at the sender, from posting to the ACK of the last packet, if nothing else is in the network, no
    /// device has jitter or an inexact clock, and neither the congestion window nor credit limits the sender.
    ///
    /// The time is exact except in these cases, in which it is a lower bound:
    ///
    /// - With several paths, or several queue pairs per message, `last_arrival_spread` gives the bound.
    /// - If equal-cost links have different rates or latencies, the best of them counts at each distance.
    /// - On links of different rates, the ACK of a short last packet may wait behind the previous ACK.
    ///
    /// Links have the rates of the topology. Faults are ignored.
    pub fn fct(&self, src: HostId, dst: HostId, bytes: u64) -> Duration {
        let tiers = self.tiers(src, dst);
        let one_path = !self.spreads || tiers.iter().all(|tier| tier.single);
        let arrival = if one_path && bytes.clamp(1, self.split) == 1 {
            let packets = bytes.div_ceil(self.framing.payload.0).max(1);
            let last = bytes - (packets - 1) * self.framing.payload.0 + self.framing.header.0;
            self.last_arrival(&tiers, packets, last)
        } else {
            self.last_arrival_spread(&tiers, bytes)
        };
        arrival + ack_return(&tiers)
    }

    /// The arrival of the last of `packets` packets under store and forward. The last packet has `last` bytes on the
    /// wire, and all others are full.
    fn last_arrival(&self, path: &[Tier], packets: u64, last: u64) -> Duration {
        let full = self.framing.payload.0 + self.framing.header.0;
        // `full_out` and `last_out` are the times at which the last full packet and the last packet leave the current
        // link. The slowest link so far determines the distance between full packets.
        let (mut full_out, mut last_out, mut slowest) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        for tier in path {
            let (full_time, last_time) = (tier.rate.time_for(full), tier.rate.time_for(last));
            if packets > 1 {
                // The first packet passes without waiting. The other full packets follow at the rate of the slowest
                // link.
                let paced = Duration(full_time.0.saturating_sub(slowest.0)) * (packets - 2);
                full_out = full_out + full_time + paced;
                slowest = slowest.max(full_time);
                last_out = last_out.max(full_out) + last_time;
            } else {
                last_out = last_out + last_time;
            }
            full_out = full_out + tier.onward;
            last_out = last_out + tier.onward;
        }
        last_out
    }

    /// The earliest arrival of the last packet of a message, however its packets are spread over the paths. It is the
    /// latest of several lower bounds.
    ///
    /// At each distance from the sender, all packets cross links that carry no more than the sum of their rates. The
    /// crossing cannot begin before the first packet can have arrived at these links. After the last packet has crossed
    /// its link, the rest of the path still lies ahead of that packet, store and forward. The same bound also holds for
    /// the full packets alone, which short last packets may overtake. If all links are as fast as the links of the
    /// hosts, the last link decides. The bound then equals the time on one path, except for messages of fewer packets
    /// than links.
    fn last_arrival_spread(&self, tiers: &[Tier], bytes: u64) -> Duration {
        let full = self.framing.payload.0 + self.framing.header.0;
        let parts = self.parts(bytes);
        let fulls: u64 = parts.iter().map(|parts| parts.count * parts.full).sum();
        let shortest = parts.iter().map(|parts| parts.last).min().unwrap_or(full);
        let longest = parts.iter().map(|parts| parts.last).max().unwrap_or(full);
        let lasts: u64 = parts.iter().map(|parts| parts.count * parts.last).sum();
        let full_times: Vec<u64> = tiers.iter().map(|tier| tier.rate.time_for(full).0).collect();
        let short_times: Vec<u64> = tiers.iter().map(|tier| tier.rate.time_for(shortest).0).collect();
        // The time on the rest of the path after a link, for a full packet and for the shortest packet.
        let (mut rest_full, mut rest_short) = (0, 0);
        let mut rests = vec![(0, 0); tiers.len()];
        for (slot, tier) in tiers.iter().enumerate().rev() {
            (rest_full, rest_short) = (rest_full + tier.onward.0, rest_short + tier.onward.0);
            rests[slot] = (rest_full, rest_short);
            (rest_full, rest_short) = (rest_full + full_times[slot], rest_short + short_times[slot]);
        }
        // The earliest times at which a full packet and the last packet of a part can be at a link. The last packet of
        // a part leaves the sender after the full packets of that part.
        let behind = parts.iter().map(|parts| parts.full).min().unwrap_or(0);
        let first_time = full_times.first().copied().unwrap_or(0);
        let (mut first_full, mut first_last) = (0, first_time.saturating_mul(behind));
        let mut latest = Duration::ZERO;
        for (slot, tier) in tiers.iter().enumerate() {
            let (rest_full, rest_short) = rests[slot];
            let pass = |fulls: u64, parts: &[MessageParts], bytes: u64, largest: u64| {
                if tier.single {
                    let last = parts.iter().map(|part| tier.rate.time_for(part.last) * part.count);
                    last.fold(Duration(full_times[slot]) * fulls, Duration::add)
                } else {
                    let total_rate = u128::from(bytes) * 8_000_000_000_000 / tier.total_rate.max(1);
                    let together = Duration(u64::try_from(total_rate).unwrap_or(u64::MAX));
                    together.max(tier.rate.time_for(largest))
                }
            };
            let ends = |first: u64, pass: Duration, rest: u64| Duration(first) + pass + Duration(rest);
            let full_bytes = fulls.saturating_mul(full);
            let (first, largest) = match fulls {
                0 => (first_last, longest),
                _ => (first_full.min(first_last), full),
            };
            let passed = pass(fulls, &parts, full_bytes.saturating_add(lasts), largest);
            latest = latest.max(ends(first, passed, rest_short));
            if fulls > 0 {
                latest = latest.max(ends(first_full, pass(fulls, &[], full_bytes, full), rest_full));
            }
            first_full += full_times[slot] + tier.onward.0;
            first_last = first_last.saturating_add(short_times[slot] + tier.onward.0);
        }
        latest
    }

    /// The parts of a message, one for each queue pair. A message has at least one part, but otherwise no more parts
    /// than bytes. The lengths of the parts differ by at most one byte.
    fn parts(&self, bytes: u64) -> Vec<MessageParts> {
        let parts = bytes.clamp(1, self.split);
        let (each, longer) = (bytes / parts, bytes % parts);
        let payload = self.framing.payload.0;
        let of = |(count, bytes): (u64, u64)| {
            let packets = bytes.div_ceil(payload).max(1);
            let last = bytes - (packets - 1) * payload + self.framing.header.0;
            MessageParts { count, full: packets - 1, last }
        };
        [(longer, each + 1), (parts - longer, each)]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(of)
            .collect()
    }

    /// The links between two hosts by their distance from the sender. Empty if there is no path, or if the hosts are
    /// the same.
    fn tiers(&self, src: HostId, dst: HostId) -> Vec<Tier> {
        if !self.uniform {
            return self.tiers_on_any_graph(src, dst);
        }
        let path = self.topology.ideal_path(&self.routing, src, dst);
        let mut tiers: Vec<Tier> = path.iter().map(|&link| self.tier(link)).collect();
        if self.spreads || self.split > 1 {
            for (tier, links) in tiers.iter_mut().zip(self.widths(&path, src, dst)) {
                tier.single = links == 1;
                tier.total_rate = u128::from(tier.rate.0) * u128::from(links);
            }
        }
        tiers
    }

    /// An upper bound of the number of links at each distance, if all ECMP groups of a tier have the same size. The
    /// bound is the smaller of two numbers of paths to that distance: from the sender, and back from the receiver.
    fn widths(&self, path: &[LinkId], src: HostId, dst: HostId) -> Vec<u64> {
        let mut widths = vec![1_u64; path.len()];
        let group = |node: NodeId, to: HostId| {
            let ports = match node.0.checked_sub(self.topology.hosts) {
                Some(switch) => self.routing.group(switch as usize, self.routing.tor_index(to, 0)).len(),
                None if self.uses_all_ports || self.split > 1 => {
                    self.topology.host_ports(HostId(node.0)).into()
                }
                None => 1,
            };
            (ports as u64).max(1)
        };
        let mut ways = 1_u64;
        for (width, &link) in widths.iter_mut().zip(path) {
            ways = ways.saturating_mul(group(self.topology.source(link), dst));
            *width = ways;
        }
        let mut ways = 1_u64;
        for (width, &link) in widths.iter_mut().zip(path).rev() {
            ways = ways.saturating_mul(group(self.topology.ports[link.index()].peer, src));
            *width = ways.min(*width);
        }
        widths
    }

    /// The links between two hosts by distance from the sender, on any graph. They include all links on shortest
    /// paths.
    fn tiers_on_any_graph(&self, src: HostId, dst: HostId) -> Vec<Tier> {
        if src == dst {
            return Vec::new();
        }
        let hosts = self.topology.hosts;
        let ports = |host: HostId| (0..self.topology.host_ports(host)).map(move |port| (host, port));
        let links = |host: HostId| ports(host).map(|(host, port)| self.topology.link(host.into(), port));
        let tors = |host: HostId| ports(host).map(|(host, port)| self.routing.tor_index(host, port));
        let join = |tiers: &mut dyn Iterator<Item = Tier>| tiers.reduce(|one, other| one.join(&other));
        let destinations: BTreeSet<u32> = tors(dst).collect();
        let mut here: BTreeSet<u32> = tors(src).collect();
        let mut tiers = Vec::from_iter(join(&mut links(src).map(|link| self.tier(link))));
        while here.is_disjoint(&destinations) {
            let mut next = BTreeSet::new();
            let mut passed = BTreeSet::new();
            for (&switch, &destination) in
                here.iter().flat_map(|switch| destinations.iter().map(move |to| (switch, to)))
            {
                for &port in self.routing.group(switch as usize, destination) {
                    let link = self.topology.link(NodeId(hosts + switch), port);
                    next.insert(self.topology.ports[link.index()].peer.0 - hosts);
                    passed.insert(link);
                }
            }
            let Some(tier) = join(&mut passed.iter().map(|&link| self.tier(link))) else { return Vec::new() };
            tiers.push(tier);
            here = next;
        }
        tiers.extend(join(&mut links(dst).map(|link| self.tier(self.topology.reverse(link)))));
        tiers
    }

    fn tier(&self, link: LinkId) -> Tier {
        let delay = |node: NodeId| self.topology.switch(node).map_or(Duration::ZERO, |switch| switch.latency);
        let port = &self.topology.ports[link.index()];
        let back = &self.topology.ports[self.topology.reverse(link).index()];
        Tier {
            rate: port.rate,
            total_rate: u128::from(port.rate.0),
            onward: port.latency + delay(port.peer),
            ack: back.rate.time_for(self.framing.ack.0) + back.latency + delay(back.peer),
            single: true,
        }
    }
}

impl Tier {
    /// The tier that has the links of both tiers.
    fn join(&self, other: &Tier) -> Tier {
        Tier {
            rate: self.rate.max(other.rate),
            total_rate: self.total_rate + other.total_rate,
            onward: self.onward.min(other.onward),
            ack: self.ack.min(other.ack),
            single: false,
        }
    }
}

fn ack_return(path: &[Tier]) -> Duration {
    path.iter().fold(Duration::ZERO, |sum, tier| sum + tier.ack)
}

/// Whether all links between the same tiers have the same rate and latency, and all switches of a tier have the same
/// latency. Fabrics from files of links count as non-uniform, since their tiers have no order.
fn is_uniform(topology: &Topology) -> bool {
    let mut kinds: BTreeMap<(u8, u8), (Rate, Duration, Duration)> = BTreeMap::new();
    let tier = |node: NodeId| topology.switch(node).map_or(0, |switch| switch.tier);
    let mut node = NodeId(0);
    // If planes are joined, the ports of a host may lie at different distances.
    let is_joined = topology.has_several_ports() && topology.planes.is_empty();
    !is_joined
        && topology.host_file_ids.is_empty()
        && topology.ports.iter().enumerate().all(|(link, port)| {
            while topology.links_of(node).end <= link as u32 {
                node = NodeId(node.0 + 1);
            }
            let delay = topology.switch(port.peer).map_or(Duration::ZERO, |switch| switch.latency);
            let kind = (port.rate, port.latency, delay);
            *kinds.entry((tier(node), tier(port.peer))).or_insert(kind) == kind
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_fabric::TopologySpec;

    /// The ideal FCT of a message between two hosts on one switch.
    fn fct(link: Rate, bytes: u64, split: u64, spreads: bool) -> u64 {
        let (link_latency, switch_latency) = (Duration::from_us(1), Duration::ZERO);
        let spec = TopologySpec::SingleSwitch { hosts: 2, link, link_latency, switch_latency };
        let topology = anabranch_fabric::build(&spec, None).unwrap();
        let scheme: Scheme = toml::from_str(include_str!("engine/tests/reps.toml")).unwrap();
        let routing = Routing::new(&topology, &|_| true);
        let ideal = Ideal { split, spreads, ..Ideal::new(&topology, routing, &scheme.transport) };
        ideal.fct(HostId(0), HostId(1), bytes).0
    }

    /// A time that does not fit in 64 bits becomes `u64::MAX`.
    #[test]
    fn no_time_is_too_long() {
        for (split, spreads) in [(1, false), (1, true), (8, true)] {
            let fct = |link, bytes| fct(link, bytes, split, spreads);
            assert!(fct(Rate::from_gbps(1), 1_000_000_000) > 8_000_000_000_000, "8 s");
            assert_eq!(fct(Rate(100_000), 10_000_000_000_000), u64::MAX, "25 years");
            assert_eq!(fct(Rate(1), u64::MAX / 2), u64::MAX);
        }
    }
}
