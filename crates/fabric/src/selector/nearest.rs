//! The selector nearest to one that names nothing on a topology.

use super::lookup::{ports_of, side_name, tier_of};
use super::{Amount, Form, Selector, SwitchSet};
use crate::{ErrorRate, Topology};
use anabranch_base::NodeId;

impl Selector {
    /// The selector of `topology` nearest to this one, of links (`links`) or switches.
    pub(super) fn nearest(&self, topology: &Topology, links: bool) -> Option<String> {
        let behind = |text: &str| text.split_once(':').map(|(_, rest)| rest.trim().to_owned());
        let form = if self.cable { behind(&self.text) } else { Some(self.text.clone()) };
        let amount = form.and_then(|form| behind(&form)).map_or(String::new(), |amount| format!(":{amount}"));
        let side_of = |node: NodeId, up: bool, port: Option<u32>| {
            let sides = [(up, ports_of(topology, node, up)), (!up, ports_of(topology, node, !up))];
            let (up, links) = sides.into_iter().find(|(_, links)| !links.is_empty())?;
            let port = port.map(|port| format!(":{}", port.min(links.len() as u32 - 1)));
            Some(format!("{}{}", side_name(topology, node, up), port.unwrap_or_default()))
        };
        let tier_with_uplinks = |tier: u8| {
            topology
                .tier_range(tier)
                .any(|i| !ports_of(topology, NodeId(topology.hosts + i as u32), true).is_empty())
        };
        let uplinks = |tier: Option<u8>, amount: &str| {
            let tier = tier.into_iter().chain([1]).find(|tier| tier_with_uplinks(*tier));
            tier.map_or(format!("host-links{amount}"), |tier| {
                format!("{}-uplinks{amount}", topology.tier_word(tier))
            })
        };
        match self.form {
            Form::Switch(kind, index) | Form::Ports { switch: (kind, index), .. } if !links => {
                Some(topology.node_name(nearest_switch(topology, kind, index)?))
            }
            Form::Switches(kind, _) if !links => {
                Some(topology.tier_word(nearest_tier(topology, kind)?) + &amount)
            }
            _ if !links => Some(topology.node_name(nearest_switch(topology, SwitchSet::Tor, 0)?)),
            Form::Host(_) => Some(format!("host:{}", topology.hosts - 1)),
            Form::Switch(kind, index) => side_of(nearest_switch(topology, kind, index)?, true, None),
            Form::Ports { switch: (kind, index), up, port } => {
                let node = nearest_switch(topology, kind, index)
                    .or_else(|| nearest_switch(topology, SwitchSet::Tor, 0))?;
                side_of(node, up, port)
            }
            Form::Switches(kind, _) => Some(uplinks(nearest_tier(topology, kind), &amount)),
            // The number may be too large.
            Form::Uplinks(kind, Amount::Count(_)) => Some(uplinks(nearest_tier(topology, kind), ":1")),
            Form::Uplinks(kind, _) => Some(uplinks(nearest_tier(topology, kind), &amount)),
            Form::ErrorRate(_) => {
                let first = topology.error_rates.iter().next();
                first.map(ErrorRate::selector).or_else(|| Some(uplinks(None, "")))
            }
            Form::HostLinks(_) | Form::All | Form::Between(..) => Some(uplinks(None, "")),
        }
    }
}

/// The tier of `topology` nearest to a set that other topologies may have.
fn nearest_tier(topology: &Topology, kind: SwitchSet) -> Option<u8> {
    let top = topology.top_tier();
    tier_of(topology, kind).or(match kind {
        SwitchSet::Node | SwitchSet::Switch => None,
        // Many call the tiers of a leaf-spine `leaf` and `spine`.
        SwitchSet::Tor | SwitchSet::Leaf => Some(1),
        SwitchSet::Agg => Some(top.min(2)),
        SwitchSet::Spine | SwitchSet::Core | SwitchSet::Esw => Some(top),
        SwitchSet::Tier(tier) => Some(tier.min(top)),
    })
}

/// The switch of `topology` nearest to switch `index` of a set.
fn nearest_switch(topology: &Topology, kind: SwitchSet, index: u32) -> Option<NodeId> {
    let range = match kind {
        SwitchSet::Switch => 0..topology.switches.len(),
        _ => topology.tier_range(nearest_tier(topology, kind)?),
    };
    let position = range.start.saturating_add(index as usize).min(range.end.checked_sub(1)?);
    Some(NodeId(topology.hosts + position as u32))
}
