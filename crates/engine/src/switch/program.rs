//! Programs in switches, and choices among equal-cost ports by other rules than a plain hash.

use super::Switch;
use super::path_map;
use super::program_error::{EVERY_TOR, ProgramError};
use super::shortest::{DOWN, draw_least, shortest};
use super::tors;
use crate::context::{Context, Failure, Notice};
use crate::frame::{Frame, Order, UNCHARGED, event_kind};
use crate::network::{Attachment, Network};
use crate::observer::Observer;
use crate::spec::{RoutingMode, Scheme};
use anabranch_base::{Duration, NodeId, Purpose, Stream, Time, stream};
use anabranch_fabric::{Routing, Selector, Topology};
use anabranch_proto::program::{
    AnyProgram, EgressPorts, Emitted, Held, Passage, ProgramFacts, QpNotice, Sites, Tors, Total, Verdict,
};
use anabranch_proto::{Packet, PathFacts, Repr};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The routing mode of the fabric, and the programs of the switches.
pub struct ProgramPlan {
    routing: RoutingMode,
    attached: Vec<Option<AnyProgram>>,
    wants_qps: bool,
}

pub(super) struct Extensions {
    routing: RoutingMode,
    program: Option<Attached>,
    /// The random stream for choices of ports.
    random: Stream,
}

struct Attached {
    program: AnyProgram,
    /// The ports at which the program handles packets right before they are sent.
    egress_ports: EgressPorts,
    out: Vec<Emitted>,
    /// The number of packets that the program holds.
    held: u64,
    /// For each ingress port, the bytes of the packets that the program holds in the switch's buffer.
    held_bytes: Vec<u64>,
    /// The bytes that the program holds outside the buffer.
    aside: u64,
    /// The bytes held outside the buffer and the number of table entries, as last reported to the observer.
    reported: [u32; 2],
    /// The time of the program's timer. [`Time::NEVER`] if it has none.
    timer: Time,
    /// The time of the next expected notice. [`Time::NEVER`] if there is none.
    next_notice: Time,
    /// The number of expected notices that the program has received.
    notices_read: usize,
}

impl ProgramPlan {
    /// The programs and the routing that the scheme needs. None for plain ECMP without a program.
    ///
    /// # Errors
    /// A program does not work on this fabric.
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

    /// Whether some program needs notices of queue pairs.
    pub fn wants_qps(&self) -> bool {
        self.wants_qps
    }

    /// Takes the program of the switch with this index out of the plan.
    pub(super) fn switch(&mut self, network: &Network<'_>, index: u32) -> Extensions {
        let attached = |program: AnyProgram| Attached {
            egress_ports: program.egress_ports(),
            program,
            out: Vec::new(),
            held: 0,
            held_bytes: Vec::new(),
            aside: 0,
            reported: [0; 2],
            timer: Time::NEVER,
            next_notice: Time::NEVER,
            notices_read: 0,
        };
        Extensions {
            routing: self.routing,
            program: self.attached[index as usize].take().map(attached),
            random: stream(network.seed, u64::from(index), Purpose::PortChoice),
        }
    }
}

fn sites(topology: &Topology, node: NodeId) -> Sites {
    let of_host = topology.site.iter().take(topology.hosts as usize).copied().collect();
    Sites { of_host, own: topology.site_of(node) }
}

impl Attached {
    fn hold_in_buffer(&mut self, port: u16, bytes: u16) {
        let port = usize::from(port);
        if self.held_bytes.len() <= port {
            self.held_bytes.resize(port + 1, 0);
        }
        self.held += 1;
        self.held_bytes[port] += u64::from(bytes);
    }

    /// Counts a held packet as released. Returns false if the program does not hold so many bytes in the place `held`.
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

impl Extensions {
    #[inline]
    pub(super) fn has_program(&self) -> bool {
        self.program.is_some()
    }

    /// The position of the program's next event among the switch's events.
    #[inline]
    pub(super) fn next(&self) -> Order {
        let Some(Attached { timer, next_notice, .. }) = self.program.as_ref() else { return Order::NEVER };
        let order =
            |time: Time, kind| if time == Time::NEVER { Order::NEVER } else { Order::chosen(time, kind) };
        order(*timer, event_kind::TIMER).min(order(*next_notice, event_kind::NOTICE))
    }

    /// Whether the choice of a port at the switch with this index depends only on the packet.
    pub(super) fn is_by_packet(&self, network: &Network<'_>, index: u32) -> bool {
        self.program.is_none()
            && match self.routing {
                RoutingMode::Ecmp | RoutingMode::EcmpLinear | RoutingMode::Source => true,
                RoutingMode::Spray | RoutingMode::Adaptive => {
                    let routing = &network.healthy;
                    (0..network.topology.tors()).all(|tor| routing.group(index as usize, tor).len() < 2)
                }
            }
    }

    /// The number of packets that the program holds, and the bytes of those in the switch's buffer.
    pub(super) fn held(&self) -> (u64, u64) {
        self.program.as_ref().map_or((0, 0), |attached| (attached.held, attached.held_bytes.iter().sum()))
    }
}

/// The counters of the programs of `switches`. Depending on the counter, a value is the sum or the maximum over the
/// switches.
pub fn program_counters<'s>(switches: impl Iterator<Item = &'s Switch>) -> BTreeMap<&'static str, u64> {
    let mut totals = BTreeMap::new();
    for attached in switches.filter_map(|switch| switch.extensions.as_ref()?.program.as_ref()) {
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
    /// Whether the program handles packets right before `port` sends them.
    #[inline]
    pub(super) fn has_egress_hook<O>(&self, port: u16, at: &Context<'_, O>) -> bool {
        let Some(Attached { egress_ports, .. }) =
            self.extensions.as_ref().and_then(|extensions| extensions.program.as_ref())
        else {
            return false;
        };
        match egress_ports {
            EgressPorts::None => false,
            EgressPorts::ToHosts => at.network.is_host(self.egress.ports[usize::from(port)].peer),
            EgressPorts::All => true,
        }
    }

    // Not inlined, so that its caller stays small for fabrics with ECMP alone.
    #[inline(never)]
    pub(super) fn pass<O: Observer>(&mut self, frame: &Frame, at: &mut Context<'_, O>) {
        let (to_host, ports) = self.ports_towards(&frame.packet, at);
        let passage = Passage {
            now: at.now,
            src: at.network.source_of(&frame.packet),
            port: frame.port,
            from_host: at.network.is_host(self.egress.port(frame.port).peer),
            to_host,
            ports,
            queued: 0,
        };
        let mut frame = *frame;
        let mut chosen = None;
        if let Some(attached) = self.attached() {
            match attached.program.ingress(&mut frame.packet, &passage, &mut attached.out) {
                Verdict::Forward => {}
                Verdict::Port(number) => chosen = Some(number),
                Verdict::Drop => {
                    at.counters.consumed += 1;
                    self.egress.release_telemetry(frame.telemetry);
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
        match self.choose(&frame.packet, passage.from_host, chosen, at) {
            Some(port) => {
                at.observer.offered(self.egress.port(port).link, at.now, frame.packet.wire_bytes);
                self.forward(port, &frame, at);
            }
            None => self.drop_unroutable(&frame, at),
        }
        self.after_program(at);
    }

    /// Holds a packet for the program in the switch's buffer. In a lossless class the packet is charged to its ingress
    /// port.
    fn hold<O: Observer>(&mut self, frame: &Frame, at: &mut Context<'_, O>) {
        let bytes = frame.packet.wire_bytes;
        if !self.charge_lossless(0, frame.port, bytes, at) {
            at.counters.drops += 1;
            self.egress.release_telemetry(frame.telemetry);
            return;
        }
        if let Some(attached) = self.attached() {
            attached.hold_in_buffer(frame.port, bytes);
        }
        self.keep_record(frame);
    }

    fn keep_record(&mut self, frame: &Frame) {
        if let Some(telemetry) = &mut self.egress.telemetry {
            telemetry.records.store_for_program(&frame.packet, frame.telemetry);
        }
    }

    #[inline(never)]
    pub(super) fn pass_out<O: Observer>(&mut self, port: u16, frame: &Frame, at: &mut Context<'_, O>) {
        let src = at.network.source_of(&frame.packet);
        let (to_host, ports) = self.ports_towards(&frame.packet, at);
        let passage = Passage {
            now: at.now,
            src,
            port: 0,
            from_host: at.network.is_attached(src, self.index),
            to_host,
            ports,
            queued: self.egress.port(port).data_bytes,
        };
        let mut frame = *frame;
        if let Some(attached) = self.attached() {
            attached.program.egress(&mut frame.packet, &passage, &mut attached.out);
        }
        self.egress.transmit(port, &frame, at);
        self.after_program(at);
    }

    /// Replaces the expected notices, which are in the order of their times.
    pub fn expect_notices(&mut self, notices: &[Notice]) {
        if let Some(attached) = self.attached() {
            (attached.next_notice, attached.notices_read) =
                (notices.first().map_or(Time::NEVER, |first| first.time), 0);
        }
    }

    pub(super) fn handle_notice<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        let Some(attached) = self.attached() else { return };
        let notice = at.program_notices[attached.notices_read];
        attached.notices_read += 1;
        attached.next_notice =
            at.program_notices.get(attached.notices_read).map_or(Time::NEVER, |next| next.time);
        let ends = at.network.ends(notice.qp);
        let notice =
            QpNotice { now: at.now, qp: notice.qp, src: ends.src, dst: ends.dst, opens: notice.opens };
        attached.program.handle_qp(&notice, &mut attached.out);
        self.after_program(at);
    }

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
        self.extensions.as_mut()?.program.as_mut()
    }

    fn after_program<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        let now = at.now;
        let Some(attached) = self.attached() else { return };
        // A timer that is due now runs a picosecond later, so that no program can stop time.
        let due = attached.program.next_timeout().map(|due| due.max(now + Duration(1)));
        attached.timer = attached.timer.min(due.unwrap_or(Time::NEVER));
        if !attached.out.is_empty() {
            self.send_emitted(at);
        }
        self.report_held(at);
    }

    fn report_held<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        let node = self.egress.node;
        let Some(attached) = self.attached() else { return };
        let clip = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let kept = [clip(attached.aside), clip(attached.program.table_entries())];
        if kept != attached.reported {
            attached.reported = kept;
            at.observer.kept(node, at.now, kept[0], kept[1]);
        }
    }

    fn send_emitted<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        let Some(attached) = self.attached() else { return };
        // A packet that is sent without waiting passes the egress hook, and that hook may emit more packets, so the
        // list is taken out first.
        let mut out = std::mem::take(&mut attached.out);
        for Emitted { packet, held } in out.drain(..) {
            let from = match held {
                Held::Never => 0,
                Held::InBuffer(port) => port,
                Held::OutsideBuffer => UNCHARGED,
            };
            let mut frame = Frame::new(packet, from);
            let bytes = u64::from(packet.wire_bytes);
            if let Some(telemetry) = self.egress.telemetry.as_mut().filter(|_| held != Held::Never) {
                frame.telemetry = telemetry.records.retrieve(&packet);
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
            match self.choose(&packet, false, None, at) {
                Some(port) if held == Held::Never => self.forward(port, &frame, at),
                Some(port) => {
                    at.observer.offered(self.egress.port(port).link, at.now, frame.packet.wire_bytes);
                    self.let_go(port, &frame, at);
                }
                None => self.drop_unroutable(&frame, at),
            }
        }
        if let Some(attached) = self.attached().filter(|attached| attached.out.is_empty()) {
            attached.out = out;
        }
    }

    /// Sends a packet that the program held. A packet held in the lossless buffer stays charged until it is on the
    /// wire. A packet held outside the buffer is not charged to its ingress port even while it is queued, since the
    /// headroom of that port is only for packets that the port's link can still deliver.
    fn let_go<O: Observer>(&mut self, port: u16, frame: &Frame, at: &mut Context<'_, O>) {
        let Some(pfc) = &mut self.pfc else { return self.forward(port, frame, at) };
        let out = &self.egress.ports[usize::from(port)];
        if !out.busy && !out.paused {
            at.backlogs.record_empty();
            self.send(port, frame, at);
            if frame.port != UNCHARGED {
                self.release(0, frame.port, frame.packet.wire_bytes, at);
            }
            return;
        }
        at.backlogs.record(out.queued());
        if frame.port == UNCHARGED {
            pfc.add_uncharged(frame.packet.wire_bytes);
        }
        self.egress.enqueue(port, frame, false, at);
    }

    /// Whether a packet is for a host of this switch, and the number of ports towards its destination
    /// ([`Passage::ports`]).
    #[inline]
    fn ports_towards<O>(&self, packet: &Packet, at: &Context<'_, O>) -> (bool, u16) {
        let Some(tor) = at.network.tor_towards(at.routing, self.index, packet) else { return (false, 0) };
        let switch = self.index as usize;
        match tor == self.index {
            true => (true, 1),
            // The ports are numbered as if every link were up, so that a port keeps its number when routing withdraws
            // other ports.
            false if !at.routing.is_empty(switch, tor) => {
                (false, at.network.healthy.group(switch, tor).len() as u16)
            }
            false => (false, 0),
        }
    }

    /// The egress port of a packet at a switch without a program. `ONE_PORT` states that each host has one port.
    #[inline]
    pub(super) fn port_of<const ONE_PORT: bool, O>(
        &mut self,
        packet: &Packet,
        at: &Context<'_, O>,
    ) -> Option<u16> {
        match self.extensions {
            None if ONE_PORT => at.network.route_to_only_port(at.routing, self.index, packet),
            None => at.network.route(at.routing, self.index, packet),
            Some(_) => self.choose(packet, false, None, at),
        }
    }

    /// The egress port of a packet. With source routing, `chosen` (the choice of the program) has no effect. If
    /// routing has withdrawn the chosen port, or if there are fewer than two equal-cost ports, ECMP hashing decides.
    /// Without a choice, the routing of the fabric decides.
    #[inline(never)]
    pub(super) fn choose<O>(
        &mut self,
        packet: &Packet,
        from_host: bool,
        chosen: Option<u16>,
        at: &Context<'_, O>,
    ) -> Option<u16> {
        let (network, routing) = (at.network, at.routing);
        let extensions = self.extensions.as_mut()?;
        let sprays = match extensions.routing {
            RoutingMode::Adaptive => true,
            RoutingMode::Spray => from_host,
            RoutingMode::Ecmp | RoutingMode::EcmpLinear | RoutingMode::Source => false,
        };
        let Attachment { tor, port } = network.attachment(routing, self.index, packet)?;
        if tor == self.index {
            return Some(port);
        }
        let switch = self.index as usize;
        let group = routing.group(switch, tor);
        let by_hash = || network.member(group, self.index, packet);
        let all = network.healthy.group(switch, tor);
        if extensions.routing == RoutingMode::Source {
            return network.source_routed(all, self.index, packet);
        }
        if group.is_empty() || all.len() < 2 {
            return by_hash();
        }
        if let Some(number) = chosen {
            let number = usize::from(number) % all.len();
            let port = all[number];
            let is_in_use = group.get(number) == Some(&port) || group.contains(&port);
            return if is_in_use { Some(port) } else { by_hash() };
        }
        if extensions.routing == RoutingMode::EcmpLinear {
            let tier = network.topology.switches[switch].tier;
            return Some(group[path_map::choice(packet, network.salt(self.index), tier, group.len())]);
        }
        let sprayed = match packet.repr {
            Repr::Data { .. } => true,
            // DCP, section 4.2: the switch also chooses the port of packets that were trimmed.
            Repr::Trimmed { .. } | Repr::HeaderOnly { .. } => extensions.routing == RoutingMode::Adaptive,
            _ => network.queues.acks_with_data,
        };
        if !sprays || !sprayed {
            return by_hash();
        }
        if extensions.routing == RoutingMode::Spray {
            return Some(group[extensions.random.below(group.len() as u32) as usize]);
        }
        let random = &mut extensions.random;
        Some(match self.egress.depths() {
            Some(depths) => shortest(group, depths, random),
            // A switch detects at its own ports that a link is down, before routing withdraws the link. The queue of
            // such a port would always be empty, since all its packets are lost. The port is therefore only chosen if
            // no other port is left.
            None => {
                let depth = |port: &u16| {
                    let out = &self.egress.ports[usize::from(*port)];
                    let is_down = out.impaired && network.faults.is_down(out.link, at.now);
                    if is_down { DOWN } else { out.queued() }
                };
                let depths: SmallVec<[u32; 64]> = group.iter().map(depth).collect();
                group[draw_least(&depths, random)]
            }
        })
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
        // The switches are two ToRs in each data centre, then a leaf in each, then an ESW in each.
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
