//! Programs in switches, and choices among equal-cost ports that are no plain hash.

use super::path_map::{self, PathMapError};
use super::pfc;
use crate::engine::Engine;
use crate::observer::Observer;
use crate::spec::{RoutingMode, Scheme};
use anabranch_base::{Duration, LinkId, NodeId, Purpose, QpId, Stream, Time, stream};
use anabranch_fabric::{Routing, Selector, SelectorError, Topology};
use anabranch_proto::program::{
    AnyProgram, Emitted, Held, Passage, ProgramFacts, QpNotice, Sites, Total, Verdict,
};
use anabranch_proto::{Packet, PathFacts, Repr};
use std::collections::BTreeMap;

/// The switches that an unsaid `program_at` stands for.
const EVERY_TOR: &str = "tor:100%";

/// What switches do beyond ECMP.
pub struct Programs {
    routing: RoutingMode,
    /// Routes with every link up, by which a program numbers ports: those that are left keep their numbers when
    /// routing learns that others are gone.
    healthy: Routing,
    /// By switch: its program.
    attached: Vec<Option<Attached>>,
    /// By switch: draws of its choices.
    random: Vec<Stream>,
    /// Room for what a program sends.
    out: Vec<Emitted>,
    /// Packets that programs keep, and the bytes of those that are in switches' buffers.
    held: u64,
    held_bytes: u64,
    /// Some program wants to hear of queue pairs.
    wants_qps: bool,
}

struct Attached {
    program: AnyProgram,
    /// Bytes that it keeps aside.
    aside: u64,
    /// Entries of its tables when an observer last heard of them, and those bytes.
    told: [u32; 2],
    /// The time of its next timer event; never: there is none. Events at other times are stale.
    timer: Time,
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

impl Programs {
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
        let switches = topology.switches.len() as u64;
        let mut attached: Vec<Option<Attached>> = (0..switches).map(|_| None).collect();
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
            let facts = ProgramFacts { path: *facts, ack, paths, path_map, sites: Sites::default() };
            let at: Selector = fabric.program_at.as_deref().unwrap_or(EVERY_TOR).parse()?;
            let mut random = stream(seed, u64::MAX, Purpose::Program);
            for node in at.switches(topology, &mut random)? {
                let switch = node.0 - topology.hosts;
                let random = stream(seed, u64::from(switch), Purpose::Program);
                let sites = sites(topology, node);
                let program = program.build(&ProgramFacts { sites, ..facts.clone() }, random);
                attached[switch as usize] =
                    Some(Attached { program, aside: 0, told: [0; 2], timer: Time::NEVER });
            }
        }
        let wants_qps = attached.iter().flatten().any(|attached| attached.program.wants_qps());
        let random = (0..switches).map(|switch| stream(seed, switch, Purpose::PortChoice)).collect();
        Ok(Some(Programs {
            routing: fabric.routing,
            healthy: routing.clone(),
            attached,
            random,
            out: Vec::new(),
            held: 0,
            held_bytes: 0,
            wants_qps,
        }))
    }

    /// Packets that programs keep, and the bytes of those that are in switches' buffers.
    pub(crate) fn held(&self) -> (u64, u64) {
        (self.held, self.held_bytes)
    }

    /// The program of a switch keeps this much more aside.
    fn set_aside(&mut self, switch: u32, bytes: i64) {
        if let Some(attached) = &mut self.attached[switch as usize] {
            attached.aside = attached.aside.saturating_add_signed(bytes);
        }
    }

    /// What the programs counted, over all switches.
    pub(crate) fn counters(&self) -> BTreeMap<&'static str, u64> {
        let mut totals = BTreeMap::new();
        for attached in self.attached.iter().flatten() {
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
}

/// The data centres of a fabric, as the switch at `node` sees them.
fn sites(topology: &Topology, node: NodeId) -> Sites {
    let of_host = topology.site.iter().take(topology.hosts as usize).copied().collect();
    Sites { of_host, own: topology.site_of(node) }
}

impl<O: Observer> Engine<'_, O> {
    /// A packet reached a switch by `port`, where there is more than ECMP.
    // Apart from its callers, which stay small for fabrics without it.
    #[inline(never)]
    pub(super) fn pass(&mut self, node: NodeId, port: u16, packet: &Packet) {
        let from = self.port_base[node.index()] + u32::from(port);
        let at = Passage {
            now: self.now,
            src: self.source_of(packet),
            port,
            from_host: self.ports[from as usize].peer.0 < self.host_count,
            ..self.passage(node, packet)
        };
        let mut packet = *packet;
        let mut chosen = None;
        if let Some((program, out)) = self.program(node) {
            match program.ingress(&mut packet, &at, out) {
                Verdict::Forward => {}
                Verdict::Port(number) => chosen = Some(number),
                Verdict::Drop => {
                    self.consumed += 1;
                    self.forget_telemetry(&packet);
                    self.after_program(node);
                    return;
                }
                Verdict::Hold => {
                    // It waits in the switch's buffer, whose lossless part counts it.
                    let room = self.pfc.is_none() || self.take_in(node, LinkId(from), packet.wire_bytes);
                    if let Some(programs) = self.programs.as_mut().filter(|_| room) {
                        programs.held += 1;
                        programs.held_bytes += u64::from(packet.wire_bytes);
                    } else {
                        self.counters.drops += 1;
                        self.forget_telemetry(&packet);
                    }
                    self.after_program(node);
                    return;
                }
                Verdict::SetAside => {
                    if let Some(programs) = &mut self.programs {
                        programs.held += 1;
                        programs.set_aside(node.0 - self.host_count, i64::from(packet.wire_bytes));
                    }
                    self.after_program(node);
                    return;
                }
            }
        }
        match self.choose(node, &packet, &at, chosen) {
            Some(link) => {
                self.observer.offered(link, self.now, packet.wire_bytes);
                self.forward(node, link, &packet, from);
            }
            None => {
                self.counters.link_losses += 1;
                self.forget_telemetry(&packet);
            }
        }
        self.after_program(node);
    }

    /// Sends a packet by `link` of a switch, which is free, past the switch's program.
    #[inline(never)]
    pub(super) fn pass_out(&mut self, node: NodeId, link: LinkId, packet: &Packet) {
        let port = &self.ports[link.index()];
        let (queued, src) = (port.data_bytes, self.source_of(packet));
        let from_host = self.switches.routing.tor_index(src) == node.0 - self.host_count;
        let at = Passage { queued, src, from_host, ..self.passage(node, packet) };
        let mut packet = *packet;
        if let Some((program, out)) = self.program(node) {
            program.egress(&mut packet, &at, out);
        }
        self.transmit(link, &packet, false);
        self.after_program(node);
    }

    /// Tells the programs that a queue pair of the workload is opened or destroyed.
    #[inline]
    pub(crate) fn tell_programs(&mut self, qp: QpId, opens: bool) {
        if self.programs.as_ref().is_some_and(|programs| programs.wants_qps) {
            self.tell_each_program(qp, opens);
        }
    }

    #[inline(never)]
    fn tell_each_program(&mut self, qp: QpId, opens: bool) {
        let ends = self.workload.qps[qp.index() / self.recipe.scheme.qps as usize];
        let notice = QpNotice { now: self.now, qp, src: ends.src, dst: ends.dst, opens };
        for node in (self.host_count..self.topology.nodes()).map(NodeId) {
            if let Some((program, out)) = self.program(node) {
                program.handle_qp(&notice, out);
                self.after_program(node);
            }
        }
    }

    /// The timer of a switch's program.
    pub(crate) fn handle_program_timer(&mut self, node: NodeId) {
        let now = self.now;
        let Some(programs) = &mut self.programs else { return };
        let Some(attached) = &mut programs.attached[(node.0 - self.host_count) as usize] else { return };
        if attached.timer != now {
            return;
        }
        attached.timer = Time::NEVER;
        if attached.program.next_timeout().is_some_and(|due| due <= now) {
            attached.program.handle_timeout(now, &mut programs.out);
        }
        self.after_program(node);
    }

    fn program(&mut self, node: NodeId) -> Option<(&mut AnyProgram, &mut Vec<Emitted>)> {
        let programs = self.programs.as_deref_mut()?;
        let attached = programs.attached[(node.0 - self.host_count) as usize].as_mut()?;
        Some((&mut attached.program, &mut programs.out))
    }

    /// Sends what the program of `node` has put out, and sees to its timer.
    fn after_program(&mut self, node: NodeId) {
        let now = self.now;
        let Some(programs) = &mut self.programs else { return };
        let Some(attached) = &mut programs.attached[(node.0 - self.host_count) as usize] else { return };
        let due = attached.program.next_timeout().map(|due| due.max(now + Duration(1)));
        if let Some(due) = due.filter(|due| *due < attached.timer) {
            attached.timer = due;
            self.schedule_timer(node, 0, due);
        }
        self.send_emitted(node);
        self.tell_what_is_kept(node);
    }

    /// Tells the observer what the program of `node` keeps, if that is not what it last heard.
    fn tell_what_is_kept(&mut self, node: NodeId) {
        let now = self.now;
        let Some(programs) = &mut self.programs else { return };
        let Some(attached) = &mut programs.attached[(node.0 - self.host_count) as usize] else { return };
        let clip = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let kept = [clip(attached.aside), clip(attached.program.table_entries())];
        if kept != attached.told {
            attached.told = kept;
            self.observer.kept(node, now, kept[0], kept[1]);
        }
    }

    fn send_emitted(&mut self, node: NodeId) {
        let Some(programs) = &mut self.programs else { return };
        if programs.out.is_empty() {
            return;
        }
        // What goes out at once passes the program again, which may put out more.
        let mut out = std::mem::take(&mut programs.out);
        for Emitted { packet, held } in out.drain(..) {
            let base = self.port_base[node.index()];
            let from = match held {
                Held::Never => base,
                Held::InBuffer(port) => base + u32::from(port),
                Held::Aside => pfc::APART,
            };
            let at = self.passage(node, &packet);
            let way = self.choose(node, &packet, &at, None);
            match (held, &mut self.programs) {
                (Held::InBuffer(_), Some(programs)) => {
                    programs.held -= 1;
                    programs.held_bytes -= u64::from(packet.wire_bytes);
                }
                (Held::Aside, Some(programs)) => {
                    programs.held -= 1;
                    programs.set_aside(node.0 - self.host_count, -i64::from(packet.wire_bytes));
                }
                _ => self.injected += 1,
            }
            match way {
                Some(link) if held == Held::Never => self.forward(node, link, &packet, from),
                Some(link) => self.release(node, link, &packet, from),
                None => {
                    self.counters.link_losses += 1;
                    self.forget_telemetry(&packet);
                }
            }
        }
        if let Some(programs) = &mut self.programs
            && programs.out.is_empty()
        {
            programs.out = out;
        }
    }

    /// Sends a packet that a program kept. The lossless buffer goes on to count one that was in it until it is on the
    /// wire. One that was set aside it does not count in the queue either: the port by which it came has let go of it
    /// long ago, and has room for what the line holds, and for nothing else.
    fn release(&mut self, node: NodeId, link: LinkId, packet: &Packet, from: u32) {
        if self.pfc.is_none() {
            self.forward(node, link, packet, from);
            return;
        }
        let port = &mut self.ports[link.index()];
        if port.is_free(self.now) && !port.paused {
            self.pass_out(node, link, packet);
            if from != pfc::APART {
                self.give_back(node, from, packet.wire_bytes);
            }
            return;
        }
        if let Some(pfc) = self.pfc.as_mut().filter(|_| from == pfc::APART) {
            pfc.take_apart(packet.wire_bytes);
        }
        let port = &mut self.ports[link.index()];
        port.enqueue(&mut self.pool, packet, from, false);
        self.queue_changed(link);
        if self.ports[link.index()].has_work() {
            self.wake(link);
        }
    }

    /// What a program sees of a packet's way.
    fn passage(&self, node: NodeId, packet: &Packet) -> Passage {
        let switch = node.0 - self.host_count;
        let tor = self.switches.routing.tor_index(packet.dst);
        let to_host = tor == switch;
        let ports = match (&self.programs, to_host) {
            (_, true) => 1,
            (Some(programs), false) if !self.switches.routing.is_empty(switch as usize, tor) => {
                programs.healthy.group(switch as usize, tor).len() as u16
            }
            _ => 0,
        };
        Passage { now: self.now, src: packet.dst, port: 0, from_host: false, to_host, ports, queued: 0 }
    }

    /// The host that sent a packet, as its IP header would say.
    fn source_of(&self, packet: &Packet) -> anabranch_base::HostId {
        let ends = self.workload.qps[packet.qp.index() / self.recipe.scheme.qps as usize];
        if packet.dst == ends.dst { ends.src } else { ends.dst }
    }

    /// The egress link: the one that a program chose, else as the fabric routes.
    fn choose(&mut self, node: NodeId, packet: &Packet, at: &Passage, chosen: Option<u16>) -> Option<LinkId> {
        let programs = self.programs.as_deref_mut()?;
        let sprays = match programs.routing {
            RoutingMode::Adaptive => true,
            RoutingMode::Spray => at.from_host,
            RoutingMode::Ecmp | RoutingMode::EcmpLinear => false,
        };
        if at.to_host || at.ports < 2 {
            return self.route(node, packet);
        }
        let switch = (node.0 - self.host_count) as usize;
        let group = self.switches.routing.group(switch, self.switches.routing.tor_index(packet.dst));
        let base = self.port_base[node.index()];
        let link = |port: u16| Some(LinkId(base + u32::from(port)));
        if let Some(number) = chosen {
            let all = programs.healthy.group(switch, self.switches.routing.tor_index(packet.dst));
            let port = all[usize::from(number) % all.len()];
            if !group.contains(&port) {
                // The hash sends a queue pair's packets that were to take it by one other port, and those of
                // another queue pair by another.
                return self.route(node, packet);
            }
            return link(port);
        }
        if programs.routing == RoutingMode::EcmpLinear {
            let tier = self.topology.switches[switch].tier;
            let place = path_map::choice(packet, self.switches.salts[switch], tier, group.len());
            return link(group[place]);
        }
        let sprayed = match packet.repr {
            Repr::Data { .. } => true,
            // DCP, section 4.2: the switch chooses a port whatever it trims or trimmed.
            Repr::Trimmed { .. } | Repr::HeaderOnly { .. } => programs.routing == RoutingMode::Adaptive,
            _ => self.switches.queue.acks_with_data,
        };
        if !sprays || !sprayed {
            return self.route(node, packet);
        }
        let random = &mut programs.random[switch];
        if programs.routing == RoutingMode::Spray {
            return link(group[random.below(group.len() as u32) as usize]);
        }
        // The shortest queue; among equals each is as likely: the i-th one found takes the place with chance 1/i.
        let depth = |port: u16| {
            let port = &self.ports[(base + u32::from(port)) as usize];
            port.data_bytes + port.control_bytes
        };
        let (mut best, mut least, mut equals) = (group[0], depth(group[0]), 1);
        for &port in &group[1..] {
            let depth = depth(port);
            if depth < least {
                (best, least, equals) = (port, depth, 1);
            } else if depth == least {
                equals += 1;
                if random.below(equals) == 0 {
                    best = port;
                }
            }
        }
        link(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::{HostId, Rate};
    use anabranch_fabric::build;
    use anabranch_fabric::{CrossDcSpec, TopologySpec};

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
