//! Errors of a switch program that does not work on a fabric.

use super::path_map::PathMapError;
use anabranch_fabric::SelectorError;

/// The default of the scheme parameter `fabric.program_at`, which selects the switches with the program.
pub(super) const EVERY_TOR: &str = "tor:100%";

/// The reason why a switch program does not work on a fabric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// The selector of the switches cannot be read, or matches no switch.
    #[error(transparent)]
    At(#[from] SelectorError),
    /// The fabric has more paths than the program's tables have entries.
    #[error("there are {paths} paths between two ToRs, and the program's tables have {table} entries")]
    Paths {
        /// The number of paths of the fabric.
        paths: u32,
        /// The configured number of entries.
        table: u32,
    },
    /// The ToR cannot select every path: its choice of a port does not determine the path, and changes of the entropy
    /// value do not reach every path. The inner error has the reason.
    #[error("{0}")]
    PathMap(#[from] PathMapError),
}

impl ProgramError {
    /// The problem as a text, without the fix that the selector's own error includes.
    pub fn problem(&self) -> String {
        match self {
            ProgramError::At(error) => format!("{:?}: {}", error.selector, error.problem.message),
            other => other.to_string(),
        }
    }

    /// The path of the wrong parameter of the scheme, and a value that removes this error, if one is known.
    pub fn remedy(&self) -> (&'static str, Option<String>) {
        match self {
            ProgramError::At(_) => ("fabric.program_at", Some(format!("{EVERY_TOR:?}"))),
            ProgramError::Paths { paths, .. } => ("fabric.program.paths", Some(paths.to_string())),
            ProgramError::PathMap(PathMapError::NotLinear(_)) => {
                ("fabric.routing", Some("\"ecmp-linear\"".to_owned()))
            }
            ProgramError::PathMap(_) => ("fabric.program", None),
        }
    }
}
