//! A shard: the nodes that one thread runs, one synchronisation window after the other.
//!
//! Most nodes are independent within a window. Each of these nodes runs all its events of the window without a break,
//! while its state is in the CPU cache. Nodes that depend on each other form a *cluster*. Hosts form a cluster if their
//! messages or steps start messages or steps of the other hosts without delay. In a run with an injector, all hosts
//! form one cluster. Switches form a cluster if an observer compares their queues. The events of a cluster are merged
//! and run in the full order (time, node, kind, port).

mod cluster;
mod tournament;

use crate::backlog::Backlogs;
use crate::context::{Context, Counters, Effects, Notice};
use crate::far_calendar::FarCalendar;
use crate::frame::Order;
use crate::host::Host;
use crate::injection::Injection;
use crate::mail::{Blocks, FarArrival, Inbox, LinkMail, MAX_WINDOWS_AHEAD, Outbox, Sources, WindowMail};
use crate::network::Network;
use crate::node::{self, Node};
use crate::observer::Observer;
use crate::switch::{PortScratch, Switch};
use anabranch_base::{NodeId, Time};
use anabranch_fabric::Routing;
use cluster::Cluster;
use smallvec::SmallVec;
use std::sync::Arc;

/// For each node of the fabric, its index in the shard, its work unit, and its position within a cluster. None for
/// nodes of other shards.
type NodeLocations = [Option<(NodeIndex, u32, u32)>];

/// The present synchronisation window.
#[derive(Clone)]
pub struct Window {
    /// The number of the window, counted from 0.
    pub number: u64,
    /// The first instant of the window.
    pub start: Time,
    /// The first instant after the window, and the first instants after the windows that follow.
    pub ends: SmallVec<[Time; MAX_WINDOWS_AHEAD + 1]>,
    /// The end of the run: events at this time or later do not happen. [`Time::NEVER`] while it is not known.
    pub stop: Time,
    /// Routes as the switches currently know them.
    pub routing: Arc<Routing>,
    /// The notices, sent in the previous window, that queue pairs were opened or are done.
    pub notices: Arc<[Notice]>,
    /// The notices that switch programs receive in this window, sorted by time.
    pub program_notices: Arc<[Notice]>,
    /// Tasks that nodes do at the first instant of the window, before their events.
    pub tasks: Arc<[(NodeId, NodeTask)]>,
}

impl Window {
    /// The window before the first event, with `ahead` windows after it. All of them have length 0, so that no event
    /// happens in them.
    pub fn first(routing: &Routing, ahead: usize) -> Window {
        Window {
            number: 0,
            start: Time::ZERO,
            ends: SmallVec::from_elem(Time::ZERO, ahead + 1),
            routing: Arc::new(routing.clone()),
            stop: Time::NEVER,
            notices: Arc::default(),
            program_notices: Arc::default(),
            tasks: Arc::default(),
        }
    }
}

/// A task for a node at the start of a synchronisation window, because of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeTask {
    /// The switch drops all packets in its queues because of the fault with this number.
    Purge(u16),
    /// `Pause(port, class, stop)`: the data class of the port is paused (`stop`) or resumed.
    Pause(u16, u8, bool),
}

/// The index of a node among the hosts or the switches of its shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeIndex {
    Host(u32),
    Switch(u32),
}

/// A node, or a cluster of nodes, which runs independently of all others within a synchronisation window.
enum WorkUnit {
    One(NodeIndex),
    Cluster(Cluster),
}

const BLOCK: usize = u64::BITS as usize;

/// The nodes of one thread, and the state that they share.
pub struct Shard<O> {
    hosts: Vec<Host>,
    switches: Vec<Switch>,
    units: Vec<WorkUnit>,
    /// The next event of each work unit, arrivals excepted.
    next: Vec<Order>,
    /// The earliest `next` of each block of work units. Whole blocks are skipped if they have nothing to do.
    first: Vec<Order>,
    position_of: Vec<Option<(NodeIndex, u32, u32)>>,
    inbox: Inbox,
    port_scratch: PortScratch,
    /// The work units with an event in the present synchronisation window, sorted by number.
    active: Vec<u32>,
    /// For each block of work units, a bit mask of the units with an arrival in the present synchronisation window.
    called: Vec<u64>,
    far_calendar: FarCalendar,
    /// Frames that were sent over long links in the latest synchronisation window.
    pub sent_far: Vec<FarArrival>,
    pub blocks: Blocks,
    link: LinkMail,
    pub observer: O,
    pub counters: Counters,
    pub backlogs: Backlogs,
    pub effects: Effects,
    /// The time of the shard's latest event.
    pub latest: Time,
}

impl<O: Observer> Shard<O> {
    /// A shard of these hosts and switches. All nodes of `clusters` are among them, and the nodes of each cluster are
    /// sorted by number. With `injection`, the first cluster consists of all hosts.
    pub fn new(
        network: &Network<'_>,
        (hosts, switches): (Vec<Host>, Vec<Switch>),
        clusters: &[Vec<NodeId>],
        mut injection: Option<Injection>,
        observer: O,
    ) -> Self {
        let mut position_of: Vec<Option<(NodeIndex, u32, u32)>> =
            vec![None; network.topology.nodes() as usize];
        let positions = (0..hosts.len() as u32).map(NodeIndex::Host);
        let positions = positions.chain((0..switches.len() as u32).map(NodeIndex::Switch));
        let number = |position: NodeIndex| match position {
            NodeIndex::Host(index) => hosts[index as usize].node(),
            NodeIndex::Switch(index) => switches[index as usize].node(),
        };
        positions.for_each(|position| position_of[number(position).index()] = Some((position, u32::MAX, 0)));
        let mut units = Vec::new();
        for cluster in clusters {
            let mut positions = Vec::new();
            for node in cluster {
                if let Some((position, unit, within)) = &mut position_of[node.index()] {
                    (*unit, *within) = (units.len() as u32, positions.len() as u32);
                    positions.push(*position);
                }
            }
            units.push(WorkUnit::Cluster(Cluster::new(positions, injection.take())));
        }
        for (position, unit, _) in position_of.iter_mut().flatten().filter(|(_, unit, _)| *unit == u32::MAX) {
            *unit = units.len() as u32;
            units.push(WorkUnit::One(*position));
        }
        let next: Vec<Order> = units.iter().map(|unit| unit.next(&hosts, &switches)).collect();
        Shard {
            first: next.chunks(BLOCK).map(first_of).collect(),
            next,
            active: Vec::new(),
            called: vec![0; units.len().div_ceil(BLOCK)],
            hosts,
            switches,
            units,
            position_of,
            inbox: Inbox::default(),
            port_scratch: PortScratch::default(),
            far_calendar: FarCalendar::default(),
            sent_far: Vec::new(),
            blocks: Blocks::default(),
            link: LinkMail::default(),
            observer,
            counters: Counters::default(),
            backlogs: Backlogs::default(),
            effects: Effects::default(),
            latest: Time::ZERO,
        }
    }

    pub fn has(&self, node: NodeId) -> bool {
        self.position_of[node.index()].is_some()
    }

    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    pub fn switches(&self) -> &[Switch] {
        &self.switches
    }

    /// For tests that damage nodes.
    #[cfg(test)]
    pub fn nodes_mut(&mut self) -> (&mut [Host], &mut [Switch]) {
        (&mut self.hosts, &mut self.switches)
    }

    /// Resets the pause state of `class` at `port` of `node`, after the link of the port went down or came up (`up`).
    /// Returns whether the other end is paused from now on. Returns false if the node belongs to another shard, or if
    /// the node is a host and `class` is not 0.
    pub fn settle_pause(&mut self, node: NodeId, (port, class): (u16, u8), up: bool) -> bool {
        match self.position_of[node.index()] {
            Some((NodeIndex::Switch(index), ..)) => {
                self.switches[index as usize].settle_pause(port, class, up)
            }
            Some((NodeIndex::Host(index), ..)) => {
                class == 0 && self.hosts[index as usize].settle_pause(port, up)
            }
            None => false,
        }
    }

    pub fn host(&self, node: NodeId) -> Option<&Host> {
        match self.position_of[node.index()]? {
            (NodeIndex::Host(index), ..) => Some(&self.hosts[index as usize]),
            (NodeIndex::Switch(_), ..) => None,
        }
    }

    /// Whether the shard has an injector and the time of the injector's next call is known.
    pub fn will_post(&self) -> bool {
        match self.units.first() {
            Some(WorkUnit::Cluster(Cluster { injection: Some(injection), .. })) => {
                injection.due() < Time::NEVER
            }
            Some(_) | None => false,
        }
    }

    /// Whether the shard waits within a synchronisation window until its injector is ready.
    pub fn is_paused(&self) -> bool {
        match self.units.first() {
            Some(WorkUnit::Cluster(cluster)) => cluster.is_paused(),
            Some(WorkUnit::One(_)) | None => false,
        }
    }

    /// The time of the next event that a node or the injector has scheduled, or of the next arrival over a long link,
    /// whichever is earlier.
    pub fn next_time(&self) -> Time {
        first_of(&self.first).time().min(self.far_calendar.first())
    }

    pub fn add_far_arrival(&mut self, far: FarArrival) {
        self.far_calendar.add(far);
    }

    /// The number of packets in flight to the shard's nodes over long links.
    pub fn packets_far_away(&self) -> u64 {
        self.far_calendar.packets()
    }

    /// Runs the shard's nodes through the synchronisation window `window`. Arrivals come from `sources`. Frames that
    /// are sent go into `slots`, the mail of the following windows, or over long links into `sent_far`. A shard that
    /// [has paused](Self::is_paused) continues this window at the next call.
    pub fn run<'w>(
        &'w mut self,
        network: &'w Network<'w>,
        window: &'w Window,
        sources: &Sources<'_>,
        slots: SmallVec<[&'w mut WindowMail; MAX_WINDOWS_AHEAD]>,
    ) {
        let resumes = self.is_paused();
        let Shard { hosts, switches, units, next, first, position_of, inbox, far_calendar, .. } = self;
        let (active, called, port_scratch) = (&mut self.active, &mut self.called, &mut self.port_scratch);
        let mut at = Context {
            now: window.start,
            network,
            routing: &window.routing,
            program_notices: &window.program_notices,
            out: Outbox::new(&window.ends, slots, (&mut self.sent_far, &mut self.blocks)),
            link: &mut self.link,
            observer: &mut self.observer,
            counters: &mut self.counters,
            backlogs: &mut self.backlogs,
            effects: &mut self.effects,
        };
        let end = window.ends[0].min(window.stop);
        let bound = Order::before(end);
        // The paused cluster is the first unit, so no other unit has run in the window yet.
        if !resumes {
            start_window((hosts, switches), position_of, window, &mut at);
            if !window.program_notices.is_empty() || !window.tasks.is_empty() {
                update_all(units, (hosts, switches), first, next);
            }
            far_calendar.take_due(end);
            let nodes = sources.touched().chain(far_calendar.due().iter().map(|far| far.node));
            mark_called(called, position_of, nodes);
            find_active(called, (first, next), bound, active);
        }
        for (number, &index) in active.iter().enumerate() {
            prefetch_ahead(units, &active[number + 1..], (hosts, switches), &window.routing, sources);
            let (unit, next) = (&mut units[index as usize], &mut next[index as usize]);
            match unit {
                WorkUnit::One(NodeIndex::Host(index)) => {
                    let host = &mut hosts[*index as usize];
                    let mail = (sources, far_calendar.due_at(host.node()));
                    run_host(host, next, inbox, mail, (window.start, bound), &mut at);
                }
                WorkUnit::One(NodeIndex::Switch(index)) => {
                    let switch = &mut switches[*index as usize];
                    let mail = (sources, far_calendar.due_at(switch.node()));
                    if !switch.run_by_port(port_scratch, mail, (window.start, end), &mut at) {
                        run_switch(switch, inbox, mail, (window.start, bound), &mut at);
                    }
                    *next = switch.next_event();
                }
                WorkUnit::Cluster(cluster) => {
                    let from = (sources, &*far_calendar, window.start);
                    cluster.run((hosts, switches), position_of, from, bound, &mut at);
                    at.link.finish(&mut at.out);
                    if cluster.is_paused() {
                        self.latest = self.latest.max(at.now);
                        return;
                    }
                    *next = unit.next(hosts, switches);
                }
            }
            self.latest = self.latest.max(at.now);
        }
        update_first(first, next, active);
    }
}

/// Runs the events of a host from `start` until before `bound`. Updates `next`, the order of the host's next event
/// other than an arrival.
#[inline]
fn run_host<O: Observer>(
    host: &mut Host,
    next: &mut Order,
    inbox: &mut Inbox,
    (sources, far): (&Sources<'_>, &[FarArrival]),
    (start, bound): (Time, Order),
    at: &mut Context<'_, O>,
) {
    inbox.open(sources, host.node(), start, far, |_| {});
    if inbox.next().min(*next) < bound {
        node::run(host, inbox, (sources, far), bound, at);
        at.link.finish(&mut at.out);
        *next = host.next();
    }
    let stays = at.effects.remote_messages.is_empty() && at.effects.remote_steps.is_empty();
    assert!(stays, "a gate across hosts outside of a cluster");
}

#[inline]
fn run_switch<O: Observer>(
    switch: &mut Switch,
    inbox: &mut Inbox,
    (sources, far): (&Sources<'_>, &[FarArrival]),
    (start, bound): (Time, Order),
    at: &mut Context<'_, O>,
) {
    let network = at.network;
    inbox.open(sources, switch.node(), start, far, |packet| network.prefetch_route(packet));
    node::run(switch, inbox, (sources, far), bound, at);
}

fn first_of(orders: &[Order]) -> Order {
    orders.iter().fold(Order::NEVER, |first, order| first.min(*order))
}

fn start_window<O: Observer>(
    (hosts, switches): (&mut [Host], &mut [Switch]),
    position_of: &NodeLocations,
    window: &Window,
    at: &mut Context<'_, O>,
) {
    let network = at.network;
    for notice in window.notices.iter() {
        let dst = network.ends(notice.qp).dst;
        if let (false, Some((NodeIndex::Host(index), ..))) = (notice.opens, position_of[dst.index()]) {
            let slot = network.slots(notice.qp)[1];
            hosts[index as usize].end_receiver(slot, notice.time + network.linger);
        }
    }
    if !window.program_notices.is_empty() {
        switches.iter_mut().for_each(|switch| switch.expect_notices(&window.program_notices));
    }
    for (node, task) in window.tasks.iter() {
        match (position_of[node.index()], task) {
            (Some((NodeIndex::Host(index), ..)), NodeTask::Pause(port, class, stop)) => {
                hosts[index as usize].handle_pause(*port, *class, *stop, at);
                at.link.finish(&mut at.out);
            }
            (Some((NodeIndex::Switch(index), ..)), NodeTask::Pause(port, class, stop)) => {
                switches[index as usize].handle_pause(*port, *class, *stop, at);
                count_victims(switches, position_of, index, at);
            }
            (Some((NodeIndex::Switch(index), ..)), NodeTask::Purge(fault)) => {
                switches[index as usize].purge(*fault, at);
            }
            (Some((NodeIndex::Host(_), ..)), NodeTask::Purge(_)) | (None, _) => {}
        }
    }
}

#[inline]
fn mark_called(called: &mut [u64], position_of: &NodeLocations, nodes: impl Iterator<Item = NodeId>) {
    for node in nodes {
        if let Some((_, unit, _)) = position_of[node.index()] {
            called[unit as usize / BLOCK] |= 1 << (unit as usize % BLOCK);
        }
    }
}

/// Collects the work units that have an arrival or another event before `bound`, and clears the bits in `called`.
#[inline]
fn find_active(called: &mut [u64], (first, next): (&[Order], &[Order]), bound: Order, active: &mut Vec<u32>) {
    active.clear();
    for (block, (called, first)) in called.iter_mut().zip(first.iter()).enumerate() {
        let mut units = std::mem::take(called);
        if *first < bound {
            let orders = next[block * BLOCK..].iter().take(BLOCK).enumerate();
            units |= orders.fold(0, |units, (unit, next)| units | u64::from(*next < bound) << unit);
        }
        while units != 0 {
            active.push((block * BLOCK) as u32 + units.trailing_zeros());
            units &= units - 1;
        }
    }
}

fn update_all(
    units: &[WorkUnit],
    (hosts, switches): (&[Host], &[Switch]),
    first: &mut [Order],
    next: &mut [Order],
) {
    for (unit, next) in units.iter().zip(next.iter_mut()) {
        *next = unit.next(hosts, switches);
    }
    next.chunks(BLOCK).zip(first.iter_mut()).for_each(|(next, first)| *first = first_of(next));
}

#[inline]
fn update_first(first: &mut [Order], next: &[Order], active: &[u32]) {
    for units in active.chunk_by(|one, other| *one as usize / BLOCK == *other as usize / BLOCK) {
        let block = units[0] as usize / BLOCK;
        first[block] = first_of(next.chunks(BLOCK).nth(block).unwrap_or_default());
    }
}

/// Prefetches data of the next two work units, `active[0]` and `active[1]`.
#[inline]
fn prefetch_ahead(
    units: &[WorkUnit],
    active: &[u32],
    (hosts, switches): (&[Host], &[Switch]),
    routing: &Routing,
    sources: &Sources<'_>,
) {
    let unit = |ahead: usize| active.get(ahead).map(|index| &units[*index as usize]);
    if let Some(WorkUnit::One(NodeIndex::Host(index))) = unit(1) {
        hosts[*index as usize].prefetch();
    }
    match unit(0) {
        Some(WorkUnit::One(NodeIndex::Host(index))) => {
            let host = &hosts[*index as usize];
            host.prefetch_ends();
            sources.prefetch(host.node());
        }
        Some(WorkUnit::One(NodeIndex::Switch(index))) => {
            let switch = &switches[*index as usize];
            switch.prefetch(routing, sources.prefetch(switch.node()));
        }
        Some(WorkUnit::Cluster(_)) | None => {}
    }
}

impl WorkUnit {
    fn next(&self, hosts: &[Host], switches: &[Switch]) -> Order {
        let next = |position: &NodeIndex| match position {
            NodeIndex::Host(index) => hosts[*index as usize].next(),
            NodeIndex::Switch(index) => switches[*index as usize].next_event(),
        };
        match self {
            WorkUnit::One(position) => next(position),
            WorkUnit::Cluster(cluster) => {
                let injection = cluster.injection.as_ref().map_or(Order::NEVER, Injection::next);
                cluster.positions.iter().map(next).fold(injection, Order::min)
            }
        }
    }
}

/// Reports to the observer the number of victim flows of each pause that has just begun at switch `index`. Pauses of a
/// port whose other end is not a switch of this shard are left out.
fn count_victims<O: Observer>(
    switches: &mut [Switch],
    position_of: &NodeLocations,
    index: u32,
    at: &mut Context<'_, O>,
) {
    for (port, class) in switches[index as usize].take_watched_pauses() {
        let switch = &switches[index as usize];
        let out = &switch.egress().ports[usize::from(port)];
        if let Some((NodeIndex::Switch(next), ..)) = position_of[out.peer.index()] {
            let victims = switch.victims((port, class), &switches[next as usize], at.network, at.routing);
            at.observer.held_up(out.link, at.now, victims);
        }
    }
}
