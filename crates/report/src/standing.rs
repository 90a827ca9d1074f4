//! What is fastest, how sure that is, and what the faults cost: the verdict above table and page.

use crate::groups::{Group, groups};
use crate::labels::{half_width, micros, thousands};
use anabranch_results::{Estimate, MissingRun, ResultSet, RunRow};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// The number by which schemes are ranked; less is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quantity {
    /// One of [`RunRow::FIELDS`].
    pub field: &'static str,
    /// In a sentence: `CCT`.
    short: &'static str,
    /// Of which run's number it is, in full.
    long: &'static str,
    is_time: bool,
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

/// A cost below this is none.
const LEAST_PERCENT: f64 = 0.05;
/// Sweep points that have a sentence each.
const MOST_SENTENCES: usize = 4;

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
    let mut lines = toml.lines().skip_while(|line| *line != "[workload]").skip(1);
    let kind = lines
        .by_ref()
        .take_while(|line| !line.starts_with('['))
        .find_map(|line| line.strip_prefix("kind = \""))?;
    kind.strip_suffix('"')
}

/// The faults of a resolved scenario, in a few words.
fn faults(toml: &str) -> String {
    let (mut kinds, mut within) = (Vec::new(), false);
    for line in toml.lines() {
        if line.starts_with('[') {
            within = line == "[[fault]]";
        }
        kinds.extend(within.then(|| line.strip_prefix("kind = \"")?.strip_suffix('"')).flatten());
    }
    match kinds[..] {
        [kind] => format!("the fault ({kind})"),
        _ => "the faults".to_owned(),
    }
}

/// A scheme at a point of the sweep, as it stands among the others.
pub(crate) struct Standing {
    /// The ranked quantity; none where a run is missing or did not finish.
    pub estimate: Option<Estimate>,
    /// 1 and how many schemes of the same point of the sweep are faster, by an interval of the paired differences that is
    /// clear of 0, but never before a scheme with a lower mean. None where there is no estimate, and with one seed.
    pub rank: Option<usize>,
    /// 1 and how many schemes are faster, by the paired differences alone. Where it is below the rank, the seeds lie too
    /// far apart to place the scheme.
    pub at_best: usize,
    /// The quantity over that of the baselines, a ratio for each seed; none without baselines that finished.
    pub slowdown_by_fault: Option<Estimate>,
    /// The time to recover over the seeds.
    pub recovery: Recovery,
    /// Runs that are missing or did not finish, and all that were asked for.
    unfinished: [usize; 2],
    /// Runs in which no fault hit any data, and all that ran.
    unhit: [usize; 2],
}

impl Standing {
    /// `3`, or `1-3` where the seeds do not tell.
    pub(crate) fn rank_shown(&self) -> String {
        match self.rank {
            Some(rank) if rank > self.at_best => format!("{}-{rank}", self.at_best),
            Some(rank) => rank.to_string(),
            None => "-".to_owned(),
        }
    }

    fn is_placed(&self) -> bool {
        self.rank.is_none_or(|rank| rank == self.at_best)
    }

    /// At which seeds no fault hit any data, to stand behind the name; none where each run was hit or has no faults.
    fn spared(&self) -> Option<String> {
        match self.unhit {
            [0, _] => None,
            [1, 1] => Some("no data hit by the faults".to_owned()),
            [unhit, all] if unhit == all => Some("no data hit by the faults at any seed".to_owned()),
            [unhit, all] => Some(format!("no data hit by the faults at {unhit} of {all} seeds")),
        }
    }

    /// The scheme's name where it leads: that it was spared belongs into the same clause.
    fn leading(&self, name: &str) -> String {
        self.spared().map_or_else(|| name.to_owned(), |spared| format!("{name} ({spared})"))
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
    /// At so many of the seeds the run ended without having got back.
    NotBefore { the_end_at: usize, of: usize },
}

/// How each group stands, in their order.
pub(crate) fn standings(set: &ResultSet, groups: &[Group<'_>]) -> Vec<Standing> {
    let quantity = ranked(set);
    let mut found: Vec<Standing> = groups.iter().map(|group| standing(set, group, quantity)).collect();
    let mut by_mean: Vec<(usize, f64)> = found
        .iter()
        .enumerate()
        .filter_map(|(place, standing)| Some((place, standing.estimate.filter(|of| of.seeds > 1)?.mean)))
        .collect();
    by_mean.sort_by(|one, other| one.1.total_cmp(&other.1));
    for (number, &(place, _)) in by_mean.iter().enumerate() {
        let lower = by_mean[..number].iter().map(|&(other, _)| other);
        let lower: Vec<usize> = lower.filter(|&other| groups[other].sweep == groups[place].sweep).collect();
        let faster =
            lower.iter().filter(|&&other| is_faster(&groups[other], &groups[place], quantity)).count();
        // One whose seeds lie far apart ties with many. It has no rank before those with lower means for that.
        let at_best = lower.last().and_then(|&other| found[other].rank).unwrap_or(1);
        found[place].rank = Some(at_best.max(1 + faster));
        found[place].at_best = 1 + faster;
    }
    found
}

/// Whether `one` is faster than `other` for sure: the 95 % interval of the differences, seed by seed, is above 0. Seeds
/// stand for workloads, which are the same for both, so that what they have in common is no doubt.
fn is_faster(one: &Group<'_>, other: &Group<'_>, quantity: Quantity) -> bool {
    let of_seed = |run: &RunRow| {
        let same = one.runs().find(|known| known.seed == run.seed)?;
        Some(run.number(quantity.field)? - same.number(quantity.field)?)
    };
    let differences: Vec<f64> = other.runs().filter_map(of_seed).collect();
    let interval = Estimate::of(&differences).and_then(|difference| difference.interval());
    interval.is_some_and(|[low, _]| low > 0.0)
}

fn standing(set: &ResultSet, group: &Group<'_>, quantity: Quantity) -> Standing {
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
        true => Recovery::NotBefore { the_end_at: baselines.len() - times.len(), of: baselines.len() },
    };
    Standing {
        estimate,
        rank: None,
        at_best: 1,
        slowdown_by_fault: estimate.and(ratios).and_then(|ratios| Estimate::of(&ratios)),
        recovery,
        unfinished: [unfinished, absent + group.indices.len()],
        unhit: [group.runs().filter(|run| is_unhit(run)).count(), group.indices.len()],
    }
}

/// Whether none of its faults met any data of a run.
fn is_unhit(run: &RunRow) -> bool {
    !run.faults.is_empty() && run.faults.iter().all(|fault| fault.data_packets == 0)
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

/// What the results say: what is fastest, by how much over the next, and what the faults cost each; which runs are
/// missing. Sentences, in order; of a figure, whose answer is its claims, no more than the last.
pub fn verdict(set: &ResultSet) -> Vec<String> {
    let mut sentences = missing(set);
    sentences.extend(answer(set));
    sentences
}

/// The same without a word of missing runs.
pub(crate) fn answer(set: &ResultSet) -> Vec<String> {
    let mut sentences = Vec::new();
    let groups = groups(set);
    // A figure's answer are its claims.
    if set.figure.is_some() || groups.is_empty() || set.actual().iter().all(|run| run.flows == 0) {
        return sentences;
    }
    let standings = standings(set, &groups);
    let mut points: Vec<&BTreeMap<String, anabranch_results::Value>> = Vec::new();
    for group in &groups {
        if !points.contains(&group.sweep) {
            points.push(group.sweep);
        }
    }
    let quantity = ranked(set);
    let at = |point: &BTreeMap<_, _>| -> Vec<(&str, &Standing)> {
        let here = groups.iter().zip(&standings).filter(|(group, _)| group.sweep == point);
        here.map(|(group, standing)| (group.scheme, standing)).collect()
    };
    if points.len() <= MOST_SENTENCES {
        for point in points {
            let prefix = match point.is_empty() {
                true => String::new(),
                false => format!("At {}: ", named(point)),
            };
            let schemes = at(point);
            sentences.push(format!("{prefix}{}.", ranking(&schemes, quantity)));
            sentences.extend(unhit(&schemes).map(|unhit| format!("{prefix}{unhit}.")));
            sentences.extend(cost(&schemes, &set.scenario_toml).map(|cost| format!("{prefix}{cost}.")));
            sentences.extend(left_out(&schemes).map(|left_out| format!("{prefix}{left_out}.")));
        }
    } else {
        sentences.push(over_the_sweep(&points, at));
    }
    sentences
}

/// By which number schemes are ranked and what stands behind ±, as a sentence; empty where there is nothing to rank.
pub fn method(set: &ResultSet) -> String {
    let groups = groups(set);
    let Some(most) = groups.iter().map(|group| group.indices.len()).max() else { return String::new() };
    if set.figure.is_some() || set.actual().iter().all(|run| run.flows == 0) {
        return String::new();
    }
    let ranked = format!("Ranked by {}", ranked(set).long);
    match most {
        1 => format!("{ranked}. One seed: no interval, and no ranks."),
        _ => format!(
            "{ranked}, mean over {most} seeds; ± is the 95 % interval, by Student's t over the seeds' own numbers. Rank: 1 \
             and how many schemes are faster at the same point by a paired t-test, that is, the 95 % interval of the \
             differences seed by seed is clear of 0, for each pair by itself; no scheme ranks before one with a lower mean. 1-3: by its mean 3rd, by the test no scheme \
             is faster."
        ),
    }
}

fn named(point: &BTreeMap<String, anabranch_results::Value>) -> String {
    let values: Vec<String> = point.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    values.join(", ")
}

/// The runs that are missing, first of all.
fn missing(set: &ResultSet) -> Vec<String> {
    let all = set.runs.len()
        + set.missing.iter().filter(|missing| !set.runs.iter().any(|run| is_of(missing, run))).count();
    if set.missing.is_empty() {
        return Vec::new();
    }
    vec![format!("Not whole: {} of {all} runs failed or never ran.", set.missing.len())]
}

fn is_of(missing: &MissingRun, run: &RunRow) -> bool {
    (&missing.scheme, missing.seed, &missing.sweep, missing.baseline)
        == (&run.scheme, run.seed, &run.sweep, run.baseline)
}

/// `1,234 µs (± 12)`.
fn shown(estimate: &Estimate, quantity: Quantity) -> String {
    let (mean, unit) = match quantity.is_time {
        true => (micros(estimate.mean), " µs"),
        false => (format!("{:.2}", estimate.mean), ""),
    };
    match estimate.half_width {
        Some(half) => format!("{mean}{unit} (± {})", half_width(half)),
        None => format!("{mean}{unit}"),
    }
}

/// `1,234 ± 12 µs`.
fn in_brackets(estimate: &Estimate, quantity: Quantity) -> String {
    let (mean, unit) = match quantity.is_time {
        true => (micros(estimate.mean), " µs"),
        false => (format!("{:.2}", estimate.mean), ""),
    };
    match estimate.half_width {
        Some(half) => format!("{mean} ± {}{unit}", half_width(half)),
        None => format!("{mean}{unit}"),
    }
}

fn ranking(schemes: &[(&str, &Standing)], quantity: Quantity) -> String {
    let mut order: Vec<(&str, Estimate)> =
        schemes.iter().filter_map(|(name, standing)| Some((*name, standing.estimate?))).collect();
    order.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
    let rank = |name: &str| schemes.iter().find(|(known, _)| *known == name).and_then(|(_, of)| of.rank);
    let with = |(name, estimate): &(&str, Estimate)| format!("{name} ({})", in_brackets(estimate, quantity));
    let of = |name: &str| schemes.iter().find(|(known, _)| *known == name).map(|(_, standing)| *standing);
    let leading = |name: &str| of(name).map_or_else(|| name.to_owned(), |standing| standing.leading(name));
    let Some((best, first)) = order.first().copied() else {
        return "No scheme finished, so there is nothing to rank".to_owned();
    };
    let one_seed = if first.seeds == 1 { "; one seed: no interval" } else { "" };
    if schemes.len() == 1 {
        return format!("{}: {} {}{one_seed}", leading(best), quantity.short, shown(&first, quantity));
    }
    let (tied, rest): (Vec<_>, Vec<_>) =
        order.iter().copied().partition(|(name, other)| rank(name) == Some(1) || first.mean == other.mean);
    let mut text = match (tied.len(), rest.first()) {
        (1, None) => {
            format!("{} alone finished: {} {}", leading(best), quantity.short, shown(&first, quantity))
        }
        (1, Some(next)) => format!(
            "{} is fastest{}: {} {}, {:.2} times faster than {}",
            leading(best),
            if first.seeds == 1 { " at its one seed" } else { "" },
            quantity.short,
            shown(&first, quantity),
            next.1.mean / first.mean,
            with(next),
        ),
        _ => {
            let names: Vec<String> = tied.iter().map(|(name, _)| leading(name)).collect();
            let values: Vec<String> = tied.iter().map(|(_, estimate)| shown(estimate, quantity)).collect();
            let (names, values) = (listed(&names), listed(&values));
            // All of them are faster than the next.
            let clear = |next: &&(&str, Estimate)| rank(next.0) == Some(1 + tied.len());
            let beyond = rest.first().filter(clear).map(|next| {
                let slowest = tied.iter().map(|(_, estimate)| estimate.mean).fold(0.0, f64::max);
                format!(", {:.2} times faster at least than {}", next.1.mean / slowest, with(next))
            });
            format!("{names} tie: {} {values}{}", quantity.short, beyond.unwrap_or_default())
        }
    };
    // One that has its place in the comparison is not said twice.
    let said = usize::from(rest.first().is_some_and(|next| text.contains(&with(next))));
    let is_placed = |(name, _): &&(&str, Estimate)| {
        schemes.iter().find(|(known, _)| known == name).is_none_or(|(_, standing)| standing.is_placed())
    };
    let (placed, unplaced): (Vec<_>, Vec<_>) = rest.iter().skip(said).partition(is_placed);
    for (before, those) in
        [("then ", placed), ("not to be placed, as their seeds differ too much: ", unplaced)]
    {
        let those: Vec<String> = those.into_iter().map(with).collect();
        if !those.is_empty() {
            text.push_str(&format!("; {before}{}", those.join(", ")));
        }
    }
    // Who was spared did not win what was asked, so the first of the others is named beside.
    let is_spared = |name: &str| of(name).is_some_and(|standing| standing.unhit[0] > 0);
    if tied.iter().any(|(name, _)| is_spared(name))
        && let Some(hit) = order.iter().find(|(name, _)| !is_spared(name))
    {
        let (least, seeds) = match first.seeds {
            1 => ("fastest", ""),
            _ => ("lowest mean", " at every seed"),
        };
        text.push_str(&format!("; {least} of those hit{seeds}: {}", with(hit)));
    }
    text + one_seed
}

/// `a`, `a and b`, `a, b and c`.
fn listed<T: AsRef<str>>(items: &[T]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match items.split_last() {
        None => String::new(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

/// What the faults cost each scheme.
fn cost(schemes: &[(&str, &Standing)], toml: &str) -> Option<String> {
    let costs: Vec<String> = schemes
        .iter()
        .filter_map(|(name, standing)| {
            let slowdown = standing.slowdown_by_fault?;
            let percent = 100.0 * (slowdown.mean - 1.0);
            let half = slowdown.half_width.map(|half| 100.0 * half);
            let shown = format!("{} %", whole_percent(percent));
            Some(match half {
                Some(half) if percent.abs() <= half.max(LEAST_PERCENT) => {
                    format!("{name} an uncertain {shown} (± {})", half_width(half))
                }
                Some(half) => format!("{name} {shown} (± {})", half_width(half)),
                None => format!("{name} {shown}"),
            })
        })
        .collect();
    (!costs.is_empty()).then(|| {
        let faults = faults(toml);
        let mut letters = faults.chars();
        let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
        format!("{first}{} cost {}", letters.as_str(), costs.join("; "))
    })
}

/// The schemes of which the faults hit no data, at some seeds or at all: what they reached says nothing of the faults.
fn unhit(schemes: &[(&str, &Standing)]) -> Option<String> {
    let told: Vec<String> = schemes
        .iter()
        .filter(|(_, standing)| standing.unhit[0] > 0)
        .map(|(name, standing)| match standing.unhit {
            [1, 1] => (*name).to_owned(),
            [unhit, all] if unhit == all => format!("{name} (at any seed)"),
            [unhit, all] => format!("{name} (at {unhit} of {all} seeds)"),
        })
        .collect();
    (!told.is_empty()).then(|| {
        format!("The faults hit no data of {}: that says nothing of how these bear them", listed(&told))
    })
}

fn whole_percent(percent: f64) -> String {
    match percent.abs() {
        none if none < LEAST_PERCENT => "0".to_owned(),
        little if little < 10.0 => format!("{percent:.1}"),
        _ => thousands(percent),
    }
}

/// The schemes that are in no ranking, and why.
fn left_out(schemes: &[(&str, &Standing)]) -> Option<String> {
    let without: Vec<String> = schemes
        .iter()
        .filter(|(_, standing)| standing.estimate.is_none())
        .map(|(name, standing)| {
            let [unfinished, all] = standing.unfinished;
            match unfinished {
                0 => format!("{name} (it has no such number)"),
                _ => format!("{name} ({unfinished} of {all} runs did not finish)"),
            }
        })
        .collect();
    (!without.is_empty()).then(|| format!("Left out of the ranking: {}", without.join(", ")))
}

/// Who is fastest at which of many points.
fn over_the_sweep<'a>(
    points: &[&BTreeMap<String, anabranch_results::Value>],
    at: impl Fn(&BTreeMap<String, anabranch_results::Value>) -> Vec<(&'a str, &'a Standing)>,
) -> String {
    let mut by_winner: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for point in points {
        let here = at(point);
        let means = here.iter().filter_map(|(_, standing)| standing.estimate.map(|estimate| estimate.mean));
        let least = means.reduce(f64::min);
        let leads = |standing: &Standing| {
            let mean = standing.estimate.map(|estimate| estimate.mean);
            standing.rank == Some(1) || (mean.is_some() && mean == least)
        };
        let winners = here.into_iter().filter(|(_, standing)| leads(standing));
        let mut winners: Vec<String> = winners.map(|(name, standing)| standing.leading(name)).collect();
        winners.sort_unstable();
        match by_winner.iter_mut().find(|(known, _)| *known == winners) {
            Some((_, places)) => places.push(named(point)),
            None => by_winner.push((winners, vec![named(point)])),
        }
    }
    let parts: Vec<String> = by_winner
        .iter()
        .map(|(winners, places)| {
            let what = match &winners[..] {
                [] => "no scheme finished".to_owned(),
                [one] => format!("{one} is fastest"),
                _ => format!("{} tie", listed(winners)),
            };
            let shown = places.iter().take(3).cloned().collect::<Vec<_>>().join("; ");
            let more = if places.len() > 3 { "; ..." } else { "" };
            format!("{what} at {} of {} sweep points ({shown}{more})", places.len(), points.len())
        })
        .collect();
    format!("{}.", parts.join(". "))
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
            "rank_method": "1 and how many schemes are faster at the same point of the sweep, by the 95 % interval of the \
                            differences seed by seed (paired t), but never before one with a lower mean; null with one seed",
            "rank": standing.rank,
            "rank_at_best": standing.rank.map(|_| standing.at_best),
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
mod tests {
    use super::*;
    use crate::samples::{collectives, two_schemes};
    use anabranch_results::{FaultRow, FlowRow};

    /// One point, no sweep: a scheme for each entry, with its largest FCT by seed.
    fn set(schemes: &[(&str, &[f64])]) -> ResultSet {
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

    #[test]
    fn the_fastest_is_named_with_the_next_and_the_others() {
        let three = set(&[
            ("b", &[200.0, 202.0, 204.0]),
            ("a", &[100.0, 101.0, 102.0]),
            ("c", &[400.0, 404.0, 408.0]),
        ]);
        assert_eq!(
            verdict(&three),
            [
                "a is fastest: FCT 101.0 µs (± 2.5), 2.00 times faster than b (202.0 ± 5.0 µs); then c (404.0 ± 9.9 µs)."
            ]
        );
        let ranks: Vec<_> = standings(&three, &groups(&three)).iter().map(|standing| standing.rank).collect();
        assert_eq!(ranks, [Some(2), Some(1), Some(3)]);
        assert!(method(&three).contains("Student's t"));
    }

    #[test]
    fn overlapping_intervals_tie_and_one_seed_claims_little() {
        let tie = set(&[
            ("a", &[100.0, 110.0, 120.0]),
            ("b", &[105.0, 112.0, 118.0]),
            ("c", &[900.0, 901.0, 902.0]),
        ]);
        assert_eq!(
            verdict(&tie),
            [
                "a and b tie: FCT 110.0 µs (± 25) and 111.7 µs (± 16), 8.07 times faster at least than c (901.0 ± 2.5 µs)."
            ]
        );
        let ranks: Vec<_> = standings(&tie, &groups(&tie)).iter().map(|standing| standing.rank).collect();
        assert_eq!(ranks, [Some(1), Some(1), Some(3)]);
        // One that ties with one of the tied is not said to be slower than both.
        let chain = set(&[("a", &[100.0, 100.0]), ("b", &[95.0, 115.0]), ("c", &[200.0, 200.0])]);
        assert_eq!(
            verdict(&chain),
            ["a and b tie: FCT 100.0 µs (± 0) and 105.0 µs (± 127); then c (200.0 ± 0 µs)."]
        );
        let one = set(&[("a", &[100.0]), ("b", &[200.0])]);
        assert_eq!(
            verdict(&one),
            [
                "a is fastest at its one seed: FCT 100.0 µs, 2.00 times faster than b (200.0 µs); one seed: no interval."
            ]
        );
        assert!(method(&one).ends_with("One seed: no interval, and no ranks."));
        assert!(standings(&one, &groups(&one)).iter().all(|standing| standing.rank.is_none()));
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
            let place = groups.iter().position(|group| group.scheme == name).unwrap();
            (found[place].estimate.unwrap().mean, found[place].rank.unwrap())
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
    fn what_did_not_finish_is_left_out_and_said() {
        let mut set = set(&[("a", &[100.0, 100.0]), ("b", &[50.0, 50.0])]);
        set.runs[3].flows_finished = 3;
        let missing = |scheme: &str, error: Option<&str>| MissingRun {
            scheme: scheme.to_owned(),
            seed: 2,
            sweep: BTreeMap::new(),
            baseline: false,
            error: error.map(str::to_owned),
        };
        set.missing = vec![missing("b", Some("stalled"))];
        assert_eq!(
            verdict(&set),
            [
                "Not whole: 1 of 4 runs failed or never ran.",
                "a alone finished: FCT 100.0 µs (± 0).",
                "Left out of the ranking: b (1 of 2 runs did not finish)."
            ]
        );
        set.runs.truncate(3);
        set.missing = vec![missing("b", None), missing("c", None)];
        assert_eq!(verdict(&set)[0], "Not whole: 2 of 5 runs failed or never ran.");
        assert!(verdict(&set)[2].contains("b (1 of 2 runs did not finish)"), "{:?}", verdict(&set));
    }

    #[test]
    fn a_fault_that_hit_no_data_is_said_with_its_schemes() {
        let mut set = set(&[("a", &[110.0, 220.0]), ("b", &[100.0, 110.0]), ("c", &[100.0, 110.0])]);
        for (place, run) in set.runs.iter_mut().enumerate() {
            let data_packets = if (1..=3).contains(&place) { 0 } else { 3 };
            run.faults = vec![FaultRow { packets_lost: 5, data_packets, ..FaultRow::default() }];
        }
        let groups = groups(&set);
        let standings = standings(&set, &groups);
        let schemes: Vec<(&str, &Standing)> =
            groups.iter().zip(&standings).map(|(group, standing)| (group.scheme, standing)).collect();
        assert_eq!(
            unhit(&schemes).unwrap(),
            "The faults hit no data of a (at 1 of 2 seeds) and b (at any seed): that says nothing of how these bear them"
        );
    }

    /// By hand: b and c lead with 100 and 110, and no fault hit b's data at any seed, nor c's at its first; a, which was
    /// hit at both, is the one to name beside them.
    #[test]
    fn a_scheme_that_the_faults_spared_does_not_win_without_a_word() {
        let mut spared = set(&[("a", &[300.0, 310.0]), ("b", &[100.0, 110.0]), ("c", &[101.0, 109.0])]);
        for (place, run) in spared.runs.iter_mut().enumerate() {
            let data_packets = if (2..=4).contains(&place) { 0 } else { 3 };
            run.faults = vec![FaultRow { packets_lost: 5, data_packets, ..FaultRow::default() }];
        }
        let said = &verdict(&spared)[0];
        let tie = "b (no data hit by the faults at any seed) and c (no data hit by the faults at 1 of 2 seeds) tie: ";
        assert!(said.starts_with(tie), "{said}");
        assert!(said.ends_with("; lowest mean of those hit at every seed: a (305.0 ± 64 µs)."), "{said}");
        spared.runs.retain(|run| run.seed == 1 && run.scheme != "c");
        let said = &verdict(&spared)[0];
        assert!(said.starts_with("b (no data hit by the faults) is fastest at its one seed: "), "{said}");
        assert!(said.contains("; fastest of those hit: a (300.0 µs)"), "{said}");
        // Who leads and was hit leads without a word.
        spared.runs.iter_mut().for_each(|run| run.faults[0].data_packets = 3 - run.faults[0].data_packets);
        spared.runs.iter_mut().for_each(|run| run.fct_max_us = 400.0 - run.fct_max_us);
        let mut hit = spared.clone();
        hit.runs.iter_mut().for_each(|run| run.faults[0].data_packets = 3);
        assert!(!verdict(&hit)[0].contains("hit"), "{:?}", verdict(&hit));
        for run in &mut spared.runs {
            run.sweep.insert("x".into(), anabranch_results::Value::Integer(0));
        }
        let points = (0..6).flat_map(|point| {
            spared.runs.iter().map(move |run| {
                let mut run = run.clone();
                run.sweep.insert("x".into(), anabranch_results::Value::Integer(point));
                run
            })
        });
        let many = ResultSet { runs: points.collect(), ..spared.clone() };
        assert!(
            verdict(&many)[0].starts_with("a (no data hit by the faults) is fastest at 6 of 6"),
            "{:?}",
            verdict(&many)
        );
    }

    #[test]
    fn the_cost_of_a_fault_is_that_over_its_baseline_seed_by_seed() {
        let mut set = set(&[("a", &[110.0, 220.0, 330.0]), ("b", &[100.0, 110.0, 90.0])]);
        set.scenario_toml =
            "[[fault]]\nat = \"5us\"\nkind = \"link-down\"\n[workload]\nkind = \"incast\"\n".into();
        let bases = [100.0, 200.0, 300.0, 100.0, 100.0, 100.0];
        let runs: Vec<RunRow> = set.runs.clone();
        set.runs.extend(runs.into_iter().zip(bases).map(|(run, fct_max_us)| RunRow {
            baseline: true,
            fct_max_us,
            ..run
        }));
        set.runs[0].time_to_recover_us = Some(10.0);
        let said = verdict(&set);
        assert_eq!(said[1], "The fault (link-down) cost a 10 % (± 0); b an uncertain 0 % (± 25).");
        let recoveries: Vec<_> =
            standings(&set, &groups(&set)).iter().map(|standing| standing.recovery).collect();
        assert_eq!(
            recoveries,
            [Recovery::NotBefore { the_end_at: 2, of: 3 }, Recovery::NotBefore { the_end_at: 3, of: 3 }]
        );
        let summary = summary_json(&set);
        assert!((summary[0]["slowdown_by_fault"]["mean"].as_f64().unwrap() - 1.1).abs() < 1e-12);
        assert_eq!(summary.as_array().unwrap().len(), 2);
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

    #[test]
    fn many_points_are_told_by_who_is_fastest() {
        let mut whole = ResultSet::default();
        for point in 0..6 {
            let [a, b] = if point < 5 { [100.0, 200.0] } else { [200.0, 100.0] };
            let mut here = set(&[("a", &[a, a]), ("b", &[b, b])]);
            for run in &mut here.runs {
                run.sweep.insert("x".into(), anabranch_results::Value::Integer(point));
            }
            whole.runs.extend(here.runs);
        }
        assert_eq!(
            verdict(&whole),
            [
                "a is fastest at 5 of 6 sweep points (x = 0; x = 1; x = 2; ...). b is fastest at 1 of 6 sweep points (x = 5)."
            ]
        );
        whole.runs.retain(|run| run.sweep["x"] == anabranch_results::Value::Integer(0));
        assert!(verdict(&whole)[0].starts_with("At x = 0: a is fastest"), "{:?}", verdict(&whole));
    }
}
