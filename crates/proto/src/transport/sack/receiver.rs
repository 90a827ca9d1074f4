//! The receiving end.

use crate::packet::{Packet, Repr};
use crate::psn_set::PsnSet;
use crate::transport::SackConfig;
use anabranch_base::{HostId, MessageId, QpId, Time};

/// The receiving end of a queue pair.
///
/// Drive it: [`handle_packet`](Self::handle_packet) for each data or trimmed packet, then
/// [`poll_transmit`](Self::poll_transmit) until it answers none.
pub struct SackReceiver {
    /// Every PSN below has arrived (ePSN).
    cumulative: u32,
    /// Arrived since the last ACK.
    unacked: u32,
    /// Lowest and highest PSN that arrived since the last ACK.
    unacked_low: u32,
    unacked_high: u32,
    /// Arrived above `cumulative`.
    arrived: PsnSet,
    open: Vec<OpenMessage>,
    due: Option<Due>,
    ack_every: u32,
    ack_bytes: u16,
    qp: QpId,
    sender: HostId,
}

/// A message of which some packets, not all, have arrived.
struct OpenMessage {
    id: MessageId,
    left: u32,
}

/// What is to be sent: the packet that caused it.
#[derive(Clone, Copy)]
enum Due {
    Ack { ev: u16, marked: bool, sent_at: Time },
    Nack { ev: u16, psn: u32 },
}

impl SackReceiver {
    /// The receiving end of `qp`, which answers to `sender`.
    pub fn new(config: &SackConfig, qp: QpId, sender: HostId) -> Self {
        SackReceiver {
            cumulative: 0,
            unacked: 0,
            unacked_low: u32::MAX,
            unacked_high: 0,
            arrived: PsnSet::new(),
            open: Vec::new(),
            due: None,
            ack_every: config.ack_every.max(1),
            ack_bytes: config.ack.0 as u16,
            qp,
            sender,
        }
    }

    /// Takes a packet in; answers with the message that it made whole.
    #[inline]
    pub fn handle_packet(&mut self, packet: &Packet) -> Option<MessageId> {
        match packet.repr {
            Repr::Data { psn, message, message_packets, sent_at } => {
                let due = Due::Ack { ev: packet.ev, marked: packet.marked, sent_at };
                if !self.accept(psn) {
                    // The sender does not know that it arrived: tell it at once.
                    self.note(psn);
                    self.due = Some(due);
                    return None;
                }
                self.note(psn);
                let whole = self.count(message, message_packets);
                if self.unacked >= self.ack_every || packet.marked || whole.is_some() {
                    self.due = Some(due);
                }
                whole
            }
            Repr::Trimmed { psn, .. } => {
                if psn >= self.cumulative && !self.contains(psn) {
                    self.due = Some(Due::Nack { ev: packet.ev, psn });
                }
                None
            }
            Repr::Ack { .. } | Repr::Nack { .. } => None,
        }
    }

    /// The next ACK or NACK to send, if one is due.
    #[inline]
    pub fn poll_transmit(&mut self) -> Option<Packet> {
        let due = self.due.take()?;
        let (ev, repr) = match due {
            Due::Ack { ev, marked, sent_at } => {
                let base = self.unacked_low;
                let repr = Repr::Ack {
                    cumulative: self.cumulative,
                    base,
                    received: self.received_from(base),
                    marked,
                    sent_at,
                };
                self.reported_to(base.saturating_add(63));
                if self.unacked > 0 {
                    // Packets beyond the 64 that one ACK can name: another ACK at once.
                    self.due = Some(due);
                }
                (ev, repr)
            }
            Due::Nack { ev, psn } => (ev, Repr::Nack { psn }),
        };
        Some(Packet { qp: self.qp, dst: self.sender, wire_bytes: self.ack_bytes, ev, marked: false, repr })
    }

    /// Marks `psn` as arrived; false when it had arrived before.
    #[inline]
    fn accept(&mut self, psn: u32) -> bool {
        if psn < self.cumulative {
            return false;
        }
        self.arrived.make_room(self.cumulative, psn);
        if !self.arrived.insert(psn) {
            return false;
        }
        if psn == self.cumulative {
            self.cumulative = self.arrived.take_run(psn);
        }
        true
    }

    fn contains(&mut self, psn: u32) -> bool {
        self.arrived.make_room(self.cumulative, psn);
        self.arrived.contains(psn)
    }

    #[inline]
    fn note(&mut self, psn: u32) {
        self.unacked += 1;
        self.unacked_low = self.unacked_low.min(psn);
        self.unacked_high = self.unacked_high.max(psn);
    }

    /// Which of `base..base + 64` have arrived: all below the cumulative PSN, and what the set holds.
    #[inline]
    fn received_from(&mut self, base: u32) -> u64 {
        if base >= self.cumulative {
            self.arrived.make_room(self.cumulative, base.saturating_add(64));
            return self.arrived.window(base);
        }
        let below = self.cumulative - base;
        if below >= 64 {
            return u64::MAX;
        }
        self.arrived.make_room(self.cumulative, self.cumulative + 64);
        self.arrived.window(self.cumulative) << below | ((1 << below) - 1)
    }

    /// Everything up to `psn` has been reported.
    #[inline]
    fn reported_to(&mut self, psn: u32) {
        if self.unacked_high <= psn || self.unacked_high < self.cumulative {
            self.unacked = 0;
            self.unacked_low = u32::MAX;
            self.unacked_high = 0;
        } else {
            self.unacked_low = psn.saturating_add(1).max(self.cumulative);
        }
    }

    /// Counts a fresh packet of a message; answers with the message when it was the last one missing.
    #[inline]
    fn count(&mut self, id: MessageId, packets: u32) -> Option<MessageId> {
        let place = match self.open.iter().position(|open| open.id == id) {
            Some(place) => place,
            None => {
                self.open.push(OpenMessage { id, left: packets });
                self.open.len() - 1
            }
        };
        let open = &mut self.open[place];
        open.left -= 1;
        (open.left == 0).then(|| self.open.swap_remove(place).id)
    }
}
