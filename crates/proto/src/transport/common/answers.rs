//! The packets that receivers send back: ACKs, NACKs and CNPs.

use super::interface::Ends;
use crate::packet::{Packet, Repr};
use anabranch_base::{Bytes, Duration, HostId, QpId, Time};

/// The fields of a packet that the receiver's answer echoes.
#[derive(Clone, Copy)]
pub(in crate::transport) struct Cause {
    pub ev: u16,
    pub marked: bool,
    pub sent_at: Time,
}

impl Cause {
    #[inline]
    pub fn new(packet: &Packet, sent_at: Time) -> Self {
        Cause { ev: packet.ev, marked: packet.marked, sent_at }
    }

    /// An ACK of every PSN below `cumulative`.
    #[inline]
    pub fn ack(self, cumulative: u32) -> Repr {
        Repr::ack(cumulative).with_mark(self.marked).with_sent_at(self.sent_at)
    }

    #[inline]
    pub fn nack(self, psn: u32) -> Repr {
        Repr::nack(psn).with_sent_at(self.sent_at)
    }
}

pub(in crate::transport) struct Answers {
    qp: QpId,
    sender: HostId,
    bytes: u16,
}

impl Answers {
    /// The packets have `bytes` bytes on the wire, unless the caller changes their size.
    pub fn new(ends: Ends, bytes: Bytes) -> Self {
        Answers { qp: ends.qp, sender: ends.src, bytes: bytes.0 as u16 }
    }

    /// A packet that echoes the entropy value `ev`.
    #[inline]
    pub fn packet(&self, ev: u16, repr: Repr) -> Packet {
        Packet::new(self.qp, self.sender, repr).with_bytes(self.bytes).with_ev(ev)
    }
}

/// DCQCN's notification point (DCQCN, section 3.1), which sends at most one CNP per interval.
pub(in crate::transport) struct NotificationPoint {
    interval: Duration,
    last: Option<Time>,
    /// Whether a marked packet arrived within the interval since the last CNP.
    held_back: bool,
    /// The entropy value of the marked packet for which a CNP is due.
    due: Option<u16>,
}

impl NotificationPoint {
    pub fn new(interval: Duration) -> Self {
        NotificationPoint { interval, last: None, held_back: false, due: None }
    }

    /// Whether the interval is 0. Except in `dcp`, there are then no CNPs, and a marked ACK takes the place of a CNP.
    #[inline]
    pub fn is_off(&self) -> bool {
        self.interval == Duration::ZERO
    }

    pub fn notify(&mut self, now: Time, ev: u16) {
        if self.last.is_none_or(|last| now.since(last) >= self.interval) {
            self.last = Some(now);
            self.due = Some(ev);
            self.held_back = false;
        } else {
            self.held_back = true;
        }
    }

    /// Handles an unmarked packet. If the interval is over, this packet causes the CNP that was suppressed for an
    /// earlier marked packet.
    pub fn trail(&mut self, now: Time, ev: u16) {
        if self.held_back {
            self.notify(now, ev);
        }
    }

    #[inline]
    pub fn poll(&mut self, answers: &Answers) -> Option<Packet> {
        let ev = self.due.take()?;
        Some(answers.packet(ev, Repr::Cnp))
    }
}
