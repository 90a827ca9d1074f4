//! The `sack` transport with various load balancers, and with DCTCP or a constant window.

mod carry;
mod inherits;
mod receiver;
mod sender;

use crate::pair::check;
use crate::pair::run::{Receiving, Run, Sending};
use crate::pair::schedule::*;
use anabranch_base::{Bytes, Duration, Time};
use anabranch_proto::cc::ConstantConfig;
use anabranch_proto::cc::{AnyCc, CcConfig, DctcpConfig};
use anabranch_proto::lb::{
    AckClockConfig, BitmapConfig, Decay, FlowletConfig, MixedConfig, MrcLbConfig, OpsConfig, PauseSince,
    PlbConfig,
};
use anabranch_proto::lb::{
    AfterFreezing, AnyLb, Environment, FreezingEnds, LbConfig, RepsConfig, ReuseOrder, RoundRobinConfig,
};
use anabranch_proto::transport::{Headers, SackConfig};
use anabranch_proto::{Packet, Repr, Size, Span};
use proptest::prelude::*;
use receiver::CheckedReceiver;
use sender::CheckedSender;

#[test]
fn every_message_arrives_once_whatever_the_path_does() {
    check(any_schedule(), |schedule| Run::new(&schedule).finish().map(drop));
}

#[test]
fn a_path_that_loses_nothing_sees_no_retransmission() {
    check(harmless_schedule(), |schedule| {
        let retransmissions = Run::new(&schedule).finish()?.retransmissions;
        prop_assert_eq!(retransmissions, 0);
        Ok(())
    });
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

/// The ACK of a packet above a gap is lost. Later ACKs repeat its content, so that only the packet of the gap waits for
/// its timeout.
#[test]
fn a_lost_ack_above_a_gap_costs_no_timeout() -> Result<(), TestCaseError> {
    for lost in 3..90 {
        let schedule = calm_schedule(100, calm_ends(1, 100 * PACKET));
        let (mut sender, mut receiver) = SackEnds::build(&schedule);
        sender.post(Time::ZERO, 0)?;
        for psn in 0..100 {
            let Some(packet) = sender.poll_transmit(Time::ZERO)? else {
                panic!("the window holds {psn} packets")
            };
            if psn != 2 {
                let [ack] = receiver.handle_packet(Time::ZERO, &packet)?[..] else {
                    panic!("no ACK of {psn}")
                };
                if psn != lost {
                    sender.handle_packet(Time::ZERO, &ack)?;
                }
            }
        }
        prop_assert_eq!(sender.next_timeout()?, Some(Time::ZERO + schedule.ends.rto));
        sender.handle_timeout(Time::ZERO + schedule.ends.rto)?;
        prop_assert_eq!(sender.counters().timeouts, 1, "that of 2, and none of {}", lost);
    }
    Ok(())
}

/// One ACK cannot cover two packets that are far apart, so that the earlier one gets an ACK of its own.
#[test]
fn packets_far_apart_get_an_ack_each() -> Result<(), TestCaseError> {
    let mut receiver = CheckedReceiver::new(&calm_schedule(1000, calm_ends(2, PACKET)));
    // PSN 0 stays missing, so that the cumulative PSN does not acknowledge the others.
    for psn in (1..984).filter(|&psn| psn != 5) {
        let answers = receiver.handle_packet(Time::ZERO, &data(psn))?;
        prop_assert!(answers.len() <= 1);
    }
    prop_assert_eq!(receiver.handle_packet(Time::ZERO, &data(5))?, []);
    let answers = receiver.handle_packet(Time::ZERO, &data(984))?;
    let evs: Vec<u16> = answers.iter().map(|answer| answer.ev).collect();
    prop_assert_eq!(evs, [5], "984 is the first of the next two");
    Ok(())
}

/// A packet of the first message, with its PSN as entropy value.
fn data(psn: u32) -> Packet {
    let sent_at = Time::ZERO + Duration::from_ns(psn.into());
    let repr = Repr::data(psn).with_message(message_id(0), 1000).with_sent_at(sent_at);
    Packet::new(QP, RECEIVER, repr).with_bytes(PACKET as u16).with_ev(psn as u16)
}

#[derive(Clone, Debug)]
struct SackEnds {
    balancer: LbConfig,
    ack_every: u32,
    carry_evs: bool,
    /// The window in bytes, or the largest window if it adapts.
    window: u64,
    dctcp: bool,
    rto: Duration,
}

impl Ends for SackEnds {
    type Sender = CheckedSender;
    type Receiver = CheckedReceiver;
    const HEADERS: Headers = Headers::Extended;

    fn build(schedule: &Schedule<Self>) -> (CheckedSender, CheckedReceiver) {
        (CheckedSender::new(schedule), CheckedReceiver::new(schedule))
    }

    /// The time by which everything must be acknowledged, even with a window of one packet.
    ///
    /// Two RTOs and two round trips after the last network fault and the last post, all packets that the fault affected
    /// have timed out, and the fault no longer affects the path. Then the packets follow one after the other. Each is
    /// sent and acknowledged. If the receiver waits for more packets, the packet times out, is retransmitted, and is
    /// acknowledged immediately as a duplicate.
    fn deadline(schedule: &Schedule<Self>) -> Time {
        let (rto, round) = (schedule.ends.rto + schedule.timer_lag, schedule.path.longest_round());
        let turn = match schedule.ends.ack_every {
            1 => rto.max(round),
            _ => rto + round,
        };
        schedule.quiet_from() + (rto + round) * 2 + (turn + schedule.path.wire) * schedule.packets()
    }
}

impl Schedule<SackEnds> {
    fn transport(&self) -> SackConfig {
        SackConfig {
            payload: Bytes(PAYLOAD),
            header: Bytes(HEADER),
            ack: Bytes(ACK),
            ack_every: self.ends.ack_every,
            carry_evs: self.ends.carry_evs,
            rto: Span::Time(self.ends.rto),
            inherits: Default::default(),
        }
    }

    fn lb(&self) -> AnyLb {
        let trimming = self.path.faults.trimming > 0;
        let environment = Environment { facts: self.path.facts(), rto: self.ends.rto, trimming };
        self.path.lb(&self.ends.balancer, &environment)
    }

    fn cc(&self) -> AnyCc {
        let window = Size::Bytes(Bytes(self.ends.window));
        let config = match self.ends.dctcp {
            true => CcConfig::Dctcp(DctcpConfig {
                initial_window: window,
                max_window: window,
                decrease: 0.25,
                loss_decrease: 1.0,
            }),
            false => CcConfig::Constant(ConstantConfig { window }),
        };
        config.build(&self.path.facts())
    }
}

fn calm_ends(ack_every: u32, window: u64) -> SackEnds {
    let (balancer, rto) = (LbConfig::Ops(OpsConfig { evs: 65_536 }), Duration::from_us(100));
    SackEnds { balancer, ack_every, carry_evs: false, window, dctcp: false, rto }
}

/// Arbitrary parameters, among them RTOs below the round trip and windows below a packet. All kinds of network faults
/// occur together.
fn any_schedule() -> impl Strategy<Value = Schedule<SackEnds>> {
    let acks = (ack_every(), any::<bool>());
    let ends = (balancer(), acks, window(), any::<bool>(), rto()).prop_map(
        |(balancer, (ack_every, carry_evs), window, dctcp, rto)| SackEnds {
            balancer,
            ack_every,
            carry_evs,
            window,
            dctcp,
            rto,
        },
    );
    (messages(), ends, timer_lag(), path(), faults()).prop_map(|(messages, ends, timer_lag, path, faults)| {
        let path = Path { faults, ..path };
        Schedule { messages, ends, timer_lag, path }
    })
}

/// A path that reorders, duplicates and marks but loses nothing. The RTO is longer than any wait for an ACK.
fn harmless_schedule() -> impl Strategy<Value = Schedule<SackEnds>> {
    let ends = (messages(), balancer(), ack_every(), window(), any::<bool>(), timer_lag());
    (ends, path(), chance(), chance()).prop_map(
        |((messages, balancer, ack_every, window, dctcp, timer_lag), path, duplication, marking)| {
            let (mut messages, mut path) = (messages, path);
            if dctcp && ack_every > 1 && marking > 0 {
                // A mark can shrink the window below the bytes whose ACK the receiver delays, so that only a timeout
                // causes the next packet. This happens if a marked packet overtook others, or if the marked packet is
                // smaller than the amount by which the window shrinks.
                path.jitter = Duration::ZERO;
                messages.iter_mut().for_each(|message| message.last_payload = PAYLOAD);
            }
            let faults = Faults { until: Time::NEVER, duplication, marking, ..Faults::default() };
            let path = Path { faults, ..path };
            // The packet that makes an ACK due may have to wait for the previous ACK, and for a whole window ahead of
            // it on the wire. Each message may end with a packet that takes hardly any room in the window.
            let ahead = window / PACKET + messages.len() as u64;
            let rto = path.longest_round() * 3 + path.wire * (2 * ahead + 2);
            let ends = SackEnds { balancer, ack_every, carry_evs: false, window, dctcp, rto };
            Schedule { messages, ends, timer_lag, path }
        },
    )
}

fn balancer() -> impl Strategy<Value = LbConfig> {
    let evs = || prop_oneof![Just(65_536), 1u32..=65_536, 1u32..=32];
    let order = prop_oneof![Just(ReuseOrder::InARow), Just(ReuseOrder::InTurn)];
    let reuse = (prop_oneof![Just(1), 1u32..=64], order);
    let reps = (evs(), 1u32..=32, any::<bool>(), us(1..200), 0u32..=255, 0.5..3.0, (reuse, any::<bool>()))
        .prop_map(
            |(
                evs,
                buffer,
                freezing,
                timeout,
                explore_packets,
                failure_rtt,
                ((reuse, reuse_order), resets),
            )| {
                let freezing_timeout = Span::Time(timeout);
                LbConfig::Reps(RepsConfig {
                    evs,
                    buffer,
                    freezing,
                    freezing_timeout,
                    after_freezing: if resets { AfterFreezing::Reset } else { AfterFreezing::Keep },
                    freezing_ends: if resets { FreezingEnds::Timeout } else { FreezingEnds::Ack },
                    explore_packets,
                    failure_rtt,
                    reuse,
                    reuse_order,
                    freeze_at: None,
                })
            },
        );
    prop_oneof![
        1 => Just(LbConfig::Ecmp {}),
        1 => evs().prop_map(|evs| LbConfig::Ops(OpsConfig { evs })),
        1 => (evs(), 0.0..=1.0, 1u32..=4).prop_map(|(evs, threshold, rounds)| {
            LbConfig::Plb(PlbConfig { evs, threshold, rounds })
        }),
        1 => (evs(), us(1..20), any::<bool>()).prop_map(|(evs, gap, acks)| {
            let since = if acks { PauseSince::Ack } else { PauseSince::Sent };
            LbConfig::Flowlet(FlowletConfig { evs, gap: Span::Time(gap), since })
        }),
        1 => (1u32..=64, 0u32..=255, 1u32..=255, 0u32..=64).prop_map(|(evs, penalty, max_penalty, remembered)| {
            LbConfig::Bitmap(BitmapConfig {
                evs,
                ecn_penalty: penalty,
                trim_penalty: penalty,
                timeout_penalty: penalty,
                max_penalty,
                remembered,
                skip_limit: if remembered % 2 == 0 { 1.0 } else { 0.5 },
                decay: if remembered % 3 == 0 { Decay::Each } else { Decay::First },
            })
        }),
        1 => (1u32..=64, 0u32..=255, 1u32..=255, 1u32..=64).prop_map(|(evs, penalty, max_penalty, buffer)| {
            LbConfig::Mixed(MixedConfig {
                evs,
                buffer,
                ecn_penalty: penalty,
                trim_penalty: penalty,
                timeout_penalty: penalty,
                max_penalty,
            })
        }),
        1 => mrc_balancer(),
        1 => evs().prop_map(|evs| LbConfig::AckClock(AckClockConfig { evs })),
        1 => evs().prop_map(|evs| LbConfig::RoundRobin(RoundRobinConfig { evs })),
        4 => reps,
    ]
}

/// The load balancer of MRC. Only the `mrc` transport sends its probes.
pub fn mrc_balancer() -> impl Strategy<Value = LbConfig> {
    (1u32..=64, 1u32..=64, 0.0..=1.0, us(1..200), 1u32..4).prop_map(
        |(evs, active, min_active, interval, probe_successes)| {
            LbConfig::Mrc(MrcLbConfig {
                evs,
                active: active.min(evs),
                min_active,
                probe_interval: Span::Time(interval),
                probe_successes,
                denied: Vec::new(),
            })
        },
    )
}
