//! The `mp-rdma` transport, with the congestion control and the load balancer `mp-rdma`, and with others.

mod receiver;
mod sender;

use crate::pair::check;
use crate::pair::congestion::{constant, dctcp};
use crate::pair::run::Run;
use crate::pair::schedule::*;
use anabranch_base::{Bytes, Duration, Time};
use anabranch_proto::cc::ConstantConfig;
use anabranch_proto::cc::{AnyCc, CcConfig, MpRdmaCcConfig};
use anabranch_proto::lb::OpsConfig;
use anabranch_proto::lb::{AnyLb, Environment, LbConfig, MpRdmaLbConfig};
use anabranch_proto::transport::{AnyReceiver, AnySender, Headers, MpRdmaConfig, TransportConfig};
use anabranch_proto::{Size, Span};
use proptest::prelude::*;
use receiver::CheckedReceiver;
use sender::CheckedSender;

#[test]
fn every_message_arrives_once_and_in_order_whatever_the_path_does() {
    check(any_schedule(), |schedule| Run::new(&schedule).finish().map(drop));
}

#[test]
fn a_path_that_loses_nothing_and_reorders_within_the_bitmap_sees_no_retransmission() {
    check(lossless_schedule(), |schedule| {
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!((outcome.retransmissions, outcome.timeouts, outcome.nacks), (0, 0, 0));
        Ok(())
    });
}

/// If the bitmap refuses a packet, its NACK causes the retransmission, so that no packet waits for a timeout.
#[test]
fn a_path_that_loses_nothing_but_order_sees_no_timeout() {
    check(lossless_schedule(), |mut schedule| {
        schedule.ends.bitmap = 1 + schedule.ends.bitmap / 4;
        schedule.ends.all_answered = false;
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!(outcome.timeouts, 0);
        prop_assert_eq!(outcome.retransmissions == 0, outcome.nacks == 0);
        Ok(())
    });
}

/// Ten packets are sent during the largest jitter of one packet. A large bitmap has room for them, and a bitmap of a
/// single slot refuses those that arrive out of order.
#[test]
fn a_bitmap_that_is_too_small_makes_the_sender_go_back() -> Result<(), TestCaseError> {
    for (bitmap, fits) in [(400, true), (1, false)] {
        let mut schedule = calm_schedule(400, calm_ends(128));
        schedule.ends.bitmap = bitmap;
        schedule.path.jitter = Duration::from_us(1);
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!((outcome.nacks == 0, outcome.retransmissions == 0), (fits, fits), "{:?}", outcome);
        prop_assert_eq!(outcome.timeouts, 0);
    }
    Ok(())
}

/// A loss shows 64 packets later, when a packet has no slot. The repair costs the round trip of the NACK and the
/// retransmission. The receiver already has 63 of the retransmitted packets. If fewer than 64 packets follow the lost
/// packet, only the timeout reveals the loss.
#[test]
fn one_loss_costs_a_nack_or_near_the_end_a_timeout() -> Result<(), TestCaseError> {
    let mut schedule = calm_schedule(400, calm_ends(128));
    let calm = Run::new(&schedule).finish()?;
    let (wire, round) = (schedule.path.wire, schedule.path.longest_round());
    let on_the_way = round.0 / wire.0 + 2;
    for lost in 1..=400 {
        schedule.path.faults.dropped = vec![lost];
        let outcome = Run::new(&schedule).finish()?;
        let has_nack = lost + 64 <= 400;
        prop_assert_eq!((outcome.nacks > 0, outcome.timeouts), (has_nack, u64::from(!has_nack)), "{}", lost);
        // At most, the sender retransmits the packets from the lost packet up to the last packet that was sent before
        // the first NACK arrived.
        let most = if has_nack { 64 + on_the_way } else { 401 - lost };
        prop_assert!(outcome.retransmissions <= most, "{}: {:?}", lost, outcome);
        let waited = if has_nack { round } else { schedule.ends.rto };
        let latest = calm.finished + waited + round + wire * (64 + on_the_way);
        prop_assert!(outcome.finished <= latest, "packet {}: {} after {}", lost, outcome.finished, latest);
    }
    Ok(())
}

/// If the retransmission that a NACK caused is lost as well, packets that were sent after it cause further NACKs. The
/// message then takes more than one further round trip. If any other packet is lost in addition to packet 100, the
/// message takes at most one further round trip.
#[test]
fn a_packet_lost_twice_costs_another_nack() -> Result<(), TestCaseError> {
    let mut schedule = calm_schedule(400, calm_ends(128));
    schedule.path.faults.dropped = vec![100];
    let once = Run::new(&schedule).finish()?;
    let mut late = Vec::new();
    for other in 101..=300 {
        schedule.path.faults.dropped = vec![100, other];
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!(outcome.timeouts, 0);
        if outcome.finished > once.finished + schedule.path.longest_round() {
            late.push(other);
        }
    }
    // Packet 164 is the first one without a slot. The lost packet is retransmitted a round trip after packet 164 was
    // sent.
    let again = 164 + schedule.path.longest_round().0 / schedule.path.wire.0;
    prop_assert_eq!(late, vec![again]);
    Ok(())
}

#[derive(Clone, Debug)]
struct MpRdmaEnds {
    balancer: LbConfig,
    cc: CcConfig,
    delta: u32,
    bitmap: u32,
    restart_after: Duration,
    rto: Duration,
    /// Whether each packet is answered once, so that the model knows how many are in flight.
    all_answered: bool,
}

impl Ends for MpRdmaEnds {
    type Sender = CheckedSender;
    type Receiver = CheckedReceiver;
    const HEADERS: Headers = Headers::Extended;

    fn build(schedule: &Schedule<Self>) -> (CheckedSender, CheckedReceiver) {
        let (transport, facts) = (schedule.transport(), schedule.path.facts());
        let sender = transport.build_sender(ENDS, &facts, schedule.cc(), schedule.lb());
        match (sender, transport.build_receiver(ENDS, &facts)) {
            (AnySender::MpRdma(sender), AnyReceiver::MpRdma(receiver)) => {
                (CheckedSender::new(schedule, sender), CheckedReceiver::new(schedule, receiver))
            }
            _ => unreachable!("mp-rdma builds its own ends"),
        }
    }

    /// An RTO and a round trip after the last network fault, the fault no longer affects the path. Then the packets
    /// follow one after the other. The lowest unacknowledged packet always has a slot. It is sent before all others
    /// when the sender goes back, at the latest because of the timeout, and is acknowledged a round trip later.
    fn deadline(schedule: &Schedule<Self>) -> Time {
        let turn =
            schedule.ends.rto + schedule.timer_lag + schedule.path.wire + schedule.path.longest_round();
        schedule.quiet_from() + turn * (schedule.packets() + 1)
    }
}

impl Schedule<MpRdmaEnds> {
    fn transport(&self) -> TransportConfig {
        TransportConfig::MpRdma(MpRdmaConfig {
            payload: Bytes(PAYLOAD),
            header: Bytes(HEADER),
            ack: Bytes(ACK),
            delta: self.ends.delta,
            bitmap: self.ends.bitmap,
            restart_after: Span::Time(self.ends.restart_after),
            rto: Span::Time(self.ends.rto),
        })
    }

    fn cc(&self) -> AnyCc {
        self.ends.cc.build(&self.path.facts())
    }

    fn lb(&self) -> AnyLb {
        let environment = Environment { facts: self.path.facts(), rto: self.ends.rto, trimming: false };
        self.path.lb(&self.ends.balancer, &environment)
    }
}

fn calm_ends(window: u64) -> MpRdmaEnds {
    MpRdmaEnds {
        balancer: LbConfig::MpRdma(MpRdmaLbConfig {
            paths: 256,
            probe: 0.01,
            probe_interval: Span::Rtt(1.0),
        }),
        cc: CcConfig::Constant(ConstantConfig { window: Size::Bytes(Bytes(window * PACKET)) }),
        delta: 32,
        bitmap: 64,
        restart_after: Duration::from_us(300),
        rto: Duration::from_us(100),
        all_answered: false,
    }
}

/// Arbitrary parameters, among them RTOs below the round trip, windows below a packet, bitmaps of one slot and
/// reordering that never ends. All kinds of network faults occur together.
fn any_schedule() -> impl Strategy<Value = Schedule<MpRdmaEnds>> {
    (messages(), ends(), rto(), timer_lag(), path(), faults(), any::<bool>()).prop_map(
        |(messages, ends, rto, timer_lag, path, faults, in_order)| Schedule {
            messages,
            ends: MpRdmaEnds { rto, ..ends },
            timer_lag,
            path: Path { faults, in_order, ..path },
        },
    )
}

/// A path that delays and marks, and that reorders no more packets than the bitmap has slots for. The RTO is just above
/// a round trip.
fn lossless_schedule() -> impl Strategy<Value = Schedule<MpRdmaEnds>> {
    (messages(), ends(), timer_lag(), path(), chance()).prop_map(
        |(messages, ends, timer_lag, path, marking)| {
            let faults = Faults { until: Time::NEVER, marking, ..Faults::default() };
            // The bitmap has room for a packet and for all packets that are sent while this packet is delayed by the
            // largest jitter.
            let bitmap = (path.jitter.0 / path.wire.0) as u32 + 1;
            let rto = path.longest_round() + Duration(1);
            let ends = MpRdmaEnds { bitmap, rto, all_answered: true, ..ends };
            Schedule { messages, ends, timer_lag, path: Path { faults, ..path } }
        },
    )
}

fn ends() -> impl Strategy<Value = MpRdmaEnds> {
    let probe = (1u32..=65_536, prop_oneof![Just(0.0), Just(0.01), Just(1.0)], us(0..30));
    let balancer = prop_oneof![
        4 => probe.prop_map(|(paths, probe, interval)| {
            LbConfig::MpRdma(MpRdmaLbConfig { paths, probe, probe_interval: Span::Time(interval) })
        }),
        1 => Just(LbConfig::Ecmp {}),
        1 => (1u32..=65_536).prop_map(|evs| LbConfig::Ops(OpsConfig { evs })),
    ];
    let own = (window(), 1u64..=100).prop_map(|(max, percent)| {
        let of = |percent: u64| Size::Bytes(Bytes((max * percent / 100).max(1)));
        CcConfig::MpRdma(MpRdmaCcConfig { initial_window: of(percent), max_window: of(100) })
    });
    let cc = prop_oneof![4 => own, 1 => constant(), 1 => dctcp()];
    let bitmap = prop_oneof![1 => 1u32..4, 2 => 4u32..200, 3 => Just(64)];
    let delta = prop_oneof![1 => 0u32..4, 2 => 4u32..100, 3 => Just(32)];
    (balancer, cc, delta, bitmap, us(1..500)).prop_map(|(balancer, cc, delta, bitmap, restart_after)| {
        MpRdmaEnds { balancer, cc, delta, bitmap, restart_after, rto: Duration::ZERO, all_answered: false }
    })
}
