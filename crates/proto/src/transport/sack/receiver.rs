//! The receiver of the `sack` transport.

use super::config::SackConfig;
use crate::packet::{CarriedEvs, Packet, Repr};
use crate::transport::common::{Answers, AnyOrder, Arrivals, Cause, Ends, Receiver};
use anabranch_base::{MessageId, Time};

/// The receiver of a queue pair.
///
/// To drive it, call [`handle_packet`](Self::handle_packet) for each data packet or trimmed packet, then
/// [`poll_transmit`](Self::poll_transmit) until it returns None.
pub struct SackReceiver {
    arrivals: Arrivals,
    /// Number of packets that arrived since the last ACK.
    unacked: u32,
    /// The lowest PSN that arrived since the last ACK.
    unacked_low: u32,
    /// The highest PSN that arrived since the last ACK. Its distance to `unacked_low` is below `span`.
    unacked_high: u32,
    /// The last packet that arrived. It is valid only if `unacked` is above 0.
    last: Cause,
    open: AnyOrder,
    due: Option<PendingAnswer>,
    /// An ACK that is sent before `due`, for packets that the ACK of `due` cannot cover: its base, the echoed entropy
    /// values, and the packet that caused it.
    early: Option<(u32, CarriedEvs, Cause)>,
    ack_every: u32,
    /// Whether ACKs echo the entropy values of all packets.
    echoes_all_evs: bool,
    /// With `echoes_all_evs`, a bitmap of the packets that arrived since the last ACK. Bit 0 is the PSN `unacked_low`.
    carried: u64,
    /// With `echoes_all_evs`, the PSN of the last packet that arrived.
    last_psn: u32,
    /// Number of PSNs that one ACK covers.
    span: u32,
    answers: Answers,
}

/// Size of an entropy value in bytes (REPS, section 4.1: UDP source ports, 2 B).
const EV_BYTES: u16 = 2;

#[derive(Clone, Copy)]
enum PendingAnswer {
    Ack(Cause),
    Nack(Cause, u32, bool),
}

impl SackReceiver {
    /// The receiver of a queue pair between `ends`.
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
            echoes_all_evs: config.carry_evs,
            carried: 0,
            last_psn: 0,
            span: if config.carry_evs { CarriedEvs::SPAN } else { 64 },
            answers: Answers::new(ends, config.ack),
        }
    }
}

impl Receiver for SackReceiver {
    #[inline]
    fn handle_packet(&mut self, _now: Time, packet: &Packet) -> Option<MessageId> {
        match packet.repr {
            Repr::Data { psn, message, message_packets, sent_at, ack_now, .. } => {
                let cause = Cause::new(packet, sent_at);
                let fresh = self.arrivals.accept(psn).is_some();
                self.record(psn, cause);
                let whole = if fresh { self.open.count(message, message_packets) } else { None };
                // A duplicate is acknowledged, since the sender does not know that the first copy arrived.
                let at_once = ack_now || packet.marked || !fresh || whole.is_some();
                if at_once || self.unacked >= self.ack_every {
                    self.due = Some(PendingAnswer::Ack(cause));
                }
                whole
            }
            Repr::Trimmed { psn, sent_at, last_hop, .. } => {
                let cause = Cause::new(packet, sent_at);
                if !self.arrivals.contains(psn) {
                    self.due = Some(PendingAnswer::Nack(cause, psn, last_hop));
                } else {
                    self.record(psn, cause);
                    self.due = Some(PendingAnswer::Ack(cause));
                }
                None
            }
            _ => None,
        }
    }

    #[inline]
    fn poll_transmit(&mut self) -> Option<Packet> {
        if let Some((base, carried, cause)) = self.early.take() {
            return Some(self.ack(base, carried, cause));
        }
        match self.due.take()? {
            PendingAnswer::Ack(cause) => {
                let base = self.base();
                let carried = self.carried(base);
                self.reset_unacked();
                Some(self.ack(base, carried, cause))
            }
            PendingAnswer::Nack(cause, psn, last_hop) => {
                Some(self.answers.packet(cause.ev, cause.nack(psn).with_last_hop(last_hop)))
            }
        }
    }

    #[inline]
    fn fresh_packets(&self) -> u64 {
        self.arrivals.fresh.into()
    }
}

impl SackReceiver {
    #[inline]
    pub(in crate::transport) fn has(&mut self, psn: u32) -> bool {
        self.arrivals.contains(psn)
    }

    #[inline]
    fn ack(&mut self, base: u32, carried: CarriedEvs, cause: Cause) -> Packet {
        let repr = cause.ack(self.arrivals.expected).with_received(base, self.arrivals.window(base));
        let mut ack = self.answers.packet(cause.ev, repr.with_carried(carried));
        if self.echoes_all_evs {
            // The header of every ACK has room for one entropy value. Further values make the ACK longer.
            let others = EV_BYTES * carried.bits().count_ones() as u16;
            ack.wire_bytes = ack.wire_bytes.saturating_add(others);
        }
        ack
    }

    /// The PSN of bit 0 of an ACK for all packets since the last ACK. It is 63 below the highest of these packets, but
    /// not below the ePSN, since the cumulative PSN acknowledges everything below the ePSN. If ACKs carry entropy
    /// values, it is at most 47 below the highest packet, and it may be below the ePSN.
    ///
    /// ACKs get lost, and while a gap exists, the cumulative PSN of later ACKs does not repeat their content. The
    /// bitmap therefore covers PSNs below the highest packet, so that the ACKs of the next 63 PSNs report a packet
    /// again. A bitmap that began at the packet itself would cover PSNs of which few have arrived. Only one ACK would
    /// then report each packet, and the loss of this ACK would cost a timeout. RFC 2018, section 4, repeats blocks for
    /// this reason.
    ///
    /// The simulators published with REPS and by UET (uet-htsim) have this base too, with an exception. Their base is
    /// the packet's own PSN if the packet was ECN-marked or requested an ACK. Retransmissions and packets that fill
    /// the window request an ACK there.
    #[inline]
    fn base(&self) -> u32 {
        let base = self.unacked_high.saturating_sub(self.span - 1).max(self.arrivals.expected);
        // The bits of carried entropy values start at the base too, and some of their packets may be below the ePSN.
        if self.echoes_all_evs { base.min(self.unacked_low) } else { base }
    }

    /// The packets since the last ACK whose entropy values the next ACK carries. Bit 0 is the PSN `base`. The last
    /// packet is not among them, since it causes the ACK. None of them was marked, since a marked packet is
    /// acknowledged immediately and thus causes an ACK.
    #[inline]
    fn carried(&self, base: u32) -> CarriedEvs {
        if !self.echoes_all_evs {
            return CarriedEvs::NONE;
        }
        let others = self.carried & !(1 << (self.last_psn - self.unacked_low));
        CarriedEvs::new(others << (self.unacked_low - base))
    }

    #[inline]
    fn record(&mut self, psn: u32, cause: Cause) {
        let (low, high) = (self.unacked_low.min(psn), self.unacked_high.max(psn));
        if self.unacked > 0 && high - low >= self.span {
            // One ACK cannot cover both this packet and the earlier packets, so an ACK for the earlier ones goes first.
            let base = self.base();
            self.early = Some((base, self.carried(base), self.last));
            self.reset_unacked();
        }
        if self.echoes_all_evs {
            // The bits start at the lowest PSN, which may be the new one.
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
