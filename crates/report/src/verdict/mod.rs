//! The verdict above the table and the page. Sentences name the fastest scheme, the certainty of its lead, and the cost
//! of the faults. Notes below them qualify the answer.

mod faults;
mod format;
mod ranking;
mod sweep;

use crate::groups::{groups, named, points};
use crate::ranking::{LEAST_SEEDS, RULE, RankedScheme, ranked_quantity, ranked_schemes};
use anabranch_results::{MissingRun, ResultSet, RunRow};
use faults::{Unhit, cost, hint_to_hit_more, no_data_hit, unhit};
pub(crate) use format::MOST_IN_HEADLINE;
use format::{NO_EVIDENCE, SEEDS_CHANGE_NOTHING, list, list_ending};
use ranking::{FEW_NAMED, MOST_IN_FULL, MOST_NAMED, PointRanking, ranking};
use std::collections::BTreeMap;

/// The largest number of sweep points for which each point has its own sentence.
const MOST_SENTENCES: usize = 4;

/// The answer that the results give, and the notes that qualify it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict {
    /// The answer. The first sentence names at most three schemes.
    pub sentences: Vec<String>,
    pub notes: Vec<String>,
}

impl Verdict {
    fn of(sentence: String) -> Verdict {
        Verdict { sentences: vec![sentence], notes: Vec::new() }
    }

    /// The sentences, followed by the notes, which begin with `Note:`.
    pub fn lines(&self) -> Vec<String> {
        let notes = self.notes.iter().map(|note| format!("Note: {note}"));
        self.sentences.iter().cloned().chain(notes).collect()
    }
}

/// The verdict: the number of missing runs, the fastest scheme, its lead over the next scheme, and the costs of the
/// faults. Sentences come first, then notes that begin with `Note:`. For a figure, whose answer is its claims, and for
/// results without messages, there is only the sentence about missing runs.
pub fn verdict(set: &ResultSet) -> Vec<String> {
    let mut lines = missing(set);
    lines.extend(answer(set).lines());
    lines
}

/// The verdict without the sentence about missing runs.
pub(crate) fn answer(set: &ResultSet) -> Verdict {
    let groups = groups(set);
    if set.figure.is_some() || groups.is_empty() || set.actual().iter().all(|run| run.flows == 0) {
        return Verdict::default();
    }
    let ranked_schemes = ranked_schemes(set, &groups);
    let points = points(&groups);
    let at = |point: &BTreeMap<_, _>| -> Vec<(&str, &RankedScheme)> {
        let here = groups.iter().zip(&ranked_schemes).filter(|(group, _)| group.sweep == point);
        here.map(|(group, standing)| (group.scheme, standing)).collect()
    };
    let points: Vec<PointRanking<'_>> = points.into_iter().map(|point| (point, at(point))).collect();
    let most_schemes = points.iter().map(|(_, schemes)| schemes.len()).max().unwrap_or(0);
    let seeds = groups.iter().map(|group| group.indices.len()).max().unwrap_or(0);
    let too_few_seeds = most_schemes > 1 && (2..LEAST_SEEDS).contains(&seeds);
    let too_few_seeds = too_few_seeds.then(|| TWO_SEEDS.to_owned());
    if points.len() > MOST_SENTENCES {
        let mut verdict = sweep::verdict(set, &points, ranked_quantity(set));
        verdict.notes.extend(too_few_seeds);
        return verdict;
    }
    let most = match points.len() > 1 || most_schemes > MOST_IN_FULL {
        true => FEW_NAMED,
        false => MOST_NAMED,
    };
    of_each_point(set, points, most, too_few_seeds)
}

/// The verdict on each of a few points: rankings, costs, and notes that qualify them. `most` limits the number of
/// names in lists.
fn of_each_point(
    set: &ResultSet,
    mut points: Vec<PointRanking<'_>>,
    most: usize,
    too_few_seeds: Option<String>,
) -> Verdict {
    let quantity = ranked_quantity(set);
    // A point without an answer comes last, so that it is not the headline.
    points.sort_by_key(|(_, schemes)| has_no_answer(schemes));
    let (mut verdict, mut costs, mut some_unhit) = (Verdict::default(), Vec::new(), false);
    for (point, schemes) in &points {
        let prefix = match point.is_empty() {
            true => String::new(),
            false => format!("At {}: ", named(point)),
        };
        let prefixed = |text: String| format!("{prefix}{text}.");
        let unhit = unhit(set, schemes, quantity, most);
        some_unhit |= unhit.is_some();
        let mut here = ranking(schemes, quantity, most);
        let unranked = match unhit {
            // If no fault affected any data, the result does not show how schemes handle the faults. A sentence about
            // this comes first.
            Some(Unhit::All) if points.len() > 1 => {
                here = Verdict::of(no_data_hit(set).to_owned());
                None
            }
            Some(Unhit::All) => {
                here.sentences[0] = format!("{}. {}", no_data_hit(set), here.sentences[0]);
                None
            }
            Some(Unhit::Some(unranked)) => Some(unranked),
            None => None,
        };
        verdict.sentences.extend(here.sentences.into_iter().map(prefixed));
        let cost = cost(schemes, set);
        costs.extend(cost.sentences.into_iter().map(prefixed));
        let notes = here.notes.into_iter().chain(unranked).chain(cost.notes);
        let notes = notes.chain(no_evidence(schemes, most)).chain(left_out(schemes, most));
        verdict.notes.extend(notes.map(prefixed));
    }
    verdict.sentences.extend(costs);
    verdict.notes.extend(too_few_seeds);
    verdict.notes.extend(some_unhit.then(|| hint_to_hit_more(set)));
    verdict
}

/// Whether no scheme of a point gives an answer, because the faults did not affect it or it has no estimate.
fn has_no_answer(schemes: &[(&str, &RankedScheme)]) -> bool {
    schemes.iter().all(|(_, standing)| standing.no_seed_hit() || standing.estimate.is_none())
}

const TWO_SEEDS: &str = "Two seeds do not rank: their t-test has one degree of freedom. Three or more do.";

/// A sentence about the schemes of a point whose seeds all gave the same number, which is no evidence.
fn no_evidence(schemes: &[(&str, &RankedScheme)], most: usize) -> Option<String> {
    let alike = schemes.iter().filter(|(_, of)| of.is_one_run).map(|(name, _)| (*name).to_owned());
    let alike: Vec<String> = alike.collect();
    let compared = if alike.len() > 1 { ", and they are compared by one run" } else { "" };
    match alike.len() {
        0 => None,
        all if all == schemes.len() => Some(format!("{SEEDS_CHANGE_NOTHING} here: {NO_EVIDENCE}{compared}")),
        _ => Some(format!(
            "{SEEDS_CHANGE_NOTHING} for {}: {NO_EVIDENCE}{compared}",
            list(alike, most.max(MOST_IN_FULL))
        )),
    }
}

/// A sentence about the schemes without a value of the ranked quantity, with the reason.
fn left_out(schemes: &[(&str, &RankedScheme)], most: usize) -> Option<String> {
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
    (!without.is_empty()).then(|| format!("Left out of the ranking: {}", list_ending(without, ", ", most)))
}

/// A sentence about the ranked quantity and, with several seeds, about the meaning of ±. It is empty for a figure, and
/// if there is nothing to rank.
pub(crate) fn method(set: &ResultSet) -> String {
    let seeds = most_seeds(set);
    if seeds == 0 || set.figure.is_some() || set.actual().iter().all(|run| run.flows == 0) {
        return String::new();
    }
    let ranked = format!("Ranked by {}", ranked_quantity(set).long);
    if seeds == 1 {
        return format!("{ranked}. One seed: no confidence intervals, no ranks.");
    }
    let no_ranks = if seeds < LEAST_SEEDS { " No ranks." } else { "" };
    format!(
        "{ranked}, mean over {seeds} seeds; ± is the half-width of the 95 % confidence interval of the mean over seeds \
         (Student's t).{no_ranks}"
    )
}

/// The rule by which schemes are ranked, or none if there are too few seeds for ranks.
pub(crate) fn rank_rule(set: &ResultSet) -> Option<String> {
    let seeds = most_seeds(set);
    (seeds >= LEAST_SEEDS).then(|| {
        format!(
            "Rank: {RULE} More than {seeds} seeds may tell more. Two schemes whose seeds change nothing are compared by one \
             run; a point where that is so of all has no ranks."
        )
    })
}

/// The largest number of seeds of any scheme at any point.
fn most_seeds(set: &ResultSet) -> usize {
    groups(set).iter().map(|group| group.indices.len()).max().unwrap_or(0)
}

fn missing(set: &ResultSet) -> Vec<String> {
    let all = set.runs.len()
        + set.missing.iter().filter(|missing| !set.runs.iter().any(|run| matches_run(missing, run))).count();
    if set.missing.is_empty() {
        return Vec::new();
    }
    vec![format!("Not whole: {} of {all} runs failed or never ran.", set.missing.len())]
}

fn matches_run(missing: &MissingRun, run: &RunRow) -> bool {
    (&missing.scheme, missing.seed, &missing.sweep, missing.baseline)
        == (&run.scheme, run.seed, &run.sweep, run.baseline)
}

#[cfg(test)]
mod tests;
