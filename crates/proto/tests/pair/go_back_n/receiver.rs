//! The receiver, compared with a simple model of it.

use super::GoBackNEnds;
use crate::pair::run::Receiving;
use crate::pair::schedule::{Planned, QP, SENDER, Schedule, message_id};
use anabranch_base::{Duration, Time};
use anabranch_proto::transport::{GoBackNReceiver, Receiver as _};
use anabranch_proto::{Packet, Repr};
use proptest::prelude::*;

pub struct CheckedReceiver {
    receiver: GoBackNReceiver,
    ack_every: u32,
    nack_interval: Duration,
    cnp_interval: Duration,
    planned: Vec<Planned>,
    /// The ePSN.
    expected: u32,
    /// Number of packets that have arrived in order since the last ACK or NACK.
    unreported: u32,
    /// The time of the last NACK for the ePSN.
    nacked: Option<Time>,
    last_cnp: Option<Time>,
    delivered: Vec<usize>,
}

impl CheckedReceiver {
    pub fn new(schedule: &Schedule<GoBackNEnds>, receiver: GoBackNReceiver) -> Self {
        CheckedReceiver {
            receiver,
            ack_every: schedule.ends.ack_every,
            nack_interval: schedule.ends.nack_interval,
            cnp_interval: schedule.ends.cnp_interval,
            planned: schedule.planned(),
            expected: 0,
            unreported: 0,
            nacked: None,
            last_cnp: None,
            delivered: Vec::new(),
        }
    }

    fn is_over(last: Option<Time>, interval: Duration, now: Time) -> bool {
        last.is_none_or(|last| now - last >= interval)
    }
}

impl Receiving for CheckedReceiver {
    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Result<Vec<Packet>, TestCaseError> {
        let whole = self.receiver.handle_packet(now, packet);
        let answers: Vec<_> = std::iter::from_fn(|| self.receiver.poll_transmit()).collect();
        let Repr::Data { psn, sent_at, ack_now, .. } = packet.repr else {
            return Err(TestCaseError::fail("a sender sent non-data packets"));
        };
        let pays_marks = packet.marked && self.cnp_interval == Duration::ZERO;
        let (mut delivered, mut acks, mut nacks) = (None, psn < self.expected, false);
        if psn == self.expected {
            let known = self.planned[psn as usize];
            self.expected += 1;
            self.unreported += 1;
            self.nacked = None;
            if known.is_last {
                delivered = Some(message_id(known.message));
                self.delivered.push(known.message);
            }
            acks = known.is_last || ack_now || pays_marks || self.unreported >= self.ack_every;
        } else if psn > self.expected && Self::is_over(self.nacked, self.nack_interval, now) {
            self.nacked = Some(now);
            nacks = true;
        }
        prop_assert_eq!(whole, delivered, "the message that {} makes whole", psn);
        let cumulative = self.expected;
        let mut wanted = Vec::new();
        if acks {
            let marked = packet.marked;
            wanted.push(Repr::ack(cumulative).with_mark(marked).with_sent_at(sent_at));
        }
        if nacks {
            wanted.push(Repr::nack(cumulative).with_sent_at(sent_at));
        }
        if acks || nacks {
            self.unreported = 0;
        }
        if packet.marked && !pays_marks && Self::is_over(self.last_cnp, self.cnp_interval, now) {
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
        Ok(answers)
    }

    fn delivered(&self) -> &[usize] {
        &self.delivered
    }

    fn fresh_packets(&self) -> u64 {
        self.receiver.fresh_packets()
    }
}
