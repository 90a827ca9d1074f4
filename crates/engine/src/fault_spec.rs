//! What a run is given of what breaks in it.

use anabranch_base::{Duration, LinkId, NodeId, Rate, Stream};
use anabranch_fabric::{ErrorRate, Selector, SelectorError, Topology};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Something that breaks, for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultSpec {
    /// What happens.
    #[serde(flatten)]
    pub kind: FaultKind,
    /// When it starts; each time when there are several.
    pub at: Several<Duration>,
    /// How long it lasts, each time; without it, to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
}

impl FaultSpec {
    /// The fault that stands for an error rate of a topology file: its links lose packets from the start to the end.
    pub fn of_error_rate(rate: &ErrorRate) -> FaultSpec {
        let kind = FaultKind::PacketLoss {
            links: rate.selector().into(),
            both_directions: None,
            probability: rate.probability,
        };
        FaultSpec { kind, at: Duration::ZERO.into(), duration: None }
    }

    /// Whether it is such a fault, of whatever topology file.
    pub fn is_of_error_rate(&self) -> bool {
        matches!(self.kind, FaultKind::PacketLoss { probability, .. }
            if *self == FaultSpec::of_error_rate(&ErrorRate { probability, lines: Vec::new() }))
    }

    /// Whether it says what the links lose to which a topology file gives this error rate, as the file does or otherwise.
    pub fn says_of(&self, rate: &ErrorRate) -> bool {
        matches!(&self.kind, FaultKind::PacketLoss { links, .. } if links.0.iter().any(|name| rate.is_named(name)))
    }

    /// The error rate of the topology's file that it stands for, if it does.
    pub fn error_rate<'t>(&self, topology: &'t Topology) -> Option<&'t ErrorRate> {
        topology.error_rates.iter().find(|rate| *self == FaultSpec::of_error_rate(rate))
    }
}

/// What happens to links or switches. Selectors: see [`anabranch_fabric::Selector`].
///
/// `both_directions` decides for all links of a fault. Without it each name decides: one with a direction (`tor:0/up:3`)
/// takes that direction, that of a cable (`cable:tor:0/up:3`, `tor-uplinks:3%`) both. Links that go down or flap do so in
/// both directions by default, as Ethernet links do: a port that receives no signal tells the other end (IEEE 802.3, link
/// fault signalling).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FaultKind {
    /// The links carry nothing and lose what is on them.
    LinkDown {
        /// Which links.
        links: Several<String>,
        /// Both directions of each cable, or only the selected one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        both_directions: Option<bool>,
    },
    /// The same, again and again.
    LinkFlap {
        /// Which links.
        links: Several<String>,
        /// Both directions of each cable, or only the selected one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        both_directions: Option<bool>,
        /// From one time that they go down to the next.
        period: Duration,
        /// How long they are down each time; less than the period.
        down_for: Duration,
    },
    /// The switches lose all that waits for their links, which are down; programs in them go on.
    SwitchDown {
        /// Which switches.
        switches: Several<String>,
    },
    /// The links run at another rate.
    Rate {
        /// Which links.
        links: Several<String>,
        /// Both directions of each cable, or only the selected one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        both_directions: Option<bool>,
        /// The rate meanwhile.
        rate: Rate,
    },
    /// Each packet is lost with this probability.
    PacketLoss {
        /// Which links.
        links: Several<String>,
        /// Both directions of each cable, or only the selected one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        both_directions: Option<bool>,
        /// Between 0 and 1.
        probability: f64,
    },
    /// The switches that send on the links drop each data packet with this probability, or trim it where they trim.
    /// What hosts send is left alone.
    SwitchLoss {
        /// Which links.
        links: Several<String>,
        /// Both directions of each cable, or only the selected one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        both_directions: Option<bool>,
        /// Between 0 and 1.
        probability: f64,
    },
    /// Each bit is wrong with this probability; a packet with a wrong bit is lost.
    BitErrors {
        /// Which links.
        links: Several<String>,
        /// Both directions of each cable, or only the selected one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        both_directions: Option<bool>,
        /// Between 0 and 1.
        probability: f64,
    },
}

/// What a fault takes on a fabric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Switches, ascending.
    pub switches: Vec<NodeId>,
    /// Directed links, ascending; those of the switches are among them.
    pub links: Vec<LinkId>,
}

impl FaultKind {
    /// Its name in scenarios.
    pub fn word(&self) -> &'static str {
        match self {
            FaultKind::LinkDown { .. } => "link-down",
            FaultKind::LinkFlap { .. } => "link-flap",
            FaultKind::SwitchDown { .. } => "switch-down",
            FaultKind::Rate { .. } => "rate",
            FaultKind::PacketLoss { .. } => "packet-loss",
            FaultKind::SwitchLoss { .. } => "switch-loss",
            FaultKind::BitErrors { .. } => "bit-errors",
        }
    }

    /// The links or switches as written, and whether both directions were asked for.
    pub fn names(&self) -> (&Several<String>, Option<bool>) {
        match self {
            FaultKind::SwitchDown { switches } => (switches, None),
            FaultKind::LinkDown { links, both_directions }
            | FaultKind::LinkFlap { links, both_directions, .. }
            | FaultKind::Rate { links, both_directions, .. }
            | FaultKind::PacketLoss { links, both_directions, .. }
            | FaultKind::SwitchLoss { links, both_directions, .. }
            | FaultKind::BitErrors { links, both_directions, .. } => (links, *both_directions),
        }
    }

    /// The probability that something is lost, where chance decides.
    pub fn probability(&self) -> Option<f64> {
        match self {
            FaultKind::PacketLoss { probability, .. }
            | FaultKind::SwitchLoss { probability, .. }
            | FaultKind::BitErrors { probability, .. } => Some(*probability),
            _ => None,
        }
    }

    /// Nothing breaks: a probability of 0, as at the first point of a sweep.
    pub fn is_nothing(&self) -> bool {
        self.probability() == Some(0.0)
    }

    /// What it takes on `topology`. Selectors with a share or a number draw from `random`.
    ///
    /// # Errors
    /// A selector that names nothing there.
    pub fn takes(&self, topology: &Topology, random: &mut Stream) -> Result<Taken, SelectorError> {
        let mut taken = Taken::default();
        let (names, both) = self.names();
        for name in &names.0 {
            let selector = name.parse::<Selector>()?;
            if let FaultKind::SwitchDown { .. } = self {
                taken.switches.extend(selector.switches(topology, random)?);
                continue;
            }
            let down = matches!(self, FaultKind::LinkDown { .. } | FaultKind::LinkFlap { .. });
            let links = selector.links(topology, random)?;
            if both.unwrap_or(down || selector.names_cables()) {
                taken.links.extend(links.iter().map(|&link| topology.reverse(link)));
            }
            taken.links.extend(links);
        }
        for &node in &taken.switches {
            let links = topology.links_of(node).map(LinkId);
            taken.links.extend(links.flat_map(|link| [link, topology.reverse(link)]));
        }
        if let FaultKind::SwitchLoss { .. } = self {
            taken.links.retain(|&link| topology.switch(topology.source(link)).is_some());
        }
        taken.switches.sort_unstable();
        taken.switches.dedup();
        taken.links.sort_unstable();
        taken.links.dedup();
        Ok(taken)
    }
}

/// `link-down cable:tor:0/up:0`.
impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.word(), self.names().0)
    }
}

/// One value, or several; one is written as itself, several as a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "OneOrList<T>", into = "OneOrList<T>", bound(serialize = "T: Clone + Serialize"))]
pub struct Several<T>(pub Vec<T>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum OneOrList<T> {
    One(T),
    List(Vec<T>),
}

impl<T> From<OneOrList<T>> for Several<T> {
    fn from(written: OneOrList<T>) -> Several<T> {
        match written {
            OneOrList::One(value) => Several(vec![value]),
            OneOrList::List(values) => Several(values),
        }
    }
}

impl<T> From<Several<T>> for OneOrList<T> {
    fn from(mut several: Several<T>) -> OneOrList<T> {
        match (several.0.len(), several.0.pop()) {
            (1, Some(value)) => OneOrList::One(value),
            (_, last) => {
                several.0.extend(last);
                OneOrList::List(several.0)
            }
        }
    }
}

impl<T> From<T> for Several<T> {
    fn from(value: T) -> Several<T> {
        Several(vec![value])
    }
}

impl From<&str> for Several<String> {
    fn from(value: &str) -> Several<String> {
        Several(vec![value.to_owned()])
    }
}

/// `tor:0/up, tor:1/up`.
impl<T: fmt::Display> fmt::Display for Several<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (slot, value) in self.0.iter().enumerate() {
            write!(f, "{}{value}", if slot > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}
