//! Curves over time of links, switches and queue pairs.

mod bins;
mod curves;
mod group;
mod level;
#[cfg(test)]
mod tests;

use crate::observer::Observer;
use crate::spec::{MeasureSpec, Series};
use anabranch_base::{Duration, LinkId, NodeId, QpId, Rate, Time};
use anabranch_proto::{Packet, Repr};
use anabranch_results::SeriesRow;
use bins::{Bins, PauseTime, Pauses, Unit, Utilisation};
use curves::{CurveData, Curves, Watched};
pub(crate) use group::CurveGroup;
use level::Level;

/// An observer that records curves of selected links, switches and queue pairs.
#[derive(Clone)]
pub struct SeriesObserver {
    qps_per_connection: u32,
    /// The curves that combine the curves of several links.
    groups: Vec<CurveGroup>,
    utilisation: Curves<Utilisation>,
    depth: Curves<Level>,
    delay: Curves<Level>,
    arrivals: Curves<Bins>,
    drops: Curves<Bins>,
    pauses: Curves<Pauses>,
    pause_time: Curves<PauseTime>,
    victims: Curves<Bins>,
    aside: Curves<Level>,
    entries: Curves<Level>,
    throughput: Curves<Bins>,
    rtt: Curves<Samples>,
    ecn: Curves<Samples>,
    /// The number of points so far in curves of events and in curves with a threshold.
    recorded: u64,
}

impl SeriesObserver {
    /// An observer without curves, on a fabric with `links` directed links. The scheme splits each queue pair of the
    /// workload into `qps_per_connection` queue pairs, whose numbers the hooks get.
    pub fn new(links: usize, qps_per_connection: u32) -> Self {
        SeriesObserver {
            qps_per_connection,
            groups: Vec::new(),
            utilisation: Curves::with_room(links),
            depth: Curves::with_room(links),
            delay: Curves::with_room(links),
            arrivals: Curves::with_room(links),
            drops: Curves::with_room(links),
            pauses: Curves::with_room(links),
            pause_time: Curves::with_room(links),
            victims: Curves::with_room(links),
            aside: Curves::with_room(0),
            entries: Curves::with_room(0),
            throughput: Curves::with_room(0),
            rtt: Curves::with_room(0),
            ecn: Curves::with_room(0),
            recorded: 0,
        }
    }

    /// Adds the curve of `measure` for `link`, which runs at `rate`. If the link already has a curve of the series,
    /// that curve serves `measure` too. Does nothing if the series describes queue pairs or programs.
    pub fn watch_link(&mut self, measure: &MeasureSpec, link: LinkId, rate: Rate) {
        let every = measure.every;
        let link = Watched { entity: link.0, parts: 1, own: measure.by.is_none() };
        match measure.series {
            Series::LinkUtilisation => self.utilisation.watch(link, || Utilisation::new(every)),
            Series::QueueDepth => self.depth.watch(link, || Level::bytes(every)),
            Series::QueueDelay => self.delay.watch(link, || Level::delay(every, rate, measure.above)),
            Series::ArrivalRate => self.arrivals.watch(link, || Bins::new(every, Unit::Gbps)),
            Series::Drops => self.drops.watch(link, || Bins::new(every, Unit::Count)),
            Series::Pauses => self.pauses.watch(link, || Pauses::new(every)),
            Series::PauseTime => self.pause_time.watch(link, || PauseTime::new(every)),
            Series::PauseVictims => self.victims.watch(link, || Bins::new(every, Unit::Count)),
            Series::ProgramBuffer
            | Series::TableEntries
            | Series::FlowThroughput
            | Series::SenderRtt
            | Series::SenderEcn => {}
        }
    }

    /// Adds a curve that combines the curves of several links. Each link must have its curve from
    /// [`watch_link`](Self::watch_link).
    pub(crate) fn watch_group(&mut self, group: CurveGroup) {
        self.groups.push(group);
    }

    /// Adds the curve of `measure` for the program of switch `node`. Does nothing if the switch already has a curve of
    /// the series, or if the series does not describe programs.
    pub fn watch_switch(&mut self, measure: &MeasureSpec, node: NodeId) {
        let node = Watched { entity: node.0, parts: 1, own: true };
        match measure.series {
            Series::ProgramBuffer => self.aside.watch(node, || Level::bytes(measure.every)),
            Series::TableEntries => self.entries.watch(node, || Level::bytes(measure.every)),
            _ => {}
        }
    }

    /// Adds the curve of `measure` for queue pair `qp` of the workload. Does nothing if the queue pair already has a
    /// curve of the series, or if the series describes links or programs.
    pub fn watch_flow(&mut self, measure: &MeasureSpec, qp: QpId) {
        let qp = Watched { entity: qp.0, parts: self.qps_per_connection, own: true };
        match measure.series {
            Series::FlowThroughput => {
                self.throughput.watch(qp, || Bins::new(measure.every, Unit::Gbps));
            }
            Series::SenderRtt => self.rtt.watch(qp, Samples::default),
            Series::SenderEcn => self.ecn.watch(qp, Samples::default),
            Series::LinkUtilisation
            | Series::QueueDepth
            | Series::QueueDelay
            | Series::ArrivalRate
            | Series::Drops
            | Series::Pauses
            | Series::PauseTime
            | Series::PauseVictims
            | Series::ProgramBuffer
            | Series::TableEntries => {}
        }
    }

    /// The curves up to `end`. The functions `link` and `switch` give the names of links and switches.
    pub fn into_rows(
        self,
        end: Time,
        link: impl Fn(LinkId) -> String,
        switch: impl Fn(NodeId) -> String,
    ) -> Vec<SeriesRow> {
        let link = |number| link(LinkId(number));
        let switch = |number| switch(NodeId(number));
        let flow = |number| format!("flow:{number}");
        let groups = &self.groups;
        let mut rows = Vec::new();
        self.utilisation.rows(Series::LinkUtilisation, end, link, groups, &mut rows);
        self.depth.rows(Series::QueueDepth, end, link, groups, &mut rows);
        self.delay.rows(Series::QueueDelay, end, link, groups, &mut rows);
        self.arrivals.rows(Series::ArrivalRate, end, link, groups, &mut rows);
        self.drops.rows(Series::Drops, end, link, groups, &mut rows);
        self.pauses.rows(Series::Pauses, end, link, groups, &mut rows);
        self.pause_time.rows(Series::PauseTime, end, link, groups, &mut rows);
        self.victims.rows(Series::PauseVictims, end, link, groups, &mut rows);
        self.aside.rows(Series::ProgramBuffer, end, switch, &[], &mut rows);
        self.entries.rows(Series::TableEntries, end, switch, &[], &mut rows);
        self.throughput.rows(Series::FlowThroughput, end, flow, &[], &mut rows);
        self.rtt.rows(Series::SenderRtt, end, flow, &[], &mut rows);
        self.ecn.rows(Series::SenderEcn, end, flow, &[], &mut rows);
        rows
    }
}

impl Observer for SeriesObserver {
    fn fork(&self) -> Self {
        self.clone()
    }

    fn join(&mut self, other: Self) {
        self.utilisation.join(other.utilisation);
        self.depth.join(other.depth);
        self.delay.join(other.delay);
        self.arrivals.join(other.arrivals);
        self.drops.join(other.drops);
        self.pauses.join(other.pauses);
        self.pause_time.join(other.pause_time);
        self.victims.join(other.victims);
        self.aside.join(other.aside);
        self.entries.join(other.entries);
        self.throughput.join(other.throughput);
        self.rtt.join(other.rtt);
        self.ecn.join(other.ecn);
        self.recorded += other.recorded;
    }

    /// False, since each curve belongs to one link, one switch program or one queue pair.
    fn wants_node_order(&self) -> bool {
        false
    }

    fn transmitted(&mut self, link: LinkId, from: Time, until: Time, bytes: u16) {
        if let Some(curve) = self.utilisation.of(link.index()) {
            curve.add(from, until, bytes);
        }
    }

    fn queued(&mut self, link: LinkId, now: Time, bytes: u32) {
        if let Some(curve) = self.depth.of(link.index()) {
            curve.set(now, bytes);
        }
        if let Some(curve) = self.delay.of(link.index()) {
            self.recorded += curve.set(now, bytes);
        }
    }

    fn offered(&mut self, link: LinkId, now: Time, bytes: u16) {
        if let Some(curve) = self.arrivals.of(link.index()) {
            curve.add(now, f64::from(bytes));
        }
    }

    fn dropped(&mut self, link: LinkId, now: Time) {
        if let Some(curve) = self.drops.of(link.index()) {
            curve.add(now, 1.0);
        }
    }

    fn paused(&mut self, link: LinkId, class: u8, now: Time, on: bool) {
        if let Some(curve) = self.pauses.of(link.index()) {
            curve.set(class, now, on);
        }
        if let Some(curve) = self.pause_time.of(link.index()) {
            curve.set(class, now, on);
        }
    }

    fn held_up(&mut self, link: LinkId, now: Time, victims: u32) {
        if let Some(curve) = self.victims.of(link.index()) {
            curve.add(now, f64::from(victims));
        }
    }

    fn wants_victims(&self, link: LinkId) -> bool {
        self.victims.has(link.index())
    }

    fn kept(&mut self, node: NodeId, now: Time, aside: u32, entries: u32) {
        if let Some(curve) = self.aside.of(node.index()) {
            curve.set(now, aside);
        }
        if let Some(curve) = self.entries.of(node.index()) {
            curve.set(now, entries);
        }
    }

    fn delivered(&mut self, qp: QpId, now: Time, packet: &Packet) {
        if let Some(curve) = self.throughput.of(qp.index())
            && matches!(packet.repr, Repr::Data { .. })
        {
            curve.add(now, f64::from(packet.wire_bytes));
        }
    }

    fn acknowledged(&mut self, qp: QpId, now: Time, rtt: Duration, marked: bool) {
        if let Some(curve) = self.rtt.of(qp.index()) {
            curve.points.push((now.0, rtt.as_us()));
            self.recorded += 1;
        }
        if let Some(curve) = self.ecn.of(qp.index()) {
            curve.points.push((now.0, f64::from(u8::from(marked))));
            self.recorded += 1;
        }
    }

    fn recorded(&self) -> u64 {
        self.recorded
    }
}

/// A curve with a point for each event, at the time of the event.
#[derive(Clone, Default)]
struct Samples {
    points: Vec<(u64, f64)>,
}

impl CurveData for Samples {
    fn has_data(&self) -> bool {
        !self.points.is_empty()
    }

    fn points(self, _: Time) -> Vec<(u64, f64)> {
        self.points
    }
}
