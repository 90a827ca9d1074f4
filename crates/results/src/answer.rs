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

/// The two sides of a question's comparison, in the runs that it looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// The side that is measured, such as `fct_max(scheme)`.
    pub left: String,
    /// The side that it is held against, such as `1.05 * at_largest(fct_max(scheme))`.
    pub right: String,
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
    /// The value, as it would be written, without quotes.
    pub value: String,
    /// Both sides, the measured one first; none of a run in which something did not finish.
    pub sides: Option<[f64; 2]>,
}
