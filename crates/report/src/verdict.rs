//! The verdict, in sentences above table and page: the fastest scheme, how sure that is, and the cost of the faults.

use crate::groups::{at_points, groups, named, points};
use crate::labels::{TimeUnit, half_width, micros, thousands};
use crate::ranking::{LEAST_LEAD, LEAST_SEEDS, Quantity, RULE, Standing, ranked, standings, workload_value};
use anabranch_results::{Estimate, MissingRun, ResultSet, RunRow};
use std::collections::BTreeMap;

/// The smallest cost that is shown as one.
const LEAST_PERCENT: f64 = 0.05;
/// Sweep points that have a sentence each, at most.
const MOST_SENTENCES: usize = 4;
/// Schemes that a sentence names; it counts the others, and the table has them.
const MOST_NAMED: usize = 8;
/// Schemes that a short sentence names, beside the last.
const FEW_NAMED: usize = 3;
/// The number of schemes up to which sentences are long, at a single point.
const MOST_IN_FULL: usize = 6;

/// The verdict: the fastest scheme, its lead over the next, the cost of the faults for each, and the number of missing
/// runs. Sentences, in order; for a figure, whose answer is its claims, only the last.
pub fn verdict(set: &ResultSet) -> Vec<String> {
    let mut sentences = missing(set);
    sentences.extend(answer(set));
    sentences
}

/// The verdict without the sentence about missing runs.
pub(crate) fn answer(set: &ResultSet) -> Vec<String> {
    let mut sentences = Vec::new();
    let groups = groups(set);
    // The answer of a figure is its claims.
    if set.figure.is_some() || groups.is_empty() || set.actual().iter().all(|run| run.flows == 0) {
        return sentences;
    }
    let standings = standings(set, &groups);
    let mut points = points(&groups);
    let quantity = ranked(set);
    let at = |point: &BTreeMap<_, _>| -> Vec<(&str, &Standing)> {
        let here = groups.iter().zip(&standings).filter(|(group, _)| group.sweep == point);
        here.map(|(group, standing)| (group.scheme, standing)).collect()
    };
    let most_schemes = points.iter().map(|point| at(point).len()).max().unwrap_or(0);
    let named_at_most = match points.len() > 1 || most_schemes > MOST_IN_FULL {
        true => FEW_NAMED,
        false => MOST_NAMED,
    };
    let seeds = groups.iter().map(|group| group.indices.len()).max().unwrap_or(0);
    let too_few_seeds = (most_schemes > 1 && (2..LEAST_SEEDS).contains(&seeds)).then(|| TWO_SEEDS.to_owned());
    if points.len() > MOST_SENTENCES {
        let (spared, hit): (Vec<_>, Vec<_>) = points
            .iter()
            .copied()
            .partition(|point| at(point).iter().all(|(_, of)| of.unhit[1] > 0 && of.unhit[0] == of.unhit[1]));
        if !hit.is_empty() {
            sentences.push(sweep::over_all(&hit, at, quantity));
        }
        if !spared.is_empty() {
            let spared: Vec<String> = spared.iter().map(|point| named(point)).collect();
            sentences.push(format!("{SPARED}, {}.", at_points(&spared, points.len())));
            sentences.push(hit_more(set));
        }
        sentences.extend(sweep::not_ranked(&points, at));
        let alike = points.iter().filter(|point| at(point).iter().any(|(_, of)| of.is_one_run)).count();
        if alike > 0 {
            sentences.push(format!(
                "{ALIKE} for some schemes at {alike} of {} sweep points: {NO_EVIDENCE}.",
                points.len()
            ));
        }
        sentences.extend(too_few_seeds);
        return sentences;
    }
    // A point without an answer is no headline.
    points.sort_by_key(|point| says_nothing(&at(point)));
    let (mut rankings, mut costs, mut rest, mut some_spared) = (Vec::new(), Vec::new(), Vec::new(), false);
    for point in &points {
        let prefix = match point.is_empty() {
            true => String::new(),
            false => format!("At {}: ", named(point)),
        };
        let schemes = at(point);
        let unhit = unhit(&schemes, quantity, named_at_most);
        some_spared |= unhit.is_some();
        let ranking = || format!("{prefix}{}.", ranking(&schemes, quantity, named_at_most));
        match unhit {
            // Where no fault hit any data the result says nothing about how schemes handle them, and that comes first.
            Some(Unhit::AllAreSpared) if points.len() > 1 => rankings.push(format!("{prefix}{SPARED}.")),
            Some(Unhit::AllAreSpared) => rankings.push(format!("{prefix}{SPARED}. {}", ranking())),
            Some(Unhit::Not(unranked)) => {
                rankings.push(ranking());
                rest.push(format!("{prefix}{unranked}."));
            }
            None => rankings.push(ranking()),
        }
        costs.extend(cost(&schemes, &set.scenario_toml).map(|cost| format!("{prefix}{cost}.")));
        rest.extend(no_evidence(&schemes, named_at_most).map(|told| format!("{prefix}{told}.")));
        rest.extend(left_out(&schemes, named_at_most).map(|left_out| format!("{prefix}{left_out}.")));
    }
    sentences.extend(rankings.into_iter().chain(costs).chain(rest).chain(too_few_seeds));
    sentences.extend(some_spared.then(|| hit_more(set)));
    sentences
}

/// Whether the schemes of a point give no answer: no fault hit any of their data, or none finished.
fn says_nothing(schemes: &[(&str, &Standing)]) -> bool {
    let spared = |standing: &Standing| standing.unhit[1] > 0 && standing.unhit[0] == standing.unhit[1];
    schemes.iter().all(|(_, standing)| spared(standing) || standing.estimate.is_none())
}

/// The words for schemes whose seeds all gave one number.
const ALIKE: &str = "Seeds change nothing";
const NO_EVIDENCE: &str = "± 0 is no evidence";

/// The words for schemes whose seeds are too far apart to rank them.
const NOT_PLACED: &str = "Not to be placed, as their seeds differ too much";

/// The reason why two seeds give no ranking.
const TWO_SEEDS: &str = "Two seeds do not rank: their t-test has one degree of freedom. Three or more do.";

/// A sentence about the schemes of a point whose seeds are no evidence.
fn no_evidence(schemes: &[(&str, &Standing)], most: usize) -> Option<String> {
    let alike = schemes.iter().filter(|(_, of)| of.is_one_run).map(|(name, _)| (*name).to_owned());
    let alike: Vec<String> = alike.collect();
    let compared = if alike.len() > 1 { ", and they are compared by one run" } else { "" };
    match alike.len() {
        0 => None,
        all if all == schemes.len() => Some(format!("{ALIKE} here: {NO_EVIDENCE}{compared}")),
        _ => Some(format!("{ALIKE} for {}: {NO_EVIDENCE}{compared}", some(alike, most.max(MOST_IN_FULL)))),
    }
}

/// The ranked quantity, and the meaning of ±, as a sentence; empty where there is nothing to rank.
pub fn method(set: &ResultSet) -> String {
    let groups = groups(set);
    let Some(most) = groups.iter().map(|group| group.indices.len()).max() else { return String::new() };
    if set.figure.is_some() || set.actual().iter().all(|run| run.flows == 0) {
        return String::new();
    }
    let ranked = format!("Ranked by {}", ranked(set).long);
    let estimated = match most {
        1 => return format!("{ranked}. One seed: no confidence intervals, no ranks."),
        _ => format!(
            "{ranked}, mean over {most} seeds; ± is the half-width of the 95 % confidence interval of the mean over seeds \
             (Student's t)."
        ),
    };
    match most < LEAST_SEEDS {
        true => format!("{estimated} No ranks."),
        false => format!(
            "{estimated} Rank: {RULE} More than {most} seeds may tell more. Two schemes whose seeds change nothing are \
             compared by one run; a point where that is so of all has no ranks."
        ),
    }
}

/// The sentence about missing runs.
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

/// The format of a quantity's numbers in one sentence.
struct Shown {
    unit: Option<TimeUnit>,
}

impl Shown {
    /// The format for these means. Times of one sentence share a unit, unless some would lose their digits in it.
    fn all_of(means: impl Iterator<Item = f64> + Clone, quantity: Quantity) -> Self {
        let least = means.clone().fold(f64::INFINITY, f64::min);
        let most = means.fold(0.0, f64::max);
        Shown { unit: quantity.is_time.then(|| TimeUnit::of(if least >= 100.0 { most } else { least })) }
    }

    fn of(schemes: &[(&str, &Standing)], quantity: Quantity) -> Self {
        Self::all_of(schemes.iter().filter_map(|(_, of)| of.estimate).map(|of| of.mean), quantity)
    }

    fn number(&self, value: f64) -> String {
        self.unit.map_or_else(|| format!("{value:.2}"), |unit| micros(unit.convert(value)))
    }

    fn half(&self, value: f64) -> String {
        half_width(self.unit.map_or(value, |unit| unit.convert(value)))
    }

    /// `c (200.0 ± 5.0 µs)`.
    fn with(&self, (name, _, standing): &Ranked<'_>) -> String {
        format!("{name} ({})", in_brackets(standing, self))
    }

    /// The unit with a space before it.
    fn unit(&self) -> String {
        self.unit.map_or_else(String::new, |unit| format!(" {}", unit.name()))
    }

    /// The share of seeds that no fault hit, and the mean over the others, where the mean over all hides both.
    fn partly_unhit(&self, standing: &Standing) -> Option<String> {
        let [unhit, all] = standing.unhit;
        let mean = self.number(standing.where_hit?);
        Some(format!("unhit at {unhit} of {all} seeds, {mean} where hit"))
    }
}

/// `1,234 µs (± 12)`; where the faults missed its data at some seeds, `1,234 µs (± 12; unhit at 2 of 3 seeds, 1,500
/// where hit)`.
fn shown(standing: &Standing, with: &Shown) -> String {
    let Some(estimate) = standing.estimate else { return String::new() };
    let mean = with.number(estimate.mean) + &with.unit();
    let half = estimate.half_width.map(|half| format!("± {}", with.half(half)));
    match half.into_iter().chain(with.partly_unhit(standing)).collect::<Vec<_>>()[..] {
        [] => mean,
        ref parts => format!("{mean} ({})", parts.join("; ")),
    }
}

/// `1,234 ± 12 µs`, likewise with the seeds that were not hit.
fn in_brackets(standing: &Standing, with: &Shown) -> String {
    let Some(estimate) = standing.estimate else { return String::new() };
    let (mean, unit) = (with.number(estimate.mean), with.unit());
    let text = match estimate.half_width {
        Some(half) => format!("{mean} ± {}{unit}", with.half(half)),
        None => format!("{mean}{unit}"),
    };
    match with.partly_unhit(standing) {
        Some(partly) => format!("{text}; {partly}"),
        None => text,
    }
}

/// A scheme that has a ranked number.
type Ranked<'a> = (&'a str, Estimate, &'a Standing);

fn ranking(schemes: &[(&str, &Standing)], quantity: Quantity, most: usize) -> String {
    let touched = schemes.iter().filter(|(_, standing)| !standing.is_untouched);
    let mut order: Vec<Ranked<'_>> =
        touched.filter_map(|(name, standing)| Some((*name, standing.estimate?, *standing))).collect();
    let of_these = match schemes.iter().any(|(_, standing)| standing.is_untouched) {
        true => "Of those whose data the faults hit, ",
        false => "",
    };
    order.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
    let units = Shown::of(schemes, quantity);
    let placed_first = order.iter().find(|(_, _, standing)| standing.is_placed()).or(order.first());
    let Some((best, first, leader)) = placed_first.copied() else {
        return match schemes.iter().any(|(_, standing)| standing.is_untouched && standing.estimate.is_some())
        {
            true => {
                "None of those whose data the faults hit finished, so there is nothing to rank".to_owned()
            }
            false => "No scheme finished, so there is nothing to rank".to_owned(),
        };
    };
    if schemes.len() == 1 {
        return format!("{best}: {} {}", quantity.short, shown(leader, &units));
    }
    let (tied, rest): (Vec<Ranked<'_>>, Vec<_>) = order
        .iter()
        .copied()
        .partition(|(_, other, of)| of.rank == Some(1) || leader.rank.is_none() && is_level(&first, other));
    let (placed, unplaced): (Vec<_>, Vec<_>) =
        rest.iter().copied().partition(|(_, _, standing)| standing.is_placed());
    let next = placed.first().copied();
    let mut placed = level(&placed, &units, most);
    let unplaced: Vec<String> = unplaced.iter().map(|of| units.with(of)).collect();
    let mut said = 0;
    let mut text = match (tied.len(), next) {
        (1, None) if !unplaced.is_empty() => {
            format!("{of_these}{best} alone can be placed: {} {}", quantity.short, shown(leader, &units))
        }
        (1, None) => {
            let touched = schemes.iter().filter(|(_, standing)| !standing.is_untouched).count();
            let why = match touched {
                1 => "alone was hit by the faults",
                all if all == schemes.len() => "alone finished",
                _ => "alone finished of those whose data the faults hit",
            };
            format!("{best} {why}: {} {}", quantity.short, shown(leader, &units))
        }
        (1, Some(next)) => {
            let how_sure = match leader.is_one_run && next.2.is_one_run {
                _ if first.seeds == 1 => " at its one seed",
                true => " by one run",
                false if first.seeds < LEAST_SEEDS => " by the mean of two seeds",
                false => "",
            };
            said = 1;
            format!(
                "{of_these}{best} is fastest{how_sure}: {} {}, {:.2} times faster than {}",
                quantity.short,
                shown(leader, &units),
                next.1.mean / first.mean,
                // A scheme that is named in the comparison with the fastest is not named again.
                placed.remove(0).text,
            )
        }
        _ => {
            let names = some(tied.iter().map(|(name, ..)| (*name).to_owned()).collect(), most);
            let same = tied.iter().all(|(_, estimate, of)| *estimate == first && of.where_hit.is_none());
            let values = match same {
                true => {
                    format!("{}{}", shown(leader, &units), if tied.len() == 2 { " both" } else { " each" })
                }
                false if tied.len() > most + 1 => {
                    let last = tied.last().map_or(first.mean, |(_, estimate, _)| estimate.mean);
                    format!("{} to {}{}", units.number(first.mean), units.number(last), units.unit())
                }
                false => some(tied.iter().map(|(_, _, standing)| shown(standing, &units)).collect(), most),
            };
            // The next scheme is slower than all that tie.
            let clear = |next: &Ranked<'_>| next.2.rank == Some(1 + tied.len());
            let beyond = next.filter(clear).map(|next| {
                let slowest = tied.iter().map(|(_, estimate, _)| estimate.mean).fold(0.0, f64::max);
                said = 1;
                format!(", at least {:.2} times faster than {}", next.1.mean / slowest, placed.remove(0).text)
            });
            let within = tied.iter().filter_map(|(.., standing)| standing.tie_within).reduce(f64::max);
            let tie = match within.filter(|within| *within > 1.0) {
                _ if first.seeds == 1 => "lie within 1 % at one seed".to_owned(),
                _ if first.seeds < LEAST_SEEDS && !same => {
                    "lie within 1 % by the means of two seeds".to_owned()
                }
                Some(within) => format!("tie within a factor of {within:.2}"),
                None => "tie".to_owned(),
            };
            format!("{of_these}{names} {tie}: {} {values}{}", quantity.short, beyond.unwrap_or_default())
        }
    };
    if most == FEW_NAMED {
        let before = tied.len().min(most) + said;
        text.push_str(&first_and_last(&placed, most.saturating_sub(before)));
    } else if !placed.is_empty() {
        let placed = placed.into_iter().map(|level| level.text).collect();
        text.push_str(&format!("; then {}", some_of(placed, ", ", most)));
    }
    match unplaced.len() {
        0 => {}
        many if most == FEW_NAMED && many > most => {
            text.push_str(&format!("; {many} are not to be placed, as their seeds differ too much"));
        }
        _ => text.push_str(&format!(
            "; not to be placed, as their seeds differ too much: {}",
            some_of(unplaced, ", ", most)
        )),
    }
    text
}

/// Whether a scheme ties with the first where there are no ranks: without intervals, the smallest lead decides.
fn is_level(first: &Estimate, other: &Estimate) -> bool {
    other.mean <= first.mean * (1.0 + LEAST_LEAD)
}

/// Schemes of one rank.
struct Level {
    /// `c (200.0 ± 5.0 µs; tied with d)`.
    text: String,
    schemes: usize,
}

/// The schemes level by level, so that a scheme which ties is not called the last.
fn level(placed: &[Ranked<'_>], units: &Shown, most: usize) -> Vec<Level> {
    let same = |one: &Ranked<'_>, other: &Ranked<'_>| match (one.2.rank, other.2.rank) {
        (None, None) => one.1.mean == other.1.mean,
        (one, other) => one == other,
    };
    let told = |level: &[Ranked<'_>]| {
        let tied = level[1..].iter().map(|(name, ..)| (*name).to_owned()).collect();
        let tied = if level.len() > 1 { format!("; tied with {}", some(tied, most)) } else { String::new() };
        let text = format!("{} ({}{tied})", level[0].0, in_brackets(level[0].2, units));
        Level { text, schemes: level.len() }
    };
    placed.chunk_by(same).map(told).collect()
}

/// `; then c, 12 more and last z`: the first ones, and the last.
fn first_and_last(placed: &[Level], first: usize) -> String {
    let Some((last, others)) = placed.split_last() else { return String::new() };
    let (named, counted) = others.split_at(first.min(others.len()));
    let named: String = named.iter().map(|level| format!("{}, ", level.text)).collect();
    match counted {
        [] => format!("; then {named}{}", last.text),
        [one] => format!("; then {named}{}, {}", one.text, last.text),
        _ => {
            let more: usize = counted.iter().map(|level| level.schemes).sum();
            format!("; then {named}{more} more and last {}", last.text)
        }
    }
}

/// `a`, `a and b`, `a, b and c`; of many the first ones, and the number of the others.
fn some(items: Vec<String>, most: usize) -> String {
    some_of(items, " and ", most)
}

/// As [`some`], with `before_last` in place of `and`.
fn some_of(mut items: Vec<String>, before_last: &str, most: usize) -> String {
    let more = items.len().saturating_sub(most);
    if more > 1 {
        items.truncate(most);
        return format!("{} and {more} more", items.join(", "));
    }
    match items.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{}{before_last}{last}", rest.join(", ")),
    }
}

/// The cost of the faults for each scheme, the largest first; of many both ends of those that are significant.
fn cost(schemes: &[(&str, &Standing)], toml: &str) -> Option<String> {
    let mut costs: Vec<(&str, f64, Option<f64>)> = schemes
        .iter()
        .filter_map(|(name, standing)| {
            let slowdown = standing.slowdown_by_fault?;
            Some((*name, 100.0 * (slowdown.mean - 1.0), slowdown.half_width.map(|half| 100.0 * half)))
        })
        .collect();
    costs.sort_by(|one, other| other.1.total_cmp(&one.1));
    let is_clear = |(_, percent, half): &(&str, f64, Option<f64>)| {
        percent.abs() >= LEAST_PERCENT && half.is_none_or(|half| percent.abs() > half)
    };
    let (clear, unclear): (Vec<_>, Vec<_>) = costs.into_iter().partition(is_clear);
    // A scheme that met no fault did not handle it either.
    let untouched =
        |name: &str| schemes.iter().any(|(known, of)| *known == name && of.unhit[0] == of.unhit[1]);
    let shown = |(name, percent, half): &(&str, f64, Option<f64>)| match half {
        Some(half) => format!("{name} {} % (± {})", whole_percent(*percent), half_width(*half)),
        None => format!("{name} {} %", whole_percent(*percent)),
    };
    let nothing = |(_, percent, half): &(&str, f64, Option<f64>)| {
        percent.abs() < LEAST_PERCENT && half.is_none_or(|half| half < LEAST_PERCENT)
    };
    let unclear = unclear.iter().filter(|(name, ..)| !untouched(name));
    let (free, unsure): (Vec<_>, Vec<_>) = unclear.partition(|cost| nothing(cost));
    let names =
        |costs: &[&(&str, f64, Option<f64>)]| costs.iter().map(|(name, ..)| (*name).to_owned()).collect();
    let faults = faults(toml);
    // No cost is significant, which does not mean that there is none.
    if clear.is_empty() && free.is_empty() && !unsure.is_empty() {
        let of_whom = if schemes.len() == 1 { "It is not" } else { "For no scheme is it" };
        let unsure = some(unsure.into_iter().map(shown).collect(), MOST_IN_FULL);
        return Some(format!("{of_whom} sure that {faults} cost anything: {unsure}"));
    }
    let mut parts: Vec<String> = Vec::new();
    if clear.len() > MOST_IN_FULL {
        let least: Vec<String> = clear.iter().rev().take(2).map(shown).collect();
        let more = clear.len() - 4;
        let dearest = clear[..2].iter().map(shown).collect::<Vec<_>>().join(", ");
        parts.push(format!(" from {} to {dearest}, the dearest ({more} more between)", least.join(", ")));
    } else if !clear.is_empty() {
        parts.push(format!(" {}", some(clear.iter().map(shown).collect(), MOST_IN_FULL)));
    }
    if !free.is_empty() {
        parts.push(format!(" nothing: {}", some(names(&free), MOST_IN_FULL)));
    }
    if !unsure.is_empty() {
        parts.push(format!(" not sure: {}", some(unsure.into_iter().map(shown).collect(), MOST_IN_FULL)));
    }
    (!parts.is_empty()).then(|| {
        let mut letters = faults.chars();
        let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
        let slow = least_hurt_is_slow(schemes).map(|slow| format!(". {slow}")).unwrap_or_default();
        format!("{first}{} cost{}{slow}", letters.as_str(), parts.join(";"))
    })
}

/// The ratio to the fastest from which on the least hurt scheme is called slow.
const SLOW: f64 = 1.5;

/// A sentence where the scheme with the least cost is much slower than the fastest: these are two questions.
fn least_hurt_is_slow(schemes: &[(&str, &Standing)]) -> Option<String> {
    let hit = schemes.iter().filter(|(_, of)| !of.is_untouched && of.unhit[0] < of.unhit[1]);
    let hit: Vec<(&str, f64, f64)> =
        hit.filter_map(|(name, of)| Some((*name, of.estimate?.mean, of.slowdown_by_fault?.mean))).collect();
    let fastest = hit.iter().min_by(|one, other| one.1.total_cmp(&other.1))?;
    let least_hurt = hit.iter().min_by(|one, other| one.2.total_cmp(&other.2))?;
    let times = least_hurt.1 / fastest.1;
    (times >= SLOW && fastest.2 > least_hurt.2).then(|| {
        format!("Least hurt is not fastest: {} takes {times:.2} times as long as {}", least_hurt.0, fastest.0)
    })
}

/// A sentence with keys to write so that the faults hit the data of all schemes.
fn hit_more(set: &ResultSet) -> String {
    let rows = set.runs.iter().flat_map(|run| run.faults.iter().map(move |row| (row, run.sim_time_us)));
    let (late, met): (Vec<_>, Vec<_>) =
        rows.filter(|(row, _)| row.data_packets == 0).partition(|(row, ends)| row.at_us > *ends);
    if met.is_empty() && !late.is_empty() {
        return "For an answer where no data was hit, let the faults begin before the runs end: an earlier `at` in \
                [[fault]], or longer messages."
            .to_owned();
    }
    let toml = set.scenario_toml.as_str();
    let links = value_of_fault(toml, "links");
    let of_file = links.as_ref().is_some_and(|links| links.starts_with("\"error-rate:"));
    let wider = match (&links, value_of_fault(toml, "switches")) {
        (None, Some(_)) => "more switches".to_owned(),
        (Some(_), _) if of_file => "a higher error rate in the topology's file, on more links".to_owned(),
        (Some(links), _) => {
            let percent = links.trim_matches('"').rsplit_once(':').and_then(|(_, of)| of.strip_suffix('%'));
            let percent = percent.and_then(|percent| percent.parse::<f64>().ok()).unwrap_or(0.0);
            let more = if percent < 10.0 { 10.0 } else { (3.0 * percent).min(100.0) };
            format!("more links (`links = \"tor-uplinks:{more}%\"` in [[fault]])")
        }
        (None, None) => "more links".to_owned(),
    };
    let likelier = match value_of_fault(toml, "probability") {
        Some(_) if !of_file => ", a higher `probability`",
        _ => "",
    };
    let in_order = workload_value(toml, "placement") == Some("\"blocks\"");
    let spread =
        if in_order { ", ranks on other hosts (`placement = \"random\"` in [workload])" } else { "" };
    let earlier = if late.is_empty() { "" } else { ", an earlier `at`" };
    format!(
        "For an answer where no data was hit, let the faults hit more: {wider}{likelier}{earlier}{spread}, longer messages or more seeds."
    )
}

/// The value of `key` in the first `[[fault]]` that has it, in a resolved scenario.
fn value_of_fault(toml: &str, key: &str) -> Option<String> {
    let mut within = false;
    for line in toml.lines() {
        if line.starts_with('[') {
            within = line == "[[fault]]";
        }
        let value = line.strip_prefix(key).and_then(|rest| rest.strip_prefix(" = ")).filter(|_| within);
        if let Some(value) = value {
            return Some(value.to_owned());
        }
    }
    None
}

/// Schemes whose data no fault hit at any seed: their results say nothing about the faults.
enum Unhit {
    /// All schemes.
    AllAreSpared,
    /// Some schemes, which are in no ranking, in a sentence.
    Not(String),
}

/// The sentence for a point at which no fault hit any data.
const SPARED: &str = "The faults hit no data of any scheme, so that this says nothing of how they bear them";

fn unhit(schemes: &[(&str, &Standing)], quantity: Quantity, most: usize) -> Option<Unhit> {
    let of_none = |standing: &Standing| standing.unhit[1] > 0 && standing.unhit[0] == standing.unhit[1];
    if schemes.iter().all(|(_, standing)| of_none(standing)) {
        return Some(Unhit::AllAreSpared);
    }
    let units = Shown::of(schemes, quantity);
    let untouched: Vec<String> = schemes
        .iter()
        .filter(|(_, standing)| standing.is_untouched)
        .map(|(name, standing)| match standing.estimate {
            Some(_) => format!("{name} ({})", in_brackets(standing, &units)),
            None => (*name).to_owned(),
        })
        .collect();
    (!untouched.is_empty()).then(|| {
        Unhit::Not(format!(
            "Not ranked, as the faults hit no data of theirs and cost them nothing: {}",
            some(untouched, most)
        ))
    })
}

fn whole_percent(percent: f64) -> String {
    match percent.abs() {
        none if none < LEAST_PERCENT => "0".to_owned(),
        little if little < 10.0 => format!("{percent:.1}"),
        _ => thousands(percent),
    }
}

/// A sentence about the schemes that are in no ranking, and why.
fn left_out(schemes: &[(&str, &Standing)], most: usize) -> Option<String> {
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
    (!without.is_empty()).then(|| format!("Left out of the ranking: {}", some_of(without, ", ", most)))
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

mod sweep;
#[cfg(test)]
mod tests;
