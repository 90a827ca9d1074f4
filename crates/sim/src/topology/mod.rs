//! The fabric as a graph of directed links, and the routes over it.

use anabranch_base::{Duration, HostId, LinkId, NodeId, Rate};

/// A fabric: hosts, switches and the directed links between them.
///
/// Nodes `0..hosts` are hosts with one port each; node `hosts + i` is `switches[i]`.
/// The ports of node `n` are `ports[port_base[n]..port_base[n + 1]]`; a directed link is named by the
/// index of its sending port ([`LinkId`]).
#[derive(Clone, Debug)]
pub struct Topology {
    /// Number of hosts.
    pub hosts: u32,
    /// Switches, ordered by tier, then by position.
    pub switches: Vec<Switch>,
    /// First port of each node, and one more entry at the end.
    pub port_base: Vec<u32>,
    /// Every port, by node and port number. At a switch: ports towards hosts (down) first, then up.
    pub ports: Vec<Port>,
}

/// A switch.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// 1 for a ToR (any switch with hosts), 2 for aggregation or spine, 3 for core.
    pub tier: u8,
    /// Position within its tier, from 0: `tor:3`, `spine:0`.
    pub index: u32,
    /// The time between the last bit's arrival and the earliest departure.
    pub latency: Duration,
    /// The number that an imported file gave this node, where it came from a file with node numbers.
    pub file_id: Option<u32>,
}

/// One end of a cable: a directed link leaves here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Port {
    /// The node at the other end.
    pub peer: NodeId,
    /// The port at the other end.
    pub peer_port: u16,
    /// Rate of the link that leaves here.
    pub rate: Rate,
    /// Propagation delay of the link that leaves here.
    pub latency: Duration,
    /// Probability that a packet is lost on the link that leaves here, from the topology file.
    pub loss: f64,
}

impl Topology {
    /// The number of nodes.
    pub fn nodes(&self) -> u32 {
        self.hosts + self.switches.len() as u32
    }

    /// The link that leaves `node` by `port`.
    #[inline]
    pub fn link(&self, node: NodeId, port: u16) -> LinkId {
        LinkId(self.port_base[node.index()] + u32::from(port))
    }

    /// The switch at `node`, or `None` for a host.
    pub fn switch(&self, node: NodeId) -> Option<&Switch> {
        node.0.checked_sub(self.hosts).map(|i| &self.switches[i as usize])
    }

    /// The switch that `host` hangs on (its ToR).
    #[inline]
    pub fn tor_of(&self, host: HostId) -> NodeId {
        self.ports[self.port_base[host.index()] as usize].peer
    }
}
