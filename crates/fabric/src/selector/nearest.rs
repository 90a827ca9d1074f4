//! The existing selector nearest to one that names nothing in a topology.

use super::lookup::{members, of_plane, ports_of, side_name, tier_of};
use super::{Amount, Form, Selector, SetKind, SwitchSet};
use crate::{ErrorRate, Topology};
use anabranch_base::{HostId, NodeId, Purpose, stream};

impl Selector {
    /// The number or share at the end of a form, with the colon before it: `:3%`.
    fn amount(&self) -> String {
        let behind = |text: &str| text.split_once(':').map(|(_, rest)| rest.trim().to_owned());
        let form = if self.cable { behind(&self.text) } else { Some(self.text.clone()) };
        // The plane at the beginning, such as `plane:2/`, also contains a colon.
        let form = form.map(|form| match form.starts_with("plane:") {
            true => form.split_once('/').map_or(String::new(), |(_, rest)| rest.to_owned()),
            false => form,
        });
        form.and_then(|form| behind(&form)).map_or(String::new(), |amount| format!(":{amount}"))
    }

    /// The selector of `topology` nearest to this one. It names links if `links` is true, otherwise switches.
    pub(super) fn nearest(&self, topology: &Topology, links: bool) -> Option<String> {
        let amount = self.amount();
        let tier_with_uplinks = |tier: u8| {
            topology
                .tier_range(tier)
                .any(|i| !ports_of(topology, NodeId(topology.hosts + i as u32), true).is_empty())
        };
        let uplinks = |tier: Option<u8>, plane: Option<u32>, amount: &str| {
            let tier = tier.into_iter().chain([1]).find(|tier| tier_with_uplinks(*tier));
            tier.map_or(format!("host-links{amount}"), |tier| {
                format!("{}{}-uplinks{amount}", of_plane(plane), topology.tier_word(tier))
            })
        };
        let tor = SwitchSet { kind: SetKind::Tor, plane: None };
        match self.form {
            Form::Switch(set, index) | Form::Ports { switch: (set, index), .. } if !links => {
                Some(topology.node_name(nearest_switch(topology, set, index)?))
            }
            Form::Switches(set, _) if !links => {
                let word = topology.tier_word(nearest_tier(topology, set.kind)?);
                Some(format!("{}{word}{amount}", of_plane(nearest_plane(topology, set.plane))))
            }
            Form::Plane(plane) | Form::HostLinks { plane: Some(plane), .. }
                if !topology.planes.is_empty() =>
            {
                let plane = nearest_plane(topology, Some(plane))?;
                let prefix = if matches!(self.form, Form::Plane(_)) { "" } else { "nic-links:" };
                Some(if links { format!("{prefix}plane:{plane}") } else { format!("plane:{plane}") })
            }
            Form::Rail(rail) if has_rail_tors(topology) || links && topology.servers.is_some() => {
                let last = topology.servers.as_ref()?.rails().checked_sub(1)?;
                Some(format!("rail:{}", rail.min(last.into())))
            }
            _ if !links => Some(topology.node_name(nearest_switch(topology, tor, 0)?)),
            Form::Host(host, port) => Some(nearest_port(topology, host, port)),
            Form::Server { server, nic, port } => Some(nearest_nic(topology, server, nic, port)),
            Form::Switch(set, index) => {
                nearest_side(topology, nearest_switch(topology, set, index)?, true, None)
            }
            Form::Ports { switch: (set, index), up, port } => {
                let node =
                    nearest_switch(topology, set, index).or_else(|| nearest_switch(topology, tor, 0))?;
                nearest_side(topology, node, up, port)
            }
            Form::Switches(set, _) | Form::Uplinks(set, _) => {
                let plane = nearest_plane(topology, set.plane);
                let near = |amount: &str| uplinks(nearest_tier(topology, set.kind), plane, amount);
                let exists = |near: &String| {
                    let mut random = stream(1, 0, Purpose::FaultSelection);
                    let chosen = Selector::parse(near).map(|near| near.links(topology, &mut random));
                    matches!(chosen, Ok(Ok(_)))
                };
                // If fewer links exist than the selector asks for, the number 1 is proposed.
                match self.form {
                    Form::Uplinks(_, Amount::Count(_)) => {
                        Some(near(&amount)).filter(exists).or_else(|| Some(near(":1")))
                    }
                    _ => Some(near(&amount)),
                }
            }
            Form::ErrorRate(_) => {
                let first = topology.error_rates.iter().next();
                first.map(ErrorRate::selector).or_else(|| Some(uplinks(None, None, "")))
            }
            Form::HostLinks { .. } | Form::All | Form::Between(..) | Form::Plane(_) | Form::Rail(_) => {
                Some(uplinks(None, None, ""))
            }
        }
    }
}

/// The selector of the ports of a switch on the given side, or on the other side if the switch has none there. If
/// `port` is given, the selector names only the port nearest to it.
fn nearest_side(topology: &Topology, node: NodeId, up: bool, port: Option<u32>) -> Option<String> {
    let sides = [(up, ports_of(topology, node, up)), (!up, ports_of(topology, node, !up))];
    let (up, links) = sides.into_iter().find(|(_, links)| !links.is_empty())?;
    let port = port.map(|port| format!(":{}", port.min(links.len() as u32 - 1)));
    Some(format!("{}{}", side_name(topology, node, up), port.unwrap_or_default()))
}

fn nearest_port(topology: &Topology, host: u32, port: Option<u32>) -> String {
    let host = HostId(host.min(topology.hosts - 1));
    let most = u32::from(topology.host_ports(host)) - 1;
    let port = port.map_or(String::new(), |port| format!("/port:{}", port.min(most)));
    format!("host:{host}{port}")
}

fn nearest_nic(topology: &Topology, server: u32, nic: Option<u32>, port: Option<u32>) -> String {
    let Some(servers) = topology.servers.as_ref().filter(|servers| servers.count() > 0) else {
        return nearest_port(topology, nic.unwrap_or(server), None);
    };
    let server = server.min(servers.count() - 1);
    let nics = servers.nics_of(server);
    let (Some(nic), Some(last)) = (nic, nics.len().checked_sub(1)) else { return format!("server:{server}") };
    let nic = last.min(nic as usize);
    let most = u32::from(topology.host_ports(nics[nic])) - 1;
    let port = port.map_or(String::new(), |port| format!("/port:{}", port.min(most)));
    format!("server:{server}/nic:{nic}{port}")
}

fn nearest_plane(topology: &Topology, plane: Option<u32>) -> Option<u32> {
    let last = u32::from(topology.plane_count()) - 1;
    plane.filter(|_| !topology.planes.is_empty()).map(|plane| plane.min(last))
}

/// Whether the first ToR has only NICs of one rail. The other ToRs are assumed to be like it.
fn has_rail_tors(topology: &Topology) -> bool {
    topology.rail_of_tor(NodeId(topology.hosts)).is_some()
}

/// The tier of `topology` nearest to the tier that `kind` names; `None` if `kind` names no tier.
fn nearest_tier(topology: &Topology, kind: SetKind) -> Option<u8> {
    let top = topology.top_tier();
    tier_of(topology, kind).or(match kind {
        SetKind::Node | SetKind::Switch => None,
        // Many users call the tiers of a leaf-spine fabric `leaf` and `spine`.
        SetKind::Tor | SetKind::Leaf => Some(1),
        SetKind::Agg => Some(top.min(2)),
        SetKind::Spine | SetKind::Core | SetKind::Esw => Some(top),
        SetKind::Tier(tier) => Some(tier.min(top)),
    })
}

fn nearest_switch(topology: &Topology, set: SwitchSet, index: u32) -> Option<NodeId> {
    let kind = match set.kind {
        SetKind::Switch => SetKind::Switch,
        kind => SetKind::Tier(nearest_tier(topology, kind)?),
    };
    let members = members(topology, SwitchSet { kind, plane: nearest_plane(topology, set.plane) }).ok()?;
    members.get((index as usize).min(members.len().checked_sub(1)?)).copied()
}
