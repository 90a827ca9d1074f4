//! The sender of the `uet` transport (UET 1.0.3, sections 3.5 and 3.6.13).

mod demand;
mod endpoint;
mod losses;

use super::config::UetConfig;
use super::copies::{Backoff, Copies};
use super::credit::Credit;
use crate::PathFacts;
use crate::cc::{AckReport, AnyCc};
use crate::lb::AnyLb;
use crate::packet::{Packet, Repr, SackCause};
use crate::psn_set::PsnSet;
use crate::transport::common::{
    Acknowledging, Ends, OutOfPsns, Outgoing, Pacer, PayloadRange, Sender, SenderCounters,
};
use anabranch_base::{Duration, MessageId, Time};

pub(in crate::transport) use endpoint::Endpoint;

/// The sender of a PDC.
///
/// To drive it, [`post`](Self::post) messages, call [`handle_packet`](Self::handle_packet) for each packet that comes
/// back and [`handle_timeout`](Self::handle_timeout) at [`next_timeout`](Self::next_timeout). After each of these,
/// call [`poll_acknowledged`](Self::poll_acknowledged) until it returns None. Whenever the wire is free, call
/// [`poll_transmit`](Self::poll_transmit).
// The order of the fields matters: fields that every packet touches come first, so that they share few cache lines.
#[repr(C)]
pub struct UetSender {
    /// Number of bytes sent, minus the bytes that the receiver has counted and the bytes declared lost. The number is
    /// negative for a while if packets that had arrived were declared lost.
    in_flight: i64,
    /// `bytes_received` of the newest ACK, extended from the 32 bits of the wire to 64 bits.
    received: u64,
    /// CACK_PSN + 1: every PSN below it is acknowledged.
    unacked: u32,
    /// The first PSN that was never sent.
    next: u32,
    /// Number of PSNs that were sent, and neither acknowledged nor declared lost.
    outstanding: u32,
    /// Number of lost PSNs that wait for retransmission.
    lost_count: u32,
    /// A PSN below which no lost PSN waits for retransmission.
    lost_from: u32,
    /// Below this PSN, every packet in flight is a retransmission.
    oldest: u32,
    /// The PSN after the highest one that is known to have arrived, or that was sent before an answered probe.
    received_end: u32,
    /// `next` at the time of the last probe.
    probe_end: u32,
    /// The recovery of inferred losses lasts until every PSN below this one is acknowledged.
    recovery_end: u32,
    /// The recovery of inferred losses has examined every PSN below this one.
    recovered_end: u32,
    mpr: u32,
    /// Whether the congestion control sets a rate, which `pacer` enforces.
    paces: bool,
    probe_is_due: bool,
    /// Whether a packet without data (a probe, a request or a response) may be due.
    has_control: bool,
    /// Whether ACKs have entropy values of their own instead of those of the data packets.
    has_reverse_evs: bool,
    copies: Copies,
    outgoing: Outgoing,
    /// Acknowledged PSNs above `unacked`.
    acked: PsnSet,
    cc: AnyCc,
    lb: AnyLb,
    lost: PsnSet,
    /// The time at which the timer was last handled, or at which the first packet after an idle period was sent.
    timer_from: Time,
    rto: Duration,
    sack_bytes: u64,
    ends: Ends,
    loss_packets: u64,
    loss_windows: f64,
    /// Time without an answer after which a probe is sent. None if there are no probes.
    probe_after: Option<Duration>,
    /// The time at which the probe timer was last started: by an answer, by a probe that was sent or came due, or by
    /// the first packet after an idle period.
    probe_from: Time,
    /// The time of the last probe if no answer has arrived since then. Otherwise [`Time::NEVER`].
    probe_sent: Time,
    control_bytes: u16,
    /// The state of the receiver's credit. None without RCCC.
    credit: Option<Box<Credit>>,
    /// The state that only MRC needs. None under UET.
    endpoint: Option<Box<Endpoint>>,
    pacer: Pacer,
    counters: SenderCounters,
}

impl UetSender {
    /// The sender of a PDC between `ends`.
    pub fn new(config: &UetConfig, facts: &PathFacts, ends: Ends, cc: AnyCc, lb: AnyLb) -> Self {
        let backoff = Backoff { linear: 0, doublings: config.rto_doublings, counts_timeouts: false };
        Self::with_backoff(config, backoff, facts, ends, cc, lb)
    }

    /// The sender of a queue pair of MRC, which delivers packets as UET does.
    pub(in crate::transport) fn of_mrc(
        config: &UetConfig,
        (backoff, endpoint): (Backoff, Endpoint),
        facts: &PathFacts,
        ends: Ends,
        (cc, lb): (AnyCc, AnyLb),
    ) -> Self {
        let sender = Self::with_backoff(config, backoff, facts, ends, cc, lb);
        UetSender { has_reverse_evs: true, endpoint: Some(Box::new(endpoint)), ..sender }
    }

    fn with_backoff(
        config: &UetConfig,
        backoff: Backoff,
        facts: &PathFacts,
        ends: Ends,
        cc: AnyCc,
        lb: AnyLb,
    ) -> Self {
        UetSender {
            in_flight: 0,
            received: 0,
            unacked: 0,
            next: 0,
            outstanding: 0,
            lost_count: 0,
            lost_from: 0,
            oldest: 0,
            received_end: 0,
            probe_end: 0,
            recovery_end: 0,
            recovered_end: 0,
            mpr: config.mpr,
            paces: cc.paces(),
            probe_is_due: false,
            has_control: false,
            has_reverse_evs: false,
            copies: Copies::new(config.rto.on(facts), backoff),
            outgoing: Outgoing::new(config.payload.0, config.header.0),
            acked: PsnSet::new(),
            cc,
            lb,
            lost: PsnSet::new(),
            timer_from: Time::ZERO,
            rto: config.rto.on(facts),
            sack_bytes: config.sack_bytes.0,
            ends,
            loss_packets: config.loss_packets.into(),
            loss_windows: config.loss_windows,
            probe_after: config.probe_after.map(|after| after.on(facts)),
            probe_from: Time::ZERO,
            probe_sent: Time::NEVER,
            control_bytes: config.control.0 as u16,
            credit: config
                .credit
                .as_ref()
                .map(|credit| Box::new(Credit::new(credit, facts, config.rto.on(facts)))),
            endpoint: None,
            pacer: Pacer::new(),
            counters: SenderCounters::default(),
        }
    }

    /// Bytes that were sent, but neither counted by the receiver nor declared lost.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.in_flight.max(0) as u64
    }

    /// The congestion window, in bytes.
    pub fn window(&self) -> u64 {
        self.cc.window()
    }
}

impl Sender for UetSender {
    fn load_balancer(&mut self) -> Option<&mut AnyLb> {
        Some(&mut self.lb)
    }

    fn post(&mut self, message: MessageId, bytes: u64) -> Result<(), OutOfPsns> {
        let first = self.outgoing.end();
        self.outgoing.post(message, bytes)?;
        self.await_credit(first);
        Ok(())
    }

    fn payload_range(&self, psn: u32) -> Option<PayloadRange> {
        self.outgoing.payload_range(psn)
    }

    /// The next packet, if one may be sent now. Packets without data come first: a probe, then the requests and
    /// responses of MRC. Lost packets follow in the order of their PSNs, then new packets. Only data packets are
    /// subject to the window and the rate. Without credit, a request for credit takes the place of a data packet.
    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if self.has_control
            && let Some(packet) = self.poll_control(now)
        {
            return Some(packet);
        }
        let lost = self.next_lost();
        let psn = match lost {
            Some(psn) => psn,
            None if self.can_send_new() => self.next,
            None => return None,
        };
        if self.lacks_credit() {
            return self.request(now);
        }
        let part = self.outgoing.packet_info(psn);
        if !self.window_allows() || (self.paces && !self.pacer.send(now, part.bytes, &mut self.cc)) {
            return None;
        }
        let ev = self.lb.next_ev(now, self.cc.window());
        match lost {
            Some(_) => self.take_lost(now, psn, ev),
            None => self.take_new(now, ev),
        }
        if self.has_reverse_evs {
            self.note_sent(now, psn, ev);
        }
        self.in_flight += i64::from(part.bytes);
        self.outstanding += 1;
        if let Some(credit) = &mut self.credit {
            credit.spend(part.bytes);
            credit.waiting -= u64::from(part.bytes);
        }
        let repr = Repr::data(psn)
            .with_message(part.message, part.message_packets)
            .with_sent_at(now)
            .with_retransmitted(lost.is_some())
            .with_ack_now(lost.is_some() || self.requests_ack())
            .with_msn(self.demand(now));
        Some(Packet::new(self.ends.qp, self.ends.dst, repr).with_bytes(part.bytes).with_ev(ev))
    }

    #[inline]
    fn handle_packet(&mut self, now: Time, packet: &Packet) {
        match packet.repr {
            Repr::UetAck {
                cumulative,
                base_offset,
                psn_offset,
                received,
                bytes_received,
                out_of_order,
                cause,
                sent_at,
            } => {
                let rtt = now.since(sent_at);
                let psn = cumulative.wrapping_add_signed(psn_offset.into());
                let rtt_is_valid = self.is_rtt_valid(psn, cause);
                let ev = match self.has_reverse_evs {
                    true => self.copies.ev_of(psn, sent_at),
                    false => Some(packet.ev),
                };
                if let Some(ev) = ev
                    && !cause.probe()
                {
                    self.lb.handle_ack(now, ev, cause.marked(), rtt);
                }
                let packets = self.acknowledge(cumulative, cumulative + u32::from(base_offset), received);
                let bytes = self.count_received(bytes_received);
                self.in_flight -= bytes as i64;
                self.cc.handle_ack(&AckReport {
                    now,
                    packets,
                    bytes,
                    probe: cause.probe(),
                    marked: cause.marked(),
                    rtt,
                    rtt_is_valid,
                    in_flight: self.in_flight(),
                });
                if self.paces && cause.marked() {
                    // This transport has no CNPs, so a marked ACK takes the place of one.
                    self.cc.handle_cnp(now);
                }
                if self.has_reverse_evs {
                    self.lose_overtaken(now);
                }
                self.infer_losses(out_of_order, cause.probe() && sent_at == self.probe_sent, now);
                self.note_answer(now);
            }
            Repr::Nack { psn, sent_at, last_hop, marked } => {
                self.note_answer(now);
                if self.is_outstanding(psn) && self.copies.of(psn).at == sent_at {
                    self.handle_trim(now, psn, marked, last_hop);
                }
            }
            Repr::Endpoint { op, value, is_response, marked, .. } => {
                self.handle_endpoint(now, (op, value), is_response, marked);
            }
            Repr::Pull { number } => {
                if let Some(credit) = &mut self.credit {
                    credit.handle_pull(now, number);
                }
            }
            _ => {}
        }
    }

    /// The time at which [`handle_timeout`](Self::handle_timeout) is due. None if no packet is outstanding, and neither
    /// a paced packet nor a request for credit waits.
    ///
    /// The time decreases only for a paced packet, a request for credit or a probe of entropy values. The timer is due
    /// at least once per RTO, since a packet on its first transmission may time out before an earlier retransmission
    /// does.
    #[inline]
    fn next_timeout(&mut self) -> Option<Time> {
        let mut paced = if self.paces { self.pacer.next_timeout() } else { None };
        if self.lacks_credit()
            && self.has_backlog()
            && let Some(request) = self.credit.as_ref().and_then(|credit| credit.next_request())
        {
            paced = Some(paced.map_or(request, |paced| paced.min(request)));
        }
        if self.outstanding == 0 {
            return paced;
        }
        let mut due = self.timer_from + self.rto;
        if let Some(first) = self.oldest_first_transmission() {
            due = due.min(first + self.rto);
        }
        if let Some(again) = self.oldest_retransmission() {
            due = due.min(again);
        }
        if let Some(after) = self.probe_after {
            due = due.min(self.probe_from + after);
        }
        if self.has_reverse_evs
            && let Some(probe) = self.lb.next_probe()
        {
            due = due.min(probe);
        }
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
        self.timer_from = now;
        if let Some(credit) = &mut self.credit {
            credit.handle_timeout(now);
        }
        while let Some(sent) = self.oldest_first_transmission()
            && sent + self.rto <= now
        {
            self.time_out(now, self.oldest);
        }
        while let Some(due) = self.oldest_retransmission()
            && due <= now
        {
            if let Some((_, psn)) = self.copies.first_again() {
                self.copies.pop_again();
                self.time_out(now, psn);
            }
        }
        if let Some(after) = self.probe_after
            && self.outstanding > 0
            && self.probe_from + after <= now
        {
            self.probe_is_due = true;
            self.has_control = true;
            self.probe_from = now;
        }
        if self.outstanding > 0 {
            self.probe_evs(now);
        }
    }

    #[inline]
    fn poll_acknowledged(&mut self) -> Option<MessageId> {
        self.outgoing.poll_acknowledged()
    }

    fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// A received packet can make the timeout earlier only if it ends speculative credit or retires entropy values.
    #[inline]
    fn advances_timer(&self) -> bool {
        self.credit.is_some() || self.has_reverse_evs
    }
}

impl UetSender {
    /// UET 1.0.3, section 3.6.13: a packet is sent if a full packet fits into the window. One packet may always be
    /// outstanding, so that a small window cannot stop the queue pair.
    #[inline]
    fn window_allows(&self) -> bool {
        let room = self.cc.window().saturating_sub(self.in_flight());
        self.outstanding == 0 || u64::from(self.outgoing.packet_bytes()) <= room
    }

    #[inline]
    fn can_send_new(&self) -> bool {
        self.next < self.outgoing.end() && self.next - self.unacked < self.mpr
    }

    /// Whether a new packet requests an ACK (flag AR). The packet is already counted as in flight. It requests an ACK
    /// if no further packet can be sent before an ACK or a pull arrives, or if the window is below `sack_bytes`.
    #[inline]
    fn requests_ack(&self) -> bool {
        !self.window_allows()
            || self.cc.window() < self.sack_bytes
            || (self.lost_count == 0 && !self.can_send_new())
            || self.lacks_credit()
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

    fn take_lost(&mut self, now: Time, psn: u32, ev: u16) {
        self.lost.remove(psn);
        self.lost_count -= 1;
        self.counters.retransmissions += 1;
        self.start_timers(now);
        self.copies.record_again(psn, now, ev);
    }

    #[inline]
    fn take_new(&mut self, now: Time, ev: u16) {
        self.start_timers(now);
        if self.acked.make_room(self.unacked, self.next) {
            // `lost` has the size of `acked`, so that no two PSNs of the range share a bit.
            self.lost.make_room(self.unacked, self.next);
        }
        self.copies.record_first(self.unacked, self.next, now, ev);
        self.next += 1;
    }

    /// Starts the timers with the first packet after an idle period.
    #[inline]
    fn start_timers(&mut self, now: Time) {
        if self.outstanding == 0 {
            self.timer_from = now;
            self.probe_from = now;
            self.probe_evs(now);
        }
    }

    #[inline]
    fn note_answer(&mut self, now: Time) {
        self.probe_from = now;
        self.probe_sent = Time::NEVER;
        self.probe_is_due = false;
        if let Some(credit) = &mut self.credit {
            credit.handle_answer(now);
        }
    }

    /// NSCC, step 2: the RTT is valid if the packet was sent once and the ACK names no retransmission, or if the packet
    /// was sent twice and the ACK names a retransmission. The RTT of a probe's ACK is not valid. The sender keeps no
    /// record of packets below `unacked`, so their RTTs are not valid.
    #[inline]
    fn is_rtt_valid(&self, psn: u32, cause: SackCause) -> bool {
        let is_known = (self.unacked..self.next).contains(&psn);
        let sent_again = u8::from(cause.retransmitted());
        is_known && !cause.probe() && self.copies.of(psn).retransmissions == sent_again
    }

    #[inline]
    fn is_outstanding(&self, psn: u32) -> bool {
        (self.unacked..self.next).contains(&psn) && !self.acked.contains(psn) && !self.is_lost(psn)
    }

    #[inline]
    fn is_lost(&self, psn: u32) -> bool {
        self.lost_count > 0 && self.lost.contains(psn)
    }

    /// The time at which the oldest outstanding packet on its first transmission was sent. Its PSN becomes
    /// `self.oldest`.
    #[inline]
    fn oldest_first_transmission(&mut self) -> Option<Time> {
        self.oldest = self.oldest.max(self.unacked);
        while self.oldest < self.next {
            let sent = self.copies.of(self.oldest);
            if sent.retransmissions == 0 && self.is_outstanding(self.oldest) {
                return Some(sent.at);
            }
            self.oldest += 1;
        }
        None
    }

    /// The earliest time at which an outstanding retransmission times out.
    fn oldest_retransmission(&mut self) -> Option<Time> {
        while let Some((due, psn)) = self.copies.first_again() {
            if self.is_outstanding(psn) && self.copies.due(psn) == due {
                return Some(due);
            }
            self.copies.pop_again();
        }
        None
    }

    /// Returns the number of newly acknowledged packets.
    #[inline]
    fn acknowledge(&mut self, cumulative: u32, base: u32, received: u64) -> u32 {
        let packets = self.acknowledge_below(cumulative) + self.acknowledge_bits(base, received);
        let highest = base.saturating_add(64 - received.leading_zeros());
        let end = if received == 0 { cumulative } else { cumulative.max(highest) };
        // Bits beyond the sent PSNs are ignored.
        self.received_end = self.received_end.max(end).min(self.next);
        packets
    }

    /// Updates `received`, and returns the number of bytes by which it rises. The number is 0 for an ACK that a newer
    /// ACK overtook.
    #[inline]
    fn count_received(&mut self, bytes_received: u32) -> u64 {
        let more = bytes_received.wrapping_sub(self.received as u32);
        let more = if more < 1 << 31 { u64::from(more) } else { 0 };
        self.received += more;
        more
    }
}

impl Acknowledging for UetSender {
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
        if self.has_reverse_evs {
            self.note_arrival(psn);
        }
        if self.is_lost(psn) {
            // The packet was not lost. The received bytes include it, so the sent bytes must include it too. UET
            // subtracts the packet twice, which makes the window too wide by this packet.
            self.lost.remove(psn);
            self.lost_count -= 1;
            let bytes = self.outgoing.packet_info(psn).bytes;
            self.in_flight += i64::from(bytes);
            if let Some(credit) = &mut self.credit {
                credit.waiting -= u64::from(bytes);
            }
        } else {
            self.outstanding -= 1;
        }
        self.outgoing.acknowledge(psn);
    }
}
