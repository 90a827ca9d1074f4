//! Queues, ECN marks, trimming, the order of packets at a NIC and the start of messages, compared with values computed
//! by hand.

use super::support::*;
use anabranch_sim::RunResult;

const PS_A_BYTE: u64 = 80;
const T: u64 = FULL * PS_A_BYTE;
const A: u64 = ACK * PS_A_BYTE;
const D: u64 = US;

/// Two hosts send `packets` (n) full packets each to the third host of a single switch.
///
/// By hand: two packets arrive at the switch in each time T, and one packet leaves. While both hosts send, k - 2
/// packets remain in the queue after the k-th packet has begun to leave, for k from 2 to n. After both hosts have
/// ended, n - 1 packets remain, then n - 2, and so on down to 0. The queue holds at most n packets.
fn two_to_one(packets: u64, settings: &str) -> RunResult {
    finish_one(
        &format!(
            r#"
            schemes = ["ecmp"]
            setup = "reps-paper"
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
            [[measure]]
            series = "queue-depth"
            every = "50ns"
            links = "tor:0/down:2"
            [set]
            "*.cc" = {{ kind = "constant", window = "60000packets" }}
            "*.transport.rto" = "1000us"
            {settings}
            "#,
            packets * PAYLOAD
        ),
        &[],
    )
}

fn deepest(result: &RunResult) -> u64 {
    result.series.iter().map(|point| point.value as u64).max().unwrap()
}

/// The number of packets that remain in the queue after each departure from the second on.
fn left_behind(packets: u64) -> impl Iterator<Item = u64> {
    (0..=packets - 2).chain((0..packets).rev())
}

#[test]
fn a_queue_holds_its_limit_and_drops_the_rest() {
    let result = two_to_one(64, "\"*.fabric.queue\" = \"64packets\"");
    assert_eq!((deepest(&result), result.run.drops), (64 * FULL, 0));

    for limit in [1, 10, 63] {
        let result = two_to_one(64, &format!("\"*.fabric.queue\" = \"{limit}packets\""));
        // Once the queue is full, only one of every two arriving packets fits.
        let run = &result.run;
        assert_eq!(deepest(&result), limit * FULL);
        assert_eq!((run.drops, run.timeouts, run.retransmissions), (64 - limit, 64 - limit, 64 - limit));
    }
}

#[test]
fn marks_start_above_kmin_and_are_certain_above_kmax() {
    // If Kmin = Kmax, marking is a step function without randomness.
    for threshold in [0, 16, 40, 62, 63] {
        let bytes = threshold * FULL;
        let settings = format!(
            "\"*.fabric.queue\" = \"64packets\"\n\"*.fabric.ecn_kmin\" = \"{bytes}B\"\n\"*.fabric.ecn_kmax\" = \"{bytes}B\""
        );
        let expected = left_behind(64).filter(|&left| left > threshold).count() as u64;
        assert_eq!(two_to_one(64, &settings).run.ecn_marks, expected, "threshold {threshold}");
    }
}

#[test]
fn thresholds_that_are_shares_of_the_queue_follow_it() {
    for (queue, threshold) in [(64, 32), (32, 16), (96, 48)] {
        let marks = |threshold: &str| {
            let settings = format!(
                "\"*.fabric.queue\" = \"{queue}packets\"\n\"*.fabric.ecn_kmin\" = \"{threshold}\"\n\"*.fabric.ecn_kmax\" = \"{threshold}\""
            );
            two_to_one(queue, &settings).run.ecn_marks
        };
        let expected = marks(&format!("{}B", threshold * FULL));
        assert!(expected > 0);
        assert_eq!(marks("0.5queue"), expected, "a queue of {queue} packets");
    }
}

#[test]
fn marks_grow_linearly_between_kmin_and_kmax() {
    let packets = 2000;
    let (kmin, kmax) = (400.0, 1600.0);
    let settings = "\"*.fabric.queue\" = \"2000packets\"\n\"*.fabric.ecn_kmin\" = \"400packets\"\n\"*.fabric.ecn_kmax\" = \"1600packets\"";
    let chances = left_behind(packets).map(|left| ((left as f64 - kmin) / (kmax - kmin)).clamp(0.0, 1.0));
    let (mean, variance) = chances.fold((0.0, 0.0), |(mean, var), p| (mean + p, var + p * (1.0 - p)));
    let marks = two_to_one(packets, settings).run.ecn_marks as f64;
    assert!((marks - mean).abs() < 5.0 * f64::sqrt(variance), "{marks} marks, expected {mean}");
}

fn incast(scheme: &str, trim: bool) -> RunResult {
    finish_one(
        &format!(
            r#"
            schemes = ["{scheme}"]
            setup = "reps-paper"
            [topology]
            kind = "single-switch"
            hosts = 16
            link = "100Gbps"
            [workload]
            kind = "incast"
            bytes = "200KB"
            degree = 15
            [[measure]]
            series = "queue-depth"
            every = "20ns"
            links = "tor:0/down:0"
            [set]
            "*.fabric.queue" = "20packets"
            "*.fabric.control_queue" = "40KB"
            "*.fabric.trim" = {trim}
            "#
        ),
        &[],
    )
}

#[test]
fn an_incast_never_overfills_its_queue() {
    for scheme in ["reps", "ops", "ecmp"] {
        let dropping = incast(scheme, false);
        let deepest_data = deepest(&dropping);
        assert!(dropping.run.drops > 0 && dropping.run.trims == 0);
        assert!(deepest_data > 19 * FULL && deepest_data <= 20 * FULL + 40_000, "{deepest_data} B");
        assert!(deepest(&incast(scheme, true)) <= 20 * FULL + 40_000);
    }
}

#[test]
fn trimming_tells_at_once_what_a_timeout_tells_late() {
    for scheme in ["reps", "ops", "ecmp"] {
        let (dropping, trimming) = (incast(scheme, false).run, incast(scheme, true).run);
        assert!(dropping.timeouts > 0 && dropping.trims == 0);
        assert!(trimming.trims > 0 && trimming.retransmissions > 0);
        assert_eq!((trimming.drops, trimming.timeouts), (0, 0), "{scheme}");
        assert!(trimming.fct_max_us < dropping.fct_max_us, "{scheme}");
    }
}

#[test]
fn control_goes_ahead_of_data() {
    // Two hosts fill the queue to host 2, which meanwhile sends one packet to host 3.
    let matrix = "Nodes 4\nConnections 3\n0->2 start 0 size 408600\n1->2 start 0 size 408600\n2->3 start 40 size 4086\n";
    let result = finish_one(
        &format!(
            "schemes = [\"reps\"]\nsetup = \"reps-paper\"\n[workload]\nfile = \"f.cm\"\nstart_unit = \"1us\"\n[topology]\nkind = \"single-switch\"\nhosts = 4\nlink = \"100Gbps\"\nlink_latency = \"1us\"\nswitch_latency = \"0ns\"\n{UNBOUNDED}"
        ),
        &[("f.cm", matrix)],
    );
    let flow = &result.flows[2];
    let ideal = 2 * (T + D) + 2 * (A + D);
    assert_eq!((flow.start_ps, flow.ideal_fct_ps), (Some(40 * US), ideal));
    // About 70 packets are queued in front of the ACK of host 2's packet, but the ACK only waits for the data packet that
    // is being sent. Host 2's packet itself only waits for an ACK that host 2 is sending.
    let fct = flow.fct_ps.unwrap();
    assert!(fct >= ideal && fct <= ideal + T + A, "{fct} instead of {ideal}");
}

#[test]
fn a_nic_that_is_busy_with_an_ack_sends_data_right_after_it() {
    // Host 0 begins to send the ACK for the packet of host 1 at 2 * (T + D). The ACK occupies the link of host 0 for
    // A. After A / 2, host 0 gets a packet to send. No other event occurs at host 0 in the meantime.
    let answers = 2 * (T + D);
    let post = answers + A / 2;
    let matrix = format!("Nodes 3\nConnections 2\n1->0 start 0 size 4086\n0->2 start {post} size 4086\n");
    let result = finish_one(
        &format!(
            "schemes = [\"reps\"]\nsetup = \"reps-paper\"\n[workload]\nfile = \"f.cm\"\n[topology]\nkind = \"single-switch\"\nhosts = 3\nlink = \"100Gbps\"\nlink_latency = \"1us\"\nswitch_latency = \"0ns\"\n{UNBOUNDED}"
        ),
        &[("f.cm", &matrix)],
    );
    let ideal = 2 * (T + D) + 2 * (A + D);
    assert_eq!(result.flows[0].fct_ps, Some(ideal));
    assert_eq!(result.flows[1].fct_ps, Some(ideal + A / 2));
}

#[test]
fn queue_pairs_of_a_nic_take_turns() {
    let matrix = "Nodes 4\nConnections 3\n0->1 id 1 start 0 size 408600\n0->2 id 2 start 0 size 408600\n0->3 id 3 start 0 size 204300\n";
    let result = finish_one(
        &format!(
            "schemes = [\"reps\"]\nsetup = \"reps-paper\"\n[workload]\nfile = \"f.cm\"\n[topology]\nkind = \"single-switch\"\nhosts = 4\nlink = \"100Gbps\"\nlink_latency = \"1us\"\nswitch_latency = \"0ns\"\n{UNBOUNDED}"
        ),
        &[("f.cm", matrix)],
    );
    // The position in the NIC's sending order at which the last packet of each flow was sent.
    let after_last = 2 * D + T + 2 * (A + D);
    let slot = |flow: usize| (result.flows[flow].fct_ps.unwrap() - after_last) as f64 / T as f64;
    // There are 50 rounds of three packets, then 50 rounds of two. The first queue pair is ahead by one packet, which
    // was sent before the other queue pairs had any packets.
    let (first, second, short) = (slot(0), slot(1), slot(2));
    assert!((150.0..=151.0).contains(&short), "{short}");
    assert!((248.0..=249.0).contains(&first) && second == 250.0, "{first} {second}");
}

#[test]
fn windows_bound_what_a_queue_pair_has_in_flight() {
    // With a window of ten packets, ten packets are sent per round trip, which takes 2 * (T + A) and four link
    // latencies of 10 us. The link could carry more.
    let text = r#"
        schemes = ["reps"]
        setup = "reps-paper"
        [topology]
        kind = "single-switch"
        hosts = 2
        link = "100Gbps"
        link_latency = "10us"
        switch_latency = "0ns"
        [workload]
        kind = "incast"
        bytes = "408600B"
        target = 1
        [set]
        "*.cc" = { kind = "constant", window = "10packets" }
        "*.transport.rto" = "1000us"
    "#;
    let result = finish_one(text, &[]);
    let round_trip = 2 * (T + A) + 4 * 10 * D;
    // Each ACK allows one packet, so there are ten rounds. Nine packets follow the first packet of the last round.
    assert_eq!(result.flows[0].fct_ps, Some(10 * round_trip + 9 * T));
}

#[test]
fn triggers_start_messages_in_their_order() {
    let matrix = "\
Nodes 8
Connections 8
Triggers 4
0->1 id 1 start 0 size 40860 send_done_trigger 1
2->3 id 2 trigger 1 size 4086 recv_done_trigger 2
4->5 id 3 start 0 size 408600 send_done_trigger 2
6->7 id 4 trigger 2 size 4086 send_done_trigger 3
0->2 id 5 start 5000000 size 8172 recv_done_trigger 3
1->3 id 6 trigger 3 size 100
1->4 id 7 trigger 3 size 200 recv_done_trigger 4
5->4 id 8 trigger 4 size 300
trigger id 1 oneshot
trigger id 2 barrier count 2
trigger id 3 multishot
trigger id 4 oneshot
";
    let result = finish_one(
        &format!(
            "schemes = [\"reps\"]\nsetup = \"reps-paper\"\n[workload]\nfile = \"f.cm\"\n[topology]\nkind = \"single-switch\"\nhosts = 8\nlink = \"100Gbps\"\nlink_latency = \"1us\"\nswitch_latency = \"0ns\"\n{UNBOUNDED}"
        ),
        &[("f.cm", matrix)],
    );
    let row = |id: usize| &result.flows[id - 1];
    let start = |id: usize| row(id).start_ps.unwrap();
    let acknowledged = |id: usize| start(id) + row(id).fct_ps.unwrap();
    let delivered = |id: usize| start(id) + row(id).delivery_ps.unwrap();
    assert_eq!((start(1), start(3), start(5)), (0, 0, 5 * US));
    // A message of 10 packets that is alone takes 11 packet times and two latencies, since the last packet is sent on
    // both links. Its ACK takes 2 (A + D) to return.
    assert_eq!(delivered(1), 11 * T + 2 * D);
    assert_eq!(acknowledged(1), 11 * T + 2 * D + 2 * (A + D));
    assert_eq!(start(2), acknowledged(1));
    assert_eq!(start(4), delivered(2).max(acknowledged(3)), "a barrier waits for the last");
    assert_eq!(start(4), acknowledged(3), "which is the long one");
    // Each activation of a multishot trigger starts the next of its messages, in the order of the file.
    assert!(delivered(5) < acknowledged(4));
    assert_eq!((start(6), start(7)), (delivered(5), acknowledged(4)));
    assert_eq!(start(8), delivered(7));
}
