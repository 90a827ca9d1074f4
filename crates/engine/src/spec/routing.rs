//! The choice of paths: of a port at a NIC, and among equal-cost ports at a switch.

use anabranch_base::parameter_choices;
use serde::{Deserialize, Serialize};

/// The way in which a switch chooses among equal-cost ports. `Adaptive` and `Spray` apply to data packets, and with
/// `acks_with_data` also to control packets that are not trimmed. `Adaptive` also applies to trimmed packets. With
/// `Adaptive` and `Spray`, all remaining packets use ECMP. The other modes apply to all packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoutingMode {
    /// A hash of the flow, the entropy value and the switch's salt.
    #[default]
    Ecmp,
    /// A hash that is linear in the entropy value. Real switches have such hashes. A change of the entropy value
    /// therefore changes the path in the same way for every flow (Themis-spraying, section 4.1).
    EcmpLinear,
    /// The port with the shortest queue among the ports whose link is up. If several queues are equally short, one of
    /// them is chosen at random (Themis-spraying, section 2.2). A switch detects independently of routing that a link
    /// at one of its own ports is down.
    Adaptive,
    /// A random port for each packet at the source ToR, and ECMP at the switches above it.
    Spray,
    /// The entropy value selects the uplink of the source ToR. The number of the uplink is the entropy value divided by
    /// the number of ports of a NIC, modulo the number of uplinks. This applies to all packets, not only to data.
    /// Switches above the ToR use ECMP. Routing never withdraws a link, and a packet to a dead link is lost (MRC, OCP
    /// 1.0, with SRv6).
    Source,
}

parameter_choices!(
    RoutingMode: "ecmp" = Ecmp, "ecmp-linear" = EcmpLinear, "adaptive" = Adaptive, "spray" = Spray,
    "source" = Source
);

/// The way in which a NIC with several ports chooses a packet's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortChoice {
    /// The entropy value of the packet determines the port.
    Entropy,
    /// The queue pair of the packet determines the port.
    QueuePair,
    /// Data leaves by the next free port.
    Packet,
}

parameter_choices!(PortChoice: "entropy" = Entropy, "queue-pair" = QueuePair, "packet" = Packet);
