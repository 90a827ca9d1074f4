//! Where each message stands, and what its end sets off.

use anabranch_base::{GateId, MessageId, Time};
use anabranch_workload::{Done, Opens, Workload};

/// The progress of every message and gate.
pub struct Progress<'a> {
    workload: &'a Workload,
    posted: Vec<Time>,
    delivered: Vec<Time>,
    acknowledged: Vec<Time>,
    /// By message: parts that are not delivered, and not acknowledged, yet. Empty where messages are not split.
    parts_left: Vec<[u8; 2]>,
    /// By gate: activations so far.
    activations: Vec<u32>,
    unfinished: u64,
    /// Messages posted and not acknowledged.
    outstanding: u64,
    /// A message was delivered or acknowledged twice: never true unless a transport is broken.
    broken: Option<MessageId>,
}

impl<'a> Progress<'a> {
    /// Nothing has started.
    pub fn new(workload: &'a Workload, split: u32) -> Self {
        let messages = workload.messages.len();
        let parts = |message: &anabranch_workload::Message| [super::parts(message.bytes, split) as u8; 2];
        let parts_left = match split {
            1 => Vec::new(),
            _ => workload.messages.iter().map(parts).collect(),
        };
        Progress {
            workload,
            posted: vec![Time::NEVER; messages],
            delivered: vec![Time::NEVER; messages],
            acknowledged: vec![Time::NEVER; messages],
            parts_left,
            activations: vec![0; workload.gates.len()],
            unfinished: messages as u64,
            outstanding: 0,
            broken: None,
        }
    }

    /// A message was posted.
    pub fn post(&mut self, message: MessageId, now: Time) {
        self.posted[message.index()] = now;
        self.outstanding += 1;
    }

    /// The receiver holds all of a message, or of a part of one; `opened` gets the messages to post now.
    pub fn deliver(&mut self, message: MessageId, now: Time, opened: &mut Vec<MessageId>) {
        if self.waits_for_parts(message, Done::Delivered) {
            return;
        }
        if self.delivered[message.index()] != Time::NEVER {
            self.broken = Some(message);
        }
        self.delivered[message.index()] = now;
        self.activate(message, Done::Delivered, opened);
    }

    /// The sender knows that all of a message, or of a part of one, arrived; `opened` gets the messages to post
    /// now.
    pub fn acknowledge(&mut self, message: MessageId, now: Time, opened: &mut Vec<MessageId>) {
        if self.waits_for_parts(message, Done::Acknowledged) {
            return;
        }
        if self.acknowledged[message.index()] != Time::NEVER || self.delivered[message.index()] > now {
            self.broken = Some(message);
        }
        self.acknowledged[message.index()] = now;
        self.unfinished -= 1;
        self.outstanding -= 1;
        self.activate(message, Done::Acknowledged, opened);
    }

    /// Counts a part; whether there are more to come.
    #[inline]
    fn waits_for_parts(&mut self, message: MessageId, done: Done) -> bool {
        let Some(left) = self.parts_left.get_mut(message.index()) else { return false };
        let left = &mut left[usize::from(done == Done::Acknowledged)];
        // One part too many ends the message twice, which is found then.
        *left = left.saturating_sub(1);
        *left > 0
    }

    fn activate(&mut self, message: MessageId, done: Done, opened: &mut Vec<MessageId>) {
        let message = &self.workload.messages[message.index()];
        let from = message.activations_from as usize;
        let activations = &self.workload.activations[from..from + message.activations_len as usize];
        for activation in activations.iter().filter(|activation| activation.on == done) {
            self.open(activation.gate, opened);
        }
    }

    fn open(&mut self, gate: GateId, opened: &mut Vec<MessageId>) {
        let count = &mut self.activations[gate.index()];
        *count += 1;
        let gate = &self.workload.gates[gate.index()];
        let from = gate.starts_from as usize;
        let starts = &self.workload.gate_starts[from..from + gate.starts_len as usize];
        match gate.opens {
            Opens::After(needed) if *count == needed => opened.extend_from_slice(starts),
            Opens::After(_) => {}
            Opens::Each => opened.extend(starts.get(*count as usize - 1)),
        }
    }

    /// Messages that are not acknowledged yet.
    pub fn unfinished(&self) -> u64 {
        self.unfinished
    }

    /// Messages that are posted and not acknowledged yet.
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// A message that ended twice, or was acknowledged before it was delivered.
    pub fn broken(&self) -> Option<MessageId> {
        self.broken
    }

    /// When a message was posted, delivered and acknowledged, as far as it got.
    pub fn times(&self, message: MessageId) -> [Option<Time>; 3] {
        let known = |time: Time| (time != Time::NEVER).then_some(time);
        let i = message.index();
        [known(self.posted[i]), known(self.delivered[i]), known(self.acknowledged[i])]
    }
}

/// The messages that start at a time, host by host.
pub struct Starts {
    /// Sorted by host, then by time, then by number.
    order: Vec<MessageId>,
    /// By host: the next one in `order`, and the end of the host's range.
    ranges: Vec<(u32, u32)>,
}

impl Starts {
    /// The timed messages of `workload` on a fabric with `hosts` hosts.
    pub fn new(workload: &Workload, hosts: u32) -> Self {
        let source = |message: MessageId| workload.qps[workload.messages[message.index()].qp.index()].src;
        let mut order: Vec<MessageId> = (0..workload.messages.len() as u32)
            .map(MessageId)
            .filter(|&message| start_time(workload, message).is_some())
            .collect();
        order.sort_by_key(|&message| (source(message), start_time(workload, message), message));
        let mut ranges = vec![(0, 0); hosts as usize];
        for (place, &message) in order.iter().enumerate() {
            let range = &mut ranges[source(message).index()];
            if range.0 == range.1 {
                *range = (place as u32, place as u32);
            }
            range.1 = place as u32 + 1;
        }
        Starts { order, ranges }
    }

    /// When `host` posts next.
    pub fn next_time(&self, workload: &Workload, host: u32) -> Option<Time> {
        let (next, end) = self.ranges[host as usize];
        (next < end).then(|| start_time(workload, self.order[next as usize])).flatten()
    }

    /// The next message that `host` posts at or before `now`.
    pub fn pop(&mut self, workload: &Workload, host: u32, now: Time) -> Option<MessageId> {
        let due = self.next_time(workload, host)? <= now;
        let next = &mut self.ranges[host as usize].0;
        due.then(|| {
            *next += 1;
            self.order[*next as usize - 1]
        })
    }
}

fn start_time(workload: &Workload, message: MessageId) -> Option<Time> {
    match workload.messages[message.index()].start {
        anabranch_workload::Start::At(time) => Some(time),
        anabranch_workload::Start::ByGate => None,
    }
}
