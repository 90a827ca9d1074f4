//! Switches: route, admit, queue, mark.

mod path_map;
mod pfc;
mod program;
mod shared;
mod tors;
mod wrr;

use crate::context::{Context, Failure};
use crate::egress::{Egress, Frees, Lines, trimmed, waits_with_control};
use crate::frame::{Frame, Order, What, kind};
use crate::network::Network;
use crate::node::Node;
use crate::observer::Observer;
use crate::prefetch::prefetch;
use crate::queue::Taken;
use anabranch_base::{LinkId, NodeId, Purpose, Stream, Time, stream};
use anabranch_fabric::Routing;
use anabranch_proto::{IntStack, Packet};
use pfc::{Admission, SwitchPfc};
use program::Beyond;
use shared::SharedQueues;

pub use pfc::{PfcError, PfcPlan, check_headrooms};
pub use program::{ProgramError, ProgramPlan, program_counters};
pub use wrr::{WeightError, weights};

/// A switch, with all its state.
pub struct Switch {
    /// Its number among the switches.
    index: u32,
    egress: Egress<Lines>,
    /// The lossless class, where there is one.
    pfc: Option<Box<SwitchPfc>>,
    /// The buffer that its data queues share, where they drop or trim and share one.
    shared: Option<Box<SharedQueues>>,
    /// One of the two buffers above is in use, so queued data must be charged.
    counts: bool,
    /// What it does beyond ECMP.
    beyond: Option<Box<Beyond>>,
    /// Per port: the random stream of its ECN marking.
    marks: Vec<Option<Box<Stream>>>,
    /// Packets that it ECN-marked.
    marked: u64,
    /// Ports that have just been paused, where an observer counts victim flows.
    watched_pauses: Vec<u16>,
}

/// What the switches of a run are built from.
pub struct SwitchPlan {
    /// The lossless class.
    pub pfc: Option<PfcPlan>,
    /// What they do beyond ECMP.
    pub program: Option<ProgramPlan>,
    /// By switch: the WRR weight of its control queues, in 2^-16ths; empty where they have strict priority.
    pub weights: Vec<u32>,
}

impl Node for Switch {
    fn node(&self) -> NodeId {
        self.egress.node
    }

    #[inline]
    fn next(&self) -> Order {
        let own = self.beyond.as_ref().map_or(Order::NEVER, |beyond| beyond.next());
        self.egress.frees.first().min(own)
    }

    #[inline]
    fn run_next<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        if self.egress.frees.first().time() == at.now {
            let port = self.egress.frees.pop();
            self.egress.port(port).wakes = false;
            self.serve(port, at);
        } else if self.next().kind() == kind::TIMER {
            self.handle_program_timer(at);
        } else {
            self.handle_notice(at);
        }
    }

    #[inline]
    fn arrive<O: Observer>(&mut self, frame: &Frame, stack: Option<&IntStack>, at: &mut Context<'_, O>) {
        match frame.what {
            What::Packet => {
                if let (Some(stack), Some(telemetry)) = (stack, &mut self.egress.telemetry) {
                    let telemetry = telemetry.held.keep(stack);
                    self.handle_packet(&Frame { telemetry, ..*frame }, at);
                } else {
                    self.handle_packet(frame, at);
                }
            }
            What::Pause => self.handle_pause(frame.port, true, at),
            What::Resume => self.handle_pause(frame.port, false, at),
        }
    }
}

impl Switch {
    /// The switch with this number, before its first event.
    pub fn new(
        network: &Network<'_>,
        plan: &mut SwitchPlan,
        index: u32,
        kind_of: impl Fn(LinkId) -> u16,
    ) -> Self {
        let node = NodeId(network.topology.hosts + index);
        let weight = plan.weights.get(index as usize).copied().unwrap_or(0);
        let egress = Egress::new(network, node, weight, kind_of, Lines::default());
        let pfc = plan.pfc.as_ref().map(|plan| Box::new(plan.switch(index, egress.ports.len())));
        let shared = SharedQueues::of(&network.scheme.fabric).map(Box::new);
        Switch {
            index,
            counts: pfc.is_some() || shared.is_some(),
            pfc,
            shared,
            beyond: plan.program.as_mut().map(|plan| Box::new(plan.switch(network, index))),
            marks: vec![None; egress.ports.len()],
            marked: 0,
            watched_pauses: Vec::new(),
            egress,
        }
    }

    /// Loads what its packets will look up: its ports, and its row of the routing table.
    #[inline]
    pub fn prefetch(&self, routing: &Routing) {
        self.egress.ports.iter().for_each(prefetch);
        routing.row(self.index as usize).chunks(16).map(|line| &line[0]).for_each(prefetch);
    }

    /// Its ports and queues.
    pub fn egress(&self) -> &Egress<Lines> {
        &self.egress
    }

    /// The same, to be damaged.
    #[cfg(test)]
    pub fn egress_mut(&mut self) -> &mut Egress<Lines> {
        &mut self.egress
    }

    #[inline(always)]
    fn handle_packet<O: Observer>(&mut self, frame: &Frame, at: &mut Context<'_, O>) {
        if self.beyond.is_some() {
            self.pass(frame, at);
            return;
        }
        match at.network.route(at.routing, self.index, &frame.packet) {
            Some(port) => {
                at.observer.offered(self.egress.port(port).link, at.now, frame.packet.wire_bytes);
                self.forward(port, frame, at);
            }
            None => self.lose(frame, at),
        }
    }

    /// There is no route: the packet counts as lost on a link.
    #[cold]
    fn lose<O>(&mut self, frame: &Frame, at: &mut Context<'_, O>) {
        at.counters.link_losses += 1;
        at.lose_payload(&frame.packet);
        self.egress.forget(frame.telemetry);
    }

    /// Sends a packet by `port`, or queues it there, or trims or drops it.
    #[inline]
    fn forward<O: Observer>(&mut self, port: u16, frame: &Frame, at: &mut Context<'_, O>) {
        let limits = &at.network.queues;
        let control = waits_with_control(&frame.packet, limits);
        let out = &self.egress.ports[usize::from(port)];
        if !out.wakes && (!out.paused || control) {
            if !control {
                at.backlogs.found_none();
            }
            self.send(port, frame, at);
            return;
        }
        if !control {
            at.backlogs.found(out.queued());
        }
        if self.counts && !control && !self.charge(port, frame, at) {
            self.refuse(port, frame, at);
            return;
        }
        let out = &self.egress.ports[usize::from(port)];
        let (held, limit) =
            if control { (out.control_bytes, limits.control) } else { (out.data_bytes, limits.data) };
        if u64::from(held) + u64::from(frame.packet.wire_bytes) <= u64::from(limit) {
            self.egress.enqueue(port, frame, control, at);
        } else {
            self.refuse(port, frame, at);
        }
    }

    /// A packet that finds no room is trimmed, or dropped.
    #[cold]
    #[inline(never)]
    fn refuse<O: Observer>(&mut self, port: u16, frame: &Frame, at: &mut Context<'_, O>) {
        let limits = &at.network.queues;
        let Some(header) = trimmed(&frame.packet, limits.trimmed_bytes) else {
            self.egress.drop_packet(port, frame, at);
            return;
        };
        at.counters.trims += 1;
        at.lose_payload(&frame.packet);
        self.egress.forget(frame.telemetry);
        let header = Frame::new(header, frame.port);
        if self.egress.port(port).control_bytes + u32::from(header.packet.wire_bytes) > limits.control {
            self.egress.drop_packet(port, &header, at);
        } else {
            self.egress.enqueue(port, &header, true, at);
        }
    }

    /// Puts a packet on a link, which is free, by way of the egress of the switch's program, if it has one.
    #[inline]
    fn send<O: Observer>(&mut self, port: u16, frame: &Frame, at: &mut Context<'_, O>) {
        if self.has_program() {
            self.pass_out(port, frame, at);
        } else {
            self.egress.transmit(port, frame, at);
        }
    }

    /// A port is free: sends the next packet, and ECN-marks data by the queue length that it leaves behind.
    #[inline]
    fn serve<O: Observer>(&mut self, port: u16, at: &mut Context<'_, O>) {
        if self.egress.ports[usize::from(port)].pause_pending {
            self.send_pause(port, at);
            return;
        }
        let Some(taken) = self.dequeue(port, at) else { return };
        let out = &self.egress.ports[usize::from(port)];
        let (queued, marking) = (out.data_bytes, &at.network.kinds[usize::from(out.kind)].marking);
        if queued > marking.kmin && !self.egress.pool.frame(&taken).packet.is_control() {
            let (seed, link) = (at.network.seed, out.link);
            let random = || {
                let new = || Box::new(stream(seed, u64::from(link.0), Purpose::EcnMarking));
                self.marks[usize::from(port)].get_or_insert_with(new).next_u32()
            };
            if marking.marks(queued, random) {
                self.egress.pool.frame_mut(&taken).packet.marked = true;
                at.counters.ecn_marks += 1;
                self.marked += 1;
            }
        }
        if self.has_program() {
            let frame = self.egress.pool.take(taken);
            self.pass_out(port, &frame, at);
        } else {
            self.egress.transmit_taken(port, taken, at);
        }
    }

    /// Takes the next packet that may go out by `port`, and releases its part of a shared buffer.
    #[inline]
    fn dequeue<O: Observer>(&mut self, port: u16, at: &mut Context<'_, O>) -> Option<Taken> {
        let taken = self.egress.dequeue(port, at)?;
        if self.counts {
            let frame = self.egress.pool.frame(&taken);
            if !waits_with_control(&frame.packet, &at.network.queues) {
                let (from, bytes) = (frame.port, frame.packet.wire_bytes);
                self.release(from, bytes, at);
            }
        }
        Some(taken)
    }

    /// The switch has gone down by the fault of this number: it loses what its queues hold.
    pub fn purge<O: Observer>(&mut self, fault: u16, at: &mut Context<'_, O>) {
        for port in 0..self.egress.ports.len() as u16 {
            self.egress.unpause(port, at);
            while let Some(taken) = self.dequeue(port, at) {
                let frame = self.egress.pool.take(taken);
                at.counters.link_losses += 1;
                at.lose_payload(&frame.packet);
                let hits = at.effects.hits.of(fault);
                hits.lost += 1;
                hits.data += u64::from(!frame.packet.is_control());
                self.egress.forget(frame.telemetry);
            }
        }
    }

    /// A pause frame for the data class of `port` came in, or its pause state is reset after a fault.
    pub fn handle_pause<O: Observer>(&mut self, port: u16, stop: bool, at: &mut Context<'_, O>) {
        if stop {
            if self.egress.pause(port, at) && at.observer.wants_victims(self.egress.port(port).link) {
                self.watched_pauses.push(port);
            }
        } else if self.egress.unpause(port, at) && self.egress.port(port).has_work() {
            if self.egress.port(port).wakes {
                return;
            }
            self.serve(port, at);
        }
    }

    /// Charges data that is to wait at `port` to the buffer that all ports share; false when there is no room, which
    /// fails the run in a lossless class.
    // Not inlined, so that its callers stay small for fabrics without such a buffer.
    #[inline(never)]
    fn charge<O: Observer>(&mut self, port: u16, frame: &Frame, at: &mut Context<'_, O>) -> bool {
        let bytes = frame.packet.wire_bytes;
        match &mut self.shared {
            Some(shared) => shared.admit(self.egress.ports[usize::from(port)].data_bytes, bytes),
            None => self.charge_lossless(frame.port, bytes, at),
        }
    }

    /// Charges `bytes` bytes of data that came in by `from` to the lossless buffer; false when there is no room, which
    /// fails the run.
    fn charge_lossless<O: Observer>(&mut self, from: u16, bytes: u16, at: &mut Context<'_, O>) -> bool {
        let Some(pfc) = &mut self.pfc else { return true };
        match pfc.admit(from, bytes) {
            Admission::Fits => true,
            Admission::Pause => {
                if let Some(pending) = pfc.tell(from, true) {
                    self.set_pause_pending(from, pending, at);
                }
                true
            }
            Admission::Overflow => {
                let (headroom, shared) = pfc.of_port(from);
                let topology = at.network.topology;
                let link = topology.link_name(topology.reverse(self.egress.port(from).link));
                let back = self.egress.port(from).link;
                let lately = Time(at.now.0.saturating_sub(at.network.facts.base_rtt.0));
                let was_up = |time| at.network.faults.is_up(back, time);
                let instead = match was_up(at.now) && was_up(lately) {
                    true => "raise fabric.pfc.headroom, or leave it out".to_owned(),
                    false => format!(
                        "{} was down, so that no pause frame got through: let the fault have both_directions = true",
                        topology.link_name(back)
                    ),
                };
                let what = format!(
                    "a packet of {bytes} B from {link} found its headroom of {headroom} B full ({shared} B of shared buffer); {instead}"
                );
                at.effects.fail(at.now, self.egress.node, Failure::LosslessDrop(what));
                false
            }
        }
    }

    /// Releases what a data packet was charged with.
    #[inline(never)]
    fn release<O: Observer>(&mut self, from: u16, bytes: u16, at: &mut Context<'_, O>) {
        if let Some(shared) = &mut self.shared {
            shared.release(bytes);
        }
        let Some(pfc) = &mut self.pfc else { return };
        if pfc.release(from, bytes)
            && let Some(pending) = pfc.tell(from, false)
        {
            self.set_pause_pending(from, pending, at);
        }
    }

    /// Sets whether a pause frame is pending at `port`. A pending one goes out at once, or when the packet in transmission
    /// is done.
    fn set_pause_pending<O: Observer>(&mut self, port: u16, pending: bool, at: &mut Context<'_, O>) {
        let out = self.egress.port(port);
        out.pause_pending = pending;
        if pending && !out.wakes {
            self.send_pause(port, at);
        }
    }

    /// Sends the pause frame that is pending at `port`, which is free.
    fn send_pause<O: Observer>(&mut self, port: u16, at: &mut Context<'_, O>) {
        let Some(pfc) = &mut self.pfc else { return };
        let stop = pfc.said(port);
        self.egress.transmit_pause(port, stop, at);
    }

    /// The reverse link of `port` went down or came up: returns whether the peer is paused from now on. Otherwise a
    /// lost XON would leave it paused for ever, and a lost XOFF would overflow the headroom.
    ///
    /// Done between two windows, at the time of the fault: after all events before that time and before those at it.
    /// Faults of the same time come in the order of the agenda, and the other end hears at once, before its own events.
    pub fn settle_pause(&mut self, port: u16, up: bool) -> bool {
        let Some(pfc) = &mut self.pfc else { return false };
        let stop = pfc.settle(port, up);
        self.egress.port(port).pause_pending = false;
        stop
    }

    /// Bytes charged to its shared buffer, and those that should be.
    pub fn counted_bytes(&self) -> Option<(u64, u64)> {
        let queued = || self.egress.ports.iter().map(|port| u64::from(port.data_bytes)).sum::<u64>();
        if let Some(shared) = &self.shared {
            return Some((shared.held(), queued()));
        }
        let pfc = self.pfc.as_ref()?;
        Some((pfc.held(), queued() + self.beyond.as_ref().map_or(0, |beyond| beyond.held().1)))
    }

    /// Packets that its program keeps.
    pub fn held(&self) -> u64 {
        self.beyond.as_ref().map_or(0, |beyond| beyond.held().0)
    }

    /// Packets that it marked.
    pub fn marked(&self) -> u64 {
        self.marked
    }

    /// Ports that have been paused since the last call, of those whose [victims](Self::victims) are wanted.
    pub fn take_watched_pauses(&mut self) -> Vec<u16> {
        std::mem::take(&mut self.watched_pauses)
    }

    /// Victim flows (queue pairs) of a pause at `port`: their data is blocked there, although their egress port at the next
    /// hop, the switch `next`, is not paused and has no data queued.
    pub fn victims(&self, port: u16, next: &Switch, network: &Network<'_>, routing: &Routing) -> u32 {
        let goes_on = |packet: &Packet| {
            network.route(routing, next.index, packet).is_some_and(|port| {
                let out = &next.egress.ports[usize::from(port)];
                out.data.is_empty() && !out.paused
            })
        };
        let waiting = self.egress.ports[usize::from(port)].data.iter(&self.egress.pool);
        let mut held: Vec<u32> =
            waiting.filter(|frame| goes_on(&frame.packet)).map(|frame| frame.packet.qp.0).collect();
        held.sort_unstable();
        held.dedup();
        held.len() as u32
    }
}
