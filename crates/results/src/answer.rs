//! The answer to a question about a parameter.

use serde::{Deserialize, Serialize};

/// What `anabranch find` was asked and found, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The question, in a line.
    pub question: String,
    /// A row of heads, then a row per scheme.
    pub table: Vec<Vec<String>>,
    /// What a reader has to know beside the table, a sentence each.
    pub notes: Vec<String>,
}
