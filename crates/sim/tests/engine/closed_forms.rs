//! Flows that are alone in the network: their FCT and their `ideal_fct_ps` equal the closed form to the picosecond.

use super::support::*;
use proptest::prelude::*;

/// The FCT at the sender, in ps, of `bytes` bytes over h = `hops` links, through switches without latency. A byte
/// takes `ps_a_byte` ps on each link, and each link has the latency d = `latency` ps. T and A are the serialisation
/// times of a full packet and of an ACK. If a last packet that takes S follows n full packets, its last bit arrives at
/// n*T + (h-1)*T + h*d + S. Its ACK returns h*(A + d) later. For a message that fits into one packet, S takes the
/// place of every T.
fn alone(bytes: u64, hops: u64, ps_a_byte: u64, latency: u64) -> u64 {
    let full_packets = (bytes - 1) / PAYLOAD;
    let last = bytes - full_packets * PAYLOAD;
    let (t, s, a) = (FULL * ps_a_byte, (last + HEADER) * ps_a_byte, ACK * ps_a_byte);
    let way_of_full = if full_packets > 0 { (hops - 1) * t } else { (hops - 1) * s };
    full_packets * t + way_of_full + hops * latency + s + hops * (a + latency)
}

const AT_100G: u64 = 80;
const AT_400G: u64 = 20;

/// Runs one flow on `topology` with each of the schemes `reps`, `ops` and `ecmp`. The simulated and the ideal FCT
/// must be `expected` ps.
fn assert_fct(topology: &str, files: &Named<'_>, matrix: &str, expected: u64) {
    assert_alone(topology, files, matrix, Alone { fct: expected, ideal: expected });
}

fn assert_alone(topology: &str, files: &Named<'_>, matrix: &str, expected: Alone) {
    let text = format!(
        "schemes = [\"reps\", \"ops\", \"ecmp\"]\nsetup = \"reps-paper\"\n[workload]\nfile = \"flow.cm\"\n[topology]\n{topology}\n{UNBOUNDED}"
    );
    let files: Vec<(&str, &str)> = files.iter().copied().chain([("flow.cm", matrix)]).collect();
    for result in finish_all(&text, &files) {
        let flow = &result.flows[0];
        let scheme = &result.run.scheme;
        assert_eq!(flow.ideal_fct_ps, expected.ideal, "ideal, {scheme}, {topology}");
        assert_eq!(flow.fct_ps, Some(expected.fct), "simulated, {scheme}, {topology}");
        assert_eq!((result.run.drops, result.run.retransmissions), (0, 0), "{scheme}");
    }
}

fn one_flow(hosts: u32, dst: u32, bytes: u64) -> String {
    format!("Nodes {hosts}\nConnections 1\n0->{dst} start 0 size {bytes}\n")
}

const THREE_TIERS_100G: &str = "kind = \"fat-tree\"\nhosts = 16\ntiers = 3\nlink = \"100Gbps\"\nlink_latency = \"1us\"\nswitch_latency = \"0ns\"";
const TWO_TIERS_400G: &str = "kind = \"fat-tree\"\nhosts = 128\ntiers = 2\nlink = \"400Gbps\"\nlink_latency = \"1us\"\nswitch_latency = \"0ns\"";
const THREE_TIERS_400G: &str = "kind = \"fat-tree\"\nhosts = 128\ntiers = 3\nlink = \"400Gbps\"\nlink_latency = \"1us\"\nswitch_latency = \"0ns\"";

#[test]
fn two_megabytes_over_three_tiers_at_100g() {
    let expected = alone(2_000_000, 6, AT_100G, US);
    assert_eq!(expected, 176_199_520);
    assert_fct(THREE_TIERS_100G, &[], &one_flow(16, 13, 2_000_000), expected);
}

#[test]
fn ten_and_a_hundred_full_packets_over_six_links_at_100g() {
    for (packets, expected) in [(10, 17_010_720), (100, 46_890_720)] {
        assert_eq!(alone(packets * PAYLOAD, 6, AT_100G, US), expected);
        assert_fct(THREE_TIERS_100G, &[], &one_flow(16, 15, packets * PAYLOAD), expected);
    }
}

/// A host with `ecmp` never changes the path. A host with `ops` draws one of 65,536 entropy values at random for each
/// packet, so nearly every packet changes the path.
#[test]
fn path_changes_are_counted_where_the_host_makes_them() {
    let text = format!(
        "schemes = [\"ops\", \"ecmp\"]\nsetup = \"reps-paper\"\n[workload]\nfile = \"flow.cm\"\n[topology]\n{THREE_TIERS_100G}\n{UNBOUNDED}"
    );
    let results = finish_all(&text, &[("flow.cm", &one_flow(16, 13, 2_000_000))]);
    let changes = |slot: usize| (results[slot].flows[0].packets, results[slot].flows[0].path_changes);
    let (packets, sprayed) = changes(0);
    assert_eq!(packets, 490);
    assert!((480..=489).contains(&sprayed.unwrap()), "{sprayed:?}");
    assert_eq!(changes(1), (490, Some(0)));
}

#[test]
fn ten_messages_of_a_packet_on_one_queue_pair_end_one_after_the_other() {
    let message = "0->15 id 1 msg start 0 size 4086\n";
    let matrix = format!("Nodes 16\nConnections 10\n{}", message.repeat(10));
    let text = format!(
        "schemes = [\"reps\"]\nsetup = \"reps-paper\"\n[workload]\nfile = \"flow.cm\"\n[topology]\n{THREE_TIERS_100G}\n{UNBOUNDED}"
    );
    let result = finish_one(&text, &[("flow.cm", &matrix)]);
    let one = alone(PAYLOAD, 6, AT_100G, US);
    for (number, flow) in result.flows.iter().enumerate() {
        assert_eq!(flow.fct_ps, Some(one + number as u64 * FULL * AT_100G), "message {number}");
        assert_eq!(flow.ideal_fct_ps, one);
    }
    assert_eq!(result.flows[9].fct_ps, Some(17_010_720));
}

#[test]
fn mebibytes_over_two_and_three_tiers_at_400g() {
    for (mib, printed_ns) in [(8, 178_655), (16, 349_055), (32, 689_855)] {
        let expected = alone(mib << 20, 4, AT_400G, US);
        assert_eq!((expected + 500) / 1000, printed_ns);
        assert_fct(TWO_TIERS_400G, &[], &one_flow(128, 127, mib << 20), expected);
    }
    let expected = alone(32 << 20, 6, AT_400G, US);
    assert_eq!((expected + 500) / 1000, 694_024);
    assert_fct(THREE_TIERS_400G, &[], &one_flow(128, 127, 32 << 20), expected);
}

#[test]
fn published_inputs_give_the_same() {
    let Some(folder) = peers() else { return };
    let read = |name: &str| peer_file(&folder.join("data/htsim"), name);
    let one = read("one.cm");
    assert_fct(THREE_TIERS_100G, &[], &one, 176_199_520);
    let topo = "file = \"f.topo\"";
    // Hosts 0 and 13 are in the same pod of 16 hosts, so the path has four links.
    let near = alone(2_000_000, 4, AT_100G, US);
    assert_fct(topo, &[("f.topo", &read("fat_tree_128_1os.topo"))], &one, near);
    for (mib, printed_ns) in [(8, 178_655), (16, 349_055), (32, 689_855)] {
        let expected = alone(mib << 20, 4, AT_400G, US);
        assert_eq!((expected + 500) / 1000, printed_ns);
        let files = [("f.topo", &*read("fat_tree_128_1os_2t_400g.topo"))];
        assert_fct(topo, &files, &one_flow(128, 127, mib << 20), expected);
    }
    let files = [("f.topo", &*read("fat_tree_128_1os_3t_400g.topo"))];
    assert_fct(topo, &files, &one_flow(128, 127, 32 << 20), alone(32 << 20, 6, AT_400G, US));
}

#[test]
fn a_single_switch_is_two_links_and_its_latency_counts_once_each_way() {
    for (latency_ns, switch_ns) in [(1000, 0), (500, 500), (0, 7)] {
        let topology = format!(
            "kind = \"single-switch\"\nhosts = 3\nlink = \"100Gbps\"\nlink_latency = \"{latency_ns}ns\"\nswitch_latency = \"{switch_ns}ns\""
        );
        for bytes in [1, PAYLOAD, PAYLOAD + 1, 1_000_000] {
            let expected = alone(bytes, 2, AT_100G, latency_ns * 1000) + 2 * switch_ns * 1000;
            assert_fct(&topology, &[], &one_flow(3, 2, bytes), expected);
        }
    }
}

#[test]
fn a_slower_trunk_paces_a_dumbbell() {
    let topology = "kind = \"dumbbell\"\nhosts = 4\nlink = \"100Gbps\"\ntrunk = \"25Gbps\"\nlink_latency = \"1us\"\ntrunk_latency = \"5us\"\nswitch_latency = \"300ns\"";
    // T1 and T2 are the serialisation times of a full packet on a host's link and on the trunk, d is the latency of a
    // host's link, and s is the latency of a switch. The first of 100 full packets reaches the trunk after T1 + d + s,
    // the trunk takes 100 * T2, and the last packet then crosses the last link. The data and the ACK each cross two
    // switches.
    let (t1, t2) = (FULL * 80, FULL * 320);
    let there = t1 + US + 300_000 + 100 * t2 + 5 * US + 300_000 + t1 + US;
    let back = ACK * 80 + US + 300_000 + ACK * 320 + 5 * US + 300_000 + ACK * 80 + US;
    assert_fct(topology, &[], &one_flow(4, 2, 100 * PAYLOAD), there + back);
    assert_fct(topology, &[], &one_flow(4, 3, 100 * PAYLOAD), there + back);
    // Within one half of the dumbbell, the trunk has no effect.
    let near = alone(100 * PAYLOAD, 2, AT_100G, US) + 2 * 300_000;
    assert_fct(topology, &[], &one_flow(4, 1, 100 * PAYLOAD), near);
}

#[test]
fn three_tiers_with_mixed_rates_and_latencies() {
    let topology = |rates: [u64; 3]| {
        let tier = |rate: u64, latency: u64| {
            format!(
                "[[topology.tier]]\nlink = \"{rate}Gbps\"\nlink_latency = \"{latency}ns\"\nswitch_latency = \"{}ns\"\n",
                latency / 2
            )
        };
        let [a, b, c] = rates;
        format!(
            "kind = \"fat-tree\"\nhosts = 16\ntiers = 3\n{}{}{}",
            tier(a, 200),
            tier(b, 400),
            tier(c, 2000)
        )
    };
    // The path goes up through ToR, aggregation and core switch, and down through aggregation switch and ToR to the
    // host.
    let path = |rates: [u64; 3]| {
        let hop = |rate: u64, delay_ns: u64| Hop { rate: rate * 1_000_000_000, delay: delay_ns * 1000 };
        let [a, b, c] = rates;
        [
            hop(a, 200 + 100),
            hop(b, 400 + 200),
            hop(c, 2000 + 1000),
            hop(c, 2000 + 200),
            hop(b, 400 + 100),
            hop(a, 200),
        ]
    };
    // If the upper tiers are slower, spraying packets over them is faster than a single path, so only ECMP is compared.
    for (rates, schemes) in [
        ([100, 200, 400], "\"reps\", \"ops\", \"ecmp\""),
        ([400, 200, 100], "\"ecmp\""),
        ([200, 400, 100], "\"ecmp\""),
        ([400, 100, 200], "\"ecmp\""),
    ] {
        let path = path(rates);
        for bytes in [1, 2 * PAYLOAD, 500_000] {
            let expected = packet_by_packet(&path, bytes, &path);
            let text = format!(
                "schemes = [{schemes}]\nsetup = \"reps-paper\"\n[workload]\nfile = \"flow.cm\"\n[topology]\n{}{UNBOUNDED}",
                topology(rates)
            );
            for result in finish_all(&text, &[("flow.cm", &one_flow(16, 15, bytes))]) {
                let flow = &result.flows[0];
                assert_eq!(flow.ideal_fct_ps, expected.ideal, "ideal, {rates:?}, {bytes} B");
                assert_eq!(flow.fct_ps, Some(expected.fct), "{}, {rates:?}, {bytes} B", result.run.scheme);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_dumbbell(
        link in 7u64..900, trunk in 7u64..900, latency in 0u64..3000, trunk_latency in 0u64..9000,
        switch in 0u64..1000, bytes in 1u64..300_000,
    ) {
        let topology = format!(
            "kind = \"dumbbell\"\nhosts = 2\nlink = \"{link}Gbps\"\ntrunk = \"{trunk}Gbps\"\nlink_latency = \"{latency}ns\"\ntrunk_latency = \"{trunk_latency}ns\"\nswitch_latency = \"{switch}ns\""
        );
        let hop = |rate: u64, delay_ns: u64| Hop { rate: rate * 1_000_000_000, delay: delay_ns * 1000 };
        let path = [hop(link, latency + switch), hop(trunk, trunk_latency + switch), hop(link, latency)];
        assert_alone(&topology, &[], &one_flow(2, 1, bytes), packet_by_packet(&path, bytes, &path));
    }
}
