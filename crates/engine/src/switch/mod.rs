//! Switches: routing, admission, queues and ECN marking.

mod by_port;
mod classes;
mod full;
mod path_map;
mod pause_timers;
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
use classes::SwitchClasses;
use pause_timers::{PAUSE_TIMERS, PauseTimers};
use pfc::{Admission, SwitchPfc};
use plain_port::PortStream;
use program::Extensions;
use shared::SharedQueues;

pub use by_port::PortScratch;
pub use classes::ClassCounts;
pub use pfc::{PfcError, PfcPlan, check_headrooms, headroom_needed};
pub use program::{ProgramPlan, program_counters};
pub use program_error::ProgramError;
pub use wrr::{WeightError, weights};

pub struct Switch {
    index: u32,
    egress: Egress<DelayQueues>,
    /// The times at which the ports become free, if the ports are simulated independently of each other in at least
    /// some synchronisation windows.
    by_port: Option<Box<PortTimes>>,
    /// PFC accounting of the first traffic class, if that class is lossless.
    pfc: Option<Box<SwitchPfc>>,
    /// The traffic classes beyond the first one, if there are any.
    classes: Option<Box<SwitchClasses>>,
    pause_timers: Option<Box<PauseTimers>>,
    /// The shared buffer of data queues that drop or trim, if there is one.
    shared: Option<Box<SharedQueues>>,
    /// Whether queued data is charged to a buffer, because `pfc` or `shared` is present.
    counts: bool,
    /// The program, and routing other than ECMP. None if the scheme has neither.
    extensions: Option<Box<Extensions>>,
    /// For each port, the random stream that decides which packet a full queue drops or trims.
    coins: Vec<Option<Box<Stream>>>,
    /// For each port, the random stream for ECN marking.
    marks: Vec<Option<Box<Stream>>>,
    /// The number of packets that the switch has marked.
    marked: u64,
    /// The ports and data classes that have just been paused and whose victim flows an observer counts.
    watched_pauses: Vec<(u16, u8)>,
}

/// The inputs for the switches of a run.
pub struct SwitchPlan {
    /// PFC accounting of the first traffic class, if that class is lossless.
    pub pfc: Option<PfcPlan>,
    /// For each traffic class beyond the first one, its PFC accounting if it is lossless.
    pub class_pfc: Vec<Option<PfcPlan>>,
    /// Programs, and routing other than ECMP.
    pub program: Option<ProgramPlan>,
    /// Whether a switch may simulate its ports independently of each other if they share nothing.
    pub by_port: bool,
    /// The WRR weight of each switch's control queues, in units of 2^-16. Empty if these queues have strict priority.
    pub weights: Vec<u32>,
}

impl SwitchPlan {
    pub fn wants_qps(&self) -> bool {
        self.program.as_ref().is_some_and(ProgramPlan::wants_qps)
    }
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
            if port == PAUSE_TIMERS {
                return self.handle_pause_timers(at);
            }
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
            FrameKind::Pause => self.handle_pause(frame.port, frame.paused_class(), true, at),
            FrameKind::Resume => self.handle_pause(frame.port, frame.paused_class(), false, at),
        }
    }
}

impl Switch {
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
        let pause_timers = PauseTimers::new(network, node).map(Box::new);
        let classes = SwitchClasses::new(network, plan, index, ports).map(Box::new);
        let by_port = (plan.by_port && is_by_packet && pause_timers.is_none() && classes.is_none())
            .then(|| Box::new(PortTimes::new(ports)));
        let egress = Egress::new(network, node, weight, link_kind_of, DelayQueues::default());
        Switch {
            index,
            by_port,
            counts: pfc.is_some() || shared.is_some(),
            pfc,
            classes,
            pause_timers,
            shared,
            extensions,
            coins: vec![None; egress.ports.len()],
            marks: vec![None; egress.ports.len()],
            marked: 0,
            watched_pauses: Vec::new(),
            egress,
        }
    }

    /// The next event that the switch itself has scheduled, such as a port that becomes free.
    pub fn next_event(&self) -> Order {
        match self.by_port.as_ref().map_or(Time::NEVER, |times| times.first()) {
            Time::NEVER => self.next(),
            first => Order::new(first, event_kind::FREE),
        }
    }

    /// Prefetches the ports of the switch and its row of the routing table for `arrivals` packets. The ports or the row
    /// are left out if they have more cache lines than packets arrive, since a packet touches about one line of each.
    #[inline]
    pub fn prefetch(&self, routing: &Routing, arrivals: u32) {
        let (ports, row) = (&self.egress.ports, routing.row(self.index as usize).chunks(16));
        if arrivals as usize >= ports.len() {
            ports.iter().for_each(prefetch);
        }
        if arrivals as usize >= row.len() {
            row.map(|line| &line[0]).for_each(prefetch);
        }
    }

    pub fn egress(&self) -> &Egress<DelayQueues> {
        &self.egress
    }

    /// For tests that damage the ports or queues.
    #[cfg(test)]
    pub fn egress_mut(&mut self) -> &mut Egress<DelayQueues> {
        &mut self.egress
    }

    #[inline(always)]
    fn handle_packet<O: Observer>(&mut self, frame: &Frame, at: &mut Context<'_, O>) {
        match self.classes.is_none() {
            true => self.handle_in_first_class(frame, at),
            false => self.handle_by_class(frame, at),
        }
    }

    #[inline(always)]
    fn handle_in_first_class<O: Observer>(&mut self, frame: &Frame, at: &mut Context<'_, O>) {
        let port = match &self.extensions {
            None => at.network.route(at.routing, self.index, &frame.packet),
            Some(extensions) if extensions.has_program() => return self.pass(frame, at),
            Some(_) => {
                let from_host = at.network.is_host(self.egress.port(frame.port).peer);
                self.choose(&frame.packet, from_host, None, at)
            }
        };
        match port {
            Some(port) => {
                at.observer.offered(self.egress.port(port).link, at.now, frame.packet.wire_bytes);
                self.forward(port, frame, at);
            }
            None => self.drop_unroutable(frame, at),
        }
    }

    #[cold]
    fn drop_unroutable<O>(&mut self, frame: &Frame, at: &mut Context<'_, O>) {
        at.counters.link_losses += 1;
        at.note_lost_payload(&frame.packet);
        self.egress.release_telemetry(frame.telemetry);
    }

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

    #[inline]
    fn send<O: Observer>(&mut self, port: u16, frame: &Frame, at: &mut Context<'_, O>) {
        if self.has_egress_hook(port, at) {
            self.pass_out(port, frame, at);
        } else {
            self.egress.transmit(port, frame, at);
        }
    }

    /// The ECN marking of a data packet depends on the length of its queue without the packet.
    #[inline]
    fn serve<O: Observer>(&mut self, port: u16, at: &mut Context<'_, O>) {
        if self.classes.is_some() {
            return self.serve_by_class(port, at);
        }
        if self.egress.ports[usize::from(port)].pause_pending {
            self.send_pause(port, 0, at);
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

    #[inline]
    fn dequeue<O: Observer>(&mut self, port: u16, at: &mut Context<'_, O>) -> Option<SlotHandle> {
        let taken = self.egress.dequeue(port, at)?;
        if self.counts {
            let frame = self.egress.pool.frame(&taken);
            if !waits_with_control(&frame.packet, &at.network.queues) {
                let (from, bytes) = (frame.port, frame.packet.wire_bytes);
                self.release(0, from, bytes, at);
            }
        }
        Some(taken)
    }

    /// Drops all queued packets and ends the pauses of all ports, because the fault with this number has taken the
    /// switch down.
    pub fn purge<O: Observer>(&mut self, fault: u16, at: &mut Context<'_, O>) {
        self.merge_ports();
        for port in 0..self.egress.ports.len() as u16 {
            (0..=at.network.classes.len() as u8).for_each(|class| {
                self.egress.set_paused(port, class, false, at);
            });
            self.forget_pauses(port, at.now);
            let next = |switch: &mut Self, at: &mut Context<'_, O>| match switch.classes.is_some() {
                true => switch.dequeue_by_class(port, at).map(|(_, taken)| taken),
                false => switch.dequeue(port, at),
            };
            while let Some(taken) = next(self, at) {
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

    pub fn handle_pause<O: Observer>(&mut self, port: u16, class: u8, stop: bool, at: &mut Context<'_, O>) {
        self.merge_ports();
        if self.pause_timers.is_some() && !self.note_pause(port, stop, at) {
            return;
        }
        if stop {
            if self.egress.set_paused(port, class, true, at)
                && at.observer.wants_victims(self.egress.port(port).link)
            {
                self.watched_pauses.push((port, class));
            }
        } else if self.egress.set_paused(port, class, false, at) && self.egress.has_work(port) {
            if self.egress.port(port).busy {
                return;
            }
            self.serve(port, at);
        }
    }

    /// Charges a data packet to the shared or lossless buffer before it waits at `port`. Returns false if there is no
    /// room, or if the PFC watchdog drops the data of the port. In a lossless class, lack of room fails the run.
    // Not inlined, so that its callers stay small in fabrics without a shared buffer.
    #[inline(never)]
    fn charge<O: Observer>(&mut self, port: u16, frame: &Frame, at: &mut Context<'_, O>) -> bool {
        let bytes = frame.packet.wire_bytes;
        if self.pause_timers.is_some() && !self.may_wait(port, at) {
            return false;
        }
        match &mut self.shared {
            Some(shared) => shared.admit(self.egress.ports[usize::from(port)].data_bytes, bytes),
            None => self.charge_lossless(0, frame.port, bytes, at),
        }
    }

    /// Charges `bytes` bytes of data that arrived at port `from` to the lossless buffer of `class`. Returns false if
    /// there is no room, which fails the run. Returns true if the class is not lossless.
    fn charge_lossless<O: Observer>(
        &mut self,
        class: u8,
        from: u16,
        bytes: u16,
        at: &mut Context<'_, O>,
    ) -> bool {
        let Some(pfc) = self.pfc_of(class) else { return true };
        match pfc.admit(from, bytes) {
            Admission::Fits => true,
            Admission::Pause => {
                if let Some(pending) = pfc.pause(from).request(true) {
                    self.set_pause_pending(from, class, pending, at);
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

    #[inline(never)]
    fn release<O: Observer>(&mut self, class: u8, from: u16, bytes: u16, at: &mut Context<'_, O>) {
        if let (Some(shared), 0) = (&mut self.shared, class) {
            shared.release(bytes);
        }
        let Some(pfc) = self.pfc_of(class) else { return };
        if pfc.release(from, bytes)
            && let Some(pending) = pfc.pause(from).request(false)
        {
            self.set_pause_pending(from, class, pending, at);
        }
    }

    /// Sets whether a pause frame of a class is pending at `port`. A pending frame is sent immediately, or after
    /// the packet that is being sent.
    fn set_pause_pending<O: Observer>(
        &mut self,
        port: u16,
        class: u8,
        pending: bool,
        at: &mut Context<'_, O>,
    ) {
        self.egress.set_pause_pending(port, class, pending);
        if pending && !self.egress.port(port).busy {
            self.send_pause(port, class, at);
        }
    }

    fn send_pause<O: Observer>(&mut self, port: u16, class: u8, at: &mut Context<'_, O>) {
        let Some(pfc) = self.pfc_of(class) else { return };
        let stop = pfc.pause(port).sent();
        self.egress.transmit_pause(port, class, stop, at);
    }

    /// Resets the pause state of a class after a direction of the link of `port` went down or came up. Returns whether
    /// the other end is paused from now on. Without a reset, a lost XON would leave the other end paused for ever, and
    /// a lost XOFF would overflow the headroom.
    ///
    /// This is called at the time of the fault, after all events before that time and before the events at that time.
    pub fn settle_pause(&mut self, port: u16, class: u8, up: bool) -> bool {
        let Some(pfc) = self.pfc_of(class) else { return false };
        let stop = pfc.pause(port).settle(up);
        self.egress.set_pause_pending(port, class, false);
        stop
    }

    /// The bytes charged to the buffer of the switch, and the bytes of data that wait at the switch. The two numbers
    /// must be equal. None if the switch has neither such a buffer nor several traffic classes.
    pub fn counted_bytes(&self) -> Option<(u64, u64)> {
        let queued = || self.egress.ports.iter().map(|port| u64::from(port.data_bytes)).sum::<u64>();
        if let Some(shared) = &self.shared {
            return Some((shared.held(), queued()));
        }
        let (held, waits) = self.counted_bytes_of_classes();
        let Some(pfc) = &self.pfc else { return self.classes.as_ref().map(|_| (held, waits)) };
        let queued = || queued() + waits;
        Some((
            held + pfc.held(),
            queued() + self.extensions.as_ref().map_or(0, |extensions| extensions.held().1),
        ))
    }

    /// The number of packets that the switch's program holds.
    pub fn held(&self) -> u64 {
        self.extensions.as_ref().map_or(0, |extensions| extensions.held().0)
    }

    pub fn marked(&self) -> u64 {
        self.marked
    }

    /// Returns the port and the data class of each pause that has begun since the last call and whose
    /// [victims](Self::victims) an observer counts.
    pub fn take_watched_pauses(&mut self) -> Vec<(u16, u8)> {
        std::mem::take(&mut self.watched_pauses)
    }

    /// The number of victim flows (queue pairs) of a pause of `class` at `port`. Their data is blocked there, although
    /// `class` at their egress port at the next switch, `next`, is not paused and has no data queued.
    pub fn victims(
        &self,
        (port, class): (u16, u8),
        next: &Switch,
        network: &Network<'_>,
        routing: &Routing,
    ) -> u32 {
        let goes_on = |packet: &Packet| {
            network.route(routing, next.index, packet).is_some_and(|port| {
                next.egress.bytes_of(port, class) == 0 && !next.egress.is_paused(port, class)
            })
        };
        let waiting = self.egress.waiting_in(port, class);
        let mut held: Vec<u32> =
            waiting.filter(|frame| goes_on(&frame.packet)).map(|frame| frame.packet.qp.0).collect();
        held.sort_unstable();
        held.dedup();
        held.len() as u32
    }
}
