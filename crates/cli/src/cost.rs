//! The expected cost of runs, and the time left of many of them.

use crate::clock;
use crate::failure::Failure;
use crate::output::with_notice;
use crate::progress::time;
use crate::source::input;
use anabranch_report::large;
use anabranch_sim::Built;
use anabranch_sim::scenario::RunPoint;
use std::collections::BTreeMap;
use std::ops::Range;
use std::thread::available_parallelism;
use std::time::Instant;

/// The packet-hops of runs if nothing is lost: data and their ACKs, over every link of their paths.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    packet_hops: f64,
}

impl Cost {
    /// The packet-hops that a thread simulates in a second on a usual machine.
    const PACKET_HOPS_A_SECOND: f64 = 10e6;
    /// The most points of a sweep that are built; the others are like these in the mean.
    const MOST_BUILT: usize = 32;

    /// The cost of these runs; `first` is the first run's fabric and workload, where they were built already.
    ///
    /// # Errors
    /// [`Failure::Input`] when a fabric or a workload cannot be built.
    pub fn estimate(points: &[RunPoint], first: Option<&Built>) -> Result<Cost, Failure> {
        // Runs at one point of a sweep have the same fabric, and about the same messages.
        let mut swept: Vec<Vec<&RunPoint>> = Vec::new();
        for point in points {
            match swept.iter_mut().find(|there| there[0].sweep == point.sweep) {
                Some(there) => there.push(point),
                None => swept.push(vec![point]),
            }
        }
        let (mut packet_hops, mut runs) = (0.0, 0);
        for (place, runs_there) in swept.iter().take(Self::MOST_BUILT).enumerate() {
            let another;
            let built = match first.filter(|_| place == 0) {
                Some(built) => built,
                None => {
                    another = anabranch_sim::build(runs_there[0]).map_err(input)?;
                    &another
                }
            };
            let mut by_payload: BTreeMap<u64, u64> = BTreeMap::new();
            for point in runs_there {
                let payload = point.scheme.transport.framing().payload.0;
                packet_hops +=
                    *by_payload.entry(payload).or_insert_with(|| built.packet_hops(payload)) as f64;
            }
            runs += runs_there.len();
        }
        Ok(Cost { packet_hops: packet_hops * points.len() as f64 / runs.max(1) as f64 })
    }

    /// Packets times the links that each crosses.
    pub fn packet_hops(&self) -> f64 {
        self.packet_hops
    }

    /// Seconds of one thread on a usual machine.
    pub fn thread_seconds(&self) -> f64 {
        self.packet_hops / Self::PACKET_HOPS_A_SECOND
    }

    /// The cost as text.
    pub fn line(&self) -> String {
        format!(
            "about {} packet-hops if nothing is lost: {} on one thread at 10 M per second",
            large(self.packet_hops),
            match self.thread_seconds() {
                ..1.0 => "under 1 s".to_owned(),
                seconds => time(seconds),
            }
        )
    }
}

/// The time left of many jobs, one after the other: their costs at the speed of those that were simulated. As the first
/// few, often the smallest, say little, a twentieth of all that is to be simulated counts as done at the speed of a
/// usual machine.
pub struct TimeLeft {
    costs: Vec<Cost>,
    threads: f64,
    begun: Instant,
    /// The start of the current job.
    since: Instant,
    /// Seconds on a usual machine, and here, of the jobs that were simulated.
    usual: f64,
    here: f64,
    /// Seconds on a usual machine of the jobs that were stored.
    stored: f64,
}

impl TimeLeft {
    /// The state before the first of these jobs, on `threads` threads (none: all cores). A single job is not costed.
    ///
    /// # Errors
    /// The errors of `cost`.
    pub fn new<T>(
        jobs: &[T],
        cost: impl Fn(&T) -> Result<Cost, Failure>,
        threads: Option<u16>,
    ) -> Result<TimeLeft, Failure> {
        let each = || jobs.iter().map(cost).collect::<Result<Vec<Cost>, Failure>>();
        let costs = match jobs.len() {
            0 | 1 => vec![Cost::default(); jobs.len()],
            _ => with_notice("estimating how long all of them take", each)?,
        };
        Ok(TimeLeft::before(costs, threads))
    }

    fn before(costs: Vec<Cost>, threads: Option<u16>) -> TimeLeft {
        let cores = || available_parallelism().map_or(1.0, |cores| cores.get() as f64);
        let threads = threads.map_or_else(cores, f64::from);
        let now = clock::now();
        TimeLeft { costs, threads, begun: now, since: now, usual: 0.0, here: 0.0, stored: 0.0 }
    }

    /// `NAME, 3 of 12, 4 min 10 s so far, about 20 min 00 s left`, as the job of this place begins.
    pub fn begin(&mut self, name: &str, place: usize) -> String {
        self.since = clock::now();
        let all = self.costs.len();
        if all < 2 {
            return format!("{name}, 1 of {all}");
        }
        let so_far = match place {
            0 => String::new(),
            _ => format!(", {} so far", time(self.begun.elapsed().as_secs_f64())),
        };
        format!("{name}, {} of {all}{so_far}, about {} left", place + 1, time(self.seconds(place)))
    }

    /// Ends the job at this place. A `stored` one says nothing about the time of the others.
    pub fn end(&mut self, place: usize, stored: bool) {
        match stored {
            true => self.stored += self.usual_seconds(place..place + 1),
            false => self.took(place, self.since.elapsed().as_secs_f64()),
        }
    }

    fn took(&mut self, place: usize, seconds: f64) {
        self.usual += self.usual_seconds(place..place + 1);
        self.here += seconds;
    }

    /// Seconds that these jobs take on a usual machine.
    fn usual_seconds(&self, places: Range<usize>) -> f64 {
        self.costs[places].iter().map(|cost| cost.thread_seconds() / self.threads).sum()
    }

    /// Seconds from the start of the job at this place to the end of the last.
    fn seconds(&self, place: usize) -> f64 {
        let (all, to_do) = (self.costs.len(), self.usual_seconds(place..self.costs.len()));
        let known = 0.05 * (self.usual_seconds(0..all) - self.stored);
        if known > 0.0 { to_do * (self.here + known) / (self.usual + known) } else { to_do }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_from_what_was_simulated() {
        let costs = [20.0, 40.0, 60.0].map(|seconds| Cost { packet_hops: seconds * 10e6 });
        let mut left = TimeLeft::before(costs.to_vec(), Some(2));
        assert_eq!(left.seconds(0), 60.0, "a usual machine, on two threads");
        left.end(0, true);
        assert_eq!(left.seconds(1), 50.0, "what was stored says nothing");
        left.took(1, 30.0);
        assert_eq!(left.seconds(2), 30.0 * 32.5 / 22.5, "this machine takes half as long again, it seems");
        assert!(left.begin("dcp/figure-2", 2).ends_with("3 of 3, 0 s so far, about 43 s left"));
    }

    #[test]
    fn one_job_alone_says_nothing_of_the_time_left() {
        let mut left = TimeLeft::before(vec![Cost { packet_hops: 1e9 }], None);
        assert_eq!(left.begin("reps/figure-2", 0), "reps/figure-2, 1 of 1");
    }
}
