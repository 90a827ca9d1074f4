//! Names for links and switches in scenarios: `tor:0/up:3`, `tor-uplinks:3%`, `spine:1`.

mod meant;

use super::error_rate::ERROR_RATE;
use super::{ErrorRate, Topology};
use anabranch_base::{LinkId, NodeId, Stream};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// The forms, for error messages.
const FORMS: &str = "links: tor:0/up, tor:0/up:3, spine:2/down:4, esw:0/up:0, host:5, tor-uplinks, \
     tor-uplinks:3%, tor-uplinks:4, esw-uplinks, host-links:3%, all, node:128->node:130, error-rate:0.001, and with cable: in front both directions of \
     each, cable:tor:0/up:3; switches: tor:3, spine:5%, \
     esw:0, switch:7";

/// Links or switches of a topology, as a scenario names them.
///
/// | form | links |
/// |---|---|
/// | `tor:0/up`, `tor:0/down` | what leaves ToR 0 upwards (or to a switch of its tier), or downwards |
/// | `tor:0/up:3`, `spine:2/down:4` | one of these, numbered from 0 |
/// | `host:5` | the uplink of host 5 |
/// | `tor-uplinks`, `agg-uplinks` ... | every link upwards from a tier |
/// | `host-links` | the uplink of every host |
/// | `tor-uplinks:3%`, `tor-uplinks:4` | that share of the cables (rounded, at least one; of 100 % every link), or that many |
/// | `all` | every link, both directions |
/// | `node:128->node:130` | from one node to the other, by the numbers of an imported file |
/// | `error-rate:0.001` | the links to which an imported file gives this error rate, both directions |
/// | `cable:tor:0/up:3` ... | any of these, both directions of each |
///
/// A name with a direction (`/up`, `/down`, `->`) means that direction wherever it stands. The others name cables: what
/// is measured of a cable is the direction in the table, what breaks is both.
///
/// | form | switches |
/// |---|---|
/// | `tor:3`, `spine:1` | one switch |
/// | `spine:5%` | that share of a tier (rounded, at least one) |
///
/// Shares and numbers are picked at random, distinct cables or switches.
///
/// With 2 tiers they are `tor` and `spine`; with 3 `tor`, `agg` and `core`; above that `tier4` and so on. Across
/// data centres they are `tor`, `leaf` and `esw`: `esw:0/up:0` is the long link of data centre 0 to the next one.
/// `switch:7` counts through all tiers, and `node:130` takes the number of an imported file.
#[derive(Clone, Debug, PartialEq)]
pub struct Selector {
    text: String,
    /// `cable:` stands in front of the form.
    cable: bool,
    form: Form,
}

/// A selector that cannot be read, or names what a topology does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{selector:?}: {problem}")]
pub struct SelectorError {
    /// The selector as written.
    pub selector: String,
    /// What is wrong and what would fit.
    pub problem: String,
}

#[derive(Clone, Debug, PartialEq)]
enum Form {
    All,
    Host(u32),
    HostLinks(Amount),
    Uplinks(Kind, Amount),
    Ports { switch: (Kind, u32), up: bool, port: Option<u32> },
    Between(u32, u32),
    ErrorRate(f64),
    Switch(Kind, u32),
    Switches(Kind, f64),
}

/// The most error rates that an error lists.
const MOST_RATES_LISTED: usize = 8;

/// Stands in front of a name of links where both directions of each are meant.
const CABLE: &str = "cable:";

/// What a switch is counted among.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Tor,
    /// The top of two tiers.
    Spine,
    /// The middle of three tiers.
    Agg,
    Core,
    /// The middle tier of a data centre beside others.
    Leaf,
    /// The external switches, which join data centres.
    Esw,
    Tier(u8),
    /// All switches.
    Switch,
    /// The numbers of an imported file.
    Node,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Amount {
    All,
    Count(u32),
    Percent(f64),
}

impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Selector, SelectorError> {
        let trimmed = text.trim();
        let of_cable = trimmed.strip_prefix(CABLE);
        match parse(of_cable.unwrap_or(trimmed).trim()) {
            Ok(Form::Switch(..) | Form::Switches(..)) if of_cable.is_some() => {
                let problem = format!("a cable is named by a link; write \"{CABLE}tor:0/up:0\"");
                Err(SelectorError { selector: text.to_owned(), problem })
            }
            Ok(form) => Ok(Selector { text: trimmed.to_owned(), cable: of_cable.is_some(), form }),
            Err(problem) => Err(SelectorError { selector: text.to_owned(), problem }),
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Selector {
    /// Reads a selector.
    ///
    /// # Errors
    /// When it has none of the forms; the error lists them.
    pub fn parse(text: &str) -> Result<Selector, SelectorError> {
        text.parse()
    }

    /// Whether it names cables, and no direction of them.
    pub fn names_cables(&self) -> bool {
        self.cable || !matches!(self.form, Form::Ports { .. } | Form::Between(..))
    }

    /// The directed links that it names in `topology`, ascending and distinct. Links of a tier are given in
    /// their upward direction, unless `cable:` asks for both. Only forms with a share or a number draw from `random`; they pick distinct
    /// cables.
    ///
    /// # Errors
    /// When the topology has no such link, or the selector names switches.
    pub fn links(&self, topology: &Topology, random: &mut Stream) -> Result<Vec<LinkId>, SelectorError> {
        let links = match &self.form {
            Form::All => Ok((0..topology.links()).map(LinkId).collect()),
            Form::Host(host) if *host < topology.hosts => Ok(vec![topology.link(NodeId(*host), 0)]),
            Form::Host(host) => Err(out_of_range("host", *host, topology.hosts)),
            Form::HostLinks(amount) => {
                let uplinks: Vec<LinkId> = (0..topology.hosts).map(|h| topology.link(NodeId(h), 0)).collect();
                pick(uplinks, *amount, "host links", random)
            }
            Form::Uplinks(kind, amount) => uplinks(topology, *kind, *amount, random),
            Form::Ports { switch: (kind, index), up, port } => ports(topology, *kind, *index, *up, *port),
            Form::Between(a, b) => between(topology, *a, *b),
            Form::ErrorRate(rate) => with_error_rate(topology, *rate),
            Form::Switch(..) | Form::Switches(..) => {
                Err("this names a switch, but links are wanted".to_owned())
            }
        };
        let mut links = links.map_err(|problem| self.refused(problem, topology, true))?;
        if self.cable {
            links.extend(links.clone().iter().map(|&link| topology.reverse(link)));
            links.sort_unstable();
            links.dedup();
        }
        Ok(links)
    }

    /// The switches that it names in `topology`, ascending and distinct. Only `spine:5%` draws from `random`.
    ///
    /// # Errors
    /// When the topology has no such switch, or the selector names links.
    pub fn switches(&self, topology: &Topology, random: &mut Stream) -> Result<Vec<NodeId>, SelectorError> {
        let switches = match self.form {
            Form::Switch(kind, index) => switch(topology, kind, index).map(|node| vec![node]),
            Form::Switches(kind, percent) => members(topology, kind)
                .and_then(|all| pick(all, Amount::Percent(percent), "switches", random)),
            _ => Err("this names links, but a switch is wanted".to_owned()),
        };
        switches.map_err(|problem| self.refused(problem, topology, false))
    }

    /// The error, with what to write instead on this topology where the problem does not say it.
    fn refused(&self, mut problem: String, topology: &Topology, links: bool) -> SelectorError {
        if let (false, Some(near)) = (problem.contains("; write "), self.nearest(topology, links)) {
            let cable = if self.cable && links { CABLE } else { "" };
            problem.push_str(&format!("; write \"{cable}{near}\""));
        }
        SelectorError { selector: self.text.clone(), problem }
    }

    /// What `topology` has that comes next to what this names: links or switches, as they are wanted.
    fn nearest(&self, topology: &Topology, links: bool) -> Option<String> {
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
            _ if !links => Some(topology.node_name(nearest_switch(topology, Kind::Tor, 0)?)),
            Form::Host(_) => Some(format!("host:{}", topology.hosts - 1)),
            Form::Switch(kind, index) => side_of(nearest_switch(topology, kind, index)?, true, None),
            Form::Ports { switch: (kind, index), up, port } => {
                let node = nearest_switch(topology, kind, index)
                    .or_else(|| nearest_switch(topology, Kind::Tor, 0))?;
                side_of(node, up, port)
            }
            Form::Switches(kind, _) => Some(uplinks(nearest_tier(topology, kind), &amount)),
            // The number may be what is wrong.
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

fn parse(text: &str) -> Result<Form, String> {
    let unknown = || format!("this is no form of selector; the forms are {FORMS}");
    if text == "all" {
        return Ok(Form::All);
    }
    if let Some((from, to)) = text.split_once("->") {
        let node = |part: &str| -> Result<u32, String> {
            let number = part.trim().strip_prefix("node:").ok_or_else(unknown)?;
            parse_index(number)
        };
        return Ok(Form::Between(node(from)?, node(to)?));
    }
    if let Some(rate) = text.strip_prefix(ERROR_RATE) {
        return match rate.trim().parse::<f64>() {
            Ok(rate) if rate > 0.0 && rate <= 1.0 => Ok(Form::ErrorRate(rate)),
            _ => {
                Err(format!("{rate:?} is no error rate; write one above 0 and at most 1, as the file has it"))
            }
        };
    }
    if let Some((switch, side)) = text.split_once('/') {
        let (word, index) = switch.split_once(':').ok_or_else(unknown)?;
        let kind = parse_kind(word).ok_or_else(unknown)?;
        let (side, port) = match side.split_once(':') {
            Some((side, port)) => (side, Some(parse_index(port)?)),
            None => (side, None),
        };
        let up = match side {
            "up" => true,
            "down" => false,
            _ => return Err(unknown()),
        };
        return Ok(Form::Ports { switch: (kind, parse_index(index)?), up, port });
    }
    let (word, rest) = match text.split_once(':') {
        Some((word, rest)) => (word, Some(rest)),
        None => (text, None),
    };
    if word == "host-links" {
        return Ok(Form::HostLinks(parse_amount(rest)?));
    }
    if let Some(kind) = word.strip_suffix("-uplinks").and_then(parse_kind) {
        if kind == Kind::Node {
            return Err(unknown());
        }
        return Ok(Form::Uplinks(kind, parse_amount(rest)?));
    }
    let rest = rest.ok_or_else(unknown)?;
    if word == "host" {
        return Ok(Form::Host(parse_index(rest)?));
    }
    let kind = parse_kind(word).ok_or_else(unknown)?;
    match rest.strip_suffix('%') {
        Some(_) if kind == Kind::Node => Err(unknown()),
        Some(percent) => Ok(Form::Switches(kind, parse_percent(percent)?)),
        None => Ok(Form::Switch(kind, parse_index(rest)?)),
    }
}

fn parse_kind(word: &str) -> Option<Kind> {
    Some(match word {
        "tor" => Kind::Tor,
        "spine" => Kind::Spine,
        "agg" => Kind::Agg,
        "core" => Kind::Core,
        "leaf" => Kind::Leaf,
        "esw" => Kind::Esw,
        "switch" => Kind::Switch,
        "node" => Kind::Node,
        _ => Kind::Tier(word.strip_prefix("tier")?.parse().ok().filter(|tier| *tier > 0)?),
    })
}

fn parse_index(text: &str) -> Result<u32, String> {
    text.trim().parse().map_err(|_| format!("{text:?} is not a number from 0; the forms are {FORMS}"))
}

fn parse_amount(text: Option<&str>) -> Result<Amount, String> {
    let Some(text) = text else { return Ok(Amount::All) };
    if let Some(percent) = text.strip_suffix('%') {
        let percent = parse_percent(percent)?;
        return Ok(if percent < 100.0 { Amount::Percent(percent) } else { Amount::All });
    }
    match text.trim().parse() {
        Ok(0) => Err("0 links are no selection; write at least 1".to_owned()),
        Ok(count) => Ok(Amount::Count(count)),
        Err(_) => Err(format!("{text:?} is neither a number of links nor a share such as 3%")),
    }
}

fn parse_percent(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent),
        _ => Err(format!("{text:?} % is no share; write one above 0% and at most 100%")),
    }
}

/// The tier that a word means in `topology`, or `None` when it has no such tier.
fn tier_of(topology: &Topology, kind: Kind) -> Option<u8> {
    let (top, sites) = (topology.top_tier(), topology.has_sites());
    let tier = match kind {
        Kind::Tor => 1,
        Kind::Leaf if sites => 2,
        Kind::Esw if sites => 3,
        Kind::Spine if top == 2 && !sites => 2,
        Kind::Agg if top > 2 && !sites => 2,
        Kind::Core if !sites => 3,
        Kind::Tier(tier) => tier,
        Kind::Spine | Kind::Agg | Kind::Core | Kind::Leaf | Kind::Esw | Kind::Switch | Kind::Node => {
            return None;
        }
    };
    (tier <= top).then_some(tier)
}

/// The tier of `topology` that comes next to what a word means elsewhere.
fn nearest_tier(topology: &Topology, kind: Kind) -> Option<u8> {
    let top = topology.top_tier();
    tier_of(topology, kind).or(match kind {
        Kind::Node | Kind::Switch => None,
        // Some say leaf and spine for what is here tor and spine.
        Kind::Tor | Kind::Leaf => Some(1),
        Kind::Agg => Some(top.min(2)),
        Kind::Spine | Kind::Core | Kind::Esw => Some(top),
        Kind::Tier(tier) => Some(tier.min(top)),
    })
}

/// The switch of `topology` that comes next to one that a selector names.
fn nearest_switch(topology: &Topology, kind: Kind, index: u32) -> Option<NodeId> {
    let range = match kind {
        Kind::Switch => 0..topology.switches.len(),
        _ => topology.tier_range(nearest_tier(topology, kind)?),
    };
    let place = range.start.saturating_add(index as usize).min(range.end.checked_sub(1)?);
    Some(NodeId(topology.hosts + place as u32))
}

/// All switches that `kind` counts.
fn members(topology: &Topology, kind: Kind) -> Result<Vec<NodeId>, String> {
    let range = match (kind, tier_of(topology, kind)) {
        (Kind::Switch | Kind::Node, _) => 0..topology.switches.len(),
        (_, Some(tier)) => topology.tier_range(tier),
        (_, None) => {
            let words: Vec<String> = (1..=topology.top_tier()).map(|t| topology.tier_word(t)).collect();
            return Err(format!("this topology has no such switches; it has {}", words.join(", ")));
        }
    };
    Ok(range.map(|i| NodeId(topology.hosts + i as u32)).collect())
}

fn switch(topology: &Topology, kind: Kind, index: u32) -> Result<NodeId, String> {
    let members = members(topology, kind)?;
    if kind == Kind::Node {
        return match file_node(topology, index)? {
            node if node.0 >= topology.hosts => Ok(node),
            _ => Err(format!("node {index} is a host, not a switch")),
        };
    }
    members.get(index as usize).copied().ok_or_else(|| {
        let word = tier_of(topology, kind).map_or("switch".to_owned(), |tier| topology.tier_word(tier));
        out_of_range(&word, index, members.len() as u32)
    })
}

/// The node to which an imported file gave the number `id`.
fn file_node(topology: &Topology, id: u32) -> Result<NodeId, String> {
    if topology.host_file_ids.is_empty() {
        return Err("only a topology from an ns-3 file has node numbers; write tor:0 or host:0".to_owned());
    }
    let host = topology.host_by_file_id(id).map(NodeId::from);
    let switch = || {
        let position = topology.switches.iter().position(|s| s.file_id == Some(id))?;
        Some(NodeId(topology.hosts + position as u32))
    };
    host.or_else(switch).ok_or_else(|| out_of_range("node", id, topology.nodes()))
}

fn uplinks(
    topology: &Topology,
    kind: Kind,
    amount: Amount,
    random: &mut Stream,
) -> Result<Vec<LinkId>, String> {
    let mut links = Vec::new();
    for node in members(topology, kind)? {
        links.extend(ports_of(topology, node, true).map(LinkId));
    }
    if links.is_empty() {
        return Err("these switches have no links upwards".to_owned());
    }
    if amount != Amount::All {
        // A cable between two switches of the tier is up for both: take it once.
        links.retain(|&link| {
            let tier = |node| topology.switch(node).map(|s| s.tier);
            let level = tier(topology.source(link)) == tier(topology.ports[link.index()].peer);
            !level || link < topology.reverse(link)
        });
    }
    pick(links, amount, "uplinks", random)
}

fn ports(
    topology: &Topology,
    kind: Kind,
    index: u32,
    up: bool,
    port: Option<u32>,
) -> Result<Vec<LinkId>, String> {
    let node = switch(topology, kind, index)?;
    let links = ports_of(topology, node, up);
    let side = side_name(topology, node, up);
    if links.is_empty() {
        return Err(format!("there is no {side}: the switch has no such links"));
    }
    match port {
        None => Ok(links.map(LinkId).collect()),
        Some(port) if port < links.len() as u32 => Ok(vec![LinkId(links.start + port)]),
        Some(port) => Err(out_of_range(&side, port, links.len() as u32)),
    }
}

/// The links that leave `node` upwards (or to a switch of its tier), or downwards.
fn ports_of(topology: &Topology, node: NodeId, up: bool) -> Range<u32> {
    let all = topology.links_of(node);
    let middle = all.start + u32::from(topology.down_ports(node));
    if up { middle..all.end } else { all.start..middle }
}

fn side_name(topology: &Topology, node: NodeId, up: bool) -> String {
    format!("{}/{}", topology.node_name(node), if up { "up" } else { "down" })
}

fn between(topology: &Topology, from: u32, to: u32) -> Result<Vec<LinkId>, String> {
    let (node, peer) = (file_node(topology, from)?, file_node(topology, to)?);
    let links: Vec<LinkId> =
        topology.links_of(node).filter(|&l| topology.ports[l as usize].peer == peer).map(LinkId).collect();
    if links.is_empty() {
        return Err(format!("there is no link from node {from} to node {to}"));
    }
    Ok(links)
}

/// Both directions of the links to which an imported file gives this error rate.
fn with_error_rate(topology: &Topology, rate: f64) -> Result<Vec<LinkId>, String> {
    let all = &topology.error_rates;
    if let Some(rate) = all.get(rate) {
        return Ok(rate.links.clone());
    }
    if all.is_empty() {
        return Err("no file gives links of this topology an error rate".to_owned());
    }
    let rates: Vec<String> =
        all.iter().take(MOST_RATES_LISTED).map(|rate| rate.probability.to_string()).collect();
    let more = if all.iter().len() > MOST_RATES_LISTED { " and others" } else { "" };
    Err(format!("no link has this error rate; the file gives {}{more}", rates.join(", ")))
}

/// Picks that many of `all` (ascending and distinct), at random.
fn pick<T: Ord>(mut all: Vec<T>, amount: Amount, what: &str, random: &mut Stream) -> Result<Vec<T>, String> {
    let count = match amount {
        Amount::All => return Ok(all),
        Amount::Count(count) if count as usize <= all.len() => count as usize,
        Amount::Count(count) => {
            return Err(format!("{count} {what} are more than there are; write 1 to {}", all.len()));
        }
        // To the nearest whole number; at most all of them, since a share is at most 100 %.
        Amount::Percent(percent) => ((percent * all.len() as f64 / 100.0 + 0.5) as usize).max(1),
    };
    random.shuffle(&mut all);
    all.truncate(count);
    all.sort_unstable();
    Ok(all)
}

fn out_of_range(what: &str, index: u32, count: u32) -> String {
    format!("there is no {what}:{index}; they are {what}:0 to {what}:{}", count - 1)
}

#[cfg(test)]
mod tests {
    use super::super::{build, fat_tree_defaults, parse_ns3};
    use super::*;
    use crate::TopologySpec;
    use anabranch_base::{Duration, Purpose, Rate, stream};
    use proptest::prelude::*;

    fn tree(hosts: u32, tiers: u32) -> Topology {
        let (link, ns) = (Rate::from_gbps(400), Duration::from_ns(1));
        let (tier, pod_hosts) = fat_tree_defaults(hosts, tiers, 1, None, link, ns, ns).unwrap();
        build(&TopologySpec::FatTree { hosts, tier, pod_hosts }, None).unwrap()
    }

    fn graph() -> Topology {
        let text = "6 3 6\n2 3 5\n0 2 1Gbps 1ns 0\n1 2 1Gbps 1ns 0\n4 3 1Gbps 1ns 0\n\
                    2 3 1Gbps 1ns 0\n2 3 1Gbps 1ns 0\n3 5 1Gbps 1ns 0\n";
        parse_ns3("g", text, Duration::ZERO).unwrap()
    }

    fn links(t: &Topology, text: &str) -> Result<Vec<String>, String> {
        let mut random = stream(1, 0, Purpose::FaultSelection);
        let selector = Selector::parse(text).map_err(|e| e.to_string())?;
        let links = selector.links(t, &mut random).map_err(|e| e.to_string())?;
        assert!(links.is_sorted_by(|a, b| a < b), "{text}: {links:?}");
        Ok(links.into_iter().map(|l| t.link_name(l)).collect())
    }

    fn switches(t: &Topology, text: &str) -> Result<Vec<String>, String> {
        let mut random = stream(1, 0, Purpose::FaultSelection);
        let selector = Selector::parse(text).map_err(|e| e.to_string())?;
        let nodes = selector.switches(t, &mut random).map_err(|e| e.to_string())?;
        Ok(nodes.into_iter().map(|n| t.node_name(n)).collect())
    }

    #[test]
    fn forms_that_name_links() {
        let (two, three, g) = (tree(32, 2), tree(128, 3), graph());
        let got = |t, text| links(t, text).unwrap();
        assert_eq!(got(&two, "tor:0/up"), ["tor:0/up:0", "tor:0/up:1", "tor:0/up:2", "tor:0/up:3"]);
        assert_eq!(got(&two, " tor:7/up:3 "), ["tor:7/up:3"]);
        assert_eq!(got(&two, "tor:0/down:1"), ["tor:0/down:1"]);
        assert_eq!(got(&two, "spine:2/down:4"), ["spine:2/down:4"]);
        assert_eq!(got(&two, "switch:10/down:4"), ["spine:2/down:4"]);
        assert_eq!(got(&two, "tier2:2/down:4"), ["spine:2/down:4"]);
        assert_eq!(got(&two, "host:5"), ["host:5"]);
        assert_eq!(got(&two, "tor-uplinks").len(), 32);
        assert_eq!(got(&two, "host-links").len(), 32);
        assert_eq!(got(&two, "all").len(), 128);
        assert_eq!(got(&three, "agg:31/up:3"), ["agg:31/up:3"]);
        assert_eq!(got(&three, "core:15/down").len(), 8);
        assert_eq!(got(&three, "agg-uplinks").len(), 128);
        assert_eq!(got(&g, "node:2->node:3"), ["tor:0/up:0", "tor:0/up:1"]);
        assert_eq!(got(&g, "node:3 -> node:4"), ["tor:1/down:0"]);
        assert_eq!(got(&g, "node:4->node:3"), ["host:2"]);
        assert_eq!(got(&g, "node:3/up"), ["tor:1/up:0", "tor:1/up:1", "tor:1/up:2"]);
        assert_eq!(got(&g, "tor-uplinks").len(), 5);
        let cables = got(&g, "tor-uplinks:3");
        assert_eq!(cables, ["tor:0/up:0", "tor:0/up:1", "tor:1/up:2"], "each cable once");
    }

    #[test]
    fn an_error_rate_names_the_links_to_which_the_file_gives_it() {
        let text = "4 2 3\n2 3\n0 2 1Gbps 1ns 0.001\n1 3 1Gbps 1ns 0\n2 3 1Gbps 1ns 1e-3\n";
        let lossy = parse_ns3("g", text, Duration::ZERO).unwrap();
        assert_eq!(
            links(&lossy, "error-rate:0.001").unwrap(),
            ["host:0", "tor:0/down:0", "tor:0/up:0", "tor:1/up:0"]
        );
        let error = links(&lossy, "error-rate:0.01").unwrap_err();
        assert!(error.contains("the file gives 0.001; write \"error-rate:0.001\""), "{error}");
        let error = links(&graph(), "error-rate:0.01").unwrap_err();
        assert!(
            error.contains("no file gives links of this topology an error rate; write \"tor-uplinks\""),
            "{error}"
        );
        for wrong in ["error-rate:0", "error-rate:2", "error-rate:x"] {
            assert!(
                links(&lossy, wrong).unwrap_err().contains("is no error rate; write one above 0"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_cable_is_both_directions_and_a_name_with_a_direction_is_that_one() {
        let (two, g) = (tree(32, 2), graph());
        let got = |t, text| links(t, text).unwrap();
        assert_eq!(got(&two, "cable:tor:0/up:3"), ["tor:0/up:3", "spine:3/down:0"]);
        assert_eq!(got(&two, "cable:spine:3/down:0"), ["tor:0/up:3", "spine:3/down:0"]);
        assert_eq!(got(&two, "cable: host:5"), ["host:5", "tor:1/down:1"]);
        assert_eq!(got(&two, "cable:tor-uplinks:3").len(), 6);
        assert_eq!(got(&two, "cable:all"), got(&two, "all"));
        assert_eq!(got(&g, "cable:node:2->node:3").len(), 4);
        let cables = |text: &str| Selector::parse(text).unwrap().names_cables();
        for text in ["cable:tor:0/up:3", "tor-uplinks", "tor-uplinks:3%", "host:5", "host-links", "all"] {
            assert!(cables(text), "{text}");
        }
        assert!(["tor:0/up", "spine:2/down:4", "node:2->node:3"].iter().all(|text| !cables(text)));
        let wrong = links(&two, "cable:tor:0/up:9").unwrap_err();
        assert!(wrong.ends_with("write \"cable:tor:0/up:3\""), "{wrong}");
        let switch = links(&two, "cable:tor:0").unwrap_err();
        assert!(switch.ends_with("a cable is named by a link; write \"cable:tor:0/up:0\""), "{switch}");
    }

    #[test]
    fn shares_and_numbers_pick_distinct_cables_by_the_stream_alone() {
        let t = tree(128, 2);
        let pick = |text: &str, seed| {
            let mut random = stream(seed, 0, Purpose::FaultSelection);
            Selector::parse(text).unwrap().links(&t, &mut random).unwrap()
        };
        assert_eq!(pick("tor-uplinks:3%", 1).len(), 4, "3.84 of 128");
        assert_eq!(pick("tor-uplinks:0.1%", 1).len(), 1, "at least one");
        assert_eq!(pick("tor-uplinks:100%", 1), pick("tor-uplinks", 1));
        assert_eq!(pick("tor-uplinks:20", 7), pick("tor-uplinks:20", 7));
        assert_ne!(pick("tor-uplinks:20", 7), pick("tor-uplinks:20", 8));
        assert_eq!(pick("host-links:50%", 1).len(), 64);
        let mut seen: Vec<LinkId> = (0..200).flat_map(|seed| pick("tor-uplinks:10", seed)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 128, "every cable comes up at some seed");
    }

    #[test]
    fn forms_that_name_switches() {
        let (two, three, g) = (tree(32, 2), tree(128, 3), graph());
        assert_eq!(switches(&two, "tor:3").unwrap(), ["tor:3"]);
        assert_eq!(switches(&two, "spine:1").unwrap(), ["spine:1"]);
        assert_eq!(switches(&two, "switch:9").unwrap(), ["spine:1"]);
        assert_eq!(switches(&two, "spine:5%").unwrap().len(), 1);
        assert_eq!(switches(&two, "tor:50%").unwrap().len(), 4);
        assert_eq!(switches(&three, "agg:3").unwrap(), ["agg:3"]);
        assert_eq!(switches(&g, "node:5").unwrap(), ["spine:0"]);
    }

    fn single() -> Topology {
        let single = TopologySpec::SingleSwitch {
            hosts: 2,
            link: Rate::from_gbps(1),
            link_latency: Duration::ZERO,
            switch_latency: Duration::ZERO,
        };
        build(&single, None).unwrap()
    }

    #[test]
    fn errors_say_the_forms_or_the_range() {
        let (two, three, g, single) = (tree(32, 2), tree(128, 3), graph(), single());
        let cases = [
            (&two, "tor:9/up", "\"tor:9/up\": there is no tor:9; they are tor:0 to tor:7"),
            (&two, "tor:0/up:4", "\"tor:0/up:4\": there is no tor:0/up:4; they are tor:0/up:0 to tor:0/up:3"),
            (&two, "host:32", "\"host:32\": there is no host:32; they are host:0 to host:31"),
            (&two, "agg:0/up", "\"agg:0/up\": this topology has no such switches; it has tor, spine"),
            (
                &three,
                "spine-uplinks",
                "\"spine-uplinks\": this topology has no such switches; it has tor, agg, core",
            ),
            (&two, "spine-uplinks", "\"spine-uplinks\": these switches have no links upwards"),
            (&two, "spine:0/up", "\"spine:0/up\": there is no spine:0/up"),
            (
                &two,
                "tor:9/up:7",
                "\"tor:9/up:7\": there is no tor:9; they are tor:0 to tor:7; write \"tor:7/up:3\"",
            ),
            (
                &two,
                "spine:0/up:1",
                "\"spine:0/up:1\": there is no spine:0/up: the switch has no such links; write \"spine:0/down:1\"",
            ),
            (
                &two,
                "core-uplinks:3%",
                "\"core-uplinks:3%\": this topology has no such switches; it has tor, spine; write \"tor-uplinks:3%\"",
            ),
            (
                &two,
                "leaf:2/up",
                "\"leaf:2/up\": this topology has no such switches; it has tor, spine; write \"tor:2/up\"",
            ),
            (
                &two,
                "host:99",
                "\"host:99\": there is no host:99; they are host:0 to host:31; write \"host:31\"",
            ),
            (&two, "tor-uplinks:33", "\"tor-uplinks:33\": 33 uplinks are more than there are; write 1 to 32"),
            (&two, "tor-uplinks:0", "\"tor-uplinks:0\": 0 links are no selection"),
            (&two, "tor-uplinks:0%", "\"tor-uplinks:0%\": \"0\" % is no share"),
            (&two, "tor-uplinks:101%", "\"tor-uplinks:101%\": \"101\" % is no share"),
            (&two, "tor-uplinks:NaN%", "\"tor-uplinks:NaN%\": \"NaN\" % is no share"),
            (&two, "tor-uplinks:x", "\"tor-uplinks:x\": \"x\" is neither a number of links nor a share"),
            (&two, "tor:3", "\"tor:3\": this names a switch, but links are wanted; write \"tor:3/up\""),
            (&two, "tor:99", "\"tor:99\": this names a switch, but links are wanted; write \"tor:7/up\""),
            (
                &two,
                "spine:100%",
                "\"spine:100%\": this names a switch, but links are wanted; write \"tor-uplinks:100%\"",
            ),
            (
                &two,
                "core-uplinks:500",
                "\"core-uplinks:500\": this topology has no such switches; it has tor, spine; write \"tor-uplinks:1\"",
            ),
            (
                &single,
                "tor-uplinks:3%",
                "\"tor-uplinks:3%\": these switches have no links upwards; write \"host-links:3%\"",
            ),
            (
                &single,
                "cable:tor-uplinks:3%",
                "\"cable:tor-uplinks:3%\": these switches have no links upwards; write \"cable:host-links:3%\"",
            ),
            (
                &single,
                "cable:tor-uplinks",
                "\"cable:tor-uplinks\": these switches have no links upwards; write \"cable:host-links\"",
            ),
            (&two, "node:1->node:2", "\"node:1->node:2\": only a topology from an ns-3 file"),
            (&g, "node:1->node:4", "\"node:1->node:4\": there is no link from node 1 to node 4"),
            (&g, "node:9->node:4", "\"node:9->node:4\": there is no node:9; they are node:0 to node:5"),
            (&g, "node:0/up", "\"node:0/up\": node 0 is a host"),
            (&single, "tor-uplinks", "\"tor-uplinks\": these switches have no links upwards"),
        ];
        for (t, text, expected) in cases {
            let got = links(t, text).unwrap_err();
            assert!(got.starts_with(expected), "{text}: {got}");
        }
        for text in
            ["", "tor", "tor:0/sideways", "rack:0/up", "tor:x", "uplinks", "node:1->2", "tier0:1", "tor:-1"]
        {
            let got = links(&two, text).unwrap_err();
            assert!(got.contains("forms are links: tor:0/up"), "{text}: {got}");
        }
        assert!(switches(&two, "tor:0/up").unwrap_err().ends_with("a switch is wanted; write \"tor:0\""));
        assert!(switches(&two, "tor:8").unwrap_err().contains("they are tor:0 to tor:7"));
        assert!(switches(&g, "node:0").unwrap_err().contains("node 0 is a host"));
    }

    #[test]
    fn every_link_and_switch_reads_back_from_its_name() {
        let mut random = stream(1, 0, Purpose::FaultSelection);
        for t in [tree(32, 2), tree(128, 3), graph()] {
            for link in (0..t.links()).map(LinkId) {
                let selector = Selector::parse(&t.link_name(link)).unwrap();
                assert_eq!(selector.links(&t, &mut random), Ok(vec![link]), "{selector}");
            }
            for node in (t.hosts..t.nodes()).map(NodeId) {
                let selector = Selector::parse(&t.node_name(node)).unwrap();
                assert_eq!(selector.switches(&t, &mut random), Ok(vec![node]), "{selector}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in prop_oneof![
            "\\PC*",
            "(cable:)?(tor|spine|host|node|switch|tier[0-9]{1,3}|host-links|(tor|spine|core|esw)-uplinks|core)\
             [:/]?[0-9]{0,11}[%:/]?(up|down|->node:)?:?[0-9]{0,3}"
        ]) {
            let mut random = stream(1, 0, Purpose::FaultSelection);
            if let Ok(selector) = Selector::parse(&text) {
                for t in [tree(32, 2), graph(), single()] {
                    // What is offered instead is there.
                    let offered = |error: SelectorError| {
                        let (_, near) = error.problem.rsplit_once("; write \"")?;
                        Some(Selector::parse(near.trim_end_matches('"')).unwrap())
                    };
                    if let Some(near) = selector.links(&t, &mut random).err().and_then(offered) {
                        prop_assert!(near.links(&t, &mut random).is_ok(), "{near}");
                    }
                    if let Some(near) = selector.switches(&t, &mut random).err().and_then(offered) {
                        prop_assert!(near.switches(&t, &mut random).is_ok(), "{near}");
                    }
                }
            }
        }
    }
}
