//! The receiver of the `go-back-n` transport.

use super::config::GoBackNConfig;
use crate::PathFacts;
use crate::packet::{Packet, Repr};
use crate::transport::common::{Answers, Cause, Ends, NotificationPoint, Receiver};
use anabranch_base::{Duration, MessageId, Time};

/// The receiver of a queue pair, with DCQCN's notification point.
///
/// To drive it, call [`handle_packet`](Self::handle_packet) for each packet, then
/// [`poll_transmit`](Self::poll_transmit) until it returns None.
pub struct GoBackNReceiver {
    /// ePSN: every PSN below it has arrived. Packets beyond it are not kept.
    expected: u32,
    /// Number of packets that arrived in order since the last ACK or NACK.
    unacked: u32,
    /// Number of accepted packets of the message to which `expected` belongs.
    arrived: u32,
    ack_every: u32,
    due: Option<PendingAnswer>,
    /// The time of the last NACK for `expected`, if there was one.
    nacked: Option<Time>,
    nack_interval: Duration,
    notification: NotificationPoint,
    trailing_cnp: bool,
    answers: Answers,
}

#[derive(Clone, Copy)]
enum PendingAnswer {
    Ack(Cause),
    Nack(Cause),
}

impl GoBackNReceiver {
    /// The receiver of a queue pair between `ends`.
    pub fn new(config: &GoBackNConfig, facts: &PathFacts, ends: Ends) -> Self {
        GoBackNReceiver {
            expected: 0,
            unacked: 0,
            arrived: 0,
            ack_every: config.ack_every,
            due: None,
            nacked: None,
            nack_interval: config.nack_interval.on(facts),
            notification: NotificationPoint::new(config.cnp_interval.on(facts)),
            trailing_cnp: config.trailing_cnp,
            answers: Answers::new(ends, config.ack),
        }
    }
}

impl Receiver for GoBackNReceiver {
    #[inline]
    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Option<MessageId> {
        let (Packet { ev, marked, .. }, mut whole) = (*packet, None);
        match packet.repr {
            Repr::Data { psn, message, message_packets, sent_at, ack_now, .. } if psn == self.expected => {
                self.expected += 1;
                self.unacked += 1;
                self.nacked = None;
                self.arrived += 1;
                if self.arrived == message_packets {
                    self.arrived = 0;
                    whole = Some(message);
                }
                let at_once = ack_now || whole.is_some() || (marked && self.notification.is_off());
                if at_once || self.unacked >= self.ack_every {
                    self.due = Some(PendingAnswer::Ack(Cause::new(packet, sent_at)));
                }
            }
            // A duplicate is acknowledged, since the sender does not know that the first copy arrived.
            Repr::Data { psn, sent_at, .. } | Repr::Trimmed { psn, sent_at, .. } if psn < self.expected => {
                self.due = Some(PendingAnswer::Ack(Cause::new(packet, sent_at)));
            }
            // The payload of a trimmed packet is missing, and an out-of-order packet shows that an earlier one is
            // missing. Both cause a NACK.
            Repr::Data { sent_at, .. } | Repr::Trimmed { sent_at, .. } => {
                if self.nacked.is_none_or(|last| now.since(last) >= self.nack_interval) {
                    self.nacked = Some(now);
                    self.due = Some(PendingAnswer::Nack(Cause::new(packet, sent_at)));
                }
            }
            _ => return None,
        }
        if marked && !self.notification.is_off() {
            self.notification.notify(now, ev);
        } else if self.trailing_cnp {
            self.notification.trail(now, ev);
        }
        whole
    }

    #[inline]
    fn poll_transmit(&mut self) -> Option<Packet> {
        if let Some(due) = self.due.take() {
            // A NACK acknowledges the same packets as an ACK.
            self.unacked = 0;
            let (cause, repr) = match due {
                PendingAnswer::Ack(cause) => (cause, cause.ack(self.expected)),
                PendingAnswer::Nack(cause) => (cause, cause.nack(self.expected)),
            };
            return Some(self.answers.packet(cause.ev, repr));
        }
        self.notification.poll(&self.answers)
    }

    #[inline]
    fn fresh_packets(&self) -> u64 {
        u64::from(self.expected)
    }
}
