//! DCP's fabric: trimming, weighted control queues, and their effect on sender and receiver.

use super::support::*;
use anabranch_sim::RunResult;

/// All hosts of one switch except the last one send to the last host at the same time. Packets that find three packets
/// in the queue are trimmed.
fn incast(hosts: u32, wrr: &str, control_queue: &str) -> RunResult {
    incast_of(hosts - 1, hosts, wrr, control_queue)
}

fn incast_of(senders: u32, hosts: u32, wrr: &str, control_queue: &str) -> RunResult {
    let last = hosts - 1;
    let workload = format!("kind = \"incast\"\ndegree = {senders}\ntarget = {last}\nbytes = \"200KB\"\n");
    let set = format!(
        r#"
"dcp.fabric.queue" = "3packets"
"dcp.fabric.control_queue" = "{control_queue}"
"dcp.fabric.wrr" = {wrr}
"#
    );
    at_one_switch(hosts, &set, &workload)
}

fn at_one_switch(hosts: u32, set: &str, workload: &str) -> RunResult {
    scheme_at_one_switch("dcp", hosts, set, workload)
}

fn scheme_at_one_switch(scheme: &str, hosts: u32, set: &str, workload: &str) -> RunResult {
    let text = format!(
        r#"
schemes = ["{scheme}"]
setup = "dcp-paper"
[topology]
kind = "single-switch"
hosts = {hosts}
link = "100Gbps"
link_latency = "1us"
[set]
{set}
[workload]
{workload}"#
    );
    finish_one(&text, &[])
}

fn extra(result: &RunResult, name: &str) -> f64 {
    *result.run.extra.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", result.run.extra))
}

/// DCP, section 4.2: in a switch with N ports and the computed weight, the control queue drains the headers that N - 1
/// ports can send to one port if all packets are trimmed. Packets are 18.5 times as long as their headers, so N may be
/// up to 19.
#[test]
fn no_header_is_lost_in_any_incast_up_to_n_minus_1_at_the_computed_weight() {
    for hosts in [3, 4, 6, 8, 11, 16, 18, 19] {
        let result = incast(hosts, "{}", "3KB");
        assert_eq!((extra(&result, "header_drops"), result.run.drops), (0.0, 0), "{hosts} hosts");
        assert_eq!(result.run.timeouts, 0, "{hosts} hosts");
        assert!(result.run.trims > 100, "{hosts} hosts: {} trims", result.run.trims);
    }
}

#[test]
fn none_is_lost_in_smaller_incasts_on_the_largest_switch() {
    for senders in 2..18 {
        let result = incast_of(senders, 19, "{}", "3KB");
        assert_eq!((result.run.drops, result.run.timeouts), (0, 0), "{senders} senders");
    }
}

#[test]
fn headers_are_lost_at_a_third_of_the_computed_weight() {
    let whole = 15.0 / (1057.0 / 57.0 - 15.0);
    let result = incast(16, &format!("{{ weight = {} }}", whole / 3.0), "3KB");
    assert!(extra(&result, "header_drops") > 0.0);
    // Section 4.5 of DCP: the timeout recovers the lost headers.
    assert!(result.run.timeouts > 0);
}

/// With a weight of 1, control packets and data share the link equally while both wait. With a weight of 1,000,
/// headers take nearly the whole link while they wait, so the data takes longer.
#[test]
fn the_weight_divides_the_link() {
    let [even, most] =
        ["{ weight = 1.0 }", "{ weight = 1000.0 }"].map(|wrr| incast(16, wrr, "10MB").run.completion_us);
    assert!(even < most, "{even} us, {most} us");
}

/// Seven senders for each of the receivers, all at one switch. A packet has 1,057 B.
fn full_queues(receivers: u32, buffer: &str, set: &str) -> RunResult {
    let message = |from, to| format!("[[workload.message]]\nfrom = {from}\nto = {to}\nbytes = \"200KB\"\n");
    let messages = (0..receivers).flat_map(|to| (0..7).map(move |nth| message(receivers + 7 * to + nth, to)));
    let set = format!("\"dcp.cc.window\" = \"1000bdp\"\n\"dcp.fabric.shared_buffer\" = \"{buffer}\"\n{set}");
    at_one_switch(8 * receivers, &set, &format!("kind = \"messages\"\n{}", messages.collect::<String>()))
}

/// The buffer B has room for 283.8 packets. A queue of x packets accepts another one if x + 1 <= alpha (B - x), where
/// B - x is the free part of the buffer. With an alpha of 1 this is true up to x = 141.4, so the queue grows to 142
/// packets. With an alpha of 1/2 it is true up to x = 93.9, so the queue grows to 94 packets.
#[test]
fn queues_that_share_a_buffer_hold_what_their_threshold_says() {
    let whole = "\"dcp.fabric.trim\" = false\n";
    for (alpha, packets) in [("1.0", 142), ("0.5", 94)] {
        let result = full_queues(1, "300KB", &format!("{whole}\"dcp.fabric.shared_alpha\" = {alpha}"));
        assert_eq!(result.run.peak_queue_bytes, packets * 1_057, "alpha {alpha}");
        assert!(result.run.drops > 1_000, "{}", result.run.drops);
    }
    // With trimming, packets that do not fit are trimmed. A buffer that can hold all packets refuses none.
    for set in ["", "\"dcp.fabric.acks_with_data\" = true"] {
        let trimmed = full_queues(2, "300KB", set).run;
        assert!(
            trimmed.trims > 1_000 && trimmed.drops == 0,
            "{set}: {} trims, {} drops",
            trimmed.trims,
            trimmed.drops
        );
    }
    let roomy = full_queues(2, "32MB", "").run;
    assert_eq!((roomy.trims, roomy.drops), (0, 0));
}

const ADAPTIVE: &str = r#"
schemes = ["dcp", "dcp-dcqcn"]
setup = "dcp-paper"
[topology]
kind = "leaf-spine"
hosts = 32
hosts_per_tor = 8
oversubscription = 2
link = "100Gbps"
link_latency = "1us"
[workload]
kind = "permutation"
bytes = "1MB"
[set]
"*.fabric.queue" = "100KB"
"#;

/// DCP, section 4.5, "exactly once": each trimmed packet is retransmitted once, and no other packet is.
#[test]
fn as_many_packets_are_sent_again_as_were_trimmed() {
    for result in finish_all(ADAPTIVE, &[]) {
        let run = &result.run;
        assert!(run.trims > 100, "{}: {}", run.scheme, run.trims);
        assert_eq!((run.retransmissions, run.timeouts, run.drops), (run.trims, 0, 0), "{}", run.scheme);
        assert!(extra(&result, "fetches") * 16.0 >= run.retransmissions as f64);
    }
}

/// If a trimmed packet causes a CNP, senders whose packets are all trimmed also slow down, and fewer packets are
/// trimmed.
#[test]
fn with_cnps_for_trimmed_packets_fewer_are_trimmed() {
    let trims = |trims_as_marks: bool| {
        let set = format!(
            "\"dcp-dcqcn.fabric.queue\" = \"100KB\"\n\"dcp-dcqcn.transport.trims_as_marks\" = {trims_as_marks}\n"
        );
        let workload = "kind = \"incast\"\ndegree = 15\ntarget = 15\nbytes = \"500KB\"\n";
        scheme_at_one_switch("dcp-dcqcn", 16, &set, workload).run.trims
    };
    let (without, with) = (trims(false), trims(true));
    assert!(with < without / 2, "{with} with, {without} without");
}

/// Packets that a switch refuses because of a fault (DCP, section 6.1: the testbed's losses) are trimmed under DCP and
/// retransmitted exactly once. Other fabrics drop them.
#[test]
fn what_a_switch_refuses_is_trimmed_where_it_trims_and_else_dropped() {
    let results = finish_all(
        r#"
schemes = ["dcp", "irn-ecmp", "pfc-ecmp", "timeout"]
setup = "dcp-paper"
[topology]
kind = "dumbbell"
hosts = 4
link = "100Gbps"
link_latency = "1us"
[workload]
kind = "tornado"
bytes = "4MB"
senders = 1
[[fault]]
kind = "switch-loss"
links = "all"
probability = 0.01
"#,
        &[],
    );
    for result in &results {
        let run = &result.run;
        let refused = if run.scheme == "dcp" { run.trims } else { run.drops };
        // 4,000 packets cross two switches, each of which refuses 1 % of them, so about 80 are refused.
        assert!((40..140).contains(&refused) || run.scheme == "pfc-ecmp", "{}: {refused}", run.scheme);
        assert_eq!(run.link_losses, 0);
        match run.scheme.as_str() {
            "dcp" => assert_eq!((run.retransmissions, run.timeouts, run.drops), (run.trims, 0, 0)),
            _ => assert!(run.retransmissions >= run.drops && run.trims == 0, "{run:?}"),
        }
    }
}

/// DCP, section 4.5: if the control plane is not lossless, the timeout recovers the losses.
#[test]
fn messages_are_whole_when_links_lose_headers_and_go_down() {
    let text = format!(
        "{ADAPTIVE}\n[[fault]]\nkind = \"packet-loss\"\nlinks = \"all\"\nprobability = 0.01\nduration = \"200us\"\n\
         [[fault]]\nkind = \"link-down\"\nlinks = \"tor:0/up:0\"\nat = \"50us\"\nduration = \"100us\"\n"
    );
    for result in finish_all(&text, &[]) {
        assert_eq!(result.run.flows_finished, 32);
        assert!(result.run.timeouts > 0 && result.run.link_losses > 0, "{:?}", result.run);
    }
}
