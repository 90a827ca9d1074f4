//! What breaks, and what that does to a packet.
//!
//! All faults are known before the run starts, so a packet's fate on a link is decided when it is sent: no event
//! is needed for a link that goes down while packets are on it. The plan is shared and does not change; what chance
//! decides is drawn from a stream of the link that its sending node owns.

use crate::link::{KindTable, LinkKind};
use crate::spec::{FaultKind, FaultSpec};
use anabranch_base::{Duration, LinkId, NodeId, Purpose, Rate, Stream, Time, stream};
use anabranch_fabric::{Selector, SelectorError, Topology};
use anabranch_proto::{Packet, Repr};

/// The faults of a run.
pub struct FaultPlan {
    /// By link: index into `links` plus one, or 0. Empty when nothing ever breaks.
    health_of: Vec<u32>,
    links: Vec<LinkHealth>,
    /// What is to be done at a time, in order of time.
    pub agenda: Vec<(Time, Task)>,
}

/// Something that is done between windows; at one time in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// A switch loses what it holds.
    Purge(NodeId),
    /// A link went down or is up again.
    SettlePause(LinkId),
    /// Routing learns which links were up at this time.
    Reroute(Time),
}

struct LinkHealth {
    faults: Vec<Interval>,
    /// Loss that the topology file gives the cable, for ever.
    base_loss: f64,
    normal: u16,
}

/// One fault on one link.
struct Interval {
    from: Time,
    until: Time,
    effect: Effect,
}

impl Interval {
    fn is_active(&self, time: Time) -> bool {
        self.from <= time && time < self.until
    }
}

#[derive(Clone, Copy)]
enum Effect {
    Down,
    /// Another [`LinkKind`].
    Kind(u16),
    PacketLoss(f64),
    BitErrors(f64),
    /// Of data, in the switch that sends.
    SwitchLoss(f64),
}

/// What becomes of a packet on its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives.
    Arrives,
    /// The link loses it.
    Lost,
    /// The switch that was to send it trims or drops it.
    Refused,
}

impl FaultPlan {
    /// Finds the links and switches that `specs` name, at random where they leave it open. Routing follows
    /// `routing_delay` later, if ever.
    ///
    /// # Errors
    /// A selector that names nothing on this fabric.
    pub fn new(
        specs: &[FaultSpec],
        routing_delay: Option<Duration>,
        topology: &Topology,
        seed: u64,
        kinds: &mut KindTable<'_>,
    ) -> Result<FaultPlan, SelectorError> {
        let mut plan = FaultPlan { health_of: Vec::new(), links: Vec::new(), agenda: Vec::new() };
        for (link, port) in topology.ports.iter().enumerate().filter(|(_, port)| port.loss > 0.0) {
            plan.health(LinkId(link as u32), topology, kinds).base_loss = port.loss;
        }
        for (number, spec) in specs.iter().enumerate() {
            let random = stream(seed, number as u64, Purpose::FaultSelection);
            plan.add(spec, routing_delay, topology, kinds, random)?;
        }
        plan.agenda.sort_by_key(|(time, task)| (*time, *task));
        plan.agenda.dedup();
        Ok(plan)
    }

    fn add(
        &mut self,
        spec: &FaultSpec,
        routing_delay: Option<Duration>,
        topology: &Topology,
        kinds: &mut KindTable<'_>,
        mut random: Stream,
    ) -> Result<(), SelectorError> {
        let from = Time::ZERO + spec.at;
        let until = spec.duration.map_or(Time::NEVER, |duration| from + duration);
        let mut pick = |text: &str, both: bool| -> Result<Vec<LinkId>, SelectorError> {
            let mut links = text.parse::<Selector>()?.links(topology, &mut random)?;
            if both {
                let back: Vec<LinkId> = links.iter().map(|&link| topology.reverse(link)).collect();
                links.extend(back);
            }
            links.sort_unstable();
            links.dedup();
            Ok(links)
        };
        let mut reroutes = false;
        let mut add = |plan: &mut Self, link: LinkId, effect: Effect| {
            plan.health(link, topology, kinds).faults.push(Interval { from, until, effect });
        };
        match &spec.kind {
            FaultKind::LinkDown { links, both_directions } => {
                reroutes = true;
                for link in pick(links, *both_directions)? {
                    add(self, link, Effect::Down);
                    self.settle_pauses(topology, link, from, until);
                }
            }
            FaultKind::SwitchDown { switches } => {
                reroutes = true;
                for node in switches.parse::<Selector>()?.switches(topology, &mut random)? {
                    self.agenda.push((from, Task::Purge(node)));
                    for link in topology.links_of(node).map(LinkId) {
                        for link in [link, topology.reverse(link)] {
                            add(self, link, Effect::Down);
                            self.settle_pauses(topology, link, from, until);
                        }
                    }
                }
            }
            FaultKind::Rate { links, both_directions, rate } => {
                for link in pick(links, *both_directions)? {
                    let kind = kinds.kind_at_rate(topology, link, *rate);
                    self.health(link, topology, kinds).faults.push(Interval {
                        from,
                        until,
                        effect: Effect::Kind(kind),
                    });
                }
            }
            FaultKind::PacketLoss { links, both_directions, probability } => {
                for link in pick(links, *both_directions)? {
                    add(self, link, Effect::PacketLoss(*probability));
                }
            }
            FaultKind::SwitchLoss { links, both_directions, probability } => {
                let from_switch = |link: &LinkId| {
                    topology.switch(topology.ports[topology.reverse(*link).index()].peer).is_some()
                };
                for link in pick(links, *both_directions)?.into_iter().filter(from_switch) {
                    add(self, link, Effect::SwitchLoss(*probability));
                }
            }
            FaultKind::BitErrors { links, both_directions, probability } => {
                for link in pick(links, *both_directions)? {
                    add(self, link, Effect::BitErrors(*probability));
                }
            }
        }
        if let (true, Some(delay)) = (reroutes, routing_delay) {
            self.agenda.push((from + delay, Task::Reroute(from)));
            if until < Time::NEVER {
                self.agenda.push((until + delay, Task::Reroute(until)));
            }
        }
        Ok(())
    }

    /// The pauses of a link depend on both of its directions: frames come on the one for the other.
    fn settle_pauses(&mut self, topology: &Topology, link: LinkId, from: Time, until: Time) {
        for time in [from, until].into_iter().filter(|&time| time < Time::NEVER) {
            let both = [link, topology.reverse(link)];
            self.agenda.extend(both.map(|link| (time, Task::SettlePause(link))));
        }
    }

    /// Whether a fault ever touches `link`.
    pub fn is_impaired(&self, link: LinkId) -> bool {
        self.find(link).is_some()
    }

    /// Whether `link` carries packets at `time`.
    pub fn is_up(&self, link: LinkId, time: Time) -> bool {
        let down = |fault: &Interval| matches!(fault.effect, Effect::Down) && fault.is_active(time);
        self.find(link).is_none_or(|health| !health.faults.iter().any(down))
    }

    /// What becomes of a packet that goes out on an impaired `link` now and is in at `arrives`.
    pub fn fate(&self, link: LinkId, now: Time, arrives: Time, packet: &Packet, random: &mut Stream) -> Fate {
        if self.is_cut(link, now, arrives) {
            return Fate::Lost;
        }
        let Some(health) = self.find(link) else { return Fate::Arrives };
        let active = |fault: &&Interval| fault.is_active(now);
        let survives =
            health.faults.iter().filter(active).fold(1.0 - health.base_loss, |p, fault| match fault.effect {
                Effect::PacketLoss(loss) => p * (1.0 - loss),
                Effect::BitErrors(errors) => p * libm::pow(1.0 - errors, f64::from(packet.wire_bytes) * 8.0),
                Effect::Down | Effect::Kind(_) | Effect::SwitchLoss(_) => p,
            });
        if survives < 1.0 && random.unit() >= survives {
            return Fate::Lost;
        }
        if !matches!(packet.repr, Repr::Data { .. }) {
            return Fate::Arrives;
        }
        let passes = health.faults.iter().filter(active).fold(1.0, |p, fault| match fault.effect {
            Effect::SwitchLoss(loss) => p * (1.0 - loss),
            _ => p,
        });
        let refused = passes < 1.0 && random.unit() >= passes;
        if refused { Fate::Refused } else { Fate::Arrives }
    }

    /// The kind that `link` is of at `time`, `otherwise` unless a fault says more, and until when.
    pub fn kind_at(&self, link: LinkId, time: Time, otherwise: u16) -> (u16, Time) {
        let Some(health) = self.find(link) else { return (otherwise, Time::NEVER) };
        let (mut kind, mut until) = (health.normal, Time::NEVER);
        for fault in &health.faults {
            let Effect::Kind(other) = fault.effect else { continue };
            if fault.is_active(time) {
                kind = other;
                until = until.min(fault.until);
            } else if time < fault.from {
                until = until.min(fault.from);
            }
        }
        (kind, until)
    }

    /// When the last bit of `bytes` bytes leaves that begin to leave on `link` now: each bit at the rate of its time.
    pub fn leaves(&self, link: LinkId, kinds: &[LinkKind], now: Time, bytes: u16, otherwise: u16) -> Time {
        // In bits times picoseconds per second, so that nothing is rounded before the end.
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

    /// Whether `link` is down at any time from `sent` to `arrives`.
    pub fn is_cut(&self, link: LinkId, sent: Time, arrives: Time) -> bool {
        let cut = |fault: &Interval| {
            matches!(fault.effect, Effect::Down) && fault.from <= arrives && sent < fault.until
        };
        self.find(link).is_some_and(|health| health.faults.iter().any(cut))
    }

    fn find(&self, link: LinkId) -> Option<&LinkHealth> {
        let index = self.health_of.get(link.index())?.checked_sub(1)?;
        self.links.get(index as usize)
    }

    fn health(&mut self, link: LinkId, topology: &Topology, kinds: &mut KindTable<'_>) -> &mut LinkHealth {
        self.health_of.resize(topology.ports.len(), 0);
        let known = &mut self.health_of[link.index()];
        if *known == 0 {
            let normal = kinds.kind(topology, link);
            self.links.push(LinkHealth { faults: Vec::new(), base_loss: 0.0, normal });
            *known = self.links.len() as u32;
        }
        &mut self.links[*known as usize - 1]
    }
}
