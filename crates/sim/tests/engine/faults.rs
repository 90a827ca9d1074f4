//! Tests that faults lose exactly the packets that they should.

use super::support::*;
use anabranch_base::{Duration, Time};
use anabranch_sim::{RunError, RunResult};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

const PS_A_BYTE: u64 = 80;
/// The serialisation times of a full packet and an ACK at 100 Gb/s.
const T: u64 = FULL * PS_A_BYTE;
const A: u64 = ACK * PS_A_BYTE;
/// The latencies of a link and of the switch.
const D: u64 = US;
const SWITCH: u64 = 300_000;
const RTO: u64 = 1000 * US;

/// `senders` hosts send `packets` full packets each to the last host of a single switch, starting at time 0.
fn single_switch(senders: u64, packets: u64, fault: &str) -> RunResult {
    let bytes = packets * PAYLOAD;
    let target = senders;
    finish_one(
        &format!(
            r#"
            schemes = ["ecmp"]
            setup = "reps-paper"
            [topology]
            kind = "single-switch"
            hosts = {}
            link = "100Gbps"
            link_latency = "1us"
            switch_latency = "300ns"
            [workload]
            kind = "incast"
            bytes = "{bytes}B"
            degree = {senders}
            target = {target}
            [set]
            "*.cc" = {{ kind = "constant", window = "60000packets" }}
            "*.transport.rto" = "1000us"
            "*.fabric.queue" = "60000packets"
            "*.fabric.control_queue" = "60000packets"
            [[fault]]
            {fault}
            "#,
            senders + 1
        ),
        &[],
    )
}

/// Random failures differ between seeds, but not between numbers of threads. They count as one fault, which begins with
/// the first failure.
#[test]
fn failures_at_a_rate_are_drawn_for_each_seed() {
    let text = r#"
        schemes = ["reps"]
        seeds = [1, 2, 3]
        [topology]
        kind = "fat-tree"
        tiers = 2
        hosts = 16
        link = "100Gbps"
        [workload]
        kind = "permutation"
        bytes = "1MB"
        [[fault]]
        kind = "link-down"
        links = "tor-uplinks"
        at = "10us"
        per_hour = 72e6
        duration = "5us"
        [limits]
        max_time = "50ms"
        "#;
    let runs = [1, 3].map(|threads| {
        let control = anabranch_sim::Control { threads, ..Default::default() };
        let run = |point| anabranch_sim::run(point, &control).unwrap().run;
        points(text, &[]).iter().map(run).collect::<Vec<_>>()
    });
    let begins: BTreeSet<u64> = runs[0].iter().map(|run| (run.faults[0].at_us * 1e6) as u64).collect();
    assert_eq!(begins.len(), 3, "{begins:?}");
    for (one, three) in runs[0].iter().zip(&runs[1]) {
        assert_eq!((&one.digest, one.flows_finished), (&three.digest, one.flows));
        // Failures begin at 10 us. Each cable fails 20 times per millisecond on average. There are many cables, so the
        // first failure comes soon after 10 us.
        assert!((10.0..30.0).contains(&one.faults[0].at_us), "{}", one.faults[0].at_us);
        assert!(one.faults[0].packets_lost > 100, "{}", one.faults[0].packets_lost);
    }
}

/// The time at which the i-th packet starts on the link from the switch to the receiver, and the time at which its last
/// bit arrives. The link is never idle after the first packet.
fn on_last_link(i: u64) -> RangeInclusive<u64> {
    let starts = T + D + SWITCH + (i - 1) * T;
    starts..=starts + T + D
}

/// Whether a packet is lost on a link that is down during `down`. Packets that are on the link at any time in that
/// interval are lost.
fn lost(on_link: &RangeInclusive<u64>, down: &std::ops::Range<u64>) -> bool {
    *on_link.end() >= down.start && *on_link.start() < down.end
}

/// The outage is three times as long as the stall limit of 10 ms, within which new data has to be delivered. The limit
/// counts from the end of the outage.
#[test]
fn a_fault_that_ends_is_no_stall_however_long_it_is() {
    for fault in [
        "kind = \"link-down\"\nlinks = \"tor:0/down:1\"\nduration = \"30ms\"",
        "kind = \"packet-loss\"\nlinks = \"tor:0/down:1\"\nprobability = 1.0\nduration = \"30ms\"",
        "kind = \"rate\"\nlinks = \"tor:0/down:1\"\nrate = \"1Mbps\"\nduration = \"30ms\"",
        "kind = \"link-flap\"\nlinks = \"tor:0/down:1\"\nperiod = \"100ms\"\ndown_for = \"30ms\"",
    ] {
        let run = single_switch(1, 100, &format!("{fault}\nat = \"5us\"")).run;
        assert_eq!(run.flows_finished, 1, "{fault}");
        assert!(run.sim_time_us > 30_000.0 && run.sim_time_us < 32_100.0, "{fault}: {}", run.sim_time_us);
    }
}

#[test]
fn a_fault_that_nobody_meets_hides_no_stall() {
    let down = "[[fault]]\nkind = \"link-down\"\nlinks = \"tor:0/down:1\"\nat = \"5us\"\n";
    let idle = "[[fault]]\nkind = \"link-down\"\nlinks = \"host:2\"\nat = \"5us\"\nduration = \"500ms\"\n";
    let stalls = |faults: &str| {
        let text = format!(
            "schemes = [\"ecmp\"]\nsetup = \"reps-paper\"\n[topology]\nkind = \"single-switch\"\nhosts = 3\n\
             link = \"100Gbps\"\nlink_latency = \"1us\"\nswitch_latency = \"300ns\"\n[workload]\n\
             kind = \"messages\"\n[[workload.message]]\nfrom = 0\nto = 1\nbytes = \"400KB\"\n{faults}"
        );
        match attempt(&points(&text, &[])[0]) {
            Err(RunError::Stalled { at, .. }) => at,
            other => panic!("{other:?}"),
        }
    };
    let alone = stalls(down);
    assert!(alone < Time(13_000 * US), "{alone}");
    assert_eq!(stalls(&format!("{down}{idle}")), alone);
}

#[test]
fn a_link_that_goes_down_loses_what_is_on_it_and_what_is_sent_meanwhile() {
    let down = 20 * US..25 * US;
    let gone: Vec<u64> = (1..=100).filter(|&i| lost(&on_last_link(i), &down)).collect();
    // Packet 52 arrives just before the fault, and packet 72 leaves just after it.
    assert_eq!((gone[0], gone[gone.len() - 1]), (53, 71));
    assert_eq!(gone.iter().filter(|&&i| *on_last_link(i).start() < down.start).count(), 4, "on the wire");

    let fault = r#"kind = "link-down"
        links = "tor:0/down:1"
        both_directions = false
        at = "20us"
        duration = "5us""#;
    let result = single_switch(1, 100, fault);
    let count = gone.len() as u64;
    let run = &result.run;
    assert_eq!((run.link_losses, run.timeouts, run.retransmissions), (count, count, count));
    // The last lost packet left the sender at (71 - 1) * T. It is retransmitted one RTO later. The retransmission and
    // its ACK each cross two links and the switch.
    let expected = 70 * T + RTO + 2 * (T + A) + 4 * D + 2 * SWITCH;
    assert_eq!(result.flows[0].fct_ps, Some(expected));
    // Packet-hops: 100 packets and the retransmissions of the lost ones on the first link, the same number on the
    // second link, and ACKs for 100 packets on both links.
    assert_eq!(run.packet_hops, 2 * (100 + count) + 2 * 100);
}

#[test]
fn a_link_that_flaps_loses_what_two_failures_lose() {
    let down = [20 * US..25 * US, 40 * US..45 * US];
    let gone = (1..=150).filter(|&i| down.iter().any(|down| lost(&on_last_link(i), down))).count() as u64;
    let on = "links = \"tor:0/down:1\"\nboth_directions = false\nat = ";
    let flap = format!(
        "kind = \"link-flap\"\n{on}\"20us\"\nduration = \"21us\"\nperiod = \"20us\"\ndown_for = \"5us\""
    );
    let twice = format!("kind = \"link-down\"\n{on}[\"20us\", \"40us\"]\nduration = \"5us\"");
    let (flapped, failed) = (single_switch(1, 150, &flap), single_switch(1, 150, &twice));
    assert_eq!(failed.run.link_losses, gone);
    assert_eq!(failed.run.faults[0].packets_lost, gone);
    // The fault ends at 41 us, and the link is then up.
    let cut = [20 * US..25 * US, 40 * US..41 * US];
    let gone = (1..=150).filter(|&i| cut.iter().any(|down| lost(&on_last_link(i), down))).count() as u64;
    assert_eq!((flapped.run.link_losses, flapped.run.faults[0].packets_lost), (gone, gone));
    let whole = single_switch(1, 150, &flap.replace("21us", "26us"));
    assert_eq!(whole.run.link_losses, failed.run.link_losses);
    assert_eq!(whole.flows, failed.flows);
}

#[test]
fn both_directions_lose_the_acks_too_but_those_cost_nothing() {
    let down = 20 * US..25 * US;
    let data = (1..=100).filter(|&i| lost(&on_last_link(i), &down)).count() as u64;
    let ack_on_link = |i: u64| *on_last_link(i).end()..=on_last_link(i).end() + A + D;
    let arrived = (1..=100).filter(|&i| !lost(&on_last_link(i), &down));
    let acks = arrived.filter(|&i| lost(&ack_on_link(i), &down)).count() as u64;
    assert_eq!(acks, 3);

    let fault = r#"kind = "link-down"
        links = "tor:0/down:1"
        at = "20us"
        duration = "5us""#;
    let run = single_switch(1, 100, fault).run;
    assert_eq!((run.link_losses, run.timeouts, run.retransmissions), (data + acks, data, data));
}

#[test]
fn a_queue_in_front_of_a_dead_link_drains_into_it() {
    // With two senders, the queue grows by a packet in each T, and the link is busy from the first packet to the 120th.
    let down = 15 * US..30 * US;
    let data = (1..=120).filter(|&i| lost(&on_last_link(i), &down)).count() as u64;
    assert!(data > 40);
    let fault = r#"kind = "link-down"
        links = "tor:0/down:2"
        both_directions = false
        at = "15us"
        duration = "15us""#;
    let run = single_switch(2, 60, fault).run;
    assert_eq!((run.link_losses, run.drops, run.timeouts), (data, 0, data));
}

#[test]
fn a_switch_that_goes_down_loses_what_it_holds() {
    let down = 15 * US..17 * US;
    let (senders, packets) = (2, 60);
    // A packet is lost if it leaves its host before the end of the fault and does not arrive before the start of the
    // fault. The i-th packet of each sender leaves at (i - 1) * T.
    let delivered = (1..=senders * packets).filter(|&i| *on_last_link(i).end() < down.start).count() as u64;
    let after = senders * (1..=packets).filter(|i| (i - 1) * T >= down.end).count() as u64;
    let data = senders * packets - delivered - after;
    // An ACK is sent when its packet arrives, and crosses two links and the switch.
    let acks = (1..=delivered).filter(|&i| on_last_link(i).end() + 2 * (A + D) + SWITCH >= down.start).count()
        as u64;
    assert!(data > 50 && acks > 0 && after > 10, "{data} {acks} {after}");

    let fault = r#"kind = "switch-down"
        switches = "tor:0"
        at = "15us"
        duration = "2us""#;
    let run = single_switch(senders, packets, fault).run;
    assert_eq!((run.link_losses, run.drops), (data + acks, 0));
    // Later ACKs replace the lost ones, because both queue pairs have packets that arrive afterwards.
    assert_eq!((run.timeouts, run.retransmissions), (data, data));
}

/// A scenario with one flow across a fat tree of 8 ToRs with 4 uplinks each.
fn across(scheme: &str, rest: &str) -> String {
    let setup = paper(scheme);
    format!(
        r#"
        schemes = ["{scheme}"]
        setup = "{setup}"
        [topology]
        kind = "fat-tree"
        hosts = 32
        tiers = 2
        link = "100Gbps"
        hosts_per_tor = 4
        [workload]
        file = "flow.cm"
        [limits]
        stall = "1ms"
        {rest}
        "#
    )
}

const ACROSS: &str = "Nodes 32\nConnections 1\n0->31 start 0 size 1000000\n";

fn attempt_across(scheme: &str, rest: &str) -> Result<RunResult, RunError> {
    attempt(&points(&across(scheme, rest), &[("flow.cm", ACROSS)])[0])
}

fn dead_uplink(uplink: u32) -> String {
    format!(
        "[[fault]]\nkind = \"link-down\"\nlinks = \"tor:0/up:{uplink}\"\nboth_directions = false\nat = \"5us\"\n"
    )
}

#[test]
fn ecmp_on_a_dead_path_stalls_and_says_who() {
    let mut stalled = 0;
    for uplink in 0..4 {
        match attempt_across("ecmp", &dead_uplink(uplink)) {
            Ok(result) => assert_eq!((result.run.link_losses, result.run.timeouts), (0, 0)),
            Err(RunError::Stalled { at, flows, unfinished, partial, .. }) => {
                stalled += 1;
                assert_eq!(unfinished, 1);
                assert_eq!(flows, ["flow 0 (host 0 -> host 31, 1000000 B, posted at 0.000 us)"]);
                assert!(at < Time(3000 * US), "ended at {at} only");
                assert!(partial.run.link_losses > 0 && partial.run.flows_finished == 0);
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(stalled, 1, "the flow has one path");
}

#[test]
fn spraying_survives_a_dead_path() {
    for scheme in ["ops", "reps"] {
        for uplink in 0..4 {
            let run = attempt_across(scheme, &dead_uplink(uplink)).unwrap().run;
            assert!(run.link_losses > 0 && run.timeouts > 0, "{scheme} never used uplink {uplink}");
        }
    }
}

#[test]
fn routing_that_reacts_saves_ecmp() {
    let reaction = "[set]\n\"*.fabric.routing_delay\" = \"20us\"\n";
    let mut hit = 0;
    for uplink in 0..4 {
        let run = attempt_across("ecmp", &format!("{}{reaction}", dead_uplink(uplink))).unwrap().run;
        hit += u32::from(run.link_losses > 0);
    }
    assert_eq!(hit, 1);
}

#[test]
fn nothing_is_lost_when_routing_knows_at_once() {
    let rest = "[[fault]]\nkind = \"switch-down\"\nswitches = \"spine:2\"\n[set]\n\"*.fabric.routing_delay\" = \"0ns\"\n";
    for scheme in ["ecmp", "ops", "reps"] {
        let run = attempt_across(scheme, rest).unwrap().run;
        assert_eq!((run.link_losses, run.timeouts), (0, 0), "{scheme}");
    }
}

#[test]
fn a_spine_may_go_and_come_back() {
    let fault =
        "[[fault]]\nkind = \"switch-down\"\nswitches = \"spine:1\"\nat = \"10us\"\nduration = \"30us\"\n";
    for scheme in ["ops", "reps"] {
        let run = attempt_across(scheme, fault).unwrap().run;
        assert!(run.link_losses > 0, "{scheme}");
    }
}

#[test]
fn a_tor_that_stays_down_stalls_its_flows_even_when_routing_reacts() {
    let fault = "[[fault]]\nkind = \"switch-down\"\nswitches = \"tor:0\"\nat = \"10us\"\n";
    for reaction in ["", "[set]\n\"*.fabric.routing_delay\" = \"20us\"\n"] {
        match attempt_across("reps", &format!("{fault}{reaction}")) {
            Err(RunError::Stalled { at, .. }) => assert!(at < Time(3000 * US), "ended at {at} only"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_degraded_link_takes_its_rate_exactly() {
    let packets = 200;
    let rest = T + A + 2 * D + SWITCH + (A + 2 * D + SWITCH);
    let fault = |both: bool, at: &str| {
        format!(
            "kind = \"rate\"\nlinks = \"tor:0/down:1\"\nrate = \"50Gbps\"\nboth_directions = {both}\nat = \"{at}\""
        )
    };
    let fct = |both, at| single_switch(1, packets, &fault(both, at)).flows[0].fct_ps;
    // If the fault begins at the start, every packet takes twice as long on the second link.
    let halved = rest + packets * 2 * T;
    assert_eq!(fct(false, "0us"), Some(halved));
    // If the fault affects both directions, the last ACK also takes longer.
    assert_eq!(fct(true, "0us"), Some(halved + A));
    // If the fault begins at 30 us, each bit is sent at the rate that applies at its time. The rest of the packet that
    // is being sent at 30 us therefore also takes twice as long.
    let at = 30 * US;
    let before = (1..=packets).filter(|&i| *on_last_link(i).start() < at).count() as u64;
    assert!(before > 80 && before < 90);
    let left = on_last_link(before).start() + T - at;
    assert!(left > 0 && left < T);
    assert_eq!(fct(false, "30us"), Some(rest + before * T + left + (packets - before) * 2 * T));
}

/// At 1 Mb/s, a packet takes 33 ms. A fault of 10 us must not delay the packet by more than 10 us: 10 bits of the
/// packet are sent at 1 Mb/s, and the other bits at full rate before and after the fault.
#[test]
fn a_packet_is_held_no_longer_than_the_fault_that_slows_it() {
    let packets = 200;
    let on = "links = \"tor:0/down:1\"\nboth_directions = false\nat = \"30us\"\nduration = \"10us\"";
    let fct = |fault: &str| single_switch(1, packets, &format!("{fault}\n{on}")).flows[0].fct_ps.unwrap();
    let undisturbed = fct("kind = \"packet-loss\"\nprobability = 0.0");
    let slowed = fct("kind = \"rate\"\nrate = \"1Mbps\"");
    assert_eq!(slowed - undisturbed, 10 * US - 10 * T / (8 * FULL));
}

#[test]
fn certain_loss_on_the_only_path_stalls() {
    let text = r#"
        schemes = ["reps"]
        setup = "reps-paper"
        [topology]
        kind = "single-switch"
        hosts = 2
        link = "100Gbps"
        [workload]
        kind = "incast"
        bytes = "100KB"
        target = 1
        [limits]
        stall = "2ms"
        [[fault]]
        kind = "packet-loss"
        links = "tor:0/down:1"
        both_directions = false
        probability = 1.0
    "#;
    match attempt(&points(text, &[])[0]) {
        Err(RunError::Stalled { at, flows, partial, .. }) => {
            assert!(at < Time(5000 * US));
            assert_eq!(flows.len(), 1);
            // Every packet crosses the first link and is then lost on the second link. Only packets that are still on
            // the first link are not lost.
            let on_first = partial.run.packet_hops - partial.run.link_losses;
            assert!(on_first - partial.run.link_losses <= 25 && partial.run.timeouts >= 25);
        }
        other => panic!("{other:?}"),
    }
}

/// Sends 10,000 packets with each of five seeds over a link that loses some of them, and returns the sums over the
/// seeds.
fn lossy(kind: &str, probability: f64) -> RunResult {
    let bytes = 10_000 * PAYLOAD;
    let text = format!(
        r#"
        schemes = ["ecmp"]
        setup = "reps-paper"
        seeds = [1, 2, 3, 4, 5]
        [topology]
        kind = "single-switch"
        hosts = 2
        link = "100Gbps"
        [workload]
        kind = "incast"
        bytes = "{bytes}B"
        target = 1
        [set]
        "*.cc" = {{ kind = "constant", window = "400packets" }}
        [[fault]]
        kind = "{kind}"
        links = "tor:0/down:1"
        both_directions = false
        probability = {probability}
        "#
    );
    let results = finish_all(&text, &[]);
    let counts: BTreeSet<u64> = results.iter().map(|result| result.run.link_losses).collect();
    assert!(counts.len() > 1, "every seed loses the same");
    let mut sum = results[0].clone();
    (sum.run.link_losses, sum.run.retransmissions, sum.run.timeouts) = (0, 0, 0);
    for RunResult { run, .. } in &results {
        sum.run.link_losses += run.link_losses;
        sum.run.retransmissions += run.retransmissions;
        sum.run.timeouts += run.timeouts;
    }
    sum
}

/// Asserts that the number of losses among 50,000 packets and their retransmissions is within five standard deviations
/// of the expected number.
fn assert_losses(result: &RunResult, probability: f64) {
    let run = &result.run;
    assert_eq!((run.retransmissions, run.timeouts), (run.link_losses, run.link_losses));
    let sent = 50_000.0 + run.retransmissions as f64;
    let expected = sent * probability;
    let deviation = (sent * probability * (1.0 - probability)).sqrt();
    let found = run.link_losses as f64;
    assert!((found - expected).abs() < 5.0 * deviation, "{found} lost, expected {expected} +- {deviation}");
}

#[test]
fn a_hundredth_of_the_packets_is_lost() {
    assert_losses(&lossy("packet-loss", 0.01), 0.01);
}

#[test]
fn bit_errors_lose_a_packet_by_its_length() {
    let rate = 1e-6;
    let whole = (0..FULL * 8).fold(1.0, |whole, _| whole * (1.0 - rate));
    assert_losses(&lossy("bit-errors", rate), 1.0 - whole);
}

/// The uplinks that a fault with a fraction of links selects. Routing reacts immediately, so these uplinks never carry
/// packets, and are recognised by this.
fn chosen(scheme: &str, seed: u64) -> BTreeSet<String> {
    let text = format!(
        r#"
        schemes = ["{scheme}"]
        setup = "reps-paper"
        seeds = [{seed}]
        [topology]
        kind = "fat-tree"
        hosts = 32
        tiers = 2
        link = "100Gbps"
        hosts_per_tor = 4
        [workload]
        kind = "permutation"
        bytes = "500KB"
        cross_tor = true
        [[fault]]
        kind = "link-down"
        links = "tor-uplinks:25%"
        [[measure]]
        series = "link-utilisation"
        every = "100ms"
        links = "tor-uplinks"
        [set]
        "*.fabric.routing_delay" = "0ns"
        "#
    );
    let result = finish_one(&text, &[]);
    assert_eq!(result.series.len(), 32, "one point an uplink");
    assert_eq!(result.run.link_losses, 0);
    result.series.into_iter().filter(|point| point.value == 0.0).map(|point| point.entity).collect()
}

#[test]
fn the_seed_chooses_a_share_of_the_links_and_the_scheme_does_not() {
    let links = chosen("ops", 1);
    assert_eq!(links.len(), 8, "a quarter of 32 cables: {links:?}");
    assert_eq!(links, chosen("ops", 1));
    assert_eq!(links, chosen("reps", 1));
    assert_ne!(links, chosen("ops", 2));
}

#[test]
fn no_event_after_max_time_happens() {
    let mut point = points(&across("reps", ""), &[("flow.cm", ACROSS)]).remove(0);
    let end = Time((finish(&point).run.sim_time_us * 1e6) as u64);
    point.limits.max_time = Duration::from_us(20);
    match attempt(&point) {
        Err(RunError::Limit { limit, at, unfinished, partial }) => {
            assert_eq!((limit, unfinished), ("max_time", 1));
            assert!(at <= Time(20 * US) && Time(20 * US) < end, "ended at {at}, the whole run at {end}");
            assert_eq!(partial.run.flows_finished, 0);
        }
        other => panic!("{other:?}"),
    }
}

/// Adaptive routing uses the port with the shortest queue. A port whose link is down loses its packets, so its queue
/// would be the shortest of all. A switch must therefore know the state of its own ports. It does not know of losses
/// further along the path.
#[test]
fn adaptive_routing_leaves_own_ports_that_are_down() {
    let data_lost = |routing: &str, links: &str, fault: &str| {
        let scenario = format!(
            r#"
            schemes = ["ops"]
            [topology]
            kind = "fat-tree"
            hosts = 8
            hosts_per_tor = 4
            link = "100Gbps"
            [workload]
            kind = "tornado"
            bytes = "400KB"
            [set]
            "*.fabric.routing" = "{routing}"
            [[fault]]
            links = "{links}"
            both_directions = false
            {fault}
            "#
        );
        finish_one(&scenario, &[]).run.faults[0].data_packets
    };
    let down = "kind = \"link-down\"\nduration = \"20us\"";
    let flaps = "kind = \"link-flap\"\nperiod = \"10us\"\ndown_for = \"5us\"\nuntil = \"60us\"";
    for fault in [down, flaps] {
        let [by_hash, own, next] =
            [("ecmp", "tor:0/up:0"), ("adaptive", "tor:0/up:0"), ("adaptive", "spine:0/down:1")]
                .map(|(routing, links)| data_lost(routing, links, fault));
        // Packets that are on the link when it goes down are lost in any case.
        assert!(by_hash > 3 * own && next > 3 * own, "{by_hash}, {own}, {next}: {fault}");
    }
    // If no other port is left, packets are sent on the failed link, are lost and are retransmitted.
    assert!(data_lost("adaptive", "tor:0/up", down) > 10);
}
