//! Tests that every rank ends with the right contributions, each exactly once, in random orders of message arrivals.

use crate::symbolic::Collective;
use anabranch_base::{MessageId, Purpose, Stream, stream};
use anabranch_workload::Opens;
use anabranch_workload::collective::{Algorithm, Clock};

fn order(number: u64) -> Stream {
    stream(number, 0, Purpose::Model)
}

/// The bytes and chunk lengths of the tests. From three ranks on, the second number of bytes is below the number of
/// ranks.
fn sizes(ranks: u32) -> [(u64, u64); 3] {
    let ranks = u64::from(ranks);
    [(4 * ranks + 3, 3), (ranks / 2 + 1, 5), (2 * ranks - 1, 2 * ranks)]
}

#[test]
fn every_algorithm_means_what_it_says_for_2_to_64_ranks_in_any_order() {
    for (name, algorithm) in Algorithm::ALL.into_iter().filter(|(_, a)| !a.needs_servers()) {
        for ranks in 2..=64 {
            for (number, (bytes, chunk)) in (0..).zip(sizes(ranks)) {
                let connections = [1, ranks.div_ceil(3), ranks - 1][number as usize].min(ranks - 1);
                let collective = Collective::new(algorithm, ranks, bytes, chunk, connections);
                for order_number in 0..3 {
                    collective
                        .run(&mut order(100 * number + order_number), None)
                        .unwrap_or_else(|e| panic!("{name}, {ranks} ranks, {bytes} B / {chunk} B: {e}"));
                }
            }
        }
    }
}

/// The runs also check that no rank ever has more than `depth` chunks in flight to another rank.
#[test]
fn with_a_depth_it_means_the_same() {
    for (name, algorithm) in
        Algorithm::ALL.into_iter().filter(|(_, a)| *a != Algorithm::Alltoall && !a.needs_servers())
    {
        for (ranks, depth) in [(2, 1), (3, 1), (5, 2), (8, 1), (13, 3), (32, 1)] {
            for (_, clock) in Clock::ALL {
                for (bytes, chunk) in sizes(ranks) {
                    let pace = Some((depth, clock));
                    let collective = Collective::paced(algorithm, ranks, bytes, (chunk, 1), pace);
                    for number in 0..3 {
                        collective.run(&mut order(number), None).unwrap_or_else(|e| {
                            panic!("{name}, {ranks} ranks, depth {depth}, {clock:?}: {e}")
                        });
                    }
                }
            }
        }
    }
}

#[test]
fn no_dependency_can_be_left_out_unless_another_implies_it() {
    for (name, algorithm) in
        Algorithm::ALL.into_iter().filter(|(_, a)| *a != Algorithm::Alltoall && !a.needs_servers())
    {
        for ranks in [2, 3, 4, 5, 6, 7, 8, 12] {
            let whole = Collective::new(algorithm, ranks, 2 * u64::from(ranks) + 1, 3, 1);
            let mut dropped = 0;
            for (owner, message) in whole.workload.messages.iter().enumerate() {
                for nth in 0..message.activations_len as usize {
                    let late = Some(MessageId(owner as u32));
                    whole.run(&mut order(1), late).unwrap();
                    let result = whole.without(owner, nth).run(&mut order(1), late);
                    let implied = whole.implied(owner, nth);
                    assert!(
                        implied || result.is_err(),
                        "{name}, {ranks} ranks: nothing needs message {owner}"
                    );
                    dropped += u32::from(result.is_err());
                }
            }
            let sends_at_once = algorithm == Algorithm::Sendrecv
                || ranks == 2
                    && !matches!(algorithm, Algorithm::AllreduceRing | Algorithm::AllreduceHalvingDoubling)
                    && !matches!(
                        algorithm,
                        Algorithm::AllreduceDoubleBinaryTree | Algorithm::AllreduceHierarchical
                    );
            assert_eq!(dropped == 0, sends_at_once, "{name}, {ranks} ranks");
        }
    }
}

#[test]
fn an_all_to_all_keeps_its_connections_busy() {
    // The first `connections` messages of a rank start immediately. An acknowledgement starts each further message, so
    // these are started by a gate.
    for connections in 1..7 {
        let collective = Collective::new(Algorithm::Alltoall, 8, 80, 1, connections);
        let gates = &collective.workload.gates;
        assert_eq!(gates.len(), 8);
        assert!(gates.iter().all(|gate| gate.opens == Opens::Each && gate.starts_len == 7 - connections));
        for number in 0..5 {
            collective.run(&mut order(number), None).unwrap();
        }
    }
}
