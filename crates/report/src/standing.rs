//! How each scheme stands among the others: its rank, how sure that is, and what the faults cost it.

use crate::faults::holds_to_the_end;
use crate::groups::{Group, groups};
use anabranch_results::{Estimate, MissingRun, ResultSet, RunRow};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

/// The number by which schemes are ranked; less is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quantity {
    /// One of [`RunRow::FIELDS`].
    pub field: &'static str,
    /// In a sentence: `CCT`.
    pub short: &'static str,
    /// Of which run's number it is, in full.
    pub long: &'static str,
    /// In microseconds; otherwise a ratio.
    pub is_time: bool,
}

const CCT: Quantity =
    Quantity { field: "cct_max_us", short: "CCT", long: "the CCT of the slowest job", is_time: true };
const FCT: Quantity =
    Quantity { field: "fct_max_us", short: "FCT", long: "the FCT of the slowest message", is_time: true };
const SLOWDOWN: Quantity = Quantity {
    field: "slowdown_p99",
    short: "P99 slowdown",
    long: "the 99th percentile of FCT over ideal FCT",
    is_time: false,
};

/// What schemes are ranked by: collectives by the CCT of the slowest job; messages of a Poisson process, or of several
/// lengths, by the P99 slowdown; others (permutations, incasts) by the FCT of the slowest, with which all is done.
pub(crate) fn ranked(set: &ResultSet) -> Quantity {
    if set.actual().iter().any(|run| run.jobs > 0) {
        return CCT;
    }
    // Of one run: a sweep over lengths changes nothing in what a point's schemes are ranked by.
    let of_lengths = set.flows.windows(2).any(|two| two[0].run == two[1].run && two[0].bytes != two[1].bytes);
    match of_lengths || workload_kind(&set.scenario_toml) == Some("poisson") {
        true => SLOWDOWN,
        false => FCT,
    }
}

/// The `kind` in `[workload]` of a resolved scenario.
fn workload_kind(toml: &str) -> Option<&str> {
    Some(workload_value(toml, "kind")?.trim_matches('"'))
}

/// What stands behind `key` in `[workload]` of a resolved scenario.
pub(crate) fn workload_value<'a>(toml: &'a str, key: &str) -> Option<&'a str> {
    let lines = toml.lines().skip_while(|line| *line != "[workload]").skip(1);
    lines
        .take_while(|line| !line.starts_with('['))
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))
}

/// A lead below this share is none: no measurement of a fabric tells so little apart.
pub(crate) const LEAST_LEAD: f64 = 0.01;

/// Over its baseline a run is slower from here on, a ratio.
const SLOWER: f64 = 1.001;

/// A scheme at a point of the sweep, as it stands among the others.
pub(crate) struct Standing {
    /// The ranked quantity; none where a run is missing or did not finish.
    pub estimate: Option<Estimate>,
    /// 1 and how many schemes of the same point of the sweep are faster by more than [`LEAST_LEAD`], by an interval of the
    /// paired differences that is clear of 0, but never before a scheme with a lower mean. None where there is no
    /// estimate, with one seed, at a point where seeds change nothing, and for one that is untouched.
    pub rank: Option<usize>,
    /// 1 and how many schemes are faster, by the paired differences alone. Where it is below the rank, the seeds lie too
    /// far apart to rank the scheme.
    pub at_best: usize,
    /// The quantity over that of the baselines, a ratio for each seed; none without baselines that finished.
    pub slowdown_by_fault: Option<Estimate>,
    /// The time to recover over the seeds.
    pub recovery: Recovery,
    /// Runs that are missing or did not finish, and all that were asked for.
    pub unfinished: [usize; 2],
    /// Runs in which no fault hit any data or cost anything, and all that ran.
    pub unhit: [usize; 2],
    /// The ranked quantity over the other runs alone, where there are both; none where one is missing or did not finish.
    pub where_hit: Option<f64>,
    /// All its seeds came to one number: they are no evidence, as if there were one seed alone.
    pub is_one_run: bool,
    /// No fault hit any of its data at any seed or cost it anything, though they hit others' at the same point: hashing
    /// kept it off, say. What it reached is no answer to how it bears them, and it is not ranked.
    pub is_untouched: bool,
}

impl Standing {
    /// `3`; `1-3` where the seeds do not tell; `unhit` where it is untouched.
    pub(crate) fn rank_shown(&self) -> String {
        match self.rank {
            None if self.is_untouched => "unhit".to_owned(),
            Some(rank) if rank > self.at_best => format!("{}-{rank}", self.at_best),
            Some(rank) => rank.to_string(),
            None => "-".to_owned(),
        }
    }

    /// Whether the seeds tell its rank.
    pub(crate) fn is_placed(&self) -> bool {
        self.rank.is_none_or(|rank| rank == self.at_best)
    }
}

/// How long goodput took to be back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Recovery {
    /// There is nothing to recover from, or no baseline to tell by.
    Unknown,
    /// Goodput never fell below, at no seed.
    NoDip,
    /// In microseconds, over the seeds at which it fell below, which are all but so many.
    After { time: Estimate, no_dip_at: usize, of: usize },
    /// At so many of the seeds the run ended without having got back. `is_held`: at each of them a fault still held then, so
    /// that no later recovery of another scheme is better than this.
    NotBefore { the_end_at: usize, of: usize, is_held: bool },
}

/// How each group stands, in their order.
pub(crate) fn standings(set: &ResultSet, groups: &[Group<'_>]) -> Vec<Standing> {
    let quantity = ranked(set);
    let scenario = toml::from_str(&set.scenario_toml).unwrap_or_default();
    let of = |group| standing((set, &scenario), group, quantity);
    let mut found: Vec<Standing> = groups.iter().map(of).collect();
    let of_none = |standing: &Standing| standing.unhit[0] == standing.unhit[1];
    for index in 0..found.len() {
        let mut here = groups.iter().zip(&found).filter(|(group, _)| group.sweep == groups[index].sweep);
        found[index].is_untouched = of_none(&found[index]) && here.any(|(_, standing)| !of_none(standing));
    }
    let seeds_tell = |index: usize| {
        let mut here = groups.iter().zip(&found).filter(|(group, _)| group.sweep == groups[index].sweep);
        here.any(|(_, standing)| standing.estimate.is_some() && !standing.is_one_run)
    };
    let mut by_mean: Vec<(usize, f64)> = found
        .iter()
        .enumerate()
        .filter(|(index, standing)| !standing.is_untouched && seeds_tell(*index))
        .filter_map(|(index, standing)| Some((index, standing.estimate.filter(|of| of.seeds > 1)?.mean)))
        .collect();
    by_mean.sort_by(|one, other| one.1.total_cmp(&other.1));
    for (number, &(index, _)) in by_mean.iter().enumerate() {
        let lower = by_mean[..number].iter().map(|&(other, _)| other);
        let lower: Vec<usize> = lower.filter(|&other| groups[other].sweep == groups[index].sweep).collect();
        let faster =
            lower.iter().filter(|&&other| is_faster(&groups[other], &groups[index], quantity)).count();
        // One whose seeds lie far apart ties with many. It has no rank before those with lower means for that.
        let at_best = lower.last().and_then(|&other| found[other].rank).unwrap_or(1);
        found[index].rank = Some(at_best.max(1 + faster));
        found[index].at_best = 1 + faster;
    }
    found
}

/// Whether `one` is faster than `other` for sure: the 95 % interval of the differences, seed by seed, is above 0, and their
/// mean above [`LEAST_LEAD`]. Seeds stand for workloads, which are the same for both, so that what they have in common is
/// no doubt.
fn is_faster(one: &Group<'_>, other: &Group<'_>, quantity: Quantity) -> bool {
    let of_seed = |run: &RunRow| {
        let same = one.runs().find(|known| known.seed == run.seed)?.number(quantity.field)?;
        Some((run.number(quantity.field)? - same, same))
    };
    let (differences, its): (Vec<f64>, Vec<f64>) = other.runs().filter_map(of_seed).unzip();
    let Some(difference) = Estimate::of(&differences) else { return false };
    let least = LEAST_LEAD * its.iter().sum::<f64>() / its.len() as f64;
    difference.interval().is_some_and(|[low, _]| low > 0.0) && difference.mean > least
}

fn standing((set, scenario): (&ResultSet, &toml::Table), group: &Group<'_>, quantity: Quantity) -> Standing {
    let never_ran = |missing: &&MissingRun| {
        let same = missing.scheme == group.scheme && missing.sweep == *group.sweep && !missing.baseline;
        same && !group.runs().any(|run| run.seed == missing.seed)
    };
    let absent = set.missing.iter().filter(never_ran).count();
    let unfinished = absent + group.runs().filter(|run| !is_whole(run)).count();
    let estimate = (unfinished == 0).then(|| group.estimate(quantity.field)).flatten();
    let baselines: Vec<Option<&RunRow>> = group.runs().map(|run| baseline_of(set, run)).collect();
    let ratio = |(run, baseline): (&RunRow, &Option<&RunRow>)| {
        let baseline = baseline.filter(|baseline| is_whole(baseline))?.number(quantity.field)?;
        (baseline > 0.0).then_some(run.number(quantity.field)? / baseline)
    };
    let ratios: Option<Vec<f64>> = group.runs().zip(&baselines).map(ratio).collect();
    let known = !baselines.is_empty() && baselines.iter().all(|baseline| baseline.is_some_and(is_whole));
    let times: Vec<f64> = group.runs().filter_map(|run| run.time_to_recover_us).collect();
    let recovery = match known {
        false => Recovery::Unknown,
        true if times.len() == baselines.len() => {
            let dips: Vec<f64> = times.iter().copied().filter(|time| *time > 0.0).collect();
            match Estimate::of(&dips) {
                None => Recovery::NoDip,
                Some(time) => Recovery::After { time, no_dip_at: times.len() - dips.len(), of: times.len() },
            }
        }
        true => {
            let mut without = group.runs().filter(|run| run.time_to_recover_us.is_none());
            Recovery::NotBefore {
                the_end_at: baselines.len() - times.len(),
                of: baselines.len(),
                is_held: without.all(|run| is_whole(run) && holds_to_the_end(scenario, run)),
            }
        }
    };
    let bore_nothing = |(run, baseline): (&RunRow, &Option<&RunRow>)| is_unhit(run, *baseline, quantity);
    let unhit = group.runs().zip(&baselines).filter(|pair| bore_nothing(*pair)).count();
    let numbers: Vec<f64> = group.runs().filter_map(|run| run.number(quantity.field)).collect();
    let hit: Vec<f64> = group
        .runs()
        .zip(&baselines)
        .filter(|pair| !bore_nothing(*pair))
        .filter_map(|(run, _)| run.number(quantity.field))
        .collect();
    let is_mixed = unhit > 0 && !hit.is_empty();
    Standing {
        estimate,
        rank: None,
        at_best: 1,
        slowdown_by_fault: estimate.and(ratios).and_then(|ratios| Estimate::of(&ratios)),
        recovery,
        unfinished: [unfinished, absent + group.indices.len()],
        unhit: [unhit, group.indices.len()],
        where_hit: estimate.filter(|_| is_mixed).map(|_| hit.iter().sum::<f64>() / hit.len() as f64),
        is_one_run: group.indices.len() > 1 && estimate.is_some() && is_constant(&numbers),
        is_untouched: false,
    }
}

fn is_constant(numbers: &[f64]) -> bool {
    numbers.windows(2).all(|two| two[0] == two[1])
}

/// Whether none of its faults met any data of a run, nor slowed it in another way: the last ACKs of a message may be lost.
fn is_unhit(run: &RunRow, baseline: Option<&RunRow>, quantity: Quantity) -> bool {
    let number = |run: &RunRow| run.number(quantity.field);
    let is_slower = baseline.and_then(|baseline| Some(number(run)? > SLOWER * number(baseline)?));
    let is_spared = run.faults.iter().all(|fault| fault.data_packets == 0);
    !run.faults.is_empty() && is_spared && is_whole(run) && !is_slower.unwrap_or(false)
}

/// All that was sent has come.
fn is_whole(run: &RunRow) -> bool {
    run.flows_finished >= run.flows && run.jobs_finished >= run.jobs
}

/// The run without faults that a run is compared with.
pub(crate) fn baseline_of<'a>(set: &'a ResultSet, run: &RunRow) -> Option<&'a RunRow> {
    let same_point = |baseline: &RunRow| {
        let rest = run.sweep.iter().filter(|(name, _)| !name.starts_with("fault."));
        rest.eq(baseline.sweep.iter())
    };
    set.baselines()
        .iter()
        .find(|baseline| baseline.scheme == run.scheme && baseline.seed == run.seed && same_point(baseline))
}

/// For each scheme and point of the sweep: how many seeds, its rank, what the faults cost, and of every number of the
/// runs the mean over the seeds with its 95 % interval (null with one seed). Numbers that a seed did not come to are
/// left out.
pub fn summary_json(set: &ResultSet) -> Json {
    let (groups, quantity) = (groups(set), ranked(set));
    let estimate = |estimate: Estimate| {
        let [low, high] = estimate.interval().map_or([None; 2], |interval| interval.map(Some));
        json!({ "mean": estimate.mean, "low": low, "high": high })
    };
    let row = |(group, standing): (&Group<'_>, &Standing)| {
        let extra: BTreeSet<&str> =
            group.runs().flat_map(|run| run.extra.keys().map(String::as_str)).collect();
        let fields = RunRow::FIELDS.into_iter().filter(|field| *field != "time_to_recover_us").chain(extra);
        let numbers: serde_json::Map<String, Json> =
            fields.filter_map(|field| Some((field.to_owned(), estimate(group.estimate(field)?)))).collect();
        let not_before_end = match standing.recovery {
            Recovery::NotBefore { the_end_at, .. } => the_end_at,
            _ => 0,
        };
        json!({
            "scheme": group.scheme,
            "sweep": group.sweep,
            "seeds": group.indices.len(),
            "method": "mean over seeds, 95 % interval by Student's t over the seeds' own numbers",
            "ranked_by": quantity.field,
            "rank_method": "1 and how many schemes are faster by more than 1 % at the same point of the sweep, by the 95 % interval of the \
                            differences seed by seed (paired t), but never before one with a lower mean; null with one seed or where the seeds of all schemes change nothing, and where the faults hit none of its \
                            data while they hit others'",
            "rank": standing.rank,
            "rank_at_best": standing.rank.map(|_| standing.at_best),
            "seeds_unhit": standing.unhit[0],
            "where_hit": standing.where_hit,
            "slowdown_by_fault": standing.slowdown_by_fault.map(estimate),
            "time_to_recover_us": match standing.recovery {
                Recovery::After { time, .. } => Some(estimate(time)),
                Recovery::NoDip => Some(json!({ "mean": 0.0, "low": 0.0, "high": 0.0 })),
                Recovery::Unknown | Recovery::NotBefore { .. } => None,
            },
            "seeds_not_recovered": not_before_end,
            "numbers": numbers,
        })
    };
    groups.iter().zip(&standings(set, &groups)).map(row).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::samples::{collectives, two_schemes};
    use crate::verdict::{method, verdict};
    use anabranch_results::FlowRow;

    /// One point, no sweep: a scheme for each entry, with its largest FCT by seed.
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

    /// By hand: a and b differ by 10, 11 and 12 us at their seeds, whose own numbers are 100 us apart. Mean 11, s = 1,
    /// 4.303 / sqrt(3) = 2.48: from 8.5 to 13.5, clear of 0, where the intervals of a and b (± 248) overlap nearly whole.
    /// c is 5, -5 and 6 us above b: mean 2, s = 6.08, ± 15.1.
    #[test]
    fn what_seeds_have_in_common_is_no_tie() {
        let set = set(&[
            ("a", &[100.0, 200.0, 300.0]),
            ("b", &[110.0, 211.0, 312.0]),
            ("c", &[115.0, 206.0, 318.0]),
        ]);
        let found = standings(&set, &groups(&set));
        assert_eq!(
            found.iter().map(|standing| standing.rank).collect::<Vec<_>>(),
            [Some(1), Some(2), Some(2)]
        );
        assert!(verdict(&set)[0].starts_with("a is fastest: "), "{:?}", verdict(&set));
        assert!(method(&set).contains("paired t-test"));
    }

    /// One with seeds far apart: against the first of the nine, 350 - 400, 417 - 402 and 1600 - 404, mean 387 and
    /// s = 702, so ± 1742: a tie with each of them. It is slower on average than ecmp, which is slower than nine.
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
        let found = standings(&set, &groups);
        let of = |name: &str| {
            let index = groups.iter().position(|group| group.scheme == name).unwrap();
            (found[index].estimate.unwrap().mean, found[index].rank.unwrap())
        };
        assert_eq!((of("ecmp"), of("reps")), ((659.5, 10), (789.0, 10)));
        assert_eq!(names.map(|name| of(name).1), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn ranks_are_those_of_a_point_and_a_sweep_over_lengths_changes_none() {
        let mut whole = ResultSet::default();
        for (point, fcts) in [(1_i64, [100.0, 102.0]), (2, [900.0, 901.0])] {
            let mut here = set(&[("a", &fcts), ("b", &[fcts[0] + 50.0, fcts[1] + 50.0])]);
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
                    timeouts: None,
                    path_changes: None,
                    lost: None,
                });
            }
            whole.runs.extend(here.runs);
        }
        assert_eq!(ranked(&whole), FCT, "each run's messages have one length");
        let found = standings(&whole, &groups(&whole));
        let ranks: Vec<_> = found.iter().map(|standing| standing.rank).collect();
        assert_eq!(ranks, [Some(1), Some(2), Some(1), Some(2)]);
        let of_run = whole.flows[0].clone();
        whole.flows.insert(1, FlowRow { bytes: 7, ..of_run });
        assert_eq!(ranked(&whole), SLOWDOWN, "of several lengths in one run");
    }

    #[test]
    fn what_is_ranked_follows_the_workload() {
        assert_eq!((ranked(&collectives()), ranked(&set(&[("a", &[1.0])]))), (CCT, FCT));
        let mut poisson = set(&[("a", &[1.0])]);
        poisson.scenario_toml =
            "[topology]\nkind = \"fat-tree\"\n[workload]\nbytes = \"1KB\"\nkind = \"poisson\"\n".into();
        assert_eq!(ranked(&poisson), SLOWDOWN);
        assert_eq!(ranked(&two_schemes()), SLOWDOWN, "of several lengths");
    }
}
