//! Dragonflies: groups of routers in a full mesh, with links from each group to every other group.

use super::assemble::{Cable, MAX_LINKS, MAX_PORTS, MAX_ROUTES, assemble, check_rate};
use super::error::TopologyError;
use super::near::near_divisors;
use super::{Switch, Topology};
use anabranch_base::{Duration, Fix, NodeId, Problem, Rate};
use serde::{Deserialize, Serialize};

/// A dragonfly (Kim, Dally, Scott, Abts: Technology-Driven, Highly-Scalable Dragonfly Topology, ISCA 2008).
///
/// Every two routers of a group are connected by a link. The global links of a group are numbered router by router.
/// With `g` groups, link `k` of group `i` leads to group `i + 1 + (k mod (g - 1))`, modulo `g` (the palm tree
/// arrangement). If there are fewer groups than the links allow, there are therefore several links between every two
/// groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DragonflySpec {
    /// The number of hosts on a router, called p in the paper.
    pub hosts_per_router: u32,
    /// The number of routers in a group, called a in the paper.
    pub routers: u32,
    /// The number of global links of a router, called h in the paper.
    pub global_links: u32,
    /// The number of groups, called g in the paper.
    pub router_groups: u32,
    /// The rate of the links to hosts and within groups.
    pub link: Rate,
    /// The latency of the links to hosts and within groups.
    pub link_latency: Duration,
    /// The rate of the global links.
    pub global_link: Rate,
    /// The latency of the global links.
    pub global_link_latency: Duration,
    /// The latency of the routers.
    pub switch_latency: Duration,
    /// The number of ports of the purchased router model. No router may need more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radix: Option<u32>,
}

impl DragonflySpec {
    /// The number of hosts.
    pub fn hosts(&self) -> u32 {
        self.router_groups.saturating_mul(self.routers).saturating_mul(self.hosts_per_router)
    }

    /// The largest number of groups that the global links can connect: `routers` times `global_links`, plus 1.
    pub fn most_groups(routers: u32, global_links: u32) -> u32 {
        routers.saturating_mul(global_links).saturating_add(1)
    }

    /// Checks that a dragonfly can be built from these numbers.
    ///
    /// # Errors
    /// The first number that is impossible in combination with the others, and what to write instead.
    pub fn check(&self) -> Result<(), TopologyError> {
        let counts = [
            ("hosts_per_router", self.hosts_per_router, 1),
            ("routers", self.routers, 1),
            ("global_links", self.global_links, 1),
            ("router_groups", self.router_groups, 2),
        ];
        for (key, count, least) in counts {
            if count < least {
                let message = format!("{key} must be {least} or more, not {count}");
                return Err(TopologyError::shape(
                    key,
                    Problem::with_text(message, format_args!("{least} or more")),
                ));
            }
        }
        check_rate("link", self.link)?;
        check_rate("global_link", self.global_link)?;
        let [p, a, h, g] =
            [self.hosts_per_router, self.routers, self.global_links, self.router_groups].map(u64::from);
        let ports = p + a - 1 + h;
        let most = self.radix.map_or(MAX_PORTS, u64::from).min(MAX_PORTS);
        if ports > most {
            let key = if self.radix.is_some() { "radix" } else { "routers" };
            let message = format!(
                "a router would have {ports} ports ({p} to hosts, {} in its group, {h} global), and has {most}",
                a - 1
            );
            let fix = self.radix.map_or(Fix::text("fewer routers or hosts"), |_| Fix::value(ports));
            return Err(TopologyError::shape(key, Problem { message, fix: Some(fix) }));
        }
        let links_of_group = self.routers * self.global_links;
        if !links_of_group.is_multiple_of(self.router_groups - 1) {
            let fix = near_divisors(links_of_group, self.router_groups - 1, 1);
            let message = format!(
                "the {links_of_group} global links of a group do not spread evenly over {} other groups",
                self.router_groups - 1
            );
            return Err(TopologyError::shape("router_groups", Problem { message, fix: Some(fix) }));
        }
        let (links, routes) = ((g * a).saturating_mul(2 * p + a - 1 + h), (g * a).saturating_mul(g * a));
        if links > MAX_LINKS || routes > MAX_ROUTES {
            let message = format!(
                "{} routers with {links} directed links are more than can be simulated: at most {MAX_LINKS} links, and \
                 {MAX_ROUTES} pairs of routers",
                g * a
            );
            return Err(TopologyError::shape("router_groups", Problem::with_text(message, "fewer groups")));
        }
        Ok(())
    }
}

pub(super) fn build(spec: &DragonflySpec) -> Result<Topology, TopologyError> {
    spec.check()?;
    let (hosts, a, h, g) = (spec.hosts(), spec.routers, spec.global_links, spec.router_groups);
    let router = |group: u32, number: u32| NodeId(hosts + group * a + number);
    let mut cables = Vec::new();
    let mut join = |ends: [NodeId; 2], rate: Rate, latency: Duration| {
        cables.push(Cable { ends, rate, latency, loss: 0.0 });
    };
    for host in 0..hosts {
        join([NodeId(host), NodeId(hosts + host / spec.hosts_per_router)], spec.link, spec.link_latency);
    }
    for group in 0..g {
        for one in 0..a {
            for other in one + 1..a {
                join([router(group, one), router(group, other)], spec.link, spec.link_latency);
            }
        }
    }
    for group in 0..g {
        for link in 0..a * h {
            let (round, offset) = (link / (g - 1), link % (g - 1) + 1);
            let peer = (group + offset) % g;
            // In each round, g - 1 links of a group lead to the other g - 1 groups. At the peer group, this cable is
            // the link of the same round that leads back to `group`.
            let back = round * (g - 1) + (g - offset - 1);
            if group < peer {
                join(
                    [router(group, link / h), router(peer, back / h)],
                    spec.global_link,
                    spec.global_link_latency,
                );
            }
        }
    }
    let switches =
        (0..g * a).map(|index| Switch { tier: 1, index, latency: spec.switch_latency, file_id: None });
    Ok(assemble(hosts, switches.collect(), &cables, Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Routing;
    use anabranch_base::HostId;

    fn spec(p: u32, a: u32, h: u32, groups: u32) -> DragonflySpec {
        DragonflySpec {
            hosts_per_router: p,
            routers: a,
            global_links: h,
            router_groups: groups,
            link: Rate::from_gbps(400),
            link_latency: Duration::from_ns(500),
            global_link: Rate::from_gbps(400),
            global_link_latency: Duration::from_ns(2500),
            switch_latency: Duration::ZERO,
            radix: None,
        }
    }

    /// The number of hosts at each distance, in links, from host 0.
    fn distances(t: &Topology) -> Vec<(usize, usize)> {
        let routing = Routing::new(t, &|_| true);
        let mut counts = std::collections::BTreeMap::new();
        for host in 1..t.hosts {
            *counts.entry(t.ideal_path(&routing, HostId(0), HostId(host)).len()).or_insert(0) += 1;
        }
        counts.into_iter().collect()
    }

    #[test]
    fn the_smallest_dragonflies_have_their_links_and_distances() {
        let t = build(&spec(1, 2, 1, 3)).unwrap();
        assert_eq!((t.hosts, t.switches.len(), t.links()), (6, 6, 2 * (6 + 3 + 3)));
        assert_eq!(distances(&t), [(3, 2), (4, 2), (5, 1)]);
        let t = build(&spec(2, 4, 2, 9)).unwrap();
        assert_eq!((t.hosts, t.switches.len(), t.links()), (72, 36, 2 * (72 + 54 + 36)));
        assert_eq!(distances(&t), [(2, 1), (3, 10), (4, 24), (5, 36)]);
        assert!(t.switches.iter().all(|switch| switch.tier == 1));
    }

    #[test]
    fn each_pair_of_groups_has_as_many_links() {
        for (a, h, g) in [(4, 2, 9), (4, 2, 5), (4, 2, 3), (4, 2, 2), (2, 1, 3), (8, 4, 33)] {
            let t = build(&spec(1, a, h, g)).unwrap();
            let group = |node: NodeId| (node.0 - t.hosts) / a;
            let mut between = std::collections::BTreeMap::new();
            for node in (t.hosts..t.nodes()).map(NodeId) {
                let peers = t.links_of(node).map(|link| t.ports[link as usize].peer);
                let global = peers.filter(|peer| peer.0 >= t.hosts && group(*peer) != group(node));
                let global: Vec<NodeId> = global.collect();
                assert_eq!(global.len() as u32, h, "each router has its global links");
                for peer in global {
                    *between.entry((group(node), group(peer))).or_insert(0) += 1;
                }
            }
            assert_eq!(between.len() as u32, g * (g - 1));
            assert!(between.values().all(|links| *links == a * h / (g - 1)), "{between:?}");
        }
    }

    #[test]
    fn impossible_numbers_are_refused_with_what_would_fit() {
        let text = |spec: DragonflySpec| build(&spec).unwrap_err().to_string();
        assert_eq!(
            text(spec(2, 4, 2, 8)),
            "topology.router_groups: the 8 global links of a group do not spread evenly over 7 other groups; write: 5 or 9"
        );
        assert_eq!(
            text(spec(2, 4, 2, 1)),
            "topology.router_groups: router_groups must be 2 or more, not 1; write: 2 or more"
        );
        assert_eq!(
            text(DragonflySpec { radix: Some(6), ..spec(2, 4, 2, 9) }),
            "topology.radix: a router would have 7 ports (2 to hosts, 3 in its group, 2 global), and has 6; write: 7"
        );
        assert!(text(spec(2, 4, 2, 99)).contains("write: 9"));
    }
}
