//! What breaks, and what that does to a packet.
//!
//! All faults are known before the run starts, so a packet's fate on a link is decided when it is sent: no event
//! is needed for a link that goes down while packets are on it.

use super::port::LinkKind;
use super::scheduler::Scheduler;
use crate::spec::{FabricSpec, FaultKind, FaultSpec};
use crate::switch::marking;
use anabranch_base::{Duration, LinkId, NodeId, Purpose, Stream, Time, stream};
use anabranch_fabric::{Selector, SelectorError, Topology};
use anabranch_proto::{Packet, PathFacts, Repr};

/// The faults of a run.
pub struct Faults {
    /// By link: index into `links` plus one, or 0. Empty when nothing ever breaks.
    health_of: Vec<u32>,
    links: Vec<LinkHealth>,
    /// What the engine has to do at a time, in order of time.
    pub agenda: Vec<(Time, Task)>,
}

/// Something that happens to the whole engine; at one time in this order.
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
    faults: Vec<Spell>,
    /// Loss that the topology file gives the cable, for ever.
    base_loss: f64,
    normal: u16,
    random: Stream,
}

/// One fault on one link.
struct Spell {
    from: Time,
    until: Time,
    effect: Effect,
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

impl Faults {
    /// Finds the links and switches that `specs` name, at random where they leave it open.
    ///
    /// # Errors
    /// A selector that names nothing on this fabric.
    pub fn new(
        specs: &[FaultSpec],
        routing_delay: Option<Duration>,
        topology: &Topology,
        seed: u64,
        kinds: &mut KindTable<'_>,
    ) -> Result<Faults, SelectorError> {
        let mut faults = Faults { health_of: Vec::new(), links: Vec::new(), agenda: Vec::new() };
        for (link, port) in topology.ports.iter().enumerate().filter(|(_, port)| port.loss > 0.0) {
            faults.health(LinkId(link as u32), topology, seed, kinds).base_loss = port.loss;
        }
        for (number, spec) in specs.iter().enumerate() {
            let random = stream(seed, number as u64, Purpose::FaultSelection);
            faults.add(spec, routing_delay, topology, seed, kinds, random)?;
        }
        faults.agenda.sort_by_key(|(time, task)| (*time, *task));
        faults.agenda.dedup();
        Ok(faults)
    }

    fn add(
        &mut self,
        spec: &FaultSpec,
        routing_delay: Option<Duration>,
        topology: &Topology,
        seed: u64,
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
        match &spec.kind {
            FaultKind::LinkDown { links, both_directions } => {
                reroutes = true;
                for link in pick(links, *both_directions)? {
                    self.health(link, topology, seed, kinds).faults.push(Spell {
                        from,
                        until,
                        effect: Effect::Down,
                    });
                    self.settle_pauses(topology, link, from, until);
                }
            }
            FaultKind::SwitchDown { switches } => {
                reroutes = true;
                for node in switches.parse::<Selector>()?.switches(topology, &mut random)? {
                    self.agenda.push((from, Task::Purge(node)));
                    for link in topology.links_of(node).map(LinkId) {
                        for link in [link, topology.reverse(link)] {
                            let health = self.health(link, topology, seed, kinds);
                            health.faults.push(Spell { from, until, effect: Effect::Down });
                            self.settle_pauses(topology, link, from, until);
                        }
                    }
                }
            }
            FaultKind::Rate { links, both_directions, rate } => {
                for link in pick(links, *both_directions)? {
                    let kind = kinds.kind_at_rate(topology, link, *rate);
                    let effect = Effect::Kind(kind);
                    self.health(link, topology, seed, kinds).faults.push(Spell { from, until, effect });
                }
            }
            FaultKind::PacketLoss { links, both_directions, probability } => {
                for link in pick(links, *both_directions)? {
                    let effect = Effect::PacketLoss(*probability);
                    self.health(link, topology, seed, kinds).faults.push(Spell { from, until, effect });
                }
            }
            FaultKind::SwitchLoss { links, both_directions, probability } => {
                let from_switch = |link: &LinkId| {
                    topology.switch(topology.ports[topology.reverse(*link).index()].peer).is_some()
                };
                for link in pick(links, *both_directions)?.into_iter().filter(from_switch) {
                    let effect = Effect::SwitchLoss(*probability);
                    self.health(link, topology, seed, kinds).faults.push(Spell { from, until, effect });
                }
            }
            FaultKind::BitErrors { links, both_directions, probability } => {
                for link in pick(links, *both_directions)? {
                    let effect = Effect::BitErrors(*probability);
                    self.health(link, topology, seed, kinds).faults.push(Spell { from, until, effect });
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

    /// The links that a fault ever touches.
    pub fn impaired(&self) -> impl Iterator<Item = LinkId> + '_ {
        self.health_of
            .iter()
            .enumerate()
            .filter(|(_, health)| **health > 0)
            .map(|(link, _)| LinkId(link as u32))
    }

    /// Whether `link` carries packets at `time`.
    pub fn is_up(&self, link: LinkId, time: Time) -> bool {
        let Some(health) = self.find(link) else { return true };
        let down =
            |spell: &Spell| matches!(spell.effect, Effect::Down) && spell.from <= time && time < spell.until;
        !self.links[health].faults.iter().any(down)
    }

    /// What becomes of a packet that goes out on an impaired `link` now, and the kind that the link is now.
    pub fn fate(&mut self, link: LinkId, kinds: &[LinkKind], now: Time, packet: &Packet) -> (u16, Fate) {
        let kind = self.kind_at(link, now);
        let link_kind = &kinds[kind as usize];
        let arrives = now + link_kind.serialisation(packet.wire_bytes) + link_kind.latency;
        if self.is_cut(link, now, arrives) {
            return (kind, Fate::Lost);
        }
        let Some(index) = self.find(link) else { return (kind, Fate::Arrives) };
        let health = &mut self.links[index];
        let active = |spell: &&Spell| spell.from <= now && now < spell.until;
        let survives =
            health.faults.iter().filter(active).fold(1.0 - health.base_loss, |p, spell| match spell.effect {
                Effect::PacketLoss(loss) => p * (1.0 - loss),
                Effect::BitErrors(errors) => p * libm::pow(1.0 - errors, f64::from(packet.wire_bytes) * 8.0),
                Effect::Down | Effect::Kind(_) | Effect::SwitchLoss(_) => p,
            });
        if survives < 1.0 && health.random.unit() >= survives {
            return (kind, Fate::Lost);
        }
        if !matches!(packet.repr, Repr::Data { .. }) {
            return (kind, Fate::Arrives);
        }
        let passes = health.faults.iter().filter(active).fold(1.0, |p, spell| match spell.effect {
            Effect::SwitchLoss(loss) => p * (1.0 - loss),
            _ => p,
        });
        let refused = passes < 1.0 && health.random.unit() >= passes;
        (kind, if refused { Fate::Refused } else { Fate::Arrives })
    }

    /// The kind that an impaired `link` is of at `time`.
    pub fn kind_at(&self, link: LinkId, time: Time) -> u16 {
        let Some(index) = self.find(link) else {
            unreachable!("link {link} is marked as impaired and has no fault")
        };
        let health = &self.links[index];
        let active = |spell: &&Spell| spell.from <= time && time < spell.until;
        health.faults.iter().filter(active).fold(health.normal, |kind, spell| match spell.effect {
            Effect::Kind(other) => other,
            _ => kind,
        })
    }

    /// Whether `link` is down at any time from `sent` to `arrives`.
    pub fn is_cut(&self, link: LinkId, sent: Time, arrives: Time) -> bool {
        let cut = |spell: &Spell| {
            matches!(spell.effect, Effect::Down) && spell.from <= arrives && sent < spell.until
        };
        self.find(link).is_some_and(|index| self.links[index].faults.iter().any(cut))
    }

    fn find(&self, link: LinkId) -> Option<usize> {
        Some(self.health_of.get(link.index())?.checked_sub(1)? as usize)
    }

    fn health(
        &mut self,
        link: LinkId,
        topology: &Topology,
        seed: u64,
        kinds: &mut KindTable<'_>,
    ) -> &mut LinkHealth {
        self.health_of.resize(topology.ports.len(), 0);
        let index = match self.find(link) {
            Some(index) => index,
            None => {
                self.links.push(LinkHealth {
                    faults: Vec::new(),
                    base_loss: 0.0,
                    normal: kinds.kind(topology, link),
                    random: stream(seed, u64::from(link.0), Purpose::LinkLoss),
                });
                self.health_of[link.index()] = self.links.len() as u32;
                self.links.len() - 1
            }
        };
        &mut self.links[index]
    }
}

/// The kinds of links of a fabric, made as they are met.
pub struct KindTable<'a> {
    /// The kinds so far.
    pub kinds: Vec<LinkKind>,
    keys: Vec<(anabranch_base::Rate, Duration, Duration)>,
    sizes: [u16; 2],
    fabric: &'a FabricSpec,
    facts: &'a PathFacts,
    scheduler: &'a mut Scheduler,
}

impl<'a> KindTable<'a> {
    /// No kinds yet; packets of the two `sizes` are the usual ones, and queues mark as `fabric` says.
    pub fn new(
        sizes: [u16; 2],
        fabric: &'a FabricSpec,
        facts: &'a PathFacts,
        scheduler: &'a mut Scheduler,
    ) -> Self {
        KindTable { kinds: Vec::new(), keys: Vec::new(), sizes, fabric, facts, scheduler }
    }

    /// The kind of `link`.
    pub fn kind(&mut self, topology: &Topology, link: LinkId) -> u16 {
        self.kind_at_rate(topology, link, topology.ports[link.index()].rate)
    }

    /// The kind of `link` when it runs at `rate`.
    pub fn kind_at_rate(&mut self, topology: &Topology, link: LinkId, rate: anabranch_base::Rate) -> u16 {
        let port = &topology.ports[link.index()];
        let switch_latency = topology.switch(port.peer).map_or(Duration::ZERO, |switch| switch.latency);
        let key = (rate, port.latency, switch_latency);
        if let Some(index) = self.keys.iter().position(|k| *k == key) {
            return index as u16;
        }
        self.keys.push(key);
        let marking = marking(self.fabric, self.facts, rate);
        let latencies = [port.latency, switch_latency];
        self.kinds.push(LinkKind::new(rate, latencies, marking, self.sizes, self.scheduler));
        u16::try_from(self.keys.len() - 1).expect("a fabric has fewer than 65,536 kinds of links")
    }
}
