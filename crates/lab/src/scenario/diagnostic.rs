//! Diagnostics of imported files.

use anabranch_base::Diagnostic;
use anabranch_base::Problem;
use anabranch_workload::WorkloadError;

/// A fault in a file that the scenario names, from the sentence of its reader.
pub(in crate::scenario) fn in_file(file: String, line: Option<usize>, problem: &str) -> Diagnostic {
    Diagnostic::in_file(file, line, Problem::from_sentence(problem))
}

/// A fault in a workload's file.
///
/// # Errors
/// The error itself, where it is about no file.
pub(in crate::scenario) fn in_workload_file(error: WorkloadError) -> Result<Diagnostic, WorkloadError> {
    match error {
        WorkloadError::Line { file, line, what } => Ok(in_file(file, Some(line as usize), &what)),
        WorkloadError::File { file, what } => Ok(in_file(file, None, &what)),
        other => Err(other),
    }
}
