//! Servers, which group NICs and GPUs.

use anabranch_base::{Duration, HostId, Rate};

/// The server number of a host that is in no server.
const NONE: u32 = u32::MAX;

/// The servers of a fabric. Servers are numbered from 0. The NICs of a server are numbered from 0, and this number is
/// the **rail** of the NIC. GPUs are numbered server by server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Servers {
    /// The first entry of each server in `nics`, followed by the number of entries.
    nic_base: Vec<u32>,
    /// The NICs, by server and rail.
    nics: Vec<HostId>,
    /// The first GPU of each server, followed by the number of GPUs.
    gpu_base: Vec<u32>,
    /// The NIC that each GPU uses, by GPU.
    nic_of_gpu: Vec<HostId>,
    /// The NVLink domain of each server.
    domain: Vec<u32>,
    /// The server and the rail of each host.
    place: Vec<(u32, u16)>,
    /// The links between the GPUs of a domain; `None` if there are none or they are not known.
    pub nvlink: Option<NvLink>,
}

/// The NVLinks between the GPUs of a domain. Rate and latency are equal for all GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NvLink {
    /// The total rate at which a GPU sends over all its NVLinks. It receives at the same rate.
    pub rate: Rate,
    /// The latency from one GPU to another.
    pub latency: Duration,
}

impl NvLink {
    /// The latency if the scenario gives none: two links of 25 ns, as in the topologies of SimAI.
    pub const LATENCY: Duration = Duration::from_ns(50);
}

/// The parts of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerParts {
    /// The NICs, in the order of the rails.
    pub nics: Vec<HostId>,
    /// The NIC of each GPU.
    pub nic_of_gpu: Vec<HostId>,
    /// The NVLink domain. Servers of one domain reach each other's GPUs by NVLink.
    pub domain: u32,
}

impl Servers {
    /// Equal servers, whose NICs are the hosts, server by server. GPU `g` of `gpus` uses NIC `g * nics / gpus`.
    /// Every `of_domain` consecutive servers share an NVLink domain.
    pub fn uniform(servers: u32, gpus: u32, nics: u32, of_domain: u32) -> Servers {
        let nic = |server: u32, rail: u32| HostId(server * nics + rail);
        let parts = (0..servers).map(|server| ServerParts {
            nics: (0..nics).map(|rail| nic(server, rail)).collect(),
            nic_of_gpu: (0..gpus)
                .map(|gpu| nic(server, (u64::from(gpu) * u64::from(nics) / u64::from(gpus)) as u32))
                .collect(),
            domain: server / of_domain.max(1),
        });
        Servers::listed(parts, servers * nics)
    }

    /// These servers, with GPU `g` of each server assigned to the NIC `nics[g]` of its server.
    pub fn with_gpu_nics(mut self, nics: &[u32]) -> Servers {
        for server in 0..self.count() {
            for (gpu, nic) in self.gpus_of(server).zip(nics) {
                self.nic_of_gpu[gpu as usize] = self.nics_of(server)[*nic as usize];
            }
        }
        self
    }

    /// Servers with the given parts, in a fabric of `hosts` hosts.
    ///
    /// # Panics
    /// A host is a NIC of two servers, or its number is not below `hosts`.
    pub fn listed(parts: impl IntoIterator<Item = ServerParts>, hosts: u32) -> Servers {
        let mut servers = Servers {
            nic_base: vec![0],
            nics: Vec::with_capacity(hosts as usize),
            gpu_base: vec![0],
            nic_of_gpu: Vec::new(),
            domain: Vec::new(),
            place: vec![(NONE, 0); hosts as usize],
            nvlink: None,
        };
        for (server, ServerParts { nics, nic_of_gpu, domain }) in (0..).zip(parts) {
            for (rail, nic) in (0..).zip(&nics) {
                let place = &mut servers.place[nic.index()];
                assert!(place.0 == NONE, "host {nic} is a NIC of servers {} and {server}", place.0);
                *place = (server, rail);
            }
            servers.nics.extend(nics);
            servers.nic_of_gpu.extend(nic_of_gpu);
            servers.nic_base.push(servers.nics.len() as u32);
            servers.gpu_base.push(servers.nic_of_gpu.len() as u32);
            servers.domain.push(domain);
        }
        servers
    }

    /// The number of hosts of the fabric, whether they are in servers or not.
    pub fn hosts(&self) -> u32 {
        self.place.len() as u32
    }

    /// The number of servers.
    pub fn count(&self) -> u32 {
        self.domain.len() as u32
    }

    /// The number of GPUs in all servers.
    pub fn gpus(&self) -> u32 {
        self.nic_of_gpu.len() as u32
    }

    /// The numbers of the GPUs of `server`.
    pub fn gpus_of(&self, server: u32) -> std::ops::Range<u32> {
        self.gpu_base[server as usize]..self.gpu_base[server as usize + 1]
    }

    /// The server of a GPU.
    pub fn server_of_gpu(&self, gpu: u32) -> u32 {
        self.gpu_base.partition_point(|&first| first <= gpu) as u32 - 1
    }

    /// The NIC that a GPU uses.
    pub fn nic_of_gpu(&self, gpu: u32) -> HostId {
        self.nic_of_gpu[gpu as usize]
    }

    /// The NICs of `server`, by rail.
    pub fn nics_of(&self, server: u32) -> &[HostId] {
        &self.nics[self.nic_base[server as usize] as usize..self.nic_base[server as usize + 1] as usize]
    }

    /// The number of NICs of the NVLink domain with the most NICs.
    pub fn nics_of_domain(&self) -> u32 {
        let mut nics = std::collections::BTreeMap::new();
        for server in 0..self.count() {
            *nics.entry(self.domain_of(server)).or_default() += self.nics_of(server).len() as u32;
        }
        nics.into_values().max().unwrap_or(0)
    }

    /// The NVLink domain of `server`.
    pub fn domain_of(&self, server: u32) -> u32 {
        self.domain[server as usize]
    }

    /// The server of `host`; `None` if it is in no server.
    pub fn server_of(&self, host: HostId) -> Option<u32> {
        Some(self.place[host.index()].0).filter(|server| *server != NONE)
    }

    /// The rail of `host`, which is its number within its server; `None` if it is in no server.
    pub fn rail_of(&self, host: HostId) -> Option<u16> {
        self.server_of(host).map(|_| self.place[host.index()].1)
    }

    /// The number of rails, which is the largest number of NICs of any server.
    pub fn rails(&self) -> u16 {
        (0..self.count()).map(|server| self.nics_of(server).len() as u16).max().unwrap_or(0)
    }

    /// The memory that the servers occupy, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let words = [&self.nic_base, &self.gpu_base, &self.domain];
        words.iter().map(|list| list.capacity() * size_of::<u32>()).sum::<usize>()
            + (self.nics.capacity() + self.nic_of_gpu.capacity()) * size_of::<HostId>()
            + self.place.capacity() * size_of::<(u32, u16)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_servers_number_nics_and_gpus_server_by_server() {
        let servers = Servers::uniform(3, 8, 4, 2);
        assert_eq!((servers.count(), servers.gpus(), servers.rails()), (3, 24, 4));
        assert_eq!(servers.nics_of(1), [4, 5, 6, 7].map(HostId));
        assert_eq!((servers.server_of(HostId(6)), servers.rail_of(HostId(6))), (Some(1), Some(2)));
        assert_eq!(servers.gpus_of(2), 16..24);
        assert_eq!([15, 16, 23].map(|gpu| servers.server_of_gpu(gpu)), [1, 2, 2]);
        assert_eq!([8, 9, 10, 15].map(|gpu| servers.nic_of_gpu(gpu)), [4, 4, 5, 7].map(HostId));
        assert_eq!([0, 1, 2].map(|server| servers.domain_of(server)), [0, 0, 1]);
        assert_eq!(servers.nics_of_domain(), 2 * servers.nics_of(0).len() as u32);
    }

    #[test]
    fn listed_servers_may_differ_and_hosts_may_be_in_none() {
        let parts = |nics: &[u32], gpus: &[u32]| ServerParts {
            nics: nics.iter().copied().map(HostId).collect(),
            nic_of_gpu: gpus.iter().copied().map(HostId).collect(),
            domain: 0,
        };
        let servers = Servers::listed([parts(&[3], &[3, 3]), parts(&[0, 4], &[4])], 5);
        assert_eq!((servers.count(), servers.gpus(), servers.rails()), (2, 3, 2));
        assert_eq!((servers.server_of(HostId(1)), servers.rail_of(HostId(1))), (None, None));
        assert_eq!((servers.server_of(HostId(4)), servers.rail_of(HostId(4))), (Some(1), Some(1)));
        assert_eq!(servers.gpus_of(1), 2..3);
        assert_eq!(servers.server_of_gpu(2), 1);
    }
}
