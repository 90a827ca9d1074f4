//! Curves of a level, such as a queue length, at the end of each interval.

use super::curves::CurveData;
use anabranch_base::{Duration, Rate, Time};

/// A level at the end of each interval that ends within the run: the bytes in the queues of a port, the bytes that a
/// switch program holds outside the buffer, or the entries in the tables of a program. Intervals in which the level
/// does not change take no memory.
#[derive(Clone)]
pub(super) struct Level {
    every: u64,
    /// The end of the present interval.
    open_until: u64,
    /// The present level: bytes, or entries of tables.
    bytes: u32,
    /// The changes of the level at the ends of intervals. An entry has the number of an interval, and the level from
    /// that interval on. A level at or below the threshold is stored as 0.
    changes: Vec<(u64, u32)>,
    /// The link's rate, if the level is given as a delay.
    rate: Option<Rate>,
    /// Levels up to this many bytes get no point.
    quiet: Option<u64>,
}

impl Level {
    pub(super) fn bytes(every: Duration) -> Self {
        Level { every: every.0, open_until: every.0, bytes: 0, changes: Vec::new(), rate: None, quiet: None }
    }

    /// A curve of the level as a delay: the time in microseconds that a link of `rate` takes for the bytes. Points at
    /// or below `above` are left out.
    pub(super) fn delay(every: Duration, rate: Rate, above: Option<Duration>) -> Self {
        // The link takes longer than `above` for a whole number of bytes exactly if this number exceeds the bytes that
        // the link carries in `above`.
        let quiet = above.map(|above| rate.bytes_in(above));
        Level { rate: Some(rate), quiet, ..Level::bytes(every) }
    }

    /// Sets the level from `now` on. A change exactly at the end of an interval belongs to the next interval. Returns
    /// the number of new points if the curve has a threshold, otherwise 0.
    #[inline]
    pub(super) fn set(&mut self, now: Time, bytes: u32) -> u64 {
        let made = if now.0 >= self.open_until { self.close(now) } else { 0 };
        self.bytes = bytes;
        made
    }

    /// Closes the intervals that end at or before `now`, each with the present level.
    fn close(&mut self, now: Time) -> u64 {
        let first = self.open_until / self.every - 1;
        let level = if self.is_quiet(self.bytes) { 0 } else { self.bytes };
        if level != self.changes.last().map_or(0, |&(_, level)| level) {
            self.changes.push((first, level));
        }
        self.open_until = (now.0 / self.every + 1).saturating_mul(self.every);
        if self.quiet.is_some() && level > 0 { now.0 / self.every - first } else { 0 }
    }

    fn is_quiet(&self, bytes: u32) -> bool {
        self.quiet.is_some_and(|quiet| u64::from(bytes) <= quiet)
    }
}

impl CurveData for Level {
    fn has_data(&self) -> bool {
        self.bytes > 0 || !self.changes.is_empty()
    }

    fn points(mut self, end: Time) -> Vec<(u64, f64)> {
        let over = end.0 / self.every;
        if over == 0 {
            return Vec::new();
        }
        if end.0 >= self.open_until {
            self.close(end);
        }
        let starts = std::iter::once((0, 0)).chain(self.changes.iter().copied());
        let ends = self.changes.iter().map(|&(first, _)| first).chain([over]);
        let mut points = Vec::new();
        for ((first, bytes), until) in starts.zip(ends) {
            if !self.is_quiet(bytes) {
                let value = match self.rate {
                    Some(rate) => rate.time_for(u64::from(bytes)).as_us(),
                    None => f64::from(bytes),
                };
                points.extend((first..until).map(|i| ((i + 1) * self.every, value)));
            }
        }
        points
    }
}

#[cfg(test)]
impl Level {
    pub(super) fn changes(&self) -> usize {
        self.changes.len()
    }
}
