//! A figure of a paper: its plots, the claims of the paper, and the measured numbers.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A figure that was reproduced. It is the content of `figure.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The name of the figure in commands: `reps/figure-2`.
    pub id: String,
    /// The title of the figure in our words.
    pub title: String,
    /// The paper's name in commands: `reps`.
    pub paper: String,
    /// The figure's number in the paper: `Figure 2`.
    pub figure: String,
    /// `quick` or `paper`.
    pub scale: String,
    /// The size of the runs as text, with the number of hosts and the lengths of messages. The title may state the
    /// size of another scale. The text is empty for a model, which has no simulated messages.
    #[serde(default)]
    pub sizes: String,
    /// The choices that we made because the paper does not specify them.
    pub assumptions: Vec<String>,
    /// The plots.
    pub plots: Vec<PlotSpec>,
    /// The paper's claims, with the measured numbers.
    pub claims: Vec<ClaimRow>,
    /// The claims under other values of the settings that the paper leaves unspecified (`[[unsaid]]`), if this was
    /// requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsaid: Option<Sensitivity>,
}

/// One plot, as a figure's file specifies it (a `[[plot]]` table).
///
/// There is a separate picture for each value of a swept parameter that is neither in [`per`](Self::per) nor on the x
/// axis, unless the x axis determines this value. There is a separate picture for each scheme if the scheme is neither
/// in `per` nor on the x axis. Unless `per` contains `seed`, a distribution contains the messages (or jobs) of all
/// seeds, `line` and `bar` show the mean over the seeds, and `series` and `points` show the first seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlotSpec {
    /// The form of the plot.
    pub kind: PlotKind,
    /// The title above the plot.
    pub title: String,
    /// The quantity of the y axis (of the x axis for a CDF). For `line` and `bar`, it is one of
    /// [`crate::RunRow::FIELDS`], such as `fct_max_us`, or the name of an extra number. For `cdf`, it is `fct_us`,
    /// `slowdown` or `retransmitted_share`, or `cct_us` of jobs. For `flows`, it is `fct_us`, `slowdown` or
    /// `retransmitted_share`. For `series` and `points`, it is a series, such as `queue_depth_bytes`. For
    /// `slowdown-by-size`, it is a [`crate::Statistic`] such as `mean` or `p99`.
    pub y: String,
    /// For `line` and `bar`: the swept parameter on the x axis. A `bar` plot without it has a bar for each scheme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<String>,
    /// The dimensions whose values have separate curves: `scheme`, `seed`, a swept parameter by its full name, and
    /// `entity` in a plot of `series` or `points`. Without `entity`, `series` shows the mean over the entities, and
    /// `points` shows the points of all entities together. An empty list means the default: `scheme`, and in a `series`
    /// plot also `entity`. In a `line` or `bar` plot, the default also has the swept parameters that do not change
    /// together with `x`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per: Vec<String>,
    /// For `series` and `points`: only this entity and those below it are shown (`tor:0/up` covers `tor:0/up:3`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// For `cdf`, `flows` and `slowdown-by-size`: only the messages of this group are shown; see
    /// [`crate::FlowRow::in_group`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// For `cdf`, `flows` and `slowdown-by-size`: only messages of at least this length are shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_bytes: Option<u64>,
    /// For `cdf`, `flows` and `slowdown-by-size`: only messages of at most this length are shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// Only these schemes are shown, or all schemes if the list is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schemes: Vec<String>,
    /// Whether the x axis is logarithmic. The key `log-x` is accepted, too.
    #[serde(default, alias = "log-x")]
    pub log_x: bool,
    /// Whether the y axis is logarithmic. The key `log-y` is accepted, too.
    #[serde(default, alias = "log-y")]
    pub log_y: bool,
}

impl Figure {
    /// Whether this is the small form of the figure, whose results say nothing about the paper's numbers.
    pub fn is_quick(&self) -> bool {
        self.scale == "quick"
    }

    /// Whether the outcomes of the claims count. At the quick scale, measured numbers are shown but their outcomes do
    /// not count.
    pub fn is_judged(&self) -> bool {
        !self.is_quick()
    }
}

impl PlotSpec {
    /// A plot of all data of `y`, with the default curves.
    pub fn new(kind: PlotKind, title: impl Into<String>, y: impl Into<String>) -> PlotSpec {
        PlotSpec {
            kind,
            title: title.into(),
            y: y.into(),
            x: None,
            per: Vec::new(),
            entity: None,
            group: None,
            min_bytes: None,
            max_bytes: None,
            schemes: Vec::new(),
            log_x: false,
            log_y: false,
        }
    }
}

/// The forms of plots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlotKind {
    /// A measured series over time.
    Series,
    /// A measured series over time as separate points, without lines.
    Points,
    /// A distribution over messages or jobs.
    Cdf,
    /// One quantity of the runs, as bars.
    Bar,
    /// One quantity of the runs against a swept parameter.
    Line,
    /// Slowdown (FCT over the message's ideal FCT) by message size.
    SlowdownBySize,
    /// One point per message, which shows one of its quantities against its length.
    Flows,
}

/// The quantity against which `anabranch league` plots the time of each scheme of a scenario. The `[explain]` table of
/// the scenario's file states the quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// One of [`crate::RunRow::FIELDS`] or [`DATA_PACKETS_HIT`], or the name of an extra number.
    pub measure: String,
    /// The name of the quantity in the plot, if the measure's own name is not clear enough.
    pub called: Option<String>,
    /// The reason why this quantity is plotted, in a sentence that does not claim a cause.
    pub says: String,
}

/// The name of the number of data packets that the faults of a run lost, refused or slowed, for
/// [`Explanation::measure`].
pub const DATA_PACKETS_HIT: &str = "data_packets_hit";

/// A claim as a figure's file states it (a `[[claim]]` table).
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimSpec {
    /// The claim in our words.
    pub says: String,
    /// The place of the claim in the paper.
    pub source: String,
    /// The kind of comparison with the measured number.
    pub kind: ClaimKind,
    /// The paper's number, or its range as `[low, high]`. The kinds `zero` and `order` need no number.
    pub paper: Option<ClaimValue>,
    /// For an `order`: the items that the paper compares, as text for people, the smallest first.
    pub order: Vec<String>,
    /// The computation on the results, in the measure language of the report crate.
    pub measure: String,
    /// The reason why the claim does not hold at the paper's scale, as text; none if no reason is given.
    pub why: Option<String>,
}

/// The kind of comparison of a measured number with the paper's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimKind {
    /// A quotient of two measurements.
    Ratio,
    /// A quotient for which the paper states a lower bound.
    AtLeast,
    /// A quotient for which the paper states an upper bound.
    AtMost,
    /// A quantity with a unit.
    Value,
    /// A range of quotients. The measure gives two numbers.
    Range,
    /// A quantity that is zero according to the paper.
    Zero,
    /// An order of quantities. The measure is a condition, whose value is 1 if it is true.
    Order,
}

/// A number, or a range of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ClaimValue {
    /// One number.
    Number(f64),
    /// The lower and the upper end.
    Range([f64; 2]),
}

/// A claim with its measured number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimRow {
    /// The claim in our words.
    pub says: String,
    /// The place of the claim in the paper.
    pub source: String,
    /// The kind of comparison with the measured number.
    pub kind: ClaimKind,
    /// The paper's number. It is 0 for `zero`, and 1 (true) for `order`.
    pub paper: ClaimValue,
    /// For an `order`: the items that the paper compares, the smallest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<String>,
    /// The computation on the results, in the measure language of the report crate.
    pub measure: String,
    /// The result of the measure, with the keys `measured` and `outcome`, or `error`.
    #[serde(flatten)]
    pub result: ClaimResult,
    /// For an `order` that was evaluated: the spread of its sides over the seeds. `None` for any other claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// The reason why the claim does not hold at the paper's scale, as text; none if no reason is given.
    pub why: Option<String>,
}

/// The result of a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ClaimResult {
    /// The measure was evaluated.
    Evaluated {
        /// The number, or the range of numbers, that was measured.
        measured: ClaimValue,
        /// The comparison with the paper's number.
        outcome: Outcome,
    },
    /// The measure could not be evaluated, for example because flows did not finish.
    Failed {
        /// The reason why the measure could not be evaluated.
        error: String,
    },
}

/// The values of both sides of an `order` over the seeds, which show whether the order could be chance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The number of seeds. A single seed gives no information about the spread.
    pub seeds: usize,
    /// The comparisons of the measure, in the order in which it contains them.
    pub comparisons: Vec<Comparison>,
}

/// One comparison of a measure, with the lowest and the highest value over the seeds of each side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The lowest and the highest value of the left side.
    pub left: [f64; 2],
    /// The sign of the comparison: `<`, `<=`, `>`, `>=` or `==`.
    pub sign: String,
    /// The lowest and the highest value of the right side.
    pub right: [f64; 2],
    /// Whether the comparison is true for every pair of a seed on the left and a seed on the right.
    pub separate: bool,
}

/// A figure's claims under setups that the text of its paper permits. The first setup is the figure's default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sensitivity {
    /// The settings that the paper leaves unspecified.
    pub entries: Vec<SensitivityEntry>,
    /// Whether all combinations of the values were run. Otherwise, each setting was varied alone.
    pub together: bool,
    /// All combinations are run if they need at most this number of runs.
    pub most_runs_together: usize,
    /// The setups that were run. There is always at least one, the figure's default.
    pub setups: Vec<SetupRow>,
}

/// An entry of `[[unsaid]]`: a setting that the paper leaves unspecified.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SensitivityEntry {
    /// The name of the setting, in the words of the assumptions.
    pub what: String,
    /// The reason why these values are permitted.
    pub because: String,
    /// The scenario's parameters that implement the setting. They change together.
    pub parameters: Vec<String>,
    /// The values as text. The first is the figure's default.
    pub values: Vec<String>,
    /// For each value, the values of the parameters, in the order of `parameters`.
    pub settings: Vec<Vec<String>>,
    /// Whether the setting was varied. It is not varied if the scale sets its own value for it.
    pub varied: bool,
}

/// One setup, and the results of the claims under it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetupRow {
    /// The index of the chosen value, for each entry of [`Sensitivity::entries`].
    pub choice: Vec<usize>,
    /// The result of each claim, in the order of the figure's claims.
    pub claims: Vec<ClaimResult>,
    /// The number of runs without results. Claims that need these runs could not be evaluated.
    pub failed_runs: usize,
}

impl SetupRow {
    /// The number of claims that hold under this setup.
    pub fn holds(&self) -> usize {
        self.claims.iter().filter(|claim| claim.holds()).count()
    }
}

impl Sensitivity {
    /// The setup under which the most claims hold. If there are several, it is the one with the fewest changes. If
    /// several of these have equally few changes, it is the first.
    pub fn best(&self) -> Option<&SetupRow> {
        let changes = |setup: &SetupRow| setup.choice.iter().filter(|index| **index > 0).count();
        self.setups.iter().min_by_key(|setup| (std::cmp::Reverse(setup.holds()), changes(setup)))
    }

    /// The number of setups under which a claim holds. `claim` is its index in the figure.
    pub fn holds(&self, claim: usize) -> usize {
        self.setups.iter().filter(|setup| setup.claims.get(claim).is_some_and(ClaimResult::holds)).count()
    }

    /// The lowest and the highest number that is measured for a claim over the setups, or `None` if no setup gives a
    /// number.
    pub fn span(&self, claim: usize) -> Option<[f64; 2]> {
        let measured = self.setups.iter().filter_map(|setup| match setup.claims.get(claim) {
            Some(ClaimResult::Evaluated { measured: ClaimValue::Number(number), .. }) => Some([*number; 2]),
            Some(ClaimResult::Evaluated { measured: ClaimValue::Range(ends), .. }) => Some(*ends),
            _ => None,
        });
        measured.reduce(|[low, high], [a, b]| [low.min(a), high.max(b)])
    }

    /// The name of a setup, which lists its differences from the figure's default.
    pub fn name(&self, setup: &SetupRow) -> String {
        let changed = self.entries.iter().zip(&setup.choice).filter(|(_, index)| **index > 0);
        let changed: Vec<String> =
            changed.map(|(entry, index)| format!("{}: {}", entry.what, entry.values[*index])).collect();
        if changed.is_empty() { "the figure's own".to_owned() } else { changed.join("; ") }
    }
}

impl ClaimResult {
    /// Whether the claim was evaluated and holds.
    pub fn holds(&self) -> bool {
        matches!(self, ClaimResult::Evaluated { outcome: Outcome::Holds, .. })
    }
}

/// The result of comparing a measured number with the paper's, by the fixed rule of the report crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The number is within the tolerance, or it satisfies the paper's bound or order.
    Holds,
    /// The number is outside the tolerance or the bound, but on the same side of 1 as the paper's number.
    DirectionOnly,
    /// Anything else.
    Differs,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::Holds => "holds",
            Outcome::DirectionOnly => "direction-only",
            Outcome::Differs => "differs",
        })
    }
}

impl fmt::Display for ClaimKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ClaimKind::Ratio => "ratio",
            ClaimKind::AtLeast => "at-least",
            ClaimKind::AtMost => "at-most",
            ClaimKind::Value => "value",
            ClaimKind::Range => "range",
            ClaimKind::Zero => "zero",
            ClaimKind::Order => "order",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(measured: f64, outcome: Outcome) -> ClaimResult {
        ClaimResult::Evaluated { measured: ClaimValue::Number(measured), outcome }
    }

    /// Two claims under three setups. The first claim holds under all setups. The second claim could not be evaluated
    /// under the first setup and holds under the others.
    fn sensitivity() -> Sensitivity {
        let entry = |what: &str, values: &[&str]| SensitivityEntry {
            what: what.into(),
            because: "it is silent".into(),
            parameters: vec!["p".into()],
            values: values.iter().map(|&value| value.to_owned()).collect(),
            settings: values.iter().map(|&value| vec![value.to_owned()]).collect(),
            varied: true,
        };
        let setup = |choice: [usize; 2], claims| SetupRow { choice: choice.into(), claims, failed_runs: 0 };
        let failed = ClaimResult::Failed { error: "e".into() };
        Sensitivity {
            entries: vec![entry("payload", &["4096B", "1000B"]), entry("queue", &["1MB", "2MB"])],
            together: false,
            most_runs_together: 9,
            setups: vec![
                setup([0, 0], vec![result(2.0, Outcome::Holds), failed]),
                setup([1, 1], vec![result(1.5, Outcome::Holds), result(7.0, Outcome::Holds)]),
                setup([0, 1], vec![result(3.0, Outcome::Holds), result(7.0, Outcome::Holds)]),
            ],
        }
    }

    #[test]
    fn the_best_set_up_is_the_one_with_most_claims_and_then_the_fewest_changes() {
        let all = sensitivity();
        let best = all.best().unwrap();
        assert_eq!((best.holds(), all.name(best)), (2, "queue: 2MB".to_owned()));
        assert_eq!(all.name(&all.setups[1]), "payload: 1000B; queue: 2MB");
        assert_eq!(all.name(&all.setups[0]), "the figure's own");
    }

    #[test]
    fn spans_are_over_what_could_be_evaluated() {
        let mut all = sensitivity();
        assert_eq!((all.holds(0), all.holds(1)), (3, 2));
        assert_eq!((all.span(0), all.span(1)), (Some([1.5, 3.0]), Some([7.0, 7.0])));
        assert_eq!(all.span(2), None);
        all.setups[2].claims[0] =
            ClaimResult::Evaluated { measured: ClaimValue::Range([0.5, 9.0]), outcome: Outcome::Differs };
        assert_eq!((all.holds(0), all.span(0)), (2, Some([0.5, 9.0])));
    }
}
