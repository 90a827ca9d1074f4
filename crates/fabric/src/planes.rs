//! Planes of a graph that does not name them.

use super::Topology;
use anabranch_base::{HostId, NodeId};

/// The plane of each switch, where hosts have several ports and port `p` of every host leads to one network `p` that has no
/// link to the others; empty otherwise.
pub(super) fn find(topology: &Topology) -> Vec<u16> {
    let hosts = topology.hosts;
    let mut plane: Vec<Option<u16>> = vec![None; topology.switches.len()];
    for port in 0..topology.most_host_ports() {
        let with_port = (0..hosts).map(HostId).filter(|host| port < topology.host_ports(*host));
        let mut tors: Vec<u32> = with_port.map(|host| topology.tor_of(host, port).0 - hosts).collect();
        tors.sort_unstable();
        tors.dedup();
        // A switch of an earlier plane leads to that one as well.
        if tors.iter().any(|&tor| plane[tor as usize].is_some_and(|known| known != port)) {
            return Vec::new();
        }
        let mut open = vec![tors[0]];
        plane[tors[0] as usize] = Some(port);
        while let Some(switch) = open.pop() {
            for link in topology.links_of(NodeId(hosts + switch)) {
                let Some(peer) = topology.ports[link as usize].peer.0.checked_sub(hosts) else { continue };
                if plane[peer as usize].replace(port).is_none() {
                    open.push(peer);
                }
            }
        }
        if tors.iter().any(|&tor| plane[tor as usize].is_none()) {
            return Vec::new();
        }
    }
    match topology.has_several_ports() {
        true => plane.into_iter().collect::<Option<Vec<u16>>>().unwrap_or_default(),
        false => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use crate::parse_ns3;
    use anabranch_base::{Duration, HostId};

    /// Hosts 0 and 1 with a link to each of the switches 2 and 3, in these orders, and further lines.
    fn planes(of_second: [u32; 2], more: &str) -> Vec<u16> {
        let [a, b] = of_second;
        let links = 4 + more.lines().count();
        let text = format!(
            "4 2 {links}\n2 3\n0 2 1Gbps 1ns 0\n0 3 1Gbps 1ns 0\n1 {a} 1Gbps 1ns 0\n1 {b} 1Gbps 1ns 0\n{more}"
        );
        let t = parse_ns3("g", &text, Duration::ZERO).unwrap();
        assert_eq!([0, 1].map(|host| t.host_ports(HostId(host))), [2, 2]);
        t.planes
    }

    #[test]
    fn planes_are_networks_to_which_one_port_of_every_host_leads() {
        assert_eq!(planes([2, 3], ""), [0, 1]);
        assert!(planes([3, 2], "").is_empty(), "port 0 of host 1 leads to the network of port 1 of host 0");
        assert!(planes([2, 3], "2 3 1Gbps 1ns 0\n").is_empty(), "the networks are joined");
        assert!(planes([2, 2], "").is_empty(), "port 1 of host 1 leads to network 0");
    }
}
