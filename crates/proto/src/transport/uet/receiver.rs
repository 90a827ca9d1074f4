//! The receiver of the `uet` transport (UET 1.0.3, sections 3.5 and 3.6.9).

mod reverse;

use super::config::UetConfig;
use super::credit::Grants;
use crate::PathFacts;
use crate::lb::NicPorts;
use crate::packet::{Packet, Repr, SackCause};
use crate::transport::common::{Answers, AnyOrder, Arrivals, Cause, Ends, Pull, Receiver};
use anabranch_base::{MessageId, Time};

pub(in crate::transport) use reverse::ReverseEvs;

/// The receiver of a PDC.
///
/// To drive it, call [`handle_packet`](Self::handle_packet) for each packet, then
/// [`poll_transmit`](Self::poll_transmit) until it returns None.
pub struct UetReceiver {
    arrivals: Arrivals,
    /// rcvd_bytes: bytes on the wire of distinct data packets.
    bytes_received: u64,
    /// ooo_count: distinct data packets that arrived since the ePSN last advanced.
    out_of_order: u16,
    /// Bytes that arrived since the last ACK that answered no probe, duplicates included. Each packet counts as at
    /// least [`LEAST_COUNTED`].
    bytes_since_ack: u64,
    /// The lowest and the highest PSN that arrived since the last ACK that answered no probe, and the last packet.
    /// The bitmap of one ACK can cover both PSNs. None if no packet arrived since then.
    recent: Option<Recent>,
    /// The PSN after the highest PSN that requested an ACK while lower PSNs were missing, or 0. Another ACK is sent
    /// once the missing packets have arrived.
    requested_end: u32,
    open: AnyOrder,
    due: Option<PendingAnswer>,
    /// An ACK for earlier packets, which the bitmap of one ACK cannot cover together with later packets. It is sent
    /// before any other answer.
    early: Option<(u32, Trigger)>,
    sack_bytes: u64,
    received_unit: u64,
    acks: Answers,
    nacks: Answers,
    /// The credit that the receiver grants. None without RCCC.
    grants: Option<Box<Grants>>,
    /// The entropy values of the receiver's answers under MRC. None under UET.
    reverse: Option<Box<ReverseEvs>>,
    /// Bytes of each packet that do not count towards an ACK: the headers under MRC, and none under UET.
    uncounted: u64,
}

/// ACK_Gen_Min_Pkt_Add: the least number of bytes with which a packet counts towards the next ACK.
pub(in crate::transport) const LEAST_COUNTED: u64 = 1_024;

/// Number of PSNs that the bitmap of one ACK covers.
const SPAN: u32 = 64;

#[derive(Clone, Copy)]
struct Recent {
    low: u32,
    high: u32,
    last: Trigger,
}

/// The packet that causes an ACK.
#[derive(Clone, Copy)]
struct Trigger {
    psn: u32,
    cause: Cause,
    kind: SackCause,
}

#[derive(Clone, Copy)]
enum PendingAnswer {
    /// An ACK for all packets that arrived since the last ACK.
    Ack,
    /// An ACK for a probe. Its base is the one that the probe requests, but not below the ePSN.
    ProbeAck(u32, Trigger),
    Nack {
        psn: u32,
        cause: Cause,
        last_hop: bool,
    },
}

impl UetReceiver {
    /// The receiver of a PDC between `ends`.
    pub fn new(config: &UetConfig, facts: &PathFacts, ends: Ends) -> Self {
        let grants = |credit| Grants::new(credit, facts, ends, config.control);
        UetReceiver {
            arrivals: Arrivals::new(),
            bytes_received: 0,
            out_of_order: 0,
            bytes_since_ack: 0,
            recent: None,
            requested_end: 0,
            open: AnyOrder::new(),
            due: None,
            early: None,
            sack_bytes: config.sack_bytes.0,
            received_unit: config.received_unit.0,
            acks: Answers::new(ends, config.ack),
            nacks: Answers::new(ends, config.control),
            grants: config.credit.as_ref().map(|credit| Box::new(grants(credit))),
            reverse: None,
            uncounted: 0,
        }
    }

    /// The receiver of a queue pair of MRC (OCP 1.0): an ACK is due once more than `sack_bytes` of payload have
    /// arrived.
    pub(in crate::transport) fn of_mrc(
        config: &UetConfig,
        reverse: ReverseEvs,
        facts: &PathFacts,
        ends: Ends,
    ) -> Self {
        let receiver = UetReceiver::new(config, facts, ends);
        let sack_bytes = config.sack_bytes.0 + 1;
        UetReceiver { sack_bytes, uncounted: config.header.0, reverse: Some(Box::new(reverse)), ..receiver }
    }
}

impl Receiver for UetReceiver {
    #[inline]
    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Option<MessageId> {
        if let Some(reverse) = &mut self.reverse {
            reverse.handle_packet(now, packet);
        }
        match packet.repr {
            Repr::Data { psn, message, message_packets, sent_at, ack_now, retransmitted, msn, .. } => {
                if let Some(grants) = &mut self.grants {
                    grants.handle_target(msn.pull_target());
                }
                let is_first = self.bytes_received == 0;
                let is_fresh = self.accept(psn, packet.wire_bytes);
                let cause = Cause::new(packet, sent_at);
                let kind = SackCause::new(cause.marked, false).with_retransmitted(retransmitted);
                self.record(Trigger { psn, cause, kind });
                self.bytes_since_ack +=
                    u64::from(packet.wire_bytes).saturating_sub(self.uncounted).max(LEAST_COUNTED);
                // The rules are those of UET 1.0.3, section 3.5. Like uet-htsim, the receiver also acknowledges three
                // kinds of packets immediately: the first packet, retransmissions, and the packet that closes the gap
                // below a packet with an ACK request. Without the ACK of a closed gap, the tail of a sprayed message
                // would wait for its timeout.
                let closes_gap = self.requested_end > 0 && self.arrivals.expected >= self.requested_end;
                if ack_now && psn >= self.arrivals.expected {
                    self.requested_end = self.requested_end.max(psn + 1);
                } else if closes_gap {
                    self.requested_end = 0;
                }
                let at_once =
                    ack_now || packet.marked || !is_fresh || is_first || retransmitted || closes_gap;
                if at_once || self.bytes_since_ack >= self.sack_bytes {
                    self.due = Some(PendingAnswer::Ack);
                }
                if is_fresh { self.open.count(message, message_packets) } else { None }
            }
            Repr::Trimmed { psn, sent_at, last_hop, msn, data_bytes } => {
                let is_duplicate = self.arrivals.contains(psn);
                match &mut self.grants {
                    Some(grants) if is_duplicate => grants.handle_target(msn.pull_target()),
                    Some(grants) => grants.handle_trim(msn.pull_target(), data_bytes),
                    None => {}
                }
                let cause = Cause::new(packet, sent_at);
                if is_duplicate {
                    self.record(Trigger { psn, cause, kind: SackCause::new(cause.marked, false) });
                    self.due = Some(PendingAnswer::Ack);
                } else {
                    self.due = Some(PendingAnswer::Nack { psn, cause, last_hop });
                }
                None
            }
            Repr::Probe { base, sent_at, .. } => {
                let (cause, kind) = (Cause::new(packet, sent_at), SackCause::new(packet.marked, true));
                let base = base.max(self.arrivals.expected);
                self.due = Some(PendingAnswer::ProbeAck(base, Trigger { psn: base, cause, kind }));
                None
            }
            Repr::Rts { target } => {
                if let Some(grants) = &mut self.grants {
                    grants.handle_request(target);
                }
                None
            }
            _ => None,
        }
    }

    #[inline]
    fn poll_transmit(&mut self) -> Option<Packet> {
        if let Some((base, trigger)) = self.early.take() {
            return Some(self.ack(base, trigger));
        }
        if let Some(pull) = self.grants.as_mut().and_then(|grants| grants.poll_repeat()) {
            return Some(pull);
        }
        let Some(due) = self.due.take() else {
            return self.reverse.as_mut().and_then(|reverse| reverse.poll_transmit());
        };
        match due {
            PendingAnswer::Ack => {
                let Recent { high, last, .. } = self.recent.take()?;
                self.bytes_since_ack = 0;
                Some(self.ack(self.base(high), last))
            }
            PendingAnswer::ProbeAck(base, trigger) => Some(self.ack(base, trigger)),
            PendingAnswer::Nack { psn, cause, last_hop } => {
                let repr = cause.nack(psn).with_last_hop(last_hop).with_mark(cause.marked);
                Some(self.nacks.packet(self.reverse_ev(cause.ev), repr))
            }
        }
    }

    #[inline]
    fn watches_ports(&self) -> bool {
        self.reverse.is_some()
    }

    fn see_ports(&mut self, ports: NicPorts) {
        if let Some(reverse) = &mut self.reverse {
            reverse.see_ports(ports);
        }
    }

    #[inline]
    fn fresh_packets(&self) -> u64 {
        self.arrivals.fresh.into()
    }

    #[inline]
    fn requests_pull(&mut self) -> bool {
        self.grants.as_mut().is_some_and(|grants| grants.requests_pull())
    }

    #[inline]
    fn pull(&mut self) -> Option<Pull> {
        self.grants.as_mut()?.pull()
    }
}

impl UetReceiver {
    /// Returns false for a duplicate.
    #[inline]
    fn accept(&mut self, psn: u32, bytes: u16) -> bool {
        let Some(advance) = self.arrivals.accept(psn) else { return false };
        self.bytes_received += u64::from(bytes);
        self.out_of_order = if advance > 0 { 0 } else { self.out_of_order.saturating_add(1) };
        true
    }

    /// Records a packet for the next ACK. If the bitmap cannot cover this packet together with the earlier packets, an
    /// ACK for the earlier packets is sent first. UET permits an ACK for every packet, and a packet that no bitmap
    /// covers would time out.
    #[inline]
    fn record(&mut self, last: Trigger) {
        let psn = last.psn;
        self.recent = match self.recent {
            Some(Recent { low, high, .. }) if high.max(psn) - low.min(psn) < SPAN => {
                Some(Recent { low: low.min(psn), high: high.max(psn), last })
            }
            Some(Recent { high, last: earlier, .. }) => {
                self.early = Some((self.base(high), earlier));
                self.bytes_since_ack = 0;
                Some(Recent { low: psn, high: psn, last })
            }
            None => Some(Recent { low: psn, high: psn, last }),
        };
    }

    /// The PSN of bit 0 of an ACK: 63 below `high`, the highest PSN since the last ACK, but not below the ePSN. The
    /// bitmap also covers PSNs that earlier ACKs covered, so that a later ACK repeats the content of a lost one. In
    /// uet-htsim, the bitmap begins at the packet's own PSN if the packet was marked or requested the ACK.
    #[inline]
    fn base(&self, high: u32) -> u32 {
        high.saturating_sub(SPAN - 1).max(self.arrivals.expected)
    }

    #[inline]
    fn ack(&mut self, base: u32, trigger: Trigger) -> Packet {
        let Trigger { psn, cause, kind } = trigger;
        let whole = self.bytes_received / self.received_unit * self.received_unit;
        // An early ACK may be built after the ePSN has passed its base.
        let base = base.max(self.arrivals.expected);
        let repr = Repr::uet_ack(self.arrivals.expected)
            .with_received(base, self.arrivals.window(base))
            .with_psn(psn)
            .with_counts(whole as u32, self.out_of_order, kind)
            .with_sent_at(cause.sent_at);
        self.acks.packet(self.reverse_ev(cause.ev), repr)
    }

    #[inline]
    fn reverse_ev(&self, ev: u16) -> u16 {
        self.reverse.as_ref().map_or(ev, |reverse| reverse.ev_of(ev))
    }
}
