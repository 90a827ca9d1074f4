//! Two ToRs with Themis between two commodity NICs, and the paths between the ToRs.
//!
//! Data goes from the sender's wire to its ToR, and then along one of the paths. Each path keeps the order and may lose
//! packets. From the receiver's ToR, data goes through a queue to the receiver. This last hop loses only packets that a
//! plan names. Answers take a return path that may reorder and lose packets.

use crate::themis_spraying::tor::{QP, RECEIVER, SENDER, counter, facts};
use anabranch_base::{Bytes, Duration, Purpose, Stream, Time, stream};
use anabranch_proto::cc::CcConfig;
use anabranch_proto::cc::ConstantConfig;
use anabranch_proto::lb::{Environment, LbConfig};
use anabranch_proto::program::{
    Emitted, Held, Passage, Program, ThemisSpraying, ThemisSprayingConfig, Verdict,
};
use anabranch_proto::transport::{AnyReceiver, AnySender, Ends, RnicSrConfig, TransportConfig};
use anabranch_proto::{Packet, Repr, Size, Span};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::ops::Range;

/// The serialisation time of a packet.
pub const WIRE: Duration = Duration(100_000);
/// The delay between a NIC and its ToR, in either direction.
const HOP: Duration = Duration(500_000);
pub const RTO: Duration = Duration::from_us(4000);
const PAYLOAD: u64 = 1000;
/// The outage of a path that is never down.
pub const UP: Range<Time> = Time::NEVER..Time::NEVER;

#[derive(Clone, Debug)]
pub struct Plan {
    /// Number of packets of each message. All messages are posted at the start.
    pub messages: Vec<u32>,
    /// The window of the NIC in packets, for which the program's bitmap is built.
    pub window: u32,
    pub ack_every: u32,
    pub program: ThemisSprayingConfig,
    pub paths: Vec<Path>,
    /// The largest additional delay of the return path, beyond 1 us.
    pub control_jitter: Duration,
    /// Probability, in units of 1/256, that the return path loses a packet.
    pub control_loss: u32,
    /// Copies of packets that are lost on their paths, given by the PSN and the number of the copy, from 0.
    pub dropped: Vec<(u32, u32)>,
    /// Copies that are lost between the receiver's ToR and the receiver.
    pub dropped_at_last_hop: Vec<(u32, u32)>,
    pub seed: u64,
}

/// A path between the ToRs, which keeps the order of packets.
#[derive(Clone, Debug)]
pub struct Path {
    pub delay: Duration,
    /// The largest additional delay of a packet.
    pub jitter: Duration,
    /// Probability, in units of 1/256, that the path loses a packet.
    pub loss: u32,
    /// The time during which packets that enter the path are lost.
    pub down: Range<Time>,
}

#[derive(Debug)]
pub struct Outcome {
    pub timeouts: Vec<Timeout>,
    pub retransmissions: u64,
    /// Number of NACKs that the sender received.
    pub nacks_heard: u64,
    /// The PSNs of the NACKs that the receiver's ToR sent towards the sender, each with the number of copies of the
    /// packet that paths had lost by then.
    pub nacks_forwarded: Vec<(u32, u32)>,
    /// Number of copies lost on paths, by PSN.
    pub lost: BTreeMap<u32, u32>,
    /// The messages in the order of delivery.
    pub delivered: Vec<u32>,
    /// The messages in the order of acknowledgement.
    pub acknowledged: Vec<u32>,
    counters: Vec<(&'static str, u64)>,
}

/// The state of the first missing packet when the sender's timeout occurred.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timeout {
    /// The receiver's ePSN.
    pub psn: u32,
    /// Number of copies of that packet that the paths have lost.
    pub lost: u32,
    /// Whether the receiver has sent a NACK for the packet, because a packet with a higher PSN arrived while this
    /// packet was expected.
    pub asked: bool,
    /// Whether a later packet of the same path has passed the receiver's ToR.
    pub passed: bool,
}

impl Outcome {
    /// The sum of a counter over both ToRs.
    pub fn counter(&self, name: &str) -> u64 {
        self.counters.iter().filter(|counter| counter.0 == name).map(|counter| counter.1).sum()
    }
}

#[derive(Clone, Copy)]
enum Event {
    SenderWireIsFree,
    Timer,
    AtSourceTor(Packet),
    AtDestinationTor(Packet),
    LeavesForReceiver(Packet),
    AtReceiver(Packet),
    ControlAtDestinationTor(Packet),
    ControlAtSourceTor(Packet),
    AtSender(Packet),
}

struct Fabric<'a> {
    plan: &'a Plan,
    now: Time,
    queue: BinaryHeap<Reverse<(Time, usize)>>,
    events: Vec<Event>,
    sender: AnySender,
    receiver: AnyReceiver,
    source: ThemisSpraying,
    destination: ThemisSpraying,
    wire_is_busy: bool,
    timer: Option<Time>,
    /// The arrival time of the last packet of each path.
    last_arrival: Vec<Time>,
    /// The departure time of the last packet that joined the receiver's queue.
    last_departure: Time,
    random: Stream,
    copies: BTreeMap<u32, u32>,
    copies_at_last_hop: BTreeMap<u32, u32>,
    /// The PSNs that have arrived out of order. All of them are above the ePSN.
    arrived: BTreeSet<u32>,
    expected: u32,
    asked: BTreeSet<u32>,
    /// The highest PSN that has passed the receiver's ToR, by PSN modulo the number of paths.
    highest: BTreeMap<u32, u32>,
    outcome: Outcome,
}

pub fn run(plan: &Plan) -> Outcome {
    let mut fabric = Fabric::new(plan);
    fabric.serve_sender();
    while let Some(Reverse((time, event))) = fabric.queue.pop() {
        assert!(fabric.events.len() < 4_000_000, "it never ends");
        fabric.now = time;
        fabric.handle(fabric.events[event]);
        fabric.serve_sender();
    }
    fabric.outcome()
}

impl<'a> Fabric<'a> {
    fn new(plan: &'a Plan) -> Self {
        let facts = facts(plan.paths.len() as u32);
        let transport = TransportConfig::RnicSr(RnicSrConfig {
            payload: Bytes(PAYLOAD),
            header: Bytes(64),
            ack: Bytes(64),
            ack_every: plan.ack_every,
            window_packets: plan.window,
            cnp_interval: Span::Time(Duration::from_us(50)),
            rto: Span::Time(RTO),
            hears_nacks: true,
            retransmission_block: Span::Time(Duration::ZERO),
        });
        let environment = Environment { facts: facts.path, rto: RTO, trimming: false };
        let cc = CcConfig::Constant(ConstantConfig { window: Size::Packets(100_000.0) }).build(&facts.path);
        let lb = LbConfig::Ecmp {}.build(&environment, stream(plan.seed, 0, Purpose::LoadBalancer));
        let ends = Ends { qp: QP, src: SENDER, dst: RECEIVER };
        let mut sender = transport.build_sender(ends, &facts.path, cc, lb);
        let receiver = transport.build_receiver(ends, &facts.path);
        for (id, &packets) in plan.messages.iter().enumerate() {
            let bytes = u64::from(packets) * PAYLOAD;
            sender.post(anabranch_base::MessageId(id as u32), bytes).expect("there are PSNs enough");
        }
        let program = ThemisSprayingConfig { window: plan.window, ..plan.program.clone() };
        let build = |tor| ThemisSpraying::new(&program, &facts, stream(plan.seed, tor, Purpose::Model));
        Fabric {
            plan,
            now: Time::ZERO,
            queue: BinaryHeap::new(),
            events: Vec::new(),
            sender,
            receiver,
            source: build(1),
            destination: build(2),
            wire_is_busy: false,
            timer: None,
            last_arrival: vec![Time::ZERO; plan.paths.len()],
            last_departure: Time::ZERO,
            random: stream(plan.seed, 3, Purpose::LinkLoss),
            copies: BTreeMap::new(),
            copies_at_last_hop: BTreeMap::new(),
            arrived: BTreeSet::new(),
            expected: 0,
            asked: BTreeSet::new(),
            highest: BTreeMap::new(),
            outcome: Outcome {
                timeouts: Vec::new(),
                retransmissions: 0,
                nacks_heard: 0,
                nacks_forwarded: Vec::new(),
                lost: BTreeMap::new(),
                delivered: Vec::new(),
                acknowledged: Vec::new(),
                counters: Vec::new(),
            },
        }
    }

    fn at(&mut self, time: Time, event: Event) {
        self.queue.push(Reverse((time, self.events.len())));
        self.events.push(event);
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::SenderWireIsFree => self.wire_is_busy = false,
            Event::Timer => self.handle_timer(),
            Event::AtSourceTor(packet) => self.spray(packet),
            Event::AtDestinationTor(packet) => self.queue_up(packet),
            Event::LeavesForReceiver(packet) => self.leave(packet),
            Event::AtReceiver(packet) => self.receive(packet),
            Event::ControlAtDestinationTor(packet) => self.send_back(packet),
            Event::ControlAtSourceTor(packet) => self.hand_to_sender(packet),
            Event::AtSender(packet) => {
                assert_eq!(packet.tag, 0, "a host sees what ToRs say to each other: {packet:?}");
                self.sender.handle_packet(self.now, &packet);
            }
        }
    }

    fn serve_sender(&mut self) {
        while let Some(message) = self.sender.poll_acknowledged() {
            self.outcome.acknowledged.push(message.0);
        }
        if !self.wire_is_busy
            && let Some(packet) = self.sender.poll_transmit(self.now)
        {
            self.wire_is_busy = true;
            self.at(self.now + WIRE, Event::SenderWireIsFree);
            self.at(self.now + WIRE + HOP, Event::AtSourceTor(packet));
        }
        if let Some(due) = self.sender.next_timeout()
            && self.timer.is_none_or(|set| due < set)
        {
            self.timer = Some(due);
            self.at(due, Event::Timer);
        }
    }

    fn handle_timer(&mut self) {
        if self.timer != Some(self.now) {
            return;
        }
        self.timer = None;
        let before = self.sender.counters().timeouts;
        self.sender.handle_timeout(self.now);
        if self.sender.counters().timeouts > before {
            let (psn, paths) = (self.expected, self.plan.paths.len() as u32);
            self.outcome.timeouts.push(Timeout {
                psn,
                lost: self.outcome.lost.get(&psn).copied().unwrap_or(0),
                asked: self.asked.contains(&psn),
                passed: self.highest.get(&(psn % paths)).is_some_and(|&highest| highest > psn),
            });
        }
    }

    fn spray(&mut self, mut packet: Packet) {
        let mut out = Vec::new();
        let at = self.passage(SENDER, true, false);
        let Verdict::Port(port) = self.source.ingress(&mut packet, &at, &mut out) else {
            panic!("{packet:?} is not sprayed");
        };
        let at = self.passage(SENDER, false, false);
        self.source.egress(&mut packet, &at, &mut out);
        assert_eq!(out, [], "Themis-S sends nothing of its own");
        let index = usize::from(port) % self.plan.paths.len();
        let path = &self.plan.paths[index];
        let is_lost = self.random.below(256) < path.loss;
        let late = jitter(&mut self.random, path.jitter);
        let psn = psn_of(&packet);
        let is_dropped = self.plan.dropped.contains(&(psn, count(&mut self.copies, psn)));
        if is_lost || is_dropped || path.down.contains(&self.now) {
            count(&mut self.outcome.lost, psn);
            return;
        }
        let arrival = (self.now + path.delay + late).max(self.last_arrival[index]);
        self.last_arrival[index] = arrival;
        self.at(arrival, Event::AtDestinationTor(packet));
    }

    fn queue_up(&mut self, mut packet: Packet) {
        let mut out = Vec::new();
        let at = self.passage(SENDER, false, true);
        let verdict = self.destination.ingress(&mut packet, &at, &mut out);
        assert_eq!((verdict, out), (Verdict::Forward, Vec::new()));
        self.last_departure = (self.last_departure + WIRE).max(self.now);
        self.at(self.last_departure, Event::LeavesForReceiver(packet));
    }

    fn leave(&mut self, mut packet: Packet) {
        let (mut out, psn) = (Vec::new(), psn_of(&packet));
        let at = self.passage(SENDER, false, true);
        self.destination.egress(&mut packet, &at, &mut out);
        let highest = self.highest.entry(psn % self.plan.paths.len() as u32).or_default();
        *highest = psn.max(*highest);
        for Emitted { packet, held } in out {
            assert_eq!(held, Held::Never);
            self.carry_back(packet);
        }
        let copy = (psn, count(&mut self.copies_at_last_hop, psn));
        if !self.plan.dropped_at_last_hop.contains(&copy) {
            self.at(self.now + WIRE + HOP, Event::AtReceiver(packet));
        }
    }

    fn receive(&mut self, packet: Packet) {
        assert_eq!(packet.tag, 0, "a host sees what ToRs say to each other: {packet:?}");
        let psn = psn_of(&packet);
        if psn > self.expected {
            self.asked.insert(self.expected);
        }
        if psn >= self.expected {
            self.arrived.insert(psn);
            while self.arrived.remove(&self.expected) {
                self.expected += 1;
            }
        }
        let mut delivered = self.receiver.handle_packet(self.now, &packet);
        while let Some(message) = delivered {
            self.outcome.delivered.push(message.0);
            delivered = self.receiver.poll_delivered();
        }
        while let Some(answer) = self.receiver.poll_transmit() {
            self.at(self.now + HOP, Event::ControlAtDestinationTor(answer));
        }
    }

    fn send_back(&mut self, mut packet: Packet) {
        let mut out = Vec::new();
        let at = self.passage(RECEIVER, true, false);
        let verdict = self.destination.ingress(&mut packet, &at, &mut out);
        assert_eq!(out, [], "nothing is sent at ingress");
        match verdict {
            Verdict::Forward => self.carry_back(packet),
            Verdict::Drop => assert!(matches!(packet.repr, Repr::Nack { .. }), "{packet:?} is dropped"),
            Verdict::Port(_) | Verdict::Hold | Verdict::HoldOutside => panic!("{verdict:?} for {packet:?}"),
        }
    }

    fn carry_back(&mut self, packet: Packet) {
        if let Repr::Nack { psn, .. } = packet.repr {
            let lost = self.outcome.lost.get(&psn).copied().unwrap_or(0);
            self.outcome.nacks_forwarded.push((psn, lost));
        }
        let is_lost = self.random.below(256) < self.plan.control_loss;
        let late = jitter(&mut self.random, self.plan.control_jitter);
        if !is_lost {
            self.at(self.now + Duration::from_us(1) + late, Event::ControlAtSourceTor(packet));
        }
    }

    fn hand_to_sender(&mut self, mut packet: Packet) {
        let mut out = Vec::new();
        let at = self.passage(RECEIVER, false, true);
        let verdict = self.source.ingress(&mut packet, &at, &mut out);
        self.source.egress(&mut packet, &at, &mut out);
        assert_eq!((verdict, out), (Verdict::Forward, Vec::new()));
        self.at(self.now + HOP, Event::AtSender(packet));
    }

    fn passage(&self, src: anabranch_base::HostId, from_host: bool, to_host: bool) -> Passage {
        let ports = if to_host { 1 } else { self.plan.paths.len() as u16 };
        Passage { now: self.now, src, port: 0, from_host, to_host, ports, queued: 0 }
    }

    fn outcome(mut self) -> Outcome {
        let names = self.source.counters().into_iter().map(|counter| counter.name);
        let total = |name| counter(&self.source, name) + counter(&self.destination, name);
        self.outcome.counters = names.map(|name| (name, total(name))).collect();
        let counters = self.sender.counters();
        assert_eq!(counters.timeouts, self.outcome.timeouts.len() as u64);
        (self.outcome.retransmissions, self.outcome.nacks_heard) = (counters.retransmissions, counters.nacks);
        self.outcome
    }
}

fn psn_of(packet: &Packet) -> u32 {
    match packet.repr {
        Repr::Data { psn, .. } => psn,
        _ => panic!("{packet:?} carries no data"),
    }
}

/// Counts `psn`, and returns its earlier count.
fn count(counts: &mut BTreeMap<u32, u32>, psn: u32) -> u32 {
    let count = counts.entry(psn).or_default();
    *count += 1;
    *count - 1
}

fn jitter(random: &mut Stream, up_to: Duration) -> Duration {
    Duration(((u128::from(random.next_u64()) * u128::from(up_to.0)) >> 64) as u64)
}
