//! The `dcp` transport with DCQCN, DCTCP or a constant window, and with and without a delay of PCIe. The network never
//! duplicates a packet, since DCP relies on that.

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
use anabranch_proto::transport::{AnyReceiver, AnySender, DcpConfig, Headers, TransportConfig};
use anabranch_proto::{PathFacts, Size, Span};
use proptest::prelude::*;
use receiver::CheckedReceiver;
use sender::CheckedSender;

/// The receiver's model checks that no packet is counted twice in a round.
#[test]
fn every_message_arrives_once_and_in_order_whatever_the_path_does() {
    check(any_schedule(), |schedule| Run::new(&schedule).finish().map(drop));
}

/// Section 4.5, exactly once: if only payloads are lost, no timeout occurs, whatever the order of arrivals. The
/// receiver's model checks that no data packet arrives twice.
#[test]
fn with_a_lossless_control_plane_each_packet_arrives_exactly_once() {
    check(trimming_schedule(), |schedule| {
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!((outcome.timeouts, outcome.nacks, outcome.lost), (0, 0, 0));
        Ok(())
    });
}

/// Section 4.3: each trimmed packet costs one more packet and one round trip.
#[test]
fn one_trim_costs_a_round_trip_and_one_packet() -> Result<(), TestCaseError> {
    let mut schedule = calm_schedule(400, calm_ends());
    let calm = Run::new(&schedule).finish()?;
    schedule.path.faults.trimming = 3;
    schedule.path.faults.until = Time::ZERO + Duration::from_us(400);
    let mut repeated = 0;
    for seed in 0..200 {
        schedule.path.seed = seed;
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!((outcome.timeouts, outcome.lost), (0, 0));
        // If a retransmission is trimmed again, this costs another round trip.
        let latest = calm.finished + (schedule.path.longest_round() + schedule.path.wire) * 4;
        prop_assert!(outcome.finished <= latest, "{:?} after {}", outcome, latest);
        repeated += outcome.retransmissions;
    }
    // A share of 3 / 256 of 80,000 packets is trimmed, and the same share of the retransmissions.
    prop_assert!((860..1_040).contains(&repeated), "{}", repeated);
    Ok(())
}

/// A lost data packet leaves no header, so that the whole message is retransmitted after the timeout. No packet of
/// another message is retransmitted.
#[test]
fn one_loss_costs_a_timeout_and_its_message() -> Result<(), TestCaseError> {
    let mut schedule = calm_schedule(100, calm_ends());
    let others = [150, 50].map(|packets| Post { at: Time::ZERO, packets, last_payload: PAYLOAD });
    schedule.messages.extend(others);
    for (lost, packets) in [(1, 100), (100, 100), (101, 150), (250, 150), (251, 50), (300, 50)] {
        schedule.path.faults.dropped = vec![lost];
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!((outcome.retransmissions, outcome.timeouts), (packets, 1), "packet {}", lost);
    }
    Ok(())
}

#[test]
fn a_message_may_take_longer_than_the_timeout() -> Result<(), TestCaseError> {
    for slower in [1, 50] {
        let mut schedule = calm_schedule(2_000, DcpEnds { slower, ..calm_ends() });
        schedule.ends.cc = CcConfig::Dcqcn(anabranch_proto::cc::DcqcnConfig::paper());
        schedule.ends.rto = Duration::from_us(20);
        schedule.path.faults.trimming = 20;
        schedule.path.faults.until = Time::NEVER;
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!(outcome.timeouts, 0);
        prop_assert!(outcome.finished >= Time::ZERO + schedule.ends.rto * 9);
    }
    Ok(())
}

#[derive(Clone, Debug)]
struct DcpEnds {
    balancer: LbConfig,
    cc: CcConfig,
    /// The rate of the wire divided by the line rate of the path facts.
    slower: u64,
    counter_bits: u32,
    tracked: u32,
    quota: u64,
    batch: u32,
    pcie: Duration,
    cnp_interval: Duration,
    trims_as_marks: bool,
    rto: Duration,
    /// Whether only payload is lost, so that each packet arrives exactly once.
    exactly_once: bool,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    message: usize,
    first: u32,
    packets: u32,
    /// Whether this is the last request of its message.
    is_signalled: bool,
}

impl Ends for DcpEnds {
    type Sender = CheckedSender;
    type Receiver = CheckedReceiver;
    const HEADERS: Headers = Headers::Dcp;

    fn build(schedule: &Schedule<Self>) -> (CheckedSender, CheckedReceiver) {
        let (transport, facts) = (schedule.transport(), schedule.facts());
        let sender = transport.build_sender(ENDS, &facts, schedule.cc(), schedule.lb());
        match (sender, transport.build_receiver(ENDS, &facts)) {
            (AnySender::Dcp(sender), AnyReceiver::Dcp(receiver)) => {
                (CheckedSender::new(schedule, sender), CheckedReceiver::new(schedule, receiver))
            }
            _ => unreachable!("dcp builds its own ends"),
        }
    }

    /// From the eighth retry on, the timeout doubles, so that at the end of the network faults it may be as long as all
    /// faults together. After that timeout, a request needs one round in which all of its packets arrive. While the
    /// timeout is below the spread of the delays, rounds may overlap. Sixteen rounds suffice for the paths that are
    /// generated.
    fn deadline(schedule: &Schedule<Self>) -> Time {
        let (rto, round) = (schedule.ends.rto + schedule.timer_lag, schedule.path.longest_round());
        let turn = schedule.turn();
        let doubled = (schedule.quiet_from() - Time::ZERO) * 2;
        let sending = turn * (schedule.packets() * 16);
        let waiting = (rto * 24 + round * 8) * schedule.requests().len() as u64;
        schedule.quiet_from() + doubled + sending + waiting
    }
}

impl Schedule<DcpEnds> {
    fn facts(&self) -> PathFacts {
        self.path.facts_at(self.ends.slower)
    }

    fn transport(&self) -> TransportConfig {
        TransportConfig::Dcp(DcpConfig {
            payload: Bytes(PAYLOAD),
            header: Bytes(HEADER),
            ack: Bytes(ACK),
            counter_bits: self.ends.counter_bits,
            tracked_messages: self.ends.tracked,
            round_quota: Bytes(self.ends.quota),
            batch: self.ends.batch,
            pcie: Span::Time(self.ends.pcie),
            cnp_interval: Span::Time(self.ends.cnp_interval),
            trims_as_marks: self.ends.trims_as_marks,
            rto: Span::Time(self.ends.rto),
        })
    }

    fn cc(&self) -> AnyCc {
        self.ends.cc.build(&self.facts())
    }

    fn lb(&self) -> AnyLb {
        let environment = Environment { facts: self.facts(), rto: self.ends.rto, trimming: true };
        self.path.lb(&self.ends.balancer, &environment)
    }

    /// The requests, indexed by MSN.
    fn requests(&self) -> Vec<Request> {
        let mut requests = Vec::<Request>::new();
        // A message of less than two shares of the window is one request, unless it exceeds the receiver's counter. The
        // requests of a longer message have at least one share and less than two. Only the last request may be shorter.
        // No request exceeds the counter.
        let in_window = self.cc().window() / PACKET;
        let (in_window, tracked) = (u32::try_from(in_window).unwrap_or(u32::MAX), self.ends.tracked.max(1));
        let counted = (1 << self.ends.counter_bits) - 1;
        // If the window has more than one packet per tracked request, but fewer than two, a share is two packets.
        let in_pairs = in_window > tracked && in_window / tracked == 1;
        let share = if in_pairs { 2 } else { in_window / tracked }.clamp(1, counted);
        for (psn, planned) in self.planned().into_iter().enumerate() {
            let parts = (planned.of / share).max(1);
            let largest = planned.of.div_ceil(parts).min(counted);
            match requests.last_mut() {
                Some(last) if !last.is_signalled && last.packets < largest => last.packets += 1,
                _ => requests.push(Request {
                    message: planned.message,
                    first: psn as u32,
                    packets: 1,
                    is_signalled: false,
                }),
            }
            if let Some(last) = requests.last_mut() {
                last.is_signalled = planned.is_last;
            }
        }
        requests
    }

    /// The time of a packet at the lowest rate, if it is fetched separately.
    fn turn(&self) -> Duration {
        let slowest = slowest_packet(&self.ends.cc, &self.facts());
        slowest + self.path.wire + self.ends.pcie * 2 + self.timer_lag * 2
    }
}

fn calm_ends() -> DcpEnds {
    DcpEnds {
        balancer: LbConfig::Ecmp {},
        cc: CcConfig::Constant(ConstantConfig { window: Size::Bytes(Bytes(20_000 * PACKET)) }),
        slower: 1,
        counter_bits: 14,
        tracked: 8,
        quota: 16_384,
        batch: 16,
        pcie: Duration::ZERO,
        cnp_interval: Duration::from_us(50),
        trims_as_marks: false,
        rto: Duration::from_us(100),
        exactly_once: false,
    }
}

/// Arbitrary parameters, among them RTOs below the round trip or below the spread of the delays, and windows below a
/// packet. All kinds of network faults except duplication occur together.
fn any_schedule() -> impl Strategy<Value = Schedule<DcpEnds>> {
    (messages(), ends(), rto(), timer_lag(), path(), faults(), any::<bool>()).prop_map(
        |(messages, ends, rto, timer_lag, path, faults, in_order)| Schedule {
            messages,
            ends: DcpEnds { rto, ..ends },
            timer_lag,
            path: Path { faults: Faults { duplication: 0, ..faults }, in_order, ..path },
        },
    )
}

/// A path that delays, trims and marks. The RTO is just above the longest time that a repair can take: the packet's way
/// to the receiver, its header's way back, and all packets that may be retransmitted before it.
fn trimming_schedule() -> impl Strategy<Value = Schedule<DcpEnds>> {
    (messages(), ends(), timer_lag(), path(), 0u32..160, chance()).prop_map(
        |(messages, ends, timer_lag, path, trimming, marking)| {
            let faults = Faults { until: Time::NEVER, trimming, marking, ..Faults::default() };
            let ends = DcpEnds { exactly_once: true, ..ends };
            let mut schedule = Schedule { messages, ends, timer_lag, path: Path { faults, ..path } };
            schedule.ends.rto = schedule.path.longest_round() + schedule.turn() * (schedule.packets() + 1);
            schedule
        },
    )
}

fn ends() -> impl Strategy<Value = DcpEnds> {
    let balancer = prop_oneof![
        3 => Just(LbConfig::Ecmp {}),
        1 => (1u32..=65_536).prop_map(|evs| LbConfig::Ops(OpsConfig { evs })),
    ];
    let cnps = (
        prop_oneof![2 => Just(Duration::ZERO), 1 => us(1..20), 2 => Just(Duration::from_us(50))],
        any::<bool>(),
    );
    let cc = prop_oneof![2 => constant(), 1 => dctcp(), 4 => dcqcn()];
    let tracking =
        (prop_oneof![3 => Just(14), 2 => 1u32..9], prop_oneof![2 => Just(8), 1 => 1u32..8, 1 => 8u32..40]);
    let batch = prop_oneof![2 => Just(16), 1 => Just(1), 1 => 2u32..40];
    let pcie = prop_oneof![2 => Just(Duration::ZERO), 1 => Just(Duration::from_us(1)), 1 => ns(1..3_000)];
    let quota = prop_oneof![2 => Just(16_384u64), 1 => 1u64..40_000];
    (balancer, cc, 1u64..5, tracking, quota, batch, pcie, cnps).prop_map(
        |(
            balancer,
            cc,
            slower,
            (counter_bits, tracked),
            quota,
            batch,
            pcie,
            (cnp_interval, trims_as_marks),
        )| DcpEnds {
            balancer,
            cc,
            slower,
            counter_bits,
            tracked,
            quota,
            batch,
            pcie,
            cnp_interval,
            trims_as_marks,
            rto: Duration::ZERO,
            exactly_once: false,
        },
    )
}
