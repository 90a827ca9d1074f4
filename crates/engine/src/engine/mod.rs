//! The engine: takes events in their order and lets hosts and switches act on them.

mod event;
mod faults;
mod fifo;
mod port;
mod prefetch;
mod ring;
mod scheduler;
mod telemetry;
mod wheel;

use crate::host::{Hosts, Progress, Recipe, Starts, Totals};
use crate::observer::Observer;
use crate::run::Control;
use crate::spec::{FaultSpec, Limits, Scheme};
use crate::switch::{Pfc, Programs, QueueLimits, Switches};
use anabranch_base::{Duration, LinkId, MessageId, NodeId, Purpose, QpId, Stream, Time, stream};
use anabranch_fabric::{Routing, SelectorError, Topology};
use anabranch_proto::{Packet, PathFacts};
use anabranch_workload::Workload;
use event::{MAX_RANKED, Signal, What};
use faults::{Fate, Faults, KindTable, Task};
use fifo::Pool;
use port::{LinkKind, Port};
use scheduler::{Batch, Event, Scheduler};
use std::sync::atomic::Ordering;
use telemetry::Telemetry;

pub use port::{Marking, PAUSE_FRAME_BYTES};
pub(crate) use prefetch::{prefetch, prefetch_lines};

/// How many batches pass between looks at the clock, the limits and the user's wish to stop.
const BATCHES_A_LOOK: u32 = 4096;

/// From this many events at one time on, a look ahead pays: smaller batches come from fabrics that fit the cache.
/// Measured: below, the second routing of each packet costs more than the cache misses that it hides.
const WORTH_EXPECTING: usize = 20;

/// One run in progress.
pub struct Engine<'a, O> {
    pub(crate) now: Time,
    pub(crate) scheduler: Scheduler,
    pub(crate) ports: Vec<Port>,
    pub(crate) pool: Pool,
    pub(crate) kinds: Vec<LinkKind>,
    pub(crate) port_base: Vec<u32>,
    pub(crate) host_count: u32,
    pub(crate) switches: Switches,
    /// The lossless class, where there is one.
    pub(crate) pfc: Option<Pfc>,
    /// What switches do beyond ECMP.
    pub(crate) programs: Option<Box<Programs>>,
    /// What switches tell senders, where the scheme's congestion control asks for it.
    pub(crate) telemetry: Option<Box<Telemetry>>,
    pub(crate) hosts: Hosts,
    pub(crate) progress: Progress<'a>,
    pub(crate) starts: Starts,
    pub(crate) workload: &'a Workload,
    pub(crate) recipe: Recipe<'a>,
    pub(crate) counters: Counters,
    /// Packets that hosts made and took in.
    pub(crate) injected: u64,
    pub(crate) consumed: u64,
    /// Grows whenever a run makes progress.
    pub(crate) news: u64,
    /// Room for the messages that a gate starts.
    pub(crate) opened: Vec<MessageId>,
    marks: Vec<Option<Box<Stream>>>,
    pub(crate) faults: Faults,
    agenda_next: usize,
    pub(crate) topology: &'a Topology,
    limits: &'a Limits,
    patience: Duration,
    events: u64,
    failure: Option<Failure>,
    pub(crate) observer: O,
}

/// Totals over a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets put on links.
    pub packet_hops: u64,
    /// Packets dropped for lack of buffer, or since a fault made a switch refuse them.
    pub drops: u64,
    /// Packets lost on links, in switches that went down, or without a route.
    pub link_losses: u64,
    /// Data packets cut to their header.
    pub trims: u64,
    /// Trimmed packets dropped, on either half of their way; among `drops`.
    pub header_drops: u64,
    /// Data packets marked.
    pub ecn_marks: u64,
}

/// Why a run ended before its messages did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nothing new was delivered for as long as the scenario allows.
    Stalled,
    /// Messages are left and no event is.
    NothingLeft,
    /// A bound of the scenario was reached: which.
    Limit(&'static str),
    /// A queue pair has too many packets.
    OutOfPsns(QpId),
    /// The user wants to stop.
    Cancelled,
    /// Paused links that wait for each other, by name.
    Deadlock(Vec<String>),
    /// A lossless class had no room for a packet: where, with the numbers.
    LosslessDrop(String),
    /// A checker found the engine wrong.
    Invariant(String),
}

/// What an engine is made of.
pub struct Setup<'a> {
    /// The fabric.
    pub topology: &'a Topology,
    /// Routes with every link up.
    pub routing: Routing,
    /// What the hosts send.
    pub workload: &'a Workload,
    /// What breaks.
    pub faults: &'a [FaultSpec],
    /// What carries the messages.
    pub scheme: &'a Scheme,
    /// Its lossless class on this fabric.
    pub pfc: Option<Pfc>,
    /// What its switches do beyond ECMP.
    pub programs: Option<Programs>,
    /// By switch: the weight of its control queues, in 2^-16ths; empty where they go first.
    pub weights: Vec<u32>,
    /// The fabric's longest path.
    pub facts: PathFacts,
    /// By connection: its own path, where the congestion control asks for it; else empty.
    pub own_paths: Vec<PathFacts>,
    /// Where the run ends.
    pub limits: &'a Limits,
    /// Seed of every random stream.
    pub seed: u64,
}

impl<'a, O: Observer> Engine<'a, O> {
    /// An engine before its first event.
    ///
    /// # Errors
    /// A fault that names no link of this fabric.
    pub fn new(setup: Setup<'a>, observer: O) -> Result<Self, SelectorError> {
        let Setup {
            topology,
            routing,
            workload,
            faults,
            scheme,
            pfc,
            programs,
            weights,
            facts,
            own_paths,
            limits,
            seed,
        } = setup;
        let framing = scheme.transport.framing();
        let mut scheduler = Scheduler::new();
        let sizes = [facts.packet.0 as u16, framing.ack.0 as u16];
        let mut kinds = KindTable::new(sizes, &scheme.fabric, &facts, &mut scheduler);
        let mut ports: Vec<Port> = Vec::with_capacity(topology.ports.len());
        for node in (0..topology.nodes()).map(NodeId) {
            for link in topology.links_of(node).map(LinkId) {
                let port = &topology.ports[link.index()];
                let kind = kinds.kind(topology, link);
                let weight =
                    node.0.checked_sub(topology.hosts).and_then(|switch| weights.get(switch as usize));
                let weight = weight.copied().unwrap_or(0);
                ports.push(Port::new(node, link, port.peer, port.peer_port, kind, weight));
            }
        }
        let faults = Faults::new(faults, scheme.fabric.routing_delay, topology, seed, &mut kinds)?;
        for link in faults.impaired() {
            ports[link.index()].impaired = true;
        }
        let kinds = kinds.kinds;
        let limits_of_queues = QueueLimits::new(&scheme.fabric, &facts, framing.header);
        let mut engine = Engine {
            now: Time::ZERO,
            scheduler,
            marks: vec![None; ports.len()],
            ports,
            pool: Pool::new(),
            kinds,
            port_base: topology.port_base.clone(),
            host_count: topology.hosts,
            switches: Switches::new(topology, routing, limits_of_queues, seed),
            pfc,
            programs: programs.map(Box::new),
            telemetry: Telemetry::new(scheme, topology, workload).map(Box::new),
            hosts: Hosts::new(workload, topology.hosts, scheme.qps),
            progress: Progress::new(workload, scheme.qps),
            starts: Starts::new(workload, topology.hosts),
            workload,
            recipe: Recipe { scheme, facts, own_paths, seed },
            counters: Counters::default(),
            injected: 0,
            consumed: 0,
            news: 0,
            opened: Vec::new(),
            faults,
            agenda_next: 0,
            topology,
            limits,
            patience: limits.patience(scheme, &facts),
            events: 0,
            failure: None,
            observer,
        };
        for host in 0..topology.hosts {
            if let Some(time) = engine.starts.next_time(workload, host) {
                engine.schedule_post(host, time);
            }
        }
        if u64::from(topology.nodes()) > MAX_RANKED {
            engine.fail(Failure::Limit("a fabric of at most 1,048,576 nodes"));
        }
        Ok(engine)
    }

    /// Runs until every message is acknowledged, or until something stops it. However it ends, the checkers look
    /// at what is left.
    pub fn run(&mut self, control: &Control) -> Result<(), Failure> {
        let outcome = self.run_events(control);
        if let Err(Failure::LosslessDrop(_)) = outcome {
            // It breaks the same rule as a checker would find broken, and says more.
            return outcome;
        }
        self.check()?;
        outcome
    }

    fn run_events(&mut self, control: &Control) -> Result<(), Failure> {
        let mut batch = Batch::default();
        let mut watch = Watchdog::default();
        let mut batches = 0u32;
        while self.progress.unfinished() > 0 {
            let time = self.scheduler.next_time();
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            let due = self.faults.agenda.get(self.agenda_next).map_or(Time::NEVER, |(due, _)| *due);
            let first = time.min(due);
            if first == Time::NEVER {
                return Err(self.pause_cycle().map_or(Failure::NothingLeft, Failure::Deadlock));
            }
            if first.0 > self.limits.max_time.0 {
                return Err(Failure::Limit("max_time"));
            }
            if due <= time {
                // It may bring new events, also ones before `time`.
                self.run_agenda(due);
                continue;
            }
            self.now = time;
            self.scheduler.take(time, &mut batch);
            self.events += batch.len() as u64;
            if batch.len() >= WORTH_EXPECTING {
                (0..batch.len()).for_each(|index| self.expect(batch.event(index)));
                (0..batch.len()).for_each(|index| self.expect_queue(batch.event(index)));
            }
            for index in 0..batch.len() {
                match batch.event(index) {
                    Event::Arrival(arrival) if arrival.node.0 >= self.host_count => {
                        self.handle_switch_arrival(arrival.node, arrival.port, &arrival.packet);
                    }
                    Event::Arrival(arrival) => self.handle_host_arrival(arrival.node, &arrival.packet),
                    Event::Signal(signal) => self.handle_signal(signal),
                }
            }
            batches += 1;
            if batches == BATCHES_A_LOOK || time.0 >= watch.look_at {
                batches = 0;
                self.look_around(control, &mut watch)?;
            }
        }
        control.show(self.now, self.counters.packet_hops, 0);
        Ok(())
    }

    /// Loads what an event will touch, while the ones before it run.
    #[inline]
    fn expect(&self, event: Event<'_>) {
        match event {
            Event::Arrival(arrival) if arrival.node.0 >= self.host_count => {
                if self.programs.is_some() {
                    // Its way is not known before it is there.
                    return;
                }
                if let Some(link) = self.route(arrival.node, &arrival.packet) {
                    prefetch(&self.ports[link.index()]);
                }
            }
            Event::Arrival(arrival) => self.expect_host_arrival(&arrival.packet),
            Event::Signal(Signal { node, what: What::PortFree(link), .. }) => {
                prefetch(&self.ports[link.index()]);
                if node.0 < self.host_count {
                    self.expect_turn(node);
                }
            }
            Event::Signal(_) => {}
        }
    }

    /// Loads the packet that a port will send, which the port, loaded by now, tells.
    #[inline]
    fn expect_queue(&self, event: Event<'_>) {
        if let Event::Signal(Signal { what: What::PortFree(link), .. }) = event {
            self.ports[link.index()].expect(&self.pool);
        }
    }

    #[inline]
    fn handle_signal(&mut self, signal: Signal) {
        match signal.what {
            What::PortFree(link) => {
                self.ports[link.index()].wakes = false;
                if signal.node.0 >= self.host_count {
                    self.serve_port(link);
                } else {
                    self.serve_nic(signal.node);
                }
            }
            What::Timer(_) if signal.node.0 >= self.host_count => self.handle_program_timer(signal.node),
            What::Timer(qp) => self.handle_timer(signal.node, qp),
            What::Post => self.handle_post(signal.node.0),
            What::Pause(link, stop) => self.handle_pause(signal.node, link, stop),
            What::Parked(..) => unreachable!("the scheduler unparks packets"),
        }
    }

    /// Does what faults ask for at `time`, before the events of that time.
    fn run_agenda(&mut self, time: Time) {
        self.now = time;
        while let Some(&(_, task)) = self.faults.agenda.get(self.agenda_next).filter(|(due, _)| *due == time)
        {
            self.agenda_next += 1;
            match task {
                Task::Purge(node) => self.purge(node),
                Task::SettlePause(link) => self.settle_pause(link),
                Task::Reroute(as_of) => {
                    let faults = &self.faults;
                    self.switches.routing = Routing::new(self.topology, &|link| faults.is_up(link, as_of));
                }
            }
        }
    }

    fn purge(&mut self, node: NodeId) {
        for link in self.topology.links_of(node).map(LinkId) {
            self.unpause(link);
            while let Some(packet) = self.dequeue(link) {
                self.counters.link_losses += 1;
                self.forget_telemetry(&packet);
            }
        }
    }

    fn look_around(&mut self, control: &Control, watch: &mut Watchdog) -> Result<(), Failure> {
        control.show(self.now, self.counters.packet_hops, self.progress.unfinished());
        if control.cancel.load(Ordering::Relaxed) {
            return Err(Failure::Cancelled);
        }
        if self.events > self.limits.max_events {
            return Err(Failure::Limit("max_events"));
        }
        if self.pool.used() + self.scheduler.packets() > self.limits.max_packets {
            return Err(Failure::Limit("max_packets"));
        }
        // A run without outstanding messages only waits for the next start.
        if self.news != watch.news || self.progress.outstanding() == 0 {
            watch.news = self.news;
            watch.since = self.now;
        } else if self.now.since(watch.since) > self.patience {
            return Err(self.pause_cycle().map_or(Failure::Stalled, Failure::Deadlock));
        }
        watch.look_at = self.now.0.saturating_add(self.patience.0 / 4);
        Ok(())
    }

    /// The checkers that are cheap enough for the end of every run.
    fn check(&mut self) -> Result<(), Failure> {
        let wrong = |what: String| Err(Failure::Invariant(what));
        if let Some(message) = self.progress.broken() {
            return wrong(format!(
                "message {message} ended twice, or was acknowledged before it was delivered"
            ));
        }
        let Counters { drops, link_losses, .. } = self.counters;
        let (in_queues, on_links) = (self.pool.used(), self.scheduler.packets());
        let (held, held_bytes) = self.programs.as_ref().map_or((0, 0), |programs| programs.held());
        if self.injected != self.consumed + drops + link_losses + in_queues + on_links + held {
            return wrong(format!(
                "of {} packets sent, {} arrived, {drops} were dropped, {link_losses} lost, {in_queues} wait, {held} are held and {on_links} are on links",
                self.injected, self.consumed
            ));
        }
        let switch_ports = self.ports.iter().filter(|port| port.node.0 >= self.host_count);
        let queued = held_bytes + switch_ports.map(|port| u64::from(port.data_bytes)).sum::<u64>();
        if let Some(pfc) = self.pfc.as_ref().filter(|pfc| pfc.held() != queued) {
            return wrong(format!("lossless buffers count {} B where {queued} B wait", pfc.held()));
        }
        self.check_telemetry().map_or(Ok(()), wrong)
    }

    /// Ends the run at the next batch.
    pub(crate) fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    /// Puts a packet on a link, which is free, and asks for a call when it is free again if `more` or anything in
    /// its queues waits.
    #[inline]
    pub(crate) fn transmit(&mut self, link: LinkId, packet: &Packet, more: bool) {
        if self.ports[link.index()].impaired {
            self.transmit_impaired(link, packet, more);
        } else {
            self.put_on_wire(link, packet, false, more);
        }
    }

    #[inline(always)]
    fn put_on_wire(&mut self, link: LinkId, packet: &Packet, lost: bool, more: bool) {
        self.counters.packet_hops += 1;
        if self.telemetry.is_some() {
            self.record_telemetry(link, packet, lost);
        }
        let port = &mut self.ports[link.index()];
        port.transmit(&self.kinds[port.kind as usize], &mut self.scheduler, self.now, packet, lost, more);
        self.observer.transmitted(link, self.now, port.busy_until, packet.wire_bytes);
    }

    /// The same on a link with faults.
    #[cold]
    #[inline(never)]
    fn transmit_impaired(&mut self, link: LinkId, packet: &Packet, more: bool) {
        let (kind, fate) = self.faults.fate(link, &self.kinds, self.now, packet);
        self.ports[link.index()].kind = kind;
        match fate {
            Fate::Arrives => self.put_on_wire(link, packet, false, more),
            Fate::Lost => {
                self.counters.link_losses += 1;
                self.put_on_wire(link, packet, true, more);
            }
            Fate::Refused => match self.switches.trim(packet) {
                Some(header) => {
                    self.counters.trims += 1;
                    self.forget_telemetry(packet);
                    self.put_on_wire(link, &header, false, more);
                }
                None => {
                    // The queue goes on as if it had not been there.
                    self.drop_packet(link, packet);
                    self.ports[link.index()].skip(&mut self.scheduler, self.now, more);
                }
            },
        }
    }

    /// A packet was queued at a busy link.
    #[inline]
    pub(crate) fn wake(&mut self, link: LinkId) {
        self.ports[link.index()].wake(&mut self.scheduler);
    }

    // Called from three places, and a call of its own would copy the packet once more.
    #[inline(always)]
    pub(crate) fn dequeue(&mut self, link: LinkId) -> Option<Packet> {
        let port = &mut self.ports[link.index()];
        let (packet, from) = port.dequeue(&mut self.pool)?;
        let node = port.node;
        self.queue_changed(link);
        if self.pfc.is_some() && !packet.is_control() && node.0 >= self.host_count {
            self.give_back(node, from, packet.wire_bytes);
        }
        Some(packet)
    }

    #[inline]
    pub(crate) fn queue_changed(&mut self, link: LinkId) {
        let port = &self.ports[link.index()];
        self.observer.queued(link, self.now, port.data_bytes + port.control_bytes);
    }

    #[inline]
    pub(crate) fn first_port(&self, host: NodeId) -> LinkId {
        // Hosts have one port each and come first.
        LinkId(host.0)
    }

    /// A draw of the port's own marking stream.
    pub(crate) fn draw_mark(&mut self, link: LinkId) -> u32 {
        let seed = self.recipe.seed;
        let random = self.marks[link.index()]
            .get_or_insert_with(|| Box::new(stream(seed, u64::from(link.0), Purpose::EcnMarking)));
        random.next_u32()
    }

    pub(crate) fn schedule_post(&mut self, host: u32, time: Time) {
        self.scheduler.push_signal(Signal { time, node: NodeId(host), what: What::Post });
    }

    pub(crate) fn schedule_pause(&mut self, node: NodeId, link: LinkId, stop: bool, time: Time) {
        self.scheduler.push_signal(Signal { time, node, what: What::Pause(link, stop) });
    }

    pub(crate) fn schedule_timer(&mut self, host: NodeId, qp: u32, time: Time) {
        self.scheduler.push_signal(Signal { time, node: host, what: What::Timer(qp) });
    }

    /// What the run came to so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Pause frames sent, and the time for which data classes were paused, over all links.
    pub fn pauses(&self) -> (u64, Duration) {
        self.pfc.as_ref().map_or((0, Duration::ZERO), |pfc| (pfc.pause_frames, pfc.pause_time(self.now)))
    }

    /// What programs in switches counted.
    pub fn program_counters(&self) -> std::collections::BTreeMap<&'static str, u64> {
        self.programs.as_ref().map_or_else(Default::default, |programs| programs.counters())
    }

    /// Where each message stands.
    pub fn progress(&self) -> &Progress<'a> {
        &self.progress
    }

    /// What the senders counted.
    pub fn sender_counters(&self) -> Totals {
        self.hosts.counters()
    }

    /// Data packets sent again and timeouts of a connection of the workload.
    pub(crate) fn resent(&self, connection: QpId) -> [u32; 2] {
        self.hosts.resent(connection)
    }

    /// Simulated time so far.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Ends the run and hands the observer back.
    pub fn into_observer(self) -> O {
        self.observer
    }
}

/// Pushes `pending` arrivals and takes `events` of them, each of which is pushed again: the scheduler's work for as
/// many packet-hops. Answers with something that depends on all of them. For benches only.
pub fn bench_scheduler(pending: u32, events: u64) -> u64 {
    let mut scheduler = Scheduler::new();
    let delay = anabranch_base::Duration(1_083_000);
    let line = scheduler.arrival_line(delay);
    let repr = anabranch_proto::Repr::nack(0);
    let dst = anabranch_base::HostId(0);
    let packet = Packet::new(QpId(0), dst, repr).with_bytes(4150);
    for node in 0..pending {
        scheduler.push_arrival(line, Time(u64::from(node) * 40) + delay, NodeId(node), 0, &packet);
    }
    let (mut batch, mut taken, mut sum) = (Batch::default(), 0, 0u64);
    while taken < events {
        let now = scheduler.next_time();
        scheduler.take(now, &mut batch);
        for index in 0..batch.len() {
            if let Event::Arrival(arrival) = batch.event(index) {
                scheduler.push_arrival(line, now + delay, arrival.node, 0, &arrival.packet);
            }
        }
        taken += batch.len() as u64;
        sum = sum.wrapping_add(now.0);
    }
    sum
}

/// Watches that the run gets on.
#[derive(Default)]
struct Watchdog {
    news: u64,
    since: Time,
    look_at: u64,
}
