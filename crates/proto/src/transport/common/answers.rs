//! What receivers say, and to whom.

use super::interface::Ends;
use crate::packet::{Packet, Repr};
use anabranch_base::{Bytes, Duration, HostId, QpId, Time};

/// The packet that causes an answer, which echoes these.
#[derive(Clone, Copy)]
pub(in crate::transport) struct Cause {
    pub ev: u16,
    pub marked: bool,
    pub sent_at: Time,
}

impl Cause {
    /// A packet that left at `sent_at`.
    #[inline]
    pub fn new(packet: &Packet, sent_at: Time) -> Self {
        Cause { ev: packet.ev, marked: packet.marked, sent_at }
    }

    /// An ACK that it causes, with nothing beyond `cumulative`.
    #[inline]
    pub fn ack(self, cumulative: u32) -> Repr {
        Repr::ack(cumulative).with_mark(self.marked).with_sent_at(self.sent_at)
    }

    /// A NACK that it causes.
    #[inline]
    pub fn nack(self, psn: u32) -> Repr {
        Repr::nack(psn).with_sent_at(self.sent_at)
    }
}

/// The packets of a receiver: towards the sender, all of one size.
pub(in crate::transport) struct Answers {
    qp: QpId,
    sender: HostId,
    bytes: u16,
}

impl Answers {
    /// Of `bytes` bytes each.
    pub fn new(ends: Ends, bytes: Bytes) -> Self {
        Answers { qp: ends.qp, sender: ends.src, bytes: bytes.0 as u16 }
    }

    /// One that echoes the entropy value `ev`.
    #[inline]
    pub fn packet(&self, ev: u16, repr: Repr) -> Packet {
        Packet::new(self.qp, self.sender, repr).with_bytes(self.bytes).with_ev(ev)
    }
}

/// DCQCN's notification point (DCQCN, section 3.1): one CNP in an interval.
pub(in crate::transport) struct NotificationPoint {
    interval: Duration,
    last: Option<Time>,
    /// A mark came since, too early for a CNP of its own.
    held_back: bool,
    /// The entropy value of the marked packet that a CNP is due for.
    due: Option<u16>,
}

impl NotificationPoint {
    /// Before the first mark.
    pub fn new(interval: Duration) -> Self {
        NotificationPoint { interval, last: None, held_back: false, due: None }
    }

    /// With an interval of 0, for transports whose ACKs stand for CNPs then.
    #[inline]
    pub fn is_off(&self) -> bool {
        self.interval == Duration::ZERO
    }

    /// A marked packet came.
    pub fn notify(&mut self, now: Time, ev: u16) {
        if self.last.is_none_or(|last| now.since(last) >= self.interval) {
            self.last = Some(now);
            self.due = Some(ev);
            self.held_back = false;
        } else {
            self.held_back = true;
        }
    }

    /// A packet without a mark came, which brings the CNP that a mark within the last interval did not.
    pub fn trail(&mut self, now: Time, ev: u16) {
        if self.held_back {
            self.notify(now, ev);
        }
    }

    /// The CNP that is due.
    #[inline]
    pub fn poll(&mut self, answers: &Answers) -> Option<Packet> {
        let ev = self.due.take()?;
        Some(answers.packet(ev, Repr::Cnp))
    }
}
