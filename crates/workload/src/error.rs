//! Errors of workloads.

use anabranch_base::{MessageId, Problem, Refused};

/// An error in a workload that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// A malformed line of a workload file.
    #[error("{file}:{line}: {what}")]
    Line {
        /// The file's name, as the scenario gives it.
        file: String,
        /// The number of the line, from 1.
        line: u32,
        /// The problem and the fix.
        what: Problem,
    },
    /// A problem of a workload file as a whole.
    #[error("{file}: {what}")]
    File {
        /// The file's name, as the scenario gives it.
        file: String,
        /// The problem and the fix.
        what: Problem,
    },
    /// A problem of a key in the scenario's `[workload]` table.
    #[error("workload.{key}: {what}")]
    Key {
        /// The key within `[workload]`.
        key: &'static str,
        /// The problem and the fix.
        what: Problem,
    },
    /// A problem of a key of one job among several. A problem of the job's file as a whole has the key `file`.
    #[error("workload.job.{job}.{key}: {what}")]
    Job {
        /// The number of the job, from 0.
        job: u32,
        /// The key within `[[workload.job]]`.
        key: &'static str,
        /// The problem and the fix.
        what: Problem,
    },
    /// A problem of a registered workload or of its parameters.
    #[error(transparent)]
    Parameter(#[from] Refused),
    /// A contradiction in a workload, or a limit that it exceeds.
    #[error("inconsistent workload: {0}")]
    Inconsistent(String),
    /// Messages that can never start, because their gates wait for each other in a cycle or for more activations than
    /// there are.
    #[error(
        "{} can never start: the gates that start them wait for messages that never end (a cycle), or for more \
         activations than there are",
        list(.messages)
    )]
    NeverStart {
        /// All messages that never start, in order.
        messages: Vec<MessageId>,
    },
}

impl WorkloadError {
    pub(super) fn key(key: &'static str, what: impl Into<Problem>) -> Self {
        WorkloadError::Key { key, what: what.into() }
    }

    /// Turns an error about a key or about a whole file into an error of a job among several. Other errors are
    /// unchanged.
    pub(super) fn in_job(self, job: u32) -> Self {
        match self {
            WorkloadError::Key { key, what } => WorkloadError::Job { job, key, what },
            WorkloadError::File { file, what } => {
                WorkloadError::Job { job, key: "file", what: what.prefixed(format_args!("{file}: ")) }
            }
            other => other,
        }
    }

    pub(super) fn line(file: &str, line: u32, what: impl Into<Problem>) -> Self {
        WorkloadError::Line { file: file.to_owned(), line, what: what.into() }
    }

    pub(super) fn file(file: &str, what: impl Into<Problem>) -> Self {
        WorkloadError::File { file: file.to_owned(), what: what.into() }
    }
}

fn list(messages: &[MessageId]) -> String {
    const NAMED: usize = 8;
    let named: Vec<String> = messages.iter().take(NAMED).map(MessageId::to_string).collect();
    let more = match messages.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let noun = if messages.len() == 1 { "message" } else { "messages" };
    format!("{noun} {}{more}", named.join(", "))
}
