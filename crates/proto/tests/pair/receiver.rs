//! The receiver beside a plain model of it.

use crate::schedule::{Schedule, message_id};
use crate::sender::QP;
use anabranch_base::HostId;
use anabranch_proto::transport::SackReceiver;
use anabranch_proto::{Packet, Repr};
use proptest::prelude::*;

const SENDER: HostId = HostId(5);

/// A [`SackReceiver`] of which every answer is compared with the model's.
pub struct CheckedReceiver {
    receiver: SackReceiver,
    ack_every: u32,
    /// By PSN.
    arrived: Vec<bool>,
    /// First PSN that has not arrived.
    cumulative: u32,
    /// Arrived since the last ACK.
    unreported: Vec<u32>,
    /// By index of the message: packets that have not arrived.
    left: Vec<u32>,
    pub delivered: Vec<usize>,
}

impl CheckedReceiver {
    pub fn new(schedule: &Schedule) -> Self {
        CheckedReceiver {
            receiver: SackReceiver::new(&schedule.transport(), QP, SENDER),
            ack_every: schedule.ack_every,
            arrived: vec![false; schedule.packets() as usize],
            cumulative: 0,
            unreported: Vec::new(),
            left: schedule.messages.iter().map(|message| message.packets).collect(),
            delivered: Vec::new(),
        }
    }

    /// Takes a packet in; answers with all that the receiver has to say to it.
    pub fn handle_packet(&mut self, packet: &Packet) -> Result<Vec<Packet>, TestCaseError> {
        let whole = self.receiver.handle_packet(packet);
        let answers: Vec<_> = std::iter::from_fn(|| self.receiver.poll_transmit()).collect();
        match packet.repr {
            Repr::Data { psn, message, .. } => {
                let is_new = !std::mem::replace(&mut self.arrived[psn as usize], true);
                while self.has(self.cumulative) {
                    self.cumulative += 1;
                }
                let mut expected = None;
                if is_new {
                    let index = (0..self.left.len()).find(|&i| message_id(i) == message).unwrap();
                    self.left[index] -= 1;
                    if self.left[index] == 0 {
                        expected = Some(message);
                        self.delivered.push(index);
                    }
                }
                prop_assert_eq!(whole, expected, "the message that {} makes whole", psn);
                self.unreported.push(psn);
                let is_due = !is_new
                    || packet.marked
                    || whole.is_some()
                    || self.unreported.len() >= self.ack_every as usize;
                prop_assert_eq!(!answers.is_empty(), is_due, "an ACK for {}", psn);
            }
            Repr::Trimmed { psn, .. } => {
                prop_assert_eq!(whole, None);
                let is_due = !self.has(psn);
                prop_assert_eq!(answers.len(), usize::from(is_due), "NACKs for {}", psn);
            }
            _ => return Err(TestCaseError::fail("a sender sent an answer")),
        }
        for answer in &answers {
            prop_assert_eq!((answer.qp, answer.dst, answer.ev), (QP, SENDER, packet.ev));
            self.check_answer(packet, answer)?;
        }
        if matches!(packet.repr, Repr::Data { .. }) && !answers.is_empty() {
            prop_assert!(self.unreported.is_empty(), "{:?} were not reported", self.unreported);
        }
        Ok(answers)
    }

    fn has(&self, psn: u32) -> bool {
        self.arrived.get(psn as usize).is_some_and(|&arrived| arrived)
    }

    /// Says what is true, and strikes what it says off the list of things unsaid.
    fn check_answer(&mut self, packet: &Packet, answer: &Packet) -> Result<(), TestCaseError> {
        match (packet.repr, answer.repr) {
            (Repr::Trimmed { psn, .. }, Repr::Nack { psn: answered }) => prop_assert_eq!(psn, answered),
            (
                Repr::Data { sent_at, .. },
                Repr::Ack { cumulative, base, received, marked, sent_at: echoed },
            ) => {
                prop_assert_eq!((marked, echoed), (packet.marked, sent_at));
                prop_assert_eq!(cumulative, self.cumulative);
                for i in 0..64 {
                    let says = received >> i & 1 == 1;
                    prop_assert!(says == self.has(base + i), "what it says of {}", base + i);
                }
                self.unreported.retain(|&psn| psn >= cumulative && !(base..base + 64).contains(&psn));
            }
            (packet, answer) => {
                return Err(TestCaseError::fail(format!("{answer:?} is no answer to {packet:?}")));
            }
        }
        Ok(())
    }
}
