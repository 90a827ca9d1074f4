//! Round trip times between a switch and the ToRs of a fabric, for programs that need them.

use anabranch_base::{Duration, HostId, NodeId};
use anabranch_fabric::{Routing, Topology};
use anabranch_proto::program::Tors;
use std::sync::Arc;

/// The ToR of port 0 of each host.
pub(super) fn of_hosts(topology: &Topology, routing: &Routing) -> Arc<[u32]> {
    (0..topology.hosts).map(|host| routing.tor_index(HostId(host), 0)).collect()
}

/// The ToRs of all hosts, and the round trip time from the switch with this index to each ToR.
pub(super) fn seen_from(topology: &Topology, routing: &Routing, switch: u32, of_host: Arc<[u32]>) -> Tors {
    let round_trips = (0..topology.tors()).map(|tor| round_trip(topology, routing, switch, tor)).collect();
    Tors { of_host, round_trips }
}

/// The round trip latency between a switch and a ToR: the sum of the latencies of links and switches in both
/// directions. Each switch on the way uses the first port of its group, and the way back uses the same cables. Zero if
/// there is no path.
fn round_trip(topology: &Topology, routing: &Routing, from: u32, tor: u32) -> Duration {
    let delay = |node: NodeId| topology.switch(node).map_or(Duration::ZERO, |switch| switch.latency);
    let (mut at, mut sum) = (from, Duration::ZERO);
    while at != tor {
        let Some(&port) = routing.group(at as usize, tor).first() else { return Duration::ZERO };
        let link = topology.link(NodeId(topology.hosts + at), port);
        let (there, back) = (&topology.ports[link.index()], &topology.ports[topology.reverse(link).index()]);
        sum = sum + there.latency + delay(there.peer) + back.latency + delay(back.peer);
        at = there.peer.0 - topology.hosts;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::Rate;
    use anabranch_fabric::{TopologySpec, build, fat_tree_defaults};

    /// A round trip between ToRs has four links of 1 us and four switches of 500 ns within a pod, and twice as many
    /// between pods.
    #[test]
    fn a_tor_is_as_far_as_its_links_and_switches_take() {
        let (link, switch) = (Duration::from_us(1), Duration::from_ns(500));
        let (tier, pod_hosts) =
            fat_tree_defaults(128, 3, 1, None, Rate::from_gbps(100), link, switch).unwrap();
        let topology = build(&TopologySpec::FatTree { hosts: 128, tier, pod_hosts }, None).unwrap();
        let routing = Routing::new(&topology, &|_| true);
        let tors = seen_from(&topology, &routing, 0, of_hosts(&topology, &routing));
        let (last_in_pod, other_pod) = (HostId(pod_hosts - 1), HostId(pod_hosts));
        let round_trips =
            [HostId(0), last_in_pod, other_pod, HostId(127)].map(|host| tors.round_trip_to(host));
        assert_eq!(round_trips, [0, 6, 12, 12].map(Duration::from_us));
        assert_eq!(tors.round_trip_to(HostId(128)), Duration::ZERO, "no such host");
    }
}
