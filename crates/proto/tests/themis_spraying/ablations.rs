//! Tests of Themis without one of its parts (section 6.3), and of the limits that section 7 names.

use crate::themis_spraying::fabric::*;
use crate::themis_spraying::properties::{NO_FAILURES, calm};
use crate::themis_spraying::tor::PAPER;
use anabranch_base::{Duration, Time};
use anabranch_proto::program::ThemisSprayingConfig;
use std::ops::Range;

/// The time during which a path is down. It begins when all 64 packets are on their paths but no NACK has returned to
/// the sender, and ends between the second and the third timeout.
const DEAD: Range<Time> = Time(7_500_000)..Time(9_000_000_000);

/// Figure 13: without C2, NACKs for late packets are forwarded, and the packets are retransmitted.
#[test]
fn without_confirmation_late_packets_are_sent_again() {
    let mut plan = calm(&[2000]);
    let whole = run(&plan);
    assert_eq!((whole.nacks_forwarded.len(), whole.retransmissions), (0, 0));
    plan.program.confirmation = false;
    let without = run(&plan);
    assert!(without.nacks_forwarded.iter().all(|&(_, lost)| lost == 0));
    assert!(without.nacks_forwarded.len() > 50, "{without:?}");
    assert!(without.retransmissions > 50, "{without:?}");
    assert_eq!(without.timeouts.len(), 0);
}

/// Figure 14: without lazy dropping, a NACK is discarded if it arrives before a later packet of the path confirms the
/// loss, so that only a timeout repairs the loss.
#[test]
fn without_lazy_dropping_timeouts_grow() {
    let mut plan = calm(&[4000]);
    // On the slowest path, the NIC sends a NACK for a lost packet before later packets of the same path can arrive.
    plan.paths[4].loss = 12;
    let whole = run(&plan);
    plan.program.lazy_drop = false;
    let without = run(&plan);
    assert!(whole.lost.len() > 20 && whole.counter("nacks_confirmed") > 10, "{whole:?}");
    assert_eq!(without.counter("nacks_confirmed"), 0);
    assert!(without.timeouts.len() > 5 + 3 * whole.timeouts.len(), "{without:?} after {whole:?}");
}

/// Figure 15: a packet is lost, the packets behind it on the same path arrive, and then the path fails. The
/// retransmission is lost if it takes this path again, and arrives if it takes another one.
#[test]
fn without_rerouting_retransmissions_are_lost_again() {
    let mut plan = calm(&[64]);
    plan.dropped = vec![(7, 0)];
    let lost_on = |plan: &Plan| {
        (0..5)
            .filter(|&path| {
                let mut dying = plan.clone();
                dying.paths[path].down = DEAD;
                run(&dying).lost[&7] > 1
            })
            .collect::<Vec<usize>>()
    };
    plan.program.reroute = false;
    let path = lost_on(&plan);
    assert_eq!(path.len(), 1, "the path of packet 7");
    plan.paths[path[0]].down = DEAD;
    let without = run(&plan);
    assert_eq!((without.counter("rerouted"), &without.nacks_forwarded[..]), (0, &[(7, 1)][..]));
    assert_eq!((without.timeouts.len(), without.lost[&7]), (3, 4), "until the path is back");
    plan.program.reroute = true;
    let whole = run(&plan);
    assert_eq!((whole.counter("rerouted"), whole.timeouts.len(), whole.lost[&7]), (1, 0, 1));
}

/// Section 4.4: a failed path is avoided once a packet arrives whose PSN exceeds the missing PSN by more than
/// OOO_THRESHOLD. The lost packets are repaired one by one, without a timeout.
#[test]
fn a_path_that_dies_is_avoided() {
    let mut plan = calm(&[20_000]);
    plan.window = 512;
    plan.paths =
        (0..16).map(|i| Path { delay: Duration::from_us(2 + i % 3), ..plan.paths[0].clone() }).collect();
    plan.paths[5].down = Time(300_000_000)..Time(50_000_000_000);
    plan.program = PAPER;
    // While a NACK is stashed, the sender does not learn the requested ePSN. With one ACK in 16 packets, the
    // acknowledged PSN that the sender knows may be up to 15 too low. The sender sends up to 511 PSNs beyond that PSN,
    // so that packets reach the threshold of 448 beyond the missing packet.
    for ack_every in [1, 16] {
        plan.ack_every = ack_every;
        let whole = run(&plan);
        assert_eq!(whole.timeouts.len(), 0, "{:?}", whole.timeouts);
        assert_eq!(whole.counter("avoidance_signals"), 1, "one is enough");
        // The path's share of a window is 32 packets.
        let lost = whole.lost.values().sum::<u32>();
        assert!((28..=64).contains(&lost), "{lost} lost");
        assert!(whole.counter("avoided") > 500, "{}", whole.counter("avoided"));
    }

    plan.program = NO_FAILURES;
    let without = run(&plan);
    assert_eq!((without.counter("avoidance_signals"), without.counter("avoided")), (0, 0));
    assert_eq!(without.timeouts.len(), 13, "one in each 4 ms, until the path is back");
}

/// Section 7: a packet that is lost between the receiver's ToR and the receiver counts as delivered. Its NACK is
/// dropped as invalid, and the timeout repairs the loss.
#[test]
fn a_loss_at_the_last_hop_costs_a_timeout() {
    let mut plan = calm(&[300]);
    plan.dropped_at_last_hop = vec![(100, 0), (200, 0)];
    let outcome = run(&plan);
    assert_eq!(outcome.timeouts.iter().map(|timeout| timeout.psn).collect::<Vec<_>>(), [100, 200]);
    assert_eq!(outcome.nacks_heard, 0);
    assert!(outcome.counter("nacks_invalid") >= 2);
    assert_eq!(outcome.delivered, [0]);
}

/// With an OOO_THRESHOLD of 8 instead of 448, packets that are only late are taken for a sign of a failed path, so
/// that NACKs for them reach the sender.
#[test]
fn a_low_threshold_takes_reordering_for_failures() {
    let mut plan = calm(&[2000]);
    plan.program = ThemisSprayingConfig { ooo_threshold: 8, avoidance_window: 50, ..PAPER };
    let outcome = run(&plan);
    assert!(outcome.counter("avoidance_signals") > 0);
    assert!(
        outcome.nacks_forwarded.iter().any(|&(_, lost)| lost == 0),
        "false positives, as section 7 has them"
    );
    assert_eq!(outcome.delivered, [0]);
}
