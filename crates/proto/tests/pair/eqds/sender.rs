//! The sender, compared with a `sack` sender and with an account of its credit.

use super::EqdsEnds;
use crate::pair::run::Sending;
use crate::pair::schedule::{ENDS, Schedule, message_id};
use anabranch_base::{Duration, Time};
use anabranch_proto::transport::{EqdsSender, PayloadRange, SackSender, Sender as _, SenderCounters};
use anabranch_proto::{Packet, Repr};
use proptest::prelude::*;

/// An [`EqdsSender`]. Each of its data packets must equal the packet of a `sack` sender, and must have credit.
pub struct CheckedSender {
    sender: EqdsSender,
    twin: SackSender,
    /// The payload of each message, by its index.
    payload: Vec<u64>,
    window: u64,
    rto: Duration,
    /// The highest number of a pull that has arrived.
    pulled: u64,
    sent: u64,
    /// The value of `sent`, at most `window`, at the first ACK or NACK. No later packet is speculative.
    speculative: Option<u64>,
    /// The time of the last packet sent or received, or of the last timeout without credit.
    last: Time,
    acknowledged: Vec<usize>,
}

impl CheckedSender {
    pub fn new(schedule: &Schedule<EqdsEnds>) -> Self {
        let facts = schedule.path.facts();
        let (cc, lb) = (schedule.cc(), schedule.lb());
        CheckedSender {
            sender: EqdsSender::new(&schedule.transport(), &facts, ENDS, cc, lb),
            twin: SackSender::new(&schedule.sack(), &facts, ENDS, schedule.cc(), schedule.lb()),
            payload: schedule.messages.iter().map(|message| message.bytes()).collect(),
            window: schedule.ends.window.into(),
            rto: schedule.ends.rto,
            pulled: 0,
            sent: 0,
            speculative: None,
            last: Time::ZERO,
            acknowledged: Vec::new(),
        }
    }

    /// The largest number of data packets that may have been sent so far: the pulled ones and the speculative ones.
    fn paid_for(&self) -> u64 {
        self.pulled + self.window.min(self.speculative.unwrap_or(u64::MAX))
    }

    fn check_target(&self, target: u32) -> Result<(), TestCaseError> {
        let most = self.pulled + self.window.min(self.twin.backlog().into());
        prop_assert!(u64::from(target) <= most, "{} demanded, and {} at the most", target, most);
        prop_assert!(u64::from(target) >= self.pulled, "less demanded than pulled");
        Ok(())
    }
}

impl Sending for CheckedSender {
    fn post(&mut self, _now: Time, message: usize) -> Result<(), TestCaseError> {
        let (id, bytes) = (message_id(message), self.payload[message]);
        prop_assert!(self.sender.post(id, bytes).is_ok() && self.twin.post(id, bytes).is_ok());
        Ok(())
    }

    fn payload_range(&self, psn: u32) -> Option<PayloadRange> {
        self.sender.payload_range(psn)
    }

    fn poll_transmit(&mut self, now: Time) -> Result<Option<Packet>, TestCaseError> {
        let credit = self.sender.credit();
        let packet = self.sender.poll_transmit(now);
        match packet.as_ref().map(|packet| packet.repr) {
            Some(Repr::Data { msn, .. }) => {
                let twin = self.twin.poll_transmit(now);
                let (as_twin, repr) =
                    (twin.map(|twin| (twin.ev, twin.wire_bytes, twin.dst)), packet.map(|p| p.repr));
                prop_assert_eq!(packet.map(|packet| (packet.ev, packet.wire_bytes, packet.dst)), as_twin);
                prop_assert_eq!(
                    repr.map(|repr| repr.with_msn(msn)),
                    twin.map(|twin| twin.repr.with_msn(msn))
                );
                self.sent += 1;
                prop_assert_eq!(self.sender.credit(), credit - 1, "a packet costs one credit");
                prop_assert!(
                    self.sent <= self.paid_for(),
                    "{} sent, {} paid for",
                    self.sent,
                    self.paid_for()
                );
                self.check_target(msn.pull_target())?;
                self.last = now;
            }
            Some(Repr::Rts { target }) => {
                prop_assert!(credit == 0 && self.twin.has_backlog(), "an RTS of who may send, or need not");
                self.check_target(target)?;
                prop_assert!(u64::from(target) > self.pulled, "it asks for nothing");
                self.last = now;
            }
            Some(other) => return Err(TestCaseError::fail(format!("it sent {other:?}"))),
            None if credit > 0 => {
                let twin = self.twin.poll_transmit(now);
                prop_assert!(twin.is_none(), "it has credit and sends nothing");
            }
            None => {}
        }
        Ok(packet)
    }

    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Result<(), TestCaseError> {
        self.sender.handle_packet(now, packet);
        self.last = now;
        match packet.repr {
            Repr::Pull { number } => self.pulled = self.pulled.max(number.into()),
            _ => {
                self.twin.handle_packet(now, packet);
                // Packets that were sent for earlier pulls are not speculative, but these pulls cover them in any case.
                self.speculative.get_or_insert(self.sent.min(self.window));
            }
        }
        let acknowledged: Vec<_> = std::iter::from_fn(|| self.sender.poll_acknowledged()).collect();
        let by_twin: Vec<_> = std::iter::from_fn(|| self.twin.poll_acknowledged()).collect();
        prop_assert_eq!(&acknowledged, &by_twin);
        let index = |id| (0..self.payload.len()).find(|index| message_id(*index) == id);
        self.acknowledged.extend(acknowledged.into_iter().filter_map(index));
        Ok(())
    }

    fn next_timeout(&mut self) -> Result<Option<Time>, TestCaseError> {
        let (its, twins) = (self.sender.next_timeout(), self.twin.next_timeout());
        let waits = self.sender.credit() == 0 && self.twin.has_backlog();
        let asks = waits.then(|| self.last + self.rto);
        prop_assert_eq!(its, twins.into_iter().chain(asks).min(), "waiting since {}", self.last);
        Ok(its)
    }

    fn handle_timeout(&mut self, now: Time) -> Result<(), TestCaseError> {
        self.sender.handle_timeout(now);
        self.twin.handle_timeout(now);
        if self.sender.credit() == 0 && self.twin.has_backlog() && self.last + self.rto <= now {
            self.last = now;
        }
        Ok(())
    }

    fn check_finished(&mut self) -> Result<(), TestCaseError> {
        prop_assert_eq!((self.sender.next_timeout(), self.twin.has_backlog()), (None, false));
        Ok(())
    }

    fn acknowledged(&self) -> &[usize] {
        &self.acknowledged
    }

    fn counters(&self) -> SenderCounters {
        self.sender.counters()
    }
}
