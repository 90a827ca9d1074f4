use super::*;
use crate::samples::{collectives, two_schemes};
use anabranch_results::Value;
use proptest::prelude::*;

fn number(text: &str) -> f64 {
    match Measure::parse(text).and_then(|measure| measure.evaluate(&two_schemes())) {
        Ok(ClaimValue::Number(number)) => number,
        other => panic!("{text}: {other:?}"),
    }
}

fn error(text: &str) -> String {
    Measure::parse(text).and_then(|measure| measure.evaluate(&two_schemes())).unwrap_err().to_string()
}

#[test]
fn arithmetic_has_the_usual_order() {
    assert_eq!(number("1 + 2 * 3 - 4 / 2"), 5.0);
    assert_eq!(number("-(1 + 2) * 2"), -6.0);
    assert_eq!(number("2 - 1 - 1"), 0.0);
    assert_eq!(number("max(1, 2.5e1, 3) - min(4, 2) + abs(-1)"), 24.0);
    assert_eq!(number("--1"), 1.0);
}

#[test]
fn comparisons_chain() {
    assert_eq!(number("1 < 2 < 3"), 1.0);
    assert_eq!(number("1 < 2 < 2"), 0.0);
    assert_eq!(number("2 >= 2 > 1 == 1"), 1.0);
    assert_eq!(number("min over bytes: fct_max(reps) < fct_max(ops)"), 1.0);
}

#[test]
fn fields_are_means_over_seeds() {
    assert_eq!(number("fct_max(ops, workload.bytes=\"8MiB\")"), 120.0);
    assert_eq!(number("fct_max_us(ops, bytes=16MiB)"), 400.0);
    assert_eq!(number("fct_max(ops, bytes=16MiB, seed=2)"), 405.0);
    assert_eq!(number("drops(ops, bytes=8MiB) - drops(reps, bytes=8MiB)"), 30.0);
    assert_eq!(number("extra(ops, mean_max_queue, bytes=8MiB)"), 7.0);
}

#[test]
fn over_goes_through_the_sweep_and_the_seeds() {
    assert_eq!(number("max over workload.bytes: fct_max(ops) / fct_max(reps)"), 2.0);
    assert_eq!(number("min over bytes: fct_max(ops) / fct_max(reps)"), 1.2);
    assert_eq!(number("first over bytes: fct_max(reps)"), 100.0);
    assert_eq!(number("last over bytes: fct_max(reps)"), 200.0);
    assert_eq!(number("max over bytes: max over seed: fct_max(reps)"), 205.0);
    assert_eq!(number("(max over bytes: fct_max(reps)) / 2 + 1"), 101.0);
    let range = Measure::parse("range over bytes: fct_max(ops)").unwrap().evaluate(&two_schemes());
    assert_eq!(range, Ok(ClaimValue::Range([120.0, 400.0])));
    let pair = Measure::parse("[1, 2 + 3]").unwrap().evaluate(&two_schemes());
    assert_eq!(pair, Ok(ClaimValue::Range([1.0, 5.0])));
}

#[test]
fn series_have_entities_and_windows() {
    let series = |rest: &str| number(&format!("series_{rest}, bytes=8MiB)"));
    assert_eq!(series("max(reps, queue_depth_bytes"), 904.0);
    assert_eq!(series("max(reps, queue_depth_bytes, entity=\"tor:0/up\""), 204.0);
    assert_eq!(series("mean(reps, queue_depth_bytes, entity=\"tor:0/up:0\", from_us=10, to_us=30"), 102.5);
    assert_eq!(series("first(reps, queue_depth_bytes, entity=tor:1"), 901.0);
    assert_eq!(series("last(reps, queue_depth_bytes, entity=tor:1"), 904.0);
}

#[test]
fn messages_are_chosen_by_length() {
    assert_eq!(number("fct(reps, max, bytes=8MiB, seed=1)"), 95.0);
    assert_eq!(number("fct(reps, max, max_bytes=1000, bytes=8MiB, seed=1)"), 75.0);
    assert_eq!(number("slowdown(reps, p50, min_bytes=1001, bytes=8MiB, seed=1)"), 1.9);
}

/// One run of `reps` with 6 messages of 1, 2, 2, 10, 20 and 30 KB, whose slowdowns are 1, 2, 3, 4, 6 and 8. One run of
/// `ops` has twice these slowdowns. The series `queue_depth_bytes` has points at two ports.
fn by_size() -> ResultSet {
    let mut set = two_schemes();
    set.runs.retain(|run| run.seed == 1 && run.sweep["workload.bytes"] == Value::Text("8MiB".into()));
    let pattern = set.flows[0].clone();
    (set.flows, set.series) = (Vec::new(), Vec::new());
    for (run, factor) in [(0, 1), (1, 2)] {
        (set.runs[run as usize].flows, set.runs[run as usize].flows_finished) = (6, 6);
        for (bytes, slowdown) in [(30, 8), (1, 1), (2, 2), (2, 3), (10, 4), (20, 6)] {
            let fct_ps = Some(slowdown * factor * 50_000_000);
            set.flows.push(anabranch_results::FlowRow {
                run,
                bytes: bytes * 1000,
                fct_ps,
                ..pattern.clone()
            });
        }
        for (entity, values) in
            [("tor:0/up:0", [10, 90, 50, 40, 44, 40]), ("tor:0/up:1", [40, 40, 90, 30, 40, 40])]
        {
            set.series.extend(values.into_iter().zip(1..).map(|(value, step)| {
                anabranch_results::SeriesRow {
                    run,
                    series: "queue_depth_bytes".into(),
                    entity: entity.into(),
                    time_ps: step * 10_000_000,
                    value: f64::from(value * factor as i32),
                }
            }));
        }
    }
    set
}

fn of_sizes(text: &str) -> Result<ClaimValue, String> {
    let evaluated = Measure::parse(text).and_then(|measure| measure.evaluate(&by_size()));
    evaluated.map_err(|error| error.to_string())
}

#[test]
fn bins_take_the_messages_by_length() {
    for (text, expected) in [
        // Slowdowns by bin: 1, 2 and 3 up to 2 KB; 4 above that up to 10 KB; 6 and 8 above that.
        ("mean over bins(2000, 10000): slowdown(reps, mean)", (2.0 + 4.0 + 7.0) / 3.0),
        ("max over bins(2000, 10000): slowdown(reps, max)", 8.0),
        ("first over bins(2000): slowdown(reps, sum)", 6.0),
        ("last over bins(2e3): slowdown(reps, sum)", 18.0),
        // Each bin has two messages, with slowdowns of 1 and 2, 3 and 4, 6 and 8.
        ("mean over bins(count=3): slowdown(reps, max)", (2.0 + 4.0 + 8.0) / 3.0),
        // The bins have alternately one and two messages: 1; 2, 3; 4; 6, 8.
        ("last over bins(count=4): slowdown(reps, sum)", 14.0),
        ("first over bins(count=4): slowdown(reps, sum)", 1.0),
        ("mean over bins(count=6): slowdown(ops, p95) / slowdown(reps, p95)", 2.0),
        ("first over bins(count=2): slowdown(reps, sum, min_bytes=2000)", 5.0),
        ("1 + (max over bins(2000): slowdown(ops, mean)) - drops(ops)", 1.0 + 12.0 - 30.0),
    ] {
        assert_eq!(of_sizes(text), Ok(ClaimValue::Number(expected)), "{text}");
    }
    let range = of_sizes("range over bins(2000): slowdown(reps, mean)");
    assert_eq!(range, Ok(ClaimValue::Range([2.0, 6.0])));
    let jobs = of_collectives("last over bins(1000000, 2000000): cct(strack, max)");
    assert_eq!(jobs, Ok(ClaimValue::Number(120.0)));
}

#[test]
fn curves_settle_and_stay_near() {
    for (text, expected) in [
        ("time_to_settle(reps, queue_depth_bytes, entity=tor:0/up:0, value=40)", 30.0),
        ("time_to_settle(reps, queue_depth_bytes, entity=tor:0/up:0)", 30.0),
        ("time_to_settle(reps, queue_depth_bytes, entity=tor:0/up:0, within=0.05)", 50.0),
        // The result is the later of the times of the two entities.
        ("time_to_settle(reps, queue_depth_bytes, value=40)", 40.0),
        ("time_to_settle(reps, queue_depth_bytes, value=40, from_us=40)", 40.0),
        ("time_to_settle(ops, queue_depth_bytes, entity=tor:0/up:1, value=80, within=0.3)", 30.0),
        // The means over intervals are 50, 45 and 42. From the end of the first interval (20 us) on, they are within a
        // tenth of 42. A tenth is the default of `within`.
        ("time_to_settle(reps, queue_depth_bytes, entity=tor:0/up:0, smooth_us=20)", 20.0),
        ("time_near(reps, queue_depth_bytes, entity=tor:0/up:0, value=max)", 10.0),
        ("time_near(reps, queue_depth_bytes, entity=tor:0/up:0, value=44)", 30.0),
        // The result is the mean of 30 and 40.
        ("time_near(reps, queue_depth_bytes, value=40)", 35.0),
        ("time_near(reps, queue_depth_bytes, entity=tor:0/up:1, value=last, to_us=20)", 20.0),
        ("time_near(reps, queue_depth_bytes, value=1e6)", 0.0),
    ] {
        assert_eq!(of_sizes(text), Ok(ClaimValue::Number(expected)), "{text}");
    }
}

#[test]
fn mistakes_with_bins_and_curves_are_explained_with_their_place() {
    for (text, column, words) in [
        ("mean over bins(): slowdown(reps, p50)", 16, "expected a length in bytes, or `count=`"),
        ("mean over bins(10KB): slowdown(reps, p50)", 16, "without a unit"),
        ("mean over bins(2000, 1000): slowdown(reps, p50)", 22, "larger than the one before"),
        ("mean over bins(count=1): slowdown(reps, p50)", 22, "expected 2 to 100 bins"),
        ("mean over bins(cuont=3): slowdown(reps, p50)", 16, "or `count=20`, found `cuont`"),
        ("mean over bin(2000): slowdown(reps, p50)", 11, "did you mean `bins`?"),
        ("mean over bins(2000): drops(reps)", 11, "messages one by one"),
        ("mean over bins(2): max over bins(3): slowdown(reps, p50)", 29, "already fixed"),
        ("mean over bins(500, 2000): slowdown(reps, p50)", 28, "no messages of these lengths in bin 1 of 3"),
        ("mean over bins(count=7): slowdown(reps, p50)", 26, "in bin 1 of 7"),
        ("time_to_setle(reps, queue_depth_bytes)", 1, "did you mean `time_to_settle`?"),
        ("time_to_settle(reps)", 1, "expected a series"),
        ("time_near(reps, queue_depth_bytes)", 1, "needs `value=`"),
        ("time_near(reps, queue_depth_bytes, value=maxx)", 42, "did you mean `max`?"),
        ("time_near(reps, queue_depth_bytes, value=40, within=0)", 53, "above 0"),
        ("time_near(reps, queue_depth_bytes, value=40, witin=0.2)", 46, "did you mean `within`?"),
        ("time_near(reps, queue_dept, value=40)", 17, "queue_depth_bytes"),
        ("time_to_settle(reps, queue_depth_bytes, value=90)", 1, "at tor:0/up:0 has not settled"),
        ("time_to_settle(reps, queue_depth_bytes, from_us=1000)", 22, "no points in this window"),
        ("time_near(reps, queue_depth_bytes, value=40, seed=9)", 51, "no run with seed=9"),
    ] {
        let message = of_sizes(text).expect_err(text);
        assert!(message.contains(&format!("column {column}: ")), "{text}: {message}");
        assert!(message.contains(words), "{text}: {message}");
    }
}

/// [`two_schemes`] with messages of 4 packets in two groups. The longer message of each run is in the group `incast`.
/// In seed 2, `ops` retransmits 6 packets of the longer message, which times out twice, and 1 packet of the shorter
/// one.
fn with_groups() -> ResultSet {
    let mut set = two_schemes();
    for flow in &mut set.flows {
        let run = &set.runs[flow.run as usize];
        let long = flow.bytes > 1000;
        flow.packets = 4;
        flow.group = if long { "incast" } else { "background" }.into();
        if run.scheme == "ops" && run.seed == 2 {
            (flow.retransmissions, flow.timeouts) =
                (Some(if long { 6 } else { 1 }), Some(2 * u32::from(long)));
        }
    }
    set.runs.iter_mut().for_each(|run| (run.timeouts, run.slowdown_p95) = (3, 2.5));
    set
}

#[test]
fn groups_and_what_messages_sent_again_are_measured() {
    let set = with_groups();
    let number = |text: &str| match Measure::parse(text).and_then(|measure| measure.evaluate(&set)) {
        Ok(ClaimValue::Number(number)) => number,
        other => panic!("{text}: {other:?}"),
    };
    for (text, expected) in [
        ("slowdown(reps, max, group=incast, bytes=8MiB, seed=1)", 1.9),
        ("slowdown(reps, max, group=\"background\", bytes=8MiB, seed=1)", 1.5),
        ("fct(reps, sum, bytes=8MiB, seed=1)", 170.0),
        ("retransmissions(ops, share, bytes=8MiB, seed=2)", 1.0),
        ("retransmissions(ops, share, bytes=8MiB, seed=1)", 0.0),
        ("retransmissions(ops, share, bytes=8MiB)", 0.5),
        ("retransmissions(ops, max, bytes=8MiB, seed=2, max_bytes=1000)", 1.0),
        ("retransmitted_share(ops, max, bytes=8MiB, seed=2)", 1.5),
        ("retransmitted_share(ops, mean, bytes=8MiB, seed=2, group=background)", 0.25),
        ("timeouts(ops, sum, group=incast, bytes=8MiB, seed=2)", 2.0),
        ("timeouts(ops, sum, group=background, bytes=8MiB, seed=2)", 0.0),
        ("timeouts(ops, share, bytes=8MiB, seed=2)", 0.5),
        // Without arguments about messages, the value is that of the whole run.
        ("timeouts(ops, bytes=8MiB)", 3.0),
        ("retransmissions(ops, bytes=8MiB)", 30.0),
        ("slowdown_p95(ops, bytes=8MiB)", 2.5),
    ] {
        assert_eq!(number(text), expected, "{text}");
    }
}

/// [`two_schemes`] whose longer messages are in the group `background` and cross data centres. The shorter messages of
/// `reps` stay within a data centre. Those of `ops` belong to a pipeline and cross data centres.
fn across_data_centres() -> ResultSet {
    let mut set = two_schemes();
    for flow in &mut set.flows {
        let reps = set.runs[flow.run as usize].scheme == "reps";
        let group = match (flow.bytes > 1000, reps) {
            (true, _) => "background/inter",
            (false, true) => "background/intra",
            (false, false) => "pipeline/inter",
        };
        flow.group = group.into();
    }
    set
}

#[test]
fn groups_are_taken_whole_or_by_their_parts() {
    let set = across_data_centres();
    let value = |text: &str| match Measure::parse(text).and_then(|measure| measure.evaluate(&set)) {
        Ok(ClaimValue::Number(number)) => Ok(number),
        other => Err(format!("{other:?}")),
    };
    let same = |a: &str, b: &str| {
        let [a, b] = [a, b].map(|text| value(text).unwrap_or_else(|e| panic!("{text}: {e}")));
        assert_eq!(a, b);
    };
    let of = |what: &str| format!("slowdown({what}, bytes=8MiB, seed=1)");
    same(&of("reps, mean, group=inter"), &of("reps, mean, min_bytes=1001"));
    same(&of("reps, p99, group=intra"), &of("reps, p99, max_bytes=1000"));
    same(&of("reps, mean, group=background"), &of("reps, mean"));
    same(&of("reps, mean, group=background/inter"), &of("reps, mean, min_bytes=1001"));
    same(&of("ops, mean, group=inter"), &of("ops, mean"));
    same(&of("ops, mean, group=pipeline"), &of("ops, mean, max_bytes=1000"));
    same(&of("ops, p99, group=inter, min_bytes=1001"), &of("ops, p99, min_bytes=1001"));
    // A substring of a group's name does not match.
    assert!(value(&of("reps, mean, group=round/inter")).is_err());
    assert!(value(&of("ops, mean, group=intra")).unwrap_err().contains("did you mean `inter`?"));
    let ratio =
        "slowdown(reps, mean, group=inter, bytes=8MiB) / slowdown(reps, mean, group=intra, bytes=8MiB)";
    let [inter, intra] = [("min", 1001), ("max", 1000)].map(|(side, bytes)| {
        value(&format!("slowdown(reps, mean, {side}_bytes={bytes}, bytes=8MiB)")).unwrap()
    });
    assert_eq!(value(ratio).unwrap(), inter / intra);
    assert!(inter != intra, "both groups are the same, and nothing is compared");
}

#[test]
fn what_is_not_known_of_groups_and_retransmissions_is_explained() {
    let mut set = with_groups();
    set.flows[0].retransmissions = None;
    let error = |text: &str| {
        Measure::parse(text).and_then(|measure| measure.evaluate(&set)).expect_err(text).to_string()
    };
    for (text, column, words) in [
        ("slowdown(reps, p99, group=incst, bytes=8MiB)", 27, "did you mean `incast`?"),
        ("timeouts(reps, group=incast, bytes=8MiB)", 1, "expected mean, min, max, sum, share"),
        ("timeouts(reps, median, bytes=8MiB)", 16, "found `median`"),
        (
            "retransmissions(reps, sum, bytes=8MiB)",
            1,
            "of 1 of 2 messages of `reps`, seed 1, this is not known",
        ),
        ("retransmitted_share(reps, bytes=8MiB)", 1, "expected mean, min, max, sum, share"),
        ("cct(reps, max, group=incast, bytes=8MiB)", 16, "no swept parameter `group`"),
    ] {
        let message = error(text);
        assert!(message.contains(&format!("column {column}: ")), "{text}: {message}");
        assert!(message.contains(words), "{text}: {message}");
    }
    let message = of_collectives("slowdown_p95(strack)").unwrap_err();
    assert!(message.contains("do not record their 1000000 messages one by one"), "{message}");
    set.flows[0].fct_ps = None;
    set.runs[0].flows_finished = 1;
    let message = Measure::parse("slowdown_p95(reps, bytes=8MiB)").unwrap().evaluate(&set).unwrap_err();
    assert!(message.to_string().contains("did not finish"), "{message}");
    let none = Measure::parse("slowdown(reps, p99, group=incast, bytes=8MiB)").unwrap();
    assert!(none.evaluate(&two_schemes()).unwrap_err().to_string().contains("there are none"));
}

fn of_collectives(text: &str) -> Result<ClaimValue, String> {
    let evaluated = Measure::parse(text).and_then(|measure| measure.evaluate(&collectives()));
    evaluated.map_err(|error| error.to_string())
}

#[test]
fn jobs_have_completion_times() {
    for (text, expected) in [
        ("cct(strack, max)", 120.0),
        ("cct(strack, min, min_bytes=1000001)", 110.0),
        ("cct(rocev2, p50, max_bytes=2000000, seed=1)", 300.0),
        ("cct(rocev2, mean) / cct(strack, mean)", 310.0 / 110.0),
        ("cct_max(rocev2) - cct_mean(rocev2)", 10.0),
        ("jobs(strack) + pause_frames(rocev2)", 4_324.0),
        ("pause(rocev2)", 54_012.5),
        ("fct_max(strack)", 25.0),
    ] {
        assert_eq!(of_collectives(text), Ok(ClaimValue::Number(expected)), "{text}");
    }
    let error = error("cct(reps, max, bytes=8MiB)");
    assert!(error.contains("no jobs: only a collective workload has"), "{error}");
    let error = of_collectives("cct(strack, max, min_bytes=9e9)").unwrap_err();
    assert!(error.contains("no jobs of these lengths"), "{error}");
}

#[test]
fn messages_that_are_not_recorded_are_explained() {
    for text in ["fct(strack, p99)", "slowdown(strack, max)"] {
        let error = of_collectives(text).unwrap_err();
        assert!(error.contains("do not record their 1000000 messages one by one"), "{error}");
        assert!(error.contains("cct(strack, max)"), "{error}");
    }
}

#[test]
fn an_unfinished_job_has_no_completion_time() {
    let mut set = collectives();
    set.jobs[1].cct_ps = None;
    let evaluate = |text: &str| Measure::parse(text).unwrap().evaluate(&set);
    for text in ["cct(strack, min)", "cct_max(strack)"] {
        let error = evaluate(text).unwrap_err().to_string();
        assert!(error.contains("1 of 3 jobs of `strack`, seed 1, did not finish"), "{error}");
    }
    assert_eq!(evaluate("cct(strack, max, max_bytes=1000000)"), Ok(ClaimValue::Number(100.0)));
}

#[test]
fn mistakes_are_explained_with_their_place() {
    for (text, column, words) in [
        ("", 1, "found the end"),
        ("1 +", 4, "found the end"),
        ("1 1", 3, "expected an operator"),
        ("fct_mx(reps)", 1, "did you mean `fct_max`"),
        ("p99_slowdown(reps)", 1, "did you mean `slowdown_p99`"),
        ("1 + fct_max(rps)", 13, "did you mean `reps`"),
        ("fct_max(reps", 13, "expected `)`"),
        ("fct_max(reps, bytes=\"8MB\")", 21, "did you mean `8MiB`"),
        ("fct_max(reps, byts=8MiB)", 15, "no swept parameter `byts`"),
        ("fct_max(reps)", 1, "workload.bytes has several values"),
        ("max over bites: drops(ops)", 10, "no swept parameter `bites`"),
        ("median over seed: 1", 1, "unknown `median over`"),
        ("max over seed: max over seed: 1", 25, "already fixed"),
        ("1 + (range over seed: 1)", 17, "whole measure"),
        ("drops(ops, bytes=8MiB) / drops(reps, bytes=8MiB)", 24, "division of 30 by zero"),
        ("series_max(reps, queue_dept, bytes=8MiB)", 18, "queue_depth_bytes"),
        ("series_max(reps, queue_depth_bytes, entity=tor:7, bytes=8MiB)", 18, "no entity `tor:7`"),
        ("series_max(reps, queue_depth_bytes, from_us=1000, bytes=8MiB)", 18, "no points"),
        ("series_max(reps)", 1, "expected a series"),
        ("series_max(reps, q, from_us=1ms)", 29, "expected a number"),
        ("extra(ops, rounds, bytes=8MiB)", 12, "no extra number `rounds`; known: mean_max_queue"),
        ("fct(reps, p200)", 11, "percentile"),
        ("fct_max(\"reps)", 9, "never closed"),
        ("fct_max(reps, p99)", 15, "does not take"),
        ("1 = 1", 3, "expected `==`"),
        ("µ + 1", 1, "found `µ`"),
        ("fct_max[reps]", 8, "expected `(`"),
        ("1e999", 1, "is not a number"),
    ] {
        let message = error(text);
        assert!(message.contains(&format!("column {column}: ")), "{text}: {message}");
        assert!(message.contains(words), "{text}: {message}");
    }
}

#[test]
fn unfinished_messages_have_no_completion_time() {
    let mut set = two_schemes();
    set.runs[0].flows_finished = 1;
    set.flows[1].fct_ps = None;
    let evaluate = |text: &str| Measure::parse(text).unwrap().evaluate(&set);
    let message = evaluate("fct_max(reps, bytes=8MiB)").unwrap_err().to_string();
    assert!(message.contains("1 of 2 messages of `reps`, seed 1, did not finish"), "{message}");
    assert!(evaluate("fct(reps, p50, bytes=8MiB)").is_err());
    assert!(evaluate("fct(reps, p50, bytes=8MiB, max_bytes=1000)").is_ok());
    assert!(evaluate("flows_finished(reps, bytes=8MiB)").is_ok());
}

#[test]
fn a_parameter_with_two_owners_must_be_written_whole() {
    let mut set = two_schemes();
    for run in &mut set.runs {
        run.sweep.insert("fault.bytes".into(), Value::Integer(1));
    }
    let evaluate = |text: &str| Measure::parse(text).unwrap().evaluate(&set);
    let message = evaluate("max over bytes: drops(ops)").unwrap_err().to_string();
    assert!(message.contains("fault.bytes or workload.bytes"), "{message}");
    assert!(evaluate("max over workload.bytes: drops(ops)").is_ok());
}

#[test]
fn depth_and_length_are_bounded() {
    assert!(error(&"(".repeat(10_000)).contains("levels deep"));
    assert!(error(&format!("1{}", "+1".repeat(10_000))).contains("terms"));
    assert_eq!(number(&format!("{}1", "-".repeat(10_000))), 1.0);
    assert!(error(&"max over seed: ".repeat(10_000)).contains("levels deep"));
}

#[test]
fn schemes_are_listed_once() {
    let measure =
        Measure::parse("max over b: fct_max(ops) / fct_max(reps) < min(drops(ecmp), drops(ops))").unwrap();
    assert_eq!(measure.schemes(), ["ecmp", "ops", "reps"]);
}

proptest! {
    #[test]
    fn no_text_panics(text: String) {
        let _ = Measure::parse(&text).and_then(|measure| measure.evaluate(&two_schemes()));
    }

    #[test]
    fn nothing_made_of_its_own_words_panics(words in proptest::collection::vec(proptest::sample::select(vec![
        "max", "min", "over", "seed", "bytes", ":", "(", ")", "[", "]", ",", "+", "-", "*", "/", "<", "==", "=", "\"",
        "fct_max", "reps", "ops", "drops", "series_max", "queue_depth_bytes", "from_us", "1", "0", ".5", "8MiB", "e9",
        "range", "extra", "slowdown", "p99", "µ", " ", "bins", "count", "time_near", "value", "time_to_settle", "smooth_us",
    ]), 0..40), gap in proptest::bool::ANY) {
        let text = words.join(if gap { " " } else { "" });
        let _ = Measure::parse(&text).and_then(|measure| measure.evaluate(&two_schemes()));
    }
}
