//! What workloads are made for.

use anabranch_base::{HostId, Rate};
use anabranch_fabric::Topology;

/// What a workload has to know of the fabric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fabric {
    /// Number of hosts.
    pub hosts: u32,
    /// Line rate of a host, which loads refer to.
    pub host_rate: Rate,
    /// A number for the ToR of each host: equal for hosts on one switch.
    pub tor_of: Vec<u32>,
    /// Data centres; hosts are numbered by data centre, as many in each.
    pub dcs: u32,
    /// By the number of a node in the file that the topology came from: its host, none for a switch. Empty where there is
    /// no such file.
    pub file_nodes: Vec<Option<HostId>>,
}

impl Fabric {
    /// What a workload has to know of `topology`. Where hosts have different line rates, a load refers to the
    /// slowest.
    pub fn of(topology: &Topology) -> Self {
        let port = |host: u32| &topology.ports[topology.port_base[host as usize] as usize];
        let file_nodes = match topology.host_file_ids.is_empty() {
            true => Vec::new(),
            // Such files number their nodes without gaps.
            false => (0..topology.nodes()).map(|node| topology.host_by_file_id(node)).collect(),
        };
        Fabric {
            hosts: topology.hosts,
            host_rate: (0..topology.hosts).map(|host| port(host).rate).min().unwrap_or_default(),
            tor_of: (0..topology.hosts).map(|host| topology.tor_of(HostId(host)).0).collect(),
            dcs: 1 + topology.site.iter().copied().max().map_or(0, u32::from),
            file_nodes,
        }
    }
}
