//! The answers of the searches, for each scheme.

use super::measured::measured_at_ends;
use super::search::Lane;
use super::words::{holds_between_ends, plain, unanswered};
use crate::question::Condition;
use crate::source::Folder;
use anabranch_sim::scenario::{Answer, Extremum, Find};
use serde_json::{Value, json};

pub(super) struct SchemeAnswer<'a> {
    pub scheme: &'a str,
    /// The scheme's searches, one for each seed, beginning with the least demanding seed.
    pub lanes: Vec<&'a Lane<'a>>,
}

pub(super) fn answers<'a>(find: &Find, lanes: &'a [Lane<'a>]) -> Vec<SchemeAnswer<'a>> {
    let mut answers: Vec<SchemeAnswer> = Vec::new();
    for lane in lanes {
        match answers.iter_mut().find(|answer| answer.scheme == lane.scheme) {
            Some(answer) => answer.lanes.push(lane),
            None => answers.push(SchemeAnswer { scheme: &lane.scheme, lanes: vec![lane] }),
        }
    }
    let sign = if find.wanted == Extremum::Smallest { 1.0 } else { -1.0 };
    for answer in &mut answers {
        answer.lanes.sort_by(|a, b| (sign * a.search.place()).total_cmp(&(sign * b.search.place())));
    }
    answers
}

/// The position of the value that the most demanding seed needs: the largest of the seeds' least values, or the
/// smallest of the seeds' greatest values. Seeds for which the condition holds at both ends of the range are left out.
/// None if one of the remaining seeds has no value, or if no seed remains.
pub(super) fn hardest<'l, 's: 'l>(find: &Find, lanes: impl Iterator<Item = &'l Lane<'s>>) -> Option<f64> {
    let mut places = Vec::new();
    for lane in lanes {
        match lane.search.answer()? {
            Answer::Bracket { .. } => places.push(lane.search.place()),
            Answer::Everywhere => {}
            Answer::Nowhere | Answer::Backwards => return None,
        }
    }
    match find.wanted {
        Extremum::Smallest => places.into_iter().max_by(f64::total_cmp),
        Extremum::Largest => places.into_iter().min_by(f64::total_cmp),
    }
}

impl<'a> SchemeAnswer<'a> {
    /// For each seed, the value that was found and the nearest tested value at which the condition fails. The least
    /// demanding seed is first, and seeds without a value are left out.
    fn found(&self) -> Vec<(&'a Lane<'a>, toml::Value, toml::Value)> {
        let of = |lane: &&'a Lane<'a>| match lane.search.answer()? {
            Answer::Bracket { value, fails } => Some((*lane, value, fails)),
            _ => None,
        };
        self.lanes.iter().filter_map(of).collect()
    }

    /// The value that was found for the most demanding seed, and the nearest tested value at which the condition
    /// fails. None unless the condition holds with every seed at the found value.
    pub(super) fn in_every_seed(&self, find: &Find) -> Option<(toml::Value, toml::Value)> {
        let place = hardest(find, self.lanes.iter().copied())?;
        let holds = self.lanes.iter().all(|lane| lane.search.held(place) == Some(true));
        let mut found = self.found().into_iter().filter(|_| holds);
        found.find(|(lane, ..)| lane.search.place() == place).map(|(_, value, fails)| (value, fails))
    }

    /// The range of the values that the seeds need. None if [`hardest`] returns none.
    pub(super) fn over_seeds(&self, find: &Find) -> Option<String> {
        hardest(find, self.lanes.iter().copied())?;
        let found: Vec<String> = self.found().iter().map(|(_, value, _)| plain(value)).collect();
        let hardest = found.last()?.clone();
        let [first, last] = find.ends();
        let easiest = match (found.len() == self.lanes.len(), find.wanted) {
            (true, _) => found[0].clone(),
            (false, Extremum::Smallest) => format!("{} or less", plain(&first)),
            (false, Extremum::Largest) => format!("{} or more", plain(&last)),
        };
        Some(match find.wanted {
            Extremum::Smallest => format!("{easiest} to {hardest}"),
            Extremum::Largest => format!("{hardest} to {easiest}"),
        })
    }

    /// A sentence with the values of the seeds, if no value is the answer for all seeds.
    fn by_seed(&self, find: &Find) -> Option<String> {
        if self.lanes.len() < 2 || self.in_every_seed(find).is_some() {
            return None;
        }
        let found = self.found();
        let each = found.iter().map(|(lane, value, fails)| {
            format!("{} with seed {} (fails at {})", plain(value), lane.seed, plain(fails))
        });
        let each: Vec<String> = each.collect();
        let against = hardest(find, self.lanes.iter().copied()).map(|place| {
            let fails = self.lanes.iter().filter(|lane| lane.search.held(place) == Some(false));
            let seeds: Vec<String> = fails.map(|lane| lane.seed.to_string()).collect();
            let asks = found.iter().find(|(lane, ..)| lane.search.place() == place);
            let asked = asks.map_or_else(String::new, |(_, value, _)| plain(value));
            format!("; {asked} does not hold with seed {}", seeds.join(", "))
        });
        (!each.is_empty()).then(|| {
            format!(
                "{}: no value was found that is the answer of every seed: {}{}",
                self.scheme,
                each.join(", "),
                against.unwrap_or_default()
            )
        })
    }

    pub(super) fn runs(&self) -> usize {
        self.lanes.iter().map(|lane| lane.search.tried().count()).sum()
    }

    pub(super) fn notes(&self, find: &Find, holds: &Condition, folder: &Folder) -> Vec<String> {
        let mut notes: Vec<String> = self.by_seed(find).into_iter().collect();
        for answer in [Answer::Everywhere, Answer::Nowhere, Answer::Backwards] {
            let seeds: Vec<String> = self
                .lanes
                .iter()
                .filter(|lane| lane.search.answer().as_ref() == Some(&answer))
                .map(|lane| lane.seed.to_string())
                .collect();
            if seeds.is_empty() {
                continue;
            }
            let lanes = self.lanes.iter().filter(|lane| lane.search.answer().as_ref() == Some(&answer));
            let lanes: Vec<&Lane> = lanes.copied().collect();
            notes.push(format!(
                "{} with seed {}: {}{}",
                self.scheme,
                seeds.join(", "),
                unanswered(find, holds, &answer, &lanes[0].search, folder),
                measured_at_ends(find, holds, &lanes),
            ));
        }
        for lane in &self.lanes {
            let wrong: Vec<String> = lane
                .search
                .contradictions()
                .into_iter()
                .map(|(value, holds)| {
                    format!("{value} ({})", if holds { "it holds" } else { "it does not hold" })
                })
                .collect();
            if !wrong.is_empty() {
                let rest = match (lane.search.fails_at_both_ends(), lane.search.answer()) {
                    (true, Some(Answer::Bracket { value, .. })) => holds_between_ends(find, &value),
                    _ => ", so there are several answers".to_owned(),
                };
                notes.push(format!(
                    "{} with seed {}: not monotone: beyond the answer it is the other way round at {}{rest}",
                    self.scheme,
                    lane.seed,
                    wrong.join(", ")
                ));
            }
        }
        notes
    }

    pub(super) fn json(&self, find: &Find) -> Value {
        let found = self.found();
        // The lowest and the highest value are null unless a value was found for every seed.
        let all = found.len() == self.lanes.len();
        let values: Vec<toml::Value> = found.into_iter().filter(|_| all).map(|(_, value, _)| value).collect();
        let (easiest, hardest) = (values.first().cloned(), values.last().cloned());
        let (lowest, highest) = match find.wanted {
            Extremum::Smallest => (easiest, hardest),
            Extremum::Largest => (hardest, easiest),
        };
        let seeds = self.lanes.iter().map(|lane| {
            let (outcome, value, fails) = match lane.search.answer() {
                Some(Answer::Bracket { value, fails }) => ("found", Some(value), Some(fails)),
                Some(Answer::Everywhere) => ("holds at both ends", None, None),
                Some(Answer::Nowhere) => ("holds at neither end", None, None),
                Some(Answer::Backwards) => ("holds at the other end", None, None),
                None => ("unknown", None, None),
            };
            let trial = |(value, holds): (toml::Value, bool)| json!({ "value": value, "holds": holds });
            json!({
                "seed": lane.seed,
                "outcome": outcome,
                "value": value,
                "fails_at": fails,
                "tried": lane.search.tried().map(|(_, value, holds)| trial((value, holds))).collect::<Vec<_>>(),
                "contradictions": lane.search.contradictions().into_iter().map(trial).collect::<Vec<_>>(),
            })
        });
        json!({
            "scheme": self.scheme,
            "value": self.in_every_seed(find).map(|(value, _)| value),
            "lowest": lowest,
            "highest": highest,
            "seeds": seeds.collect::<Vec<_>>(),
            "runs": self.runs(),
        })
    }
}

pub(super) fn table(find: &Find, answers: &[SchemeAnswer]) -> Vec<Vec<String>> {
    let seeds = answers.iter().map(|answer| answer.lanes.len()).max().unwrap_or(0);
    let mut rows = vec![vec!["scheme".to_owned(), find.key().to_owned(), "fails at".to_owned()]];
    if seeds > 1 {
        rows[0][1] = format!("{} in every seed", find.key());
        rows[0].push("over seeds".to_owned());
    }
    rows[0].push("runs".to_owned());
    for answer in answers {
        let mut row = vec![answer.scheme.to_owned()];
        let none = || "-".to_owned();
        let in_every_seed = answer.in_every_seed(find);
        let (value, fails) =
            in_every_seed.map_or_else(|| (none(), none()), |(value, fails)| (plain(&value), plain(&fails)));
        row.extend([value, fails]);
        if seeds > 1 {
            row.push(answer.over_seeds(find).unwrap_or_else(none));
        }
        row.push(answer.runs().to_string());
        rows.push(row);
    }
    rows
}
