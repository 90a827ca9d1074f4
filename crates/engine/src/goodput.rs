//! Goodput over time. Packets received for the first time are counted between synchronisation windows, at no cost per
//! packet.

use anabranch_base::{Bytes, Duration, Time};
use anabranch_results::{ALL_HOSTS, GOODPUT, SeriesRow};

/// The number of points at which every second one is removed.
const MAX_POINTS: usize = 1024;

/// Counts of delivered data packets over time. The interval between points doubles whenever there are too many points.
pub struct Goodput {
    every: Duration,
    due: Time,
    points: Vec<(Time, u64)>,
}

impl Goodput {
    /// Goodput with at most one point per interval of `every`, which is a round trip. Shorter intervals would show
    /// little more.
    pub fn new(every: Duration) -> Self {
        let every = Duration(every.0.max(1));
        Goodput { every, due: Time::ZERO + every, points: Vec::new() }
    }

    pub fn is_due(&self, now: Time) -> bool {
        now >= self.due
    }

    /// Records that `packets` data packets have been received for the first time by `now`.
    pub fn record(&mut self, now: Time, packets: u64) {
        self.points.push((now, packets));
        if self.points.len() >= MAX_POINTS {
            // Every second point is kept, including the latest one.
            self.points = self.points.iter().copied().skip(1).step_by(2).collect();
            self.every = self.every * 2;
        }
        self.due = now + self.every;
    }

    /// The curve in Gb/s of payload. All packets count as full, and the last point is at `end`.
    pub fn into_rows(mut self, end: Time, packets: u64, payload: Bytes) -> Vec<SeriesRow> {
        // A window may end after the last event.
        while self.points.pop_if(|(last, _)| *last >= end).is_some() {}
        self.points.push((end, packets));
        let mut before = (Time::ZERO, 0);
        let mut row = |point: (Time, u64)| {
            let (time, bits) = (point.0.since(before.0), (point.1 - before.1) * payload.0 * 8);
            before = point;
            SeriesRow {
                run: 0,
                series: GOODPUT.to_owned(),
                entity: ALL_HOSTS.to_owned(),
                time_ps: point.0.0,
                value: bits as f64 * 1e3 / time.0.max(1) as f64,
            }
        };
        self.points.into_iter().map(&mut row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_has_fewer_points_and_the_same_packets() {
        let mut goodput = Goodput::new(Duration(10));
        for now in 1..=100_000 {
            if goodput.is_due(Time(now)) {
                goodput.record(Time(now), now);
            }
        }
        let rows = goodput.into_rows(Time(100_001), 100_001, Bytes(125));
        assert!((MAX_POINTS / 2..=MAX_POINTS).contains(&rows.len()), "{}", rows.len());
        // One packet of 1,000 bits per picosecond is 1e6 Gb/s.
        assert!(rows.iter().all(|row| row.value == 1e6), "{rows:?}");
        assert_eq!(rows.last().unwrap().time_ps, 100_001);
    }
}
