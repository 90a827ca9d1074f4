//! Senders in one data centre, receivers in another, and between them the external switch of the receivers' data
//! centre.

use super::model::Model;
use super::*;
use anabranch_base::{Purpose, Stream, stream};
use anabranch_proto::cc::AnyCc;
use anabranch_proto::lb::AnyLb;
use anabranch_proto::transport::{
    AnyReceiver, AnySender, Ends, GoBackNConfig, IrnConfig, SenderCounters, TransportConfig,
};
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
pub struct Plan {
    /// Whether the transport is `go-back-n`. Otherwise it is `irn`.
    pub go_back_n: bool,
    /// For each queue pair, the number of its receiver, and the bytes of each message.
    pub qps: Vec<(u32, Vec<u64>)>,
    /// Window of a sender in packets.
    pub sender_window: u64,
    pub ack_every: u32,
    pub rto: Duration,
    /// Window of the switch in bytes.
    pub window: u64,
    pub release: Duration,
    /// Probability that a packet is lost, for each of four paths: the long link to the switch and the long link back,
    /// then the downlink from the switch to the receivers and the uplink back.
    pub losses: [f64; 4],
    /// The largest random delay of a packet in ns, for each of the paths of `losses`. The packets of a queue pair keep
    /// their order.
    pub lateness: [u32; 4],
    pub seed: u64,
}

#[derive(Debug)]
pub struct Outcome {
    /// For each queue pair, its messages in the order of delivery.
    pub delivered: Vec<Vec<u32>>,
    /// For each queue pair, its messages in the order of acknowledgement.
    pub acknowledged: Vec<Vec<u32>>,
    pub finished: Time,
    pub senders: SenderCounters,
    pub counters: BTreeMap<&'static str, u64>,
}

/// The least delay of each of the four paths of [`Plan::losses`].
const WAYS: [Duration; 4] =
    [Duration::from_us(20), Duration::from_us(20), Duration::from_us(2), Duration::from_us(2)];
const LONG_LINE: usize = 0;
const LONG_LINE_BACK: usize = 1;
const DOWN: usize = 2;
const UP: usize = 3;
/// The least time between two packets of a queue pair.
const WIRE: Duration = Duration::from_ns(84);
const MANY_EVENTS: u32 = 3_000_000;

enum Event {
    Poll(usize),
    /// A packet, with the host that sent it.
    AtSwitch(Packet, HostId),
    AtReceiver(Packet),
    AtSender(Packet),
}

pub struct Fabric {
    plan: Plan,
    esw: Esw,
    model: Model,
    ends: Vec<(AnySender, AnyReceiver)>,
    /// For each queue pair, whether a `Poll` is planned.
    polls: Vec<bool>,
    /// For each queue pair, the arrival time of its last packet on each path.
    last: Vec<[Time; 4]>,
    events: BTreeMap<(Time, u64), Event>,
    serial: u64,
    random: Stream,
    now: Time,
    delivered: Vec<Vec<u32>>,
    acknowledged: Vec<Vec<u32>>,
}

pub fn run(plan: &Plan) -> Outcome {
    let mut fabric = Fabric::new(plan);
    fabric.run();
    fabric.outcome()
}

impl Fabric {
    fn new(plan: &Plan) -> Self {
        let bicc = of_bytes(plan.window, plan.release);
        let qps = plan.qps.len();
        let mut fabric = Fabric {
            esw: Esw::new(&bicc),
            model: Model::new(plan.window, plan.release),
            ends: (0..qps as u32).map(|qp| plan.ends(qp)).collect(),
            polls: vec![false; qps],
            last: vec![[Time::ZERO; 4]; qps],
            events: BTreeMap::new(),
            serial: 0,
            random: stream(plan.seed, 0, Purpose::Model),
            now: Time::ZERO,
            delivered: vec![Vec::new(); qps],
            acknowledged: vec![Vec::new(); qps],
            plan: plan.clone(),
        };
        for (qp, (_, messages)) in plan.qps.iter().enumerate() {
            for (id, bytes) in messages.iter().enumerate() {
                fabric.ends[qp].0.post(MessageId(id as u32), *bytes).expect("few packets");
            }
            fabric.wake(qp);
        }
        fabric
    }

    fn run(&mut self) {
        for _ in 0..MANY_EVENTS {
            let event = self.events.keys().next().map(|key| key.0);
            let esw = self.esw.program.next_timeout();
            let senders = self.ends.iter_mut().filter_map(|(sender, _)| sender.next_timeout()).min();
            let Some(now) = [event, esw, senders].into_iter().flatten().min() else { return };
            assert!(now >= self.now, "time runs backwards");
            self.now = now;
            self.esw.now = now;
            if esw == Some(now) {
                let (passed, expected) = (self.esw.time_out(), self.model.time_out(now));
                self.go_on(passed, &expected);
            } else if senders == Some(now) {
                for qp in 0..self.ends.len() {
                    if self.ends[qp].0.next_timeout() == Some(now) {
                        self.ends[qp].0.handle_timeout(now);
                        self.wake(qp);
                    }
                }
            } else if let Some((_, event)) = self.events.pop_first() {
                self.handle(event);
            }
        }
        panic!("no end after {} us: {:?}", self.now.as_us(), self.esw.program.counters());
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Poll(qp) => {
                self.polls[qp] = false;
                if let Some(packet) = self.ends[qp].0.poll_transmit(self.now) {
                    self.travel(LONG_LINE, packet, Event::AtSwitch(packet, SENDER));
                    self.polls[qp] = true;
                    self.plan_at(self.now + WIRE, Event::Poll(qp));
                }
            }
            Event::AtSwitch(packet, src) => {
                let (passed, expected) =
                    (self.esw.pass(packet, src), self.model.pass(self.now, &packet, src));
                self.go_on(passed, &expected);
            }
            Event::AtReceiver(packet) => {
                let qp = packet.qp.index();
                let receiver = &mut self.ends[qp].1;
                let mut delivered = receiver.handle_packet(self.now, &packet);
                while let Some(message) = delivered {
                    self.delivered[qp].push(message.0);
                    delivered = receiver.poll_delivered();
                }
                while let Some(answer) = self.ends[qp].1.poll_transmit() {
                    self.travel(UP, answer, Event::AtSwitch(answer, packet.dst));
                }
            }
            Event::AtSender(packet) => {
                let qp = packet.qp.index();
                self.ends[qp].0.handle_packet(self.now, &packet);
                while let Some(message) = self.ends[qp].0.poll_acknowledged() {
                    self.acknowledged[qp].push(message.0);
                }
                self.wake(qp);
            }
        }
    }

    /// Sends the packets that left the switch to their destinations. The data packets among them must equal `expected`.
    fn go_on(&mut self, passed: Vec<Packet>, expected: &[Sent]) {
        let data = passed.iter().filter(|packet| matches!(packet.repr, Repr::Data { .. }));
        let mut data: Vec<Sent> = data.map(|packet| (packet.qp.0, psn(packet))).collect();
        // If packets to several hosts are due at the same time, the order of the hosts does not matter.
        let mut expected = expected.to_vec();
        for passed in [&mut data, &mut expected] {
            passed.sort_by_key(|(qp, _)| self.plan.qps[*qp as usize].0);
        }
        assert_eq!(data, expected, "at {} us", self.now.as_us());
        assert_eq!(self.esw.program.next_timeout(), self.model.next_timeout(), "at {} us", self.now.as_us());
        assert_eq!(self.esw.kept.len(), self.model.waiting());
        for packet in passed {
            match packet.repr {
                Repr::Data { .. } => self.travel(DOWN, packet, Event::AtReceiver(packet)),
                _ => self.travel(LONG_LINE_BACK, packet, Event::AtSender(packet)),
            }
        }
    }

    fn travel(&mut self, way: usize, packet: Packet, arrival: Event) {
        let late = Duration::from_ns(self.random.below(self.plan.lateness[way] + 1).into());
        let lost = self.random.unit() < self.plan.losses[way];
        let last = &mut self.last[packet.qp.index()][way];
        *last = (*last + Duration(1)).max(self.now + WAYS[way] + late);
        let at = *last;
        if !lost {
            self.plan_at(at, arrival);
        }
    }

    fn wake(&mut self, qp: usize) {
        if !self.polls[qp] {
            self.polls[qp] = true;
            self.plan_at(self.now, Event::Poll(qp));
        }
    }

    fn plan_at(&mut self, at: Time, event: Event) {
        self.serial += 1;
        self.events.insert((at, self.serial), event);
    }

    fn outcome(mut self) -> Outcome {
        let mut senders = SenderCounters::default();
        for (sender, _) in &mut self.ends {
            senders.retransmissions += sender.counters().retransmissions;
            senders.timeouts += sender.counters().timeouts;
        }
        let counters = self.esw.program.counters();
        let counters: BTreeMap<_, _> = counters.iter().map(|counter| (counter.name, counter.value)).collect();
        assert_eq!(counters["given_up_packets"], self.model.given_up);
        assert_eq!(counters["expired_packets"], self.model.expired);
        assert_eq!(self.esw.kept, [], "kept for ever");
        Outcome {
            delivered: self.delivered,
            acknowledged: self.acknowledged,
            finished: self.now,
            senders,
            counters,
        }
    }
}

impl Plan {
    /// All senders are on one host.
    fn ends(&self, qp: u32) -> (AnySender, AnyReceiver) {
        let dst = HostId(FIRST_OWN + self.qps[qp as usize].0);
        let (payload, header, ack) = (Bytes(1_000), Bytes(48), Bytes(60));
        let window = Size::Bytes(Bytes(self.sender_window * u64::from(PACKET)));
        let (rto, ack_every) = (Span::Time(self.rto), self.ack_every);
        let cnp_interval = Span::Time(Duration::from_us(5));
        let transport = if self.go_back_n {
            let nack_interval = Span::Time(Duration::from_us(500));
            TransportConfig::GoBackN(GoBackNConfig {
                payload,
                header,
                ack,
                ack_every,
                nack_interval,
                cnp_interval,
                trailing_cnp: false,
                rto,
            })
        } else {
            TransportConfig::Irn(IrnConfig {
                payload,
                header,
                ack,
                ack_every,
                window,
                rto_low: rto,
                rto,
                rto_low_packets: 3,
                timeout_takes_all: true,
                sack_takes_all: false,
                cnp_interval,
            })
        };
        let cc = AnyCc::constant(self.sender_window * u64::from(PACKET));
        let (ends, facts) = (Ends { qp: QpId(qp), src: SENDER, dst }, facts().path);
        let sender = transport.build_sender(ends, &facts, cc, AnyLb::ecmp(0));
        (sender, transport.build_receiver(ends, &facts))
    }
}
