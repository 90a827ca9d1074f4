//! A figure of a paper: what to plot, what the paper says, and what was measured.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A figure that was reproduced. Lies in `figure.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Its name in commands: `reps/fig02`.
    pub id: String,
    /// What it shows, in our words.
    pub title: String,
    /// The paper: short name and venue.
    pub paper: String,
    /// The figure's number in the paper: `Figure 2`.
    pub figure: String,
    /// `quick` or `paper`.
    pub scale: String,
    /// What was run, in words: hosts and lengths; the title may name those of another scale. Empty for a model, and
    /// in results of earlier builds.
    #[serde(default)]
    pub sizes: String,
    /// What the paper does not say and was chosen here.
    pub assumptions: Vec<String>,
    /// What to draw.
    pub plots: Vec<PlotSpec>,
    /// The paper's claims with what was measured.
    pub claims: Vec<ClaimRow>,
}

/// One plot, as a figure's file asks for it (a `[[plot]]` table).
///
/// A scheme or swept parameter that [`per`](Self::per) leaves out has a picture each, so that nothing is mixed. Of
/// the seeds, a distribution takes the messages (or jobs) of all together, `line` and `bar` their mean, `series` and
/// `points` the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlotSpec {
    /// The form of the plot.
    pub kind: PlotKind,
    /// Title above it.
    pub title: String,
    /// What stands on the y axis (on the x axis for a CDF). For `line` and `bar` one of [`crate::RunRow::FIELDS`],
    /// such as `fct_max_us`, or the name of an extra number; for `cdf` `fct_us`, `slowdown` or `retransmitted_share`, or
    /// `cct_us` of jobs; for `flows` `fct_us`, `slowdown` or `retransmitted_share`; for `series` and `points` a series, such as `queue_depth_bytes`; for `slowdown-by-size` a [`crate::Statistic`]: `mean`, `p99`, `max`.
    pub y: String,
    /// For `line` and `bar`: the swept parameter on the x axis. Without it a bar is a scheme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<String>,
    /// A curve of its own for each value of these: `scheme`, `seed`, a swept parameter by its whole name, and in a
    /// `series` or `points` `entity`. Without `entity` a series is the mean over its entities, and points are those
    /// of all entities together. Empty: the usual, which is `scheme` and, in a series, `entity`, in a line or bars
    /// every swept parameter that is not `x`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per: Vec<String>,
    /// For `series` and `points`: only this entity and what lies below it (`tor:0/up` covers `tor:0/up:3`).
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
}

impl PlotSpec {
    /// A plot of everything there is of `y`, with the usual curves.
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
    /// A point a message: a number of it by its length.
    Flows,
}

/// A claim as a figure's file states it (a `[[claim]]` table).
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimSpec {
    /// The claim, in our words.
    pub says: String,
    /// Where the paper makes it.
    pub source: String,
    /// How the measured number is compared.
    pub kind: ClaimKind,
    /// The paper's number, or its range as `[low, high]`. `zero` and `order` need none.
    pub paper: Option<ClaimValue>,
    /// For an `order`: what the paper compares, the smallest first, in words for people.
    pub order: Vec<String>,
    /// What to compute from the results, in the measure language of the report crate.
    pub measure: String,
    /// What was found about why the claim does not hold, at the paper's scale.
    pub why: Option<String>,
}

/// How a measured number is compared with the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimKind {
    /// A quotient of two measurements.
    Ratio,
    /// A quantity with a unit.
    Value,
    /// A range of quotients; the measure gives two numbers.
    Range,
    /// Nothing of something.
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

/// A claim with what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimRow {
    /// The claim, in our words.
    pub says: String,
    /// Where the paper makes it.
    pub source: String,
    /// How the numbers were compared.
    pub kind: ClaimKind,
    /// The paper's number: 0 for `zero`, 1 (true) for `order`.
    pub paper: ClaimValue,
    /// For an `order`: what the paper compares, the smallest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<String>,
    /// What was computed.
    pub measure: String,
    /// What came out: keys `measured` and `outcome`, or `error`.
    #[serde(flatten)]
    pub result: ClaimResult,
    /// What was found about why the claim does not hold, at the paper's scale.
    pub why: Option<String>,
}

/// What came out of a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ClaimResult {
    /// The measure was evaluated.
    Evaluated {
        /// The number measured.
        measured: ClaimValue,
        /// How it compares.
        outcome: Outcome,
    },
    /// The measure could not be evaluated, for example because flows did not finish.
    Failed {
        /// Why.
        error: String,
    },
}

/// How a measurement compares with the paper, by the fixed rule of the report crate.
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
            ClaimKind::Value => "value",
            ClaimKind::Range => "range",
            ClaimKind::Zero => "zero",
            ClaimKind::Order => "order",
        })
    }
}
