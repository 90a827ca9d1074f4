//! The answer of a search for the value of a parameter.

use serde::{Deserialize, Serialize};

/// The answer of `anabranch find`: text for people, and the numbers that were measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchAnswer {
    /// The question of the search, in a line.
    pub question: String,
    /// A row of headings, then a row for each scheme.
    pub table: Vec<Vec<String>>,
    /// Sentences that a reader needs in addition to the table.
    pub notes: Vec<String>,
    /// The measured quantity of each run. It is `None` if the condition is not a single comparison, or if neither side
    /// measures a scheme.
    #[serde(default)]
    pub measured: Option<SearchMeasure>,
}

/// The two sides of the condition, for each run of the search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchMeasure {
    /// The side of the comparison that was measured, such as `fct_max(scheme)`.
    pub measured: String,
    /// The other side of the comparison, such as `1.05 * at_largest(fct_max(scheme))`.
    pub bound: String,
    /// All values that were tried, in the order of the values. They are written as in a scenario, without quotes.
    pub values: Vec<String>,
    /// A row for each combination of scheme, seed and value that was tried. The rows are in the order of the schemes,
    /// then of the seeds, then of the values.
    pub tried: Vec<Trial>,
}

/// The two sides of the comparison in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The scheme of the run.
    pub scheme: String,
    /// The seed of the run.
    pub seed: u64,
    /// One of [`SearchMeasure::values`].
    pub value: String,
    /// The measured side. It is `None` if messages or jobs did not finish, or if the run has no such number.
    pub measured: Option<f64>,
    /// The other side. It is `None` if messages or jobs did not finish, if the side depends on a run at an end of the
    /// search range that did not finish, or if the run has no such number.
    pub bound: Option<f64>,
}
