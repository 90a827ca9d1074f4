//! Errors in imported files, and errors in the parameters of schemes.

use anabranch_base::{Diagnostic, Fix};
use anabranch_proto::Conflict;
use anabranch_workload::WorkloadError;

/// The diagnostic for an error in a workload's file.
///
/// # Errors
/// The error itself, if it is not about a file.
pub(in crate::scenario) fn in_workload_file(error: WorkloadError) -> Result<Diagnostic, WorkloadError> {
    match error {
        WorkloadError::Line { file, line, what } => Ok(Diagnostic::in_file(file, Some(line as usize), what)),
        WorkloadError::File { file, what } => Ok(Diagnostic::in_file(file, None, what)),
        other => Err(other),
    }
}

#[derive(Debug, PartialEq)]
pub(in crate::scenario) struct ParameterFault {
    /// The path of the parameter, such as `lb.buffer`.
    pub path: String,
    pub message: String,
    pub instead: ParameterFix,
    /// Other parameters that take part in the error.
    pub others: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(in crate::scenario) enum ParameterFix {
    /// Another value of the parameter, as TOML.
    Value(String),
    /// Another parameter with the same value.
    Parameter(String),
    /// Another parameter, without the value, which may not suit that parameter.
    Name(String),
    /// Another parameter with this value, as TOML.
    Setting(String, String),
    Words(String),
}

impl From<Conflict> for ParameterFault {
    fn from(Conflict { parameter, message, fix, others }: Conflict) -> ParameterFault {
        let instead = match fix {
            Fix::Value { value } => ParameterFix::Value(value),
            fix => ParameterFix::Words(fix.to_string()),
        };
        ParameterFault { others, ..ParameterFault::new(&parameter, message, instead) }
    }
}

impl ParameterFault {
    pub(in crate::scenario) fn new(path: &str, message: String, instead: ParameterFix) -> ParameterFault {
        ParameterFault { path: path.to_owned(), message, instead, others: Vec::new() }
    }

    pub(in crate::scenario) fn value(
        path: &str,
        message: String,
        instead: impl Into<String>,
    ) -> ParameterFault {
        ParameterFault::new(path, message, ParameterFix::Value(instead.into()))
    }

    pub(in crate::scenario) fn words(
        path: &str,
        message: String,
        instead: impl Into<String>,
    ) -> ParameterFault {
        ParameterFault::new(path, message, ParameterFix::Words(instead.into()))
    }

    pub(in crate::scenario) fn involving(mut self, others: &[&str]) -> ParameterFault {
        self.others.extend(others.iter().map(|&path| path.to_owned()));
        self
    }

    /// Whether a setting of the parameter or table at `path` takes part in the error.
    pub(in crate::scenario) fn involves(&self, path: &str) -> bool {
        let is_within = |other: &str| {
            other.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        is_within(&self.path) || self.others.iter().any(|other| is_within(other))
    }
}
