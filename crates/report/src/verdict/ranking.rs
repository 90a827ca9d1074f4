//! The sentence about the ranking of a point's schemes.

use super::format::{NumberFormat, Ranked, in_brackets, list, list_ending, with_interval};
use crate::ranking::{LEAST_LEAD, LEAST_SEEDS, Quantity, Standing};
use anabranch_results::{Estimate, Value};
use std::collections::BTreeMap;

/// Schemes that a sentence names; it counts the others, and the table has them.
pub(super) const MOST_NAMED: usize = 8;
/// Schemes that a short sentence names, beside the last.
pub(super) const FEW_NAMED: usize = 3;
/// The number of schemes up to which sentences are long, at a single point.
pub(super) const MOST_IN_FULL: usize = 6;

/// A point of the sweep, and the standings of its schemes.
pub(super) type PointStandings<'a> = (&'a BTreeMap<String, Value>, Vec<(&'a str, &'a Standing)>);

/// The schemes of a point with the format of their numbers.
struct Ranking<'a> {
    schemes: &'a [(&'a str, &'a Standing)],
    quantity: Quantity,
    format: NumberFormat,
    /// Schemes that a list names, at most.
    most: usize,
    /// The beginning of the sentence where it is about some schemes alone.
    of_these: &'static str,
}

/// The schemes of a point in a sentence: the fastest, its lead, and the others.
pub(super) fn ranking(schemes: &[(&str, &Standing)], quantity: Quantity, most: usize) -> String {
    let of_these = match schemes.iter().any(|(_, standing)| standing.is_untouched) {
        true => "Of those whose data the faults hit, ",
        false => "",
    };
    let format = NumberFormat::for_schemes(schemes, quantity);
    Ranking { schemes, quantity, format, most, of_these }.sentence()
}

impl Ranking<'_> {
    fn sentence(&self) -> String {
        let touched = self.schemes.iter().filter(|(_, standing)| !standing.is_untouched);
        let mut order: Vec<Ranked<'_>> =
            touched.filter_map(|(name, standing)| Some((*name, standing.estimate?, *standing))).collect();
        order.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
        let leader = order.iter().find(|(_, _, standing)| standing.is_placed()).or(order.first());
        let Some(leader) = leader.copied() else { return self.nothing_to_rank() };
        if self.schemes.len() == 1 {
            return format!("{}: {}", leader.0, self.value(&leader));
        }
        let is_tied = |scheme: &Ranked<'_>| match leader.2.rank {
            Some(rank) => scheme.2.is_placed() && scheme.2.rank == Some(rank),
            None => ties_by_mean(&leader.1, &scheme.1),
        };
        let (tied, rest): (Vec<Ranked<'_>>, Vec<_>) = order.iter().copied().partition(is_tied);
        let (placed, unplaced): (Vec<_>, Vec<_>) =
            rest.iter().copied().partition(|(_, _, standing)| standing.is_placed());
        let mut others = rank_groups(&placed, &self.format, self.most);
        // A scheme that is named in the comparison with the first is not named again.
        let (mut text, compared) = match (&tied[..], placed.first()) {
            ([_], None) => (self.alone(&leader, !unplaced.is_empty()), 0),
            ([_], Some(next)) => (self.fastest(&leader, next, &others.remove(0).text), 1),
            (_, next) => {
                // The next scheme is slower than all that tie.
                let next = next.filter(|next| next.2.rank == leader.2.rank.map(|rank| rank + tied.len()));
                let next = next.filter(|next| next.2.rank.is_some());
                let next = next.map(|next| (next, others.remove(0).text));
                let compared = usize::from(next.is_some());
                (self.tie(&leader, &tied, next), compared)
            }
        };
        if self.most == FEW_NAMED {
            let before = tied.len().min(self.most) + compared;
            text.push_str(&first_and_last(&others, self.most.saturating_sub(before)));
        } else if !others.is_empty() {
            let others = others.into_iter().map(|group| group.text).collect();
            text.push_str(&format!("; then {}", list_ending(others, ", ", self.most)));
        }
        text + &self.not_placed(&unplaced)
    }

    fn nothing_to_rank(&self) -> String {
        let is_unhit = |standing: &Standing| standing.is_untouched && standing.estimate.is_some();
        match self.schemes.iter().any(|(_, standing)| is_unhit(standing)) {
            true => "None of those whose data the faults hit finished, so there is nothing to rank",
            false => "No scheme finished, so there is nothing to rank",
        }
        .to_owned()
    }

    /// `FCT 1,234 µs (± 12)`.
    fn value(&self, (_, _, standing): &Ranked<'_>) -> String {
        format!("{} {}", self.quantity.short, with_interval(standing, &self.format))
    }

    /// The only scheme with a place.
    fn alone(&self, leader: &Ranked<'_>, others_finished: bool) -> String {
        let touched = self.schemes.iter().filter(|(_, standing)| !standing.is_untouched).count();
        let (of_these, why) = match touched {
            _ if others_finished => (self.of_these, "alone can be placed"),
            1 => ("", "alone was hit by the faults"),
            all if all == self.schemes.len() => ("", "alone finished"),
            _ => ("", "alone finished of those whose data the faults hit"),
        };
        format!("{of_these}{} {why}: {}", leader.0, self.value(leader))
    }

    fn fastest(&self, leader: &Ranked<'_>, next: &Ranked<'_>, next_named: &str) -> String {
        let how_sure = match leader.2.is_one_run && next.2.is_one_run {
            _ if leader.1.seeds == 1 => " at its one seed",
            true => " by one run",
            false if leader.1.seeds < LEAST_SEEDS => " by the mean of two seeds",
            false => "",
        };
        format!(
            "{}{} is fastest{how_sure}: {}, {:.2} times faster than {next_named}",
            self.of_these,
            leader.0,
            self.value(leader),
            next.1.mean / leader.1.mean,
        )
    }

    /// Several schemes before the next one, which comes with its name and numbers.
    fn tie(&self, leader: &Ranked<'_>, tied: &[Ranked<'_>], next: Option<(&Ranked<'_>, String)>) -> String {
        let names = list(tied.iter().map(|(name, ..)| (*name).to_owned()).collect(), self.most);
        let first = leader.1;
        let same = tied.iter().all(|(_, estimate, of)| *estimate == first && of.where_hit.is_none());
        let shown = |of: &Ranked<'_>| with_interval(of.2, &self.format);
        let values = match same {
            true => format!("{}{}", shown(leader), if tied.len() == 2 { " both" } else { " each" }),
            false if tied.len() > self.most + 1 => {
                let last = tied.last().map_or(first.mean, |(_, estimate, _)| estimate.mean);
                let number = |mean| self.format.number(mean);
                format!("{} to {}{}", number(first.mean), number(last), self.format.unit())
            }
            false => list(tied.iter().map(shown).collect(), self.most),
        };
        let lead = next.map(|(next, named)| {
            let slowest = tied.iter().map(|(_, estimate, _)| estimate.mean).fold(0.0, f64::max);
            format!(", at least {:.2} times faster than {named}", next.1.mean / slowest)
        });
        let within = tied.iter().filter_map(|(.., standing)| standing.tie_within).reduce(f64::max);
        let tie = match within.filter(|within| *within > 1.0) {
            _ if first.seeds == 1 => "lie within 1 % at one seed".to_owned(),
            _ if first.seeds < LEAST_SEEDS && !same => "lie within 1 % by the means of two seeds".to_owned(),
            Some(within) => format!("tie within a factor of {within:.2}"),
            None => "tie".to_owned(),
        };
        format!(
            "{}{names} {tie}: {} {values}{}",
            self.of_these,
            self.quantity.short,
            lead.unwrap_or_default()
        )
    }

    fn not_placed(&self, unplaced: &[Ranked<'_>]) -> String {
        match unplaced.len() {
            0 => String::new(),
            many if self.most == FEW_NAMED && many > self.most => {
                format!("; {many} are not to be placed, as their seeds differ too much")
            }
            _ => {
                let named = unplaced.iter().map(|of| self.format.scheme(of)).collect();
                let named = list_ending(named, ", ", self.most);
                format!("; not to be placed, as their seeds differ too much: {named}")
            }
        }
    }
}

/// Whether a scheme ties with the first where there are no ranks: without intervals, the smallest lead decides.
fn ties_by_mean(first: &Estimate, other: &Estimate) -> bool {
    other.mean <= first.mean * (1.0 + LEAST_LEAD)
}

/// Schemes of one rank.
struct RankGroup {
    /// `c (200.0 ± 5.0 µs; tied with d)`.
    text: String,
    schemes: usize,
}

/// The schemes grouped by rank, so that a scheme which ties is not called the last.
fn rank_groups(placed: &[Ranked<'_>], format: &NumberFormat, most: usize) -> Vec<RankGroup> {
    let same = |one: &Ranked<'_>, other: &Ranked<'_>| match (one.2.rank, other.2.rank) {
        (None, None) => one.1.mean == other.1.mean,
        (one, other) => one == other,
    };
    let named = |group: &[Ranked<'_>]| {
        let tied = group[1..].iter().map(|(name, ..)| (*name).to_owned()).collect();
        let tied = if group.len() > 1 { format!("; tied with {}", list(tied, most)) } else { String::new() };
        let text = format!("{} ({}{tied})", group[0].0, in_brackets(group[0].2, format));
        RankGroup { text, schemes: group.len() }
    };
    placed.chunk_by(same).map(named).collect()
}

/// `; then c, 12 more and last z`: the first ones, and the last.
fn first_and_last(placed: &[RankGroup], first: usize) -> String {
    let Some((last, others)) = placed.split_last() else { return String::new() };
    let (named, counted) = others.split_at(first.min(others.len()));
    let named: String = named.iter().map(|group| format!("{}, ", group.text)).collect();
    match counted {
        [] => format!("; then {named}{}", last.text),
        [one] => format!("; then {named}{}, {}", one.text, last.text),
        _ => {
            let more: usize = counted.iter().map(|group| group.schemes).sum();
            format!("; then {named}{more} more and last {}", last.text)
        }
    }
}
