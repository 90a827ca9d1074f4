//! Sender and receiver over a path that loses and reorders for some time.

use super::*;
use anabranch_base::Stream;
use anabranch_proto::cc::ConstantConfig;
use anabranch_proto::transport::{Receiver as _, Sender as _, StrackReceiver, StrackSender};
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Clone, Debug)]
struct Path {
    seed: u64,
    /// Number of lost packets per thousand before `faults_until`. This includes SACKs and probes.
    loss: u32,
    /// The time from which on nothing is lost.
    faults_until: Time,
    /// The largest additional delay of a packet, beyond 5 us.
    jitter: Duration,
    /// The window in packets.
    window: u64,
    strack_cc: bool,
    messages: Vec<u64>,
    payload: u64,
}

#[derive(Debug)]
struct Outcome {
    delivered: Vec<MessageId>,
    acknowledged: Vec<MessageId>,
    in_flight: u64,
    /// The time at which the last message was acknowledged.
    end: Time,
    retransmissions: u64,
    timeouts: u64,
}

enum Event {
    Timer,
    WireIsFree,
    AtReceiver(Packet),
    AtSender(Packet),
}

struct Run {
    path: Path,
    fate: Stream,
    now: Time,
    queue: BinaryHeap<Reverse<(Time, usize)>>,
    events: Vec<Event>,
}

impl Run {
    fn at(&mut self, time: Time, event: Event) {
        self.queue.push(Reverse((time, self.events.len())));
        self.events.push(event);
    }

    fn carry(&mut self, packet: Packet, to: fn(Packet) -> Event) {
        let is_lost = self.fate.below(1_000) < self.path.loss && self.now < self.path.faults_until;
        let jitter = Duration(u64::from(self.fate.below(1_000)) * self.path.jitter.0 / 1_000);
        if !is_lost {
            self.at(self.now + Duration::from_us(5) + jitter, to(packet));
        }
    }

    /// Runs until no event is left, but for at most 100 ms.
    fn finish(path: Path) -> Outcome {
        let header = if path.payload > 10_000 { 500 } else { HEADER };
        let config = StrackConfig { payload: Bytes(path.payload), header: Bytes(header), ..config() };
        let facts = PathFacts { packet: Bytes(path.payload + header), ..FACTS };
        let window = Size::Bytes(Bytes(path.window * facts.packet.0));
        let cc = match path.strack_cc {
            true => CcConfig::Strack(congestion_control::config(path.window as f64)),
            false => CcConfig::Constant(ConstantConfig { window }),
        };
        let environment = Environment { facts, rto: Duration::from_us(250), trimming: false };
        let lb = LbConfig::Strack(StrackLbConfig { max_paths: 256, min_paths: 8 });
        let lb = lb.build(&environment, stream(path.seed, 0, Purpose::LoadBalancer));
        let mut sender = StrackSender::new(&config, &facts, ENDS, cc.build(&facts), lb);
        let mut receiver = StrackReceiver::new(&config, ENDS);
        for (i, &bytes) in path.messages.iter().enumerate() {
            sender.post(MessageId(i as u32), bytes).unwrap();
        }
        let (mut delivered, mut acknowledged, mut end) = (Vec::new(), Vec::new(), Time::ZERO);
        let fate = stream(path.seed, 1, Purpose::LoadBalancer);
        let mut run = Run { path, fate, now: Time::ZERO, queue: BinaryHeap::new(), events: Vec::new() };
        run.at(Time::ZERO, Event::WireIsFree);
        let (mut is_busy, mut timer) = (true, Time::NEVER);
        while let Some(Reverse((now, event))) = run.queue.pop().filter(|Reverse((now, _))| *now < at(100_000))
        {
            run.now = now;
            match std::mem::replace(&mut run.events[event], Event::Timer) {
                Event::WireIsFree => is_busy = false,
                Event::AtReceiver(packet) => {
                    delivered.extend(receiver.handle_packet(now, &packet));
                    while let Some(answer) = receiver.poll_transmit() {
                        run.carry(answer, Event::AtSender);
                    }
                }
                Event::AtSender(packet) => sender.handle_packet(now, &packet),
                Event::Timer => {
                    timer = Time::NEVER;
                    if sender.next_timeout().is_some_and(|due| due <= now) {
                        sender.handle_timeout(now);
                    }
                }
            }
            while let Some(message) = sender.poll_acknowledged() {
                acknowledged.push(message);
                end = now;
            }
            if !is_busy && let Some(packet) = sender.poll_transmit(now) {
                is_busy = true;
                run.at(now + Duration::from_ns(80), Event::WireIsFree);
                run.carry(packet, Event::AtReceiver);
            }
            if let Some(due) = sender.next_timeout().filter(|&due| due < timer) {
                timer = due;
                run.at(due, Event::Timer);
            }
        }
        acknowledged.sort();
        delivered.sort();
        let (in_flight, counters) = (sender.in_flight(), sender.counters());
        let (retransmissions, timeouts) = (counters.retransmissions, counters.timeouts);
        Outcome { delivered, acknowledged, in_flight, end, retransmissions, timeouts }
    }
}

fn any_path() -> impl Strategy<Value = Path> {
    let loss = prop_oneof![Just(0u32), 1..50u32, 100..900u32];
    let jitter = prop_oneof![Just(0u64), 0..5u64, 0..60u64].prop_map(Duration::from_us);
    let window = prop_oneof![1..4u64, 4..20u64, 20..150u64];
    let messages = prop::collection::vec(prop_oneof![Just(0u64), 1..20_000u64, 1..400_000u64], 1..6);
    (any::<u64>(), loss, 0..2_000u64, jitter, window, any::<bool>(), messages).prop_map(
        |(seed, loss, until, jitter, window, strack_cc, messages)| {
            let (faults_until, payload) = (at(until), PACKET - HEADER);
            Path { seed, loss, faults_until, jitter, window, strack_cc, messages, payload }
        },
    )
}

fn check(path: &Path, outcome: &Outcome) -> Result<(), TestCaseError> {
    let all: Vec<_> = (0..path.messages.len() as u32).map(MessageId).collect();
    prop_assert_eq!(&outcome.delivered, &all, "delivered once each");
    prop_assert_eq!(&outcome.acknowledged, &all, "acknowledged once each");
    prop_assert_eq!(outcome.in_flight, 0, "nothing leaked");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn messages_arrive_once_and_nothing_leaks(path in any_path()) {
        check(&path, &Run::finish(path.clone()))?;
    }

    #[test]
    fn order_without_loss_sees_no_recovery(mut path in any_path()) {
        (path.loss, path.jitter) = (0, Duration::ZERO);
        let outcome = Run::finish(path.clone());
        check(&path, &outcome)?;
        prop_assert_eq!((outcome.retransmissions, outcome.timeouts), (0, 0));
    }

    /// Reordering by fewer packets than a window is not taken for a loss, because the out-of-order counter stays below
    /// the window. This holds whichever PSNs the SACKs leave out.
    #[test]
    fn reordering_within_a_window_sees_no_recovery(mut path in any_path()) {
        // 5 us of jitter at 80 ns per packet let at most 62 packets overtake one.
        (path.loss, path.jitter, path.window, path.strack_cc) = (0, Duration::from_us(5), 150, false);
        let outcome = Run::finish(path.clone());
        check(&path, &outcome)?;
        prop_assert_eq!((outcome.retransmissions, outcome.timeouts), (0, 0));
    }
}

#[test]
fn a_lost_tail_costs_a_probe() {
    let path = Path {
        seed: 1,
        loss: 1_000,
        faults_until: at(1),
        jitter: Duration::ZERO,
        window: 100,
        strack_cc: false,
        messages: vec![10 * (PACKET - HEADER)],
        payload: PACKET - HEADER,
    };
    let outcome = Run::finish(path.clone());
    check(&path, &outcome).unwrap();
    assert_eq!((outcome.retransmissions, outcome.timeouts), (10, 0));
    // The probe is sent three base RTTs after the first packet, and its answer arrives 10 us later. The last SACK
    // arrives another 10 us later, plus 80 ns for each of the nine packets before the last one.
    assert_eq!(outcome.end, Time::ZERO + Duration::from_ns(36_000 + 10_000 + 10_000 + 9 * 80));
}

/// The receiver's count of received bytes wraps at 2^32, and the sender continues it in 64 bits.
#[test]
fn more_bytes_than_the_counter_holds() {
    let path = Path {
        seed: 1,
        loss: 10,
        faults_until: at(100_000),
        jitter: Duration::from_us(2),
        window: 100,
        strack_cc: false,
        messages: vec![5_000_000_000],
        payload: 60_000,
    };
    let outcome = Run::finish(path.clone());
    check(&path, &outcome).unwrap();
    assert!(outcome.retransmissions > 500, "{outcome:?}");
}
