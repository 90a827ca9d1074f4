//! HPCC on a fabric: the behaviour of flows that use telemetry. At the end of every run, the engine checks that no
//! telemetry record is lost or duplicated.

use super::support::*;
use anabranch_results::SeriesRow;
use anabranch_sim::RunResult;

/// The size in bytes of a full packet of `hpcc` on the wire, and the fraction that is payload.
const PACKET: f64 = 1_090.0;
const SHARE: f64 = 1_000.0 / PACKET;

const SWITCH: &str = r#"
    schemes = ["hpcc"]
    setup = "hpcc-paper"
    [topology]
    kind = "single-switch"
    hosts = 9
    link = "100Gbps"
    link_latency = "1us"
    switch_latency = "300ns"
"#;

fn flows(text: &str, rest: &str, hosts: u32, flows: &[(u32, u32, u64, u64)]) -> RunResult {
    let line = |(src, dst, start, bytes): &(u32, u32, u64, u64)| {
        format!("{src}->{dst} start {start} size {bytes}\n")
    };
    let lines: String = flows.iter().map(line).collect();
    let file = format!("Nodes {hosts}\nConnections {}\n{lines}", flows.len());
    finish_one(&format!("{text}\n[workload]\nfile = \"f.cm\"\n{rest}"), &[("f.cm", &file)])
}

fn series<'a>(result: &'a RunResult, series: &str, entity: &str) -> Vec<&'a SeriesRow> {
    let rows = result.series.iter().filter(|row| row.series == series && row.entity == entity);
    let rows: Vec<&SeriesRow> = rows.collect();
    assert!(!rows.is_empty(), "no {series} of {entity}");
    rows
}

/// The largest value of a series from `from` microseconds on.
fn most(rows: &[&SeriesRow], from: u64) -> f64 {
    rows.iter().filter(|row| row.time_ps >= from * US).fold(0.0, |most, row| row.value.max(most))
}

fn goodput_gbps(flow: &anabranch_results::FlowRow) -> f64 {
    flow.bytes as f64 * 8e3 / flow.fct_ps.expect("a flow that ended") as f64
}

fn depth(link: &str) -> String {
    format!("[[measure]]\nseries = \"queue-depth\"\nevery = \"1us\"\nlinks = \"{link}\"\n")
}

/// Packets before the first ACK are sent at line rate, so a flow of one round trip takes the ideal time.
#[test]
fn a_flow_of_one_round_trip_takes_the_ideal_time() {
    for bytes in [1, 1_000, 1_001, 40_000] {
        let result = flows(SWITCH, "", 9, &[(0, 8, 0, bytes)]);
        assert_eq!(result.flows[0].fct_ps, Some(result.flows[0].ideal_fct_ps), "{bytes} B");
    }
}

/// HPCC, section 3.2: a flow settles at the fraction eta = 0.95 of a link's rate, without a standing queue. Over a
/// trunk that is faster or slower than the hosts' links, the rate of the slowest link counts.
#[test]
fn a_flow_alone_settles_at_eta() {
    for (trunk, slowest) in [(400, 100.0), (100, 100.0), (40, 40.0)] {
        let fabric = format!(
            "schemes = [\"hpcc\"]\nsetup = \"hpcc-paper\"\n[topology]\nkind = \"dumbbell\"\nhosts = 4\nlink = \"100Gbps\"\n\
             trunk = \"{trunk}Gbps\"\nlink_latency = \"1us\"\n"
        );
        let rest = depth("tor:0/up:0") + &depth("tor:1/down:0");
        let result = flows(&fabric, &rest, 4, &[(0, 2, 0, 20_000_000)]);
        let share = goodput_gbps(&result.flows[0]) / SHARE / slowest;
        assert!((share - 0.95).abs() < 0.01, "{share} of {slowest} Gb/s over a trunk of {trunk} Gb/s");
        for port in ["tor:0/up:0", "tor:1/down:0"] {
            let queue = most(&series(&result, "queue_depth_bytes", port), 50);
            assert!(queue <= 2.0 * PACKET, "{queue} B wait at {port} before {trunk} Gb/s");
        }
        assert_eq!(result.run.retransmissions, 0);
    }
}

/// Jain's fairness index of the throughputs of the first `flows` flows in the millisecond that ends at `ms`, and the
/// sum of the throughputs in Gb/s.
fn shares(result: &RunResult, flows: u32, ms: u64) -> (f64, f64) {
    let rate_of = |flow: u32| {
        let rows = series(result, "flow_throughput_gbps", &format!("flow:{flow}"));
        rows.iter().find(|row| row.time_ps == ms * 1_000 * US).expect("a point at this time").value
    };
    let rates: Vec<f64> = (0..flows).map(rate_of).collect();
    let all: f64 = rates.iter().sum();
    (all * all / (f64::from(flows) * rates.iter().map(|rate| rate * rate).sum::<f64>()), all)
}

/// Eight flows that begin at the same time and last for more than 9 ms.
fn incast(seed: u64, rest: &str) -> RunResult {
    let text = SWITCH.replace("setup =", &format!("seeds = [{seed}]\nsetup ="));
    let senders: Vec<(u32, u32, u64, u64)> = (0..8).map(|src| (src, 8, 0, 28_000_000)).collect();
    let flows_over_time = "[[measure]]\nseries = \"flow-throughput\"\nevery = \"1ms\"\nqps = \"0-7\"\n";
    flows(&text, &format!("{flows_over_time}{rest}"), 9, &senders)
}

/// HPCC, sections 3.2 and 5: flows that begin at the same time fill the queue once, with the packets that they send
/// before the first feedback. After a few round trips the queue is empty. It stays empty as long as the increase per
/// round trip (8 * 40 Mb/s) is less than the 5 Gb/s that eta leaves free.
///
/// The shares of the flows are even at first and drift apart, because a flow with a larger share sees a shorter queue.
/// Windows of 6.8 packets must not be rounded down to whole packets. All flows would then send six packets, which
/// would hide this effect.
#[test]
fn an_incast_drains_its_queue_and_shares_evenly_at_first() {
    let result = incast(1, &depth("tor:0/down:8"));
    let queue = series(&result, "queue_depth_bytes", "tor:0/down:8");
    let first = most(&queue, 0);
    // The queue receives eight windows. Each window is a base RTT of 5 us at 100 Gb/s. The packets of one round trip
    // leave in the meantime.
    assert!((300_000.0..500_000.0).contains(&first), "{first} B at first");
    let later = most(&queue, 200);
    assert!(later <= 10.0 * PACKET, "{later} B still wait after 200 us");
    for (ms, evenness) in [(1, 0.97..1.0), (2, 0.95..1.0), (9, 0.75..0.95)] {
        let (jain, all) = shares(&result, 8, ms);
        assert!(evenness.contains(&jain), "Jain's index is {jain} at {ms} ms");
        assert!((94.0..96.5).contains(&all), "{all} Gb/s together at {ms} ms");
    }
    assert_eq!((result.run.drops, result.run.ecn_marks), (0, 0));
}

/// The additive increase per round trip of all eight flows together decides whether the shares stay even. From about
/// 0.6 packets on, they stay even. The increase of the published scripts is 0.18 packets of 1,000 B, and the shares
/// drift apart. With larger packets, the shares drift further apart.
#[test]
fn shares_stay_even_where_the_increase_is_large_beside_a_packet() {
    for (settings, evenness) in [
        ("\"hpcc.cc.rate_ai\" = \"0.0016line\"\n", 0.98..=1.0),
        ("\"hpcc.cc.rate_ai\" = \"0.004line\"\n", 0.995..=1.0),
        ("\"hpcc.transport.payload\" = \"250B\"\n", 0.97..=1.0),
        ("\"hpcc.transport.payload\" = \"2000B\"\n", 0.5..=0.8),
        ("\"hpcc.transport.payload\" = \"4000B\"\n", 0.3..=0.65),
    ] {
        let (jain, _) = shares(&incast(1, &format!("[set]\n{settings}")), 8, 9);
        assert!(evenness.contains(&jain), "Jain's index is {jain} with {settings}");
    }
}

/// The drift is not caused by lockstep, because it remains with random arrival order, NIC jitter and deviating clocks.
#[test]
fn shares_drift_apart_out_of_step_too() {
    let settings = "[set]\n\"hpcc.fabric.arrival_order\" = \"random\"\n\"hpcc.fabric.nic_jitter\" = \"100ns\"\n\
                    \"hpcc.fabric.clock_ppm\" = 100\n";
    let indices: Vec<f64> = (1..=3).map(|seed| shares(&incast(seed, settings), 8, 9).0).collect();
    let mean = indices.iter().sum::<f64>() / 3.0;
    assert!((0.75..0.95).contains(&mean), "{indices:?}");
}

/// The additive increase makes the shares of a new and an old flow converge (HPCC, section 3.3). Two paced flows that
/// are in step are an exception. If one flow sends 12 packets while the other flow sends 11, the same packets meet in
/// the queue in every round.
#[test]
fn flows_that_begin_apart_come_to_even_shares() {
    let flow = "[[measure]]\nseries = \"flow-throughput\"\nevery = \"500us\"\nqps = \"0-1\"\n";
    let ratio = |apart: u64, increase: &str| {
        let rest = format!("{flow}[set]\n\"hpcc.cc.rate_ai\" = \"{increase}\"\n");
        let result = flows(SWITCH, &rest, 9, &[(0, 8, 0, 30_000_000), (1, 8, apart * US, 30_000_000)]);
        let rates = ["flow:0", "flow:1"].map(|flow| {
            let rows = series(&result, "flow_throughput_gbps", flow);
            rows.iter().find(|row| row.time_ps == 3_000 * US).expect("a point at 3 ms").value
        });
        rates[0] / rates[1]
    };
    let ratios = [100, 300, 600, 900].map(|apart| ratio(apart, "0.004line"));
    assert!(ratios.iter().all(|ratio| (ratio - 1.0).abs() < 0.05), "{ratios:?}");
    let locked = ratio(500, "0.004line");
    assert!((locked - 11.0 / 12.0).abs() < 0.005, "{locked}");
    let other = ratio(500, "0.0016line");
    assert!((other - 1.0).abs() < 0.01, "{other}");
}

/// Switch ports add telemetry, but the sender's NIC does not. Two flows of one host to two other hosts therefore fill
/// the sender's link.
#[test]
fn a_nic_that_is_the_bottleneck_is_full() {
    let result = flows(SWITCH, "", 9, &[(0, 7, 0, 10_000_000), (0, 8, 0, 10_000_000)]);
    let share: f64 = result.flows.iter().map(goodput_gbps).sum::<f64>() / SHARE / 100.0;
    assert!(share > 0.98, "{share}");
}

/// The hosts of both flows are on one ToR, and an unused trunk of 500 us is behind it. With the base RTT of their own
/// path, the flows react to a burst within microseconds. With the base RTT of the fabric's longest path, windows of a
/// millisecond fill the queue.
#[test]
fn the_base_rtt_of_the_own_path_keeps_local_queues_short() {
    let text = "schemes = [\"hpcc\"]\nsetup = \"hpcc-paper\"\n[topology]\nkind = \"dumbbell\"\nhosts = 6\nlink = \"100Gbps\"\n\
                trunk = \"100Gbps\"\nlink_latency = \"1us\"\ntrunk_latency = \"500us\"\n";
    let queue = |base_rtt: &str| {
        let rest = format!("{}[set]\n\"hpcc.cc.base_rtt\" = \"{base_rtt}\"\n", depth("tor:0/down:2"));
        let result = flows(text, &rest, 6, &[(0, 2, 0, 5_000_000), (1, 2, 0, 5_000_000)]);
        most(&series(&result, "queue_depth_bytes", "tor:0/down:2"), 0)
    };
    let (own, fabrics) = (queue("path"), queue("1rtt"));
    assert!(own < 100_000.0, "{own} B");
    assert!(fabrics > 1_000_000.0, "{fabrics} B");
}

#[test]
fn a_flow_over_a_long_line_settles_at_eta_too() {
    let text = "schemes = [\"hpcc\"]\nsetup = \"hpcc-paper\"\n[topology]\nkind = \"dumbbell\"\nhosts = 4\nlink = \"100Gbps\"\n\
                trunk = \"100Gbps\"\nlink_latency = \"1us\"\ntrunk_latency = \"500us\"\n";
    let result = flows(text, "", 4, &[(0, 2, 0, 100_000_000)]);
    let share = goodput_gbps(&result.flows[0]) / SHARE / 100.0;
    // The completion time includes a final round trip of 1 ms, during which no data is sent. Sending takes about 9.2
    // ms, so this lowers the share by roughly 1/9.2.
    let wanted = 0.95 * (1.0 - 1.0 / 9.2);
    assert!((share - wanted).abs() < 0.03, "{share}");
}

/// Each way in which a packet leaves the fabric also removes its telemetry record. Otherwise the run would fail.
#[test]
fn records_are_conserved_whatever_happens() {
    let fabric = r#"
        schemes = ["hpcc"]
        setup = "hpcc-paper"
        seeds = [1, 2]
        [topology]
        kind = "leaf-spine"
        hosts = 16
        hosts_per_tor = 4
        link = "100Gbps"
        [workload]
        kind = "permutation"
        bytes = "400KB"
        cross_tor = true
    "#;
    let lossy = "\"hpcc.fabric.queue\" = \"12packets\"\n\"hpcc.fabric.control_queue\" = \"2packets\"\n";
    let fault = |text: &str| format!("[[fault]]\n{text}\n");
    let losses = fault("kind = \"packet-loss\"\nlinks = \"all\"\nprobability = 0.01");
    let link_down =
        fault("kind = \"link-down\"\nlinks = \"tor-uplinks:20%\"\nat = \"10us\"\nduration = \"300us\"");
    let switch_down =
        fault("kind = \"switch-down\"\nswitches = \"spine:1\"\nat = \"10us\"\nduration = \"300us\"");
    let no_way = fault("kind = \"link-down\"\nlinks = \"tor-uplinks\"\nat = \"10us\"\nduration = \"100us\"");
    let refusals = fault("kind = \"switch-loss\"\nlinks = \"all\"\nprobability = 0.01");
    let cases = [
        (losses.clone(), String::new()),
        (link_down.clone(), String::new()),
        (switch_down.clone(), "\"hpcc.fabric.routing_delay\" = \"20us\"\n".to_owned()),
        (refusals.clone(), String::new()),
        (no_way, "\"hpcc.fabric.routing_delay\" = \"1us\"\n".to_owned()),
        (losses.clone() + &switch_down, lossy.to_owned()),
        (refusals, lossy.to_owned() + "\"hpcc.fabric.trim\" = true\n"),
        (
            losses.clone(),
            "\"hpcc.transport.ack_every\" = 7\n\"hpcc.fabric.routing\" = \"adaptive\"\n".to_owned(),
        ),
        (link_down, "\"hpcc.fabric.program\" = { kind = \"flowlet\", gap = \"5us\" }\n".to_owned()),
        (losses, "\"hpcc.qps\" = 4\n".to_owned()),
    ];
    for (faults, settings) in cases {
        let rest = format!("{faults}[set]\n\"hpcc.transport.rto\" = \"100us\"\n{settings}");
        for result in finish_all(&format!("{fabric}{rest}"), &[]) {
            let run = &result.run;
            assert!(run.link_losses + run.drops + run.trims > 0, "nothing was lost:\n{rest}");
            assert!(run.retransmissions > 0);
        }
    }
}

#[test]
fn runs_are_the_same_observed_or_not() {
    let senders: Vec<(u32, u32, u64, u64)> = (0..8).map(|src| (src, 8, 0, 100_000)).collect();
    let [unseen, again, seen] = ["", "", &depth("all")].map(|rest| flows(SWITCH, rest, 9, &senders));
    assert_eq!(unseen.run.digest, again.run.digest);
    assert_eq!(unseen.run.digest, seen.run.digest);
}

/// Telemetry records are stored separately from the packets, so a program may change and hold packets. ConWeave
/// reroutes HPCC's packets away from a link that other flows fill.
#[test]
fn hpcc_and_conweave_run_together() {
    let text = r#"
        schemes = ["hpcc"]
        setup = "hpcc-paper"
        seeds = [1, 2]
        [topology]
        kind = "fat-tree"
        hosts = 32
        tiers = 2
        oversubscription = 2
        link = "100Gbps"
        link_latency = "1us"
        switch_latency = "300ns"
        [workload]
        kind = "poisson"
        sizes = "websearch"
        load = 0.4
        duration = "2ms"
        [set]
        "hpcc.fabric.program" = { kind = "conweave", reply_extra = "4us", path_pause = "16us", flush_extra = "16us", default_wait = "200us", expiry = "300us" }
        "*.cc.base_rtt" = "1rtt"
    "#;
    for result in finish_all(text, &[]) {
        let extra = &result.run.extra;
        let count = |name: &str| extra.get(name).copied().unwrap_or_else(|| panic!("no {name} in {extra:?}"));
        assert!(count("reroutes") > 0.0, "{extra:?}");
    }
}
