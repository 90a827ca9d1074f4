//! The sender, compared with a simple model that uses maps and sets instead of rings and bit operations.

use super::SackEnds;
use crate::pair::run::Sending;
use crate::pair::schedule::{ENDS, HEADER, PACKET, PAYLOAD, QP, RECEIVER, Schedule, message_id};
use crate::support::loss;
use anabranch_base::{Duration, Time};
use anabranch_proto::cc::{AckReport, AnyCc};
use anabranch_proto::lb::OpsConfig;
use anabranch_proto::lb::{AnyLb, LbConfig};
use anabranch_proto::transport::{PayloadRange, SackSender, Sender as _, SenderCounters};
use anabranch_proto::{Packet, Repr};
use proptest::prelude::*;
use std::collections::BTreeSet;

pub struct CheckedSender {
    sender: SackSender,
    /// The model calls its own copies of the congestion control and the load balancer.
    cc: AnyCc,
    lb: AnyLb,
    rto: Duration,
    balancer: LbConfig,
    carry_evs: bool,
    /// Number of packets whose entropy values the sender keeps. It is a power of two, and large enough for all packets
    /// in flight.
    slots: u32,
    /// The sender dropped the entropy values of PSNs below this one when it last enlarged `slots`.
    known_from: u32,
    first_ev: Option<u16>,
    /// The packets of all posted messages, indexed by PSN.
    packets: Vec<Known>,
    /// For each message, the number of unacknowledged packets.
    left: Vec<u32>,
    /// The sum of `left`.
    unacknowledged: u32,
    /// Number of packets that were sent at least once.
    sent: u32,
    in_flight: u64,
    /// For the packets in flight, the time at which each was last sent, and its PSN.
    outstanding: BTreeSet<(Time, u32)>,
    lost: BTreeSet<u32>,
    unacked: u32,
    last_timeout: Time,
    timeouts: u64,
    retransmissions: u64,
    /// The payload of each message, by its index.
    payload: Vec<u64>,
    acknowledged: Vec<usize>,
}

struct Known {
    message: usize,
    of: u32,
    bytes: u64,
    state: State,
    /// The entropy value with which the packet was last sent.
    last_ev: u16,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    InFlight(Time),
    Lost,
    Acknowledged,
}

impl CheckedSender {
    pub fn new(schedule: &Schedule<SackEnds>) -> Self {
        let (cc, lb) = (schedule.cc(), schedule.lb());
        CheckedSender {
            sender: SackSender::new(&schedule.transport(), &schedule.path.facts(), ENDS, cc, lb),
            cc: schedule.cc(),
            lb: schedule.lb(),
            rto: schedule.ends.rto,
            balancer: schedule.ends.balancer.clone(),
            carry_evs: schedule.ends.carry_evs,
            slots: 128,
            known_from: 0,
            first_ev: None,
            packets: Vec::new(),
            left: vec![0; schedule.messages.len()],
            unacknowledged: 0,
            sent: 0,
            in_flight: 0,
            outstanding: BTreeSet::new(),
            lost: BTreeSet::new(),
            unacked: 0,
            last_timeout: Time::ZERO,
            timeouts: 0,
            retransmissions: 0,
            payload: schedule.messages.iter().map(|message| message.bytes()).collect(),
            acknowledged: Vec::new(),
        }
    }
}

impl Sending for CheckedSender {
    fn post(&mut self, _now: Time, message: usize) -> Result<(), TestCaseError> {
        let bytes = self.payload[message];
        prop_assert!(self.sender.post(message_id(message), bytes).is_ok());
        let of = bytes.div_ceil(PAYLOAD).max(1) as u32;
        for i in 0..of {
            let payload = if i + 1 == of { bytes - u64::from(i) * PAYLOAD } else { PAYLOAD };
            self.packets.push(Known { message, of, bytes: HEADER + payload, state: State::New, last_ev: 0 });
        }
        self.left[message] = of;
        self.unacknowledged += of;
        self.check()
    }

    fn payload_range(&self, psn: u32) -> Option<PayloadRange> {
        self.sender.payload_range(psn)
    }

    fn poll_transmit(&mut self, now: Time) -> Result<Option<Packet>, TestCaseError> {
        let (before, window) = (self.sender.in_flight(), self.sender.window());
        let Some(packet) = self.sender.poll_transmit(now) else {
            let next = self.lost.first().copied().or((self.left() > 0).then_some(self.sent));
            prop_assert_eq!(self.sender.has_backlog(), next.is_some());
            if let Some(psn) = next {
                prop_assert!(before > 0, "it stopped with nothing in flight");
                prop_assert!(before >= window, "it stopped with room for {psn}");
            }
            return Ok(None);
        };
        let Repr::Data { psn, message, message_packets, sent_at, ack_now, .. } = packet.repr else {
            return Err(TestCaseError::fail("a sender sent non-data packets"));
        };
        prop_assert!((psn as usize) < self.packets.len(), "{psn} belongs to no message");
        let known = &mut self.packets[psn as usize];
        prop_assert_eq!(u64::from(packet.wire_bytes), known.bytes);
        prop_assert_eq!((message, message_packets), (message_id(known.message), known.of));
        prop_assert_eq!((packet.qp, packet.dst, sent_at, packet.marked), (QP, RECEIVER, now, false));
        match self.lost.is_empty() {
            true => {
                prop_assert_eq!(psn, self.sent, "new packets go in order");
                self.sent += 1;
                while psn - self.unacked >= self.slots {
                    self.slots *= 2;
                    self.known_from = self.unacked;
                }
            }
            false => {
                prop_assert!(self.lost.remove(&psn), "{psn} overtook the lost {:?}", self.lost);
                self.retransmissions += 1;
            }
        }
        prop_assert!(before == 0 || before < window, "{before} in flight, {window} allowed");
        known.state = State::InFlight(now);
        known.last_ev = packet.ev;
        self.in_flight += known.bytes;
        self.outstanding.insert((now, psn));
        let is_full = self.in_flight >= window;
        let is_last = self.lost.is_empty() && self.left() == 0;
        prop_assert_eq!(ack_now, is_full || is_last, "asking for an ACK of {}", psn);
        self.check_ev(now, packet.ev)?;
        self.check()?;
        Ok(Some(packet))
    }

    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Result<(), TestCaseError> {
        self.sender.handle_packet(now, packet);
        let mut whole = Vec::new();
        match packet.repr {
            Repr::Ack { cumulative, base, received, marked, carried, sent_at } => {
                let (before, rtt) = (self.unacknowledged, now - sent_at);
                self.hear_carried(now, base, carried.bits(), now - sent_at);
                let above = (0..64).filter(|i| received >> i & 1 == 1).map(|i| base + i);
                for psn in (self.unacked..cumulative).chain(above) {
                    whole.extend(self.acknowledge(psn)?);
                }
                let packets = before - self.unacknowledged;
                if packets > 0 {
                    let bytes = u64::from(packets) * PACKET;
                    self.cc.handle_ack(&AckReport {
                        now,
                        packets,
                        bytes,
                        probe: false,
                        marked,
                        rtt,
                        rtt_is_valid: true,
                        in_flight: 0,
                    });
                }
                self.lb.handle_ack(now, packet.ev, marked, rtt);
            }
            Repr::Nack { psn, sent_at, .. } => {
                // Only the copy in flight can be lost, since an older one was declared lost before.
                if self.packets[psn as usize].state == State::InFlight(sent_at) {
                    self.lose(now, psn, sent_at);
                    self.lb.handle_trim(now, packet.ev);
                }
            }
            _ => return Err(TestCaseError::fail("a receiver sent data")),
        }
        while self.unacked < self.sent && self.packets[self.unacked as usize].state == State::Acknowledged {
            self.unacked += 1;
        }
        let mut answered: Vec<_> = std::iter::from_fn(|| self.sender.poll_acknowledged()).collect();
        answered.sort();
        let mut expected: Vec<_> = whole.iter().map(|&message| message_id(message)).collect();
        expected.sort();
        prop_assert_eq!(answered, expected, "messages acknowledged by {:?}", packet);
        self.acknowledged.extend(whole);
        self.check()
    }

    fn next_timeout(&mut self) -> Result<Option<Time>, TestCaseError> {
        let expected = self.outstanding.first().map(|&(sent, _)| sent + self.rto);
        let answered = self.sender.next_timeout();
        prop_assert_eq!(answered, expected, "the next timeout");
        if let Some(due) = answered {
            prop_assert!(due >= self.last_timeout, "a timeout moved forward");
            self.last_timeout = due;
        }
        Ok(answered)
    }

    fn handle_timeout(&mut self, now: Time) -> Result<(), TestCaseError> {
        self.sender.handle_timeout(now);
        while let Some(&(sent, psn)) = self.outstanding.first()
            && sent + self.rto <= now
        {
            self.timeouts += 1;
            self.lb.handle_timeout(now, None);
            self.lose(now, psn, sent);
        }
        self.check()
    }

    fn check_finished(&mut self) -> Result<(), TestCaseError> {
        prop_assert_eq!((self.left(), self.unacknowledged), (0, 0));
        prop_assert_eq!(self.sender.in_flight(), 0);
        prop_assert_eq!(self.sender.next_timeout(), None);
        prop_assert!(!self.sender.has_backlog());
        Ok(())
    }

    fn acknowledged(&self) -> &[usize] {
        &self.acknowledged
    }

    fn counters(&self) -> SenderCounters {
        SenderCounters {
            retransmissions: self.retransmissions,
            timeouts: self.timeouts,
            ..Default::default()
        }
    }
}

impl CheckedSender {
    /// Number of packets that were never sent.
    fn left(&self) -> u32 {
        self.packets.len() as u32 - self.sent
    }

    /// Handles the entropy values that an ACK carries, except for packets whose values the sender no longer keeps.
    fn hear_carried(&mut self, now: Time, base: u32, carried: u64, rtt: Duration) {
        for psn in (0..64).filter(|i| carried >> i & 1 == 1).map(|i| base + i) {
            if self.carry_evs && psn >= self.known_from && self.sent - psn <= self.slots {
                self.lb.handle_ack(now, self.packets[psn as usize].last_ev, false, rtt);
            }
        }
    }

    fn acknowledge(&mut self, psn: u32) -> Result<Option<usize>, TestCaseError> {
        prop_assert!(psn < self.sent, "{psn} was acknowledged and never sent");
        let known = &mut self.packets[psn as usize];
        match std::mem::replace(&mut known.state, State::Acknowledged) {
            State::Acknowledged => return Ok(None),
            State::InFlight(sent) => {
                self.in_flight -= known.bytes;
                self.outstanding.remove(&(sent, psn));
            }
            State::New | State::Lost => drop(self.lost.remove(&psn)),
        }
        self.unacknowledged -= 1;
        let left = &mut self.left[known.message];
        *left -= 1;
        Ok((*left == 0).then_some(known.message))
    }

    /// Declares lost the copy in flight that was sent at `sent`.
    fn lose(&mut self, now: Time, psn: u32, sent: Time) {
        let known = &mut self.packets[psn as usize];
        known.state = State::Lost;
        self.in_flight -= known.bytes;
        self.outstanding.remove(&(sent, psn));
        self.lost.insert(psn);
        self.cc.handle_loss(&loss(now));
    }

    fn check(&self) -> Result<(), TestCaseError> {
        prop_assert_eq!(self.sender.in_flight(), self.in_flight, "bytes in flight");
        prop_assert_eq!(self.sender.window(), self.cc.window(), "the window");
        let counters = self.sender.counters();
        prop_assert_eq!(counters.timeouts, self.timeouts);
        prop_assert_eq!(counters.retransmissions, self.retransmissions);
        Ok(())
    }

    fn check_ev(&mut self, now: Time, ev: u16) -> Result<(), TestCaseError> {
        prop_assert_eq!(ev, self.lb.next_ev(now, self.cc.window()));
        match &self.balancer {
            LbConfig::Ecmp {} => prop_assert_eq!(ev, *self.first_ev.get_or_insert(ev)),
            LbConfig::Ops(OpsConfig { evs }) => prop_assert!(u32::from(ev) < *evs),
            LbConfig::Reps(config) => prop_assert!(u32::from(ev) < config.evs),
            LbConfig::Strack(config) => prop_assert!(u32::from(ev) < config.max_paths),
            LbConfig::MpRdma(config) => prop_assert!(u32::from(ev) < config.paths),
            LbConfig::Plb(config) => prop_assert!(u32::from(ev) < config.evs),
            LbConfig::Flowlet(config) => prop_assert!(u32::from(ev) < config.evs),
            LbConfig::Bitmap(config) => prop_assert!(u32::from(ev) < config.evs),
            LbConfig::Mixed(config) => prop_assert!(u32::from(ev) < config.evs),
            LbConfig::Mrc(_) => {}
            LbConfig::AckClock(config) => prop_assert!(u32::from(ev) < config.evs),
            LbConfig::RoundRobin(config) => {
                let first = *self.first_ev.get_or_insert(ev);
                prop_assert!(u32::from(ev.wrapping_sub(first)) < config.evs);
            }
            LbConfig::Registered(_) => {}
        }
        Ok(())
    }
}
