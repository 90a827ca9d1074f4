//! Tests that some mechanisms achieve their purpose, in exact runs whose packets are encoded frames with payload.

use anabranch_base::{Duration, NodeId, Time};
use anabranch_live::{ExactOutcome, exact, exact_observed};
use anabranch_sim::results::RunRow;
use anabranch_sim::scenario::{NoFiles, Overrides, RunPoint, read};
use anabranch_sim::{RunResult, build};
use anabranch_wire::{Entropy, RoceFrame, opcode};

fn points(text: &str) -> Vec<RunPoint> {
    let scenario = read("test.toml", text, &NoFiles, &Overrides::default());
    scenario.unwrap_or_else(|error| panic!("{error}\n{text}")).points().unwrap()
}

fn rows(text: &str) -> Vec<RunRow> {
    let run = |point: &RunPoint| {
        let ExactOutcome { result: RunResult { run: row, .. }, checked, .. } =
            exact(point, &build(point).unwrap())
                .unwrap_or_else(|error| panic!("{}: {error}", point.scheme.name));
        assert_eq!(checked, row.flows, "{}", row.scheme);
        row
    };
    points(text).iter().map(run).collect()
}

/// The cable of an uplink is cut, and routing does not learn of it during the run. The RTO is 57 us.
fn cut(more: &str) -> Vec<RunRow> {
    rows(&format!(
        r#"
        schemes = ["reps", "ops"]
        seeds = [1]
        topology = {{ kind = "fat-tree", hosts = 8, hosts_per_tor = 4, link = "100Gbps" }}
        workload = {{ kind = "permutation", bytes = "2MiB" }}
        set = {{ "*.fabric.routing_delay" = "100ms", "*.fabric.queue" = "100KB" }}
        [[fault]]
        kind = "link-down"
        links = "cable:tor:0/up:0"
        at = "20us"
        {more}
        "#
    ))
}

/// The cable either comes up again after two RTOs or stays down. A scheme that leaves the path within two RTOs loses
/// the same number of packets in both cases.
#[test]
fn reps_leaves_a_cut_path_within_two_rtos_and_ops_goes_on_losing() {
    let (for_two_rtos, for_ever) = (cut("duration = \"114us\""), cut(""));
    let losses = |rows: &[RunRow], scheme: usize| rows[scheme].link_losses;
    assert!(losses(&for_ever, 0) > 0);
    assert_eq!(losses(&for_ever, 0), losses(&for_two_rtos, 0), "reps");
    assert!(losses(&for_ever, 1) > 3 * losses(&for_two_rtos, 1), "ops");
    assert!(losses(&for_ever, 1) > 10 * losses(&for_ever, 0));
    assert!(for_ever[0].sim_time_us > 20.0 + 114.0, "{}", for_ever[0].sim_time_us);
}

#[test]
fn dcp_sends_again_exactly_what_was_trimmed_and_no_timeout_expires() {
    let rows = rows(
        r#"
        schemes = ["dcp"]
        seeds = [1, 2]
        topology = { kind = "fat-tree", hosts = 12, hosts_per_tor = 4, link = "100Gbps" }
        workload = { kind = "incast", degree = 8, bytes = "256KiB" }
        set = { "*.fabric.queue" = "100KB" }
        "#,
    );
    for row in rows {
        assert!(row.trims > 100, "{}", row.trims);
        assert_eq!((row.retransmissions, row.timeouts, row.drops), (row.trims, 0, 0));
        assert_eq!(row.extra["header_drops"], 0.0);
    }
}

/// An uplink at two fifths of its rate makes packets late. Without Themis-spraying, the NACKs of these packets reach
/// the senders.
#[test]
fn themis_spraying_lets_no_nack_of_a_late_packet_through() {
    let rows = rows(
        r#"
        schemes = ["themis-spraying", "sr-spray"]
        seeds = [1]
        topology = { kind = "fat-tree", hosts = 8, hosts_per_tor = 4, link = "100Gbps" }
        workload = { kind = "permutation", bytes = "2MiB" }
        [[fault]]
        kind = "rate"
        links = "cable:tor:0/up:1"
        rate = "40Gbps"
        at = "0us"
        "#,
    );
    let (themis, without) = (&rows[0], &rows[1]);
    for row in [themis, without] {
        assert_eq!(
            (row.drops, row.link_losses, row.timeouts),
            (0, 0, 0),
            "{}: packets are only late",
            row.scheme
        );
    }
    assert!(themis.extra["nacks_invalid"] > 100.0, "{:?}", themis.extra);
    assert_eq!((themis.extra["nacks"], themis.retransmissions), (0.0, 0), "{:?}", themis.extra);
    assert!(without.extra["nacks"] > 100.0 && without.retransmissions > 100);
}

/// Links before the external switch of the senders are congested. With Themis-longhaul, all CNPs come from the
/// notification point in the data centre of the senders, and none of these CNPs crosses the long link.
#[test]
fn the_notification_point_of_themis_longhaul_sends_its_cnps_within_a_data_centre() {
    let text = r#"
        schemes = ["themis-longhaul", "dcqcn"]
        seeds = [1]
        [workload]
        kind = "messages"
        message = [
            { from = 0, to = 4, bytes = "1MiB" }, { from = 1, to = 5, bytes = "1MiB" },
            { from = 2, to = 6, bytes = "1MiB" }, { from = 3, to = 7, bytes = "1MiB" },
        ]
        [topology]
        kind = "cross-dc"
        tors = 2
        leaves = 2
        hosts_per_tor = 2
        link = "100Gbps"
        link_latency = "1us"
        esw_link = "100Gbps"
        wan_link = "400Gbps"
        wan_latency = "100us"
        switch_latency = "0us"
    "#;
    let mut cnps = Vec::new();
    for point in points(text) {
        let built = build(&point).unwrap();
        let is_external = |node: NodeId| built.topology.node_name(node).contains("esw");
        let (mut over_the_long_link, mut first, mut at_hosts) = (0_u32, Time::NEVER, Vec::new());
        let outcome = exact_observed(&point, &built, &mut |frame| {
            let Ok(read) = RoceFrame::decode(frame.bytes, Entropy::DynamicPort) else { return };
            if read.bth.opcode != opcode::CNP {
                return;
            }
            if is_external(frame.from) && is_external(frame.to) {
                over_the_long_link += 1;
            } else if is_external(frame.from) {
                first = first.min(frame.acts);
            }
            if frame.to.0 < built.topology.hosts {
                at_hosts.push(frame.acts);
            }
        })
        .unwrap();
        cnps.push((
            over_the_long_link,
            at_hosts.len() as f64,
            outcome.result.run.extra.get("pnp_cnps").copied(),
        ));
        if point.scheme.name == "themis-longhaul" {
            // The CNP passes a leaf and a ToR on its way from the external switch to the host.
            assert!(at_hosts[0].since(first) < Duration::from_us(10), "{first} {}", at_hosts[0]);
        }
    }
    let [themis, without] = cnps[..] else { panic!("two schemes") };
    assert_eq!(
        (themis.0, Some(themis.1)),
        (0, themis.2),
        "each CNP of the notification point reaches its sender"
    );
    assert!(themis.1 > 10.0 && without.0 > 10, "{cnps:?}");
}
