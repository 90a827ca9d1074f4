//! Names of switches and links: `tor:3`, `spine:2/down:4`, `host:5`.

use super::Topology;
use anabranch_base::{HostId, LinkId, NodeId};

impl Topology {
    /// The name of `tier`: `tor`, then `spine` (the top of two tiers) or `agg`, then `core`, `tier4`, `tier5` and so
    /// on. In a fabric of several data centres the tiers are `tor`, `leaf` and `esw`.
    pub fn tier_word(&self, tier: u8) -> String {
        match tier {
            1 => "tor".to_owned(),
            2 if self.has_sites() => "leaf".to_owned(),
            3 if self.has_sites() => "esw".to_owned(),
            2 if self.top_tier() == 2 => "spine".to_owned(),
            2 => "agg".to_owned(),
            3 => "core".to_owned(),
            _ => format!("tier{tier}"),
        }
    }

    /// The name of `node`: `host:5`, `tor:3`, `spine:0`. A host in a server is `server:0/nic:5`. In a fabric with
    /// planes a switch is `plane:1/tor:3`, with its number within the plane.
    pub fn node_name(&self, node: NodeId) -> String {
        let Some(switch) = self.switch(node) else {
            let host = HostId(node.0);
            return match (self.server_of(host), self.rail_of(host)) {
                (Some(server), Some(nic)) => format!("server:{server}/nic:{nic}"),
                _ => format!("host:{node}"),
            };
        };
        let word = self.tier_word(switch.tier);
        let Some(plane) = self.plane_of(node) else { return format!("{word}:{}", switch.index) };
        let tier = self.tier_range(switch.tier);
        let before = &self.planes[tier.start..(node.0 - self.hosts) as usize];
        let index = before.iter().filter(|of_other| **of_other == plane).count();
        format!("plane:{plane}/{word}:{index}")
    }

    /// The name of `link`, which a [`Selector`](super::Selector) reads back: `host:5` (a host's own uplink),
    /// `host:5/port:1` (of a host with several ports), `tor:0/up:3`, `spine:2/down:4`. Ports down and ports up are
    /// numbered separately, both from 0.
    pub fn link_name(&self, link: LinkId) -> String {
        let node = self.source(link);
        let name = self.node_name(node);
        let port = link.0 - self.port_base[node.index()];
        if self.switch(node).is_none() {
            return if self.links_of(node).len() == 1 { name } else { format!("{name}/port:{port}") };
        }
        let down = u32::from(self.down_ports(node));
        if port < down { format!("{name}/down:{port}") } else { format!("{name}/up:{}", port - down) }
    }
}
