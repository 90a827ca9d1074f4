//! Fabrics with several data centres: closed forms of flows that are alone, and the groups of flows by data centre.

use super::support::*;
use std::collections::BTreeSet;

const GBPS: u64 = 1_000_000_000;

/// The fabric of Themis-longhaul, section VII-A, with all rates and latencies written out.
const FABRIC: &str = "[topology]\nkind = \"cross-dc\"\ndcs = 2\ntors = 4\nleaves = 4\nhosts_per_tor = 4\n\
                      link = \"100Gbps\"\nlink_latency = \"1us\"\nesw_link = \"400Gbps\"\n\
                      esw_link_latency = \"2us\"\nwan_link = \"1600Gbps\"\nwan_latency = \"500us\"\n\
                      switch_latency = \"100ns\"\n";

fn hop(gbps: u64, delay_ns: u64) -> Hop {
    Hop { rate: gbps * GBPS, delay: delay_ns * 1000 }
}

#[test]
fn flows_alone_inside_and_across_take_what_arithmetic_says() {
    // The delay of a hop includes the latency of the switch at the end of the hop.
    let (down, up, leaf) = (hop(100, 1000), hop(100, 1100), hop(400, 2100));
    let across = [up, up, leaf, hop(1600, 500_100), leaf, up, down];
    for (dst, path) in [(1, &[up, down][..]), (15, &[up, up, up, down]), (16, &across), (31, &across)] {
        for bytes in [1, PAYLOAD, 3 * PAYLOAD + 1, 1_000_000] {
            let expected = packet_by_packet(path, bytes, path);
            let matrix = format!("Nodes 32\nConnections 1\n0->{dst} start 0 size {bytes}\n");
            let text = format!(
                "schemes = [\"ecmp\"]\nsetup = \"reps-paper\"\n[workload]\nfile = \"flow.cm\"\n{FABRIC}{UNBOUNDED}"
            );
            let result = finish_one(&text, &[("flow.cm", &matrix)]);
            let flow = &result.flows[0];
            assert_eq!(flow.ideal_fct_ps, expected.ideal, "ideal, 0 -> {dst}, {bytes} B");
            assert_eq!(flow.fct_ps, Some(expected.fct), "0 -> {dst}, {bytes} B");
            assert_eq!(flow.group, if dst < 16 { "intra" } else { "inter" });
        }
    }
}

#[test]
fn rows_tell_who_crosses_in_every_part_of_a_workload() {
    let short = FABRIC.replace("500us", "5us");
    let poisson =
        "[workload]\nkind = \"poisson\"\nsizes = \"alistorage\"\nload = 0.2\nduration = \"100us\"\n";
    let more = "incast = { degree = 4, bytes = \"20KB\", load = 0.1 }\n\
                pipeline = { bytes = \"50KB\", load = 0.1 }\n";
    let all = ["background/intra", "background/inter", "incast/intra", "incast/inter", "pipeline/inter"];
    for (more, parts) in [("", &["intra", "inter"][..]), (more, &all)] {
        let result =
            finish_one(&format!("schemes = [\"ops\"]\nsetup = \"reps-paper\"\n{short}{poisson}{more}"), &[]);
        for flow in &result.flows {
            let crosses = (flow.src < 16) != (flow.dst < 16);
            assert!(flow.in_group(if crosses { "inter" } else { "intra" }), "{flow:?}");
            assert!(!flow.in_group(if crosses { "intra" } else { "inter" }), "{flow:?}");
            assert_eq!(flow.group.contains('/'), !more.is_empty(), "{flow:?}");
        }
        let found: BTreeSet<&str> = result.flows.iter().map(|flow| &*flow.group).collect();
        assert_eq!(found, parts.iter().copied().collect());
    }
}

/// Figures 3 and 10 of Themis-longhaul: a flow within the data centre and a flow to the other data centre leave the
/// same ToR, which has one uplink.
#[test]
fn two_flows_share_the_only_uplink_of_a_tor() {
    let fabric = FABRIC.replace("leaves = 4", "leaves = 1").replace("500us", "5us");
    let text = format!(
        "schemes = [\"ecmp\"]\nsetup = \"reps-paper\"\n{fabric}[workload]\nkind = \"messages\"\n\
         [[workload.message]]\nfrom = 3\nto = 15\nbytes = \"2MB\"\n\
         [[workload.message]]\nfrom = 2\nto = 31\nbytes = \"2MB\"\nstart = \"3us\"\n{UNBOUNDED}"
    );
    let result = finish_one(&text, &[]);
    let [intra, inter] = &result.flows[..] else { panic!("{:?}", result.flows) };
    assert_eq!((&*intra.group, intra.src, intra.dst, intra.start_ps), ("intra", 3, 15, Some(0)));
    assert_eq!((&*inter.group, inter.src, inter.dst, inter.start_ps), ("inter", 2, 31, Some(3 * US)));
    for flow in [intra, inter] {
        let slowdown = flow.slowdown().unwrap();
        assert!((1.8..2.0).contains(&slowdown), "each has half of the uplink: {slowdown}");
    }
}
