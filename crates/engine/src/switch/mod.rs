//! Switches: routing, admission, queues and ECN marking.

mod by_port;
mod full;
mod path_map;
mod pfc;
mod plain_port;
mod program;
mod program_error;
mod shared;
mod shortest;
mod tors;
mod wrr;

use crate::context::{Context, Failure};
use crate::egress::{DelayQueues, Egress, FreeTimes, PortTimes, waits_with_control};
use crate::frame::{Frame, FrameKind, Order, event_kind};
use crate::network::Network;
use crate::node::Node;
use crate::observer::Observer;
use crate::prefetch::prefetch;
use crate::queue::SlotHandle;
use anabranch_base::{LinkId, NodeId, Purpose, Stream, Time};
use anabranch_fabric::Routing;
use anabranch_proto::{IntStack, Packet};
use pfc::{Admission, SwitchPfc};
use plain_port::PortStream;
use program::Extensions;
use shared::SharedQueues;

pub use by_port::PortScratch;
pub use pfc::{PfcError, PfcPlan, check_headrooms};
pub use program::{ProgramPlan, program_counters};
pub use program_error::ProgramError;
pub use wrr::{WeightError, weights};

/// The whole state of a switch.
pub struct Switch {
    /// The number of the switch among the switches.
    index: u32,
    egress: Egress<DelayQueues>,
    /// Where ports run by themselves, at least in some windows: the times at which they become free.
    by_port: Option<Box<PortTimes>>,
    /// PFC accounting of the lossless class, where there is one.
    pfc: Option<Box<SwitchPfc>>,
    /// The shared buffer of data queues that drop or trim, where there is one.
    shared: Option<Box<SharedQueues>>,
    /// Queued data is charged, because one of the two buffers above is in use.
    counts: bool,
    /// The program, or routing other than ECMP, where there is any.
    extensions: Option<Box<Extensions>>,
    /// The random streams for the coins of full queues, by port.
    coins: Vec<Option<Box<Stream>>>,
    /// The random streams for ECN marking, by port.
    marks: Vec<Option<Box<Stream>>>,
    /// The number of packets that it has ECN-marked.
    marked: u64,
    /// Ports that have just been paused, where an observer counts victim flows.
    watched_pauses: Vec<u16>,
}

/// The inputs for the switches of a run.
pub struct SwitchPlan {
    /// The lossless class.
    pub pfc: Option<PfcPlan>,
    /// Programs, and routing other than ECMP.
    pub program: Option<ProgramPlan>,
    /// Whether switches whose ports share nothing may run each port by itself.
    pub by_port: bool,
    /// By switch: the WRR weight of its control queues in 2^-16ths; empty where they have strict priority.
    pub weights: Vec<u32>,
}

impl Node for Switch {
    fn node(&self) -> NodeId {
        self.egress.node
    }

    #[inline]
    fn next(&self) -> Order {
        let own = self.extensions.as_ref().map_or(Order::NEVER, |extensions| extensions.next());
        self.egress.free_times.first().min(own)
    }

    #[inline]
    fn run_next<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        if self.egress.free_times.first().time() == at.now {
            let port = self.egress.free_times.pop();
            self.egress.port(port).busy = false;
            self.serve(port, at);
        } else if self.next().kind() == event_kind::TIMER {
            self.handle_program_timer(at);
        } else {
            self.handle_notice(at);
        }
    }

    #[inline]
    fn arrive<O: Observer>(&mut self, frame: &Frame, stack: Option<&IntStack>, at: &mut Context<'_, O>) {
        match frame.kind {
            FrameKind::Packet => {
                if let (Some(stack), Some(telemetry)) = (stack, &mut self.egress.telemetry) {
                    let telemetry = telemetry.records.insert(stack);
                    self.handle_packet(&Frame { telemetry, ..*frame }, at);
                } else {
                    self.handle_packet(frame, at);
                }
            }
            FrameKind::Pause => self.handle_pause(frame.port, true, at),
            FrameKind::Resume => self.handle_pause(frame.port, false, at),
        }
    }
}

impl Switch {
    /// The switch with this number, before its first event.
    pub fn new(
        network: &Network<'_>,
        plan: &mut SwitchPlan,
        index: u32,
        link_kind_of: impl Fn(LinkId) -> u16,
    ) -> Self {
        let node = NodeId(network.topology.hosts + index);
        let weight = plan.weights.get(index as usize).copied().unwrap_or(0);
        let ports = network.topology.links_of(node).len();
        let pfc = plan.pfc.as_ref().map(|plan| Box::new(plan.switch(index, ports)));
        let shared = SharedQueues::of(&network.scheme.fabric).map(Box::new);
        let extensions = plan.program.as_mut().map(|plan| Box::new(plan.switch(network, index)));
        let is_by_packet =
            extensions.as_ref().is_none_or(|extensions| extensions.is_by_packet(network, index));
        let by_port = (plan.by_port && is_by_packet).then(|| Box::new(PortTimes::new(ports)));
        let egress = Egress::new(network, node, weight, link_kind_of, DelayQueues::default());
        Switch {
            index,
            by_port,
            counts: pfc.is_some() || shared.is_some(),
            pfc,
            shared,
            extensions,
            coins: vec![None; egress.ports.len()],
            marks: vec![None; egress.ports.len()],
            marked: 0,
            watched_pauses: Vec::new(),
            egress,
        }
    }

    /// Its next own event, whether its ports run by themselves or not.
    pub fn next_event(&self) -> Order {
        match self.by_port.as_ref().map_or(Time::NEVER, |times| times.first()) {
            Time::NEVER => self.next(),
            first => Order::new(first, event_kind::FREE),
        }
    }

    /// Prefetches its ports and its row of the routing table.
    #[inline]
    pub fn prefetch(&self, routing: &Routing) {
        self.egress.ports.iter().for_each(prefetch);
        routing.row(self.index as usize).chunks(16).map(|line| &line[0]).for_each(prefetch);
    }

    /// Its ports and queues.
    pub fn egress(&self) -> &Egress<DelayQueues> {
        &self.egress
    }

    /// The ports and their queues, for tests that damage them.
    #[cfg(test)]
    pub fn egress_mut(&mut self) -> &mut Egress<DelayQueues> {
        &mut self.egress
    }

    /// Routes and forwards a packet.
    #[inline(always)]
    fn handle_packet<O: Observer>(&mut self, frame: &Frame, at: &mut Context<'_, O>) {
        if self.extensions.is_some() {
            self.pass(frame, at);
            return;
        }
        match at.network.route(at.routing, self.index, &frame.packet) {
            Some(port) => {
                at.observer.offered(self.egress.port(port).link, at.now, frame.packet.wire_bytes);
                self.forward(port, frame, at);
            }
            None => self.drop_unroutable(frame, at),
        }
    }

    /// Drops a packet without a route, which counts as lost on a link.
    #[cold]
    fn drop_unroutable<O>(&mut self, frame: &Frame, at: &mut Context<'_, O>) {
        at.counters.link_losses += 1;
        at.note_lost_payload(&frame.packet);
        self.egress.release_telemetry(frame.telemetry);
    }

    /// Sends a packet by `port`, queues it there, trims it or drops it.
    #[inline]
    fn forward<O: Observer>(&mut self, port: u16, frame: &Frame, at: &mut Context<'_, O>) {
        let limits = &at.network.queues;
        let control = waits_with_control(&frame.packet, limits);
        let out = &self.egress.ports[usize::from(port)];
        if !out.busy && (!out.paused || control) {
            if !control {
                at.backlogs.record_empty();
            }
            self.send(port, frame, at);
            return;
        }
        if !control {
            at.backlogs.record(out.queued());
        }
        if self.counts && !control && !self.charge(port, frame, at) {
            self.reject(port, frame, at);
            return;
        }
        let out = &self.egress.ports[usize::from(port)];
        let (held, limit) = match control {
            true => (out.control_bytes, limits.control),
            false => (out.data_bytes, at.network.link_kinds[usize::from(out.link_kind)].data_limit),
        };
        if u64::from(held) + u64::from(frame.packet.wire_bytes) <= u64::from(limit) {
            self.egress.enqueue(port, frame, control, at);
        } else {
            self.reject(port, frame, at);
        }
    }

    /// Sends a packet on a free link, through the egress hook of the switch program, if there is one.
    #[inline]
    fn send<O: Observer>(&mut self, port: u16, frame: &Frame, at: &mut Context<'_, O>) {
        if self.has_egress_hook(port, at) {
            self.pass_out(port, frame, at);
        } else {
            self.egress.transmit(port, frame, at);
        }
    }

    /// Serves a free port: sends the next packet, and ECN-marks data by the queue length that it leaves behind.
    #[inline]
    fn serve<O: Observer>(&mut self, port: u16, at: &mut Context<'_, O>) {
        if self.egress.ports[usize::from(port)].pause_pending {
            self.send_pause(port, at);
            return;
        }
        let Some(taken) = self.dequeue(port, at) else { return };
        let out = &self.egress.ports[usize::from(port)];
        let (queued, marking) = (out.data_bytes, &at.network.link_kinds[usize::from(out.link_kind)].marking);
        if queued > marking.kmin && !self.egress.pool.frame(&taken).packet.is_control() {
            let (link, stream) = (out.link, &mut self.marks[usize::from(port)]);
            let mut marks = PortStream { stream, purpose: Purpose::EcnMarking };
            if marking.marks(queued, || marks.of(link, at).next_u32()) {
                self.egress.pool.frame_mut(&taken).packet.marked = true;
                at.counters.ecn_marks += 1;
                self.marked += 1;
            }
        }
        if self.has_egress_hook(port, at) {
            let frame = self.egress.pool.take(taken);
            self.pass_out(port, &frame, at);
        } else {
            self.egress.transmit_dequeued(port, taken, at);
        }
    }

    /// Takes the next packet that may be sent by `port`, and releases its share of the buffer.
    #[inline]
    fn dequeue<O: Observer>(&mut self, port: u16, at: &mut Context<'_, O>) -> Option<SlotHandle> {
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

    /// Drops all queued packets, because the switch has gone down by the fault of this number.
    pub fn purge<O: Observer>(&mut self, fault: u16, at: &mut Context<'_, O>) {
        self.merge_ports();
        for port in 0..self.egress.ports.len() as u16 {
            self.egress.unpause(port, at);
            while let Some(taken) = self.dequeue(port, at) {
                let frame = self.egress.pool.take(taken);
                at.counters.link_losses += 1;
                at.note_lost_payload(&frame.packet);
                let hits = at.effects.hits.of(fault);
                hits.lost += 1;
                hits.data += u64::from(!frame.packet.is_control());
                self.egress.release_telemetry(frame.telemetry);
            }
        }
    }

    /// Pauses or resumes the data class of `port`, by a pause frame or by a reset of the pause state after a fault.
    pub fn handle_pause<O: Observer>(&mut self, port: u16, stop: bool, at: &mut Context<'_, O>) {
        self.merge_ports();
        if stop {
            if self.egress.pause(port, at) && at.observer.wants_victims(self.egress.port(port).link) {
                self.watched_pauses.push(port);
            }
        } else if self.egress.unpause(port, at) && self.egress.port(port).has_work() {
            if self.egress.port(port).busy {
                return;
            }
            self.serve(port, at);
        }
    }

    /// Charges a data packet that is to wait at `port` to the shared buffer. False when there is no room, which fails the run
    /// in a lossless class.
    // Not inlined, so that its callers stay small for fabrics without such a buffer.
    #[inline(never)]
    fn charge<O: Observer>(&mut self, port: u16, frame: &Frame, at: &mut Context<'_, O>) -> bool {
        let bytes = frame.packet.wire_bytes;
        match &mut self.shared {
            Some(shared) => shared.admit(self.egress.ports[usize::from(port)].data_bytes, bytes),
            None => self.charge_lossless(frame.port, bytes, at),
        }
    }

    /// Charges `bytes` bytes of data that arrived at port `from` to the lossless buffer. False when there is no room, which
    /// fails the run.
    fn charge_lossless<O: Observer>(&mut self, from: u16, bytes: u16, at: &mut Context<'_, O>) -> bool {
        let Some(pfc) = &mut self.pfc else { return true };
        match pfc.admit(from, bytes) {
            Admission::Fits => true,
            Admission::Pause => {
                if let Some(pending) = pfc.request_pause(from, true) {
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

    /// Releases the charge of a data packet.
    #[inline(never)]
    fn release<O: Observer>(&mut self, from: u16, bytes: u16, at: &mut Context<'_, O>) {
        if let Some(shared) = &mut self.shared {
            shared.release(bytes);
        }
        let Some(pfc) = &mut self.pfc else { return };
        if pfc.release(from, bytes)
            && let Some(pending) = pfc.request_pause(from, false)
        {
            self.set_pause_pending(from, pending, at);
        }
    }

    /// Sets whether a pause frame is pending at `port`. A pending frame is sent at once, or after the packet in transmission.
    fn set_pause_pending<O: Observer>(&mut self, port: u16, pending: bool, at: &mut Context<'_, O>) {
        let out = self.egress.port(port);
        out.pause_pending = pending;
        if pending && !out.busy {
            self.send_pause(port, at);
        }
    }

    /// Sends the pause frame that is pending at `port`, which is free.
    fn send_pause<O: Observer>(&mut self, port: u16, at: &mut Context<'_, O>) {
        let Some(pfc) = &mut self.pfc else { return };
        let stop = pfc.pause_sent(port);
        self.egress.transmit_pause(port, stop, at);
    }

    /// Resets the pause state after the reverse link of `port` went down or came up, and returns whether the peer is paused
    /// from now on. Without a reset a lost XON would leave the peer paused for ever, and a lost XOFF would overflow the
    /// headroom.
    ///
    /// Called between two windows, at the time of the fault: after all events before that time and before those at it. Faults
    /// of one instant act in the order of the agenda, and the state of the other end changes at once, before its own events.
    pub fn settle_pause(&mut self, port: u16, up: bool) -> bool {
        let Some(pfc) = &mut self.pfc else { return false };
        let stop = pfc.settle(port, up);
        self.egress.port(port).pause_pending = false;
        stop
    }

    /// The bytes charged to its buffer, and the bytes that should be; none without such a buffer.
    pub fn counted_bytes(&self) -> Option<(u64, u64)> {
        let queued = || self.egress.ports.iter().map(|port| u64::from(port.data_bytes)).sum::<u64>();
        if let Some(shared) = &self.shared {
            return Some((shared.held(), queued()));
        }
        let pfc = self.pfc.as_ref()?;
        Some((pfc.held(), queued() + self.extensions.as_ref().map_or(0, |extensions| extensions.held().1)))
    }

    /// The number of packets that its program holds.
    pub fn held(&self) -> u64 {
        self.extensions.as_ref().map_or(0, |extensions| extensions.held().0)
    }

    /// The number of packets that it has ECN-marked.
    pub fn marked(&self) -> u64 {
        self.marked
    }

    /// Takes the ports that have been paused since the last call and whose [victims](Self::victims) an observer wants.
    pub fn take_watched_pauses(&mut self) -> Vec<u16> {
        std::mem::take(&mut self.watched_pauses)
    }

    /// The number of victim flows (queue pairs) of a pause at `port`: their data is blocked there although their egress port at
    /// the next switch, `next`, is not paused and has no data queued.
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
