//! Fixed phrases, numbers and lists of names in sentences.

use crate::labels::{TimeUnit, half_width, micros, thousands};
use crate::ranking::{Quantity, RankedScheme};
use anabranch_results::Estimate;

/// The smallest cost in percent that is not shown as 0.
pub(super) const LEAST_PERCENT: f64 = 0.05;

/// The largest number of schemes that the first sentence names.
pub(crate) const MOST_IN_HEADLINE: usize = 3;

pub(super) const SEEDS_CHANGE_NOTHING: &str = "Seeds change nothing";
pub(super) const NO_EVIDENCE: &str = "± 0 is no evidence";

pub(super) const NOT_PLACED: &str = "Not to be placed, as their seeds differ too much";

/// A scheme that has a value of the ranked quantity.
pub(super) type Ranked<'a> = (&'a str, Estimate, &'a RankedScheme);

/// The format of a quantity's numbers in one sentence.
pub(super) struct NumberFormat {
    unit: Option<TimeUnit>,
}

impl NumberFormat {
    /// The format for these means. All times in a sentence have one unit. It suits the largest mean, or the smallest
    /// mean if that is below 100 µs and would lose digits in milliseconds.
    pub(super) fn for_means(means: impl Iterator<Item = f64> + Clone, quantity: Quantity) -> Self {
        let least = means.clone().fold(f64::INFINITY, f64::min);
        let most = means.fold(0.0, f64::max);
        NumberFormat {
            unit: quantity.is_time.then(|| TimeUnit::of(if least >= 100.0 { most } else { least })),
        }
    }

    pub(super) fn for_schemes(schemes: &[(&str, &RankedScheme)], quantity: Quantity) -> Self {
        Self::for_means(schemes.iter().filter_map(|(_, of)| of.estimate).map(|of| of.mean), quantity)
    }

    pub(super) fn number(&self, value: f64) -> String {
        self.unit.map_or_else(|| format!("{value:.2}"), |unit| micros(unit.convert(value)))
    }

    fn half(&self, value: f64) -> String {
        half_width(self.unit.map_or(value, |unit| unit.convert(value)))
    }

    /// A scheme with its value: `c (200.0 ± 5.0 µs)`.
    pub(super) fn scheme(&self, (name, _, standing): &Ranked<'_>) -> String {
        format!("{name} ({})", in_brackets(standing, self))
    }

    /// The unit with a space before it, or an empty text for a ratio.
    pub(super) fn unit(&self) -> String {
        self.unit.map_or_else(String::new, |unit| format!(" {}", unit.name()))
    }

    /// The text about a scheme that the faults did not affect in some seeds: `rocev2 at 2 of 3 (1,386 µs where hit)`.
    /// It gives the number of these seeds, and the mean over the other seeds, because the mean over all seeds hides
    /// both.
    pub(super) fn partly_unhit(&self, (name, _, standing): &Ranked<'_>) -> Option<String> {
        let [unhit, all] = standing.unhit;
        let mean = self.number(standing.where_hit?);
        Some(format!("{name} at {unhit} of {all} ({mean}{} where hit)", self.unit()))
    }
}

/// A value with its interval: `1,234 µs (± 12)`.
pub(super) fn with_interval(standing: &RankedScheme, format: &NumberFormat) -> String {
    let Some(estimate) = standing.estimate else { return String::new() };
    let mean = format.number(estimate.mean) + &format.unit();
    match estimate.half_width {
        Some(half) => format!("{mean} (± {})", format.half(half)),
        None => mean,
    }
}

/// A value with its interval, for use within brackets: `1,234 ± 12 µs`.
pub(super) fn in_brackets(standing: &RankedScheme, format: &NumberFormat) -> String {
    let Some(estimate) = standing.estimate else { return String::new() };
    let (mean, unit) = (format.number(estimate.mean), format.unit());
    match estimate.half_width {
        Some(half) => format!("{mean} ± {}{unit}", format.half(half)),
        None => format!("{mean}{unit}"),
    }
}

/// A list as text: `a`, `a and b` or `a, b and c`. With more than `most + 1` items, the text has the first `most` items
/// and the number of the others. A single further item is written out, because `1 more` would not be shorter.
pub(super) fn list(items: Vec<String>, most: usize) -> String {
    list_ending(items, " and ", most)
}

/// Like [`list`], with `before_last` before the last item instead of ` and `.
pub(super) fn list_ending(mut items: Vec<String>, before_last: &str, most: usize) -> String {
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

/// At most [`MOST_IN_HEADLINE`] names, and the number of the others.
pub(super) fn headline_names(mut names: Vec<String>) -> String {
    if names.len() == MOST_IN_HEADLINE + 1 {
        let others = names.split_off(MOST_IN_HEADLINE - 1).len();
        return format!("{} and {others} more", names.join(", "));
    }
    list(names, MOST_IN_HEADLINE)
}

/// A percentage with one decimal if it is below 10 %, and without decimals otherwise. It is 0 below [`LEAST_PERCENT`].
pub(super) fn whole_percent(percent: f64) -> String {
    match percent.abs() {
        none if none < LEAST_PERCENT => "0".to_owned(),
        little if little < 10.0 => format!("{percent:.1}"),
        _ => thousands(percent),
    }
}
