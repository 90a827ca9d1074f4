use super::*;
use anabranch_base::Stream;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Two ToRs, connected by FIFO paths whose delays change at random.
struct Fabric {
    pair: Pair,
    random: Stream,
    weather: Weather,
    events: BTreeMap<(Time, u64), Event>,
    serial: u64,
    /// For each path, its current delay and the arrival time of its last packet.
    paths: Vec<(Duration, Time)>,
    sent: Vec<u32>,
    lost: u64,
    /// Indexed by queue pair.
    delivered: Vec<Vec<u32>>,
}

#[derive(Clone, Debug)]
struct Weather {
    seed: u64,
    ports: u16,
    qps: u32,
    packets: u32,
    /// The probability with which a data or control packet is lost.
    loss: f64,
    marks: f64,
    /// Probability, for each packet, that the delay of its path changes.
    change: f64,
    flush_extra_us: u64,
}

enum Event {
    Send,
    Arrive(Packet),
    Hear(Packet),
}

impl Fabric {
    fn new(weather: &Weather) -> Self {
        let flush_extra = Span::Time(Duration::from_us(weather.flush_extra_us));
        let config = ConweaveConfig { flush_extra, ..config() };
        let mut fabric = Fabric {
            pair: Pair::new(&config, weather.ports),
            random: stream(weather.seed, 9, Purpose::Model),
            weather: weather.clone(),
            events: BTreeMap::new(),
            serial: 0,
            paths: vec![(Duration::from_us(4), Time::ZERO); usize::from(weather.ports)],
            sent: vec![0; weather.qps as usize],
            lost: 0,
            delivered: vec![Vec::new(); weather.qps as usize],
        };
        fabric.plan(Time::ZERO, Event::Send);
        fabric
    }

    fn plan(&mut self, at: Time, event: Event) {
        self.serial += 1;
        self.events.insert((at, self.serial), event);
    }

    fn happens(&mut self, share: f64) -> bool {
        self.random.unit() < share
    }

    fn us_below(&mut self, bound: u32) -> Duration {
        Duration(u64::from(self.random.below(bound * 1_000)) * 1_000)
    }

    fn run(&mut self) {
        let mut last = Time::ZERO;
        loop {
            let event = self.events.keys().next().map(|key| key.0);
            let timer = self.pair.destination.next_timeout();
            let now = match (event, timer) {
                (None, None) => return,
                (event, timer) => event.unwrap_or(Time::NEVER).min(timer.unwrap_or(Time::NEVER)),
            };
            assert!(now >= last, "a timeout in the past");
            last = now;
            if timer == Some(now) {
                let out = self.take_time_out(now);
                assert!(!out.is_empty(), "a timeout for nothing");
                assert!(
                    self.pair.destination.next_timeout() > timer
                        || self.pair.destination.next_timeout().is_none()
                );
                self.deliver(now, None, out);
            } else if let Some((_, event)) = self.events.pop_first() {
                match event {
                    Event::Send => self.send(now),
                    Event::Arrive(packet) => self.arrive(now, packet),
                    Event::Hear(packet) => self.pair.hear(now, &[packet]),
                }
            }
        }
    }

    fn take_time_out(&mut self, now: Time) -> Vec<Emitted> {
        let mut out = Vec::new();
        self.pair.destination.handle_timeout(now, &mut out);
        out
    }

    fn send(&mut self, now: Time) {
        let qp = self.random.below(self.weather.qps);
        let psn = self.sent[qp as usize];
        self.sent[qp as usize] += 1;
        let (mut packet, port) = self.pair.send_on(qp, now, psn);
        packet.marked = self.happens(self.weather.marks);
        let changes = self.happens(self.weather.change);
        let delay = self.us_below(120);
        let path = &mut self.paths[usize::from(port)];
        if changes {
            path.0 = Duration::from_us(3) + delay;
        }
        path.1 = path.1.max(now + path.0) + Duration(100);
        let arrival = path.1;
        match self.happens(self.weather.loss) {
            true => self.lost += 1,
            false => self.plan(arrival, Event::Arrive(packet)),
        }
        if self.sent.iter().sum::<u32>() < self.weather.packets {
            let gap = match self.happens(0.003) {
                true => self.us_below(700),
                false => self.us_below(2),
            };
            self.plan(now + gap, Event::Send);
        }
    }

    fn arrive(&mut self, now: Time, mut packet: Packet) {
        let mut out = Vec::new();
        let at = passage(now, SENDER, false, true, 1);
        let forwarded = match self.pair.destination.ingress(&mut packet, &at, &mut out) {
            Verdict::Forward => Some(packet),
            Verdict::Hold => None,
            verdict => panic!("{verdict:?}"),
        };
        self.deliver(now, forwarded, out);
    }

    fn deliver(&mut self, now: Time, forwarded: Option<Packet>, out: Vec<Emitted>) {
        for packet in forwarded.into_iter().chain(out.iter().map(|emitted| emitted.packet)) {
            if matches!(packet.repr, Repr::Data { .. }) {
                self.delivered[packet.qp.index()].push(psn(&packet));
            } else if !self.happens(self.weather.loss) {
                let at = now + Duration::from_us(2) + self.us_below(4);
                self.plan(at, Event::Hear(packet));
            }
        }
        sort(forwarded, out);
    }

    fn in_order(&self) -> bool {
        self.delivered.iter().all(|psns| psns.is_sorted())
    }

    fn check(&self) {
        let mut arrived = 0;
        for (psns, &sent) in self.delivered.iter().zip(&self.sent) {
            let mut sorted = psns.clone();
            sorted.sort_unstable();
            assert!(sorted.windows(2).all(|pair| pair[0] < pair[1]), "twice");
            assert!(sorted.last().is_none_or(|&last| last < sent));
            arrived += psns.len() as u64;
        }
        let sent: u32 = self.sent.iter().sum();
        assert_eq!(arrived + self.lost, u64::from(sent), "every packet comes out");
        let timeouts = self.pair.received("flushed_by_timeout");
        assert!(self.in_order() || timeouts > 0, "out of order without a timeout: {:?}", self.delivered);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Each packet that is not lost on the way comes out exactly once, and no packet is held for ever. The packets
    /// of a queue pair come out in the order of sending unless a timeout releases packets early.
    #[test]
    fn order_is_kept_and_every_packet_comes_out(
        seed in any::<u64>(),
        ports in 2u16..5,
        qps in 1u32..4,
        packets in 1u32..1_500,
        loss in prop_oneof![Just(0.0), 0.0f64..0.1],
        marks in prop_oneof![Just(0.0), 0.0f64..0.3],
        change in 0.0f64..0.02,
        flush_extra_us in prop_oneof![Just(16u64), Just(150)],
    ) {
        let mut fabric =
            Fabric::new(&Weather { seed, ports, qps, packets, loss, marks, change, flush_extra_us });
        fabric.run();
        fabric.check();
    }
}

/// The property above is not vacuous: packets do overtake each other, and in most runs no timeout is needed.
#[test]
fn order_is_at_stake_and_kept() {
    let (mut held, mut without_timeout, mut reroutes) = (0, 0, 0);
    for seed in 0..40 {
        let (ports, qps, packets, loss, marks, change, flush_extra_us) = (4, 2, 1_500, 0.0, 0.05, 0.005, 150);
        let weather = Weather { seed, ports, qps, packets, loss, marks, change, flush_extra_us };
        let mut fabric = Fabric::new(&weather);
        fabric.run();
        fabric.check();
        held += fabric.pair.received("held_packets");
        reroutes += fabric.pair.sent("reroutes");
        without_timeout += u32::from(fabric.in_order() && fabric.pair.received("flushed_by_timeout") == 0);
    }
    assert!(reroutes > 400 && held > 2_000 && without_timeout > 20, "{reroutes} {held} {without_timeout}");
}
