//! Programs in switches, and the choice among equal-cost ports.

use super::support::*;
use anabranch_sim::RunResult;
use anabranch_sim::scenario::RunPoint;

const SCHEMES: &str = r#"schemes = ["themis-spraying", "sr-ar", "to-ar", "sr-ecmp", "sr-spray", "conweave"]
setup = "themis-spraying-paper""#;

/// Four ToRs with four hosts each under four spines, with a permutation across ToRs.
const LEAF_SPINE: &str = r#"
[topology]
kind = "leaf-spine"
hosts = 16
hosts_per_tor = 4
link = "200Gbps"
link_latency = "1us"
switch_latency = "0us"
[workload]
kind = "permutation"
bytes = "4MB"
cross_tor = true
"#;

const THREE_TIERS: &str = r#"
[topology]
kind = "fat-tree"
tiers = 3
hosts = 128
link = "200Gbps"
link_latency = "1us"
[workload]
kind = "permutation"
bytes = "1MB"
"#;

const UPLINKS: &str = r#"
[[measure]]
series = "link-utilisation"
every = "1ms"
links = "tor-uplinks"
"#;

fn extra(result: &RunResult, name: &str) -> f64 {
    *result.run.extra.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", result.run.extra))
}

/// Sums the curve of each uplink of ToR 0, and returns the smallest and the largest of the sums.
fn spread(result: &RunResult) -> (f64, f64) {
    let mut sums: std::collections::BTreeMap<&str, f64> = Default::default();
    for row in result.series.iter().filter(|row| row.entity.starts_with("tor:0/up")) {
        *sums.entry(&row.entity).or_default() += row.value;
    }
    assert_eq!(sums.len(), 4);
    sums.values().fold((f64::MAX, 0.0), |(least, most), &sum| (sum.min(least), sum.max(most)))
}

#[test]
fn each_scheme_spreads_as_it_says() {
    let results = finish_all(&format!("{SCHEMES}\n{LEAF_SPINE}{UPLINKS}"), &[]);
    let [themis, adaptive, timeouts, ecmp, spray, conweave] = &results[..] else { panic!("six schemes") };
    for even in [themis, timeouts] {
        let (least, most) = spread(even);
        assert!(most / least < 1.05, "{}: {least} to {most}", even.run.scheme);
        assert_eq!(even.run.retransmissions, 0, "{}", even.run.scheme);
    }
    assert!(themis.run.fct_max_us < 1.05 * themis.run.ideal_fct_max_us, "{}", themis.run.fct_max_us);
    // Adaptive routing sees only the ToR's own queues. The queues of the spines' downlinks still vary at random.
    assert!(timeouts.run.fct_max_us < 0.5 * ecmp.run.fct_max_us, "{}", timeouts.run.fct_max_us);
    let (least, most) = spread(spray);
    assert!(most / least < 1.15 && least < most, "random, but a law of large numbers: {least} to {most}");
    let (least, most) = spread(ecmp);
    assert!(most > 1.5 * least, "four flows on four ports collide: {least} to {most}");
    // With selective repeat, the NIC considers reordered packets lost. Themis blocks the NACKs. Senders of
    // the scheme `to-ar` ignore NACKs and repair losses only by timeouts, so that they count no NACKs.
    assert!(extra(adaptive, "nacks") > 0.0 && extra(spray, "nacks") > 0.0);
    assert!(extra(themis, "nacks_invalid") > 0.0);
    assert_eq!((extra(themis, "nacks"), extra(ecmp, "nacks"), extra(timeouts, "nacks")), (0.0, 0.0, 0.0));
    assert!(conweave.run.fct_max_us < ecmp.run.fct_max_us && extra(conweave, "reroutes") > 0.0);
    assert_eq!(conweave.run.retransmissions, 0, "ConWeave puts in order what it reroutes");
}

/// Themis-spraying, section 4.1: in three tiers, entropy values distribute each flow over all 16 paths.
#[test]
fn in_three_tiers_a_path_map_spreads_over_cores() {
    let measure = UPLINKS.replace("tor-uplinks", "agg-uplinks");
    let text = format!(
        "schemes = [\"themis-spraying\", \"sr-ecmp\"]\nsetup = \"themis-spraying-paper\"\n{THREE_TIERS}{measure}"
    );
    let results = finish_all(&text, &[]);
    let (themis, ecmp) = (&results[0], &results[1]);
    // The aggregation switches of pod 0 have four uplinks each.
    let pod = |result: &RunResult| -> Vec<f64> {
        let pod = ["agg:0/", "agg:1/", "agg:2/", "agg:3/"];
        let of_pod = |entity: &str| pod.iter().any(|agg| entity.starts_with(agg));
        result.series.iter().filter(|row| of_pod(&row.entity)).map(|row| row.value).collect()
    };
    let ratio = |loads: Vec<f64>| {
        assert_eq!(loads.len(), 16);
        let [least, most] = [f64::min, f64::max].map(|pick| loads.iter().copied().reduce(pick).unwrap());
        most / least
    };
    let [even, uneven] = [themis, ecmp].map(|result| ratio(pod(result)));
    assert!(even < 1.05 && uneven > 1.5, "{even} and {uneven}");
    assert!(themis.run.fct_max_us < 1.15 * themis.run.ideal_fct_max_us, "{}", themis.run.fct_max_us);
    assert_eq!(extra(themis, "nacks"), 0.0, "no packet was lost");
}

#[test]
fn themis_recovers_losses_by_the_nacks_that_it_lets_through() {
    let fault = "[[fault]]\nkind = \"packet-loss\"\nlinks = \"tor:0/up:0\"\nprobability = 0.01\nboth_directions = false\n";
    let wide = LEAF_SPINE.replace("4MB", "16MB");
    let results = finish_all(
        &format!(
            "schemes = [\"themis-spraying\", \"to-ar\"]\nsetup = \"themis-spraying-paper\"\n{wide}{fault}"
        ),
        &[],
    );
    let (themis, timeouts) = (&results[0], &results[1]);
    assert!(themis.run.link_losses > 20, "{}", themis.run.link_losses);
    // Each NACK that reached the sender requested a lost packet.
    assert!(extra(themis, "nacks") <= themis.run.link_losses as f64);
    let forwarded = ["nacks_valid", "nacks_confirmed", "avoidance_signals"].map(|name| extra(themis, name));
    assert_eq!(forwarded.iter().sum::<f64>(), extra(themis, "nacks"), "NACKs are not lost here");
    assert_eq!(themis.run.timeouts, 0);
    assert!(timeouts.run.timeouts > 0 && timeouts.run.fct_max_us > themis.run.fct_max_us + 4_000.0);
}

/// Themis-spraying, section 7: a packet that is lost between the receiver's ToR and the receiver counts as delivered at
/// the ToR, so only a timeout repairs the loss.
#[test]
fn a_loss_on_the_last_hop_waits_for_a_timeout() {
    let fault = "[[fault]]\nkind = \"packet-loss\"\nlinks = \"tor:0/down:0\"\nprobability = 0.004\nboth_directions = false\n";
    let result = finish_one(
        &format!("schemes = [\"themis-spraying\"]\nsetup = \"themis-spraying-paper\"\n{LEAF_SPINE}{fault}"),
        &[],
    );
    assert!(result.run.link_losses > 0);
    assert!(result.run.timeouts > 0 && result.run.timeouts <= result.run.link_losses, "{:?}", result.run);
    assert_eq!(extra(&result, "nacks"), 0.0);
}

/// With failure handling, Themis stops using a dead link. Without failure handling, flows have timeouts until routing
/// reacts.
#[test]
fn failure_handling_avoids_a_dead_link() {
    let text = r#"
schemes = ["themis-spraying", "without"]
setup = "themis-spraying-paper"
[[scheme]]
name = "without"
base = "themis-spraying"
[scheme.set]
"fabric.program.failure_handling" = false
[set]
"*.fabric.routing_delay" = "20ms"
[[fault]]
kind = "link-down"
links = "tor:0/up:0"
at = "100us"
both_directions = false
[limits]
stall = "100ms"
"#;
    // ACKs are routed by ECMP and must not use the dead link, so only data is sent up from ToR 0.
    let (tree, _) = LEAF_SPINE.split_once("[workload]").unwrap();
    let tree = format!("{text}{tree}[workload]\nkind = \"cm\"\nfile = \"up.cm\"\n");
    let pairs = "Nodes 16\nConnections 4\n0->4 start 0 size 32000000\n1->8 start 0 size 32000000\n2->12 start 0 size 32000000\n3->5 start 0 size 32000000\n";
    let results = finish_all(&tree, &[("up.cm", pairs)]);
    let (with, without) = (&results[0], &results[1]);
    assert!(
        extra(with, "avoidance_signals") >= 4.0 && extra(with, "avoided") > 1_000.0,
        "{:?}",
        with.run.extra
    );
    assert!(with.run.timeouts < without.run.timeouts, "{} and {}", with.run.timeouts, without.run.timeouts);
    assert!(with.run.fct_max_us + 4_000.0 < without.run.fct_max_us);
}

/// Packets that programs hold, drop and emit are accounted for (checked at the end of a run), and results depend only
/// on scenario and seed.
#[test]
fn programs_are_deterministic_also_under_pfc_loss_and_failures() {
    let faults = r#"
[[fault]]
kind = "packet-loss"
links = "tor:1/up"
probability = 0.001
[[fault]]
kind = "switch-down"
switches = "spine:1"
at = "60us"
duration = "100us"
[set]
"*.fabric.routing_delay" = "30us"
[limits]
stall = "100ms"
"#;
    let lossless = format!(
        "schemes = [\"conweave\", \"themis-spraying\"]\nsetup = \"themis-spraying-paper\"\n{LEAF_SPINE}[set]\n\"*.fabric.pfc\" = {{ buffer = \"4MB\", alpha = 0.125, resume = \"2packets\" }}\n"
    );
    for text in [format!("{SCHEMES}\nseeds = [1, 2]\n{LEAF_SPINE}{faults}"), lossless] {
        let (plain, watched) = (points(&text, &[]), points(&format!("{text}{UPLINKS}"), &[]));
        let digests = |points: &[RunPoint]| -> Vec<String> {
            points.iter().map(|point| finish(point).run.digest).collect()
        };
        let first = digests(&plain);
        assert_eq!(first, digests(&plain));
        assert_eq!(first, digests(&watched), "observers change nothing");
    }
}
