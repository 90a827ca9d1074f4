use super::super::testing::{at, environment, random};
use super::*;
use std::collections::BTreeSet;

const CONFIG: MrcLbConfig = MrcLbConfig {
    evs: 16,
    active: 8,
    min_active: 0.25,
    probe_interval: Span::Time(Duration::from_us(100)),
    probe_successes: 1,
    denied: Vec::new(),
};

/// Four planes of four entropy values each. In each plane, two values are in use and two are backups.
fn four_planes(config: &MrcLbConfig) -> MrcLb {
    let mut lb = MrcLb::new(config, &environment(true), random());
    lb.see_ports(NicPorts { count: 4, free: 0b1111, up: 0b1111 });
    lb
}

fn take(lb: &mut MrcLb, count: usize) -> Vec<u16> {
    (0..count).map(|_| lb.next_ev(at(1), 0)).collect()
}

fn distinct(evs: &[u16]) -> BTreeSet<u16> {
    evs.iter().copied().collect()
}

fn ack(lb: &mut MrcLb, ev: u16, marked: bool) {
    lb.handle_ack(at(1), ev, marked, Duration::from_us(8));
}

#[test]
fn planes_carry_equally_much_and_backups_nothing() {
    let mut lb = four_planes(&CONFIG);
    for _ in 0..10 {
        let round = take(&mut lb, 8);
        let planes: Vec<u16> = round.iter().map(|ev| ev % 4).collect();
        assert!(planes[..4] == planes[4..] && distinct(&planes).len() == 4, "{planes:?}");
        assert_eq!(distinct(&round).len(), 8);
    }
    assert_eq!(distinct(&take(&mut lb, 800)).len(), 8);
}

#[test]
fn a_free_port_goes_first() {
    let mut lb = four_planes(&CONFIG);
    lb.see_ports(NicPorts { count: 4, free: 0b0100, up: 0b1111 });
    assert!(take(&mut lb, 20).iter().all(|ev| ev % 4 == 2));
    lb.see_ports(NicPorts { count: 4, free: 0, up: 0b1011 });
    assert!(take(&mut lb, 20).iter().all(|ev| ev % 4 != 2), "its link is down");
    lb.handle_peer_ports(at(2), 0b1110);
    lb.see_ports(NicPorts { count: 4, free: 0b1111, up: 0b1111 });
    assert!(take(&mut lb, 20).iter().all(|ev| ev % 4 != 0), "that of the peer is down");
    lb.handle_peer_ports(at(3), 0b1111);
    assert!(take(&mut lb, 4).iter().any(|ev| ev % 4 == 0));
}

#[test]
fn marks_and_trims_are_skipped_once() {
    for trim in [false, true] {
        let mut lb = MrcLb::new(&CONFIG, &environment(true), random());
        let ev = take(&mut lb, 8)[3];
        match trim {
            true => lb.handle_trim(at(1), ev),
            false => ack(&mut lb, ev, true),
        }
        ack(&mut lb, ev, false);
        assert_eq!(lb.states.iter().filter(|&&state| state == EvState::Skip).count(), 1);
        let round = take(&mut lb, 7);
        assert!(!round.contains(&ev), "{ev} in {round:?}");
        assert!(lb.states.iter().all(|&state| state == EvState::Good));
        assert_eq!((lb.available(), lb.next_probe()), (16, None));
    }
}

#[test]
fn one_send_revives_one() {
    let mut lb = MrcLb::new(&CONFIG, &environment(true), random());
    distinct(&take(&mut lb, 8)).iter().for_each(|&ev| ack(&mut lb, ev, true));
    for left in (0..8).rev() {
        lb.next_ev(at(1), 0);
        let skips = lb.states.iter().filter(|&&state| state == EvState::Skip).count();
        assert!(skips >= left && skips + 1 >= left + usize::from(left == 7), "{skips} instead of {left}");
        if left == 7 {
            assert_eq!(skips, 7);
        }
    }
}

#[test]
fn a_backup_of_the_plane_replaces_what_lost_a_packet() {
    let mut lb = four_planes(&CONFIG);
    let before = distinct(&take(&mut lb, 8));
    let bad = *before.first().unwrap();
    lb.handle_timeout(at(5), Some(bad));
    let after = distinct(&take(&mut lb, 8));
    assert_eq!(after.len(), 8);
    assert!(!after.contains(&bad));
    let fresh: Vec<&u16> = after.difference(&before).collect();
    assert!(fresh.len() == 1 && fresh[0] % 4 == bad % 4, "{fresh:?} for {bad}");
    lb.handle_timeout(at(6), Some(bad));
    lb.handle_timeout(at(6), None);
    assert_eq!(lb.available(), 15, "once");
}

#[test]
fn probes_return_what_delivers_again() {
    for successes in [1, 3] {
        let config = MrcLbConfig { probe_successes: successes, ..CONFIG };
        let mut lb = four_planes(&config);
        let bad = lb.next_ev(at(1), 0);
        lb.handle_timeout(at(5), Some(bad));
        assert_eq!((lb.next_probe(), lb.poll_probe(at(104))), (Some(at(105)), None));
        // The first probe has no response, so the successes are counted from the second probe on.
        assert_eq!((lb.poll_probe(at(105)), lb.poll_probe(at(105))), (Some(bad), None));
        for round in 1..=u64::from(successes) {
            assert_eq!(lb.available(), 15);
            assert_eq!(lb.poll_probe(at(105 + 100 * round)), Some(bad));
            lb.handle_probe_response(at(110 + 100 * round), bad, false);
        }
        assert_eq!((lb.available(), lb.next_probe()), (16, None));
    }
    let mut lb = four_planes(&MrcLbConfig { probe_successes: 2, ..CONFIG });
    let bad = lb.next_ev(at(1), 0);
    lb.handle_timeout(at(5), Some(bad));
    for round in 1..10 {
        lb.poll_probe(at(5 + 100 * round));
        if round % 2 == 0 {
            lb.handle_probe_response(at(10 + 100 * round), bad, false);
        }
    }
    assert_eq!(lb.available(), 15, "every other probe is not two in a row");
}

#[test]
fn probes_wait_for_their_plane() {
    let mut lb = four_planes(&CONFIG);
    let bad = take(&mut lb, 4).into_iter().find(|ev| ev % 4 == 1).unwrap();
    lb.handle_timeout(at(5), Some(bad));
    lb.handle_peer_ports(at(6), 0b1101);
    assert_eq!(lb.poll_probe(at(105)), None);
    lb.handle_peer_ports(at(106), 0b1111);
    assert_eq!(lb.poll_probe(at(205)), Some(bad));
}

/// A `min_active` of a quarter protects 4 of the 16 entropy values. A `min_active` of 0 protects one.
#[test]
fn some_always_stay() {
    let mut lb = four_planes(&CONFIG);
    for _ in 0..1_000 {
        let ev = lb.next_ev(at(1), 0);
        lb.handle_timeout(at(1), Some(ev));
    }
    assert_eq!(lb.available(), 4);
    let mut lb = MrcLb::new(&MrcLbConfig { min_active: 0.0, ..CONFIG }, &environment(true), random());
    for _ in 0..1_000 {
        let ev = lb.next_ev(at(1), 0);
        lb.handle_timeout(at(1), Some(ev));
    }
    assert_eq!(lb.available(), 1);
}

#[test]
fn a_dead_plane_is_passed_over() {
    let mut lb = four_planes(&CONFIG);
    let plane: Vec<u16> = (0..4).map(|position| lb.ev_of(3, position)).collect();
    plane.iter().for_each(|&ev| lb.handle_timeout(at(1), Some(ev)));
    lb.see_ports(NicPorts { count: 4, free: 0b1000, up: 0b1111 });
    assert!(take(&mut lb, 12).iter().all(|ev| ev % 4 != 3));
    assert_eq!(lb.poll_probe(at(101)), Some(plane[0]));
    lb.handle_probe_response(at(102), plane[0], true);
    assert!(take(&mut lb, 12).iter().all(|&ev| ev == plane[0]), "in use, and skipped first");
}

/// With 8 planes, each plane has 8,192 paths, and path 0 follows path 8,191.
#[test]
fn entropy_values_of_a_plane_name_successive_paths() {
    for seed in 0..50 {
        let random = anabranch_base::stream(seed, 0, anabranch_base::Purpose::LoadBalancer);
        let mut lb = MrcLb::new(&CONFIG, &environment(true), random);
        lb.see_ports(NicPorts { count: 8, free: 0xff, up: 0xff });
        for plane in 0..8 {
            let paths: Vec<u16> = (0..2).map(|position| lb.ev_of(plane, position) / 8).collect();
            assert_eq!(u32::from(paths[1]), (u32::from(paths[0]) + 1) % 8_192);
            assert_eq!(lb.ev_of(plane, 0) % 8, plane);
        }
    }
}

#[test]
fn denied_paths_are_never_used() {
    let denied = vec![DeniedPath { plane: 1, path: 3, of: 4 }, DeniedPath { plane: 9, path: 0, of: 1 }];
    let mut lb = four_planes(&MrcLbConfig { denied, ..CONFIG });
    let evs = distinct(&take(&mut lb, 100));
    assert!(evs.len() == 8 && evs.iter().all(|ev| ev % 4 != 1 || ev / 4 % 4 != 3), "{evs:?}");
    let ev = (0..4).map(|position| lb.ev_of(1, position)).find(|ev| ev / 4 % 4 == 3).unwrap();
    lb.handle_probe_response(at(1), ev, false);
    lb.handle_timeout(at(1), Some(ev));
    assert_eq!((lb.available(), lb.next_probe()), (15, None));
}

#[test]
fn a_path_that_is_denied_twice_counts_once() {
    let twice = vec![DeniedPath { plane: 0, path: 0, of: 2 }, DeniedPath { plane: 0, path: 0, of: 4 }];
    let lb = MrcLb::new(&MrcLbConfig { denied: twice, ..CONFIG }, &environment(true), random());
    assert_eq!(lb.available(), 8);
    let all = vec![DeniedPath { plane: 0, path: 0, of: 1 }; 2];
    let lb = MrcLb::new(&MrcLbConfig { denied: all, ..CONFIG }, &environment(true), random());
    assert_eq!(lb.available(), 0);
}

#[test]
fn denials_that_leave_nothing_are_found() {
    let config = |denied: &[[u32; 3]]| MrcLbConfig {
        denied: denied.iter().map(|&[plane, path, of]| DeniedPath { plane, path, of }).collect(),
        ..CONFIG
    };
    assert!(!CONFIG.may_deny_all(1));
    assert!(config(&[[0, 0, 1]]).may_deny_all(1) && !config(&[[0, 0, 1]]).may_deny_all(2));
    assert!(config(&[[0, 0, 2], [0, 1, 2]]).may_deny_all(1));
    assert!(config(&[[0, 0, 1], [1, 0, 1]]).may_deny_all(2));
    // With 16 planes, each plane has one entropy value. With 8 planes, each plane has two values.
    let halves: Vec<[u32; 3]> = (0..16).map(|plane| [plane, 0, 2]).collect();
    assert!(config(&halves).may_deny_all(16) && !config(&halves).may_deny_all(8));
}

#[test]
fn the_number_of_a_path_is_below_that_of_paths() {
    let denied = vec![DeniedPath { plane: 0, path: 1, of: 2 }, DeniedPath { plane: 3, path: 9, of: 4 }];
    let conflict = MrcLbConfig { denied, ..CONFIG }.check_together("lb").unwrap_err();
    assert_eq!(conflict.parameter, "lb.denied");
    assert_eq!(conflict.message, "lb.denied[1].path must be below its \"of\" (4), not 9");
    let instead = "[{ plane = 0, path = 1, of = 2 }, { plane = 3, path = 1, of = 4 }]";
    assert_eq!(conflict.fix.to_string(), instead);
}

/// An entropy value outside the set may belong to a set that was drawn for another number of ports.
#[test]
fn other_entropy_values_mean_nothing() {
    let mut lb = four_planes(&CONFIG);
    for ev in (0..=u16::MAX).filter(|&ev| lb.index_of(ev).is_none()).collect::<Vec<_>>() {
        lb.handle_timeout(at(1), Some(ev));
        lb.handle_trim(at(1), ev);
        lb.handle_probe_response(at(1), ev, true);
    }
    assert!(lb.states.iter().all(|&state| state == EvState::Good));
}

/// MRC publishes 544 to 1,088 B: 128 to 256 entropy values of 32 bits, each with a state of 2 bits.
#[test]
fn state_is_as_published() {
    for (evs, bytes) in [(128, 544), (256, 1_088)] {
        let state = MrcLbConfig { evs, ..CONFIG }.state();
        assert_eq!(state[..2].iter().map(|field| field.bits * field.count).sum::<u32>(), 8 * bytes);
    }
}
