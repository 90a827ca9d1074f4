//! Tables of made-up results.

use super::*;
use crate::samples::{collectives, two_schemes};
use anabranch_results::RunRow;
use std::collections::BTreeSet;

#[test]
fn the_table_of_a_sweep_over_two_seeds() {
    insta::assert_snapshot!(table(&two_schemes(), USUAL_WIDTH));
}

#[test]
fn a_brief_table_has_the_columns_that_answer_and_counts_the_rest() {
    insta::assert_snapshot!(brief(&two_schemes(), USUAL_WIDTH, "anabranch report results/two-0"), @r"
    At workload.bytes = 8MiB: reps is fastest by the mean of two seeds: P99 slowdown 2.00 (± 1.3), 1.20 times faster than
    ops (2.40 ± 1.3).
    At workload.bytes = 16MiB: reps is fastest by the mean of two seeds: P99 slowdown 4.00 (± 1.3), 2.00 times faster than
    ops (8.00 ± 1.3).
    Note: Two seeds do not rank: their t-test has one degree of freedom. Three or more do.

    scheme  bytes            slow-      slow-
                   flows  down P50   down P99  drops
    ─────────────────────────────────────────────────
    reps    8MiB       4      1.60  2.00 ±1.3      0
    ops     8MiB       4      2.00  2.40 ±1.3     30

    reps    16MiB      4      3.60  4.00 ±1.3      0
    ops     16MiB      4      7.60  8.00 ±1.3     30
    Means over 2 seeds of the runs' own numbers, ± the half-width of the 95 % confidence interval (Student's t over seeds).
    On the page, or by `anabranch report results/two-0`: 10 more columns, and 2 more notes on what columns mean and what
    else may decide.
    ");
    insta::assert_snapshot!(brief(&collectives(), USUAL_WIDTH, "anabranch report results/collectives-0"), @r"
    strack is fastest at its one seed: CCT 120.0 µs, 2.67 times faster than rocev2 (320.0 µs).

    scheme           max   ideal
            jobs  CCT µs  CCT µs
    ─────────────────────────────
    strack     3   120.0       -
    rocev2     3   320.0       -
    One seed: no confidence intervals, no ranks.
    On the page, or by `anabranch report results/collectives-0`: 12 more columns, and 1 more note on what columns mean and
    what else may decide.
    ");
    let mut set = collectives();
    set.runs[1].jobs_finished = 2;
    let text = brief(&set, USUAL_WIDTH, "anabranch report results/collectives-0");
    assert!(text.contains("2/3") && text.contains("Jobs that did not finish: 1 of 6."), "{text}");
}

#[test]
fn unfinished_flows_are_named_and_a_column_without_a_sweep_is_left_out() {
    let mut set = two_schemes();
    set.runs.truncate(1);
    set.runs[0].flows_finished = 1;
    set.runs[0].sweep.clear();
    insta::assert_snapshot!(table(&set, USUAL_WIDTH));
}

#[test]
fn a_busy_run_fits_a_terminal() {
    let mut set = two_schemes();
    for run in &mut set.runs {
        (run.flows, run.flows_finished) = (8192, 8192);
        for time in [&mut run.fct_mean_us, &mut run.fct_p50_us, &mut run.fct_p99_us, &mut run.fct_max_us] {
            *time = 12_345.6;
        }
        (run.ideal_fct_max_us, run.completion_us) = (12_345.6, 12_345.6);
        (run.drops, run.ecn_marks) = (123_456, 123_456_789);
        (run.retransmissions, run.timeouts, run.packet_hops) = (1_234_567, 12_345, 1_234_567_890);
    }
    let text = table(&set, USUAL_WIDTH);
    assert!(text.lines().all(|line| line.chars().count() <= USUAL_WIDTH), "{text}");
    assert!(text.contains("0 in every run: link losses, trims."), "{text}");
}

#[test]
fn jobs_and_pauses_have_columns_where_there_are_any() {
    insta::assert_snapshot!(table(&collectives(), USUAL_WIDTH));
    let text = table(&two_schemes(), USUAL_WIDTH);
    assert!(!text.contains("CCT") && !text.contains("paus"), "{text}");
}

#[test]
fn data_centres_have_columns_of_their_sides() {
    let mut set = two_schemes();
    for run in &mut set.runs {
        run.extra.extend([("intra_slowdown_mean".into(), 2.5), ("intra_slowdown_p99".into(), 9.0)]);
    }
    let text = table(&set, USUAL_WIDTH);
    assert!(text.contains("intra") && text.contains("2.50") && text.contains("9.00"), "{text}");
    assert!(text.contains("Intra: flows within a data centre; inter: between two."), "{text}");
    let head = heads(&set);
    assert!(!head.contains("inter"), "no such flow, no such column: {head}");
    assert!(!heads(&two_schemes()).contains("intra"));
}

fn heads(set: &ResultSet) -> String {
    summary(set).head.iter().map(Head::shown).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_column_with_a_time_of_ten_thousand_microseconds_is_in_ms() {
    let mut set = two_schemes();
    set.runs.iter_mut().for_each(|run| (run.fct_mean_us, run.fct_max_us) = (9_000.0, 9_000.0));
    set.runs[0].fct_max_us = 40_000.0;
    let text = table(&set, 200);
    assert!(text.contains("FCT µs") && text.contains("9,000"), "{text}");
    let (heads, row) = (heads(&set), summary(&set).rows.remove(0).join(" "));
    assert!(heads.contains("max\nms") && heads.contains("FCT µs"), "{heads}");
    assert!(!row.contains("40,000"), "{row}");
    // If all times are long enough for milliseconds, all columns have that unit.
    for run in &mut set.runs {
        (run.fct_p50_us, run.fct_p99_us) = (9_000.0, 9_000.0);
        (run.ideal_fct_max_us, run.completion_us) = (9_000.0, 40_000.0);
    }
    let heads = self::heads(&set);
    assert!(!heads.contains("µs") && heads.matches("ms").count() >= 5, "{heads}");
}

/// The last line of a table's heading.
fn last_of_head(text: &str) -> &str {
    text.lines().take_while(|line| !line.starts_with('─')).last().unwrap_or_default()
}

#[test]
fn columns_that_do_not_fit_a_terminal_are_named_below() {
    let mut set = collectives();
    for run in &mut set.runs {
        run.sweep.insert("topology.oversubscription".into(), anabranch_results::Value::Integer(4));
        (run.drops, run.link_losses, run.ecn_marks) = (123_456, 123_456, 123_456_789);
        (run.retransmissions, run.timeouts) = (123_456, 123_456);
        (run.pause_frames, run.pause_us) = (123_456, 123_456_789.0);
        for time in [&mut run.fct_mean_us, &mut run.fct_p50_us, &mut run.fct_p99_us, &mut run.fct_max_us] {
            *time = 123_456.7;
        }
    }
    let text = table(&set, USUAL_WIDTH);
    assert!(text.lines().all(|line| line.chars().count() <= USUAL_WIDTH), "{text}");
    let note = text.lines().find(|line| line.starts_with("Left out here, on the page: P50 ms, "));
    assert!(note.is_some(), "{text}");
    assert!(!note.is_some_and(|note| note.contains("losses") || note.contains("outs")), "{text}");
    let explaining = ["drops", "losses", "outs", "resent", "frames"];
    assert!(explaining.iter().all(|head| last_of_head(&text).contains(head)), "{text}");
    assert_eq!(summary(&set).head.len(), 22, "the page has them all");
}

#[test]
fn a_wide_terminal_has_all_columns_and_a_narrow_one_those_that_explain() {
    let mut set = collectives();
    set.runs.iter_mut().for_each(|run| (run.link_losses, run.timeouts) = (17, 5));
    let wide = table(&set, 200);
    assert!(!wide.contains("Left out"), "{wide}");
    let narrow = table(&set, 64);
    assert!(narrow.lines().all(|line| line.chars().count() <= 64), "{narrow}");
    let head = last_of_head(&narrow);
    assert!(["losses", "outs", "flows", "CCT"].iter().all(|name| head.contains(name)), "{narrow}");
}

#[test]
fn a_run_that_failed_does_not_look_fast() {
    let mut set = collectives();
    let failed = &mut set.runs[1];
    (failed.flows_finished, failed.jobs_finished) = (2_042, 0);
    (failed.completion_us, failed.cct_mean_us, failed.cct_max_us) = (174.1, 0.0, 0.0);
    let row = |set: &ResultSet| summary(set).rows.pop().unwrap();
    let cells = "rocev2 2042/1000000 10.00 9.00 20.00 25.00 5.00 - 0/3 - -";
    assert_eq!(row(&set)[..11].join(" "), cells);
    let text = table(&set, USUAL_WIDTH);
    assert!(text.contains("Jobs that did not finish: 3 of 6. A scheme that lacks one has no CCT."), "{text}");
    // If only two of three jobs finished, there is no CCT either, because the CCT of the slowest job is not known.
    (set.runs[1].jobs_finished, set.runs[1].cct_max_us) = (2, 310.0);
    assert_eq!(row(&set)[8..11].join(" "), "2/3 - -");
    set.runs[1].flows_finished = 0;
    assert_eq!(row(&set)[2..6].join(" "), "- - - -");
    // One seed without a CCT is enough to make the mean unknown.
    set.runs.push(RunRow { seed: 2, ..set.runs[1].clone() });
    (set.runs[1].flows_finished, set.runs[1].jobs_finished) = (1_000_000, 3);
    assert_eq!(row(&set)[1..11].join(" "), "1000000/2000000 - - - - 5.00 - 5/6 - -");
}

#[test]
fn parameters_that_end_alike_keep_their_whole_names() {
    let all = BTreeSet::from(["reps.lb.buffer", "ops.lb.buffer", "workload.bytes"]);
    assert_eq!(summary::short_name("reps.lb.buffer", &all), "reps.lb.buffer");
    assert_eq!(summary::short_name("workload.bytes", &all), "bytes");
}

#[test]
fn collectives_without_computing_have_their_bandwidths() {
    let mut set = collectives();
    for run in &mut set.runs {
        let numbers = [("compute_max_us", 0.0), ("exposed_max_us", run.cct_max_us)];
        run.extra.extend(numbers.map(|(name, value)| (name.to_owned(), value)));
        (run.algbw_gbytes_per_sec, run.busbw_gbytes_per_sec) = (Some(12.34), Some(23.45));
    }
    let whole = table(&set, 2 * USUAL_WIDTH);
    assert!(whole.contains("12.34") && whole.contains("23.45") && !whole.contains("exposed"), "{whole}");
    let short = brief(&set, USUAL_WIDTH, "anabranch report r");
    assert!(short.contains("busbw") && short.contains("23.45") && !short.contains("12.34"), "{short}");
    set.runs[0].extra.insert("compute_max_us".to_owned(), 7.0);
    let computes = table(&set, 2 * USUAL_WIDTH);
    assert!(computes.contains("exposed") && !computes.contains("busbw"), "{computes}");
}

#[test]
fn a_table_of_classes_is_below_both_tables() {
    let set = crate::table::classes::tests::two_classes();
    for text in [table(&set, USUAL_WIDTH), brief(&set, USUAL_WIDTH, "anabranch report r")] {
        let (_, below) = text.split_once("\nTraffic classes:\n").unwrap();
        let row = below.lines().find(|line| line.contains(" storage ")).unwrap();
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(words[2..7], ["storage", "200.0", "µs", "250.0", "µs"]);
    }
    assert!(!table(&crate::samples::two_schemes(), USUAL_WIDTH).contains("Traffic classes"));
}
