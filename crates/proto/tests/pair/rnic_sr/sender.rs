//! The sender, compared with a simple model of it.

use super::RnicSrEnds;
use crate::pair::run::Sending;
use crate::pair::schedule::{Planned, Schedule, check_data, check_gap, message_id, whole};
use crate::support::loss;
use anabranch_base::{Duration, Rate, Time};
use anabranch_proto::cc::{AckReport, AnyCc};
use anabranch_proto::lb::AnyLb;
use anabranch_proto::transport::{PayloadRange, RnicSrSender, Sender as _, SenderCounters};
use anabranch_proto::{Packet, Repr};
use proptest::prelude::*;

pub struct CheckedSender {
    sender: RnicSrSender,
    ends: RnicSrEnds,
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
    /// The PSN to send next in order.
    next: u32,
    /// The first PSN that was never sent.
    fresh: u32,
    /// Pending retransmissions for NACKs, in the order of sending.
    copies: Vec<u32>,
    blocked_until: Time,
    /// The start of the RTO timer.
    since: Time,
    /// The time at which the last packet was sent, and its size in bytes.
    last: Option<(Time, u64)>,
    counters: SenderCounters,
    acknowledged: Vec<usize>,
}

impl CheckedSender {
    pub fn new(schedule: &Schedule<RnicSrEnds>, sender: RnicSrSender) -> Self {
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
            fresh: 0,
            copies: Vec::new(),
            blocked_until: Time::ZERO,
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
        self.next < self.unacked + self.ends.window_packets
            && (in_flight == 0 || in_flight < self.cc.window())
    }

    fn turn(&self) -> Option<u32> {
        let in_order = || (self.next < self.end && self.windows_allow()).then_some(self.next);
        self.copies.first().copied().or_else(in_order)
    }

    /// The earliest time at which the rate admits a packet and the transmit path is not blocked.
    fn free_at(&mut self, now: Time) -> Time {
        let paced = match (self.cc.rate(now), self.last) {
            (Some(rate), Some((last, bytes))) => last + rate.time_for(bytes),
            _ => Time::ZERO,
        };
        paced.max(self.blocked_until)
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
            self.copies.retain(|&psn| psn >= cumulative);
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
        prop_assert!(psn >= self.unacked && psn - self.unacked < self.ends.window_packets);
        let paces = self.cc.rate(now).is_some();
        check_gap(self.line_rate, now, self.last.filter(|_| paces))?;
        self.counters.retransmissions += u64::from(psn < self.fresh);
        if self.copies.is_empty() {
            if psn == self.unacked {
                self.since = now;
            }
            self.next += 1;
            self.fresh = self.fresh.max(self.next);
        } else {
            self.copies.remove(0);
            self.blocked_until = now + self.ends.retransmission_block;
        }
        if paces {
            self.last = Some((now, known.bytes));
            self.cc.handle_sent(now, packet.wire_bytes);
        }
        prop_assert_eq!(packet.ev, self.lb.next_ev(now, self.cc.window()));
        // A paced sender may request more ACKs than necessary.
        let must_ask = self.copies.is_empty() && (self.next == self.end || !self.windows_allow());
        prop_assert!(ack_now || !must_ask, "{psn} asks for no ACK");
        prop_assert!(paces || must_ask == ack_now, "{psn} asks for an ACK");
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
                if marked && self.ends.cnp_interval == Duration::ZERO {
                    self.cc.handle_cnp(now);
                }
                whole
            }
            Repr::Nack { .. } if !self.ends.hears_nacks => Vec::new(),
            Repr::Nack { psn, sent_at, .. } => {
                self.counters.nacks += 1;
                let whole = self.acknowledge(now, psn, false, now - sent_at);
                // A NACK for an earlier PSN is older than an acknowledgement that has arrived. A NACK for a PSN that
                // has not been sent since a timeout needs no answer, because the sender retransmits that packet in any
                // case.
                if psn == self.unacked && psn < self.next {
                    let mut copies = vec![psn, self.next - 1];
                    copies.dedup();
                    prop_assert!(self.copies.iter().all(|copy| copies.contains(copy)), "one is forgotten");
                    self.copies = copies;
                    self.cc.handle_nack(&loss(now));
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
            let due = self.since + self.ends.rto;
            prop_assert!(answered.is_some_and(|answered| answered <= due), "{answered:?} after {due}");
        }
        Ok(answered)
    }

    fn handle_timeout(&mut self, now: Time) -> Result<(), TestCaseError> {
        self.sender.handle_timeout(now);
        if self.unacked < self.next && self.since + self.ends.rto <= now {
            self.counters.timeouts += 1;
            self.next = self.unacked;
            self.copies.clear();
            self.lb.handle_timeout(now, None);
            self.cc.handle_loss(&loss(now));
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
