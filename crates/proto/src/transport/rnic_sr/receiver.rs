//! The receiving end.

use super::config::RnicSrConfig;
use crate::PathFacts;
use crate::packet::{Packet, Repr};
use crate::transport::common::{Answers, Arrivals, Cause, Ends, InOrder, NotificationPoint, Receiver};
use anabranch_base::{MessageId, Time};

/// The receiving end of a queue pair, with DCQCN's notification point.
///
/// Drive it: [`handle_packet`](Self::handle_packet) for each packet, then [`poll_transmit`](Self::poll_transmit)
/// until it answers none, and [`poll_delivered`](Self::poll_delivered) likewise.
pub struct RnicSrReceiver {
    arrivals: Arrivals,
    /// How far the ePSN came since the last ACK.
    unacked: u32,
    ack_every: u32,
    /// A NACK asked for the ePSN.
    nacked: bool,
    /// Highest PSN that arrived out of order and asked for an ACK, until the ePSN passes it.
    asked: Option<u32>,
    ack_due: Option<Cause>,
    nack_due: Option<Cause>,
    open: InOrder,
    notification: NotificationPoint,
    answers: Answers,
}

impl RnicSrReceiver {
    /// The receiving end of a queue pair between `ends`.
    pub fn new(config: &RnicSrConfig, facts: &PathFacts, ends: Ends) -> Self {
        RnicSrReceiver {
            arrivals: Arrivals::new(),
            unacked: 0,
            ack_every: config.ack_every,
            nacked: false,
            asked: None,
            ack_due: None,
            nack_due: None,
            open: InOrder::new(),
            notification: NotificationPoint::new(config.cnp_interval.on(facts)),
            answers: Answers::new(ends, config.ack),
        }
    }
}

impl Receiver for RnicSrReceiver {
    /// Processes a received packet; returns the first message that it completes.
    ///
    /// Messages are delivered in order: one is whole when the ePSN has passed its last packet (Themis-spraying,
    /// section 7). Only data counts: such a NIC knows no trimmed packets and throws them away.
    #[inline]
    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Option<MessageId> {
        let Repr::Data { psn, message, message_packets, sent_at, ack_now, .. } = packet.repr else {
            return None;
        };
        let cause = Cause::new(packet, sent_at);
        let expected = self.arrivals.expected;
        let advance = self.arrivals.accept(psn);
        if let Some(advance) = advance {
            self.open.count(psn, message, message_packets);
            if advance > 0 {
                self.unacked += advance;
                self.nacked = false;
            }
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
        } else if self.asked.is_some_and(|asked| asked < self.arrivals.expected) {
            // The ACK that this packet asked for could not name it. The sender may wait for it.
            self.asked = None;
            ack_at_once = true;
        }
        let delivered = self.poll_delivered();
        let pays_mark = packet.marked && self.notification.is_off();
        // A duplicate: the sender does not know that the first copy arrived.
        let at_once = ack_at_once || advance.is_none() || delivered.is_some() || pays_mark;
        if at_once || self.unacked >= self.ack_every {
            self.ack_due = Some(cause);
        }
        if packet.marked && !pays_mark {
            self.notification.notify(now, packet.ev);
        }
        delivered
    }

    #[inline]
    fn poll_delivered(&mut self) -> Option<MessageId> {
        self.open.poll_delivered(self.arrivals.expected)
    }

    /// The next ACK, NACK or CNP to send, if one is due.
    #[inline]
    fn poll_transmit(&mut self) -> Option<Packet> {
        let cumulative = self.arrivals.expected;
        if let Some(cause) = self.ack_due.take() {
            self.unacked = 0;
            return Some(self.answers.packet(cause.ev, cause.ack(cumulative)));
        }
        // Themis-spraying, section 2.3: a NACK carries the ePSN alone. It does not count as an ACK, since a switch
        // may drop it on its way.
        if let Some(cause) = self.nack_due.take() {
            return Some(self.answers.packet(cause.ev, cause.nack(cumulative)));
        }
        self.notification.poll(&self.answers)
    }

    #[inline]
    fn fresh_packets(&self) -> u64 {
        self.arrivals.fresh.into()
    }
}
