//! Facts about a scenario that its rows do not have, as readers of results want them.

use crate::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The facts about a scenario, at each point of its sweep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScenarioFacts {
    /// One sentence where the ground of the schemes differs by more than they need.
    pub ground_differs: Option<String>,
    /// The points of the sweep, in its order; without a sweep there is one.
    pub points: Vec<PointFacts>,
}

impl ScenarioFacts {
    /// The faults, where they are the same at all points of the sweep; none otherwise.
    pub fn faults(&self) -> &[FaultFacts] {
        match &self.points[..] {
            [first, rest @ ..] if rest.iter().all(|point| point.faults == first.faults) => &first.faults,
            _ => &[],
        }
    }

    /// The fault of this number, where it is the same at all points of the sweep.
    pub fn fault(&self, number: u32) -> Option<&FaultFacts> {
        self.faults().get(number as usize)
    }
}

/// The facts at a point of the sweep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PointFacts {
    /// The swept parameters with their values there.
    pub sweep: BTreeMap<String, Value>,
    /// The workload.
    pub workload: WorkloadFacts,
    /// Hosts of the fabric, where its description says a number.
    pub hosts: Option<u32>,
    /// Hosts of a ToR, of a fabric in tiers.
    pub hosts_per_tor: Option<u32>,
    /// The faults, by their numbers.
    pub faults: Vec<FaultFacts>,
    /// The schemes, in the scenario's order.
    pub schemes: Vec<SchemeFacts>,
}

/// The facts about a workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkloadFacts {
    /// The `kind`, such as `poisson`.
    pub kind: String,
    /// The algorithm of a collective.
    pub algorithm: Option<String>,
    /// The placement of the ranks of a collective on hosts, such as `blocks`.
    pub placement: Option<String>,
    /// The number of messages that a rank of a collective may have open at once.
    pub connections: Option<u32>,
}

/// The facts about a fault.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FaultFacts {
    /// The `kind`, such as `link-down`.
    pub kind: String,
    /// The selectors of its links, of a fault of links.
    pub links: Vec<String>,
    /// The selectors of its switches, of a fault of switches.
    pub switches: Vec<String>,
    /// The probability of a fault that loses packets or bits.
    pub probability: Option<f64>,
    /// The times at which it starts, in microseconds.
    pub starts_us: Vec<f64>,
    /// The time that it holds each time, in microseconds; none where it holds to the end.
    pub duration_us: Option<f64>,
    /// The period of links that flap, in microseconds.
    pub period_us: Option<f64>,
    /// The time that flapping links are down in each period, in microseconds.
    pub down_for_us: Option<f64>,
}

impl FaultFacts {
    /// Whether it begins or ends within the run.
    pub fn has_moment(&self) -> bool {
        self.starts_us != [0.0] || self.duration_us.is_some() || self.period_us.is_some()
    }

    /// The end of the fault that starts at `from_us`, in microseconds; none where it holds to the end.
    pub fn end_us(&self, from_us: f64) -> Option<f64> {
        self.duration_us.map(|duration| from_us + duration)
    }
}

/// The facts about a scheme.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SchemeFacts {
    /// The name in the scenario.
    pub name: String,
    /// The retransmission timeout on this fabric, in words: `115 us`.
    pub rto: Option<String>,
    /// The part that chooses the path of a packet.
    pub path_choice: PathChoice,
    /// The fate of a packet for which a queue has no room.
    pub overflow: Overflow,
    /// The time after which routing withdraws a failed link, in words; none where it never does.
    pub routing_delay: Option<String>,
    /// Whether switches route around their own failed ports at once.
    pub adaptive_routing: bool,
}

/// The part that chooses the path of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathChoice {
    /// A hash of the queue pair, once for all.
    #[default]
    Hash,
    /// The sending host, packet by packet or flowlet by flowlet.
    Host,
    /// The switches.
    Switches,
}

/// The fate of a packet for which a queue has no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overflow {
    /// It is dropped.
    #[default]
    Drops,
    /// It is trimmed to its header.
    Trims,
    /// There is no such packet: PFC pauses the sender before.
    Pauses,
}
