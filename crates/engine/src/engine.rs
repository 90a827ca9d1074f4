//! The engine: cuts time into windows, lets threads run their nodes through them, and looks after the whole in between.
//!
//! A window is at most as long as the shortest time in which anything passes from one node to another, so that within
//! it nodes do not depend on each other ([`crate::shard`]), and threads may run them in any order. What crosses nodes
//! without being a packet (faults, routing, what queue pairs say, limits, the watchdog, the end of the run) happens
//! between windows, which do not depend on how nodes are spread over threads: nor does anything else.

mod barrier;
mod deadlock;
mod partition;
#[cfg(test)]
mod tests;

use crate::backlog::Backlogs;
use crate::context::{Counters, Failure, Notice};
use crate::control::Control;
use crate::egress::LAST_TIME;
use crate::fault_spec::FaultSpec;
use crate::faults::{FaultPlan, Hits, Task};
use crate::goodput::Goodput;
use crate::host::{Host, QpStats, Totals};
use crate::injection::Injection;
use crate::injector::Injector;
use crate::link::LinkKindTable;
use crate::mail::{MAX_WINDOWS_AHEAD, Sources, WindowMail};
use crate::network::{Network, NetworkInputs, OwnPath};
use crate::observer::Observer;
use crate::shard::{NodeTask, Shard, Window};
use crate::spec::{Limits, Scheme};
use crate::switch::{Switch, SwitchPlan, program_counters};
use anabranch_base::{Duration, HostId, LinkId, MessageId, NodeId, QpId, Time};
use anabranch_fabric::{Routing, SelectorError, Topology};
use anabranch_proto::PathFacts;
use anabranch_results::SeriesRow;
use anabranch_workload::Workload;
use barrier::Barrier;
use smallvec::SmallVec;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// One run in progress.
pub struct Engine<'a, O> {
    network: Network<'a>,
    shards: Vec<Mutex<Shard<O>>>,
    /// By thread, then by window modulo their number: what the thread has sent that comes in within the window.
    mail: Vec<Vec<RwLock<WindowMail>>>,
    window: RwLock<Window>,
    state: Mutex<RunState>,
    limits: &'a Limits,
    points: PointBudget,
}

/// How many points the curves of a run may have.
#[derive(Clone, Copy)]
pub struct PointBudget {
    /// In all.
    pub most: u64,
    /// A second, of the curves that have a point in each interval.
    pub per_second: f64,
}

impl PointBudget {
    /// Whether there is room until `now` for `recorded` points beside those of intervals.
    fn fits(&self, recorded: u64, now: Time) -> bool {
        recorded == 0 || recorded as f64 + self.per_second * (now.0 as f64 / 1e12) <= self.most as f64
    }
}

/// Where a run stands between windows.
struct RunState {
    /// Until when all on the agenda of the faults is done; none: nothing yet.
    agenda_done: Option<Time>,
    watch: Watchdog,
    patience: Duration,
    /// Some program wants to hear of queue pairs.
    notify_programs: bool,
    /// What programs will hear, by time.
    pending_notices: VecDeque<Notice>,
    /// Where it is recorded.
    goodput: Option<Goodput>,
    outcome: Option<Result<(), Failure>>,
    /// When what failed the run happened.
    failed_at: Option<Time>,
}

/// Watches that the run gets on: that applications get data which they did not have.
#[derive(Default)]
struct Watchdog {
    /// Nothing was outstanding at the last look: the run only waited for the next start.
    idle: bool,
    fresh: u64,
    since: Time,
    look_at: Time,
}

/// What an engine is made of.
pub struct EngineInputs<'a> {
    /// The fabric.
    pub topology: &'a Topology,
    /// Routes with every link up.
    pub routing: &'a Routing,
    /// What the hosts send.
    pub workload: &'a Workload,
    /// What breaks.
    pub faults: &'a [FaultSpec],
    /// What carries the messages.
    pub scheme: &'a Scheme,
    /// What its switches are made after.
    pub switches: SwitchPlan,
    /// The fabric's longest path.
    pub facts: PathFacts,
    /// What tells the path between two hosts, where the congestion control asks for it.
    pub own_path: Option<OwnPath<'a>>,
    /// What posts messages while the run goes on.
    pub injector: Option<Box<dyn Injector>>,
    /// Where the run ends.
    pub limits: &'a Limits,
    /// How many points its curves may have.
    pub points: PointBudget,
    /// Seed of every random stream.
    pub seed: u64,
    /// How many threads run it. They do not change what comes out.
    pub threads: usize,
}

impl<'a, O: Observer> Engine<'a, O> {
    /// An engine before its first event.
    ///
    /// # Errors
    /// A fault that names no link of this fabric.
    pub fn new(inputs: EngineInputs<'a>, observer: O) -> Result<Self, SelectorError> {
        let EngineInputs {
            topology,
            routing,
            workload,
            faults,
            scheme,
            mut switches,
            facts,
            own_path,
            injector,
            limits,
            points,
            seed,
            threads,
        } = inputs;
        let sizes = [facts.packet.0 as u16, scheme.transport.framing().ack.0 as u16];
        let mut table = LinkKindTable::new(sizes, &scheme.fabric, &facts);
        let link_kind_of: Vec<u16> =
            (0..topology.ports.len() as u32).map(|link| table.kind(topology, LinkId(link))).collect();
        let faults = FaultPlan::new(faults, scheme.fabric.routing_delay, topology, seed, &mut table)?;
        let link_kinds = table.kinds;
        let network = Network::new(NetworkInputs {
            topology,
            healthy: routing,
            workload,
            scheme,
            facts,
            own_path,
            link_kinds,
            faults,
            seed,
        });
        let link_kind_of = |link: LinkId| link_kind_of[link.index()];
        let notify_programs = switches.program.as_ref().is_some_and(|program| program.wants_qps());
        let mut hosts: Vec<Option<Host>> = Host::all(&network, link_kind_of).into_iter().map(Some).collect();
        let mut nodes: Vec<Option<Switch>> = (0..topology.switches.len() as u32)
            .map(|index| Some(Switch::new(&network, &mut switches, index, link_kind_of)))
            .collect();
        let clusters = partition::clusters(&network, &observer, injector.is_some());
        let mut injection = injector.map(Injection::of);
        let parts = partition::parts(topology, &clusters, threads.max(1));
        let shards = parts.iter().map(|part| {
            let here = |node: &NodeId| part.contains(node);
            let clusters: Vec<Vec<NodeId>> =
                clusters.iter().filter(|nodes| here(&nodes[0])).cloned().collect();
            let hosts = part.nodes.iter().filter_map(|node| hosts.get_mut(node.index())?.take()).collect();
            let of_switches =
                |node: &NodeId| nodes.get_mut(node.0.checked_sub(topology.hosts)? as usize)?.take();
            let switches = part.nodes.iter().filter_map(of_switches).collect();
            let injection = injection.take_if(|_| here(&NodeId(0)));
            Mutex::new(Shard::new(&network, (hosts, switches), &clusters, injection, observer.fork()))
        });
        let shards: Vec<Mutex<Shard<O>>> = shards.collect();
        let length = network.window.0;
        // The present window, those that a usual packet may come in, and none for what takes longer than most of them.
        let ahead = (network.longest_delay().0.div_ceil(length) as usize).clamp(1, MAX_WINDOWS_AHEAD);
        let slots = || (0..=ahead).map(|_| RwLock::new(WindowMail::new(topology.nodes() as usize))).collect();
        let window = Window {
            number: 0,
            start: Time::ZERO,
            // The first window starts with the first event: until then there are none.
            ends: SmallVec::from_elem(Time::ZERO, ahead + 1),
            routing: Arc::new(routing.clone()),
            stop: Time::NEVER,
            notices: Arc::default(),
            program_notices: Arc::default(),
            tasks: Arc::default(),
        };
        let state = RunState {
            agenda_done: None,
            watch: Watchdog::default(),
            patience: limits.patience(scheme, &facts),
            notify_programs,
            pending_notices: VecDeque::new(),
            goodput: None,
            outcome: None,
            failed_at: None,
        };
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

    /// Runs until every message is acknowledged, or until something stops it. However it ends, the checkers look
    /// at what is left.
    ///
    /// # Errors
    /// What stopped it.
    pub fn run(&mut self, control: &Control) -> Result<(), Failure> {
        lock(&self.state).goodput = control.goodput.then(|| Goodput::new(self.network.facts.base_rtt));
        let outcome = match self.shards.len() {
            1 => loop {
                if let Some(outcome) = self.between_windows(control) {
                    break outcome;
                }
                self.work(0);
            },
            threads => self.run_on(threads, control),
        };
        if let Err(Failure::LosslessDrop(_) | Failure::Invariant(_)) = outcome {
            // It breaks the same rules as the checkers would find broken, and says more.
            return outcome;
        }
        self.check()?;
        outcome
    }

    fn run_on(&self, threads: usize, control: &Control) -> Result<(), Failure> {
        let barrier = Barrier::new(threads);
        let take_part = |thread: usize| {
            let _guard = barrier.guard();
            loop {
                let waited = barrier.wait(|| {
                    let outcome = self.between_windows(control);
                    lock(&self.state).outcome = outcome;
                });
                // Threads read it between two passes, in which nobody writes.
                if waited.is_err() || lock(&self.state).outcome.is_some() {
                    return;
                }
                self.work(thread);
            }
        };
        std::thread::scope(|scope| {
            let take_part = &take_part;
            let others: Vec<_> = (1..threads).map(|thread| scope.spawn(move || take_part(thread))).collect();
            take_part(0);
            for other in others {
                if let Err(panic) = other.join() {
                    std::panic::resume_unwind(panic);
                }
            }
        });
        lock(&self.state).outcome.take().unwrap_or(Err(Failure::Cancelled))
    }

    /// Runs the nodes of one thread through the present window.
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

    /// Looks after the whole between two windows: how the run ends, or none and the next window is set.
    fn between_windows(&self, control: &Control) -> Option<Result<(), Failure>> {
        let mut state = lock(&self.state);
        let mut window = self.window.write().unwrap_or_else(PoisonError::into_inner);
        let mut shards = self.locked();
        let counters = totals(&shards);
        let messages = u64::from(self.network.board.messages());
        control.publish(
            latest(&shards),
            counters.packet_hops,
            messages - counters.acknowledged.min(messages),
        );
        if let Some((at, failure)) = first_failure(&mut shards) {
            state.failed_at = Some(at);
            return Some(Err(failure));
        }
        let steps = self.network.workload.steps.len() as u64;
        let is_over = counters.acknowledged >= messages && counters.steps >= steps;
        if is_over && window.stop == Time::NEVER && !shards.iter().any(|shard| shard.will_post()) {
            // What is on its way then still comes in and counts. The time follows from the scenario alone, wherever
            // windows are cut and whatever the run's limit is.
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
            // The windows after it have not run: what is filed for them is still on links.
            window.number = ran;
            return Some(Err(failure));
        }
        None
    }

    /// Sets the next window in which anything happens.
    fn next_window(
        &self,
        state: &mut RunState,
        window: &mut Window,
        shards: &mut [MutexGuard<'_, Shard<O>>],
        notices: Vec<Notice>,
    ) -> Result<(), Failure> {
        let due = self.network.faults.next_due(state.agenda_done);
        let own = shards.iter().map(|shard| shard.next_time()).min().unwrap_or(Time::NEVER);
        if state.notify_programs {
            let later = |notice: &Notice| Notice { time: notice.time + self.network.window, ..*notice };
            state.pending_notices.extend(notices.iter().map(later));
        }
        let own = state.pending_notices.front().map_or(own, |notice| own.min(notice.time));
        let mut steps = window.ends.len() as u64;
        loop {
            let next = window.ends[0];
            self.advance(window, next);
            if own < window.ends[0] || due <= next || self.has_mail(window.number) {
                break;
            }
            steps -= 1;
            if steps == 0 {
                // No mail in any window: time goes on to the next event.
                let first = own.min(due).min(window.stop);
                if first == Time::NEVER {
                    let cycle = deadlock::find(&self.network, shards);
                    return Err(cycle.map_or(Failure::NothingLeft, Failure::Deadlock));
                }
                if first > self.end_of_time(window) {
                    return Err(Failure::Limit("max_time"));
                }
                window.ends.fill(first);
                for _ in 0..window.ends.len() {
                    self.advance(window, window.ends[0]);
                }
                window.start = first;
                break;
            }
        }
        if window.start > self.end_of_time(window) {
            return Err(Failure::Limit("max_time"));
        }
        window.notices = notices.into();
        let heard =
            state.pending_notices.partition_point(|notice| notice.time < window.ends[0].min(window.stop));
        window.program_notices = state.pending_notices.drain(..heard).collect();
        window.tasks = self.run_agenda(state, window, shards).into();
        Ok(())
    }

    /// The last instant of the run, whatever happens.
    fn end_of_time(&self, window: &Window) -> Time {
        let limit = Time::ZERO + self.limits.max_time;
        let limit = if window.stop < Time::NEVER { limit.max(window.stop) } else { limit };
        limit.min(Time(LAST_TIME.0 - 1))
    }

    /// Goes on to the window that starts at `start`, and cuts one more at the far end.
    fn advance(&self, window: &mut Window, start: Time) {
        window.number += 1;
        window.start = start;
        window.ends.remove(0);
        let last = window.ends.last().copied().unwrap_or(start);
        // Faults do what they do between windows, and none goes beyond the end of the run.
        let next_due = self.network.faults.next_due(Some(last));
        let end = self.end_of_time(window) + Duration(1);
        window.ends.push((last + self.network.window).min(next_due).min(end).max(last));
    }

    fn has_mail(&self, window: u64) -> bool {
        self.mail.iter().any(|slots| {
            let slot = &slots[(window % slots.len() as u64) as usize];
            !slot.read().unwrap_or_else(PoisonError::into_inner).is_empty(window)
        })
    }

    /// Does what faults ask for at the start of `window`, or says which node has to do it.
    fn run_agenda(
        &self,
        state: &mut RunState,
        window: &mut Window,
        shards: &mut [MutexGuard<'_, Shard<O>>],
    ) -> Vec<(NodeId, NodeTask)> {
        let Network { faults, topology, .. } = &self.network;
        let mut tasks = Vec::new();
        let due =
            |state: &RunState| Some(faults.next_due(state.agenda_done)).filter(|due| *due <= window.start);
        while let Some(time) = due(state) {
            state.agenda_done = Some(time);
            for task in faults.tasks_at(time) {
                match task {
                    Task::Purge(node, fault) => tasks.push((node, NodeTask::Purge(fault))),
                    Task::SettlePause(link) if self.network.scheme.fabric.pfc.is_some() => {
                        // The node that receives on the link decides, the one that sends on it waits or goes on.
                        let back = topology.reverse(link);
                        let up = faults.is_up(link, window.start) && faults.is_up(back, window.start);
                        let port = &topology.ports[link.index()];
                        let receives = shards.iter_mut().find_map(|shard| shard.switch_mut(port.peer));
                        let stop = receives.is_some_and(|switch| switch.settle_pause(port.peer_port, up));
                        let source = topology.source(link);
                        let its_port = topology.ports[back.index()].peer_port;
                        tasks.push((source, NodeTask::Pause(its_port, stop)));
                    }
                    Task::SettlePause(_) => {}
                    Task::Reroute(as_of) => {
                        let alive = |link| faults.is_up(link, as_of);
                        window.routing = Arc::new(Routing::new(topology, &alive));
                    }
                }
            }
        }
        tasks
    }

    fn check_progress(
        &self,
        state: &mut RunState,
        shards: &[MutexGuard<'_, Shard<O>>],
        counters: &Counters,
        window: &Window,
        control: &Control,
    ) -> Result<(), Failure> {
        if control.cancel.load(Ordering::Relaxed) {
            return Err(Failure::Cancelled);
        }
        if control.count_packets.load(Ordering::Relaxed) {
            control.count_packets.store(false, Ordering::Relaxed);
            control.packets_delivered.store(fresh_packets(shards), Ordering::Relaxed);
        }
        if counters.events > self.limits.max_events {
            return Err(Failure::Limit("max_events"));
        }
        let lost = counters.drops + counters.link_losses;
        if counters.injected.saturating_sub(counters.consumed + lost) > self.limits.max_packets {
            return Err(Failure::Limit("max_packets"));
        }
        let now = window.ends[0];
        let recorded = shards.iter().map(|shard| shard.observer.recorded()).sum();
        if !self.points.fits(recorded, now.min(Time::ZERO + self.limits.max_time)) {
            return Err(Failure::TooManyPoints);
        }
        let RunState { watch, patience, goodput, .. } = state;
        if let Some(goodput) = goodput.as_mut().filter(|goodput| goodput.is_due(now)) {
            goodput.record(now, fresh_packets(shards));
        }
        // A run without outstanding messages only waits for the next start, however long.
        if counters.posted == counters.acknowledged {
            watch.idle = true;
            return Ok(());
        }
        if watch.idle {
            *watch = Watchdog {
                idle: false,
                fresh: u64::MAX,
                since: now,
                look_at: now + Duration(patience.0 / 4),
            };
        }
        if now < watch.look_at {
            return Ok(());
        }
        let fresh = fresh_packets(shards);
        if fresh != watch.fresh {
            (watch.fresh, watch.since) = (fresh, now);
        } else if now.since(watch.since) > *patience {
            let hits = hits_of(shards);
            let Network { faults, link_kinds, .. } = &self.network;
            if let Some(over) = faults.blocked_until((watch.since, now), &hits, *patience, link_kinds)
                && now.since(over) <= *patience
            {
                watch.look_at = now.max(over) + Duration(patience.0 / 4);
                return Ok(());
            }
            let cycle = deadlock::find(&self.network, shards);
            return Err(cycle.map_or(Failure::Stalled, Failure::Deadlock));
        }
        watch.look_at = now + Duration(patience.0 / 4);
        Ok(())
    }

    /// The checkers that are cheap enough for the end of every run.
    fn check(&mut self) -> Result<(), Failure> {
        let Window { number, stop, .. } = *self.window.get_mut().unwrap_or_else(PoisonError::into_inner);
        let slots = self.mail.iter().flatten();
        let filed: u64 = slots
            .map(|slot| {
                let slot = slot.read().unwrap_or_else(PoisonError::into_inner);
                let later: u64 =
                    (1..=MAX_WINDOWS_AHEAD as u64).map(|ahead| slot.packets(number + ahead)).sum();
                later + slot.packets_from(number, stop)
            })
            .sum();
        let mut shards = self.locked();
        deliver_far(&mut shards);
        let wrong = |what: String| Err(Failure::Invariant(what));
        if let Some(message) = self.network.board.too_early() {
            return wrong(format!("message {message} was acknowledged before it was delivered"));
        }
        let Counters { drops, link_losses, injected, consumed, .. } = totals(&shards);
        let hosts = || shards.iter().flat_map(|shard| shard.hosts());
        let switches = || shards.iter().flat_map(|shard| shard.switches());
        let on_links = filed + shards.iter().map(|shard| shard.packets_far_away()).sum::<u64>();
        let queued = hosts().map(|host| host.egress().pool.used()).sum::<u64>()
            + switches().map(|switch| switch.egress().pool.used()).sum::<u64>();
        let held: u64 = switches().map(Switch::held).sum();
        if injected != consumed + drops + link_losses + queued + on_links + held {
            return wrong(format!(
                "of {injected} packets sent, {consumed} arrived, {drops} were dropped, {link_losses} lost, {queued} wait, {held} are held and {on_links} are on links"
            ));
        }
        for switch in switches() {
            if let Some((counted, waits)) = switch.counted_bytes().filter(|(counted, waits)| counted != waits)
            {
                return wrong(format!("a switch counts {counted} B where {waits} B wait"));
            }
            if let Some(telemetry) = &switch.egress().telemetry {
                let queued = switch.egress().each_queued().filter(|frame| frame.telemetry > 0).count() as u64;
                let (kept, here) = telemetry.records.counts();
                if here != queued || kept > switch.held() {
                    return wrong(format!(
                        "{here} records of telemetry for {queued} packets that wait, {kept} held"
                    ));
                }
            }
        }
        for host in hosts() {
            if let Some(telemetry) = &host.egress().telemetry {
                let queued = host.egress().each_queued().filter(|frame| frame.telemetry > 0).count() as u64;
                let (_, here) = telemetry.records.counts();
                if here != queued + host.waiting_telemetry() {
                    return wrong(format!(
                        "{here} records of telemetry at a host where {queued} packets wait"
                    ));
                }
            }
        }
        Ok(())
    }

    /// What the run came to so far.
    pub fn counters(&self) -> Counters {
        totals(&self.locked())
    }

    /// Packets that each fault hit.
    pub fn fault_hits(&self) -> Hits {
        hits_of(&self.locked())
    }

    /// Time for which data classes were paused, over all links.
    pub fn pause_time(&self) -> Duration {
        let now = self.now();
        let shards = self.locked();
        let lasting = |shard: &MutexGuard<'_, Shard<O>>| {
            let hosts = shard.hosts().iter().map(|host| host.egress().lasting_pauses(now));
            let switches = shard.switches().iter().map(|switch| switch.egress().lasting_pauses(now));
            hosts.chain(switches).fold(Duration::ZERO, |sum, time| sum + time)
        };
        shards.iter().map(lasting).fold(totals(&shards).pause_time, |sum, time| sum + time)
    }

    /// The most bytes that waited at one port of a switch, and its link; none where nothing waited. Of several the first
    /// link.
    pub fn peak_queue(&self) -> Option<(u32, LinkId)> {
        let shards = self.locked();
        let switches = shards.iter().flat_map(|shard| shard.switches());
        let ports = switches.flat_map(|switch| &switch.egress().ports).filter(|port| port.peak > 0);
        ports.map(|port| (port.peak, port.link)).max_by_key(|(peak, link)| (*peak, std::cmp::Reverse(*link)))
    }

    /// What of all data packets that came to a port of a switch so many percent did not find more waiting than, in bytes;
    /// dropped ones found a full queue. None without packets.
    pub fn queue_percentile(&self, percent: u64) -> Option<u64> {
        let mut all = Backlogs::default();
        self.locked().iter().for_each(|shard| all += &shard.backlogs);
        all.percentile(percent)
    }

    /// Goodput over time until now, where it is recorded, in rows of curves.
    pub fn goodput(&self) -> Vec<SeriesRow> {
        let goodput = lock(&self.state).goodput.take();
        let payload = self.network.scheme.transport.framing().payload;
        goodput.map_or_else(Vec::new, |goodput| {
            goodput.into_rows(self.now(), fresh_packets(&self.locked()), payload)
        })
    }

    /// What programs in switches counted.
    pub fn program_counters(&self) -> BTreeMap<&'static str, u64> {
        let shards = self.locked();
        let mut switches: Vec<&Switch> = shards.iter().flat_map(|shard| shard.switches()).collect();
        switches.sort_by_key(|switch| crate::node::Node::node(*switch));
        program_counters(switches.into_iter())
    }

    /// Packets that switches marked, by class of switch (`tor`, `leaf`, `esw`).
    pub fn marks_by_class(&self) -> BTreeMap<String, u64> {
        let mut by_class = BTreeMap::new();
        for switch in self.locked().iter().flat_map(|shard| shard.switches()) {
            let topology = self.network.topology;
            let Some(its) = topology.switch(crate::node::Node::node(switch)) else { continue };
            *by_class.entry(topology.tier_word(its.tier)).or_default() += switch.marked();
        }
        by_class
    }

    /// What the senders counted.
    pub fn sender_counters(&self) -> Totals {
        let shards = self.locked();
        let hosts = shards.iter().flat_map(|shard| shard.hosts());
        hosts.fold(Totals::default(), |totals, host| totals.and(host.counters()))
    }

    /// By connection of the workload: what its packets met.
    pub fn qp_stats(&self) -> Vec<QpStats> {
        let shards = self.locked();
        let of_connection = |connection: u32| {
            let network = &self.network;
            let src = network.ends_of(QpId(connection)).src;
            let host = shards.iter().find_map(|shard| shard.host(src.into()));
            let split = network.scheme.qps;
            (0..split).fold(QpStats::default(), |sum, part| {
                let qp = QpId(connection * split + part);
                let lost = shards.iter().filter_map(|shard| shard.effects.lost.get(qp.index())).sum();
                let met = host.map_or(QpStats::default(), |host| host.qp_stats(network.slots(qp)[0]));
                sum.and(QpStats { lost, ..met })
            })
        };
        (0..self.network.connections()).map(of_connection).collect()
    }

    /// What all nodes share.
    pub fn network(&self) -> &Network<'a> {
        &self.network
    }

    /// The messages that are not acknowledged, with when they were posted.
    pub fn unfinished_messages(&self) -> impl Iterator<Item = (MessageId, Option<Time>)> + '_ {
        (0..self.network.board.messages()).map(MessageId).filter_map(|message| {
            let [posted, _, acknowledged] = self.network.board.times(message);
            acknowledged.is_none().then_some((message, posted))
        })
    }

    /// The hosts of a message that is not acknowledged, between which no path is left now, and how many such messages
    /// there are.
    pub fn cut_off(&self) -> Option<([HostId; 2], usize)> {
        let (topology, now) = (self.network.topology, self.now());
        let alive = |link| self.network.faults.is_up(link, now);
        let routing = Routing::new(topology, &alive);
        let both_ways = |host: HostId| {
            let link = topology.link(host.into(), 0);
            alive(link) && alive(topology.reverse(link))
        };
        let leads = |from: u32, to: u32| from == to || !routing.is_empty(from as usize, to);
        let mut messages = self.unfinished_messages().filter_map(|(message, _)| {
            let qp = self.network.ends_of_message(message);
            let [from, to] = [qp.src, qp.dst].map(|host| routing.tor_index(host));
            let path = both_ways(qp.src) && both_ways(qp.dst) && leads(from, to) && leads(to, from);
            (!path).then_some([qp.src, qp.dst])
        });
        let first = messages.next()?;
        Some((first, 1 + messages.count()))
    }

    /// The time of the latest event so far, or of what failed the run.
    pub fn now(&self) -> Time {
        let failed_at = lock(&self.state).failed_at;
        failed_at.unwrap_or_else(|| latest(&self.locked()))
    }

    /// Ends the run and hands the observer back.
    pub fn into_observer(self) -> Option<O> {
        let shards =
            self.shards.into_iter().map(|shard| shard.into_inner().unwrap_or_else(PoisonError::into_inner));
        shards.map(|shard| shard.observer).reduce(|mut all, other| {
            all.join(other);
            all
        })
    }

    fn locked(&self) -> Vec<MutexGuard<'_, Shard<O>>> {
        self.shards.iter().map(lock).collect()
    }
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

/// Packets that each fault hit.
fn hits_of<O>(shards: &[MutexGuard<'_, Shard<O>>]) -> Hits {
    shards.iter().fold(Hits::default(), |mut sum, shard| {
        sum += &shard.effects.hits;
        sum
    })
}

/// Data packets that receivers received for the first time.
fn fresh_packets<O: Observer>(shards: &[MutexGuard<'_, Shard<O>>]) -> u64 {
    shards.iter().flat_map(|shard| shard.hosts()).map(Host::fresh_packets).sum()
}

fn latest<O>(shards: &[MutexGuard<'_, Shard<O>>]) -> Time {
    shards.iter().map(|shard| shard.latest).max().unwrap_or(Time::ZERO)
}

/// The failure with the earliest position in the order, if there is one.
fn first_failure<O>(shards: &mut [MutexGuard<'_, Shard<O>>]) -> Option<(Time, Failure)> {
    let failures = shards.iter_mut().filter_map(|shard| shard.effects.failure.take());
    failures.min_by_key(|(time, node, _)| (*time, *node)).map(|(time, _, failure)| (time, failure))
}

/// Hands what was sent over long links to the shards of the nodes where it comes in.
fn deliver_far<O: Observer>(shards: &mut [MutexGuard<'_, Shard<O>>]) {
    for from in 0..shards.len() {
        for far in std::mem::take(&mut shards[from].sent_far) {
            if let Some(to) = shards.iter_mut().find(|shard| shard.has(far.node)) {
                to.expect(far);
            }
        }
    }
}

/// What queue pairs said, in the order (time, source).
fn gather_notices<O>(shards: &mut [MutexGuard<'_, Shard<O>>]) -> Vec<Notice> {
    let mut notices: Vec<Notice> =
        shards.iter_mut().flat_map(|shard| std::mem::take(&mut shard.effects.notices)).collect();
    // Those of one source are in their order, and of one shard: the sort is stable.
    notices.sort_by_key(|notice| (notice.time, notice.src));
    notices
}
