//! The sender, compared with a simple model of it.

use super::IrnEnds;
use crate::pair::run::Sending;
use crate::pair::schedule::{Planned, Schedule, check_data, check_gap, message_id, whole};
use crate::support::loss;
use anabranch_base::{Duration, Rate, Time};
use anabranch_proto::cc::{AckReport, AnyCc};
use anabranch_proto::lb::AnyLb;
use anabranch_proto::transport::{IrnSender, PayloadRange, Sender as _, SenderCounters};
use anabranch_proto::{Packet, Repr};
use proptest::prelude::*;
use std::collections::BTreeSet;

pub struct CheckedSender {
    sender: IrnSender,
    ends: IrnEnds,
    /// The model calls its own copies of the congestion control and the load balancer.
    cc: AnyCc,
    lb: AnyLb,
    line_rate: Rate,
    planned: Vec<Planned>,
    /// The payload of each message, by its index.
    payload: Vec<u64>,
    /// Number of PSNs that are assigned to posted messages.
    end: u32,
    /// The lowest unacknowledged PSN.
    unacked: u32,
    /// The first PSN that was never sent.
    next: u32,
    sacked: BTreeSet<u32>,
    recovery: Option<Recovery>,
    /// The start of the RTO timer.
    since: Time,
    /// The time at which the last packet was sent, and its size in bytes.
    last: Option<(Time, u64)>,
    counters: SenderCounters,
    acknowledged: Vec<usize>,
}

struct Recovery {
    /// The highest PSN that was in flight when the recovery began.
    psn: u32,
    /// PSNs that the timeout or the SACK at the beginning of the recovery declared lost.
    given_up: BTreeSet<u32>,
    /// PSNs that were retransmitted in this recovery.
    repeated: BTreeSet<u32>,
}

impl CheckedSender {
    pub fn new(schedule: &Schedule<IrnEnds>, sender: IrnSender) -> Self {
        CheckedSender {
            sender,
            ends: schedule.ends.clone(),
            cc: schedule.cc(),
            lb: schedule.lb(),
            line_rate: schedule.facts().line_rate,
            planned: schedule.planned(),
            payload: schedule.messages.iter().map(|message| message.bytes()).collect(),
            end: 0,
            unacked: 0,
            next: 0,
            sacked: BTreeSet::new(),
            recovery: None,
            since: Time::ZERO,
            last: None,
            counters: SenderCounters::default(),
            acknowledged: Vec::new(),
        }
    }

    fn bytes(&self, from: u32, to: u32) -> u64 {
        self.planned[from as usize..to as usize].iter().map(|planned| planned.bytes).sum()
    }

    fn windows_allow(&self) -> bool {
        let in_flight = self.bytes(self.unacked, self.next);
        self.next < self.unacked + self.ends.packets && (in_flight == 0 || in_flight < self.cc.window())
    }

    /// The lowest packet that is lost and has not been retransmitted in this recovery.
    fn lost(&self) -> Option<u32> {
        let recovery = self.recovery.as_ref()?;
        let highest = self.sacked.last().copied().unwrap_or(0);
        (self.unacked..self.next).find(|psn| {
            (*psn < highest || recovery.given_up.contains(psn))
                && !self.sacked.contains(psn)
                && !recovery.repeated.contains(psn)
        })
    }

    fn turn(&self) -> Option<u32> {
        let fresh = || (self.next < self.end && self.windows_allow()).then_some(self.next);
        self.lost().or_else(fresh)
    }

    /// The earliest time at which the rate admits a packet.
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
            self.since = now;
            if self.recovery.as_ref().is_some_and(|recovery| cumulative > recovery.psn) {
                self.recovery = None;
            }
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

    fn enter_recovery(&mut self, now: Time, given_up: BTreeSet<u32>) {
        self.recovery = Some(Recovery { psn: self.next - 1, given_up, repeated: BTreeSet::new() });
        self.cc.handle_loss(&loss(now));
    }

    fn rto_due(&self) -> Option<Time> {
        let in_flight = self.next - self.unacked;
        let rto = if in_flight <= self.ends.rto_low_packets { self.ends.rto_low } else { self.ends.rto };
        (in_flight > 0).then(|| self.since + rto)
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
        let (turn, free_at) = (self.turn(), self.free_at(now));
        let may = turn.is_some() && free_at <= now;
        prop_assert_eq!(answer.is_some(), may, "whether {:?} goes, due {}, at {}", turn, free_at, now);
        let (Some(packet), Some(turn)) = (answer, turn) else {
            if turn.is_some() {
                prop_assert!(self.sender.paces());
                let due = self.sender.next_timeout();
                prop_assert!(due.is_some_and(|due| due <= free_at), "{due:?} instead of {free_at}");
            }
            return Ok(None);
        };
        let (psn, known, ack_now) = check_data(&self.planned, now, &packet)?;
        prop_assert_eq!(psn, turn);
        let paces = self.cc.rate(now).is_some();
        check_gap(self.line_rate, now, self.last.filter(|_| paces))?;
        if psn == self.next {
            if psn == self.unacked {
                self.since = now;
            }
            self.next += 1;
        } else {
            self.counters.retransmissions += 1;
            prop_assert!(self.recovery.as_mut().is_some_and(|recovery| recovery.repeated.insert(psn)));
        }
        if paces {
            self.last = Some((now, known.bytes));
            self.cc.handle_sent(now, packet.wire_bytes);
        }
        prop_assert_eq!(packet.ev, self.lb.next_ev(now, self.cc.window()));
        // A paced sender may request more ACKs than necessary.
        let must_ask = self.lost().is_none() && (self.next == self.end || !self.windows_allow());
        prop_assert!(ack_now || !must_ask, "{psn} asks for no ACK");
        prop_assert!(paces || must_ask == ack_now, "{psn} asks for an ACK");
        self.check_counters()?;
        Ok(Some(packet))
    }

    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Result<(), TestCaseError> {
        self.sender.handle_packet(now, packet);
        let whole = match packet.repr {
            Repr::Ack { cumulative, base, marked, sent_at, .. } => {
                let rtt = now - sent_at;
                let whole = self.acknowledge(now, cumulative, marked, rtt);
                if base > self.unacked {
                    self.sacked.insert(base);
                    if self.recovery.is_none() {
                        let given_up = if self.ends.sack_takes_all { self.next } else { self.unacked };
                        self.enter_recovery(now, (self.unacked..given_up).collect());
                    }
                }
                self.lb.handle_ack(now, packet.ev, marked, rtt);
                if marked && self.ends.cnp_interval == Duration::ZERO {
                    self.cc.handle_cnp(now);
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
        if let Some(due) = self.rto_due() {
            prop_assert!(answered.is_some_and(|answered| answered <= due), "{answered:?} after {due}");
        }
        Ok(answered)
    }

    fn handle_timeout(&mut self, now: Time) -> Result<(), TestCaseError> {
        self.sender.handle_timeout(now);
        if self.rto_due().is_some_and(|due| due <= now) {
            self.counters.timeouts += 1;
            self.since = now;
            self.lb.handle_timeout(now, None);
            let given_up = if self.ends.timeout_takes_all { self.next } else { self.unacked + 1 };
            self.enter_recovery(now, (self.unacked..given_up).collect());
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
