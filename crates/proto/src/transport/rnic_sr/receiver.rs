//! The receiving end.

use crate::PathFacts;
use crate::packet::{Packet, Repr};
use crate::psn_set::PsnSet;
use crate::transport::{Ends, Receiver, RnicSrConfig};
use anabranch_base::{Duration, HostId, MessageId, QpId, Time};
use std::collections::VecDeque;

/// The receiving end of a queue pair, with DCQCN's notification point.
///
/// Drive it: [`handle_packet`](Self::handle_packet) for each packet, then [`poll_transmit`](Self::poll_transmit)
/// until it answers none, and [`poll_delivered`](Self::poll_delivered) likewise.
pub struct RnicSrReceiver {
    /// ePSN: every PSN below has arrived.
    expected: u32,
    /// Packets that arrived, each once.
    fresh: u32,
    /// How far the ePSN came since the last ACK.
    unacked: u32,
    ack_every: u32,
    /// A NACK asked for the ePSN.
    nacked: bool,
    /// Highest PSN that arrived out of order and asked for an ACK, until the ePSN passes it.
    asked: Option<u32>,
    ack_due: Option<Cause>,
    nack_due: Option<Cause>,
    /// The entropy value of the marked packet that a CNP is due for.
    cnp_due: Option<u16>,
    /// Arrived above `expected`: the bitmap.
    arrived: PsnSet,
    /// Messages of which packets have arrived and that are not delivered, in the order of their PSNs.
    open: VecDeque<OpenMessage>,
    last_cnp: Option<Time>,
    cnp_interval: Duration,
    ack_bytes: u16,
    qp: QpId,
    sender: HostId,
}

struct OpenMessage {
    id: MessageId,
    /// Packets that have not arrived.
    left: u32,
    /// Any PSN of it that has arrived: messages' PSNs do not overlap, so that this tells where it stands.
    psn: u32,
}

/// The packet that causes an answer, which echoes these.
#[derive(Clone, Copy)]
struct Cause {
    ev: u16,
    marked: bool,
    sent_at: Time,
}

impl RnicSrReceiver {
    /// The receiving end of a queue pair between `ends`.
    pub fn new(config: &RnicSrConfig, facts: &PathFacts, ends: Ends) -> Self {
        RnicSrReceiver {
            expected: 0,
            fresh: 0,
            unacked: 0,
            ack_every: config.ack_every.max(1),
            nacked: false,
            asked: None,
            ack_due: None,
            nack_due: None,
            cnp_due: None,
            arrived: PsnSet::new(),
            open: VecDeque::new(),
            last_cnp: None,
            cnp_interval: config.cnp_interval.on(facts),
            ack_bytes: config.ack.0 as u16,
            qp: ends.qp,
            sender: ends.src,
        }
    }
}

impl Receiver for RnicSrReceiver {
    /// Takes a packet in; answers with the first message that it delivers.
    ///
    /// Messages are delivered in order: one is whole when the ePSN has passed its last packet (Themis-spraying,
    /// section 7). Only data counts: such a NIC knows no trimmed packets and throws them away.
    #[inline]
    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Option<MessageId> {
        let Repr::Data { psn, message, message_packets, sent_at, ack_now, .. } = packet.repr else {
            return None;
        };
        let cause = Cause { ev: packet.ev, marked: packet.marked, sent_at };
        let expected = self.expected;
        let is_fresh = self.accept(psn);
        if is_fresh {
            self.count(psn, message, message_packets);
        }
        let mut ack_at_once = ack_now;
        if psn > expected {
            // Themis-spraying, section 2.3: a packet out of order means a loss, and each ePSN has one NACK. It is
            // the arrival that asks; when the ePSN comes to the next gap, the next packet beyond that one does.
            if !self.nacked {
                self.nacked = true;
                self.nack_due = Some(cause);
            }
            if ack_now {
                self.asked = Some(self.asked.map_or(psn, |asked| asked.max(psn)));
            }
        } else if self.asked.is_some_and(|asked| asked < self.expected) {
            // The ACK that this packet asked for could not name it. The sender may wait for it.
            self.asked = None;
            ack_at_once = true;
        }
        let delivered = self.poll_delivered();
        let pays_mark = packet.marked && self.cnp_interval == Duration::ZERO;
        // A duplicate: the sender does not know that the first copy arrived.
        let at_once = ack_at_once || !is_fresh || delivered.is_some() || pays_mark;
        if at_once || self.unacked >= self.ack_every {
            self.ack_due = Some(cause);
        }
        if packet.marked && !pays_mark {
            self.notify(now, packet.ev);
        }
        delivered
    }

    #[inline]
    fn poll_delivered(&mut self) -> Option<MessageId> {
        // With all of it here, the ePSN has passed all of it or nothing.
        let first = self.open.front().filter(|first| first.left == 0 && first.psn < self.expected)?.id;
        self.open.pop_front();
        Some(first)
    }

    /// The next ACK, NACK or CNP to send, if one is due.
    #[inline]
    fn poll_transmit(&mut self) -> Option<Packet> {
        let cumulative = self.expected;
        if let Some(Cause { ev, marked, sent_at }) = self.ack_due.take() {
            self.unacked = 0;
            let repr = Repr::ack(cumulative).with_mark(marked).with_sent_at(sent_at);
            return Some(self.answer(ev, repr));
        }
        // Themis-spraying, section 2.3: a NACK carries the ePSN alone. It does not count as an ACK, since a switch
        // may drop it on its way.
        if let Some(Cause { ev, sent_at, .. }) = self.nack_due.take() {
            return Some(self.answer(ev, Repr::nack(cumulative).with_sent_at(sent_at)));
        }
        let ev = self.cnp_due.take()?;
        Some(self.answer(ev, Repr::Cnp))
    }

    #[inline]
    fn fresh_packets(&self) -> u64 {
        u64::from(self.fresh)
    }
}

impl RnicSrReceiver {
    /// Marks `psn` as arrived; false when it had arrived before.
    #[inline]
    fn accept(&mut self, psn: u32) -> bool {
        if psn < self.expected {
            return false;
        }
        self.arrived.make_room(self.expected, psn);
        if !self.arrived.insert(psn) {
            return false;
        }
        self.fresh += 1;
        if psn == self.expected {
            // Themis-spraying, section 2.3: to the smallest PSN that has not been received.
            self.expected = self.arrived.take_run(psn);
            self.unacked += self.expected - psn;
            self.nacked = false;
        }
        true
    }

    /// Counts a fresh packet of a message.
    #[inline]
    fn count(&mut self, psn: u32, id: MessageId, packets: u32) {
        let place = self.open.partition_point(|open| open.psn < psn);
        // It belongs to a neighbour, or to a message between them of which nothing has arrived.
        let neighbours = place.saturating_sub(1)..(place + 1).min(self.open.len());
        match self.open.range_mut(neighbours).find(|open| open.id == id) {
            Some(open) => open.left -= 1,
            None => self.open.insert(place, OpenMessage { id, left: packets - 1, psn }),
        }
    }

    /// DCQCN, section 3.1: the notification point's one CNP in `cnp_interval`.
    fn notify(&mut self, now: Time, ev: u16) {
        if self.last_cnp.is_none_or(|last| now.since(last) >= self.cnp_interval) {
            self.last_cnp = Some(now);
            self.cnp_due = Some(ev);
        }
    }

    #[inline]
    fn answer(&self, ev: u16, repr: Repr) -> Packet {
        Packet::new(self.qp, self.sender, repr).with_bytes(self.ack_bytes).with_ev(ev)
    }
}
