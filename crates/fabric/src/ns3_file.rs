//! Topology files of the ns-3 RDMA simulators. They describe any graph, with one line per cable.

mod lines;
mod own_switches;
mod simai;
#[cfg(test)]
mod tests;
mod units;

use super::assemble::{Cable, MAX_PORTS, MAX_ROUTES, assemble};
use super::error::TopologyError;
use super::error_rate::ErrorRates;
use super::{MOST_HOST_PORTS, Switch, Topology, planes};
use anabranch_base::{Duration, NodeId};
use lines::{File, Link};

/// Reads a topology file of an ns-3 RDMA simulator: a header, a line with the numbers of the switches, then one line
/// per cable: `node node rate latency error-rate`, such as `0 128 100Gbps 1000ns 0`.
///
/// | Simulator | Header | Cables |
/// |---|---|---|
/// | HPCC, ConWeave, ASTRA-sim | `nodes switches links` | with units |
/// | ns3-rdma | `nodes switches links` | with units, without the error rate |
/// | ns3-datacenter | `nodes switches tors links`, optionally followed by two rates | rates in bits per second |
/// | SimAI | `nodes gpus_per_server nvswitches switches links gpu_type` | with units |
///
/// The header gives the number of cables. Lines after that number of cables are ignored, as in the simulators, whether
/// they are prose or further cables. [`warnings`](super::warnings) reports further cables. Nodes are numbered from 0,
/// hosts and switches in any order. Hosts become hosts 0, 1 ... in the order of their numbers in the file.
/// [`Topology::host_file_ids`] keeps the numbers of hosts, and [`Switch::file_id`] keeps the numbers of switches. A
/// switch with hosts is a ToR (tier 1); any other switch is one tier above its lowest neighbour. The error rate becomes
/// [`Port::loss`](super::Port::loss) of both directions. The file contains no switch latency; every switch of the file
/// has the latency `switch_latency`.
///
/// A host with several links to switches is a NIC with one port per link, in the order of the lines. The graph has
/// planes if all ports with the same number lead to one network of switches, and ports with different numbers lead to
/// networks without a link between them.
///
/// In SimAI's files a host is a GPU with its NIC. GPUs are assigned to servers ([`Topology::servers`]) in the order of
/// their numbers, `gpus_per_server` to each. NVSwitches and their links are not part of the graph; they are represented
/// by [`Servers::nvlink`](super::Servers::nvlink).
///
/// A host with a cable to another host would have to forward packets of others, which hosts never do in this
/// simulator. Such a host gets a switch of its own, which takes over the host's links. This switch has no latency, and
/// no number in the file. The link between host and switch has no latency either, and its rate is the sum of the rates
/// of the host's links. A packet therefore takes one more transmission at that rate at the sender and at the receiver.
///
/// # Errors
/// The error has the file and the line. Examples are counts that do not match, a node that does not exist, a host
/// without a link, a NIC with more than 16 ports, a rate of 0, and a graph that is not connected.
pub fn parse_ns3(file_name: &str, text: &str, switch_latency: Duration) -> Result<Topology, TopologyError> {
    let file = File::read(file_name, text)?;
    let mut is_switch = file.switches()?;
    let mut links = file.links(&is_switch)?;
    let servers = file.take_servers(&is_switch, &mut links)?;
    file.with_own_switches(&mut is_switch, &mut links)?;
    let graph = Graph { file, is_switch, links };
    let tiers = graph.tiers()?;
    let mut topology = graph.topology(&tiers, switch_latency);
    topology.planes = planes::find(&topology);
    topology.servers = servers;
    match topology.unreachable_host() {
        None => Ok(topology),
        Some(host) => {
            let ids = &topology.host_file_ids;
            let problem = format!(
                "the graph is not connected: host {} cannot reach host {}; join the parts by a link",
                ids[0],
                ids[host.index()]
            );
            Err(graph.file.in_header(problem))
        }
    }
}

/// The line of the header, the number of cables that the header gives, and the number of further cables, which are
/// not read; `None` if there are no further cables, or if the header is wrong.
pub(super) fn unread_cables(file_name: &str, text: &str) -> Option<(usize, u32, usize)> {
    let file = File::read(file_name, text).ok()?;
    let unread = file.cables().saturating_sub(file.header.links as usize);
    (unread > 0).then_some((file.header.line, file.header.links, unread))
}

/// A graph with the file's node numbers.
struct Graph<'a> {
    file: File<'a>,
    is_switch: Vec<bool>,
    links: Vec<Link>,
}

impl Graph<'_> {
    /// The tier of each node: 0 for a host, 1 for a ToR, and so on; `None` for an NVSwitch.
    ///
    /// # Errors
    /// A host has no link. A switch has too many ports, or no path to a host, or is more than 254 links away from the
    /// nearest switch with hosts. There are more routes than can be simulated.
    fn tiers(&self) -> Result<Vec<Option<u8>>, TopologyError> {
        let mut neighbours = vec![Vec::new(); self.is_switch.len()];
        for link in &self.links {
            let [a, b] = link.ends;
            neighbours[a as usize].push(b);
            neighbours[b as usize].push(a);
        }
        self.check_degrees(&neighbours)?;
        let mut tier: Vec<Option<u8>> = vec![None; self.is_switch.len()];
        let mut open = Vec::new();
        for (id, joined) in neighbours.iter().enumerate().filter(|(id, _)| !self.is_switch[*id]) {
            tier[id] = Some(0);
            for &tor in joined {
                if tier[tor as usize].replace(1).is_none() {
                    open.push(tor);
                }
            }
        }
        while !open.is_empty() {
            let mut above = Vec::new();
            for &id in &open {
                let next = tier[id as usize].and_then(|t| t.checked_add(1));
                for &peer in neighbours[id as usize].iter().filter(|peer| self.is_switch[**peer as usize]) {
                    if tier[peer as usize].is_some() {
                        continue;
                    }
                    if next.is_none() {
                        let problem =
                            format!("switch {peer} is more than 254 links away from any switch with hosts");
                        return Err(self.file.in_header(problem));
                    }
                    tier[peer as usize] = next;
                    above.push(peer);
                }
            }
            open = above;
        }
        let nvswitches = self.file.nvswitches();
        if let Some((id, _)) = (0..).zip(&tier).find(|(id, tier)| tier.is_none() && !nvswitches.contains(id))
        {
            let problem = format!("switch {id} has no path to any host; add a link, or remove it");
            return Err(self.file.in_header(problem));
        }
        self.check_routes(&tier)?;
        Ok(tier)
    }

    fn check_degrees(&self, neighbours: &[Vec<u32>]) -> Result<(), TopologyError> {
        let of =
            |switch: bool| neighbours.iter().enumerate().filter(move |(id, _)| self.is_switch[*id] == switch);
        if let Some((id, joined)) = of(true).find(|(_, joined)| joined.len() as u64 > MAX_PORTS) {
            let problem = format!("switch {id} has {} links; the most is {MAX_PORTS}", joined.len());
            return Err(self.file.in_header(problem));
        }
        if let Some((id, _)) = of(false).find(|(_, joined)| joined.is_empty()) {
            let problem = format!("host {id} has no link; a host has 1 to {MOST_HOST_PORTS} links");
            return Err(self.file.in_header(problem));
        }
        Ok(())
    }

    fn check_routes(&self, tier: &[Option<u8>]) -> Result<(), TopologyError> {
        let count =
            |matches: &dyn Fn(u8) -> bool| tier.iter().flatten().filter(|t| matches(**t)).count() as u64;
        let (tors, switches) = (count(&|t| t == 1), count(&|t| t > 0));
        if tors * switches <= MAX_ROUTES {
            return Ok(());
        }
        let problem = format!(
            "{switches} switches times {tors} switches with hosts are too many routes; the most that is \
             simulated is {MAX_ROUTES}"
        );
        Err(self.file.in_header(problem))
    }

    fn topology(&self, tier: &[Option<u8>], latency: Duration) -> Topology {
        // The hosts come first, then the switches by tier. Within each tier the order is that of the file's numbers.
        let mut order: Vec<(u8, u32)> =
            (0..).zip(tier).filter_map(|(id, tier)| Some(((*tier)?, id))).collect();
        order.sort_unstable();
        let mut node_of = vec![NodeId(0); tier.len()];
        for (node, &(_, id)) in order.iter().enumerate() {
            node_of[id as usize] = NodeId(node as u32);
        }
        let hosts = order.partition_point(|&(tier, _)| tier == 0);
        let mut switches: Vec<Switch> = Vec::new();
        for &(tier, id) in &order[hosts..] {
            let index = switches.last().filter(|s| s.tier == tier).map_or(0, |s| s.index + 1);
            // Numbers after those of the file's nodes belong to switches that were added for hosts with a cable to
            // another host.
            let in_file = id < self.file.header.nodes;
            let latency = if in_file { latency } else { Duration::ZERO };
            switches.push(Switch { tier, index, latency, file_id: in_file.then_some(id) });
        }
        let cables: Vec<Cable> = self
            .links
            .iter()
            .map(|link| Cable {
                ends: link.ends.map(|id| node_of[id as usize]),
                rate: link.rate,
                latency: link.latency,
                loss: link.loss,
            })
            .collect();
        let of_file = order[..hosts].iter().map(|(_, id)| *id).collect();
        let topology = assemble(hosts as u32, switches, &cables, of_file);
        let rates = self.links.iter().map(|link| (link.loss, link.line));
        Topology { error_rates: ErrorRates::new(rates, &topology.ports), ..topology }
    }
}
