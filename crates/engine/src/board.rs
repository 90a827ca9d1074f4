//! The progress of each message and step, and the messages and steps that become ready when a message or a step ends.
//!
//! Each entry of the board has one owner: a host, or the hosts of a cluster, which never run at the same time. Only the
//! owner writes the entry, and no other node reads the entry before the run has stopped. A delivery time belongs to the
//! receiving host. The atomics therefore only make access safe, and relaxed ordering suffices.

use crate::threads::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use anabranch_base::{GateId, HostId, MessageId, Time};
use anabranch_workload::{Done, Gate, Message, Opens, Start, Workload};

/// The progress of every message, gate and step. A gate holds work back until the work before it has ended.
pub struct Board<'a> {
    workload: &'a Workload,
    posted: Vec<AtomicU64>,
    delivered: Vec<AtomicU64>,
    acknowledged: Vec<AtomicU64>,
    /// For each message, the number of parts that are not delivered yet and the number of parts that are not
    /// acknowledged yet. Empty if messages are not split.
    parts_left: Vec<[AtomicU8; 2]>,
    /// Messages that were added after the run began. They are numbered after those of the workload.
    added: boxcar::Vec<AddedMessage>,
    split: u32,
    activations: Vec<AtomicU32>,
    /// The times at which each step begins and ends.
    steps: Vec<[AtomicU64; 2]>,
}

struct AddedMessage {
    message: Message,
    times: [AtomicU64; 3],
    /// The number of parts that are not delivered yet, and the number of parts that are not acknowledged yet.
    parts_left: [AtomicU8; 2],
}

/// Indexes of the three times of a message.
const POSTED: usize = 0;
const DELIVERED: usize = 1;
const ACKNOWLEDGED: usize = 2;

/// Messages and steps that become ready when a message or step ends.
#[derive(Default)]
pub struct ReadyWork {
    pub messages: Vec<MessageId>,
    pub steps: Vec<u32>,
}

/// The state of a message after the message, or a part of it, was delivered or acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    Partial,
    Complete,
    /// The message was already complete. Only a broken transport reports a message twice.
    Duplicate,
}

impl<'a> Board<'a> {
    /// A board on which nothing has started. Each message is split into at most `split` parts.
    pub fn new(workload: &'a Workload, split: u32) -> Self {
        let never = || workload.messages.iter().map(|_| AtomicU64::new(Time::NEVER.0)).collect();
        let parts_left = match split {
            1 => Vec::new(),
            _ => workload
                .messages
                .iter()
                .map(|message| {
                    let parts = parts(message.bytes, split) as u8;
                    [AtomicU8::new(parts), AtomicU8::new(parts)]
                })
                .collect(),
        };
        Board {
            workload,
            posted: never(),
            delivered: never(),
            acknowledged: never(),
            parts_left,
            added: boxcar::Vec::new(),
            split,
            activations: workload.gates.iter().map(|_| AtomicU32::new(0)).collect(),
            steps: workload
                .steps
                .iter()
                .map(|_| [Time::NEVER, Time::NEVER].map(|t| AtomicU64::new(t.0)))
                .collect(),
        }
    }

    /// Adds a message without gates. Returns its number, which is the next free one.
    pub fn add(&self, message: Message) -> MessageId {
        let parts = parts(message.bytes, self.split) as u8;
        let number = self.added.push(AddedMessage {
            message,
            times: [Time::NEVER; 3].map(|time| AtomicU64::new(time.0)),
            parts_left: [AtomicU8::new(parts), AtomicU8::new(parts)],
        });
        MessageId((self.workload.messages.len() + number) as u32)
    }

    pub fn messages(&self) -> u32 {
        (self.workload.messages.len() + self.added.count()) as u32
    }

    /// The added message with this number. None if the message belongs to the workload or does not exist.
    #[cold]
    fn added(&self, message: MessageId) -> Option<&AddedMessage> {
        self.added.get(message.index().checked_sub(self.workload.messages.len())?)
    }

    #[inline]
    pub fn message(&self, message: MessageId) -> Option<&Message> {
        let of_workload = self.workload.messages.get(message.index());
        of_workload.or_else(|| self.added(message).map(|added| &added.message))
    }

    #[inline]
    fn time(&self, message: MessageId, which: usize) -> &AtomicU64 {
        let times = match which {
            POSTED => &self.posted,
            DELIVERED => &self.delivered,
            _ => &self.acknowledged,
        };
        times.get(message.index()).unwrap_or_else(|| match self.added(message) {
            Some(added) => &added.times[which],
            None => unreachable!("there is no message {message}"),
        })
    }

    pub fn post(&self, message: MessageId, now: Time) {
        self.time(message, POSTED).store(now.0, Relaxed);
    }

    /// Records that a message, or a part of it, was delivered to its receiver or acknowledged to its sender. Messages
    /// and steps that become ready are added to `ready`.
    pub fn end(&self, message: MessageId, on: Done, now: Time, ready: &mut ReadyWork) -> Completion {
        let is_of_workload = message.index() < self.workload.messages.len();
        let left = match is_of_workload {
            true => self.parts_left.get(message.index()),
            false => self.added(message).map(|added| &added.parts_left),
        };
        if let Some(left) = left {
            let left = &left[usize::from(on == Done::Acknowledged)];
            // A surplus report of a part completes the message a second time, which is detected below.
            let others = left.load(Relaxed).saturating_sub(1);
            left.store(others, Relaxed);
            if others > 0 {
                return Completion::Partial;
            }
        }
        let time = self.time(message, if on == Done::Delivered { DELIVERED } else { ACKNOWLEDGED });
        let again = time.load(Relaxed) != Time::NEVER.0;
        time.store(now.0, Relaxed);
        if is_of_workload {
            self.activate(message, on, ready);
        }
        if again { Completion::Duplicate } else { Completion::Complete }
    }

    fn activate(&self, message: MessageId, on: Done, ready: &mut ReadyWork) {
        let message = &self.workload.messages[message.index()];
        let from = message.activations_from as usize;
        let activations = &self.workload.activations[from..from + message.activations_len as usize];
        for activation in activations.iter().filter(|activation| activation.on == on) {
            self.open(activation.gate, ready);
        }
    }

    fn open(&self, gate: GateId, ready: &mut ReadyWork) {
        let activations = &self.activations[gate.index()];
        let count = activations.load(Relaxed) + 1;
        activations.store(count, Relaxed);
        let gate = &self.workload.gates[gate.index()];
        let starts = self.starts_of(gate);
        match gate.opens {
            Opens::After(needed) if count == needed => ready.messages.extend_from_slice(starts),
            Opens::After(_) => {}
            Opens::Each => ready.messages.extend(starts.get(count as usize - 1)),
            Opens::Step(step) if count == self.workload.steps[step as usize].needs => ready.steps.push(step),
            Opens::Step(_) => {}
        }
    }

    #[inline]
    fn starts_of(&self, gate: &Gate) -> &[MessageId] {
        let from = gate.starts_from as usize;
        &self.workload.gate_starts[from..from + gate.starts_len as usize]
    }

    pub fn begin_step(&self, step: u32, at: Time) {
        self.steps[step as usize][0].store(at.0, Relaxed);
    }

    /// Records the end of a step. Messages and steps that become ready are added to `ready`.
    pub fn end_step(&self, step: u32, now: Time, ready: &mut ReadyWork) {
        self.steps[step as usize][1].store(now.0, Relaxed);
        let step = &self.workload.steps[step as usize];
        ready.messages.extend_from_slice(self.starts_of(&self.workload.gates[step.gate.index()]));
        for gate in self.workload.gates_of(step) {
            self.open(*gate, ready);
        }
    }

    /// The start and end of a step, as far as they are known.
    pub fn step_times(&self, step: u32) -> [Option<Time>; 2] {
        let known = |time: &AtomicU64| Some(Time(time.load(Relaxed))).filter(|time| *time != Time::NEVER);
        let [begun, over] = &self.steps[step as usize];
        [known(begun), known(over)]
    }

    /// The times of posting, delivery and acknowledgement of a message, as far as they are known.
    pub fn times(&self, message: MessageId) -> [Option<Time>; 3] {
        [POSTED, DELIVERED, ACKNOWLEDGED].map(|which| {
            let time = Time(self.time(message, which).load(Relaxed));
            (time != Time::NEVER).then_some(time)
        })
    }

    /// Records the times of posting, delivery and acknowledgement of a message. A time of `None` changes nothing.
    pub fn record(&self, message: MessageId, times: [Option<Time>; 3]) {
        for (which, time) in [POSTED, DELIVERED, ACKNOWLEDGED].into_iter().zip(times) {
            if let Some(time) = time {
                self.time(message, which).store(time.0, Relaxed);
            }
        }
    }

    /// Records the times at which a step begins and ends. A time of `None` changes nothing.
    pub fn record_step(&self, step: u32, times: [Option<Time>; 2]) {
        for (cell, time) in self.steps[step as usize].iter().zip(times) {
            if let Some(time) = time {
                cell.store(time.0, Relaxed);
            }
        }
    }

    /// The latest time so far at which a message was acknowledged or a step ended.
    pub fn last_end(&self) -> Time {
        let steps = self.steps.iter().map(|[_, over]| over);
        let added = self.added.iter().map(|(_, added)| &added.times[ACKNOWLEDGED]);
        let times = self.acknowledged.iter().chain(added).chain(steps).map(|time| Time(time.load(Relaxed)));
        times.filter(|time| *time != Time::NEVER).max().unwrap_or(Time::ZERO)
    }

    /// A message that was acknowledged before it was delivered, if there is one.
    pub fn too_early(&self) -> Option<MessageId> {
        (0..self.messages()).map(MessageId).find(|&message| {
            let [_, delivered, acknowledged] = self.times(message);
            acknowledged
                .is_some_and(|acknowledged| delivered.is_none_or(|delivered| delivered > acknowledged))
        })
    }
}

/// The number of parts of a message: one for each queue pair of its connection, but at most one per byte of the
/// message. A message of 0 bytes has one part.
pub fn parts(bytes: u64, split: u32) -> u32 {
    bytes.clamp(1, u64::from(split)) as u32
}

/// The messages with a start time, host by host.
pub struct Starts {
    /// Messages sorted by host, then by time, then by number.
    order: Vec<MessageId>,
    /// The range of each host's messages in `order`.
    ranges: Vec<(u32, u32)>,
}

impl Starts {
    pub fn new(workload: &Workload, hosts: u32) -> Self {
        let source = |message: MessageId| workload.qps[workload.messages[message.index()].qp.index()].src;
        let mut order: Vec<MessageId> = (0..workload.messages.len() as u32)
            .map(MessageId)
            .filter(|&message| start_time(workload, message).is_some())
            .collect();
        order.sort_by_key(|&message| (source(message), start_time(workload, message), message));
        let mut ranges = vec![(0, 0); hosts as usize];
        for (slot, &message) in order.iter().enumerate() {
            let range = &mut ranges[source(message).index()];
            if range.0 == range.1 {
                *range = (slot as u32, slot as u32);
            }
            range.1 = slot as u32 + 1;
        }
        Starts { order, ranges }
    }

    /// The messages that `host` posts at their start times, sorted by time, then by number.
    pub fn of(&self, host: HostId) -> &[MessageId] {
        let (from, until) = self.ranges[host.index()];
        &self.order[from as usize..until as usize]
    }
}

/// The start time of a message. None if a gate starts it.
pub fn start_time(workload: &Workload, message: MessageId) -> Option<Time> {
    match workload.messages[message.index()].start {
        Start::At(time) => Some(time),
        Start::ByGate => None,
    }
}
