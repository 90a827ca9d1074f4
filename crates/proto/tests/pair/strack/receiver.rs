//! The receiver, compared with a simple model of it.

use super::StrackEnds;
use crate::pair::run::Receiving;
use crate::pair::schedule::{PACKET, Planned, QP, SENDER, Schedule, message_id};
use anabranch_base::Time;
use anabranch_proto::transport::{Receiver as _, StrackReceiver};
use anabranch_proto::{Packet, Repr, SackCause};
use proptest::prelude::*;

pub struct CheckedReceiver {
    receiver: StrackReceiver,
    sack_bytes: u64,
    planned: Vec<Planned>,
    /// Whether each packet has arrived, indexed by PSN.
    arrived: Vec<bool>,
    /// The ePSN, which is the lowest PSN that has not arrived.
    expected: u32,
    /// Bytes of the distinct packets that arrived.
    bytes: u64,
    /// Number of distinct packets that arrived since the ePSN last advanced.
    out_of_order: u16,
    /// PSNs and bytes of the data packets that arrived since the last SACK, where answers to probes do not count.
    unreported: Vec<(u32, u64)>,
    /// For each message, the number of packets that have not arrived.
    left: Vec<u32>,
    delivered: Vec<usize>,
}

impl CheckedReceiver {
    pub fn new(schedule: &Schedule<StrackEnds>, receiver: StrackReceiver) -> Self {
        let planned = schedule.planned();
        CheckedReceiver {
            receiver,
            sack_bytes: schedule.ends.sack_every * PACKET,
            arrived: vec![false; planned.len()],
            planned,
            expected: 0,
            bytes: 0,
            out_of_order: 0,
            unreported: Vec::new(),
            left: schedule.messages.iter().map(|message| message.packets).collect(),
            delivered: Vec::new(),
        }
    }

    fn has(&self, psn: u32) -> bool {
        self.arrived.get(psn as usize).is_some_and(|&arrived| arrived)
    }

    fn accept(&mut self, psn: u32) -> Option<usize> {
        if std::mem::replace(&mut self.arrived[psn as usize], true) {
            return None;
        }
        let known = self.planned[psn as usize];
        self.bytes += known.bytes;
        if psn == self.expected {
            self.out_of_order = 0;
            while self.has(self.expected) {
                self.expected += 1;
            }
        } else {
            self.out_of_order += 1;
        }
        self.left[known.message] -= 1;
        (self.left[known.message] == 0).then_some(known.message)
    }

    /// Checks that a SACK has the required content, and that no bit of its bitmap is wrong.
    fn check_sack(&self, answer: &Packet, cause: &Packet, probe: bool) -> Result<(), TestCaseError> {
        let Repr::Sack { expected, base, received, bytes_received, out_of_order, cause: why, .. } =
            answer.repr
        else {
            return Err(TestCaseError::fail(format!("{answer:?} is no SACK")));
        };
        prop_assert_eq!((answer.qp, answer.dst, answer.marked), (QP, SENDER, false));
        prop_assert_eq!((answer.ev, why), (cause.ev, SackCause::new(cause.marked, probe)));
        prop_assert_eq!((expected, out_of_order), (self.expected, self.out_of_order));
        prop_assert_eq!(bytes_received, self.bytes as u32, "without duplicates");
        for i in 0..64 {
            let says = received >> i & 1 == 1;
            prop_assert!(says == self.has(base + i), "what it says of {}", base + i);
        }
        Ok(())
    }
}

impl Receiving for CheckedReceiver {
    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Result<Vec<Packet>, TestCaseError> {
        let whole = self.receiver.handle_packet(now, packet);
        let answers: Vec<_> = std::iter::from_fn(|| self.receiver.poll_transmit()).collect();
        prop_assert!(answers.len() <= 1, "{:?}", answers);
        let echoed = answers.first().map(|answer| match answer.repr {
            Repr::Sack { base, sent_at, .. } => (base, sent_at),
            _ => (0, Time::NEVER),
        });
        match packet.repr {
            Repr::Data { psn, sent_at, ack_now, .. } => {
                let is_expected = psn == self.expected;
                let delivered = self.accept(psn);
                prop_assert_eq!(whole, delivered.map(message_id), "the message that {} makes whole", psn);
                self.delivered.extend(delivered);
                self.unreported.push((psn, packet.wire_bytes.into()));
                // Conditions 1, 2 and 4 for a SACK, in section 3.3.1 of the STrack paper.
                let unreported: u64 = self.unreported.iter().map(|&(_, bytes)| bytes).sum();
                let is_due = is_expected || ack_now || unreported >= self.sack_bytes;
                prop_assert_eq!(answers.len(), usize::from(is_due), "SACKs of {}", psn);
                if let Some((base, echoed)) = echoed {
                    self.check_sack(&answers[0], packet, false)?;
                    prop_assert_eq!(echoed, sent_at);
                    // The bitmap starts at the ePSN and is divided into segments of 64 PSNs.
                    let lowest = self.unreported.drain(..).map(|(psn, _)| psn).min().unwrap();
                    prop_assert_eq!(base.wrapping_sub(self.expected) % 64, 0, "base {} of {}", base, lowest);
                    let lowest = lowest.max(self.expected);
                    prop_assert!((base..base + 64).contains(&lowest), "{lowest} not in {base}..");
                }
            }
            Repr::Probe { base: asked, sent_at, .. } => {
                prop_assert_eq!(whole, None);
                prop_assert_eq!(echoed, Some((asked, sent_at)), "condition 3");
                self.check_sack(&answers[0], packet, true)?;
            }
            _ => return Err(TestCaseError::fail("a sender sent an answer")),
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
