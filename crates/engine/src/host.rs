//! Hosts: NICs with their queue pairs.
//!
//! A NIC sends control packets first, then serves its queue pairs round robin. A turn is one packet, or with DCP up to
//! a quota of packets (DCP, section 4.3). The congestion window, pacing and PFC limit each turn.
//!
//! A sender exists from its queue pair's first message until its last acknowledgement, or until the end of the run if
//! the queue pair is shared by messages of an injector. A receiver exists from its first packet until about a base RTT
//! after the sender is done. Until then it answers late duplicates, and later the host discards them. The memory for
//! senders and receivers therefore grows with the number of concurrent flows only.

mod classes;
mod endpoints;
mod injected;
mod nic;
mod ports;
mod posting;
mod pulls;
mod reception;
mod round;
mod stats;
mod timers;

use crate::board::parts;
use crate::context::Context;
use crate::egress::{Egress, FreeTimes, HostPorts};
use crate::frame::{Frame, FrameKind, Order, event_kind};
use crate::network::Network;
use crate::node::Node;
use crate::observer::Observer;
use crate::prefetch::{prefetch, prefetch_lines};
use anabranch_base::{HostId, LinkId, NodeId, QpId, Time};
#[cfg(test)]
use anabranch_proto::transport::AnySender;
use anabranch_proto::transport::{AnyReceiver, CachedState, PayloadRange};
use anabranch_proto::{IntStack, Packet, Repr};
use anabranch_workload::Done;
use classes::HostClasses;
use ports::SeveralPorts;
use pulls::Pulls;
use reception::Reception;
use round::{Round, SenderSlot};
use stats::stats;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use timers::Ticks;

pub use stats::{QpStats, Totals};

/// The index of an endpoint that does not exist yet.
const NOT_OPENED: u32 = u32::MAX;
/// The index of an endpoint whose queue pair is done.
const DONE: u32 = u32::MAX - 1;

/// The index in `timers` that stands for the host's pull pacer. No queue pair has this number.
const PULLS: u32 = u32::MAX;
/// The index in `timers` that stands for the reception of a host that is a slow receiver or storms with pauses.
const RECEPTION: u32 = u32::MAX - 1;

/// The number of cache lines at the beginning of a sender that are prefetched.
const SENDER_LINES: usize = 8;

/// The number of the only port of most hosts.
const PORT: u16 = 0;

pub struct Host {
    id: HostId,
    egress: Egress<HostPorts>,
    several: Option<Box<SeveralPorts>>,
    outgoing: Vec<Outgoing>,
    incoming: Vec<Incoming>,
    senders: Vec<SenderSlot>,
    receivers: Vec<AnyReceiver>,
    free_senders: Vec<u32>,
    free_receivers: Vec<u32>,
    /// The receivers whose senders are done, sorted by time. Each entry has the time at which the receiver ends and its
    /// index in `incoming`.
    closing_receivers: VecDeque<(Time, u32)>,
    round: Round,
    /// The timers of queue pairs, of the pull pacer and of the reception. Each entry has a time and an index in
    /// `outgoing`, [`PULLS`] or [`RECEPTION`].
    timers: BinaryHeap<Reverse<(Time, u32)>>,
    /// The ticks and the random delays of timeouts; none if timers are exact.
    ticks: Option<Box<Ticks>>,
    /// The next of these events: a timer, the start of a message, or the end of a step.
    next_call: Order,
    /// The number of posted messages that have a start time.
    started: usize,
    /// Counters of the queue pairs that are done.
    totals: Totals,
    /// The number of packets that closed receivers had received for the first time.
    fresh_of_closed: u64,
    /// The running steps. Each entry has the time at which a step ends, and the number of the step.
    steps: BinaryHeap<Reverse<(Time, u32)>>,
    /// The time at which each processor becomes free.
    processors: BTreeMap<u32, Time>,
    /// For each traffic class and destination, the state of the queue pair that finished last, if the next queue pair
    /// inherits that state.
    cached_states: BTreeMap<(u8, HostId), CachedState>,
    pulls: Option<Box<Pulls>>,
    reception: Option<Box<Reception>>,
    classes: Option<Box<HostClasses>>,
    /// Whether `reception` or `classes` is set. A NIC with one port then takes the slow path ([`Host::serve_special`]).
    is_special: bool,
}

/// A queue pair on which a host sends.
struct Outgoing {
    qp: QpId,
    /// The index in `senders` of the queue pair's sender, [`NOT_OPENED`] or [`DONE`].
    index: u32,
    /// Messages, or parts of messages, that are not acknowledged yet, posted or not. One more is counted if the queue
    /// pair stays open until the end of the run.
    messages_left: u32,
    /// The statistics of the queue pair once it is done.
    stats: QpStats,
}

/// A queue pair on which a host receives.
struct Incoming {
    /// The index in `receivers` of the queue pair's receiver, [`NOT_OPENED`] or [`DONE`].
    index: u32,
    /// The number of the telemetry record that waits for an ACK, or 0.
    telemetry: u32,
    /// The port at which the last packet of the queue pair arrived.
    port: u16,
}

impl Node for Host {
    fn node(&self) -> NodeId {
        self.id.into()
    }

    #[inline]
    fn next(&self) -> Order {
        self.egress.free_times.first().min(self.next_call)
    }

    #[inline]
    fn run_next<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        if self.egress.free_times.first().time() == at.now {
            let port = self.egress.free_times.pop();
            self.egress.port(port).busy = false;
            match self.several.is_none() {
                true => self.serve(at),
                false => self.serve_port(port, at),
            }
        } else if self.next_call.kind() == event_kind::TIMER {
            let due = self.timers.pop();
            self.reschedule(at.network);
            if let Some(Reverse((_, slot))) = due {
                self.handle_timer(slot, at);
            }
        } else {
            self.handle_post(at);
        }
    }

    #[inline]
    fn arrive<O: Observer>(&mut self, frame: &Frame, stack: Option<&IntStack>, at: &mut Context<'_, O>) {
        match frame.kind {
            FrameKind::Packet if frame.packet.is_for_receiver() => match self.reception.is_none() {
                true => self.handle_data(frame, stack, at),
                false => self.receive(frame, stack, at),
            },
            FrameKind::Packet => self.handle_answer(&frame.packet, stack, at),
            FrameKind::Pause => self.handle_pause(frame.port, frame.paused_class(), true, at),
            FrameKind::Resume => self.handle_pause(frame.port, frame.paused_class(), false, at),
        }
    }
}

impl Host {
    pub fn all(network: &Network<'_>, link_kind_of: impl Fn(LinkId) -> u16) -> Vec<Host> {
        let mut hosts: Vec<Host> =
            (0..network.topology.hosts).map(|host| Host::new(network, HostId(host), &link_kind_of)).collect();
        let split = network.scheme.qps;
        for (connection, ends) in network.workload.qps.iter().enumerate() {
            for part in 0..split {
                let qp = QpId(connection as u32 * split + part);
                let outgoing = &mut hosts[ends.src.index()].outgoing;
                outgoing.push(Outgoing {
                    qp,
                    index: NOT_OPENED,
                    messages_left: 0,
                    stats: QpStats::default(),
                });
                hosts[ends.dst.index()].incoming.push(Incoming {
                    index: NOT_OPENED,
                    telemetry: 0,
                    port: PORT,
                });
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
            host.arm_reception(None, network);
            host.reschedule(network);
        }
        hosts
    }

    fn new(network: &Network<'_>, id: HostId, link_kind_of: impl Fn(LinkId) -> u16) -> Self {
        let ports = network.topology.host_ports(id);
        let reception = Reception::new(network, id).map(Box::new);
        let classes = HostClasses::new(network).map(Box::new);
        Host {
            id,
            egress: Egress::new(network, id.into(), 0, link_kind_of, HostPorts::new(ports)),
            several: (ports > 1).then(|| Box::new(SeveralPorts::new(network, ports))),
            outgoing: Vec::new(),
            incoming: Vec::new(),
            senders: Vec::new(),
            receivers: Vec::new(),
            free_senders: Vec::new(),
            free_receivers: Vec::new(),
            closing_receivers: VecDeque::new(),
            round: Round::EMPTY,
            timers: BinaryHeap::new(),
            ticks: Ticks::new(network, id).map(Box::new),
            next_call: Order::NEVER,
            started: 0,
            totals: Totals::default(),
            fresh_of_closed: 0,
            steps: BinaryHeap::new(),
            processors: BTreeMap::new(),
            cached_states: BTreeMap::new(),
            pulls: Pulls::new(network, id).map(Box::new),
            is_special: reception.is_some() || classes.is_some(),
            reception,
            classes,
        }
    }

    /// Prefetches up to eight cache lines of the host's own fields, before [`prefetch_ends`](Self::prefetch_ends)
    /// reads some of them.
    #[inline]
    pub fn prefetch(&self) {
        prefetch_lines(self, 8);
    }

    /// Prefetches the beginnings of the first sender and of the first receiver. If there is a sender, the first port is
    /// prefetched too.
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

    pub fn egress(&self) -> &Egress<HostPorts> {
        &self.egress
    }

    #[cfg(test)]
    pub fn egress_mut(&mut self) -> &mut Egress<HostPorts> {
        &mut self.egress
    }

    #[cfg(test)]
    pub fn replace_receivers(&mut self, with: impl Fn(AnyReceiver) -> AnyReceiver) {
        self.receivers = std::mem::take(&mut self.receivers).into_iter().map(with).collect();
    }

    #[cfg(test)]
    pub fn replace_senders(&mut self, with: impl Fn(AnySender) -> AnySender) {
        let slots = std::mem::take(&mut self.senders).into_iter();
        self.senders = slots.map(|slot| slot.with_sender(&with)).collect();
    }

    pub fn counters(&self) -> Totals {
        self.open_qps()
            .fold(self.totals, |totals, qp| totals.add(self.senders[qp.index as usize].sender.counters()))
    }

    /// The statistics so far of an outgoing queue pair, without the lost packets. `slot` is its number among the
    /// outgoing queue pairs of the host.
    pub fn qp_stats(&self, slot: u32) -> QpStats {
        let qp = &self.outgoing[slot as usize];
        match qp.index {
            NOT_OPENED | DONE => qp.stats,
            index => stats(&self.senders[index as usize]),
        }
    }

    /// The part of a message that the data packet with this PSN carries. `slot` is the number of the packet's queue
    /// pair among the outgoing ones. None if the queue pair is not open, or if the PSN belongs to no message that is
    /// being sent.
    pub fn payload_range(&self, slot: u32, psn: u32) -> Option<PayloadRange> {
        let sender = self.senders.get(self.outgoing[slot as usize].index as usize)?;
        sender.sender.payload_range(psn)
    }

    /// The number of data packets that the host's receivers have received for the first time.
    pub fn fresh_packets(&self) -> u64 {
        let open_qps = self.incoming.iter().filter(|qp| qp.index < DONE);
        let fresh = open_qps.map(|qp| self.receivers[qp.index as usize].fresh_packets());
        self.fresh_of_closed + fresh.sum::<u64>()
    }

    pub fn waiting_telemetry(&self) -> u64 {
        self.incoming.iter().filter(|qp| qp.telemetry > 0).count() as u64
    }

    fn open_qps(&self) -> impl Iterator<Item = &Outgoing> {
        self.outgoing.iter().filter(|qp| qp.index < DONE)
    }

    // With two callers, the compiler would not inline this function, which handles every data packet.
    #[inline(always)]
    fn handle_data<O: Observer>(&mut self, frame: &Frame, stack: Option<&IntStack>, at: &mut Context<'_, O>) {
        let packet = &frame.packet;
        at.counters.consumed += 1;
        while let Some((_, slot)) = self.closing_receivers.pop_front_if(|(time, _)| *time <= at.now) {
            self.close_receiver(slot);
        }
        let slot = at.network.slots(packet.qp)[1] as usize;
        let index = match self.incoming[slot].index {
            // The packet is a very late duplicate. Its sender is done.
            DONE => return,
            NOT_OPENED => self.open_receiver(slot, packet.qp, at.network),
            index => index,
        } as usize;
        self.incoming[slot].port = frame.port;
        at.observer.delivered(packet.qp, at.now, packet);
        if self.several.is_some() {
            self.show_ports(index, at);
        }
        let mut delivered = self.receivers[index].handle_packet(at.now, packet);
        if let Some(stack) = stack {
            self.hold_for_ack(slot, stack);
        }
        while let Some(answer) = self.receivers[index].poll_transmit() {
            self.send_answer((slot, frame.port), answer, at);
        }
        if let Some(pulls) = &mut self.pulls {
            pulls.observe(at.now, packet);
            self.request_pull(slot, index, at.now);
        }
        while let Some(message) = delivered {
            if !self.end_message(message, packet.qp, Done::Delivered, at) {
                return;
            }
            delivered = self.receivers[index].poll_delivered();
        }
    }

    #[inline]
    fn handle_answer<O: Observer>(
        &mut self,
        packet: &Packet,
        stack: Option<&IntStack>,
        at: &mut Context<'_, O>,
    ) {
        at.counters.consumed += 1;
        if let Repr::Program { .. } = packet.repr {
            // The packet is for a switch program on the path, which did not consume it. Hosts ignore such packets.
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
        self.make_ready(slot, index, at.network);
        while let Some(message) = self.senders[index as usize].sender.poll_acknowledged() {
            // The part is counted before the message ends. If the end opens another queue pair to the same host, that
            // queue pair can then inherit the state of this one.
            if !self.finish_part(slot, index, at)
                || !self.end_message(message, packet.qp, Done::Acknowledged, at)
            {
                return;
            }
        }
        self.kick(at);
        if self.outgoing[slot as usize].index == index && self.senders[index as usize].sender.advances_timer()
        {
            self.arm(slot, index, at.now);
        }
    }
}

#[inline]
fn observe_acknowledgement<O: Observer>(packet: &Packet, at: &mut Context<'_, O>) {
    let (sent_at, marked) = match packet.repr {
        Repr::Ack { sent_at, marked, .. } => (sent_at, marked),
        Repr::Sack { sent_at, cause, .. } | Repr::UetAck { sent_at, cause, .. } => (sent_at, cause.marked()),
        _ => return,
    };
    at.observer.acknowledged(packet.qp, at.now, at.now.since(sent_at), marked);
}
