//! The source ToR: asks each path whether it still answers in time, and leaves the one that does not.

use super::ConweaveConfig;
use super::header::{self, Epoch, Header, MAX_PORTS, Stamp, Word, WordKind};
use crate::program::interface::{Passage, ProgramFacts, Tors, Verdict};
use crate::{Packet, Repr, StateField};
use anabranch_base::{Duration, HostId, QpId, Stream, Time};
use std::collections::BTreeMap;

/// The queue pairs whose senders are hosts of the switch.
pub(super) struct Source {
    /// The time that a reply may take beyond the round trip to the destination ToR.
    reply_extra: Duration,
    /// The round trips to the destination ToRs.
    distances: Tors,
    path_pause: Duration,
    expiry: Duration,
    /// By queue pair; none before its first packet.
    qps: Vec<Option<Route>>,
    /// The ToR of each host that was heard of. Hardware knows it by routing; here ToRs name themselves.
    tors: BTreeMap<HostId, HostId>,
    /// Until when a path (destination ToR, port) is not to be chosen, after an ECN mark on it. Not a PFC pause.
    paused: BTreeMap<(HostId, u8), Time>,
    random: Stream,
    pub counts: Counts,
}

#[derive(Default)]
pub(super) struct Counts {
    pub reroutes: u64,
    /// Packets that should have been a TAIL, but both sampled paths were marked recently, or there is only one path.
    pub reroutes_refused: u64,
    pub moves_after_idle: u64,
    pub replies_in_time: u64,
    pub replies_late: u64,
    /// Reroutes that no CLEAR had ended when the queue pair went on after idling.
    pub clears_missed: u64,
}

#[derive(Clone, Copy)]
struct Route {
    dst: HostId,
    port: u8,
    epoch: Epoch,
    phase: Phase,
    /// When its last packet passed.
    last: Time,
}

#[derive(Clone, Copy)]
enum Phase {
    /// The INIT has passed; its reply should be here by then.
    Asked(Time),
    /// The epoch is over: the path has answered, or the reroute is done.
    Over,
    /// The TAIL passed then.
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

    /// A data packet of one of the switch's hosts to a host elsewhere.
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
            // Nothing of the queue pair is left in the fabric by now: any path will do, as with flowlets. This alone makes
            // up for a lost CLEAR: the source ToR "keeps track of an inactive period of connection, i.e., the gap
            // between the last packet process time and the current time" (section 3.2.3; so does the public simulator).
            _ if idle_for > self.expiry => {
                self.counts.clears_missed += u64::from(matches!(route.phase, Phase::Rerouted(_)));
                if let Some(port) = self.sample(route.dst, at, None) {
                    self.counts.moves_after_idle += u64::from(port != route.port);
                    route.port = port;
                }
                header.init = true;
            }
            Phase::Over => header.init = true,
            // Checked when a packet passes, not by a timer, as a data plane does.
            Phase::Asked(deadline) if at.now > deadline => {
                match self.sample(route.dst, at, Some(route.port)) {
                    Some(port) => {
                        self.counts.reroutes += 1;
                        header.tail = true;
                        route.port = port;
                        route.phase = Phase::Rerouted(at.now);
                    }
                    // It stays, and the next packet tries again: without another path there is nothing to reorder,
                    // so neither TAIL nor CLEAR ("rerouting is aborted", section 3.2.2). The public simulator ends
                    // the epoch with a TAIL here as well.
                    None => self.counts.reroutes_refused += 1,
                }
            }
            Phase::Asked(_) => {}
            Phase::Rerouted(tail_at) => {
                header.rerouted = true;
                tail = Stamp::of(tail_at);
            }
        }
        if header.init {
            if known.is_some() {
                route.epoch = route.epoch.next();
            }
            // The round trip between the two ToRs of the queue pair, by links and switches alone, as the public
            // simulator has it for each destination ToR: 4 us over four links of 1 us ("the ToR-to-ToR basis
            // propagation delay", appendix B.1), and 8 us for theta_reply (table 3).
            let reply_within = self.distances.round_trip_to(route.dst) + self.reply_extra;
            route.phase = Phase::Asked(at.now + reply_within);
            (header.epoch, header.port) = (route.epoch, route.port);
        }
        self.qps[qp] = Some(route);
        packet.tag = header.tag();
        // Stamped before the egress queue, so that the wait there counts as part of the path.
        *stamps = header::stamps(Stamp::of(at.now), tail);
        Verdict::Port(u16::from(header.port))
    }

    /// The destination ToR says something of a queue pair.
    pub fn hear(&mut self, qp: QpId, word: Word, now: Time) {
        let Some(Some(route)) = self.qps.get_mut(qp.index()) else { return };
        self.tors.insert(route.dst, word.tor);
        match (word.kind, route.phase) {
            (WordKind::Notify(port), _) => {
                self.paused.insert((word.tor, port), now + self.path_pause);
            }
            (WordKind::Reply(epoch), Phase::Asked(deadline)) if epoch == route.epoch && now <= deadline => {
                self.counts.replies_in_time += 1;
                route.phase = Phase::Over;
            }
            // Too late is late, even when no packet has passed since: the path is slow.
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

    /// The first of two random ports, other than `except`, whose path was not marked recently. The public simulator may
    /// draw the present port too; the paper wants another path (section 3.2: "there exists a viable path that is not
    /// congested" beside "the existing path").
    fn sample(&mut self, dst: HostId, at: &Passage, except: Option<u8>) -> Option<u8> {
        let ports = at.ports.min(MAX_PORTS);
        let except = except.map(u16::from).filter(|&port| port < ports);
        let choices = u32::from(ports - u16::from(except.is_some()));
        if choices == 0 {
            return None;
        }
        let tor = self.tors.get(&dst);
        // Both are always drawn, as the data plane looks both up at once.
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
