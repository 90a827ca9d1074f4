//! The `go-back-n` transport with DCQCN, DCTCP or a constant window.

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
use anabranch_proto::transport::{AnyReceiver, AnySender, GoBackNConfig, Headers, TransportConfig};
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
    check(lossless_schedule(true), |schedule| {
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!((outcome.retransmissions, outcome.timeouts), (0, 0));
        Ok(())
    });
}

/// Packets that overtake each other look like losses to a receiver that requires order, so that they may be
/// retransmitted. Their messages nevertheless arrive once.
#[test]
fn a_path_that_loses_nothing_but_order_delivers_once() {
    check(lossless_schedule(false), |schedule| Run::new(&schedule).finish().map(drop));
}

/// A receiver that coalesces more packets than the window admits gets requests for immediate ACKs.
#[test]
fn a_window_below_ack_every_waits_for_no_timeout() -> Result<(), TestCaseError> {
    for window in [1, PACKET, 2 * PACKET, 5 * PACKET + 1, 15 * PACKET] {
        let schedule = calm_schedule(100, calm_ends(16, window));
        prop_assert_eq!(Run::new(&schedule).finish()?.retransmissions, 0, "window {}", window);
    }
    Ok(())
}

/// A gap is repaired a round trip after it shows, by a NACK and without a timeout. The packets in flight are
/// retransmitted.
#[test]
fn one_loss_costs_a_round_trip() -> Result<(), TestCaseError> {
    for ack_every in [1, 4, 100] {
        let mut schedule = calm_schedule(400, calm_ends(ack_every, 1000 * PACKET));
        let calm = Run::new(&schedule).finish()?;
        let (wire, round) = (schedule.path.wire, schedule.path.longest_round());
        for lost in 1..400 {
            schedule.path.faults.dropped = vec![lost];
            let outcome = Run::new(&schedule).finish()?;
            prop_assert_eq!(outcome.timeouts, 0, "packet {}", lost);
            let latest = calm.finished + round + wire * 2;
            prop_assert!(outcome.finished <= latest, "packet {lost}: {} after {latest}", outcome.finished);
            let under_way = round.0.div_ceil(wire.0) + 2;
            prop_assert!(outcome.retransmissions <= under_way.min(401 - lost), "packet {lost}: {outcome:?}");
        }
        schedule.path.faults.dropped = vec![400];
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!(outcome.timeouts, 1, "no gap shows the last one");
        prop_assert!(outcome.retransmissions <= u64::from(ack_every), "{:?}", outcome);
    }
    Ok(())
}

#[derive(Clone, Debug)]
struct GoBackNEnds {
    balancer: LbConfig,
    cc: CcConfig,
    /// The rate of the wire divided by the line rate of the path facts.
    slower: u64,
    ack_every: u32,
    nack_interval: Duration,
    cnp_interval: Duration,
    rto: Duration,
}

impl Ends for GoBackNEnds {
    type Sender = CheckedSender;
    type Receiver = CheckedReceiver;
    const HEADERS: Headers = Headers::InOrder;

    fn build(schedule: &Schedule<Self>) -> (CheckedSender, CheckedReceiver) {
        let (transport, facts) = (schedule.transport(), schedule.facts());
        let sender = transport.build_sender(ENDS, &facts, schedule.cc(), schedule.lb());
        match (sender, transport.build_receiver(ENDS, &facts)) {
            (AnySender::GoBackN(sender), AnyReceiver::GoBackN(receiver)) => {
                (CheckedSender::new(schedule, sender), CheckedReceiver::new(schedule, receiver))
            }
            _ => unreachable!("go-back-n builds its own ends"),
        }
    }

    /// Two RTOs and two round trips after the last network fault, the fault no longer affects the path. Then the
    /// packets follow one after the other at the lowest rate. Each is sent and acknowledged. If the receiver waits for
    /// more packets, the packet times out, is retransmitted, and is acknowledged immediately as a duplicate.
    fn deadline(schedule: &Schedule<Self>) -> Time {
        let (rto, round) = (schedule.ends.rto + schedule.timer_lag, schedule.path.longest_round());
        let pace = schedule.slowest_packet() + schedule.timer_lag;
        let turn = (rto + pace + schedule.path.wire) * 2 + round;
        schedule.quiet_from() + (rto + round) * 2 + turn * schedule.packets()
    }
}

impl Schedule<GoBackNEnds> {
    fn facts(&self) -> PathFacts {
        self.path.facts_at(self.ends.slower)
    }

    fn transport(&self) -> TransportConfig {
        TransportConfig::GoBackN(GoBackNConfig {
            payload: Bytes(PAYLOAD),
            header: Bytes(HEADER),
            ack: Bytes(ACK),
            ack_every: self.ends.ack_every,
            nack_interval: Span::Time(self.ends.nack_interval),
            cnp_interval: Span::Time(self.ends.cnp_interval),
            trailing_cnp: false,
            rto: Span::Time(self.ends.rto),
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

fn calm_ends(ack_every: u32, window: u64) -> GoBackNEnds {
    GoBackNEnds {
        balancer: LbConfig::Ecmp {},
        cc: CcConfig::Constant(ConstantConfig { window: Size::Bytes(Bytes(window)) }),
        slower: 1,
        ack_every,
        nack_interval: Duration::from_us(500),
        cnp_interval: Duration::from_us(50),
        rto: Duration::from_us(100),
    }
}

/// Arbitrary parameters, among them RTOs below the round trip, windows below a packet and reordering that never ends.
/// All kinds of network faults except trimming occur together.
fn any_schedule() -> impl Strategy<Value = Schedule<GoBackNEnds>> {
    (messages(), ends(), rto(), timer_lag(), path(), faults(), any::<bool>()).prop_map(
        |(messages, ends, rto, timer_lag, path, faults, in_order)| {
            let faults = Faults { trimming: 0, ..faults };
            Schedule {
                messages,
                ends: GoBackNEnds { rto, ..ends },
                timer_lag,
                path: Path { faults, in_order, ..path },
            }
        },
    )
}

/// A path that delays, duplicates and marks. The RTO is above the longest time that an acknowledgement can take.
fn lossless_schedule(in_order: bool) -> impl Strategy<Value = Schedule<GoBackNEnds>> {
    (messages(), ends(), timer_lag(), path(), chance(), chance()).prop_map(
        move |(messages, ends, timer_lag, path, duplication, marking)| {
            let faults = Faults { until: Time::NEVER, duplication, marking, ..Faults::default() };
            let path = Path { faults, in_order, ..path };
            let mut schedule = Schedule { messages, ends, timer_lag, path };
            // At a low rate, a packet requests an ACK if `ack_every` packets would take more than half an RTO. The
            // other half must cover a round trip, the packet that requests the ACK, and the lag of the timer for each
            // packet that waits for its pacing. The rate of the requesting packet may have fallen meanwhile.
            let (path, ack_every) = (&schedule.path, u64::from(schedule.ends.ack_every));
            let asked = path.longest_round() + (schedule.slowest_packet() + path.wire) * 2;
            schedule.ends.rto = (asked + timer_lag * (ack_every + 2)) * 2 + path.wire * ack_every;
            schedule
        },
    )
}

fn ends() -> impl Strategy<Value = GoBackNEnds> {
    let balancer = prop_oneof![
        3 => Just(LbConfig::Ecmp {}),
        1 => (1u32..=65_536).prop_map(|evs| LbConfig::Ops(OpsConfig { evs })),
    ];
    let nack_interval = prop_oneof![Just(Duration::ZERO), us(1..20), us(20..600)];
    let cnp_interval =
        prop_oneof![2 => Just(Duration::ZERO), 1 => us(1..20), 2 => Just(Duration::from_us(50))];
    let cc = prop_oneof![2 => constant(), 1 => dctcp(), 4 => dcqcn()];
    (balancer, cc, 1u64..5, ack_every(), nack_interval, cnp_interval).prop_map(
        |(balancer, cc, slower, ack_every, nack_interval, cnp_interval)| GoBackNEnds {
            balancer,
            cc,
            slower,
            ack_every,
            nack_interval,
            cnp_interval,
            rto: Duration::ZERO,
        },
    )
}
