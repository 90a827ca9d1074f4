//! The choice of paths: multi-path ACK clocking, probing, and paths that are abandoned.

use super::*;
use std::collections::BTreeSet;

/// A path that the balancer draws at random with a probability of only 1 in 10,000.
const GOOD: u16 = 7;
const OTHER: u16 = 9_999;

fn is_drawn(path: u16) -> bool {
    u32::from(path) < PATHS && path != GOOD && path != OTHER
}

#[test]
fn the_first_window_is_sprayed() {
    let mut sender = sender(100.0);
    post(&mut sender, 1_000);
    let sent = send(&mut sender, us(0));
    assert_eq!(sent.len(), 100);
    let paths: BTreeSet<u16> = sent.iter().map(|&(_, path)| path).collect();
    assert!(paths.len() > 90 && paths.into_iter().all(is_drawn));
}

#[test]
fn a_packet_takes_the_path_of_the_ack_that_lets_it_go() {
    let mut sender = sender(10.0);
    post(&mut sender, 100);
    send(&mut sender, us(0));
    answer(&mut sender, us(8), GOOD, ack(0, 1));
    assert_eq!(send(&mut sender, us(8)), [(10, GOOD)]);
    answer(&mut sender, us(8), OTHER, ack(1, 2));
    assert_eq!(send(&mut sender, us(8)), [(11, OTHER)]);
}

/// While the wire is busy with other queue pairs, the paths of ACKs wait in the order of arrival.
#[test]
fn a_packet_that_waits_keeps_its_path() {
    let mut sender = sender(10.0);
    post(&mut sender, 100);
    send(&mut sender, us(0));
    for (psn, path) in [(0, GOOD), (1, OTHER), (2, OTHER), (3, GOOD)] {
        answer(&mut sender, us(8), path, ack(psn, psn + 1));
    }
    assert_eq!(send(&mut sender, us(9)), [(10, GOOD), (11, OTHER), (12, OTHER), (13, GOOD)]);
}

/// After the third ACK, the window is 2.0 + 1/2 + 1/2.5 + 1/2.9 = 3.245. The third ACK therefore clocks out two packets
/// on its own path.
#[test]
fn a_window_that_grew_sends_two_by_the_path() {
    let mut sender = sender(2.0);
    post(&mut sender, 100);
    send(&mut sender, us(0));
    answer(&mut sender, us(8), GOOD, ack(0, 1));
    assert_eq!(send(&mut sender, us(8)), [(2, GOOD)]);
    answer(&mut sender, us(8), GOOD, ack(1, 2));
    assert_eq!(send(&mut sender, us(8)), [(3, GOOD)]);
    answer(&mut sender, us(16), OTHER, ack(2, 3));
    assert_eq!(send(&mut sender, us(16)), [(4, OTHER), (5, OTHER)]);
}

/// An ACK clocks out at most two packets. Further packets, for which lost ACKs left room, take random paths.
#[test]
fn an_ack_lets_two_packets_go_at_most_by_its_path() {
    let mut sender = sender(10.0);
    post(&mut sender, 100);
    send(&mut sender, us(0));
    answer(&mut sender, us(8), GOOD, ack(4, 5));
    let sent = send(&mut sender, us(8));
    assert_eq!(sent[..2], [(10, GOOD), (11, GOOD)]);
    assert_eq!(sent.len(), 5);
    assert!(sent[2..].iter().all(|&(_, path)| is_drawn(path)));
}

/// After the first marked ACK, the window is 9.5 and admits only 9 packets. After the second marked ACK, the window is
/// 9.0. The second ACK clocks out a packet on its own path, not on the path of the first ACK.
#[test]
fn a_path_that_is_marked_loses_a_packet() {
    let mut sender = sender(10.0);
    post(&mut sender, 100);
    send(&mut sender, us(0));
    answer(&mut sender, us(8), GOOD, marked(0, 1));
    assert_eq!(send(&mut sender, us(8)), []);
    answer(&mut sender, us(8), OTHER, marked(1, 2));
    assert_eq!(send(&mut sender, us(8)), [(10, OTHER)]);
}

/// Two ACKs arrive while only one packet remains to be sent. The second ACK clocks out no packet, and its path is
/// dropped.
#[test]
fn an_ack_without_anything_to_send_leaves_no_path_behind() {
    let mut sender = sender(4.0);
    post(&mut sender, 5);
    send(&mut sender, us(0));
    answer(&mut sender, us(8), GOOD, ack(0, 1));
    answer(&mut sender, us(8), OTHER, ack(1, 2));
    assert_eq!(send(&mut sender, us(9)), [(4, GOOD)]);
    post(&mut sender, 1);
    let sent = send(&mut sender, us(9));
    assert!(sent.iter().all(|&(_, path)| is_drawn(path)), "{sent:?}");
}

/// 100,000 packets are clocked out on one path, one per round trip. A hundredth of them probes another path.
#[test]
fn one_packet_in_a_hundred_round_trips_probes() {
    let mut lb = paths(0.01);
    let probes = (1..=100_000u64)
        .filter(|&round| {
            let now = Time::ZERO + FACTS.base_rtt * round;
            lb.handle_ack(now, GOOD, false, FACTS.base_rtt);
            lb.next_ev(now, 10_000) != GOOD
        })
        .count();
    // Three standard deviations are 94 probes.
    assert!((900..=1_100).contains(&probes), "{probes}");
}

/// Two packets that may probe are at least a round trip apart, whatever else is sent.
#[test]
fn a_round_trip_has_one_packet_that_may_probe() {
    let mut lb = paths(1.0);
    let mut sent = |ns: u64| {
        let now = Time::ZERO + Duration::from_ns(ns);
        lb.handle_ack(now, GOOD, false, FACTS.base_rtt);
        lb.next_ev(now, 10_000) != GOOD
    };
    let probed: Vec<u64> = (0..20).map(|n| n * 1_000).filter(|&ns| sent(ns)).collect();
    assert_eq!(probed, [0, 8_000, 16_000]);
    assert!(!sent(23_999));
    assert!(sent(24_000));
}

#[test]
fn a_balancer_without_probes_draws_none() {
    let mut lb = paths(0.0);
    for round in 0..10_000 {
        let now = Time::ZERO + FACTS.base_rtt * round;
        lb.handle_ack(now, GOOD, false, FACTS.base_rtt);
        assert_eq!(lb.next_ev(now, 10_000), GOOD);
    }
}

#[test]
fn paths_are_drawn_from_as_many_as_there_are() {
    let environment = Environment { facts: FACTS, rto: Duration::from_us(100), trimming: false };
    for (paths, most) in [(1, 1), (3, 3), (65_536, 65_536)] {
        let config = MpRdmaLbConfig { paths, probe: 0.5, probe_interval: Span::Rtt(1.0) };
        let mut lb = LbConfig::MpRdma(config).build(&environment, stream(1, 0, Purpose::LoadBalancer));
        let drawn: BTreeSet<u16> = (0..1_000).map(|_| lb.next_ev(us(0), 10_000)).collect();
        assert!(drawn.iter().all(|&path| u32::from(path) < most));
        assert_eq!(drawn.len() as u32 == most, most <= 3);
    }
    assert!(
        LbConfig::MpRdma(MpRdmaLbConfig { paths: 8, probe: 0.5, probe_interval: Span::Rtt(1.0) })
            .state()
            .is_empty()
    );
}

/// Out-of-order aware path selection with Delta = 32. The highest acknowledged PSN is 40. PSN 8 is 32 lower, which is
/// in time. PSN 7 is 33 lower, which is late.
#[test]
fn a_path_that_is_more_than_delta_late_gets_no_packet() {
    let mut sender = sender(100.0);
    post(&mut sender, 1_000);
    assert_eq!(burst(&mut sender, us(0)), psns(0..100));
    answer(&mut sender, us(8), GOOD, ack(40, 0));
    assert_eq!(send(&mut sender, us(8)), [(100, GOOD)]);
    answer(&mut sender, us(8), GOOD, ack(8, 0));
    assert_eq!(send(&mut sender, us(8)), [(101, GOOD)]);
    // The late packet is no longer in flight, but the window is a packet smaller, so that there is no room for another
    // packet.
    answer(&mut sender, us(8), OTHER, ack(7, 0));
    assert_eq!(send(&mut sender, us(8)), []);
    answer(&mut sender, us(8), GOOD, ack(41, 0));
    assert_eq!(send(&mut sender, us(8)), [(102, GOOD)]);
    // PSN 9 is 32 below 41 and in time, but PSN 8 would be late now.
    answer(&mut sender, us(8), OTHER, ack(9, 0));
    assert_eq!(send(&mut sender, us(8)), [(103, OTHER)]);
    answer(&mut sender, us(8), OTHER, ack(8, 0));
    assert_eq!(send(&mut sender, us(8)), []);
}

#[test]
fn the_highest_psn_stays() {
    let mut sender = sender(100.0);
    post(&mut sender, 1_000);
    send(&mut sender, us(0));
    for psn in [50, 30, 20] {
        answer(&mut sender, us(8), GOOD, ack(psn, 0));
        assert_eq!(send(&mut sender, us(8)).len(), 1);
    }
    answer(&mut sender, us(8), GOOD, ack(17, 0));
    assert_eq!(send(&mut sender, us(8)), []);
}
