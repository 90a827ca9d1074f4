//! The data that all nodes share. While a synchronisation window runs, only the [`Board`] changes, and connections
//! may be added ([`crate::injection`]).

use crate::board::{Board, Starts};
use crate::faults::FaultPlan;
use crate::link::{LinkKind, Marking, PAUSE_FRAME_BYTES, QueueLimits};
use crate::mail::{ArrivalOrder, LONGEST_WINDOW};
use crate::prefetch::prefetch;
use crate::spec::{Scheme, Share};
use anabranch_base::{Duration, HostId, MessageId, NodeId, Purpose, QpId, Time, stream};
use anabranch_fabric::{Routing, Topology};
use anabranch_proto::transport::{Framing, TransportConfig};
use anabranch_proto::{Packet, PathFacts};
use anabranch_workload::{Message, Qp, Workload};

/// The topology, workload, scheme and faults of a run, with tables derived from them.
pub struct Network<'a> {
    pub topology: &'a Topology,
    /// Routes with every link up.
    pub healthy: &'a Routing,
    /// Messages and their start conditions.
    pub workload: &'a Workload,
    /// The scheme that carries the messages of the first traffic class.
    pub scheme: &'a Scheme,
    /// Facts of the fabric's longest path.
    pub facts: PathFacts,
    /// Facts of the path between two hosts, if the congestion control uses them.
    pub own_path: Option<OwnPath<'a>>,
    pub link_kinds: Vec<LinkKind>,
    pub faults: FaultPlan,
    /// The limits of the queues of the first traffic class.
    pub queues: QueueLimits,
    /// The traffic classes beyond the first one.
    pub classes: Vec<TrafficClass<'a>>,
    /// The shares of all traffic classes. Empty if there is only one class.
    pub shares: Vec<Share>,
    /// Seed of every random stream.
    pub seed: u64,
    /// The progress of messages and steps.
    pub board: Board<'a>,
    /// The messages that have a start time.
    pub starts: Starts,
    /// The attachment of each port of each host: first port 0 of all hosts, then port 1 of all hosts, and so on.
    attachments: Vec<Attachment>,
    /// For each switch, the index of the first attachment in its plane, or [`ANY_PORT`]. Empty if hosts have one port.
    plane_of: Vec<u32>,
    /// For each queue pair of the engine, its position among the queue pairs on which its source sends, and its
    /// position among the queue pairs on which its destination receives.
    slots: Vec<[u32; 2]>,
    /// The connections that were added after the run began. They are numbered after the connections of the workload.
    added: boxcar::Vec<AddedConnection>,
    salts: Vec<u64>,
    /// The full length of a synchronisation window of the engine. See [`lookahead`].
    pub window: Duration,
    /// The time for which a receiver is kept after its sender's last acknowledgement. A run continues for the same time
    /// after its last acknowledgement or step. The time is the longest base RTT of all classes, or one synchronisation
    /// window if that is longer. It does not change during a run, so that results do not depend on where the engine's
    /// synchronisation windows end.
    pub linger: Duration,
}

/// The facts of the path from one host to another.
pub type OwnPath<'a> = Box<dyn Fn(HostId, HostId) -> PathFacts + Send + Sync + 'a>;

struct AddedConnection {
    ends: Qp,
    /// The [`slots`](Network::slots) of the connection's first queue pair.
    slots: [u32; 2],
}

/// The ToR to which a host is attached, and the ToR's port to the host.
#[derive(Clone, Copy)]
pub struct Attachment {
    /// The index of the ToR among the switches.
    pub tor: u32,
    pub port: u16,
}

/// The entry in `plane_of` of a switch that belongs to no single plane.
const ANY_PORT: u32 = u32::MAX;

/// The inputs of a network. The fields of [`Network`] describe them.
pub struct NetworkInputs<'a> {
    pub topology: &'a Topology,
    pub healthy: &'a Routing,
    pub workload: &'a Workload,
    pub scheme: &'a Scheme,
    pub facts: PathFacts,
    pub own_path: Option<OwnPath<'a>>,
    pub link_kinds: Vec<LinkKind>,
    pub faults: FaultPlan,
    pub classes: Vec<TrafficClass<'a>>,
    pub shares: Vec<Share>,
    pub seed: u64,
}

/// A traffic class beyond the first one. Its queue pairs and messages are numbered after those of the previous class.
/// [`Network`] describes `facts` and `own_path`.
pub struct TrafficClass<'a> {
    /// The scheme that carries the class's messages. Its fabric settings apply to the class's queues.
    pub scheme: &'a Scheme,
    pub facts: PathFacts,
    pub own_path: Option<OwnPath<'a>>,
    pub queues: QueueLimits,
    /// For each kind of links, the ECN marking of the class's queues and the most bytes of data in them.
    pub kinds: Vec<(Marking, u32)>,
    /// The class's first queue pair of the engine.
    pub first_qp: QpId,
}

impl<'a> Network<'a> {
    pub fn new(parts: NetworkInputs<'a>) -> Self {
        let NetworkInputs {
            topology,
            healthy,
            workload,
            scheme,
            facts,
            own_path,
            link_kinds,
            faults,
            classes,
            shares,
            seed,
        } = parts;
        let attachments = (0..topology.most_host_ports()).flat_map(|port| {
            (0..topology.hosts).map(move |host| Attachment::of(topology, healthy, HostId(host), port))
        });
        let salts =
            (0..topology.switches.len() as u64).map(|i| stream(seed, i, Purpose::EcmpSalt).next_u64());
        let schemes = || std::iter::once(scheme).chain(classes.iter().map(|class| class.scheme));
        let lookahead = schemes()
            .map(|of_class| lookahead(&link_kinds, of_class, scheme.fabric.clock_ppm))
            .min()
            .unwrap_or(Duration(1));
        let window = Duration(lookahead.0.min(LONGEST_WINDOW));
        let base_rtt = classes.iter().map(|class| class.facts.base_rtt).fold(facts.base_rtt, Duration::max);
        Network {
            window,
            linger: base_rtt.max(window),
            queues: QueueLimits::new(&scheme.fabric, &facts, scheme.transport.trimmed_bytes()),
            board: Board::new(workload, scheme.qps),
            starts: Starts::new(workload, topology.hosts),
            attachments: attachments.collect(),
            plane_of: planes(topology, healthy),
            slots: slots(workload, topology.hosts, scheme.qps),
            added: boxcar::Vec::new(),
            salts: salts.collect(),
            topology,
            healthy,
            workload,
            scheme,
            facts,
            own_path,
            link_kinds,
            faults,
            classes,
            shares,
            seed,
        }
    }

    /// The traffic class of a queue pair of the engine. The first class is 0.
    pub fn class_of(&self, qp: QpId) -> u8 {
        self.classes.iter().rposition(|class| class.first_qp <= qp).map_or(0, |position| position as u8 + 1)
    }

    pub fn class_of_connection(&self, connection: QpId) -> u8 {
        self.class_of(QpId(connection.0 * self.scheme.qps))
    }

    pub fn scheme_of(&self, class: u8) -> (&'a Scheme, &PathFacts) {
        match usize::from(class).checked_sub(1) {
            None => (self.scheme, &self.facts),
            Some(class) => (self.classes[class].scheme, &self.classes[class].facts),
        }
    }

    pub fn own_path_of(&self, class: u8) -> Option<&OwnPath<'a>> {
        match usize::from(class).checked_sub(1) {
            None => self.own_path.as_ref(),
            Some(class) => self.classes[class].own_path.as_ref(),
        }
    }

    pub fn queues_of(&self, class: u8) -> &QueueLimits {
        match usize::from(class).checked_sub(1) {
            None => &self.queues,
            Some(class) => &self.classes[class].queues,
        }
    }

    /// The ECN marking of a traffic class's queue in front of a link of this kind, and the most bytes of data in it.
    pub fn queue_of(&self, class: u8, link_kind: u16) -> (&Marking, u32) {
        let kind = usize::from(link_kind);
        match usize::from(class).checked_sub(1) {
            None => (&self.link_kinds[kind].marking, self.link_kinds[kind].data_limit),
            Some(class) => {
                let (marking, limit) = &self.classes[class].kinds[kind];
                (marking, *limit)
            }
        }
    }

    pub fn pauses(&self) -> bool {
        (0..=self.classes.len() as u8).any(|class| self.scheme_of(class).0.fabric.pfc.is_some())
    }

    /// The seed for the order of arrivals at one instant. None unless that order is random.
    pub fn drawn_order(&self) -> Option<u64> {
        (self.scheme.fabric.arrival_order == ArrivalOrder::Random).then_some(self.seed)
    }

    #[inline]
    pub fn is_host(&self, node: NodeId) -> bool {
        node.0 < self.topology.hosts
    }

    /// The connection to which queue pair `qp` of the engine belongs. A connection is a queue pair of the workload.
    /// Connection `q` has the engine's queue pairs `q * n` to `(q + 1) * n - 1`, where `n` is the scheme's `qps`.
    #[inline]
    pub fn connection(&self, qp: QpId) -> QpId {
        QpId(qp.0 / self.scheme.qps)
    }

    #[inline]
    pub fn ends(&self, qp: QpId) -> Qp {
        self.ends_of(self.connection(qp))
    }

    #[inline]
    pub fn ends_of(&self, connection: QpId) -> Qp {
        match self.workload.qps.get(connection.index()) {
            Some(ends) => *ends,
            None => self.added(connection).ends,
        }
    }

    #[inline]
    pub fn slots(&self, qp: QpId) -> [u32; 2] {
        match self.slots.get(qp.index()) {
            Some(slots) => *slots,
            None => self.added_slots(qp),
        }
    }

    #[cold]
    #[inline(never)]
    fn added_slots(&self, qp: QpId) -> [u32; 2] {
        let part = qp.0 % self.scheme.qps;
        self.added(self.connection(qp)).slots.map(|slot| slot + part)
    }

    #[cold]
    #[inline(never)]
    fn added(&self, connection: QpId) -> &AddedConnection {
        let number = connection.index() - self.workload.qps.len();
        self.added.get(number).unwrap_or_else(|| unreachable!("there is no connection {connection}"))
    }

    /// Adds a connection whose first queue pair has these [`slots`](Self::slots); the slots of its other queue pairs
    /// follow. Returns the connection's number, which is the next free one.
    pub fn connect(&self, ends: Qp, slots: [u32; 2]) -> QpId {
        QpId((self.workload.qps.len() + self.added.push(AddedConnection { ends, slots })) as u32)
    }

    pub fn connections(&self) -> u32 {
        (self.workload.qps.len() + self.added.count()) as u32
    }

    #[inline]
    pub fn message(&self, message: MessageId) -> &Message {
        match self.board.message(message) {
            Some(found) => found,
            None => unreachable!("there is no message {message}"),
        }
    }

    #[inline]
    pub fn ends_of_message(&self, message: MessageId) -> Qp {
        self.ends_of(self.message(message).qp)
    }

    /// The host that sent a packet: the source address of its IP header.
    pub fn source_of(&self, packet: &Packet) -> HostId {
        let ends = self.ends(packet.qp);
        if packet.dst == ends.dst { ends.src } else { ends.dst }
    }

    #[inline]
    pub fn salt(&self, switch: u32) -> u64 {
        self.salts[switch as usize]
    }

    /// Prefetches the entry that [`route`](Self::route) will look up if hosts have one port.
    #[inline]
    pub fn prefetch_route(&self, packet: &Packet) {
        prefetch(&self.attachments[packet.dst.index()]);
    }

    /// The egress port of a packet at the switch with this index. At the ToR of the destination, the port leads to the
    /// destination. Elsewhere ECMP selects one of the shortest paths. None if there is no path.
    #[inline]
    pub fn route(&self, routing: &Routing, switch: u32, packet: &Packet) -> Option<u16> {
        match self.hosts_have_one_port() {
            true => self.route_to(self.attachments[packet.dst.index()], routing, switch, packet),
            false => self.route_in_plane(routing, switch, packet),
        }
    }

    /// The [`route`](Self::route) if hosts have one port. It is short enough to be inlined in the loop over a switch's
    /// arrivals.
    #[inline(always)]
    pub fn route_to_only_port(&self, routing: &Routing, switch: u32, packet: &Packet) -> Option<u16> {
        self.route_to(self.attachments[packet.dst.index()], routing, switch, packet)
    }

    #[inline]
    pub fn hosts_have_one_port(&self) -> bool {
        self.plane_of.is_empty()
    }

    #[inline(never)]
    fn route_in_plane(&self, routing: &Routing, switch: u32, packet: &Packet) -> Option<u16> {
        self.route_to(self.attachment(routing, switch, packet)?, routing, switch, packet)
    }

    #[inline(always)]
    fn route_to(
        &self,
        Attachment { tor, port }: Attachment,
        routing: &Routing,
        switch: u32,
        packet: &Packet,
    ) -> Option<u16> {
        if tor == switch {
            return Some(port);
        }
        self.member(routing.group(switch as usize, tor), switch, packet)
    }

    /// The port of the ECMP `group` by which the switch with this index sends a packet. None if the group is empty.
    #[inline(always)]
    pub fn member(&self, group: &[u16], switch: u32, packet: &Packet) -> Option<u16> {
        match group.len() {
            0 => None,
            1 => Some(group[0]),
            n => Some(group[ecmp_choice(packet, self.salt(switch), n)]),
        }
    }

    /// The port of `group` by which the switch with this index sends a packet. At a ToR, the packet's source route
    /// names the port. At other switches, a hash selects the port.
    pub fn source_routed(&self, group: &[u16], switch: u32, packet: &Packet) -> Option<u16> {
        if self.topology.switches[switch as usize].tier > 1 || group.len() < 2 {
            return self.member(group, switch, packet);
        }
        let path = usize::from(packet.ev / self.topology.host_ports(packet.dst));
        Some(group[path % group.len()])
    }

    /// The destination's ToR to which the switch with this index forwards a packet. None if the switch belongs to no
    /// single plane and no path leads to the destination.
    #[inline]
    pub fn tor_towards(&self, routing: &Routing, switch: u32, packet: &Packet) -> Option<u32> {
        self.attachment(routing, switch, packet).map(|attachment| attachment.tor)
    }

    /// The attachment of a packet's destination to which the switch with this index forwards the packet.
    #[inline]
    pub fn attachment(&self, routing: &Routing, switch: u32, packet: &Packet) -> Option<Attachment> {
        match self.hosts_have_one_port() {
            true => Some(self.attachments[packet.dst.index()]),
            false => self.attachment_in_plane(routing, switch, packet),
        }
    }

    #[inline(never)]
    fn attachment_in_plane(&self, routing: &Routing, switch: u32, packet: &Packet) -> Option<Attachment> {
        match self.plane_of[switch as usize] {
            ANY_PORT => self.nearest_attachment(routing, switch, packet),
            first => Some(self.attachments[(first + packet.dst.0) as usize]),
        }
    }

    /// One of the nearest attachments of a packet's destination. It is selected by a hash that is the same at all
    /// switches.
    #[cold]
    #[inline(never)]
    fn nearest_attachment(&self, routing: &Routing, switch: u32, packet: &Packet) -> Option<Attachment> {
        let nearest = routing.nearest_ports(self.topology, switch, packet.dst, u16::MAX);
        let chosen = match nearest.count_ones() {
            0 => return None,
            1 => 0,
            n => ecmp_choice(packet, self.seed, n as usize),
        };
        let port = (0..u16::BITS as u16).filter(|port| nearest >> port & 1 == 1).nth(chosen)?;
        Some(Attachment::of(self.topology, self.healthy, packet.dst, port))
    }

    pub fn is_attached(&self, host: HostId, switch: u32) -> bool {
        (0..self.topology.host_ports(host)).any(|port| self.healthy.tor_index(host, port) == switch)
    }

    /// The longest time, over all kinds of links, from when a full packet begins its transmission until the next node
    /// acts on it.
    pub fn longest_delay(&self) -> Duration {
        let of = |kind: &LinkKind| kind.hop(Time::ZERO, self.facts.packet.0 as u16).acts.since(Time::ZERO);
        self.link_kinds.iter().map(of).max().unwrap_or(Duration(1))
    }
}

impl Attachment {
    /// The attachment of a host's port. If the host does not have that port, the attachment of its first port.
    fn of(topology: &Topology, routing: &Routing, host: HostId, port: u16) -> Attachment {
        let port = if port < topology.host_ports(host) { port } else { 0 };
        let link = topology.link(host.into(), port);
        Attachment { tor: routing.tor_index(host, port), port: topology.ports[link.index()].peer_port }
    }
}

/// For each switch, the index of the first attachment in its plane. A switch belongs to the plane of a port if it
/// reaches hosts by that port only, and if every host has the port. For other switches, the value is [`ANY_PORT`]. The
/// list is empty if all hosts have one port.
fn planes(topology: &Topology, routing: &Routing) -> Vec<u32> {
    let hosts = || (0..topology.hosts).map(HostId);
    if !topology.has_several_ports() {
        return Vec::new();
    }
    let mut ports_at = vec![0_u16; topology.tors() as usize];
    let mut common = u16::MAX;
    for host in hosts() {
        let ports = topology.host_ports(host);
        (0..ports).for_each(|port| ports_at[routing.tor_index(host, port) as usize] |= 1 << port);
        common &= u16::MAX >> (u16::BITS as u16 - ports);
    }
    let plane = |switch: u32| {
        let leads = |tor: u32| tor == switch || !routing.is_empty(switch as usize, tor);
        let mask = (0..).zip(&ports_at).filter(|(tor, _)| leads(*tor)).fold(0, |mask, (_, at)| mask | at);
        match mask.is_power_of_two() && mask & common != 0 {
            true => mask.trailing_zeros() * topology.hosts,
            false => ANY_PORT,
        }
    };
    (0..topology.switches.len() as u32).map(plane).collect()
}

/// A lower bound of the time from when a node begins to send a frame until another node may act on the frame, over all
/// kinds of links. The bound of a kind is the latency of the link. Without PFC, the latency of the switch after the
/// link is added, which pause frames would skip. If the sum is 0, the bound is the serialisation time of the shortest
/// frame, with clocks that are off by `clock_ppm` parts per million.
fn lookahead(link_kinds: &[LinkKind], scheme: &Scheme, clock_ppm: u32) -> Duration {
    let pauses = scheme.fabric.pfc.is_some();
    let shortest = shortest_frame(scheme);
    let of = |kind: &LinkKind| match if pauses { kind.latency } else { kind.delay } {
        // A fast clock of the sender shortens the serialisation time.
        Duration::ZERO => {
            let nominal = kind.rate.time_for(shortest);
            Duration(nominal.0 - off_by(nominal, clock_ppm).0)
        }
        latency => latency,
    };
    link_kinds.iter().map(of).min().unwrap_or(Duration(1)).max(Duration(1))
}

/// The largest deviation of a duration from `nominal` if clocks are off by `ppm` parts per million.
pub fn off_by(nominal: Duration, ppm: u32) -> Duration {
    Duration(u64::try_from((u128::from(nominal.0) * u128::from(ppm)).div_ceil(1_000_000)).unwrap_or(u64::MAX))
}

/// The size of the shortest frame in bytes: a header without payload, an ACK, another short packet of the transport,
/// or a pause frame. It is 1 with a switch program or a registered transport, which may create frames of their own.
fn shortest_frame(scheme: &Scheme) -> u64 {
    if scheme.fabric.program.is_some() || matches!(scheme.transport, TransportConfig::Registered(_)) {
        return 1;
    }
    let Framing { header, ack, .. } = scheme.transport.framing();
    let least = header.min(ack).min(scheme.transport.shortest_packet());
    least.0.clamp(1, PAUSE_FRAME_BYTES.into())
}

#[inline]
fn ecmp_choice(packet: &Packet, salt: u64, n: usize) -> usize {
    ecmp_member((packet.qp, packet.dst), packet.ev, salt, n)
}

/// The index of the selected port in an ECMP group of `n` ports, for packets of a queue pair to a host. It is a hash of
/// the queue pair, the host, the entropy value `ev` and the switch's salt.
#[inline]
pub fn ecmp_member((qp, dst): (QpId, HostId), ev: u16, salt: u64, n: usize) -> usize {
    // The destination is part of the flow, so that ACKs hash independently of data.
    let flow = (u64::from(qp.0) << 32 | u64::from(dst.0)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut hash = flow ^ salt ^ u64::from(ev).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (((hash >> 32) * n as u64) >> 32) as usize
}

fn slots(workload: &Workload, hosts: u32, split: u32) -> Vec<[u32; 2]> {
    let mut seen = vec![[0u32; 2]; hosts as usize];
    let mut slots = Vec::with_capacity(workload.qps.len() * split as usize);
    for ends in &workload.qps {
        for _ in 0..split {
            let (out, into) = (seen[ends.src.index()][0], seen[ends.dst.index()][1]);
            slots.push([out, into]);
            seen[ends.src.index()][0] += 1;
            seen[ends.dst.index()][1] += 1;
        }
    }
    slots
}
