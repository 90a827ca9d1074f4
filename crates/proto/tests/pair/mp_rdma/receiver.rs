//! The receiver, compared with a simple model of it.

use super::MpRdmaEnds;
use crate::pair::run::Receiving;
use crate::pair::schedule::{ACK, Planned, QP, SENDER, Schedule, message_id};
use anabranch_base::Time;
use anabranch_proto::transport::{MpRdmaReceiver, Receiver as _};
use anabranch_proto::{Packet, Repr};
use proptest::prelude::*;
use std::collections::BTreeSet;

pub struct CheckedReceiver {
    receiver: MpRdmaReceiver,
    bitmap: u32,
    planned: Vec<Planned>,
    /// PSNs that arrived and found a slot.
    arrived: BTreeSet<u32>,
    /// The first PSN that has not arrived.
    expected: u32,
    delivered: Vec<usize>,
}

impl CheckedReceiver {
    pub fn new(schedule: &Schedule<MpRdmaEnds>, receiver: MpRdmaReceiver) -> Self {
        CheckedReceiver {
            receiver,
            bitmap: schedule.ends.bitmap,
            planned: schedule.planned(),
            arrived: BTreeSet::new(),
            expected: 0,
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
        let Repr::Data { psn, sent_at, .. } = packet.repr else {
            prop_assert!(matches!(packet.repr, Repr::Trimmed { .. }), "a sender sent non-data packets");
            prop_assert_eq!((first, answers.len()), (None, 0), "it was thrown away");
            return Ok(answers);
        };
        let before = self.expected;
        let refused = psn >= before + self.bitmap;
        if !refused {
            self.arrived.insert(psn);
        }
        while self.arrived.contains(&self.expected) {
            self.expected += 1;
        }
        let whole: Vec<usize> = self.planned[before as usize..self.expected as usize]
            .iter()
            .filter(|planned| planned.is_last)
            .map(|planned| planned.message)
            .collect();
        let delivered: Vec<_> = first.into_iter().chain(others).collect();
        let expected: Vec<_> = whole.iter().map(|&message| message_id(message)).collect();
        prop_assert_eq!(delivered, expected, "messages that {} delivers", psn);
        let (cumulative, marked) = (self.expected, packet.marked);
        let wanted = if refused {
            Repr::nack(cumulative).with_sent_at(sent_at)
        } else {
            Repr::ack(cumulative).with_received(psn, 1).with_mark(marked).with_sent_at(sent_at)
        };
        let said: Vec<_> = answers.iter().map(|answer| answer.repr).collect();
        prop_assert_eq!(said, [wanted], "the answer to {:?}", packet);
        let answer = answers[0];
        prop_assert_eq!(
            (answer.qp, answer.dst, answer.ev, answer.marked, u64::from(answer.wire_bytes)),
            (QP, SENDER, packet.ev, false, ACK)
        );
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
