//! The sender, the receiver and the path between them, with the events of a run. The tests of all transports share this
//! module.

use crate::pair::bytes::{check_packet, check_range};
use crate::pair::schedule::{Ends, Schedule};
use anabranch_base::{Duration, Time};
use anabranch_proto::transport::{PayloadRange, SenderCounters};
use anabranch_proto::{Packet, Repr};
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A schedule that has not finished after this many events is taken to never end.
const MOST_EVENTS: usize = 4_000_000;

/// In each direction, one packet of every four is encoded as bytes and decoded again. Doing so for all packets would
/// double the time of a run.
const CHECKED: u64 = 4;

/// A sender with its model. Messages are given by their index in the schedule.
pub trait Sending {
    fn post(&mut self, now: Time, message: usize) -> Result<(), TestCaseError>;
    fn payload_range(&self, psn: u32) -> Option<PayloadRange>;
    fn poll_transmit(&mut self, now: Time) -> Result<Option<Packet>, TestCaseError>;
    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Result<(), TestCaseError>;
    fn next_timeout(&mut self) -> Result<Option<Time>, TestCaseError>;
    fn handle_timeout(&mut self, now: Time) -> Result<(), TestCaseError>;
    /// Checks that all posted messages are acknowledged, and that nothing is left to do.
    fn check_finished(&mut self) -> Result<(), TestCaseError>;
    /// The messages in the order in which they were acknowledged.
    fn acknowledged(&self) -> &[usize];
    fn counters(&self) -> SenderCounters;
}

/// A receiver with its model.
pub trait Receiving {
    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Result<Vec<Packet>, TestCaseError>;
    /// The time at which the receiver's host may send a pull. None unless the transport pulls.
    fn next_timeout(&self) -> Option<Time> {
        None
    }
    /// The packets that the receiver's host sends at the time of [`next_timeout`](Self::next_timeout).
    fn handle_timeout(&mut self, _now: Time) -> Result<Vec<Packet>, TestCaseError> {
        Ok(Vec::new())
    }
    /// The messages in the order in which they were delivered.
    fn delivered(&self) -> &[usize];
    /// The number of data packets that the receiver reports as received for the first time.
    fn fresh_packets(&self) -> u64;
}

#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    pub retransmissions: u64,
    pub timeouts: u64,
    pub nacks: u64,
    pub probes: u64,
    /// Data packets that the path lost.
    pub lost: u64,
    /// The time at which the last message was acknowledged.
    pub finished: Time,
}

pub struct Run<'a, E: Ends> {
    schedule: &'a Schedule<E>,
    now: Time,
    queue: BinaryHeap<Reverse<(Time, usize)>>,
    /// The events, indexed by the second number in the queue.
    events: Vec<Event>,
    sender: E::Sender,
    receiver: E::Receiver,
    wire_is_busy: bool,
    timer: Option<Time>,
    receiver_timer: Option<Time>,
    /// Number of packets sent to the receiver, and to the sender.
    sent: [u64; 2],
    /// The time of the last arrival at the receiver, and at the sender.
    last_arrival: [Time; 2],
    probes: u64,
    lost: u64,
}

#[derive(Clone, Copy)]
enum Event {
    Post(usize),
    WireIsFree,
    AtReceiver(Packet),
    AtSender(Packet),
    Timer,
    ReceiverTimer,
}

impl<'a, E: Ends> Run<'a, E> {
    pub fn new(schedule: &'a Schedule<E>) -> Self {
        let (sender, receiver) = E::build(schedule);
        let mut run = Run {
            schedule,
            now: Time::ZERO,
            queue: BinaryHeap::new(),
            events: Vec::new(),
            sender,
            receiver,
            wire_is_busy: false,
            timer: None,
            receiver_timer: None,
            sent: [0; 2],
            last_arrival: [Time::ZERO; 2],
            probes: 0,
            lost: 0,
        };
        for (index, message) in schedule.messages.iter().enumerate() {
            run.at(message.at, Event::Post(index));
        }
        run
    }

    pub fn finish(mut self) -> Result<Outcome, TestCaseError> {
        let (everything, deadline) = (self.schedule.messages.len(), E::deadline(self.schedule));
        let mut finished = Time::ZERO;
        while let Some(Reverse((time, event))) = self.queue.pop() {
            self.now = time;
            let waited = everything > self.sender.acknowledged().len();
            self.handle(self.events[event])?;
            self.serve_wire()?;
            self.set_timer()?;
            self.set_receiver_timer();
            let waiting = everything - self.sender.acknowledged().len();
            prop_assert!(waiting == 0 || time <= deadline, "{} messages unacknowledged at {}", waiting, time);
            prop_assert!(self.events.len() < MOST_EVENTS, "{waiting} messages unacknowledged, and no end");
            if waited && waiting == 0 {
                finished = time;
            }
        }
        self.sender.check_finished()?;
        let all: Vec<usize> = (0..everything).collect();
        prop_assert_eq!(sorted(self.receiver.delivered()), all.clone(), "delivered once each");
        prop_assert_eq!(sorted(self.sender.acknowledged()), all, "acknowledged once each");
        prop_assert_eq!(self.receiver.fresh_packets(), self.schedule.packets(), "each packet is new once");
        let SenderCounters { retransmissions, timeouts, nacks, .. } = self.sender.counters();
        Ok(Outcome { retransmissions, timeouts, nacks, probes: self.probes, lost: self.lost, finished })
    }

    fn at(&mut self, time: Time, event: Event) {
        self.queue.push(Reverse((time, self.events.len())));
        self.events.push(event);
    }

    fn handle(&mut self, event: Event) -> Result<(), TestCaseError> {
        match event {
            Event::Post(index) => self.sender.post(self.now, index),
            Event::WireIsFree => {
                self.wire_is_busy = false;
                Ok(())
            }
            Event::AtReceiver(packet) => {
                let before = self.receiver.fresh_packets();
                for answer in self.receiver.handle_packet(self.now, &packet)? {
                    self.carry(answer)?;
                }
                let more = self.receiver.fresh_packets() - before;
                let most = u64::from(matches!(packet.repr, Repr::Data { .. }));
                prop_assert!(more <= most, "{:?} counts as {} new packets", packet, more);
                Ok(())
            }
            Event::AtSender(packet) => {
                self.sender.handle_packet(self.now, &packet)?;
                let delivered = self.receiver.delivered();
                let early = self.sender.acknowledged().iter().find(|message| !delivered.contains(message));
                prop_assert_eq!(early, None, "acknowledged before it was delivered");
                Ok(())
            }
            // If the timer was set again for an earlier time, its later expiry has no effect.
            Event::Timer if self.timer == Some(self.now) => {
                self.timer = None;
                self.sender.handle_timeout(self.now)
            }
            Event::Timer => Ok(()),
            Event::ReceiverTimer => {
                self.receiver_timer = None;
                for packet in self.receiver.handle_timeout(self.now)? {
                    self.carry(packet)?;
                }
                Ok(())
            }
        }
    }

    fn serve_wire(&mut self) -> Result<(), TestCaseError> {
        if self.wire_is_busy {
            return Ok(());
        }
        if let Some(packet) = self.sender.poll_transmit(self.now)? {
            self.wire_is_busy = true;
            self.at(self.now + self.schedule.path.wire, Event::WireIsFree);
            self.probes += u64::from(matches!(packet.repr, Repr::Probe { .. }));
            self.carry(packet)?;
        }
        Ok(())
    }

    /// Sets the timer. There is only one timer at a time, as in a NIC. If the packet of an expired timer is already
    /// acknowledged, the timer is set again.
    fn set_timer(&mut self) -> Result<(), TestCaseError> {
        let Some(due) = self.sender.next_timeout()? else {
            return Ok(());
        };
        let rings = due + self.schedule.timer_lag;
        if self.timer.is_none_or(|set| rings < set) {
            prop_assert!(due > self.now || self.timer.is_some(), "a timeout that is due was not handled");
            prop_assert!(rings > self.now, "a timeout came up that is long due");
            self.timer = Some(rings);
            self.at(rings, Event::Timer);
        }
        Ok(())
    }

    fn set_receiver_timer(&mut self) {
        if let (Some(due), None) = (self.receiver.next_timeout(), self.receiver_timer) {
            let rings = due.max(self.now + Duration(1));
            self.receiver_timer = Some(rings);
            self.at(rings, Event::ReceiverTimer);
        }
    }

    /// Carries a packet that is sent now, with the network faults of the path.
    fn carry(&mut self, mut packet: Packet) -> Result<(), TestCaseError> {
        let range = match packet.repr {
            Repr::Data { psn, .. } => self.sender.payload_range(psn),
            _ => None,
        };
        check_range(&self.schedule.messages, &packet, range)?;
        let (path, forth) = (&self.schedule.path, packet.is_for_receiver());
        let way = usize::from(!forth);
        self.sent[way] += 1;
        let nth = self.sent[way];
        let mut fate = path.fate(forth, nth);
        // Each kind of random network fault takes one random number whether it occurs or not, so that shrinking one
        // kind leaves the others unchanged.
        let mut strikes = |chance: u32| fate.below(256) < chance && self.now < path.faults.until;
        let is_lost = strikes(if forth { path.faults.data_loss } else { path.faults.ack_loss });
        let is_twofold = strikes(path.faults.duplication);
        let is_trimmed = strikes(path.faults.trimming);
        let is_marked = strikes(path.faults.marking);
        let delay = if forth { path.data_delay } else { path.ack_delay };
        let mut jitter =
            || Duration(((u128::from(fate.next_u64()) * u128::from(path.jitter.0)) >> 64) as u64);
        let mut arrivals = [self.now + delay + jitter(), self.now + delay + jitter()];
        if path.in_order {
            arrivals[0] = arrivals[0].max(self.last_arrival[way]);
            arrivals[1] = arrivals[1].max(arrivals[0]);
        }
        if forth {
            packet.marked = is_marked;
        }
        if is_trimmed {
            packet = packet.cut(packet.wire_bytes, false).unwrap_or(packet);
        }
        let is_dropped = forth && path.faults.dropped.contains(&nth);
        let copies = if is_lost || is_dropped { 0 } else { 1 + usize::from(is_twofold) };
        let arrives = |arrival: &&Time| !path.is_cut(self.now, **arrival);
        let arrived: Vec<Time> = arrivals[..copies].iter().filter(arrives).copied().collect();
        self.lost += u64::from(arrived.is_empty() && matches!(packet.repr, Repr::Data { .. }));
        for arrival in arrived {
            if nth % CHECKED == 1 {
                check_packet(E::HEADERS, &packet, range, arrival)?;
            }
            self.last_arrival[way] = arrival;
            self.at(arrival, if forth { Event::AtReceiver(packet) } else { Event::AtSender(packet) });
        }
        Ok(())
    }
}

fn sorted(messages: &[usize]) -> Vec<usize> {
    let mut messages = messages.to_vec();
    messages.sort();
    messages
}
