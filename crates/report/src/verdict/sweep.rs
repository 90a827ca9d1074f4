//! Sentences about a sweep that has too many points for a sentence about each.

use super::Verdict;
use super::faults::{self, hint_to_hit_more};
use super::format::{NO_EVIDENCE, NOT_PLACED, NumberFormat, SEEDS_CHANGE_NOTHING, headline_names, list};
use super::ranking::{MOST_NAMED, PointRanking, ties_by_mean};
use crate::groups::{at_points, named};
use crate::ranking::{Quantity, RankedScheme};
use anabranch_results::{Estimate, ResultSet};

/// The verdict on all points: the fastest schemes, and notes about the schemes that are not ranked.
pub(super) fn verdict(set: &ResultSet, points: &[PointRanking<'_>], quantity: Quantity) -> Verdict {
    let mut verdict = Verdict::default();
    let (unhit, hit): (Vec<_>, Vec<_>) =
        points.iter().partition(|(_, schemes)| schemes.iter().all(|(_, standing)| standing.no_seed_hit()));
    if !hit.is_empty() {
        verdict.sentences = fastest(&hit, quantity);
    }
    if !unhit.is_empty() {
        let unhit: Vec<String> = unhit.iter().map(|(point, _)| named(point)).collect();
        let no_data_hit = format!("{}, {}.", faults::no_data_hit(set), at_points(&unhit, points.len()));
        match hit.is_empty() {
            true => verdict.sentences.push(no_data_hit),
            false => verdict.notes.push(no_data_hit),
        }
        verdict.notes.push(hint_to_hit_more(set));
    }
    verdict.notes.extend(not_ranked(set, points));
    let is_one_run = |(_, schemes): &&PointRanking<'_>| schemes.iter().any(|(_, of)| of.is_one_run);
    let of_one_run = points.iter().filter(is_one_run).count();
    if of_one_run > 0 {
        verdict.notes.push(format!(
            "{SEEDS_CHANGE_NOTHING} for some schemes at {of_one_run} of {} sweep points: {NO_EVIDENCE}.",
            points.len()
        ));
    }
    verdict
}

/// A sentence for each set of schemes that share the first place at some points, with these points. The set is empty at
/// points where no scheme finished. If the results have only one scheme, the range of its values is the one sentence.
fn fastest(points: &[&PointRanking<'_>], quantity: Quantity) -> Vec<String> {
    if let Some(range) = range_of_one_scheme(points, quantity) {
        return vec![range];
    }
    let mut by_winner: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
    for (point, schemes) in points {
        let here: Vec<_> = schemes.iter().filter(|(_, standing)| !standing.is_untouched).collect();
        let means = here.iter().filter_map(|(_, standing)| standing.estimate.map(|estimate| estimate.mean));
        let least = means.reduce(f64::min);
        let leads = |standing: &RankedScheme| match (standing.rank, standing.estimate, least) {
            (Some(rank), ..) => rank == 1,
            (None, Some(estimate), Some(least)) => ties_by_mean(least, estimate.mean),
            _ => false,
        };
        let mut winners: Vec<&str> =
            here.into_iter().filter(|(_, standing)| leads(standing)).map(|(name, _)| *name).collect();
        winners.sort_unstable();
        match by_winner.iter_mut().find(|(known, _)| *known == winners) {
            Some((_, indexes)) => indexes.push(named(point)),
            None => by_winner.push((winners, vec![named(point)])),
        }
    }
    by_winner
        .iter()
        .map(|(winners, indexes)| {
            let what = match winners[..] {
                [] => "None finished".to_owned(),
                [one] => format!("{one} is fastest"),
                _ => {
                    let names = winners.iter().map(|name| (*name).to_owned()).collect();
                    format!("{} tie", headline_names(names))
                }
            };
            format!("{what} {}.", at_points(indexes, points.len()))
        })
        .collect()
}

type Reason = (&'static str, fn(&RankedScheme) -> bool);

/// Sentences about the schemes that, at some points, are not ranked or have no definite rank, with the reasons.
fn not_ranked(set: &ResultSet, points: &[PointRanking<'_>]) -> Vec<String> {
    let reasons: [Reason; 3] = [
        ("Left out of the ranking, as runs did not finish", |of| of.unfinished[0] > 0),
        (faults::not_ranked(set), |of| of.is_untouched),
        (NOT_PLACED, |of| !of.is_placed()),
    ];
    let sentence = |(why, is_so): Reason| {
        let mut of_schemes: Vec<(&str, Vec<String>)> = Vec::new();
        for (point, schemes) in points.iter().filter(|(_, schemes)| schemes.len() > 1) {
            for (scheme, _) in schemes.iter().filter(|(_, standing)| is_so(standing)) {
                match of_schemes.iter_mut().find(|(known, _)| known == scheme) {
                    Some((_, names)) => names.push(named(point)),
                    None => of_schemes.push((scheme, vec![named(point)])),
                }
            }
        }
        let each =
            of_schemes.iter().map(|(name, names)| format!("{name} {}", at_points(names, points.len())));
        let each: Vec<String> = each.collect();
        (!each.is_empty()).then(|| format!("{why}: {}.", list(each, MOST_NAMED)))
    };
    reasons.into_iter().filter_map(sentence).collect()
}

/// A sentence with the range of a single scheme's values over the points, or none if there are several schemes or no
/// values.
fn range_of_one_scheme(points: &[&PointRanking<'_>], quantity: Quantity) -> Option<String> {
    let mut found: Vec<(&str, Estimate, String)> = Vec::new();
    let mut unfinished = 0;
    for (point, schemes) in points {
        let [(name, standing)] = schemes[..] else { return None };
        match standing.estimate {
            Some(estimate) => found.push((name, estimate, named(point))),
            None => unfinished += 1,
        }
    }
    found.sort_by(|one, other| one.1.mean.total_cmp(&other.1.mean));
    let ((name, least, here), (other, most, there)) = (found.first()?, found.last()?);
    let with = NumberFormat::for_means([least.mean, most.mean].into_iter(), quantity);
    let (low, high, unit) = (with.number(least.mean), with.number(most.mean), with.unit());
    let rest = match unfinished {
        0 => String::new(),
        some => format!("; at {some} of {} it did not finish", points.len()),
    };
    (name == other).then(|| {
        format!("{name}: {} from {low}{unit} ({here}) to {high}{unit} ({there}){rest}.", quantity.short)
    })
}
