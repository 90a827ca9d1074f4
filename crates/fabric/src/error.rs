//! What can be wrong with a topology.

use anabranch_base::Refused;

/// A topology that cannot be built or read. The text says where and what would fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// A topology file is wrong.
    #[error("{file}:{line}: {problem}")]
    File {
        /// The file's name, as the scenario gives it.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong and what was expected.
        problem: String,
    },
    /// A scenario's topology does not add up.
    #[error("{key}: {problem}")]
    Shape {
        /// The key in the resolved scenario, such as `topology.tier[1].radix_down`.
        key: String,
        /// Which numbers disagree and what would fit.
        problem: String,
    },
    /// A topology that stands in a file was asked for without the file's text.
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
    /// An error about `key` of the scenario's topology.
    pub(super) fn shape(key: &str, problem: String) -> TopologyError {
        TopologyError::Shape { key: format!("topology.{key}"), problem }
    }

    /// An error at `line` of `file`.
    pub(super) fn file(file: &str, line: usize, problem: String) -> TopologyError {
        TopologyError::File { file: file.to_owned(), line, problem }
    }
}
