//! The receiving end.

use super::config::SackConfig;
use crate::packet::{Carried, Packet, Repr};
use crate::transport::common::{Answers, AnyOrder, Arrivals, Cause, Ends, Receiver};
use anabranch_base::{MessageId, Time};

/// The receiving end of a queue pair.
///
/// Drive it: [`handle_packet`](Self::handle_packet) for each data or trimmed packet, then
/// [`poll_transmit`](Self::poll_transmit) until it answers none.
pub struct SackReceiver {
    arrivals: Arrivals,
    /// Arrived since the last ACK.
    unacked: u32,
    /// Lowest and highest PSN that arrived since the last ACK: within the `span` that one ACK can name.
    unacked_low: u32,
    unacked_high: u32,
    /// The last packet that arrived, if no ACK has answered it yet.
    last: Cause,
    open: AnyOrder,
    due: Option<Due>,
    /// An ACK that must go out before, for packets that `due` cannot name as well: its base.
    early: Option<(u32, Carried, Cause)>,
    ack_every: u32,
    /// ACKs bring all entropy values.
    carries: bool,
    /// If so: a bit for each packet that arrived since the last ACK, from `unacked_low` on, and the last one's PSN.
    carried: u64,
    last_psn: u32,
    /// An ACK can name so many PSNs.
    span: u32,
    answers: Answers,
}

/// Bytes of an entropy value (REPS, section 4.1: UDP source ports, 2 B).
const EV_BYTES: u16 = 2;

/// What is to be sent.
#[derive(Clone, Copy)]
enum Due {
    Ack(Cause),
    Nack(Cause, u32),
}

impl SackReceiver {
    /// The receiving end of a queue pair between `ends`.
    pub fn new(config: &SackConfig, ends: Ends) -> Self {
        SackReceiver {
            arrivals: Arrivals::new(),
            unacked: 0,
            unacked_low: u32::MAX,
            unacked_high: 0,
            last: Cause { ev: 0, marked: false, sent_at: Time::ZERO },
            open: AnyOrder::new(),
            due: None,
            early: None,
            ack_every: config.ack_every,
            carries: config.carry_evs,
            carried: 0,
            last_psn: 0,
            span: if config.carry_evs { Carried::SPAN } else { 64 },
            answers: Answers::new(ends, config.ack),
        }
    }
}

impl Receiver for SackReceiver {
    /// Processes a received packet; returns the message that it completes.
    #[inline]
    fn handle_packet(&mut self, _now: Time, packet: &Packet) -> Option<MessageId> {
        match packet.repr {
            Repr::Data { psn, message, message_packets, sent_at, ack_now, .. } => {
                let cause = Cause::new(packet, sent_at);
                let fresh = self.arrivals.accept(psn).is_some();
                self.note(psn, cause);
                let whole = if fresh { self.open.count(message, message_packets) } else { None };
                // A duplicate: the sender does not know that the first copy arrived.
                let at_once = ack_now || packet.marked || !fresh || whole.is_some();
                if at_once || self.unacked >= self.ack_every {
                    self.due = Some(Due::Ack(cause));
                }
                whole
            }
            Repr::Trimmed { psn, sent_at, .. } => {
                let cause = Cause::new(packet, sent_at);
                if !self.arrivals.contains(psn) {
                    self.due = Some(Due::Nack(cause, psn));
                } else {
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
        if let Some((base, carried, cause)) = self.early.take() {
            return Some(self.ack(base, carried, cause));
        }
        match self.due.take()? {
            Due::Ack(cause) => {
                let base = self.base();
                let carried = self.carried(base);
                self.reset_unacked();
                Some(self.ack(base, carried, cause))
            }
            Due::Nack(cause, psn) => Some(self.answers.packet(cause.ev, cause.nack(psn))),
        }
    }

    #[inline]
    fn fresh_packets(&self) -> u64 {
        self.arrivals.fresh.into()
    }
}

impl SackReceiver {
    #[inline]
    fn ack(&mut self, base: u32, carried: Carried, cause: Cause) -> Packet {
        let repr = cause.ack(self.arrivals.expected).with_received(base, self.arrivals.window(base));
        let mut ack = self.answers.packet(cause.ev, repr.with_carried(carried));
        if self.carries {
            // Every ACK echoes an entropy value; the others take room of their own.
            let others = EV_BYTES * carried.bits().count_ones() as u16;
            ack.wire_bytes = ack.wire_bytes.saturating_add(others);
        }
        ack
    }

    /// The PSN of bit 0 of an ACK for all packets since the last one: 63 below the highest of them, but not below the
    /// ePSN, up to which the cumulative PSN says it all.
    ///
    /// ACKs get lost, and a gap keeps the cumulative PSN of later ones from saying what a lost one said. So the bits look
    /// back: whatever an ACK said is said again by those of the next 63 PSNs, and at the latest when the gap closes.
    /// Bits that began at the packet itself would look ahead, where little has arrived, and leave each packet to one ACK:
    /// its loss costs a timeout. RFC 2018, section 4, repeats blocks for the same reason. The simulator published with
    /// REPS and UET's (uet-htsim) have this base, except that theirs is the packet itself where that was marked.
    #[inline]
    fn base(&self) -> u32 {
        let base = self.unacked_high.saturating_sub(self.span - 1).max(self.arrivals.expected);
        // The bits of carried entropy values count from the same PSN.
        if self.carries { base.min(self.unacked_low) } else { base }
    }

    /// All packets since the last ACK but the last, which causes the next and whose entropy value that echoes, counted from
    /// `base`. None of them was marked: a marked packet is answered at once, and so is always the cause.
    #[inline]
    fn carried(&self, base: u32) -> Carried {
        if !self.carries {
            return Carried::NONE;
        }
        let others = self.carried & !(1 << (self.last_psn - self.unacked_low));
        Carried::new(others << (self.unacked_low - base))
    }

    /// Remembers that the sender is to hear of `psn`.
    #[inline]
    fn note(&mut self, psn: u32, cause: Cause) {
        let (low, high) = (self.unacked_low.min(psn), self.unacked_high.max(psn));
        if self.unacked > 0 && high - low >= self.span {
            // One ACK cannot name both this packet and those before it: they get theirs now.
            let base = self.base();
            self.early = Some((base, self.carried(base), self.last));
            self.reset_unacked();
        }
        if self.carries {
            // Bits count from the lowest PSN, which may be this one.
            let lower = if self.unacked > 0 { self.unacked_low.saturating_sub(psn) } else { 0 };
            self.carried = self.carried << lower | 1 << (psn - self.unacked_low.min(psn));
            self.last_psn = psn;
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
        self.carried = 0;
    }
}
