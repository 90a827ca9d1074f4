//! Servers of SimAI's topologies: GPUs, NVSwitches and the links between them.
//!
//! A node that is not a switch is a GPU together with its NIC. In SimAI, a packet between two GPUs of an NVSwitch
//! crosses one NVLink to the switch and another from it, so the latency between the GPUs is the sum of the latencies of
//! these two NVLinks.

use super::super::error::TopologyError;
use super::super::{NvLink, ServerParts, Servers};
use super::lines::{File, Link};
use anabranch_base::{Duration, HostId, Problem, Rate};
use std::collections::{BTreeMap, BTreeSet};

/// The NVLinks of a GPU.
#[derive(Clone, Copy)]
struct OfGpu {
    rate: Rate,
    latency: Duration,
    /// The line of the last of these NVLinks.
    line: usize,
}

impl File<'_> {
    /// The servers of a SimAI file. Their NVLinks are removed from `links`. `None` for other files, and if each GPU
    /// is a server of its own without an NVSwitch.
    ///
    /// # Errors
    /// GPUs that do not fill their servers, links from NVSwitches to other switches, NVLinks with an error rate, or
    /// NVSwitches without links. If there are NVSwitches, also GPUs without NVLinks, GPUs whose NVLinks differ, and GPUs
    /// of one server that no NVSwitch connects.
    pub(super) fn take_servers(
        &self,
        is_switch: &[bool],
        links: &mut Vec<Link>,
    ) -> Result<Option<Servers>, TopologyError> {
        let Some(counts) = self.header.server.filter(|counts| counts.gpus != 1 || counts.nvswitches > 0)
        else {
            return Ok(None);
        };
        let gpus: Vec<u32> = (0..).zip(is_switch).filter(|(_, is)| !**is).map(|(id, _)| id).collect();
        let count = gpus.len() as u32;
        if counts.gpus == 0 || !count.is_multiple_of(counts.gpus) {
            let message = format!("{count} GPUs are no whole number of servers of {} GPUs", counts.gpus);
            let fit = (1..=counts.gpus.clamp(1, count)).rev().find(|size| count.is_multiple_of(*size));
            let fix = fit.map(|fit| self.header_with(1, fit));
            return Err(self.in_header(Problem { message, fix }));
        }
        let nvswitches = self.nvswitches();
        let (nvlinks, others) = std::mem::take(links)
            .into_iter()
            .partition(|link: &Link| link.ends.iter().any(|end| nvswitches.contains(end)));
        *links = others;
        let parts = NvLinks { file: self, nvswitches: &nvswitches, is_switch, links: nvlinks };
        let nvlink = parts.rate_and_latency(&gpus)?;
        let domain_of_gpu = parts.domains(&gpus, counts.gpus as usize)?;
        let servers = gpus.chunks(counts.gpus as usize).enumerate().map(|(server, chunk)| {
            let first = server as u32 * counts.gpus;
            let nics: Vec<HostId> = (first..first + chunk.len() as u32).map(HostId).collect();
            ServerParts { nic_of_gpu: nics.clone(), nics, domain: domain_of_gpu[first as usize] }
        });
        let mut servers = Servers::listed(servers, count);
        servers.nvlink = nvlink;
        Ok(Some(servers))
    }
}

struct NvLinks<'a> {
    file: &'a File<'a>,
    nvswitches: &'a BTreeSet<u32>,
    is_switch: &'a [bool],
    links: Vec<Link>,
}

impl NvLinks<'_> {
    /// The ends of an NVLink: the GPU, then the NVSwitch.
    fn ends(&self, link: &Link) -> Result<[u32; 2], TopologyError> {
        let [a, b] = link.ends;
        let [gpu, nvswitch] = if self.nvswitches.contains(&a) { [b, a] } else { [a, b] };
        if self.is_switch[gpu as usize] {
            let problem =
                format!("NVSwitch {nvswitch} is joined to switch {gpu}; an NVSwitch is joined to GPUs alone");
            return Err(self.file.at(link.line, problem));
        }
        if link.loss > 0.0 {
            let problem = format!(
                "the NVLink of GPU {gpu} has the error rate {}; NVLinks are simulated without packets, so that it must be 0",
                link.loss
            );
            return Err(self.file.at(link.line, problem));
        }
        Ok([gpu, nvswitch])
    }

    /// The total rate of a GPU's NVLinks, and the latency from GPU to GPU; `None` without NVSwitches.
    fn rate_and_latency(&self, gpus: &[u32]) -> Result<Option<NvLink>, TopologyError> {
        let mut of_gpus: BTreeMap<u32, OfGpu> = BTreeMap::new();
        for link in &self.links {
            let [gpu, _] = self.ends(link)?;
            let of_gpu =
                of_gpus.entry(gpu).or_insert(OfGpu { rate: Rate(0), latency: link.latency, line: link.line });
            *of_gpu = OfGpu {
                rate: Rate(of_gpu.rate.0.saturating_add(link.rate.0)),
                latency: of_gpu.latency.max(link.latency),
                line: link.line,
            };
        }
        if self.nvswitches.is_empty() {
            return Ok(None);
        }
        let mut first: Option<(u32, OfGpu)> = None;
        for &gpu in gpus {
            let Some(&of_gpu) = of_gpus.get(&gpu) else {
                let problem = format!("GPU {gpu} has no link to an NVSwitch, and servers have NVSwitches");
                return Err(self.file.in_header(problem));
            };
            let (other, expected) = *first.get_or_insert((gpu, of_gpu));
            if (expected.rate, expected.latency) != (of_gpu.rate, of_gpu.latency) {
                let problem = format!(
                    "the NVLinks of GPU {gpu} carry {} after {}, and those of GPU {other} {} after {}; all GPUs must have equal \
                     ones",
                    of_gpu.rate, of_gpu.latency, expected.rate, expected.latency
                );
                return Err(self.file.at(of_gpu.line, problem));
            }
        }
        Ok(first.map(|(_, of_gpu)| NvLink { rate: of_gpu.rate, latency: of_gpu.latency * 2 }))
    }

    /// The NVLink domain of each GPU. Domains are numbered in the order of the servers. Without NVSwitches each
    /// server is a domain.
    fn domains(&self, gpus: &[u32], of_server: usize) -> Result<Vec<u32>, TopologyError> {
        if self.nvswitches.is_empty() {
            return Ok((0..gpus.len()).map(|gpu| (gpu / of_server) as u32).collect());
        }
        let mut joined: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for link in &self.links {
            let [gpu, nvswitch] = self.ends(link)?;
            joined.entry(gpu).or_default().push(nvswitch);
            joined.entry(nvswitch).or_default().push(gpu);
        }
        if let Some(nvswitch) = self.nvswitches.iter().find(|id| !joined.contains_key(id)) {
            let problem = format!("NVSwitch {nvswitch} has no link to any GPU; add a link, or remove it");
            return Err(self.file.in_header(problem));
        }
        let mut domain_of_node: BTreeMap<u32, u32> = BTreeMap::new();
        let mut count = 0;
        for &start in gpus {
            if domain_of_node.contains_key(&start) {
                continue;
            }
            let mut open = vec![start];
            while let Some(node) = open.pop() {
                if domain_of_node.insert(node, count).is_none() {
                    open.extend(&joined[&node]);
                }
            }
            count += 1;
        }
        for server in gpus.chunks(of_server) {
            let apart = server.iter().find(|gpu| domain_of_node[gpu] != domain_of_node[&server[0]]);
            if let Some(gpu) = apart {
                let problem = format!(
                    "GPUs {} and {gpu} are in one server of {of_server} GPUs, and no NVSwitch joins them",
                    server[0]
                );
                return Err(self.file.in_header(problem));
            }
        }
        Ok(gpus.iter().map(|gpu| domain_of_node[gpu]).collect())
    }
}
