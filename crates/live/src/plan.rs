//! The limits of a testbed, and the dilation that a run needs.

use crate::error::LiveError;
use anabranch_base::Time;
use anabranch_sim::scenario::RunPoint;
use anabranch_sim::{Built, DrivenRun};

const MOST_HOSTS: u32 = 32;
const MOST_NODES: u32 = 96;
/// Number of packet-hops per second of real time that two busy CPU cores handle without delay.
const EASY_RATE: f64 = 12_000.0;
/// Number of packet-hops per second of real time above which queues would build up in the machine itself.
const MOST_RATE: f64 = 60_000.0;
/// Real time in seconds that a full packet should take on a host's link. With this time, nodes act in time even on a
/// busy machine.
const EASY_PACKET: f64 = 10e-3;
/// Real time in seconds that the busy part of a run should not exceed. To end within this time, a run may be dilated less
/// than [`EASY_PACKET`] requires.
const EASY_RUN: f64 = 15.0;
/// Real time in seconds that a run should not exceed, even if it mostly waits for timeouts.
const LONGEST_RUN: f64 = 150.0;

/// The amount of work of a run, from its simulation.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Number of packets sent on links. A packet counts once for each link that it takes.
    pub packet_hops: u64,
    /// The simulated duration of the run.
    pub lasts: Time,
    /// The part of the simulated duration in which nearly all packets are sent. The rest is spent on waiting for timeouts.
    pub busy: Time,
    /// The simulated time that a full packet takes on the link of a host.
    pub packet: Time,
}

impl Work {
    fn seconds(time: Time) -> f64 {
        time.0 as f64 / 1e12
    }

    /// The dilation at which the run has `rate` packet-hops per second of real time.
    fn dilation_for(&self, rate: f64) -> f64 {
        self.packet_hops as f64 / (Work::seconds(self.busy).max(1e-12) * rate)
    }

    /// The dilation that suits even a busy machine. `EASY_PACKET` does not raise the dilation beyond the one with
    /// which the busy part of the run takes `EASY_RUN`, or the run `LONGEST_RUN`.
    pub fn fitting_dilation(&self) -> u32 {
        let in_time = EASY_PACKET / Work::seconds(self.packet).max(1e-12);
        let within = |seconds: f64, time: Time| seconds / Work::seconds(time).max(1e-12);
        let soon = within(EASY_RUN, self.busy).min(within(LONGEST_RUN, self.lasts));
        two_digits(self.dilation_for(EASY_RATE).max(in_time.min(soon)).max(1.0))
    }

    /// The real time of the run at this dilation, in seconds.
    pub fn real_seconds(&self, dilation: u32) -> f64 {
        Work::seconds(self.lasts) * f64::from(dilation)
    }

    /// Checks that the machine can carry the run at this dilation.
    ///
    /// # Errors
    /// The machine cannot carry the run. The error names the smallest possible dilation.
    pub fn check(&self, dilation: u32) -> Result<(), LiveError> {
        let least = self.dilation_for(MOST_RATE);
        if f64::from(dilation) >= least {
            return Ok(());
        }
        let rate = self.dilation_for(1.0) / f64::from(dilation);
        Err(LiveError::Unsupported(format!(
            "at a dilation of {dilation} the run sends {rate:.0} packets over links per second, and a machine carries \
             about {MOST_RATE:.0}\n  help: --dilation {} or more; --dilation {} is easy",
            two_digits(least),
            self.fitting_dilation()
        )))
    }
}

/// A number rounded up to a whole number with at most two significant digits.
pub(crate) fn two_digits(number: f64) -> u32 {
    let mut unit = 1.0;
    while number / unit > 99.0 {
        unit *= 10.0;
    }
    ((number / unit).ceil() * unit) as u32
}

/// Checks that a testbed can carry a run, without simulating the run.
///
/// # Errors
/// The point cannot be built, the fabric has too many hosts or switches, or the run has a part that only the simulator
/// has.
pub fn check_run(point: &RunPoint, built: &Built) -> Result<(), LiveError> {
    if let Some(what) = DrivenRun::new(point, built)?.left_out() {
        return Err(LiveError::Unsupported(what.to_owned()));
    }
    let (hosts, nodes) = (built.topology.hosts, built.topology.nodes());
    if hosts <= MOST_HOSTS && nodes <= MOST_NODES {
        return Ok(());
    }
    Err(LiveError::Unsupported(format!(
        "the fabric has {hosts} hosts and {} switches, and a testbed at most {MOST_HOSTS} hosts and {MOST_NODES} nodes in \
         all\n  help: write `hosts = 8` in [topology], for example",
        nodes - hosts
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dilation_fits_the_work() {
        // A packet of 348 ns takes 10 ms at a dilation of 28,736, rounded up to 29,000. At `MOST_RATE`, 12,000
        // packet-hops take 200 ms. This is 2,000 times the simulated 100 us.
        let lasts = Time(100_000_000);
        let work = Work { packet_hops: 12_000, lasts, busy: lasts, packet: Time(348_000) };
        let fits = work.fitting_dilation();
        assert_eq!(fits, 29_000, "10 ms for a packet");
        work.check(fits).unwrap();
        let error = work.check(1_000).unwrap_err().to_string();
        assert!(error.contains("--dilation 2000 or more; --dilation 29000 is easy"), "{error}");
        work.check(2_000).unwrap();
        // A run that then waits for a timeout needs the same dilation as long as it takes 150 s.
        let waits = |us: u64| Work { lasts: Time(us * 1_000_000), ..work };
        assert_eq!([3_000, 10_000].map(|us| waits(us).fitting_dilation()), [29_000, 15_000]);
        assert!(waits(3_000).check(1_000).is_err());
    }

    #[test]
    fn dilations_have_two_digits() {
        assert_eq!([1.0, 9.5, 12.3, 123.0, 99_999.0].map(two_digits), [1, 10, 13, 130, 100_000]);
    }
}
