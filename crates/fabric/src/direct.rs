//! Tori and full meshes: switches of one tier that are connected directly.
//!
//! Hosts never forward packets. A node of a torus, which forwards packets of others, is therefore a host with a
//! switch of its own.

use super::assemble::{Cable, MAX_LINKS, MAX_PORTS, MAX_ROUTES, assemble, check_rate};
use super::error::TopologyError;
use super::{Switch, Topology};
use anabranch_base::{Duration, Fix, NodeId, Problem, Rate};
use serde::{Deserialize, Serialize};

const MOST_DIMENSIONS: usize = 8;

#[derive(Clone, Debug, PartialEq)]
struct Direct {
    hosts_per_switch: u32,
    link: Rate,
    link_latency: Duration,
    host_link: Rate,
    host_link_latency: Duration,
    switch_latency: Duration,
    radix: Option<u32>,
}

/// A torus: a grid of switches that forms rings in every dimension. Each switch has one host. In a dimension of 2
/// switches, one link connects them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TorusSpec {
    /// The number of switches in each dimension. In the numbers of the hosts, the first dimension varies fastest.
    pub dims: Vec<u32>,
    /// The rate of the links between switches.
    pub link: Rate,
    /// The latency of the links between switches.
    pub link_latency: Duration,
    /// The rate of the link between a host and its switch.
    pub host_link: Rate,
    /// The latency of the link between a host and its switch.
    pub host_link_latency: Duration,
    /// The latency of the switches.
    pub switch_latency: Duration,
    /// The number of ports of the purchased switch model. No switch of the fabric may need more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radix: Option<u32>,
}

/// A full mesh: every two switches are connected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FullMeshSpec {
    /// The number of switches.
    pub tors: u32,
    /// The number of hosts on a switch.
    pub hosts_per_tor: u32,
    /// The rate of the links between switches.
    pub link: Rate,
    /// The latency of the links between switches.
    pub link_latency: Duration,
    /// The rate of the link between a host and its switch.
    pub host_link: Rate,
    /// The latency of the link between a host and its switch.
    pub host_link_latency: Duration,
    /// The latency of the switches.
    pub switch_latency: Duration,
    /// The number of ports of the purchased switch model. No switch of the fabric may need more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radix: Option<u32>,
}

impl TorusSpec {
    /// The number of hosts.
    pub fn hosts(&self) -> u32 {
        self.dims.iter().fold(1, |hosts, dim| hosts.saturating_mul(*dim))
    }

    /// The number of links from a switch to other switches.
    pub fn links_of_switch(dims: &[u32]) -> u32 {
        dims.iter().map(|dim| (*dim).clamp(1, 3) - 1).sum()
    }

    /// Checks that a torus can be built from these numbers.
    ///
    /// # Errors
    /// The first number that is impossible in combination with the others, and what to write instead.
    pub fn check(&self) -> Result<(), TopologyError> {
        let fail = |message: String, fit: String| {
            Err(TopologyError::shape("dims", Problem::with_value(message, fit)))
        };
        if self.dims.is_empty() || self.dims.len() > MOST_DIMENSIONS {
            let message = format!("a torus has 1 to {MOST_DIMENSIONS} dimensions, not {}", self.dims.len());
            return fail(message, "[4, 4]".to_owned());
        }
        if let Some(dim) = self.dims.iter().find(|dim| **dim < 2) {
            let fit: Vec<u32> = self.dims.iter().map(|dim| (*dim).max(2)).collect();
            return fail(format!("a dimension has 2 or more switches, not {dim}"), format!("{fit:?}"));
        }
        let size = Size { switches: self.hosts(), links: Self::links_of_switch(&self.dims) };
        self.direct().check(&size, "dims", "smaller dimensions")
    }

    fn direct(&self) -> Direct {
        Direct {
            hosts_per_switch: 1,
            link: self.link,
            link_latency: self.link_latency,
            host_link: self.host_link,
            host_link_latency: self.host_link_latency,
            switch_latency: self.switch_latency,
            radix: self.radix,
        }
    }
}

impl FullMeshSpec {
    /// The number of hosts.
    pub fn hosts(&self) -> u32 {
        self.tors.saturating_mul(self.hosts_per_tor)
    }

    /// Checks that a full mesh can be built from these numbers.
    ///
    /// # Errors
    /// The first number that is impossible in combination with the others, and what to write instead.
    pub fn check(&self) -> Result<(), TopologyError> {
        for (key, count, least) in [("tors", self.tors, 2), ("hosts_per_tor", self.hosts_per_tor, 1)] {
            if count < least {
                let message = format!("{key} must be {least} or more, not {count}");
                return Err(TopologyError::shape(
                    key,
                    Problem::with_text(message, format_args!("{least} or more")),
                ));
            }
        }
        let size = Size { switches: self.tors, links: self.tors - 1 };
        self.direct().check(&size, "tors", "fewer tors or hosts")
    }

    fn direct(&self) -> Direct {
        Direct {
            hosts_per_switch: self.hosts_per_tor,
            link: self.link,
            link_latency: self.link_latency,
            host_link: self.host_link,
            host_link_latency: self.host_link_latency,
            switch_latency: self.switch_latency,
            radix: self.radix,
        }
    }
}

struct Size {
    switches: u32,
    /// The number of links from a switch to other switches.
    links: u32,
}

impl Direct {
    /// `key` is the scenario's key for the size, and `smaller` is a text that proposes a smaller size.
    fn check(&self, size: &Size, key: &str, smaller: &str) -> Result<(), TopologyError> {
        check_rate("link", self.link)?;
        check_rate("host_link", self.host_link)?;
        let [switches, links, hosts] = [size.switches, size.links, self.hosts_per_switch].map(u64::from);
        let ports = hosts + links;
        let most = self.radix.map_or(MAX_PORTS, u64::from).min(MAX_PORTS);
        if ports > most {
            let message = format!(
                "a switch would have {ports} ports ({hosts} to hosts, {links} to switches), and has {most}"
            );
            let (key, fix) = match self.radix {
                Some(_) => ("radix", Fix::value(ports)),
                None => (key, Fix::text(smaller)),
            };
            return Err(TopologyError::shape(key, Problem { message, fix: Some(fix) }));
        }
        let all = switches.saturating_mul(2 * hosts + links);
        if all > MAX_LINKS || switches.saturating_mul(switches) > MAX_ROUTES {
            let message = format!(
                "{switches} switches with {all} directed links are more than can be simulated: at most {MAX_LINKS} links, \
                 and {MAX_ROUTES} pairs of switches"
            );
            return Err(TopologyError::shape(key, Problem::with_text(message, smaller)));
        }
        Ok(())
    }

    /// `joined` has the pairs of switches that a link connects.
    fn build(&self, switches: u32, joined: impl Iterator<Item = [u32; 2]>) -> Topology {
        let hosts = switches * self.hosts_per_switch;
        let of_host = |host: u32| Cable {
            ends: [NodeId(host), NodeId(hosts + host / self.hosts_per_switch)],
            rate: self.host_link,
            latency: self.host_link_latency,
            loss: 0.0,
        };
        let between = |ends: [u32; 2]| Cable {
            ends: ends.map(|switch| NodeId(hosts + switch)),
            rate: self.link,
            latency: self.link_latency,
            loss: 0.0,
        };
        let cables: Vec<Cable> = (0..hosts).map(of_host).chain(joined.map(between)).collect();
        let switches =
            (0..switches).map(|index| Switch { tier: 1, index, latency: self.switch_latency, file_id: None });
        assemble(hosts, switches.collect(), &cables, Vec::new())
    }
}

pub(super) fn build_torus(spec: &TorusSpec) -> Result<Topology, TopologyError> {
    spec.check()?;
    let mut joined = Vec::new();
    for switch in 0..spec.hosts() {
        let mut stride = 1;
        for &dim in &spec.dims {
            let place = switch / stride % dim;
            // A ring of two has one link.
            if dim > 2 || place == 0 {
                joined.push([switch, switch - place * stride + (place + 1) % dim * stride]);
            }
            stride *= dim;
        }
    }
    Ok(spec.direct().build(spec.hosts(), joined.into_iter()))
}

pub(super) fn build_full_mesh(spec: &FullMeshSpec) -> Result<Topology, TopologyError> {
    spec.check()?;
    let switches = spec.tors;
    let joined = (0..switches).flat_map(|one| (one + 1..switches).map(move |other| [one, other]));
    Ok(spec.direct().build(switches, joined))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Routing;
    use anabranch_base::HostId;

    fn torus(dims: &[u32]) -> TorusSpec {
        TorusSpec {
            dims: dims.to_vec(),
            link: Rate::from_gbps(400),
            link_latency: Duration::from_ns(500),
            host_link: Rate::from_gbps(1600),
            host_link_latency: Duration::ZERO,
            switch_latency: Duration::ZERO,
            radix: None,
        }
    }

    fn mesh(tors: u32, hosts_per_tor: u32) -> FullMeshSpec {
        FullMeshSpec {
            tors,
            hosts_per_tor,
            link: Rate::from_gbps(400),
            link_latency: Duration::from_ns(500),
            host_link: Rate::from_gbps(2800),
            host_link_latency: Duration::ZERO,
            switch_latency: Duration::ZERO,
            radix: None,
        }
    }

    /// The number of links between switches on the path from host 0 to another host, summed over all other hosts.
    fn hops(t: &Topology) -> usize {
        let routing = Routing::new(t, &|_| true);
        (1..t.hosts).map(|host| t.ideal_path(&routing, HostId(0), HostId(host)).len() - 2).sum()
    }

    #[test]
    fn a_torus_has_its_links_and_its_mean_distance() {
        let t = build_torus(&torus(&[4, 4])).unwrap();
        assert_eq!((t.hosts, t.switches.len(), t.links()), (16, 16, 2 * (16 + 32)));
        assert_eq!((hops(&t), t.hosts - 1), (32, 15), "a mean distance of 32/15");
        // TPU v3, 4 x 8. The mean distances in the two dimensions are 1 and 2 over all 32 hosts, the source included,
        // so the sum is 32 x (1 + 2) = 96.
        let t = build_torus(&torus(&[4, 8])).unwrap();
        assert_eq!((t.links(), hops(&t)), (2 * (32 + 64), 96));
        let ring = build_torus(&torus(&[5])).unwrap();
        assert_eq!((ring.links(), hops(&ring)), (2 * (5 + 5), 1 + 2 + 2 + 1));
    }

    #[test]
    fn a_dimension_of_two_has_one_link() {
        let cube = build_torus(&torus(&[2, 2, 2])).unwrap();
        assert_eq!((cube.links(), hops(&cube)), (2 * (8 + 12), 12));
        assert_eq!(TorusSpec::links_of_switch(&[2, 2, 2]), 3);
        assert_eq!(TorusSpec::links_of_switch(&[4, 2]), 3);
    }

    #[test]
    fn a_full_mesh_joins_every_pair_once() {
        let t = build_full_mesh(&mesh(8, 1)).unwrap();
        assert_eq!((t.hosts, t.links(), hops(&t)), (8, 2 * (8 + 28), 7));
        let t = build_full_mesh(&mesh(4, 3)).unwrap();
        assert_eq!((t.hosts, t.links(), hops(&t)), (12, 2 * (12 + 6), 9));
    }

    #[test]
    fn impossible_numbers_are_refused_with_what_would_fit() {
        let text = |spec: TorusSpec| build_torus(&spec).unwrap_err().to_string();
        assert_eq!(
            text(torus(&[4, 1])),
            "topology.dims: a dimension has 2 or more switches, not 1; write: [4, 2]"
        );
        assert!(text(torus(&[])).contains("1 to 8 dimensions, not 0; write: [4, 4]"));
        assert!(text(torus(&[70_000, 70_000, 70_000])).contains("more than can be simulated"));
        assert_eq!(
            text(TorusSpec { radix: Some(4), ..torus(&[4, 4]) }),
            "topology.radix: a switch would have 5 ports (1 to hosts, 4 to switches), and has 4; write: 5"
        );
        let text = |spec: FullMeshSpec| build_full_mesh(&spec).unwrap_err().to_string();
        assert!(text(mesh(1, 1)).contains("tors must be 2 or more, not 1; write: 2 or more"));
        assert!(text(mesh(70_000, 1)).contains("write: fewer tors or hosts"));
    }
}
