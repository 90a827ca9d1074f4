//! Construction of a fabric from its specification.

use super::assemble::{Cable, MAX_PORTS, assemble, check_rate};
use super::astra_file::{is_astra_network, parse_astra};
use super::error::TopologyError;
use super::ns3_file::{parse_ns3, unread_cables};
use super::{Switch, Topology};
use super::{clos, cross_dc, direct, dragonfly, fat_tree};
use crate::{ClosKind, TopologyBuilder, TopologySpec};
use anabranch_base::{Duration, NodeId, Problem, Rate, Refused, catch_foreign};

/// A warning if the file that `spec` names has more links than its header counts. The fabric lacks the further links.
/// `file_text` is the text of that file.
pub fn warnings(spec: &TopologySpec, file_text: Option<&str>) -> Option<TopologyError> {
    let (file, text) = (spec.file().filter(|file| !is_astra_network(file))?, file_text?);
    let (line, counted, unread) = unread_cables(file, text)?;
    let links = if unread == 1 { "link" } else { "links" };
    let problem = format!(
        "left out of {file}, as its simulator does: {unread} {links} behind the {counted} that its first line counts"
    );
    Some(TopologyError::file(file, line, problem))
}

/// Builds the fabric that `spec` describes. `file_text` is the text of the file that the spec names, if it names one.
///
/// # Errors
/// Numbers that are out of range or contradict each other, a file that is malformed or whose text is missing, or a
/// registered topology that fails or panics.
pub fn build(spec: &TopologySpec, file_text: Option<&str>) -> Result<Topology, TopologyError> {
    match spec {
        TopologySpec::FatTree { hosts, tier, pod_hosts } => fat_tree::build(*hosts, tier, *pod_hosts),
        TopologySpec::SingleSwitch { hosts, link, link_latency, switch_latency } => {
            check_hosts(*hosts, MAX_PORTS)?;
            check_rate("link", *link)?;
            let cables: Vec<Cable> = (0..*hosts).map(|h| cable(h, *hosts, *link, *link_latency)).collect();
            Ok(assemble(*hosts, vec![tor(0, *switch_latency)], &cables, Vec::new()))
        }
        TopologySpec::Dumbbell { hosts, link, trunk, link_latency, trunk_latency, switch_latency } => {
            check_hosts(*hosts, 2 * (MAX_PORTS - 1))?;
            check_rate("link", *link)?;
            check_rate("trunk", *trunk)?;
            if hosts % 2 != 0 {
                return Err(TopologyError::shape(
                    "hosts",
                    Problem::with_text(
                        format!("a dumbbell has as many hosts on each side, so {hosts} must be even"),
                        format_args!("{} or {}", hosts - 1, hosts + 1),
                    ),
                ));
            }
            let side = hosts / 2;
            let mut cables: Vec<Cable> =
                (0..*hosts).map(|h| cable(h, hosts + h / side, *link, *link_latency)).collect();
            cables.push(cable(*hosts, hosts + 1, *trunk, *trunk_latency));
            let switches = vec![tor(0, *switch_latency), tor(1, *switch_latency)];
            Ok(assemble(*hosts, switches, &cables, Vec::new()))
        }
        TopologySpec::CrossDc(spec) => cross_dc::build(spec),
        TopologySpec::Rails(spec) => clos::build(ClosKind::Rails, spec),
        TopologySpec::MultiPlane(spec) => clos::build(ClosKind::MultiPlane, spec),
        TopologySpec::Hpn(spec) => clos::build(ClosKind::Hpn, spec),
        TopologySpec::DcnPlus(spec) => clos::build(ClosKind::DcnPlus, spec),
        TopologySpec::Dragonfly(spec) => dragonfly::build(spec),
        TopologySpec::Torus(spec) => direct::build_torus(spec),
        TopologySpec::FullMesh(spec) => direct::build_full_mesh(spec),
        TopologySpec::Graph { file, switch_latency } => match file_text {
            Some(text) if is_astra_network(file) => parse_astra(file, text)?.topology(file, *switch_latency),
            Some(text) => parse_ns3(file, text, *switch_latency),
            None => Err(TopologyError::NoText { file: file.clone() }),
        },
        TopologySpec::Registered(custom) => {
            let mut graph = TopologyBuilder::new();
            let outcome = catch_foreign("topology", || custom.factory()(&mut graph, custom.parameters()));
            outcome.unwrap_or_else(|panicked| Err(Refused::new("kind", panicked.to_string())))?;
            graph.build()
        }
    }
}

fn tor(index: u32, latency: Duration) -> Switch {
    Switch { tier: 1, index, latency, file_id: None }
}

fn cable(a: u32, b: u32, rate: Rate, latency: Duration) -> Cable {
    Cable { ends: [NodeId(a), NodeId(b)], rate, latency, loss: 0.0 }
}

fn check_hosts(hosts: u32, most: u64) -> Result<(), TopologyError> {
    if hosts < 2 || u64::from(hosts) > most {
        let problem =
            Problem::with_text(format!("{hosts} hosts are not possible here"), format_args!("2 to {most}"));
        return Err(TopologyError::shape("hosts", problem));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::HostId;

    const LINK: Rate = Rate::from_gbps(100);
    const NS: Duration = Duration::from_ns(1);

    fn dumbbell(hosts: u32) -> TopologySpec {
        TopologySpec::Dumbbell {
            hosts,
            link: LINK,
            trunk: Rate::from_gbps(400),
            link_latency: NS,
            trunk_latency: NS * 5,
            switch_latency: NS * 2,
        }
    }

    #[test]
    fn a_single_switch_has_a_port_a_host() {
        let spec =
            TopologySpec::SingleSwitch { hosts: 5, link: LINK, link_latency: NS, switch_latency: NS * 3 };
        let t = build(&spec, None).unwrap();
        assert_eq!((t.nodes(), t.links(), t.tors(), t.top_tier()), (6, 10, 1, 1));
        assert_eq!(t.switches[0].latency, NS * 3);
        for h in 0..5 {
            let down = &t.ports[t.link(NodeId(5), h as u16).index()];
            assert_eq!((down.peer, down.peer_port, down.rate), (NodeId(h), 0, LINK));
            assert_eq!(t.tor_of(HostId(h), 0), NodeId(5));
        }
        assert_eq!(t.down_ports(NodeId(5)), 5);
    }

    #[test]
    fn a_dumbbell_splits_its_hosts_evenly() {
        let t = build(&dumbbell(6), None).unwrap();
        assert_eq!((t.tor_of(HostId(2), 0), t.tor_of(HostId(3), 0)), (NodeId(6), NodeId(7)));
        assert_eq!((t.down_ports(NodeId(6)), t.links_of(NodeId(6)).len()), (3, 4));
        let trunk = t.ports[t.link(NodeId(6), 3).index()];
        assert_eq!((trunk.peer, trunk.peer_port), (NodeId(7), 3));
        assert_eq!((trunk.rate, trunk.latency), (Rate::from_gbps(400), NS * 5));
        assert!(t.is_connected());
    }

    #[test]
    fn every_link_has_a_reverse_and_a_source() {
        let t = build(&dumbbell(8), None).unwrap();
        for node in (0..t.nodes()).map(NodeId) {
            for link in t.links_of(node).map(anabranch_base::LinkId) {
                assert_eq!(t.source(link), node);
                assert_eq!(t.reverse(t.reverse(link)), link);
                assert_eq!(t.source(t.reverse(link)), t.ports[link.index()].peer);
            }
        }
    }

    #[test]
    fn impossible_numbers_are_refused_with_what_would_fit() {
        let text = |spec| build(&spec, None).unwrap_err().to_string();
        assert_eq!(
            text(dumbbell(7)),
            "topology.hosts: a dumbbell has as many hosts on each side, so 7 must be even; write: 6 or 8"
        );
        let single =
            |hosts, link| TopologySpec::SingleSwitch { hosts, link, link_latency: NS, switch_latency: NS };
        assert!(text(single(1, LINK)).contains("write: 2 to 65535"));
        assert!(text(single(70_000, LINK)).contains("70000 hosts are not possible"));
        assert!(text(single(4, Rate(0))).starts_with("topology.link: "));
        let graph = TopologySpec::Graph { file: "g.txt".into(), switch_latency: NS };
        assert!(text(graph).contains("g.txt"));
    }
}
