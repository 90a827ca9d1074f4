//! Two ends of the `sack` transport over a path that loses, trims, duplicates, delays and reorders.
//!
//! Both ends are driven by `handle_*` and `poll_*` alone and compared, call by call, with plain models of them.
//! 2,000 random schedules, and 100,000 when the environment variable `ANABRANCH_LONG` is set. Failing
//! schedules are shrunk and printed; nothing is written to disk.

mod receiver;
mod schedule;
mod sender;

use anabranch_base::{Duration, Time};
use anabranch_proto::{Packet, Repr};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRng, TestRunner};
use receiver::CheckedReceiver;
use schedule::{PACKET, Schedule, any_schedule, calm_schedule, harmless_schedule, message_id};
use sender::{CheckedSender, QP, RECEIVER};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Every message arrives once and is acknowledged once, soon after the last fault.
#[test]
fn every_message_arrives_once_whatever_the_path_does() {
    check(any_schedule(), |schedule| Run::new(&schedule).finish().map(drop));
}

/// Reordering, duplicates and marks alone make nobody send anything again.
#[test]
fn a_path_that_loses_nothing_sees_no_retransmission() {
    check(harmless_schedule(), |schedule| {
        let retransmissions = Run::new(&schedule).finish()?;
        prop_assert_eq!(retransmissions, 0);
        Ok(())
    });
}

/// A receiver that waits for more packets than the window admits is asked not to wait.
#[test]
fn a_window_below_ack_every_waits_for_no_timeout() -> Result<(), TestCaseError> {
    for window in [1, PACKET, 2 * PACKET, 5 * PACKET + 1, 15 * PACKET] {
        let schedule = calm_schedule(100, 16, window);
        prop_assert_eq!(Run::new(&schedule).finish()?, 0, "window {}", window);
    }
    Ok(())
}

/// One ACK cannot name two packets that lie far apart: the earlier gets its own, and what lies between gets none.
#[test]
fn packets_far_apart_get_an_ack_each() -> Result<(), TestCaseError> {
    let mut receiver = CheckedReceiver::new(&calm_schedule(1000, 2, PACKET));
    // PSN 0 stays missing, so that no cumulative PSN says it all.
    for psn in (1..984).filter(|&psn| psn != 5) {
        let answers = receiver.handle_packet(&data(psn))?;
        prop_assert!(answers.len() <= 1);
    }
    prop_assert_eq!(receiver.handle_packet(&data(5))?, []);
    let answers = receiver.handle_packet(&data(984))?;
    let evs: Vec<u16> = answers.iter().map(|answer| answer.ev).collect();
    prop_assert_eq!(evs, [5], "984 is the first of the next two");
    Ok(())
}

/// A packet of the first message, with its PSN as entropy value.
fn data(psn: u32) -> Packet {
    let sent_at = Time::ZERO + Duration::from_ns(psn.into());
    let repr = Repr::Data { psn, message: message_id(0), message_packets: 1000, sent_at, ack_now: false };
    Packet { qp: QP, dst: RECEIVER, wire_bytes: PACKET as u16, ev: psn as u16, marked: false, repr }
}

fn check<S: Strategy<Value = Schedule>>(schedules: S, test: impl Fn(Schedule) -> Result<(), TestCaseError>) {
    let cases = if std::env::var_os("ANABRANCH_LONG").is_some() { 100_000 } else { 2_000 };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(config.rng_algorithm);
    match TestRunner::new_with_rng(config, rng).run(&schedules, test) {
        Ok(()) => {}
        Err(TestError::Fail(why, schedule)) => panic!("{why}\nsmallest schedule: {schedule:#?}"),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}

/// Two ends, the path between them, and what is due when.
struct Run<'a> {
    schedule: &'a Schedule,
    now: Time,
    queue: BinaryHeap<Reverse<(Time, usize)>>,
    /// By the second number in the queue.
    events: Vec<Event>,
    sender: CheckedSender,
    receiver: CheckedReceiver,
    wire_is_busy: bool,
    timer_is_set: bool,
    data_sent: u64,
    answers_sent: u64,
}

#[derive(Clone, Copy)]
enum Event {
    Post(usize),
    WireIsFree,
    AtReceiver(Packet),
    AtSender(Packet),
    Timer,
}

impl<'a> Run<'a> {
    fn new(schedule: &'a Schedule) -> Self {
        let mut run = Run {
            schedule,
            now: Time::ZERO,
            queue: BinaryHeap::new(),
            events: Vec::new(),
            sender: CheckedSender::new(schedule),
            receiver: CheckedReceiver::new(schedule),
            wire_is_busy: false,
            timer_is_set: false,
            data_sent: 0,
            answers_sent: 0,
        };
        for (index, message) in schedule.messages.iter().enumerate() {
            run.at(message.at, Event::Post(index));
        }
        run
    }

    /// Runs until nothing is due any more; answers with the number of retransmissions.
    fn finish(mut self) -> Result<u64, TestCaseError> {
        let (everything, deadline) = (self.schedule.messages.len(), self.schedule.deadline());
        while let Some(Reverse((time, event))) = self.queue.pop() {
            self.now = time;
            self.handle(self.events[event])?;
            self.serve_wire()?;
            self.set_timer()?;
            let waiting = everything - self.sender.acknowledged.len();
            prop_assert!(waiting == 0 || time <= deadline, "{} messages unacknowledged at {}", waiting, time);
        }
        self.sender.check_finished()?;
        let all: Vec<usize> = (0..everything).collect();
        prop_assert_eq!(sorted(&self.receiver.delivered), all.clone(), "delivered once each");
        prop_assert_eq!(sorted(&self.sender.acknowledged), all, "acknowledged once each");
        Ok(self.sender.retransmissions())
    }

    fn at(&mut self, time: Time, event: Event) {
        self.queue.push(Reverse((time, self.events.len())));
        self.events.push(event);
    }

    fn handle(&mut self, event: Event) -> Result<(), TestCaseError> {
        match event {
            Event::Post(index) => self.sender.post(index, self.schedule.messages[index].bytes()),
            Event::WireIsFree => {
                self.wire_is_busy = false;
                Ok(())
            }
            Event::AtReceiver(packet) => {
                for answer in self.receiver.handle_packet(&packet)? {
                    self.answers_sent += 1;
                    self.carry(answer);
                }
                Ok(())
            }
            Event::AtSender(packet) => {
                self.sender.handle_packet(self.now, &packet)?;
                let delivered = &self.receiver.delivered;
                let early = self.sender.acknowledged.iter().find(|message| !delivered.contains(message));
                prop_assert_eq!(early, None, "acknowledged before it was delivered");
                Ok(())
            }
            Event::Timer => {
                self.timer_is_set = false;
                self.sender.handle_timeout(self.now)
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
            self.data_sent += 1;
            self.carry(packet);
        }
        Ok(())
    }

    /// One timer at a time, as a NIC has it: it may find that its packet was acknowledged, and sets itself anew.
    fn set_timer(&mut self) -> Result<(), TestCaseError> {
        let due = self.sender.next_timeout()?;
        if let Some(due) = due.filter(|_| !self.timer_is_set) {
            // The timer that was set for an earlier packet rang before this one was due.
            prop_assert!(due > self.now, "a timeout that is due was not handled");
            self.timer_is_set = true;
            self.at(due + self.schedule.timer_lag, Event::Timer);
        }
        Ok(())
    }

    /// Lets the path have its way with a packet that is sent now.
    fn carry(&mut self, mut packet: Packet) {
        let (path, is_data) = (&self.schedule.path, matches!(packet.repr, Repr::Data { .. }));
        let nth = if is_data { self.data_sent } else { self.answers_sent };
        let mut fate = path.fate(is_data, nth);
        // Each fate takes one number whether it strikes or not, so that shrinking one leaves the others.
        let mut strikes = |chance: u32| fate.below(256) < chance && self.now < path.faults.until;
        let is_lost = strikes(if is_data { path.faults.data_loss } else { path.faults.ack_loss });
        let is_twofold = strikes(path.faults.duplication);
        let is_trimmed = strikes(path.faults.trimming);
        let is_marked = strikes(path.faults.marking);
        let delay = if is_data { path.data_delay } else { path.ack_delay };
        let mut jitter =
            || Duration(((u128::from(fate.next_u64()) * u128::from(path.jitter.0)) >> 64) as u64);
        let arrivals = [self.now + delay + jitter(), self.now + delay + jitter()];
        if let Repr::Data { psn, sent_at, .. } = packet.repr {
            packet.marked = is_marked;
            if is_trimmed {
                packet.repr = Repr::Trimmed { psn, sent_at };
            }
        }
        let copies = if is_lost { 0 } else { 1 + usize::from(is_twofold) };
        for &arrival in &arrivals[..copies] {
            if !path.is_cut(self.now, arrival) {
                self.at(arrival, if is_data { Event::AtReceiver(packet) } else { Event::AtSender(packet) });
            }
        }
    }
}

fn sorted(messages: &[usize]) -> Vec<usize> {
    let mut messages = messages.to_vec();
    messages.sort();
    messages
}
