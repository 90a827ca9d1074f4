//! Deadlocks of the first traffic class, if it is lossless: cycles of paused links.

use crate::egress::Port;
use crate::network::Network;
use crate::node::Node;
use crate::observer::Observer;
use crate::queue::Pool;
use crate::shard::Shard;
use anabranch_base::LinkId;
use std::sync::MutexGuard;

/// The names of the links in a cycle of paused links, each of which waits for the next. None if there is no such cycle.
pub fn find<O: Observer>(network: &Network<'_>, shards: &[MutexGuard<'_, Shard<O>>]) -> Option<Vec<String>> {
    network.scheme.fabric.pfc.as_ref()?;
    let mut ports: Vec<Option<(&Port, &Pool)>> = vec![None; network.topology.ports.len()];
    for shard in shards {
        for host in shard.hosts() {
            let egress = host.egress();
            egress.ports.iter().for_each(|port| ports[port.link.index()] = Some((port, &egress.pool)));
        }
        for switch in shard.switches() {
            debug_assert!(switch.node().0 >= network.topology.hosts);
            let egress = switch.egress();
            egress.ports.iter().for_each(|port| ports[port.link.index()] = Some((port, &egress.pool)));
        }
    }
    let waits = |link: usize| ports[link].is_some_and(|(port, _)| port.paused && !port.data.is_empty());
    // The paused egress links of the switch at the end of `link` whose queues hold packets that arrived over `link`.
    let waits_for = |link: usize| -> Vec<usize> {
        let Some((port, _)) = ports[link] else { return Vec::new() };
        if network.is_host(port.peer) {
            return Vec::new();
        }
        let holds = |next: &usize| {
            ports[*next].is_some_and(|(next, pool)| {
                next.paused && next.data.iter(pool).any(|frame| frame.port == port.peer_port)
            })
        };
        let links = network.topology.links_of(port.peer).map(|next| next as usize);
        let mut links: Vec<usize> = links.filter(holds).collect();
        links.reverse();
        links
    };
    // 0: not visited. 1: on the present path. 2: leads to no cycle.
    let mut seen = vec![0u8; ports.len()];
    for start in (0..ports.len()).filter(|&link| waits(link)) {
        let mut path: Vec<(usize, Vec<usize>)> = Vec::new();
        if seen[start] == 0 {
            seen[start] = 1;
            path.push((start, waits_for(start)));
        }
        while let Some((link, next)) = path.last_mut() {
            match next.pop() {
                None => {
                    seen[*link] = 2;
                    path.pop();
                }
                Some(next) if seen[next] == 1 => {
                    let from = path.iter().position(|(link, _)| *link == next).unwrap_or(0);
                    let name =
                        |(link, _): &(usize, Vec<usize>)| network.topology.link_name(LinkId(*link as u32));
                    return Some(path[from..].iter().map(name).collect());
                }
                Some(next) if seen[next] == 0 => {
                    seen[next] = 1;
                    path.push((next, waits_for(next)));
                }
                Some(_) => {}
            }
        }
    }
    None
}
