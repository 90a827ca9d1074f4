//! What can be wrong with a workload.

use anabranch_base::{MessageId, Refused};

/// A workload that cannot be built. Its text says where, what was expected and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// A line of a workload file is wrong.
    #[error("{file}:{line}: {what}")]
    Line {
        /// The file's name, as the scenario gives it.
        file: String,
        /// The line, from 1.
        line: u32,
        /// What is wrong and what to write.
        what: String,
    },
    /// A workload file as a whole is wrong.
    #[error("{file}: {what}")]
    File {
        /// The file's name, as the scenario gives it.
        file: String,
        /// What is wrong and what to write.
        what: String,
    },
    /// A key of the scenario's `[workload]` table is wrong.
    #[error("workload.{key}: {what}")]
    Key {
        /// The key within `[workload]`.
        key: &'static str,
        /// What is wrong and what to write.
        what: String,
    },
    /// A parameter of a registered workload is wrong.
    #[error(transparent)]
    Parameter(#[from] Refused),
    /// A workload made by calls contradicts itself.
    #[error("inconsistent workload: {0}")]
    Inconsistent(String),
    /// Messages whose gates can never open for them.
    #[error(
        "{} can never start: the gates that start them wait for messages that never end (a cycle), or for more \
         activations than there are",
        list(.messages)
    )]
    NeverStart {
        /// All of them, in order.
        messages: Vec<MessageId>,
    },
}

impl WorkloadError {
    pub(super) fn key(key: &'static str, what: impl Into<String>) -> Self {
        WorkloadError::Key { key, what: what.into() }
    }

    pub(super) fn line(file: &str, line: u32, what: impl Into<String>) -> Self {
        WorkloadError::Line { file: file.to_owned(), line, what: what.into() }
    }

    pub(super) fn file(file: &str, what: impl Into<String>) -> Self {
        WorkloadError::File { file: file.to_owned(), what: what.into() }
    }
}

/// Names the first few messages and counts the rest.
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
