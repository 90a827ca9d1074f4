//! Curves of sums over intervals.

use super::curves::CurveData;
use anabranch_base::{Duration, Time};

#[derive(Clone, Copy)]
pub(super) enum Unit {
    /// The sum itself, such as a number of packets.
    Count,
    /// The sum of bytes divided by the length of the interval, in Gb/s.
    Gbps,
    /// The sum of picoseconds, in microseconds.
    Us,
}

/// A curve with a sum for each interval. The end of the run may cut the last interval short.
#[derive(Clone)]
pub(super) struct Bins {
    every: u64,
    unit: Unit,
    /// The sums up to the last interval with an event. Whole numbers below 2^53 are exact.
    sums: Vec<f64>,
}

impl Bins {
    pub(super) fn new(every: Duration, unit: Unit) -> Self {
        Bins { every: every.0, unit, sums: Vec::new() }
    }

    /// Adds `amount` at an instant. An instant between two intervals belongs to the later one.
    #[inline]
    pub(super) fn add(&mut self, now: Time, amount: f64) {
        self.add_to((now.0 / self.every) as usize, amount);
    }

    fn add_to(&mut self, interval: usize, amount: f64) {
        if self.sums.len() <= interval {
            self.sums.resize(interval + 1, 0.0);
        }
        self.sums[interval] += amount;
    }

    /// Spreads an event that lasts from `from` until `until` over the intervals. `amount` maps the event's picoseconds
    /// within an interval to the amount that is added to the sum of that interval.
    fn spread(&mut self, from: Time, until: Time, amount: impl Fn(u64) -> f64) {
        if from >= until {
            return;
        }
        for i in from.0 / self.every..=(until.0 - 1) / self.every {
            let start = i * self.every;
            let overlap = until.0.min(start.saturating_add(self.every)) - from.0.max(start);
            self.add_to(i as usize, amount(overlap));
        }
    }

    fn intervals(&self, end: Time) -> usize {
        end.0.div_ceil(self.every).max(1) as usize
    }
}

impl CurveData for Bins {
    fn has_data(&self) -> bool {
        !self.sums.is_empty()
    }

    /// A link has drops at both of its ends, which may be in different threads.
    fn join(&mut self, other: Self) {
        for (interval, sum) in other.sums.into_iter().enumerate() {
            self.add_to(interval, sum);
        }
    }

    fn points(mut self, end: Time) -> Vec<(u64, f64)> {
        let intervals = self.intervals(end);
        // Events at the last instant of a run have no later interval, so they count in the last one.
        let late: f64 = self.sums.drain(intervals.min(self.sums.len())..).sum();
        self.sums.resize(intervals, 0.0);
        self.sums[intervals - 1] += late;
        let value = |(i, &sum): (usize, &f64)| {
            let start = i as u64 * self.every;
            let until = start.saturating_add(self.every).min(end.0.max(1));
            let length = (until - start) as f64;
            let value = match self.unit {
                Unit::Count => sum,
                Unit::Gbps => sum * 8.0 * 1_000.0 / length,
                Unit::Us => sum / 1e6,
            };
            (until, value)
        };
        self.sums.iter().enumerate().map(value).collect()
    }
}

#[derive(Clone)]
pub(super) struct Utilisation {
    sent: Bins,
    /// The times at which the transmission of the last packet begins and ends, and the bytes of the packet.
    last: (Time, Time, u16),
}

impl Utilisation {
    pub(super) fn new(every: Duration) -> Self {
        Utilisation { sent: Bins::new(every, Unit::Gbps), last: (Time::ZERO, Time::ZERO, 0) }
    }

    /// Adds a packet. Its bytes are spread evenly over its time on the wire, so that they may count in several
    /// intervals.
    #[inline]
    pub(super) fn add(&mut self, from: Time, until: Time, bytes: u16) {
        self.last = (from, until, bytes);
        let length = until.since(from).0 as f64;
        self.sent.spread(from, until, |overlap| f64::from(bytes) * (overlap as f64 / length));
    }
}

impl CurveData for Utilisation {
    fn has_data(&self) -> bool {
        self.sent.has_data()
    }

    fn points(mut self, end: Time) -> Vec<(u64, f64)> {
        // The transmission of the last packet may last beyond the end of the run.
        let (from, until, bytes) = self.last;
        if until > end {
            let length = until.since(from).0 as f64;
            let after = from.max(end);
            self.sent.spread(after, until, |overlap| -f64::from(bytes) * (overlap as f64 / length));
        }
        self.sent.sums.truncate(self.sent.intervals(end));
        self.sent.points(end)
    }
}

/// The data classes of a link that are paused, a bit for each.
#[derive(Clone, Copy, Default, PartialEq)]
struct PausedClasses(u8);

impl PausedClasses {
    fn set(&mut self, class: u8, on: bool) {
        match on {
            true => self.0 |= 1 << class,
            false => self.0 &= !(1 << class),
        }
    }

    fn any(self) -> bool {
        self.0 != 0
    }
}

/// The curve of the number of pauses that begin, over all data classes. A pause frame that only prolongs a pause does
/// not count.
#[derive(Clone)]
pub(super) struct Pauses {
    paused: PausedClasses,
    begun: Bins,
}

impl Pauses {
    pub(super) fn new(every: Duration) -> Self {
        Pauses { paused: PausedClasses::default(), begun: Bins::new(every, Unit::Count) }
    }

    pub(super) fn set(&mut self, class: u8, now: Time, on: bool) {
        let before = self.paused;
        self.paused.set(class, on);
        if on && self.paused != before {
            self.begun.add(now, 1.0);
        }
    }
}

impl CurveData for Pauses {
    fn has_data(&self) -> bool {
        self.paused.any() || self.begun.has_data()
    }

    fn points(self, end: Time) -> Vec<(u64, f64)> {
        self.begun.points(end)
    }
}

/// The curve of the time for which at least one data class is paused.
#[derive(Clone)]
pub(super) struct PauseTime {
    classes: PausedClasses,
    since: Option<Time>,
    paused: Bins,
}

impl PauseTime {
    pub(super) fn new(every: Duration) -> Self {
        PauseTime { classes: PausedClasses::default(), since: None, paused: Bins::new(every, Unit::Us) }
    }

    pub(super) fn set(&mut self, class: u8, now: Time, on: bool) {
        self.classes.set(class, on);
        match (self.since, self.classes.any()) {
            (None, true) => self.since = Some(now),
            (Some(_), false) => self.end_pause(now),
            (Some(_), true) | (None, false) => {}
        }
    }

    fn end_pause(&mut self, now: Time) {
        if let Some(since) = self.since.take() {
            self.paused.spread(since, now, |overlap| overlap as f64);
        }
    }
}

impl CurveData for PauseTime {
    fn has_data(&self) -> bool {
        self.since.is_some() || self.paused.has_data()
    }

    fn points(mut self, end: Time) -> Vec<(u64, f64)> {
        self.end_pause(end);
        self.paused.points(end)
    }
}
