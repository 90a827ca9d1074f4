//! Hosts: NICs with their queue pairs.
//!
//! A NIC sends control packets first, then its queue pairs in turn, a packet at a time (with DCP a round at a
//! time), each as its window allows.

mod messages;

use crate::engine::{Engine, Failure, prefetch, prefetch_lines};
use crate::observer::Observer;
use anabranch_base::{HostId, MessageId, NodeId, Purpose, QpId, Time, stream};
use anabranch_proto::transport::{AnyReceiver, AnySender, Ends, SenderCounters};
use anabranch_proto::{Packet, PathFacts, Repr, lb};
use anabranch_workload::Workload;

pub use messages::{Progress, Starts};

/// No endpoint: the queue pair has not started, or is done.
const NONE: u32 = u32::MAX;

/// The endpoints of all queue pairs that are at work, and the NICs' round robins.
///
/// Endpoints are made when a queue pair's first message is posted and reused when its last one is acknowledged,
/// so that a million short flows need memory for those only that are alive together.
pub struct Hosts {
    /// Queue pairs of a connection: the workload's queue pair `q` is the engine's `q * split` and those after it.
    split: u32,
    /// By queue pair: its place in `senders` and `receivers`.
    place: Vec<u32>,
    senders: Vec<Sender>,
    receivers: Vec<AnyReceiver>,
    free: Vec<u32>,
    /// By queue pair: messages not acknowledged yet, posted or not.
    messages_left: Vec<u32>,
    /// By host: the round robin of queue pairs that may have something to send.
    rounds: Vec<Round>,
    /// Of queue pairs that are done.
    totals: Totals,
    /// By connection: data packets sent again and timeouts of its queue pairs that are done.
    resent: Vec<[u32; 2]>,
}

/// What senders counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Data packets sent again.
    pub retransmissions: u64,
    /// Packets that timed out.
    pub timeouts: u64,
    /// NACKs heard.
    pub nacks: u64,
    /// NACKs heard by the queue pair that heard most.
    pub most_nacks: u64,
    /// Batches of retransmissions fetched from host memory.
    pub fetches: u64,
}

impl Totals {
    fn add(mut self, counters: SenderCounters) -> Self {
        self.retransmissions += counters.retransmissions;
        self.timeouts += counters.timeouts;
        self.nacks += counters.nacks;
        self.fetches += counters.fetches;
        self.most_nacks = self.most_nacks.max(counters.nacks);
        self
    }
}

// In this order, so that these share a cache line with the beginning of the sender.
#[repr(C)]
struct Sender {
    qp: u32,
    /// The place of the sender behind it in its host's round robin.
    behind: u32,
    /// In its host's round robin.
    ready: bool,
    /// The time of the next timer event; never: there is none.
    timer: Time,
    /// The time of the one after it, so that a timeout that waits behind paced packets is not scheduled with each
    /// of them. Events at other times are stale.
    later: Time,
    sender: AnySender,
}

/// A queue of senders, linked through [`Sender::behind`].
#[derive(Clone, Copy)]
struct Round {
    first: u32,
    last: u32,
}

/// Cache lines of a sender that a packet touches: its first ones, by the order of its fields.
const SENDER_LINES: usize = 8;

/// How endpoints are made.
pub struct Recipe<'a> {
    /// The scheme.
    pub scheme: &'a crate::spec::Scheme,
    /// The fabric's longest path.
    pub facts: PathFacts,
    /// By connection: its own path, where the congestion control asks for it; else empty.
    pub own_paths: Vec<PathFacts>,
    /// The run's seed.
    pub seed: u64,
}

impl Hosts {
    /// No queue pair has started.
    pub fn new(workload: &Workload, hosts: u32, split: u32) -> Self {
        let qps = workload.qps.len() * split as usize;
        let mut messages_left = vec![0; qps];
        for message in &workload.messages {
            let first = message.qp.index() * split as usize;
            for left in &mut messages_left[first..][..parts(message.bytes, split) as usize] {
                *left += 1;
            }
        }
        Hosts {
            split,
            place: vec![NONE; qps],
            senders: Vec::new(),
            receivers: Vec::new(),
            free: Vec::new(),
            messages_left,
            rounds: vec![Round { first: NONE, last: NONE }; hosts as usize],
            totals: Totals::default(),
            resent: vec![[0; 2]; workload.qps.len()],
        }
    }

    /// What all queue pairs counted.
    pub fn counters(&self) -> Totals {
        let live = self.place.iter().filter(|&&place| place != NONE);
        live.fold(self.totals, |totals, &place| totals.add(self.senders[place as usize].sender.counters()))
    }

    /// Data packets sent again and timeouts of all queue pairs of a connection so far.
    pub fn resent(&self, connection: QpId) -> [u32; 2] {
        let first = connection.index() * self.split as usize;
        let live = self.place[first..][..self.split as usize].iter().filter(|&&place| place != NONE);
        let counters = live.map(|&place| self.senders[place as usize].sender.counters());
        counters.fold(self.resent[connection.index()], add_resent)
    }

    fn start(&mut self, qp: QpId, dst: HostId, src: HostId, recipe: &Recipe<'_>) -> u32 {
        let transport = &recipe.scheme.transport;
        let rto = transport.rto().on(&recipe.facts);
        let environment = lb::Environment { facts: recipe.facts, rto, trimming: recipe.scheme.fabric.trim };
        let random = stream(recipe.seed, u64::from(qp.0), Purpose::LoadBalancer);
        let facts = &recipe.facts;
        let lb = recipe.scheme.lb.build(&environment, random);
        let own_path = recipe.own_paths.get(qp.index() / self.split as usize);
        let cc = recipe.scheme.cc.build(own_path.unwrap_or(facts));
        let ends = Ends { qp, src, dst };
        let (sender, receiver) =
            (transport.build_sender(ends, facts, cc, lb), transport.build_receiver(ends, facts));
        let sender =
            Sender { sender, qp: qp.0, behind: NONE, ready: false, timer: Time::NEVER, later: Time::NEVER };
        let place = match self.free.pop() {
            Some(place) => {
                self.senders[place as usize] = sender;
                self.receivers[place as usize] = receiver;
                place
            }
            None => {
                self.senders.push(sender);
                self.receivers.push(receiver);
                self.senders.len() as u32 - 1
            }
        };
        self.place[qp.index()] = place;
        place
    }

    /// A message is acknowledged. Whether it was the last one of its queue pair, which is gone then.
    fn finish_message(&mut self, qp: QpId) -> bool {
        let left = &mut self.messages_left[qp.index()];
        *left -= 1;
        let is_last = *left == 0;
        if is_last {
            let place = std::mem::replace(&mut self.place[qp.index()], NONE);
            let counters = self.senders[place as usize].sender.counters();
            self.totals = self.totals.add(counters);
            let resent = &mut self.resent[qp.index() / self.split as usize];
            *resent = add_resent(*resent, counters);
            if self.senders[place as usize].ready {
                // Still in its host's round robin: freed when its turn comes.
                self.senders[place as usize].qp = NONE;
            } else {
                self.free.push(place);
            }
        }
        is_last
    }

    /// Puts a sender at the end of its host's round robin, unless it is there.
    #[inline]
    fn make_ready(&mut self, host: NodeId, place: u32) {
        let sender = &mut self.senders[place as usize];
        if sender.ready {
            return;
        }
        sender.ready = true;
        sender.behind = NONE;
        let round = &mut self.rounds[host.index()];
        let last = std::mem::replace(&mut round.last, place);
        if last == NONE {
            round.first = place;
        } else {
            self.senders[last as usize].behind = place;
        }
    }

    /// Puts a sender that has just been taken out back at the head of its host's round robin.
    fn keep_turn(&mut self, host: NodeId, place: u32) {
        let round = &mut self.rounds[host.index()];
        let behind = std::mem::replace(&mut round.first, place);
        if behind == NONE {
            round.last = place;
        }
        let sender = &mut self.senders[place as usize];
        sender.ready = true;
        sender.behind = behind;
    }

    /// Takes the sender whose turn it is out of the round robin.
    #[inline]
    fn take_turn(&mut self, host: NodeId) -> Option<u32> {
        let round = &mut self.rounds[host.index()];
        let place = round.first;
        if place == NONE {
            return None;
        }
        let sender = &mut self.senders[place as usize];
        sender.ready = false;
        round.first = sender.behind;
        if round.first == NONE {
            round.last = NONE;
        }
        Some(place)
    }
}

fn add_resent([retransmissions, timeouts]: [u32; 2], counters: SenderCounters) -> [u32; 2] {
    let add = |sum: u32, count: u64| sum.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
    [add(retransmissions, counters.retransmissions), add(timeouts, counters.timeouts)]
}

/// Into how many parts a message is split: as many as there are queue pairs, of a byte at least.
pub(crate) fn parts(bytes: u64, split: u32) -> u32 {
    bytes.clamp(1, u64::from(split)) as u32
}

impl<O: Observer> Engine<'_, O> {
    /// Posts what is due at `host`, and asks to be called for what comes next.
    pub(crate) fn handle_post(&mut self, host: u32) {
        while let Some(message) = self.starts.pop(self.workload, host, self.now) {
            self.post(message);
        }
        if let Some(time) = self.starts.next_time(self.workload, host) {
            self.schedule_post(host, time);
        }
    }

    /// A packet reached its host.
    #[inline]
    pub(crate) fn handle_host_arrival(&mut self, host: NodeId, packet: &Packet) {
        self.consumed += 1;
        let place = self.hosts.place[packet.qp.index()];
        if place == NONE {
            // A late copy of something that both ends are done with.
            self.forget_telemetry(packet);
            return;
        }
        match packet.repr {
            Repr::Data { .. } | Repr::Trimmed { .. } | Repr::Probe { .. } => {
                self.observer.delivered(packet.qp, self.now, packet);
                let receiver = &mut self.hosts.receivers[place as usize];
                let mut delivered = receiver.handle_packet(self.now, packet);
                if let Some(telemetry) = &mut self.telemetry {
                    telemetry.keep(packet);
                }
                while let Some(mut answer) = self.hosts.receivers[place as usize].poll_transmit() {
                    if let Some(telemetry) = &mut self.telemetry {
                        telemetry.send_back(&mut answer);
                    }
                    self.send_control(host, &answer);
                }
                while let Some(message) = delivered {
                    self.news += 1;
                    let mut opened = std::mem::take(&mut self.opened);
                    self.progress.deliver(message, self.now, &mut opened);
                    self.post_all(opened);
                    delivered = self.hosts.receivers[place as usize].poll_delivered();
                }
            }
            Repr::Ack { .. }
            | Repr::Sack { .. }
            | Repr::Nack { .. }
            | Repr::HeaderOnly { .. }
            | Repr::Cnp => {
                self.news += 1;
                self.observe_acknowledgement(packet);
                if self.telemetry.is_some() {
                    self.report_telemetry(place, packet);
                }
                self.hosts.senders[place as usize].sender.handle_packet(self.now, packet);
                self.hosts.make_ready(host, place);
                while let Some(message) = self.hosts.senders[place as usize].sender.poll_acknowledged() {
                    let mut opened = std::mem::take(&mut self.opened);
                    self.progress.acknowledge(message, self.now, &mut opened);
                    if self.hosts.finish_message(packet.qp) {
                        self.tell_programs(packet.qp, false);
                        if let Some(telemetry) = &mut self.telemetry {
                            telemetry.finish(packet.qp);
                        }
                    }
                    self.post_all(opened);
                }
                self.kick(host);
                if self.hosts.place[packet.qp.index()] == place
                    && self.hosts.senders[place as usize].sender.advances_timer()
                {
                    self.arm(host, packet.qp.0, place);
                }
            }
            // A program that is gone would have taken it out.
            Repr::Program { .. } => {}
        }
    }

    #[inline]
    fn observe_acknowledgement(&mut self, packet: &Packet) {
        let (sent_at, marked) = match packet.repr {
            Repr::Ack { sent_at, marked, .. } => (sent_at, marked),
            Repr::Sack { sent_at, cause, .. } => (sent_at, cause.marked()),
            _ => return,
        };
        self.observer.acknowledged(packet.qp, self.now, self.now.since(sent_at), marked);
    }

    /// Hands the sender at `place` the telemetry that an ACK carries.
    #[cold]
    fn report_telemetry(&mut self, place: u32, packet: &Packet) {
        let Some(telemetry) = &mut self.telemetry else { return };
        let Repr::Ack { cumulative, telemetry: number, .. } = packet.repr else { return };
        if let Some(stack) = telemetry.read(number) {
            self.hosts.senders[place as usize].sender.handle_telemetry(cumulative, stack);
            telemetry.forget(packet);
        }
    }

    /// Loads what the arrival of `packet` at its host will touch.
    #[inline]
    pub(crate) fn expect_host_arrival(&self, packet: &Packet) {
        let place = self.hosts.place[packet.qp.index()] as usize;
        match packet.is_for_receiver() {
            true => {
                if let Some(receiver) = self.hosts.receivers.get(place) {
                    prefetch_lines(receiver, 3);
                }
            }
            false => {
                if let Some(sender) = self.hosts.senders.get(place) {
                    prefetch_lines(sender, SENDER_LINES);
                }
            }
        }
        prefetch(&self.ports[packet.dst.index()]);
    }

    /// Loads the sender whose turn is next at `host`.
    #[inline]
    pub(crate) fn expect_turn(&self, host: NodeId) {
        if let Some(slot) = self.hosts.senders.get(self.hosts.rounds[host.index()].first as usize) {
            prefetch_lines(slot, SENDER_LINES);
        }
    }

    /// A queue pair's timer.
    pub(crate) fn handle_timer(&mut self, host: NodeId, qp: u32) {
        let place = self.hosts.place[qp as usize];
        if place == NONE {
            return;
        }
        let slot = &mut self.hosts.senders[place as usize];
        if slot.timer != self.now {
            return;
        }
        slot.timer = std::mem::replace(&mut slot.later, Time::NEVER);
        if slot.sender.next_timeout().is_some_and(|due| due <= self.now) {
            slot.sender.handle_timeout(self.now);
            self.hosts.make_ready(host, place);
        }
        self.kick(host);
        self.arm(host, qp, place);
    }

    /// The NIC's link is free: sends what is next.
    #[inline]
    pub(crate) fn serve_nic(&mut self, host: NodeId) {
        let link = self.first_port(host);
        let packet = match self.dequeue(link) {
            Some(packet) => packet,
            None if self.ports[link.index()].paused => return,
            None => match self.next_data(host) {
                Some(mut packet) => {
                    self.injected += 1;
                    if let Some(telemetry) = &mut self.telemetry {
                        telemetry.attach(&mut packet);
                    }
                    packet
                }
                None => return,
            },
        };
        let more = self.hosts.rounds[host.index()].first != NONE && !self.ports[link.index()].paused;
        self.transmit(link, &packet, more);
    }

    /// The next data packet of the NIC's round robin.
    #[inline]
    fn next_data(&mut self, host: NodeId) -> Option<Packet> {
        while let Some(place) = self.hosts.take_turn(host) {
            let slot = &mut self.hosts.senders[place as usize];
            let qp = slot.qp;
            if qp == NONE {
                self.hosts.free.push(place);
                continue;
            }
            if let Some(packet) = slot.sender.poll_transmit(self.now) {
                let armed = slot.timer != Time::NEVER;
                if slot.sender.keeps_turn() {
                    self.hosts.keep_turn(host, place);
                } else {
                    self.hosts.make_ready(host, place);
                }
                if !armed {
                    self.arm(host, qp, place);
                }
                return Some(packet);
            }
            if slot.sender.paces() {
                // It may only wait for its time.
                self.arm(host, qp, place);
            }
        }
        None
    }

    /// Something may be there to send: sends it if the link is idle, else as soon as it is.
    #[inline]
    pub(crate) fn kick(&mut self, host: NodeId) {
        let link = self.first_port(host);
        if self.ports[link.index()].is_free(self.now) {
            self.serve_nic(host);
        } else {
            self.wake(link);
        }
    }

    fn send_control(&mut self, host: NodeId, packet: &Packet) {
        self.injected += 1;
        self.forward(host, self.first_port(host), packet, NONE);
    }

    fn arm(&mut self, host: NodeId, qp: u32, place: u32) {
        let slot = &mut self.hosts.senders[place as usize];
        let Some(due) = slot.sender.next_timeout() else { return };
        let due = due.max(self.now + anabranch_base::Duration(1));
        // An event that comes too early is cheap.
        if due < slot.timer {
            slot.later = slot.later.min(slot.timer);
            slot.timer = due;
            self.schedule_timer(host, qp, due);
        }
    }

    fn post_all(&mut self, mut opened: Vec<MessageId>) {
        for message in opened.drain(..) {
            self.post(message);
        }
        self.opened = opened;
    }

    fn post(&mut self, message: MessageId) {
        let workload = self.workload;
        let (connection, bytes) =
            (workload.messages[message.index()].qp, workload.messages[message.index()].bytes);
        let ends = workload.qps[connection.index()];
        self.progress.post(message, self.now);
        let parts = parts(bytes, self.hosts.split);
        for part in 0..parts {
            let qp = QpId(connection.0 * self.hosts.split + part);
            // As even as bytes allow, the first ones longer by one.
            let bytes = bytes / u64::from(parts) + u64::from(u64::from(part) < bytes % u64::from(parts));
            let mut place = self.hosts.place[qp.index()];
            if place == NONE {
                place = self.hosts.start(qp, ends.dst, ends.src, &self.recipe);
                self.tell_programs(qp, true);
            }
            let slot = &mut self.hosts.senders[place as usize];
            if slot.sender.post(message, bytes).is_err() {
                self.fail(Failure::OutOfPsns(qp));
                return;
            }
            self.hosts.make_ready(ends.src.into(), place);
        }
        self.kick(ends.src.into());
    }

    /// Queue pairs with unacknowledged messages, for the report of a stalled run.
    pub(crate) fn unfinished_messages(&self) -> impl Iterator<Item = (MessageId, Option<Time>)> + '_ {
        (0..self.workload.messages.len() as u32).map(MessageId).filter_map(|message| {
            let [posted, _, acknowledged] = self.progress.times(message);
            acknowledged.is_none().then_some((message, posted))
        })
    }
}
