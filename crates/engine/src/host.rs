//! Hosts: a NIC with its queue pairs.
//!
//! A NIC sends control packets first, then serves its queue pairs round robin, one packet each (with DCP one round
//! each), subject to window, pacing and PFC.
//!
//! A sender exists from its queue pair's first message until its last acknowledgement; a receiver from the first
//! packet that comes in until a base RTT after the sender is done: late duplicates are answered until then, and
//! discarded after that. So memory grows with the number of concurrent flows.

mod posted;
mod pulls;
mod round;
mod timers;

use crate::board::{Ended, Opened, Starts, parts, start_time};
use crate::context::{Context, Failure, Notice};
use crate::egress::{Egress, Frees, OnePort};
use crate::frame::{Frame, Order, What, kind};
use crate::network::Network;
use crate::node::Node;
use crate::observer::Observer;
use crate::poster::MessageEnd;
use crate::prefetch::{prefetch, prefetch_lines};
use anabranch_base::{HostId, LinkId, MessageId, NodeId, Purpose, QpId, Time, stream};
#[cfg(test)]
use anabranch_proto::transport::AnySender;
use anabranch_proto::transport::{AnyReceiver, CachedState, Ends, SenderCounters};
use anabranch_proto::{IntStack, Packet, Repr, lb};
use anabranch_workload::Done;
use pulls::Pulls;
use round::{Round, SenderSlot};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use timers::Ticks;

/// No endpoint: the queue pair has not started.
const NOT_YET: u32 = u32::MAX;
/// No endpoint any more: the queue pair is done.
const DONE: u32 = u32::MAX - 1;

/// In `timers`: the host's pull pacer, which no queue pair is.
const PULLS: u32 = u32::MAX;

/// Cache lines of a sender that a packet touches: its first ones, by the order of its fields.
const SENDER_LINES: usize = 8;

/// The only port of a host.
const PORT: u16 = 0;

/// A host, with all its state.
pub struct Host {
    id: HostId,
    egress: Egress<OnePort>,
    /// The queue pairs on which it sends.
    outgoing: Vec<Outgoing>,
    /// By queue pair on which it receives: its index in `receivers`.
    incoming: Vec<Incoming>,
    senders: Vec<SenderSlot>,
    receivers: Vec<AnyReceiver>,
    free_senders: Vec<u32>,
    free_receivers: Vec<u32>,
    /// When receivers end whose senders are done, with the place of each in `incoming`: by time.
    ending: VecDeque<(Time, u32)>,
    round: Round,
    /// Timers of queue pairs: time, and index in `outgoing`.
    timers: BinaryHeap<Reverse<(Time, u32)>>,
    /// When timeouts fire that are due; none: at once.
    ticks: Option<Box<Ticks>>,
    /// Where the next of `timers`, or the next post, stands.
    next_call: Order,
    /// Messages posted of those that start by themselves.
    started: usize,
    /// Of queue pairs that are done.
    totals: Totals,
    /// Packets that receivers which are gone received for the first time.
    fresh_before: u64,
    /// Steps that have begun: when they are over, and their numbers.
    steps: BinaryHeap<Reverse<(Time, u32)>>,
    /// By processor that a step has taken, when it is free.
    processors: BTreeMap<u32, Time>,
    /// By destination, what the connection left that finished last, where the next one inherits it.
    cached_states: BTreeMap<HostId, CachedState>,
    /// Where receivers pull: what paces them.
    pulls: Option<Box<Pulls>>,
}

/// A queue pair on which a host sends.
struct Outgoing {
    qp: QpId,
    /// Its index among the senders.
    index: u32,
    /// Messages not acknowledged yet, posted or not.
    messages_left: u32,
    /// What it met, once it is done.
    met: Met,
}

/// A queue pair on which a host receives.
struct Incoming {
    /// Its index among the receivers.
    index: u32,
    /// The record of telemetry that waits for an ACK, or 0.
    telemetry: u32,
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

    /// Those of two hosts.
    pub fn and(mut self, other: Totals) -> Self {
        self.retransmissions += other.retransmissions;
        self.timeouts += other.timeouts;
        self.nacks += other.nacks;
        self.fetches += other.fetches;
        self.most_nacks = self.most_nacks.max(other.most_nacks);
        self
    }
}

impl Node for Host {
    fn node(&self) -> NodeId {
        self.id.into()
    }

    #[inline]
    fn next(&self) -> Order {
        self.egress.frees.first().min(self.next_call)
    }

    #[inline]
    fn run_next<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        if self.egress.frees.first().time() == at.now {
            self.egress.frees.pop();
            self.egress.port(PORT).wakes = false;
            self.serve(at);
        } else if self.next_call.kind() == kind::TIMER {
            let due = self.timers.pop();
            self.see_to_next_call(at.network);
            if let Some(Reverse((_, slot))) = due {
                self.handle_timer(slot, at);
            }
        } else {
            self.handle_post(at);
        }
    }

    #[inline]
    fn arrive<O: Observer>(&mut self, frame: &Frame, stack: Option<&IntStack>, at: &mut Context<'_, O>) {
        match frame.what {
            What::Packet if frame.packet.is_for_receiver() => self.handle_data(&frame.packet, stack, at),
            What::Packet => self.handle_answer(&frame.packet, stack, at),
            What::Pause => self.handle_pause(true, at),
            What::Resume => self.handle_pause(false, at),
        }
    }
}

impl Host {
    /// The hosts of `network`, before the first event.
    pub fn all(network: &Network<'_>, kind_of: impl Fn(LinkId) -> u16) -> Vec<Host> {
        let mut hosts: Vec<Host> =
            (0..network.topology.hosts).map(|host| Host::new(network, HostId(host), &kind_of)).collect();
        let split = network.scheme.qps;
        for (connection, ends) in network.workload.qps.iter().enumerate() {
            for part in 0..split {
                let qp = QpId(connection as u32 * split + part);
                let outgoing = &mut hosts[ends.src.index()].outgoing;
                outgoing.push(Outgoing { qp, index: NOT_YET, messages_left: 0, met: Met::default() });
                hosts[ends.dst.index()].incoming.push(Incoming { index: NOT_YET, telemetry: 0 });
            }
        }
        for message in &network.workload.messages {
            let source = network.workload.qps[message.qp.index()].src;
            let first = network.slots(QpId(message.qp.0 * split))[0] as usize;
            for qp in &mut hosts[source.index()].outgoing[first..][..parts(message.bytes, split) as usize] {
                qp.messages_left += 1;
            }
        }
        for (number, step) in (0..).zip(&network.workload.steps) {
            if step.needs == 0 {
                let host = &mut hosts[step.host.index()];
                let over = host.begin_step(number, Time::ZERO, network);
                host.steps.push(Reverse((over, number)));
            }
        }
        for host in &mut hosts {
            host.see_to_next_call(network);
        }
        hosts
    }

    fn new(network: &Network<'_>, id: HostId, kind_of: impl Fn(LinkId) -> u16) -> Self {
        Host {
            id,
            egress: Egress::new(network, id.into(), 0, kind_of, OnePort::default()),
            outgoing: Vec::new(),
            incoming: Vec::new(),
            senders: Vec::new(),
            receivers: Vec::new(),
            free_senders: Vec::new(),
            free_receivers: Vec::new(),
            ending: VecDeque::new(),
            round: Round::EMPTY,
            timers: BinaryHeap::new(),
            ticks: Ticks::of(network, id).map(Box::new),
            next_call: Order::NEVER,
            started: 0,
            totals: Totals::default(),
            fresh_before: 0,
            steps: BinaryHeap::new(),
            processors: BTreeMap::new(),
            cached_states: BTreeMap::new(),
            pulls: Pulls::new(network).map(Box::new),
        }
    }

    /// Loads the host itself, which [`prefetch_ends`](Self::prefetch_ends) reads.
    #[inline]
    pub fn prefetch(&self) {
        prefetch_lines(self, 8);
    }

    /// Loads what most events of a host touch: the beginning of its first sender and receiver.
    #[inline]
    pub fn prefetch_ends(&self) {
        if let (Some(sender), Some(port)) = (self.senders.first(), self.egress.ports.first()) {
            prefetch_lines(sender, SENDER_LINES);
            prefetch(port);
        }
        if let Some(receiver) = self.receivers.first() {
            prefetch_lines(receiver, 3);
        }
    }

    /// Its port and queues.
    pub fn egress(&self) -> &Egress<OnePort> {
        &self.egress
    }

    /// The same, to be damaged.
    #[cfg(test)]
    pub fn egress_mut(&mut self) -> &mut Egress<OnePort> {
        &mut self.egress
    }

    /// Puts something else in the place of each receiver that there is.
    #[cfg(test)]
    pub fn replace_receivers(&mut self, with: impl Fn(AnyReceiver) -> AnyReceiver) {
        self.receivers = std::mem::take(&mut self.receivers).into_iter().map(with).collect();
    }

    /// Puts something else in the place of each sender that there is.
    #[cfg(test)]
    pub fn replace_senders(&mut self, with: impl Fn(AnySender) -> AnySender) {
        let slots = std::mem::take(&mut self.senders).into_iter();
        self.senders = slots.map(|slot| slot.with_sender(&with)).collect();
    }

    /// What all its queue pairs counted.
    pub fn counters(&self) -> Totals {
        self.live()
            .fold(self.totals, |totals, qp| totals.add(self.senders[qp.index as usize].sender.counters()))
    }

    /// What a queue pair on which it sends, by its number among them, met so far.
    pub fn met(&self, slot: u32) -> Met {
        let qp = &self.outgoing[slot as usize];
        match qp.index {
            NOT_YET | DONE => qp.met,
            index => met(&self.senders[index as usize]),
        }
    }

    /// Data packets that its receivers received for the first time: what is new to applications.
    pub fn fresh_packets(&self) -> u64 {
        let live = self.incoming.iter().filter(|qp| qp.index < DONE);
        let fresh = live.map(|qp| self.receivers[qp.index as usize].fresh_packets());
        self.fresh_before + fresh.sum::<u64>()
    }

    /// Records of telemetry that wait for an ACK.
    pub fn waiting_telemetry(&self) -> u64 {
        self.incoming.iter().filter(|qp| qp.telemetry > 0).count() as u64
    }

    fn live(&self) -> impl Iterator<Item = &Outgoing> {
        self.outgoing.iter().filter(|qp| qp.index < DONE)
    }

    /// A packet for a receiver.
    #[inline]
    fn handle_data<O: Observer>(
        &mut self,
        packet: &Packet,
        stack: Option<&IntStack>,
        at: &mut Context<'_, O>,
    ) {
        at.counters.consumed += 1;
        while let Some((_, slot)) = self.ending.pop_front_if(|(time, _)| *time <= at.now) {
            self.close_receiver(slot);
        }
        let slot = at.network.slots(packet.qp)[1] as usize;
        let index = match self.incoming[slot].index {
            // A very late copy of something that the sender is done with.
            DONE => return,
            NOT_YET => self.open_receiver(slot, packet.qp, at.network),
            index => index,
        } as usize;
        at.observer.delivered(packet.qp, at.now, packet);
        let mut delivered = self.receivers[index].handle_packet(at.now, packet);
        if let Some(stack) = stack {
            self.await_answer(slot, stack);
        }
        while let Some(answer) = self.receivers[index].poll_transmit() {
            self.send_answer(slot, answer, at);
        }
        if self.pulls.is_some() {
            self.ask_to_pull(slot, index, at.now);
        }
        while let Some(message) = delivered {
            if !self.end(message, packet.qp, Done::Delivered, at) {
                return;
            }
            delivered = self.receivers[index].poll_delivered();
        }
    }

    /// A packet for a sender.
    #[inline]
    fn handle_answer<O: Observer>(
        &mut self,
        packet: &Packet,
        stack: Option<&IntStack>,
        at: &mut Context<'_, O>,
    ) {
        at.counters.consumed += 1;
        if let Repr::Program { .. } = packet.repr {
            // Meant for the program of a switch on the path, which would have consumed it; hosts ignore it.
            return;
        }
        let slot = at.network.slots(packet.qp)[0];
        let index = self.outgoing[slot as usize].index;
        if index >= DONE {
            return;
        }
        observe_acknowledgement(packet, at);
        let sender = &mut self.senders[index as usize].sender;
        if let (Some(stack), Repr::Ack { cumulative, .. }) = (stack, packet.repr) {
            sender.handle_telemetry(cumulative, stack);
        }
        sender.handle_packet(at.now, packet);
        self.round.make_ready(&mut self.senders, index);
        while let Some(message) = self.senders[index as usize].sender.poll_acknowledged() {
            // Before what it sets off: more may be posted to this queue pair.
            if !self.finish_part(slot, index, at) || !self.end(message, packet.qp, Done::Acknowledged, at) {
                return;
            }
        }
        self.kick(at);
        if self.outgoing[slot as usize].index == index && self.senders[index as usize].sender.advances_timer()
        {
            self.arm(slot, index, at.now);
        }
    }

    /// A message of queue pair `qp`, or a part of one, is delivered or acknowledged: posts what that sets off. False
    /// when that cannot be, and so the transport is broken.
    fn end<O: Observer>(&mut self, message: MessageId, qp: QpId, on: Done, at: &mut Context<'_, O>) -> bool {
        let its_own = at.network.board.message(message);
        if its_own.is_none_or(|its| its.qp != at.network.connection(qp)) {
            return self.is_broken(qp, &format!("ended message {message}, which is none of its own"), at);
        }
        let mut opened = std::mem::take(&mut at.effects.opened);
        match at.network.board.end(message, on, at.now, &mut opened) {
            Ended::Partly => {}
            Ended::Wholly => {
                at.counters.acknowledged += u64::from(on == Done::Acknowledged);
                if message.index() >= at.network.workload.messages.len() {
                    at.effects.ended.push(MessageEnd { message, on });
                }
            }
            Ended::Again => {
                return self.is_broken(qp, &format!("has message {message}, which ended twice"), at);
            }
        }
        self.follow(&mut opened, at);
        at.effects.opened = opened;
        true
    }

    /// Does what was opened: begins steps, and posts messages.
    #[inline]
    fn follow<O: Observer>(&mut self, opened: &mut Opened, at: &mut Context<'_, O>) {
        if !opened.steps.is_empty() {
            self.begin_steps(opened, at);
        }
        for message in opened.messages.drain(..) {
            if at.network.ends_of_message(message).src == self.id {
                self.post(message, at);
            } else {
                at.effects.elsewhere.push(message);
            }
        }
    }

    /// A step of this host that another host of its cluster made ready.
    pub fn begin<O: Observer>(&mut self, step: u32, at: &mut Context<'_, O>) {
        let mut opened = std::mem::take(&mut at.effects.opened);
        opened.steps.push(step);
        self.follow(&mut opened, at);
        at.effects.opened = opened;
    }

    /// Begins the steps that are ready, in the order in which they got ready. Those that take no time are over at once.
    #[inline(never)]
    fn begin_steps<O>(&mut self, opened: &mut Opened, at: &mut Context<'_, O>) {
        let mut next = 0;
        while let Some(&step) = opened.steps.get(next) {
            next += 1;
            if at.network.workload.steps[step as usize].host != self.id {
                at.effects.steps_elsewhere.push(step);
                continue;
            }
            let over = self.begin_step(step, at.now, at.network);
            if over <= at.now {
                at.counters.steps += 1;
                at.network.board.end_step(step, at.now, opened);
            } else {
                self.steps.push(Reverse((over, step)));
                self.next_call = self.next_call.min(Order::chosen(over, kind::POST));
            }
        }
        opened.steps.clear();
    }

    /// A step is ready: when it will be over.
    fn begin_step(&mut self, number: u32, now: Time, network: &Network<'_>) -> Time {
        let step = &network.workload.steps[number as usize];
        let mut begin = now;
        if step.is_serial() {
            let free = self.processors.entry(step.processor).or_insert(Time::ZERO);
            begin = begin.max(*free);
            *free = begin + step.takes;
        }
        network.board.begin_step(number, begin);
        begin + step.takes
    }

    /// The transport of a queue pair does what none may, which ends the run. Always false.
    #[cold]
    fn is_broken<O>(&self, qp: QpId, what: &str, at: &mut Context<'_, O>) -> bool {
        let what = format!("the transport of queue pair {qp} {what}");
        at.effects.fail(at.now, self.id.into(), Failure::Invariant(what));
        false
    }

    /// A message, or a part of one, of a queue pair is acknowledged; with its last one the queue pair is done. False
    /// when it was done before, and so the transport is broken.
    fn finish_part<O>(&mut self, slot: u32, index: u32, at: &mut Context<'_, O>) -> bool {
        let qp = &mut self.outgoing[slot as usize];
        let Some(left) = qp.messages_left.checked_sub(1) else {
            let qp = qp.qp;
            return self.is_broken(qp, "acknowledged more messages than it was given", at);
        };
        qp.messages_left = left;
        if left > 0 {
            return true;
        }
        let sender = &self.senders[index as usize];
        if let Some(cached) = sender.sender.cached_state() {
            self.cached_states.insert(at.network.ends(qp.qp).dst, cached);
        }
        (qp.index, qp.met) = (DONE, met(sender));
        self.totals = self.totals.add(sender.sender.counters());
        at.effects.notices.push(Notice { time: at.now, src: self.id, qp: qp.qp, opens: false });
        if self.round.leave(&mut self.senders, index) {
            self.free_senders.push(index);
        }
        true
    }

    /// The queue pair on which it receives, with this number among them, is done: its sender has heard of everything,
    /// and the receiver ends at `time`. Times rise from call to call.
    pub fn end_receiver(&mut self, slot: u32, time: Time) {
        self.ending.push_back((time, slot));
    }

    fn close_receiver(&mut self, slot: u32) {
        let incoming = &mut self.incoming[slot as usize];
        let index = std::mem::replace(&mut incoming.index, DONE);
        let telemetry = std::mem::take(&mut incoming.telemetry);
        self.egress.forget(telemetry);
        if index < DONE {
            self.fresh_before += self.receivers[index as usize].fresh_packets();
            self.free_receivers.push(index);
        }
    }

    fn open_receiver(&mut self, slot: usize, qp: QpId, network: &Network<'_>) -> u32 {
        let ends = network.ends(qp);
        let ends = Ends { qp, src: ends.src, dst: ends.dst };
        let receiver = network.scheme.transport.build_receiver_with_seed(ends, &network.facts, network.seed);
        let index = put(&mut self.receivers, &mut self.free_receivers, receiver);
        self.incoming[slot].index = index;
        index
    }

    fn open_sender<O>(&mut self, slot: u32, qp: QpId, at: &mut Context<'_, O>) -> u32 {
        let Network { scheme, facts, seed, own_path, .. } = at.network;
        let rto = scheme.transport.rto().on(facts);
        let environment = lb::Environment { facts: *facts, rto, trimming: scheme.fabric.trim };
        let random = stream(*seed, u64::from(qp.0), Purpose::LoadBalancer);
        let lb = scheme.lb_of(self.id).build(&environment, random);
        let ends = at.network.ends(qp);
        let path = own_path.as_ref().map_or(*facts, |own_path| own_path(ends.src, ends.dst));
        let random = stream(*seed, u64::from(qp.0), Purpose::CongestionControl);
        let cc = scheme.cc.build_with_stream(&path, random);
        let ends = Ends { qp, src: ends.src, dst: ends.dst };
        let mut sender = scheme.transport.build_sender_with_seed(ends, facts, cc, lb, *seed);
        if let Some(cached) = self.cached_states.get(&ends.dst) {
            sender.inherit(cached);
        }
        let index = put(&mut self.senders, &mut self.free_senders, SenderSlot::new(slot, sender));
        self.outgoing[slot as usize].index = index;
        at.effects.notices.push(Notice { time: at.now, src: self.id, qp, opens: true });
        index
    }

    /// A data packet's record waits for an ACK. One that waited already is out of date.
    #[cold]
    fn await_answer(&mut self, slot: usize, stack: &IntStack) {
        if let Some(telemetry) = &mut self.egress.telemetry {
            let number = telemetry.held.keep(stack);
            let before = std::mem::replace(&mut self.incoming[slot].telemetry, number);
            telemetry.held.release(before);
        }
    }

    #[inline]
    fn send_answer<O: Observer>(&mut self, slot: usize, packet: Packet, at: &mut Context<'_, O>) {
        at.counters.injected += 1;
        let mut frame = Frame::new(packet, PORT);
        if self.egress.telemetry.is_some() && matches!(packet.repr, Repr::Ack { .. }) {
            frame.telemetry = std::mem::take(&mut self.incoming[slot].telemetry);
        }
        let out = self.egress.port(PORT);
        if !out.wakes {
            self.egress.transmit(PORT, &frame, at);
        } else if u64::from(out.control_bytes) + u64::from(packet.wire_bytes)
            <= u64::from(at.network.queues.control)
        {
            self.egress.enqueue(PORT, &frame, true, at);
        } else {
            self.egress.drop_packet(PORT, &frame, at);
        }
    }

    /// The NIC's link is free: sends what is next.
    #[inline]
    fn serve<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        if let Some(taken) = self.egress.dequeue(PORT, at) {
            return self.egress.transmit_taken(PORT, taken, at);
        }
        if self.egress.port(PORT).paused {
            return;
        }
        let Some(packet) = self.next_data(at.now) else { return };
        at.counters.injected += 1;
        let mut frame = Frame::new(packet, PORT);
        if let (Some(telemetry), Repr::Data { .. }) = (&mut self.egress.telemetry, packet.repr) {
            frame.telemetry = telemetry.held.keep(&IntStack::EMPTY);
        }
        self.egress.transmit(PORT, &frame, at);
    }

    /// The next data packet of the NIC's round robin.
    #[inline]
    fn next_data(&mut self, now: Time) -> Option<Packet> {
        while let Some(index) = self.round.take_turn(&mut self.senders) {
            let slot = &mut self.senders[index as usize];
            if slot.is_done() {
                self.free_senders.push(index);
                continue;
            }
            let qp = slot.qp;
            if let Some(packet) = slot.sender.poll_transmit(now) {
                if let Repr::Data { .. } = packet.repr {
                    slot.note_ev(packet.ev);
                }
                let armed = slot.timer != Time::NEVER;
                if slot.sender.holds_turn() {
                    self.round.keep_turn(&mut self.senders, index);
                } else {
                    self.round.make_ready(&mut self.senders, index);
                }
                if !armed {
                    self.arm(qp, index, now);
                }
                return Some(packet);
            }
            if slot.sender.paces() {
                // It may only wait for its time.
                self.arm(qp, index, now);
            }
        }
        None
    }

    /// Something may be there to send: sends it if the link is idle; else it is looked at when it is.
    #[inline]
    fn kick<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        if !self.egress.port(PORT).wakes {
            self.serve(at);
        }
    }

    /// Its data class is paused, or may go on.
    pub fn handle_pause<O: Observer>(&mut self, stop: bool, at: &mut Context<'_, O>) {
        if stop {
            self.egress.pause(PORT, at);
        } else if self.egress.unpause(PORT, at) {
            self.kick(at);
        }
    }

    /// Posts what is due.
    fn handle_post<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        while self.steps.peek().is_some_and(|Reverse((over, _))| *over <= at.now) {
            let Some(Reverse((_, step))) = self.steps.pop() else { break };
            at.counters.steps += 1;
            let mut opened = std::mem::take(&mut at.effects.opened);
            at.network.board.end_step(step, at.now, &mut opened);
            self.follow(&mut opened, at);
            at.effects.opened = opened;
        }
        while let Some(message) = self.next_start(at.network).filter(|(time, _)| *time <= at.now) {
            self.started += 1;
            self.post(message.1, at);
        }
        self.see_to_next_call(at.network);
    }

    fn next_start(&self, network: &Network<'_>) -> Option<(Time, MessageId)> {
        let starts: &Starts = &network.starts;
        let message = *starts.of(self.id).get(self.started)?;
        Some((start_time(network.workload, message)?, message))
    }

    fn see_to_next_call(&mut self, network: &Network<'_>) {
        let timer =
            self.timers.peek().map_or(Order::NEVER, |Reverse((time, _))| Order::chosen(*time, kind::TIMER));
        let post = self.next_start(network).map_or(Order::NEVER, |(time, _)| Order::chosen(time, kind::POST));
        let step =
            self.steps.peek().map_or(Order::NEVER, |Reverse((time, _))| Order::chosen(*time, kind::POST));
        self.next_call = timer.min(post).min(step);
    }

    /// Posts a message of this host.
    pub fn post<O: Observer>(&mut self, message: MessageId, at: &mut Context<'_, O>) {
        let network = at.network;
        let spec = network.message(message);
        network.board.post(message, at.now);
        at.counters.posted += 1;
        let split = network.scheme.qps;
        let parts = parts(spec.bytes, split);
        for part in 0..parts {
            let qp = QpId(spec.qp.0 * split + part);
            // As even as bytes allow, the first ones longer by one.
            let longer = u64::from(u64::from(part) < spec.bytes % u64::from(parts));
            let bytes = spec.bytes / u64::from(parts) + longer;
            let slot = network.slots(qp)[0];
            let index = match self.outgoing[slot as usize].index {
                NOT_YET => self.open_sender(slot, qp, at),
                index => index,
            };
            if self.senders[index as usize].sender.post(message, bytes).is_err() {
                at.effects.fail(at.now, self.id.into(), Failure::OutOfPsns(qp));
                return;
            }
            self.round.make_ready(&mut self.senders, index);
        }
        self.kick(at);
    }
}

/// Puts something into a slab, into an index that is free if there is one.
fn put<T>(slab: &mut Vec<T>, free: &mut Vec<u32>, thing: T) -> u32 {
    match free.pop() {
        Some(index) => {
            slab[index as usize] = thing;
            index
        }
        None => {
            if slab.len() == slab.capacity() {
                // Most hosts have a single one: no room for four from the start.
                slab.reserve_exact(slab.len().max(1));
            }
            slab.push(thing);
            slab.len() as u32 - 1
        }
    }
}

/// What the packets of a queue pair met, as its sender knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// Data packets sent again.
    pub retransmissions: u32,
    /// Timeouts that fired.
    pub timeouts: u32,
    /// Data packets with another entropy value than the one before.
    pub path_changes: u32,
    /// Data packets whose payload was lost, as the network knows it.
    pub lost: u32,
}

impl Met {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Met) -> Met {
        Met {
            retransmissions: self.retransmissions.saturating_add(other.retransmissions),
            timeouts: self.timeouts.saturating_add(other.timeouts),
            path_changes: self.path_changes.saturating_add(other.path_changes),
            lost: self.lost.saturating_add(other.lost),
        }
    }
}

fn met(slot: &SenderSlot) -> Met {
    let SenderCounters { retransmissions, timeouts, .. } = slot.sender.counters();
    let [retransmissions, timeouts] =
        [retransmissions, timeouts].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    Met { retransmissions, timeouts, path_changes: slot.path_changes, lost: 0 }
}

#[inline]
fn observe_acknowledgement<O: Observer>(packet: &Packet, at: &mut Context<'_, O>) {
    let (sent_at, marked) = match packet.repr {
        Repr::Ack { sent_at, marked, .. } => (sent_at, marked),
        Repr::Sack { sent_at, cause, .. } => (sent_at, cause.marked()),
        _ => return,
    };
    at.observer.acknowledged(packet.qp, at.now, at.now.since(sent_at), marked);
}
