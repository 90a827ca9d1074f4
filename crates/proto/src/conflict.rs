//! Parameters that do not make sense together.

use anabranch_base::Fix;

/// Parameters each of which is in its range, but which do not make sense together.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// The parameter to change, by its path: `lb.min_paths`.
    pub parameter: String,
    /// The conflict.
    pub message: String,
    /// A value of the parameter that resolves it, or instructions.
    pub fix: Fix,
}

impl Conflict {
    /// A conflict that another value of the parameter, as TOML, resolves.
    pub(crate) fn value(parameter: String, message: String, value: impl ToString) -> Conflict {
        Conflict { parameter, message, fix: Fix::value(value.to_string()) }
    }

    /// A conflict that takes more than another value.
    pub(crate) fn text(parameter: String, message: String, fix: &str) -> Conflict {
        Conflict { parameter, message, fix: Fix::text(fix) }
    }
}
