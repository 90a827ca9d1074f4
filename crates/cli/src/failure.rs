//! Failures of a command: the message and the exit code.

use anabranch_base::{Diagnostic, nearest};
use std::io;
use std::path::Path;
use std::process::ExitCode;

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The user's input, files or folders are wrong: exit code 2.
    #[error("{0}")]
    Input(String),
    /// A scenario or another input file is wrong at a known place: exit code 2.
    #[error("{0}")]
    Diagnosed(Box<Diagnostic>),
    /// A run or another operation failed: exit code 1.
    #[error("{0}")]
    Run(String),
    /// Ctrl-C ended the command: exit code 130.
    #[error("{0}")]
    Interrupted(String),
    /// The reader of standard output is gone, as in `anabranch list schemes | head -1`: no message, exit code 0.
    #[error("standard output was closed")]
    NobodyReads,
}

impl Failure {
    pub fn code(&self) -> ExitCode {
        match self {
            Failure::Input(_) | Failure::Diagnosed(_) => ExitCode::from(2),
            Failure::Run(_) => ExitCode::from(1),
            Failure::Interrupted(_) => ExitCode::from(130),
            Failure::NobodyReads => ExitCode::SUCCESS,
        }
    }
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Failure {
        Failure::Diagnosed(Box::new(diagnostic))
    }
}

/// The failure to write to the path of `--out`. `instead` completes the hint, for example `file that can be written
/// with --out FILE`.
pub fn unwritable(path: &Path, error: &io::Error, instead: &str) -> Failure {
    Failure::Input(format!(
        "{}: cannot be written: {}\n  help: name a {instead}",
        path.display(),
        reason(error)
    ))
}

/// The end of the hint of [`unwritable`] for a command that writes a single file.
pub const ANOTHER_FILE: &str = "file that can be written with --out FILE";

/// The cause of an error in plain words, or the operating system's message for a rare cause.
pub fn reason(error: &io::Error) -> String {
    use io::ErrorKind as Kind;
    let plain = match error.kind() {
        Kind::NotFound => "no such file or folder",
        Kind::PermissionDenied => "permission denied",
        Kind::IsADirectory => "it is a folder, not a file",
        // A folder cannot be created because its name is taken.
        Kind::AlreadyExists => "it is a file, not a folder",
        Kind::NotADirectory => "a part of this path is a file, not a folder",
        Kind::StorageFull => "the disk is full",
        Kind::ReadOnlyFilesystem => "the file system is read-only",
        Kind::InvalidData => "it is not UTF-8 text",
        _ => return error.to_string(),
    };
    plain.to_owned()
}

/// The hint `; did you mean "reps"?`, or an empty text if no known name is similar.
pub fn did_you_mean<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    nearest(written, &known).map_or_else(String::new, |name| format!("; did you mean {name:?}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let known = ["reps", "ops", "ecmp"];
        assert_eq!(did_you_mean("resp", known), "; did you mean \"reps\"?");
        assert_eq!(did_you_mean("ECMP", known), "; did you mean \"ecmp\"?");
        assert_eq!(did_you_mean("conweave", known), "");
    }
}
