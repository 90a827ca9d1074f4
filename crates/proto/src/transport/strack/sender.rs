//! The sender of the `strack` transport (STrack, section 3.3.2, and Algorithm 1).

use super::config::StrackConfig;
use crate::PathFacts;
use crate::cc::{AckReport, AnyCc, LossCause, LossReport};
use crate::lb::AnyLb;
use crate::packet::{MAX_OUT_OF_ORDER, Packet, Repr, SackCause};
use crate::psn_set::PsnSet;
use crate::transport::common::{
    Acknowledging, Ends, MAX_SPAN, OutOfPsns, Outgoing, Pacer, PayloadRange, Sender, SenderCounters,
};
use anabranch_base::{Duration, MessageId, Time};

/// The unit of the timestamp that SACKs echo. The paper specifies none. The encoding of [`Headers::Strack`] uses this
/// unit by default.
///
/// [`Headers::Strack`]: crate::transport::Headers::Strack
const TIMESTAMP_TICK: Duration = Duration::from_ns(64);

/// The sender of a queue pair.
///
/// To drive it, [`post`](Self::post) messages, call [`handle_packet`](Self::handle_packet) for each SACK and
/// [`handle_timeout`](Self::handle_timeout) at [`next_timeout`](Self::next_timeout). After each of these, call
/// [`poll_acknowledged`](Self::poll_acknowledged) until it returns None. Whenever the wire is free, call
/// [`poll_transmit`](Self::poll_transmit).
// The order of the fields matters: fields that every packet touches come first, so that they share few cache lines.
#[repr(C)]
pub struct StrackSender {
    /// Bytes on the wire of the PSNs that were sent. Each PSN counts once, and a lost PSN that waits for
    /// retransmission does not count.
    sent: u64,
    /// `bytes_recvd` of the newest SACK, extended from the 32 bits of the wire to 64 bits.
    received: u64,
    /// ePSN: every PSN below it is acknowledged.
    unacked: u32,
    /// The first PSN that was never sent.
    next: u32,
    /// Number of lost PSNs that wait for retransmission.
    lost_count: u32,
    /// A PSN below which no lost PSN waits for retransmission.
    lost_from: u32,
    /// The PSN after the highest one that is known to have arrived.
    received_end: u32,
    /// The end of the recovery, which lasts until every PSN below this one is acknowledged.
    recovery_end: u32,
    /// The start of the RTO timer: the last advance of the ePSN, the last timeout, or the first packet after an idle
    /// period.
    rto_from: Time,
    /// The start of the probe timer: the last SACK, the last probe that was sent or came due, or the first packet
    /// after an idle period.
    probe_from: Time,
    /// The time of the probe whose answer can indicate a loss. It is [`Time::NEVER`] if there is no such probe.
    probe_sent: Time,
    /// The value of `next` when the last probe was sent.
    probe_next: u32,
    header_bytes: u16,
    probe_is_due: bool,
    /// Whether the congestion control sets a rate, which `pacer` enforces.
    paces: bool,
    outgoing: Outgoing,
    /// Acknowledged PSNs above `unacked`.
    acked: PsnSet,
    cc: AnyCc,
    lb: AnyLb,
    lost: PsnSet,
    ends: Ends,
    rto: Duration,
    probe_after: Duration,
    probe_rtt: Duration,
    probe_takes_all: bool,
    /// `min_threshold` in bytes.
    min_threshold: u64,
    pacer: Pacer,
    counters: SenderCounters,
}

impl StrackSender {
    /// The sender of a queue pair between `ends`.
    pub fn new(config: &StrackConfig, facts: &PathFacts, ends: Ends, cc: AnyCc, lb: AnyLb) -> Self {
        let outgoing = Outgoing::new(config.payload.0, config.header.0);
        StrackSender {
            sent: 0,
            received: 0,
            unacked: 0,
            next: 0,
            lost_count: 0,
            lost_from: 0,
            received_end: 0,
            recovery_end: 0,
            rto_from: Time::ZERO,
            probe_from: Time::ZERO,
            probe_sent: Time::NEVER,
            probe_next: 0,
            header_bytes: config.header.0 as u16,
            probe_is_due: false,
            paces: cc.paces(),
            min_threshold: u64::from(config.min_threshold) * u64::from(outgoing.packet_bytes()),
            outgoing,
            acked: PsnSet::new(),
            cc,
            lb,
            lost: PsnSet::new(),
            ends,
            rto: config.rto.on(facts),
            probe_after: config.probe_after.on(facts),
            probe_rtt: config.probe_rtt.on(facts),
            probe_takes_all: config.probe_takes_all,
            pacer: Pacer::new(),
            counters: SenderCounters::default(),
        }
    }

    /// Bytes in flight (STrack, equation 1).
    ///
    /// A packet that was declared lost counts again once it is retransmitted. If the packet was not lost, the result
    /// may be too small by this packet until it is retransmitted or a SACK covers its PSN.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.sent.saturating_sub(self.received)
    }

    /// The congestion window, in bytes.
    pub fn window(&self) -> u64 {
        self.cc.window()
    }

    /// Whether the sender is in loss recovery: a PSN below the end of the recovery is not acknowledged.
    #[inline]
    pub fn is_recovering(&self) -> bool {
        self.unacked < self.recovery_end
    }
}

impl Sender for StrackSender {
    fn load_balancer(&mut self) -> Option<&mut AnyLb> {
        Some(&mut self.lb)
    }

    fn post(&mut self, message: MessageId, bytes: u64) -> Result<(), OutOfPsns> {
        self.outgoing.post(message, bytes)
    }

    fn payload_range(&self, psn: u32) -> Option<PayloadRange> {
        self.outgoing.payload_range(psn)
    }

    /// The next packet, if one may be sent now. A probe comes first, then lost packets in the order of their PSNs, then
    /// new packets. The window and the rate apply to all packets except probes.
    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if self.probe_is_due {
            return Some(self.probe(now));
        }
        let lost = self.next_lost();
        let psn = match lost {
            Some(psn) => psn,
            None if self.can_send_new() => self.next,
            None => return None,
        };
        let part = self.outgoing.packet_info(psn);
        if !self.window_allows(part.bytes) || (self.paces && !self.pacer.send(now, part.bytes, &mut self.cc))
        {
            return None;
        }
        self.sent += u64::from(part.bytes);
        if lost.is_some() {
            self.take_lost(psn);
        } else {
            self.take_new(now);
        }
        let repr = Repr::data(psn)
            .with_message(part.message, part.message_packets)
            .with_sent_at(now)
            .with_ack_now(self.is_blocked());
        Some(self.packet(now, part.bytes, repr))
    }

    #[inline]
    fn handle_packet(&mut self, now: Time, packet: &Packet) {
        let Repr::Sack { expected, base, received, bytes_received, out_of_order, cause, sent_at } =
            packet.repr
        else {
            return;
        };
        let rtt = now.since(sent_at);
        let packets = self.acknowledge(now, expected, base, received);
        let bytes = self.count_received(bytes_received);
        // STrack, Algorithm 1, lines 2-4. The printed algorithm does not exclude the SACKs of probes.
        self.lb.handle_ack(now, packet.ev, cause.marked(), rtt);
        if self.paces && cause.marked() {
            // This transport has no CNPs, so a marked SACK takes the place of one.
            self.cc.handle_cnp(now);
        }
        // Lines 9-12: the answer to a probe.
        self.handle_probe_answer(now, cause, sent_at, rtt);
        // Lines 13-14: the congestion control.
        let (probe, marked, in_flight) = (cause.probe(), cause.marked(), self.in_flight());
        self.cc.handle_ack(&AckReport {
            now,
            packets,
            bytes,
            probe,
            marked,
            rtt,
            rtt_is_valid: true,
            in_flight,
        });
        // Line 15: loss detection by order.
        if expected >= self.unacked {
            self.detect_by_order(now, out_of_order);
        }
    }

    /// The time at which [`handle_timeout`](Self::handle_timeout) is due. None if everything that was sent is
    /// acknowledged and no paced packet waits.
    ///
    /// While packets are unacknowledged, this time never decreases, except for a paced packet.
    #[inline]
    fn next_timeout(&mut self) -> Option<Time> {
        let paced = if self.paces { self.pacer.next_timeout() } else { None };
        if self.unacked == self.next {
            return paced;
        }
        let due = (self.rto_from + self.rto).min(self.probe_from + self.probe_after);
        Some(paced.map_or(due, |paced| paced.min(due)))
    }

    fn next_pacing(&self) -> Option<Time> {
        self.pacer.next_timeout()
    }

    fn handle_pacing(&mut self, now: Time) {
        self.pacer.handle_timeout(now);
    }

    #[inline]
    fn paces(&self) -> bool {
        self.paces
    }

    fn handle_timeout(&mut self, now: Time) {
        self.handle_pacing(now);
        if self.unacked == self.next {
            return;
        }
        // STrack, section 3.3.2, timeout-based detection. The timer restarts: the paper specifies when an ACK sets the
        // timestamp, but not what a timeout does to it.
        if self.rto_from + self.rto <= now {
            self.counters.timeouts += 1;
            self.lb.handle_timeout(now, None);
            self.rto_from = now;
            self.recover(now, self.next, LossCause::Timeout);
        }
        if self.probe_from + self.probe_after <= now {
            self.probe_is_due = true;
            self.probe_from = now;
        }
    }

    #[inline]
    fn poll_acknowledged(&mut self) -> Option<MessageId> {
        self.outgoing.poll_acknowledged()
    }

    fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// False, because received packets can only postpone the timeout.
    #[inline]
    fn advances_timer(&self) -> bool {
        false
    }
}

impl StrackSender {
    /// STrack, section 3.3.2: "inflight should always be smaller than the congestion window". A packet is therefore
    /// sent if it fits into the window, as in htsim, on which the paper builds. At least one packet may always be in
    /// flight, so that a small window cannot stop the queue pair.
    #[inline]
    fn window_allows(&self, bytes: u16) -> bool {
        let in_flight = self.in_flight();
        in_flight == 0 || in_flight + u64::from(bytes) <= self.cc.window()
    }

    #[inline]
    fn can_send_new(&self) -> bool {
        self.next < self.outgoing.end() && self.next - self.unacked < MAX_SPAN
    }

    /// Whether nothing more can be sent before a SACK arrives. Some packets request an ACK (section 3.3.1, condition
    /// 4), but the paper does not specify which. Here they are the packets after which the sender is blocked. Without
    /// these requests, a sender with a window below `sack_bytes` would wait for a probe.
    #[inline]
    fn is_blocked(&self) -> bool {
        !self.window_allows(self.outgoing.packet_bytes()) || (self.lost_count == 0 && !self.can_send_new())
    }

    #[inline]
    fn next_lost(&mut self) -> Option<u32> {
        if self.lost_count == 0 { None } else { self.find_lost() }
    }

    #[cold]
    fn find_lost(&mut self) -> Option<u32> {
        self.lost_from = self.lost.first_from(self.lost_from.max(self.unacked), self.next)?;
        Some(self.lost_from)
    }

    fn take_lost(&mut self, psn: u32) {
        self.lost.remove(psn);
        self.lost_count -= 1;
        self.counters.retransmissions += 1;
        // This packet may be below `probe_next` although it is sent after the probe, so that the probe's answer
        // proves nothing about it.
        self.probe_sent = Time::NEVER;
    }

    #[inline]
    fn take_new(&mut self, now: Time) {
        if self.unacked == self.next {
            self.rto_from = now;
            self.probe_from = now;
        }
        if self.acked.make_room(self.unacked, self.next) {
            // Both sets grow together, so that no two PSNs in the range share a bit of a set.
            self.lost.make_room(self.unacked, self.next);
        }
        self.next += 1;
    }

    /// STrack, section 3.3.2, probe-based detection. Probes do not count in the window.
    fn probe(&mut self, now: Time) -> Packet {
        self.probe_is_due = false;
        self.probe_from = now;
        self.probe_sent = now;
        self.probe_next = self.next;
        let repr = Repr::probe(self.unacked).with_sent_at(now);
        self.packet(now, self.header_bytes, repr)
    }

    #[inline]
    fn packet(&mut self, now: Time, bytes: u16, repr: Repr) -> Packet {
        let ev = self.lb.next_ev(now, self.cc.window());
        Packet::new(self.ends.qp, self.ends.dst, repr).with_bytes(bytes).with_ev(ev)
    }

    /// Returns the number of newly acknowledged packets.
    #[inline]
    fn acknowledge(&mut self, now: Time, expected: u32, base: u32, received: u64) -> u32 {
        let before = self.unacked;
        let packets = self.acknowledge_below(expected) + self.acknowledge_bits(base, received);
        if self.unacked > before {
            self.rto_from = now;
        }
        // Bits beyond the sent PSNs are ignored.
        let highest = base.saturating_add(64 - received.leading_zeros());
        self.received_end =
            self.received_end.max(expected).max(if received == 0 { 0 } else { highest }).min(self.next);
        packets
    }

    /// Number of bytes by which this SACK raises the count of received bytes. It is 0 for a SACK that a newer one
    /// overtook.
    #[inline]
    fn count_received(&mut self, bytes_received: u32) -> u64 {
        let more = bytes_received.wrapping_sub(self.received as u32);
        let more = if more < 1 << 31 { u64::from(more) } else { 0 };
        self.received += more;
        more
    }

    /// STrack, section 3.3.2, OOO-based detection. The receiver's counter refers to its ePSN, so that the counter of a
    /// SACK with an older ePSN is outdated. The count, in bytes of full packets, is compared with the window or with
    /// `min_threshold`, whichever is larger. A saturated count exceeds any threshold.
    #[inline]
    fn detect_by_order(&mut self, now: Time, out_of_order: u16) {
        if out_of_order == 0 || self.is_recovering() {
            return;
        }
        let threshold = self.cc.window().max(self.min_threshold);
        let is_full = out_of_order >= MAX_OUT_OF_ORDER;
        if is_full || u64::from(out_of_order) * u64::from(self.outgoing.packet_bytes()) > threshold {
            self.recover(now, self.received_end, LossCause::Inferred);
        }
    }

    /// STrack, Algorithm 1, lines 9-12, where `achievedBDP == 0` means that no other SACK has arrived since the
    /// probe.
    ///
    /// The paper recovers the packets that are missing below the highest received PSN, which leaves a lost tail to
    /// the timeout. With `probe_takes_all`, every missing packet that was sent before the probe counts as lost,
    /// because it has had more time to arrive than the probe, which hardly queued.
    #[inline]
    fn handle_probe_answer(&mut self, now: Time, cause: SackCause, sent_at: Time, rtt: Duration) {
        // The timestamp of a SACK may have been rounded down to a tick. It still identifies its probe if
        // `probe_after` is longer than a tick.
        let is_latest = self.probe_sent.0.checked_sub(sent_at.0).is_some_and(|late| late < TIMESTAMP_TICK.0);
        let is_telling = cause.probe() && is_latest && rtt < self.probe_rtt;
        self.probe_from = now;
        self.probe_sent = Time::NEVER;
        self.probe_is_due = false;
        if is_telling {
            let end = if self.probe_takes_all { self.probe_next } else { self.received_end };
            self.recover(now, end, LossCause::Inferred);
        }
    }

    /// Begins a recovery: every unacknowledged PSN below `end` is lost.
    #[cold]
    fn recover(&mut self, now: Time, end: u32, cause: LossCause) {
        self.recovery_end = self.recovery_end.max(end);
        self.lost_from = self.unacked;
        for psn in self.unacked..end {
            if !self.acked.contains(psn) && self.lost.insert(psn) {
                self.lost_count += 1;
                let bytes = u64::from(self.outgoing.packet_info(psn).bytes);
                self.sent -= bytes;
                let in_flight = self.in_flight();
                self.cc.handle_loss(&LossReport { now, bytes, cause, rtt: None, in_flight });
            }
        }
    }
}

impl Acknowledging for StrackSender {
    #[inline(always)]
    fn acknowledged(&mut self) -> (&mut u32, &mut PsnSet) {
        (&mut self.unacked, &mut self.acked)
    }

    #[inline(always)]
    fn next(&self) -> u32 {
        self.next
    }

    #[inline]
    fn acknowledge_one(&mut self, psn: u32) {
        self.acked.insert(psn);
        if self.lost_count > 0 && self.lost.contains(psn) {
            // The packet was not lost. The received bytes include the packet, so the sent bytes must include it too.
            self.lost.remove(psn);
            self.lost_count -= 1;
            self.sent += u64::from(self.outgoing.packet_info(psn).bytes);
        }
        self.outgoing.acknowledge(psn);
    }
}
