//! The lossless fabric: pauses and buffers compared with values computed by hand, deadlocks, and invariants.

use super::support::*;
use anabranch_base::Bytes;
use anabranch_proto::Size;
use anabranch_results::SeriesRow;
use anabranch_sim::scenario::{PfcSpec, RunPoint};
use anabranch_sim::{RunError, RunResult};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// The serialisation time of a full packet at 100 Gb/s, in picoseconds.
const T: u64 = FULL * 80;

/// RoCEv2 without its congestion control, its marks and its ACKs (except those at the end of a message).
const UNCONTROLLED: &str = r#"
        [set]
        "rocev2.cc" = { kind = "constant", window = "60000packets" }
        "rocev2.transport.ack_every" = 65535
        "rocev2.transport.rto" = "9ms"
        "rocev2.fabric.control_queue" = "60000packets"
        "rocev2.fabric.ecn_kmin" = "60000packets"
        "rocev2.fabric.ecn_kmax" = "60000packets"
"#;

/// The RoCEv2 `point` with ample buffers, a static threshold of `packets` and the given `headroom`. If `headroom` is
/// `None`, each link has its computed headroom.
pub fn with_threshold(mut point: RunPoint, packets: u64, headroom: Option<u64>) -> RunPoint {
    let pfc = point.scheme.fabric.pfc.as_mut().expect("RoCEv2 is lossless");
    *pfc = PfcSpec {
        headroom_apart: false,
        buffer: Bytes(100_000_000),
        buffer_rate: None,
        alpha: None,
        alpha_from: Vec::new(),
        at: Vec::new(),
        threshold: Some(Size::Packets(packets as f64)),
        resume: Size::Packets(2.0),
        headroom: headroom.map(|bytes| Size::Bytes(Bytes(bytes))),
        ..pfc.clone()
    };
    point
}

/// Returns the text of a matrix file. Each of `flows` has a source, a destination, a start in ps, and a number of
/// packets.
fn matrix(hosts: u32, flows: &[(u32, u32, u64, u64)]) -> String {
    let lines = flows
        .iter()
        .map(|(src, dst, start, packets)| format!("{src}->{dst} start {start} size {}\n", packets * PAYLOAD));
    format!("Nodes {hosts}\nConnections {}\n{}", flows.len(), lines.collect::<String>())
}

fn points_of<'a>(result: &'a RunResult, series: &str, entity: &str) -> Vec<&'a SeriesRow> {
    let rows: Vec<&SeriesRow> =
        result.series.iter().filter(|row| row.series == series && row.entity == entity).collect();
    assert!(!rows.is_empty(), "no {series} of {entity}");
    rows
}

/// The start and the end of a link's only pause, to the picosecond. They follow from the time for which the link was
/// paused in each interval.
fn only_pause(result: &RunResult, link: &str) -> (u64, u64) {
    let rows = points_of(result, "pause_time_us", link);
    let paused: Vec<&&SeriesRow> = rows.iter().filter(|row| row.value > 0.0).collect();
    let part = |row: &SeriesRow| (row.value * 1e6).round() as u64;
    let (first, last) = (paused.first().expect("a pause"), paused.last().expect("a pause"));
    let whole = paused.len() as u64 - 1;
    assert_eq!((last.time_ps - first.time_ps) / EVERY, whole, "the pause has a gap");
    (first.time_ps - part(first), last.time_ps - EVERY + part(last))
}

/// The interval of the series that [`measured`] adds, in picoseconds.
const EVERY: u64 = 10_000;

fn measured(series: &str, links: &str) -> String {
    format!("[[measure]]\nseries = \"{series}\"\nevery = \"10ns\"\nlinks = \"{links}\"\n")
}

/// Hosts 0 and 1 on the first switch send 40 packets each to host 2 on the second switch, over a trunk of twice the
/// rate of the host links. The second switch's port to host 2 is the bottleneck.
mod line {
    use super::*;

    /// The serialisation times of a full packet and of a pause frame on the trunk, in picoseconds.
    pub const H: u64 = FULL * 40;
    pub const FRAME: u64 = 64 * 40;
    pub const HOST_LINK: u64 = US;
    pub const TRUNK: u64 = 2 * US;
    pub const SWITCH: u64 = 300_000;
    pub const THRESHOLD: u64 = 20;
    pub const RESUME: u64 = 2;
    /// The arrival of packet 0, the first packet of the trunk, at the second switch. From then on, one packet arrives
    /// per H, and one packet leaves per T = 2 H.
    pub const FIRST: u64 = T + HOST_LINK + SWITCH + H + TRUNK + SWITCH;
    /// Packet k finds (k + 1) / 2 - 1 packets in the queue if k is odd. The first packet above the threshold of 20
    /// packets is therefore packet 2 * 20 + 1.
    pub const DECIDES: u64 = 2 * THRESHOLD + 1;
    /// The time at which the pause takes effect on the trunk.
    pub const XOFF: u64 = FIRST + DECIDES * H + FRAME + TRUNK;
    /// Packet k begins on the trunk at `FIRST + k * H - (H + TRUNK + SWITCH)`, which is before XOFF for
    /// `k < 42 + (2 * TRUNK + SWITCH + FRAME) / H = 67.9`. Therefore 26 packets follow packet 41, which exceeds the
    /// threshold.
    pub const LAST: u64 = 67;
    /// In each T, two packets arrive and one leaves, so 34 packets wait when packet LAST has arrived.
    pub const DEEPEST: u64 = LAST.div_ceil(2);
    /// After packet LAST has arrived, one packet still leaves per T. At `FIRST + m * T`, `67 - m` packets are left,
    /// which is THRESHOLD - RESUME = 18 for m = 49.
    pub const RESUMES: u64 = LAST - (THRESHOLD - RESUME);
    pub const XON: u64 = FIRST + RESUMES * T + FRAME + TRUNK;

    pub fn text(rest: &str) -> String {
        format!(
            r#"
            schemes = ["rocev2"]
            setup = "strack-paper"
            [topology]
            kind = "dumbbell"
            hosts = 4
            link = "100Gbps"
            trunk = "200Gbps"
            link_latency = "1us"
            trunk_latency = "2us"
            switch_latency = "300ns"
            [workload]
            file = "f.cm"
            {}{}{}{rest}
            {}
            "#,
            measured("queue-depth", "tor:1/down:0"),
            measured("pauses", "tor:0/up:0"),
            measured("pause-time", "tor:0/up:0"),
            UNCONTROLLED
        )
    }

    pub fn run(rest: &str) -> RunResult {
        run_with_rto(rest, "9ms")
    }

    pub fn run_with_rto(rest: &str, rto: &str) -> RunResult {
        let flows = matrix(4, &[(0, 2, 0, 40), (1, 2, 0, 40)]);
        let points = points(&text(rest).replace("9ms", rto), &[("f.cm", &flows)]);
        finish(&with_threshold(points[0].clone(), THRESHOLD, None))
    }

    pub fn delivered(result: &RunResult) -> u64 {
        result.flows.iter().filter_map(|flow| flow.delivery_ps).max().expect("flows that ended")
    }
}

#[test]
fn a_pause_on_a_line_of_two_switches_by_hand() {
    let result = line::run("");
    assert_eq!(only_pause(&result, "tor:0/up:0"), (line::XOFF, line::XON));
    let begun: f64 = points_of(&result, "pauses", "tor:0/up:0").iter().map(|row| row.value).sum();
    assert_eq!((result.run.pause_frames, begun), (1, 1.0));
    let paused = (line::XON - line::XOFF) as f64 / 1e6;
    assert!((result.run.pause_us - paused).abs() < 1e-9, "{} us, not {paused}", result.run.pause_us);
    let depth = points_of(&result, "queue_depth_bytes", "tor:1/down:0");
    let deepest = depth.iter().map(|row| row.value as u64).max();
    assert_eq!((line::DEEPEST, deepest), (34, Some(34 * FULL)));
    let reached = depth.iter().find(|row| row.value as u64 == 34 * FULL).expect("it was reached").time_ps;
    let expected = line::FIRST + line::LAST * line::H;
    assert!(reached > expected && reached <= expected + EVERY, "{reached} for {expected}");
    // The queue of the bottleneck was never empty, so the pause caused no delay.
    assert_eq!(line::delivered(&result), line::FIRST + 80 * T + line::HOST_LINK);
    assert_eq!((result.run.drops, result.run.retransmissions, result.run.timeouts), (0, 0, 0));
}

fn trunk_down(from: u64, until: u64) -> String {
    format!(
        "[[fault]]\nkind = \"link-down\"\nlinks = \"tor:0/up:0\"\nat = \"{from}ps\"\nduration = \"{}ps\"\n",
        until - from
    )
}

/// All packets sent before the pause have arrived when the trunk goes down. A link that is down is no longer paused.
/// The 12 packets that wait for the trunk are lost as on any failed link. The loss of the XON frame delays nothing.
#[test]
fn a_link_that_fails_forgets_its_pause() {
    let (from, until) = (line::FIRST + 40 * T, line::FIRST + 80 * T);
    let result = line::run_with_rto(&trunk_down(from, until), "200us");
    let paused = points_of(&result, "pause_time_us", "tor:0/up:0");
    let before = paused.iter().filter(|row| row.time_ps <= until).map(|row| row.value).sum::<f64>();
    assert!((before - (from - line::XOFF) as f64 / 1e6).abs() < 1e-9, "{before} us");
    assert_eq!((result.run.link_losses, result.run.drops), (12, 0));
    assert!(result.run.retransmissions >= 12);
}

/// The link fails while it is paused, and comes up while the pause should still hold. The headroom is in use, so
/// nothing may arrive before the pause is in effect again.
#[test]
fn a_pause_that_still_holds_holds_after_a_repair() {
    // The last packet that is sent before the pause arrives at about 55 T. The port to host 6 is busy with packets of
    // other hosts until about 83 T. The fault lasts from about 63 T to 64 T.
    let fault = trunk_down(worst::FIRST + 56 * T, worst::FIRST + 57 * T);
    assert_lossless_after(worst::attempted(None, true, &fault));
}

#[track_caller]
fn assert_lossless_after(outcome: Result<RunResult, RunError>) {
    let run = outcome.unwrap_or_else(|e| panic!("{e}")).run;
    assert_eq!((run.flows_finished, run.drops), (run.flows, 0));
    assert!(run.link_losses > 0 && run.retransmissions > 0);
}

/// The return path runs at 1 Gb/s, so a pause frame takes 512 ns.
#[test]
fn a_pause_frame_takes_its_time_on_a_slower_link() {
    let slow =
        "[[fault]]\nkind = \"rate\"\nlinks = \"tor:1/up:0\"\nboth_directions = false\nrate = \"1Gbps\"\n";
    let (began, _) = only_pause(&line::run(slow), "tor:0/up:0");
    assert_eq!(began, line::XOFF - line::FRAME + 512_000);
}

/// The link fails just after the pause frame is sent, and comes up before the frame would arrive. The packets on the
/// wire are lost, so the second switch has room again. It sends an XON that has no effect, and then no pause is
/// outstanding. The pause frame must be lost like all other frames. If it arrived, nothing would ever end the pause.
#[test]
fn a_pause_frame_on_a_link_that_fails_is_lost() {
    let sent = line::FIRST + line::DECIDES * line::H + line::FRAME;
    let rest = trunk_down(sent + 1, sent + 5 * T);
    let result = line::run_with_rto(&rest, "200us");
    assert!(result.run.link_losses > 0 && result.run.retransmissions > 0);
}

/// Two cables connect the switches, and three hosts send to one. A cable fails while pauses are in effect.
fn a_cable_fails(cable: u32, duration: &str) -> Vec<RunPoint> {
    let graph = "6 2 6\n4 5\n0 4 100Gbps 1000ns 0\n1 4 100Gbps 1000ns 0\n2 5 100Gbps 1000ns 0\n3 5 100Gbps 1000ns 0\n4 5 100Gbps 2000ns 0\n4 5 100Gbps 2000ns 0\n";
    let text = format!(
        r#"
        schemes = ["rocev2"]
        setup = "strack-paper"
        seeds = [1, 2, 3]
        [topology]
        file = "g.txt"
        [workload]
        file = "f.cm"
        [[fault]]
        kind = "link-down"
        links = "tor:0/up:{cable}"
        at = "20us"
        {duration}
        {UNCONTROLLED}
        "rocev2.fabric.routing_delay" = "10us"
        "#
    )
    .replace("9ms", "100us");
    let flows = matrix(4, &[(0, 2, 0, 400), (1, 2, 0, 400), (3, 2, 0, 400)]);
    let points = points(&text, &[("g.txt", graph), ("f.cm", &flows)]);
    points.into_iter().map(|point| with_threshold(point, 10, None)).collect()
}

/// If a paused link fails permanently, the packets that wait for it must not wait for ever and block the packets
/// behind them. The waiting packets are lost like all packets that are sent on that link. They are retransmitted over
/// the other cable.
#[test]
fn a_link_that_fails_while_it_is_paused_lets_go_of_what_waits() {
    for point in a_cable_fails(0, "").iter().chain(&a_cable_fails(1, "")) {
        assert!(finish(point).run.pause_frames > 0);
    }
}

/// A run does not end while the repair of a link is the only event left.
#[test]
fn a_run_waits_for_the_repair_of_a_link() {
    let duration = "duration = \"5ms\"";
    for point in a_cable_fails(0, duration).iter().chain(&a_cable_fails(1, duration)) {
        finish(point);
    }
}

/// The worst case for a trunk's headroom: a full packet in the other direction starts exactly when the second switch
/// decides to pause, and no packet from the trunk leaves the second switch before the pause is in effect.
///
/// The trunk and the hosts run at 100 Gb/s. Hosts 7 to 10 fill the port to host 6 with 80 packets, which take 80 T to
/// leave. In the meantime, packets of host 0 arrive over the trunk, one per T: 20 fit, and the 21st triggers XOFF. By
/// hand, the pause frame takes effect `latency + switch + T (the packet before it) + frame + latency = 7 T + 160 ps`
/// after the end of the 21st packet's transmission. Until then, 8 further packets begin. The headroom therefore needs 9
/// packets in total, which is 37,350 B and not one byte less.
pub mod worst {
    use super::*;

    pub const FRAME: u64 = 64 * 80;
    pub const HOST_LINK: u64 = 500_000;
    pub const SWITCH: u64 = 100_000;
    pub const TRUNK: u64 = (6 * T - FRAME - SWITCH + 160) / 2;
    pub const NEEDED: u64 = 9 * FULL;
    pub const THRESHOLD: u64 = 20;

    /// The time at which a packet of host 0 arrives at the second switch if its transmission starts at time 0.
    pub const FIRST: u64 = (T + HOST_LINK + SWITCH) + (T + TRUNK + SWITCH);

    pub fn text(rest: &str) -> String {
        format!(
            r#"
            schemes = ["rocev2"]
            setup = "strack-paper"
            [topology]
            kind = "dumbbell"
            hosts = 12
            link = "100Gbps"
            trunk = "100Gbps"
            link_latency = "500ns"
            trunk_latency = "{TRUNK}ps"
            switch_latency = "100ns"
            [workload]
            file = "f.cm"
            {rest}
            {}
            "#,
            UNCONTROLLED
        )
    }

    pub fn flows(reverse: bool) -> String {
        let starts = 20 * T;
        let decides = starts + FIRST + THRESHOLD * T;
        let mut flows = vec![(7, 6, 0, 20), (8, 6, 0, 20), (9, 6, 0, 20), (10, 6, 0, 20), (0, 6, starts, 40)];
        if reverse {
            flows.push((11, 1, decides - (T + HOST_LINK + SWITCH), 1));
        }
        matrix(12, &flows)
    }

    pub fn attempted(headroom: Option<u64>, reverse: bool, rest: &str) -> Result<RunResult, RunError> {
        let points = points(&text(rest), &[("f.cm", &flows(reverse))]);
        attempt(&with_threshold(points[0].clone(), THRESHOLD, headroom))
    }
}

#[track_caller]
fn assert_lossless(outcome: Result<RunResult, RunError>) {
    let result = outcome.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((result.run.pause_frames, result.run.drops, result.run.retransmissions), (1, 0, 0));
}

#[track_caller]
fn assert_lost(outcome: Result<RunResult, RunError>) {
    match outcome {
        Err(RunError::LosslessDrop { what, .. }) => {
            assert!(what.contains("tor:0/up:0"), "the trunk is not named: {what}");
        }
        Err(other) => panic!("not told as a loss: {other}"),
        Ok(result) => panic!("nothing was lost, with {} pauses", result.run.pause_frames),
    }
}

#[test]
fn headroom_covers_the_worst_case_and_nothing_less_does() {
    assert_lossless(worst::attempted(None, true, ""));
    assert_lossless(worst::attempted(Some(worst::NEEDED), true, ""));
    assert_lost(worst::attempted(Some(worst::NEEDED - 1), true, ""));
    assert_lost(worst::attempted(Some(worst::NEEDED - FULL), true, ""));
}

#[test]
fn an_idle_way_back_needs_a_packet_less() {
    assert_lossless(worst::attempted(Some(worst::NEEDED - FULL), false, ""));
    assert_lost(worst::attempted(Some(worst::NEEDED - FULL - 1), false, ""));
}

/// No pause frame can be sent over the direction of a cable that is down. If both directions are down, no packet needs
/// a pause frame.
#[test]
fn half_a_cable_that_is_down_loses_what_pauses_would_have_saved() {
    let down = |both: bool| {
        let fault =
            "[[fault]]\nkind = \"link-down\"\nlinks = \"tor:1/up:0\"\nat = \"1us\"\nduration = \"200us\"\n";
        worst::attempted(None, true, &format!("{fault}both_directions = {both}\n"))
    };
    match down(false) {
        Err(RunError::LosslessDrop { what, .. }) => {
            let says = "tor:1/up:0 was down, so that no pause frame got through: let the fault have both_directions = true";
            assert!(what.contains(says), "{what}");
        }
        other => panic!("{other:?}"),
    }
    assert!(down(true).is_ok());
}

#[test]
fn the_headroom_asked_for_is_tight_within_a_packet() {
    let checked = |bytes: u64| {
        let text = format!("{}\"rocev2.fabric.pfc.headroom\" = \"{bytes}B\"\n", worst::text(""));
        read(&text, &[("f.cm", &worst::flows(true))]).check()
    };
    let asked = (worst::NEEDED..worst::NEEDED + FULL).find(|&bytes| checked(bytes).is_ok());
    assert_eq!(asked, Some(worst::NEEDED + 3), "2 B for 160 ps, and one to round up");
    let refused = checked(worst::NEEDED - FULL).unwrap_err().to_string();
    assert!(refused.contains("tor:0/up:0") && refused.contains("37.4 KB"), "{refused}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_dumbbell_loses_anything(
        link in 20u64..400, trunk in 20u64..400, latency in 0u64..3000, trunk_latency in 0u64..9000,
        switch in 0u64..1000, threshold in 1u64..12,
        flows in prop::collection::vec((0u32..8, 1u32..8, 0u64..20_000_000, 1u64..300_000), 1..24),
    ) {
        let lines: String = flows
            .iter()
            .map(|(src, on, start, bytes)| format!("{src}->{} start {start} size {bytes}\n", (src + on) % 8))
            .collect();
        let matrix = format!("Nodes 8\nConnections {}\n{lines}", flows.len());
        let text = format!(
            r#"
            schemes = ["rocev2"]
            setup = "strack-paper"
            [workload]
            file = "f.cm"
            [topology]
            kind = "dumbbell"
            hosts = 8
            link = "{link}Gbps"
            trunk = "{trunk}Gbps"
            link_latency = "{latency}ns"
            trunk_latency = "{trunk_latency}ns"
            switch_latency = "{switch}ns"
            {UNCONTROLLED}
            "rocev2.transport.payload" = "1000B"
            "#
        );
        let point = with_threshold(points(&text, &[("f.cm", &matrix)])[0].clone(), threshold, None);
        let run = finish(&point).run;
        prop_assert_eq!((run.drops, run.retransmissions), (0, 0));
    }
}

/// Four switches in a ring, with a host on each. Each host sends to the host that is two switches away. The paths in
/// both directions round the ring have equal lengths.
pub fn ring(packets: u64, seeds: &str) -> Vec<RunPoint> {
    let graph = "8 4 8\n4 5 6 7\n0 4 100Gbps 1000ns 0\n1 5 100Gbps 1000ns 0\n2 6 100Gbps 1000ns 0\n3 7 100Gbps 1000ns 0\n4 5 100Gbps 1000ns 0\n5 6 100Gbps 1000ns 0\n6 7 100Gbps 1000ns 0\n7 4 100Gbps 1000ns 0\n";
    let text = format!(
        "schemes = [\"rocev2\"]\nsetup = \"strack-paper\"\nseeds = {seeds}\n[topology]\nfile = \"ring.txt\"\n[workload]\nfile = \"f.cm\"\n{}",
        UNCONTROLLED
    );
    let flows = matrix(4, &[(0, 2, 0, packets), (1, 3, 0, packets), (2, 0, 0, packets), (3, 1, 0, packets)]);
    let points = points(&text, &[("ring.txt", graph), ("f.cm", &flows)]);
    points.into_iter().map(|point| with_threshold(point, 10, None)).collect()
}

#[test]
fn a_ring_of_four_switches_deadlocks_and_its_links_are_named() {
    let seeds = format!("{:?}", (1..=48).collect::<Vec<u64>>());
    // The two cables of each switch are in the order of the switches to which they lead.
    let onward = ["tor:0/up:0", "tor:1/up:1", "tor:2/up:1", "tor:3/up:0"];
    let backward = ["tor:0/up:1", "tor:3/up:1", "tor:2/up:0", "tor:1/up:0"];
    let turned = |cycle: &[&str; 4], by: usize| -> Vec<String> {
        (0..4).map(|i| cycle[(i + by) % 4].to_owned()).collect()
    };
    let mut ways = BTreeSet::new();
    let mut stuck_seeds = Vec::new();
    for point in ring(400, &seeds) {
        match attempt(&point) {
            Ok(result) => assert_eq!(result.run.flows_finished, 4),
            Err(RunError::Deadlock { cycle, unfinished, .. }) => {
                let way = [onward, backward].iter().position(|way| (0..4).any(|by| turned(way, by) == cycle));
                ways.insert(way.unwrap_or_else(|| panic!("no cycle of the ring: {cycle:?}")));
                assert!(unfinished > 0);
                stuck_seeds.push(point.seed);
            }
            Err(other) => panic!("seed {}: {other}", point.seed),
        }
    }
    assert!(!ways.is_empty(), "no seed sends all four flows the same way round");
    // All four flows go the same way round with a probability of 2/16, so about 6 of the 48 seeds deadlock.
    assert!(stuck_seeds.len() < 24, "{stuck_seeds:?}");
    for point in ring(8, &format!("{stuck_seeds:?}")) {
        assert_eq!(finish(&point).run.pause_frames, 0);
    }
}

/// A lossless scheme on four ToRs with eight ports and four spines with four ports. Each switch has a buffer of
/// `buffer` bytes.
pub fn small_fabric(scheme: &str, workload: &str, alpha: f64, buffer: u64, rest: &str) -> Vec<RunPoint> {
    let text = format!(
        r#"
        schemes = ["{scheme}"]
        setup = "strack-paper"
        seeds = [1, 2, 3, 4, 5, 6]
        [topology]
        kind = "fat-tree"
        hosts = 16
        tiers = 2
        hosts_per_tor = 4
        link = "100Gbps"
        link_latency = "500ns"
        switch_latency = "0ns"
        [workload]
        {workload}
        {rest}
        "#
    );
    let tight = |mut point: RunPoint| {
        let pfc = point.scheme.fabric.pfc.as_mut().expect("RoCEv2 is lossless");
        *pfc = PfcSpec {
            headroom_apart: false,
            buffer: Bytes(buffer),
            buffer_rate: None,
            alpha: Some(alpha),
            resume: Size::Packets(1.0),
            ..pfc.clone()
        };
        point
    };
    points(&text, &[]).into_iter().map(tight).collect()
}

const PERMUTATION: &str = "kind = \"permutation\"\nbytes = \"200KB\"";
pub const INCAST: &str = "kind = \"incast\"\nbytes = \"100KB\"\ndegree = 15";

/// The total of the eight headrooms of a ToR. Each is `500 ns + T + frame + 500 ns` at 12.5 B/ns, which is 16,714 B,
/// plus one byte and two packets.
pub const HEADROOMS: u64 = 8 * (16_714 + 1 + 2 * FULL);

#[test]
fn a_buffer_must_be_larger_than_its_headrooms() {
    match attempt(&small_fabric("rocev2", PERMUTATION, 1.0, HEADROOMS, "")[0]) {
        Err(error @ RunError::Pfc { .. }) => {
            let said = error.to_string();
            assert!(said.starts_with("fabric.pfc.buffer: ") && said.contains("tor:0"), "{said}");
        }
        other => panic!("{other:?}"),
    }
    finish(&small_fabric("rocev2", PERMUTATION, 1.0, HEADROOMS + 1, "")[0]);
}

#[test]
fn nothing_is_lost_however_small_the_buffer() {
    for workload in [PERMUTATION, INCAST] {
        for alpha in [0.0625, 1.0, 16.0] {
            for more in [1, 3 * FULL, 40 * FULL] {
                for scheme in ["rocev2", "rocev2-4qp"] {
                    for point in small_fabric(scheme, workload, alpha, HEADROOMS + more, "") {
                        let run = finish(&point).run;
                        assert_eq!((run.drops, run.link_losses), (0, 0));
                        assert!(more > 3 * FULL || run.pause_frames > 0, "{alpha} {more} {workload}");
                    }
                }
            }
        }
    }
}

#[test]
fn links_that_fail_and_are_repaired_do_not_stop_a_lossless_fabric() {
    let faults = "[[fault]]\nkind = \"link-down\"\nlinks = \"tor-uplinks:30%\"\nat = \"10us\"\nduration = \"37us\"\n[[fault]]\nkind = \"switch-down\"\nswitches = \"spine:0\"\nat = \"60us\"\nduration = \"21us\"\n[set]\n\"*.transport.rto\" = \"300us\"\n\"*.transport.nack_interval\" = \"50us\"\n";
    for workload in [PERMUTATION, INCAST] {
        for point in small_fabric("rocev2", workload, 1.0, HEADROOMS + 3 * FULL, faults) {
            let run = finish(&point).run;
            assert!(run.pause_frames > 0 && run.drops == 0);
        }
    }
}

/// ACKs are not in the lossless class: an ACK that finds its queue full is dropped, and the run continues.
#[test]
fn a_full_control_queue_is_no_loss_of_the_lossless_class() {
    let settings = "[set]\n\"*.fabric.control_queue\" = \"1B\"\n\"*.transport.rto\" = \"300us\"\n";
    for point in small_fabric("rocev2", PERMUTATION, 1.0, 64_000_000, settings) {
        finish(&point);
    }
}

#[test]
fn a_flow_alone_over_rocev2_takes_the_ideal_time() {
    for bytes in [1, PAYLOAD, PAYLOAD + 1, 4 * PAYLOAD, 2_000_000] {
        let flow = format!("Nodes 16\nConnections 1\n0->15 start 0 size {bytes}\n");
        let text = "schemes = [\"rocev2\"]\nsetup = \"strack-paper\"\n[topology]\nkind = \"fat-tree\"\nhosts = 16\ntiers = 3\nlink = \"100Gbps\"\n[workload]\nfile = \"f.cm\"\n";
        let result = finish_one(text, &[("f.cm", &flow)]);
        assert_eq!(result.flows[0].fct_ps, Some(result.flows[0].ideal_fct_ps), "{bytes} B");
        assert_eq!((result.run.pause_frames, result.run.ecn_marks), (0, 0));
    }
}

#[test]
fn lossless_runs_are_the_same_observed_or_not_alone_or_not() {
    let measures = ["queue-depth", "pauses", "pause-time", "pause-victims", "link-utilisation"]
        .map(|series| measured(series, "all").replace("10ns", "1us"))
        .concat();
    for (scheme, workload) in [("rocev2", INCAST), ("rocev2-4qp", PERMUTATION), ("rocev2-4qp", INCAST)] {
        let unseen = small_fabric(scheme, workload, 1.0, HEADROOMS + 3 * FULL, "");
        let seen = small_fabric(scheme, workload, 1.0, HEADROOMS + 3 * FULL, &measures);
        let digests = |points: &[RunPoint]| -> Vec<String> {
            points.iter().map(|point| finish(point).run.digest).collect()
        };
        let (alone, watched) = std::thread::scope(|scope| {
            let beside = scope.spawn(|| digests(&seen));
            let first = digests(&unseen);
            (first, beside.join().unwrap())
        });
        assert_eq!(alone, watched);
        assert_eq!(alone, digests(&unseen));
        assert_eq!(alone.iter().collect::<BTreeSet<_>>().len(), alone.len(), "seeds make no difference");
    }
}
