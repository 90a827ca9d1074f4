//! What workloads are made for.

use anabranch_base::{HostId, Rate};
use anabranch_fabric::Topology;

/// What a workload has to know of the fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fabric {
    /// Number of hosts.
    pub hosts: u32,
    /// Line rate of a host, which loads refer to.
    pub host_rate: Rate,
    /// A number for the ToR of each host: equal for hosts on one switch.
    pub tor_of: Vec<u32>,
    /// Data centres; hosts are numbered by data centre, as many in each.
    pub dcs: u32,
}

impl Fabric {
    /// What a workload has to know of `topology`. Where hosts have different line rates, a load refers to the
    /// slowest.
    pub fn of(topology: &Topology) -> Self {
        let port = |host: u32| &topology.ports[topology.port_base[host as usize] as usize];
        Fabric {
            hosts: topology.hosts,
            host_rate: (0..topology.hosts).map(|host| port(host).rate).min().unwrap_or_default(),
            tor_of: (0..topology.hosts).map(|host| topology.tor_of(HostId(host)).0).collect(),
            dcs: 1 + topology.site.iter().copied().max().map_or(0, u32::from),
        }
    }
}
