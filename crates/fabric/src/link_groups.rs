//! Groups of links by plane or by rail.

use crate::selector::cluster::servers;
use crate::selector::lookup::check_plane;
use crate::{Selector, SelectorError, Topology};
use anabranch_base::{HostId, LinkId, NodeId, Problem, Stream};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The property by which links are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupBy {
    /// The plane of the switch at an end of the link.
    Plane,
    /// The rail of the NIC or switch at the lower end of the link. A switch has a rail if all NICs below it have this
    /// rail.
    Rail,
}

/// Links of one plane or one rail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkGroup {
    /// The name, such as `plane:1 of nic-links`.
    pub name: String,
    /// The links, ascending.
    pub links: Vec<LinkId>,
}

impl Selector {
    /// The links that the selector names in `topology`, grouped by plane or by rail. The groups are ordered by the
    /// number of the plane or rail.
    ///
    /// # Errors
    /// The topology does not have such links, or one of them belongs to no plane or rail.
    pub fn groups(
        &self,
        topology: &Topology,
        by: GroupBy,
        random: &mut Stream,
    ) -> Result<Vec<LinkGroup>, SelectorError> {
        let links = self.links(topology, random)?;
        let groups = numbered(topology, links, by)
            .map_err(|problem| SelectorError { selector: self.to_string(), problem })?;
        let word = match by {
            GroupBy::Plane => "plane",
            GroupBy::Rail => "rail",
        };
        let named = groups
            .into_iter()
            .map(|(number, links)| LinkGroup { name: format!("{word}:{number} of {self}"), links });
        Ok(named.collect())
    }
}

fn numbered(
    topology: &Topology,
    links: Vec<LinkId>,
    by: GroupBy,
) -> Result<BTreeMap<u16, Vec<LinkId>>, Problem> {
    let of_node: Vec<Option<u16>> = match by {
        GroupBy::Plane => {
            check_plane(topology, 0)?;
            let nodes = topology.hosts + topology.switches.len() as u32;
            (0..nodes).map(|node| topology.plane_of(NodeId(node))).collect()
        }
        GroupBy::Rail => {
            servers(topology)?;
            rails(topology)
        }
    };
    let mut groups: BTreeMap<u16, Vec<LinkId>> = BTreeMap::new();
    for link in links {
        let ends = [topology.source(link), topology.ports[link.index()].peer];
        match ends.into_iter().find_map(|node| of_node[node.index()]) {
            Some(number) => groups.entry(number).or_default().push(link),
            None => return Err(ungrouped(topology, link, by)),
        }
    }
    Ok(groups)
}

/// A switch has a rail if all nodes below it have this rail.
fn rails(topology: &Topology) -> Vec<Option<u16>> {
    let mut rails: Vec<Option<u16>> =
        (0..topology.hosts).map(|host| topology.rail_of(HostId(host))).collect();
    // Switches are numbered tier by tier from the bottom.
    for node in (topology.hosts..).take(topology.switches.len()).map(NodeId) {
        let first = topology.links_of(node).start as usize;
        let below = &topology.ports[first..first + usize::from(topology.down_ports(node))];
        let rail = below.first().and_then(|port| rails[port.peer.index()]);
        rails.push(rail.filter(|_| below.iter().all(|port| rails[port.peer.index()] == rail)));
    }
    rails
}

fn ungrouped(topology: &Topology, link: LinkId, by: GroupBy) -> Problem {
    let name = topology.link_name(link);
    let is_without = |host: u32| topology.server_of(HostId(host)).is_none();
    let lower = topology.source(link).0.min(topology.ports[link.index()].peer.0);
    match by {
        GroupBy::Plane => format!("{name} is in no plane").into(),
        GroupBy::Rail if lower < topology.hosts => {
            format!("{name} belongs to no rail, as its host is in no server").into()
        }
        GroupBy::Rail if (0..topology.hosts).any(is_without) => {
            format!("{name} belongs to no rail, as NICs of several rails or hosts in no server are below it")
                .into()
        }
        GroupBy::Rail => Problem::with_text(
            format!("{name} belongs to no rail, as NICs of several rails are below it"),
            "links = \"nic-links\", which belong to one rail each",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::{ServerParts, Servers};
    use crate::{ClosInput, ClosKind, SpineGroup, TopologySpec, TorusSpec, build, clos_defaults};
    use anabranch_base::{Duration, Purpose, Rate, stream};

    fn input() -> ClosInput {
        let link = Rate::from_gbps(400);
        ClosInput {
            nics: Some(2),
            segment: Some(2),
            ..ClosInput::new(4, link, Duration::from_ns(500), Duration::ZERO)
        }
    }

    /// The name and the number of links of each group, or the message of the error.
    fn groups(spec: &TopologySpec, selector: &str, by: GroupBy) -> Result<Vec<(String, usize)>, String> {
        let topology = build(spec, None).unwrap();
        let mut random = stream(1, 0, Purpose::FaultSelection);
        match Selector::parse(selector).unwrap().groups(&topology, by, &mut random) {
            Ok(groups) => Ok(groups.into_iter().map(|group| (group.name, group.links.len())).collect()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn rails(input: &ClosInput) -> TopologySpec {
        TopologySpec::Rails(clos_defaults(ClosKind::Rails, input).unwrap())
    }

    fn pairs(word: &str, of: &str, links: [usize; 2]) -> Result<Vec<(String, usize)>, String> {
        Ok((0..2).map(|number| (format!("{word}:{number} of {of}"), links[number])).collect())
    }

    #[test]
    fn links_are_grouped_by_the_plane_of_their_switches() {
        let spec = rails(&ClosInput { ports: Some(2), ..input() });
        let by = |selector: &str| groups(&spec, selector, GroupBy::Plane);
        assert_eq!(by("nic-links"), pairs("plane", "nic-links", [8, 8]));
        assert_eq!(by("server:0/nic:1"), pairs("plane", "server:0/nic:1", [1, 1]));
        // Each plane has 8 cables to NICs and 8 cables to spines, and each cable has two links.
        assert_eq!(by("all"), pairs("plane", "all", [32, 32]));
        assert_eq!(by("plane:1/tor:0/up"), Ok(vec![("plane:1 of plane:1/tor:0/up".to_owned(), 2)]));
        let error = groups(&rails(&input()), "nic-links", GroupBy::Plane).unwrap_err();
        assert!(error.contains("this topology has no planes: its NICs have one port"), "{error}");
    }

    #[test]
    fn links_are_grouped_by_the_rail_below_them() {
        let spec = rails(&input());
        let by = |selector: &str| groups(&spec, selector, GroupBy::Rail);
        assert_eq!(by("nic-links"), pairs("rail", "nic-links", [4, 4]));
        assert_eq!(by("tor-uplinks"), pairs("rail", "tor-uplinks", [4, 4]));
        assert_eq!(by("spine:0/down"), pairs("rail", "spine:0/down", [2, 2]));

        let cores = |group: SpineGroup| {
            let pod = (group == SpineGroup::Pod).then_some(1);
            rails(&ClosInput { tiers: Some(3), pod, spine_group: Some(group), ..input() })
        };
        let by_rail = cores(SpineGroup::Rail);
        assert_eq!(groups(&by_rail, "all", GroupBy::Rail).unwrap().len(), 2);
        let error = groups(&cores(SpineGroup::Pod), "agg-uplinks", GroupBy::Rail).unwrap_err();
        assert!(error.contains("agg:0/up:0 belongs to no rail"), "{error}");
        let mut topology = build(&spec, None).unwrap();
        let first = ServerParts { nics: vec![HostId(0), HostId(1)], nic_of_gpu: vec![], domain: 0 };
        topology.servers = Some(Servers::listed([first], topology.hosts));
        let mut random = stream(1, 0, Purpose::FaultSelection);
        let error = Selector::parse("nic-links").unwrap().groups(&topology, GroupBy::Rail, &mut random);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("belongs to no rail, as its host is in no server"), "{error}");
        let torus = TorusSpec {
            dims: vec![4],
            link: Rate::from_gbps(100),
            link_latency: Duration::from_ns(500),
            host_link: Rate::from_gbps(100),
            host_link_latency: Duration::from_ns(500),
            switch_latency: Duration::ZERO,
            radix: None,
        };
        let error = groups(&TopologySpec::Torus(torus), "host-links", GroupBy::Rail).unwrap_err();
        assert!(error.contains("this topology has no servers"), "{error}");
    }
}
