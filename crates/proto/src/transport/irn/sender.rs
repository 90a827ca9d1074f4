//! The sender of the `irn` transport.

use super::config::IrnConfig;
use crate::PathFacts;
use crate::cc::{AnyCc, LossCause};
use crate::lb::AnyLb;
use crate::packet::{Packet, Repr};
use crate::psn_set::PsnSet;
use crate::transport::common::{
    AckRequests, Acked, Ends, Flow, Framing, OutOfPsns, Sender, SenderCounters, forward_to_flow,
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
pub struct IrnSender {
    /// Bytes on the wire of the PSNs in `flow.unacked..flow.next`, SACKed ones included. Retransmissions do not count
    /// again.
    in_flight: u64,
    /// The PSN after the highest SACKed one. It is not above `unacked` if none is SACKed.
    sacked_below: u32,
    /// Number of PSNs from `unacked` on that may be sent, which is the BDP cap.
    window_packets: u32,
    rto_low_packets: u32,
    timeout_takes_all: bool,
    sack_takes_all: bool,
    recovery: Option<Recovery>,
    /// The start of the RTO timer: the last new cumulative acknowledgement, the last timeout, or the first packet after
    /// an idle period.
    since: Time,
    rto_low: Duration,
    rto_high: Duration,
    flow: Flow,
    /// The bitmap of SACKed PSNs.
    sacked: PsnSet,
}

struct Recovery {
    /// The PSN after the recovery PSN, which is the highest that was in flight when the recovery began.
    end: u32,
    /// Every lost packet below this PSN was retransmitted in this recovery.
    cursor: u32,
    /// Every packet below this PSN that is not SACKed was declared lost when the recovery began.
    given_up_below: u32,
}

impl IrnSender {
    /// The sender of a queue pair between `ends`.
    pub fn new(config: &IrnConfig, facts: &PathFacts, ends: Ends, cc: AnyCc, lb: AnyLb) -> Self {
        let &IrnConfig { payload, header, ack, ack_every, rto_low_packets, .. } = config;
        let rto_high = config.rto.on(facts);
        // If RTO_low were above RTO_high, sending another packet could move the timeout into the past.
        let rto_low = config.rto_low.on(facts).min(rto_high);
        let ack_requests =
            AckRequests { ack_every, rto: rto_low, cnp_interval: config.cnp_interval.on(facts) };
        let window = config.window.on(facts).0.div_ceil((payload.0 + header.0).max(1));
        IrnSender {
            in_flight: 0,
            sacked_below: 0,
            window_packets: window.clamp(1, u64::from(u32::MAX)) as u32,
            rto_low_packets,
            timeout_takes_all: config.timeout_takes_all,
            sack_takes_all: config.sack_takes_all,
            recovery: None,
            since: Time::ZERO,
            rto_low,
            rto_high,
            flow: Flow::new(&Framing { payload, header, ack }, &ack_requests, ends, cc, lb),
            sacked: PsnSet::new(),
        }
    }
}

impl Sender for IrnSender {
    forward_to_flow!(messages, pacing);

    /// In loss recovery, lost packets come first. New packets follow when no more losses are known (DCP, section 2.2).
    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        match self.next_lost() {
            Some(psn) => self.send_again(now, psn),
            None => self.send_next(now),
        }
    }

    #[inline]
    fn handle_packet(&mut self, now: Time, packet: &Packet) {
        match packet.repr {
            Repr::Ack { cumulative, base, received, marked, sent_at, .. } => {
                let rtt = now.since(sent_at);
                self.acknowledge(now, cumulative, marked, rtt);
                if received != 0 {
                    self.handle_sack(now, base);
                }
                self.flow.handle_feedback(now, packet.ev, marked, rtt);
            }
            Repr::Cnp => self.flow.cc.handle_cnp(now),
            _ => {}
        }
    }

    #[inline]
    fn next_timeout(&mut self) -> Option<Time> {
        let due = self.rto_due().min(self.flow.next_pacing().unwrap_or(Time::NEVER));
        (due < Time::NEVER).then_some(due)
    }

    /// Begins a loss recovery if the ePSN has not advanced for an RTO.
    ///
    /// The packet of the ePSN is retransmitted first, then every packet below a SACKed packet (DCP, section 2.2). The
    /// last packets in flight have no SACKed packet above them. By this rule, each of them therefore waits for a
    /// timeout of its own. If a burst loses its tail, this takes tens of timeouts. The papers do not specify whether a
    /// timeout also retransmits these packets, so `timeout_takes_all` decides.
    ///
    /// A timeout during a recovery begins a new recovery, in which each lost packet is retransmitted once more.
    fn handle_timeout(&mut self, now: Time) {
        self.handle_pacing(now);
        if self.rto_due() <= now {
            let Flow { unacked, next, .. } = self.flow;
            let given_up_below = if self.timeout_takes_all { next } else { unacked + 1 };
            self.recovery = Some(Recovery { end: next, cursor: unacked, given_up_below });
            self.since = now;
            self.flow.report_timeout(now, self.in_flight);
        }
    }

    /// An ACK after which few packets are in flight shortens the timeout.
    #[inline]
    fn advances_timer(&self) -> bool {
        true
    }
}

impl IrnSender {
    /// The expiry of the RTO timer, which is [`Time::NEVER`] if nothing is in flight. With few packets in flight, where
    /// a spurious timeout costs little, RTO_low applies (IRN, section 3.1).
    #[inline]
    fn rto_due(&self) -> Time {
        match self.flow.next - self.flow.unacked {
            0 => Time::NEVER,
            few if few <= self.rto_low_packets => self.since + self.rto_low,
            _ => self.since + self.rto_high,
        }
    }

    /// Returns the lowest lost PSN that was not yet retransmitted in this recovery.
    ///
    /// By DCP, section 2.2, a packet is lost if a higher PSN was SACKed. It is retransmitted once per recovery, since
    /// an ACK does not identify the copy that it acknowledges. The papers do not specify whether this rule also holds
    /// for packets that were first sent in this recovery, above the recovery PSN. Here the rule applies to these
    /// packets too, since its wording does not exclude them.
    #[inline]
    fn next_lost(&mut self) -> Option<u32> {
        let recovery = self.recovery.as_mut()?;
        let lost_below = self.sacked_below.max(recovery.given_up_below);
        let mut psn = recovery.cursor.max(self.flow.unacked);
        while psn < self.sacked_below && self.sacked.contains(psn) {
            psn += 1;
        }
        recovery.cursor = psn;
        (psn < lost_below).then_some(psn)
    }

    /// Retransmits a lost packet. The rate applies, but the window does not, since the retransmission replaces a packet
    /// that is presumed lost.
    #[cold]
    fn send_again(&mut self, now: Time, psn: u32) -> Option<Packet> {
        let part = self.flow.messages.packet_info(psn);
        if !self.flow.pace(now, part.bytes) {
            return None;
        }
        if let Some(recovery) = &mut self.recovery {
            recovery.cursor = psn + 1;
        }
        self.flow.counters.retransmissions += 1;
        let goes_on = self.goes_on();
        Some(self.flow.packet(now, psn, part, goes_on))
    }

    #[inline]
    fn send_next(&mut self, now: Time) -> Option<Packet> {
        let psn = self.flow.next;
        if psn == self.flow.messages.end() {
            return None;
        }
        let part = self.flow.messages.packet_info(psn);
        if !self.windows_allow() || !self.flow.pace(now, part.bytes) {
            return None;
        }
        if psn == self.flow.unacked {
            self.since = now;
        }
        self.flow.next += 1;
        self.in_flight += u64::from(part.bytes);
        let goes_on = self.goes_on();
        Some(self.flow.packet(now, psn, part, goes_on))
    }

    /// BDP-FC (IRN, section 3.2): a new packet's PSN exceeds the lowest unacknowledged PSN by less than the cap. The
    /// congestion control's window admits packets by the rule of the ns-3 RDMA simulators ([`Flow::window_allows`]),
    /// which include IRN's simulator. If both limits are one BDP, they therefore admit the same number of full
    /// packets.
    #[inline]
    fn windows_allow(&self) -> bool {
        self.flow.next - self.flow.unacked < self.window_packets && self.flow.window_allows(self.in_flight)
    }

    #[inline]
    fn goes_on(&mut self) -> bool {
        self.next_lost().is_some() || (self.flow.next < self.flow.messages.end() && self.windows_allow())
    }

    #[inline]
    fn acknowledge(&mut self, now: Time, cumulative: u32, marked: bool, rtt: Duration) {
        let cumulative = cumulative.min(self.flow.next);
        if cumulative <= self.flow.unacked {
            return;
        }
        for psn in self.flow.unacked..cumulative.min(self.sacked_below) {
            self.sacked.remove(psn);
        }
        let packets = cumulative - self.flow.unacked;
        let bytes = self.flow.advance(cumulative);
        self.in_flight -= bytes;
        self.since = now;
        // IRN, section 3.1: recovery ends when the ePSN is above the recovery PSN.
        if self.recovery.as_ref().is_some_and(|recovery| recovery.end <= cumulative) {
            self.recovery = None;
        }
        let acked = Acked { now, packets, bytes, in_flight: self.in_flight };
        self.flow.report_acked(acked, marked, rtt);
    }

    /// Handles the PSN of the packet that caused an ACK. The ACK is a SACK if that PSN is above the lowest
    /// unacknowledged one. A SACK has no effect if a cumulative acknowledgement of its packet overtook it.
    #[inline]
    fn handle_sack(&mut self, now: Time, psn: u32) {
        if psn <= self.flow.unacked || psn >= self.flow.next {
            return;
        }
        self.sacked.make_room(self.flow.unacked, psn);
        self.sacked.insert(psn);
        self.sacked_below = self.sacked_below.max(psn + 1);
        // DCP, section 2.2: a SACK begins a recovery, unless one is in progress.
        if self.recovery.is_none() {
            let Flow { unacked, next, .. } = self.flow;
            let given_up_below = if self.sack_takes_all { next } else { unacked };
            self.recovery = Some(Recovery { end: next, cursor: unacked, given_up_below });
            // A congestion control that reacts to losses gets one loss per recovery.
            self.flow.cc.handle_loss(&self.flow.loss(now, LossCause::Inferred, self.in_flight));
        }
    }
}
