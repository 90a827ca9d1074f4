//! The `eqds` transport, including the pull pacer of the receiver's host.
//!
//! The reliability of `eqds` is that of `sack`, whose own tests compare it with models. Here a `sack` sender or
//! receiver runs beside each `eqds` sender or receiver. The `sack` end gets the same calls, except those that only
//! concern credit.

mod receiver;
mod sender;

use crate::pair::check;
use crate::pair::run::Run;
use crate::pair::schedule::*;
use anabranch_base::{Bytes, Duration, Time};
use anabranch_proto::cc::ConstantConfig;
use anabranch_proto::cc::{AnyCc, CcConfig};
use anabranch_proto::lb::{AnyLb, Environment, LbConfig, OpsConfig};
use anabranch_proto::transport::{EqdsConfig, Headers, SackConfig};
use anabranch_proto::{Pace, Size, Span};
use proptest::prelude::*;
use receiver::CheckedReceiver;
use sender::CheckedSender;

#[test]
fn every_message_arrives_once_whatever_the_path_does() {
    check(any_schedule(), |schedule| Run::new(&schedule).finish().map(drop));
}

/// If the RTO exceeds all delays of the path, nothing is retransmitted.
#[test]
fn a_path_that_loses_nothing_sees_no_retransmission() {
    check(lossless_schedule(), |schedule| {
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!((outcome.retransmissions, outcome.timeouts), (0, 0));
        Ok(())
    });
}

/// If the receiver always knows the sender's demand, packets arrive at the rate of the pacer.
#[test]
fn a_long_message_takes_as_long_as_its_pulls() -> Result<(), TestCaseError> {
    for (window, percent) in [(100, 100), (200, 50), (100, 25)] {
        let schedule = calm_schedule(2_000, EqdsEnds { window, percent, ..calm_ends() });
        let outcome = Run::new(&schedule).finish()?;
        let (interval, round) = (schedule.interval(), schedule.path.longest_round());
        let pulls = interval * (2_000 - u64::from(window).min(round.0 / schedule.path.wire.0 + 1));
        prop_assert!(outcome.finished >= Time::ZERO + pulls, "{} before {pulls}", outcome.finished);
        let latest = Time::ZERO + pulls + round * 4 + schedule.path.wire * u64::from(window);
        prop_assert!(outcome.finished <= latest, "{} after {latest}", outcome.finished);
        prop_assert_eq!(outcome.retransmissions, 0);
    }
    Ok(())
}

#[derive(Clone, Debug)]
struct EqdsEnds {
    /// The pull window in packets.
    window: u32,
    /// The pull rate in percent of the line rate.
    percent: u64,
    rto: Duration,
}

impl Ends for EqdsEnds {
    type Sender = CheckedSender;
    type Receiver = CheckedReceiver;
    const HEADERS: Headers = Headers::Extended;

    fn build(schedule: &Schedule<Self>) -> (CheckedSender, CheckedReceiver) {
        (CheckedSender::new(schedule), CheckedReceiver::new(schedule))
    }

    /// Two RTOs and two round trips after the last network fault, the fault no longer affects the path. Then each
    /// packet may have to time out, be requested, be pulled and be sent.
    fn deadline(schedule: &Schedule<Self>) -> Time {
        let (rto, round) = (schedule.ends.rto + schedule.timer_lag, schedule.path.longest_round());
        let turn = rto * 2 + round * 2 + schedule.interval() + schedule.path.wire;
        schedule.quiet_from() + (rto + round) * 2 + turn * schedule.packets()
    }
}

impl Schedule<EqdsEnds> {
    fn transport(&self) -> EqdsConfig {
        EqdsConfig {
            payload: Bytes(PAYLOAD),
            header: Bytes(HEADER),
            ack: Bytes(ACK),
            rto: Span::Time(self.ends.rto),
            pull_window: Size::Bytes(Bytes(u64::from(self.ends.window) * PACKET)),
            pull_rate: Pace::Line(self.ends.percent as f64 / 100.0),
        }
    }

    fn sack(&self) -> SackConfig {
        SackConfig {
            payload: Bytes(PAYLOAD),
            header: Bytes(HEADER),
            ack: Bytes(ACK),
            ack_every: 1,
            carry_evs: false,
            rto: Span::Time(self.ends.rto),
            inherits: Default::default(),
        }
    }

    fn lb(&self) -> AnyLb {
        let trimming = self.path.faults.trimming > 0;
        let environment = Environment { facts: self.path.facts(), rto: self.ends.rto, trimming };
        self.path.lb(&LbConfig::Ops(OpsConfig { evs: 65_536 }), &environment)
    }

    /// A window so large that only credit limits the sender.
    fn cc(&self) -> AnyCc {
        let window = Size::Bytes(Bytes(1 << 40));
        CcConfig::Constant(ConstantConfig { window }).build(&self.path.facts())
    }

    /// The least time between two pulls.
    fn interval(&self) -> Duration {
        let facts = self.path.facts();
        Pace::Line(self.ends.percent as f64 / 100.0).on(&facts).time_for(PACKET)
    }
}

fn calm_ends() -> EqdsEnds {
    EqdsEnds { window: 100, percent: 100, rto: Duration::from_us(1_000) }
}

fn ends() -> impl Strategy<Value = EqdsEnds> {
    let window = prop_oneof![1 => 1u32..4, 3 => 4u32..200];
    let percent = prop_oneof![2 => Just(100), 1 => Just(50), 1 => Just(10)];
    (window, percent, rto()).prop_map(|(window, percent, rto)| EqdsEnds { window, percent, rto })
}

/// Arbitrary parameters, among them RTOs below the round trip and a pull window of one packet. All kinds of network
/// faults occur together.
fn any_schedule() -> impl Strategy<Value = Schedule<EqdsEnds>> {
    (messages(), ends(), timer_lag(), path(), faults()).prop_map(
        |(messages, ends, timer_lag, path, faults)| Schedule {
            messages,
            ends,
            timer_lag,
            path: Path { faults, ..path },
        },
    )
}

/// A path that delays, duplicates, reorders and marks.
fn lossless_schedule() -> impl Strategy<Value = Schedule<EqdsEnds>> {
    (messages(), ends(), timer_lag(), path(), chance(), chance()).prop_map(
        |(messages, ends, timer_lag, path, duplication, marking)| {
            let faults = Faults { until: Time::NEVER, duplication, marking, ..Faults::default() };
            let mut schedule = Schedule { messages, ends, timer_lag, path: Path { faults, ..path } };
            // A whole speculative window may be queued before a packet.
            schedule.ends.rto = schedule.path.longest_round() * 2
                + schedule.path.wire * (u64::from(schedule.ends.window) + 2);
            schedule
        },
    )
}
