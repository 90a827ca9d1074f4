//! Counters and groups in the rows of flows.

use super::support::*;

const LOSSY: &str = r#"
schemes = ["ops", "reps"]
setup = "reps-paper"
[topology]
kind = "single-switch"
hosts = 8
link = "100Gbps"
[workload]
kind = "permutation"
bytes = "300KB"
[[fault]]
kind = "packet-loss"
links = "all"
probability = 0.02
"#;

#[test]
fn what_each_flow_sent_again_adds_up_to_what_the_run_sent_again() {
    for qps in ["", "[set]\n\"*.qps\" = 4\n"] {
        for result in finish_all(&format!("{LOSSY}{qps}"), &[]) {
            let sum = |count: fn(&anabranch_results::FlowRow) -> Option<u32>| -> u64 {
                result.flows.iter().map(|flow| u64::from(count(flow).unwrap())).sum()
            };
            assert!(result.run.retransmissions > 8, "{}", result.run.retransmissions);
            assert_eq!(sum(|flow| flow.retransmissions), result.run.retransmissions);
            assert_eq!(sum(|flow| flow.timeouts), result.run.timeouts);
            assert!(
                result.flows.iter().any(|flow| flow.retransmissions == Some(0)) || sum(|f| f.timeouts) > 0
            );
        }
    }
}

/// A packet that is dropped (REPS), trimmed (DCP) or lost on a link counts as lost once, no matter what happens to its
/// header.
#[test]
fn what_each_flow_lost_adds_up_to_what_the_network_lost() {
    let lost = |result: &anabranch_sim::RunResult| -> u64 {
        result.flows.iter().map(|flow| u64::from(flow.lost.unwrap())).sum()
    };
    for qps in ["", "[set]\n\"*.qps\" = 4\n"] {
        for result in finish_all(&format!("{LOSSY}{qps}"), &[]) {
            let hit = result.run.faults[0].data_packets;
            assert!(hit > 8 && result.run.drops == 0, "{:?}", result.run);
            assert_eq!(lost(&result), hit);
        }
    }
    let incast = "schemes = [\"reps\", \"dcp\"]\n[topology]\nkind = \"single-switch\"\nhosts = 16\nlink = \"100Gbps\"\n\
                  [workload]\nkind = \"incast\"\ndegree = 15\nbytes = \"300KB\"\n[set]\n\"*.fabric.queue\" = \"100KB\"\n";
    for result in finish_all(incast, &[]) {
        assert!(result.run.drops + result.run.trims > 8, "{:?}", result.run);
        assert_eq!(lost(&result), result.run.drops + result.run.trims, "{}", result.run.scheme);
    }
}

#[test]
fn packets_are_those_of_all_queue_pairs() {
    let one = "schemes = [\"ops\"]\nsetup = \"reps-paper\"\n[topology]\nkind = \"single-switch\"\nhosts = 2\nlink = \"100Gbps\"\n\
               [workload]\nkind = \"permutation\"\nbytes = \"12289B\"\n[set]\n";
    // With a payload of 4096 bytes, three packets are full and one has a single byte. If the message is split into
    // parts of 6145 and 6144 bytes, each part has two packets. Each of eight parts has one packet.
    let packets = |set: &str| finish_one(&format!("{one}\"*.transport.payload\" = \"4096B\"\n{set}"), &[]);
    let of = |set: &str| -> Vec<u64> { packets(set).flows.iter().map(|flow| flow.packets).collect() };
    assert_eq!(of(""), [4, 4]);
    assert_eq!(of("\"*.qps\" = 2\n"), [4, 4]);
    assert_eq!(of("\"*.qps\" = 8\n"), [8, 8]);
}

#[test]
fn messages_that_share_a_queue_pair_do_not_say_what_they_sent_again() {
    let text = "schemes = [\"ops\"]\nsetup = \"reps-paper\"\n[topology]\nkind = \"single-switch\"\nhosts = 4\nlink = \"100Gbps\"\n\
                [workload]\nfile = \"two.cm\"\n";
    let matrix = "Nodes 4\nConnections 3\nTriggers 1\n0->1 id 1 msg start 0 size 10000 send_done_trigger 1\n\
                  0->1 id 1 msg trigger 1 size 20000\n2->3 id 2 start 0 size 5000\ntrigger id 1 oneshot\n";
    let result = finish_one(text, &[("two.cm", matrix)]);
    let shared = |qp: u32| result.flows.iter().filter(|flow| flow.qp == qp).count() > 1;
    for flow in &result.flows {
        assert_eq!(flow.retransmissions, if shared(flow.qp) { None } else { Some(0) });
        assert_eq!(flow.timeouts, flow.retransmissions);
        assert_eq!(flow.group, "");
    }
    assert_eq!(result.flows.len(), 3);
}

#[test]
fn incasts_and_background_are_told_apart() {
    let text = "schemes = [\"ops\"]\nsetup = \"reps-paper\"\n[topology]\nkind = \"single-switch\"\nhosts = 16\nlink = \"100Gbps\"\n\
                [workload]\nkind = \"poisson\"\nsizes = \"alistorage\"\nload = 0.2\nduration = \"200us\"\n";
    let incast = "incast = { degree = 8, bytes = \"20KB\", load = 0.1 }\n";
    let (alone, both) = (finish_one(text, &[]), finish_one(&format!("{text}{incast}"), &[]));
    assert!(alone.flows.iter().all(|flow| flow.group.is_empty()));
    let count = alone.flows.len();
    assert!(both.flows.len() > count && (both.flows.len() - count).is_multiple_of(8));
    for (number, flow) in both.flows.iter().enumerate() {
        assert_eq!(flow.group, if number < count { "background" } else { "incast" });
        let planned =
            |flow: &anabranch_results::FlowRow| (flow.qp, flow.src, flow.dst, flow.bytes, flow.start_ps);
        match alone.flows.get(number) {
            Some(other) => assert_eq!(planned(flow), planned(other)),
            None => assert_eq!(flow.bytes, 20_000),
        }
    }
    let named = both.flows.iter().map(|flow| &*flow.group).collect::<std::collections::BTreeSet<&str>>();
    assert_eq!(named.len(), 2);
    assert_ne!(alone.run.digest, both.run.digest);
    let slowdown = both.run.number("slowdown_p95").unwrap();
    let mut slowdowns: Vec<f64> = both.flows.iter().filter_map(|flow| flow.slowdown()).collect();
    slowdowns.sort_by(f64::total_cmp);
    assert_eq!(slowdown, slowdowns[(slowdowns.len() * 95).div_ceil(100) - 1]);
}

/// Two switches have two hosts each, and the link of one host has 10 Gb/s. The flow file uses the node numbers of the
/// topology file. The flow therefore goes between the two hosts whose switch has only links of 100 Gb/s.
#[test]
fn flows_of_a_file_go_between_nodes_of_the_topology_file() {
    let text = "schemes = [\"pfc-ecmp\"]\nsetup = \"hpcc-paper\"\nseeds = [1]\n[topology]\nkind = \"graph\"\nfile = \"t.txt\"\n\
        [workload]\nkind = \"ns3-flows\"\nfile = \"f.txt\"\n";
    let switches_first = "6 2 5\n0 1\n0 1 100Gbps 1us 0\n2 0 100Gbps 1us 0\n3 0 100Gbps 1us 0\n4 1 10Gbps 1us 0\n\
        5 1 100Gbps 1us 0\n";
    let hosts_first = "6 2 5\n4 5\n4 5 100Gbps 1us 0\n0 4 100Gbps 1us 0\n1 4 100Gbps 1us 0\n2 5 10Gbps 1us 0\n\
        3 5 100Gbps 1us 0\n";
    let fct = [(switches_first, "1\n2 3 3 100 12500000 2\n"), (hosts_first, "1\n0 1 3 100 12500000 2\n")]
        .map(|(topology, flows)| finish_one(text, &[("t.txt", topology), ("f.txt", flows)]).run.fct_max_us);
    assert_eq!(fct[0], fct[1]);
    // 12.5 MB take 1 ms at 100 Gb/s, plus 5 % for headers. They would take 10 ms at the 10 Gb/s of the other host.
    assert!((1_000.0..1_100.0).contains(&fct[0]), "{fct:?}");
}
