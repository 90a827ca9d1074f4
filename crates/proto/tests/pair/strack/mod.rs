//! The `strack` transport, with its own congestion control and load balancer, and with others.

mod receiver;
mod sender;

use crate::pair::check;
use crate::pair::congestion::{constant, dcqcn, dctcp, slowest_packet, strack};
use crate::pair::run::Run;
use crate::pair::schedule::*;
use anabranch_base::{Bytes, Duration, Time};
use anabranch_proto::cc::ConstantConfig;
use anabranch_proto::cc::{AnyCc, CcConfig};
use anabranch_proto::lb::OpsConfig;
use anabranch_proto::lb::{AnyLb, Environment, LbConfig, StrackLbConfig};
use anabranch_proto::transport::{AnyReceiver, AnySender, Headers, StrackConfig, TransportConfig};
use anabranch_proto::{Size, Span};
use proptest::prelude::*;
use receiver::CheckedReceiver;
use sender::CheckedSender;

#[test]
fn every_message_arrives_once_whatever_the_path_does() {
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

/// A packet counts as lost if more than max(cwnd, min_threshold) later packets overtook it (section 3.3.2). Here at
/// most that many packets overtake a packet, so that none is retransmitted. No probe causes a retransmission: either no
/// probe is due within the longest round trip, or no answer to a probe is fast enough to indicate a loss.
#[test]
fn a_path_that_loses_nothing_and_reorders_little_sees_no_retransmission() {
    check(lossless_schedule(false), |schedule| {
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!((outcome.retransmissions, outcome.timeouts), (0, 0));
        if schedule.ends.probe_after > schedule.path.longest_round() {
            prop_assert_eq!(outcome.probes, 0);
        }
        Ok(())
    });
}

/// If every packet is answered and the order is kept, the sender knows which packets are lost. It retransmits exactly
/// these packets and needs no timeout.
#[test]
fn a_path_that_keeps_order_sees_only_what_it_lost_again() {
    check(lossy_schedule(), |schedule| {
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!((outcome.retransmissions, outcome.timeouts), (outcome.lost, 0));
        Ok(())
    });
}

/// A receiver that coalesces more bytes than the window admits gets requests for immediate SACKs.
#[test]
fn a_window_below_sack_bytes_waits_for_nothing() -> Result<(), TestCaseError> {
    for window in [1, PACKET, 2 * PACKET, 5 * PACKET + 1, 15 * PACKET] {
        let schedule = calm_schedule(100, calm_ends(16, window));
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!((outcome.retransmissions, outcome.probes), (0, 0), "window {}", window);
    }
    Ok(())
}

/// A single lost packet is retransmitted without a timeout. If every packet has a SACK, no other packet is
/// retransmitted. With coalesced SACKs, up to `sack_every` packets are retransmitted. Packets that are sent after the
/// lost packet reveal the loss, or a probe does if too few packets follow (section 3.3.2).
#[test]
fn one_loss_costs_one_packet_and_no_timeout() -> Result<(), TestCaseError> {
    for (sack_every, window) in [(1, 20), (1, 80), (1, 4), (8, 20)] {
        let mut schedule = calm_schedule(400, calm_ends(sack_every, window * PACKET));
        let calm = Run::new(&schedule).finish()?;
        let round = schedule.path.longest_round();
        for lost in 1..=400 {
            schedule.path.faults.dropped = vec![lost];
            let outcome = Run::new(&schedule).finish()?;
            prop_assert_eq!(outcome.timeouts, 0, "packet {}", lost);
            // Coalesced SACKs may leave out packets that lie below the highest acknowledged one.
            prop_assert!((1..=sack_every).contains(&outcome.retransmissions), "packet {lost}: {outcome:?}");
            let latest = calm.finished + schedule.ends.probe_after + round * 3;
            prop_assert!(outcome.finished <= latest, "packet {lost}: {} after {latest}", outcome.finished);
        }
    }
    Ok(())
}

#[derive(Clone, Debug)]
struct StrackEnds {
    balancer: LbConfig,
    cc: CcConfig,
    /// Number of full packets that make a SACK due. With 0, any packet does.
    sack_every: u64,
    min_threshold: u32,
    probe_after: Duration,
    probe_rtt: Duration,
    probe_takes_all: bool,
    rto: Duration,
}

impl Ends for StrackEnds {
    type Sender = CheckedSender;
    type Receiver = CheckedReceiver;
    const HEADERS: Headers = Headers::Strack;

    fn build(schedule: &Schedule<Self>) -> (CheckedSender, CheckedReceiver) {
        let (transport, facts) = (schedule.transport(), schedule.path.facts());
        let sender = transport.build_sender(ENDS, &facts, schedule.cc(), schedule.lb());
        match (sender, transport.build_receiver(ENDS, &facts)) {
            (AnySender::Strack(sender), AnyReceiver::Strack(receiver)) => {
                (CheckedSender::new(schedule, sender), CheckedReceiver::new(schedule, receiver))
            }
            _ => unreachable!("strack builds its own ends"),
        }
    }

    /// Two RTOs and two round trips after the last network fault, the fault no longer has any effect. Then the packets
    /// follow one after the other at the lowest rate. Each packet is sent, times out and is retransmitted, until a
    /// probe or enough copies cause a SACK.
    fn deadline(schedule: &Schedule<Self>) -> Time {
        let StrackEnds { rto, probe_after, sack_every, cc, .. } = &schedule.ends;
        let (rto, round) = (*rto + schedule.timer_lag, schedule.path.longest_round());
        let pace = slowest_packet(cc, &schedule.path.facts()) + schedule.timer_lag;
        let probe = (*probe_after + schedule.timer_lag + round).max(schedule.path.wire * *sack_every);
        let turn = (rto + pace + schedule.path.wire) * 2 + round + probe;
        schedule.quiet_from() + (rto + round) * 2 + turn * schedule.packets()
    }
}

impl Schedule<StrackEnds> {
    fn transport(&self) -> TransportConfig {
        TransportConfig::Strack(StrackConfig {
            payload: Bytes(PAYLOAD),
            header: Bytes(HEADER),
            ack: Bytes(ACK),
            sack_bytes: Bytes(self.ends.sack_every * PACKET),
            min_threshold: self.ends.min_threshold,
            probe_after: Span::Time(self.ends.probe_after),
            probe_rtt: Span::Time(self.ends.probe_rtt),
            probe_takes_all: self.ends.probe_takes_all,
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

/// Parameters with the paper's three RTTs before a probe. An answer is fast if it takes less than two RTTs.
fn calm_ends(sack_every: u64, window: u64) -> StrackEnds {
    StrackEnds {
        balancer: LbConfig::Strack(StrackLbConfig { max_paths: 256, min_paths: 8 }),
        cc: CcConfig::Constant(ConstantConfig { window: Size::Bytes(Bytes(window)) }),
        sack_every,
        min_threshold: 5,
        probe_after: Duration::from_us(24),
        probe_rtt: Duration::from_us(16),
        probe_takes_all: true,
        rto: Duration::from_us(300),
    }
}

/// Arbitrary parameters, among them RTOs below the round trip, windows below a packet and reordering that never ends.
/// All kinds of network faults except trimming occur together.
fn any_schedule() -> impl Strategy<Value = Schedule<StrackEnds>> {
    let probes = (us(1..100), us(0..60));
    (messages(), ends(), rto(), probes, timer_lag(), path(), faults(), any::<bool>()).prop_map(
        |(messages, ends, rto, (probe_after, probe_rtt), timer_lag, path, faults, in_order)| {
            let faults = Faults { trimming: 0, ..faults };
            Schedule {
                messages,
                ends: StrackEnds { rto, probe_after, probe_rtt, ..ends },
                timer_lag,
                path: Path { faults, in_order, ..path },
            }
        },
    )
}

/// A path that delays, duplicates and marks, with an RTO just above the longest round trip. The path either keeps the
/// order, or no packet is overtaken by more packets than the paper tolerates.
fn lossless_schedule(in_order: bool) -> impl Strategy<Value = Schedule<StrackEnds>> {
    let probes = (us(1..100), us(0..60), any::<bool>());
    (messages(), ends(), probes, timer_lag(), path(), chance(), chance()).prop_map(
        move |(messages, ends, (probe_after, probe_rtt, early), timer_lag, path, duplication, marking)| {
            let faults = Faults { until: Time::NEVER, duplication, marking, ..Faults::default() };
            let mut path = Path { faults, in_order, ..path };
            if !in_order {
                let window = match &ends.cc {
                    CcConfig::Constant(ConstantConfig { window }) => window.on(&path.facts()).0 / PACKET,
                    _ => 1,
                };
                // A packet can be overtaken only by packets that are sent less than the jitter later.
                let tolerated = window.max(ends.min_threshold.into());
                let most = Duration((path.wire * (tolerated + 1)).0 - 1);
                path.jitter = path.jitter.min(most);
            }
            // The RTO need only exceed one round trip. Its timer never starts before the packet at the ePSN is sent,
            // and a SACK is sent when that packet arrives, so that the ePSN advances within a round trip.
            let longer = Duration(path.longest_round().0 + 1);
            // On a path that keeps the order, a probe arrives after everything that was sent before it. On other paths,
            // the answer to a probe must not indicate a loss.
            let shortest = path.data_delay + path.ack_delay;
            let (probe_after, probe_rtt) = match (in_order, early) {
                (true, _) => (probe_after, probe_rtt),
                (false, true) => (probe_after, shortest),
                (false, false) => (longer, probe_rtt),
            };
            let ends = StrackEnds { rto: longer, probe_after, probe_rtt, ..ends };
            Schedule { messages, ends, timer_lag, path }
        },
    )
}

/// A path that loses and marks packets of the sender, but delivers every SACK. The RTO never expires. An answer is fast
/// if it arrives before the next probe is due. Here every answer is fast, since probes are further apart than the
/// longest round trip.
fn lossy_schedule() -> impl Strategy<Value = Schedule<StrackEnds>> {
    (messages(), ends(), us(0..100), timer_lag(), path(), 1u32..200, chance(), us(0..400)).prop_map(
        |(messages, ends, patience, timer_lag, path, data_loss, marking, until)| {
            let until = Time::ZERO + until;
            let faults = Faults { until, data_loss, marking, ..Faults::default() };
            let never = Duration::from_us(1_000_000);
            let probe_after = Duration(path.longest_round().0 + 1) + patience;
            let ends = StrackEnds { sack_every: 0, rto: never, probe_after, probe_rtt: probe_after, ..ends };
            let ends = StrackEnds { probe_takes_all: true, ..ends };
            Schedule { messages, ends, timer_lag, path: Path { faults, in_order: true, ..path } }
        },
    )
}

fn ends() -> impl Strategy<Value = StrackEnds> {
    let own = (1u32..=8, 8u32..=256)
        .prop_map(|(min_paths, max_paths)| LbConfig::Strack(StrackLbConfig { max_paths, min_paths }));
    let balancer =
        prop_oneof![2 => own, 1 => (1u32..=65_536).prop_map(|evs| LbConfig::Ops(OpsConfig { evs }))];
    let cc = prop_oneof![4 => strack(), 3 => constant(), 1 => dctcp(), 1 => dcqcn()];
    let sack_every = prop_oneof![Just(0), Just(1), Just(4), Just(16), Just(100), Just(2_000)];
    let min_threshold = prop_oneof![3 => Just(5), 1 => 1u32..10];
    let parts = (balancer, cc, sack_every, min_threshold, any::<bool>());
    parts.prop_map(|(balancer, cc, sack_every, min_threshold, probe_takes_all)| StrackEnds {
        balancer,
        cc,
        sack_every,
        min_threshold,
        probe_after: Duration::ZERO,
        probe_rtt: Duration::ZERO,
        probe_takes_all,
        rto: Duration::ZERO,
    })
}
