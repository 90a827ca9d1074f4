//! The ranking of schemes: ranks, their certainty, and the cost of faults.

use crate::faults::{compared, holds_to_the_end};
use crate::groups::{Group, at_each_point, groups};
use anabranch_results::{Estimate, MissingRun, ResultSet, RunRow};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

/// The number by which schemes are ranked; less is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quantity {
    pub field: &'static str,
    /// The name in a sentence: `CCT`.
    pub short: &'static str,
    /// The name in full.
    pub long: &'static str,
    /// Whether it is in microseconds; otherwise it is a ratio.
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

/// The quantity by which schemes are ranked: collectives by the CCT of the slowest job; messages of a Poisson process,
/// or of several lengths, by the P99 slowdown; others (permutations, incasts) by the FCT of the slowest message, which
/// ends the run.
pub(crate) fn ranked(set: &ResultSet) -> Quantity {
    if set.actual().iter().any(|run| run.jobs > 0) {
        return CCT;
    }
    // The messages of one run: a sweep over lengths does not change the quantity.
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

/// The value of `key` in `[workload]` of a resolved scenario.
pub(crate) fn workload_value<'a>(toml: &'a str, key: &str) -> Option<&'a str> {
    let lines = toml.lines().skip_while(|line| *line != "[workload]").skip(1);
    lines
        .take_while(|line| !line.starts_with('['))
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))
}

/// The smallest lead that counts, as a share: no measurement of a fabric resolves less.
pub(crate) const LEAST_LEAD: f64 = 0.01;

/// The largest difference of schemes that tie, as a share of the first one's mean, with which the upper end of the 95 %
/// interval is compared. A scheme that takes half as long again is slow, whatever a test cannot exclude; without this
/// limit, schemes of which nothing is known would tie.
const MOST_APART: f64 = 0.5;

/// The smallest number of seeds for a ranking. With two, the t-test has one degree of freedom: its result depends on
/// how nearly equal the two differences are, and no third one shows whether that is chance.
pub(crate) const LEAST_SEEDS: usize = 3;

/// The meaning of ranks and ties, in sentences.
pub(crate) const RULE: &str = "one more than the number of schemes that are faster at the same point, by more than 1 % and \
    significantly (a paired t-test over three seeds or more: the 95 % confidence interval of the per-seed differences excludes \
    0), and never before a scheme that is placed and has a lower mean. Schemes of one rank tie: that interval, from the first of \
    them to each other, excludes also that it takes 1.5 times as long, and the verdict names the factor that it does not \
    exclude. Where it excludes neither, the seeds do not tell, and the one whose own interval is wider is not placed: `1-3` \
    means that no scheme is significantly faster, and that all others but two are significantly slower.";

/// The ratio to the baseline from which on a run counts as slower.
const SLOWER: f64 = 1.001;

/// The place of a scheme in the ranking of a sweep point.
pub(crate) struct Standing {
    /// The ranked quantity; none where a run is missing or did not finish.
    pub estimate: Option<Estimate>,
    /// The rank by [`RULE`]. None where there is no estimate, with fewer seeds than [`LEAST_SEEDS`], at a point where
    /// seeds change nothing, and for a scheme that is untouched. For a scheme that is not placed, the last rank that
    /// the seeds permit.
    pub rank: Option<usize>,
    /// The rank; for a scheme that is not placed, the first rank that the seeds permit, which is below the last.
    pub at_best: usize,
    /// The largest ratio of its time to that of the first scheme of its rank, by the upper end of the 95 % interval of
    /// the differences; none for the first itself.
    pub tie_within: Option<f64>,
    /// The quantity over that of the baselines, from a ratio for each seed; none without baselines that finished.
    pub slowdown_by_fault: Option<Estimate>,
    /// The time to recover over the seeds.
    pub recovery: Recovery,
    /// The number of runs that are missing or did not finish, and of all requested runs.
    pub unfinished: [usize; 2],
    /// The number of runs in which no fault hit any data or cost anything, and of all that ran.
    pub unhit: [usize; 2],
    /// The ranked quantity over the runs that were hit, where some were and some were not; none where one is missing or
    /// did not finish.
    pub where_hit: Option<f64>,
    /// Whether all its seeds gave one number: they are no evidence, as if there were one seed alone.
    pub is_one_run: bool,
    /// Whether no fault hit any of its data at any seed or cost it anything, though they hit other schemes at the same
    /// point, because hashing avoided the link, for example. Its result does not show how it handles the faults, and it
    /// is not ranked.
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

    /// Whether the seeds determine its rank.
    pub(crate) fn is_placed(&self) -> bool {
        self.rank.is_none_or(|rank| rank == self.at_best)
    }
}

/// The time until goodput recovered from the faults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Recovery {
    /// There is nothing to recover from, or no baseline to compare with.
    Unknown,
    /// Goodput did not fall at any seed.
    NoDip,
    /// Recovered after this time in microseconds, over the seeds at which goodput fell: all of `of` but `no_dip_at`.
    After { time: Estimate, no_dip_at: usize, of: usize },
    /// At `the_end_at` of `of` seeds the run ended without having recovered. `is_held`: at each of them a fault was
    /// still active then, so that no later recovery of another scheme is better than this.
    NotBefore { the_end_at: usize, of: usize, is_held: bool },
}

/// The standings of the groups, in their order.
pub(crate) fn standings(set: &ResultSet, groups: &[Group<'_>]) -> Vec<Standing> {
    let quantity = ranked(set);
    let scenario = toml::from_str(&set.scenario_toml).unwrap_or_default();
    let of = |group| standing((set, &scenario), group, quantity);
    let mut found: Vec<Standing> = groups.iter().map(of).collect();
    let of_none = |standing: &Standing| standing.unhit[0] == standing.unhit[1];
    for here in at_each_point(groups) {
        let some_hit = here.iter().any(|&index| !of_none(&found[index]));
        here.iter().for_each(|&index| found[index].is_untouched = some_hit && of_none(&found[index]));
        let seeds_tell =
            here.iter().any(|&index| found[index].estimate.is_some() && !found[index].is_one_run);
        let mut by_mean: Vec<(usize, f64)> = here
            .iter()
            .filter(|&&index| !found[index].is_untouched && seeds_tell)
            .filter_map(|&index| {
                let estimate = found[index].estimate.filter(|of| of.seeds >= LEAST_SEEDS)?;
                Some((index, estimate.mean))
            })
            .collect();
        by_mean.sort_by(|one, other| one.1.total_cmp(&other.1));
        let order: Vec<usize> = by_mean.into_iter().map(|(index, _)| index).collect();
        rank(&mut found, groups, &order, quantity);
    }
    found
}

/// Ranks the schemes of a point, `order`, which are sorted by their means, by [`RULE`].
fn rank(found: &mut [Standing], groups: &[Group<'_>], order: &[usize], quantity: Quantity) {
    let against = |first: usize, other: usize| against(&groups[first], &groups[other], quantity);
    let is_slower = |first: usize, other: usize| against(first, other) == Against::Slower;
    let half = |index: usize| found[index].estimate.and_then(|of| of.half_width).unwrap_or(0.0);
    let faster: Vec<usize> = (0..order.len())
        .map(|place| order[..place].iter().filter(|&&other| is_slower(other, order[place])).count())
        .collect();
    let mut placed: Vec<usize> = (0..order.len()).collect();
    let ranks = loop {
        match ranks(order, &placed, &faster, &against) {
            Ok(ranks) => break ranks,
            // The seeds decide nothing about the two; more seeds of the wider one would.
            Err([first, other]) => {
                let wider = if half(order[first]) > half(order[other]) { first } else { other };
                placed.retain(|&place| place != wider);
            }
        }
    };
    for (place, &index) in order.iter().enumerate() {
        let slower = order[place + 1..].iter().filter(|&&other| is_slower(index, other)).count();
        (found[index].at_best, found[index].rank) = (1 + faster[place], Some(order.len() - slower));
    }
    for (place, Placed { rank, tie_within }) in placed.into_iter().zip(ranks) {
        let standing = &mut found[order[place]];
        (standing.at_best, standing.rank, standing.tie_within) = (rank, Some(rank), tie_within);
    }
}

/// The rank of a scheme that is placed.
struct Placed {
    rank: usize,
    tie_within: Option<f64>,
}

/// The ranks of the schemes `placed`, which are places in `order`, ascending. `faster` has for each place the number of
/// schemes that are faster.
///
/// # Errors
/// Two places between which the seeds show neither a difference nor a tie.
fn ranks(
    order: &[usize],
    placed: &[usize],
    faster: &[usize],
    against: &impl Fn(usize, usize) -> Against,
) -> Result<Vec<Placed>, [usize; 2]> {
    let mut ranks: Vec<Placed> = Vec::with_capacity(placed.len());
    // The first scheme of the last rank, and that rank.
    let mut first: Option<(usize, usize)> = None;
    for &place in placed {
        let mut rank = 1 + faster[place];
        let mut tie_within = None;
        if let Some((first, last_rank)) = first.filter(|(_, last_rank)| rank <= *last_rank) {
            match against(order[first], order[place]) {
                Against::Level { within } => (rank, tie_within) = (last_rank, Some(within)),
                // Slower than the first of the rank, though not than each scheme before that one.
                Against::Slower => rank = last_rank + 1,
                Against::Untold => return Err([first, place]),
            }
        }
        if tie_within.is_none() {
            first = Some((place, rank));
        }
        ranks.push(Placed { rank, tie_within });
    }
    Ok(ranks)
}

/// The result of comparing a scheme with one that has a lower mean.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Against {
    /// Significantly slower: the 95 % interval of the differences, seed by seed, is above 0, and their mean above
    /// [`LEAST_LEAD`].
    Slower,
    /// Tied: the interval is below [`MOST_APART`].
    Level {
        /// The largest ratio of the two times, by the upper end of the interval.
        within: f64,
    },
    /// The seeds show neither.
    Untold,
}

/// Compares `other` with `first`. Each seed gives both the same workload, so that the differences are free of the
/// variation that they have in common.
fn against(first: &Group<'_>, other: &Group<'_>, quantity: Quantity) -> Against {
    let of_seed = |run: &RunRow| {
        let same = first.runs().find(|known| known.seed == run.seed)?.number(quantity.field)?;
        Some((run.number(quantity.field)? - same, same))
    };
    let (differences, its): (Vec<f64>, Vec<f64>) = other.runs().filter_map(of_seed).unzip();
    let difference = Estimate::of(&differences).filter(|of| of.seeds >= LEAST_SEEDS);
    let Some((difference, [low, high])) = difference.and_then(|of| Some((of, of.interval()?))) else {
        return Against::Untold;
    };
    let mean = its.iter().sum::<f64>() / its.len() as f64;
    match (low > 0.0 && difference.mean > LEAST_LEAD * mean, high <= MOST_APART * mean) {
        (true, _) => Against::Slower,
        (false, true) => Against::Level { within: 1.0 + high / mean },
        (false, false) => Against::Untold,
    }
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
            let mut without =
                group.runs().zip(&baselines).filter(|(run, _)| run.time_to_recover_us.is_none());
            Recovery::NotBefore {
                the_end_at: baselines.len() - times.len(),
                of: baselines.len(),
                is_held: without
                    .all(|(run, baseline)| is_whole(run) && holds_to_the_end(scenario, run, *baseline)),
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
        tie_within: None,
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

/// Whether no fault hit any data of a run or slowed it in another way: the last ACKs of a message may be lost.
fn is_unhit(run: &RunRow, baseline: Option<&RunRow>, quantity: Quantity) -> bool {
    let number = |run: &RunRow| run.number(quantity.field);
    let is_slower = baseline.and_then(|baseline| Some(number(run)? > SLOWER * number(baseline)?));
    let is_spared = compared(run, baseline).all(|fault| fault.data_packets == 0);
    !run.faults.is_empty() && is_spared && is_whole(run) && !is_slower.unwrap_or(false)
}

/// Whether all messages and jobs finished.
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

/// For each scheme and point of the sweep: the number of seeds, its rank, the cost of the faults, and of every number
/// of the runs the mean over the seeds with its 95 % interval (null with one seed). Numbers that a seed did not reach
/// are left out.
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
            "rank_method": format!(
                "{RULE} Null with one or two seeds, where the seeds of all schemes change nothing, and where the faults hit none of \
                 its data while they hit others'."
            ),
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

    /// Results of one point: a scheme for each entry, with its largest FCT by seed.
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
        // c is not slower than a for sure (13 ± 15.5), and ties with b, which is: its seeds are no reason not to place it.
        assert_eq!(found.iter().map(Standing::rank_shown).collect::<Vec<_>>(), ["1", "2", "2"]);
        assert!(!verdict(&set)[0].contains("placed"), "{:?}", verdict(&set));
        assert!(method(&set).contains("paired t-test"));
    }

    /// Against a, b differs by 24, 10 and -4 us: 10 ± 35, below half of 100 us, so that they tie. c differs from a by
    /// 40, 12 and -16 us: 12 ± 70, which shows neither, and a has the wider interval (± 37; c ± 32). b has ± 2.5 and
    /// keeps its place, and c ties with it (2 ± 35).
    #[test]
    fn a_narrow_scheme_keeps_its_place_beside_a_wide_one() {
        let set =
            set(&[("a", &[85.0, 100.0, 115.0]), ("b", &[109.0, 110.0, 111.0]), ("c", &[125.0, 112.0, 99.0])]);
        let shown: Vec<String> = standings(&set, &groups(&set)).iter().map(Standing::rank_shown).collect();
        assert_eq!(shown, ["1-3", "1", "1"]);
    }

    /// One scheme has seeds far apart: against the first of the nine, 350 - 400, 417 - 402 and 1600 - 404, mean 387 and
    /// s = 702, so ± 1742, which shows nothing. On average it is slower than ecmp, which is slower than nine.
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
        assert_eq!((of("ecmp"), of("reps")), ((659.5, 10), (789.0, 11)));
        assert_eq!(found[0].rank_shown(), "1-11", "no scheme is slower for sure, and none is faster");
        assert_eq!(names.map(|name| of(name).1), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }

    /// The rank of each scheme, as the table shows it.
    fn shown(schemes: &[(&str, &[f64])]) -> Vec<String> {
        let set = set(schemes);
        standings(&set, &groups(&set)).iter().map(Standing::rank_shown).collect()
    }

    /// 4.303 / sqrt(3) = 2.484 times the standard deviation. By hand: b is 10 us slower than a on average, and its seeds differ
    /// from those of a by 15.7 us, so ± 39.0: up to 49.0, below half of a's 100. With 16.5 us, ± 41.0, it is up to 51.0.
    #[test]
    fn schemes_tie_where_the_seeds_exclude_that_one_takes_half_as_long_again() {
        let a: &[f64] = &[99.0, 100.0, 101.0];
        let b = |s: f64| [109.0 - s, 110.0, 111.0 + s];
        assert_eq!(shown(&[("a", a), ("b", &b(15.7))]), ["1", "1"]);
        assert_eq!(shown(&[("a", a), ("b", &b(16.5))]), ["1", "1-2"]);
    }

    /// By hand: b's mean is 1,771 and its s = 1,205.7, so ± 2,995; the differences from a, of the same s, begin below 0
    /// and go up to 4,260. Three seeds do not show whether it ties with a's 505 or takes eight times as long.
    #[test]
    fn what_is_known_of_neither_is_no_tie() {
        let wide: &[f64] = &[1_085.0, 1_065.0, 3_163.0];
        let two = set(&[("a", &[504.0, 505.0, 506.0]), ("b", wide)]);
        assert_eq!(
            verdict(&two),
            [
                "a alone can be placed: FCT 505.0 µs (± 2.5); not to be placed, as their seeds differ too much: b (1,771 ± 2,995 \
              µs)."
            ]
        );
        let three = set(&[("a", &[504.0, 505.0, 506.0]), ("b", wide), ("c", &[1_010.0, 1_011.0, 1_009.0])]);
        assert_eq!(
            verdict(&three),
            [
                "a is fastest: FCT 505.0 µs (± 2.5), 2.00 times faster than c (1,010 ± 2.5 µs); not to be placed, as their seeds \
              differ too much: b (1,771 ± 2,995 µs)."
            ]
        );
        assert_eq!(
            shown(&[("a", &[504.0, 505.0, 506.0]), ("b", wide), ("c", &[1_010.0, 1_011.0, 1_009.0])]),
            ["1", "1-3", "2"]
        );
    }

    /// The scheme with the lowest mean, 467 ± 1,535, cannot be placed, and is no reason to leave out another one.
    #[test]
    fn one_whose_seeds_lie_far_apart_does_not_lead() {
        let schemes: &[(&str, &[f64])] =
            &[("w", &[100.0, 120.0, 1_180.0]), ("b", &[500.0, 501.0, 502.0]), ("c", &[503.0, 501.0, 502.0])];
        assert_eq!(shown(schemes), ["1-3", "1", "1"]);
        assert_eq!(
            verdict(&set(schemes)),
            [
                "b and c tie within a factor of 1.01: FCT 501.0 µs (± 2.5) and 502.0 µs (± 2.5); not to be placed, as their seeds differ too much: w \
              (466.7 ± 1,535 µs)."
            ]
        );
    }

    /// c is slower than a at each seed; beside b it may be faster by 400 us or slower by 1,900.
    #[test]
    fn behind_the_first_it_is_the_same() {
        let [a, b]: [&[f64]; 2] = [&[100.0, 101.0, 102.0], &[1_000.0, 1_002.0, 1_004.0]];
        assert_eq!(shown(&[("a", a), ("b", b), ("c", &[1_400.0, 1_800.0, 2_060.0])]), ["1", "2", "2-3"]);
        assert_eq!(shown(&[("a", a), ("b", b), ("c", &[1_001.0, 1_001.0, 1_005.0])]), ["1", "2", "2"]);
    }

    /// The numbers resemble those of the README: 1,214 ± 368 (unhit at two of three seeds), 1,266 ± 11 and 1,305 ± 68.
    /// The differences go up to 52 + 374 and 91 + 316, a third of 1,214 at most.
    #[test]
    fn the_example_of_the_readme_ties() {
        let schemes: &[(&str, &[f64])] = &[
            ("rocev2", &[1_128.0, 1_128.0, 1_386.0]),
            ("reps", &[1_262.0, 1_270.4, 1_266.0]),
            ("strack", &[1_280.0, 1_300.0, 1_335.0]),
        ];
        assert_eq!(shown(schemes), ["1", "1", "1"]);
    }

    /// By hand: b is 3, 1 and 8 us behind a: mean 4, s = 3.61, ± 8.96, so up to 12.96 of a's 102. c is 30, 30 and 33 us
    /// behind: slower. With b at 30, 0 and 60 us, 30 ± 74.5 shows nothing.
    #[test]
    fn a_tie_says_within_which_factor() {
        let [a, c]: [&[f64]; 2] = [&[100.0, 102.0, 104.0], &[130.0, 132.0, 137.0]];
        let tie = set(&[("a", a), ("b", &[103.0, 103.0, 112.0]), ("c", c)]);
        let found = standings(&tie, &groups(&tie));
        assert!(
            (found[1].tie_within.unwrap() - (1.0 + 12.96 / 102.0)).abs() < 1e-4,
            "{:?}",
            found[1].tie_within
        );
        assert_eq!([found[0].tie_within, found[2].tie_within], [None; 2]);
        let said = &verdict(&tie)[0];
        assert!(said.starts_with("a and b tie within a factor of 1.13: FCT 102.0 µs (± 5.0)"), "{said}");
        let wide = set(&[("a", a), ("b", &[130.0, 102.0, 164.0]), ("c", c)]);
        let found = standings(&wide, &groups(&wide));
        assert_eq!(found.iter().map(Standing::rank_shown).collect::<Vec<_>>(), ["1", "1-3", "2"]);
        assert!(found.iter().all(|standing| standing.tie_within.is_none()));
    }

    /// The differences of b from a are 20 and 21 us, those of d 16 and 26. A t-test on two numbers takes b for slower
    /// (20.5 ± 6.4) and shows nothing about d (21 ± 64): it depends on how near two numbers are to each other.
    #[test]
    fn two_seeds_do_not_rank_and_three_do() {
        let two = set(&[("a", &[100.0, 102.0]), ("b", &[120.0, 123.0]), ("d", &[116.0, 128.0])]);
        let found = standings(&two, &groups(&two));
        assert!(found.iter().all(|standing| standing.rank.is_none() && standing.tie_within.is_none()));
        assert_eq!(
            verdict(&two),
            [
                "a is fastest by the mean of two seeds: FCT 101.0 µs (± 13), 1.20 times faster than b (121.5 ± 19 µs); \
                 then d (122.0 ± 76 µs).",
                "Two seeds do not rank: their t-test has one degree of freedom. Three or more do."
            ]
        );
        assert!(method(&two).ends_with("No ranks."), "{}", method(&two));
        let near = set(&[("a", &[100.0, 102.0]), ("b", &[101.0, 102.0])]);
        assert!(
            verdict(&near)[0].starts_with("a and b lie within 1 % by the means of two seeds: FCT 101.0"),
            "{:?}",
            verdict(&near)
        );
        let three = set(&[("a", &[100.0, 102.0, 101.0]), ("b", &[120.0, 123.0, 121.0])]);
        assert_eq!(
            standings(&three, &groups(&three)).iter().map(|of| of.rank).collect::<Vec<_>>(),
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
