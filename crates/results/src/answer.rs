//! The answer to a question about a parameter.

use serde::{Deserialize, Serialize};

/// What `anabranch find` was asked and found, for people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// The question, in a line.
    pub question: String,
    /// A row of heads, then a row per scheme.
    pub table: Vec<Vec<String>>,
    /// What a reader has to know beside the table, a sentence each.
    pub notes: Vec<String>,
    /// What was measured of each run; none where the question compares nothing that a run has by itself.
    #[serde(default)]
    pub measured: Option<Compared>,
}

/// What a question measures of the runs that it looked at, and what it holds that against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// The side of the comparison that is measured, such as `fct_max(scheme)`.
    pub measured: String,
    /// The side that it is held against, such as `1.05 * at_largest(fct_max(scheme))`.
    pub bound: String,
    /// All values that were tried, in their order, as they would be written, without quotes.
    pub values: Vec<String>,
    /// A row per run, by scheme, seed and value.
    pub tried: Vec<Tried>,
}

/// A value that was tried with a scheme and a seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The scheme's name.
    pub scheme: String,
    /// The seed.
    pub seed: u64,
    /// One of [`Compared::values`].
    pub value: String,
    /// What was measured; none where messages or jobs did not finish, or there is no such number.
    pub measured: Option<f64>,
    /// What it is held against; none where an end that it asks of did not finish.
    pub bound: Option<f64>,
}
