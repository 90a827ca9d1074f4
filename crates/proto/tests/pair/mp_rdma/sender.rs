//! The sender, compared with a simple model of it.

use super::MpRdmaEnds;
use crate::pair::run::Sending;
use crate::pair::schedule::{PACKET, Planned, Schedule, check_data, message_id, whole};
use crate::support::loss;
use anabranch_base::Time;
use anabranch_proto::cc::{AckReport, AnyCc};
use anabranch_proto::lb::AnyLb;
use anabranch_proto::transport::{MpRdmaSender, PayloadRange, Sender as _, SenderCounters};
use anabranch_proto::{Packet, Repr};
use proptest::prelude::*;
use std::collections::BTreeSet;

pub struct CheckedSender {
    sender: MpRdmaSender,
    ends: MpRdmaEnds,
    /// The model calls its own copies of the congestion control and the load balancer.
    cc: AnyCc,
    lb: AnyLb,
    planned: Vec<Planned>,
    /// The payload of each message, by its index.
    payload: Vec<u64>,
    /// Number of PSNs that are assigned to posted messages.
    end: u32,
    /// The lowest unacknowledged PSN.
    unacked: u32,
    /// The PSN to send next.
    next: u32,
    /// The first PSN that was never sent.
    fresh: u32,
    /// Unacknowledged PSNs that were sent since the last go-back-N restart. An ACK of a copy that was sent before that
    /// restart counts only as a cumulative acknowledgement.
    under_way: BTreeSet<u32>,
    /// Number of packets from before the last go-back-N restart that may still be in flight.
    stray: u32,
    /// Number of packets sent minus the number of answers, since the beginning.
    on_the_way: u32,
    /// Number of packets that answers have clocked out and that are not yet sent.
    clocked: u32,
    /// The highest PSN that an ACK named.
    highest: u32,
    /// The time of the last go-back-N restart, and the first PSN that had never been sent then.
    back: (Time, u32),
    /// The start of the RTO timer.
    since: Time,
    counters: SenderCounters,
    acknowledged: Vec<usize>,
}

impl CheckedSender {
    pub fn new(schedule: &Schedule<MpRdmaEnds>, sender: MpRdmaSender) -> Self {
        CheckedSender {
            sender,
            ends: schedule.ends.clone(),
            cc: schedule.cc(),
            lb: schedule.lb(),
            planned: schedule.planned(),
            payload: schedule.messages.iter().map(|message| message.bytes()).collect(),
            end: 0,
            unacked: 0,
            next: 0,
            fresh: 0,
            under_way: BTreeSet::new(),
            stray: 0,
            on_the_way: 0,
            clocked: 0,
            highest: 0,
            back: (Time::ZERO, 0),
            since: Time::ZERO,
            counters: SenderCounters::default(),
            acknowledged: Vec::new(),
        }
    }

    fn window(&self) -> u32 {
        ((self.cc.window() / PACKET) as u32).max(1)
    }

    /// Number of packets in flight from the sender's point of view.
    fn in_flight(&self) -> u32 {
        self.stray + self.under_way.len() as u32
    }

    /// Restarts at the lowest unacknowledged packet. `stray` packets may still be in flight.
    fn go_back(&mut self, now: Time, stray: u32) {
        self.stray = stray;
        self.under_way.clear();
        self.next = self.unacked;
        self.back = (now, self.fresh);
    }

    /// Handles an answer to a packet and the arrival of everything below `cumulative`. Returns the messages that this
    /// completes.
    fn answered(&mut self, now: Time, cumulative: u32) -> Vec<usize> {
        let mut messages = Vec::new();
        if cumulative > self.unacked {
            let arrived = &self.planned[self.unacked as usize..cumulative as usize];
            messages.extend(whole(arrived));
            self.unacked = cumulative;
            self.next = self.next.max(cumulative);
            self.since = now;
        }
        self.under_way = self.under_way.split_off(&self.unacked);
        if self.unacked >= self.back.1 {
            self.stray = 0;
        }
        self.on_the_way = self.on_the_way.saturating_sub(1);
        messages
    }

    /// Counts the packets that an answer on path `ev` clocks out.
    fn clock(&mut self, now: Time, ev: u16, marked: bool, sent_at: Time) {
        let taken = self.in_flight() + self.clocked;
        let waiting = (self.end - self.next).saturating_sub(self.clocked);
        if taken >= self.window() {
            return;
        }
        if waiting == 0 {
            self.cc.handle_loss(&loss(now));
        }
        for _ in 0..waiting.min(self.window() - taken).min(2) {
            self.clocked += 1;
            self.lb.handle_ack(now, ev, marked, now - sent_at);
        }
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
        let may = self.next < self.end && self.in_flight() < self.window();
        prop_assert_eq!(answer.is_some(), may, "whether {} goes, {} in flight", self.next, self.in_flight());
        let Some(packet) = answer else {
            return Ok(None);
        };
        let (psn, _, ack_now) = check_data(&self.planned, now, &packet)?;
        prop_assert_eq!((psn, ack_now), (self.next, true));
        // An idle queue pair restarts with the initial window.
        if self.unacked == self.fresh && now - self.since >= self.ends.restart_after {
            self.cc.handle_restart(now);
        }
        if psn == self.unacked {
            self.since = now;
        }
        self.counters.retransmissions += u64::from(psn < self.fresh);
        self.next += 1;
        self.fresh = self.fresh.max(self.next);
        self.under_way.insert(psn);
        self.on_the_way += 1;
        self.clocked = self.clocked.saturating_sub(1);
        if self.ends.all_answered {
            // A packet that is acknowledged cumulatively is not in flight, although its own ACK may still be on the
            // way.
            prop_assert!(self.in_flight() <= self.on_the_way && self.stray == 0);
        }
        prop_assert_eq!(packet.ev, self.lb.next_ev(now, self.cc.window()));
        self.check_counters()?;
        Ok(Some(packet))
    }

    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Result<(), TestCaseError> {
        self.sender.handle_packet(now, packet);
        let whole = match packet.repr {
            Repr::Ack { cumulative, base: psn, marked, sent_at, .. } => {
                let whole = self.answered(now, cumulative);
                if sent_at < self.back.0 {
                    self.stray = self.stray.saturating_sub(1);
                } else {
                    self.under_way.remove(&psn);
                }
                let rtt = now - sent_at;
                self.cc.handle_ack(&AckReport {
                    now,
                    packets: 1,
                    bytes: PACKET,
                    probe: false,
                    marked,
                    rtt,
                    rtt_is_valid: true,
                    in_flight: 0,
                });
                self.highest = self.highest.max(psn);
                let (went_back, fresh) = self.back;
                let may_be_late = psn < fresh && sent_at >= went_back;
                if psn + self.ends.delta < self.highest && !may_be_late {
                    self.cc.handle_loss(&loss(now));
                } else {
                    self.clock(now, packet.ev, marked, sent_at);
                }
                whole
            }
            Repr::Nack { psn, sent_at, .. } => {
                self.counters.nacks += 1;
                let whole = self.answered(now, psn);
                if sent_at < self.back.0 {
                    self.stray = self.stray.saturating_sub(1);
                } else if self.next > self.unacked {
                    self.go_back(now, self.in_flight().saturating_sub(1));
                }
                self.clock(now, packet.ev, false, sent_at);
                whole
            }
            _ => return Err(TestCaseError::fail("a receiver sent what is no answer")),
        };
        let answered: Vec<_> = std::iter::from_fn(|| self.sender.poll_acknowledged()).collect();
        let expected: Vec<_> = whole.iter().map(|&message| message_id(message)).collect();
        prop_assert_eq!(answered, expected, "messages acknowledged by {:?}", packet);
        self.acknowledged.extend(whole);
        self.check_counters()
    }

    fn next_timeout(&mut self) -> Result<Option<Time>, TestCaseError> {
        let answered = self.sender.next_timeout();
        let runs = self.unacked < self.next || self.stray > 0;
        prop_assert_eq!(answered, runs.then_some(self.since + self.ends.rto));
        Ok(answered)
    }

    fn handle_timeout(&mut self, now: Time) -> Result<(), TestCaseError> {
        self.sender.handle_timeout(now);
        let runs = self.unacked < self.next || self.stray > 0;
        if runs && self.since + self.ends.rto <= now {
            self.counters.timeouts += 1;
            self.go_back(now, 0);
            self.clocked = 0;
            self.lb.handle_timeout(now, None);
            self.cc.handle_loss(&loss(now));
        }
        self.check_counters()
    }

    fn check_finished(&mut self) -> Result<(), TestCaseError> {
        prop_assert_eq!((self.unacked, self.next, self.in_flight()), (self.end, self.end, 0));
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
