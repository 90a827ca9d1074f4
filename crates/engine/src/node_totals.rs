//! The totals of nodes, from which the row of a run is made.

use crate::backlog::Backlogs;
use crate::context::Counters;
use crate::host::{Host, Totals};
use crate::node::Node;
use crate::switch::{ClassCounts, Switch, program_counters};
use anabranch_base::{Duration, LinkId, Time};
use anabranch_fabric::Topology;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The totals of some nodes of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NodeTotals {
    /// Totals over events and packets. The pause time includes pauses that have not ended.
    pub counters: Counters,
    /// The counters of all senders.
    pub senders: Totals,
    /// The most bytes that waited at a switch port at once, with the number of that port's link. If several ports
    /// reached this number of bytes, the lowest link number is given. None if nothing ever waited.
    pub peak_queue: Option<(u32, u32)>,
    /// The histogram of the bytes that data packets found waiting at switches.
    pub backlogs: Backlogs,
    /// The counters of programs in switches.
    pub programs: BTreeMap<String, u64>,
    /// For each tier's name (`tor`, `spine`), the number of ECN marks by the switches of the tier.
    pub marks_by_class: BTreeMap<String, u64>,
    /// The counters of the traffic classes beyond the first one.
    pub of_classes: Vec<ClassCounts>,
    /// The number of times that PFC watchdogs have acted.
    pub watchdog_storms: u64,
    /// The number of packets that PFC watchdogs have dropped.
    pub watchdog_drops: u64,
    /// The time of the latest event.
    pub latest: Time,
}

impl NodeTotals {
    /// The totals of `hosts` and of `switches`, which are sorted by number. `counters` and `backlogs` are the sums
    /// over these nodes, and `latest` is the time of their latest event.
    pub(crate) fn of(
        (hosts, switches): (&[&Host], &[&Switch]),
        topology: &Topology,
        (mut counters, backlogs, latest): (Counters, Backlogs, Time),
    ) -> NodeTotals {
        let lasting = hosts.iter().map(|host| host.egress().lasting_pauses(latest));
        let lasting = lasting.chain(switches.iter().map(|switch| switch.egress().lasting_pauses(latest)));
        counters.pause_time = lasting.fold(counters.pause_time, |sum: Duration, time| sum + time);
        let ports = switches.iter().flat_map(|switch| &switch.egress().ports).filter(|port| port.peak > 0);
        let peaks = ports.map(|port| (port.peak, port.link));
        let mut marks_by_class = BTreeMap::new();
        for switch in switches {
            let Some(its) = topology.switch(switch.node()) else { continue };
            *marks_by_class.entry(topology.tier_word(its.tier)).or_default() += switch.marked();
        }
        let programs = program_counters(switches.iter().copied()).into_iter();
        let (storms, drops): (Vec<u64>, Vec<u64>) =
            switches.iter().map(|switch| switch.watchdog_counts()).unzip();
        NodeTotals {
            of_classes: of_classes((hosts, switches), latest),
            watchdog_storms: storms.iter().sum(),
            watchdog_drops: drops.iter().sum(),
            counters,
            senders: hosts.iter().fold(Totals::default(), |totals, host| totals.and(host.counters())),
            peak_queue: peaks
                .max_by_key(|(peak, link)| (*peak, Reverse(*link)))
                .map(|(peak, link)| (peak, link.0)),
            backlogs,
            programs: programs.map(|(name, count)| (name.to_owned(), count)).collect(),
            marks_by_class,
            latest,
        }
    }

    /// The counters of all traffic classes, the first one included.
    pub(crate) fn by_class(&self) -> Vec<ClassCounts> {
        let Counters { drops, ecn_marks: marks, pause_time, .. } = self.counters;
        let first =
            self.of_classes.iter().fold(ClassCounts { drops, marks, pause_time }, |first, its| ClassCounts {
                drops: first.drops - its.drops,
                marks: first.marks - its.marks,
                pause_time: Duration(first.pause_time.0 - its.pause_time.0),
            });
        std::iter::once(first).chain(self.of_classes.iter().copied()).collect()
    }

    pub(crate) fn peak(&self) -> Option<(u32, LinkId)> {
        self.peak_queue.map(|(bytes, link)| (bytes, LinkId(link)))
    }

    /// Adds the totals of other nodes. The counters of programs are added up. If a program counts a maximum, all its
    /// switches must therefore be in one of the two totals.
    pub fn add(&mut self, other: &NodeTotals) {
        self.counters += other.counters;
        self.senders = self.senders.and(other.senders);
        let peaks = [self.peak_queue, other.peak_queue].into_iter().flatten();
        self.peak_queue = peaks.max_by_key(|(peak, link)| (*peak, Reverse(*link)));
        self.backlogs += &other.backlogs;
        for (name, count) in &other.programs {
            *self.programs.entry(name.clone()).or_default() += count;
        }
        for (class, marks) in &other.marks_by_class {
            *self.marks_by_class.entry(class.clone()).or_default() += marks;
        }
        self.of_classes.resize(self.of_classes.len().max(other.of_classes.len()), ClassCounts::default());
        self.of_classes.iter_mut().zip(&other.of_classes).for_each(|(sum, its)| sum.add(its));
        self.watchdog_storms += other.watchdog_storms;
        self.watchdog_drops += other.watchdog_drops;
        self.latest = self.latest.max(other.latest);
    }
}

/// The counters of the traffic classes beyond the first one. Pauses that have not ended are counted until `latest`.
fn of_classes((hosts, switches): (&[&Host], &[&Switch]), latest: Time) -> Vec<ClassCounts> {
    let queues = || {
        let of_hosts = hosts.iter().map(|host| &host.egress().classes);
        of_hosts.chain(switches.iter().map(|switch| &switch.egress().classes)).flatten()
    };
    let beyond = queues().next().map_or(0, |queues| queues.beyond());
    let of_class = |class: u8| {
        let mut counts = ClassCounts::default();
        switches.iter().for_each(|switch| counts.add(&switch.counts_of(class)));
        counts.pause_time =
            queues().fold(Duration::ZERO, |sum, queues| sum + queues.paused_for(class, latest));
        counts
    };
    (1..=beyond as u8).map(of_class).collect()
}
