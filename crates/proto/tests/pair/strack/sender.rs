//! The sender, compared with a simple model that keeps a state for each packet and computes sums over these states.

use super::StrackEnds;
use crate::pair::run::Sending;
use crate::pair::schedule::{HEADER, PACKET, Planned, QP, RECEIVER, Schedule, message_id};
use crate::support::loss;
use anabranch_base::{Duration, Time};
use anabranch_proto::cc::{AckReport, AnyCc};
use anabranch_proto::lb::AnyLb;
use anabranch_proto::transport::{PayloadRange, Sender as _, SenderCounters, StrackSender};

use anabranch_proto::{MAX_OUT_OF_ORDER, Packet, Repr};
use proptest::prelude::*;
use std::collections::BTreeSet;

pub struct CheckedSender {
    sender: StrackSender,
    /// The model calls its own copies of the congestion control and the load balancer.
    cc: AnyCc,
    lb: AnyLb,
    rto: Duration,
    probe_after: Duration,
    probe_rtt: Duration,
    probe_takes_all: bool,
    min_threshold: u64,
    planned: Vec<Planned>,
    /// For each message, its payload in bytes.
    payload: Vec<u64>,
    /// For each message, the number of unacknowledged packets.
    left: Vec<u32>,
    /// Number of PSNs that are assigned to posted messages.
    end: u32,
    /// The first PSN that was never sent.
    next: u32,
    /// Whether each PSN below `next` is acknowledged.
    acked: Vec<bool>,
    acked_packets: u32,
    /// The lowest unacknowledged PSN.
    unacked: u32,
    /// PSNs that were declared lost and are not yet retransmitted.
    lost: BTreeSet<u32>,
    /// The bytes of the PSNs below `next`, except those in `lost`.
    sent: u64,
    /// The bytes that the receiver has reported.
    received: u64,
    /// The PSN after the highest one that the receiver is known to have.
    heard: u32,
    /// The recovery lasts until every PSN below this one is acknowledged.
    recovery_end: u32,
    /// The start of the RTO timer.
    rto_from: Time,
    /// The start of the probe timer.
    probe_from: Time,
    probe_is_due: bool,
    /// The probe whose answer can indicate losses: the time at which it was sent, and the first PSN that had not been
    /// sent by then.
    probe: Option<(Time, u32)>,
    /// The time at which the last paced packet was sent, and its size in bytes.
    last: Option<(Time, u64)>,
    counters: SenderCounters,
    acknowledged: Vec<usize>,
}

impl CheckedSender {
    pub fn new(schedule: &Schedule<StrackEnds>, sender: StrackSender) -> Self {
        CheckedSender {
            sender,
            cc: schedule.cc(),
            lb: schedule.lb(),
            rto: schedule.ends.rto,
            probe_after: schedule.ends.probe_after,
            probe_rtt: schedule.ends.probe_rtt,
            probe_takes_all: schedule.ends.probe_takes_all,
            min_threshold: schedule.ends.min_threshold.into(),
            planned: schedule.planned(),
            payload: schedule.messages.iter().map(|message| message.bytes()).collect(),
            left: schedule.messages.iter().map(|message| message.packets).collect(),
            end: 0,
            next: 0,
            acked: Vec::new(),
            acked_packets: 0,
            unacked: 0,
            lost: BTreeSet::new(),
            sent: 0,
            received: 0,
            heard: 0,
            recovery_end: 0,
            rto_from: Time::ZERO,
            probe_from: Time::ZERO,
            probe_is_due: false,
            probe: None,
            last: None,
            counters: SenderCounters::default(),
            acknowledged: Vec::new(),
        }
    }

    /// Equation 1 of STrack. The received bytes can exceed the sent ones, if packets that were declared lost arrive.
    fn in_flight(&self) -> u64 {
        self.sent.saturating_sub(self.received)
    }

    fn window_allows(&self, bytes: u64) -> bool {
        self.in_flight() == 0 || self.in_flight() + bytes <= self.cc.window()
    }

    /// The earliest time at which the rate admits the next packet.
    fn free_at(&mut self, now: Time) -> Time {
        match (self.cc.rate(now), self.last) {
            (Some(rate), Some((last, bytes))) => last + rate.time_for(bytes),
            _ => Time::ZERO,
        }
    }

    fn acknowledge(&mut self, psn: u32) -> Result<Option<usize>, TestCaseError> {
        prop_assert!(psn < self.next, "{psn} was acknowledged and never sent");
        if std::mem::replace(&mut self.acked[psn as usize], true) {
            return Ok(None);
        }
        self.acked_packets += 1;
        let known = self.planned[psn as usize];
        if self.lost.remove(&psn) {
            // The packet was declared lost, but a copy of it has arrived.
            self.sent += known.bytes;
        }
        self.left[known.message] -= 1;
        Ok((self.left[known.message] == 0).then_some(known.message))
    }

    fn recover(&mut self, now: Time, end: u32) {
        self.recovery_end = self.recovery_end.max(end);
        for psn in self.unacked..end {
            if !self.acked[psn as usize] && self.lost.insert(psn) {
                self.sent -= self.planned[psn as usize].bytes;
                self.cc.handle_loss(&loss(now));
            }
        }
    }

    fn check(&self) -> Result<(), TestCaseError> {
        prop_assert_eq!(self.sender.in_flight(), self.in_flight(), "bytes in flight");
        prop_assert_eq!(self.sender.window(), self.cc.window(), "the window");
        prop_assert_eq!(self.sender.is_recovering(), self.unacked < self.recovery_end);
        prop_assert_eq!(self.sender.counters(), self.counters);
        Ok(())
    }

    fn check_probe(&mut self, now: Time, packet: Packet) -> Result<Option<Packet>, TestCaseError> {
        prop_assert_eq!(packet.repr, Repr::probe(self.unacked).with_sent_at(now));
        prop_assert_eq!(u64::from(packet.wire_bytes), HEADER);
        prop_assert_eq!((packet.qp, packet.dst, packet.marked), (QP, RECEIVER, false));
        prop_assert_eq!(packet.ev, self.lb.next_ev(now, self.cc.window()));
        self.probe_is_due = false;
        self.probe_from = now;
        self.probe = Some((now, self.next));
        self.check()?;
        Ok(Some(packet))
    }
}

impl Sending for CheckedSender {
    fn post(&mut self, _now: Time, message: usize) -> Result<(), TestCaseError> {
        prop_assert!(self.sender.post(message_id(message), self.payload[message]).is_ok());
        self.end += self.planned[self.end as usize].of;
        self.check()
    }

    fn payload_range(&self, psn: u32) -> Option<PayloadRange> {
        self.sender.payload_range(psn)
    }

    fn poll_transmit(&mut self, now: Time) -> Result<Option<Packet>, TestCaseError> {
        let answer = self.sender.poll_transmit(now);
        if self.probe_is_due {
            let Some(probe) = answer else {
                return Err(TestCaseError::fail("a probe is due"));
            };
            return self.check_probe(now, probe);
        }
        // Lost packets are sent first, in the order of their PSNs.
        let psn = self.lost.first().copied().or((self.next < self.end).then_some(self.next));
        let known = psn.map(|psn| self.planned[psn as usize]);
        let free_at = self.free_at(now);
        let has_room = known.is_some_and(|known| self.window_allows(known.bytes));
        let may = has_room && free_at <= now;
        prop_assert_eq!(answer.is_some(), may, "whether {:?} goes, due {}, at {}", psn, free_at, now);
        let (Some(packet), Some(wanted), Some(known)) = (answer, psn, known) else {
            if has_room {
                let due = self.sender.next_timeout();
                prop_assert!(due.is_some_and(|due| due <= free_at), "{due:?} instead of {free_at}");
            }
            return Ok(None);
        };
        let Repr::Data { psn, message, message_packets, sent_at, ack_now, .. } = packet.repr else {
            return Err(TestCaseError::fail("a sender sent non-data packets"));
        };
        prop_assert_eq!(psn, wanted);
        prop_assert_eq!(u64::from(packet.wire_bytes), known.bytes);
        prop_assert_eq!((message, message_packets), (message_id(known.message), known.of));
        prop_assert_eq!((packet.qp, packet.dst, sent_at, packet.marked), (QP, RECEIVER, now, false));
        if self.lost.remove(&psn) {
            self.counters.retransmissions += 1;
            // The probe's answer proves nothing about this packet, which is sent after the probe.
            self.probe = None;
        } else {
            if self.unacked == self.next {
                (self.rto_from, self.probe_from) = (now, now);
            }
            self.next += 1;
            self.acked.push(false);
        }
        self.sent += known.bytes;
        if self.sender.paces() {
            self.last = Some((now, known.bytes));
            self.cc.handle_sent(now, packet.wire_bytes);
        }
        prop_assert_eq!(packet.ev, self.lb.next_ev(now, self.cc.window()));
        let is_last = self.lost.is_empty() && self.next == self.end;
        prop_assert_eq!(ack_now, is_last || !self.window_allows(PACKET), "asking for a SACK of {}", psn);
        self.check()?;
        Ok(Some(packet))
    }

    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Result<(), TestCaseError> {
        self.sender.handle_packet(now, packet);
        let Repr::Sack { expected, base, received, bytes_received, out_of_order, cause, sent_at } =
            packet.repr
        else {
            return Err(TestCaseError::fail("a receiver sent what is no SACK"));
        };
        let (before, rtt) = (self.acked_packets, now - sent_at);
        let (mut whole, unacked) = (Vec::new(), self.unacked);
        let named: Vec<u32> = (0..64).filter(|i| received >> i & 1 == 1).map(|i| base + i).collect();
        for psn in (self.unacked..expected).chain(named.iter().copied()) {
            whole.extend(self.acknowledge(psn)?);
        }
        let packets = self.acked_packets - before;
        while self.unacked < self.next && self.acked[self.unacked as usize] {
            self.unacked += 1;
        }
        if self.unacked > unacked {
            self.rto_from = now;
        }
        let highest = named.last().map_or(0, |&psn| psn + 1);
        self.heard = self.heard.max(expected).max(highest);
        // No run sends 4 GB, so that the 32 bits of the header suffice.
        let bytes = u64::from(bytes_received).saturating_sub(self.received);
        self.received += bytes;
        self.lb.handle_ack(now, packet.ev, cause.marked(), rtt);
        if self.sender.paces() && cause.marked() {
            self.cc.handle_cnp(now);
        }
        // Probe-based detection: the answer was fast, and no other SACK arrived between the probe and its answer.
        let probe = self.probe.take().filter(|&(sent, _)| cause.probe() && sent == sent_at);
        self.probe_from = now;
        self.probe_is_due = false;
        if let Some((_, end)) = probe.filter(|_| rtt < self.probe_rtt) {
            self.recover(now, if self.probe_takes_all { end } else { self.heard });
        }
        self.cc.handle_ack(&AckReport {
            now,
            packets,
            bytes,
            probe: cause.probe(),
            marked: cause.marked(),
            rtt,
            rtt_is_valid: true,
            in_flight: 0,
        });
        // Order-based detection: the counter of a SACK with an older ePSN is outdated.
        let threshold = self.cc.window().max(self.min_threshold * PACKET);
        let exceeds = u64::from(out_of_order) * PACKET > threshold || out_of_order >= MAX_OUT_OF_ORDER;
        if expected >= self.unacked && exceeds && self.unacked >= self.recovery_end {
            self.recover(now, self.heard);
        }
        let mut answered: Vec<_> = std::iter::from_fn(|| self.sender.poll_acknowledged()).collect();
        answered.sort();
        let mut wanted: Vec<_> = whole.iter().map(|&message| message_id(message)).collect();
        wanted.sort();
        prop_assert_eq!(answered, wanted, "messages acknowledged by {:?}", packet);
        self.acknowledged.extend(whole);
        self.check()
    }

    fn next_timeout(&mut self) -> Result<Option<Time>, TestCaseError> {
        let answered = self.sender.next_timeout();
        let due = (self.rto_from + self.rto).min(self.probe_from + self.probe_after);
        let due = (self.unacked < self.next).then_some(due);
        match self.sender.paces() {
            // A packet that waits for its pacing may make the timeout earlier.
            true => prop_assert!(due.is_none_or(|due| answered.is_some_and(|answered| answered <= due))),
            false => prop_assert_eq!(answered, due, "the next timeout"),
        }
        Ok(answered)
    }

    fn handle_timeout(&mut self, now: Time) -> Result<(), TestCaseError> {
        self.sender.handle_timeout(now);
        if self.unacked < self.next && self.rto_from + self.rto <= now {
            self.counters.timeouts += 1;
            self.lb.handle_timeout(now, None);
            self.rto_from = now;
            self.recover(now, self.next);
        }
        if self.unacked < self.next && self.probe_from + self.probe_after <= now {
            self.probe_is_due = true;
            self.probe_from = now;
        }
        self.check()
    }

    fn check_finished(&mut self) -> Result<(), TestCaseError> {
        prop_assert_eq!((self.unacked, self.next, self.lost.len()), (self.end, self.end, 0));
        prop_assert_eq!((self.sender.in_flight(), self.sent), (0, self.received));
        prop_assert!(!self.sender.is_recovering());
        prop_assert_eq!(self.sender.next_timeout(), None);
        Ok(())
    }

    fn acknowledged(&self) -> &[usize] {
        &self.acknowledged
    }

    fn counters(&self) -> SenderCounters {
        self.counters
    }
}
