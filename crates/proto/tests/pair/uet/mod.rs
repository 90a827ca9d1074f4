//! The `uet` transport with its own and with other congestion controls and balancers.

mod receiver;
mod sender;

use crate::pair::check;
use crate::pair::congestion::{constant, dcqcn, dctcp, slowest_packet};
use crate::pair::run::Run;
use crate::pair::schedule::*;
use anabranch_base::{Bytes, Duration, Time};
use anabranch_proto::cc::{AnyCc, CcConfig, ConstantConfig, NsccConfig};
use anabranch_proto::lb::{AnyLb, BitmapConfig, Decay, Environment, LbConfig, MixedConfig, OpsConfig};
use anabranch_proto::transport::{CreditConfig, Headers, UetConfig};
use anabranch_proto::{Pace, Size, Span};
use proptest::prelude::*;
use receiver::CheckedReceiver;
use sender::CheckedSender;

/// Size in bytes of NACKs, probes, pulls and requests for credit.
pub const CONTROL: u64 = 62;

#[test]
fn every_message_arrives_once_whatever_the_path_does() {
    check(any_schedule(), |schedule| Run::new(&schedule).finish().map(drop));
}

/// Here no rule infers losses from gaps.
#[test]
fn a_path_that_loses_nothing_sees_no_retransmission() {
    check(harmless_schedule(), |schedule| {
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!((outcome.retransmissions, outcome.timeouts), (0, 0));
        Ok(())
    });
}

/// If switches trim packets but lose none, each trim causes one retransmission and no timeout.
#[test]
fn a_path_that_trims_costs_no_timeout() {
    check(trimming_schedule(), |schedule| {
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!((outcome.retransmissions, outcome.timeouts), (outcome.nacks, 0));
        Ok(())
    });
}

/// If the path keeps the order and the receiver acknowledges every packet, each loss causes exactly one timeout and
/// one retransmission, and no other packet is retransmitted.
#[test]
fn a_path_that_keeps_order_sees_only_what_it_lost_again() {
    check(lossy_schedule(), |schedule| {
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!((outcome.retransmissions, outcome.timeouts), (outcome.lost, outcome.lost));
        Ok(())
    });
}

/// Inferred loss finds a single lost packet without a timeout, if enough packets follow it. Only that packet is
/// retransmitted.
#[test]
fn inferred_loss_costs_one_packet_and_no_timeout() -> Result<(), TestCaseError> {
    for loss_packets in [1, 5, 20] {
        let ends = UetEnds { loss_packets, sack_every: 0, ..calm_ends(80 * PACKET) };
        for lost in 1..=300 {
            let mut schedule = calm_schedule(400, ends.clone());
            schedule.path.faults.dropped = vec![lost];
            let outcome = Run::new(&schedule).finish()?;
            prop_assert_eq!((outcome.retransmissions, outcome.timeouts), (1, 0), "packet {}", lost);
        }
    }
    Ok(())
}

/// Inferred loss finds two lost packets without a timeout. The second packet may be the last packet of the window that
/// the first packet begins. It then lies beyond the packets that had arrived when the recovery began.
#[test]
fn inferred_loss_finds_a_second_loss_in_the_same_window() -> Result<(), TestCaseError> {
    for (loss_packets, loss_windows) in [(5, 0.0), (5, 1.0), (5, 1.5)] {
        let ends = UetEnds { loss_packets, loss_windows, sack_every: 0, ..calm_ends(80 * PACKET) };
        for (first, apart) in [(1, 79), (40, 1), (40, 40), (40, 79), (40, 80), (100, 79)] {
            let mut schedule = calm_schedule(600, ends.clone());
            schedule.path.faults.dropped = vec![first, first + apart];
            let outcome = Run::new(&schedule).finish()?;
            let counts = (outcome.retransmissions, outcome.timeouts);
            prop_assert_eq!(counts, (2, 0), "{} and {} later, {} windows", first, apart, loss_windows);
        }
    }
    Ok(())
}

/// A lost packet near the end of the message is found without a timeout. If too few packets follow it, a probe finds
/// it.
#[test]
fn a_probe_finds_what_no_packet_follows() -> Result<(), TestCaseError> {
    let ends = UetEnds {
        loss_packets: 5,
        sack_every: 0,
        probe_after: Some(Duration::from_us(24)),
        ..calm_ends(80 * PACKET)
    };
    for lost in 395..=400 {
        let mut schedule = calm_schedule(400, ends.clone());
        schedule.path.faults.dropped = vec![lost];
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!((outcome.retransmissions, outcome.timeouts), (1, 0), "packet {}", lost);
    }
    Ok(())
}

/// If only credit limits the sender, packets arrive at the pacer's rate once the speculative credit is spent or
/// cancelled.
#[test]
fn packets_come_at_the_rate_of_the_pulls() -> Result<(), TestCaseError> {
    for (percent, grant) in [(100, 4), (50, 4), (50, 1), (10, 4)] {
        let ends = UetEnds {
            credit: Some((100, grant, percent)),
            cc: CcConfig::Constant(ConstantConfig { window: Size::Packets(1_000.0) }),
            rto: Duration::from_us(1_000_000),
            ..calm_ends(0)
        };
        let outcome = Run::new(&calm_schedule(1_000, ends)).finish()?;
        prop_assert_eq!((outcome.retransmissions, outcome.timeouts), (0, 0));
        // The speculative credit covers at most 100 packets. Each other packet takes 100 ns at the line rate.
        let least = Duration::from_ns(900 * 100 * 100 / u64::from(percent));
        let took = outcome.finished.since(Time::ZERO);
        prop_assert!(took >= least, "{} at {} %", took, percent);
        prop_assert!(took.0 <= least.0 + least.0 / 20 + 30_000_000, "{} at {} %", took, percent);
    }
    Ok(())
}

/// The timeout of a packet doubles with each retransmission, at most `doublings` times.
#[test]
fn timeouts_double() -> Result<(), TestCaseError> {
    for (doublings, us) in
        [(0, 400), (1, 100 + 3 * 200), (2, 100 + 200 + 2 * 400), (5, 100 + 200 + 400 + 800)]
    {
        let mut schedule = calm_schedule(1, UetEnds { doublings, ..calm_ends(10 * PACKET) });
        schedule.path.faults.dropped = vec![1, 2, 3, 4];
        let outcome = Run::new(&schedule).finish()?;
        let finished = Time::ZERO + Duration::from_us(us + 8);
        prop_assert_eq!((outcome.timeouts, outcome.finished), (4, finished), "{} doublings", doublings);
    }
    Ok(())
}

#[derive(Clone, Debug)]
pub struct UetEnds {
    balancer: LbConfig,
    cc: CcConfig,
    /// Number of full packets that make an ACK due. With 0, every packet makes one due.
    sack_every: u64,
    received_unit: u64,
    mpr: u32,
    doublings: u32,
    loss_packets: u32,
    loss_windows: f64,
    probe_after: Option<Duration>,
    /// The credit window in packets, the number of packets per pull, and the pull rate in percent of the line rate.
    /// None without credit.
    credit: Option<(u32, u32, u32)>,
    rto: Duration,
}

impl Ends for UetEnds {
    type Sender = CheckedSender;
    type Receiver = CheckedReceiver;
    const HEADERS: Headers = Headers::Extended;

    fn build(schedule: &Schedule<Self>) -> (CheckedSender, CheckedReceiver) {
        (CheckedSender::new(schedule), CheckedReceiver::new(schedule))
    }

    /// The time by which every message must be complete. After the last network fault, each packet may be sent at the
    /// lowest rate, reach its longest timeout and be retransmitted. The retransmission is acknowledged immediately.
    fn deadline(schedule: &Schedule<Self>) -> Time {
        let UetEnds { rto, doublings, cc, credit, .. } = &schedule.ends;
        let (longest, round) = (*rto * (1 << doublings) + schedule.timer_lag, schedule.path.longest_round());
        let pace = slowest_packet(cc, &schedule.path.facts()) + schedule.timer_lag;
        // With credit, each packet may also have to be requested and pulled.
        let request = match credit {
            Some((_, grant, percent)) => {
                let rate = Pace::Line(f64::from(*percent) / 100.0).on(&schedule.path.facts());
                *rto + schedule.timer_lag + round + rate.time_for(u64::from(*grant) * PACKET + 256)
            }
            None => Duration::ZERO,
        };
        let turn = (longest + pace + schedule.path.wire + request) * 2 + round;
        schedule.quiet_from() + (longest + round) * 2 + turn * schedule.packets()
    }
}

impl Schedule<UetEnds> {
    fn transport(&self) -> UetConfig {
        UetConfig {
            payload: Bytes(PAYLOAD),
            header: Bytes(HEADER),
            ack: Bytes(ACK),
            control: Bytes(CONTROL),
            sack_bytes: Bytes((self.ends.sack_every * PACKET).max(1)),
            received_unit: Bytes(self.ends.received_unit),
            mpr: self.ends.mpr,
            rto: Span::Time(self.ends.rto),
            rto_doublings: self.ends.doublings,
            loss_packets: self.ends.loss_packets,
            loss_windows: self.ends.loss_windows,
            probe_after: self.ends.probe_after.map(Span::Time),
            credit: self.ends.credit.map(|(window, grant, percent)| CreditConfig {
                window: Size::Packets(window.into()),
                grant: Size::Packets(grant.into()),
                rate: Pace::Line(f64::from(percent) / 100.0),
                follows_fabric: false,
                least_share: 0.01,
            }),
        }
    }

    fn cc(&self) -> AnyCc {
        self.ends.cc.build(&self.path.facts())
    }

    fn lb(&self) -> AnyLb {
        let environment = Environment { facts: self.path.facts(), rto: self.ends.rto, trimming: true };
        self.path.lb(&self.ends.balancer, &environment)
    }
}

fn calm_ends(window: u64) -> UetEnds {
    UetEnds {
        balancer: LbConfig::Ops(OpsConfig { evs: 256 }),
        cc: CcConfig::Constant(ConstantConfig { window: Size::Bytes(Bytes(window)) }),
        sack_every: 16,
        received_unit: 1,
        mpr: 1_024,
        doublings: 0,
        loss_packets: 0,
        loss_windows: 0.0,
        probe_after: None,
        credit: None,
        rto: Duration::from_us(100),
    }
}

/// Arbitrary parameters, among them RTOs below the round trip and windows below a packet. All kinds of network faults
/// occur together.
fn any_schedule() -> impl Strategy<Value = Schedule<UetEnds>> {
    let credit = prop::option::of((1u32..100, 1u32..8, 1u32..=100));
    let ends = (ends(), rto(), 0u32..4, inferred(), (prop::option::of(us(1..100)), credit));
    (messages(), ends, timer_lag(), path(), faults()).prop_map(
        |(
            messages,
            (ends, rto, doublings, (loss_packets, loss_windows), (probe_after, credit)),
            timer_lag,
            path,
            faults,
        )| {
            let ends = UetEnds { rto, doublings, loss_packets, loss_windows, probe_after, credit, ..ends };
            Schedule { messages, ends, timer_lag, path: Path { faults, ..path } }
        },
    )
}

/// A path that reorders, duplicates and marks packets but loses none. The RTO exceeds every delay of the path. The
/// window is constant, so that the last packet that it admits requests an ACK.
fn harmless_schedule() -> impl Strategy<Value = Schedule<UetEnds>> {
    (messages(), constant_ends(), timer_lag(), path(), chance(), chance()).prop_map(
        |(messages, ends, timer_lag, path, duplication, marking)| {
            let faults = Faults { until: Time::NEVER, duplication, marking, ..Faults::default() };
            let packets: u64 = messages.iter().map(|message| u64::from(message.packets)).sum();
            let rto = path.longest_round() * 3 + path.wire * (2 * packets + 2);
            Schedule { messages, ends: UetEnds { rto, ..ends }, timer_lag, path: Path { faults, ..path } }
        },
    )
}

fn trimming_schedule() -> impl Strategy<Value = Schedule<UetEnds>> {
    (messages(), constant_ends(), timer_lag(), path(), 1u32..150, us(0..400)).prop_map(
        |(messages, ends, timer_lag, path, trimming, until)| {
            let faults = Faults { until: Time::ZERO + until, trimming, ..Faults::default() };
            let ends = UetEnds { rto: Duration::from_us(1_000_000), ..ends };
            Schedule { messages, ends, timer_lag, path: Path { faults, in_order: true, ..path } }
        },
    )
}

/// A path that loses data packets, keeps the order, and carries every ACK. The receiver acknowledges every packet.
fn lossy_schedule() -> impl Strategy<Value = Schedule<UetEnds>> {
    (messages(), constant_ends(), timer_lag(), path(), 1u32..200, us(0..400), 0u32..4).prop_map(
        |(messages, ends, timer_lag, path, data_loss, until, doublings)| {
            let faults = Faults { until: Time::ZERO + until, data_loss, ..Faults::default() };
            let packets: u64 = messages.iter().map(|message| u64::from(message.packets)).sum();
            let rto = path.longest_round() * 2 + path.wire * (packets + 2);
            let ends = UetEnds { rto, doublings, sack_every: 0, ..ends };
            Schedule { messages, ends, timer_lag, path: Path { faults, in_order: true, ..path } }
        },
    )
}

fn inferred() -> impl Strategy<Value = (u32, f64)> {
    prop_oneof![2 => Just((0, 0.0)), 1 => Just((5, 0.0)), 1 => Just((5, 1.5)), 1 => (1u32..10, 0.0..2.0)]
}

fn constant_ends() -> impl Strategy<Value = UetEnds> {
    (ends(), constant()).prop_map(|(ends, cc)| UetEnds { cc, ..ends })
}

fn ends() -> impl Strategy<Value = UetEnds> {
    let mixed =
        (1u32..=64, 0u32..=255, 1u32..=255, 1u32..=64).prop_map(|(evs, penalty, max_penalty, buffer)| {
            LbConfig::Mixed(MixedConfig {
                evs,
                buffer,
                ecn_penalty: penalty,
                trim_penalty: penalty,
                timeout_penalty: penalty,
                max_penalty,
            })
        });
    let bitmap = (1u32..=64, 0u32..=255, 1u32..=255).prop_map(|(evs, penalty, max_penalty)| {
        LbConfig::Bitmap(BitmapConfig {
            evs,
            ecn_penalty: penalty,
            trim_penalty: penalty,
            timeout_penalty: penalty,
            max_penalty,
            remembered: 0,
            skip_limit: 0.5,
            decay: if evs % 2 == 0 { Decay::Each } else { Decay::First },
        })
    });
    let balancer =
        prop_oneof![mixed, bitmap, (1u32..=65_536).prop_map(|evs| LbConfig::Ops(OpsConfig { evs }))];
    let nscc = (window(), any::<bool>()).prop_map(|(window, htsim)| {
        let window = Size::Bytes(Bytes(window));
        let config = if htsim { NsccConfig::htsim() } else { NsccConfig::spec() };
        CcConfig::Nscc(NsccConfig { initial_window: window, max_window: window, ..config })
    });
    let cc = prop_oneof![4 => nscc, 2 => constant(), 1 => dctcp(), 1 => dcqcn()];
    let sack_every = prop_oneof![Just(0), Just(1), Just(4), Just(16), Just(100)];
    (balancer, cc, sack_every, prop_oneof![Just(1), Just(256)], prop_oneof![Just(128), Just(1_024)]).prop_map(
        |(balancer, cc, sack_every, received_unit, mpr)| UetEnds {
            balancer,
            cc,
            sack_every,
            received_unit,
            mpr,
            ..calm_ends(0)
        },
    )
}
