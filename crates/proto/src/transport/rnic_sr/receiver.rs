//! The receiver of the `rnic-sr` transport.

use super::config::RnicSrConfig;
use crate::PathFacts;
use crate::packet::{Packet, Repr};
use crate::transport::common::{Answers, Arrivals, Cause, Ends, InOrder, NotificationPoint, Receiver};
use anabranch_base::{MessageId, Time};

/// The receiver of a queue pair, with DCQCN's notification point.
///
/// To drive it, call [`handle_packet`](Self::handle_packet) for each packet, then
/// [`poll_transmit`](Self::poll_transmit) and [`poll_delivered`](Self::poll_delivered) until they return None.
pub struct RnicSrReceiver {
    arrivals: Arrivals,
    /// Number of PSNs by which the ePSN has advanced since the last ACK.
    unacked: u32,
    ack_every: u32,
    /// Whether a NACK for the ePSN was sent.
    nacked: bool,
    /// The highest PSN that arrived out of order and requested an ACK. None once the ePSN is beyond it.
    ack_requested: Option<u32>,
    ack_due: Option<Cause>,
    nack_due: Option<Cause>,
    open: InOrder,
    notification: NotificationPoint,
    answers: Answers,
}

impl RnicSrReceiver {
    /// The receiver of a queue pair between `ends`.
    pub fn new(config: &RnicSrConfig, facts: &PathFacts, ends: Ends) -> Self {
        RnicSrReceiver {
            arrivals: Arrivals::new(),
            unacked: 0,
            ack_every: config.ack_every,
            nacked: false,
            ack_requested: None,
            ack_due: None,
            nack_due: None,
            open: InOrder::new(),
            notification: NotificationPoint::new(config.cnp_interval.on(facts)),
            answers: Answers::new(ends, config.ack),
        }
    }
}

impl Receiver for RnicSrReceiver {
    /// Messages are delivered in order: a message is complete when the ePSN is beyond its last packet
    /// (Themis-spraying, section 7). Trimmed packets are discarded, since commodity NICs do not know trimming.
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
            // By Themis-spraying, section 2.3, an out-of-order packet means a loss, and each ePSN has one NACK. Only
            // an arrival causes a NACK. When the ePSN reaches the next gap, the NACK for that gap is sent once another
            // packet arrives beyond it.
            if !self.nacked {
                self.nacked = true;
                self.nack_due = Some(cause);
            }
            if ack_now {
                self.ack_requested = Some(self.ack_requested.map_or(psn, |highest| highest.max(psn)));
            }
        } else if self.ack_requested.is_some_and(|highest| highest < self.arrivals.expected) {
            // A packet that the ePSN has now passed requested an ACK before, and no ACK has covered it. The sender
            // may be waiting for that ACK.
            self.ack_requested = None;
            ack_at_once = true;
        }
        let delivered = self.poll_delivered();
        let pays_mark = packet.marked && self.notification.is_off();
        // A duplicate is acknowledged, since the sender does not know that the first copy arrived.
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

    #[inline]
    fn poll_transmit(&mut self) -> Option<Packet> {
        let cumulative = self.arrivals.expected;
        if let Some(cause) = self.ack_due.take() {
            self.unacked = 0;
            return Some(self.answers.packet(cause.ev, cause.ack(cumulative)));
        }
        // Themis-spraying, section 2.3: a NACK carries only the ePSN. It does not count as an ACK, since a switch may
        // drop it.
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
