//! The headline about the ranking of a point's schemes, and its notes.

use super::Verdict;
use super::format::{
    MOST_IN_HEADLINE, NOT_PLACED, NumberFormat, Ranked, headline_names, list, list_ending, with_interval,
};
use crate::ranking::{LEAST_LEAD, LEAST_SEEDS, Quantity, RankedScheme};
use anabranch_results::Value;
use std::collections::BTreeMap;

/// The limit on the names in a list ([`list`]). The table has the others.
pub(super) const MOST_NAMED: usize = 8;
/// The limit on the names in a list if there are several points or more than [`MOST_IN_FULL`] schemes.
pub(super) const FEW_NAMED: usize = 3;
/// With at most this many schemes, sentences at a single point name all of them.
pub(super) const MOST_IN_FULL: usize = 6;

pub(super) type PointRanking<'a> = (&'a BTreeMap<String, Value>, Vec<(&'a str, &'a RankedScheme)>);

/// The schemes of a point, and the format of their numbers.
struct Ranking<'a> {
    schemes: &'a [(&'a str, &'a RankedScheme)],
    quantity: Quantity,
    format: NumberFormat,
    /// The limit on the names in a list ([`list`]).
    most: usize,
    /// The beginning of a sentence about only some of the schemes. It is empty if the sentence is about all.
    of_these: &'static str,
}

/// A headline with the fastest scheme and its lead, and notes about the others.
pub(super) fn ranking(schemes: &[(&str, &RankedScheme)], quantity: Quantity, most: usize) -> Verdict {
    let of_these = match schemes.iter().any(|(_, standing)| standing.is_untouched) {
        true => "Of those whose data the faults hit, ",
        false => "",
    };
    let format = NumberFormat::for_schemes(schemes, quantity);
    Ranking { schemes, quantity, format, most, of_these }.verdict()
}

impl Ranking<'_> {
    fn verdict(&self) -> Verdict {
        let touched = self.schemes.iter().filter(|(_, standing)| !standing.is_untouched);
        let mut order: Vec<Ranked<'_>> =
            touched.filter_map(|(name, standing)| Some((*name, standing.estimate?, *standing))).collect();
        order.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
        let leader = order.iter().find(|(_, _, standing)| standing.is_placed()).or(order.first());
        let Some(leader) = leader.copied() else { return Verdict::of(self.nothing_to_rank()) };
        let mut verdict = match self.schemes.len() {
            1 => Verdict::of(format!("{}: {}", leader.0, self.value(&leader))),
            _ => self.placed(&leader, &order),
        };
        let unhit = order.iter().filter_map(|scheme| self.format.partly_unhit(scheme)).collect::<Vec<_>>();
        if !unhit.is_empty() {
            verdict.notes.push(format!("Unhit by the faults at some seeds: {}", list(unhit, self.most)));
        }
        verdict
    }

    /// The verdict with the leader of several schemes, and the others in the order of their means.
    fn placed(&self, leader: &Ranked<'_>, order: &[Ranked<'_>]) -> Verdict {
        let is_tied = |scheme: &Ranked<'_>| match leader.2.rank {
            Some(rank) => scheme.2.is_placed() && scheme.2.rank == Some(rank),
            None => ties_by_mean(leader.1.mean, scheme.1.mean),
        };
        let (tied, rest): (Vec<Ranked<'_>>, Vec<_>) = order.iter().copied().partition(is_tied);
        let (placed, unplaced): (Vec<_>, Vec<_>) =
            rest.iter().copied().partition(|(_, _, standing)| standing.is_placed());
        let mut others = rank_groups(&placed, &self.format, self.most);
        let is_next = |next: &Ranked<'_>| match tied.len() {
            1 => true,
            // The next scheme is one that is slower than all schemes that tie.
            tied => next.2.rank.is_some() && next.2.rank == leader.2.rank.map(|rank| rank + tied),
        };
        let next = placed.first().filter(|next| is_next(next)).map(|next| (next, others.remove(0)));
        let mut verdict = match &tied[..] {
            [_] => Verdict::of(self.first(leader, next.as_ref(), !unplaced.is_empty())),
            _ => self.tie(leader, &tied, next.as_ref()),
        };
        let next = next.map(|(_, group)| group);
        self.behind(&others, tied.len(), next.as_ref(), &mut verdict);
        if let Some(next) = next.filter(|next| !next.tied.is_empty()) {
            verdict.notes.push(format!("Tied with {}: {}", next.name, list(next.tied, self.most)));
        }
        verdict.notes.extend(self.not_placed(&unplaced));
        verdict
    }

    /// Adds the schemes that rank behind the next scheme, or behind the leaders if there is no next scheme. They are
    /// added to the headline if there is room, and otherwise to the notes.
    fn behind(&self, others: &[RankGroup], tied: usize, next: Option<&RankGroup>, verdict: &mut Verdict) {
        let named = tied + usize::from(next.is_some());
        let text = match others {
            [] => return,
            _ if self.most == FEW_NAMED => first_and_last(others, self.most.saturating_sub(named)),
            _ => list_ending(others.iter().map(RankGroup::with_tied).collect(), ", ", self.most),
        };
        let fits = named < MOST_IN_HEADLINE && matches!(others, [one] if one.tied.is_empty());
        match verdict.notes.last_mut() {
            _ if fits => verdict.sentences[0].push_str(&format!("; then {text}")),
            // The text is added to the note about the lead over the next scheme.
            Some(lead) if next.is_some() => lead.push_str(&format!("; then {text}")),
            _ => verdict.notes.push(format!("Behind: {text}")),
        }
    }

    fn nothing_to_rank(&self) -> String {
        let is_unhit = |standing: &RankedScheme| standing.is_untouched && standing.estimate.is_some();
        match self.schemes.iter().any(|(_, standing)| is_unhit(standing)) {
            true => "None of those whose data the faults hit finished, so there is nothing to rank",
            false => "No scheme finished, so there is nothing to rank",
        }
        .to_owned()
    }

    /// The value of a scheme as text: `FCT 1,234 µs (± 12)`.
    fn value(&self, (_, _, standing): &Ranked<'_>) -> String {
        format!("{} {}", self.quantity.short, with_interval(standing, &self.format))
    }

    /// The sentence about a leader without a next scheme. The other schemes are not placed, did not finish or were not
    /// hit.
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

    /// The sentence about a single leader, with its lead over the next scheme if there is one.
    fn first(&self, leader: &Ranked<'_>, next: Option<&Next<'_>>, others_finished: bool) -> String {
        let Some((next, group)) = next else { return self.alone(leader, others_finished) };
        let how_sure = match leader.2.is_one_run && next.2.is_one_run {
            _ if leader.1.seeds == 1 => " at its one seed",
            true => " by one run",
            false if leader.1.seeds < LEAST_SEEDS => " by the mean of two seeds",
            false => "",
        };
        format!(
            "{}{} is fastest{how_sure}: {}, {:.2} times faster than {}",
            self.of_these,
            leader.0,
            self.value(leader),
            next.1.mean / leader.1.mean,
            group.text,
        )
    }

    /// The verdict when several leaders tie. If all values are equal, the headline has one value. If there are few
    /// leaders, it has each value. If there are many, it has the range of the values.
    fn tie(&self, leader: &Ranked<'_>, tied: &[Ranked<'_>], next: Option<&Next<'_>>) -> Verdict {
        let names = headline_names(tied.iter().map(|(name, ..)| (*name).to_owned()).collect());
        let first = leader.1;
        let same = tied.iter().all(|(_, estimate, _)| *estimate == first);
        let values = match same {
            true => {
                let each = if tied.len() == 2 { " both" } else { " each" };
                with_interval(leader.2, &self.format) + each
            }
            false if tied.len() > MOST_IN_HEADLINE => {
                let last = tied.last().map_or(first.mean, |(_, estimate, _)| estimate.mean);
                let number = |mean| self.format.number(mean);
                format!("{} to {}{}", number(first.mean), number(last), self.format.unit())
            }
            false => {
                let values = tied.iter().map(|of| with_interval(of.2, &self.format)).collect();
                list(values, MOST_IN_HEADLINE)
            }
        };
        let within = tied.iter().filter_map(|(.., standing)| standing.tie_within).reduce(f64::max);
        let tie = match within.filter(|within| *within > 1.0) {
            _ if first.seeds == 1 => "lie within 1 % at one seed".to_owned(),
            _ if first.seeds < LEAST_SEEDS && !same => "lie within 1 % by the means of two seeds".to_owned(),
            Some(within) => format!("tie within a factor of {within:.2}"),
            None => "tie".to_owned(),
        };
        let (of_these, short) = (self.of_these, self.quantity.short);
        let mut verdict = Verdict::of(format!("{of_these}{names} {tie}: {short} {values}"));
        if tied.len() > MOST_IN_HEADLINE && tied.len() <= self.most + 1 {
            let named = tied.iter().map(|of| if same { of.0.to_owned() } else { self.format.scheme(of) });
            verdict.notes.push(format!("In the tie: {}", list(named.collect(), self.most)));
        }
        if let Some((next, group)) = next {
            let slowest = tied.iter().map(|(_, estimate, _)| estimate.mean).fold(0.0, f64::max);
            let least = rounded_down(next.1.mean / slowest);
            let lead = format!("at least {least:.2} times faster than {}", group.text);
            match tied.len() < MOST_IN_HEADLINE {
                true => verdict.sentences[0].push_str(&format!(", {lead}")),
                false => verdict.notes.push(format!("Each of them is {lead}")),
            }
        }
        verdict
    }

    fn not_placed(&self, unplaced: &[Ranked<'_>]) -> Option<String> {
        match unplaced.len() {
            0 => None,
            many if self.most == FEW_NAMED && many > self.most => {
                Some(format!("{many} are not to be placed, as their seeds differ too much"))
            }
            _ => {
                let named = unplaced.iter().map(|of| self.format.scheme(of)).collect();
                Some(format!("{NOT_PLACED}: {}", list_ending(named, ", ", self.most)))
            }
        }
    }
}

/// The ratio with two decimals, rounded down. A ratio that lies just below a hundredth because of its binary
/// representation has that hundredth.
fn rounded_down(ratio: f64) -> f64 {
    (ratio * 100.0 + 1e-6).floor() / 100.0
}

/// Whether the mean `other` of a scheme exceeds the first mean by at most the fraction [`LEAST_LEAD`]. Without ranks,
/// such a scheme ties with the first scheme.
pub(super) fn ties_by_mean(first: f64, other: f64) -> bool {
    other <= first * (1.0 + LEAST_LEAD)
}

struct RankGroup {
    name: String,
    /// The first scheme with its value: `c (200.0 ± 5.0 µs)`.
    text: String,
    /// The other schemes of the rank.
    tied: Vec<String>,
    most: usize,
}

/// The scheme after the leaders, and its group.
type Next<'a> = (&'a Ranked<'a>, RankGroup);

impl RankGroup {
    /// The first scheme with its value and the schemes that tie with it: `c (200.0 ± 5.0 µs; tied with d)`.
    fn with_tied(&self) -> String {
        match (self.text.strip_suffix(')'), self.tied.is_empty()) {
            (Some(open), false) => format!("{open}; tied with {})", list(self.tied.clone(), self.most)),
            _ => self.text.clone(),
        }
    }
}

/// The schemes grouped by rank, so that a sentence does not call a scheme the last if it ties with another.
fn rank_groups(placed: &[Ranked<'_>], format: &NumberFormat, most: usize) -> Vec<RankGroup> {
    let same = |one: &Ranked<'_>, other: &Ranked<'_>| match (one.2.rank, other.2.rank) {
        (None, None) => one.1.mean == other.1.mean,
        (one, other) => one == other,
    };
    let named = |group: &[Ranked<'_>]| RankGroup {
        name: group[0].0.to_owned(),
        text: format.scheme(&group[0]),
        tied: group[1..].iter().map(|(name, ..)| (*name).to_owned()).collect(),
        most,
    };
    placed.chunk_by(same).map(named).collect()
}

/// The first groups and the last one: `c, 12 more and last z`.
fn first_and_last(placed: &[RankGroup], first: usize) -> String {
    let Some((last, others)) = placed.split_last() else { return String::new() };
    let (named, counted) = others.split_at(first.min(others.len()));
    let named: String = named.iter().map(|group| group.with_tied() + ", ").collect();
    let last = last.with_tied();
    match counted {
        [] => named + &last,
        [one] => format!("{named}{}, {last}", one.with_tied()),
        _ => {
            let more: usize = counted.iter().map(|group| 1 + group.tied.len()).sum();
            format!("{named}{more} more and last {last}")
        }
    }
}
