//! The properties of a fabric that workloads depend on.

use anabranch_base::{HostId, Rate};
use anabranch_fabric::{Servers, Topology};

/// The properties of a fabric that workloads depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fabric {
    /// Number of hosts.
    pub hosts: u32,
    /// The line rate of a host, summed over its ports. Loads refer to it.
    pub host_rate: Rate,
    /// The ToR of each host's first port. The number is the same for all hosts on one switch.
    pub tor_of: Vec<u32>,
    /// Number of data centres. Hosts are numbered by data centre, and each data centre has the same number of hosts.
    pub dcs: u32,
    /// The host of each node number of the topology's file, or `None` for a switch. Empty if the topology has no file
    /// with node numbers.
    pub file_nodes: Vec<Option<HostId>>,
    /// The number of hosts in each dimension ([`Topology::dims`]).
    pub dims: Vec<u32>,
    /// The servers of the topology. None if it has no servers.
    pub servers: Option<Servers>,
    /// Whether the places for ranks are the GPUs of the servers instead of the hosts. `hosts` and `tor_of` then refer
    /// to the GPUs.
    pub of_gpus: bool,
}

impl Fabric {
    /// The properties of `topology`. If hosts have different line rates, `host_rate` is the slowest one.
    pub fn of(topology: &Topology) -> Self {
        let hosts = || (0..topology.hosts).map(HostId);
        let file_nodes = match topology.host_file_ids.is_empty() {
            true => Vec::new(),
            // Topology files number their nodes without gaps.
            false => (0..topology.file_nodes()).map(|node| topology.host_by_file_id(node)).collect(),
        };
        Fabric {
            hosts: topology.hosts,
            host_rate: hosts().map(|host| topology.host_rate(host)).min().unwrap_or_default(),
            tor_of: hosts().map(|host| topology.tor_of(host, 0).0).collect(),
            dcs: 1 + topology.site.iter().copied().max().map_or(0, u32::from),
            file_nodes,
            dims: topology.dims.clone(),
            servers: topology.servers.clone(),
            of_gpus: false,
        }
    }
}
