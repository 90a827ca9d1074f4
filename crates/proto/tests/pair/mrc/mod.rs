//! Tests of the rules that `mrc` adds to `uet`. The tests of `uet` compare the common part with models.

mod ends;

use crate::pair::check;
use crate::pair::congestion::{constant, slowest_packet};
use crate::pair::run::Run;
use crate::pair::sack::mrc_balancer;
use crate::pair::schedule::*;
use anabranch_base::{Bytes, Duration, Time};
use anabranch_proto::cc::{CcConfig, ConstantConfig, NsccConfig};
use anabranch_proto::lb::{LbConfig, MrcLbConfig};
use anabranch_proto::transport::{Headers, MrcConfig, TransportConfig};
use anabranch_proto::{Size, Span};
use ends::{MrcReceiverEnd, MrcSenderEnd};
use proptest::prelude::*;

/// Size of NACKs in bytes.
pub const CONTROL: u64 = 102;

/// Size of probes and requests in bytes.
pub const REQUEST: u64 = 98;

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

/// If paths keep the order and each packet is acknowledged, a lost packet is retransmitted as soon as a later packet of
/// the same path has arrived, and no other packet is retransmitted.
#[test]
fn a_later_packet_of_its_path_tells_of_a_loss() -> Result<(), TestCaseError> {
    for evs in [1, 2, 8] {
        let ends = MrcEnds { loss_by_path: true, sack_every: 0, balancer: balancer(evs), ..calm_ends() };
        for lost in 1..=300 {
            let mut schedule = calm_schedule(400, ends.clone());
            schedule.path.faults.dropped = vec![lost];
            schedule.path.in_order = true;
            let outcome = Run::new(&schedule).finish()?;
            // The dropped packet may be a probe or a request. It is then not retransmitted, and `outcome.lost` does not
            // count it.
            let counts = (outcome.retransmissions, outcome.timeouts);
            prop_assert_eq!(counts, (outcome.lost, 0), "packet {} of {}", lost, evs);
        }
    }
    Ok(())
}

/// The first `rto_linear` timeouts of a packet leave its timeout of 100 us unchanged. Each later timeout doubles the
/// time, here at most twice.
#[test]
fn timeouts_double_after_some() -> Result<(), TestCaseError> {
    let LbConfig::Mrc(no_probes) = balancer(1) else { unreachable!() };
    let no_probes = MrcLbConfig { probe_interval: Span::Time(Duration::from_us(1_000_000)), ..no_probes };
    for (linear, us) in [(0, 100 + 200 + 400 + 400), (1, 100 + 100 + 200 + 400), (3, 400), (7, 400)] {
        let balancer = LbConfig::Mrc(no_probes.clone());
        let ends = MrcEnds { rto_linear: linear, rto_doublings: 2, balancer, ..calm_ends() };
        let mut schedule = calm_schedule(1, ends);
        schedule.path.faults.dropped = vec![1, 2, 3, 4];
        let outcome = Run::new(&schedule).finish()?;
        let finished = Time::ZERO + Duration::from_us(us + 8);
        prop_assert_eq!((outcome.timeouts, outcome.finished), (4, finished), "{} at first", linear);
        let rounds = TransportConfig::Mrc(schedule.transport()).timeouts_of_rounds(4.0);
        prop_assert_eq!(rounds, us as f64 / 100.0, "{} at first", linear);
    }
    Ok(())
}

#[derive(Clone, Debug)]
pub struct MrcEnds {
    balancer: LbConfig,
    cc: CcConfig,
    /// `sack_bytes` in full packets. With 0, every packet makes a SACK due.
    sack_every: u64,
    rto: Duration,
    rto_linear: u32,
    rto_doublings: u32,
    loss: (u32, f64),
    loss_by_path: bool,
    probe_after: Option<Duration>,
}

impl Ends for MrcEnds {
    type Sender = MrcSenderEnd;
    type Receiver = MrcReceiverEnd;
    const HEADERS: Headers = Headers::Extended;

    fn build(schedule: &Schedule<Self>) -> (MrcSenderEnd, MrcReceiverEnd) {
        (MrcSenderEnd::new(schedule), MrcReceiverEnd::new(schedule))
    }

    /// After the last network fault, each packet may be sent at the lowest rate, reach its longest timeout and be
    /// retransmitted. The retransmission is acknowledged immediately. Probes and requests take time on the wire as
    /// well.
    fn deadline(schedule: &Schedule<Self>) -> Time {
        let MrcEnds { rto, rto_doublings, cc, .. } = &schedule.ends;
        let (longest, round) =
            (*rto * (1 << rto_doublings) + schedule.timer_lag, schedule.path.longest_round());
        let pace = slowest_packet(cc, &schedule.path.facts()) + schedule.timer_lag;
        let turn = (longest + pace + schedule.path.wire * 4) * 2 + round;
        schedule.quiet_from() + (longest + round) * 2 + turn * schedule.packets()
    }
}

impl Schedule<MrcEnds> {
    fn transport(&self) -> MrcConfig {
        let ends = &self.ends;
        MrcConfig {
            payload: Bytes(PAYLOAD),
            header: Bytes(HEADER),
            ack: Bytes(ACK),
            control: Bytes(CONTROL),
            request: Bytes(REQUEST),
            sack_bytes: Bytes((ends.sack_every * PAYLOAD).max(1)),
            received_unit: Bytes(1),
            mpr: 1_024,
            rto: Span::Time(ends.rto),
            rto_linear: ends.rto_linear,
            rto_doublings: ends.rto_doublings,
            loss_packets: ends.loss.0,
            loss_windows: ends.loss.1,
            loss_by_path: ends.loss_by_path,
            probe_after: ends.probe_after.map(Span::Time),
        }
    }
}

fn balancer(evs: u32) -> LbConfig {
    LbConfig::Mrc(MrcLbConfig {
        evs,
        active: evs,
        min_active: 0.25,
        probe_interval: Span::Time(Duration::from_us(20)),
        probe_successes: 1,
        denied: Vec::new(),
    })
}

fn calm_ends() -> MrcEnds {
    MrcEnds {
        balancer: balancer(128),
        cc: CcConfig::Constant(ConstantConfig { window: Size::Packets(80.0) }),
        sack_every: 16,
        rto: Duration::from_us(100),
        rto_linear: 0,
        rto_doublings: 0,
        loss: (0, 0.0),
        loss_by_path: false,
        probe_after: None,
    }
}

/// Arbitrary parameters, among them RTOs below the round trip and windows below a packet. All kinds of network faults
/// occur together.
fn any_schedule() -> impl Strategy<Value = Schedule<MrcEnds>> {
    let loss = prop_oneof![Just((0, 0.0)), Just((5, 1.5)), (1u32..10, 0.0..2.0)];
    let ends = (ends(), rto(), (0u32..=7, 0u32..4), loss, any::<bool>(), prop::option::of(us(1..100)));
    (messages(), ends, timer_lag(), path(), faults()).prop_map(
        |(
            messages,
            (ends, rto, (rto_linear, rto_doublings), loss, loss_by_path, probe_after),
            timer_lag,
            path,
            faults,
        )| {
            let ends = MrcEnds { rto, rto_linear, rto_doublings, loss, loss_by_path, probe_after, ..ends };
            Schedule { messages, ends, timer_lag, path: Path { faults, ..path } }
        },
    )
}

/// A path that reorders, duplicates and marks packets but loses none. The RTO exceeds every delay of the path. The
/// window never shrinks, so that the last packet that it admits requests an ACK.
fn harmless_schedule() -> impl Strategy<Value = Schedule<MrcEnds>> {
    (messages(), constant_ends(), timer_lag(), path(), chance(), chance()).prop_map(
        |(messages, ends, timer_lag, path, duplication, marking)| {
            let faults = Faults { until: Time::NEVER, duplication, marking, ..Faults::default() };
            let packets: u64 = messages.iter().map(|message| u64::from(message.packets)).sum();
            let rto = path.longest_round() * 3 + path.wire * (4 * packets + 4);
            Schedule { messages, ends: MrcEnds { rto, ..ends }, timer_lag, path: Path { faults, ..path } }
        },
    )
}

/// A path that trims and keeps order.
fn trimming_schedule() -> impl Strategy<Value = Schedule<MrcEnds>> {
    (messages(), constant_ends(), timer_lag(), path(), 1u32..150, us(0..400)).prop_map(
        |(messages, ends, timer_lag, path, trimming, until)| {
            let faults = Faults { until: Time::ZERO + until, trimming, ..Faults::default() };
            let ends = MrcEnds { rto: Duration::from_us(1_000_000), ..ends };
            Schedule { messages, ends, timer_lag, path: Path { faults, in_order: true, ..path } }
        },
    )
}

fn constant_ends() -> impl Strategy<Value = MrcEnds> {
    (ends(), constant()).prop_map(|(ends, cc)| MrcEnds { cc, ..ends })
}

fn ends() -> impl Strategy<Value = MrcEnds> {
    let nscc = window().prop_map(|window| {
        let window = Size::Bytes(Bytes(window));
        CcConfig::Nscc(NsccConfig { initial_window: window, max_window: window, ..NsccConfig::spec() })
    });
    let cc = prop_oneof![2 => nscc, 1 => constant()];
    let sack_every = prop_oneof![Just(0), Just(1), Just(4), Just(16), Just(100)];
    (mrc_balancer(), cc, sack_every).prop_map(|(balancer, cc, sack_every)| MrcEnds {
        balancer,
        cc,
        sack_every,
        ..calm_ends()
    })
}
