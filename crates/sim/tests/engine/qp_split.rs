//! Messages that are split over several queue pairs of a connection.

use super::support::*;
use anabranch_sim::RunResult;

/// Runs one message of `bytes` bytes between two hosts of a switch. The message is split over four queue pairs.
fn split(bytes: u64) -> RunResult {
    let text = r#"
        schemes = ["rocev2-4qp"]
        setup = "strack-paper"
        [topology]
        kind = "single-switch"
        hosts = 2
        link = "100Gbps"
        link_latency = "1us"
        switch_latency = "0ns"
        [workload]
        file = "f.cm"
        [set]
        "*.cc" = { kind = "constant", window = "60000packets" }
        "*.transport.ack_every" = 65535
    "#;
    let flow = format!("Nodes 2\nConnections 1\n0->1 start 0 size {bytes}\n");
    finish_one(text, &[("f.cm", &flow)])
}

/// The wire sizes of the packets of each part, computed by hand. The lengths of the parts differ by at most one byte,
/// and each part has at least one byte.
fn parts(bytes: u64) -> Vec<Vec<u64>> {
    let count = bytes.clamp(1, 4);
    let part = |i: u64| bytes / count + u64::from(i < bytes % count);
    let packets = |bytes: u64| {
        let full = (bytes - 1) / PAYLOAD;
        let last = bytes - full * PAYLOAD + HEADER;
        std::iter::repeat_n(FULL, full as usize).chain([last]).collect()
    };
    (0..count).map(part).map(packets).collect()
}

#[test]
fn a_message_is_split_over_four_queue_pairs() {
    for bytes in [1, 2, 3, 4, 5, 7, 4 * PAYLOAD, 4 * PAYLOAD + 1, 10 * PAYLOAD, 100_003] {
        let result = split(bytes);
        let parts = parts(bytes);
        let payload: u64 = parts.iter().flatten().map(|wire| wire - HEADER).sum();
        assert_eq!(payload, bytes);
        let packets: u64 = parts.iter().map(|part| part.len() as u64).sum();
        // Each packet, and the ACK of each part, crosses two links.
        assert_eq!(result.run.packet_hops, 2 * (packets + parts.len() as u64), "{bytes} B");
        let flow = &result.flows[0];
        assert_eq!((result.flows.len(), flow.bytes), (1, bytes));
        // The parts take turns. Each packet leaves immediately after the previous packet. It crosses the second link
        // once it has arrived there and the second link is free.
        let rounds = parts.iter().map(Vec::len).max().unwrap();
        let in_turn = (0..rounds).flat_map(|round| parts.iter().filter_map(move |part| part.get(round)));
        let (mut sent, mut free) = (0, 0);
        for wire in in_turn {
            sent += wire * 80;
            free = free.max(sent + US) + wire * 80;
        }
        let delivery = free + US;
        assert_eq!(flow.delivery_ps, Some(delivery), "{bytes} B");
        // The ACK of the last part completes the message.
        assert_eq!(flow.fct_ps, Some(delivery + 2 * (ACK * 80 + US)), "{bytes} B");
    }
}

#[test]
fn four_equal_parts_take_as_long_as_the_whole() {
    for packets in [1, 3, 50] {
        let result = split(4 * packets * PAYLOAD);
        assert_eq!(result.flows[0].fct_ps, Some(result.flows[0].ideal_fct_ps));
    }
}
