//! Curves over time: link utilisation and queue depth.

use super::Observer;
use crate::scenario::Series;
use anabranch_base::{Duration, LinkId, Time};
use anabranch_results::SeriesRow;

/// Records curves of chosen links.
pub struct SeriesObserver {
    /// By link: index into `utilisation` plus one, or 0.
    utilisation_of: Vec<u32>,
    /// By link: index into `depth` plus one, or 0.
    depth_of: Vec<u32>,
    utilisation: Vec<Utilisation>,
    depth: Vec<Depth>,
}

struct Utilisation {
    link: LinkId,
    every: Duration,
    /// Bits times picoseconds of overlap are exact in integers: bytes sent within each interval.
    bytes: Vec<f64>,
}

struct Depth {
    link: LinkId,
    every: Duration,
    /// Bytes at the end of each interval that is over.
    ends: Vec<u32>,
    now: u32,
}

impl SeriesObserver {
    /// Records nothing yet, on a fabric with `links` directed links.
    pub fn new(links: usize) -> Self {
        SeriesObserver {
            utilisation_of: vec![0; links],
            depth_of: vec![0; links],
            utilisation: Vec::new(),
            depth: Vec::new(),
        }
    }

    /// Records a curve of `link`, a point each `every`. A link asked for twice keeps its first interval.
    pub fn watch(&mut self, series: Series, link: LinkId, every: Duration) {
        match series {
            Series::LinkUtilisation if self.utilisation_of[link.index()] == 0 => {
                self.utilisation.push(Utilisation { link, every, bytes: Vec::new() });
                self.utilisation_of[link.index()] = self.utilisation.len() as u32;
            }
            Series::QueueDepth if self.depth_of[link.index()] == 0 => {
                self.depth.push(Depth { link, every, ends: Vec::new(), now: 0 });
                self.depth_of[link.index()] = self.depth.len() as u32;
            }
            _ => {}
        }
    }

    /// The curves up to `end`, with links named by `name`.
    pub fn into_rows(mut self, end: Time, name: impl Fn(LinkId) -> String) -> Vec<SeriesRow> {
        let mut rows = Vec::new();
        for curve in &mut self.utilisation {
            let intervals = end.0.div_ceil(curve.every.0) as usize;
            curve.bytes.resize(intervals.max(1), 0.0);
            let entity = name(curve.link);
            for (i, bytes) in curve.bytes.iter().enumerate() {
                // The last interval may be cut short by the end of the run.
                let until = ((i as u64 + 1) * curve.every.0).min(end.0.max(1));
                let length = until.saturating_sub(i as u64 * curve.every.0).max(1);
                rows.push(SeriesRow {
                    run: 0,
                    series: "link_utilisation_gbps".into(),
                    entity: entity.clone(),
                    time_ps: until,
                    value: bytes * 8.0 * 1_000.0 / length as f64,
                });
            }
        }
        for curve in &mut self.depth {
            curve.fill(end);
            let entity = name(curve.link);
            for (i, bytes) in curve.ends.iter().enumerate() {
                rows.push(SeriesRow {
                    run: 0,
                    series: "queue_depth_bytes".into(),
                    entity: entity.clone(),
                    time_ps: (i as u64 + 1) * curve.every.0,
                    value: f64::from(*bytes),
                });
            }
        }
        rows
    }
}

impl Depth {
    /// Closes the intervals that end before or at `now`.
    fn fill(&mut self, now: Time) {
        let over = (now.0 / self.every.0) as usize;
        if over > self.ends.len() {
            self.ends.resize(over, self.now);
        }
    }
}

impl Observer for SeriesObserver {
    fn transmitted(&mut self, link: LinkId, from: Time, until: Time, bytes: u16) {
        let Some(index) = self.utilisation_of[link.index()].checked_sub(1) else { return };
        let curve = &mut self.utilisation[index as usize];
        let every = curve.every.0;
        let (first, last) = (from.0 / every, (until.0.max(1) - 1) / every);
        if curve.bytes.len() <= last as usize {
            curve.bytes.resize(last as usize + 1, 0.0);
        }
        // Bytes are spread evenly over the time on the wire, so a packet across a boundary counts on both sides.
        let length = (until.0 - from.0) as f64;
        for i in first..=last {
            let overlap = until.0.min((i + 1) * every) - from.0.max(i * every);
            curve.bytes[i as usize] += f64::from(bytes) * (overlap as f64 / length);
        }
    }

    fn queued(&mut self, link: LinkId, now: Time, bytes: u32) {
        let Some(index) = self.depth_of[link.index()].checked_sub(1) else { return };
        let curve = &mut self.depth[index as usize];
        // A change exactly at the end of an interval belongs to the next one.
        curve.fill(now);
        curve.now = bytes;
    }
}
