//! Hosts: NICs with their queue pairs.
//!
//! A NIC sends control packets first, then serves its queue pairs round robin, one packet each (with DCP one round
//! each), subject to window, pacing and PFC.
//!
//! A sender exists from its queue pair's first message until its last acknowledgement. A receiver exists from its first
//! packet until a base RTT after the sender is done; it answers late duplicates until then, and the host discards them
//! after that. So memory grows with the number of concurrent flows.

mod endpoints;
mod injected;
mod nic;
mod ports;
mod posting;
mod pulls;
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
use anabranch_proto::transport::{AnyReceiver, CachedState};
use anabranch_proto::{IntStack, Packet, Repr};
use anabranch_workload::Done;
use ports::SeveralPorts;
use pulls::Pulls;
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

/// The entry of the host's pull pacer in `timers`; no queue pair has this number.
const PULLS: u32 = u32::MAX;

/// Cache lines at the beginning of a sender that a packet touches; the order of its fields puts the rest behind.
const SENDER_LINES: usize = 8;

/// The only port of most hosts.
const PORT: u16 = 0;

/// The whole state of a host.
pub struct Host {
    id: HostId,
    egress: Egress<HostPorts>,
    /// The choice among the ports of its NIC, where it has several.
    several: Option<Box<SeveralPorts>>,
    /// The queue pairs on which it sends.
    outgoing: Vec<Outgoing>,
    /// The queue pairs on which it receives.
    incoming: Vec<Incoming>,
    senders: Vec<SenderSlot>,
    receivers: Vec<AnyReceiver>,
    free_senders: Vec<u32>,
    free_receivers: Vec<u32>,
    /// Receivers whose senders are done: the time at which each ends, and its place in `incoming`; by time.
    closing_receivers: VecDeque<(Time, u32)>,
    round: Round,
    /// Timers of queue pairs: time, and index in `outgoing`.
    timers: BinaryHeap<Reverse<(Time, u32)>>,
    /// The ticks at which timeouts fire; none where timers are exact.
    ticks: Option<Box<Ticks>>,
    /// The next timer, start of a message or end of a step.
    next_call: Order,
    /// The number of timed messages that have been posted.
    started: usize,
    /// Counters of the queue pairs that are done.
    totals: Totals,
    /// Packets that closed receivers had received for the first time.
    fresh_of_closed: u64,
    /// Running steps: the time of their end, and their number.
    steps: BinaryHeap<Reverse<(Time, u32)>>,
    /// By processor: the time at which it is free.
    processors: BTreeMap<u32, Time>,
    /// By destination: state of the connection that finished last, where the next one inherits it.
    cached_states: BTreeMap<HostId, CachedState>,
    /// The pacer of pulls, where receivers grant credit.
    pulls: Option<Box<Pulls>>,
}

/// A queue pair on which a host sends.
struct Outgoing {
    qp: QpId,
    /// Its index among the senders.
    index: u32,
    /// Messages that are not acknowledged yet, posted or not.
    messages_left: u32,
    /// Its statistics once it is done.
    stats: QpStats,
}

/// A queue pair on which a host receives.
struct Incoming {
    /// Its index among the receivers.
    index: u32,
    /// The record of telemetry that waits for an ACK, or 0.
    telemetry: u32,
    /// The port at which its last packet arrived.
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
            FrameKind::Packet if frame.packet.is_for_receiver() => self.handle_data(frame, stack, at),
            FrameKind::Packet => self.handle_answer(&frame.packet, stack, at),
            FrameKind::Pause => self.handle_pause(frame.port, true, at),
            FrameKind::Resume => self.handle_pause(frame.port, false, at),
        }
    }
}

impl Host {
    /// The hosts of `network`, before the first event.
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
            host.reschedule(network);
        }
        hosts
    }

    fn new(network: &Network<'_>, id: HostId, link_kind_of: impl Fn(LinkId) -> u16) -> Self {
        let ports = network.topology.host_ports(id);
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
            pulls: Pulls::new(network).map(Box::new),
        }
    }

    /// Prefetches the host itself, which [`prefetch_ends`](Self::prefetch_ends) reads.
    #[inline]
    pub fn prefetch(&self) {
        prefetch_lines(self, 8);
    }

    /// Prefetches the beginnings of the first sender and receiver, which most events of a host touch.
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

    /// The port and its queues.
    pub fn egress(&self) -> &Egress<HostPorts> {
        &self.egress
    }

    /// The port and its queues, for tests that damage them.
    #[cfg(test)]
    pub fn egress_mut(&mut self) -> &mut Egress<HostPorts> {
        &mut self.egress
    }

    /// Replaces each receiver.
    #[cfg(test)]
    pub fn replace_receivers(&mut self, with: impl Fn(AnyReceiver) -> AnyReceiver) {
        self.receivers = std::mem::take(&mut self.receivers).into_iter().map(with).collect();
    }

    /// Replaces each sender.
    #[cfg(test)]
    pub fn replace_senders(&mut self, with: impl Fn(AnySender) -> AnySender) {
        let slots = std::mem::take(&mut self.senders).into_iter();
        self.senders = slots.map(|slot| slot.with_sender(&with)).collect();
    }

    /// Counters over all its queue pairs.
    pub fn counters(&self) -> Totals {
        self.open_qps()
            .fold(self.totals, |totals, qp| totals.add(self.senders[qp.index as usize].sender.counters()))
    }

    /// The statistics so far of an outgoing queue pair of the host, by its number among these.
    pub fn qp_stats(&self, slot: u32) -> QpStats {
        let qp = &self.outgoing[slot as usize];
        match qp.index {
            NOT_OPENED | DONE => qp.stats,
            index => stats(&self.senders[index as usize]),
        }
    }

    /// Data packets that its receivers have received for the first time: progress as applications see it.
    pub fn fresh_packets(&self) -> u64 {
        let open_qps = self.incoming.iter().filter(|qp| qp.index < DONE);
        let fresh = open_qps.map(|qp| self.receivers[qp.index as usize].fresh_packets());
        self.fresh_of_closed + fresh.sum::<u64>()
    }

    /// Records of telemetry that wait for an ACK.
    pub fn waiting_telemetry(&self) -> u64 {
        self.incoming.iter().filter(|qp| qp.telemetry > 0).count() as u64
    }

    fn open_qps(&self) -> impl Iterator<Item = &Outgoing> {
        self.outgoing.iter().filter(|qp| qp.index < DONE)
    }

    /// Handles a packet for a receiver.
    #[inline]
    fn handle_data<O: Observer>(&mut self, frame: &Frame, stack: Option<&IntStack>, at: &mut Context<'_, O>) {
        let packet = &frame.packet;
        at.counters.consumed += 1;
        while let Some((_, slot)) = self.closing_receivers.pop_front_if(|(time, _)| *time <= at.now) {
            self.close_receiver(slot);
        }
        let slot = at.network.slots(packet.qp)[1] as usize;
        let index = match self.incoming[slot].index {
            // A very late duplicate: its sender is done.
            DONE => return,
            NOT_OPENED => self.open_receiver(slot, packet.qp, at.network),
            index => index,
        } as usize;
        self.incoming[slot].port = frame.port;
        at.observer.delivered(packet.qp, at.now, packet);
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

    /// Handles a packet for a sender.
    #[inline]
    fn handle_answer<O: Observer>(
        &mut self,
        packet: &Packet,
        stack: Option<&IntStack>,
        at: &mut Context<'_, O>,
    ) {
        at.counters.consumed += 1;
        if let Repr::Program { .. } = packet.repr {
            // A switch program on the path would have consumed it; hosts ignore it.
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
            // The part is counted first, since the end of a message may post more to this queue pair.
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
