//! The receiver, compared with a simple model of it.

use super::SackEnds;
use crate::pair::run::Receiving;
use crate::pair::schedule::{ACK, ENDS, QP, SENDER, Schedule, message_id};
use anabranch_base::Time;
use anabranch_proto::transport::{Receiver as _, SackReceiver};
use anabranch_proto::{Packet, Repr};
use proptest::prelude::*;

pub struct CheckedReceiver {
    receiver: SackReceiver,
    ack_every: u32,
    carry_evs: bool,
    /// Whether each packet has arrived, indexed by PSN.
    arrived: Vec<bool>,
    /// The first PSN that has not arrived.
    cumulative: u32,
    /// The packets that arrived since the last ACK, in the order of arrival.
    unreported: Vec<(u32, Cause)>,
    /// For each message, the number of packets that have not arrived.
    left: Vec<u32>,
    delivered: Vec<usize>,
}

/// The fields of a packet that an answer echoes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cause {
    ev: u16,
    marked: bool,
    sent_at: Time,
}

#[derive(Clone, Debug)]
enum Wanted {
    /// An ACK of these PSNs.
    Ack(Cause, Vec<u32>),
    Nack(Cause, u32),
}

impl CheckedReceiver {
    pub fn new(schedule: &Schedule<SackEnds>) -> Self {
        CheckedReceiver {
            receiver: SackReceiver::new(&schedule.transport(), ENDS),
            ack_every: schedule.ends.ack_every,
            carry_evs: schedule.ends.carry_evs,
            arrived: vec![false; schedule.packets() as usize],
            cumulative: 0,
            unreported: Vec::new(),
            left: schedule.messages.iter().map(|message| message.packets).collect(),
            delivered: Vec::new(),
        }
    }
}

impl Receiving for CheckedReceiver {
    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Result<Vec<Packet>, TestCaseError> {
        let whole = self.receiver.handle_packet(now, packet);
        let answers: Vec<_> = std::iter::from_fn(|| self.receiver.poll_transmit()).collect();
        let wanted = match packet.repr {
            Repr::Data { psn, message, sent_at, ack_now, .. } => {
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
                let at_once = ack_now || packet.marked || !is_new || whole.is_some();
                self.report(psn, Cause { ev: packet.ev, marked: packet.marked, sent_at }, at_once)
            }
            Repr::Trimmed { psn, sent_at, .. } => {
                prop_assert_eq!(whole, None);
                let cause = Cause { ev: packet.ev, marked: packet.marked, sent_at };
                match self.has(psn) {
                    true => self.report(psn, cause, true),
                    false => vec![Wanted::Nack(cause, psn)],
                }
            }
            _ => return Err(TestCaseError::fail("a sender sent an answer")),
        };
        prop_assert_eq!(answers.len(), wanted.len(), "{:?} instead of {:?}", answers, wanted);
        for (answer, wanted) in answers.iter().zip(&wanted) {
            self.check_answer(answer, wanted)?;
        }
        Ok(answers)
    }

    fn delivered(&self) -> &[usize] {
        &self.delivered
    }

    fn fresh_packets(&self) -> u64 {
        self.receiver.fresh_packets()
    }
}

impl CheckedReceiver {
    fn has(&self, psn: u32) -> bool {
        self.arrived.get(psn as usize).is_some_and(|&arrived| arrived)
    }

    /// The ACKs that are due if `psn` is to be acknowledged as well.
    fn report(&mut self, psn: u32, cause: Cause, at_once: bool) -> Vec<Wanted> {
        let mut acks = Vec::new();
        let span = if self.carry_evs { 48 } else { 64 };
        if self.unreported.iter().any(|&(other, _)| psn.abs_diff(other) >= span) {
            acks.extend(self.ack());
        }
        self.unreported.push((psn, cause));
        if at_once || self.unreported.len() >= self.ack_every as usize {
            acks.extend(self.ack());
        }
        acks
    }

    /// One ACK for all packets that are not yet acknowledged, with the last of them as its cause.
    fn ack(&mut self) -> Option<Wanted> {
        let psns: Vec<u32> = self.unreported.iter().map(|&(psn, _)| psn).collect();
        let (_, cause) = self.unreported.drain(..).next_back()?;
        Some(Wanted::Ack(cause, psns))
    }

    /// Checks that an answer has the expected content, and that no bit of an ACK is wrong.
    fn check_answer(&self, answer: &Packet, wanted: &Wanted) -> Result<(), TestCaseError> {
        prop_assert_eq!((answer.qp, answer.dst, answer.marked), (QP, SENDER, false));
        match (answer.repr, wanted) {
            (Repr::Nack { psn, sent_at, .. }, Wanted::Nack(cause, trimmed)) => {
                prop_assert_eq!((answer.ev, psn, sent_at), (cause.ev, *trimmed, cause.sent_at));
            }
            (
                Repr::Ack { cumulative, base, received, marked, carried, sent_at },
                Wanted::Ack(cause, psns),
            ) => {
                prop_assert_eq!(Cause { ev: answer.ev, marked, sent_at }, *cause);
                prop_assert_eq!(cumulative, self.cumulative);
                let (last, others) = psns.split_last().unwrap();
                let bit = |psn: &u32| if self.carry_evs && psn != last { 1 << (psn - base) } else { 0 };
                let wanted = others.iter().map(bit).fold(0, |all: u64, bit| all | bit);
                prop_assert_eq!(carried.bits(), wanted, "the entropy values of {:?}", psns);
                prop_assert_eq!(u64::from(answer.wire_bytes), ACK + 2 * u64::from(wanted.count_ones()));
                for i in 0..64 {
                    let says = received >> i & 1 == 1;
                    prop_assert!(says == self.has(base + i), "what it says of {}", base + i);
                }
                // The bits cover every PSN from the cumulative PSN to the highest PSN that the ACK answers. If there
                // are more than 64 such PSNs (48 with `carry_evs`), the bits must cover only the last 64 (48).
                let (highest, span) = (psns.iter().max().unwrap(), if self.carry_evs { 48 } else { 64 });
                let mut told = cumulative.max((highest + 1).saturating_sub(span))..highest + 1;
                let unsaid = told.find(|psn| !(base..base + 64).contains(psn));
                prop_assert_eq!(unsaid, None, "not reported");
            }
            (answer, wanted) => {
                return Err(TestCaseError::fail(format!("{answer:?} instead of {wanted:?}")));
            }
        }
        Ok(())
    }
}
