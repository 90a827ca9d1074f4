//! The receiver, compared with a simple model that stores PSNs instead of counting them.

use super::{DcpEnds, Request};
use crate::pair::run::Receiving;
use crate::pair::schedule::{ACK, HEADER, QP, SENDER, Schedule, message_id};
use anabranch_base::{Duration, Time};
use anabranch_proto::transport::{DcpReceiver, Receiver as _};
use anabranch_proto::{Packet, Repr};
use proptest::prelude::*;
use std::collections::BTreeSet;

pub struct CheckedReceiver {
    receiver: DcpReceiver,
    cnp_interval: Duration,
    trims_as_marks: bool,
    exactly_once: bool,
    requests: Vec<Request>,
    tracked: usize,
    /// For each MSN, the counted round, and the PSNs that arrived in this round.
    rounds: Vec<(u8, BTreeSet<u32>)>,
    /// The PSNs that have arrived untrimmed at any time.
    arrived: BTreeSet<u32>,
    /// The eMSN.
    expected: usize,
    last_cnp: Option<Time>,
    delivered: Vec<usize>,
}

impl CheckedReceiver {
    pub fn new(schedule: &Schedule<DcpEnds>, receiver: DcpReceiver) -> Self {
        let requests = schedule.requests();
        CheckedReceiver {
            receiver,
            cnp_interval: schedule.ends.cnp_interval,
            trims_as_marks: schedule.ends.trims_as_marks,
            exactly_once: schedule.ends.exactly_once,
            tracked: schedule.ends.tracked as usize,
            rounds: vec![(0, BTreeSet::new()); requests.len()],
            requests,
            arrived: BTreeSet::new(),
            expected: 0,
            last_cnp: None,
            delivered: Vec::new(),
        }
    }

    fn is_whole(&self, number: usize) -> bool {
        self.rounds.get(number).is_some_and(|(_, psns)| psns.len() == self.requests[number].packets as usize)
    }
}

impl Receiving for CheckedReceiver {
    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Result<Vec<Packet>, TestCaseError> {
        let first = self.receiver.handle_packet(now, packet);
        let answers: Vec<_> = std::iter::from_fn(|| self.receiver.poll_transmit()).collect();
        let others: Vec<_> = std::iter::from_fn(|| self.receiver.poll_delivered()).collect();
        prop_assert!(first.is_some() || others.is_empty(), "{:?} after none", others);
        let mut wanted = Vec::new();
        let before = self.expected;
        let mut size = ACK;
        let mut is_congested = packet.marked;
        match packet.repr {
            Repr::Trimmed { psn, msn, .. } => {
                size = HEADER;
                is_congested = self.trims_as_marks;
                wanted.push(Repr::header_only(psn).with_msn(msn));
            }
            Repr::Data { psn, msn, sent_at, .. } => {
                let is_first = self.arrived.insert(psn);
                prop_assert!(is_first || !self.exactly_once, "PSN {psn} came twice");
                let number = msn.number() as usize;
                prop_assert!(number < self.expected + self.tracked, "the sender runs ahead");
                let is_old = number < self.expected;
                if !is_old && !self.is_whole(number) {
                    let (retry, psns) = &mut self.rounds[number];
                    // A later round is at most half of the number range ahead.
                    if retry.wrapping_sub(msn.retry()) > 127 {
                        (*retry, *psns) = (msn.retry(), BTreeSet::new());
                    }
                    if *retry == msn.retry() {
                        prop_assert!(psns.insert(psn), "PSN {psn} is counted twice in round {retry}");
                    }
                }
                while self.is_whole(self.expected) {
                    self.expected += 1;
                }
                if is_old || self.expected > before {
                    let (cumulative, marked) = (self.expected as u32, packet.marked);
                    wanted.push(Repr::ack(cumulative).with_mark(marked).with_sent_at(sent_at));
                }
            }
            _ => return Err(TestCaseError::fail("a sender sent non-data packets")),
        }
        if is_congested && self.last_cnp.is_none_or(|last| now - last >= self.cnp_interval) {
            self.last_cnp = Some(now);
            wanted.push(Repr::Cnp);
        }
        let said: Vec<_> = answers.iter().map(|answer| answer.repr).collect();
        prop_assert_eq!(said, wanted, "the answers to {:?}", packet);
        for answer in &answers {
            let size = if answer.repr == Repr::Cnp { ACK } else { size };
            let echoed = (answer.qp, answer.dst, answer.ev, answer.marked);
            prop_assert_eq!(echoed, (QP, SENDER, packet.ev, false));
            prop_assert_eq!(u64::from(answer.wire_bytes), size);
        }
        let passed = &self.requests[before..self.expected];
        let whole: Vec<_> = passed.iter().filter(|r| r.is_signalled).map(|r| r.message).collect();
        let delivered: Vec<_> = first.into_iter().chain(others).collect();
        let expected: Vec<_> = whole.iter().map(|&message| message_id(message)).collect();
        prop_assert_eq!(delivered, expected, "messages that {:?} delivers", packet);
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
