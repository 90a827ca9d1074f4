//! Facts about a scenario that the rows of results do not contain but that readers of results need.

use crate::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The facts about a scenario, at each point of its sweep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScenarioFacts {
    /// Text about the settings in which the schemes differ although they need not, or `None` if there are no such
    /// settings.
    pub ground_differs: Option<String>,
    /// The points of the sweep, in the order of the sweep. Without a sweep there is one point.
    pub points: Vec<PointFacts>,
    /// The fabric at the first point of the sweep.
    #[serde(default)]
    pub fabric: FabricFacts,
}

/// The switches and cables of a fabric, by plane and tier.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FabricFacts {
    /// The number of hosts.
    pub hosts: u32,
    /// The number of servers, or `None` if the hosts are in no servers.
    pub servers: Option<u32>,
    /// The planes. A fabric without planes is one plane.
    pub planes: Vec<PlaneFacts>,
}

/// A plane of a fabric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlaneFacts {
    /// The tiers of switches, from the ToRs up.
    pub tiers: Vec<TierFacts>,
}

/// The switches of a tier in a plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TierFacts {
    /// The name of the tier, such as `tor`.
    pub word: String,
    /// The number of switches.
    pub switches: u32,
    /// The number of cables to hosts or to lower tiers.
    pub cables: u32,
    /// The number of cables within the tier.
    pub level_cables: u32,
    /// The largest rate of the tier's cables, in bits per second.
    pub bps: u64,
    /// The number of switches with a fault.
    pub faulty_switches: u32,
    /// The number of cables with a fault of their own, among those to hosts and to lower tiers. A fault of a switch is
    /// no fault of its cables.
    pub faulty_cables: u32,
    /// The number of cables with a fault of their own among those within the tier.
    #[serde(default)]
    pub faulty_level_cables: u32,
    /// The pairs of a group of these switches and a group of the nodes one tier below that cables join. Groups are those
    /// of [`TierFacts::group`].
    #[serde(default)]
    pub joined: Vec<[u32; 2]>,
    /// The groups that contain a switch with a fault.
    #[serde(default)]
    pub faulty_groups: Vec<u32>,
    /// The pairs of `joined` between which a cable has a fault of its own.
    #[serde(default)]
    pub faulty_joined: Vec<[u32; 2]>,
}

impl TierFacts {
    /// The largest number of groups of a tier.
    pub const GROUPS: u32 = 12;

    /// The group of the node `index` of `count` nodes. Groups are equal parts of the nodes in their order.
    pub fn group(index: u32, count: u32) -> u32 {
        let groups = u64::from(count.clamp(1, Self::GROUPS));
        (u64::from(index) * groups / u64::from(count.max(1))) as u32
    }
}

impl ScenarioFacts {
    /// The faults, if they are the same at all points of the sweep. Otherwise the list is empty.
    pub fn faults(&self) -> &[FaultFacts] {
        match &self.points[..] {
            [first, rest @ ..] if rest.iter().all(|point| point.faults == first.faults) => &first.faults,
            _ => &[],
        }
    }

    /// The fault with this number, if the faults are the same at all points of the sweep.
    pub fn fault(&self, number: u32) -> Option<&FaultFacts> {
        self.faults().get(number as usize)
    }
}

/// The facts at a point of the sweep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PointFacts {
    /// The values of the swept parameters at the point.
    pub sweep: BTreeMap<String, Value>,
    /// The workload.
    pub workload: WorkloadFacts,
    /// The number of hosts of the fabric, if the description of the fabric states one.
    pub hosts: Option<u32>,
    /// The number of hosts of a ToR, for a fat tree, a cross-DC fabric, a full mesh or a multi-plane fabric.
    pub hosts_per_tor: Option<u32>,
    /// The faults, in the order of their numbers.
    pub faults: Vec<FaultFacts>,
    /// The schemes, in the order of the scenario.
    pub schemes: Vec<SchemeFacts>,
}

/// The facts about a workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkloadFacts {
    /// The scenario's `kind`, such as `poisson`.
    pub kind: String,
    /// The algorithm of a collective.
    pub algorithm: Option<String>,
    /// The placement of the ranks of a collective on hosts, such as `blocks`.
    pub placement: Option<String>,
    /// The number of messages that a rank of a collective may send at the same time.
    pub connections: Option<u32>,
    /// Whether ranks of a server reach each other over NVLink.
    #[serde(default)]
    pub nvlink: bool,
    /// The number of channels among which a collective on servers is divided; `None` if it knows nothing of servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<u32>,
}

/// The facts about a fault.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FaultFacts {
    /// The scenario's `kind`, such as `link-down`.
    pub kind: String,
    /// The selectors of the affected links or hosts, for a fault of links or hosts.
    pub links: Vec<String>,
    /// The selectors of the affected switches, for a fault of switches.
    pub switches: Vec<String>,
    /// The probability, for a fault that loses or refuses packets or corrupts bits.
    pub probability: Option<f64>,
    /// The times at which the fault starts, in microseconds. If failures are random, they occur after the start.
    pub starts_us: Vec<f64>,
    /// The duration of each occurrence in microseconds, or `None` if the fault lasts to the end of the run or if
    /// failures are random.
    pub duration_us: Option<f64>,
    /// The period in microseconds, for a fault of links that flap at regular intervals.
    pub period_us: Option<f64>,
    /// The time in microseconds for which links that flap at regular intervals are down in each period.
    pub down_for_us: Option<f64>,
    /// The mean number of failures of a cable or a switch per hour in which it works, for a fault with random failures.
    #[serde(default)]
    pub per_hour: Option<f64>,
}

impl FaultFacts {
    /// Whether the fault starts after the start of the run, starts several times, has a duration, or flaps.
    pub fn has_moment(&self) -> bool {
        self.starts_us != [0.0] || self.duration_us.is_some() || self.period_us.is_some()
    }

    /// The end in microseconds of the occurrence that starts at `from_us`, or `None` if the fault lasts to the end of
    /// the run or if failures are random.
    pub fn end_us(&self, from_us: f64) -> Option<f64> {
        self.duration_us.map(|duration| from_us + duration)
    }
}

/// The facts about a scheme.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SchemeFacts {
    /// The name in the scenario.
    pub name: String,
    /// The retransmission timeout on this fabric, as text: `115 us`.
    pub rto: Option<String>,
    /// The component that chooses the path of a packet.
    pub path_choice: PathChoice,
    /// The action on a packet for which a queue has no room.
    pub overflow: Overflow,
    /// The time after which routing withdraws a failed link, as text, or `None` if it never withdraws the link.
    pub routing_delay: Option<String>,
    /// Whether switches immediately route around their own failed ports.
    pub adaptive_routing: bool,
}

/// The component that chooses the path of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathChoice {
    /// A hash of the queue pair, so that the path stays the same.
    #[default]
    Hash,
    /// The sending host, by the entropy values of the packets.
    Host,
    /// The switches, whatever the sending host chooses.
    Switches,
}

/// The action on a packet for which a queue has no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overflow {
    /// The packet is dropped.
    #[default]
    Drops,
    /// The packet is trimmed to its header.
    Trims,
    /// PFC pauses the sender before the queue is full, so that every packet fits.
    Pauses,
}
