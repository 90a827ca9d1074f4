//! The sender of the `sack` transport.

use super::config::{Inherits, SackConfig};
use crate::PathFacts;
use crate::cc::{AckReport, AnyCc, LossCause, LossReport};
use crate::lb::AnyLb;
use crate::packet::{CarriedEvs, Packet, Repr};
use crate::psn_set::PsnSet;
use crate::transport::common::{
    Acknowledging, Claim, Ends, MAX_SPAN, OutOfPsns, Pacer, PayloadRange, Sender, SenderCounters,
};
use anabranch_base::{Duration, HostId, MessageId, QpId, Time};
use std::collections::VecDeque;

/// The sender of a queue pair.
///
/// To drive it, [`post`](Self::post) messages, call [`handle_packet`](Self::handle_packet) for each ACK or NACK and
/// [`handle_timeout`](Self::handle_timeout) at [`next_timeout`](Self::next_timeout). After each of these, call
/// [`poll_acknowledged`](Self::poll_acknowledged) until it returns None. Whenever the wire is free, call
/// [`poll_transmit`](Self::poll_transmit).
// The order of the fields matters: fields that every packet touches come first, so that they share few cache lines.
#[repr(C)]
pub struct SackSender {
    /// Bytes that were sent, and neither acknowledged nor declared lost.
    in_flight: u64,
    /// The lowest unacknowledged PSN.
    unacked: u32,
    /// The first PSN that was never sent.
    next: u32,
    /// The first PSN that is not assigned to a message.
    end: u32,
    /// Below this PSN, every packet in flight is a retransmission.
    oldest: u32,
    packet_bytes: u16,
    header_bytes: u16,
    payload: u16,
    paces: bool,
    /// Whether ACKs echo the entropy values of all packets, so that `evs` is in use.
    echoes_all_evs: bool,
    rto: Duration,
    /// The position of the message that contains `next`. Position 0 is `first`.
    current: usize,
    qp: QpId,
    dst: HostId,
    /// Lost PSNs that are not yet retransmitted, in the order of detection. Some may have been acknowledged since
    /// then.
    lost: VecDeque<u32>,
    /// The first message with unacknowledged packets. It is stored inline, so that most queue pairs follow no pointer.
    first: OutgoingMessage,
    /// Acknowledged PSNs above `unacked`.
    acked: PsnSet,
    /// The time at which each PSN was last sent, indexed by PSN modulo the length of the vector.
    sent_at: Vec<Time>,
    acknowledged: VecDeque<MessageId>,
    lb: AnyLb,
    /// This field is the last of those that every packet touches, since packets touch only the first bytes of a
    /// window-based congestion control.
    cc: AnyCc,
    later: VecDeque<OutgoingMessage>,
    lost_set: PsnSet,
    /// Retransmitted PSNs with the times of their retransmission, in the order of sending. Entries are removed at the
    /// front if their PSN was acknowledged, declared lost or retransmitted again.
    resent: VecDeque<(u32, Time)>,
    /// Unacknowledged PSNs that were retransmitted at least once.
    resent_set: PsnSet,
    pacer: Pacer,
    counters: SenderCounters,
    /// The entropy value with which each PSN was last sent, indexed like `sent_at`. It is empty unless `echoes_all_evs`
    /// is set.
    evs: Vec<u16>,
    /// The entropy values of PSNs below this one are not in `evs`.
    evs_from: u32,
    inherits: Inherits,
}

/// The initial length of `sent_at`, a power of two.
const FIRST_SLOTS: usize = 128;

struct OutgoingMessage {
    id: MessageId,
    first: u32,
    packets: u32,
    unacked: u32,
    last_bytes: u16,
}

const NO_MESSAGE: OutgoingMessage =
    OutgoingMessage { id: MessageId(0), first: 0, packets: 0, unacked: 0, last_bytes: 0 };

impl SackSender {
    /// The sender of a queue pair between `ends`.
    pub fn new(config: &SackConfig, facts: &PathFacts, ends: Ends, cc: AnyCc, lb: AnyLb) -> Self {
        SackSender {
            in_flight: 0,
            unacked: 0,
            next: 0,
            end: 0,
            oldest: 0,
            packet_bytes: (config.payload.0 + config.header.0) as u16,
            header_bytes: config.header.0 as u16,
            payload: config.payload.0 as u16,
            paces: cc.paces(),
            echoes_all_evs: config.carry_evs,
            rto: config.rto.on(facts),
            current: 0,
            qp: ends.qp,
            dst: ends.dst,
            acked: PsnSet::new(),
            sent_at: vec![Time::ZERO; FIRST_SLOTS],
            evs: if config.carry_evs { vec![0; FIRST_SLOTS] } else { Vec::new() },
            evs_from: 0,
            inherits: config.inherits,
            first: NO_MESSAGE,
            later: VecDeque::new(),
            cc,
            lb,
            lost: VecDeque::new(),
            lost_set: PsnSet::new(),
            resent: VecDeque::new(),
            resent_set: PsnSet::new(),
            pacer: Pacer::new(),
            acknowledged: VecDeque::new(),
            counters: SenderCounters::default(),
        }
    }

    /// Whether packets wait to be sent, whatever the window allows.
    pub fn has_backlog(&self) -> bool {
        self.next < self.end || !self.lost.is_empty()
    }

    /// Number of packets that wait to be sent, retransmissions included. Packets that were declared lost and
    /// acknowledged later may count too.
    #[inline]
    pub fn backlog(&self) -> u32 {
        self.end - self.next + self.lost.len() as u32
    }

    /// Bytes that were sent, and are neither acknowledged nor declared lost.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// The congestion window: the number of bytes in flight below which another packet may be sent.
    pub fn window(&self) -> u64 {
        self.cc.window()
    }

    pub(super) fn inherits(&self) -> Inherits {
        self.inherits
    }

    pub(super) fn lb(&self) -> &AnyLb {
        &self.lb
    }

    pub(super) fn lb_mut(&mut self) -> &mut AnyLb {
        &mut self.lb
    }

    pub(super) fn start_with_window(&mut self, bytes: u64) {
        self.cc.start_with_window(bytes);
    }
}

impl Sender for SackSender {
    fn load_balancer(&mut self) -> Option<&mut AnyLb> {
        Some(&mut self.lb)
    }

    fn post(&mut self, id: MessageId, bytes: u64) -> Result<(), OutOfPsns> {
        let most = u32::MAX - MAX_SPAN - 1;
        let claim = Claim::new(self.end, most, bytes, self.payload.into(), self.header_bytes)?;
        self.end = claim.end();
        let Claim { first, packets, last_bytes } = claim;
        let message = OutgoingMessage { id, first, packets, unacked: packets, last_bytes };
        if self.first.packets == 0 {
            self.first = message;
        } else {
            self.later.push_back(message);
        }
        Ok(())
    }

    fn payload_range(&self, psn: u32) -> Option<PayloadRange> {
        let slot = self.message_of(psn);
        let message = if slot == 0 { &self.first } else { self.later.get(slot - 1)? };
        let &OutgoingMessage { id, first, packets, last_bytes, .. } = message;
        Claim { first, packets, last_bytes }.payload_range(id, psn, self.payload.into(), self.header_bytes)
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if !self.lost.is_empty() {
            return self.transmit_lost(now);
        }
        if self.next == self.end || self.next - self.unacked >= MAX_SPAN {
            return None;
        }
        let psn = self.next;
        let message = self.message(self.current);
        let is_last = psn + 1 == message.first + message.packets;
        let bytes = if is_last { message.last_bytes } else { self.packet_bytes };
        let (id, packets) = (message.id, message.packets);
        if !self.window_allows() || (self.paces && !self.pacer.send(now, bytes, &mut self.cc)) {
            return None;
        }
        if is_last {
            self.current += 1;
        }
        self.next += 1;
        if self.acked.make_room(self.unacked, psn) {
            // The three sets grow together, so that no two PSNs in the range share a bit of a set.
            self.lost_set.make_room(self.unacked, psn);
            self.resent_set.make_room(self.unacked, psn);
        }
        if (psn - self.unacked) as usize >= self.sent_at.len() {
            self.grow_sent_at();
        }
        Some(self.send(now, psn, bytes, id, packets))
    }

    #[inline]
    fn handle_packet(&mut self, now: Time, packet: &Packet) {
        match packet.repr {
            Repr::Ack { cumulative, base, received, marked, carried, sent_at } => {
                if self.echoes_all_evs {
                    self.handle_carried_evs(now, base, carried, now.since(sent_at));
                }
                let mut packets = self.acknowledge_below(cumulative);
                packets += self.acknowledge_bits(base, received);
                let rtt = now.since(sent_at);
                if packets > 0 {
                    let bytes = u64::from(packets) * u64::from(self.packet_bytes);
                    let (probe, in_flight) = (false, self.in_flight);
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
                }
                self.lb.handle_ack(now, packet.ev, marked, rtt);
                if marked && self.paces {
                    // This transport has no CNPs, so a marked ACK takes the place of one.
                    self.cc.handle_cnp(now);
                }
            }
            Repr::Nack { psn, sent_at, last_hop, .. }
                if self.is_outstanding(psn) && self.last_sent(psn) == sent_at =>
            {
                self.lb.handle_trim(now, packet.ev);
                let cause = if last_hop { LossCause::TrimmedAtLastHop } else { LossCause::Trimmed };
                self.lose(now, psn, cause, Some(now.since(sent_at)));
            }
            _ => {}
        }
    }

    /// While packets are in flight, the timeout never decreases, since the RTO is fixed. Only a paced packet may be due
    /// earlier.
    #[inline]
    fn next_timeout(&mut self) -> Option<Time> {
        let first = self.oldest_first_transmission();
        let again = self.oldest_retransmission();
        let rto = match (first, again) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
        .map(|sent| sent + self.rto);
        if self.paces
            && let Some(due) = self.pacer.next_timeout()
        {
            return Some(rto.map_or(due, |rto| rto.min(due)));
        }
        rto
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
        while let Some(sent) = self.oldest_first_transmission().filter(|&sent| sent + self.rto <= now) {
            debug_assert!(sent <= now);
            let psn = self.oldest;
            self.time_out(now, psn);
        }
        while let Some(sent) = self.oldest_retransmission().filter(|&sent| sent + self.rto <= now) {
            debug_assert!(sent <= now);
            let psn = self.resent[0].0;
            self.time_out(now, psn);
        }
    }

    #[inline]
    fn poll_acknowledged(&mut self) -> Option<MessageId> {
        self.acknowledged.pop_front()
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

impl SackSender {
    /// A packet is sent while the bytes in flight are below the window, as in the simulator published with REPS. The
    /// paper does not specify the rule. At least one packet may always be in flight, so that a small window cannot stop
    /// the queue pair.
    #[inline]
    fn window_allows(&self) -> bool {
        self.in_flight == 0 || self.in_flight < self.cc.window()
    }

    #[inline]
    fn send(&mut self, now: Time, psn: u32, bytes: u16, message: MessageId, message_packets: u32) -> Packet {
        let slot = psn as usize & (self.sent_at.len() - 1);
        self.sent_at[slot] = now;
        self.in_flight += u64::from(bytes);
        let ev = self.lb.next_ev(now, self.cc.window());
        if self.echoes_all_evs {
            self.evs[slot] = ev;
        }
        let repr = Repr::data(psn)
            .with_message(message, message_packets)
            .with_sent_at(now)
            .with_ack_now(self.is_blocked());
        Packet::new(self.qp, self.dst, repr).with_bytes(bytes).with_ev(ev)
    }

    /// Whether nothing more can be sent before an ACK arrives. If so, the packet just sent requests an ACK. Without
    /// this request, a sender with a small window would wait for the RTO if the receiver coalesces ACKs.
    #[inline]
    fn is_blocked(&self) -> bool {
        !self.window_allows() || !self.has_backlog()
    }

    /// Reports carried entropy values to the load balancer, in the order of their PSNs. They belong to packets that
    /// the ACK covers in addition to the packet that caused it (REPS, section 4.5.1).
    ///
    /// The values are those with which the packets were last sent. After a spurious retransmission, this is not the
    /// value of the copy that arrived. The ACK does not carry the times at which these packets were sent, so the round
    /// trip of the packet that caused the ACK is used for all of them.
    #[inline(never)]
    fn handle_carried_evs(&mut self, now: Time, base: u32, carried: CarriedEvs, rtt: Duration) {
        let mut bits = carried.bits();
        while bits != 0 {
            let psn = base + bits.trailing_zeros();
            bits &= bits - 1;
            // The slots of packets that were acknowledged long ago contain the values of later packets.
            let known = self.evs_from.max(self.next.saturating_sub(self.evs.len() as u32))..self.next;
            if known.contains(&psn) {
                let ev = self.evs[psn as usize & (self.evs.len() - 1)];
                self.lb.handle_ack(now, ev, false, rtt);
            }
        }
    }

    #[cold]
    fn transmit_lost(&mut self, now: Time) -> Option<Packet> {
        self.forget_acknowledged_losses();
        if let Some(&psn) = self.lost.front() {
            let index = self.message_of(psn);
            let bytes = self.bytes_of(index, psn);
            if !self.window_allows() || (self.paces && !self.pacer.send(now, bytes, &mut self.cc)) {
                return None;
            }
            self.lost.pop_front();
            self.lost_set.remove(psn);
            // Losses that were acknowledged must not count as a backlog.
            self.forget_acknowledged_losses();
            self.counters.retransmissions += 1;
            self.resent.push_back((psn, now));
            self.resent_set.insert(psn);
            let (id, packets) = (self.message(index).id, self.message(index).packets);
            return Some(self.send(now, psn, bytes, id, packets));
        }
        self.poll_transmit(now)
    }

    /// Removes acknowledged packets from the front of `lost`.
    fn forget_acknowledged_losses(&mut self) {
        while let Some(&psn) = self.lost.front()
            && (psn < self.unacked || self.acked.contains(psn))
        {
            self.lost.pop_front();
        }
    }

    /// Whether a PSN is in flight: sent, not acknowledged and not declared lost.
    fn is_outstanding(&self, psn: u32) -> bool {
        (self.unacked..self.next).contains(&psn) && !self.acked.contains(psn) && !self.is_lost(psn)
    }

    #[inline]
    fn is_lost(&self, psn: u32) -> bool {
        !self.lost.is_empty() && self.lost_set.contains(psn)
    }

    fn time_out(&mut self, now: Time, psn: u32) {
        self.counters.timeouts += 1;
        self.lb.handle_timeout(now, None);
        self.lose(now, psn, LossCause::Timeout, None);
    }

    fn lose(&mut self, now: Time, psn: u32, cause: LossCause, rtt: Option<Duration>) {
        let bytes = u64::from(self.bytes_of(self.message_of(psn), psn));
        self.in_flight -= bytes;
        self.lost_set.insert(psn);
        self.lost.push_back(psn);
        self.cc.handle_loss(&LossReport { now, bytes, cause, rtt, in_flight: self.in_flight });
    }

    #[inline]
    fn oldest_first_transmission(&mut self) -> Option<Time> {
        self.oldest = self.oldest.max(self.unacked);
        while self.oldest < self.next {
            let psn = self.oldest;
            if !self.acked.contains(psn) && !self.is_lost(psn) && !self.resent_set.contains(psn) {
                return Some(self.last_sent(psn));
            }
            self.oldest += 1;
        }
        None
    }

    fn oldest_retransmission(&mut self) -> Option<Time> {
        while let Some(&(psn, sent)) = self.resent.front() {
            if psn >= self.unacked && self.is_outstanding(psn) && self.last_sent(psn) == sent {
                return Some(sent);
            }
            self.resent.pop_front();
        }
        None
    }

    #[inline]
    fn last_sent(&self, psn: u32) -> Time {
        self.sent_at[psn as usize & (self.sent_at.len() - 1)]
    }

    fn forget_whole_messages(&mut self) {
        while self.first.packets > 0 && self.first.unacked == 0 {
            self.first = self.later.pop_front().unwrap_or(NO_MESSAGE);
            self.current -= 1;
        }
    }

    #[inline]
    fn message(&self, index: usize) -> &OutgoingMessage {
        if index == 0 { &self.first } else { &self.later[index - 1] }
    }

    /// The position of the message to which `psn` belongs.
    #[inline]
    fn message_of(&self, psn: u32) -> usize {
        if psn < self.first.first + self.first.packets {
            return 0;
        }
        1 + self.later.partition_point(|message| message.first + message.packets <= psn)
    }

    #[inline]
    fn bytes_of(&self, index: usize, psn: u32) -> u16 {
        let message = self.message(index);
        if psn + 1 == message.first + message.packets { message.last_bytes } else { self.packet_bytes }
    }

    #[cold]
    fn grow_sent_at(&mut self) {
        let old = std::mem::take(&mut self.sent_at);
        self.sent_at = vec![Time::ZERO; old.len() * 2];
        let (from, to) = (old.len() - 1, self.sent_at.len() - 1);
        for psn in self.unacked..self.unacked + old.len() as u32 {
            self.sent_at[psn as usize & to] = old[psn as usize & from];
        }
        if self.echoes_all_evs {
            let old = std::mem::replace(&mut self.evs, vec![0; to + 1]);
            self.evs_from = self.unacked;
            for psn in self.unacked..self.unacked + old.len() as u32 {
                self.evs[psn as usize & to] = old[psn as usize & from];
            }
        }
    }
}

impl Acknowledging for SackSender {
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
        let index = self.message_of(psn);
        if self.is_lost(psn) {
            // The packet was subtracted from `in_flight` when it was declared lost.
            self.lost_set.remove(psn);
        } else {
            self.in_flight -= u64::from(self.bytes_of(index, psn));
        }
        self.resent_set.remove(psn);
        let message = if index == 0 { &mut self.first } else { &mut self.later[index - 1] };
        message.unacked -= 1;
        if message.unacked == 0 {
            self.acknowledged.push_back(message.id);
            self.forget_whole_messages();
        }
    }
}
