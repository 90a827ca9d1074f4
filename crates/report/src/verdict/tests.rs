//! Tests of sentences about made-up results.

use super::faults::NO_DATA_HIT;
use super::*;
use crate::ranking::tests::set;
use crate::ranking::{Recovery, summary_json};
use crate::scenario_text::set_scenario;
use anabranch_results::{FaultRow, RunFailure};

fn text(set: &ResultSet) -> String {
    verdict(set).join("\n")
}

#[test]
fn the_fastest_is_named_with_the_next_and_the_others() {
    let three =
        set(&[("b", &[200.0, 202.0, 204.0]), ("a", &[100.0, 101.0, 102.0]), ("c", &[400.0, 404.0, 408.0])]);
    insta::assert_snapshot!(text(&three), @"a is fastest: FCT 101.0 µs (± 2.5), 2.00 times faster than b (202.0 ± 5.0 µs); then c (404.0 ± 9.9 µs).");
    let ranks: Vec<_> =
        ranked_schemes(&three, &groups(&three)).iter().map(|standing| standing.rank).collect();
    assert_eq!(ranks, [Some(2), Some(1), Some(3)]);
    assert!(method(&three).contains("Student's t"));
}

#[test]
fn overlapping_intervals_tie_and_one_seed_claims_little() {
    let tie =
        set(&[("a", &[100.0, 110.0, 120.0]), ("b", &[105.0, 112.0, 118.0]), ("c", &[900.0, 901.0, 902.0])]);
    insta::assert_snapshot!(text(&tie), @"a and b tie within a factor of 1.09: FCT 110.0 µs (± 25) and 111.7 µs (± 16), at least 8.06 times faster than c (901.0 ± 2.5 µs).");
    let ranks: Vec<_> = ranked_schemes(&tie, &groups(&tie)).iter().map(|standing| standing.rank).collect();
    assert_eq!(ranks, [Some(1), Some(1), Some(3)]);
    // By hand: the slower of a and b takes 200 us, and 255 / 200 is 1.275. A ratio of 2.29 stays.
    for (of_c, least) in [([254.0, 255.0, 256.0], "1.27"), ([457.0, 458.0, 459.0], "2.29")] {
        let said = text(&set(&[("a", &[190.0, 200.0, 210.0]), ("b", &[188.0, 199.0, 210.0]), ("c", &of_c)]));
        assert!(said.contains(&format!("at least {least} times faster than c")), "{said}");
    }
    // The seeds of b show neither a difference nor a tie.
    let chain =
        set(&[("a", &[100.0, 101.0, 102.0]), ("b", &[65.0, 105.0, 175.0]), ("c", &[200.0, 201.0, 202.0])]);
    insta::assert_snapshot!(text(&chain), @r"
    a is fastest: FCT 101.0 µs (± 2.5), 1.99 times faster than c (201.0 ± 2.5 µs).
    Note: Not to be placed, as their seeds differ too much: b (115.0 ± 138 µs).
    ");
    let one = set(&[("a", &[100.0]), ("b", &[200.0])]);
    insta::assert_snapshot!(text(&one), @"a is fastest at its one seed: FCT 100.0 µs, 2.00 times faster than b (200.0 µs).");
    assert!(method(&one).ends_with("One seed: no confidence intervals, no ranks."));
    assert!(ranked_schemes(&one, &groups(&one)).iter().all(|standing| standing.rank.is_none()));
}

#[test]
fn what_did_not_finish_is_left_out_and_said() {
    let mut set = set(&[("a", &[100.0, 102.0, 104.0]), ("b", &[50.0, 50.0, 50.0])]);
    set.runs[5].flows_finished = 3;
    let missing = |scheme: &str, error: Option<&str>| MissingRun {
        scheme: scheme.to_owned(),
        seed: 3,
        sweep: BTreeMap::new(),
        baseline: false,
        cause: error.map(|message| RunFailure::Other { message: message.to_owned() }),
    };
    set.missing = vec![missing("b", Some("stalled"))];
    insta::assert_snapshot!(text(&set), @r"
    Not whole: 1 of 6 runs failed or never ran.
    a alone finished: FCT 102.0 µs (± 5.0).
    Note: Left out of the ranking: b (1 of 3 runs did not finish).
    ");
    set.runs.truncate(5);
    set.missing = vec![missing("b", None), missing("c", None)];
    insta::assert_snapshot!(text(&set), @r"
    Not whole: 2 of 7 runs failed or never ran.
    a alone finished: FCT 102.0 µs (± 5.0).
    Note: Left out of the ranking: b (1 of 3 runs did not finish).
    ");
}

/// Sets the number of data packets that the fault of each run affected, in the order of the runs. Each fault loses 5
/// packets.
fn with_hits(mut set: ResultSet, data_packets: &[u64]) -> ResultSet {
    for (run, &data_packets) in set.runs.iter_mut().zip(data_packets) {
        run.faults = vec![FaultRow { packets_lost: 5, data_packets, ..FaultRow::default() }];
    }
    set
}

#[test]
fn a_scheme_of_which_no_data_was_hit_is_not_called_fastest() {
    let three = || {
        set(&[("a", &[110.0, 115.0, 120.0]), ("b", &[100.0, 101.0, 102.0]), ("c", &[210.0, 211.0, 212.0])])
    };
    let hit = with_hits(three(), &[0, 3, 3, 0, 0, 0, 3, 3, 3]);
    insta::assert_snapshot!(text(&hit), @r"
    Of those whose data the faults hit, a is fastest: FCT 115.0 µs (± 12), 1.83 times faster than c (211.0 ± 2.5 µs).
    Note: Unhit by the faults at some seeds: a at 1 of 3 (117.5 µs where hit).
    Note: Not ranked, as the faults hit no data of theirs, at most ACKs and the like: b (101.0 ± 2.5 µs).
    Note: For an answer where no data was hit, let the faults hit more: more links, longer messages or more seeds.
    ");
    let shown: Vec<String> =
        ranked_schemes(&hit, &groups(&hit)).iter().map(RankedScheme::rank_shown).collect();
    assert_eq!(shown, ["1", "unhit", "2"]);
    let summary = summary_json(&hit);
    // b is slower than without faults although only ACKs were lost, so the faults did have an effect on it.
    let mut slower = hit.clone();
    slower.runs.extend(hit.runs.iter().map(|run| RunRow {
        baseline: true,
        fct_max_us: run.fct_max_us / if run.scheme == "b" { 2.0 } else { 1.0 },
        faults: Vec::new(),
        ..run.clone()
    }));
    assert!(verdict(&slower)[0].starts_with("b is fastest"), "{:?}", verdict(&slower));
    assert!(summary[1]["rank"].is_null() && summary[1]["seeds_unhit"] == 3, "{summary}");
    let nobody = with_hits(three(), &[0; 9]);
    let sentence = &verdict(&nobody)[0];
    let acks = "The faults hit no data of any scheme, at most ACKs and the like, and no run without faults tells what that cost";
    assert!(sentence.starts_with(acks) && sentence.contains(". b is fastest: "), "{sentence}");
    // The loss of ACKs cost nothing, or the faults hit no packet at all.
    let mut free = nobody.clone();
    free.runs.extend(nobody.runs.iter().map(|run| RunRow {
        baseline: true,
        faults: Vec::new(),
        ..run.clone()
    }));
    assert!(verdict(&free)[0].starts_with(NO_DATA_HIT), "{:?}", verdict(&free));
    let mut spared = nobody;
    spared.runs.iter_mut().for_each(|run| run.faults[0].packets_lost = 0);
    assert!(verdict(&spared)[0].starts_with(NO_DATA_HIT), "{:?}", verdict(&spared));
    // No run of c finishes, so a is the only finished scheme whose data the faults hit. The faults did not hit b.
    let mut stuck = hit;
    stuck.runs.iter_mut().filter(|run| run.scheme == "c").for_each(|run| run.flows_finished = 0);
    let sentence = &verdict(&stuck)[0];
    assert!(sentence.starts_with("a alone finished of those whose data the faults hit: FCT"), "{sentence}");
}

/// The losses of a topology file are in the run and in its baseline, so they do not count as packets that the fault
/// affected.
#[test]
fn faults_that_the_baseline_has_too_hit_nothing() {
    let mut set = set(&[("a", &[110.0, 115.0, 120.0]), ("b", &[100.0, 101.0, 102.0])]);
    let of_file = |fault| FaultRow {
        fault,
        kind: "packet-loss".into(),
        on: "error-rate:0.001".into(),
        data_packets: 7,
        ..FaultRow::default()
    };
    let down = FaultRow { kind: "link-down".into(), on: "host:3".into(), ..FaultRow::default() };
    let baselines: Vec<RunRow> = set
        .runs
        .iter()
        .map(|run| RunRow { baseline: true, faults: vec![of_file(0)], ..run.clone() })
        .collect();
    set.runs.iter_mut().for_each(|run| run.faults = vec![down.clone(), of_file(1)]);
    set.runs.extend(baselines);
    assert!(ranked_schemes(&set, &groups(&set)).iter().all(|standing| standing.unhit == [3, 3]));
    assert!(verdict(&set)[0].starts_with(NO_DATA_HIT), "{:?}", verdict(&set));
    set.runs[0].faults[0].data_packets = 1;
    assert_eq!(ranked_schemes(&set, &groups(&set))[0].unhit, [2, 3]);
    let text = crate::table::table(&set, 200);
    assert!(
        text.contains("without faults, which has the losses of the topology file as well, seed by seed"),
        "{text}"
    );
}

#[test]
fn of_many_schemes_the_first_are_named_and_the_rest_counted() {
    let names: Vec<String> = (0..14).map(|number| format!("s{number}")).collect();
    let numbers: Vec<[f64; 3]> = (0..14).map(|number| [100.0 + f64::from(number * 10); 3]).collect();
    let schemes: Vec<(&str, &[f64])> =
        names.iter().zip(&numbers).map(|(name, of)| (name.as_str(), &of[..])).collect();
    insta::assert_snapshot!(text(&set(&schemes)), @r"
    s0 is fastest by one run: FCT 100.0 µs (± 0), 1.10 times faster than s1 (110.0 ± 0 µs).
    Note: Behind: s2 (120.0 ± 0 µs), 10 more and last s13 (230.0 ± 0 µs).
    Note: Seeds change nothing here: ± 0 is no evidence, and they are compared by one run.
    ");
    let same: Vec<(&str, &[f64])> = names.iter().map(|name| (name.as_str(), &[5.0; 3][..])).collect();
    insta::assert_snapshot!(text(&set(&same)), @r"
    s0, s1, s2 and 11 more tie: FCT 5.00 µs (± 0) each.
    Note: Seeds change nothing here: ± 0 is no evidence, and they are compared by one run.
    ");
    let four: Vec<_> = schemes.iter().take(4).copied().collect();
    insta::assert_snapshot!(text(&set(&four)), @r"
    s0 is fastest by one run: FCT 100.0 µs (± 0), 1.10 times faster than s1 (110.0 ± 0 µs).
    Note: Behind: s2 (120.0 ± 0 µs), s3 (130.0 ± 0 µs).
    Note: Seeds change nothing here: ± 0 is no evidence, and they are compared by one run.
    ");
    let four: Vec<_> = same.iter().take(4).copied().collect();
    insta::assert_snapshot!(text(&set(&four)), @r"
    s0, s1 and 2 more tie: FCT 5.00 µs (± 0) each.
    Note: In the tie: s0, s1, s2 and s3.
    Note: Seeds change nothing here: ± 0 is no evidence, and they are compared by one run.
    ");
}

#[test]
fn seeds_that_change_nothing_are_no_evidence() {
    let ranks = |set: &ResultSet| -> Vec<_> {
        ranked_schemes(set, &groups(set)).iter().map(|standing| standing.rank).collect()
    };
    let two = set(&[("a", &[100.0; 3]), ("b", &[200.0; 3])]);
    insta::assert_snapshot!(text(&two), @r"
    a is fastest by one run: FCT 100.0 µs (± 0), 2.00 times faster than b (200.0 ± 0 µs).
    Note: Seeds change nothing here: ± 0 is no evidence, and they are compared by one run.
    ");
    assert_eq!(ranks(&two), [None, None], "as with one seed");
    let mixed = set(&[("a", &[100.0; 3]), ("b", &[200.0; 3]), ("c", &[300.0, 302.0, 304.0])]);
    insta::assert_snapshot!(text(&mixed), @r"
    a is fastest by one run: FCT 100.0 µs (± 0), 2.00 times faster than b (200.0 ± 0 µs); then c (302.0 ± 5.0 µs).
    Note: Seeds change nothing for a and b: ± 0 is no evidence, and they are compared by one run.
    ");
    assert_eq!(ranks(&mixed), [Some(1), Some(2), Some(3)]);
    let mut many = ResultSet::default();
    for point in 0..6 {
        let mut here =
            if point < 2 { two.clone() } else { set(&[("a", &[1.0, 2.0, 3.0]), ("b", &[3.0, 4.0, 5.0])]) };
        for run in &mut here.runs {
            run.sweep.insert("x".into(), anabranch_results::Value::Integer(point));
        }
        many.runs.extend(here.runs);
    }
    insta::assert_snapshot!(text(&many), @r"
    a is fastest at 6 of 6 sweep points (x = 0; x = 1; x = 2; ...).
    Note: Seeds change nothing for some schemes at 2 of 6 sweep points: ± 0 is no evidence.
    ");
}

/// `other` is 1 us slower than `clear` in the first and the third seed, and 1 us faster in the second, so they tie.
#[test]
fn what_ties_behind_the_first_is_named_together() {
    let [clear, other] = [[0.0, 2.0, 4.0], [1.0, 1.0, 5.0]];
    let at = |seeds: [f64; 3], base: f64| seeds.map(|fct| base + fct);
    let three = [at(clear, 100.0), at(clear, 200.0), at(other, 200.0)];
    insta::assert_snapshot!(text(&set(&[("a", &three[0]), ("b", &three[1]), ("c", &three[2])])), @r"
    a is fastest: FCT 102.0 µs (± 5.0), 1.98 times faster than b (202.0 ± 5.0 µs).
    Note: Tied with b: c.
    ");
    let all = [
        ("a", at(clear, 100.0)),
        ("b", at(clear, 200.0)),
        ("c", at(clear, 300.0)),
        ("d", at(clear, 400.0)),
        ("e", at(other, 400.0)),
        ("f", at(clear, 500.0)),
        ("g", at(clear, 600.0)),
        ("h", at(other, 600.0)),
    ];
    let all: Vec<(&str, &[f64])> = all.iter().map(|(name, fcts)| (*name, &fcts[..])).collect();
    insta::assert_snapshot!(text(&set(&all)), @r"
    a is fastest: FCT 102.0 µs (± 5.0), 1.98 times faster than b (202.0 ± 5.0 µs).
    Note: Behind: c (302.0 ± 5.0 µs), 3 more and last g (602.0 ± 5.0 µs; tied with h).
    ");
}

#[test]
fn a_run_that_was_done_before_its_fault_was_over_is_not_said_to_be_late() {
    let mut set = with_baselines(set(&[("a", &[110.0]), ("b", &[120.0])]), &[100.0; 2]);
    for run in set.runs.iter_mut().filter(|run| !run.baseline) {
        (run.faults, run.sim_time_us) =
            (vec![FaultRow { at_us: 5.0, ..FaultRow::default() }], run.fct_max_us);
    }
    let shown = |set: &ResultSet| crate::table::table(set, 120);
    assert!(shown(&set).matches("run ended").count() >= 2, "{}", shown(&set));
    let lasting = set.scenario_toml.clone();
    set_scenario(&mut set, format!("{lasting}per_hour = 5.0\n"));
    assert_eq!(ranked_schemes(&set, &groups(&set))[0].recovery, Recovery::Unknown);
    for (more, is_held) in [("duration = \"50us\"", false), ("until = \"1ms\"", true)] {
        set_scenario(&mut set, format!("{lasting}{more}\n"));
        assert_eq!(
            ranked_schemes(&set, &groups(&set))[0].recovery,
            Recovery::NotBefore { the_end_at: 1, of: 1, is_held },
            "{more}"
        );
    }
    assert!(shown(&set).contains("Slowdown by fault:"));
    set.runs.iter_mut().filter(|run| !run.baseline).for_each(|run| run.flows_finished = 1);
    let unfinished = shown(&set);
    assert!(unfinished.contains("not by end") && !unfinished.contains("Slowdown by fault:"), "{unfinished}");
}

#[test]
fn the_cost_of_a_fault_is_that_over_its_baseline_seed_by_seed() {
    let mut set = set(&[("a", &[110.0, 220.0, 330.0]), ("b", &[100.0, 110.0, 90.0])]);
    set_scenario(&mut set, "[[fault]]\nat = \"5us\"\nkind = \"link-down\"\n[workload]\nkind = \"incast\"\n");
    let bases = [100.0, 200.0, 300.0, 100.0, 100.0, 100.0];
    let runs: Vec<RunRow> = set.runs.clone();
    set.runs.extend(runs.into_iter().zip(bases).map(|(run, fct_max_us)| RunRow {
        baseline: true,
        fct_max_us,
        ..run
    }));
    set.runs[0].time_to_recover_us = Some(10.0);
    let sentences = verdict(&set);
    assert_eq!(sentences[1], "The fault (link-down) cost a 10 % (± 0).");
    assert!(sentences.contains(&"Note: Cost not sure: b 0 % (± 25).".to_owned()), "{sentences:?}");
    let recoveries: Vec<_> =
        ranked_schemes(&set, &groups(&set)).iter().map(|standing| standing.recovery).collect();
    assert_eq!(
        recoveries,
        [
            Recovery::NotBefore { the_end_at: 2, of: 3, is_held: false },
            Recovery::NotBefore { the_end_at: 3, of: 3, is_held: false }
        ]
    );
    let summary = summary_json(&set);
    assert!((summary[0]["slowdown_by_fault"]["mean"].as_f64().unwrap() - 1.1).abs() < 1e-12);
    assert_eq!(summary.as_array().unwrap().len(), 2);
}

#[test]
fn a_scheme_that_a_fault_made_faster_is_named_by_itself() {
    let faulty = set(&[("a", &[110.0, 110.0, 110.0]), ("b", &[64.0, 64.0, 64.0])]);
    let sentences = verdict(&with_baselines(faulty, &[100.0; 6]));
    let of_fault = |sentence: &String| sentence.contains("packet-loss");
    let about: Vec<&String> = sentences.iter().filter(|sentence| of_fault(sentence)).collect();
    assert_eq!(
        about,
        [
            "Less time with the fault (packet-loss) than without: b 36 % (± 0).",
            "The fault (packet-loss) cost a 10 % (± 0)."
        ]
    );
}

/// Adds a baseline for each run, and a fault to the scenario. `bases` has the largest FCTs of the baselines in µs.
fn with_baselines(mut set: ResultSet, bases: &[f64]) -> ResultSet {
    let runs: Vec<RunRow> = set.runs.clone();
    set.runs.extend(runs.into_iter().zip(bases).map(|(run, &fct_max_us)| RunRow {
        baseline: true,
        fct_max_us,
        ..run
    }));
    set_scenario(
        &mut set,
        "[[fault]]\nkind = \"packet-loss\"\nlinks = \"tor-uplinks:3%\"\nprobability = 0.01\n",
    );
    set
}

#[test]
fn a_cost_that_is_not_sure_is_not_said_to_be_surely_nothing() {
    let two = with_baselines(set(&[("a", &[100.0, 220.0]), ("b", &[100.0, 150.0])]), &[100.0; 4]);
    assert_eq!(
        verdict(&two)[1],
        "For no scheme is it sure that the fault (packet-loss) cost anything: a 60 % (± 762), b 25 % (± 318)."
            .replace(", b", " and b")
    );
    let one = with_baselines(set(&[("a", &[100.0, 220.0])]), &[100.0; 2]);
    let sentence = &verdict(&one)[1];
    assert_eq!(sentence, "It is not sure that the fault (packet-loss) cost anything: a 60 % (± 762).");
    let mixed = with_baselines(set(&[("a", &[100.0, 220.0]), ("b", &[100.0, 100.0])]), &[100.0; 4]);
    let sentences = verdict(&mixed);
    assert_eq!(sentences[1], "The fault (packet-loss) cost nothing: b.");
    assert!(sentences.contains(&"Note: Cost not sure: a 60 % (± 762).".to_owned()), "{sentences:?}");
}

#[test]
fn of_many_costs_both_ends_are_named_and_that_the_least_hurt_is_slow() {
    let names: Vec<String> = (0..9).map(|number| format!("s{number}")).collect();
    // The fastest scheme has the highest cost.
    let numbers: Vec<[f64; 2]> = (0..9).map(|number| [100.0 + f64::from(number * 10); 2]).collect();
    let schemes: Vec<(&str, &[f64])> =
        names.iter().zip(&numbers).map(|(name, of)| (name.as_str(), &of[..])).collect();
    let bases: Vec<f64> = (0..9)
        .flat_map(|number| [(100.0 + f64::from(number * 10)) / (2.0 - f64::from(number) / 10.0); 2])
        .collect();
    insta::assert_snapshot!(text(&with_baselines(set(&schemes), &bases)), @r"
    s0 is fastest by one run: FCT 100.0 µs (± 0), 1.10 times faster than s1 (110.0 ± 0 µs).
    The fault (packet-loss) cost from s8 20 % (± 0), s7 30 % (± 0) to s0 100 % (± 0), s1 90 % (± 0), the dearest (5 more between).
    Note: Behind: s2 (120.0 ± 0 µs), 5 more and last s8 (180.0 ± 0 µs).
    Note: Least hurt is not fastest: s8 takes 1.80 times as long as s0.
    Note: Seeds change nothing here: ± 0 is no evidence, and they are compared by one run.
    Note: Two seeds do not rank: their t-test has one degree of freedom. Three or more do.
    ");
}

#[test]
fn up_to_six_costs_are_all_named() {
    let numbers: Vec<[f64; 2]> = (0..7).map(|number| [100.0 + f64::from(number * 10); 2]).collect();
    let schemes: Vec<(&str, &[f64])> =
        ["a", "b", "c", "d", "e", "f", "g"].into_iter().zip(numbers.iter().map(|of| &of[..])).collect();
    let sentence = &verdict(&with_baselines(set(&schemes), &[100.0; 14]))[1];
    assert_eq!(
        sentence,
        "The fault (packet-loss) cost g 60 % (± 0), f 50 % (± 0), e 40 % (± 0), d 30 % (± 0), c 20 % (± 0) and b 10 % (± 0); \
         nothing: a."
    );
}

#[test]
fn what_no_fault_hit_is_said_with_what_to_write() {
    let mut hit = with_hits(set(&[("a", &[110.0, 120.0]), ("b", &[100.0, 101.0])]), &[3, 3, 0, 0]);
    let last = |set: &ResultSet| verdict(set).pop().unwrap();
    set_scenario(
        &mut hit,
        "[[fault]]\nkind = \"packet-loss\"\nlinks = \"tor:0/up:0\"\nprobability = 0.01\n\n[workload]\nplacement = \"blocks\"\n",
    );
    assert_eq!(
        last(&hit),
        "Note: For an answer where no data was hit, let the faults hit more: more links (`links = \"tor-uplinks:10%\"` in \
         [[fault]]), a higher `probability`, ranks on other hosts (`placement = \"random\"` in [workload]), longer \
         messages or more seeds."
    );
    set_scenario(&mut hit, "[[fault]]\nkind = \"switch-down\"\nswitches = \"spine:0\"\n");
    assert!(last(&hit).contains("hit more: more or other switches (`anabranch check` names faults that hit nothing), longer messages"), "{}", last(&hit));
    set_scenario(
        &mut hit,
        "[[fault]]\nkind = \"switch-down\"\nswitches = \"spine:0\"\n\n[workload]\nplacement = \"blocks\"\n[workload.server]\nchannels = 8\n",
    );
    assert!(
        !last(&hit).contains("placement"),
        "GPUs of a rail send to each other, wherever they are: {}",
        last(&hit)
    );
    set_scenario(&mut hit, "[[fault]]\nkind = \"link-down\"\nlinks = \"tor-uplinks:20%\"\n");
    assert!(last(&hit).contains("tor-uplinks:60%"), "{}", last(&hit));
    // A fault that begins after the end of the run affects nothing, however many links it has.
    hit.runs[3].faults[0].at_us = 200.0;
    assert!(
        last(&hit).contains("tor-uplinks:60%") && last(&hit).contains("an earlier `at`"),
        "{}",
        last(&hit)
    );
    hit.runs[2].faults[0].at_us = 200.0;
    assert_eq!(
        last(&hit),
        "Note: For an answer where no data was hit, let the faults begin before the runs end: an earlier `at` in [[fault]], or \
         longer messages."
    );
    let of_file =
        FaultRow { kind: "packet-loss".into(), on: "error-rate:0.001".into(), ..FaultRow::default() };
    let baselines: Vec<RunRow> = hit
        .runs
        .iter()
        .map(|run| RunRow { baseline: true, faults: vec![of_file.clone()], ..run.clone() })
        .collect();
    let whole = hit.runs.len();
    hit.runs.extend(baselines);
    assert!(last(&hit).contains("let the faults begin before the runs end"), "{}", last(&hit));
    hit.runs.truncate(whole);
    set_scenario(&mut hit, "[[fault]]\nkind = \"link-down\"\nlinks = \"tor-uplinks\"\nper_hour = 0.01\n");
    assert!(last(&hit).contains("a higher `per_hour` in [[fault]]"), "{}", last(&hit));
}

#[test]
fn a_point_that_says_nothing_is_not_the_headline() {
    let mut whole = ResultSet::default();
    for (point, hits) in [(1, [0; 6]), (2, [3; 6])] {
        let mut here = with_hits(set(&[("a", &[110.0, 111.0, 112.0]), ("b", &[220.0, 222.0, 224.0])]), &hits);
        for run in &mut here.runs {
            run.sweep.insert("x".into(), anabranch_results::Value::Integer(point));
        }
        whole.runs.extend(here.runs);
    }
    insta::assert_snapshot!(text(&whole), @r"
    At x = 2: a is fastest: FCT 111.0 µs (± 2.5), 2.00 times faster than b (222.0 ± 5.0 µs).
    At x = 1: The faults hit no data of any scheme, at most ACKs and the like, and no run without faults tells what that cost.
    Note: For an answer where no data was hit, let the faults hit more: more links, longer messages or more seeds.
    ");
}

#[test]
fn many_points_are_told_by_who_is_fastest() {
    let mut whole = ResultSet::default();
    for point in 0..6 {
        let [a, b] = if point < 5 { [100.0, 200.0] } else { [200.0, 100.0] };
        let mut here = set(&[("a", &[a, a + 1.0, a + 2.0]), ("b", &[b, b + 2.0, b + 4.0])]);
        for run in &mut here.runs {
            run.sweep.insert("x".into(), anabranch_results::Value::Integer(point));
        }
        whole.runs.extend(here.runs);
    }
    insta::assert_snapshot!(text(&whole), @r"
    a is fastest at 5 of 6 sweep points (x = 0; x = 1; x = 2; ...).
    b is fastest at 1 of 6 sweep points (x = 5).
    ");
    let mut unhit = whole.clone();
    for run in unhit.runs.iter_mut().filter(|run| run.sweep["x"] == anabranch_results::Value::Integer(2)) {
        run.faults = vec![FaultRow { packets_lost: 5, ..FaultRow::default() }];
    }
    insta::assert_snapshot!(text(&unhit), @r"
    a is fastest at 4 of 5 sweep points (x = 0; x = 1; x = 3; ...).
    b is fastest at 1 of 5 sweep points (x = 5).
    Note: The faults hit no data of any scheme, at most ACKs and the like, and no run without faults tells what that cost, at 1 of 6 sweep points (x = 2).
    Note: For an answer where no data was hit, let the faults hit more: more links, longer messages or more seeds.
    ");
    let at = |run: &RunRow, point: i64| run.sweep["x"] == anabranch_results::Value::Integer(point);
    let mut some = whole.clone();
    for run in some.runs.iter_mut().filter(|run| run.scheme == "b" && at(run, 1)) {
        run.flows_finished = 0;
    }
    for run in some.runs.iter_mut().filter(|run| run.scheme == "b" && at(run, 2) && run.seed == 2) {
        run.fct_max_us = 900.0;
    }
    insta::assert_snapshot!(text(&some), @r"
    a is fastest at 5 of 6 sweep points (x = 0; x = 1; x = 2; ...).
    b is fastest at 1 of 6 sweep points (x = 5).
    Note: Left out of the ranking, as runs did not finish: b at 1 of 6 sweep points (x = 1).
    Note: Not to be placed, as their seeds differ too much: b at 1 of 6 sweep points (x = 2).
    ");
    whole.runs.retain(|run| at(run, 0));
    assert!(verdict(&whole)[0].starts_with("At x = 0: a is fastest"), "{:?}", verdict(&whole));
}

/// Without ranks, because there is one seed or because seeds change nothing, the schemes within 1 % of the least mean
/// tie. A scheme that wins most points is not called the fastest at points where it ties or loses.
#[test]
fn of_many_points_those_with_a_tie_have_no_winner() {
    let at_each_point = |seeds: usize| {
        let mut whole = ResultSet::default();
        for (point, [a, b]) in
            (0..).zip([[100.0, 200.0], [100.0, 101.0], [100.0, 102.0], [100.0, 99.5], [103.0, 100.0]])
        {
            let mut here = set(&[("a", &vec![a; seeds]), ("b", &vec![b; seeds])]);
            for run in &mut here.runs {
                run.sweep.insert("x".into(), anabranch_results::Value::Integer(point));
            }
            whole.runs.extend(here.runs);
        }
        verdict(&whole)
    };
    for seeds in [1, 2, 3] {
        assert_eq!(
            at_each_point(seeds)[..3],
            [
                "a is fastest at 2 of 5 sweep points (x = 0; x = 2).",
                "a and b tie at 2 of 5 sweep points (x = 1; x = 3).",
                "b is fastest at 1 of 5 sweep points (x = 4)."
            ],
            "{seeds} seeds"
        );
    }
}

#[test]
fn one_scheme_over_many_points_is_no_race() {
    let mut whole = ResultSet::default();
    for point in 0..6 {
        let mut here = set(&[("a", &[99.0, 101.0].map(|fct| fct + f64::from(point)))]);
        for run in &mut here.runs {
            run.sweep.insert("x".into(), anabranch_results::Value::Integer(point.into()));
            run.flows_finished = if point == 3 { 0 } else { run.flows_finished };
        }
        whole.runs.extend(here.runs);
    }
    insta::assert_snapshot!(text(&whole), @"a: FCT from 100.0 µs (x = 0) to 105.0 µs (x = 5); at 1 of 6 it did not finish.");
}

/// The first sentence must be readable alone, because many readers read only that one.
#[test]
fn a_headline_names_three_schemes_at_most_and_has_no_brackets_within_brackets() {
    let wide = |base: f64| [base, base * 3.0, base * 0.5];
    let near = |base: f64| [base, base + 2.0, base + 4.0];
    let far: Vec<[f64; 3]> = (1..=9).map(|number| near(100.0 * f64::from(number))).collect();
    let equal: Vec<[f64; 3]> = (0..9).map(|number| near(100.0 + f64::from(number % 2))).collect();
    let unsure: Vec<[f64; 3]> = (1..=9).map(|number| wide(100.0 + f64::from(number))).collect();
    let ends: Vec<[f64; 3]> = (0..9).map(|number| near(if number < 4 { 100.0 } else { 300.0 })).collect();
    let names: Vec<String> = (0..9).map(|number| format!("scheme{number}")).collect();
    for numbers in [far, equal, unsure, ends] {
        for count in 1..=9 {
            let schemes: Vec<(&str, &[f64])> =
                names.iter().zip(&numbers).take(count).map(|(name, of)| (name.as_str(), &of[..])).collect();
            let plain = set(&schemes);
            let hits: Vec<u64> = (0..3 * count as u64).map(|number| number % 2).collect();
            for set in [with_hits(plain.clone(), &hits), with_baselines(plain.clone(), &[90.0; 27]), plain] {
                let headline = &verdict(&set)[0];
                assert!(headline.matches("scheme").count() <= 3, "{headline}");
                assert!(!headline.starts_with("Note: "), "{headline}");
                let depth = headline.chars().scan(0, |depth, letter| {
                    *depth += i32::from(letter == '(') - i32::from(letter == ')');
                    Some(*depth)
                });
                assert!(depth.max().unwrap() <= 1, "{headline}");
            }
        }
    }
}
