//! The expected cost of runs, and the remaining time of a series of jobs.

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

/// The number of packet-hops of runs if nothing is lost: data packets and their ACKs, counted on every link of their
/// paths. Transfers over NVLink are no packets and are counted separately.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    packet_hops: f64,
    nvlink_transfers: f64,
}

impl Cost {
    /// The number of packet-hops per second that one thread simulates on a typical machine.
    const PACKET_HOPS_A_SECOND: f64 = 10e6;
    /// The number of NVLink transfers per second that one thread simulates on a typical machine.
    const TRANSFERS_A_SECOND: f64 = 0.3e6;
    /// The largest number of points of a sweep that are built. The other points are assumed to have the mean cost of
    /// these.
    const MOST_BUILT: usize = 32;

    /// The cost of these runs. `first` is the fabric and the workload of the first run, if they were built already.
    ///
    /// # Errors
    /// [`Failure::Input`] if a fabric or a workload cannot be built.
    pub fn estimate(points: &[RunPoint], first: Option<&Built>) -> Result<Cost, Failure> {
        // The runs at one point of a sweep have the same fabric and about the same messages, so one of them is built.
        let mut swept: Vec<Vec<&RunPoint>> = Vec::new();
        for point in points {
            match swept.iter_mut().find(|there| there[0].sweep == point.sweep) {
                Some(there) => there.push(point),
                None => swept.push(vec![point]),
            }
        }
        let (mut packet_hops, mut nvlink_transfers, mut runs) = (0.0, 0.0, 0);
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
            nvlink_transfers += built.nvlink_transfers() as f64 * runs_there.len() as f64;
            runs += runs_there.len();
        }
        let all = points.len() as f64 / runs.max(1) as f64;
        Ok(Cost { packet_hops: packet_hops * all, nvlink_transfers: nvlink_transfers * all })
    }

    pub fn packet_hops(&self) -> f64 {
        self.packet_hops
    }

    pub fn nvlink_transfers(&self) -> f64 {
        self.nvlink_transfers
    }

    /// The time in seconds on one thread of a typical machine.
    pub fn thread_seconds(&self) -> f64 {
        self.packet_hops / Self::PACKET_HOPS_A_SECOND + self.nvlink_transfers / Self::TRANSFERS_A_SECOND
    }

    pub fn line(&self) -> String {
        let (transfers, rate) = match self.nvlink_transfers {
            0.0 => (String::new(), ""),
            transfers => (format!(" and {} NVLink transfers", large(transfers)), " and 0.3 M"),
        };
        format!(
            "about {} packet-hops{transfers} if nothing is lost: {} on one thread at 10 M{rate} per second",
            large(self.packet_hops),
            match self.thread_seconds() {
                ..1.0 => "under 1 s".to_owned(),
                seconds => time(seconds),
            }
        )
    }
}

/// The remaining time of many jobs that run one after the other. It follows from their costs and the speed of the jobs
/// that were already simulated. The first few jobs are often the smallest and say little about the speed. The estimate
/// therefore also counts a twentieth of all work to be simulated as done at the speed of a typical machine.
pub struct TimeLeft {
    costs: Vec<Cost>,
    threads: f64,
    begun: Instant,
    /// The time at which the current job began.
    since: Instant,
    /// The time in seconds that the simulated jobs take on a typical machine.
    usual: f64,
    /// The measured time in seconds that the simulated jobs took on this machine.
    here: f64,
    /// The time in seconds that the jobs with stored results would take on a typical machine.
    stored: f64,
}

impl TimeLeft {
    /// The state before the first job. `None` for `threads` means all cores. The cost of a single job is not
    /// computed.
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

    /// The text for the start of job number `place`, counted from 0:
    /// `NAME, 3 of 12, 4 min 10 s so far, about 20 min 00 s left`.
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

    /// Records the end of job number `place`. A `stored` job says nothing about the time of the others.
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

    /// The time in seconds that the jobs with the numbers `places` take on a typical machine.
    fn usual_seconds(&self, places: Range<usize>) -> f64 {
        self.costs[places].iter().map(|cost| cost.thread_seconds() / self.threads).sum()
    }

    /// The time in seconds from the start of job number `place` to the end of the last job.
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
        let costs = [20.0, 40.0, 60.0].map(|seconds| Cost { packet_hops: seconds * 10e6, ..Cost::default() });
        let mut left = TimeLeft::before(costs.to_vec(), Some(2));
        assert_eq!(left.seconds(0), 60.0, "a usual machine, on two threads");
        left.end(0, true);
        assert_eq!(left.seconds(1), 50.0, "what was stored says nothing");
        left.took(1, 30.0);
        assert_eq!(left.seconds(2), 30.0 * 32.5 / 22.5, "this machine takes half as long again, it seems");
        assert!(left.begin("dcp/figure-2", 2).ends_with("3 of 3, 0 s so far, about 43 s left"));
    }

    #[test]
    fn nvlink_transfers_take_time_of_their_own() {
        let cost = Cost { packet_hops: 20e6, nvlink_transfers: 3e6 };
        assert_eq!(
            cost.line(),
            "about 20.0 M packet-hops and 3.00 M NVLink transfers if nothing is lost: 12 s on one thread at 10 M and 0.3 M per \
             second"
        );
    }

    #[test]
    fn one_job_alone_says_nothing_of_the_time_left() {
        let mut left = TimeLeft::before(vec![Cost { packet_hops: 1e9, ..Cost::default() }], None);
        assert_eq!(left.begin("reps/figure-2", 0), "reps/figure-2, 1 of 1");
    }
}
