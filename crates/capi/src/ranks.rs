//! The ranks that send and receive: hosts, or GPUs of servers, some of which NVLink may connect.

use anabranch_base::{HostId, Problem, Time};
use anabranch_sim::Built;
use anabranch_sim::topology::{NvLink, Topology};
use std::collections::BTreeSet;

pub struct Ranks {
    word: &'static str,
    ranks: Vec<Rank>,
    nvlink: Option<NvLink>,
    /// Whether some pairs of hosts may have no network in common.
    has_gaps: bool,
}

/// A host, or a GPU with the NIC that it uses.
struct Rank {
    host: HostId,
    /// The NVLink domain of a GPU. None for a host.
    domain: Option<u32>,
    /// The times from which the GPU's NVLinks are free to send and to receive.
    nvlink_free: [Time; 2],
}

/// The route of messages from one rank to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The route over the network, from one host to another.
    Network(HostId, HostId),
    NvLink(NvLink),
}

impl Ranks {
    /// The ranks of a fabric: GPUs if it has servers with GPUs, otherwise hosts.
    pub fn of(topology: &Topology) -> Ranks {
        let rank = |host, domain| Rank { host, domain, nvlink_free: [Time::ZERO; 2] };
        let servers = topology.servers.as_ref().filter(|servers| servers.gpus() > 0);
        let (word, ranks): (_, Vec<Rank>) = match servers {
            None => ("host", (0..topology.hosts).map(|host| rank(HostId(host), None)).collect()),
            Some(servers) => {
                let gpus = (0..servers.gpus()).map(|gpu| {
                    let domain = servers.domain_of(servers.server_of_gpu(gpu));
                    rank(servers.nic_of_gpu(gpu), Some(domain))
                });
                ("GPU", gpus.collect())
            }
        };
        let has_gaps = topology.networks().iter().collect::<BTreeSet<_>>().len() > 1;
        Ranks { word, ranks, nvlink: servers.and_then(|servers| servers.nvlink), has_gaps }
    }

    pub fn count(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// The word for a rank in error messages.
    pub fn word(&self) -> &'static str {
        self.word
    }

    /// The route from one rank to another.
    ///
    /// # Errors
    /// A rank does not exist, the two ranks are the same, or there is no route between them.
    pub fn way(&self, from: u32, to: u32, fabric: &Built) -> Result<Way, Problem> {
        let word = self.word;
        let (Some(src), Some(dst)) = (self.ranks.get(from as usize), self.ranks.get(to as usize)) else {
            let last = self.count() - 1;
            return Err(Problem::from(format!("the fabric has the {word}s 0 to {last}")));
        };
        if from == to {
            return Err(Problem::from(format!("a message goes to another {word}")));
        }
        if let (Some(nvlink), true) = (self.nvlink, src.domain.is_some() && src.domain == dst.domain) {
            return Ok(Way::NvLink(nvlink));
        }
        let (src, dst) = (src.host, dst.host);
        if src == dst {
            return Err(Problem::with_text(
                format!("both use the NIC of host {src}, and no NVLink joins them"),
                "nvlink = \"3600Gbps\" in [topology], or as many NICs as GPUs",
            ));
        }
        if self.has_gaps && fabric.topology.ideal_path(&fabric.routing, src, dst).is_empty() {
            return Err(Problem::with_text(
                format!("no links lead from host {src} to host {dst}"),
                "tiers = 2 in [topology], or spine_group = \"pod\", or send within a rail",
            ));
        }
        Ok(Way::Network(src, dst))
    }

    /// Sends a message over NVLink, and returns the times at which it has been sent and has arrived. The message
    /// occupies the sender and the receiver for its serialisation time. Messages of one rank are sent one after the
    /// other, in the order of posting.
    pub fn send_by_nvlink(
        &mut self,
        nvlink: NvLink,
        (from, to): (u32, u32),
        bytes: u64,
        now: Time,
    ) -> [Time; 2] {
        let [sends, receives] =
            [self.ranks[from as usize].nvlink_free[0], self.ranks[to as usize].nvlink_free[1]];
        let begin = now.max(sends).max(receives);
        let sent = Time(begin.0.saturating_add(nvlink.rate.time_for(bytes).0));
        self.ranks[from as usize].nvlink_free[0] = sent;
        self.ranks[to as usize].nvlink_free[1] = sent;
        [sent, Time(sent.0.saturating_add(nvlink.latency.0))]
    }
}
