//! Tests that no message is faster than its ideal FCT, even on several queue pairs, over slower or different links, or
//! with a short last packet that overtakes the others.

use super::support::*;
use proptest::prelude::*;

/// The FCT and the ideal FCT of one flow of `bytes` bytes from host 0 to host `dst`, alone in the network, under each
/// of `schemes` with each of two seeds.
fn alone(schemes: &str, qps: u32, topology: &str, files: &Named<'_>, dst: u32, bytes: u64) -> Vec<[u64; 2]> {
    let matrix = format!("Nodes {}\nConnections 1\n0->{dst} start 0 size {bytes}\n", dst + 1);
    let text = format!(
        "schemes = [{schemes}]\nsetup = \"reps-paper\"\nseeds = [1, 2]\n[workload]\nfile = \"flow.cm\"\n[topology]\n{topology}\n{UNBOUNDED}\
         \"*.qps\" = {qps}\n"
    );
    let files: Vec<(&str, &str)> = files.iter().copied().chain([("flow.cm", &*matrix)]).collect();
    let times = |result: anabranch_sim::RunResult| {
        let flow = &result.flows[0];
        assert!(flow.ideal_fct_ps > 0);
        [flow.fct_ps.unwrap(), flow.ideal_fct_ps]
    };
    finish_all(&text, &files).into_iter().map(times).collect()
}

const SCHEMES: &str = "\"reps\", \"ops\", \"ecmp\"";

/// A fabric of two tiers with upper links of `up` Gb/s. It has 128 hosts at 400 Gb/s, 16 ToRs and 8 uplinks per ToR.
fn two_tiers(up: u64) -> String {
    format!(
        "kind = \"fat-tree\"\nhosts = 128\ntiers = 2\n[[topology.tier]]\nlink = \"400Gbps\"\nlink_latency = \"500ns\"\n\
         switch_latency = \"100ns\"\n[[topology.tier]]\nlink = \"{up}Gbps\"\nlink_latency = \"500ns\"\n\
         switch_latency = \"100ns\"\n"
    )
}

#[test]
fn parts_on_several_queue_pairs_are_not_faster() {
    for bytes in [4, 4_000, 4 * PAYLOAD, 4 * PAYLOAD + 1, 50_000, 1_000_000] {
        for qps in [2, 4, 7] {
            for [fct, ideal] in alone(SCHEMES, qps, &two_tiers(400), &[], 127, bytes) {
                assert!(fct >= ideal, "{bytes} B on {qps} queue pairs: {fct} < {ideal}");
                assert!(fct < ideal + ideal / 4, "{bytes} B on {qps} queue pairs: {fct}, {ideal}");
            }
        }
    }
}

/// The uplinks are slower than the links of hosts, but spraying uses all 8 of them.
#[test]
fn spraying_over_slower_uplinks_is_not_faster() {
    for (up, bytes) in
        [200, 100, 25, 10].into_iter().flat_map(|up| [1, 9_000, 50_000, 4_000_000].map(|b| (up, b)))
    {
        for [fct, ideal] in alone("\"reps\", \"ops\"", 1, &two_tiers(up), &[], 127, bytes) {
            assert!(fct >= ideal, "{bytes} B over {up} Gb/s: {fct} < {ideal}");
        }
        for [fct, ideal] in alone(SCHEMES, 4, &two_tiers(up), &[], 127, bytes) {
            assert!(fct >= ideal, "{bytes} B on 4 queue pairs over {up} Gb/s: {fct} < {ideal}");
        }
    }
    // On a single path, the slow link determines the pace of all packets, to the picosecond.
    for [fct, ideal] in alone("\"ecmp\"", 1, &two_tiers(100), &[], 127, 100 * PAYLOAD) {
        assert_eq!(fct, ideal);
    }
    // 8 links of 100 Gb/s together are faster than a host's link, which is therefore the bottleneck. Packets
    // sometimes wait for one of the 8 links.
    let [fct, ideal] = alone("\"ops\"", 1, &two_tiers(100), &[], 127, 4_000_000)[0];
    let at_line_rate = (4_000_000 / PAYLOAD) * FULL * 20;
    assert!(ideal > at_line_rate && ideal < at_line_rate + 10 * US && fct < 2 * ideal, "{fct}, {ideal}");
}

/// A graph with paths from host 0 over switch 2, one of three middle switches and switch 3 to host 1.
fn graph(rates: [u64; 6], latencies: [u64; 6]) -> String {
    let mut text = "7 5 8\n2 3 4 5 6\n".to_owned();
    let ends = [(2, 4), (2, 5), (2, 6), (4, 3), (5, 3), (6, 3)];
    for (a, b) in [(0, 2), (1, 3)] {
        text.push_str(&format!("{a} {b} 100Gbps 1000ns 0\n"));
    }
    for ((a, b), (rate, latency)) in ends.into_iter().zip(rates.into_iter().zip(latencies)) {
        text.push_str(&format!("{a} {b} {rate}Gbps {latency}ns 0\n"));
    }
    text
}

#[test]
fn of_paths_with_different_latencies_the_shortest_counts() {
    let text = graph([100; 6], [9_000, 1_000, 5_000, 9_000, 1_000, 5_000]);
    let topology = "kind = \"graph\"\nfile = \"g.txt\"\nswitch_latency = \"0ns\"";
    let times = alone(SCHEMES, 1, topology, &[("g.txt", &text)], 1, 1);
    let shortest = 4 * (65 * 80) + 4 * US + 4 * (ACK * 80) + 4 * US;
    assert!(times.iter().all(|[fct, ideal]| *ideal == shortest && fct >= ideal), "{times:?}");
}

/// If hosts are connected in a ring of 100 Gb/s, each host gets a switch of its own. The link between host and switch
/// has 200 Gb/s, the sum of the host's two links. A packet crosses such a link at the sender and at the receiver.
#[test]
fn between_hosts_that_are_joined_a_packet_is_sent_twice_more() {
    let ring = "4 0 4\n\n0 1 100Gbps 2us 0\n1 2 100Gbps 2us 0\n2 3 100Gbps 2us 0\n3 0 100Gbps 2us 0\n";
    for (dst, links) in [(1, 1), (2, 2), (3, 1)] {
        let topology = "kind = \"graph\"\nfile = \"g.txt\"";
        let times = alone(SCHEMES, 1, topology, &[("g.txt", ring)], dst, 1);
        let one_way = |bytes: u64| bytes * (links * 80 + 2 * 40) + links * 2 * US;
        let both = one_way(65) + one_way(ACK);
        assert!(
            times.iter().all(|[fct, ideal]| (*fct, *ideal) == (both, both)),
            "to {dst}: {times:?}, {both}"
        );
    }
}

/// A ring AllReduce on eight hosts in a ring of 100 Gb/s uses one of the two links of each host. In each of 14 steps, a
/// host sends 100 full packets over that link, in messages of 25 packets, so that only the link limits the collective.
#[test]
fn a_ring_between_joined_hosts_has_the_rate_of_one_link() {
    let links: String = (0..8).map(|host| format!("{host} {} 100Gbps 500ns 0\n", (host + 1) % 8)).collect();
    let text = format!(
        "schemes = [\"ecmp\", \"reps\"]\nseeds = [1]\nsetup = \"reps-paper\"\n[topology]\nkind = \"graph\"\nfile = \"g.txt\"\n\
         [workload]\nkind = \"collective\"\nalgorithm = \"allreduce-ring\"\nbytes = \"{}B\"\nchunk = \"{}B\"\nranks = 8\n{UNBOUNDED}",
        8 * 100 * PAYLOAD,
        25 * PAYLOAD
    );
    for result in finish_all(&text, &[("g.txt", &format!("8 0 8\n\n{links}"))]) {
        let (cct, ideal) = (result.jobs[0].cct_ps.unwrap(), result.jobs[0].ideal_cct_ps);
        let on_link = 14 * 100 * FULL * 80;
        // A packet also needs time to reach that link and to go on from it, and an ACK returns.
        let rest = 2 * FULL * 40 + 2 * (ACK * 40) + ACK * 80 + 2 * 500_000;
        assert!((on_link..=on_link + rest).contains(&ideal), "{ideal} for {on_link}");
        assert!(
            cct >= ideal && cct as f64 <= 1.05 * ideal as f64,
            "{}: {cct} for {ideal}",
            result.run.scheme
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if long() { 2_000 } else { 60 }))]

    #[test]
    fn on_any_small_graph(
        rates in prop::array::uniform6(5u64..400), latencies in prop::array::uniform6(0u64..5_000),
        bytes in prop_oneof![1u64..20_000, 1u64..400_000], qps in 1u32..6,
    ) {
        let text = graph(rates, latencies);
        let topology = "kind = \"graph\"\nfile = \"g.txt\"\nswitch_latency = \"50ns\"";
        for [fct, ideal] in alone(SCHEMES, qps, topology, &[("g.txt", &text)], 1, bytes) {
            prop_assert!(fct >= ideal, "{} < {}", fct, ideal);
        }
    }

    #[test]
    fn in_any_small_tree(
        rates in prop::array::uniform3(5u64..400), latencies in prop::array::uniform3(0u64..3_000),
        bytes in prop_oneof![1u64..40_000, 1u64..400_000], qps in 1u32..6, dst in 1u32..16,
    ) {
        let tiers: String = rates.into_iter().zip(latencies).map(|(rate, latency)| {
            format!("[[topology.tier]]\nlink = \"{rate}Gbps\"\nlink_latency = \"{latency}ns\"\nswitch_latency = \"30ns\"\n")
        }).collect();
        let topology = format!("kind = \"fat-tree\"\nhosts = 16\ntiers = 3\n{tiers}");
        for [fct, ideal] in alone(SCHEMES, qps, &topology, &[], dst, bytes) {
            prop_assert!(fct >= ideal, "{} < {}", fct, ideal);
        }
    }
}
