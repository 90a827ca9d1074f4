//! Curves of whole runs. The curves of a flow that is alone are compared with exact values, and other curves with the
//! totals of the run.

use anabranch_results::SeriesRow;
use anabranch_sim::scenario::{self, Files, Overrides};
use anabranch_sim::{Control, RunError, RunResult};

struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str) -> Result<String, String> {
        Err("no such file".to_owned())
    }
}

fn run(text: &str) -> RunResult {
    attempt(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn attempt(text: &str) -> Result<RunResult, RunError> {
    let read = scenario::read("test.toml", text, &NoFiles, &Overrides::default());
    let scenario = read.and_then(|s| s.check().map(|_| s)).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let points = scenario.points().unwrap();
    assert_eq!(points.len(), 1);
    anabranch_sim::run(&points[0], &Control::default())
}

/// The payload, the size of a full packet and the size of an ACK in the setups `reps-paper` and `strack-paper`, in
/// bytes.
const PAYLOAD: u64 = 4086;
const FULL: u64 = 4150;
const ACK: u64 = 64;
/// Times in picoseconds: a full packet and an ACK at 100 Gb/s, and a link's latency.
const T: u64 = FULL * 80;
const A: u64 = ACK * 80;
const D: u64 = 1_000_000;
const US: u64 = 1_000_000;

/// `degree` hosts send `bytes` each to the last host of a single switch at 100 Gb/s.
fn incast(scheme: &str, degree: u32, bytes: u64, settings: &str, measures: &str) -> RunResult {
    let setup = if scheme == "rocev2" { "strack-paper" } else { "reps-paper" };
    run(&format!(
        r#"
        schemes = ["{scheme}"]
        setup = "{setup}"
        [topology]
        kind = "single-switch"
        hosts = {hosts}
        link = "100Gbps"
        link_latency = "1us"
        switch_latency = "0ns"
        [workload]
        kind = "incast"
        bytes = "{bytes}B"
        degree = {degree}
        target = {degree}
        {measures}
        [set]
        {settings}
        "#,
        hosts = degree + 1,
    ))
}

fn measure(series: &str, keys: &str) -> String {
    format!("[[measure]]\nseries = {series:?}\n{keys}\n")
}

fn curve<'a>(result: &'a RunResult, series: &str, entity: &str) -> Vec<&'a SeriesRow> {
    result.series.iter().filter(|row| row.series == series && row.entity == entity).collect()
}

fn values(result: &RunResult, series: &str, entity: &str) -> Vec<f64> {
    curve(result, series, entity).iter().map(|row| row.value).collect()
}

fn sum(result: &RunResult, series: &str) -> f64 {
    result.series.iter().filter(|row| row.series == series).map(|row| row.value).sum()
}

/// The total bytes of all curves of a series. Each value is in Gb/s, for an interval of at most `every` ps.
fn bytes(result: &RunResult, series: &str, every: u64) -> f64 {
    let rows = result.series.iter().filter(|row| row.series == series);
    rows.map(|row| row.value * (row.time_ps - (row.time_ps - 1) / every * every) as f64 / 8_000.0).sum()
}

const UNBOUNDED: &str = r#""*.cc" = { kind = "constant", window = "60000packets" }
"*.transport.rto" = "9ms""#;

#[test]
fn curves_end_before_they_fill_the_memory() {
    let fabric = "[topology]\nkind = \"single-switch\"\nhosts = 5\nlink = \"100Gbps\"\n";
    let workload = "[workload]\nkind = \"permutation\"\nbytes = \"10KB\"\n";
    let text = format!(
        "schemes = [\"reps\"]\nsetup = \"reps-paper\"\n{fabric}{workload}{}",
        measure("queue-depth", "links = \"all\"\nevery = \"1ps\"")
    );
    // Ten curves have 10^12 points per second each. The scenario is accepted nevertheless, because a run with so few
    // bytes might end before it has used up its points.
    assert_eq!(
        attempt(&text).unwrap_err().to_string(),
        "the curves of [[measure]] came to 20000000 points within 2.000 us, which is all that this run may have; every = \
         \"10ps\" in place of \"1ps\" has room for ten times as long, every = \"500ns\" for all of limits.max_time; or watch \
         less, or have fewer runs"
    );
}

#[test]
fn ten_packets_alone_leave_and_arrive_when_arithmetic_says() {
    let to_last = "links = \"tor:0/down:1\"\nevery = \"1us\"";
    let measures = [
        measure("flow-throughput", "qps = \"all\"\nevery = \"1us\""),
        measure("sender-rtt", "qps = \"0\""),
        measure("sender-ecn", "qps = \"0\""),
        measure("arrival-rate", to_last),
        measure("queue-delay", to_last),
        measure("drops", to_last),
    ];
    let result = incast("ecmp", 1, 10 * PAYLOAD, UNBOUNDED, &measures.concat());

    // Packet k (from 0) starts at k T, arrives at the switch at (k + 1) T + D and at the receiver at (k + 2) T + 2 D.
    let end = 11 * T + 4 * D + 2 * A;
    let gbps = |packets: u32| f64::from(packets) * FULL as f64 * 8.0 / 1_000.0;
    let points = |packets: [u32; 7]| {
        let mut points: Vec<(u64, f64)> =
            (1..).zip(packets).map(|(i, packets)| (i * US, gbps(packets))).collect();
        points.push((end, 0.0));
        points
    };
    let seen = |series: &str, entity: &str| -> Vec<(u64, f64)> {
        curve(&result, series, entity).iter().map(|row| (row.time_ps, row.value)).collect()
    };
    assert_eq!(seen("flow_throughput_gbps", "flow:0"), points([0, 0, 2, 3, 3, 2, 0]));
    assert_eq!(seen("arrival_rate_gbps", "tor:0/down:1"), points([0, 3, 3, 3, 1, 0, 0]));
    let quiet: Vec<f64> = vec![0.0; 8];
    assert_eq!(values(&result, "drops", "tor:0/down:1"), quiet);
    assert_eq!(values(&result, "queue_delay_us", "tor:0/down:1"), quiet[1..]);

    // No packet waits in a queue, so every packet takes 2 T and its ACK 2 A, plus four link latencies.
    let rtt = (2 * T + 2 * A + 4 * D) as f64 / 1e6;
    let acknowledged: Vec<(u64, f64)> = (0..10).map(|k| (k * T + 2 * T + 2 * A + 4 * D, rtt)).collect();
    assert_eq!(seen("sender_rtt_us", "flow:0"), acknowledged);
    assert_eq!(values(&result, "sender_ecn", "flow:0"), vec![0.0; 10]);
}

#[test]
fn curves_of_an_incast_add_up_to_its_totals() {
    let to_last = "links = \"tor:0/down:4\"\nevery = \"700ns\"";
    let measures = [
        measure("flow-throughput", "qps = \"all\"\nevery = \"700ns\""),
        measure("sender-rtt", "qps = \"all\""),
        measure("sender-ecn", "qps = \"all\""),
        measure("arrival-rate", to_last),
        measure("link-utilisation", to_last),
        measure("queue-depth", to_last),
        measure("queue-delay", &format!("{to_last}\nabove = \"2us\"")),
        measure("drops", to_last),
    ];
    let settings = "\"*.fabric.queue\" = \"40packets\"";
    let result = incast("ops", 4, 200 * PAYLOAD, settings, &measures.concat());
    assert!(result.run.drops > 0 && result.run.ecn_marks > 0, "nothing to see: {:?}", result.run);

    assert_eq!(sum(&result, "drops"), result.run.drops as f64);
    // Duplicates arrive as well. The delivered bytes are equal to the bytes sent on the link. The offered bytes are
    // the sent bytes plus the dropped bytes.
    let full = FULL as f64;
    let near = |a: f64, b: f64| (a - b).abs() < 0.5;
    let delivered = bytes(&result, "flow_throughput_gbps", 700_000);
    let sent_on = bytes(&result, "link_utilisation_gbps", 700_000);
    let offered = bytes(&result, "arrival_rate_gbps", 700_000);
    assert!(delivered >= 800.0 * full, "{delivered}");
    assert!(near(delivered, sent_on), "{delivered} B delivered, {sent_on} B sent on");
    let dropped = result.run.drops as f64 * full;
    assert!(
        near(offered, sent_on + dropped),
        "{offered} B offered, {sent_on} B sent on, {dropped} B dropped"
    );

    // Each packet that arrives causes an ACK. An ACK that is in flight at the end of the run may be missing.
    let heard = result.series.iter().filter(|row| row.series == "sender_rtt_us").count() as f64;
    assert!(heard <= delivered / full + 0.5 && heard >= 800.0, "{heard} of {delivered} B");
    let marked = sum(&result, "sender_ecn");
    assert!(marked > 0.0 && marked <= result.run.ecn_marks as f64, "{marked} of {}", result.run.ecn_marks);

    // If the queue depth divided by 100 Gb/s is more than 2 us, it is the delay. Otherwise the series has no point.
    let depths = curve(&result, "queue_depth_bytes", "tor:0/down:4");
    let expected: Vec<(u64, f64)> = depths
        .iter()
        .map(|row| (row.time_ps, row.value * 80.0 / 1e6))
        .filter(|&(_, delay)| delay > 2.0)
        .collect();
    let delays: Vec<(u64, f64)> =
        curve(&result, "queue_delay_us", "tor:0/down:4").iter().map(|row| (row.time_ps, row.value)).collect();
    assert!(!expected.is_empty() && expected.len() < depths.len());
    assert_eq!(delays, expected);
}

#[test]
fn pauses_of_all_links_add_up_to_the_runs_own_count() {
    let all = "links = \"all\"\nevery = \"3us\"";
    let measures =
        [measure("pauses", all), measure("pause-time", all), measure("pause-victims", all)].concat();
    let result = incast("rocev2", 8, 500 * PAYLOAD, "\"*.fabric.pfc.buffer\" = \"1MB\"", &measures);
    assert!(result.run.pause_frames > 0, "nothing paused: {:?}", result.run);
    let time = sum(&result, "pause_time_us");
    assert!((time - result.run.pause_us).abs() < 1e-6, "{time} us, but {} us", result.run.pause_us);
    let begun = sum(&result, "pauses");
    assert!(begun > 0.0 && begun <= result.run.pause_frames as f64, "{begun} of {}", result.run.pause_frames);
    // Only links to the switch are paused, each for at most 3 us in an interval of 3 us.
    for row in result.series.iter().filter(|row| row.value != 0.0) {
        assert!(row.entity.starts_with("host:"), "{row:?}");
        assert!(row.series != "pause_time_us" || row.value <= 3.0, "{row:?}");
        // The only onward link is the congested one, so the pause has no victims.
        assert!(row.series != "pause_victims", "{row:?}");
    }
}

#[test]
fn flows_are_those_of_the_workload_however_many_queue_pairs_carry_them() {
    let measures = [
        measure("flow-throughput", "qps = \"0,2\"\nevery = \"5us\""),
        measure("sender-rtt", "qps = \"1\""),
        measure("sender-ecn", "qps = \"1\""),
    ];
    let result = incast("rocev2-4qp", 3, 64 * PAYLOAD, "", &measures.concat());
    let mut entities: Vec<(&str, &str)> =
        result.series.iter().map(|row| (row.series.as_str(), row.entity.as_str())).collect();
    entities.dedup();
    assert_eq!(
        entities,
        [
            ("flow_throughput_gbps", "flow:0"),
            ("flow_throughput_gbps", "flow:2"),
            ("sender_rtt_us", "flow:1"),
            ("sender_ecn", "flow:1"),
        ]
    );
    let payload = result.flows.iter().filter(|flow| flow.qp != 1).map(|flow| flow.bytes).sum::<u64>();
    let delivered = bytes(&result, "flow_throughput_gbps", 5_000_000);
    assert!(delivered > payload as f64, "{delivered} B of {payload} B of payload");
}

#[test]
fn looking_changes_nothing() {
    let all = ["link-utilisation", "queue-depth", "queue-delay", "arrival-rate", "drops"]
        .map(|series| measure(series, "links = \"all\"\nevery = \"1us\""))
        .concat();
    let senders = ["flow-throughput", "sender-rtt", "sender-ecn"]
        .map(|series| measure(series, "qps = \"all\""))
        .concat();
    let settings = "\"*.fabric.queue\" = \"40packets\"";
    let watched = incast("reps", 4, 100 * PAYLOAD, settings, &(all + &senders));
    let alone = incast("reps", 4, 100 * PAYLOAD, settings, "");
    assert!(!watched.series.is_empty() && alone.series.is_empty());
    assert_eq!((watched.run, watched.flows), (alone.run, alone.flows));
}

/// Runs a permutation of 8 hosts. The messages have 1,960 packets in total, and each packet has an ACK. The curves of
/// the run may have at most 1,000 points.
fn with_little_room(measures: &str, threads: usize) -> Result<RunResult, RunError> {
    let text = format!(
        "schemes = [\"reps\"]\n[topology]\nkind = \"single-switch\"\nhosts = 8\nlink = \"100Gbps\"\n\
         [workload]\nkind = \"permutation\"\nbytes = \"1MB\"\n{measures}"
    );
    let scenario =
        scenario::read("test.toml", &text, &NoFiles, &Overrides::default()).unwrap_or_else(|e| panic!("{e}"));
    let mut point = scenario.points().unwrap().remove(0);
    point.most_points = 1_000;
    anabranch_sim::run(&point, &Control { threads, ..Control::default() })
}

#[test]
fn curves_of_acknowledgements_end_before_they_fill_the_memory() {
    let both = |qps: &str| {
        ["sender-rtt", "sender-ecn"].map(|series| measure(series, &format!("qps = {qps:?}"))).concat()
    };
    let told = [1, 3].map(|threads| match with_little_room(&both("all"), threads) {
        Err(error @ RunError::TooManyPoints { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    });
    assert_eq!(told[0], told[1]);
    let says = "sender-rtt and sender-ecn have a point for each acknowledgement; qps = \"0-0\" has room";
    assert!(told[0].contains("came to 1000 points within ") && told[0].contains(says), "{}", told[0]);
    let advised = with_little_room(&both("0-0"), 1).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(advised.series.len(), 490);
    let instead = measure("flow-throughput", "qps = \"all\"\nevery = \"20us\"");
    assert!(!with_little_room(&instead, 1).unwrap_or_else(|e| panic!("{e}")).series.is_empty());
}

/// A curve with a point in each interval leaves fewer points for curves of events.
#[test]
fn curves_of_events_and_of_intervals_share_their_room() {
    let one = measure("sender-rtt", "qps = \"0-2\"");
    assert!(with_little_room(&one, 1).is_ok());
    let beside = measure("queue-depth", "links = \"tor:0/down:0\"\nevery = \"200ns\"");
    assert!(with_little_room(&beside, 1).is_ok());
    match with_little_room(&format!("{one}{beside}"), 1) {
        Err(RunError::TooManyPoints { what }) => assert!(what.contains("came to 1000 points"), "{what}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn curves_of_what_is_above_a_level_end_before_they_fill_the_memory() {
    let text = |above: &str| {
        let incast = "[workload]\nkind = \"incast\"\nbytes = \"1MB\"\n";
        let series =
            measure("queue-delay", &format!("links = \"tor:0/down:0\"\nevery = \"10ns\"\nabove = {above:?}"));
        format!(
            "schemes = [\"ops\"]\n[topology]\nkind = \"single-switch\"\nhosts = 8\nlink = \"100Gbps\"\n{incast}{series}"
        )
    };
    let run = |above: &str| {
        let scenario = scenario::read("test.toml", &text(above), &NoFiles, &Overrides::default()).unwrap();
        let mut point = scenario.points().unwrap().remove(0);
        point.most_points = 10_000;
        anabranch_sim::run(&point, &Control::default())
    };
    match run("0us") {
        Err(RunError::TooManyPoints { what }) => assert!(what.contains("a larger `above`"), "{what}"),
        other => panic!("{other:?}"),
    }
    assert!(run("1ms").unwrap_or_else(|e| panic!("{e}")).series.is_empty());
}
