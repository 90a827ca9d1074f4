//! Tests of rankings with made-up results. The expected values were computed by hand.

use super::*;
use crate::samples::{collectives, two_schemes};
use crate::scenario_text::set_scenario;
use crate::verdict::{method, rank_rule, verdict};
use anabranch_results::FlowRow;

/// Results at one point of a sweep. Each entry is a scheme with its largest FCT in us for seed 1, seed 2 and so on.
pub(crate) fn set(schemes: &[(&str, &[f64])]) -> ResultSet {
    let run = |scheme: &str, seed: usize, fct: f64| RunRow {
        scheme: scheme.to_owned(),
        seed: seed as u64 + 1,
        flows: 4,
        flows_finished: 4,
        fct_max_us: fct,
        ..RunRow::default()
    };
    let of = |(scheme, fcts): &(&str, &[f64])| -> Vec<RunRow> {
        fcts.iter().enumerate().map(|(seed, fct)| run(scheme, seed, *fct)).collect()
    };
    ResultSet { runs: schemes.iter().flat_map(of).collect(), ..ResultSet::default() }
}

/// By hand: b is slower than a by 10, 11 and 12 us, while the values of each scheme differ by about 100 us between
/// seeds. The mean difference is 11 us and its standard deviation s is 1 us. The half width is 4.303 / sqrt(3) = 2.48
/// times s, so the interval is from 8.5 to 13.5 us. The intervals of a and b themselves (± 248 and ± 251) overlap
/// almost completely. c differs from b by 5, -5 and 6 us: the mean is 2 with s = 6.08, so ± 15.1.
#[test]
fn what_seeds_have_in_common_is_no_tie() {
    let set =
        set(&[("a", &[100.0, 200.0, 300.0]), ("b", &[110.0, 211.0, 312.0]), ("c", &[115.0, 206.0, 318.0])]);
    let found = ranked_schemes(&set, &groups(&set));
    assert_eq!(found.iter().map(|standing| standing.rank).collect::<Vec<_>>(), [Some(1), Some(2), Some(2)]);
    assert!(verdict(&set)[0].starts_with("a is fastest: "), "{:?}", verdict(&set));
    // c is not significantly slower than a (13 ± 15.5), but b is. c ties with b, so c has a definite rank.
    assert_eq!(found.iter().map(RankedScheme::rank_shown).collect::<Vec<_>>(), ["1", "2", "2"]);
    assert!(!verdict(&set)[0].contains("placed"), "{:?}", verdict(&set));
    assert!(rank_rule(&set).unwrap().contains("paired t-test"));
}

/// b differs from a by 24, 10 and -4 us: 10 ± 35 excludes that b takes 1.5 times as long as a (100 us), so they tie. c
/// differs from a by 40, 12 and -16 us: 12 ± 70 shows neither a difference nor a tie. Of these two, a has the wider
/// interval (± 37; c has ± 32), so a has no definite rank. b (± 2.5) keeps its rank, and c ties with it (2 ± 35).
#[test]
fn a_narrow_scheme_keeps_its_place_beside_a_wide_one() {
    let set =
        set(&[("a", &[85.0, 100.0, 115.0]), ("b", &[109.0, 110.0, 111.0]), ("c", &[125.0, 112.0, 99.0])]);
    let shown: Vec<String> =
        ranked_schemes(&set, &groups(&set)).iter().map(RankedScheme::rank_shown).collect();
    assert_eq!(shown, ["1-3", "1", "1"]);
}

/// The results of reps are far apart. They differ from the results of the first of the nine fast schemes by 350 - 400,
/// 417 - 402 and 1600 - 404 us. The mean is 387 us with a standard deviation of 701 us, so ± 1742 us shows neither a
/// difference nor a tie. On average reps is slower than ecmp, which is slower than the nine.
#[test]
fn wide_intervals_do_not_make_a_slow_scheme_first() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let fast: Vec<[f64; 3]> =
        (0..9).map(|number| [400.0, 402.0, 404.0].map(|fct| fct + 10.0 * f64::from(number))).collect();
    let mut schemes: Vec<(&str, &[f64])> = vec![("reps", &[350.0, 417.0, 1600.0])];
    schemes.push(("ecmp", &[655.0, 660.0, 663.5]));
    schemes.extend(names.iter().zip(&fast).map(|(name, fcts)| (*name, &fcts[..])));
    let set = set(&schemes);
    let groups = groups(&set);
    let found = ranked_schemes(&set, &groups);
    let of = |name: &str| {
        let index = groups.iter().position(|group| group.scheme == name).unwrap();
        (found[index].estimate.unwrap().mean, found[index].rank.unwrap())
    };
    assert_eq!((of("ecmp"), of("reps")), ((659.5, 10), (789.0, 11)));
    assert_eq!(found[0].rank_shown(), "1-11", "no scheme is slower for sure, and none is faster");
    assert_eq!(names.map(|name| of(name).1), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

fn shown(schemes: &[(&str, &[f64])]) -> Vec<String> {
    let set = set(schemes);
    ranked_schemes(&set, &groups(&set)).iter().map(RankedScheme::rank_shown).collect()
}

/// The half width of an interval is 4.303 / sqrt(3) = 2.484 times the standard deviation. By hand: b is 10 us slower
/// than a on average. If the differences deviate by 15.7 us, the interval is ± 39.0 and ends at 49.0 us, which is below
/// half of a's 100 us. If they deviate by 16.5 us, the interval is ± 41.0 and ends at 51.0 us, which is above half.
#[test]
fn schemes_tie_where_the_seeds_exclude_that_one_takes_half_as_long_again() {
    let a: &[f64] = &[99.0, 100.0, 101.0];
    let b = |s: f64| [109.0 - s, 110.0, 111.0 + s];
    assert_eq!(shown(&[("a", a), ("b", &b(15.7))]), ["1", "1"]);
    assert_eq!(shown(&[("a", a), ("b", &b(16.5))]), ["1", "1-2"]);
}

/// By hand: the mean of b is 1,771 us with a standard deviation of 1,205.5 us, so ± 2,995 us. The differences from a
/// deviate about as much, so their interval begins below 0 and ends at about 4,260 us. Three seeds do not show whether
/// b ties with a (505 us) or takes nine times as long.
#[test]
fn what_is_known_of_neither_is_no_tie() {
    let wide: &[f64] = &[1_085.0, 1_065.0, 3_163.0];
    let two = set(&[("a", &[504.0, 505.0, 506.0]), ("b", wide)]);
    insta::assert_snapshot!(verdict(&two).join("\n"), @r"
    a alone can be placed: FCT 505.0 µs (± 2.5).
    Note: Not to be placed, as their seeds differ too much: b (1,771 ± 2,995 µs).
    ");
    let three = set(&[("a", &[504.0, 505.0, 506.0]), ("b", wide), ("c", &[1_010.0, 1_011.0, 1_009.0])]);
    insta::assert_snapshot!(verdict(&three).join("\n"), @r"
    a is fastest: FCT 505.0 µs (± 2.5), 2.00 times faster than c (1,010 ± 2.5 µs).
    Note: Not to be placed, as their seeds differ too much: b (1,771 ± 2,995 µs).
    ");
    assert_eq!(
        shown(&[("a", &[504.0, 505.0, 506.0]), ("b", wide), ("c", &[1_010.0, 1_011.0, 1_009.0])]),
        ["1", "1-3", "2"]
    );
}

#[test]
fn one_whose_seeds_lie_far_apart_does_not_lead() {
    let schemes: &[(&str, &[f64])] =
        &[("w", &[100.0, 120.0, 1_180.0]), ("b", &[500.0, 501.0, 502.0]), ("c", &[503.0, 501.0, 502.0])];
    assert_eq!(shown(schemes), ["1-3", "1", "1"]);
    insta::assert_snapshot!(verdict(&set(schemes)).join("\n"), @r"
    b and c tie within a factor of 1.01: FCT 501.0 µs (± 2.5) and 502.0 µs (± 2.5).
    Note: Not to be placed, as their seeds differ too much: w (466.7 ± 1,535 µs).
    ");
}

/// c is slower than a in each seed. In the first case, c is slower than b by 751 ± 821 us, so c may be faster by 70 us
/// or slower by 1,572 us. In the second case, c differs from b by 1, -1 and 1 us, so c and b tie.
#[test]
fn behind_the_first_it_is_the_same() {
    let [a, b]: [&[f64]; 2] = [&[100.0, 101.0, 102.0], &[1_000.0, 1_002.0, 1_004.0]];
    assert_eq!(shown(&[("a", a), ("b", b), ("c", &[1_400.0, 1_800.0, 2_060.0])]), ["1", "2", "2-3"]);
    assert_eq!(shown(&[("a", a), ("b", b), ("c", &[1_001.0, 1_001.0, 1_005.0])]), ["1", "2", "2"]);
}

/// The means are 1,214 ± 370, 1,266 ± 10 and 1,305 ± 69 us, close to the means in the README. reps and strack are
/// slower than rocev2 by at most 52 + 371 and 91 + 307 us, and each of these sums is below half of 1,214 us.
#[test]
fn the_example_of_the_readme_ties() {
    let schemes: &[(&str, &[f64])] = &[
        ("rocev2", &[1_128.0, 1_128.0, 1_386.0]),
        ("reps", &[1_262.0, 1_270.4, 1_266.0]),
        ("strack", &[1_280.0, 1_300.0, 1_335.0]),
    ];
    assert_eq!(shown(schemes), ["1", "1", "1"]);
}

/// By hand: b is slower than a (102 us) by 3, 1 and 8 us. The mean is 4 us with a standard deviation of 3.61 us, so
/// ± 8.96 us. c is slower than a by 30, 30 and 33 us, which is significant. If b is slower by 30, 0 and 60 us,
/// 30 ± 74.5 us shows neither a difference nor a tie.
#[test]
fn a_tie_says_within_which_factor() {
    let [a, c]: [&[f64]; 2] = [&[100.0, 102.0, 104.0], &[130.0, 132.0, 137.0]];
    let tie = set(&[("a", a), ("b", &[103.0, 103.0, 112.0]), ("c", c)]);
    let found = ranked_schemes(&tie, &groups(&tie));
    assert!((found[1].tie_within.unwrap() - (1.0 + 12.96 / 102.0)).abs() < 1e-4, "{:?}", found[1].tie_within);
    assert_eq!([found[0].tie_within, found[2].tie_within], [None; 2]);
    let sentence = &verdict(&tie)[0];
    assert!(sentence.starts_with("a and b tie within a factor of 1.13: FCT 102.0 µs (± 5.0)"), "{sentence}");
    let wide = set(&[("a", a), ("b", &[130.0, 102.0, 164.0]), ("c", c)]);
    let found = ranked_schemes(&wide, &groups(&wide));
    assert_eq!(found.iter().map(RankedScheme::rank_shown).collect::<Vec<_>>(), ["1", "1-3", "2"]);
    assert!(found.iter().all(|standing| standing.tie_within.is_none()));
}

/// b differs from a by 20 and 21 us, and d by 16 and 26 us. A t-test on two differences finds b slower (20.5 ± 6.4)
/// only because b's two differences happen to be close to each other. The t-test shows nothing about d (21 ± 64).
#[test]
fn two_seeds_do_not_rank_and_three_do() {
    let two = set(&[("a", &[100.0, 102.0]), ("b", &[120.0, 123.0]), ("d", &[116.0, 128.0])]);
    let found = ranked_schemes(&two, &groups(&two));
    assert!(found.iter().all(|standing| standing.rank.is_none() && standing.tie_within.is_none()));
    insta::assert_snapshot!(verdict(&two).join("\n"), @r"
    a is fastest by the mean of two seeds: FCT 101.0 µs (± 13), 1.20 times faster than b (121.5 ± 19 µs); then d (122.0 ± 76 µs).
    Note: Two seeds do not rank: their t-test has one degree of freedom. Three or more do.
    ");
    assert!(method(&two).ends_with("No ranks.") && rank_rule(&two).is_none(), "{}", method(&two));
    let near = set(&[("a", &[100.0, 102.0]), ("b", &[101.0, 102.0])]);
    assert!(
        verdict(&near)[0].starts_with("a and b lie within 1 % by the means of two seeds: FCT 101.0"),
        "{:?}",
        verdict(&near)
    );
    let three = set(&[("a", &[100.0, 102.0, 101.0]), ("b", &[120.0, 123.0, 121.0])]);
    assert_eq!(
        ranked_schemes(&three, &groups(&three)).iter().map(|of| of.rank).collect::<Vec<_>>(),
        [Some(1), Some(2)]
    );
    assert_eq!(verdict(&three).len(), 1);
}

#[test]
fn ranks_are_those_of_a_point_and_a_sweep_over_lengths_changes_none() {
    let mut whole = ResultSet::default();
    for (point, fcts) in [(1_i64, [100.0, 102.0, 104.0]), (2, [900.0, 901.0, 902.0])] {
        let mut here = set(&[("a", &fcts), ("b", &fcts.map(|fct| fct + 50.0))]);
        for run in &mut here.runs {
            run.sweep.insert("workload.bytes".into(), anabranch_results::Value::Integer(point));
            let run = whole.flows.len() as u32;
            whole.flows.push(FlowRow {
                run,
                flow: 0,
                qp: 0,
                src: 0,
                dst: 1,
                bytes: 1_000 * point as u64,
                start_ps: Some(0),
                delivery_ps: Some(1),
                fct_ps: Some(1),
                ideal_fct_ps: 1,
                group: "".into(),
                packets: 1,
                retransmissions: None,
                ..FlowRow::default()
            });
        }
        whole.runs.extend(here.runs);
    }
    assert_eq!(ranked_quantity(&whole), FCT, "each run's messages have one length");
    let found = ranked_schemes(&whole, &groups(&whole));
    let ranks: Vec<_> = found.iter().map(|standing| standing.rank).collect();
    assert_eq!(ranks, [Some(1), Some(2), Some(1), Some(2)]);
    let of_run = whole.flows[0].clone();
    whole.flows.insert(1, FlowRow { bytes: 7, ..of_run });
    assert_eq!(ranked_quantity(&whole), SLOWDOWN, "of several lengths in one run");
}

#[test]
fn what_is_ranked_follows_the_workload() {
    assert_eq!((ranked_quantity(&collectives()), ranked_quantity(&set(&[("a", &[1.0])]))), (CCT, FCT));
    let mut poisson = set(&[("a", &[1.0])]);
    set_scenario(
        &mut poisson,
        "[topology]\nkind = \"fat-tree\"\n[workload]\nbytes = \"1KB\"\nkind = \"poisson\"\n",
    );
    assert_eq!(ranked_quantity(&poisson), SLOWDOWN);
    assert_eq!(ranked_quantity(&two_schemes()), SLOWDOWN, "of several lengths");
}
