//! Pacing: the time from which the next packet of a queue pair may be sent.

use crate::cc::AnyCc;
use anabranch_base::{Duration, Rate, Time};

/// Separates packets by the time that the previous packet takes at the congestion control's rate.
///
/// The rate is read when a packet is about to be sent, so that a cut or an increase also affects a packet that is
/// already waiting.
pub(crate) struct Pacer {
    /// The time at which the last packet was sent.
    last: Time,
    last_bytes: u16,
    /// The time at which a waiting packet is tried again. It is [`Time::NEVER`] if no packet waits.
    due: Time,
}

impl Pacer {
    pub fn new() -> Self {
        Pacer { last: Time::ZERO, last_bytes: 0, due: Time::NEVER }
    }

    /// Whether a packet of `bytes` bytes may be sent now. If it may, it counts as sent.
    #[inline]
    pub fn send(&mut self, now: Time, bytes: u16, cc: &mut AnyCc) -> bool {
        if let Some(rate) = cc.rate(now) {
            let free = self.last + gap(rate, self.last_bytes);
            if now < free {
                self.due = free.min(cc.next_increase().unwrap_or(Time::NEVER));
                return false;
            }
        }
        self.due = Time::NEVER;
        self.last = now;
        self.last_bytes = bytes;
        cc.handle_sent(now, bytes);
        true
    }

    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        (self.due < Time::NEVER).then_some(self.due)
    }

    pub fn handle_timeout(&mut self, now: Time) {
        if self.due <= now {
            self.due = Time::NEVER;
        }
    }
}

/// [`Rate::time_for`], computed in 64 bits, which suffice for a packet. A rate of 0 counts as 1 bit per second.
#[inline]
fn gap(rate: Rate, bytes: u16) -> Duration {
    Duration((u64::from(bytes) * 8_000_000_000_000).div_ceil(rate.0.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_the_time_on_a_link() {
        for rate in [Rate(1), Rate(7), Rate(10_000_000), Rate(31_971_679_687), Rate::from_gbps(400)] {
            for bytes in [0, 1, 64, 4150, u16::MAX] {
                assert_eq!(gap(rate, bytes), rate.time_for(bytes.into()), "{bytes} B at {rate}");
            }
        }
    }
}
