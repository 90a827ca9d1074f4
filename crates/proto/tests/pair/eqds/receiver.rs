//! The receiver and its host's pacer, compared with a `sack` receiver and with an account of the granted credit.

use super::EqdsEnds;
use crate::pair::run::Receiving;
use crate::pair::schedule::{ENDS, PACKET, Schedule, message_id};
use anabranch_base::{Duration, Time};
use anabranch_proto::transport::{EqdsReceiver, Pull, PullPacer, Receiver as _, SackReceiver};
use anabranch_proto::{Packet, Repr};
use proptest::prelude::*;

/// An [`EqdsReceiver`]. Each of its answers must equal the answer of a `sack` receiver, be a pull for existing
/// demand, or repeat the last pull.
pub struct CheckedReceiver {
    receiver: EqdsReceiver,
    twin: SackReceiver,
    pacer: PullPacer,
    interval: Duration,
    /// The largest demand of the sender so far, in packets. Each trimmed packet adds one, because its payload has to be
    /// pulled once more.
    demanded: u64,
    granted: u64,
    last_pull: Option<Time>,
    messages: usize,
    delivered: Vec<usize>,
}

impl CheckedReceiver {
    pub fn new(schedule: &Schedule<EqdsEnds>) -> Self {
        CheckedReceiver {
            receiver: EqdsReceiver::new(&schedule.transport(), ENDS),
            twin: SackReceiver::new(&schedule.sack(), ENDS),
            pacer: PullPacer::new(&schedule.transport(), &schedule.path.facts()),
            interval: schedule.interval(),
            demanded: 0,
            granted: 0,
            last_pull: None,
            messages: schedule.messages.len(),
            delivered: Vec::new(),
        }
    }

    fn ask(&mut self) {
        if self.receiver.requests_pull() {
            self.pacer.join(0);
        }
    }
}

impl Receiving for CheckedReceiver {
    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Result<Vec<Packet>, TestCaseError> {
        let whole = self.receiver.handle_packet(now, packet);
        let answers: Vec<Packet> = std::iter::from_fn(|| self.receiver.poll_transmit()).collect();
        if let Repr::Rts { target } = packet.repr {
            // If all demand was granted, the last pull is repeated immediately, since it may have been lost.
            let again = (self.granted >= target.into()).then_some(Repr::Pull { number: self.granted as u32 });
            let said: Vec<Repr> = answers.iter().map(|answer| answer.repr).collect();
            prop_assert_eq!((said, whole), (Vec::from_iter(again), None));
            self.demanded = self.demanded.max(target.into());
        } else {
            let by_twin = self.twin.handle_packet(now, packet);
            prop_assert_eq!(whole, by_twin);
            let twins: Vec<Packet> = std::iter::from_fn(|| self.twin.poll_transmit()).collect();
            prop_assert_eq!(format!("{answers:?}"), format!("{twins:?}"));
            match packet.repr {
                Repr::Trimmed { msn, .. } => self.demanded = self.demanded.max(msn.pull_target().into()) + 1,
                Repr::Data { msn, .. } => self.demanded = self.demanded.max(msn.pull_target().into()),
                other => return Err(TestCaseError::fail(format!("a sender sent {other:?}"))),
            }
        }
        self.delivered.extend(whole.and_then(|id| (0..self.messages).find(|index| message_id(*index) == id)));
        self.ask();
        Ok(answers)
    }

    fn next_timeout(&self) -> Option<Time> {
        self.pacer.next_timeout()
    }

    fn handle_timeout(&mut self, now: Time) -> Result<Vec<Packet>, TestCaseError> {
        let mut pulls = Vec::new();
        while self.pacer.take_turn(now).is_some() {
            let Some(Pull { packet: pull, bytes }) = self.receiver.pull() else { continue };
            self.granted += 1;
            prop_assert_eq!(pull.repr, Repr::Pull { number: self.granted as u32 });
            prop_assert!(
                self.granted <= self.demanded,
                "{} granted, {} demanded",
                self.granted,
                self.demanded
            );
            let early = self.last_pull.is_some_and(|last| now.since(last) < self.interval);
            prop_assert!(!early, "a pull at {} after one at {:?}", now, self.last_pull);
            self.last_pull = Some(now);
            prop_assert_eq!(bytes, PACKET);
            self.pacer.pulled(now, bytes);
            pulls.push(pull);
            self.ask();
        }
        Ok(pulls)
    }

    fn delivered(&self) -> &[usize] {
        &self.delivered
    }

    fn fresh_packets(&self) -> u64 {
        self.receiver.fresh_packets()
    }
}
