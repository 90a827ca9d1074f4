//! Errors of programs on fabrics.

use super::path_map::PathMapError;
use anabranch_fabric::SelectorError;

/// The default of `program_at`.
pub(super) const EVERY_TOR: &str = "tor:100%";

/// An error of a program on a fabric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// The selector of switches matches none.
    #[error(transparent)]
    At(#[from] SelectorError),
    /// The fabric has more paths than the program's tables have entries.
    #[error("there are {paths} paths between two ToRs, and the program's tables have {table} entries")]
    Paths {
        /// Paths of the fabric.
        paths: u32,
        /// Entries as configured.
        table: u32,
    },
    /// Neither the ToR's choice of a port nor the entropy value decides the path.
    #[error("{0}")]
    PathMap(#[from] PathMapError),
}

impl ProgramError {
    /// The problem, without the fix that the selector's own error has.
    pub fn problem(&self) -> String {
        match self {
            ProgramError::At(error) => format!("{:?}: {}", error.selector, error.problem.message),
            other => other.to_string(),
        }
    }

    /// The path of the wrong parameter of the scheme, and a valid value; none where only another fabric helps.
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
