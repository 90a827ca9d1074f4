//! Paths between ToRs, and the map from relative path changes to changes of the entropy value (Themis-spraying, section
//! 4.1, figure 4). Linear hashes make such a map possible (USENIX ATC 2021, the paper's reference 58).

use crate::spec::RoutingMode;
use anabranch_fabric::{Routing, Topology};
use anabranch_proto::Packet;
use std::sync::Arc;

/// The reason why a fabric has no path map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathMapError {
    /// The routing has no linear hash.
    #[error(
        "switches above the ToR choose too, and fabric.routing = {0:?} does not let the entropy value steer them"
    )]
    NotLinear(RoutingMode),
    /// The number of equal-cost ports of a switch is not a power of two.
    #[error(
        "a switch has {0} equal-cost ports; where switches above the ToR choose too, their numbers must be powers of two"
    )]
    NoPowerOfTwo(usize),
    /// The 16 bits of the entropy value do not reach every path.
    #[error("no change of the 16-bit entropy value reaches path {0}")]
    Unreachable(u32),
}

/// The largest number of equal-cost paths between two ToRs.
pub fn paths(topology: &Topology, routing: &Routing) -> u32 {
    choices(topology, routing).iter().map(|(_, n)| *n as u32).product()
}

/// The values to XOR into the entropy value. The index is the relative path change, which is below [`paths`]. None if
/// the ToR's choice alone determines the path.
///
/// # Errors
/// The fabric or the hash permits no such map.
pub fn build(
    topology: &Topology,
    routing: &Routing,
    mode: RoutingMode,
) -> Result<Option<Arc<[u16]>>, PathMapError> {
    let choices = choices(topology, routing);
    let sizes: Vec<usize> = choices.iter().map(|(_, n)| *n).collect();
    if sizes.iter().skip(1).all(|n| *n == 1) {
        return Ok(None);
    }
    if mode != RoutingMode::EcmpLinear {
        return Err(PathMapError::NotLinear(mode));
    }
    if let Some(n) = sizes.iter().find(|n| !n.is_power_of_two()) {
        return Err(PathMapError::NoPowerOfTwo(*n));
    }
    let count: usize = sizes.iter().product();
    let mut map: Vec<Option<u16>> = vec![None; count];
    for change in 0..=u16::MAX {
        // The choice at the first tier is the lowest digit of the path's number.
        let (mut path, mut stride) = (0, 1);
        for (tier, n) in &choices {
            path += stride * (linear(change, *tier) as usize & (n - 1));
            stride *= n;
        }
        map[path].get_or_insert(change);
    }
    match map.iter().position(Option::is_none) {
        Some(path) => Err(PathMapError::Unreachable(path as u32)),
        None => Ok(Some(map.into_iter().flatten().collect())),
    }
}

/// The tier and the number of equal-cost ports of each switch on a route, from the source ToR on. Routes follow the
/// first equal-cost port of each switch. Out of all routes, the result is for one with the largest product of the
/// numbers of ports.
fn choices(topology: &Topology, routing: &Routing) -> Vec<(u8, usize)> {
    let tors = topology.tors();
    let mut most = Vec::new();
    for (from, to) in (0..tors).flat_map(|from| (0..tors).map(move |to| (from, to))) {
        let (mut at, mut choices) = (from, Vec::new());
        while at != to {
            let group = routing.group(at as usize, to);
            let Some(&port) = group.first() else { break };
            choices.push((topology.switches[at as usize].tier, group.len()));
            let node = anabranch_base::NodeId(topology.hosts + at);
            at = topology.ports[topology.link(node, port).index()].peer.0 - topology.hosts;
        }
        let paths = |choices: &[(u8, usize)]| choices.iter().map(|(_, n)| n).product::<usize>();
        if paths(&choices) > paths(&most) {
            most = choices;
        }
    }
    most
}

/// The position in an ECMP group of `n` ports for a packet at a switch of `tier`. The hash is linear in the entropy
/// value. If `n` is a power of two, XOR of the entropy value with the same bits therefore changes the choice of every
/// flow in the same way.
pub fn choice(packet: &Packet, salt: u64, tier: u8, n: usize) -> usize {
    let flow = ((u64::from(packet.qp.0) << 32) | u64::from(packet.dst.0)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut hash = flow ^ salt;
    hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let hash = (hash >> 32) as u32 ^ linear(packet.ev, tier);
    if n.is_power_of_two() { hash as usize & (n - 1) } else { hash as usize % n }
}

/// A carry-less product, as in CRCs, which is linear over XOR. Tier 1, tier 2 and the tiers above have different
/// polynomials, so that their choices are independent.
fn linear(ev: u16, tier: u8) -> u32 {
    let polynomial: u32 = match tier {
        1 => 0x1_1021,
        2 => 0x1_8005,
        _ => 0x1_a097,
    };
    let product = (0..16).filter(|bit| (ev >> bit) & 1 == 1).fold(0, |sum, bit| sum ^ (polynomial << bit));
    // The lowest 8 bits of the product are left out, since bit 0 depends on one bit of the entropy value alone. Each of
    // bits 8 to 15 depends on at least two bits. These bits suffice for a choice among 2 to 256 ports, if the number of
    // ports is a power of 2.
    product >> 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::{Duration, HostId, QpId, Rate};
    use anabranch_fabric::{TopologySpec, TorusSpec};
    use anabranch_fabric::{build as build_topology, fat_tree_defaults};
    use anabranch_proto::Repr;
    use std::collections::BTreeSet;

    fn tree(hosts: u32, tiers: u32) -> (Topology, Routing) {
        let (tier, pod_hosts) =
            fat_tree_defaults(hosts, tiers, 1, None, Rate::from_gbps(100), Duration::ZERO, Duration::ZERO)
                .unwrap();
        let topology = build_topology(&TopologySpec::FatTree { hosts, tier, pod_hosts }, None).unwrap();
        let routing = Routing::new(&topology, &|_| true);
        (topology, routing)
    }

    #[test]
    fn two_tiers_need_no_map() {
        let (topology, routing) = tree(128, 2);
        assert_eq!(paths(&topology, &routing), 8);
        assert_eq!(build(&topology, &routing, RoutingMode::Ecmp), Ok(None));
    }

    /// Figure 4: a flow reaches each path by exactly one relative change, whatever its base path is.
    #[test]
    fn in_three_tiers_every_flow_reaches_every_path_once() {
        let (topology, routing) = tree(128, 3);
        assert_eq!(paths(&topology, &routing), 16);
        let map = build(&topology, &routing, RoutingMode::EcmpLinear).unwrap().unwrap();
        assert_eq!((map.len(), map[0]), (16, 0));
        for flow in 0..50 {
            let (salt, repr) = (flow * 0x1234_5678_9abc, Repr::nack(0));
            let mut seen = BTreeSet::new();
            for change in map.iter() {
                let ev = (77 * flow as u16) ^ change;
                let dst = HostId(127);
                let packet = Packet::new(QpId(flow as u32), dst, repr).with_bytes(64).with_ev(ev);
                seen.insert([1, 2].map(|tier| choice(&packet, salt, tier, 4)));
            }
            assert_eq!(seen.len(), 16, "flow {flow}");
        }
    }

    /// All switches of a torus are ToRs and use one polynomial, so that the choices on a path depend on each other.
    #[test]
    fn no_map_steers_several_choices_of_one_tier() {
        let torus = TorusSpec {
            dims: vec![5, 5],
            link: Rate::from_gbps(100),
            link_latency: Duration::ZERO,
            host_link: Rate::from_gbps(400),
            host_link_latency: Duration::ZERO,
            switch_latency: Duration::ZERO,
            radix: None,
        };
        let topology = build_topology(&TopologySpec::Torus(torus), None).unwrap();
        let routing = Routing::new(&topology, &|_| true);
        let map = build(&topology, &routing, RoutingMode::EcmpLinear);
        assert!(matches!(map, Err(PathMapError::Unreachable(_))), "{map:?}");
    }

    /// Each ToR has one uplink, so that only the tier above chooses.
    #[test]
    fn a_choice_above_the_tor_alone_needs_a_map_too() {
        let (mut tier, pod_hosts) =
            fat_tree_defaults(128, 3, 4, None, Rate::from_gbps(100), Duration::ZERO, Duration::ZERO).unwrap();
        assert_eq!(tier[0].radix_up, 1);
        tier[1].radix_up = 4;
        let topology = build_topology(&TopologySpec::FatTree { hosts: 128, tier, pod_hosts }, None).unwrap();
        let routing = Routing::new(&topology, &|_| true);
        assert_eq!(choices(&topology, &routing)[..2], [(1, 1), (2, 4)]);
        let map = build(&topology, &routing, RoutingMode::EcmpLinear).unwrap().unwrap();
        assert_eq!(map.len(), 4);
        assert!(build(&topology, &routing, RoutingMode::Ecmp).is_err());
    }

    #[test]
    fn what_cannot_be_mapped_is_refused() {
        let (topology, routing) = tree(128, 3);
        let refused = build(&topology, &routing, RoutingMode::Adaptive);
        assert_eq!(refused, Err(PathMapError::NotLinear(RoutingMode::Adaptive)));
    }

    /// The paper's path maps have 128 entries, which is between the two numbers here.
    #[test]
    fn sixteen_bits_reach_thousands_of_paths() {
        for (hosts, count) in [(1024, 64), (8192, 256)] {
            let (topology, routing) = tree(hosts, 3);
            assert_eq!(paths(&topology, &routing), count);
            assert!(build(&topology, &routing, RoutingMode::EcmpLinear).is_ok(), "{hosts} hosts");
        }
    }
}
