//! The `rnic-sr` transport with DCQCN, DCTCP or a constant window, and with and without handling of NACKs.

mod receiver;
mod sender;

use crate::pair::check;
use crate::pair::congestion::{constant, dcqcn, dctcp, slowest_packet};
use crate::pair::run::Run;
use crate::pair::schedule::*;
use anabranch_base::{Bytes, Duration, Time};
use anabranch_proto::cc::ConstantConfig;
use anabranch_proto::cc::{AnyCc, CcConfig};
use anabranch_proto::lb::OpsConfig;
use anabranch_proto::lb::{AnyLb, Environment, LbConfig};
use anabranch_proto::transport::{AnyReceiver, AnySender, Headers, RnicSrConfig, TransportConfig};
use anabranch_proto::{PathFacts, Size, Span};
use proptest::prelude::*;
use receiver::CheckedReceiver;
use sender::CheckedSender;

#[test]
fn every_message_arrives_once_and_in_order_whatever_the_path_does() {
    check(any_schedule(), |schedule| Run::new(&schedule).finish().map(drop));
}

#[test]
fn a_path_that_loses_nothing_and_keeps_order_sees_no_retransmission() {
    check(lossless_schedule(true, any::<bool>()), |schedule| {
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!((outcome.retransmissions, outcome.timeouts, outcome.nacks), (0, 0, 0));
        Ok(())
    });
}

#[test]
fn without_nacks_a_path_that_loses_nothing_but_order_sees_no_retransmission() {
    check(lossless_schedule(false, Just(false)), |schedule| {
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!((outcome.retransmissions, outcome.timeouts, outcome.nacks), (0, 0, 0));
        Ok(())
    });
}

/// A sender that handles NACKs mistakes reordering for loss. It answers each NACK with at most two packets. No timeout
/// occurs.
#[test]
fn a_path_that_loses_nothing_but_order_costs_two_packets_a_nack() {
    check(lossless_schedule(false, Just(true)), |schedule| {
        let outcome = Run::new(&schedule).finish()?;
        prop_assert!(outcome.retransmissions <= 2 * outcome.nacks, "{outcome:?}");
        prop_assert_eq!(outcome.timeouts, 0);
        Ok(())
    });
    let mut schedule = calm_schedule(400, calm_ends(4, 1000 * PACKET));
    schedule.path.jitter = Duration::from_us(1);
    let outcome = Run::new(&schedule).finish().expect("it ends");
    assert!(outcome.nacks > 20 && outcome.retransmissions > 20, "{outcome:?}");
}

/// A receiver that coalesces more packets than a window admits gets requests for immediate ACKs.
#[test]
fn a_window_below_ack_every_waits_for_no_timeout() -> Result<(), TestCaseError> {
    for jitter in [Duration::ZERO, Duration::from_us(2)] {
        for (bytes, packets) in [(1, 512), (5 * PACKET + 1, 512), (1000 * PACKET, 1), (1000 * PACKET, 15)] {
            let ends = RnicSrEnds {
                window_packets: packets,
                hears_nacks: jitter == Duration::ZERO,
                ..calm_ends(16, bytes)
            };
            let mut schedule = calm_schedule(100, ends);
            schedule.path.jitter = jitter;
            let outcome = Run::new(&schedule).finish()?;
            prop_assert_eq!(outcome.retransmissions, 0, "{} B, {} packets, {}", bytes, packets, jitter);
        }
    }
    Ok(())
}

/// A gap is repaired a round trip after it shows, by a NACK. Two packets are retransmitted. If the gap is next to the
/// last packet, there may be only one.
#[test]
fn one_loss_costs_a_round_trip_and_two_packets() -> Result<(), TestCaseError> {
    for ack_every in [1, 4, 100] {
        let mut schedule = calm_schedule(400, calm_ends(ack_every, 1000 * PACKET));
        let calm = Run::new(&schedule).finish()?;
        let (wire, round) = (schedule.path.wire, schedule.path.longest_round());
        for lost in 1..400 {
            schedule.path.faults.dropped = vec![lost];
            let outcome = Run::new(&schedule).finish()?;
            let again = if lost == 399 { 1..=2 } else { 2..=2 };
            prop_assert!(again.contains(&outcome.retransmissions), "packet {lost}: {outcome:?}");
            prop_assert_eq!((outcome.timeouts, outcome.nacks), (0, 1), "packet {}", lost);
            let latest = calm.finished + round + wire * 3;
            prop_assert!(outcome.finished <= latest, "packet {lost}: {} after {latest}", outcome.finished);
        }
        schedule.path.faults.dropped = vec![400];
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!((outcome.timeouts, outcome.nacks), (1, 0), "no gap shows the last one");
        prop_assert!(outcome.retransmissions <= u64::from(ack_every), "{:?}", outcome);
    }
    Ok(())
}

/// Without NACKs a loss waits for the timeout. The sender then retransmits everything unacknowledged until an ACK, a
/// round trip later, shows that the rest has arrived.
#[test]
fn without_nacks_a_loss_costs_a_timeout() -> Result<(), TestCaseError> {
    let mut schedule = calm_schedule(400, RnicSrEnds { hears_nacks: false, ..calm_ends(4, 1000 * PACKET) });
    schedule.path.faults.dropped = vec![100];
    let outcome = Run::new(&schedule).finish()?;
    prop_assert_eq!((outcome.timeouts, outcome.nacks), (1, 0));
    let under_way = schedule.path.longest_round().0 / schedule.path.wire.0;
    prop_assert!(outcome.retransmissions.abs_diff(under_way) <= 2, "{outcome:?}");
    Ok(())
}

/// There is only one NACK for an ePSN. If the retransmission that this NACK caused is lost, the timeout must repair the
/// loss. The loss of any other new packet causes a NACK of its own, once the first loss is repaired.
#[test]
fn a_packet_lost_twice_costs_a_timeout() -> Result<(), TestCaseError> {
    let mut schedule = calm_schedule(400, calm_ends(4, 1000 * PACKET));
    let mut late = Vec::new();
    for other in 101..=300 {
        schedule.path.faults.dropped = vec![100, other];
        let outcome = Run::new(&schedule).finish()?;
        prop_assert!(outcome.timeouts <= 1);
        if outcome.timeouts == 1 {
            prop_assert_eq!(outcome.nacks, 1);
            late.push(other);
        }
    }
    // Packet 101 reveals the loss of packet 100. Packet 100 is retransmitted a round trip after packet 101 was sent.
    let round = schedule.path.longest_round().0 / schedule.path.wire.0;
    prop_assert_eq!(late, vec![101 + round]);
    Ok(())
}

#[derive(Clone, Debug)]
struct RnicSrEnds {
    balancer: LbConfig,
    cc: CcConfig,
    /// The rate of the wire divided by the line rate of the path facts.
    slower: u64,
    ack_every: u32,
    window_packets: u32,
    cnp_interval: Duration,
    rto: Duration,
    hears_nacks: bool,
    retransmission_block: Duration,
}

impl Ends for RnicSrEnds {
    type Sender = CheckedSender;
    type Receiver = CheckedReceiver;
    const HEADERS: Headers = Headers::Direct;

    fn build(schedule: &Schedule<Self>) -> (CheckedSender, CheckedReceiver) {
        let (transport, facts) = (schedule.transport(), schedule.facts());
        let sender = transport.build_sender(ENDS, &facts, schedule.cc(), schedule.lb());
        match (sender, transport.build_receiver(ENDS, &facts)) {
            (AnySender::RnicSr(sender), AnyReceiver::RnicSr(receiver)) => {
                (CheckedSender::new(schedule, sender), CheckedReceiver::new(schedule, receiver))
            }
            _ => unreachable!("rnic-sr builds its own ends"),
        }
    }

    /// Two RTOs and two round trips after the last network fault, the fault no longer affects the path. Then the
    /// packets follow one after the other at the lowest rate. Each is sent and acknowledged. If the receiver waits for
    /// more packets, the packet times out, is retransmitted, and is acknowledged immediately as a duplicate. Two
    /// retransmissions for a NACK, which block the path, may precede each packet.
    fn deadline(schedule: &Schedule<Self>) -> Time {
        let (rto, round) = (schedule.ends.rto + schedule.timer_lag, schedule.path.longest_round());
        let pace = schedule.slowest_packet() + schedule.timer_lag + schedule.ends.retransmission_block;
        let turn = (rto + pace + schedule.path.wire) * 2 + (pace + schedule.path.wire) * 2 + round;
        schedule.quiet_from() + (rto + round) * 2 + turn * schedule.packets()
    }
}

impl Schedule<RnicSrEnds> {
    fn facts(&self) -> PathFacts {
        self.path.facts_at(self.ends.slower)
    }

    fn transport(&self) -> TransportConfig {
        TransportConfig::RnicSr(RnicSrConfig {
            payload: Bytes(PAYLOAD),
            header: Bytes(HEADER),
            ack: Bytes(ACK),
            ack_every: self.ends.ack_every,
            window_packets: self.ends.window_packets,
            cnp_interval: Span::Time(self.ends.cnp_interval),
            rto: Span::Time(self.ends.rto),
            hears_nacks: self.ends.hears_nacks,
            retransmission_block: Span::Time(self.ends.retransmission_block),
        })
    }

    fn cc(&self) -> AnyCc {
        self.ends.cc.build(&self.facts())
    }

    fn lb(&self) -> AnyLb {
        let environment = Environment { facts: self.facts(), rto: self.ends.rto, trimming: false };
        self.path.lb(&self.ends.balancer, &environment)
    }

    fn slowest_packet(&self) -> Duration {
        slowest_packet(&self.ends.cc, &self.facts())
    }
}

fn calm_ends(ack_every: u32, window: u64) -> RnicSrEnds {
    RnicSrEnds {
        balancer: LbConfig::Ecmp {},
        cc: CcConfig::Constant(ConstantConfig { window: Size::Bytes(Bytes(window)) }),
        slower: 1,
        ack_every,
        window_packets: 512,
        cnp_interval: Duration::from_us(50),
        rto: Duration::from_us(100),
        hears_nacks: true,
        retransmission_block: Duration::ZERO,
    }
}

/// Arbitrary parameters, among them RTOs below the round trip, windows below a packet and reordering that never ends.
/// All kinds of network faults occur together.
fn any_schedule() -> impl Strategy<Value = Schedule<RnicSrEnds>> {
    (messages(), ends(any::<bool>()), rto(), timer_lag(), path(), faults(), any::<bool>()).prop_map(
        |(messages, ends, rto, timer_lag, path, faults, in_order)| Schedule {
            messages,
            ends: RnicSrEnds { rto, ..ends },
            timer_lag,
            path: Path { faults, in_order, ..path },
        },
    )
}

/// A path that delays, duplicates and marks. The RTO is above the longest time that an acknowledgement can take.
fn lossless_schedule(
    in_order: bool,
    hears_nacks: impl Strategy<Value = bool>,
) -> impl Strategy<Value = Schedule<RnicSrEnds>> {
    (messages(), ends(hears_nacks), timer_lag(), path(), chance(), chance()).prop_map(
        move |(messages, ends, timer_lag, path, duplication, marking)| {
            let faults = Faults { until: Time::NEVER, duplication, marking, ..Faults::default() };
            let path = Path { faults, in_order, ..path };
            let mut schedule = Schedule { messages, ends, timer_lag, path };
            // At a low rate, a packet requests an ACK if `ack_every` packets would take more than half an RTO. The
            // other half must cover a round trip, the requesting packet at the slowest rate, and the lag of the pacing
            // timer for each packet. With NACKs, it must also cover up to two retransmissions before each packet.
            let (path, ack_every) = (&schedule.path, u64::from(schedule.ends.ack_every));
            let slowest = (schedule.slowest_packet() + path.wire) * 2;
            let asked = path.longest_round() + slowest + (timer_lag + path.wire) * (ack_every + 2);
            let copies = (slowest + timer_lag + schedule.ends.retransmission_block) * 2 * (ack_every + 2);
            let copies = if schedule.ends.hears_nacks { copies } else { Duration::ZERO };
            schedule.ends.rto = (asked + copies) * 2;
            schedule
        },
    )
}

fn ends(hears_nacks: impl Strategy<Value = bool>) -> impl Strategy<Value = RnicSrEnds> {
    let balancer = prop_oneof![
        3 => Just(LbConfig::Ecmp {}),
        1 => (1u32..=65_536).prop_map(|evs| LbConfig::Ops(OpsConfig { evs })),
    ];
    let cnp_interval =
        prop_oneof![2 => Just(Duration::ZERO), 1 => us(1..20), 2 => Just(Duration::from_us(50))];
    let cc = prop_oneof![2 => constant(), 1 => dctcp(), 4 => dcqcn()];
    let window_packets = prop_oneof![1 => 1u32..4, 2 => 4u32..100, 2 => Just(512)];
    let block = prop_oneof![2 => Just(Duration::ZERO), 1 => ns(1..2_000), 1 => us(2..20)];
    (balancer, cc, 1u64..5, ack_every(), window_packets, cnp_interval, hears_nacks, block).prop_map(
        |(balancer, cc, slower, ack_every, window_packets, cnp_interval, hears_nacks, block)| RnicSrEnds {
            balancer,
            cc,
            slower,
            ack_every,
            window_packets,
            cnp_interval,
            rto: Duration::ZERO,
            hears_nacks,
            retransmission_block: block,
        },
    )
}
