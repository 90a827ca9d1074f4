//! The receiving end.

use crate::PathFacts;
use crate::packet::{Packet, Repr};
use crate::transport::{Ends, GoBackNConfig, Receiver};
use anabranch_base::{Duration, HostId, MessageId, QpId, Time};

/// The receiving end of a queue pair, with DCQCN's notification point.
///
/// Drive it: [`handle_packet`](Self::handle_packet) for each packet, then [`poll_transmit`](Self::poll_transmit)
/// until it answers none.
pub struct GoBackNReceiver {
    /// Every PSN below has arrived, and nothing else is kept (ePSN).
    expected: u32,
    /// Arrived in order since the last ACK or NACK.
    unacked: u32,
    /// Packets of the message that `expected` belongs to that have arrived.
    arrived: u32,
    ack_every: u32,
    due: Option<Due>,
    /// The entropy value of the marked packet that a CNP is due for.
    cnp_due: Option<u16>,
    /// When `expected` was last asked for, if it was.
    nacked: Option<Time>,
    last_cnp: Option<Time>,
    nack_interval: Duration,
    cnp_interval: Duration,
    ack_bytes: u16,
    qp: QpId,
    sender: HostId,
}

/// An answer that is to be sent, with the entropy value and the time of the packet that causes it.
#[derive(Clone, Copy)]
enum Due {
    Ack { ev: u16, marked: bool, sent_at: Time },
    Nack { ev: u16, sent_at: Time },
}

impl GoBackNReceiver {
    /// The receiving end of a queue pair between `ends`.
    pub fn new(config: &GoBackNConfig, facts: &PathFacts, ends: Ends) -> Self {
        GoBackNReceiver {
            expected: 0,
            unacked: 0,
            arrived: 0,
            ack_every: config.ack_every.max(1),
            due: None,
            cnp_due: None,
            nacked: None,
            last_cnp: None,
            nack_interval: config.nack_interval.on(facts),
            cnp_interval: config.cnp_interval.on(facts),
            ack_bytes: config.ack.0 as u16,
            qp: ends.qp,
            sender: ends.src,
        }
    }
}

impl Receiver for GoBackNReceiver {
    /// Takes a packet in; answers with the message that it made whole.
    ///
    /// Without CNPs (a `cnp_interval` of 0) a mark comes back in an ACK, and one on a packet that is answered by
    /// a NACK, or by nothing because its gap was answered already, does not come back.
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
                let at_once = ack_now || whole.is_some() || (marked && self.cnp_interval == Duration::ZERO);
                if at_once || self.unacked >= self.ack_every {
                    self.due = Some(Due::Ack { ev, marked, sent_at });
                }
            }
            // A duplicate: the sender does not know that the first copy arrived.
            Repr::Data { psn, sent_at, .. } | Repr::Trimmed { psn, sent_at, .. } if psn < self.expected => {
                self.due = Some(Due::Ack { ev, marked, sent_at });
            }
            // A trimmed packet leaves the same gap as those before it.
            Repr::Data { sent_at, .. } | Repr::Trimmed { sent_at, .. } => {
                if self.nacked.is_none_or(|asked| now.since(asked) >= self.nack_interval) {
                    self.nacked = Some(now);
                    self.due = Some(Due::Nack { ev, sent_at });
                }
            }
            _ => return None,
        }
        if marked && self.cnp_interval > Duration::ZERO {
            self.notify(now, ev);
        }
        whole
    }

    /// The next ACK, NACK or CNP to send, if one is due.
    #[inline]
    fn poll_transmit(&mut self) -> Option<Packet> {
        if let Some(due) = self.due.take() {
            // A NACK acknowledges as much as an ACK.
            self.unacked = 0;
            let cumulative = self.expected;
            return Some(match due {
                Due::Ack { ev, marked, sent_at } => {
                    self.answer(ev, Repr::ack(cumulative).with_mark(marked).with_sent_at(sent_at))
                }
                Due::Nack { ev, sent_at } => self.answer(ev, Repr::nack(cumulative).with_sent_at(sent_at)),
            });
        }
        let ev = self.cnp_due.take()?;
        Some(self.answer(ev, Repr::Cnp))
    }

    /// Data packets taken in for the first time so far: those that it kept, which came in order.
    #[inline]
    fn fresh_packets(&self) -> u64 {
        u64::from(self.expected)
    }
}

impl GoBackNReceiver {
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
