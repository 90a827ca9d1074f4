//! CNP_Cache and CNP_Store: which flows are throttled at which time, and which flow uses which slot.

use crate::themis_longhaul::throttling::PAPER;
use crate::themis_longhaul::trp::{RECEIVER, Switch, config, ns, us};
use anabranch_base::{Duration, QpId, Time};
use anabranch_proto::program::Verdict;
use anabranch_proto::program::themis_longhaul::{CnpTables, FlowStatus, Recovery, Throttling, TrpConfig};
use std::collections::BTreeSet;

/// The time has no effect on slots without an expiry.
const NOW: Time = Time::ZERO;
const DELAY: Duration = Duration::from_us(1_000);

fn tables(cache_slots: usize, store_entries: usize) -> CnpTables {
    CnpTables::new(PAPER, (cache_slots, false), store_entries, DELAY, 7)
}

/// The `loop_num` of a throttled flow. It is 0 if no registers are found, or if the flow is back to normal.
fn loops(tables: &mut CnpTables, qp: u32) -> u8 {
    tables.find(NOW, RECEIVER, QpId(qp)).map_or(0, |found| found.state.loop_num)
}

fn cnps(tables: &mut CnpTables, at: Time, qp: u32, count: u32) {
    (0..count).for_each(|_| tables.handle_cnp(at, RECEIVER, QpId(qp)));
}

#[test]
fn the_cache_throttles_at_once_and_the_store_goes_on_from_there() {
    let mut tables = tables(1_024, 1_024);
    assert!(tables.find(NOW, RECEIVER, QpId(0)).is_none());
    cnps(&mut tables, us(1), 0, 8);
    assert_eq!((loops(&mut tables, 0), loops(&mut tables, 1)), (3, 0));
    assert_eq!(tables.next_install(), Some(us(1) + DELAY), "one entry for eight CNPs");
    let before = *tables.find(NOW, RECEIVER, QpId(0)).expect("it is in the cache").state;
    tables.install();
    let after = *tables.find(NOW, RECEIVER, QpId(0)).expect("it is in the store").state;
    assert_eq!(before, after);
    assert_eq!((tables.next_install(), tables.stored(), tables.counts().installs), (None, 1, 1));
    // Further CNPs change only the entry and not the cache.
    cnps(&mut tables, us(1_002), 0, 1);
    assert_eq!((loops(&mut tables, 0), tables.next_install()), (4, None));
}

/// All flows share one slot. The other flow is throttled only as long as the first flow's registers are in the slot.
#[test]
fn a_collision_throttles_a_wrong_flow_until_the_install() {
    let mut switch = Switch::new(&TrpConfig { cache_slots: 1, ..config() });
    switch.cnp(us(10), 0);
    assert_eq!(switch.data(us(11), 1, 0), Verdict::HoldOutside, "no CNP of it ever came");
    assert_eq!(switch.count("wrong_flow_redirects"), 1);
    assert_eq!(switch.data(us(11), 0, 0), Verdict::HoldOutside);
    assert_eq!(switch.count("wrong_flow_redirects"), 1);
    // A CNP keeps the first flow throttled.
    switch.cnp(us(900), 0);
    assert_eq!(switch.data(ns(1_009_999), 1, 1), Verdict::HoldOutside);
    assert_eq!(switch.data(us(1_010), 1, 2), Verdict::Forward, "the entry is there, and the place is free");
    assert_eq!(switch.data(us(1_010), 0, 1), Verdict::HoldOutside, "the right one is still throttled");
    let counts = ["wrong_flow_redirects", "cache_collisions", "installs"].map(|name| switch.count(name));
    assert_eq!(counts, [2, 0, 1]);
    // A packet that was in the port still makes its loops.
    switch.finish();
    let wrong: Vec<_> = switch.left.iter().filter(|left| left.qp == 1).map(|left| left.psn).collect();
    assert_eq!(wrong, [0, 2, 1], "the place was reset: out of order, as the hardware would");
}

#[test]
fn flows_with_places_of_their_own_do_not_touch_each_other() {
    let mut tables = tables(1_024, 1_024);
    cnps(&mut tables, us(1), 0, 1);
    let hit: Vec<u32> = (1..10_000).filter(|qp| loops(&mut tables, *qp) > 0).collect();
    assert!((1..30).contains(&hit.len()), "10,000 flows on 1,024 places: {}", hit.len());
    for qp in hit {
        assert!(tables.find(NOW, RECEIVER, QpId(qp)).is_some_and(|found| found.is_wrong_flow));
    }
    tables.install();
    assert!((1..10_000).all(|qp| loops(&mut tables, qp) == 0), "the place is free");
}

#[test]
fn places_spread_evenly_and_depend_on_the_receiver() {
    let mut tables = tables(256, 0);
    for qp in 0..128 {
        cnps(&mut tables, us(1), qp, 1);
    }
    let share = (1_000..11_000).filter(|qp| loops(&mut tables, *qp) > 0).count();
    // 128 balls in 256 bins leave 256 * (1 - 1/256)^128 = 155 of the bins empty.
    assert!((3_600..4_300).contains(&share), "101 of 256 places are taken: {share}");
    let mut slots = BTreeSet::new();
    for host in 0..16 {
        let receiver = anabranch_base::HostId(host);
        let is_hit = tables.find(NOW, receiver, QpId(20_000)).is_some();
        slots.insert(is_hit);
    }
    assert_eq!(slots.len(), 2, "the receiver's address is hashed too");
}

/// The cache is looked up first, even for a flow that is in the store (section V-B).
#[test]
fn the_cache_hides_the_store() {
    let mut tables = tables(1, 1_024);
    cnps(&mut tables, us(1), 0, 9);
    tables.install();
    assert_eq!(loops(&mut tables, 0), 4);
    cnps(&mut tables, us(1_100), 1, 1);
    let found = tables.find(NOW, RECEIVER, QpId(0)).expect("it is in both");
    assert_eq!((found.state.loop_num, found.is_wrong_flow), (1, true));
    tables.install();
    assert_eq!((loops(&mut tables, 0), loops(&mut tables, 1)), (4, 1));
}

/// The first installation moves the registers, to which both flows wrote, into the entry of the first flow, and resets
/// the slot. The entry of the second flow therefore starts from the initial state and counts only the CNP that
/// requested the installation.
#[test]
fn two_flows_in_one_place() {
    let mut tables = tables(1, 1_024);
    cnps(&mut tables, us(1), 0, 7);
    assert_eq!(tables.counts().collisions, 0);
    cnps(&mut tables, us(2), 1, 1);
    assert_eq!((loops(&mut tables, 0), loops(&mut tables, 1), tables.counts().collisions), (3, 3, 1));
    assert!(tables.find(NOW, RECEIVER, QpId(0)).is_some_and(|found| !found.is_wrong_flow));
    assert!(tables.find(NOW, RECEIVER, QpId(1)).is_some_and(|found| !found.is_wrong_flow));
    tables.install();
    assert_eq!((loops(&mut tables, 0), loops(&mut tables, 1)), (3, 0), "until its own entry");
    tables.install();
    let state = *tables.find(NOW, RECEIVER, QpId(1)).expect("it is in the store").state;
    assert_eq!((state.loop_num, state.cnp_num, state.alpha, state.cnp_time), (1, 1, 6, us(2)));
}

/// With fingerprints, no flow finds the registers of another flow. A CNP takes over the slot. An installation resets
/// the slot only if the installed flow was the last to write to the slot.
#[test]
fn two_flows_in_one_place_with_fingerprints() {
    let mut tables = CnpTables::new(PAPER, (1, true), 1_024, DELAY, 7);
    cnps(&mut tables, us(1), 0, 7);
    assert_eq!((loops(&mut tables, 0), loops(&mut tables, 1)), (2, 0));
    cnps(&mut tables, us(2), 1, 1);
    assert_eq!((loops(&mut tables, 0), loops(&mut tables, 1), tables.counts().collisions), (0, 1, 1));
    tables.install();
    assert_eq!(
        (loops(&mut tables, 0), loops(&mut tables, 1)),
        (1, 1),
        "its registers were lost, the place is not reset"
    );
    tables.install();
    assert_eq!((loops(&mut tables, 0), loops(&mut tables, 1), tables.counts().installs), (1, 1, 2));
}

/// Figure 18, only CNP_Store: the flow is not throttled for a millisecond, and is then in the state after one CNP.
#[test]
fn the_store_alone_is_late() {
    let mut switch = Switch::new(&TrpConfig { cache: false, ..config() });
    (1..10).for_each(|at| switch.cnp(us(at), 0));
    assert_eq!(switch.data(ns(1_000_999), 0, 0), Verdict::Forward);
    switch.cnp(us(1_001), 0);
    switch.wait(us(1_001));
    assert_eq!(switch.data(us(1_001), 0, 1), Verdict::HoldOutside);
    assert_eq!((switch.count("max_loop_num"), switch.count("installs")), (1, 1));
    assert_eq!(switch.data(us(1_001), 1, 0), Verdict::Forward, "and never a wrong flow");
}

/// Figure 18, only CNP_Cache: the flow is throttled immediately, and only its recovery frees the slot for other flows.
#[test]
fn the_cache_alone_goes_on_hitting_wrong_flows() {
    let mut switch = Switch::new(&TrpConfig { store: false, cache_slots: 1, ..config() });
    (0..40).for_each(|at| switch.cnp(us(at * 100), 0));
    assert_eq!(switch.data(us(4_000), 1, 0), Verdict::HoldOutside);
    assert_eq!((switch.count("installs"), switch.count("wrong_flow_redirects")), (0, 1));
    // The packets of either flow let the state in the slot recover.
    assert_eq!(switch.data(us(4_500), 0, 0), Verdict::HoldOutside);
    assert_eq!(switch.data(us(4_501), 0, 1), Verdict::Forward);
    assert_eq!(switch.data(us(4_501), 1, 1), Verdict::Forward);
    // The other flow uses the slot now, so that packets of the first flow find another flow's registers.
    switch.cnp(us(4_600), 1);
    assert_eq!(switch.data(us(4_601), 0, 2), Verdict::HoldOutside);
    assert_eq!(switch.count("wrong_flow_redirects"), 2);
    switch.finish();
}

/// In a full store, a new flow replaces the idle flow whose last CNP is the oldest.
#[test]
fn a_full_store_gives_up_who_is_idle() {
    let mut tables = tables(1_024, 2);
    cnps(&mut tables, us(0), 0, 1);
    cnps(&mut tables, us(1), 1, 1);
    tables.install();
    tables.install();
    assert_eq!(tables.stored(), 2);
    // Both flows are throttled now. The third flow stays in the cache, and its next CNP requests an installation again.
    cnps(&mut tables, us(1_500), 0, 1);
    cnps(&mut tables, us(1_400), 1, 1);
    cnps(&mut tables, us(900), 2, 8);
    tables.install();
    let counts = tables.counts();
    assert_eq!((counts.installs, counts.installs_refused, counts.entries_reused), (2, 1, 0));
    assert_eq!((loops(&mut tables, 2), tables.next_install()), (3, None), "it is still in the cache");
    cnps(&mut tables, us(2_000), 2, 1);
    assert_eq!(tables.next_install(), Some(us(3_000)));
    tables.install();
    let counts = tables.counts();
    assert_eq!((counts.installs, counts.installs_refused, counts.entries_reused), (3, 1, 1));
    assert_eq!([0, 1, 2].map(|qp| loops(&mut tables, qp)), [1, 0, 4], "flow 1 had to go");
    assert_eq!(tables.stored(), 2);
    // The replaced flow may get an entry again.
    cnps(&mut tables, us(3_100), 1, 1);
    assert_eq!((loops(&mut tables, 1), tables.next_install()), (1, Some(us(4_100))));
}

/// A recovering flow is not idle while its packets arrive or loop. If its entry were reused, later packets could
/// overtake its packets that still loop.
#[test]
fn a_flow_that_still_recovers_keeps_its_entry() {
    let rules = Throttling { recovery: Recovery::Rate, ..PAPER };
    let mut tables = CnpTables::new(rules, (1_024, false), 1, DELAY, 7);
    cnps(&mut tables, us(0), 0, 1);
    tables.install();
    let packet = |tables: &mut CnpTables, at, psn| {
        let found = tables.find(NOW, RECEIVER, QpId(0)).expect("it is in the store");
        found.state.handle_data(at, psn, &rules);
        found.state.status
    };
    assert_eq!(packet(&mut tables, us(1_900), 0), FlowStatus::Recover);
    cnps(&mut tables, us(1_000), 1, 1);
    tables.install();
    assert_eq!(tables.counts().installs_refused, 1);
    // A packet that returns from its loop counts as activity too.
    let found = tables.find(NOW, RECEIVER, QpId(0)).expect("it is in the store");
    assert!(found.state.loops_again(us(2_450), 0, 1, &rules));
    cnps(&mut tables, us(1_500), 1, 1);
    tables.install();
    assert_eq!(tables.counts().installs_refused, 2);
    // Once the flow is back to normal, it is idle however many packets pass.
    tables.find(NOW, RECEIVER, QpId(0)).expect("it is in the store").state.handle_sent(0);
    assert_eq!(packet(&mut tables, us(2_999), 1), FlowStatus::Normal);
    cnps(&mut tables, us(2_000), 1, 1);
    tables.install();
    assert_eq!((tables.counts().installs_refused, tables.counts().entries_reused), (2, 1));
    // A flow that has no more packets is idle too.
    cnps(&mut tables, us(3_500), 2, 1);
    tables.install();
    assert_eq!((tables.counts().installs_refused, tables.counts().entries_reused), (2, 2));
}

/// An installation takes effect at its time, even if the timer is not handled before the packet of that time.
#[test]
fn an_install_is_on_time_without_a_timer() {
    let mut switch = Switch::new(&TrpConfig { cache: false, ..config() });
    switch.timer_first = false;
    switch.cnp(us(0), 0);
    assert_eq!(switch.trp.next_timeout(), Some(us(1_000)));
    assert_eq!(switch.data(us(1_000), 0, 0), Verdict::HoldOutside);
}

/// If the last CNP of a slot is longer ago than the expiry, a look-up misses the slot, and any flow may take it. This
/// holds even if the flow of the slot never returned to normal.
#[test]
fn a_slot_without_cnps_expires() {
    let expiry = Duration::from_us(200);
    let mut kept = tables(1, 0);
    let mut freed = tables(1, 0).freeing(Some(expiry), false);
    for tables in [&mut kept, &mut freed] {
        cnps(tables, us(10), 0, 8);
        assert!(tables.find(us(210), RECEIVER, QpId(0)).is_some(), "200 us are not longer than 200 us");
    }
    assert!(kept.find(us(211), RECEIVER, QpId(0)).is_some());
    assert!(freed.find(us(211), RECEIVER, QpId(0)).is_none());
    for tables in [&mut kept, &mut freed] {
        cnps(tables, us(300), 1, 1);
    }
    assert_eq!([kept.counts().collisions, freed.counts().collisions], [1, 0]);
    let loops = |tables: &mut CnpTables| tables.find(us(300), RECEIVER, QpId(1)).map(|it| it.state.loop_num);
    assert_eq!([loops(&mut kept), loops(&mut freed)], [Some(4), Some(1)], "a free slot begins anew");
}

/// Two flows share one slot. With `reset_own`, the installation for the first flow leaves the registers that the second
/// flow's CNP wrote. Without `reset_own`, the installation resets these registers.
#[test]
fn the_control_plane_may_leave_a_slot_to_another_flow() {
    for (reset_own, is_left) in [(false, false), (true, true)] {
        let mut tables = tables(1, 8).freeing(None, reset_own);
        cnps(&mut tables, us(10), 0, 1);
        cnps(&mut tables, us(20), 1, 1);
        tables.install();
        assert_eq!(loops(&mut tables, 2) > 0, is_left, "a third flow hits whatever is there");
        assert_eq!(tables.counts().installs, 1);
        cnps(&mut tables, us(30), 1, 1);
        assert_eq!(loops(&mut tables, 0), 1, "in the store, or by the other flow's slot");
    }
}
