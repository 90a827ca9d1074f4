use super::*;
use crate::{PathFacts, Span};
use anabranch_base::{Bytes, Purpose, Rate, stream};

const RTT: Duration = Duration::from_us(8);

fn config() -> RepsConfig {
    RepsConfig {
        evs: 65_536,
        buffer: 8,
        freezing: true,
        freezing_timeout: Span::Time(Duration::from_us(100)),
        after_freezing: AfterFreezing::Keep,
        freezing_ends: FreezingEnds::Ack,
        explore_packets: 16,
        failure_rtt: 1.65,
        reuse: 1,
        reuse_order: ReuseOrder::InARow,
        freeze_at: None,
    }
}

fn sender(config: &RepsConfig, trimming: bool) -> Reps {
    let facts = PathFacts {
        base_rtt: RTT,
        bdp: Bytes(400_000),
        packet: Bytes(4150),
        line_rate: Rate::from_gbps(400),
        port_rate: Rate::from_gbps(400),
        queue: Bytes(1_000_000),
    };
    let environment = Environment { facts, rto: Duration::from_us(70), trimming };
    Reps::new(config, &environment, stream(1, 0, Purpose::LoadBalancer))
}

fn good_ack(reps: &mut Reps, us: u64, ev: u16) {
    reps.handle_ack(Time::ZERO + Duration::from_us(us), ev, false, RTT);
}

fn next_ev(reps: &mut Reps) -> u16 {
    reps.next_ev(Time::ZERO, 0)
}

fn at(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

fn next_random(reps: &Reps) -> u16 {
    reps.random.clone().below(65_536) as u16
}

/// Figure 1: the entropy of an unmarked ACK is cached and then used. The entropy of a marked ACK is discarded.
#[test]
fn recycles_good_entropies_and_forgets_marked_ones() {
    let mut reps = sender(&config(), false);
    good_ack(&mut reps, 1, 55);
    reps.handle_ack(at(2), 22, true, RTT);
    good_ack(&mut reps, 3, 11);
    assert_eq!((next_ev(&mut reps), next_ev(&mut reps)), (55, 11), "oldest first, the marked 22 is gone");
    let random = next_random(&reps);
    assert_eq!(next_ev(&mut reps), random, "an empty cache explores");
}

#[test]
fn explores_at_random_before_the_first_ack() {
    let mut reps = sender(&config(), false);
    for _ in 0..100 {
        let random = next_random(&reps);
        assert_eq!(next_ev(&mut reps), random);
    }
}

#[test]
fn a_burst_longer_than_the_buffer_keeps_the_youngest() {
    let mut reps = sender(&config(), false);
    (1..=11).for_each(|ev| good_ack(&mut reps, 1, ev));
    let reused: Vec<u16> = (0..8).map(|_| next_ev(&mut reps)).collect();
    assert_eq!(reused, [4, 5, 6, 7, 8, 9, 10, 11]);
}

/// By section 3.2, a frozen sender cycles through its cached entropies.
#[test]
fn frozen_it_reuses_what_it_has() {
    let mut reps = sender(&config(), false);
    (1..=8).for_each(|ev| good_ack(&mut reps, 1, ev));
    reps.handle_timeout(at(60), None);
    assert!(reps.is_freezing());
    let used: Vec<u16> = (0..20).map(|_| next_ev(&mut reps)).collect();
    assert_eq!(used, [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4]);
    good_ack(&mut reps, 61, 99);
    assert_eq!(next_ev(&mut reps), 99, "a fresh good entropy comes first");
}

#[test]
fn frozen_with_part_of_a_buffer_it_uses_only_entries_that_hold_a_path() {
    let mut reps = sender(&config(), false);
    (1..=3).for_each(|ev| good_ack(&mut reps, 1, ev));
    reps.handle_timeout(at(60), None);
    let used: Vec<u16> = (0..7).map(|_| next_ev(&mut reps)).collect();
    assert_eq!(used, [1, 2, 3, 1, 2, 3, 1]);
}

#[test]
fn frozen_with_an_empty_buffer_it_still_explores() {
    let mut reps = sender(&config(), false);
    reps.handle_timeout(at(60), None);
    assert!(reps.is_freezing());
    let random = next_random(&reps);
    assert_eq!(next_ev(&mut reps), random);
}

/// Freezing ends by Algorithm 1, lines 15-18. Exploring then follows Algorithm 2, lines 15-18.
#[test]
fn leaves_freezing_by_time_and_explores_one_packet_in_eight() {
    let mut reps = sender(&config(), false);
    (1..=8).for_each(|ev| good_ack(&mut reps, 1, ev));
    reps.handle_timeout(at(60), None);
    good_ack(&mut reps, 160, 9);
    assert!(reps.is_freezing(), "exit only after the timeout, not at it");
    good_ack(&mut reps, 161, 10);
    assert!(!reps.is_freezing());
    let cached = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    let explored: Vec<bool> = (0..16).map(|_| !cached.contains(&next_ev(&mut reps))).collect();
    let expected: Vec<bool> = (0..16).map(|i| i % 8 == 7).collect();
    assert_eq!(explored, expected);
    let random = next_random(&reps);
    assert_eq!(next_ev(&mut reps), random, "then back to the normal rule: no valid entry, so explore");
}

#[test]
fn a_reset_leaves_nothing_of_the_buffer() {
    let mut reps = sender(&RepsConfig { after_freezing: AfterFreezing::Reset, ..config() }, false);
    (0..8).for_each(|ev| good_ack(&mut reps, 1, ev));
    reps.handle_timeout(at(1_000), None);
    assert!(reps.is_freezing() && next_ev(&mut reps) < 8, "frozen, it uses what it has");
    good_ack(&mut reps, 1_101, 3);
    assert!(!reps.is_freezing());
    for _ in 0..16 {
        good_ack(&mut reps, 1_102, 9);
        let random = next_random(&reps);
        assert_eq!(next_ev(&mut reps), random);
    }
    assert_eq!(next_ev(&mut reps), 9, "then what came meanwhile");
}

/// By section 3.2, freezing ends after a fixed time. By Algorithm 1, a sender without ACKs stays frozen.
#[test]
fn without_an_ack_freezing_ends_at_a_timeout_or_never() {
    for (freezing_ends, ends) in [(FreezingEnds::Ack, false), (FreezingEnds::Timeout, true)] {
        let mut reps = sender(&RepsConfig { freezing_ends, ..config() }, false);
        good_ack(&mut reps, 1, 5);
        reps.handle_timeout(at(60), None);
        reps.handle_timeout(at(100), None);
        assert!(reps.is_freezing(), "its time is not over");
        reps.handle_timeout(at(1_000), None);
        assert_eq!(reps.is_freezing(), !ends);
        let explores = (0..8).filter(|_| next_ev(&mut reps) != 5).count();
        assert_eq!(explores > 0, ends, "{explores}");
    }
}

#[test]
fn explores_while_nothing_is_cached() {
    let mut reps = sender(&RepsConfig { freezing_ends: FreezingEnds::Timeout, ..config() }, true);
    reps.handle_timeout(at(60), None);
    reps.handle_timeout(at(1_000), None);
    for _ in 0..20 {
        let random = next_random(&reps);
        assert_eq!(next_ev(&mut reps), random);
    }
    good_ack(&mut reps, 1_001, 5);
    assert_eq!(next_ev(&mut reps), 5);
}

#[test]
fn does_not_freeze_again_while_it_explores() {
    let mut reps = sender(&config(), false);
    good_ack(&mut reps, 1, 5);
    reps.handle_timeout(at(60), None);
    good_ack(&mut reps, 200, 6);
    reps.handle_timeout(at(201), None);
    assert!(!reps.is_freezing());
    for _ in 0..16 {
        next_ev(&mut reps);
    }
    reps.handle_timeout(at(202), None);
    assert!(reps.is_freezing());
}

/// Appendix A, 2: a high RTT before the timeout indicates congestion.
#[test]
fn a_timeout_after_long_round_trips_is_congestion() {
    let mut reps = sender(&config(), false);
    reps.handle_ack(at(10), 1, false, Duration::from_us(14));
    reps.handle_timeout(at(75), None);
    assert!(!reps.is_freezing(), "14 us is above 1.65 x 8 us");
    reps.handle_ack(at(150), 1, false, Duration::from_us(13));
    reps.handle_ack(at(290), 1, false, Duration::from_us(13));
    reps.handle_timeout(at(300), None);
    assert!(reps.is_freezing(), "13 us is below, and the 14 us are long past");
}

/// Appendix A, 1: if switches trim, high RTTs before a timeout do not matter.
#[test]
fn with_trimming_every_timeout_is_a_failure() {
    let mut reps = sender(&config(), true);
    reps.handle_ack(at(10), 1, false, Duration::from_us(60));
    reps.handle_timeout(at(75), None);
    assert!(reps.is_freezing());
}

#[test]
fn without_freezing_mode_it_keeps_exploring() {
    let mut reps = sender(&RepsConfig { freezing: false, ..config() }, false);
    good_ack(&mut reps, 1, 5);
    reps.handle_timeout(at(60), None);
    assert!(!reps.is_freezing());
}

/// Appendix A and figure 19 force freezing without a failure.
#[test]
fn freezing_can_be_forced_at_a_time() {
    let forced = RepsConfig { freeze_at: Some(Span::Time(Duration::from_us(50))), ..config() };
    let mut reps = sender(&forced, false);
    good_ack(&mut reps, 49, 5);
    assert!(!reps.is_freezing(), "before its time");
    // A marked ACK triggers freezing as well, although its path is not cached.
    reps.handle_ack(at(50), 22, true, RTT);
    assert!(reps.is_freezing(), "at its time");
    assert_eq!((next_ev(&mut reps), next_ev(&mut reps)), (5, 5), "round the buffer, and no new entropies");
    good_ack(&mut reps, 150, 6);
    assert!(reps.is_freezing(), "until it has lasted 100 us");
    good_ack(&mut reps, 151, 7);
    assert!(!reps.is_freezing(), "as after a failure");
    good_ack(&mut reps, 152, 8);
    assert!(!reps.is_freezing(), "once");
}

#[test]
fn forced_freezing_ends_exploring() {
    let forced = RepsConfig { freeze_at: Some(Span::Time(Duration::from_us(170))), ..config() };
    let mut reps = sender(&forced, false);
    good_ack(&mut reps, 1, 5);
    reps.handle_timeout(at(60), None);
    good_ack(&mut reps, 161, 6);
    assert!(!reps.is_freezing() && reps.explore_counter == 16);
    good_ack(&mut reps, 170, 7);
    assert!(reps.is_freezing() && reps.explore_counter == 0);
}

/// Table 1 lists 74 bits for a buffer of one entry, and 193 bits for a buffer of eight entries.
#[test]
fn state_is_as_table_1_says() {
    let bits = |buffer| {
        Reps::state(&RepsConfig { buffer, ..config() }).iter().map(|f| f.bits * f.count).sum::<u32>()
    };
    assert_eq!((bits(1), bits(8)), (74, 193));
}

/// In section 4.5.1 ("ACK+Reuse EVs"), several packets use a cached entropy.
#[test]
fn an_entropy_is_used_as_often_as_its_lifespan_says() {
    let mut reps = sender(&RepsConfig { buffer: 2, reuse: 3, ..config() }, false);
    good_ack(&mut reps, 1, 11);
    good_ack(&mut reps, 1, 12);
    let next = |reps: &mut Reps, n: usize| (0..n).map(|_| next_ev(reps)).collect::<Vec<_>>();
    assert_eq!(next(&mut reps, 5), [11, 11, 11, 12, 12]);
    good_ack(&mut reps, 2, 13);
    assert_eq!(next(&mut reps, 1), [12]);
    assert_eq!(next(&mut reps, 1), [13]);
    good_ack(&mut reps, 3, 14);
    // Entropy value 15 replaces 13, the oldest in the full buffer, although 13 has two uses left.
    good_ack(&mut reps, 3, 15);
    assert_eq!(next(&mut reps, 6), [14, 14, 14, 15, 15, 15]);
    let random = next_random(&reps);
    assert_eq!(next_ev(&mut reps), random, "all used up");
}

#[test]
fn entropies_may_be_used_in_turn() {
    let order = ReuseOrder::InTurn;
    let mut reps = sender(&RepsConfig { buffer: 3, reuse: 3, reuse_order: order, ..config() }, false);
    let next = |reps: &mut Reps, n: usize| (0..n).map(|_| next_ev(reps)).collect::<Vec<_>>();
    good_ack(&mut reps, 1, 11);
    good_ack(&mut reps, 1, 12);
    assert_eq!(next(&mut reps, 3), [11, 12, 11]);
    good_ack(&mut reps, 2, 13);
    assert_eq!(next(&mut reps, 6), [12, 11, 13, 12, 13, 13]);
    let random = next_random(&reps);
    assert_eq!(next_ev(&mut reps), random, "each was used three times");
    (21..24).for_each(|ev| good_ack(&mut reps, 3, ev));
    assert_eq!(next(&mut reps, 1), [21]);
    // Entropy value 24 replaces 22, which has waited longest in the full buffer.
    good_ack(&mut reps, 4, 24);
    assert_eq!(next(&mut reps, 8), [23, 21, 24, 23, 21, 24, 23, 24]);
    let random = next_random(&reps);
    assert_eq!(next_ev(&mut reps), random);
}

#[test]
fn a_lifespan_takes_a_counter_more() {
    let in_turn = RepsConfig { reuse: 16, reuse_order: ReuseOrder::InTurn, ..config() };
    assert_eq!(Reps::state(&in_turn).iter().map(|field| field.bits * field.count).sum::<u32>(), 193 + 64);
    let bits = |reuse| {
        let state = Reps::state(&RepsConfig { reuse, ..config() });
        state.iter().map(|field| field.bits * field.count).sum::<u32>()
    };
    assert_eq!((bits(1), bits(16)), (193, 201));
}
