//! The plan of all faults, and their effects on packets.
//!
//! All faults are known before the run starts, so the fate of a packet on a link is decided when it is sent. If a link
//! goes down while packets are on it, no event is needed. The plan does not change, and all threads share it. Random
//! losses come from a random stream of the link, and only the node that sends on the link uses this stream.

mod of_hosts;
mod random_begins;
mod schedule;

use crate::fault_spec::{FaultKind, FaultSpec, FaultTargets};
use crate::link::{LinkKind, LinkKindTable};
use anabranch_base::{Bytes, Duration, LinkId, NodeId, Purpose, Rate, Stream, Time, stream};
use anabranch_fabric::{SelectorError, Topology};
use anabranch_proto::{Packet, Repr};
use schedule::Schedule;
use std::ops::AddAssign;

pub struct FaultPlan {
    /// For each link, its index in `links` plus one, or 0 if it never has a fault. Empty in a run without faults.
    health_of: Vec<u32>,
    links: Vec<LinkHealth>,
    /// The tasks in order of time, except the tasks of periodic faults.
    agenda: Vec<(Time, Task)>,
    flaps: Vec<Flapping>,
    /// For each fault, the time at which it first begins. None if it never begins.
    first_begins: Vec<Option<Time>>,
}

/// The tasks that are due when the links of a periodic fault go down or come up, and when routing follows.
struct Flapping {
    schedule: Schedule,
    links: Vec<LinkId>,
    routing_delay: Option<Duration>,
}

/// A task between synchronisation windows. A plan lists the tasks of one instant in the order of the variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// The switch drops all packets in its queues because of the fault with this number.
    Purge(NodeId, u16),
    /// The link or its reverse went down or came up, and both ends of the link set the same pause state.
    SettlePause(LinkId),
    /// Routing is updated to the links that were up at the given time.
    Reroute(Time),
}

struct LinkHealth {
    faults: Vec<Interval>,
    /// The index of the kind that the link has without faults.
    normal: u16,
}

struct Interval {
    /// The number of the fault, counted from 0.
    fault: u16,
    schedule: Schedule,
    effect: Effect,
}

#[derive(Clone, Copy)]
enum Effect {
    Down,
    /// The link has the [`LinkKind`] with this index, which usually has another rate.
    Kind(u16),
    PacketLoss(f64),
    BitErrors(f64),
    /// The sending switch drops data packets with this probability, or trims them.
    SwitchLoss(f64),
    /// The host that sends on this link takes data at this rate. Its NIC keeps up to this number of bytes that the host
    /// has not taken.
    SlowReceiver(Rate, Bytes),
    /// The host that sends on this link pauses the opposite link, on which its switch sends.
    PauseStorm,
}

/// The fate of a packet on its link, with the number of the fault that determines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Arrives,
    Lost(u16),
    /// The sending switch trims or drops the packet.
    DroppedByFault(u16),
}

/// The numbers of packets that a fault hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultHits {
    /// Packets lost on links, or in a switch that went down.
    pub lost: u64,
    /// Packets dropped or trimmed by the sending switch, dropped by a slow receiver, or dropped by a PFC watchdog
    /// during a pause storm.
    pub dropped: u64,
    /// Packets sent at another rate, and data packets that waited for a slow receiver or for a port that a storm
    /// paused.
    pub slowed: u64,
    /// The data packets among all the packets above.
    pub data: u64,
}

/// The numbers of packets that each fault hit, in the order of fault numbers. The list ends with the last fault that
/// hit a packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hits(Vec<FaultHits>);

impl Hits {
    pub fn of(&mut self, fault: u16) -> &mut FaultHits {
        let number = usize::from(fault);
        if self.0.len() <= number {
            self.0.resize(number + 1, FaultHits::default());
        }
        &mut self.0[number]
    }
}

impl AddAssign<&Hits> for Hits {
    fn add_assign(&mut self, other: &Hits) {
        for (fault, hits) in (0..).zip(&other.0) {
            let all = self.of(fault);
            all.lost += hits.lost;
            all.dropped += hits.dropped;
            all.slowed += hits.slowed;
            all.data += hits.data;
        }
    }
}

impl FaultPlan {
    /// The plan of the faults `specs`. Selectors that leave the choice open select links and switches at random.
    /// Routing follows a failure after `routing_delay`, or never if there is none. Faults with random failures begin
    /// before `max_time`.
    ///
    /// # Errors
    /// A selector has no known form, or names nothing that its fault can affect.
    pub fn new(
        specs: &[FaultSpec],
        (routing_delay, max_time): (Option<Duration>, Duration),
        topology: &Topology,
        seed: u64,
        kinds: &mut LinkKindTable<'_>,
    ) -> Result<FaultPlan, SelectorError> {
        let mut plan = FaultPlan {
            health_of: Vec::new(),
            links: Vec::new(),
            agenda: Vec::new(),
            flaps: Vec::new(),
            first_begins: Vec::new(),
        };
        for (number, spec) in specs.iter().enumerate() {
            let targets = spec.targets(number, topology, seed)?;
            let fault = u16::try_from(number).unwrap_or(u16::MAX);
            let begins = random_begins::begins(spec, fault, targets, topology, (seed, max_time));
            plan.first_begins.push(begins.iter().map(|(from, _)| *from).min());
            for (from, targets) in begins {
                plan.add((fault, from), spec, targets, routing_delay, topology, kinds);
            }
        }
        plan.agenda.sort_by_key(|(time, task)| (*time, *task));
        plan.agenda.dedup();
        Ok(plan)
    }

    fn add(
        &mut self,
        (fault, from): (u16, Time),
        spec: &FaultSpec,
        FaultTargets { switches, links }: FaultTargets,
        routing_delay: Option<Duration>,
        topology: &Topology,
        kinds: &mut LinkKindTable<'_>,
    ) {
        let goes_down = matches!(
            spec.kind,
            FaultKind::LinkDown { .. } | FaultKind::LinkFlap { .. } | FaultKind::SwitchDown { .. }
        );
        let flap = match &spec.kind {
            FaultKind::LinkFlap { period, down_for, .. } => Some((*period, *down_for)),
            _ => None,
        };
        let until = spec.duration.map_or(Time::NEVER, |duration| from + duration);
        let schedule = Schedule { from, until, flap };
        self.agenda.extend(switches.iter().map(|&node| (from, Task::Purge(node, fault))));
        for &link in &links {
            let effect = match &spec.kind {
                FaultKind::LinkDown { .. } | FaultKind::LinkFlap { .. } | FaultKind::SwitchDown { .. } => {
                    Effect::Down
                }
                FaultKind::Rate { rate, .. } => Effect::Kind(kinds.kind_at_rate(topology, link, *rate)),
                FaultKind::PacketLoss { probability, .. } => Effect::PacketLoss(*probability),
                FaultKind::SwitchLoss { probability, .. } => Effect::SwitchLoss(*probability),
                FaultKind::BitErrors { probability, .. } => Effect::BitErrors(*probability),
                FaultKind::SlowReceiver { rate, buffer, .. } => Effect::SlowReceiver(*rate, *buffer),
                FaultKind::PauseStorm { .. } => Effect::PauseStorm,
            };
            self.health(link, topology, kinds).faults.push(Interval { fault, schedule, effect });
            if goes_down && flap.is_none() {
                self.settle_pauses(topology, link, from, until);
            }
        }
        match (goes_down, flap, routing_delay) {
            (true, Some(_), _) => {
                let links = links.iter().flat_map(|&link| [link, topology.reverse(link)]).collect();
                self.flaps.push(Flapping { schedule, links, routing_delay });
            }
            (true, None, Some(delay)) => {
                self.agenda.push((from + delay, Task::Reroute(from)));
                if until < Time::NEVER {
                    self.agenda.push((until + delay, Task::Reroute(until)));
                }
            }
            _ => {}
        }
    }

    /// The first time after `after` at which a task is due, or the first such time of the run if `after` is none.
    pub fn next_due(&self, after: Option<Time>) -> Time {
        let listed = after.map_or(0, |after| self.agenda.partition_point(|(due, _)| *due <= after));
        let listed = self.agenda.get(listed).map_or(Time::NEVER, |(due, _)| *due);
        self.flaps.iter().fold(listed, |first, flap| first.min(flap.next_due(after)))
    }

    pub fn tasks_at(&self, time: Time) -> Vec<Task> {
        let from = self.agenda.partition_point(|(due, _)| *due < time);
        let listed = self.agenda[from..].iter().take_while(|(due, _)| *due == time).map(|(_, task)| *task);
        let mut tasks: Vec<Task> = listed.collect();
        let listed = tasks.len();
        self.flaps.iter().for_each(|flap| flap.tasks_at(time, &mut tasks));
        if tasks.len() > listed {
            tasks.sort_unstable();
            tasks.dedup();
        }
        tasks
    }

    /// Adds the tasks that set the pause state of a link at both ends. Both directions need this, since pause frames
    /// for one direction travel on the other.
    fn settle_pauses(&mut self, topology: &Topology, link: LinkId, from: Time, until: Time) {
        for time in [from, until].into_iter().filter(|&time| time < Time::NEVER) {
            let both = [link, topology.reverse(link)];
            self.agenda.extend(both.map(|link| (time, Task::SettlePause(link))));
        }
    }

    pub fn first_begin(&self, fault: u16) -> Option<Time> {
        self.first_begins.get(usize::from(fault)).copied().flatten()
    }

    /// Whether `link` has a fault at any time.
    pub fn is_impaired(&self, link: LinkId) -> bool {
        self.find(link).is_some()
    }

    pub fn is_up(&self, link: LinkId, time: Time) -> bool {
        let down = |fault: &Interval| matches!(fault.effect, Effect::Down) && fault.schedule.holds_at(time);
        self.find(link).is_none_or(|health| !health.faults.iter().any(down))
    }

    /// The end of the last temporary fault, or of the last failure of a flapping link, that blocked or slowed traffic
    /// at any time from `first` to `last`. None if there was none. Until that end, a lack of new deliveries does not
    /// mean that the run has stalled. Only faults that hit packets (`hits`) count, and flapping links count only if
    /// each failure is longer than `patience`.
    pub fn blocked_until(
        &self,
        (first, last): (Time, Time),
        hits: &Hits,
        patience: Duration,
        kinds: &[LinkKind],
    ) -> Option<Time> {
        let rate = |kind: u16| kinds[usize::from(kind)].rate;
        let over = |health: &LinkHealth, fault: &Interval| {
            let holds_up = match fault.effect {
                Effect::Down => true,
                Effect::Kind(kind) => rate(kind) < rate(health.normal),
                Effect::PacketLoss(loss) | Effect::SwitchLoss(loss) => loss >= 1.0,
                Effect::BitErrors(_) => false,
                Effect::SlowReceiver(..) | Effect::PauseStorm => true,
            };
            let hit = hits.0.get(usize::from(fault.fault)).is_some_and(|hits| *hits != FaultHits::default());
            let until = fault.schedule.end_of_interval(last);
            let is_short = fault.schedule.flap.is_some_and(|(_, down_for)| down_for <= patience);
            (holds_up && hit && !is_short && until < Time::NEVER && fault.schedule.overlaps(first, last))
                .then_some(until)
        };
        let of_link =
            |health: &LinkHealth| health.faults.iter().filter_map(|fault| over(health, fault)).max();
        self.links.iter().filter_map(of_link).max()
    }

    /// The fate of a packet that is sent on an impaired `link` now and would arrive at `arrives`.
    pub fn fate(&self, link: LinkId, now: Time, arrives: Time, packet: &Packet, random: &mut Stream) -> Fate {
        if let Some(fault) = self.cut_by(link, now, arrives) {
            return Fate::Lost(fault);
        }
        let Some(health) = self.find(link) else { return Fate::Arrives };
        let active = || health.faults.iter().filter(|fault| fault.schedule.holds_at(now));
        let past = |p: f64, fault: &Interval| match fault.effect {
            Effect::PacketLoss(loss) => p * (1.0 - loss),
            Effect::BitErrors(errors) => p * libm::pow(1.0 - errors, f64::from(packet.wire_bytes) * 8.0),
            Effect::Down
            | Effect::Kind(_)
            | Effect::SwitchLoss(_)
            | Effect::SlowReceiver(..)
            | Effect::PauseStorm => p,
        };
        // All faults that lose packets on the link share one random number. Each fault owns a part of the number's
        // range, and the fault whose part contains the number loses the packet.
        let lost = drawn_loss(active().fold(1.0, past), random);
        if let Some(fault) = lost.and_then(|drawn| first_loss(active(), past, drawn)) {
            return Fate::Lost(fault);
        }
        if !matches!(packet.repr, Repr::Data { .. }) {
            return Fate::Arrives;
        }
        let passes = |p: f64, fault: &Interval| match fault.effect {
            Effect::SwitchLoss(loss) => p * (1.0 - loss),
            _ => p,
        };
        let refused = drawn_loss(active().fold(1.0, passes), random);
        refused
            .and_then(|drawn| first_loss(active(), passes, drawn))
            .map_or(Fate::Arrives, Fate::DroppedByFault)
    }

    /// The fault that changes the rate of `link` for a packet that is sent from `now` to `leaves`.
    pub fn slowed_by(&self, link: LinkId, now: Time, leaves: Time) -> Option<u16> {
        let health = self.find(link)?;
        let slows = |fault: &&Interval| match fault.effect {
            Effect::Kind(kind) => kind != health.normal && fault.schedule.overlaps(now, leaves),
            _ => false,
        };
        health.faults.iter().rfind(slows).map(|fault| fault.fault)
    }

    /// The kind of `link` at `time`, and the next time at which the kind may change. A link that never has a fault has
    /// the kind `otherwise`.
    pub fn kind_at(&self, link: LinkId, time: Time, otherwise: u16) -> (u16, Time) {
        let Some(health) = self.find(link) else { return (otherwise, Time::NEVER) };
        let (mut kind, mut until) = (health.normal, Time::NEVER);
        for fault in &health.faults {
            let Effect::Kind(other) = fault.effect else { continue };
            if fault.schedule.holds_at(time) {
                kind = other;
            }
            until = until.min(fault.schedule.next_change(Some(time)));
        }
        (kind, until)
    }

    /// The time at which the last of `bytes` bytes leaves on `link` if transmission begins now. The rate may change
    /// during the transmission.
    pub fn leaves(&self, link: LinkId, kinds: &[LinkKind], now: Time, bytes: u16, otherwise: u16) -> Time {
        // The unit is bits times picoseconds per second, so that only the final result is rounded.
        let mut left = u128::from(bytes) * 8 * 1_000_000_000_000;
        let mut at = now;
        loop {
            let (kind, until) = self.kind_at(link, at, otherwise);
            let Rate(rate) = kinds[usize::from(kind)].rate;
            let sent = u128::from(until.since(at).0) * u128::from(rate);
            if until == Time::NEVER || sent >= left {
                let takes = u64::try_from(left.div_ceil(u128::from(rate))).unwrap_or(u64::MAX);
                return at + Duration(takes);
            }
            left -= sent;
            at = until;
        }
    }

    /// The fault because of which `link` is down at any time from `sent` to `arrives`.
    pub fn cut_by(&self, link: LinkId, sent: Time, arrives: Time) -> Option<u16> {
        let cut = |fault: &&Interval| {
            matches!(fault.effect, Effect::Down) && fault.schedule.overlaps(sent, arrives)
        };
        self.find(link)?.faults.iter().find(cut).map(|fault| fault.fault)
    }

    #[inline]
    pub fn hits_links(&self) -> bool {
        !self.links.is_empty()
    }

    pub fn is_down(&self, link: LinkId, time: Time) -> bool {
        self.cut_by(link, time, time).is_some()
    }

    fn find(&self, link: LinkId) -> Option<&LinkHealth> {
        let index = self.health_of.get(link.index())?.checked_sub(1)?;
        self.links.get(index as usize)
    }

    fn health(
        &mut self,
        link: LinkId,
        topology: &Topology,
        kinds: &mut LinkKindTable<'_>,
    ) -> &mut LinkHealth {
        self.health_of.resize(topology.ports.len(), 0);
        let known = &mut self.health_of[link.index()];
        if *known == 0 {
            let normal = kinds.kind(topology, link);
            self.links.push(LinkHealth { faults: Vec::new(), normal });
            *known = self.links.len() as u32;
        }
        &mut self.links[*known as usize - 1]
    }
}

impl Flapping {
    fn next_due(&self, after: Option<Time>) -> Time {
        let turn = self.schedule.next_change(after);
        let Some(delay) = self.routing_delay else { return turn };
        // Routing is updated when a change is as old as the delay.
        let known = after.filter(|after| after.0 >= delay.0).map(|after| Time(after.0 - delay.0));
        turn.min(self.schedule.next_change(known) + delay)
    }

    fn tasks_at(&self, time: Time, tasks: &mut Vec<Task>) {
        let turns = |time: Time| self.schedule.next_change(time.0.checked_sub(1).map(Time)) == time;
        if turns(time) {
            tasks.extend(self.links.iter().map(|&link| Task::SettlePause(link)));
        }
        if let Some(as_of) = self.routing_delay.and_then(|delay| time.0.checked_sub(delay.0)).map(Time)
            && turns(as_of)
        {
            tasks.push(Task::Reroute(as_of));
        }
    }
}

impl FaultSpec {
    /// The switches and links of `topology` that this fault affects in a run with this seed. The fault's position in
    /// the list of faults is `number`, counted from 0.
    ///
    /// # Errors
    /// A selector has no known form, or names nothing that its fault can affect.
    pub fn targets(
        &self,
        number: usize,
        topology: &Topology,
        seed: u64,
    ) -> Result<FaultTargets, SelectorError> {
        self.kind.targets(topology, &mut stream(seed, number as u64, Purpose::FaultSelection))
    }
}

/// A random number that decides about a packet which survives with probability `survives`. None if the packet survives.
fn drawn_loss(survives: f64, random: &mut Stream) -> Option<f64> {
    if survives >= 1.0 {
        return None;
    }
    Some(random.unit()).filter(|drawn| *drawn >= survives)
}

/// The fault that loses the packet: the first one after which the probability of survival is at most `drawn`.
fn first_loss<'f>(
    mut faults: impl Iterator<Item = &'f Interval>,
    left: impl Fn(f64, &Interval) -> f64,
    drawn: f64,
) -> Option<u16> {
    let mut p = 1.0;
    let by = faults.find(|fault| {
        p = left(p, fault);
        drawn >= p
    });
    by.map(|fault| fault.fault)
}
