//! The sender of the `rnic-sr` transport.

use super::config::RnicSrConfig;
use crate::PathFacts;
use crate::cc::{AnyCc, LossCause};
use crate::lb::AnyLb;
use crate::packet::{Packet, Repr};
use crate::transport::common::{
    AckRequests, Acked, Ends, Flow, Framing, OutOfPsns, PacketInfo, Sender, SenderCounters, forward_to_flow,
};
use anabranch_base::{Duration, MessageId, Time};

/// The sender of a queue pair.
///
/// To drive it, [`post`](Self::post) messages, call [`handle_packet`](Self::handle_packet) for each packet that comes
/// back and [`handle_timeout`](Self::handle_timeout) at [`next_timeout`](Self::next_timeout). After each of these, call
/// [`poll_acknowledged`](Self::poll_acknowledged) until it returns None. Whenever the wire is free, call
/// [`poll_transmit`](Self::poll_transmit). If this returns None and the sender [`paces`](Self::paces), read the next
/// timeout again.
// The order of the fields matters: fields that every packet touches come first, so that they share few cache lines.
#[repr(C)]
pub struct RnicSrSender {
    /// Bytes on the wire of the PSNs in `flow.unacked..flow.next`. Retransmissions that NACKs cause do not count again.
    in_flight: u64,
    /// The first PSN that was never sent.
    fresh: u32,
    /// Number of PSNs from the lowest unacknowledged one on that may be sent.
    window_packets: u32,
    hears_nacks: bool,
    /// The missing packet that a NACK requested, until it is retransmitted.
    missing: Option<u32>,
    /// The other packet that a NACK requests: the last one that was sent in order before the NACK arrived.
    latest: Option<u32>,
    /// The time until which a retransmission blocks the transmit path.
    blocked_until: Time,
    /// The time at which a packet that waits for the blocked path is tried again. It is [`Time::NEVER`] if no packet
    /// waits.
    resume: Time,
    /// The start of the RTO timer: the last new acknowledgement, or the first packet after an idle period or a
    /// timeout.
    since: Time,
    rto: Duration,
    retransmission_block: Duration,
    flow: Flow,
}

impl RnicSrSender {
    /// The sender of a queue pair between `ends`.
    pub fn new(config: &RnicSrConfig, facts: &PathFacts, ends: Ends, cc: AnyCc, lb: AnyLb) -> Self {
        let &RnicSrConfig { payload, header, ack, ack_every, .. } = config;
        let rto = config.rto.on(facts);
        let ack_requests = AckRequests { ack_every, rto, cnp_interval: config.cnp_interval.on(facts) };
        RnicSrSender {
            in_flight: 0,
            fresh: 0,
            window_packets: config.window_packets,
            hears_nacks: config.hears_nacks,
            missing: None,
            latest: None,
            blocked_until: Time::ZERO,
            resume: Time::NEVER,
            since: Time::ZERO,
            rto,
            retransmission_block: config.retransmission_block.on(facts),
            flow: Flow::new(&Framing { payload, header, ack }, &ack_requests, ends, cc, lb),
        }
    }
}

impl Sender for RnicSrSender {
    forward_to_flow!(messages);

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        let copy = self.missing.or(self.latest);
        if copy.is_none() && !self.next_fits() {
            return None;
        }
        if now < self.blocked_until {
            self.resume = self.blocked_until;
            return None;
        }
        self.resume = Time::NEVER;
        match copy {
            Some(psn) => self.send_copy(now, psn),
            None => self.send_next(now),
        }
    }

    #[inline]
    fn handle_packet(&mut self, now: Time, packet: &Packet) {
        match packet.repr {
            Repr::Ack { cumulative, marked, sent_at, .. } => {
                let rtt = now.since(sent_at);
                self.acknowledge(now, cumulative, marked, rtt);
                self.flow.handle_feedback(now, packet.ev, marked, rtt);
            }
            Repr::Nack { psn, sent_at, .. } if self.hears_nacks => {
                self.flow.counters.nacks += 1;
                self.acknowledge(now, psn, false, now.since(sent_at));
                self.handle_nack(now, psn);
            }
            Repr::Cnp => self.flow.cc.handle_cnp(now),
            _ => {}
        }
    }

    #[inline]
    fn next_timeout(&mut self) -> Option<Time> {
        let rto = if self.flow.unacked < self.flow.next { self.since + self.rto } else { Time::NEVER };
        let due = rto.min(self.resume).min(self.flow.next_pacing().unwrap_or(Time::NEVER));
        (due < Time::NEVER).then_some(due)
    }

    /// Retransmits everything unacknowledged, as InfiniBand does after a timeout.
    fn handle_timeout(&mut self, now: Time) {
        self.handle_pacing(now);
        if self.flow.unacked < self.flow.next && self.since + self.rto <= now {
            self.flow.next = self.flow.unacked;
            self.in_flight = 0;
            (self.missing, self.latest) = (None, None);
            self.flow.report_timeout(now, self.in_flight);
        }
    }

    fn next_pacing(&self) -> Option<Time> {
        let due = self.resume.min(self.flow.next_pacing().unwrap_or(Time::NEVER));
        (due < Time::NEVER).then_some(due)
    }

    fn handle_pacing(&mut self, now: Time) {
        self.flow.handle_pacing(now);
        if self.resume <= now {
            self.resume = Time::NEVER;
        }
    }

    #[inline]
    fn paces(&self) -> bool {
        self.flow.paces || self.retransmission_block > Duration::ZERO
    }

    /// False, because received packets can only postpone the timeout.
    #[inline]
    fn advances_timer(&self) -> bool {
        false
    }
}

impl RnicSrSender {
    #[inline]
    fn next_fits(&self) -> bool {
        self.flow.next < self.flow.messages.end() && self.windows_allow()
    }

    /// Themis-spraying, footnote 5: the distance between a sent PSN and an unacknowledged PSN stays below the window.
    /// A bitmap with one bit per packet of the window therefore covers all packets in flight. The congestion control's
    /// window admits packets by the rule of the ns-3 RDMA simulators ([`Flow::window_allows`]). The paper uses one of
    /// these simulators.
    #[inline]
    fn windows_allow(&self) -> bool {
        self.flow.next - self.flow.unacked < self.window_packets && self.flow.window_allows(self.in_flight)
    }

    /// Sends the next packet in order, which the windows must admit.
    #[inline]
    fn send_next(&mut self, now: Time) -> Option<Packet> {
        let psn = self.flow.next;
        let part = self.flow.messages.packet_info(psn);
        if !self.flow.pace(now, part.bytes) {
            return None;
        }
        if self.flow.next == self.flow.unacked {
            self.since = now;
        }
        self.flow.next += 1;
        self.in_flight += u64::from(part.bytes);
        if psn < self.fresh {
            self.flow.counters.retransmissions += 1;
        } else {
            self.fresh = self.flow.next;
        }
        Some(self.packet(now, psn, part))
    }

    /// Retransmits a packet for a NACK. The rate applies, but the window does not, since the retransmission replaces a
    /// packet that is presumed lost.
    ///
    /// By Themis-spraying, section 2.3, issue 2, retransmissions that NACKs cause seem to block the transmit path while
    /// they are fetched. The paper does not specify whether this stops the whole NIC. Here it stops the queue pair,
    /// which is equivalent in the paper's measurement with one queue pair per NIC. Retransmissions after a timeout do
    /// not block: only NACKs were measured, and after a timeout the NIC reads in order, as in a first transmission.
    #[cold]
    fn send_copy(&mut self, now: Time, psn: u32) -> Option<Packet> {
        let part = self.flow.messages.packet_info(psn);
        if !self.flow.pace(now, part.bytes) {
            return None;
        }
        if self.missing.take().is_none() {
            self.latest = None;
        }
        self.blocked_until = now + self.retransmission_block;
        self.flow.counters.retransmissions += 1;
        Some(self.packet(now, psn, part))
    }

    #[inline]
    fn packet(&mut self, now: Time, psn: u32, part: PacketInfo) -> Packet {
        let goes_on = self.missing.or(self.latest).is_some() || self.next_fits();
        self.flow.packet(now, psn, part, goes_on)
    }

    /// Themis-spraying, section 2.3: a NACK is answered with the packet of its ePSN and "the previous packet it just
    /// sent", which is taken for the last packet sent in order. The NIC treats a NACK as a congestion signal (issue 1).
    ///
    /// A NACK causes no retransmission if the packet of its ePSN is acknowledged, or is still to be retransmitted
    /// after a timeout. A repeated NACK for the same ePSN is handled again: the receiver sends only one, so a switch
    /// program must have generated the repetition.
    fn handle_nack(&mut self, now: Time, psn: u32) {
        if psn == self.flow.unacked && psn < self.flow.next {
            self.missing = Some(psn);
            self.latest = Some(self.flow.next - 1).filter(|&latest| latest > psn);
            self.flow.cc.handle_nack(&self.flow.loss(now, LossCause::Inferred, self.in_flight));
        }
    }

    fn acknowledge(&mut self, now: Time, cumulative: u32, marked: bool, rtt: Duration) {
        // After a timeout, more may have arrived than was retransmitted, but never more than was ever sent.
        let cumulative = cumulative.min(self.fresh);
        if cumulative <= self.flow.unacked {
            return;
        }
        let packets = cumulative - self.flow.unacked;
        let bytes = self.flow.advance(cumulative);
        if cumulative < self.flow.next {
            self.in_flight -= bytes;
        } else {
            self.flow.next = cumulative;
            self.in_flight = 0;
        }
        self.missing = self.missing.filter(|&psn| psn >= cumulative);
        self.latest = self.latest.filter(|&psn| psn >= cumulative);
        self.since = now;
        let acked = Acked { now, packets, bytes, in_flight: self.in_flight };
        self.flow.report_acked(acked, marked, rtt);
    }
}
