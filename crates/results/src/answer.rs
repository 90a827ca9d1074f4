//! The answer of a search for the value of a parameter.

use serde::{Deserialize, Serialize};

/// The answer of `anabranch find`, for people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchAnswer {
    /// The search, in a line.
    pub question: String,
    /// A row of heads, then a row per scheme.
    pub table: Vec<Vec<String>>,
    /// Sentences that a reader needs beside the table.
    pub notes: Vec<String>,
    /// The measured quantity of each run; none where neither side of the condition is a number of a single run.
    #[serde(default)]
    pub measured: Option<SearchMeasure>,
}

/// The two sides of the condition in each run that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchMeasure {
    /// The measured side of the comparison, such as `fct_max(scheme)`.
    pub measured: String,
    /// The side that it is compared with, such as `1.05 * at_largest(fct_max(scheme))`.
    pub bound: String,
    /// All values that were tried, in their order, as a scenario would have them, without quotes.
    pub values: Vec<String>,
    /// A row per run, by scheme, seed and value.
    pub tried: Vec<Trial>,
}

/// The comparison in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The scheme.
    pub scheme: String,
    /// The seed.
    pub seed: u64,
    /// One of [`SearchMeasure::values`].
    pub value: String,
    /// The measured side; none where messages or jobs did not finish, or there is no such number.
    pub measured: Option<f64>,
    /// The other side; none where a run at one of the ends, on which it depends, did not finish.
    pub bound: Option<f64>,
}
