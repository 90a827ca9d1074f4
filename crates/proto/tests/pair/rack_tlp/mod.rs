//! The `rack-tlp` transport with DCQCN, DCTCP or a constant window.

mod sender;

use crate::pair::check;
use crate::pair::congestion::{constant, dcqcn, dctcp, slowest_packet};
use crate::pair::irn::CheckedReceiver;
use crate::pair::run::Run;
use crate::pair::schedule::*;
use anabranch_base::{Bytes, Duration, Time};
use anabranch_proto::cc::ConstantConfig;
use anabranch_proto::cc::{AnyCc, CcConfig};
use anabranch_proto::lb::OpsConfig;
use anabranch_proto::lb::{AnyLb, Environment, LbConfig};
use anabranch_proto::transport::{AnyReceiver, AnySender, Headers, RackTlpConfig, TransportConfig};
use anabranch_proto::{PathFacts, Size, Span};
use proptest::prelude::*;
use sender::CheckedSender;

#[test]
fn every_message_arrives_once_and_in_order_whatever_the_path_does() {
    check(any_schedule(), |schedule| Run::new(&schedule).finish().map(drop));
}

/// Nothing is retransmitted as long as the reordering stays within the reordering window, whatever the duplicates,
/// marks and rates.
#[test]
fn reordering_within_the_window_sees_no_retransmission() {
    check(lossless_schedule(), |schedule| {
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!((outcome.retransmissions, outcome.timeouts), (0, 0));
        Ok(())
    });
}

/// A receiver that coalesces more packets than a window admits gets requests for immediate ACKs.
#[test]
fn a_window_below_ack_every_waits_for_no_timeout() -> Result<(), TestCaseError> {
    for jitter in [Duration::ZERO, Duration::from_us(2)] {
        for (bytes, packets) in [(1, 512), (5 * PACKET + 1, 512), (1000 * PACKET, 1), (1000 * PACKET, 15)] {
            let cc = CcConfig::Constant(ConstantConfig { window: Size::Bytes(Bytes(bytes)) });
            let mut schedule = calm_schedule(100, RackTlpEnds { cc, ..calm_ends(16, packets) });
            schedule.path.jitter = jitter;
            let outcome = Run::new(&schedule).finish()?;
            prop_assert_eq!(
                (outcome.retransmissions, outcome.timeouts),
                (0, 0),
                "{} B, {} packets, {}",
                bytes,
                packets,
                jitter
            );
        }
    }
    Ok(())
}

/// DCP, section 6.3: a lost packet is retransmitted two round trips after it was sent, and no other packet is
/// retransmitted. A probe repairs the loss of the tail.
#[test]
fn one_loss_costs_two_round_trips_and_one_packet() -> Result<(), TestCaseError> {
    for ack_every in [1, 4, 100] {
        let mut schedule = calm_schedule(400, calm_ends(ack_every, 1000));
        let calm = Run::new(&schedule).finish()?;
        let (wire, round) = (schedule.path.wire, schedule.path.longest_round());
        for lost in 1..=400 {
            schedule.path.faults.dropped = vec![lost];
            let outcome = Run::new(&schedule).finish()?;
            prop_assert_eq!((outcome.retransmissions, outcome.timeouts), (1, 0), "packet {}", lost);
            let rounds = if lost == 400 { 3 } else { 2 };
            let latest = calm.finished + round * rounds + wire * 2;
            prop_assert!(outcome.finished <= latest, "packet {lost}: {} after {latest}", outcome.finished);
        }
    }
    Ok(())
}

/// DCP, section 6.3: a lost retransmission causes no timeout, as long as other packets follow it.
#[test]
fn a_packet_lost_twice_costs_no_timeout() -> Result<(), TestCaseError> {
    let mut schedule = calm_schedule(1000, calm_ends(1, 1000));
    for other in 101..=1001 {
        schedule.path.faults.dropped = vec![100, other];
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!((outcome.retransmissions, outcome.timeouts), (2, 0), "packet {}", other);
    }
    Ok(())
}

#[derive(Clone, Debug)]
pub struct RackTlpEnds {
    balancer: LbConfig,
    cc: CcConfig,
    /// The rate of the wire divided by the line rate of the path facts.
    slower: u64,
    ack_every: u32,
    window: u64,
    reo_wnd: Duration,
    rto: Duration,
    cnp_interval: Duration,
}

impl Ends for RackTlpEnds {
    type Sender = CheckedSender;
    type Receiver = CheckedReceiver;
    const HEADERS: Headers = Headers::Irn;

    fn build(schedule: &Schedule<Self>) -> (CheckedSender, CheckedReceiver) {
        let (transport, facts) = (schedule.transport(), schedule.facts());
        let sender = transport.build_sender(ENDS, &facts, schedule.cc(), schedule.lb());
        match (sender, transport.build_receiver(ENDS, &facts)) {
            (AnySender::RackTlp(sender), AnyReceiver::RackTlp(receiver)) => {
                let RackTlpEnds { ack_every, cnp_interval, .. } = schedule.ends;
                let planned = schedule.planned();
                let receiver = CheckedReceiver::new(receiver, ack_every, cnp_interval, planned);
                (CheckedSender::new(schedule, sender), receiver)
            }
            _ => unreachable!("rack-tlp builds its own ends"),
        }
    }

    /// Two RTOs and two round trips after the last network fault, the fault no longer affects the path. Then the
    /// packets follow one after the other at the lowest rate. Each is sent, overtaken, declared lost by the reordering
    /// timer or the RTO, retransmitted, and acknowledged.
    fn deadline(schedule: &Schedule<Self>) -> Time {
        let rto = schedule.ends.rto + schedule.timer_lag;
        let round = schedule.path.longest_round() + schedule.ends.reo_wnd + schedule.timer_lag;
        let pace = schedule.slowest_packet() + schedule.timer_lag + schedule.path.wire;
        schedule.quiet_from() + (rto + round) * 2 + (rto + pace + round) * 2 * schedule.packets()
    }
}

impl Schedule<RackTlpEnds> {
    fn facts(&self) -> PathFacts {
        self.path.facts_at(self.ends.slower)
    }

    fn transport(&self) -> TransportConfig {
        TransportConfig::RackTlp(RackTlpConfig {
            payload: Bytes(PAYLOAD),
            header: Bytes(HEADER),
            ack: Bytes(ACK),
            ack_every: self.ends.ack_every,
            window: Size::Bytes(Bytes(self.ends.window)),
            reo_wnd: Span::Time(self.ends.reo_wnd),
            rto: Span::Time(self.ends.rto),
            cnp_interval: Span::Time(self.ends.cnp_interval),
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

fn calm_ends(ack_every: u32, packets: u64) -> RackTlpEnds {
    RackTlpEnds {
        balancer: LbConfig::Ecmp {},
        cc: CcConfig::Constant(ConstantConfig { window: Size::Bytes(Bytes(1 << 40)) }),
        slower: 1,
        ack_every,
        window: packets * PACKET,
        reo_wnd: Duration::from_us(8),
        rto: Duration::from_us(320),
        cnp_interval: Duration::from_us(50),
    }
}

/// Arbitrary parameters, among them RTOs below the round trip, windows below a packet and reordering that never ends.
/// All kinds of network faults occur together.
fn any_schedule() -> impl Strategy<Value = Schedule<RackTlpEnds>> {
    (messages(), ends(), rto(), timer_lag(), path(), faults(), any::<bool>()).prop_map(
        |(messages, ends, rto, timer_lag, path, faults, in_order)| Schedule {
            messages,
            ends: RackTlpEnds { rto, ..ends },
            timer_lag,
            path: Path { faults, in_order, ..path },
        },
    )
}

/// A path that reorders, duplicates and marks. The reordering window exceeds the reordering of the path, and the RTO
/// exceeds the path's delays. The jitter is at most half the shortest round trip, so that probes are in time.
fn lossless_schedule() -> impl Strategy<Value = Schedule<RackTlpEnds>> {
    (messages(), ends(), timer_lag(), path(), (chance(), chance()), any::<bool>()).prop_map(
        |(messages, ends, timer_lag, path, (duplication, marking), in_order)| {
            let faults = Faults { until: Time::NEVER, duplication, marking, ..Faults::default() };
            let shortest = path.data_delay + path.ack_delay;
            let jitter = path.jitter.min(Duration(shortest.0 / 2));
            let path = Path { faults, in_order, jitter, ..path };
            let mut schedule = Schedule { messages, ends, timer_lag, path };
            let path = &schedule.path;
            schedule.ends.reo_wnd = path.jitter * 2 + Duration(1);
            // At a low rate, a packet requests an ACK if `ack_every` packets would take more than half an RTO. The
            // other half must cover all delays of that packet. A probe that waits for its pacing may be as late as
            // any packet.
            let slowest = (schedule.slowest_packet() + path.wire) * 2;
            let asked = path.longest_round() * 3 + slowest;
            let packets = (timer_lag + path.wire) * (u64::from(schedule.ends.ack_every) + 2);
            schedule.ends.rto = (asked + packets) * 2;
            schedule
        },
    )
}

fn ends() -> impl Strategy<Value = RackTlpEnds> {
    let balancer = prop_oneof![
        3 => Just(LbConfig::Ecmp {}),
        1 => (1u32..=65_536).prop_map(|evs| LbConfig::Ops(OpsConfig { evs })),
    ];
    let cnp_interval =
        prop_oneof![2 => Just(Duration::ZERO), 1 => us(1..20), 2 => Just(Duration::from_us(50))];
    let cc = prop_oneof![2 => constant(), 1 => dctcp(), 4 => dcqcn()];
    let reo_wnd = prop_oneof![1 => Just(Duration::ZERO), 2 => ns(0..5_000), 2 => us(5..40)];
    (balancer, cc, 1u64..5, ack_every(), window(), cnp_interval, reo_wnd).prop_map(
        |(balancer, cc, slower, ack_every, window, cnp_interval, reo_wnd)| RackTlpEnds {
            balancer,
            cc,
            slower,
            ack_every,
            window,
            reo_wnd,
            rto: Duration::ZERO,
            cnp_interval,
        },
    )
}
