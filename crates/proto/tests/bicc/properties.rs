//! Properties of BiCC, tested with random plans.

use super::fabric::{Outcome, Plan, run};
use super::*;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if std::env::var_os("ANABRANCH_LONG").is_some() { 20_000 } else { 600 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Packets may be lost on either side of the switch.
    #[test]
    fn no_window_leaks(plan in plans(true)) {
        finished(&plan, &run(&plan))?;
    }

    #[test]
    fn without_losses_nothing_is_given_up(plan in plans(false)) {
        let plan = Plan { ack_every: 1, rto: LONG, release: LONG, ..plan };
        let outcome = run(&plan);
        finished(&plan, &outcome)?;
        prop_assert_eq!(outcome.senders, Default::default());
        prop_assert_eq!((outcome.counters["given_up_packets"], outcome.counters["expired_packets"]), (0, 0));
        prop_assert!(outcome.finished < Time::ZERO + LONG, "no timer was needed");
    }
}

const LONG: Duration = Duration::from_us(1_000_000);

/// The properties above are not vacuous: the switch holds packets, and some packets are given up or expire.
#[test]
fn windows_fill_with_what_is_lost() {
    for go_back_n in [true, false] {
        let (mut held, mut given_up, mut expired, mut early) = (0, 0, 0, 0);
        for seed in 0..30 {
            let plan = Plan {
                go_back_n,
                qps: vec![(0, vec![60_000; 4]), (0, vec![100_000]), (1, vec![30_000])],
                sender_window: 40,
                ack_every: 1,
                rto: Duration::from_us(2_000),
                window: 10 * u64::from(PACKET),
                release: Duration::from_us(150),
                losses: [0.01, 0.01, 0.02, 0.02],
                lateness: [500; 4],
                seed,
            };
            let outcome = run(&plan);
            finished(&plan, &outcome).expect("all of it");
            held += outcome.counters["held_packets"];
            given_up += outcome.counters["given_up_packets"];
            expired += outcome.counters["expired_packets"];
            early += u32::from(outcome.senders.timeouts == 0);
        }
        assert!(held > 1_000 && given_up > 100 && expired > 5 && early < 30, "{held} {given_up} {expired}");
    }
}

/// If receivers coalesce ACKs over more packets than the window allows, their queue pairs block each other until
/// `release` has passed.
#[test]
fn receivers_that_acknowledge_late_need_the_release() {
    let plan = |ack_every| Plan {
        go_back_n: true,
        qps: vec![(0, vec![40_000]), (0, vec![40_000]), (0, vec![40_000])],
        sender_window: 1_000,
        ack_every,
        rto: LONG,
        window: 12 * u64::from(PACKET),
        release: Duration::from_us(300),
        losses: [0.0; 4],
        lateness: [0; 4],
        seed: 1,
    };
    let (prompt, late) = (run(&plan(1)), run(&plan(16)));
    assert_eq!(prompt.counters["expired_packets"], 0);
    assert!(late.counters["expired_packets"] > 0);
    assert!(late.finished > prompt.finished + Duration::from_us(300));
    for outcome in [prompt, late] {
        assert_eq!(outcome.delivered, vec![vec![0]; 3]);
        assert_eq!(outcome.senders.timeouts, 0);
    }
}

fn finished(plan: &Plan, outcome: &Outcome) -> Result<(), TestCaseError> {
    for (qp, (_, messages)) in plan.qps.iter().enumerate() {
        let all: Vec<u32> = (0..messages.len() as u32).collect();
        prop_assert_eq!(&outcome.delivered[qp], &all, "queue pair {}", qp);
        prop_assert_eq!(&outcome.acknowledged[qp], &all, "queue pair {}", qp);
    }
    let most = plan.window.max(u64::from(PACKET));
    prop_assert!(outcome.counters["max_in_flight_bytes"] <= most, "{:?}", outcome);
    prop_assert_eq!(outcome.counters["held_packets"], outcome.counters["released_packets"]);
    Ok(())
}

/// The RTO is at least 4 ms. With a shorter RTO, senders would fill the queues with copies faster than the switch
/// empties them.
fn plans(with_losses: bool) -> impl Strategy<Value = Plan> {
    let messages = prop::collection::vec(prop_oneof![1u64..3_000, 1u64..20_000], 1..4);
    let qps = prop::collection::vec((0u32..3, messages), 1..6);
    let nics = (any::<bool>(), qps, 1u64..80, prop_oneof![Just(1u32), 2u32..17], 4_000u64..20_000);
    let windows = prop_oneof![1u64..2_000, 1_000u64..40_000, Just(1_000_000u64)];
    let loss = move || match with_losses {
        true => prop_oneof![2 => Just(0.0), 2 => 0.0f64..0.03, 1 => 0.0f64..0.1].boxed(),
        false => Just(0.0).boxed(),
    };
    let lateness = prop::array::uniform4(prop_oneof![Just(0u32), 0u32..10_000]);
    let losses = [loss(), loss(), loss(), loss()];
    (nics, windows, 20u64..300, losses, lateness, any::<u64>()).prop_map(
        |(nics, window, release_us, losses, lateness, seed)| {
            let (go_back_n, qps, sender_window, ack_every, rto_us) = nics;
            Plan {
                go_back_n,
                qps,
                sender_window,
                ack_every,
                rto: Duration::from_us(rto_us),
                window,
                release: Duration::from_us(release_us),
                losses,
                lateness,
                seed,
            }
        },
    )
}
