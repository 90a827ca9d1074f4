//! Algorithm 1 and appendix D, tested step by step.

use anabranch_base::{Duration, Time};
use anabranch_proto::program::themis_longhaul::{FlowState, FlowStatus, Growth, Recovery, Throttling};

use FlowStatus::{Normal, Recover, Throttled};
use Step::{Cnp, Data, Sent};

/// The values of alpha and beta are those of section VI.
pub const PAPER: Throttling =
    Throttling { alpha: 5, beta: Duration::from_us(500), recovery: Recovery::Rate, growth: Growth::Printed };

#[derive(Clone, Copy, Debug)]
enum Step {
    Cnp,
    /// A number of CNPs at the same time.
    Cnps(u32),
    /// A packet with this PSN, and its expected number of loops, which is 0 if the packet is forwarded immediately.
    Data(u32, u8),
    /// The packet with this PSN has left the switch.
    Sent(u32),
}

/// The time of a step in us, the step, and the state after it: `loop_num`, alpha, `cnp_num` and the status.
type Row = (u64, Step, (u8, u32, u32, FlowStatus));

fn run(rules: &Throttling, rows: &[Row]) {
    let mut state = FlowState::new(rules);
    for (number, (at_us, step, expected)) in rows.iter().enumerate() {
        let now = Time::ZERO + Duration::from_us(*at_us);
        match *step {
            Cnp => state.handle_cnp(now, rules),
            Step::Cnps(count) => (0..count).for_each(|_| state.handle_cnp(now, rules)),
            Data(psn, loops) => {
                assert_eq!(state.handle_data(now, psn, rules), loops, "loops in row {number}");
            }
            Sent(psn) => state.handle_sent(psn),
        }
        let found = (state.loop_num, state.alpha, state.cnp_num, state.status);
        assert_eq!(found, *expected, "after row {number}, {step:?} at {at_us} us");
    }
}

/// The printed condition `cnp_num % alpha == 1` holds for CNPs 1, 7, 8, 9, and so on. Each of them raises `loop_num` and
/// alpha.
#[test]
fn algorithm_1_to_the_letter() {
    let rows = [
        // The flow is not throttled yet.
        (0, Data(0, 0), (0, 5, 0, Normal)),
        // The first CNP throttles immediately.
        (1, Cnp, (1, 6, 1, Throttled)),
        (2, Data(1, 1), (1, 6, 1, Throttled)),
        (3, Cnp, (1, 6, 2, Throttled)),
        (4, Cnp, (1, 6, 3, Throttled)),
        (5, Cnp, (1, 6, 4, Throttled)),
        (6, Cnp, (1, 6, 5, Throttled)),
        (7, Cnp, (1, 6, 6, Throttled)),
        (8, Data(2, 1), (1, 6, 6, Throttled)),
        // Each of 7 % 6, 8 % 7 and 9 % 8 is 1: alpha has caught up with the count.
        (9, Cnp, (2, 7, 7, Throttled)),
        (10, Cnp, (3, 8, 8, Throttled)),
        (10, Data(3, 3), (3, 8, 8, Throttled)),
        (11, Cnp, (4, 9, 9, Throttled)),
        // The last CNP arrived exactly beta ago, which is not longer than beta.
        (511, Data(4, 4), (4, 9, 9, Throttled)),
        // Lines 10 to 15 are executed before lines 17 to 21.
        (512, Data(5, 4), (4, 4, 0, Recover)),
        // The recovery begins only once per quiet period.
        (513, Data(6, 4), (4, 4, 0, Recover)),
        (2_000, Data(7, 4), (4, 4, 0, Recover)),
        (2_001, Sent(7), (4, 4, 0, Recover)),
        (2_002, Data(8, 0), (0, 4, 0, Normal)),
        (2_003, Data(10, 0), (0, 4, 0, Normal)),
        // A quiet period has its effect only once.
        (9_000, Data(11, 0), (0, 4, 0, Normal)),
        // The next congestion starts with a lower alpha.
        (9_001, Cnp, (1, 5, 1, Throttled)),
        (9_002, Step::Cnps(4), (1, 5, 5, Throttled)),
        (9_003, Cnp, (2, 6, 6, Throttled)),
        (9_504, Data(12, 2), (2, 3, 0, Recover)),
        // A CNP arrives during the recovery.
        (9_505, Cnp, (3, 4, 1, Throttled)),
        (9_506, Data(13, 3), (3, 4, 1, Throttled)),
    ];
    run(&PAPER, &rows);
}

/// Section V-B: `loop_num` rises by one with every alpha CNPs, and alpha grows each time.
#[test]
fn algorithm_1_as_the_prose_wants_it() {
    let rules = Throttling { growth: Growth::Spaced, ..PAPER };
    let rows = [
        (1, Cnp, (1, 6, 1, Throttled)),
        (2, Step::Cnps(5), (1, 6, 6, Throttled)),
        (3, Cnp, (2, 7, 1, Throttled)),
        (4, Step::Cnps(6), (2, 7, 7, Throttled)),
        (5, Cnp, (3, 8, 1, Throttled)),
        (6, Step::Cnps(7), (3, 8, 8, Throttled)),
        (7, Cnp, (4, 9, 1, Throttled)),
        (508, Data(0, 4), (4, 4, 0, Recover)),
        (509, Cnp, (5, 5, 1, Throttled)),
        (510, Step::Cnps(4), (5, 5, 5, Throttled)),
        (511, Cnp, (6, 6, 1, Throttled)),
    ];
    run(&rules, &rows);
}

#[test]
fn without_recovery_a_flow_stays_as_slow_as_it_was() {
    let rules = Throttling { recovery: Recovery::None, ..PAPER };
    let rows = [
        (1, Step::Cnps(8), (3, 8, 8, Throttled)),
        (502, Data(0, 3), (3, 4, 0, Recover)),
        (502, Sent(0), (3, 4, 0, Recover)),
        (503, Data(1, 3), (3, 4, 0, Recover)),
        (90_000, Data(2, 3), (3, 4, 0, Recover)),
        (90_001, Cnp, (4, 5, 1, Throttled)),
    ];
    run(&rules, &rows);
}

#[test]
fn direct_recovery_loops_no_more_at_once() {
    let rules = Throttling { recovery: Recovery::Direct, ..PAPER };
    let rows = [
        (1, Step::Cnps(8), (3, 8, 8, Throttled)),
        (502, Data(0, 3), (0, 4, 0, Recover)),
        (502, Data(1, 0), (0, 4, 0, Normal)),
        (503, Cnp, (1, 5, 1, Throttled)),
        (1_004, Data(2, 1), (0, 2, 0, Recover)),
        (1_005, Cnp, (1, 3, 1, Throttled)),
    ];
    run(&rules, &rows);
}

/// A packet of a recovering flow is forwarded without a loop only if its PSN directly follows the PSN of the last
/// packet sent. PSNs wrap.
#[test]
fn only_the_packet_right_behind_the_last_one_needs_no_loop() {
    let late = Time::ZERO + Duration::from_us(501);
    for (last, psn, loops) in [(6, 6, 3), (6, 7, 0), (6, 8, 3), (6, 5, 3), (u32::MAX, 0, 0)] {
        let mut state = FlowState::new(&PAPER);
        (0..8).for_each(|_| state.handle_cnp(Time::ZERO, &PAPER));
        assert!(state.loops_again(late, 4, 2, &PAPER), "nothing is known of what was sent");
        assert_eq!(state.status, Recover);
        state.handle_sent(last);
        assert_eq!(state.loops_again(late, psn, 2, &PAPER), loops > 0, "{psn} comes back after {last}");
        assert_eq!(state.handle_data(late, psn, &PAPER), loops, "{psn} comes in after {last}");
    }
    // Packets of a throttled flow loop in any case.
    let mut state = FlowState::new(&PAPER);
    state.handle_cnp(Time::ZERO, &PAPER);
    state.handle_sent(6);
    assert_eq!(state.handle_data(Time::ZERO, 7, &PAPER), 1);
    assert!(state.loops_again(Time::ZERO, 7, 1, &PAPER));
}

/// `cnp_num % 1 == 1` never holds, but `cnp_num % 1 == 1 % 1` always does.
#[test]
fn an_alpha_of_one_counts_every_cnp() {
    let rules = Throttling { alpha: 1, growth: Growth::Spaced, ..PAPER };
    let rows = [
        (1, Cnp, (1, 2, 1, Throttled)),
        (502, Data(0, 1), (1, 1, 0, Recover)),
        (503, Cnp, (2, 2, 1, Throttled)),
        (1_004, Data(1, 2), (2, 1, 0, Recover)),
    ];
    run(&rules, &rows);
    let mut state = FlowState { alpha: 1, cnp_num: 4, status: Throttled, ..FlowState::new(&rules) };
    state.handle_cnp(Time::ZERO, &rules);
    assert_eq!((state.loop_num, state.alpha), (1, 2), "the fifth counts too");
    let mut state = FlowState { alpha: 1, status: Throttled, ..FlowState::new(&rules) };
    state.handle_data(Time::ZERO + Duration::from_us(501), 0, &rules);
    assert_eq!(state.alpha, 1, "and never 0");
}

#[test]
fn a_loop_count_stays_in_its_header_field() {
    let mut state = FlowState::new(&PAPER);
    (0..1_000).for_each(|_| state.handle_cnp(Time::ZERO, &PAPER));
    assert_eq!(state.loop_num, 255);
}

/// The growth of `loop_num` in a round trip between data centres (1,012 us) with a CNP every 5 us.
#[test]
fn the_printed_test_lets_every_cnp_count_and_the_prose_does_not() {
    let after = |growth| {
        let rules = Throttling { growth, ..PAPER };
        let mut state = FlowState::new(&rules);
        (0..202).for_each(|_| state.handle_cnp(Time::ZERO, &rules));
        state.loop_num
    };
    assert_eq!((after(Growth::Printed), after(Growth::Spaced)), (197, 16));
}

/// The decision about a packet that returns with two loops or none left, for each status and recovery.
#[test]
fn who_leaves_as_it_comes_back() {
    let [early, late] = [500, 501].map(|us| Time::ZERO + Duration::from_us(us));
    for (recovery, follows, next) in
        [(Recovery::Rate, false, true), (Recovery::Direct, false, false), (Recovery::None, true, true)]
    {
        let rules = Throttling { recovery, ..PAPER };
        let throttled = || {
            let mut state = FlowState::new(&rules);
            (0..8).for_each(|_| state.handle_cnp(Time::ZERO, &rules));
            state.handle_sent(6);
            state
        };
        let mut state = throttled();
        assert!(state.loops_again(early, 7, 2, &rules), "beta is not over");
        assert!(!state.loops_again(early, 7, 0, &rules), "no loop is left");
        assert_eq!(throttled().loops_again(late, 7, 2, &rules), follows, "{recovery:?}");
        assert_eq!(throttled().loops_again(late, 8, 2, &rules), next, "{recovery:?}");
        assert!(!throttled().loops_again(late, 8, 0, &rules), "7 may never come");
        let mut normal = FlowState { status: Normal, ..throttled() };
        assert_eq!(normal.loops_again(late, 8, 2, &rules), next, "{recovery:?}");
        assert_eq!(normal.status, Normal);
    }
}
