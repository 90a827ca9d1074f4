//! Order and completeness for random CNPs and packets.

use crate::themis_longhaul::trp::{Left, Switch, config, us};
use anabranch_base::{Bytes, Duration, Time};
use anabranch_proto::Span;
use anabranch_proto::program::themis_longhaul::{Growth, Recovery, TrpConfig};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRng, TestRunner};
use std::cell::Cell;

const FLOWS: u32 = 3;

/// An arrival: the gap before it in ps, the flow, and the type.
#[derive(Clone, Copy, Debug)]
struct Step {
    gap: u64,
    qp: u32,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Cnp,
    Data,
    /// The sender goes back by this many packets.
    GoBack(u32),
}

#[derive(Clone, Debug)]
struct Plan {
    config: TrpConfig,
    timer_first: bool,
    steps: Vec<Step>,
}

/// Random plans. With `back`, senders go back to earlier packets.
fn plans(recovery: Recovery, back: bool) -> impl Strategy<Value = Plan> {
    // Passes take 105 ns and packets 5 ns, so that events often fall on the same picosecond.
    let gap = prop_oneof![
        4 => Just(0),
        4 => Just(5_000),
        2 => Just(105_000),
        2 => Just(30_000),
        2 => 0u64..200_000,
        1 => 0u64..2_000_000,
        1 => Just(5_000_000)
    ];
    let kind = prop_oneof![
        2 => Just(Kind::Cnp),
        12 => Just(Kind::Data),
        u32::from(back) => (1u32..12).prop_map(Kind::GoBack)
    ];
    let steps = (gap, 0..FLOWS, kind).prop_map(|(gap, qp, kind)| Step { gap, qp, kind });
    let shape = (1u32..6, 200u64..4_000, 0u64..6_000, 0u32..30, 1u32..4, any::<[bool; 4]>());
    (shape, prop::collection::vec(steps, 0..400)).prop_map(move |(shape, steps)| {
        let (alpha, beta, install, dummies, store_entries, flags) = shape;
        let [printed, cache, store, timer_first] = flags;
        let ns = |ns| Span::Time(Duration::from_ns(ns));
        let config = TrpConfig {
            alpha,
            beta: ns(beta),
            growth: if printed { Growth::Printed } else { Growth::Spaced },
            recovery,
            cache: cache || !store,
            store,
            store_entries,
            install_delay: ns(install),
            dummies,
            dummy_bytes: Bytes(1_000),
            ..config()
        };
        Plan { config, timer_first, steps }
    })
}

/// For each flow, the packets in the order of their arrival, and in the order in which they left.
struct Outcome {
    came: Vec<Vec<u32>>,
    left: Vec<Vec<u32>>,
    switch: Switch,
}

fn run(plan: &Plan) -> Outcome {
    let mut switch = Switch::new(&plan.config);
    switch.timer_first = plan.timer_first;
    let mut now = us(1);
    let mut next = [0u32; FLOWS as usize];
    let mut came = vec![Vec::new(); FLOWS as usize];
    for step in &plan.steps {
        now += Duration(step.gap);
        let flow = step.qp as usize;
        match step.kind {
            Kind::Cnp => switch.cnp(now, step.qp),
            Kind::GoBack(by) => next[flow] = next[flow].saturating_sub(by),
            Kind::Data => {
                switch.data(now, step.qp, next[flow]);
                came[flow].push(next[flow]);
                next[flow] += 1;
            }
        }
    }
    switch.finish();
    let of_flow = |qp| switch.left.iter().filter(|left| left.qp == qp).map(|left| left.psn).collect();
    Outcome { came, left: (0..FLOWS).map(of_flow).collect(), switch }
}

/// Checks a property for 2,000 random plans, or for 100,000 if the environment variable `ANABRANCH_LONG` is set.
fn check(plans: impl Strategy<Value = Plan>, test: impl Fn(Plan, Outcome) -> Result<(), TestCaseError>) {
    let cases = if std::env::var_os("ANABRANCH_LONG").is_some() { 100_000 } else { 2_000 };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(config.rng_algorithm);
    let test = |plan: Plan| {
        let outcome = run(&plan);
        test(plan, outcome)
    };
    match TestRunner::new_with_rng(config, rng).run(&plans, test) {
        Ok(()) => {}
        Err(TestError::Fail(why, plan)) => panic!("{why}\nsmallest plan: {plan:#?}"),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}

/// Counts of the events that occurred, because a property holds vacuously if nothing tests it.
#[derive(Default)]
struct Seen([Cell<u64>; 4]);

impl Seen {
    fn add(&self, outcome: &Outcome) {
        for (sum, name) in self.0.iter().zip(["redirected", "loops", "recoveries", "installs"]) {
            sum.set(sum.get() + outcome.switch.count(name));
        }
    }

    fn counts(&self) -> [u64; 4] {
        [0, 1, 2, 3].map(|index: usize| self.0[index].get())
    }
}

#[test]
fn with_rate_recovery_a_flow_stays_in_order() {
    let seen = Seen::default();
    check(plans(Recovery::Rate, false), |_, outcome| {
        prop_assert_eq!(outcome.switch.count("wrong_flow_redirects"), 0, "no two flows share a place");
        prop_assert_eq!(&outcome.left, &outcome.came);
        seen.add(&outcome);
        Ok(())
    });
    let [redirected, loops, recoveries, installs] = seen.counts();
    assert!(redirected > 50_000 && loops > redirected + 50_000, "{:?}", seen.counts());
    assert!(recoveries > 5_000 && installs > 1_000, "{:?}", seen.counts());
}

#[test]
fn without_recovery_a_flow_stays_in_order() {
    let seen = Seen::default();
    check(plans(Recovery::None, false), |_, outcome| {
        prop_assert_eq!(&outcome.left, &outcome.came);
        seen.add(&outcome);
        Ok(())
    });
    let [redirected, loops, recoveries, _] = seen.counts();
    assert!(redirected > 50_000 && loops > 2 * redirected && recoveries > 5_000, "{:?}", seen.counts());
}

/// Every packet leaves once, but not necessarily in order.
#[test]
fn with_direct_recovery_a_flow_can_be_reordered() {
    let reordered = Cell::new(0);
    check(plans(Recovery::Direct, false), |_, outcome| {
        for (came, left) in outcome.came.iter().zip(&outcome.left) {
            reordered.set(reordered.get() + u32::from(came != left));
            let mut left = left.clone();
            left.sort_unstable();
            prop_assert_eq!(&left, came);
        }
        Ok(())
    });
    assert!(reordered.get() > 500, "{}", reordered.get());
}

/// With several flows in one slot, and a store with too few entries, packets may leave out of order but are never
/// lost.
#[test]
fn whatever_collides_every_packet_leaves_once() {
    let [wrong, collisions, refused, reused] = [const { Cell::new(0) }; 4];
    let slots =
        |(plan, cache_slots): (Plan, u32)| Plan { config: TrpConfig { cache_slots, ..plan.config }, ..plan };
    let any = prop_oneof![Just(Recovery::Rate), Just(Recovery::Direct), Just(Recovery::None)];
    let plans = any.prop_flat_map(|recovery| plans(recovery, false));
    check((plans, 1u32..3).prop_map(slots), |_, outcome| {
        for (came, left) in outcome.came.iter().zip(&outcome.left) {
            let mut left = left.clone();
            left.sort_unstable();
            prop_assert_eq!(&left, came);
        }
        let counts = [
            (&wrong, "wrong_flow_redirects"),
            (&collisions, "cache_collisions"),
            (&refused, "installs_refused"),
            (&reused, "entries_reused"),
        ];
        for (sum, name) in counts {
            sum.set(sum.get() + outcome.switch.count(name));
        }
        let names = ["installs", "entries_reused", "installs_refused", "cnps_seen"];
        let [installs, reused, refused, cnps] = names.map(|name| outcome.switch.count(name));
        prop_assert!(reused <= installs && installs + refused <= cnps);
        Ok(())
    });
    let seen = [wrong, collisions, refused, reused].map(Cell::into_inner);
    assert!(seen.iter().all(|count| *count > 500), "{seen:?}");
}

/// Go-back-N: copies of a packet may overtake each other, but a receiver that requires order never sees a gap that the
/// switch has made.
#[test]
fn a_sender_that_goes_back_makes_no_gap() {
    let overtaken = Cell::new(0);
    check(plans(Recovery::Rate, true), |_, outcome| {
        for (came, left) in outcome.came.iter().zip(&outcome.left) {
            let mut expected = 0;
            for psn in left {
                prop_assert!(*psn <= expected, "{} when {} is expected in {:?}", psn, expected, left);
                expected = expected.max(psn + 1);
            }
            overtaken.set(overtaken.get() + u32::from(came != left));
            let (mut came, mut left) = (came.clone(), left.clone());
            came.sort_unstable();
            left.sort_unstable();
            prop_assert_eq!(came, left);
        }
        Ok(())
    });
    assert!(overtaken.get() > 0, "copies do change places");
}

/// If the timer and arrivals fall on the same time, the same packets leave at the same times, whichever is handled
/// first.
#[test]
fn who_goes_first_at_one_moment_does_not_matter() {
    check(plans(Recovery::Rate, true), |plan, outcome| {
        let other = run(&Plan { timer_first: !plan.timer_first, ..plan });
        let sorted = |outcome: &Outcome| {
            let mut left: Vec<(Time, u32, u32)> =
                outcome.switch.left.iter().map(|Left { at, qp, psn, .. }| (*at, *qp, *psn)).collect();
            left.sort_unstable();
            left
        };
        prop_assert_eq!(sorted(&outcome), sorted(&other));
        prop_assert_eq!(outcome.left, other.left);
        Ok(())
    });
}
