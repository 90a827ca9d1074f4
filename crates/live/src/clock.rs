//! The clock of a live run: simulated time passes more slowly than real time by a constant factor.

use anabranch_base::Time;
use nix::time::{ClockId, clock_gettime};

/// The time of the system's monotonic clock in nanoseconds. All processes share this clock.
pub fn monotonic_ns() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map_or(0, |time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// The monotonic time at which the run begins, in nanoseconds.
    pub start_ns: u64,
    /// The real time that one unit of simulated time takes.
    pub dilation: u32,
}

impl Clock {
    /// The simulated time; 0 before the run begins.
    pub fn now(&self) -> Time {
        let passed = u128::from(monotonic_ns().saturating_sub(self.start_ns));
        Time((passed * 1000 / u128::from(self.dilation.max(1))) as u64)
    }

    /// The real nanoseconds from now until the simulated time `time`; 0 if it has passed.
    pub fn ns_until(&self, time: Time) -> u64 {
        let at = u128::from(time.0) * u128::from(self.dilation) / 1000 + u128::from(self.start_ns);
        u64::try_from(at).unwrap_or(u64::MAX).saturating_sub(monotonic_ns())
    }

    /// The real time in nanoseconds that a span of `ps` simulated picoseconds takes.
    pub fn real_ns(&self, ps: u64) -> u64 {
        u64::try_from(u128::from(ps) * u128::from(self.dilation) / 1000).unwrap_or(u64::MAX)
    }
}
