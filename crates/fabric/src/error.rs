//! Errors of topologies.

use anabranch_base::{Problem, Refused};

/// An error in a topology that cannot be built or read. Its text names the place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// A problem in a topology file.
    #[error("{file}:{line}: {problem}")]
    File {
        /// The file's name, as the scenario gives it.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The problem, with the fix if it is known.
        problem: Problem,
    },
    /// A number of a scenario's topology that is out of range or contradicts others, or another wrong parameter.
    #[error("{key}: {problem}")]
    Shape {
        /// The key in the scenario, such as `topology.tier[1].radix_down`.
        key: String,
        /// The problem, with values that fit if they are known.
        problem: Problem,
    },
    /// A topology from a file, built without the file's text.
    #[error("the topology is in {file}, whose text was not given")]
    NoText {
        /// The file's name, as the scenario gives it.
        file: String,
    },
}

impl From<Refused> for TopologyError {
    fn from(Refused { parameter, problem }: Refused) -> Self {
        TopologyError::shape(&parameter, problem)
    }
}

impl TopologyError {
    pub(super) fn shape(key: &str, problem: impl Into<Problem>) -> TopologyError {
        TopologyError::Shape { key: format!("topology.{key}"), problem: problem.into() }
    }

    pub(super) fn file(file: &str, line: usize, problem: impl Into<Problem>) -> TopologyError {
        TopologyError::File { file: file.to_owned(), line, problem: problem.into() }
    }
}
