//! The receiver, compared with a simple model of it.

use super::RnicSrEnds;
use crate::pair::run::Receiving;
use crate::pair::schedule::{Planned, QP, SENDER, Schedule, message_id};
use anabranch_base::{Duration, Time};
use anabranch_proto::transport::{Receiver as _, RnicSrReceiver};
use anabranch_proto::{Packet, Repr};
use proptest::prelude::*;
use std::collections::BTreeSet;

pub struct CheckedReceiver {
    receiver: RnicSrReceiver,
    ack_every: u32,
    cnp_interval: Duration,
    planned: Vec<Planned>,
    arrived: BTreeSet<u32>,
    /// The first PSN that has not arrived.
    expected: u32,
    /// The ePSN of the last ACK.
    reported: u32,
    /// ePSNs for which a NACK was sent.
    nacked: BTreeSet<u32>,
    /// PSNs that requested an ACK before the ePSN passed them.
    asked: BTreeSet<u32>,
    last_cnp: Option<Time>,
    delivered: Vec<usize>,
}

impl CheckedReceiver {
    pub fn new(schedule: &Schedule<RnicSrEnds>, receiver: RnicSrReceiver) -> Self {
        CheckedReceiver {
            receiver,
            ack_every: schedule.ends.ack_every,
            cnp_interval: schedule.ends.cnp_interval,
            planned: schedule.planned(),
            arrived: BTreeSet::new(),
            expected: 0,
            reported: 0,
            nacked: BTreeSet::new(),
            asked: BTreeSet::new(),
            last_cnp: None,
            delivered: Vec::new(),
        }
    }
}

impl Receiving for CheckedReceiver {
    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Result<Vec<Packet>, TestCaseError> {
        let first = self.receiver.handle_packet(now, packet);
        let answers: Vec<_> = std::iter::from_fn(|| self.receiver.poll_transmit()).collect();
        let others: Vec<_> = std::iter::from_fn(|| self.receiver.poll_delivered()).collect();
        prop_assert!(first.is_some() || others.is_empty(), "{:?} after none", others);
        let Repr::Data { psn, sent_at, ack_now, .. } = packet.repr else {
            prop_assert!(matches!(packet.repr, Repr::Trimmed { .. }), "a sender sent non-data packets");
            prop_assert_eq!((first, answers.len()), (None, 0), "it was thrown away");
            return Ok(answers);
        };
        let is_fresh = self.arrived.insert(psn);
        let before = self.expected;
        while self.arrived.contains(&self.expected) {
            self.expected += 1;
        }
        // The PSNs that the ePSN passes with this packet. A message is complete if its last packet is among these PSNs.
        // An ACK is sent immediately if the highest PSN that requested an ACK is among these PSNs.
        let passed = before..self.expected;
        let whole: Vec<usize> = self.planned[before as usize..self.expected as usize]
            .iter()
            .filter(|planned| planned.is_last)
            .map(|planned| planned.message)
            .collect();
        let delivered: Vec<_> = first.into_iter().chain(others).collect();
        let expected: Vec<_> = whole.iter().map(|&message| message_id(message)).collect();
        prop_assert_eq!(delivered, expected, "messages that {} delivers", psn);
        let waited = self.asked.last().is_some_and(|asked| passed.contains(asked));
        if waited {
            self.asked.clear();
        }
        let is_early = psn > before;
        if is_early && ack_now {
            self.asked.insert(psn);
        }
        let pays_mark = packet.marked && self.cnp_interval == Duration::ZERO;
        let at_once = !is_fresh || ack_now || waited || !whole.is_empty() || pays_mark;
        let cumulative = self.expected;
        let mut wanted = Vec::new();
        if at_once || cumulative - self.reported >= self.ack_every {
            self.reported = cumulative;
            let marked = packet.marked;
            wanted.push(Repr::ack(cumulative).with_mark(marked).with_sent_at(sent_at));
        }
        if is_early && self.nacked.insert(cumulative) {
            wanted.push(Repr::nack(cumulative).with_sent_at(sent_at));
        }
        let may_notify = self.last_cnp.is_none_or(|last| now - last >= self.cnp_interval);
        if packet.marked && !pays_mark && may_notify {
            self.last_cnp = Some(now);
            wanted.push(Repr::Cnp);
        }
        let said: Vec<_> = answers.iter().map(|answer| answer.repr).collect();
        prop_assert_eq!(said, wanted, "the answers to {:?}", packet);
        for answer in &answers {
            prop_assert_eq!(
                (answer.qp, answer.dst, answer.ev, answer.marked),
                (QP, SENDER, packet.ev, false)
            );
        }
        self.delivered.extend(whole);
        Ok(answers)
    }

    fn delivered(&self) -> &[usize] {
        &self.delivered
    }

    fn fresh_packets(&self) -> u64 {
        self.receiver.fresh_packets()
    }
}
