//! The source ToR. It requests replies on each path, and leaves a path whose replies are late.

use super::ConweaveConfig;
use super::header::{self, Epoch, Header, MAX_PORTS, Stamp, Word, WordKind};
use crate::program::interface::{Passage, ProgramFacts, Tors, Verdict};
use crate::{Packet, Repr, StateField};
use anabranch_base::{Duration, HostId, QpId, Stream, Time};
use std::collections::BTreeMap;

/// The queue pairs whose senders are hosts of the switch.
pub(super) struct Source {
    reply_extra: Duration,
    distances: Tors,
    path_pause: Duration,
    expiry: Duration,
    qps: Vec<Option<Route>>,
    /// The ToR of each host, learnt from that ToR's control packets. Hardware knows it from routing.
    tors: BTreeMap<HostId, HostId>,
    /// The time until which a path (destination ToR, port) is avoided after an ECN mark. This pause has nothing to do
    /// with PFC.
    paused: BTreeMap<(HostId, u8), Time>,
    random: Stream,
    pub counts: Counts,
}

#[derive(Default)]
pub(super) struct Counts {
    pub reroutes: u64,
    /// Reroutes that failed because both sampled paths were marked recently, or because there is only one path. Each
    /// packet for which a reroute fails adds one.
    pub reroutes_refused: u64,
    pub moves_after_idle: u64,
    pub replies_in_time: u64,
    pub replies_late: u64,
    /// Reroutes for which no CLEAR had arrived when the queue pair resumed after an idle time.
    pub clears_missed: u64,
}

#[derive(Clone, Copy)]
struct Route {
    dst: HostId,
    port: u8,
    epoch: Epoch,
    phase: Phase,
    /// The time at which the last packet passed.
    last: Time,
}

#[derive(Clone, Copy)]
enum Phase {
    /// The INIT has passed. The reply to it is due at this time.
    AwaitingReply(Time),
    /// The epoch is over: the reply has arrived, or the reroute is complete.
    Over,
    /// The TAIL passed at this time.
    Rerouted(Time),
}

impl Source {
    pub fn new(config: &ConweaveConfig, facts: &ProgramFacts, random: Stream) -> Self {
        Source {
            reply_extra: config.reply_extra.on(&facts.path),
            distances: facts.tors.clone(),
            path_pause: config.path_pause.on(&facts.path),
            expiry: config.expiry.on(&facts.path),
            qps: Vec::new(),
            tors: BTreeMap::new(),
            paused: BTreeMap::new(),
            random,
            counts: Counts::default(),
        }
    }

    pub fn state() -> Vec<StateField> {
        vec![
            StateField::new("source: port", 8, 1),
            StateField::new("source: epoch", 4, 1),
            StateField::new("source: phase", 2, 1),
            StateField::new("source: reply deadline or TAIL time", 32, 1),
            StateField::new("source: last packet", 32, 1),
        ]
    }

    /// Handles a data packet from one of the switch's hosts to a host of another ToR.
    pub fn send(&mut self, packet: &mut Packet, at: &Passage) -> Verdict {
        let Repr::Data { stamps, .. } = &mut packet.repr else { return Verdict::Forward };
        if at.ports == 0 {
            return Verdict::Forward;
        }
        let qp = packet.qp.index();
        if self.qps.len() <= qp {
            self.qps.resize(qp + 1, None);
        }
        let known = self.qps[qp];
        let mut route = known.unwrap_or_else(|| self.first_route(packet.dst, at));
        let idle_for = at.now.since(route.last);
        route.last = at.now;
        let mut header =
            Header { epoch: route.epoch, rerouted: false, init: false, tail: false, port: route.port };
        let mut tail = Stamp::default();
        match route.phase {
            _ if known.is_none() => header.init = true,
            // After this time no packet of the queue pair should be left in the fabric, so any path is possible. Only
            // this rule compensates for a lost CLEAR: the source ToR "keeps track of an inactive period of connection,
            // i.e., the gap between the last packet process time and the current time" (section 3.2.3).
            _ if idle_for > self.expiry => {
                self.counts.clears_missed += u64::from(matches!(route.phase, Phase::Rerouted(_)));
                if let Some(port) = self.sample(route.dst, at, None) {
                    self.counts.moves_after_idle += u64::from(port != route.port);
                    route.port = port;
                }
                header.init = true;
            }
            Phase::Over => header.init = true,
            // The deadline is checked when a packet passes instead of by a timer, as in a data plane.
            Phase::AwaitingReply(deadline) if at.now > deadline => {
                match self.sample(route.dst, at, Some(route.port)) {
                    Some(port) => {
                        self.counts.reroutes += 1;
                        header.tail = true;
                        route.port = port;
                        route.phase = Phase::Rerouted(at.now);
                    }
                    // The queue pair stays on its path, and the next packet tries again. Without another path there is
                    // no reordering, so neither a TAIL nor a CLEAR is needed ("rerouting is aborted", section 3.2.2).
                    // The public simulator ends the epoch with a TAIL even in this case.
                    None => self.counts.reroutes_refused += 1,
                }
            }
            Phase::AwaitingReply(_) => {}
            Phase::Rerouted(tail_at) => {
                header.rerouted = true;
                tail = Stamp::of(tail_at);
            }
        }
        if header.init {
            if known.is_some() {
                route.epoch = route.epoch.next();
            }
            // The reply time is based on the unloaded round trip between the two ToRs of the queue pair, as in the
            // public simulator ("the ToR-to-ToR basis propagation delay", appendix B.1).
            let reply_within = self.distances.round_trip_to(route.dst) + self.reply_extra;
            route.phase = Phase::AwaitingReply(at.now + reply_within);
            (header.epoch, header.port) = (route.epoch, route.port);
        }
        self.qps[qp] = Some(route);
        packet.tag = header.tag();
        // The stamp is set before the egress queue, so that the queueing delay there counts as part of the path.
        *stamps = header::stamps(Stamp::of(at.now), tail);
        Verdict::Port(u16::from(header.port))
    }

    pub fn handle_control(&mut self, qp: QpId, word: Word, now: Time) {
        let Some(Some(route)) = self.qps.get_mut(qp.index()) else { return };
        self.tors.insert(route.dst, word.tor);
        match (word.kind, route.phase) {
            (WordKind::Notify(port), _) => {
                self.paused.insert((word.tor, port), now + self.path_pause);
            }
            (WordKind::Reply(epoch), Phase::AwaitingReply(deadline))
                if epoch == route.epoch && now <= deadline =>
            {
                self.counts.replies_in_time += 1;
                route.phase = Phase::Over;
            }
            // A late reply does not end the wait, so that the next packet still tries to leave the slow path.
            (WordKind::Reply(_), _) => self.counts.replies_late += 1,
            (WordKind::Clear(epoch), Phase::Rerouted(_)) if epoch == route.epoch => route.phase = Phase::Over,
            (WordKind::Clear(_), _) => {}
        }
    }

    fn first_route(&mut self, dst: HostId, at: &Passage) -> Route {
        let any = self.random.below(u32::from(at.ports.min(MAX_PORTS))) as u8;
        let port = self.sample(dst, at, None).unwrap_or(any);
        Route { dst, port, epoch: Epoch::default(), phase: Phase::Over, last: at.now }
    }

    /// Draws two random ports other than `except`, and returns the first one whose path was not marked recently. The
    /// public simulator may also draw the current port. The paper requires another path (section 3.2: "there exists a
    /// viable path that is not congested" besides "the existing path").
    fn sample(&mut self, dst: HostId, at: &Passage, except: Option<u8>) -> Option<u8> {
        let ports = at.ports.min(MAX_PORTS);
        let except = except.map(u16::from).filter(|&port| port < ports);
        let choices = u32::from(ports - u16::from(except.is_some()));
        if choices == 0 {
            return None;
        }
        let tor = self.tors.get(&dst);
        // Both ports are always drawn, since a data plane looks both up at the same time.
        let drawn = [(); 2].map(|_| {
            let port = self.random.below(choices) as u16;
            (port + u16::from(except.is_some_and(|except| port >= except))) as u8
        });
        let is_paused = |port: u8| {
            let until = tor.and_then(|&tor| self.paused.get(&(tor, port)));
            until.is_some_and(|&until| at.now < until)
        };
        drawn.into_iter().find(|&port| !is_paused(port))
    }
}
