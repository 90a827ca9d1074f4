//! Switches: route, admit, queue, mark.

mod path_map;
mod pfc;
mod program;
mod wrr;

use crate::engine::{Engine, Marking};
use crate::observer::Observer;
use crate::spec::FabricSpec;
use anabranch_base::{Bytes, LinkId, NodeId, Purpose, Rate, stream};
use anabranch_fabric::{Routing, Topology};
use anabranch_proto::{Packet, PathFacts, Repr};

pub use pfc::{Pfc, PfcError, check_headrooms};
pub use program::{ProgramError, Programs};
pub use wrr::{WeightError, weights};

/// What the switches know.
pub struct Switches {
    /// Routes as the switches know them now.
    pub routing: Routing,
    /// By switch: its ECMP salt.
    salts: Vec<u64>,
    /// By host: the port of its ToR that leads to it.
    host_port: Vec<u16>,
    queue: QueueLimits,
}

/// How much a port's queues hold, and what happens to the rest.
#[derive(Clone, Copy, Debug)]
pub struct QueueLimits {
    /// Bytes of data; no limit in a lossless class, whose buffer is shared.
    pub data: u32,
    /// Bytes of control.
    pub control: u32,
    /// Size of a trimmed packet; none where switches drop.
    pub trimmed_bytes: Option<u16>,
    /// Only trimmed packets are control packets.
    pub acks_with_data: bool,
}

impl QueueLimits {
    /// The limits of a scheme on a fabric. `header` is what trimming leaves of a packet.
    pub fn new(fabric: &FabricSpec, facts: &PathFacts, header: Bytes) -> Self {
        QueueLimits {
            data: fabric.queue.map_or(u32::MAX, |queue| clip(queue.on(facts))),
            control: clip(fabric.control_queue.on(facts)),
            trimmed_bytes: fabric.trim.then_some(header.0 as u16),
            acks_with_data: fabric.acks_with_data,
        }
    }
}

/// When the queues of a link of `rate` mark.
pub fn marking(fabric: &FabricSpec, facts: &PathFacts, rate: Rate) -> Marking {
    let step = fabric.ecn_from.iter().rev().find(|step| step.rate <= rate);
    let (kmin, kmax) = step.map_or((fabric.ecn_kmin, fabric.ecn_kmax), |step| (step.kmin, step.kmax));
    Marking {
        kmin: clip(kmin.on(facts)),
        kmax: clip(kmax.on(facts)),
        pmax: (fabric.ecn_pmax * 4_294_967_296.0) as u64,
    }
}

fn clip(bytes: Bytes) -> u32 {
    u32::try_from(bytes.0).unwrap_or(u32::MAX)
}

impl Switches {
    /// Switches that know `routing`.
    pub fn new(topology: &Topology, routing: Routing, queue: QueueLimits, seed: u64) -> Self {
        let salts = (0..topology.switches.len() as u64)
            .map(|i| stream(seed, i, Purpose::EcmpSalt).next_u64())
            .collect();
        let host_port = (0..topology.hosts)
            .map(|host| topology.ports[topology.port_base[host as usize] as usize].peer_port);
        Switches { routing, salts, host_port: host_port.collect(), queue }
    }

    /// A data packet cut to its header; none where switches do not trim, and of what is no data.
    pub(crate) fn trim(&self, packet: &Packet) -> Option<Packet> {
        packet.cut(self.queue.trimmed_bytes?)
    }
}

impl<O: Observer> Engine<'_, O> {
    /// A packet reached a switch by `port`.
    #[inline]
    pub(crate) fn handle_switch_arrival(&mut self, node: NodeId, port: u16, packet: &Packet) {
        if self.programs.is_some() {
            self.pass(node, port, packet);
            return;
        }
        match self.route(node, packet) {
            Some(link) => {
                self.observer.offered(link, self.now, packet.wire_bytes);
                self.forward(node, link, packet, self.port_base[node.index()] + u32::from(port));
            }
            None => {
                self.counters.link_losses += 1;
                self.forget_telemetry(packet);
            }
        }
    }

    /// The egress link: the host's at its own ToR, else by ECMP among the shortest paths.
    #[inline]
    pub(crate) fn route(&self, node: NodeId, packet: &Packet) -> Option<LinkId> {
        let switch = node.0 - self.host_count;
        let tor = self.switches.routing.tor_index(packet.dst);
        let port = if tor == switch {
            self.switches.host_port[packet.dst.index()]
        } else {
            let group = self.switches.routing.group(switch as usize, tor);
            match group.len() {
                0 => return None,
                1 => group[0],
                n => group[ecmp_choice(packet, self.switches.salts[switch as usize], n)],
            }
        };
        Some(LinkId(self.port_base[node.index()] + u32::from(port)))
    }

    /// Sends a packet by `link` of `node`, or queues it there, or trims or drops it. It came in by the port whose
    /// outgoing link is `from`.
    #[inline]
    pub(crate) fn forward(&mut self, node: NodeId, link: LinkId, packet: &Packet, from: u32) {
        let mut control = packet.is_control();
        if self.switches.queue.acks_with_data && control && node.0 >= self.host_count {
            control = is_trimmed(packet);
        }
        let port = &self.ports[link.index()];
        if port.is_free(self.now) && (!port.paused || control) {
            if self.programs.is_some() && node.0 >= self.host_count {
                self.pass_out(node, link, packet);
            } else {
                self.transmit(link, packet, false);
            }
            return;
        }
        if self.pfc.is_some() && !control && !self.take_in(node, LinkId(from), packet.wire_bytes) {
            self.drop_packet(link, packet);
            return;
        }
        let limits = self.switches.queue;
        let port = &mut self.ports[link.index()];
        let (held, limit) =
            if control { (port.control_bytes, limits.control) } else { (port.data_bytes, limits.data) };
        if u64::from(held) + u64::from(packet.wire_bytes) <= u64::from(limit) {
            port.enqueue(&mut self.pool, packet, from, control);
        } else if let Some(trimmed) = self.switches.trim(packet) {
            self.counters.trims += 1;
            self.forget_telemetry(packet);
            let port = &mut self.ports[link.index()];
            if port.control_bytes + u32::from(trimmed.wire_bytes) > limits.control {
                self.drop_packet(link, &trimmed);
                return;
            }
            port.enqueue(&mut self.pool, &trimmed, from, true);
        } else {
            self.drop_packet(link, packet);
            return;
        }
        self.queue_changed(link);
        if self.ports[link.index()].has_work() {
            self.wake(link);
        }
    }

    #[cold]
    pub(crate) fn drop_packet(&mut self, link: LinkId, packet: &Packet) {
        self.counters.drops += 1;
        self.counters.header_drops += u64::from(is_trimmed(packet));
        self.forget_telemetry(packet);
        self.observer.dropped(link, self.now);
    }

    /// A switch port is free: sends what waits, marking data by the queue that it leaves behind.
    #[inline]
    pub(crate) fn serve_port(&mut self, link: LinkId) {
        if self.ports[link.index()].speaks {
            self.speak(link);
            return;
        }
        let Some(mut packet) = self.dequeue(link) else { return };
        if !packet.is_control() {
            let port = &self.ports[link.index()];
            let (queued, marking) = (port.data_bytes, self.kinds[usize::from(port.kind)].marking);
            if queued > marking.kmin && marking.marks(queued, || self.draw_mark(link)) {
                packet.marked = true;
                self.counters.ecn_marks += 1;
            }
        }
        if self.programs.is_some() {
            let node = self.ports[link.index()].node;
            self.pass_out(node, link, &packet);
        } else {
            self.transmit(link, &packet, false);
        }
    }
}

/// The member of an ECMP group of `n` that a packet takes: a hash over flow, entropy value and the switch's salt.
#[inline]
fn ecmp_choice(packet: &Packet, salt: u64, n: usize) -> usize {
    // The destination is part of the flow, so that an ACK hashes on its own.
    let flow = (u64::from(packet.qp.0) << 32 | u64::from(packet.dst.0)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut hash = flow ^ salt ^ u64::from(packet.ev).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (((hash >> 32) * n as u64) >> 32) as usize
}

/// Whether a packet is a trimmed one, on its way to the receiver or back.
fn is_trimmed(packet: &Packet) -> bool {
    matches!(packet.repr, Repr::Trimmed { .. } | Repr::HeaderOnly { .. })
}
