//! Names of links and switches in scenarios: `tor:0/up:3`, `tor-uplinks:3%`, `spine:1`.

pub(crate) mod cluster;
pub(crate) mod lookup;
mod nearest;
mod parse;
mod part;
mod suggestion;

use super::Topology;
use anabranch_base::{Fix, LinkId, NodeId, Problem, Stream};
use cluster::{host_links, nic_links, plane_links, rail_links, rail_tors, server_links};
use lookup::{between, members, pick, ports, switch, uplinks, with_error_rate};
use parse::parse;
use std::fmt;
use std::str::FromStr;

/// The name of links or switches of a topology in a scenario.
///
/// | form | links |
/// |---|---|
/// | `tor:0/up`, `tor:0/down` | all links that leave ToR 0 upwards (or to a switch of the same tier), or downwards |
/// | `tor:0/up:3`, `spine:2/down:4` | one of these links, numbered from 0 |
/// | `host:5` | the uplink of host 5, or its uplinks if it has several ports |
/// | `host:5/port:1` | the uplink of one port of a host |
/// | `server:3`, `server:3/nic:2`, `server:3/nic:2/port:1` | the uplinks of all NICs of a server, of one NIC, or of one port |
/// | `rail:3` | the uplinks of the NICs with this number in their servers |
/// | `tor-uplinks`, `agg-uplinks` ... | the links of `/up` of all switches of a tier |
/// | `host-links`, `nic-links` | the uplinks of all hosts |
/// | `nic-links:plane:1` | the uplinks in plane 1 of all hosts |
/// | `plane:2` | all links of a plane, in both directions |
/// | `plane:2/tor:0/up`, `plane:2/tor-uplinks` ... | the links of switches, which are numbered within the plane |
/// | `tor-uplinks:3%`, `tor-uplinks:4` | this share of the cables (rounded, at least one; 100 % is every link), or this number of them |
/// | `all` | all links, in both directions |
/// | `node:128->node:130` | the links from one node to the other, by the numbers of an imported file |
/// | `error-rate:0.001` | the links to which an imported file gives this error rate, in both directions |
/// | `cable:tor:0/up:3` ... | both directions of the links that the rest of the name selects |
///
/// A form with a direction (`/up`, `/down`, `->`) names only that direction. A fault that takes links down or makes
/// them flap still affects both directions by default. The forms without a direction name cables. For these forms, a
/// measure takes the direction in the table, and a fault takes both directions by default.
///
/// | form | switches |
/// |---|---|
/// | `tor:3`, `spine:1` | one switch |
/// | `spine:5%` | this share of a tier (rounded, at least one) |
/// | `plane:2/tor:0`, `plane:2/spine:5%` | switches of a plane, numbered within the plane |
/// | `plane:2` | all switches of a plane |
/// | `rail:3` | the ToRs that have only NICs of this rail |
///
/// Shares and numbers select distinct cables or switches at random.
///
/// The tiers are `tor` and `spine` in a fabric with two tiers, and `tor`, `agg`, `core`, `tier4` and so on in a fabric
/// with more tiers. In a fabric of several data centres the tiers are `tor`, `leaf` and `esw`: `esw:0/up:0` is the long
/// link of data centre 0 to the next one. `switch:7` counts through all tiers, and `node:130` is the number in an
/// imported file.
#[derive(Clone, Debug, PartialEq)]
pub struct Selector {
    text: String,
    /// Whether the form has the prefix `cable:`.
    cable: bool,
    form: Form,
}

/// The error for a selector that cannot be read, or that names nothing suitable in a topology.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{selector:?}: {problem}")]
pub struct SelectorError {
    /// The selector as written.
    pub selector: String,
    /// The problem, with a fix if one is known.
    pub problem: Problem,
}

#[derive(Clone, Debug, PartialEq)]
enum Form {
    All,
    Host(u32, Option<u32>),
    Server { server: u32, nic: Option<u32>, port: Option<u32> },
    Rail(u32),
    Plane(u32),
    HostLinks { plane: Option<u32>, amount: Amount },
    Uplinks(SwitchSet, Amount),
    Ports { switch: (SwitchSet, u32), up: bool, port: Option<u32> },
    Between(u32, u32),
    ErrorRate(f64),
    Switch(SwitchSet, u32),
    Switches(SwitchSet, f64),
}

/// The prefix of a link selector that selects both directions of each link.
const CABLE: &str = "cable:";

/// The set within which a selector numbers a switch: the switches of some kind, in one plane or in the whole fabric.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SwitchSet {
    kind: SetKind,
    plane: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum SetKind {
    Tor,
    /// The top of two tiers.
    Spine,
    /// The second of three or more tiers.
    Agg,
    Core,
    /// The middle tier of a data centre, in a fabric of several data centres.
    Leaf,
    /// The external switches, which connect data centres.
    Esw,
    Tier(u8),
    /// All switches, numbered through all tiers.
    Switch,
    /// The nodes by their numbers in an imported file.
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
                let problem =
                    Problem::with_value("a cable is named by a link", format_args!("\"{CABLE}tor:0/up:0\""));
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
    /// Whether the form is that of one or more switches, which are also the forms `plane:0` and `rail:0`.
    pub fn names_switches(&self) -> bool {
        self.names_only_switches() || matches!(self.form, Form::Plane(_) | Form::Rail(_))
    }

    /// Whether the selector names switches, and never links.
    pub fn names_only_switches(&self) -> bool {
        matches!(self.form, Form::Switch(..) | Form::Switches(..))
    }

    /// Reads a selector.
    ///
    /// # Errors
    /// The text has none of the forms, or a number or share that is out of its range.
    pub fn parse(text: &str) -> Result<Selector, SelectorError> {
        text.parse()
    }

    /// Whether the selector names cables rather than one direction of them.
    pub fn names_cables(&self) -> bool {
        self.cable || !matches!(self.form, Form::Ports { .. } | Form::Between(..))
    }

    /// The directed links that the selector names in `topology`, ascending and distinct. With the prefix `cable:`, both
    /// directions of each link are included. Only forms with a share or a number of cables, such as `tor-uplinks:4`,
    /// draw from `random`; they select distinct cables.
    ///
    /// # Errors
    /// The topology has no such link or not enough of them, or the selector names switches.
    pub fn links(&self, topology: &Topology, random: &mut Stream) -> Result<Vec<LinkId>, SelectorError> {
        let links = match &self.form {
            Form::All => Ok((0..topology.links()).map(LinkId).collect()),
            Form::Host(host, port) => host_links(topology, *host, *port),
            Form::Server { server, nic, port } => server_links(topology, *server, *nic, *port),
            Form::Rail(rail) => rail_links(topology, *rail),
            Form::Plane(plane) => plane_links(topology, *plane),
            Form::HostLinks { plane, amount } => {
                nic_links(topology, *plane).and_then(|links| pick(links, *amount, "host links", random))
            }
            Form::Uplinks(kind, amount) => uplinks(topology, *kind, *amount, random),
            Form::Ports { switch: (kind, index), up, port } => ports(topology, *kind, *index, *up, *port),
            Form::Between(a, b) => between(topology, *a, *b),
            Form::ErrorRate(rate) => with_error_rate(topology, *rate),
            Form::Switch(..) | Form::Switches(..) => Err("this names a switch, but links are wanted".into()),
        };
        let mut links = links.map_err(|problem| self.error(problem, topology, true))?;
        if self.cable {
            links.extend(links.clone().iter().map(|&link| topology.reverse(link)));
            links.sort_unstable();
            links.dedup();
        }
        Ok(links)
    }

    /// The switches that the selector names in `topology`, ascending and distinct. Only forms with a share, such as
    /// `spine:5%`, draw from `random`.
    ///
    /// # Errors
    /// The topology does not have such a switch, or the selector names links.
    pub fn switches(&self, topology: &Topology, random: &mut Stream) -> Result<Vec<NodeId>, SelectorError> {
        let switches = match self.form {
            Form::Plane(plane) => members(topology, SwitchSet { kind: SetKind::Switch, plane: Some(plane) }),
            Form::Rail(rail) => rail_tors(topology, rail),
            Form::Switch(kind, index) => switch(topology, kind, index).map(|node| vec![node]),
            Form::Switches(kind, percent) => members(topology, kind)
                .and_then(|all| pick(all, Amount::Percent(percent), "switches", random)),
            _ => Err("this names links, but a switch is wanted".into()),
        };
        switches.map_err(|problem| self.error(problem, topology, false))
    }

    /// The error for `problem`. If the problem has no fix, the nearest selector of this topology is added as the fix.
    fn error(&self, mut problem: Problem, topology: &Topology, links: bool) -> SelectorError {
        if problem.fix.is_none() {
            let cable = if self.cable && links { CABLE } else { "" };
            let near = self.nearest(topology, links);
            problem.fix = near.map(|near| Fix::value(format_args!("\"{cable}{near}\"")));
        }
        SelectorError { selector: self.text.clone(), problem }
    }
}

#[cfg(test)]
mod tests;
