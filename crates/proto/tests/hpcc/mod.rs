//! HPCC with fixed scripts of telemetry, compared with values that were computed by hand from Algorithm 1.

use crate::support::loss;
use crate::support::{facts, us};
use anabranch_base::{Duration, LinkId, Rate, Time};
use anabranch_proto::cc::ConstantConfig;
use anabranch_proto::cc::{AnyCc, BaseRtt, CcConfig, Hpcc, HpccConfig, TelemetryReport};
use anabranch_proto::{IntHop, IntStack, Pace, PathFacts, Span};

mod sender;

/// A path of 100 Gb/s and 8 us, on which 100,000 B are in flight at line rate.
const FACTS: PathFacts = facts(1_090);

/// W_AI is 40 Mb/s times 8 us, which is 40 B.
fn config(max_stage: u32) -> HpccConfig {
    HpccConfig {
        eta: 0.95,
        max_stage,
        rate_ai: Pace::Rate(Rate(40_000_000)),
        base_rtt: BaseRtt::Fabric(Span::Rtt(1.0)),
    }
}

#[derive(Clone, Copy)]
struct Port {
    link: LinkId,
    gbps: u64,
    at: Time,
    tx_bytes: u64,
    queue: u32,
}

impl Port {
    fn new(link: u32, gbps: u64) -> Self {
        Port { link: LinkId(link), gbps, at: us(10), tx_bytes: 7_000_000, queue: 0 }
    }

    /// Advances the port by `after` microseconds, in which it sends `sent` bytes. Its queue then has `queue` bytes.
    fn later(&mut self, after: u64, sent: u64, queue: u32) {
        self.at += Duration::from_us(after);
        self.tx_bytes += sent;
        self.queue = queue;
    }
}

fn stack(ports: &[Port]) -> IntStack {
    let mut stack = IntStack::EMPTY;
    for port in ports {
        let Port { link, gbps, at, tx_bytes, queue } = *port;
        stack.push(link, IntHop { queue_bytes: queue, tx_bytes, at, rate: Rate::from_gbps(gbps) });
    }
    stack
}

struct Flow(Hpcc);

impl Flow {
    fn new(config: &HpccConfig) -> Self {
        Flow(Hpcc::new(config, &FACTS))
    }

    fn with<T>(&mut self, call: impl FnOnce(&mut AnyCc) -> T) -> T {
        let mut cc = AnyCc::Hpcc(Box::new(self.0.clone()));
        let answer = call(&mut cc);
        let AnyCc::Hpcc(hpcc) = cc else { unreachable!("it was put there") };
        self.0 = *hpcc;
        answer
    }

    fn report(&mut self, ports: &[Port], acked: u32, next: u32) {
        let stack = stack(ports);
        self.with(|cc| cc.handle_telemetry(&TelemetryReport { stack: &stack, acked, next }));
    }

    fn window(&mut self) -> u64 {
        self.with(|cc| cc.window())
    }

    fn rate(&mut self) -> Rate {
        self.with(|cc| cc.rate(us(0))).expect("HPCC paces")
    }
}

#[track_caller]
fn assert_close(is: f64, wanted: f64, what: &str) {
    assert!((is - wanted).abs() <= 1e-9 * wanted.abs(), "{what} is {is}, not {wanted}");
}

#[track_caller]
fn assert_state(flow: &mut Flow, (u, window, reference, stage): (f64, f64, f64, u32)) {
    assert_close(flow.0.utilisation(), u, "U");
    assert_close(flow.0.reference(), reference, "Wc");
    assert_eq!(flow.window(), window as u64, "W");
    // 8 bits in 8 us are a million bits per second.
    assert!(flow.rate().0.abs_diff((window * 1e6) as u64) <= 1, "R is {}", flow.rate());
    assert_eq!(flow.0.inc_stage(), stage, "incStage");
}

#[test]
fn a_flow_starts_at_line_rate_and_needs_two_reports() {
    let mut flow = Flow::new(&config(5));
    let start = (1.0, 100_000.0, 100_000.0, 0);
    assert_state(&mut flow, start);
    let mut port = Port::new(0, 100);
    flow.report(&[port], 1, 100);
    assert_state(&mut flow, start);
    port.later(4, 50_000, 0);
    flow.report(&[port], 2, 101);
    assert_state(&mut flow, (1.0, 95_040.0, 100_000.0, 0));
}

/// One link of 100 Gb/s. The share u of the link is (bytes sent) / (line rate * time) + (the shorter queue of the last
/// two reports) / 100,000 B. The weight of u is min(time / 8 us, 1).
#[test]
fn steps_of_the_algorithm() {
    let mut flow = Flow::new(&config(2));
    let mut port = Port::new(0, 100);
    flow.report(&[port], 1, 100);
    // Each step has two parts. The first gives the time since the last report, the bytes sent, the queue, the
    // acknowledged PSN, and the next PSN. The second gives the expected U, W, Wc and incStage.
    let steps = [
        // A round trip is over, since PSN 100 is acknowledged. u = 1, so W = 100,000 * 0.95 + 40.
        ((4, 50_000, 0, 101, 200), (1.0, 95_040.0, 95_040.0, 0)),
        // The round trip is not over, so W follows from the unchanged reference: 95,040 * 0.95 + 40. A queue that has
        // just built up does not count.
        ((4, 50_000, 40_000, 150, 210), (1.0, 90_328.0, 95_040.0, 0)),
        // u = 1 + 0.3 has a weight of a quarter: U = 0.75 * 1 + 0.25 * 1.3. W is computed from the reference again:
        // 95,040 * 0.95 / 1.075 + 40.
        ((2, 25_000, 30_000, 200, 220), (1.075, 90_288.0 / 1.075 + 40.0, 95_040.0, 0)),
        // u = 0.6 for a whole base RTT. This is below eta, so that W grows only by 40 B.
        ((8, 60_000, 0, 201, 300), (0.6, 95_080.0, 95_080.0, 1)),
        // A time longer than a base RTT has the weight of one base RTT.
        ((16, 100_000, 0, 250, 310), (0.5, 95_120.0, 95_080.0, 1)),
        ((8, 50_000, 0, 301, 400), (0.5, 95_120.0, 95_120.0, 2)),
        // U is below eta at the end of the third round trip in a row, and maxStage is 2: W would be 95,120 * 0.95 /
        // 0.8 + 40 = 112,995, which is above its maximum.
        ((8, 80_000, 0, 401, 500), (0.8, 100_000.0, 100_000.0, 0)),
        // U equals eta, so it is not below eta.
        ((8, 95_000, 0, 501, 600), (0.95, 100_000.0, 100_000.0, 0)),
        // A queue of 100,000 B counts once two reports in a row contain it. Then u = 2.
        ((8, 100_000, 100_000, 520, 610), (1.0, 95_040.0, 100_000.0, 0)),
        ((8, 100_000, 100_000, 601, 700), (2.0, 47_540.0, 47_540.0, 0)),
        // Within the round trip, each report computes W from the unchanged reference, so that two equal reports give
        // the same W.
        ((1, 12_500, 100_000, 620, 710), (2.0, 47_540.0 * 0.475 + 40.0, 47_540.0, 0)),
        ((1, 12_500, 100_000, 640, 720), (2.0, 47_540.0 * 0.475 + 40.0, 47_540.0, 0)),
        // After a go-back-N restart, the acknowledged PSN (701) may exceed the next PSN (650). A second such report
        // does not end another round trip.
        ((8, 47_500, 0, 701, 650), (0.475, 47_580.0, 47_580.0, 1)),
        ((8, 47_500, 0, 701, 660), (0.475, 47_620.0, 47_580.0, 1)),
    ];
    for (step, ((after, sent, queue, acked, next), wanted)) in steps.into_iter().enumerate() {
        println!("step {step}");
        port.later(after, sent, queue);
        flow.report(&[port], acked, next);
        assert_state(&mut flow, wanted);
    }
}

#[test]
fn without_stages_every_step_is_by_u() {
    let mut flow = Flow::new(&config(0));
    let mut port = Port::new(0, 100);
    flow.report(&[port], 1, 100);
    port.later(8, 100_000, 0);
    flow.report(&[port], 101, 200);
    port.later(8, 100_000, 100_000);
    flow.report(&[port], 150, 210);
    port.later(8, 100_000, 100_000);
    // u = 2, so W = 95,040 * 0.475 + 40.
    flow.report(&[port], 201, 300);
    assert_state(&mut flow, (2.0, 45_184.0, 45_184.0, 0));
    port.later(8, 57_000, 0);
    flow.report(&[port], 301, 400);
    // W = 45,184 * 0.95 / 0.57 + 40 = 45,184 * 5 / 3 + 40.
    assert_state(&mut flow, (0.57, 45_184.0 * 5.0 / 3.0 + 40.0, 45_184.0 * 5.0 / 3.0 + 40.0, 0));
}

/// The link of 400 Gb/s is the busier one. Its share of 0.8 and its queue (40,000 B of a BDP of 400,000 B) determine U.
/// Their weight is a quarter, because they were observed for 2 us. The share of the other link is 0.5.
#[test]
fn the_busiest_link_counts() {
    for order in [[0, 1], [1, 0]] {
        let mut flow = Flow::new(&config(5));
        let mut ports = [Port::new(7, 100), Port::new(8, 400)];
        ports[1].queue = 40_000;
        flow.report(&order.map(|slot| ports[slot]), 1, 100);
        ports[0].later(4, 25_000, 0);
        ports[1].later(2, 80_000, 50_000);
        flow.report(&order.map(|slot| ports[slot]), 2, 101);
        // 80,000 B in 2 us are 320 Gb/s of 400 Gb/s.
        assert_close(flow.0.utilisation(), 0.75 + 0.25 * (0.8 + 0.1), "U");
    }
}

/// Nothing is computed from the counts of two different ports.
#[test]
fn another_path_starts_anew() {
    let mut flow = Flow::new(&config(5));
    let (mut old, mut new) = (Port::new(0, 100), Port::new(1, 100));
    new.tx_bytes = 500;
    flow.report(&[old], 1, 100);
    old.later(4, 50_000, 0);
    flow.report(&[old], 101, 200);
    let before = (1.0, 95_040.0, 95_040.0, 0);
    assert_state(&mut flow, before);
    new.later(8, 20_000, 0);
    flow.report(&[new], 201, 300);
    assert_state(&mut flow, before);
    // The round trip that began with PSN 200 is nevertheless over. u = 0.5 has a weight of one half.
    new.later(4, 25_000, 0);
    flow.report(&[new], 202, 301);
    assert_state(&mut flow, (0.75, 95_080.0, 95_080.0, 1));
    // A path that is longer by a hop, or has its hops in another order, is another path too.
    new.later(4, 25_000, 0);
    old.later(12, 25_000, 0);
    for path in [&[new, old][..], &[old, new]] {
        flow.report(path, 400, 500);
        assert_state(&mut flow, (0.75, 95_080.0, 95_080.0, 1));
    }
}

#[test]
fn a_report_that_is_not_newer_says_nothing() {
    let mut flow = Flow::new(&config(5));
    let mut port = Port::new(0, 100);
    flow.report(&[port], 1, 100);
    let older = port;
    port.later(4, 50_000, 0);
    flow.report(&[port], 50, 150);
    let before = (1.0, 95_040.0, 100_000.0, 0);
    for stale in [port, older] {
        flow.report(&[stale], 101, 200);
        assert_state(&mut flow, before);
    }
    flow.report(&[], 101, 200);
    assert_state(&mut flow, before);
}

#[test]
fn nothing_else_changes_the_window() {
    let mut flow = Flow::new(&config(5));
    let mut port = Port::new(0, 100);
    flow.report(&[port], 1, 100);
    port.later(8, 100_000, 0);
    flow.report(&[port], 101, 200);
    let before = (1.0, 95_040.0, 95_040.0, 0);
    let acked = anabranch_proto::cc::AckReport {
        now: us(30),
        packets: 1,
        bytes: 1_090,
        probe: false,
        marked: true,
        rtt: Duration::from_us(20),
        rtt_is_valid: true,
        in_flight: 0,
    };
    flow.with(|cc| {
        cc.handle_ack(&acked);
        cc.handle_cnp(us(30));
        cc.handle_loss(&loss(us(31)));
        cc.handle_nack(&loss(us(32)));
        cc.handle_restart(us(33));
        cc.handle_sent(us(34), 1_090);
        assert_eq!(cc.next_increase(), None);
        assert!(cc.paces());
    });
    assert_state(&mut flow, before);
}

#[test]
fn a_stack_has_room_for_eight_hops() {
    let ports: Vec<Port> = (0..10).map(|link| Port::new(link, 100)).collect();
    let (full, more) = (stack(&ports[..8]), stack(&ports));
    assert_eq!(full.hops().len(), IntStack::MAX_HOPS);
    assert_eq!(full, more);
    assert_eq!(full.hops()[7].at, ports[7].at);
    assert!(full.same_path(&more) && !full.same_path(&stack(&ports[1..9])));
}

#[test]
fn the_base_rtt_is_the_paths_or_the_fabrics() {
    let window = |base_rtt| Flow::new(&HpccConfig { base_rtt, ..config(0) }).window();
    assert_eq!(window(BaseRtt::Path), 100_000);
    assert_eq!(window(BaseRtt::Fabric(Span::Rtt(2.0))), 200_000);
    assert_eq!(window(BaseRtt::Fabric(Span::Time(Duration::from_us(13)))), 162_500);
    for (text, wanted) in [
        ("path", Ok(BaseRtt::Path)),
        ("1.5rtt", Ok(BaseRtt::Fabric(Span::Rtt(1.5)))),
        ("13us", Ok(BaseRtt::Fabric(Span::Time(Duration::from_us(13))))),
    ] {
        assert_eq!(text.parse(), wanted);
        assert_eq!(wanted.map(|base_rtt: BaseRtt| base_rtt.to_string()), Ok(text.to_owned()));
    }
    let refused = "fabric".parse::<BaseRtt>().unwrap_err();
    assert!(refused.ends_with("\"3rtt\" works too, and so does \"path\""), "{refused}");
}

#[test]
fn who_asks_for_what() {
    let own = CcConfig::Hpcc(HpccConfig { base_rtt: BaseRtt::Path, ..config(0) });
    let fabric = CcConfig::Hpcc(config(0));
    let constant = CcConfig::Constant(ConstantConfig { window: anabranch_proto::Size::Bdp(1.0) });
    assert_eq!([&own, &fabric, &constant].map(CcConfig::wants_telemetry), [true, true, false]);
    assert_eq!([&own, &fabric, &constant].map(CcConfig::wants_own_path), [true, false, false]);
}
