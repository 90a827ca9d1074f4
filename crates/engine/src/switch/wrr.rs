//! The WRR weight of control queues that prevents the loss of trimmed packets (DCP, section 4.2).

use crate::spec::FabricSpec;
use anabranch_base::{Bytes, NodeId};
use anabranch_fabric::Topology;
use anabranch_proto::PathFacts;

/// The error that no weight of the control queue prevents the loss of trimmed packets.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "{switch} has N = {radix} ports, of which N - 1 may send to one at once, and a data packet is only {ratio:.1} times as long as a trimmed one: the weight (N - 1) / (r - N + 1) needs r above N - 1"
)]
pub struct WeightError {
    /// The first switch for which no weight suffices.
    pub switch: String,
    /// N, the configured radix or else the number of ports of the switch.
    pub radix: u32,
    /// r, the ratio of the sizes of data packets and trimmed packets.
    pub ratio: f64,
}

impl WeightError {
    /// The largest N for which a weight exists, as a value of `fabric.wrr`.
    pub fn instead(&self) -> String {
        // The weight exists if N - 1 < r.
        let largest = libm::ceil(self.ratio) as u32;
        format!("{{ radix = {largest} }}")
    }
}

/// The weights of the control queues of all switches, in units of 2^-16. Empty if these queues have strict priority.
/// `header` is the size of a trimmed packet.
///
/// # Errors
/// No weight is configured, and the configured radix, or the number of ports of a switch, is too large for these packet
/// sizes.
pub fn weights(
    fabric: &FabricSpec,
    topology: &Topology,
    facts: &PathFacts,
    header: Bytes,
) -> Result<Vec<u32>, WeightError> {
    let Some(wrr) = &fabric.wrr else { return Ok(Vec::new()) };
    let switches = (topology.hosts..topology.nodes()).map(NodeId);
    let weight = |node: NodeId| {
        if let Some(weight) = wrr.weight {
            return Ok(weight);
        }
        let radix = wrr.radix.unwrap_or(topology.links_of(node).len() as u32);
        let ratio = facts.packet.0 as f64 / header.0 as f64;
        match ratio - f64::from(radix) + 1.0 {
            left if left > 0.0 => Ok(f64::from(radix - 1) / left),
            _ => Err(WeightError { switch: topology.node_name(node), radix, ratio }),
        }
    };
    // A weight is at least 1, since 0 stands for strict priority.
    switches.map(|node| Ok(((weight(node)? * 65_536.0) as u32).max(1))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mail::ArrivalOrder;
    use crate::queue::FullQueue;
    use crate::spec::RoutingMode;
    use crate::spec::WrrSpec;
    use anabranch_base::{Duration, Rate};
    use anabranch_fabric::{TopologySpec, build};
    use anabranch_proto::{Size, Threshold};

    /// The weights for hosts on one switch, with packets of 1,048 B and headers of 48 B (r = 21.83).
    fn on_one_switch(hosts: u32, wrr: WrrSpec) -> Result<Vec<u32>, WeightError> {
        let latency = Duration::from_us(1);
        let spec = TopologySpec::SingleSwitch {
            hosts,
            link: Rate::from_gbps(100),
            link_latency: latency,
            switch_latency: Duration::ZERO,
        };
        let topology = build(&spec, None).unwrap();
        let facts = PathFacts {
            base_rtt: Duration::from_us(4),
            bdp: Bytes(50_000),
            packet: Bytes(1_048),
            line_rate: Rate::from_gbps(100),
            port_rate: Rate::from_gbps(100),
            queue: Bytes(1_000_000),
        };
        let fabric = FabricSpec {
            queue: Some(Size::Bdp(1.0)),
            last_hop_queue: None,
            last_hop_ecn: true,
            queues_follow_rate: false,
            shared_buffer: Bytes(0),
            shared_alpha: 1.0,
            full_queue: FullQueue::Arriving,
            control_queue: Size::Bdp(1.0),
            ecn_kmin: Threshold::Size(Size::Bdp(0.2)),
            ecn_kmax: Threshold::Size(Size::Bdp(0.8)),
            ecn_pmax: 1.0,
            ecn_from: Vec::new(),
            trim: false,
            wrr: Some(wrr),
            acks_with_data: false,
            routing_delay: None,
            routing: RoutingMode::Ecmp,
            port_choice: None,
            port_failover: true,
            arrival_order: ArrivalOrder::Port,
            clock_ppm: 0,
            nic_jitter: Duration::ZERO,
            timer_tick: Duration::ZERO,
            timer_jitter: Duration::ZERO,
            pfc: None,
            program: None,
            program_at: None,
        };
        weights(&fabric, &topology, &facts, Bytes(48))
    }

    #[test]
    fn the_weight_follows_from_radix_and_sizes() {
        // The weight is (16 - 1) / (21.833 - 16 + 1) = 2.1951, here in units of 2^-16.
        assert_eq!(on_one_switch(16, WrrSpec::default()), Ok(vec![143_859]));
        // The weight is (22 - 1) / (21.833 - 22 + 1) = 25.2, here in units of 2^-16.
        assert_eq!(on_one_switch(22, WrrSpec::default()), Ok(vec![1_651_507]));
        let by_hand = WrrSpec { radix: None, weight: Some(0.5) };
        assert_eq!(on_one_switch(64, by_hand), Ok(vec![32_768]));
        let as_if = WrrSpec { radix: Some(16), weight: None };
        assert_eq!(on_one_switch(64, as_if), Ok(vec![143_859]));
    }

    #[test]
    fn too_many_ports_for_the_sizes_are_refused() {
        let refused = on_one_switch(23, WrrSpec::default()).unwrap_err();
        assert_eq!((refused.radix, refused.switch.as_str()), (23, "tor:0"));
        assert_eq!(refused.instead(), "{ radix = 22 }");
        assert!(on_one_switch(64, WrrSpec { radix: Some(22), weight: None }).is_ok());
    }
}
