//! The last copy of each packet in flight, and the time at which it times out.

use anabranch_base::{Duration, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Clone, Copy)]
pub(super) struct Sent {
    pub at: Time,
    pub ev: u16,
    /// Number of earlier copies of the packet.
    pub retransmissions: u8,
    /// Number of retries, from which the growth of the packet's timeout follows.
    retries: u8,
}

const NOT_SENT: Sent = Sent { at: Time::ZERO, ev: 0, retransmissions: 0, retries: 0 };

/// The initial length of the ring. It must be a power of two.
const FIRST_SLOTS: usize = 128;

pub(super) struct Copies {
    /// The last copy of each packet, at the index of its PSN modulo the length of the ring.
    ring: Vec<Sent>,
    /// The times at which retransmissions time out, with their PSNs. Some entries are outdated. The sender removes an
    /// outdated entry when the entry reaches the front.
    resent: BinaryHeap<Reverse<(Time, u32)>>,
    rto: Duration,
    backoff: Backoff,
}

/// The growth of the timeout of a packet.
#[derive(Clone, Copy)]
pub(in crate::transport) struct Backoff {
    /// Number of retries that leave the timeout unchanged, before others double it.
    pub linear: u32,
    /// Largest number of doublings of the timeout.
    pub doublings: u32,
    /// Whether only timeouts count as retries. Otherwise every retransmission counts.
    pub counts_timeouts: bool,
}

impl Copies {
    pub fn new(rto: Duration, backoff: Backoff) -> Self {
        Copies { ring: vec![NOT_SENT; FIRST_SLOTS], resent: BinaryHeap::new(), rto, backoff }
    }

    /// The entropy value of the copy of `psn` that was sent at `at`. None if another copy was sent since then, or if
    /// the record of a later packet has overwritten the record of `psn`.
    #[inline]
    pub fn ev_of(&self, psn: u32, at: Time) -> Option<u16> {
        let sent = self.of(psn);
        (sent.at == at).then_some(sent.ev)
    }

    #[inline]
    pub fn of(&self, psn: u32) -> &Sent {
        &self.ring[psn as usize & (self.ring.len() - 1)]
    }

    #[inline]
    fn of_mut(&mut self, psn: u32) -> &mut Sent {
        let slot = psn as usize & (self.ring.len() - 1);
        &mut self.ring[slot]
    }

    /// Every PSN in flight must be at or above `low`.
    #[inline]
    pub fn record_first(&mut self, low: u32, psn: u32, at: Time, ev: u16) {
        if (psn - low) as usize >= self.ring.len() {
            self.grow(low);
        }
        *self.of_mut(psn) = Sent { at, ev, retransmissions: 0, retries: 0 };
    }

    pub fn record_again(&mut self, psn: u32, at: Time, ev: u16) {
        let counts_timeouts = self.backoff.counts_timeouts;
        let sent = self.of_mut(psn);
        let retransmissions = sent.retransmissions.saturating_add(1);
        let retries = if counts_timeouts { sent.retries } else { retransmissions };
        *sent = Sent { at, ev, retransmissions, retries };
        self.resent.push(Reverse((self.due(psn), psn)));
    }

    pub fn note_timeout(&mut self, psn: u32) {
        if self.backoff.counts_timeouts {
            let sent = self.of_mut(psn);
            sent.retries = sent.retries.saturating_add(1);
        }
    }

    /// Notes a loss that was detected without a timeout. If only timeouts count as retries (MRC), the next timeout of
    /// `psn` has its original value again.
    pub fn note_answer(&mut self, psn: u32) {
        if self.backoff.counts_timeouts {
            self.of_mut(psn).retries = 0;
        }
    }

    /// The time at which the last copy of `psn` times out. The timeout is RTO_Init_Time, doubled with each
    /// retransmission (UET 1.0.3, section 3.5). MRC (OCP 1.0) doubles it only after some retries.
    #[inline]
    pub fn due(&self, psn: u32) -> Time {
        let sent = self.of(psn);
        let doublings = u32::from(sent.retries).saturating_sub(self.backoff.linear);
        sent.at + self.rto * (1 << doublings.min(self.backoff.doublings))
    }

    /// The retransmission that times out first.
    pub fn first_again(&self) -> Option<(Time, u32)> {
        self.resent.peek().map(|Reverse(first)| *first)
    }

    pub fn pop_again(&mut self) {
        self.resent.pop();
    }

    #[cold]
    fn grow(&mut self, low: u32) {
        let old = std::mem::take(&mut self.ring);
        self.ring = vec![NOT_SENT; old.len() * 2];
        for psn in low..low + old.len() as u32 {
            *self.of_mut(psn) = old[psn as usize & (old.len() - 1)];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MRC with one retry that leaves the timeout unchanged: three timeouts in a row give 1, 2 and 4 RTOs, and a NACK
    /// restores the original timeout.
    #[test]
    fn a_nack_restarts_the_timeout_of_mrc() {
        let backoff = Backoff { linear: 1, doublings: 5, counts_timeouts: true };
        let mut copies = Copies::new(Duration::from_us(10), backoff);
        copies.record_first(0, 0, Time::ZERO, 0);
        let mut rtos = Vec::new();
        for is_timeout in [true, true, true, false, true] {
            match is_timeout {
                true => copies.note_timeout(0),
                false => copies.note_answer(0),
            }
            copies.record_again(0, Time::ZERO, 0);
            rtos.push(copies.due(0).since(Time::ZERO).0 / 10_000_000);
        }
        assert_eq!(rtos, [1, 2, 4, 1, 1]);
    }
}
