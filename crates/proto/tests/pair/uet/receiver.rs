//! The receiver, compared with a simple model of it.

use super::{CONTROL, UetEnds};
use crate::pair::run::Receiving;
use crate::pair::schedule::{ACK, ENDS, Planned, QP, SENDER, Schedule, message_id};
use anabranch_base::{Rate, Time};
use anabranch_proto::transport::{Pull, PullPacer, Receiver as _, UetReceiver};
use anabranch_proto::{Packet, Repr};
use proptest::prelude::*;

pub struct CheckedReceiver {
    receiver: UetReceiver,
    planned: Vec<Planned>,
    sack_bytes: u64,
    unit: u64,
    /// Whether each PSN has arrived, indexed by PSN.
    arrived: Vec<bool>,
    cumulative: u32,
    received: u64,
    out_of_order: u16,
    /// PSNs that arrived since the last ACK that answered no probe.
    unreported: Vec<u32>,
    bytes: u64,
    /// The highest PSN that requested an ACK while packets below it were missing.
    requested: Option<u32>,
    left: Vec<u32>,
    delivered: Vec<usize>,
    /// The pull pacer of the receiver's host. None without credit.
    pacer: Option<PullPacer>,
    rate: Rate,
    /// The sender's demand, in units of 256 B.
    demanded: u64,
    /// Bytes of the trimmed packets that had not arrived before.
    cut_off: u64,
    /// The credit that has been granted, in units of 256 B.
    granted: u64,
    /// The time of the last pull, and the bytes that it granted.
    last_pull: Option<(Time, u64)>,
    last_ev: Option<u16>,
}

impl CheckedReceiver {
    pub fn new(schedule: &Schedule<UetEnds>) -> Self {
        let (config, facts) = (schedule.transport(), schedule.path.facts());
        CheckedReceiver {
            receiver: UetReceiver::new(&config, &facts, ENDS),
            planned: schedule.planned(),
            sack_bytes: config.sack_bytes.0,
            unit: config.received_unit.0,
            arrived: vec![false; schedule.packets() as usize],
            cumulative: 0,
            received: 0,
            out_of_order: 0,
            unreported: Vec::new(),
            bytes: 0,
            requested: None,
            left: schedule.messages.iter().map(|message| message.packets).collect(),
            delivered: Vec::new(),
            pacer: config.credit.as_ref().map(|credit| PullPacer::at_rate(credit.rate.on(&facts))),
            rate: config.credit.as_ref().map_or(Rate(1), |credit| credit.rate.on(&facts)),
            demanded: 0,
            cut_off: 0,
            granted: 0,
            last_pull: None,
            last_ev: None,
        }
    }

    fn ask(&mut self) {
        if let Some(pacer) = &mut self.pacer
            && self.receiver.requests_pull()
        {
            pacer.join(0);
        }
    }

    fn has(&self, psn: u32) -> bool {
        self.arrived.get(psn as usize).is_some_and(|&arrived| arrived)
    }

    /// Adds a packet to the unreported packets. Returns whether the earlier unreported packets need an ACK of their own
    /// first, because one bitmap cannot cover them and the new packet.
    fn report(&mut self, psn: u32) -> bool {
        let is_far = self.unreported.iter().any(|&other| psn.abs_diff(other) >= 64);
        if is_far {
            self.unreported.clear();
            self.bytes = 0;
        }
        self.unreported.push(psn);
        is_far
    }

    /// Handles a data packet. Returns whether earlier packets get an ACK of their own, whether an ACK follows for this
    /// packet, and the message that this packet completes.
    fn accept(&mut self, packet: &Packet) -> ([bool; 2], Option<usize>) {
        let Repr::Data { psn, ack_now, retransmitted, .. } = packet.repr else { return ([false; 2], None) };
        let is_first = self.received == 0;
        let is_new = !std::mem::replace(&mut self.arrived[psn as usize], true);
        let mut whole = None;
        if is_new {
            self.received += u64::from(packet.wire_bytes);
            self.out_of_order = self.out_of_order.saturating_add(1);
            let message = self.planned[psn as usize].message;
            self.left[message] -= 1;
            whole = (self.left[message] == 0).then_some(message);
            self.delivered.extend(whole);
        }
        while self.has(self.cumulative) {
            self.cumulative += 1;
            self.out_of_order = 0;
        }
        let closes = self.requested.is_some_and(|psn| psn < self.cumulative);
        if ack_now && psn >= self.cumulative {
            self.requested = self.requested.max(Some(psn));
        } else if closes {
            self.requested = None;
        }
        let early = self.report(psn);
        self.bytes += u64::from(packet.wire_bytes).max(1_024);
        let at_once = ack_now || packet.marked || !is_new || is_first || retransmitted || closes;
        ([early, at_once || self.bytes >= self.sack_bytes], whole)
    }

    fn check_ack(&self, answer: &Packet) -> Result<(), TestCaseError> {
        let Repr::UetAck { cumulative, base_offset, received, bytes_received, out_of_order, .. } =
            answer.repr
        else {
            return Err(TestCaseError::fail(format!("no ACK: {answer:?}")));
        };
        prop_assert_eq!((answer.qp, answer.dst, answer.marked), (QP, SENDER, false));
        prop_assert_eq!((u64::from(answer.wire_bytes), cumulative), (ACK, self.cumulative));
        prop_assert_eq!(
            (u64::from(bytes_received), out_of_order),
            (self.received / self.unit * self.unit, self.out_of_order)
        );
        let base = cumulative + u32::from(base_offset);
        for i in 0..64 {
            prop_assert_eq!(received >> i & 1 == 1, self.has(base + i), "bit {}", base + i);
        }
        Ok(())
    }

    /// Checks the fields of an ACK that describe the packet that caused it. Also checks that the ACK of a data packet
    /// covers all packets that were not reported before.
    fn check_cause(&self, answer: &Packet, cause: &Packet) -> Result<(), TestCaseError> {
        let Repr::UetAck { cumulative, base_offset, psn_offset, cause: kind, sent_at, .. } = answer.repr
        else {
            return Err(TestCaseError::fail(format!("no ACK: {answer:?}")));
        };
        let base = cumulative + u32::from(base_offset);
        prop_assert_eq!(answer.ev, cause.ev);
        prop_assert_eq!(
            (kind.marked(), kind.probe()),
            (cause.marked, matches!(cause.repr, Repr::Probe { .. }))
        );
        match cause.repr {
            Repr::Data { psn, sent_at: sent, retransmitted, .. } => {
                prop_assert_eq!((sent_at, kind.retransmitted()), (sent, retransmitted));
                prop_assert_eq!(cumulative.wrapping_add_signed(psn_offset.into()), psn);
                // The SACK bitmap and the cumulative PSN together cover every PSN that was not yet reported.
                let uncovered = self
                    .unreported
                    .iter()
                    .find(|&&psn| psn >= cumulative && !(base..base + 64).contains(&psn));
                prop_assert_eq!(uncovered, None);
            }
            Repr::Trimmed { sent_at: sent, .. } | Repr::Probe { sent_at: sent, .. } => {
                prop_assert_eq!(sent_at, sent);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Receiving for CheckedReceiver {
    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Result<Vec<Packet>, TestCaseError> {
        let whole = self.receiver.handle_packet(now, packet);
        let answers: Vec<_> = std::iter::from_fn(|| self.receiver.poll_transmit()).collect();
        let more = match packet.repr {
            Repr::Data { msn, .. } => [msn.pull_target().into(), 0],
            // Payload that was cut off has to be pulled once more, unless it has already arrived.
            Repr::Trimmed { psn, msn, .. } if self.has(psn) => [msn.pull_target().into(), 0],
            Repr::Trimmed { msn, data_bytes, .. } => {
                let before = self.cut_off.div_ceil(256);
                self.cut_off += u64::from(data_bytes);
                [msn.pull_target().into(), self.cut_off.div_ceil(256) - before]
            }
            Repr::Rts { target } => [target.into(), 0],
            _ => [0, 0],
        };
        self.demanded = self.demanded.max(more[0]) + more[1];
        self.ask();
        if let Repr::Rts { target } = packet.repr {
            // If the requested demand was granted already, the last pull is repeated immediately, since it may have
            // been lost.
            let again = (self.granted >= target.into()).then_some(Repr::Pull { number: self.granted as u32 });
            let answers: Vec<Repr> = answers.iter().map(|answer| answer.repr).collect();
            prop_assert_eq!((answers, whole), (Vec::from_iter(again), None));
            return Ok(again
                .map(|repr| Packet::new(QP, SENDER, repr).with_bytes(CONTROL as u16))
                .into_iter()
                .collect());
        }
        let ([early, own], expected) = match packet.repr {
            Repr::Data { .. } => self.accept(packet),
            Repr::Trimmed { psn, sent_at, last_hop, .. } if !self.has(psn) => {
                let [answer] = answers[..] else { return Err(TestCaseError::fail("no NACK of its own")) };
                let repr =
                    Repr::nack(psn).with_sent_at(sent_at).with_last_hop(last_hop).with_mark(packet.marked);
                prop_assert_eq!((answer.repr, answer.ev), (repr, packet.ev));
                prop_assert_eq!(u64::from(answer.wire_bytes), CONTROL);
                return Ok(answers);
            }
            Repr::Trimmed { psn, .. } => ([self.report(psn), true], None),
            Repr::Probe { .. } => ([false, true], None),
            _ => return Err(TestCaseError::fail("a sender sent an answer")),
        };
        prop_assert_eq!(whole, expected.map(message_id));
        prop_assert_eq!(answers.len(), usize::from(early) + usize::from(own), "{:?}", packet);
        for answer in &answers {
            self.check_ack(answer)?;
        }
        if let (true, Some(answer)) = (own, answers.last()) {
            self.check_cause(answer, packet)?;
            if !matches!(packet.repr, Repr::Probe { .. }) {
                self.unreported.clear();
                self.bytes = 0;
            }
        }
        Ok(answers)
    }

    fn next_timeout(&self) -> Option<Time> {
        self.pacer.as_ref()?.next_timeout()
    }

    fn handle_timeout(&mut self, now: Time) -> Result<Vec<Packet>, TestCaseError> {
        let mut pulls = Vec::new();
        while self.pacer.as_mut().is_some_and(|pacer| pacer.take_turn(now).is_some()) {
            let Some(Pull { packet, bytes }) = self.receiver.pull() else { continue };
            self.granted += bytes / 256;
            prop_assert_eq!(packet.repr, Repr::Pull { number: self.granted as u32 });
            prop_assert!(self.last_ev.is_none_or(|last| packet.ev != last), "two pulls in a row on one path");
            self.last_ev = Some(packet.ev);
            prop_assert!(self.granted <= self.demanded, "{} of {}", self.granted, self.demanded);
            if let Some((last, bytes)) = self.last_pull {
                prop_assert!(
                    now >= last + self.rate.time_for(bytes),
                    "a pull at {} after one at {}",
                    now,
                    last
                );
            }
            self.last_pull = Some((now, bytes));
            if let Some(pacer) = &mut self.pacer {
                pacer.pulled(now, bytes);
            }
            pulls.push(packet);
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
