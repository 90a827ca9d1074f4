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

/// [`two_schemes`] with messages in two groups: of 4 packets each, the longer one of a run in `incast`. At seed 2 `ops`
/// sends 6 packets of the longer one again and times out twice, 1 packet of the shorter one.
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
        // The number of the whole run, as ever.
        ("timeouts(ops, bytes=8MiB)", 3.0),
        ("retransmissions(ops, bytes=8MiB)", 30.0),
        ("slowdown_p95(ops, bytes=8MiB)", 2.5),
    ] {
        assert_eq!(number(text), expected, "{text}");
    }
}

/// [`two_schemes`], whose longer messages are of `background` and cross data centres; of the shorter ones those of
/// `reps` do not and those of `ops` are a pipeline's, which cross too.
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
    // Shares of a part's name are none of it.
    assert!(value(&of("reps, mean, group=round/inter")).is_err());
    assert!(value(&of("ops, mean, group=intra")).unwrap_err().contains("did you mean `inter`?"));
    // The ratio of figures 8, 9 and 12 of Themis-longhaul.
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
        "range", "extra", "slowdown", "p99", "µ", " ",
    ]), 0..40), gap in proptest::bool::ANY) {
        let text = words.join(if gap { " " } else { "" });
        let _ = Measure::parse(&text).and_then(|measure| measure.evaluate(&two_schemes()));
    }
}
