//! The faults of hosts: slow receivers and pause storms. They belong to the uplinks of the hosts.

use super::{Effect, FaultPlan, Interval};
use anabranch_base::{Bytes, Duration, LinkId, Rate, Time};

impl FaultPlan {
    fn of_host(&self, uplink: LinkId) -> impl DoubleEndedIterator<Item = &Interval> {
        let faults = self.find(uplink).map_or(&[][..], |health| &health.faults);
        faults.iter().filter(|fault| matches!(fault.effect, Effect::SlowReceiver(..) | Effect::PauseStorm))
    }

    /// Whether the host that sends on `uplink` is a slow receiver or storms at some time.
    pub fn has_host_fault(&self, uplink: LinkId) -> bool {
        self.of_host(uplink).next().is_some()
    }

    /// The fault that slows down the host of `uplink` at `time`, and the size of the buffer of the host's NIC in
    /// bytes. None if the host is not slow.
    pub fn slow_receiver(&self, uplink: LinkId, time: Time) -> Option<(u16, Bytes)> {
        self.slow_at(uplink, time).map(|(fault, _, buffer)| (fault, buffer))
    }

    fn slow_at(&self, uplink: LinkId, time: Time) -> Option<(u16, Rate, Bytes)> {
        self.of_host(uplink).rev().filter(|fault| fault.schedule.holds_at(time)).find_map(|fault| match fault
            .effect
        {
            Effect::SlowReceiver(rate, buffer) => Some((fault.fault, rate, buffer)),
            _ => None,
        })
    }

    /// The fault that makes the host that sends on `uplink` storm at `time`.
    pub fn storm(&self, uplink: LinkId, time: Time) -> Option<u16> {
        let storms =
            |fault: &&Interval| matches!(fault.effect, Effect::PauseStorm) && fault.schedule.holds_at(time);
        self.of_host(uplink).rev().find(storms).map(|fault| fault.fault)
    }

    /// The first time after `after` at which a fault of the host that sends on `uplink` begins or ends, or the first
    /// such time of the run if `after` is none.
    pub fn next_change_of_host(&self, uplink: LinkId, after: Option<Time>) -> Time {
        self.of_host(uplink).map(|fault| fault.schedule.next_change(after)).min().unwrap_or(Time::NEVER)
    }

    /// The time at which the host that sends on `uplink` has taken `bytes` bytes if it begins now. Without a fault it
    /// takes them at the rate `otherwise`.
    pub fn taken_by_host(&self, uplink: LinkId, now: Time, bytes: u16, otherwise: Rate) -> Time {
        // The unit is bits times picoseconds per second, so that only the final result is rounded.
        let mut left = u128::from(bytes) * 8 * 1_000_000_000_000;
        let mut at = now;
        loop {
            let Rate(rate) = self.slow_at(uplink, at).map_or(otherwise, |(_, rate, _)| rate);
            let until = self.next_change_of_host(uplink, Some(at));
            let taken = u128::from(until.since(at).0) * u128::from(rate);
            if until == Time::NEVER || taken >= left {
                let takes = u64::try_from(left.div_ceil(u128::from(rate))).unwrap_or(u64::MAX);
                return at + Duration(takes);
            }
            left -= taken;
            at = until;
        }
    }
}
