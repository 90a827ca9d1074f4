//! The `irn` transport with DCQCN, DCTCP or a constant window.

mod receiver;
mod sender;

pub use receiver::CheckedReceiver;

use crate::pair::check;
use crate::pair::congestion::{constant, dcqcn, dctcp, slowest_packet};
use crate::pair::run::Run;
use crate::pair::schedule::*;
use anabranch_base::{Bytes, Duration, Time};
use anabranch_proto::cc::ConstantConfig;
use anabranch_proto::cc::{AnyCc, CcConfig};
use anabranch_proto::lb::OpsConfig;
use anabranch_proto::lb::{AnyLb, Environment, LbConfig};
use anabranch_proto::transport::{AnyReceiver, AnySender, Headers, IrnConfig, TransportConfig};
use anabranch_proto::{PathFacts, Size, Span};
use proptest::prelude::*;
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

/// If packets overtake each other, each is retransmitted at most once per recovery, and no timeout occurs.
#[test]
fn a_path_that_loses_nothing_but_order_sees_no_timeout() {
    check(lossless_schedule(false), |schedule| {
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!(outcome.timeouts, 0);
        Ok(())
    });
    // DCP, section 2.2, issue 1: reordering causes retransmissions.
    let mut schedule = calm_schedule(400, calm_ends(1, 400));
    schedule.path.jitter = Duration::from_us(1);
    let outcome = Run::new(&schedule).finish().expect("it ends");
    assert!(outcome.retransmissions > 100, "{outcome:?}");
}

/// A receiver that coalesces more packets than a window admits gets requests for immediate ACKs.
#[test]
fn a_window_below_ack_every_waits_for_no_timeout() -> Result<(), TestCaseError> {
    for jitter in [Duration::ZERO, Duration::from_us(2)] {
        for (bytes, packets) in [(1, 512), (5 * PACKET + 1, 512), (1000 * PACKET, 1), (1000 * PACKET, 15)] {
            let cc = CcConfig::Constant(ConstantConfig { window: Size::Bytes(Bytes(bytes)) });
            let mut schedule = calm_schedule(100, IrnEnds { cc, ..calm_ends(16, packets) });
            schedule.path.jitter = jitter;
            let outcome = Run::new(&schedule).finish()?;
            prop_assert_eq!(outcome.timeouts, 0, "{} B, {} packets, {}", bytes, packets, jitter);
        }
    }
    Ok(())
}

/// A gap is repaired a round trip after it shows, and only one packet is retransmitted. A lost tail waits for the
/// timeout.
#[test]
fn one_loss_costs_a_round_trip_and_one_packet() -> Result<(), TestCaseError> {
    for ack_every in [1, 4, 100] {
        let mut schedule = calm_schedule(400, calm_ends(ack_every, 1000));
        let calm = Run::new(&schedule).finish()?;
        let (wire, round) = (schedule.path.wire, schedule.path.longest_round());
        for lost in 1..400 {
            schedule.path.faults.dropped = vec![lost];
            let outcome = Run::new(&schedule).finish()?;
            prop_assert_eq!((outcome.retransmissions, outcome.timeouts), (1, 0), "packet {}", lost);
            let latest = calm.finished + round + wire * 2;
            prop_assert!(outcome.finished <= latest, "packet {lost}: {} after {latest}", outcome.finished);
        }
        schedule.path.faults.dropped = vec![400];
        let outcome = Run::new(&schedule).finish()?;
        // The loss of the last packet leaves no gap. If the receiver waits for more packets, a timeout is also needed
        // to get the acknowledgement of the packets that arrived before the lost one.
        prop_assert_eq!(outcome.timeouts, if ack_every == 1 { 1 } else { 2 });
        prop_assert!(outcome.finished >= calm.finished + schedule.ends.rto_low, "{:?}", outcome);
        if ack_every == 1 {
            prop_assert_eq!(outcome.retransmissions, 1);
            let latest = calm.finished + schedule.ends.rto_low + round;
            prop_assert!(outcome.finished <= latest, "the low timeout: {:?}", outcome);
        }
    }
    Ok(())
}

/// A recovery is entered only once, so that a lost retransmission waits for the high timeout.
#[test]
fn a_packet_lost_twice_costs_a_timeout() -> Result<(), TestCaseError> {
    let mut schedule = calm_schedule(400, calm_ends(1, 1000));
    let mut late = Vec::new();
    for other in 101..=300 {
        schedule.path.faults.dropped = vec![100, other];
        let outcome = Run::new(&schedule).finish()?;
        prop_assert_eq!(outcome.retransmissions, 2);
        prop_assert!(outcome.timeouts <= 1);
        if outcome.timeouts == 1 {
            late.push(other);
        }
    }
    // Packet 101 reveals the loss of packet 100. Packet 100 is retransmitted a round trip after packet 101 was sent.
    let round = schedule.path.longest_round().0 / schedule.path.wire.0;
    prop_assert_eq!(late, vec![101 + round]);
    Ok(())
}

#[derive(Clone, Debug)]
pub struct IrnEnds {
    balancer: LbConfig,
    cc: CcConfig,
    /// The rate of the wire divided by the line rate of the path facts.
    slower: u64,
    ack_every: u32,
    /// The BDP cap in packets.
    packets: u32,
    rto_low: Duration,
    rto: Duration,
    rto_low_packets: u32,
    timeout_takes_all: bool,
    sack_takes_all: bool,
    cnp_interval: Duration,
}

impl Ends for IrnEnds {
    type Sender = CheckedSender;
    type Receiver = CheckedReceiver;
    const HEADERS: Headers = Headers::Irn;

    fn build(schedule: &Schedule<Self>) -> (CheckedSender, CheckedReceiver) {
        let (transport, facts) = (schedule.transport(), schedule.facts());
        let sender = transport.build_sender(ENDS, &facts, schedule.cc(), schedule.lb());
        match (sender, transport.build_receiver(ENDS, &facts)) {
            (AnySender::Irn(sender), AnyReceiver::Irn(receiver)) => {
                let IrnEnds { ack_every, cnp_interval, .. } = schedule.ends;
                let planned = schedule.planned();
                let receiver = CheckedReceiver::new(receiver, ack_every, cnp_interval, planned);
                (CheckedSender::new(schedule, sender), receiver)
            }
            _ => unreachable!("irn builds its own ends"),
        }
    }

    /// Two RTOs and two round trips after the last network fault, the fault no longer affects the path. Then the
    /// packets follow one after the other at the lowest rate. Each is sent, times out, is the first to be retransmitted
    /// after the timeout, and is acknowledged.
    fn deadline(schedule: &Schedule<Self>) -> Time {
        let rto = schedule.ends.rto.max(schedule.ends.rto_low) + schedule.timer_lag;
        let round = schedule.path.longest_round();
        let pace = schedule.slowest_packet() + schedule.timer_lag + schedule.path.wire;
        schedule.quiet_from() + (rto + round) * 2 + ((rto + pace) * 2 + round) * schedule.packets()
    }
}

impl Schedule<IrnEnds> {
    fn facts(&self) -> PathFacts {
        self.path.facts_at(self.ends.slower)
    }

    fn transport(&self) -> TransportConfig {
        TransportConfig::Irn(IrnConfig {
            payload: Bytes(PAYLOAD),
            header: Bytes(HEADER),
            ack: Bytes(ACK),
            ack_every: self.ends.ack_every,
            window: Size::Packets(f64::from(self.ends.packets)),
            rto_low: Span::Time(self.ends.rto_low),
            rto: Span::Time(self.ends.rto),
            rto_low_packets: self.ends.rto_low_packets,
            timeout_takes_all: self.ends.timeout_takes_all,
            sack_takes_all: self.ends.sack_takes_all,
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

fn calm_ends(ack_every: u32, packets: u32) -> IrnEnds {
    IrnEnds {
        balancer: LbConfig::Ecmp {},
        cc: CcConfig::Constant(ConstantConfig { window: Size::Bytes(Bytes(1 << 40)) }),
        slower: 1,
        ack_every,
        packets,
        rto_low: Duration::from_us(100),
        rto: Duration::from_us(320),
        rto_low_packets: 3,
        timeout_takes_all: false,
        sack_takes_all: false,
        cnp_interval: Duration::from_us(50),
    }
}

/// Arbitrary parameters, among them RTOs below the round trip, windows below a packet and reordering that never ends.
/// All kinds of network faults occur together.
fn any_schedule() -> impl Strategy<Value = Schedule<IrnEnds>> {
    (messages(), ends(), (rto(), rto()), timer_lag(), path(), faults(), any::<bool>()).prop_map(
        |(messages, ends, (rto_low, rto), timer_lag, path, faults, in_order)| Schedule {
            messages,
            ends: IrnEnds { rto_low: rto_low.min(rto), rto, ..ends },
            timer_lag,
            path: Path { faults, in_order, ..path },
        },
    )
}

/// A path that delays, duplicates and marks. Both RTOs are above the longest time that an acknowledgement can take.
fn lossless_schedule(in_order: bool) -> impl Strategy<Value = Schedule<IrnEnds>> {
    (messages(), ends(), timer_lag(), path(), chance(), chance()).prop_map(
        move |(messages, ends, timer_lag, path, duplication, marking)| {
            let faults = Faults { until: Time::NEVER, duplication, marking, ..Faults::default() };
            let path = Path { faults, in_order, ..path };
            let mut schedule = Schedule { messages, ends, timer_lag, path };
            // At a low rate, a packet requests an ACK if `ack_every` packets would take more than half an RTO. The
            // other half must cover a round trip, the packet that requests the ACK, and the lag of the timer for each
            // packet that waits for its pacing. The rate of the requesting packet may have fallen meanwhile. With
            // reordering, copies of all packets in flight may be sent before each packet.
            let (path, ack_every) = (&schedule.path, u64::from(schedule.ends.ack_every));
            let slowest = (schedule.slowest_packet() + path.wire) * 2;
            let asked = path.longest_round() + slowest + (timer_lag + path.wire) * (ack_every + 2);
            let copies = if in_order { 0 } else { schedule.packets() };
            let rto = (asked + (slowest + timer_lag) * copies) * 2;
            (schedule.ends.rto_low, schedule.ends.rto) = (rto, rto);
            schedule
        },
    )
}

fn ends() -> impl Strategy<Value = IrnEnds> {
    let balancer = prop_oneof![
        3 => Just(LbConfig::Ecmp {}),
        1 => (1u32..=65_536).prop_map(|evs| LbConfig::Ops(OpsConfig { evs })),
    ];
    let cnp_interval =
        prop_oneof![2 => Just(Duration::ZERO), 1 => us(1..20), 2 => Just(Duration::from_us(50))];
    let cc = prop_oneof![2 => constant(), 1 => dctcp(), 4 => dcqcn()];
    let packets = prop_oneof![1 => 1u32..4, 2 => 4u32..100, 2 => Just(512)];
    let few = prop_oneof![1 => Just(0), 2 => Just(3), 1 => 0u32..100];
    (balancer, cc, 1u64..5, ack_every(), packets, cnp_interval, few, (any::<bool>(), any::<bool>())).prop_map(
        |(balancer, cc, slower, ack_every, packets, cnp_interval, rto_low_packets, takes_all)| {
            let (timeout_takes_all, sack_takes_all) = takes_all;
            IrnEnds {
                balancer,
                cc,
                slower,
                ack_every,
                packets,
                rto_low: Duration::ZERO,
                rto: Duration::ZERO,
                rto_low_packets,
                timeout_takes_all,
                sack_takes_all,
                cnp_interval,
            }
        },
    )
}
