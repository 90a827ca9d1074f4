//! A figure of a paper: its plots, the claims of the paper, and the measured numbers.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A figure that was reproduced. It is the content of `figure.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The name of the figure in commands: `reps/fig02`.
    pub id: String,
    /// The title of the figure in our words.
    pub title: String,
    /// The short name and the venue of the paper.
    pub paper: String,
    /// The figure's number in the paper: `Figure 2`.
    pub figure: String,
    /// `quick` or `paper`.
    pub scale: String,
    /// The size of the runs as text: the number of hosts, and the lengths of messages. The title may state the size of
    /// another scale. The text is empty for a model, and in results of earlier builds.
    #[serde(default)]
    pub sizes: String,
    /// The choices that we made because the paper does not specify them.
    pub assumptions: Vec<String>,
    /// The plots.
    pub plots: Vec<PlotSpec>,
    /// The paper's claims with the measured numbers.
    pub claims: Vec<ClaimRow>,
    /// The claims under other values of what the paper leaves unsaid, where that was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsaid: Option<Sensitivity>,
}

/// One plot, as a figure's file specifies it (a `[[plot]]` table).
///
/// Each value of a scheme or swept parameter that [`per`](Self::per) leaves out has a picture of its own, so that
/// nothing is mixed. A distribution pools the messages (or jobs) of all seeds, `line` and `bar` show their mean,
/// `series` and `points` the first seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlotSpec {
    /// The form of the plot.
    pub kind: PlotKind,
    /// Title above it.
    pub title: String,
    /// The quantity of the y axis (of the x axis for a CDF). For `line` and `bar` one of [`crate::RunRow::FIELDS`],
    /// such as `fct_max_us`, or the name of an extra number; for `cdf` `fct_us`, `slowdown` or `retransmitted_share`,
    /// or `cct_us` of jobs; for `flows` `fct_us`, `slowdown` or `retransmitted_share`; for `series` and `points` a
    /// series, such as `queue_depth_bytes`; for `slowdown-by-size` a [`crate::Statistic`]: `mean`, `p99`, `max`.
    pub y: String,
    /// For `line` and `bar`: the swept parameter on the x axis. Without it a bar is a scheme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<String>,
    /// The dimensions along which curves are separate: `scheme`, `seed`, a swept parameter by its whole name, and in a
    /// `series` or `points` `entity`. Without `entity` a series is the mean over its entities, and points are those of
    /// all entities together. Empty means the default: `scheme` and, in a series, `entity`, in a line or bars every
    /// swept parameter that is not `x`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per: Vec<String>,
    /// For `series` and `points`: only this entity and those below it (`tor:0/up` covers `tor:0/up:3`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// For `cdf`, `flows` and `slowdown-by-size`: only the messages of this part of the workload, or those that cross
    /// data centres (`inter`) or do not (`intra`), as [`crate::FlowRow::in_group`] says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// For `cdf`, `flows` and `slowdown-by-size`: only messages of this length or more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_bytes: Option<u64>,
    /// For `cdf`, `flows` and `slowdown-by-size`: only messages of this length or less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// Only these schemes; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schemes: Vec<String>,
    /// Logarithmic x axis. Files of earlier builds say `log-x` and `log-y`.
    #[serde(default, alias = "log-x")]
    pub log_x: bool,
    /// Logarithmic y axis.
    #[serde(default, alias = "log-y")]
    pub log_y: bool,
}

impl Figure {
    /// Whether this is the small form of the figure, which says nothing about the paper's numbers.
    pub fn is_quick(&self) -> bool {
        self.scale == "quick"
    }

    /// Whether its claims are judged: at the quick scale they are shown, with outcomes that count for nothing.
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
    /// A measured series over time as a cloud of its points, without lines.
    Points,
    /// A distribution over messages or jobs.
    Cdf,
    /// A field of the runs as bars.
    Bar,
    /// A field of the runs against a swept parameter.
    Line,
    /// Slowdown (FCT over the message's ideal FCT) by message size.
    SlowdownBySize,
    /// One point per message: one of its numbers against its length.
    Flows,
}

/// The number against which the league plots the time of each scheme of a scenario (the `[explain]` table of its file).
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// One of [`crate::RunRow::FIELDS`] or [`DATA_PACKETS_HIT`], or the name of an extra number.
    pub measure: String,
    /// Its name here, where its own name does not say enough.
    pub called: Option<String>,
    /// The reason for this choice, in a sentence; it asserts no cause.
    pub says: String,
}

/// The data packets that the faults of a run hit: lost, refused or slowed.
pub const DATA_PACKETS_HIT: &str = "data_packets_hit";

/// A claim as a figure's file states it (a `[[claim]]` table).
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimSpec {
    /// The claim, in our words.
    pub says: String,
    /// The place in the paper.
    pub source: String,
    /// The comparison with the measured number.
    pub kind: ClaimKind,
    /// The paper's number, or its range as `[low, high]`. `zero` and `order` need none.
    pub paper: Option<ClaimValue>,
    /// For an `order`: the things that the paper compares, the smallest first, in words for people.
    pub order: Vec<String>,
    /// The computation on the results, in the measure language of the report crate.
    pub measure: String,
    /// The finding about why the claim does not hold, at the paper's scale.
    pub why: Option<String>,
}

/// The way in which a measured number is compared with the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimKind {
    /// A quotient of two measurements.
    Ratio,
    /// A quotient of two measurements that the paper bounds from below.
    AtLeast,
    /// A quotient of two measurements that the paper bounds from above.
    AtMost,
    /// A quantity with a unit.
    Value,
    /// A range of quotients; the measure gives two numbers.
    Range,
    /// A quantity that the paper says is zero.
    Zero,
    /// An order of schemes; the measure is a comparison, 1 when true.
    Order,
}

/// A number, or a range of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ClaimValue {
    /// One number.
    Number(f64),
    /// The low and the high end.
    Range([f64; 2]),
}

/// A claim with its measured number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimRow {
    /// The claim, in our words.
    pub says: String,
    /// The place in the paper.
    pub source: String,
    /// The comparison with the measured number.
    pub kind: ClaimKind,
    /// The paper's number: 0 for `zero`, 1 (true) for `order`.
    pub paper: ClaimValue,
    /// For an `order`: the things that the paper compares, the smallest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<String>,
    /// The computation on the results, in the measure language of the report crate.
    pub measure: String,
    /// The measured number: keys `measured` and `outcome`, or `error`.
    #[serde(flatten)]
    pub result: ClaimResult,
    /// For an `order` that was evaluated: the spread of its sides over the seeds. None in results of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// The finding about why the claim does not hold, at the paper's scale.
    pub why: Option<String>,
}

/// The result of a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ClaimResult {
    /// The measure was evaluated.
    Evaluated {
        /// The measured number.
        measured: ClaimValue,
        /// The comparison with the paper's number.
        outcome: Outcome,
    },
    /// The measure could not be evaluated, for example because flows did not finish.
    Failed {
        /// The reason.
        error: String,
    },
}

/// The values of both sides of an `order` with each seed, which show whether their order is more than chance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The number of seeds. One seed says nothing about the spread.
    pub seeds: usize,
    /// The comparisons of the measure, in its order.
    pub comparisons: Vec<Comparison>,
}

/// One comparison of a measure: the lowest and the highest value over the seeds on either side of its sign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The lowest and the highest value of the left side.
    pub left: [f64; 2],
    /// `<`, `<=`, `>`, `>=` or `==`.
    pub sign: String,
    /// The lowest and the highest value of the right side.
    pub right: [f64; 2],
    /// Whether the comparison is true for every seed on the left with every seed on the right.
    pub separate: bool,
}

/// A figure's claims under setups that its paper's text permits, the figure's own setup first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sensitivity {
    /// The varied entries.
    pub entries: Vec<SensitivityEntry>,
    /// Whether all combinations of the values were run, or one entry at a time alone.
    pub together: bool,
    /// The limit of runs up to which all combinations are run.
    pub most_runs_together: usize,
    /// The setups that were run. At least one: the figure's own.
    pub setups: Vec<SetupRow>,
}

/// An entry of `[[unsaid]]`: something that the paper leaves open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SensitivityEntry {
    /// Its name, in the words of the assumptions.
    pub what: String,
    /// The reason why these values are permitted.
    pub because: String,
    /// The parameters, which change together.
    pub parameters: Vec<String>,
    /// The values in words, the figure's own first.
    pub values: Vec<String>,
    /// For each value its parts, in the order of `parameters`.
    pub settings: Vec<Vec<String>>,
    /// Whether it was varied; not where the scale has values of its own for it.
    pub varied: bool,
}

/// One setup, and the results of the claims under it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetupRow {
    /// The index of the chosen value of each entry.
    pub choice: Vec<usize>,
    /// The result of each claim, in the figure's order.
    pub claims: Vec<ClaimResult>,
    /// Runs without results. Claims that need them could not be evaluated.
    pub failed_runs: usize,
}

impl SetupRow {
    /// The number of claims that hold under it.
    pub fn holds(&self) -> usize {
        self.claims.iter().filter(|claim| claim.holds()).count()
    }
}

impl Sensitivity {
    /// The setup under which most claims hold together: of several the one with the fewest changes, and of these the
    /// first.
    pub fn best(&self) -> Option<&SetupRow> {
        let changes = |setup: &SetupRow| setup.choice.iter().filter(|index| **index > 0).count();
        self.setups.iter().min_by_key(|setup| (std::cmp::Reverse(setup.holds()), changes(setup)))
    }

    /// The number of setups under which a claim holds, by its index in the figure.
    pub fn holds(&self, claim: usize) -> usize {
        self.setups.iter().filter(|setup| setup.claims.get(claim).is_some_and(ClaimResult::holds)).count()
    }

    /// The lowest and the highest number that is measured for a claim; none where it could not be evaluated under any
    /// setup.
    pub fn span(&self, claim: usize) -> Option<[f64; 2]> {
        let measured = self.setups.iter().filter_map(|setup| match setup.claims.get(claim) {
            Some(ClaimResult::Evaluated { measured: ClaimValue::Number(number), .. }) => Some([*number; 2]),
            Some(ClaimResult::Evaluated { measured: ClaimValue::Range(ends), .. }) => Some(*ends),
            _ => None,
        });
        measured.reduce(|[low, high], [a, b]| [low.min(a), high.max(b)])
    }

    /// A setup in words: its differences from the figure's own.
    pub fn name(&self, setup: &SetupRow) -> String {
        let changed = self.entries.iter().zip(&setup.choice).filter(|(_, index)| **index > 0);
        let changed: Vec<String> =
            changed.map(|(entry, index)| format!("{}: {}", entry.what, entry.values[*index])).collect();
        if changed.is_empty() { "the figure's own".to_owned() } else { changed.join("; ") }
    }
}

impl ClaimResult {
    /// Whether it was evaluated and holds.
    pub fn holds(&self) -> bool {
        matches!(self, ClaimResult::Evaluated { outcome: Outcome::Holds, .. })
    }
}

/// The result of comparing a measurement with the paper, by the fixed rule of the report crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Within the band.
    Holds,
    /// Outside the band, on the paper's side of 1.
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

    /// Two claims under three setups: one, both and both of them hold.
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
