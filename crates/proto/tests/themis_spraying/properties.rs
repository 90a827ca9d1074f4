//! Properties that hold for every sequence of packet arrivals without losses between the receiver's ToR and the
//! receiver (sections 4.2 to 4.4). Failure handling is off, except in the test that turns parts of Themis on and off.

use crate::themis_spraying::fabric::*;
use crate::themis_spraying::tor::PAPER;
use anabranch_base::{Duration, Time};
use anabranch_proto::program::ThemisSprayingConfig;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRng, TestRunner};
use std::cell::Cell;

/// Checks a property for 2,000 random plans, or for 100,000 if the environment variable `ANABRANCH_LONG` is set.
fn check(plans: impl Strategy<Value = Plan>, test: impl Fn(Plan) -> Result<(), TestCaseError>) {
    let cases = if std::env::var_os("ANABRANCH_LONG").is_some() { 100_000 } else { 2_000 };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(config.rng_algorithm);
    match TestRunner::new_with_rng(config, rng).run(&plans, test) {
        Ok(()) => {}
        Err(TestError::Fail(why, plan)) => panic!("{why}\nsmallest plan: {plan:#?}"),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}

/// The paper's parameters without failure handling, which sends new packets on other paths than their PSNs select.
pub const NO_FAILURES: ThemisSprayingConfig = ThemisSprayingConfig { failure_handling: false, ..PAPER };

/// A packet that its path lost is retransmitted without a timeout, except in these cases:
///
/// - Its retransmission was lost too.
/// - It is in the tail of its path: no later packet of the path passes the receiver's ToR, so that nothing can confirm
///   its NACK.
/// - It is in the tail of the arrivals: after the receiver's ePSN has reached it, no packet beyond it arrives, so that
///   the NIC sends no NACK that Themis could check.
///
/// The last case is not in the paper, and no program in a switch can repair it. See
/// [`the_tail_of_the_arrivals_waits_for_the_timeout`].
#[test]
fn what_a_path_lost_comes_again_without_a_timeout() {
    let [repaired, again, path_tail, arrivals_tail] = [const { Cell::new(0) }; 4];
    let add = |sum: &Cell<u64>, count: usize| sum.set(sum.get() + count as u64);
    check(plans(Just(0)), |plan| {
        let outcome = run(&plan);
        add(&repaired, outcome.nacks_heard as usize);
        for timeout in &outcome.timeouts {
            let Timeout { lost, asked, passed, .. } = *timeout;
            prop_assert!(lost >= 2 || (lost == 1 && !(asked && passed)), "{:?}", timeout);
            add(&again, usize::from(lost >= 2));
            add(&path_tail, usize::from(lost == 1 && !passed));
            add(&arrivals_tail, usize::from(lost == 1 && passed));
        }
        finished(&plan, &outcome)
    });
    let found = [repaired, again, path_tail, arrivals_tail].map(Cell::into_inner);
    let [repaired, again, path_tail, arrivals_tail] = found;
    assert!(again > 0 && path_tail > 0 && arrivals_tail > 0, "each of the exceptions occurs: {found:?}");
    assert!(repaired > 5_000, "a NACK repairs what is no exception: {found:?}");
}

/// Packets 0 to 5 use three paths, and packets 0 and 2 are lost. The NACK for packet 0 causes retransmissions of
/// packets 0 and 5. The copy of packet 5 arrives first, since the path of packet 0 is long. Then packet 0 advances the
/// ePSN to 2. No further packet arrives that could make the NIC send a NACK for packet 2, although packet 5, which
/// takes the path of packet 2, has shown Themis-D that packet 2 is lost.
#[test]
fn the_tail_of_the_arrivals_waits_for_the_timeout() {
    let timeouts = [0, 1, 2].map(|long| {
        let mut plan = calm(&[6]);
        plan.paths.truncate(3);
        plan.paths[long].delay = Duration::from_us(30);
        plan.program.reroute = false;
        plan.dropped = vec![(0, 0), (2, 0)];
        run(&plan).timeouts
    });
    let expected = Timeout { psn: 2, lost: 1, asked: false, passed: true };
    // One of the three paths is that of packet 0.
    assert_eq!(timeouts.iter().filter(|timeouts| timeouts[..] == [expected]).count(), 1, "{timeouts:?}");
}

/// No NACK for a packet that is only late reaches the sender, whatever is lost on the return path.
#[test]
fn no_nack_is_forwarded_for_a_packet_that_was_only_late() {
    check(plans(prop_oneof![Just(0u32), 0u32..100]), |plan| {
        let outcome = run(&plan);
        let late = outcome.nacks_forwarded.iter().find(|(_, lost)| *lost == 0);
        prop_assert_eq!(late, None, "a NACK for a packet that was not lost");
        let counted =
            ["nacks_valid", "nacks_confirmed", "avoidance_signals"].map(|name| outcome.counter(name));
        prop_assert_eq!(counted.iter().sum::<u64>(), outcome.nacks_forwarded.len() as u64);
        prop_assert_eq!(counted[2], 0);
        let settled = outcome.counter("nacks_confirmed") + outcome.counter("nacks_refuted");
        let stashed = outcome.counter("nacks_undetermined");
        prop_assert!(settled == stashed, "{} of {} stashed NACKs settled at the end", settled, stashed);
        finished(&plan, &outcome)
    });
}

/// All kinds of network faults except losses at the last hop may occur. Any part of Themis may be off, also its failure
/// handling.
#[test]
fn everything_is_delivered_once_in_order() {
    let parts = (any::<[bool; 4]>(), 1u32..20, 0u32..40);
    let plans = (plans(0u32..100), parts).prop_map(|(mut plan, (parts, ooo_threshold, avoidance_window))| {
        let [confirmation, lazy_drop, reroute, failure_handling] = parts;
        plan.program = ThemisSprayingConfig {
            confirmation,
            lazy_drop,
            reroute,
            failure_handling,
            ooo_threshold,
            avoidance_window,
            ..PAPER
        };
        plan
    });
    check(plans, |plan| finished(&plan, &run(&plan)));
}

/// Each run loses one packet, on paths of different lengths. The loss costs no timeout if a later packet follows on the
/// same path, and one timeout if none follows.
#[test]
fn one_loss_costs_a_timeout_only_in_the_tail() {
    for ack_every in [1, 16] {
        let mut plan = calm(&[300]);
        plan.ack_every = ack_every;
        for psn in 0..300 {
            plan.dropped = vec![(psn, 0)];
            let outcome = run(&plan);
            let (timeouts, is_tail) = (outcome.timeouts.len(), psn >= 300 - plan.paths.len() as u32);
            assert_eq!(timeouts, usize::from(is_tail), "packet {psn}: {outcome:#?}");
            if !is_tail {
                assert_eq!(outcome.nacks_forwarded, [(psn, 1)]);
                assert_eq!((outcome.nacks_heard, outcome.counter("rerouted")), (1, 1));
                assert!(outcome.retransmissions <= 2);
            }
        }
    }
}

#[test]
fn reordering_alone_costs_nothing() {
    let outcome = run(&calm(&[1000, 1000]));
    assert_eq!((outcome.retransmissions, outcome.nacks_heard), (0, 0));
    assert!(outcome.counter("nacks_invalid") + outcome.counter("nacks_refuted") > 100, "{outcome:?}");
}

fn finished(plan: &Plan, outcome: &Outcome) -> Result<(), TestCaseError> {
    let all: Vec<u32> = (0..plan.messages.len() as u32).collect();
    prop_assert_eq!(&outcome.delivered, &all, "delivered once, in order");
    prop_assert_eq!(&outcome.acknowledged, &all, "acknowledged once, in order");
    Ok(())
}

/// A plan with five paths of 2 to 10 us, and a window of 64 packets, whose transmission takes 6.4 us.
pub fn calm(messages: &[u32]) -> Plan {
    let path =
        |i: u64| Path { delay: Duration::from_us(2 + i * 2), jitter: Duration::ZERO, loss: 0, down: UP };
    Plan {
        messages: messages.to_vec(),
        window: 64,
        ack_every: 1,
        program: NO_FAILURES,
        paths: (0..5).map(path).collect(),
        control_jitter: Duration::ZERO,
        control_loss: 0,
        dropped: Vec::new(),
        dropped_at_last_hop: Vec::new(),
        seed: 1,
    }
}

/// Any plan without losses at the last hop. Failure handling is off, rerouting is on or off, and the other parts of
/// Themis are on.
fn plans(control_loss: impl Strategy<Value = u32>) -> impl Strategy<Value = Plan> {
    let us = |us: std::ops::Range<u64>| us.prop_map(Duration::from_us);
    let loss = prop_oneof![2 => Just(0u32), 2 => 0u32..30, 1 => 0u32..200];
    let outage = (0u64..100, 1u64..10_000)
        .prop_map(|(from, us)| Time(from * 1_000_000)..Time((from + us) * 1_000_000));
    let down = prop_oneof![8 => Just(UP), 1 => outage];
    let path = (us(1..20), prop_oneof![Just(Duration::ZERO), us(1..30)], loss, down)
        .prop_map(|(delay, jitter, loss, down)| Path { delay, jitter, loss, down });
    let messages = prop::collection::vec(prop_oneof![1u32..8, 1u32..150], 1..4);
    let window = prop_oneof![1u32..8, 1u32..100];
    let ack_every = prop_oneof![Just(1u32), 2u32..20];
    let nics = (messages, window, ack_every);
    let fabric =
        (prop::collection::vec(path, 1..7), prop_oneof![Just(Duration::ZERO), us(1..30)], control_loss);
    let dropped = prop::collection::vec((0u32..60, 0u32..2), 0..4);
    (nics, fabric, dropped, any::<bool>(), any::<u64>()).prop_map(|(nics, fabric, dropped, reroute, seed)| {
        let (messages, window, ack_every) = nics;
        let (paths, control_jitter, control_loss) = fabric;
        let program = ThemisSprayingConfig { reroute, ..NO_FAILURES };
        let dropped_at_last_hop = Vec::new();
        Plan {
            messages,
            window,
            ack_every,
            program,
            paths,
            control_jitter,
            control_loss,
            dropped,
            dropped_at_last_hop,
            seed,
        }
    })
}
