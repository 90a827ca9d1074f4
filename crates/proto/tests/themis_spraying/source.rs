//! Themis-S, sections 4.1 and 4.4.

use crate::themis_spraying::tor::*;
use anabranch_base::QpId;
use anabranch_proto::program::{ThemisSprayingConfig, Verdict};
use std::collections::BTreeSet;

/// Equation 1: PSNs cycle through the paths, starting at a path of the queue pair.
#[test]
fn the_psn_decides_the_path() {
    let mut tor = Tor::new(&PAPER, 5);
    let base = tor.spray(0);
    for psn in [1, 2, 3, 4, 5, 999, 3, 1_000_000, 4_294_967_294] {
        assert_eq!(u32::from(tor.spray(psn)), (psn % 5 + u32::from(base)) % 5, "PSN {psn}");
    }
    let bases: BTreeSet<_> =
        (0..40).map(|qp| format!("{:?}", tor.ingress(&mut data(QpId(qp), 0), true, false))).collect();
    assert_eq!(bases.len(), 5, "queue pairs start on different paths: {bases:?}");
    let mut again = Tor::new(&PAPER, 5);
    assert_eq!(again.spray(17), tor.spray(17), "the same seed, the same base path");
    let elsewhere: BTreeSet<_> = (0..40).map(|tor| Tor::with(&PAPER, &facts(5), tor).spray(0)).collect();
    assert_eq!(elsewhere.len(), 5, "switches hash differently: {elsewhere:?}");
}

/// Section 4.1, figure 4: the relative path change becomes a change of the header, and ECMP then chooses the path.
#[test]
fn with_a_path_map_the_entropy_value_changes_with_the_psn() {
    let map = [0, 0x0100, 0x00f3];
    let mut tor = Tor::with_path_map(&PAPER, &map);
    for psn in 0..10 {
        let mut packet = data(QP, psn);
        assert_eq!(tor.ingress(&mut packet, true, false), Verdict::Forward);
        assert_eq!(packet.ev, 0x1234 ^ map[psn as usize % 3], "PSN {psn}");
        assert_eq!(packet.repr, data(QP, psn).repr);
    }
    tor.hear_nack(7, 0);
    let mut others = BTreeSet::new();
    for _ in 0..50 {
        let mut packet = data(QP, 7);
        tor.ingress(&mut packet, true, false);
        others.insert(packet.ev ^ 0x1234);
    }
    assert_eq!(others, BTreeSet::from([0, 0x00f3]), "rerouted, never along its own 0x0100");
}

/// Section 4.4: the packet that a NACK requested takes a random other path each time, and no other packet does.
#[test]
fn a_retransmission_takes_another_path() {
    let mut tor = Tor::new(&PAPER, 4);
    let own: Vec<u16> = (0..8).map(|psn| tor.spray(psn)).collect();
    tor.hear_nack(6, 0);
    let others: BTreeSet<u16> = (0..50).map(|_| tor.spray(6)).collect();
    assert_eq!(others.len(), 3);
    assert!(!others.contains(&own[6]));
    assert_eq!((0..6).map(|psn| tor.spray(psn)).collect::<Vec<_>>(), own[..6]);
    tor.hear_nack(7, 0);
    assert_eq!(tor.spray(6), own[6], "only the last NACK counts");
    assert_ne!(tor.spray(7), own[7]);
    assert_eq!((tor.counter("rerouted"), tor.counter("avoided")), (51, 0));
}

#[test]
fn without_rerouting_a_retransmission_takes_its_own_path() {
    let mut tor = Tor::new(&ThemisSprayingConfig { reroute: false, ..PAPER }, 4);
    let own = tor.spray(6);
    tor.hear_nack(6, 0);
    assert_eq!(tor.spray(6), own);
    assert_eq!(tor.counter("rerouted"), 0);
}

/// Before the first NACK, PSN 0 is treated like any other.
#[test]
fn nothing_is_rerouted_before_the_first_nack() {
    let mut tor = Tor::new(&PAPER, 64);
    let base = tor.spray(0);
    assert_eq!([0; 20].map(|psn| tor.spray(psn)), [base; 20]);
    assert_eq!(tor.counter("rerouted"), 0);
}

/// Section 4.4: a signal names a path. The next AVOIDANCE_WINDOW packets of that path take other paths, and then the
/// path is used again.
#[test]
fn a_path_is_avoided_for_as_many_packets_as_the_window_says() {
    let config = ThemisSprayingConfig { reroute: false, avoidance_window: 10, ..PAPER };
    let mut tor = Tor::new(&config, 4);
    let own: Vec<u16> = (0..4).map(|psn| tor.spray(psn)).collect();
    tor.hear_nack(6, SIGNAL);
    for round in 1..=10 {
        let taken: Vec<u16> = (0..4).map(|psn| tor.spray(round * 4 + psn)).collect();
        assert_ne!(taken[2], own[2], "round {round}");
        assert_eq!((taken[0], taken[1], taken[3]), (own[0], own[1], own[3]), "round {round}");
    }
    assert_eq!(tor.spray(2), own[2], "the eleventh");
    assert_eq!((tor.counter("rerouted"), tor.counter("avoided")), (0, 10));
}

/// A packet of an avoided path takes a path that is not avoided. If all paths are avoided, it takes any other path.
#[test]
fn no_packet_moves_from_one_avoided_path_to_another() {
    let mut tor = Tor::new(&ThemisSprayingConfig { reroute: false, ..PAPER }, 4);
    let own: Vec<u16> = (0..4).map(|psn| tor.spray(psn)).collect();
    [1, 2].into_iter().for_each(|psn| tor.hear_nack(psn, SIGNAL));
    for psn in 0..400 {
        let taken = tor.spray(psn);
        assert!(taken != own[1] && taken != own[2], "PSN {psn}");
    }
    [0, 3].into_iter().for_each(|psn| tor.hear_nack(psn, SIGNAL));
    let taken: BTreeSet<u16> = (0..50).map(|_| tor.spray(1)).collect();
    assert_eq!(taken, BTreeSet::from([own[0], own[2], own[3]]), "all are avoided: any but its own");
}

/// A retransmission whose own path is avoided moves only once, and counts as `rerouted`, not as `avoided`. It still
/// uses up one of the packets for which the path is avoided.
#[test]
fn a_retransmission_of_an_avoided_path_moves_once() {
    let mut tor = Tor::new(&ThemisSprayingConfig { avoidance_window: 2, ..PAPER }, 4);
    let own = tor.spray(2);
    tor.hear_nack(2, SIGNAL);
    assert_ne!(tor.spray(2), own);
    assert_ne!(tor.spray(6), own);
    assert_eq!(tor.spray(10), own);
    assert_eq!((tor.counter("rerouted"), tor.counter("avoided")), (1, 1));
}

#[test]
fn one_path_takes_everything() {
    let mut tor = Tor::new(&PAPER, 1);
    tor.spray(0);
    tor.hear_nack(3, SIGNAL);
    assert_eq!([3, 4, 5].map(|psn| tor.spray(psn)), [0; 3]);
    assert_eq!((tor.counter("rerouted"), tor.counter("avoided")), (0, 0));
}

/// A ToR that has seen no data of a NACK's queue pair clears the tag of the NACK, forwards it to the host, and does not
/// change how it sprays.
#[test]
fn signals_for_strangers_are_cleared() {
    let mut tor = Tor::new(&PAPER, 4);
    tor.hear_nack(3, SIGNAL);
    let own = tor.spray(7);
    assert_eq!(tor.spray(3), own);
}

#[test]
fn one_instance_is_source_and_destination() {
    let mut tor = Tor::new(&PAPER, 2);
    let back = QpId(8);
    tor.deliver_all(&[1, 3]);
    let base = tor.ingress(&mut data(back, 0), true, false);
    assert_eq!(tor.ingress(&mut nack(back, 0), false, true), Verdict::Forward);
    assert_ne!(tor.ingress(&mut data(back, 0), true, false), base, "rerouted");
    assert_eq!(tor.nack(0), Verdict::Drop, "asked for at this ToR");
    assert_eq!(tor.deliver(2), [(0, false)]);
    assert_eq!((tor.counter("rerouted"), tor.counter("nacks_confirmed")), (1, 1));
}
