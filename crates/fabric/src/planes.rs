//! Detection of planes in a graph that does not name them.

use super::Topology;
use anabranch_base::HostId;

/// The plane of each switch; empty if the graph has no planes. A graph has planes if three conditions hold: some host
/// has several ports, all ports with the same number lead to one network, and ports with different numbers lead to
/// different networks.
pub(super) fn find(topology: &Topology) -> Vec<u16> {
    if !topology.has_several_ports() {
        return Vec::new();
    }
    let networks = topology.networks();
    let mut plane_of_network: Vec<Option<u16>> =
        vec![None; networks.iter().max().map_or(0, |last| *last as usize + 1)];
    let mut network_of_plane = vec![None; usize::from(topology.most_host_ports())];
    for host in (0..topology.hosts).map(HostId) {
        for port in 0..topology.host_ports(host) {
            let network = networks[(topology.tor_of(host, port).0 - topology.hosts) as usize];
            let plane = *plane_of_network[network as usize].get_or_insert(port);
            let same = *network_of_plane[usize::from(port)].get_or_insert(network);
            if (plane, same) != (port, network) {
                return Vec::new();
            }
        }
    }
    let plane = |network: &u32| plane_of_network[*network as usize];
    networks.iter().map(plane).collect::<Option<Vec<u16>>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::parse_ns3;
    use anabranch_base::{Duration, HostId};

    /// The planes of a graph in which host 0 has a link to switch 2 and one to switch 3. The links of host 1 lead to
    /// the switches `of_second`, and `more` has further lines.
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
