//! The sender, compared with a simple model of it.

use super::{DcpEnds, Request};
use crate::pair::run::Sending;
use crate::pair::schedule::{HEADER, PACKET, PAYLOAD, Planned, QP, RECEIVER, Schedule, message_id};
use crate::support::loss;
use anabranch_base::{Rate, Time};
use anabranch_proto::cc::{AckReport, AnyCc};
use anabranch_proto::lb::AnyLb;
use anabranch_proto::transport::{DcpSender, PayloadRange, Sender as _, SenderCounters};
use anabranch_proto::{Msn, Packet, Repr};
use proptest::prelude::*;

pub struct CheckedSender {
    sender: DcpSender,
    ends: DcpEnds,
    /// The model calls its own copies of the congestion control and the load balancer.
    cc: AnyCc,
    lb: AnyLb,
    line_rate: Rate,
    planned: Vec<Planned>,
    requests: Vec<Request>,
    /// The payload of each message, by its index.
    payload: Vec<u64>,
    /// Number of PSNs that are assigned to posted messages.
    end: u32,
    /// The unaMSN.
    unacked: usize,
    /// The PSN to send next for the first time.
    next: u32,
    /// PSNs to retransmit that were fetched.
    fetched: Vec<u32>,
    /// PSNs to retransmit that wait to be fetched.
    waiting: Vec<u32>,
    /// PSNs to retransmit in the new round of the oldest message.
    again: Vec<u32>,
    fetched_at: Time,
    /// The number of timeouts since the oldest request became the oldest.
    rounds: u32,
    /// The number of abandoned rounds of each request.
    retries: Vec<u8>,
    since: Time,
    /// While a turn lasts, the payload sent in it, and the oldest request when it began.
    turn: Option<(u64, usize)>,
    /// The time at which the last packet was sent, and its size in bytes.
    last: Option<(Time, u64)>,
    counters: SenderCounters,
    acknowledged: Vec<usize>,
}

impl CheckedSender {
    pub fn new(schedule: &Schedule<DcpEnds>, sender: DcpSender) -> Self {
        CheckedSender {
            sender,
            ends: schedule.ends.clone(),
            cc: schedule.cc(),
            lb: schedule.lb(),
            line_rate: schedule.facts().line_rate,
            planned: schedule.planned(),
            retries: vec![0; schedule.requests().len()],
            requests: schedule.requests(),
            payload: schedule.messages.iter().map(|message| message.bytes()).collect(),
            end: 0,
            unacked: 0,
            next: 0,
            fetched: Vec::new(),
            waiting: Vec::new(),
            again: Vec::new(),
            fetched_at: Time::ZERO,
            rounds: 0,
            since: Time::ZERO,
            turn: None,
            last: None,
            counters: SenderCounters::default(),
            acknowledged: Vec::new(),
        }
    }

    fn bytes(&self, psns: impl IntoIterator<Item = u32>) -> u64 {
        psns.into_iter().map(|psn| self.planned[psn as usize].bytes).sum()
    }

    /// The MSN of the request that contains a PSN.
    fn number(&self, psn: u32) -> usize {
        self.requests.partition_point(|request| request.first + request.packets <= psn)
    }

    fn psns(&self, number: usize) -> std::ops::Range<u32> {
        self.requests.get(number).map_or(self.end..self.end, |r| r.first..r.first + r.packets)
    }

    fn in_flight(&self) -> u64 {
        let lost = self.fetched.iter().chain(&self.waiting).copied();
        self.bytes(self.psns(self.unacked).start..self.next) - self.bytes(lost)
    }

    fn next_fits(&self) -> bool {
        if self.next == self.end {
            return false;
        }
        let (number, bytes) = (self.number(self.next), self.planned[self.next as usize].bytes);
        number == self.unacked
            || number < self.unacked + self.ends.tracked as usize
                && self.in_flight() + bytes <= self.cc.window()
    }

    fn has_copies(&self) -> bool {
        !(self.fetched.is_empty() && self.waiting.is_empty() && self.again.is_empty())
    }

    /// Whether the oldest request was sent completely in this round, and no packet of it waits for retransmission.
    fn is_timed(&self) -> bool {
        let oldest = self.psns(self.unacked);
        let waits = self.fetched.iter().chain(&self.waiting).any(|psn| oldest.contains(psn));
        self.next > oldest.start && self.next >= oldest.end && self.again.is_empty() && !waits
    }

    fn expiry(&self) -> Time {
        self.since + self.ends.rto * (1 << self.rounds.saturating_sub(7).min(16))
    }

    fn fetch(&mut self, now: Time) {
        if self.fetched.is_empty() && !self.waiting.is_empty() {
            let room = self.cc.window().saturating_sub(self.in_flight()) / PACKET;
            let most = self.waiting.len().min(self.ends.batch as usize).min(room.max(1) as usize);
            self.fetched = self.waiting.drain(..most).collect();
            self.fetched_at = now + self.ends.pcie * 2;
            self.counters.fetches += 1;
        }
    }

    fn check(&self) -> Result<(), TestCaseError> {
        prop_assert_eq!(self.sender.counters(), self.counters);
        Ok(())
    }
}

impl Sending for CheckedSender {
    fn post(&mut self, _now: Time, message: usize) -> Result<(), TestCaseError> {
        prop_assert!(self.sender.post(message_id(message), self.payload[message]).is_ok());
        self.end += self.planned[self.end as usize].of;
        Ok(())
    }

    fn payload_range(&self, psn: u32) -> Option<PayloadRange> {
        self.sender.payload_range(psn)
    }

    fn poll_transmit(&mut self, now: Time) -> Result<Option<Packet>, TestCaseError> {
        let answer = self.sender.poll_transmit(now);
        self.fetch(now);
        let of_round = || self.again.first().copied();
        let fresh = || self.next_fits().then_some(self.next);
        let turn = self.fetched.first().copied().or_else(of_round).or_else(fresh);
        let mut free_at = match (self.cc.rate(now), self.last) {
            (Some(rate), Some((last, bytes))) => last + rate.time_for(bytes),
            _ => Time::ZERO,
        };
        if !self.fetched.is_empty() && now < self.fetched_at {
            free_at = self.fetched_at;
        }
        let may = turn.is_some() && free_at <= now;
        prop_assert_eq!(answer.is_some(), may, "whether {:?} goes, due {}, at {}", turn, free_at, now);
        let (Some(packet), Some(turn)) = (answer, turn) else {
            self.turn = None;
            prop_assert!(!self.sender.holds_turn());
            if turn.is_some() {
                prop_assert!(self.sender.paces());
                let due = self.sender.next_timeout();
                prop_assert!(due.is_some_and(|due| due <= free_at), "{due:?} instead of {free_at}");
            }
            return Ok(None);
        };
        let Repr::Data { psn, message, message_packets, sent_at, ack_now, msn, .. } = packet.repr else {
            return Err(TestCaseError::fail("a sender sent non-data packets"));
        };
        let (number, known) = (self.number(psn), self.planned[psn as usize]);
        let Request { packets, is_signalled, .. } = self.requests[number];
        let retry = self.retries[number];
        prop_assert_eq!(psn, turn);
        prop_assert_eq!(msn, Msn::new(number as u32, retry));
        prop_assert_eq!(u64::from(packet.wire_bytes), known.bytes);
        prop_assert_eq!((message, message_packets), (message_id(known.message), packets));
        prop_assert_eq!(ack_now, is_signalled);
        prop_assert_eq!((packet.qp, packet.dst, sent_at, packet.marked), (QP, RECEIVER, now, false));
        let paces = self.cc.rate(now).is_some();
        if let Some((last, bytes)) = self.last.filter(|_| paces) {
            let gap = self.line_rate.time_for(bytes);
            prop_assert!(now >= last + gap, "{psn} left {} after {bytes} B", now.since(last));
        }
        let began = self.turn.unwrap_or((0, self.unacked));
        let mut is_timed = number == self.unacked;
        if !self.fetched.is_empty() {
            self.fetched.remove(0);
            self.counters.retransmissions += 1;
        } else if !self.again.is_empty() {
            self.again.remove(0);
            self.counters.retransmissions += 1;
            is_timed = true;
        } else {
            self.next += 1;
        }
        if is_timed {
            self.since = now;
        }
        if paces {
            self.last = Some((now, known.bytes));
            self.cc.handle_sent(now, packet.wire_bytes);
        }
        prop_assert_eq!(packet.ev, self.lb.next_ev(now, self.cc.window()));
        let sent = began.0 + known.bytes - HEADER;
        let fits = self.next_fits() && self.number(self.next) < began.1 + self.ends.tracked as usize;
        let goes_on = sent + PAYLOAD <= self.ends.quota && (self.has_copies() || fits);
        prop_assert_eq!(self.sender.holds_turn(), goes_on, "the turn after {}", psn);
        self.turn = goes_on.then_some((sent, began.1));
        self.check()?;
        Ok(Some(packet))
    }

    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Result<(), TestCaseError> {
        self.sender.handle_packet(now, packet);
        let mut whole = Vec::new();
        match packet.repr {
            Repr::Ack { cumulative, marked, sent_at, .. } => {
                let (expected, rtt) = (cumulative as usize, now - sent_at);
                if expected > self.unacked {
                    let passed = self.psns(self.unacked).start..self.psns(expected - 1).end;
                    prop_assert!(passed.end <= self.next, "acknowledged before it was sent");
                    let (packets, bytes) = (passed.end - passed.start, self.bytes(passed.clone()));
                    let requests = &self.requests[self.unacked..expected];
                    whole.extend(requests.iter().filter(|r| r.is_signalled).map(|r| r.message));
                    self.fetched.retain(|&psn| psn >= passed.end);
                    self.waiting.retain(|&psn| psn >= passed.end);
                    self.again.retain(|&psn| psn >= passed.end);
                    self.unacked = expected;
                    self.rounds = 0;
                    self.since = now;
                    self.cc.handle_ack(&AckReport {
                        now,
                        packets,
                        bytes,
                        probe: false,
                        marked,
                        rtt,
                        rtt_is_valid: true,
                        in_flight: 0,
                    });
                }
                self.lb.handle_ack(now, packet.ev, marked, rtt);
            }
            Repr::HeaderOnly { psn, msn } => {
                self.lb.handle_trim(now, packet.ev);
                let number = msn.number() as usize;
                prop_assert_eq!(self.number(psn), number);
                if number >= self.unacked && msn.retry() == self.retries[number] {
                    prop_assert!(!self.waiting.contains(&psn) && !self.fetched.contains(&psn));
                    prop_assert!(!self.again.contains(&psn), "trimmed before it was sent");
                    self.waiting.push(psn);
                }
            }
            Repr::Cnp => self.cc.handle_cnp(now),
            _ => return Err(TestCaseError::fail("a receiver sent data")),
        }
        let answered: Vec<_> = std::iter::from_fn(|| self.sender.poll_acknowledged()).collect();
        let expected: Vec<_> = whole.iter().map(|&message| message_id(message)).collect();
        prop_assert_eq!(answered, expected, "messages acknowledged by {:?}", packet);
        self.acknowledged.extend(whole);
        self.check()
    }

    fn next_timeout(&mut self) -> Result<Option<Time>, TestCaseError> {
        let answered = self.sender.next_timeout();
        let due = self.is_timed().then(|| self.expiry());
        if !self.sender.paces() {
            prop_assert_eq!(answered, due, "the timeout");
        } else if let Some(due) = due {
            prop_assert!(answered.is_some_and(|answered| answered <= due), "{answered:?} after {due}");
        }
        Ok(answered)
    }

    fn handle_timeout(&mut self, now: Time) -> Result<(), TestCaseError> {
        self.sender.handle_timeout(now);
        if self.is_timed() && self.expiry() <= now {
            // The new round has all requests of the oldest message that were sent at least in part.
            let message = self.requests[self.unacked].message;
            let of_message = |number: &usize| self.requests[*number].message == message;
            let numbers: Vec<usize> = (self.unacked..self.requests.len())
                .filter(of_message)
                .filter(|&number| self.psns(number).start < self.next)
                .collect();
            for &number in &numbers {
                self.retries[number] = self.retries[number].wrapping_add(1);
            }
            let last = numbers.last().copied().unwrap_or(self.unacked);
            let psns = self.psns(self.unacked).start..self.psns(last).end.min(self.next);
            self.rounds += 1;
            self.counters.timeouts += 1;
            self.fetched.retain(|psn| !psns.contains(psn));
            self.waiting.retain(|psn| !psns.contains(psn));
            self.again = psns.collect();
            self.lb.handle_timeout(now, None);
            self.cc.handle_loss(&loss(now));
        }
        self.check()
    }

    fn check_finished(&mut self) -> Result<(), TestCaseError> {
        prop_assert_eq!((self.unacked, self.next), (self.requests.len(), self.end));
        prop_assert!(!self.has_copies());
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
