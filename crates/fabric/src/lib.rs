//! The fabric as a graph of directed links, and the routes through it.
//!
//! [`build()`] turns a [`TopologySpec`] into a [`Topology`]. A [`TopologyBuilder`] makes a topology from calls.
//! [`parse_topo`] reads htsim's fat-tree files into a spec, [`parse_ns3`] reads ns-3 graphs, and [`parse_astra`]
//! reads networks of ASTRA-sim. [`Routing`] holds the equal-cost routes, and [`Selector`] names links and switches.

mod assemble;
mod astra_file;
mod build;
mod builder;
mod clos;
mod cross_dc;
mod cyclic;
mod direct;
mod dragonfly;
mod error;
mod error_rate;
mod fat_tree;
#[cfg(test)]
mod instances_test;
mod link_groups;
mod name;
mod nccl_file;
mod near;
mod ns3_file;
mod path;
#[cfg(test)]
mod peers_test;
mod planes;
mod routing;
mod selector;
mod servers;
#[cfg(test)]
mod shortest_paths;
mod spec;
mod summary;
mod topo_file;
mod yaml;

pub use astra_file::{
    AstraDimension, AstraNetwork, AstraShape, is_astra_network, parse_astra, parse_logical_dims,
};
pub use build::{build, warnings};
pub use builder::{SwitchNumber, TopologyBuilder};
pub use clos::{ClosInput, ClosKind, ClosSpec, SpineGroup, clos_defaults};
pub use cross_dc::check_cross_dc;
pub use direct::{FullMeshSpec, TorusSpec};
pub use dragonfly::DragonflySpec;
pub use error::TopologyError;
pub use error_rate::{ErrorRate, ErrorRates};
pub use fat_tree::fat_tree_defaults;
pub use link_groups::{GroupBy, LinkGroup};
pub use nccl_file::{NcclServer, parse_nccl};
pub use ns3_file::parse_ns3;
pub use routing::Routing;
pub use selector::{Selector, SelectorError};
pub use servers::{NvLink, ServerParts, Servers};
pub use spec::{CrossDcSpec, RegisteredTopology, TierSpec, TopologyFactory, TopologySpec};
pub use summary::{FabricSummary, TierSummary};
pub use topo_file::parse_topo;
pub use yaml::{YamlDocument, YamlNode};

use anabranch_base::{Duration, HostId, LinkId, NodeId, Rate};
use std::ops::Range;

/// The largest number of ports of a host.
pub const MOST_HOST_PORTS: u16 = 16;

/// A fabric: hosts, switches and the directed links between them.
///
/// Nodes `0..hosts` are hosts; node `hosts + i` is `switches[i]`. A host is a NIC with 1 to [`MOST_HOST_PORTS`]
/// ports. If the fabric has planes and its NICs have several ports, port `p` of a NIC is in plane `p`. The ports of
/// node `n` are `ports[port_base[n]..port_base[n + 1]]`. A directed link is identified by the index of its sending
/// port ([`LinkId`]), so that the link of port `p` of host `h` is `port_base[h] + p`.
#[derive(Clone, Debug)]
pub struct Topology {
    /// The number of hosts.
    pub hosts: u32,
    /// Switches, ordered by tier, then by position. The first [`Topology::tors`] of them are the ToRs.
    pub switches: Vec<Switch>,
    /// The index in `ports` of each node's first port, followed by the number of ports.
    pub port_base: Vec<u32>,
    /// Every port, by node and port number. A switch has its ports down (to hosts or lower tiers) first, then the
    /// others (up, or to a switch of the same tier), both in the order of the nodes at the other end. A host has its
    /// ports in the order of the planes, of the lines of a file, or of the calls of a builder.
    pub ports: Vec<Port>,
    /// The node number of each host in a file of the ns-3 simulators, ascending; empty for other topologies.
    pub host_file_ids: Vec<u32>,
    /// The data centre of each node, from 0; empty if there is only one data centre.
    pub site: Vec<u16>,
    /// The error rates that an imported file gives to links ([`Port::loss`]).
    pub error_rates: ErrorRates,
    /// The servers to which the hosts belong; `None` if the topology has none.
    pub servers: Option<Servers>,
    /// The plane of each switch, from 0; empty if there is only one plane. No link connects two planes.
    pub planes: Vec<u16>,
    /// The number of hosts in each dimension of an ASTRA-sim network, beginning with the dimension that varies
    /// fastest. Empty for other topologies.
    pub dims: Vec<u32>,
}

/// A switch.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// The tier: 1 for a ToR (any switch with hosts), 2 for an aggregation switch or a spine, 3 for a core. In a fabric
    /// of several data centres, tier 2 has the leaves and tier 3 the external switches. In an imported graph, the tier
    /// is one more than the number of hops to the nearest ToR.
    pub tier: u8,
    /// The position within the tier, from 0: the switch `tor:3` has position 3.
    pub index: u32,
    /// The time between the arrival of a packet's last bit and its earliest departure.
    pub latency: Duration,
    /// The node number in a file of the ns-3 simulators; `None` for a switch that is not in such a file.
    pub file_id: Option<u32>,
}

/// One end of a cable, from which a directed link leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Port {
    /// The node at the other end.
    pub peer: NodeId,
    /// The port at the other end.
    pub peer_port: u16,
    /// The rate of the leaving link.
    pub rate: Rate,
    /// The propagation delay of the leaving link.
    pub latency: Duration,
    /// The probability that a packet is lost on the leaving link, from the topology file. The engine does not read
    /// this field: a scenario has a packet-loss fault for each error rate of its file.
    pub loss: f64,
}

impl Topology {
    /// The number of hosts and switches together.
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

    /// The ToR of a host's port.
    #[inline]
    pub fn tor_of(&self, host: HostId, port: u16) -> NodeId {
        self.ports[self.link(host.into(), port).index()].peer
    }

    /// The number of ports of `host`.
    #[inline]
    pub fn host_ports(&self, host: HostId) -> u16 {
        self.links_of(host.into()).len() as u16
    }

    /// Whether any host has more than one port.
    pub fn has_several_ports(&self) -> bool {
        self.port_base[self.hosts as usize] > self.hosts
    }

    /// The largest number of ports of any host.
    pub fn most_host_ports(&self) -> u16 {
        (0..self.hosts).map(|host| self.host_ports(HostId(host))).max().unwrap_or(0)
    }

    /// The rate at which `host` can send, which is the sum of the rates of its ports.
    pub fn host_rate(&self, host: HostId) -> Rate {
        let ports = self.links_of(host.into());
        Rate(self.ports[ports.start as usize..ports.end as usize].iter().map(|port| port.rate.0).sum())
    }

    /// The number of planes; 1 if the topology has none.
    pub fn plane_count(&self) -> u16 {
        self.planes.iter().max().map_or(1, |last| last + 1)
    }

    /// The plane of the switch at `node`; `None` for a host, or if there are no planes.
    pub fn plane_of(&self, node: NodeId) -> Option<u16> {
        self.planes.get(node.0.checked_sub(self.hosts)? as usize).copied()
    }

    /// The server of `host`; `None` if it is in no server.
    pub fn server_of(&self, host: HostId) -> Option<u32> {
        self.servers.as_ref()?.server_of(host)
    }

    /// The rail of `host`, which is its number within its server; `None` if it is in no server.
    pub fn rail_of(&self, host: HostId) -> Option<u16> {
        self.servers.as_ref()?.rail_of(host)
    }

    /// The rail of the ToR at `node`, if all hosts of the ToR have the same rail. `None` in all other cases: for other
    /// nodes, and for a ToR with hosts of several rails or with hosts that are in no server.
    pub fn rail_of_tor(&self, node: NodeId) -> Option<u16> {
        let links = self.links_of(node);
        let ports = &self.ports[links.start as usize..links.end as usize];
        let mut hosts = ports.iter().filter(|port| port.peer.0 < self.hosts && node.0 >= self.hosts);
        let rail = self.rail_of(HostId(hosts.next()?.peer.0))?;
        hosts.all(|port| self.rail_of(HostId(port.peer.0)) == Some(rail)).then_some(rail)
    }

    /// The data centre of `node`, from 0.
    #[inline]
    pub fn site_of(&self, node: NodeId) -> u16 {
        self.site.get(node.index()).copied().unwrap_or(0)
    }

    /// Whether `a` and `b` are in different data centres.
    #[inline]
    pub fn crosses(&self, a: HostId, b: HostId) -> bool {
        self.site_of(a.into()) != self.site_of(b.into())
    }

    /// Whether there is more than one data centre.
    pub fn has_sites(&self) -> bool {
        !self.site.is_empty()
    }

    /// The number of directed links.
    pub fn links(&self) -> u32 {
        self.ports.len() as u32
    }

    /// The links that leave `node`, by port number.
    pub fn links_of(&self, node: NodeId) -> Range<u32> {
        self.port_base[node.index()]..self.port_base[node.index() + 1]
    }

    /// The sending node of `link`.
    pub fn source(&self, link: LinkId) -> NodeId {
        NodeId(self.port_base.partition_point(|&first| first <= link.0) as u32 - 1)
    }

    /// The other direction of the same cable.
    #[inline]
    pub fn reverse(&self, link: LinkId) -> LinkId {
        let port = &self.ports[link.index()];
        self.link(port.peer, port.peer_port)
    }

    /// The number of ToRs (switches of tier 1). They come first among the switches.
    pub fn tors(&self) -> u32 {
        self.tier_range(1).len() as u32
    }

    /// The highest tier.
    pub fn top_tier(&self) -> u8 {
        self.switches.last().map_or(0, |s| s.tier)
    }

    /// The indices of the switches of `tier`; empty when there are none.
    pub fn tier_range(&self, tier: u8) -> Range<usize> {
        self.switches.partition_point(|s| s.tier < tier)..self.switches.partition_point(|s| s.tier <= tier)
    }

    /// The number of ports of `node` to hosts or to switches of a lower tier. These ports come first; a host has
    /// none.
    pub fn down_ports(&self, node: NodeId) -> u16 {
        let Some(switch) = self.switch(node) else { return 0 };
        let links = self.links_of(node);
        let ports = &self.ports[links.start as usize..links.end as usize];
        ports.partition_point(|p| self.switch(p.peer).is_none_or(|peer| peer.tier < switch.tier)) as u16
    }

    /// The host with node number `file_id` in the imported file, or `None` if no host has this number. If no file
    /// gives node numbers, `file_id` is the host's own number.
    pub fn host_by_file_id(&self, file_id: u32) -> Option<HostId> {
        if self.host_file_ids.is_empty() {
            return (file_id < self.hosts).then_some(HostId(file_id));
        }
        self.host_file_ids.binary_search(&file_id).ok().map(|i| HostId(i as u32))
    }

    /// One more than the largest number of a host or switch in the imported file; 0 if no file gives node numbers.
    /// NVSwitches do not count, nor do the switches that the reader adds for hosts with a cable to another host.
    pub fn file_nodes(&self) -> u32 {
        let switches = self.switches.iter().filter_map(|switch| switch.file_id);
        switches.chain(self.host_file_ids.last().copied()).max().map_or(0, |last| last + 1)
    }

    /// The first host without a connection to host 0; `None` if all hosts are connected. A connection leads over links
    /// and through switches and servers. The NICs of a server reach each other through the GPUs, which may be the only
    /// connection between hosts of different rails.
    pub fn unreachable_host(&self) -> Option<HostId> {
        let mut reached = vec![false; self.nodes() as usize];
        let mut open = vec![NodeId(0)];
        reached[0] = true;
        while let Some(node) = open.pop() {
            let of_server = self.neighbours_in_server(node);
            // The search continues from switches, from host 0 and from hosts in servers. Other hosts do not forward.
            let forwards = node.0 == 0 || node.0 >= self.hosts || !of_server.is_empty();
            let links = if forwards { self.links_of(node) } else { 0..0 };
            let peers = links.map(|link| self.ports[link as usize].peer);
            for peer in peers.chain(of_server.iter().map(|&host| host.into())) {
                if !std::mem::replace(&mut reached[peer.index()], true) {
                    open.push(peer);
                }
            }
        }
        (0..self.hosts).map(HostId).find(|h| !reached[h.index()])
    }

    /// The NICs of the server of `node`, including `node`; none for a switch, or for a host that is in no server.
    fn neighbours_in_server(&self, node: NodeId) -> &[HostId] {
        let Some(servers) = self.servers.as_ref().filter(|_| node.0 < self.hosts) else { return &[] };
        servers.server_of(HostId(node.0)).map_or(&[], |server| servers.nics_of(server))
    }

    /// Whether all hosts are connected, in the sense of [`Topology::unreachable_host`].
    pub fn is_connected(&self) -> bool {
        self.unreachable_host().is_none()
    }

    /// The memory that the topology occupies in bytes, with the capacity of its vectors.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + self.switches.capacity() * size_of::<Switch>()
            + self.port_base.capacity() * size_of::<u32>()
            + self.ports.capacity() * size_of::<Port>()
            + self.host_file_ids.capacity() * size_of::<u32>()
            + self.site.capacity() * size_of::<u16>()
            + self.error_rates.memory_bytes()
            + self.servers.as_ref().map_or(0, Servers::memory_bytes)
            + self.planes.capacity() * size_of::<u16>()
            + self.dims.capacity() * size_of::<u32>()
    }
}
