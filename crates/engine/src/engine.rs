//! The engine: it cuts time into synchronisation windows, and threads run their nodes through each window.
//!
//! A window is at most as long as the shortest time in which a frame passes from one node to another. Nodes, and
//! clusters of nodes that affect each other without delay, are therefore independent within a window
//! ([`crate::shard`]), and threads may run them in any order. Everything that concerns several independent nodes and
//! is neither a packet nor a pause frame is handled between windows: tasks of faults, routing updates, notices of
//! queue pairs, limits, the check for stalls and the end of the run. Neither the windows nor the results depend on how
//! nodes are spread over threads.

mod agenda;
mod barrier;
mod checks;
mod deadlock;
mod partition;
mod readout;
#[cfg(test)]
mod tests;
mod watchdog;

pub use partition::clusters;

use crate::context::{Counters, Failure, Notice};
use crate::control::Control;
use crate::egress::LAST_TIME;
use crate::fault_spec::FaultSpec;
use crate::faults::{FaultPlan, Hits};
use crate::goodput::Goodput;
use crate::host::Host;
use crate::injection::Injection;
use crate::link::{LinkKind, LinkKindTable, QueueLimits, queues_of_class};
use crate::mail::{MAX_WINDOWS_AHEAD, MOST_THREADS, Sources, WindowMail};
use crate::network::{Network, NetworkInputs, OwnPath, TrafficClass};
use crate::observer::Observer;
use crate::shard::{Shard, Window};
use crate::spec::{Limits, Scheme, Share};
use crate::switch::{Switch, SwitchPlan};
use anabranch_base::{Duration, LinkId, NodeId, QpId, Time};
use anabranch_fabric::{Routing, SelectorError, Topology};
use anabranch_proto::PathFacts;
use anabranch_workload::Workload;
use barrier::Barrier;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use watchdog::Watchdog;

/// One run in progress.
pub struct Engine<'a, O> {
    network: Network<'a>,
    shards: Vec<Mutex<Shard<O>>>,
    /// The frames in flight, except those over long links. The first index is the sending thread. The second index is
    /// the number of the synchronisation window of arrival, modulo the length of the inner list.
    mail: Vec<Vec<RwLock<WindowMail>>>,
    window: RwLock<Window>,
    state: Mutex<RunState>,
    limits: &'a Limits,
    points: PointBudget,
}

/// The number of points that the curves of a run may have.
#[derive(Clone, Copy)]
pub struct PointBudget {
    /// The number of points of all curves together.
    pub most: u64,
    /// The points per simulated second of those curves that have a point in each interval.
    pub per_second: f64,
}

impl PointBudget {
    /// Whether the `recorded` points of events and the points of intervals until `now` are within the budget. The
    /// points of intervals alone always fit, because `max_time` is short enough for them.
    fn fits(&self, recorded: u64, now: Time) -> bool {
        recorded == 0 || recorded as f64 + self.per_second * (now.0 as f64 / 1e12) <= self.most as f64
    }
}

/// The state of a run that only changes between synchronisation windows.
struct RunState {
    /// The time up to which the tasks of the fault plan are done. None before the first task.
    agenda_done: Option<Time>,
    watchdog: Watchdog,
    patience: Duration,
    notify_programs: bool,
    /// The notices that programs have not received yet, sorted by time.
    pending_notices: VecDeque<Notice>,
    goodput: Option<Goodput>,
    outcome: Option<Result<(), Failure>>,
    /// The time of the failure of a node that ended the run.
    failed_at: Option<Time>,
}

impl RunState {
    fn new(patience: Duration, notify_programs: bool) -> Self {
        RunState {
            agenda_done: None,
            watchdog: Watchdog::default(),
            patience,
            notify_programs,
            pending_notices: VecDeque::new(),
            goodput: None,
            outcome: None,
            failed_at: None,
        }
    }
}

/// The inputs of a traffic class beyond the first one.
pub struct ClassInputs<'a> {
    pub scheme: &'a Scheme,
    /// Facts of the fabric's longest path for this scheme.
    pub facts: PathFacts,
    /// Facts of the path between two hosts, if the congestion control uses them.
    pub own_path: Option<OwnPath<'a>>,
    /// The class's first connection in the workload. The connections of the next class follow those of this class.
    pub first_connection: u32,
}

pub struct EngineInputs<'a> {
    pub topology: &'a Topology,
    /// Routes with every link up.
    pub routing: &'a Routing,
    pub workload: &'a Workload,
    /// Faults, in the order of the scenario.
    pub faults: &'a [FaultSpec],
    pub scheme: &'a Scheme,
    /// Plans for the state of switches.
    pub switches: SwitchPlan,
    /// Facts of the fabric's longest path.
    pub facts: PathFacts,
    /// Facts of the path between two hosts, if the congestion control uses them.
    pub own_path: Option<OwnPath<'a>>,
    pub classes: Vec<ClassInputs<'a>>,
    /// The shares of all classes. Empty if there is only one.
    pub shares: Vec<Share>,
    /// The injection of messages that are posted while the run goes on. A run that may pause for its injector has one
    /// thread.
    pub injection: Option<Injection>,
    pub limits: &'a Limits,
    pub points: PointBudget,
    /// Seed of every random stream.
    pub seed: u64,
    /// The number of threads, on which no result depends.
    pub threads: usize,
}

impl<'a> EngineInputs<'a> {
    /// The network of the run, with the index of the kind of each link.
    ///
    /// # Errors
    /// A selector of a fault has no known form, or names nothing that the fault can affect.
    pub fn network(&mut self) -> Result<(Network<'a>, Vec<u16>), SelectorError> {
        let EngineInputs { topology, scheme, facts, limits, seed, .. } = *self;
        let sizes = [facts.packet.0 as u16, scheme.transport.framing().ack.0 as u16];
        let mut table = LinkKindTable::new(sizes, &scheme.fabric, &facts);
        let link_kind_of = (0..topology.ports.len() as u32).map(|link| table.kind(topology, LinkId(link)));
        let link_kind_of: Vec<u16> = link_kind_of.collect();
        let plan = (scheme.fabric.routing_delay, limits.max_time);
        let faults = FaultPlan::new(self.faults, plan, topology, seed, &mut table)?;
        let network = Network::new(NetworkInputs {
            topology,
            healthy: self.routing,
            workload: self.workload,
            scheme,
            facts,
            own_path: self.own_path.take(),
            classes: std::mem::take(&mut self.classes)
                .into_iter()
                .map(|class| class.on(scheme.qps, &table.kinds))
                .collect(),
            shares: std::mem::take(&mut self.shares),
            link_kinds: table.kinds,
            faults,
            seed,
        });
        Ok((network, link_kind_of))
    }
}

impl<'a, O: Observer> Engine<'a, O> {
    /// An engine before its first event.
    ///
    /// # Errors
    /// A selector of a fault has no known form, or names nothing that the fault can affect.
    pub fn new(mut inputs: EngineInputs<'a>, observer: O) -> Result<Self, SelectorError> {
        let patience = longest_patience(inputs.limits, (inputs.scheme, &inputs.facts), &inputs.classes);
        let state = RunState::new(patience, inputs.switches.wants_qps());
        let (network, link_kind_of) = inputs.network()?;
        let EngineInputs { topology, routing, switches, injection, limits, points, threads, .. } = inputs;
        let link_kind_of = |link: LinkId| link_kind_of[link.index()];
        let shards = shards(&network, switches, injection, &observer, threads, link_kind_of);
        let length = network.window.0;
        // The slots are for the present synchronisation window and for up to `MAX_WINDOWS_AHEAD` later ones. Frames
        // that arrive after these windows go through `FarCalendar`.
        let ahead = (network.longest_delay().0.div_ceil(length) as usize).clamp(1, MAX_WINDOWS_AHEAD);
        let slots = || (0..=ahead).map(|_| RwLock::new(WindowMail::new(topology.nodes() as usize))).collect();
        let window = Window::first(routing, ahead);
        Ok(Engine {
            mail: shards.iter().map(|_| slots()).collect(),
            shards,
            network,
            window: RwLock::new(window),
            state: Mutex::new(state),
            limits,
            points,
        })
    }

    /// Runs until every message is acknowledged, every step is over and the injector names no further time. The run
    /// then continues for the time [`linger`](Network::linger). A failure ends the run earlier.
    ///
    /// # Errors
    /// The reason for the early end, or a broken invariant.
    pub fn run(&mut self, control: &Control) -> Result<(), Failure> {
        lock(&self.state).goodput = control.goodput.then(|| Goodput::new(self.network.facts.base_rtt));
        match self.shards.len() {
            1 => loop {
                if let Some(outcome) = self.run_here(control) {
                    return outcome;
                }
            },
            threads => {
                let outcome = self.run_on(threads, control);
                self.checked(outcome)
            }
        }
    }

    /// Runs in this thread, which is the only one, and returns the outcome when the run has ended. Returns None if the
    /// run pauses because its injector is not ready.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn run_here(&mut self, control: &Control) -> Option<Result<(), Failure>> {
        loop {
            if !lock(&self.shards[0]).is_paused()
                && let Some(outcome) = self.between_windows(control)
            {
                return Some(self.checked(outcome));
            }
            self.work(0);
            if lock(&self.shards[0]).is_paused() {
                return None;
            }
        }
    }

    /// The outcome of the run, or the invariant that its final state breaks.
    fn checked(&mut self, outcome: Result<(), Failure>) -> Result<(), Failure> {
        if let Err(Failure::LosslessDrop(_) | Failure::Invariant(_)) = outcome {
            // The checks could only find consequences of this failure, and would say less about it.
            return outcome;
        }
        self.check()?;
        outcome
    }

    fn run_on(&self, threads: usize, control: &Control) -> Result<(), Failure> {
        let barrier = Barrier::new(threads);
        let run_thread = |thread: usize| {
            let _guard = barrier.guard();
            loop {
                let waited = barrier.wait(|| {
                    let outcome = self.between_windows(control);
                    lock(&self.state).outcome = outcome;
                });
                // The outcome is only written inside `wait`, so that all threads read the same value here.
                if waited.is_err() || lock(&self.state).outcome.is_some() {
                    return;
                }
                self.work(thread);
            }
        };
        std::thread::scope(|scope| {
            let run_thread = &run_thread;
            let others: Vec<_> = (1..threads).map(|thread| scope.spawn(move || run_thread(thread))).collect();
            run_thread(0);
            for other in others {
                if let Err(panic) = other.join() {
                    std::panic::resume_unwind(panic);
                }
            }
        });
        lock(&self.state).outcome.take().unwrap_or(Err(Failure::Cancelled))
    }

    fn work(&self, thread: usize) {
        let window = self.window.read().unwrap_or_else(PoisonError::into_inner);
        let mut shard = lock(&self.shards[thread]);
        let position = |ahead: u64| ((window.number + ahead) % self.mail[thread].len() as u64) as usize;
        let present: SmallVec<[_; 8]> = self
            .mail
            .iter()
            .map(|slots| slots[position(0)].read().unwrap_or_else(PoisonError::into_inner))
            .collect();
        let mut next: SmallVec<[_; MAX_WINDOWS_AHEAD]> = (1..self.mail[thread].len() as u64)
            .map(|ahead| {
                let slot = &self.mail[thread][position(ahead)];
                let mut slot = slot.write().unwrap_or_else(PoisonError::into_inner);
                slot.reuse_for(window.number + ahead, &mut shard.blocks);
                slot
            })
            .collect();
        let present: SmallVec<[&WindowMail; 8]> = present.iter().map(|slot| &**slot).collect();
        let sources = Sources { slots: &present, window: window.number, order: self.network.drawn_order() };
        let slots = next.iter_mut().map(|slot| &mut **slot).collect();
        shard.run(&self.network, &window, &sources, slots);
    }

    /// Does everything that concerns all nodes between two synchronisation windows. Returns how the run ended, or None
    /// after setting the next window.
    fn between_windows(&self, control: &Control) -> Option<Result<(), Failure>> {
        let mut state = lock(&self.state);
        let mut window = self.window.write().unwrap_or_else(PoisonError::into_inner);
        let mut shards = self.locked();
        let counters = totals(&shards);
        let messages = u64::from(self.network.board.messages());
        control.publish(latest(&shards), &counters, messages - counters.acknowledged.min(messages));
        if let Some((at, failure)) = first_failure(&mut shards) {
            state.failed_at = Some(at);
            return Some(Err(failure));
        }
        let steps = self.network.workload.steps.len() as u64;
        let is_over = counters.acknowledged >= messages && counters.steps >= steps;
        if is_over && window.stop == Time::NEVER && !shards.iter().any(|shard| shard.will_post()) {
            // Packets in flight still arrive and count. The time of the end follows from the scenario alone. It depends
            // neither on where synchronisation windows end nor on the run's time limit.
            window.stop = (self.network.board.last_end() + self.network.linger).min(LAST_TIME);
        }
        if window.ends[0] >= window.stop {
            return Some(Ok(()));
        }
        deliver_far(&mut shards);
        if let Err(failure) = self.check_progress(&mut state, &shards, &counters, &window, control) {
            return Some(Err(failure));
        }
        let notices = gather_notices(&mut shards);
        let ran = window.number;
        if let Err(failure) = self.next_window(&mut state, &mut window, &mut shards, notices) {
            // Later synchronisation windows have not run, so the frames that arrive in them are still on links.
            window.number = ran;
            return Some(Err(failure));
        }
        None
    }

    fn locked(&self) -> Vec<MutexGuard<'_, Shard<O>>> {
        self.shards.iter().map(lock).collect()
    }
}

impl<'a> ClassInputs<'a> {
    /// The class in a run whose connections have `split` queue pairs each, over links of these kinds.
    fn on(self, split: u32, kinds: &[LinkKind]) -> TrafficClass<'a> {
        let ClassInputs { scheme, facts, own_path, first_connection } = self;
        TrafficClass {
            queues: QueueLimits::new(&scheme.fabric, &facts, scheme.transport.trimmed_bytes()),
            kinds: queues_of_class(kinds, &scheme.fabric, &facts),
            first_qp: QpId(first_connection * split),
            scheme,
            facts,
            own_path,
        }
    }
}

/// The time without new deliveries after which a run counts as stalled. It is the longest such time of all classes.
fn longest_patience(
    limits: &Limits,
    (scheme, facts): (&Scheme, &PathFacts),
    classes: &[ClassInputs<'_>],
) -> Duration {
    let of_classes = classes.iter().map(|class| limits.patience(class.scheme, &class.facts));
    of_classes.fold(limits.patience(scheme, facts), Duration::max)
}

/// The hosts and switches of a network before its first event, spread over at most `threads` shards.
fn shards<O: Observer>(
    network: &Network<'_>,
    mut plan: SwitchPlan,
    mut injection: Option<Injection>,
    observer: &O,
    threads: usize,
    link_kind_of: impl Fn(LinkId) -> u16 + Copy,
) -> Vec<Mutex<Shard<O>>> {
    let topology = network.topology;
    let mut hosts: Vec<Option<Host>> = Host::all(network, link_kind_of).into_iter().map(Some).collect();
    let clusters = clusters(network, observer, injection.is_some());
    let is_merged = clusters.iter().flatten().any(|node| !network.is_host(*node));
    plan.by_port &= !is_merged && !observer.wants_node_order() && threads <= MOST_THREADS;
    let mut switches: Vec<Option<Switch>> = (0..topology.switches.len() as u32)
        .map(|index| Some(Switch::new(network, &mut plan, index, link_kind_of)))
        .collect();
    let parts = partition::parts(topology, &clusters, threads.max(1));
    let shard = |part: &partition::ThreadNodes| {
        let here = |node: &NodeId| part.contains(node);
        let clusters: Vec<Vec<NodeId>> = clusters.iter().filter(|nodes| here(&nodes[0])).cloned().collect();
        let hosts = part.nodes.iter().filter_map(|node| hosts.get_mut(node.index())?.take()).collect();
        let of_switches =
            |node: &NodeId| switches.get_mut(node.0.checked_sub(topology.hosts)? as usize)?.take();
        let switches = part.nodes.iter().filter_map(of_switches).collect();
        let injection = injection.take_if(|_| here(&NodeId(0)));
        Mutex::new(Shard::new(network, (hosts, switches), &clusters, injection, observer.fork()))
    };
    parts.iter().map(shard).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn totals<O>(shards: &[MutexGuard<'_, Shard<O>>]) -> Counters {
    shards.iter().fold(Counters::default(), |mut sum, shard| {
        sum += shard.counters;
        sum
    })
}

fn hits_of<O>(shards: &[MutexGuard<'_, Shard<O>>]) -> Hits {
    shards.iter().fold(Hits::default(), |mut sum, shard| {
        sum += &shard.effects.hits;
        sum
    })
}

/// The number of data packets that receivers have received for the first time, over all shards.
fn fresh_packets<O: Observer>(shards: &[MutexGuard<'_, Shard<O>>]) -> u64 {
    shards.iter().flat_map(|shard| shard.hosts()).map(Host::fresh_packets).sum()
}

fn latest<O>(shards: &[MutexGuard<'_, Shard<O>>]) -> Time {
    shards.iter().map(|shard| shard.latest).max().unwrap_or(Time::ZERO)
}

fn first_failure<O>(shards: &mut [MutexGuard<'_, Shard<O>>]) -> Option<(Time, Failure)> {
    let failures = shards.iter_mut().filter_map(|shard| shard.effects.failure.take());
    failures.min_by_key(|(time, node, _)| (*time, *node)).map(|(time, _, failure)| (time, failure))
}

fn deliver_far<O: Observer>(shards: &mut [MutexGuard<'_, Shard<O>>]) {
    for from in 0..shards.len() {
        for far in std::mem::take(&mut shards[from].sent_far) {
            if let Some(to) = shards.iter_mut().find(|shard| shard.has(far.node)) {
                to.add_far_arrival(far);
            }
        }
    }
}

/// The notices of the last synchronisation window that queue pairs were opened or are done, sorted by time and then
/// by source.
fn gather_notices<O>(shards: &mut [MutexGuard<'_, Shard<O>>]) -> Vec<Notice> {
    let mut notices: Vec<Notice> =
        shards.iter_mut().flat_map(|shard| std::mem::take(&mut shard.effects.notices)).collect();
    // All notices of a source come from one shard in their order, and a stable sort keeps that order.
    notices.sort_by_key(|notice| (notice.time, notice.src));
    notices
}
