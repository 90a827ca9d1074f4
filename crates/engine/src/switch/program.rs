//! Programs in switches, and choices among equal-cost ports other than by a plain hash.

use super::Switch;
use super::path_map::{self, PathMapError};
use super::tors;
use crate::context::{Context, Failure, Notice};
use crate::frame::{APART, Frame, Order, kind};
use crate::network::Network;
use crate::observer::Observer;
use crate::spec::{RoutingMode, Scheme};
use anabranch_base::{Duration, NodeId, Purpose, Stream, Time, stream};
use anabranch_fabric::{Routing, Selector, SelectorError, Topology};
use anabranch_proto::program::{
    AnyProgram, Emitted, Held, Passage, ProgramFacts, QpNotice, Sites, Tors, Total, Verdict,
};
use anabranch_proto::{Packet, PathFacts, Repr};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The switches that an unsaid `program_at` stands for.
const EVERY_TOR: &str = "tor:100%";

/// What switches do beyond ECMP, before the first packet.
pub struct ProgramPlan {
    routing: RoutingMode,
    /// By switch: its program.
    attached: Vec<Option<AnyProgram>>,
    /// Some program wants to hear of queue pairs opened and destroyed.
    wants_qps: bool,
}

/// What one switch does beyond ECMP.
pub(super) struct Beyond {
    routing: RoutingMode,
    program: Option<Attached>,
    /// The random stream of its port choices.
    random: Stream,
}

struct Attached {
    program: AnyProgram,
    /// Room for what it sends.
    out: Vec<Emitted>,
    /// Packets that it keeps.
    held: u64,
    /// Per ingress port: bytes of the packets that it holds in the switch's buffer.
    held_bytes: Vec<u64>,
    /// Bytes that it holds outside the buffer.
    aside: u64,
    /// Entries of its tables when an observer last heard of them, and those bytes.
    told: [u32; 2],
    /// When its timer is due; never: it has none.
    timer: Time,
    /// When it hears of a queue pair next, within the window; never: nothing is to be heard.
    hears: Time,
    /// How many of the window's notices it has heard.
    heard: usize,
}

/// A program that cannot be on a fabric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// No such switches.
    #[error(transparent)]
    At(#[from] SelectorError),
    /// More paths than the program's tables have entries.
    #[error("there are {paths} paths between two ToRs, and the program's tables have {table} entries")]
    Paths {
        /// Of the fabric.
        paths: u32,
        /// As configured.
        table: u32,
    },
    /// The ToR's choice of a port does not decide the path, and entropy values do not either.
    #[error("{0}")]
    PathMap(#[from] PathMapError),
}

impl ProgramError {
    /// The parameter of the scheme that is wrong, as a path, and what to write there; none where only another fabric
    /// helps.
    pub fn remedy(&self) -> (&'static str, Option<String>) {
        match self {
            ProgramError::At(_) => ("fabric.program_at", Some(format!("{EVERY_TOR:?}"))),
            ProgramError::Paths { paths, .. } => ("fabric.program.paths", Some(paths.to_string())),
            ProgramError::PathMap(PathMapError::NotLinear(_)) => {
                ("fabric.routing", Some("\"ecmp-linear\"".to_owned()))
            }
            ProgramError::PathMap(_) => ("fabric.program", None),
        }
    }
}

impl ProgramPlan {
    /// What `scheme` asks of the switches; none where they need only ECMP.
    ///
    /// # Errors
    /// A program that this fabric cannot carry.
    pub fn new(
        scheme: &Scheme,
        topology: &Topology,
        routing: &Routing,
        facts: &PathFacts,
        seed: u64,
    ) -> Result<Option<Self>, ProgramError> {
        let fabric = &scheme.fabric;
        if fabric.program.is_none() && fabric.routing == RoutingMode::Ecmp {
            return Ok(None);
        }
        let mut attached: Vec<Option<AnyProgram>> = topology.switches.iter().map(|_| None).collect();
        if let Some(program) = &fabric.program {
            let paths = path_map::paths(topology, routing);
            if let Some(table) = program.path_entries().filter(|table| *table < paths) {
                return Err(ProgramError::Paths { paths, table });
            }
            let path_map = match program.path_entries() {
                Some(_) => path_map::build(topology, routing, fabric.routing)?,
                None => None,
            };
            let ack = scheme.transport.framing().ack;
            let (sites, tors) = (Sites::default(), Tors::default());
            let facts = ProgramFacts { path: *facts, ack, paths, path_map, sites, tors };
            let tor_of_host = program.wants_tors().then(|| tors::of_hosts(topology, routing));
            let at: Selector = fabric.program_at.as_deref().unwrap_or(EVERY_TOR).parse()?;
            let mut random = stream(seed, u64::MAX, Purpose::Program);
            for node in at.switches(topology, &mut random)? {
                let switch = node.0 - topology.hosts;
                let random = stream(seed, u64::from(switch), Purpose::Program);
                let sites = self::sites(topology, node);
                let tors = tor_of_host.as_ref().map_or_else(Tors::default, |of_host| {
                    tors::seen_from(topology, routing, switch, Arc::clone(of_host))
                });
                attached[switch as usize] =
                    Some(program.build(&ProgramFacts { sites, tors, ..facts.clone() }, random));
            }
        }
        let wants_qps = attached.iter().flatten().any(|program| program.wants_qps());
        Ok(Some(ProgramPlan { routing: fabric.routing, attached, wants_qps }))
    }

    /// Whether some program wants to hear of queue pairs.
    pub fn wants_qps(&self) -> bool {
        self.wants_qps
    }

    /// What the switch with this number does. Its program is taken out of the plan.
    pub(super) fn switch(&mut self, network: &Network<'_>, index: u32) -> Beyond {
        let attached = |program| Attached {
            program,
            out: Vec::new(),
            held: 0,
            held_bytes: Vec::new(),
            aside: 0,
            told: [0; 2],
            timer: Time::NEVER,
            hears: Time::NEVER,
            heard: 0,
        };
        Beyond {
            routing: self.routing,
            program: self.attached[index as usize].take().map(attached),
            random: stream(network.seed, u64::from(index), Purpose::PortChoice),
        }
    }
}

/// The data centres of a fabric, as the switch at `node` sees them.
fn sites(topology: &Topology, node: NodeId) -> Sites {
    let of_host = topology.site.iter().take(topology.hosts as usize).copied().collect();
    Sites { of_host, own: topology.site_of(node) }
}

impl Attached {
    /// A packet that came in by `port` is held in the switch's buffer.
    fn hold_in_buffer(&mut self, port: u16, bytes: u16) {
        let port = usize::from(port);
        if self.held_bytes.len() <= port {
            self.held_bytes.resize(port + 1, 0);
        }
        self.held += 1;
        self.held_bytes[port] += u64::from(bytes);
    }

    /// A packet that was held leaves; false when there is none such.
    fn let_out(&mut self, held: Held, bytes: u64) -> bool {
        let kept = match held {
            Held::Never => return true,
            Held::InBuffer(port) => self.held_bytes.get_mut(usize::from(port)),
            Held::OutsideBuffer => Some(&mut self.aside),
        };
        let left = kept.and_then(|kept| Some((kept.checked_sub(bytes)?, kept)));
        match (left, self.held.checked_sub(1)) {
            (Some((left, kept)), Some(others)) => {
                (*kept, self.held) = (left, others);
                true
            }
            _ => false,
        }
    }
}

impl Beyond {
    /// Where the next event of its program stands.
    #[inline]
    pub(super) fn next(&self) -> Order {
        let Some(Attached { timer, hears, .. }) = self.program.as_ref() else { return Order::NEVER };
        let order =
            |time: Time, kind| if time == Time::NEVER { Order::NEVER } else { Order::chosen(time, kind) };
        order(*timer, kind::TIMER).min(order(*hears, kind::NOTICE))
    }

    /// Packets that its program keeps, and the bytes of those that are in the switch's buffer.
    pub(super) fn held(&self) -> (u64, u64) {
        self.program.as_ref().map_or((0, 0), |attached| (attached.held, attached.held_bytes.iter().sum()))
    }
}

/// Adds what the programs of `switches` counted.
pub fn program_counters<'s>(switches: impl Iterator<Item = &'s Switch>) -> BTreeMap<&'static str, u64> {
    let mut totals = BTreeMap::new();
    for attached in switches.filter_map(|switch| switch.beyond.as_ref()?.program.as_ref()) {
        for counter in attached.program.counters() {
            let total = totals.entry(counter.name).or_insert(0u64);
            *total = match counter.total {
                Total::Sum => *total + counter.value,
                Total::Max => counter.value.max(*total),
            };
        }
    }
    totals
}

impl Switch {
    /// Whether it runs a program.
    #[inline]
    pub(super) fn has_program(&self) -> bool {
        self.beyond.as_ref().is_some_and(|beyond| beyond.program.is_some())
    }

    /// A packet comes in where there is more than ECMP.
    // Not inlined, so that its caller stays small for fabrics with ECMP alone.
    #[inline(never)]
    pub(super) fn pass<O: Observer>(&mut self, frame: &Frame, at: &mut Context<'_, O>) {
        let passage = Passage {
            src: at.network.source_of(&frame.packet),
            port: frame.port,
            from_host: at.network.is_host(self.egress.port(frame.port).peer),
            ..self.passage(&frame.packet, at)
        };
        let mut frame = *frame;
        let mut chosen = None;
        if let Some(attached) = self.attached() {
            match attached.program.ingress(&mut frame.packet, &passage, &mut attached.out) {
                Verdict::Forward => {}
                Verdict::Port(number) => chosen = Some(number),
                Verdict::Drop => {
                    at.counters.consumed += 1;
                    self.egress.forget(frame.telemetry);
                    return self.after_program(at);
                }
                Verdict::Hold => {
                    self.hold(&frame, at);
                    return self.after_program(at);
                }
                Verdict::HoldOutside => {
                    attached.held += 1;
                    attached.aside += u64::from(frame.packet.wire_bytes);
                    self.keep_record(&frame);
                    return self.after_program(at);
                }
            }
        }
        match self.choose(&frame.packet, &passage, chosen, at) {
            Some(port) => {
                at.observer.offered(self.egress.port(port).link, at.now, frame.packet.wire_bytes);
                self.forward(port, &frame, at);
            }
            None => self.lose(&frame, at),
        }
        self.after_program(at);
    }

    /// The program holds a packet: it waits in the switch's buffer; in a lossless class it is charged to its ingress port.
    fn hold<O: Observer>(&mut self, frame: &Frame, at: &mut Context<'_, O>) {
        let bytes = frame.packet.wire_bytes;
        if !self.charge_lossless(frame.port, bytes, at) {
            at.counters.drops += 1;
            self.egress.forget(frame.telemetry);
            return;
        }
        if let Some(attached) = self.attached() {
            attached.hold_in_buffer(frame.port, bytes);
        }
        self.keep_record(frame);
    }

    fn keep_record(&mut self, frame: &Frame) {
        if let Some(telemetry) = &mut self.egress.telemetry {
            telemetry.held.set_aside(&frame.packet, frame.telemetry);
        }
    }

    /// Sends a packet by `port`, which is free, by way of the egress of the switch's program.
    #[inline(never)]
    pub(super) fn pass_out<O: Observer>(&mut self, port: u16, frame: &Frame, at: &mut Context<'_, O>) {
        let src = at.network.source_of(&frame.packet);
        let passage = Passage {
            queued: self.egress.port(port).data_bytes,
            src,
            from_host: at.routing.tor_index(src) == self.index,
            ..self.passage(&frame.packet, at)
        };
        let mut frame = *frame;
        if let Some(attached) = self.attached() {
            attached.program.egress(&mut frame.packet, &passage, &mut attached.out);
        }
        self.egress.transmit(port, &frame, at);
        self.after_program(at);
    }

    /// A window starts in which its program hears these, and others before them were heard.
    pub fn expect_notices(&mut self, heard: &[Notice]) {
        if let Some(attached) = self.attached() {
            (attached.hears, attached.heard) = (heard.first().map_or(Time::NEVER, |first| first.time), 0);
        }
    }

    /// Its program hears that a queue pair was opened or is done.
    pub(super) fn handle_notice<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        let Some(attached) = self.attached() else { return };
        let notice = at.heard[attached.heard];
        attached.heard += 1;
        attached.hears = at.heard.get(attached.heard).map_or(Time::NEVER, |next| next.time);
        let ends = at.network.ends(notice.qp);
        let notice =
            QpNotice { now: at.now, qp: notice.qp, src: ends.src, dst: ends.dst, opens: notice.opens };
        attached.program.handle_qp(&notice, &mut attached.out);
        self.after_program(at);
    }

    /// The timer of its program is due.
    pub(super) fn handle_program_timer<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        let now = at.now;
        let Some(attached) = self.attached() else { return };
        attached.timer = Time::NEVER;
        if attached.program.next_timeout().is_some_and(|due| due <= now) {
            attached.program.handle_timeout(now, &mut attached.out);
        }
        self.after_program(at);
    }

    fn attached(&mut self) -> Option<&mut Attached> {
        self.beyond.as_mut()?.program.as_mut()
    }

    /// Sends what the program has put out, and sees to its timer.
    fn after_program<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        let now = at.now;
        let Some(attached) = self.attached() else { return };
        // A timer that is due now runs a picosecond later, so that no program can stop time.
        let due = attached.program.next_timeout().map(|due| due.max(now + Duration(1)));
        attached.timer = attached.timer.min(due.unwrap_or(Time::NEVER));
        self.send_emitted(at);
        self.tell_what_is_kept(at);
    }

    /// Tells the observer what the program keeps, if that is not what it last heard.
    fn tell_what_is_kept<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        let node = self.egress.node;
        let Some(attached) = self.attached() else { return };
        let clip = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let kept = [clip(attached.aside), clip(attached.program.table_entries())];
        if kept != attached.told {
            attached.told = kept;
            at.observer.kept(node, at.now, kept[0], kept[1]);
        }
    }

    fn send_emitted<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        let Some(attached) = self.attached() else { return };
        if attached.out.is_empty() {
            return;
        }
        // What goes out at once passes the program again, which may put out more.
        let mut out = std::mem::take(&mut attached.out);
        for Emitted { packet, held } in out.drain(..) {
            let from = match held {
                Held::Never => 0,
                Held::InBuffer(port) => port,
                Held::OutsideBuffer => APART,
            };
            let mut frame = Frame::new(packet, from);
            let bytes = u64::from(packet.wire_bytes);
            if let Some(telemetry) = self.egress.telemetry.as_mut().filter(|_| held != Held::Never) {
                frame.telemetry = telemetry.held.take_back(&packet);
            }
            if held == Held::Never {
                at.counters.injected += 1;
            } else if self.attached().is_some_and(|attached| !attached.let_out(held, bytes)) {
                let name = at.network.topology.node_name(self.egress.node);
                let what =
                    format!("the program of {name} sends {bytes} B as held ({held:?}) that it does not hold");
                at.effects.fail(at.now, self.egress.node, Failure::Invariant(what));
                return;
            }
            let passage = self.passage(&packet, at);
            match self.choose(&packet, &passage, None, at) {
                Some(port) if held == Held::Never => self.forward(port, &frame, at),
                Some(port) => self.let_go(port, &frame, at),
                None => self.lose(&frame, at),
            }
        }
        if let Some(attached) = self.attached().filter(|attached| attached.out.is_empty()) {
            attached.out = out;
        }
    }

    /// Sends a packet that the program held. One held in the lossless buffer stays charged until it is on the wire.
    /// One held outside the buffer is not charged to its ingress port even while it is queued: that port's headroom is only
    /// for what its link can still deliver.
    fn let_go<O: Observer>(&mut self, port: u16, frame: &Frame, at: &mut Context<'_, O>) {
        let Some(pfc) = &mut self.pfc else { return self.forward(port, frame, at) };
        let out = &self.egress.ports[usize::from(port)];
        if !out.wakes && !out.paused {
            at.backlogs.found_none();
            self.pass_out(port, frame, at);
            if frame.port != APART {
                self.release(frame.port, frame.packet.wire_bytes, at);
            }
            return;
        }
        at.backlogs.found(out.queued());
        if frame.port == APART {
            pfc.charge_apart(frame.packet.wire_bytes);
        }
        self.egress.enqueue(port, frame, false, at);
    }

    /// What a program sees of a packet's path.
    fn passage<O>(&self, packet: &Packet, at: &Context<'_, O>) -> Passage {
        let tor = at.routing.tor_index(packet.dst);
        let to_host = tor == self.index;
        let switch = self.index as usize;
        let ports = match to_host {
            true => 1,
            // Numbered as with every link up: those that are left keep their numbers when routing learns that others
            // are gone.
            false if !at.routing.is_empty(switch, tor) => at.network.healthy.group(switch, tor).len() as u16,
            false => 0,
        };
        Passage { now: at.now, src: packet.dst, port: 0, from_host: false, to_host, ports, queued: 0 }
    }

    /// The egress port: the one that a program chose, else as the fabric routes.
    fn choose<O>(
        &mut self,
        packet: &Packet,
        passage: &Passage,
        chosen: Option<u16>,
        at: &Context<'_, O>,
    ) -> Option<u16> {
        let (network, routing) = (at.network, at.routing);
        let by_hash = || network.route(routing, self.index, packet);
        let beyond = self.beyond.as_mut()?;
        let sprays = match beyond.routing {
            RoutingMode::Adaptive => true,
            RoutingMode::Spray => passage.from_host,
            RoutingMode::Ecmp | RoutingMode::EcmpLinear => false,
        };
        if passage.to_host || passage.ports < 2 {
            return by_hash();
        }
        let (switch, tor) = (self.index as usize, routing.tor_index(packet.dst));
        let group = routing.group(switch, tor);
        if let Some(number) = chosen {
            let all = network.healthy.group(switch, tor);
            let port = all[usize::from(number) % all.len()];
            // If routing has withdrawn the chosen port, ECMP hashing spreads queue pairs over those that are left, each to
            // one port.
            return if group.contains(&port) { Some(port) } else { by_hash() };
        }
        if beyond.routing == RoutingMode::EcmpLinear {
            let tier = network.topology.switches[switch].tier;
            return Some(group[path_map::choice(packet, network.salt(self.index), tier, group.len())]);
        }
        let sprayed = match packet.repr {
            Repr::Data { .. } => true,
            // DCP, section 4.2: the switch also chooses the port of packets that were trimmed.
            Repr::Trimmed { .. } | Repr::HeaderOnly { .. } => beyond.routing == RoutingMode::Adaptive,
            _ => network.queues.acks_with_data,
        };
        if !sprays || !sprayed {
            return by_hash();
        }
        if beyond.routing == RoutingMode::Spray {
            return Some(group[beyond.random.below(group.len() as u32) as usize]);
        }
        // The shortest queue; among equals each is as likely: the i-th one found replaces the one before with probability
        // 1/i. A switch sees at its own ports that a link is down, before routing withdraws it: such a port, whose queue is
        // always empty as it loses all that it is given, is taken only where no other is left.
        let (mut best, mut least, mut equals) = (group[0], u32::MAX, 0);
        for &port in group {
            let out = &self.egress.ports[usize::from(port)];
            let is_down = out.impaired && network.faults.is_down(out.link, at.now);
            let depth = if is_down { u32::MAX } else { out.queued() };
            if depth < least {
                (best, least, equals) = (port, depth, 1);
            } else if depth == least {
                equals += 1;
                if equals == 1 || beyond.random.below(equals) == 0 {
                    best = port;
                }
            }
        }
        Some(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::{HostId, Rate};
    use anabranch_fabric::{CrossDcSpec, TopologySpec, build};

    #[test]
    fn a_switch_knows_its_data_centre_and_that_of_each_host() {
        let (rate, latency) = (Rate::from_gbps(100), Duration::from_us(1));
        let spec = CrossDcSpec {
            dcs: 3,
            tors: 2,
            leaves: 1,
            hosts_per_tor: 2,
            link: rate,
            link_latency: latency,
            esw_link: rate,
            esw_link_latency: latency,
            wan_link: rate,
            wan_latency: latency,
            switch_latency: latency,
        };
        let topology = build(&TopologySpec::CrossDc(spec), None).unwrap();
        // Two ToRs in each data centre, then a leaf in each, then an ESW in each.
        for (switch, dc) in [0, 0, 1, 1, 2, 2, 0, 1, 2, 0, 1, 2].into_iter().enumerate() {
            let sites = sites(&topology, NodeId(topology.hosts + switch as u32));
            let own: Vec<u32> = (0..topology.hosts).filter(|host| sites.is_own(HostId(*host))).collect();
            assert_eq!(own, [4 * dc, 4 * dc + 1, 4 * dc + 2, 4 * dc + 3], "switch {switch}");
            assert!(sites.crosses(HostId(3), HostId(4)) && !sites.crosses(HostId(4), HostId(7)));
        }
        let one = TopologySpec::SingleSwitch {
            hosts: 2,
            link: rate,
            link_latency: latency,
            switch_latency: latency,
        };
        let one = sites(&build(&one, None).unwrap(), NodeId(2));
        assert!(one.is_own(HostId(1)) && !one.crosses(HostId(0), HostId(1)));
    }
}
