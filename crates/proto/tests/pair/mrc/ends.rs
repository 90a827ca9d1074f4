//! The sender and the receiver, with checks of each packet that they send.

use super::{CONTROL, MrcEnds, REQUEST};
use crate::pair::run::{Receiving, Sending};
use crate::pair::schedule::{
    ACK, ENDS, PAYLOAD, Planned, QP, RECEIVER, SENDER, Schedule, check_data, message_id,
};
use anabranch_base::{MessageId, Time};
use anabranch_proto::lb::{AnyLb, Environment};
use anabranch_proto::transport::{AnyReceiver, AnySender, PayloadRange, SenderCounters, TransportConfig};
use anabranch_proto::{EndpointOp, Packet, Repr};
use proptest::prelude::*;
use std::collections::BTreeSet;

pub struct MrcSenderEnd {
    sender: AnySender,
    planned: Vec<Planned>,
    payload: Vec<u64>,
    posted: u32,
    /// Number of PSNs that were sent.
    sent: u32,
    /// The PSNs that an ACK has acknowledged, cumulatively or selectively.
    acked: BTreeSet<u32>,
    retransmissions: u64,
    /// Number of requests of the receiver that are not answered.
    requests: usize,
    acknowledged: Vec<usize>,
}

impl MrcSenderEnd {
    pub fn new(schedule: &Schedule<MrcEnds>) -> Self {
        let (facts, rto) = (schedule.path.facts(), schedule.ends.rto);
        let environment = Environment { facts, rto, trimming: true };
        let lb: AnyLb = schedule.path.lb(&schedule.ends.balancer, &environment);
        let config = TransportConfig::Mrc(schedule.transport());
        MrcSenderEnd {
            sender: config.build_sender(ENDS, &facts, schedule.ends.cc.build(&facts), lb),
            planned: schedule.planned(),
            payload: schedule.messages.iter().map(|message| message.bytes()).collect(),
            posted: 0,
            sent: 0,
            acked: BTreeSet::new(),
            retransmissions: 0,
            requests: 0,
            acknowledged: Vec::new(),
        }
    }
}

impl Sending for MrcSenderEnd {
    fn post(&mut self, _now: Time, message: usize) -> Result<(), TestCaseError> {
        prop_assert!(self.sender.post(message_id(message), self.payload[message]).is_ok());
        self.posted += self.payload[message].div_ceil(PAYLOAD).max(1) as u32;
        Ok(())
    }

    fn payload_range(&self, psn: u32) -> Option<PayloadRange> {
        self.sender.payload_range(psn)
    }

    fn poll_transmit(&mut self, now: Time) -> Result<Option<Packet>, TestCaseError> {
        let Some(packet) = self.sender.poll_transmit(now) else { return Ok(None) };
        prop_assert_eq!((packet.qp, packet.dst, packet.marked), (QP, RECEIVER, false));
        match packet.repr {
            Repr::Data { retransmitted, .. } => {
                let (psn, ..) = check_data(&self.planned, now, &packet)?;
                prop_assert_eq!(retransmitted, psn < self.sent);
                prop_assert!(psn <= self.sent && psn < self.posted && !self.acked.contains(&psn));
                self.retransmissions += u64::from(retransmitted);
                self.sent = self.sent.max(psn + 1);
            }
            Repr::Probe { is_control, sent_at, .. } => {
                prop_assert_eq!((u64::from(packet.wire_bytes), is_control, sent_at), (REQUEST, false, now));
            }
            Repr::Endpoint { is_response, to_receiver, op, value, .. } => {
                prop_assert!(to_receiver);
                if is_response {
                    prop_assert_eq!(u64::from(packet.wire_bytes), ACK);
                    prop_assert!(self.requests > 0, "a response to nothing");
                    self.requests -= 1;
                } else {
                    prop_assert_eq!((op, value), (EndpointOp::PathProbe, packet.ev));
                    prop_assert_eq!(u64::from(packet.wire_bytes), REQUEST);
                }
            }
            _ => prop_assert!(false, "{:?}", packet),
        }
        Ok(Some(packet))
    }

    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Result<(), TestCaseError> {
        match packet.repr {
            Repr::UetAck { cumulative, base_offset, received, .. } => {
                prop_assert!(cumulative <= self.sent);
                let base = cumulative + u32::from(base_offset);
                self.acked.extend(0..cumulative);
                self.acked.extend((0..64).filter(|bit| received >> bit & 1 == 1).map(|bit| base + bit));
            }
            Repr::Endpoint { is_response: false, .. } => self.requests += 1,
            _ => {}
        }
        self.sender.handle_packet(now, packet);
        let whole: Vec<MessageId> = std::iter::from_fn(|| self.sender.poll_acknowledged()).collect();
        self.acknowledged.extend(whole.into_iter().map(|MessageId(id)| {
            (0..self.payload.len()).find(|&index| message_id(index) == MessageId(id)).unwrap_or(usize::MAX)
        }));
        Ok(())
    }

    fn next_timeout(&mut self) -> Result<Option<Time>, TestCaseError> {
        Ok(self.sender.next_timeout())
    }

    fn handle_timeout(&mut self, now: Time) -> Result<(), TestCaseError> {
        self.sender.handle_timeout(now);
        Ok(())
    }

    fn check_finished(&mut self) -> Result<(), TestCaseError> {
        prop_assert_eq!((self.sent, self.acked.len()), (self.posted, self.posted as usize));
        prop_assert_eq!(self.sender.next_timeout(), None);
        prop_assert_eq!(self.sender.counters().retransmissions, self.retransmissions);
        Ok(())
    }

    fn acknowledged(&self) -> &[usize] {
        &self.acknowledged
    }

    fn counters(&self) -> SenderCounters {
        self.sender.counters()
    }
}

pub struct MrcReceiverEnd {
    receiver: AnyReceiver,
    messages: usize,
    arrived: BTreeSet<u32>,
    delivered: Vec<usize>,
}

impl MrcReceiverEnd {
    pub fn new(schedule: &Schedule<MrcEnds>) -> Self {
        let config = TransportConfig::Mrc(schedule.transport());
        MrcReceiverEnd {
            receiver: config.build_receiver_with_seed(ENDS, &schedule.path.facts(), 1),
            messages: schedule.messages.len(),
            arrived: BTreeSet::new(),
            delivered: Vec::new(),
        }
    }
}

impl Receiving for MrcReceiverEnd {
    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Result<Vec<Packet>, TestCaseError> {
        let whole = self.receiver.handle_packet(now, packet);
        self.delivered.extend(
            (0..self.messages).filter(|&index| whole.is_some_and(|whole| whole == message_id(index))),
        );
        let answers: Vec<Packet> = std::iter::from_fn(|| self.receiver.poll_transmit()).collect();
        if let Repr::Data { psn, .. } = packet.repr {
            self.arrived.insert(psn);
        }
        for answer in &answers {
            prop_assert_eq!((answer.qp, answer.dst, answer.marked), (QP, SENDER, false));
            let bytes = u64::from(answer.wire_bytes);
            match answer.repr {
                Repr::UetAck { cumulative, base_offset, received, .. } => {
                    prop_assert_eq!(bytes, ACK);
                    let base = cumulative + u32::from(base_offset);
                    let above = (0..64).filter(|bit| received >> bit & 1 == 1).map(|bit| base + bit);
                    let unknown = (0..cumulative).chain(above).find(|psn| !self.arrived.contains(psn));
                    prop_assert_eq!(unknown, None, "acknowledged and not there");
                }
                Repr::Nack { psn, .. } => {
                    prop_assert_eq!(bytes, CONTROL);
                    prop_assert!(!self.arrived.contains(&psn));
                }
                Repr::Endpoint { op, value, is_response, marked, to_receiver } => {
                    prop_assert!(!to_receiver);
                    prop_assert_eq!(bytes, if is_response { ACK } else { REQUEST });
                    prop_assert_eq!(
                        op,
                        EndpointOp::PathProbe,
                        "a NIC with one port has nothing to say of it"
                    );
                    if is_response {
                        prop_assert_eq!(marked, packet.marked);
                    } else {
                        prop_assert_eq!(value, answer.ev, "the probed path is taken");
                    }
                }
                _ => prop_assert!(false, "{:?}", answer),
            }
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
