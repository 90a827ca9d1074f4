//! Port numbering: makes a [`Topology`] from switches and cables.

use super::error::TopologyError;
use super::{ErrorRates, Port, Switch, Topology};
use anabranch_base::{Duration, NodeId, Problem, Rate};

/// The largest number of directed links of a fabric. It bounds the memory.
pub(super) const MAX_LINKS: u64 = 1 << 24;

/// The largest number of (switch, ToR) pairs in a fabric. Each pair takes 4 bytes of routing table.
pub(super) const MAX_ROUTES: u64 = 1 << 28;

/// The largest number of ports of a switch, because port numbers have 16 bits.
pub(super) const MAX_PORTS: u64 = u16::MAX as u64;

/// A cable between two nodes, with equal properties in both directions.
pub(super) struct Cable {
    pub ends: [NodeId; 2],
    pub rate: Rate,
    pub latency: Duration,
    pub loss: f64,
}

pub(super) fn check_rate(key: &str, rate: Rate) -> Result<(), TopologyError> {
    if rate.0 == 0 {
        let problem = Problem::with_text("a link with rate 0 carries nothing", "a rate such as \"400Gbps\"");
        return Err(TopologyError::shape(key, problem));
    }
    Ok(())
}

/// Gives every cable a port at both ends. A switch has its ports down first, then its other ports. In both of these
/// groups, the ports are in the order of the nodes at the other end, and ports to one node are in the order of
/// `cables`. A host has its ports in the order of `cables`.
///
/// `switches` are ordered by tier. The caller has checked that each host has 1 to
/// [`MOST_HOST_PORTS`](super::MOST_HOST_PORTS) cables, all to switches, and each switch at most [`MAX_PORTS`].
pub(super) fn assemble(
    hosts: u32,
    switches: Vec<Switch>,
    cables: &[Cable],
    host_file_ids: Vec<u32>,
) -> Topology {
    let nodes = hosts as usize + switches.len();
    let tier = |n: NodeId| n.0.checked_sub(hosts).map_or(0, |i| switches[i as usize].tier);
    let mut port_base = vec![0u32; nodes + 1];
    for cable in cables {
        for end in cable.ends {
            port_base[end.index() + 1] += 1;
        }
    }
    for n in 0..nodes {
        port_base[n + 1] += port_base[n];
    }

    // A slot is (does not lead down, peer, cable, end of the cable at this node). The ports of a switch are sorted by
    // their slots.
    let mut next = port_base.clone();
    let mut slots = vec![(false, NodeId(0), 0u32, 0u8); 2 * cables.len()];
    for (number, cable) in cables.iter().enumerate() {
        for side in [0, 1] {
            let (here, peer) = (cable.ends[side], cable.ends[1 - side]);
            let slot = &mut next[here.index()];
            slots[*slot as usize] = (tier(peer) >= tier(here), peer, number as u32, side as u8);
            *slot += 1;
        }
    }
    let mut port_of_end = vec![[0u16; 2]; cables.len()];
    for n in 0..nodes {
        let own = &mut slots[port_base[n] as usize..port_base[n + 1] as usize];
        // The slots of a host are already in the order of the cables.
        if n >= hosts as usize {
            own.sort_unstable();
        }
        for (port, slot) in own.iter().enumerate() {
            port_of_end[slot.2 as usize][usize::from(slot.3)] = port as u16;
        }
    }
    let ports = slots
        .iter()
        .map(|&(_, peer, number, side)| {
            let cable = &cables[number as usize];
            let peer_port = port_of_end[number as usize][usize::from(1 - side)];
            Port { peer, peer_port, rate: cable.rate, latency: cable.latency, loss: cable.loss }
        })
        .collect();
    Topology {
        hosts,
        switches,
        port_base,
        ports,
        host_file_ids,
        site: Vec::new(),
        error_rates: ErrorRates::default(),
        servers: None,
        planes: Vec::new(),
        dims: Vec::new(),
    }
}
