//! The ranking of schemes: their ranks, the certainty of the ranks, and the cost of faults.

use crate::faults::{faults_beyond_baseline, is_active_at_end};
use crate::groups::{Group, at_each_point, groups};
use anabranch_results::{Estimate, MissingRun, ResultSet, RunRow};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

/// The quantity by which schemes are ranked. Lower is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quantity {
    pub field: &'static str,
    /// The short name for sentences: `CCT`.
    pub short: &'static str,
    pub long: &'static str,
    /// Whether the quantity is a time in microseconds. Otherwise it is a ratio.
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

/// For jobs, the ranked quantity is the CCT of the slowest job. For messages of a Poisson process or of several
/// lengths, it is the P99 slowdown. For other messages, such as permutations and incasts, it is the FCT of the slowest
/// message.
pub(crate) fn ranked_quantity(set: &ResultSet) -> Quantity {
    // If the compared class has messages of its own, they have slowdowns, and the jobs belong to another class.
    if set.actual().iter().any(|run| run.jobs > 0 && run.number("slowdown_mean").is_none()) {
        return CCT;
    }
    // Only lengths within one run count, because a sweep over lengths does not change the quantity.
    let of_lengths = set.flows.windows(2).any(|two| two[0].run == two[1].run && two[0].bytes != two[1].bytes);
    let is_poisson = set.facts.points.first().is_some_and(|point| point.workload.kind == "poisson");
    match of_lengths || is_poisson {
        true => SLOWDOWN,
        false => FCT,
    }
}

/// A lead counts if it exceeds this fraction of the faster scheme's mean.
pub(crate) const LEAST_LEAD: f64 = 0.01;

/// Ranked schemes tie only if the 95 % interval of their difference ends at or below this fraction of the first
/// scheme's mean. Without this limit, schemes would tie merely because their seeds differ too much to show a
/// difference.
const MOST_APART: f64 = 0.5;

/// The smallest number of seeds for a ranking. With two seeds, the t-test has one degree of freedom, so its result
/// depends on how nearly equal the two differences are. Only a third difference can show whether they are nearly equal
/// by chance.
pub(crate) const LEAST_SEEDS: usize = 3;

pub(crate) const RULE: &str = "one more than the number of schemes that are faster at the same point, by more than 1 % and \
    significantly (a paired t-test over three seeds or more: the 95 % confidence interval of the per-seed differences excludes \
    0), and never before a scheme that is placed and has a lower mean. Schemes of one rank tie: that interval, from the first of \
    them to each other, excludes also that it takes 1.5 times as long, and the verdict names the factor that it does not \
    exclude. Where it excludes neither, the seeds do not tell, and the one whose own interval is wider is not placed: `1-3` \
    means that no scheme is significantly faster, and that all others but two are significantly slower.";

/// A run counts as slower if the ratio of its ranked quantity to its baseline's exceeds this number.
const SLOWER: f64 = 1.001;

/// The result of a scheme in the ranking at one point of the sweep.
pub(crate) struct RankedScheme {
    /// The ranked quantity, or `None` if a run is missing, did not finish or has no such number.
    pub estimate: Option<Estimate>,
    /// The rank by [`RULE`]. It is `None` if there is no estimate, if there are fewer seeds than [`LEAST_SEEDS`], if
    /// seeds change nothing for any scheme at this point, or if the faults affected only other schemes. If the seeds do
    /// not determine one rank, this is the last rank that they permit.
    pub rank: Option<usize>,
    /// The rank, or 1 without a rank. If the seeds do not determine one rank, this is the first rank that they permit,
    /// which is less than `rank`.
    pub at_best: usize,
    /// The largest ratio of the scheme's quantity to the quantity of the first scheme of its rank that the 95 %
    /// interval of the differences permits. It is `None` for the first scheme of a rank and for a scheme without a
    /// definite rank.
    pub tie_within: Option<f64>,
    /// The ratio of the ranked quantity to the baseline's, computed for each seed. It is `None` if a run or a baseline
    /// is missing or did not finish.
    pub slowdown_by_fault: Option<Estimate>,
    pub recovery: Recovery,
    /// The number of runs that are missing or did not finish, and the number of all requested runs.
    pub unfinished: [usize; 2],
    /// The number of finished runs with faults that affected no data and cost no time, and the number of all runs
    /// that have results.
    pub unhit: [usize; 2],
    /// The mean of the ranked quantity over the runs that faults affected, if faults affected some runs but not others.
    /// It is `None` if any run of the scheme is missing or did not finish.
    pub where_hit: Option<f64>,
    /// Whether the scheme has several seeds and all of them gave the same number. Such seeds are no more evidence than
    /// a single seed.
    pub is_one_run: bool,
    /// Whether the faults affected other schemes at the same point, but neither the data nor the time of this scheme in
    /// any seed, for example because hashing avoided the failed link. The result does not show how the scheme handles
    /// the faults, so the scheme is not ranked.
    pub is_untouched: bool,
}

impl RankedScheme {
    /// The rank as text: `3`, `1-3` if the seeds do not determine one rank, `unhit` if the faults did not affect the
    /// scheme, or `-` if it has no rank for another reason.
    pub(crate) fn rank_shown(&self) -> String {
        match self.rank {
            None if self.is_untouched => "unhit".to_owned(),
            Some(rank) if rank > self.at_best => format!("{}-{rank}", self.at_best),
            Some(rank) => rank.to_string(),
            None => "-".to_owned(),
        }
    }

    /// Whether every run had faults and finished, and the faults affected no data and cost no time.
    pub(crate) fn no_seed_hit(&self) -> bool {
        self.unhit[0] == self.unhit[1]
    }

    /// Whether the scheme has no rank, or the seeds determine a single rank.
    pub(crate) fn is_placed(&self) -> bool {
        self.rank.is_none_or(|rank| rank == self.at_best)
    }
}

/// The time until goodput recovered from the faults, over the seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Recovery {
    /// There is nothing to recover from, a baseline is missing or did not finish, or all faults are failures at random
    /// times.
    Unknown,
    /// Goodput fell in no seed.
    NoDip,
    /// Goodput recovered after this time, in microseconds. Goodput fell in all of the `of` seeds except `no_dip_at` of
    /// them. The estimate is over the seeds in which it fell.
    After { time: Estimate, no_dip_at: usize, of: usize },
    /// In `the_end_at` of `of` seeds, the run ended before goodput recovered. With `is_held`, each of these runs
    /// finished while a fault was still active, which is no worse than a later recovery.
    NotBefore { the_end_at: usize, of: usize, is_held: bool },
}

/// The results are in the order of `groups`.
pub(crate) fn ranked_schemes(set: &ResultSet, groups: &[Group<'_>]) -> Vec<RankedScheme> {
    let quantity = ranked_quantity(set);
    let of = |group| standing(set, group, quantity);
    let mut found: Vec<RankedScheme> = groups.iter().map(of).collect();
    for here in at_each_point(groups) {
        let some_hit = here.iter().any(|&index| !found[index].no_seed_hit());
        here.iter().for_each(|&index| found[index].is_untouched = some_hit && found[index].no_seed_hit());
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

/// Ranks the schemes of a point by [`RULE`]. `order` lists the schemes, sorted by their means.
fn rank(found: &mut [RankedScheme], groups: &[Group<'_>], order: &[usize], quantity: Quantity) {
    let compare = |first: usize, other: usize| compare_pair(&groups[first], &groups[other], quantity);
    let is_slower = |first: usize, other: usize| compare(first, other) == PairResult::Slower;
    let half = |index: usize| found[index].estimate.and_then(|of| of.half_width).unwrap_or(0.0);
    let faster: Vec<usize> = (0..order.len())
        .map(|place| order[..place].iter().filter(|&&other| is_slower(other, order[place])).count())
        .collect();
    let mut placed: Vec<usize> = (0..order.len()).collect();
    let ranks = loop {
        match ranks(order, &placed, &faster, &compare) {
            Ok(ranks) => break ranks,
            // The seeds show neither a difference nor a tie between the two schemes. The scheme with the wider interval
            // needs more seeds, so it gets no definite rank.
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
    for (place, PlacedRank { rank, tie_within }) in placed.into_iter().zip(ranks) {
        let standing = &mut found[order[place]];
        (standing.at_best, standing.rank, standing.tie_within) = (rank, Some(rank), tie_within);
    }
}

struct PlacedRank {
    rank: usize,
    tie_within: Option<f64>,
}

/// The ranks of the schemes in `placed`, which holds ascending positions in `order`. For each position in `order`,
/// `faster` has the number of schemes that are faster than the scheme at this position.
///
/// # Errors
/// Two positions, if the seeds show neither a difference nor a tie between their schemes.
fn ranks(
    order: &[usize],
    placed: &[usize],
    faster: &[usize],
    compare: &impl Fn(usize, usize) -> PairResult,
) -> Result<Vec<PlacedRank>, [usize; 2]> {
    let mut ranks: Vec<PlacedRank> = Vec::with_capacity(placed.len());
    // The position of the first scheme of the last rank, and that rank.
    let mut first: Option<(usize, usize)> = None;
    for &place in placed {
        let mut rank = 1 + faster[place];
        let mut tie_within = None;
        if let Some((first, last_rank)) = first.filter(|(_, last_rank)| rank <= *last_rank) {
            match compare(order[first], order[place]) {
                PairResult::Tied { within } => (rank, tie_within) = (last_rank, Some(within)),
                // This scheme is slower than the first scheme of the rank, but not slower than every scheme before that
                // first scheme.
                PairResult::Slower => rank = last_rank + 1,
                PairResult::Unknown => return Err([first, place]),
            }
        }
        if tie_within.is_none() {
            first = Some((place, rank));
        }
        ranks.push(PlacedRank { rank, tie_within });
    }
    Ok(ranks)
}

/// The comparison of a scheme with another scheme whose mean is not higher.
#[derive(Clone, Copy, Debug, PartialEq)]
enum PairResult {
    /// The scheme is significantly slower: the 95 % interval of the differences by seed is above 0, and their mean is
    /// above the fraction [`LEAST_LEAD`] of the other scheme's mean.
    Slower,
    /// The schemes tie, because the interval ends at or below the fraction [`MOST_APART`] of the other scheme's mean.
    Tied {
        /// The largest ratio of the scheme's mean to the other scheme's mean that the interval permits.
        within: f64,
    },
    /// The seeds show neither a difference nor a tie.
    Unknown,
}

/// Compares `other` with `first`. A seed gives both schemes the same workload, so the differences by seed do not
/// contain the variation of the workload.
fn compare_pair(first: &Group<'_>, other: &Group<'_>, quantity: Quantity) -> PairResult {
    let of_seed = |run: &RunRow| {
        let same = first.runs().find(|known| known.seed == run.seed)?.number(quantity.field)?;
        Some((run.number(quantity.field)? - same, same))
    };
    let (differences, its): (Vec<f64>, Vec<f64>) = other.runs().filter_map(of_seed).unzip();
    let difference = Estimate::of(&differences).filter(|of| of.seeds >= LEAST_SEEDS);
    let Some((difference, [low, high])) = difference.and_then(|of| Some((of, of.interval()?))) else {
        return PairResult::Unknown;
    };
    let mean = its.iter().sum::<f64>() / its.len() as f64;
    match (low > 0.0 && difference.mean > LEAST_LEAD * mean, high <= MOST_APART * mean) {
        (true, _) => PairResult::Slower,
        (false, true) => PairResult::Tied { within: 1.0 + high / mean },
        (false, false) => PairResult::Unknown,
    }
}

fn standing(set: &ResultSet, group: &Group<'_>, quantity: Quantity) -> RankedScheme {
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
    let mut faults = set.facts.points.iter().flat_map(|point| &point.faults).peekable();
    // Failures at random times have no common start from which a recovery could be counted.
    let are_random = faults.peek().is_some() && faults.all(|fault| fault.per_hour.is_some());
    let known = !are_random
        && !baselines.is_empty()
        && baselines.iter().all(|baseline| baseline.is_some_and(is_whole));
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
                    .all(|(run, baseline)| is_whole(run) && is_active_at_end(set, run, *baseline)),
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
    RankedScheme {
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

/// Whether a run had faults, finished, and was not affected by them: no fault hit a data packet, and the run is not
/// slower than its baseline. A fault that drops the last ACKs of a message hits no data packet, but slows the run.
fn is_unhit(run: &RunRow, baseline: Option<&RunRow>, quantity: Quantity) -> bool {
    let number = |run: &RunRow| run.number(quantity.field);
    let is_slower = baseline.and_then(|baseline| Some(number(run)? > SLOWER * number(baseline)?));
    let is_spared = faults_beyond_baseline(run, baseline).all(|fault| fault.data_packets == 0);
    !run.faults.is_empty() && is_spared && is_whole(run) && !is_slower.unwrap_or(false)
}

fn is_whole(run: &RunRow) -> bool {
    run.flows_finished >= run.flows && run.jobs_finished >= run.jobs
}

/// The baseline of a run: the run of the same scheme and seed, at the same point of the sweep apart from swept faults,
/// that has none of the scenario's faults. None if the results have no such run.
pub(crate) fn baseline_of<'a>(set: &'a ResultSet, run: &RunRow) -> Option<&'a RunRow> {
    let same_point = |baseline: &RunRow| {
        let rest = run.sweep.iter().filter(|(name, _)| !name.starts_with("fault."));
        rest.eq(baseline.sweep.iter())
    };
    set.baselines()
        .iter()
        .find(|baseline| baseline.scheme == run.scheme && baseline.seed == run.seed && same_point(baseline))
}

/// A JSON row for each scheme at each point of the sweep: the number of seeds, the rank, the cost of the faults, and
/// each numeric result as its mean over the seeds with a 95 % interval (null with one seed). A result that any seed
/// lacks is left out.
pub fn summary_json(set: &ResultSet) -> Json {
    let (groups, quantity) = (groups(set), ranked_quantity(set));
    let estimate = |estimate: Estimate| {
        let [low, high] = estimate.interval().map_or([None; 2], |interval| interval.map(Some));
        json!({ "mean": estimate.mean, "low": low, "high": high })
    };
    let row = |(group, standing): (&Group<'_>, &RankedScheme)| {
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
    groups.iter().zip(&ranked_schemes(set, &groups)).map(row).collect()
}

#[cfg(test)]
pub(crate) mod tests;
