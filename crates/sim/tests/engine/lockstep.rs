//! Senders in step with each other, and what of a real fabric undoes that: each rule by hand.

use super::support::*;
use anabranch_sim::RunResult;

/// Hosts 0 and 1 send `packets` full packets each to the third host of a single switch, in step.
fn two_to_one(packets: u64, seed: u64, settings: &str) -> RunResult {
    finish_one(
        &format!(
            r#"
            schemes = ["ecmp"]
            setup = "reps-paper"
            seeds = [{seed}]
            [topology]
            kind = "single-switch"
            hosts = 3
            link = "100Gbps"
            link_latency = "1us"
            switch_latency = "0ns"
            [workload]
            kind = "incast"
            bytes = "{}B"
            degree = 2
            target = 2
            [set]
            "*.cc" = {{ kind = "constant", window = "60000packets" }}
            "*.transport.rto" = "5000us"
            {settings}
            "#,
            packets * PAYLOAD
        ),
        &[],
    )
}

/// The packets that each flow lost.
fn lost(result: &RunResult) -> Vec<u32> {
    result.flows.iter().map(|flow| flow.lost.unwrap_or_default()).collect()
}

/// Two packets arrive at each instant at which one leaves. Once the queue is full the first of them, of the lower port,
/// takes the place that is free, and the other one finds none: it is dropped, or by the coin the one before it. So one of
/// the two is lost at each instant, and both flows send theirs again an RTO later, at different instants.
#[test]
fn a_fair_coin_decides_which_packet_a_full_queue_drops() {
    let (packets, limit) = (4_000_u32, 100);
    let dropped = packets - limit;
    let of = |rule: &str, seed: u64| {
        let text = format!(
            "\"*.fabric.queue\" = \"{limit}packets\"\n\"*.fabric.full_queue\" = \"{rule}\"\n"
        );
        let result = two_to_one(packets.into(), seed, &text);
        assert_eq!(result.run.drops, u64::from(dropped), "{rule}");
        assert_eq!(result.run.retransmissions, u64::from(dropped), "{rule}");
        lost(&result)
    };
    assert_eq!(of("arriving", 1), [0, dropped]);
    let (one, other) = (of("coin", 1), of("coin", 2));
    assert_eq!(one, of("coin", 1));
    assert_ne!(one, other);
    for lost in [one, other] {
        // Five standard deviations of so many fair coins.
        let off = f64::from(lost[0].abs_diff(dropped / 2));
        assert!(off < 5.0 * f64::sqrt(f64::from(dropped) / 4.0), "{lost:?}");
    }
}
