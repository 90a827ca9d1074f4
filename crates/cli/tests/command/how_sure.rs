//! Tests of the confidence of a comparison, its baseline, and its first sentence.

use crate::common::{Place, SMALL, edited};
use serde_json::Value;

/// One message over the only path between two hosts. The path is down for 100 us.
const DOWN: &str = r#"title = "Down"
schemes = ["ecmp"]
[topology]
kind = "dumbbell"
hosts = 2
link = "100Gbps"
trunk = "100Gbps"
[workload]
kind = "messages"
[[workload.message]]
from = 0
to = 1
bytes = "10MB"
[[fault]]
kind = "link-down"
links = "host:0"
at = "200us"
duration = "100us"
[set]
"ecmp.transport.rto" = "20us"
"#;

fn run(place: &Place, args: &[&str]) -> Value {
    place.run(&[&["run", "s.toml", "--out", "out", "--json"][..], args].concat()).expect(0).json()
}

#[test]
fn a_scenario_without_seeds_has_three_and_intervals() {
    let place = Place::new();
    place.write("s.toml", edited("seeds = [1]\n", ""));
    let document = run(&place, &[]);
    assert_eq!(document["runs"].as_array().unwrap().len(), 6);
    let of_reps = &document["summary"][0];
    assert_eq!((&of_reps["scheme"], &of_reps["seeds"]), (&"reps".into(), &3.into()));
    let fct = &of_reps["numbers"]["fct_max_us"];
    let each: Vec<f64> = (0..3).map(|run| document["runs"][run]["fct_max_us"].as_f64().unwrap()).collect();
    let mean = each.iter().sum::<f64>() / 3.0;
    let half =
        4.303 * (each.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 2.0).sqrt() / 3.0_f64.sqrt();
    let near = |value: &Value, expected: f64| (value.as_f64().unwrap() - expected).abs() < 1e-9;
    assert!(
        near(&fct["mean"], mean) && near(&fct["low"], mean - half) && near(&fct["high"], mean + half),
        "{fct}"
    );

    let table = place.run(&["run", "s.toml", "--out", "out"]).expect(0).stdout;
    // The verdict's lines are wrapped, so only its beginning is compared.
    let first: String = document["verdict"].as_str().unwrap().chars().take(40).collect();
    assert!(table.contains(&first), "{first} in:\n{table}");
    assert!(table.contains("Student's t over seeds") && table.contains(" ±"), "{table}");
    let with_seeds = place.run(&["run", "s.toml", "--out", "out", "--per-seed"]).expect(0).stdout;
    assert_eq!(with_seeds.lines().filter(|line| line.starts_with("reps  ")).count(), 4, "{with_seeds}");

    let one = place.run(&["run", "s.toml", "--out", "out", "--seed", "2"]).expect(0).stdout;
    assert!(one.contains("One seed: no confidence intervals, no ranks.") && !one.contains('±'), "{one}");
    let check = place.run(&["check", "s.toml"]).expect(0).stdout;
    assert!(check.contains("6 = 2 schemes x 1 sweep point x 3 seeds"), "{check}");
}

#[test]
fn a_fault_is_compared_with_the_same_runs_without_it() {
    let place = Place::new();
    place.write("s.toml", DOWN);
    let document = run(&place, &["--seed", "1"]);
    let (runs, baselines) = (document["runs"].as_array().unwrap(), document["baselines"].as_array().unwrap());
    assert_eq!((runs.len(), baselines.len()), (1, 1));
    // No packet arrives for 100 us. The next timeout (the RTO is 20 us) then restarts the message.
    let recovered = runs[0]["time_to_recover_us"].as_f64().unwrap();
    assert!((95.0..=140.0).contains(&recovered), "{recovered}");
    let (with, without) =
        (runs[0]["fct_max_us"].as_f64().unwrap(), baselines[0]["fct_max_us"].as_f64().unwrap());
    let slowdown = &document["summary"][0]["slowdown_by_fault"];
    assert!((slowdown["mean"].as_f64().unwrap() - with / without).abs() < 1e-12, "{slowdown}");
    assert!((with - without - recovered).abs() < 20.0, "{with} {without} {recovered}");
    let verdict = document["verdict"].as_str().unwrap();
    assert!(verdict.contains("The fault (link-down) cost ecmp 1"), "{verdict}");

    // The baseline has the digest of the run without faults. `--no-baseline` does not change the digest of the run with
    // the fault.
    let (without_fault, _) = DOWN.split_once("[[fault]]").unwrap();
    let set = &DOWN[DOWN.find("[set]").unwrap()..];
    place.write("whole.toml", format!("{without_fault}{set}"));
    let whole = place.run(&["run", "whole.toml", "--out", "out", "--json", "--seed", "1"]).expect(0).json();
    assert_eq!(whole["runs"][0]["digest"], baselines[0]["digest"]);
    assert_eq!(whole["baselines"].as_array().unwrap().len(), 0);
    let alone = run(&place, &["--seed", "1", "--no-baseline"]);
    assert_eq!(alone["runs"][0]["digest"], runs[0]["digest"]);
    assert!(alone["baselines"].as_array().unwrap().is_empty());
    assert_eq!(alone["summary"][0]["slowdown_by_fault"], Value::Null);

    // Stored results without baselines are not used if results with baselines are requested.
    let fresh = run(&place, &["--seed", "1", "--no-baseline", "--fresh"]);
    assert_eq!(fresh["runs"][0]["time_to_recover_us"], Value::Null);
    assert_eq!(run(&place, &["--seed", "1"])["baselines"].as_array().unwrap().len(), 1);
    let table = place.run(&["run", "s.toml", "--out", "out", "--seed", "1"]).expect(0).stdout;
    assert!(table.contains("recovers") && table.contains("by fault"), "{table}");
}

#[test]
fn swept_faults_share_a_baseline() {
    let place = Place::new();
    place.write("s.toml", format!("{DOWN}[sweep]\n\"fault.0.duration\" = [\"10us\", \"50us\"]\n"));
    let document = run(&place, &["--seed", "1"]);
    assert_eq!(document["runs"].as_array().unwrap().len(), 2);
    assert_eq!(document["baselines"].as_array().unwrap().len(), 1);
    let slowdowns: Vec<f64> = document["summary"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["slowdown_by_fault"]["mean"].as_f64().unwrap())
        .collect();
    assert!(1.0 < slowdowns[0] && slowdowns[0] < slowdowns[1], "{slowdowns:?}");
}

#[test]
fn what_is_missing_stands_above_everything_else() {
    let place = Place::new();
    // The link stays down.
    place.write("s.toml", DOWN.replace("duration = \"100us\"\n", ""));
    let document = place.run(&["run", "s.toml", "--out", "out", "--json"]).expect(1).json();
    let verdict = document["verdict"].as_str().unwrap();
    assert!(verdict.starts_with("Not whole: 3 of 6 runs failed"), "{verdict}");
    assert!(verdict.contains("Left out of the ranking: ecmp (3 of 3 runs did not finish)"), "{verdict}");
    let page = std::path::Path::new(document["folder"].as_str().unwrap()).join("report.html");
    let page = std::fs::read_to_string(place.path().join(page)).unwrap();
    let (above, _) = page.split_once("<h2>Summary</h2>").unwrap();
    assert!(
        above.contains("These results are not whole")
            && above.contains("ecmp, seed 3</b> (numbers of the first of them): stalled")
    );
    let folder = document["folder"].as_str().unwrap();
    let table = place.run(&["report", folder]).expect(0).stdout;
    assert!(table.contains("Not whole: 3 of 6 runs failed"), "{table}");
}

#[test]
fn the_peak_queue_is_named_and_what_packets_found() {
    let place = Place::new();
    place.write(
        "s.toml",
        SMALL.replace("kind = \"permutation\"", "kind = \"incast\"\ndegree = 8\ntarget = 3"),
    );
    let document = run(&place, &[]);
    let incast = &document["runs"][0];
    let peak = incast["peak_queue_bytes"].as_u64().unwrap();
    assert!((100_000..800_000).contains(&peak), "{peak}");
    let p99 = incast["queue_p99_bytes"].as_u64().unwrap();
    assert!((peak / 2..peak).contains(&p99), "what 99 % of its packets found: {p99}");
    // The percentile is rounded up, but it does not exceed the peak.
    let full = "[set]\n\"*.fabric.queue\" = \"70KB\"\n";
    let incast_of_eight =
        SMALL.replace("kind = \"permutation\"", "kind = \"incast\"\ndegree = 8\ntarget = 3");
    place.write("s.toml", incast_of_eight.replace("100KB", "1MB") + full);
    let document = run(&place, &[]);
    let dropped = &document["runs"][0];
    assert_eq!(dropped["queue_p99_bytes"], dropped["peak_queue_bytes"], "{dropped}");
    place.write("s.toml", incast_of_eight);
    let link = incast["peak_queue_link"].as_str().unwrap();
    assert!(link.starts_with("tor:") && link.contains("down"), "the link to the receiver: {link}");
    let folder = run(&place, &[])["folder"].as_str().unwrap().to_owned();
    let table = place.run(&["report", &folder]).expect(0).stdout;
    assert!(table.contains("KB") && table.contains("peak"), "{table}");
}

/// The note on timeouts below a table, without its first words, in one line.
fn timeouts(place: &Place, scenario: &str) -> String {
    place.write("s.toml", scenario);
    let folder = run(place, &[])["folder"].as_str().unwrap().to_owned();
    let table = place.run(&["report", &folder]).expect(0).stdout;
    let notes = table.split_whitespace().collect::<Vec<_>>().join(" ");
    notes.split_once("Timeouts (transport.rto, ").map(|(_, note)| note.to_owned()).unwrap_or_default()
}

/// 15 hosts send to one host, so that short queues drop packets and timers expire.
#[test]
fn that_the_timeout_follows_the_buffer_is_said_of_one_queue_and_of_several() {
    let place = Place::new();
    let incast = edited("kind = \"permutation\"", "kind = \"incast\"\ndegree = 15");
    let one = timeouts(&place, &format!("{incast}[set]\n\"*.fabric.queue\" = \"100KB\"\n"));
    let rule = "which follows the buffers unless set)";
    let (_, first) = one.split_once(&format!("{rule}: ")).unwrap();
    let first: String = first.split('.').take(2).collect::<Vec<_>>().join(".");
    let swept = format!("{incast}[sweep]\n\"*.fabric.queue\" = [\"100KB\", \"200KB\"]\n");
    let two = timeouts(&place, &swept);
    let start = format!("{rule} change over the sweep, at *.fabric.queue = 100KB: ");
    let told = two.strip_prefix(&start).unwrap_or_else(|| panic!("{start} in {two}"));
    let (at_first, rest) = told.split_once(" | at *.fabric.queue = 200KB: ").unwrap();
    assert!(first.starts_with(at_first), "{first} and {at_first}");
    assert!(rest.contains("What is swept acts through the timeouts too"), "{rest}");
    // With a fixed RTO in `[set]`, all points have the same timeout.
    let held = timeouts(&place, &format!("{swept}[set]\n\"*.transport.rto\" = \"40us\"\n"));
    assert!(held.starts_with(&format!("{rule}: 40us.")), "{held}");
}

/// A public report: larger buffers first make an AllToAll slower and then faster, because the timeout depends on the
/// buffers.
#[test]
fn the_public_report_of_larger_buffers_says_that_timeouts_follow_them() {
    let Some(peers) = std::env::var_os("ANABRANCH_PEERS").map(std::path::PathBuf::from) else {
        println!("skipped: ANABRANCH_PEERS is not set");
        return;
    };
    let cases = peers.join("cases").join("31-larger-buffers");
    let place = Place::new();
    let text = |name: &str| std::fs::read_to_string(cases.join(name)).unwrap();
    let said = timeouts(&place, &text("sweep.toml"));
    for part in [
        "change over the sweep, at *.fabric.queue = 100KB: 35.4 us (reps, ecmp, dcp)",
        "at *.fabric.queue = 6400KB: ",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert!(timeouts(&place, &text("two.toml")).contains("change over the sweep"));
}
