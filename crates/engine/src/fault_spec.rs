//! The faults of a run, as its specification lists them.

use anabranch_base::{Bytes, Duration, LinkId, NodeId, Problem, Rate, Stream};
use anabranch_fabric::{ErrorRate, Selector, SelectorError, Topology};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A fault of links, switches or hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultSpec {
    /// The kind of the fault, with its links, switches or hosts.
    #[serde(flatten)]
    pub kind: FaultKind,
    /// The time at which the fault begins, or several such times.
    pub at: Several<Duration>,
    /// The duration of the fault from each start on. Without a duration, the fault lasts until the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// The mean number of failures of each selected cable or switch per hour of simulated time in which it works.
    /// Failures are random from the time `at` on, and each lasts for the duration. Without this rate, there is one
    /// failure at each time of `at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_hour: Option<f64>,
}

impl FaultSpec {
    /// The fault that represents an error rate in a topology file: the links with this rate lose packets during the
    /// whole run.
    pub fn of_error_rate(rate: &ErrorRate) -> FaultSpec {
        let kind = FaultKind::PacketLoss {
            links: rate.selector().into(),
            both_directions: None,
            probability: rate.probability,
        };
        FaultSpec { kind, at: Duration::ZERO.into(), duration: None, per_hour: None }
    }

    /// The error rates of the topology file that this fault replaces. A packet-loss fault replaces the error rates by
    /// which it selects its links; other faults replace none.
    pub fn replaced_error_rates(&self) -> impl Iterator<Item = f64> {
        let names: &[String] = match &self.kind {
            FaultKind::PacketLoss { links, .. } => &links.0,
            _ => &[],
        };
        names.iter().filter_map(|name| ErrorRate::named_by(name))
    }

    /// Whether this fault represents an error rate of a topology file.
    pub fn is_of_error_rate(&self) -> bool {
        self.at == Duration::ZERO.into()
            && self.duration.is_none()
            && self.replaced_error_rates().eq(self.kind.probability())
    }

    /// The error rate of the topology's file that this fault represents, if there is one.
    pub fn error_rate<'t>(&self, topology: &'t Topology) -> Option<&'t ErrorRate> {
        let rate = topology.error_rates.get(self.kind.probability()?)?;
        (*self == FaultSpec::of_error_rate(rate)).then_some(rate)
    }
}

/// The kind of a fault, with its links, switches or hosts as selectors ([`anabranch_fabric::Selector`]).
///
/// `both_directions` applies to all links of a fault. Without it, links go down or flap in both directions, as
/// Ethernet links do: a port that receives no signal notifies the other end (IEEE 802.3, link fault signalling). For
/// other faults of links, each selector decides: a selector with a direction (`tor:0/up:3`) selects that direction
/// only, and a selector of cables (`cable:tor:0/up:3`, `tor-uplinks:3%`) selects both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FaultKind {
    /// The links carry nothing and lose the packets on them.
    LinkDown {
        /// The selectors of the links.
        links: Several<String>,
        /// Whether the fault affects both directions of each cable, or only the selected one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        both_directions: Option<bool>,
    },
    /// The links go down periodically.
    LinkFlap {
        /// The selectors of the links.
        links: Several<String>,
        /// Whether the fault affects both directions of each cable, or only the selected one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        both_directions: Option<bool>,
        /// The time from the start of one failure to the start of the next.
        period: Duration,
        /// The duration of each failure. It must be less than the period.
        down_for: Duration,
    },
    /// The switches lose the packets in their queues, and their links are down. The programs in the switches continue.
    SwitchDown {
        /// The selectors of the switches.
        switches: Several<String>,
    },
    /// The links run at another rate.
    Rate {
        /// The selectors of the links.
        links: Several<String>,
        /// Whether the fault affects both directions of each cable, or only the selected one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        both_directions: Option<bool>,
        /// The rate during the fault.
        rate: Rate,
    },
    /// The links lose each packet with this probability.
    PacketLoss {
        /// The selectors of the links.
        links: Several<String>,
        /// Whether the fault affects both directions of each cable, or only the selected one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        both_directions: Option<bool>,
        /// The probability, between 0 and 1.
        probability: f64,
    },
    /// The switches that send on the links drop each data packet with this probability, or trim it if they trim
    /// packets. Packets that hosts send on the links are not affected.
    SwitchLoss {
        /// The selectors of the links.
        links: Several<String>,
        /// Whether the fault affects both directions of each cable, or only the selected one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        both_directions: Option<bool>,
        /// The probability, between 0 and 1.
        probability: f64,
    },
    /// The links have bit errors: each bit is wrong with this probability, and a packet with a wrong bit is lost.
    BitErrors {
        /// The selectors of the links.
        links: Several<String>,
        /// Whether the fault affects both directions of each cable, or only the selected one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        both_directions: Option<bool>,
        /// The probability, between 0 and 1.
        probability: f64,
    },
    /// The hosts take data at this rate only. A host keeps what it has not taken yet in a buffer of its NIC. When the
    /// buffer is full, the NIC pauses its links in a lossless class, and drops data in a lossy one.
    SlowReceiver {
        /// The selectors of the hosts.
        hosts: Several<String>,
        /// The rate at which each host takes data, over all its ports together.
        rate: Rate,
        /// The bytes that the NIC of a host keeps before it pauses its links, or drops data.
        buffer: Bytes,
    },
    /// The hosts pause their links without interruption, each time for the longest time that a pause frame can state.
    /// The last pause expires after that time. In a lossy class, the fault has no effect.
    PauseStorm {
        /// The selectors of the hosts.
        hosts: Several<String>,
    },
}

/// The switches and links of a fabric that a fault affects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultTargets {
    /// The switches, in ascending order.
    pub switches: Vec<NodeId>,
    /// The directed links, in ascending order. They include the links of the switches.
    pub links: Vec<LinkId>,
}

impl FaultKind {
    /// The name of the kind, as scenarios write it.
    pub fn word(&self) -> &'static str {
        match self {
            FaultKind::LinkDown { .. } => "link-down",
            FaultKind::LinkFlap { .. } => "link-flap",
            FaultKind::SwitchDown { .. } => "switch-down",
            FaultKind::Rate { .. } => "rate",
            FaultKind::PacketLoss { .. } => "packet-loss",
            FaultKind::SwitchLoss { .. } => "switch-loss",
            FaultKind::BitErrors { .. } => "bit-errors",
            FaultKind::SlowReceiver { .. } => "slow-receiver",
            FaultKind::PauseStorm { .. } => "pause-storm",
        }
    }

    /// The scenario key whose value is the selectors of the fault.
    pub fn key(&self) -> &'static str {
        match self {
            FaultKind::SwitchDown { .. } => "switches",
            FaultKind::SlowReceiver { .. } | FaultKind::PauseStorm { .. } => "hosts",
            FaultKind::LinkDown { .. }
            | FaultKind::LinkFlap { .. }
            | FaultKind::Rate { .. }
            | FaultKind::PacketLoss { .. }
            | FaultKind::SwitchLoss { .. }
            | FaultKind::BitErrors { .. } => "links",
        }
    }

    /// The selectors of links, switches or hosts, and the value of `both_directions`.
    pub fn names(&self) -> (&Several<String>, Option<bool>) {
        match self {
            FaultKind::SwitchDown { switches } => (switches, None),
            FaultKind::SlowReceiver { hosts, .. } | FaultKind::PauseStorm { hosts } => (hosts, None),
            FaultKind::LinkDown { links, both_directions }
            | FaultKind::LinkFlap { links, both_directions, .. }
            | FaultKind::Rate { links, both_directions, .. }
            | FaultKind::PacketLoss { links, both_directions, .. }
            | FaultKind::SwitchLoss { links, both_directions, .. }
            | FaultKind::BitErrors { links, both_directions, .. } => (links, *both_directions),
        }
    }

    /// The probability of a loss, or of a wrong bit, if the fault loses packets at random.
    pub fn probability(&self) -> Option<f64> {
        match self {
            FaultKind::PacketLoss { probability, .. }
            | FaultKind::SwitchLoss { probability, .. }
            | FaultKind::BitErrors { probability, .. } => Some(*probability),
            FaultKind::LinkDown { .. }
            | FaultKind::LinkFlap { .. }
            | FaultKind::SwitchDown { .. }
            | FaultKind::Rate { .. }
            | FaultKind::SlowReceiver { .. }
            | FaultKind::PauseStorm { .. } => None,
        }
    }

    /// Whether the fault has no effect because its probability is 0, for example at the first point of a sweep.
    pub fn is_nothing(&self) -> bool {
        self.probability() == Some(0.0)
    }

    /// The switches and links of `topology` that the fault affects. A pause storm affects the uplinks of hosts that its
    /// selectors name. A slow receiver affects all uplinks of the selected hosts. Selectors with a share or a number
    /// draw from `random`.
    ///
    /// # Errors
    /// A selector has no known form, or names nothing that the fault can affect.
    pub fn targets(&self, topology: &Topology, random: &mut Stream) -> Result<FaultTargets, SelectorError> {
        let mut targets = FaultTargets::default();
        let (names, both) = self.names();
        for name in &names.0 {
            let selector = name.parse::<Selector>()?;
            if let FaultKind::SwitchDown { .. } = self {
                targets.switches.extend(selector.switches(topology, random)?);
                continue;
            }
            if self.key() == "hosts" {
                targets.links.extend(self.uplinks(&selector, topology, random)?);
                continue;
            }
            let down = matches!(self, FaultKind::LinkDown { .. } | FaultKind::LinkFlap { .. });
            let links = selector.links(topology, random)?;
            if both.unwrap_or(down || selector.names_cables()) {
                targets.links.extend(links.iter().map(|&link| topology.reverse(link)));
            }
            targets.links.extend(links);
        }
        for &node in &targets.switches {
            let links = topology.links_of(node).map(LinkId);
            targets.links.extend(links.flat_map(|link| [link, topology.reverse(link)]));
        }
        if let FaultKind::SwitchLoss { .. } = self {
            targets.links.retain(|&link| topology.switch(topology.source(link)).is_some());
        }
        targets.switches.sort_unstable();
        targets.switches.dedup();
        targets.links.sort_unstable();
        targets.links.dedup();
        Ok(targets)
    }

    /// The uplinks of hosts among the links that `selector` names. A slow receiver is a whole NIC, so all uplinks of
    /// the host are included.
    fn uplinks(
        &self,
        selector: &Selector,
        topology: &Topology,
        random: &mut Stream,
    ) -> Result<Vec<LinkId>, SelectorError> {
        let links = match selector.links(topology, random) {
            Ok(links) => links,
            Err(_) if selector.switches(topology, random).is_ok() => Vec::new(),
            Err(error) => return Err(error),
        };
        let of_host = |link: &LinkId| topology.switch(topology.source(*link)).is_none();
        let mut uplinks: Vec<LinkId> = links.iter().copied().filter(of_host).collect();
        if uplinks.is_empty() {
            let problem =
                Problem::with_value("this names switches or their links, but hosts are needed", "\"host:0\"");
            return Err(SelectorError { selector: selector.to_string(), problem });
        }
        if let FaultKind::SlowReceiver { .. } = self {
            let hosts: Vec<NodeId> = uplinks.iter().map(|link| topology.source(*link)).collect();
            uplinks.extend(hosts.iter().flat_map(|host| topology.links_of(*host)).map(LinkId));
        }
        Ok(uplinks)
    }
}

/// Writes the kind and its selectors: `link-down cable:tor:0/up:0`.
impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.word(), self.names().0)
    }
}

/// One value or several. A single value is serialised as itself, several as a list.
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

/// Writes the values with commas between them: `tor:0/up, tor:1/up`.
impl<T: fmt::Display> fmt::Display for Several<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (slot, value) in self.0.iter().enumerate() {
            write!(f, "{}{value}", if slot > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}
