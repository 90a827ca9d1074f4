//! Parameters that do not make sense together.

use anabranch_base::Fix;

/// A conflict between parameters, each of which is within its own range.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// The path of the parameter to change, such as `lb.min_paths`.
    pub parameter: String,
    /// The conflict between the parameters, in words.
    pub message: String,
    /// A value with which the parameter causes no conflict, or instructions.
    pub fix: Fix,
    /// Other parameters that are part of the conflict.
    pub others: Vec<String>,
}

impl Conflict {
    /// `value` is a value with which the parameter causes no conflict, as TOML.
    pub(crate) fn value(parameter: String, message: String, value: impl ToString) -> Conflict {
        Conflict { parameter, message, fix: Fix::value(value.to_string()), others: Vec::new() }
    }

    pub(crate) fn involving(mut self, other: impl Into<String>) -> Conflict {
        self.others.push(other.into());
        self
    }

    pub(crate) fn text(parameter: String, message: String, fix: &str) -> Conflict {
        Conflict { parameter, message, fix: Fix::text(fix), others: Vec::new() }
    }
}
