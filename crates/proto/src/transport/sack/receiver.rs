//! The receiving end.

use crate::packet::{Packet, Repr};
use crate::psn_set::PsnSet;
use crate::transport::{Receiver, SackConfig};
use anabranch_base::{HostId, MessageId, QpId, Time};
use smallvec::SmallVec;

/// The receiving end of a queue pair.
///
/// Drive it: [`handle_packet`](Self::handle_packet) for each data or trimmed packet, then
/// [`poll_transmit`](Self::poll_transmit) until it answers none.
pub struct SackReceiver {
    /// Every PSN below has arrived (ePSN).
    cumulative: u32,
    /// Packets that arrived, each once.
    fresh: u32,
    /// Arrived since the last ACK.
    unacked: u32,
    /// Lowest and highest PSN that arrived since the last ACK: within the 64 that one ACK can name.
    unacked_low: u32,
    unacked_high: u32,
    /// The last packet that arrived, if no ACK has answered it yet.
    last: Cause,
    /// Arrived above `cumulative`.
    arrived: PsnSet,
    open: SmallVec<[OpenMessage; 2]>,
    due: Option<Due>,
    /// An ACK that must go out before, for packets that `due` cannot name as well.
    early: Option<(u32, Cause)>,
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

/// What is to be sent.
#[derive(Clone, Copy)]
enum Due {
    Ack(Cause),
    Nack { ev: u16, psn: u32, sent_at: Time },
}

/// The packet that causes an ACK, which echoes these.
#[derive(Clone, Copy)]
struct Cause {
    ev: u16,
    marked: bool,
    sent_at: Time,
}

impl SackReceiver {
    /// The receiving end of `qp`, which answers to `sender`.
    pub fn new(config: &SackConfig, qp: QpId, sender: HostId) -> Self {
        SackReceiver {
            cumulative: 0,
            fresh: 0,
            unacked: 0,
            unacked_low: u32::MAX,
            unacked_high: 0,
            last: Cause { ev: 0, marked: false, sent_at: Time::ZERO },
            arrived: PsnSet::new(),
            open: SmallVec::new(),
            due: None,
            early: None,
            ack_every: config.ack_every.max(1),
            ack_bytes: config.ack.0 as u16,
            qp,
            sender,
        }
    }
}

impl Receiver for SackReceiver {
    /// Takes a packet in; answers with the message that it made whole.
    #[inline]
    fn handle_packet(&mut self, _now: Time, packet: &Packet) -> Option<MessageId> {
        match packet.repr {
            Repr::Data { psn, message, message_packets, sent_at, ack_now, .. } => {
                let cause = Cause { ev: packet.ev, marked: packet.marked, sent_at };
                let fresh = self.accept(psn);
                self.note(psn, cause);
                let whole = if fresh { self.count(message, message_packets) } else { None };
                // A duplicate: the sender does not know that the first copy arrived.
                let at_once = ack_now || packet.marked || !fresh || whole.is_some();
                if at_once || self.unacked >= self.ack_every {
                    self.due = Some(Due::Ack(cause));
                }
                whole
            }
            Repr::Trimmed { psn, sent_at, .. } => {
                if psn >= self.cumulative && !self.contains(psn) {
                    self.due = Some(Due::Nack { ev: packet.ev, psn, sent_at });
                } else {
                    let cause = Cause { ev: packet.ev, marked: packet.marked, sent_at };
                    self.note(psn, cause);
                    self.due = Some(Due::Ack(cause));
                }
                None
            }
            _ => None,
        }
    }

    /// The next ACK or NACK to send, if one is due.
    #[inline]
    fn poll_transmit(&mut self) -> Option<Packet> {
        if let Some((base, cause)) = self.early.take() {
            return Some(self.ack(base, cause));
        }
        match self.due.take()? {
            Due::Ack(cause) => {
                let base = self.unacked_low;
                self.reset_unacked();
                Some(self.ack(base, cause))
            }
            Due::Nack { ev, psn, sent_at } => Some(self.answer(ev, Repr::nack(psn).with_sent_at(sent_at))),
        }
    }

    #[inline]
    fn fresh_packets(&self) -> u64 {
        u64::from(self.fresh)
    }
}

impl SackReceiver {
    #[inline]
    fn ack(&mut self, base: u32, cause: Cause) -> Packet {
        let Cause { ev, marked, sent_at } = cause;
        let (cumulative, received) = (self.cumulative, self.received_from(base));
        self.answer(
            ev,
            Repr::ack(cumulative).with_received(base, received).with_mark(marked).with_sent_at(sent_at),
        )
    }

    #[inline]
    fn answer(&self, ev: u16, repr: Repr) -> Packet {
        Packet::new(self.qp, self.sender, repr).with_bytes(self.ack_bytes).with_ev(ev)
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
        self.fresh += 1;
        if psn == self.cumulative {
            self.cumulative = self.arrived.take_run(psn);
        }
        true
    }

    fn contains(&mut self, psn: u32) -> bool {
        self.arrived.make_room(self.cumulative, psn);
        self.arrived.contains(psn)
    }

    /// Remembers that the sender is to hear of `psn`.
    #[inline]
    fn note(&mut self, psn: u32, cause: Cause) {
        let (low, high) = (self.unacked_low.min(psn), self.unacked_high.max(psn));
        if self.unacked > 0 && high - low >= 64 {
            // One ACK cannot name both this packet and those before it: they get theirs now.
            self.early = Some((self.unacked_low, self.last));
            self.reset_unacked();
        }
        self.unacked += 1;
        self.unacked_low = self.unacked_low.min(psn);
        self.unacked_high = self.unacked_high.max(psn);
        self.last = cause;
    }

    #[inline]
    fn reset_unacked(&mut self) {
        self.unacked = 0;
        self.unacked_low = u32::MAX;
        self.unacked_high = 0;
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
