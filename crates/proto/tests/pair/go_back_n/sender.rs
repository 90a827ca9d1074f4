//! The sender, compared with a simple model of it.

use super::GoBackNEnds;
use crate::pair::run::Sending;
use crate::pair::schedule::{Planned, Schedule, check_data, check_gap, message_id, whole};
use crate::support::loss;
use anabranch_base::{Duration, Rate, Time};
use anabranch_proto::cc::{AckReport, AnyCc};
use anabranch_proto::lb::AnyLb;
use anabranch_proto::transport::{GoBackNSender, PayloadRange, Sender as _, SenderCounters};
use anabranch_proto::{Packet, Repr};
use proptest::prelude::*;

pub struct CheckedSender {
    sender: GoBackNSender,
    /// The model calls its own copies of the congestion control and the load balancer.
    cc: AnyCc,
    lb: AnyLb,
    rto: Duration,
    line_rate: Rate,
    marks_are_cnps: bool,
    planned: Vec<Planned>,
    /// The payload of each message, by its index.
    payload: Vec<u64>,
    /// Number of PSNs that are assigned to posted messages.
    end: u32,
    /// The lowest unacknowledged PSN.
    unacked: u32,
    next: u32,
    /// The first PSN that was never sent.
    fresh: u32,
    /// The start of the RTO timer.
    since: Time,
    /// The time at which the last packet was sent, and its size in bytes.
    last: Option<(Time, u64)>,
    counters: SenderCounters,
    acknowledged: Vec<usize>,
}

impl CheckedSender {
    pub fn new(schedule: &Schedule<GoBackNEnds>, sender: GoBackNSender) -> Self {
        CheckedSender {
            sender,
            cc: schedule.cc(),
            lb: schedule.lb(),
            rto: schedule.ends.rto,
            line_rate: schedule.facts().line_rate,
            marks_are_cnps: schedule.ends.cnp_interval == Duration::ZERO,
            planned: schedule.planned(),
            payload: schedule.messages.iter().map(|message| message.bytes()).collect(),
            end: 0,
            unacked: 0,
            next: 0,
            fresh: 0,
            since: Time::ZERO,
            last: None,
            counters: SenderCounters::default(),
            acknowledged: Vec::new(),
        }
    }

    fn bytes(&self, from: u32, to: u32) -> u64 {
        self.planned[from as usize..to as usize].iter().map(|planned| planned.bytes).sum()
    }

    fn window_allows(&self) -> bool {
        let in_flight = self.bytes(self.unacked, self.next);
        in_flight == 0 || in_flight < self.cc.window()
    }

    /// The earliest time at which the rate admits the next packet.
    fn free_at(&mut self, now: Time) -> Time {
        match (self.cc.rate(now), self.last) {
            (Some(rate), Some((last, bytes))) => last + rate.time_for(bytes),
            _ => Time::ZERO,
        }
    }

    /// Returns the messages that the arrival of everything below `cumulative` completes.
    fn acknowledge(&mut self, now: Time, cumulative: u32, marked: bool, rtt: Duration) -> Vec<usize> {
        let mut messages = Vec::new();
        if cumulative > self.unacked {
            let arrived = &self.planned[self.unacked as usize..cumulative as usize];
            messages.extend(whole(arrived));
            let (packets, bytes) = (cumulative - self.unacked, self.bytes(self.unacked, cumulative));
            self.unacked = cumulative;
            self.next = self.next.max(cumulative);
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
        messages
    }

    fn go_back(&mut self, now: Time) {
        self.next = self.unacked;
        self.cc.handle_loss(&loss(now));
    }

    fn check_counters(&self) -> Result<(), TestCaseError> {
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
        let known = (self.next < self.end).then(|| self.planned[self.next as usize]);
        let free_at = self.free_at(now);
        let may = known.is_some() && self.window_allows() && free_at <= now;
        prop_assert_eq!(answer.is_some(), may, "whether {} goes, due {}, at {}", self.next, free_at, now);
        let (Some(packet), Some(_)) = (answer, known) else {
            if known.is_some() && self.window_allows() {
                let due = self.sender.next_timeout();
                prop_assert!(due.is_some_and(|due| due <= free_at), "{due:?} instead of {free_at}");
            }
            return Ok(None);
        };
        let (psn, known, ack_now) = check_data(&self.planned, now, &packet)?;
        prop_assert_eq!(psn, self.next);
        check_gap(self.line_rate, now, self.last.filter(|_| self.sender.paces()))?;
        if psn == self.unacked {
            self.since = now;
        }
        self.counters.retransmissions += u64::from(psn < self.fresh);
        self.next += 1;
        self.fresh = self.fresh.max(self.next);
        if self.sender.paces() {
            self.last = Some((now, known.bytes));
            self.cc.handle_sent(now, packet.wire_bytes);
        }
        prop_assert_eq!(packet.ev, self.lb.next_ev(now, self.cc.window()));
        // The sender may request more ACKs than necessary.
        let must_ask = self.next == self.end || !self.window_allows();
        prop_assert!(ack_now || !must_ask, "{psn} asks for no ACK");
        self.check_counters()?;
        Ok(Some(packet))
    }

    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Result<(), TestCaseError> {
        self.sender.handle_packet(now, packet);
        let whole = match packet.repr {
            Repr::Ack { cumulative, marked, sent_at, .. } => {
                let rtt = now - sent_at;
                let whole = self.acknowledge(now, cumulative, marked, rtt);
                self.lb.handle_ack(now, packet.ev, marked, rtt);
                if marked && self.marks_are_cnps {
                    self.cc.handle_cnp(now);
                }
                whole
            }
            Repr::Nack { psn, sent_at, .. } => {
                let whole = self.acknowledge(now, psn, false, now - sent_at);
                // A NACK for an earlier PSN is older than an acknowledgement that has arrived.
                if psn == self.unacked && psn < self.next {
                    self.go_back(now);
                }
                whole
            }
            Repr::Cnp => {
                self.cc.handle_cnp(now);
                Vec::new()
            }
            _ => return Err(TestCaseError::fail("a receiver sent data")),
        };
        let answered: Vec<_> = std::iter::from_fn(|| self.sender.poll_acknowledged()).collect();
        let expected: Vec<_> = whole.iter().map(|&message| message_id(message)).collect();
        prop_assert_eq!(answered, expected, "messages acknowledged by {:?}", packet);
        self.acknowledged.extend(whole);
        self.check_counters()
    }

    fn next_timeout(&mut self) -> Result<Option<Time>, TestCaseError> {
        let answered = self.sender.next_timeout();
        if self.unacked < self.next {
            let due = self.since + self.rto;
            prop_assert!(answered.is_some_and(|answered| answered <= due), "{answered:?} after {due}");
        }
        Ok(answered)
    }

    fn handle_timeout(&mut self, now: Time) -> Result<(), TestCaseError> {
        self.sender.handle_timeout(now);
        if self.unacked < self.next && self.since + self.rto <= now {
            self.counters.timeouts += 1;
            self.lb.handle_timeout(now, None);
            self.go_back(now);
        }
        self.check_counters()
    }

    fn check_finished(&mut self) -> Result<(), TestCaseError> {
        prop_assert_eq!((self.unacked, self.next), (self.end, self.end));
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
