//! The links and switches of a topology that the forms of a selector name.

use super::{Amount, SetKind, SwitchSet};
use crate::Topology;
use anabranch_base::{LinkId, NodeId, Problem, Stream};
use std::ops::Range;

const MOST_RATES_LISTED: usize = 8;

/// The tier that `kind` names in `topology`; `None` if it names no tier, or one that the topology lacks.
pub(super) fn tier_of(topology: &Topology, kind: SetKind) -> Option<u8> {
    let (top, sites) = (topology.top_tier(), topology.has_sites());
    let tier = match kind {
        SetKind::Tor => 1,
        SetKind::Leaf if sites => 2,
        SetKind::Esw if sites => 3,
        SetKind::Spine if top == 2 && !sites => 2,
        SetKind::Agg if top > 2 && !sites => 2,
        SetKind::Core if !sites => 3,
        SetKind::Tier(tier) => tier,
        SetKind::Spine
        | SetKind::Agg
        | SetKind::Core
        | SetKind::Leaf
        | SetKind::Esw
        | SetKind::Switch
        | SetKind::Node => {
            return None;
        }
    };
    (tier <= top).then_some(tier)
}

pub(crate) fn check_plane(topology: &Topology, plane: u32) -> Result<(), Problem> {
    match u32::from(topology.plane_count()) {
        _ if topology.planes.is_empty() => Err(match &topology.servers {
            Some(_) if !topology.has_several_ports() => Problem::with_text(
                "this topology has no planes: its NICs have one port",
                "ports = 2 below [topology], for two planes",
            ),
            _ if !topology.host_file_ids.is_empty() => {
                "the file of this topology does not say which switches are a plane: name them, or their links, one by one"
                    .into()
            }
            _ => "this topology has no planes".into(),
        }),
        planes if plane >= planes => Err(out_of_range("plane", plane, planes)),
        _ => Ok(()),
    }
}

/// The switches of a set, ascending.
pub(super) fn members(topology: &Topology, set: SwitchSet) -> Result<Vec<NodeId>, Problem> {
    let range = match (set.kind, tier_of(topology, set.kind)) {
        (SetKind::Switch | SetKind::Node, _) => 0..topology.switches.len(),
        (_, Some(tier)) => topology.tier_range(tier),
        (_, None) => {
            let words: Vec<String> = (1..=topology.top_tier()).map(|t| topology.tier_word(t)).collect();
            return Err(format!("this topology has no such switches; it has {}", words.join(", ")).into());
        }
    };
    let all = range.map(|i| NodeId(topology.hosts + i as u32));
    let Some(plane) = set.plane else { return Ok(all.collect()) };
    check_plane(topology, plane)?;
    Ok(all.filter(|node| topology.plane_of(*node).map(u32::from) == Some(plane)).collect())
}

pub(super) fn switch(topology: &Topology, set: SwitchSet, index: u32) -> Result<NodeId, Problem> {
    let members = members(topology, set)?;
    if set.kind == SetKind::Node {
        return match file_node(topology, index)? {
            node if node.0 >= topology.hosts => Ok(node),
            _ => Err(format!("node {index} is a host, not a switch").into()),
        };
    }
    members.get(index as usize).copied().ok_or_else(|| {
        let word = tier_of(topology, set.kind).map_or("switch".to_owned(), |tier| topology.tier_word(tier));
        out_of_range(&format!("{}{word}", of_plane(set.plane)), index, members.len() as u32)
    })
}

/// The prefix of a switch name that gives its plane: `plane:2/`.
pub(super) fn of_plane(plane: Option<u32>) -> String {
    plane.map_or(String::new(), |plane| format!("plane:{plane}/"))
}

pub(super) fn file_node(topology: &Topology, id: u32) -> Result<NodeId, Problem> {
    if topology.host_file_ids.is_empty() {
        return Err(Problem::with_text(
            "only a topology from an ns-3 file has node numbers",
            "tor:0 or host:0",
        ));
    }
    let host = topology.host_by_file_id(id).map(NodeId::from);
    let switch = || {
        let position = topology.switches.iter().position(|s| s.file_id == Some(id))?;
        Some(NodeId(topology.hosts + position as u32))
    };
    host.or_else(switch).ok_or_else(|| out_of_range("node", id, topology.nodes()))
}

pub(super) fn uplinks(
    topology: &Topology,
    set: SwitchSet,
    amount: Amount,
    random: &mut Stream,
) -> Result<Vec<LinkId>, Problem> {
    let mut links = Vec::new();
    for node in members(topology, set)? {
        links.extend(ports_of(topology, node, true).map(LinkId));
    }
    if links.is_empty() {
        return Err("these switches have no links upwards".into());
    }
    if amount != Amount::All {
        // A cable between two switches of the tier is an uplink of both, but counts only once.
        links.retain(|&link| {
            let tier = |node| topology.switch(node).map(|s| s.tier);
            let level = tier(topology.source(link)) == tier(topology.ports[link.index()].peer);
            !level || link < topology.reverse(link)
        });
    }
    pick(links, amount, "uplinks", random)
}

pub(super) fn ports(
    topology: &Topology,
    set: SwitchSet,
    index: u32,
    up: bool,
    port: Option<u32>,
) -> Result<Vec<LinkId>, Problem> {
    let node = switch(topology, set, index)?;
    let links = ports_of(topology, node, up);
    let side = side_name(topology, node, up);
    if links.is_empty() {
        return Err(format!("there is no {side}: the switch has no such links").into());
    }
    match port {
        None => Ok(links.map(LinkId).collect()),
        Some(port) if port < links.len() as u32 => Ok(vec![LinkId(links.start + port)]),
        Some(port) => Err(out_of_range(&side, port, links.len() as u32)),
    }
}

/// The links that leave `node` upwards (or to a switch of the same tier), or downwards.
pub(super) fn ports_of(topology: &Topology, node: NodeId, up: bool) -> Range<u32> {
    let all = topology.links_of(node);
    let middle = all.start + u32::from(topology.down_ports(node));
    if up { middle..all.end } else { all.start..middle }
}

pub(super) fn side_name(topology: &Topology, node: NodeId, up: bool) -> String {
    format!("{}/{}", topology.node_name(node), if up { "up" } else { "down" })
}

pub(super) fn between(topology: &Topology, from: u32, to: u32) -> Result<Vec<LinkId>, Problem> {
    let (node, peer) = (file_node(topology, from)?, file_node(topology, to)?);
    let (node, peer) = (own_switch(topology, node), own_switch(topology, peer));
    let links: Vec<LinkId> =
        topology.links_of(node).filter(|&l| topology.ports[l as usize].peer == peer).map(LinkId).collect();
    if links.is_empty() {
        return Err(format!("there is no link from node {from} to node {to}").into());
    }
    Ok(links)
}

/// The switch that was added for a host of an imported file, if there is one; otherwise `node` itself.
fn own_switch(topology: &Topology, node: NodeId) -> NodeId {
    let tor = topology.ports[topology.link(node, 0).index()].peer;
    let is_own = topology.switch(tor).is_some_and(|switch| switch.file_id.is_none());
    if node.0 < topology.hosts && is_own { tor } else { node }
}

pub(super) fn with_error_rate(topology: &Topology, rate: f64) -> Result<Vec<LinkId>, Problem> {
    let all = &topology.error_rates;
    if let Some(rate) = all.get(rate) {
        return Ok(rate.links.clone());
    }
    if all.is_empty() {
        return Err("no file gives links of this topology an error rate".into());
    }
    let rates: Vec<String> =
        all.iter().take(MOST_RATES_LISTED).map(|rate| rate.probability.to_string()).collect();
    let more = if all.iter().len() > MOST_RATES_LISTED { " and others" } else { "" };
    Err(format!("no link has this error rate; the file gives {}{more}", rates.join(", ")).into())
}

/// A random sample of `all`, which is ascending and distinct. The sample is ascending and distinct too.
pub(super) fn pick<T: Ord>(
    mut all: Vec<T>,
    amount: Amount,
    what: &str,
    random: &mut Stream,
) -> Result<Vec<T>, Problem> {
    let count = match amount {
        Amount::All => return Ok(all),
        Amount::Count(count) if count as usize <= all.len() => count as usize,
        Amount::Count(count) => {
            return Err(Problem::with_text(
                format!("{count} {what} are more than there are"),
                format_args!("1 to {}", all.len()),
            ));
        }
        Amount::Percent(percent) => ((percent * all.len() as f64 / 100.0 + 0.5) as usize).max(1),
    };
    random.shuffle(&mut all);
    all.truncate(count);
    all.sort_unstable();
    Ok(all)
}

pub(super) fn out_of_range(what: &str, index: u32, count: u32) -> Problem {
    match count {
        0 => format!("there is no {what}:{index}, and no other {what}").into(),
        1 => format!("there is no {what}:{index}; the only one is {what}:0").into(),
        _ => format!("there is no {what}:{index}; they are {what}:0 to {what}:{}", count - 1).into(),
    }
}
