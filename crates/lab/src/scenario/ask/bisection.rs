//! The search for the value at which a condition changes.

use crate::scenario::ask::question::{Extremum, Find};

/// A search for the answer of one scheme and seed. It names the next value to try and receives the outcome.
///
/// The search tries both ends, halves the range between them, and finally tries values on both sides of the answer. If
/// the condition is not monotone, the last values are likely to show it. If the condition holds at neither end, the
/// search looks for a value between them for which the condition holds, and uses that value as the good end.
#[derive(Debug)]
pub struct Search<'a> {
    find: &'a Find,
    /// The positions tried, in order, and whether the condition held there.
    tried: Vec<(f64, bool)>,
    /// The end of the bisected range at which the condition holds. Before such an end is known, the end of the whole
    /// range at which the condition should hold.
    good: f64,
    /// The end of the bisected range at which the condition fails. Before such an end is known, the end of the whole
    /// range at which the condition should fail.
    bad: f64,
    next: Option<f64>,
    stage: Stage,
    /// The positions between the ends that remain to be tried, if the condition holds at neither end.
    inside: std::vec::IntoIter<f64>,
    /// The position from which the search bisects, where the condition is known to hold; `None` before such a position
    /// is known.
    anchor: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    GoodEnd,
    BadEnd,
    /// Tries values between the ends, at neither of which the condition holds.
    Inside,
    Between,
    BesideGood,
    BesideBad,
    Done,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The condition holds for one value and fails for the next one.
    Bracket {
        /// The value that answers the search.
        value: toml::Value,
        /// The tried value next to it, for which the condition fails.
        fails: toml::Value,
    },
    /// The condition holds at both ends.
    Everywhere,
    /// The condition holds at neither end, nor at the values that were tried between them.
    Nowhere,
    /// The condition holds at the end where it should fail, and fails at the other end.
    Backwards,
}

impl<'a> Search<'a> {
    /// A search that has not tried any value yet.
    pub fn new(find: &'a Find) -> Search<'a> {
        let good = find.end(find.wanted == Extremum::Smallest);
        let bad = find.end(find.wanted == Extremum::Largest);
        let (inside, stage) = (Vec::new().into_iter(), Stage::GoodEnd);
        Search { find, tried: Vec::new(), good, bad, next: Some(good), stage, inside, anchor: None }
    }

    /// The next value to try, with its position among all values; `None` if the search has ended.
    pub fn next(&self) -> Option<(f64, toml::Value)> {
        self.next.map(|place| (place, self.find.value(place)))
    }

    /// Takes the outcome for the tried value: whether the condition holds for it.
    pub fn tell(&mut self, holds: bool) {
        let Some(place) = self.next else { return };
        self.tried.push((place, holds));
        if self.stage == Stage::Between {
            *(if holds { &mut self.good } else { &mut self.bad }) = place;
        }
        let bad_end = self.find.end(self.find.wanted == Extremum::Largest);
        match self.stage {
            Stage::GoodEnd if holds => self.anchor = Some(place),
            Stage::BadEnd if !holds && self.anchor.is_none() => self.inside = self.find.inside().into_iter(),
            Stage::Inside if holds => {
                (self.anchor, self.good) = (Some(place), place);
                // The new bad position is the nearest tried position in the direction of the bad end.
                let beside = self.tried.iter().map(|(tried, _)| *tried);
                let beside = beside.filter(|tried| (*tried < place) == (bad_end < place) && *tried != place);
                self.bad =
                    beside.min_by(|a, b| (a - place).abs().total_cmp(&(b - place).abs())).unwrap_or(bad_end);
            }
            _ => {}
        }
        loop {
            (self.stage, self.next) = match (self.stage, self.anchor) {
                (Stage::GoodEnd, _) => (Stage::BadEnd, Some(bad_end)),
                (Stage::BadEnd, _) if self.tried[1].1 => (Stage::Done, None),
                (Stage::BadEnd | Stage::Inside, None) => match self.inside.next() {
                    Some(place) => (Stage::Inside, Some(place)),
                    None => (Stage::Done, None),
                },
                (Stage::BadEnd | Stage::Inside, Some(_)) => {
                    (Stage::Between, self.find.between(self.good, self.bad))
                }
                (Stage::Between, anchor) => match self.find.between(self.good, self.bad) {
                    Some(place) => (Stage::Between, Some(place)),
                    None => {
                        (Stage::BesideGood, anchor.and_then(|anchor| self.find.between(self.good, anchor)))
                    }
                },
                (Stage::BesideGood, _) => match self.nearer() {
                    Some(place) => (Stage::BesideGood, Some(place)),
                    None => (Stage::BesideBad, self.find.between(self.bad, bad_end)),
                },
                (Stage::BesideBad | Stage::Done, _) => (Stage::Done, None),
            };
            if self.next.is_some() || self.stage == Stage::Done {
                return;
            }
        }
    }

    /// The next value on the good side. It follows from halving the range from the answer to the last tried value
    /// twice, towards the answer.
    fn nearer(&self) -> Option<f64> {
        let (last, _) = *self.tried.last()?;
        self.find.between(self.good, self.find.between(self.good, last)?)
    }

    /// Adds one more value to a search that has ended: the answer of another search. The answer of this search does
    /// not change.
    pub fn try_also(&mut self, place: f64) {
        if self.next.is_none() && self.held(place).is_none() {
            self.next = Some(place);
        }
    }

    /// Whether the condition held at a position; `None` if the position was not tried.
    pub fn held(&self, place: f64) -> Option<bool> {
        self.tried.iter().find(|(tried, _)| *tried == place).map(|(_, holds)| *holds)
    }

    /// The result; `None` before the search has ended.
    pub fn answer(&self) -> Option<Answer> {
        if self.next.is_some() {
            return None;
        }
        Some(match (self.tried[0].1, self.tried[1].1) {
            (_, false) if self.anchor.is_some() => {
                Answer::Bracket { value: self.find.value(self.good), fails: self.find.value(self.bad) }
            }
            (true, _) => Answer::Everywhere,
            (false, false) => Answer::Nowhere,
            (false, true) => Answer::Backwards,
        })
    }

    /// Whether the answer lies between two ends at both of which the condition fails.
    pub fn fails_at_both_ends(&self) -> bool {
        self.anchor.is_some() && !self.tried[0].1
    }

    /// The position of the answer, by which the answers of several searches can be ordered.
    pub fn place(&self) -> f64 {
        self.good
    }

    /// The tried values in the order in which they were tried: the position among all values, the value, and whether
    /// the condition held.
    pub fn tried(&self) -> impl Iterator<Item = (f64, toml::Value, bool)> {
        self.tried.iter().map(|(place, holds)| (*place, self.find.value(*place), *holds))
    }

    /// The tried values that contradict the answer because the condition is not monotone: the condition holds beyond
    /// the failing value, or fails beyond the answer.
    pub fn contradictions(&self) -> Vec<(toml::Value, bool)> {
        if !matches!(self.answer(), Some(Answer::Bracket { .. })) {
            return Vec::new();
        }
        let towards_good = |from: f64, to: f64| if self.good > self.bad { to > from } else { to < from };
        let wrong = |(place, holds): &&(f64, bool)| match holds {
            true => towards_good(*place, self.bad),
            false => towards_good(self.good, *place),
        };
        self.tried.iter().filter(wrong).map(|(place, holds)| (self.find.value(*place), *holds)).collect()
    }
}
