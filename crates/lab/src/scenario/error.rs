//! What is wrong in a scenario, where, and what to write instead.

use anabranch_workload::WorkloadError;
use std::fmt;

/// A fault in a scenario, in a figure file or on the command line, for people.
///
/// Prints as `perm.toml:7:1: unknown key "lnk" in [topology]`, and below it what to write instead. So does its debug form,
/// which is what people see of a `main` that returns errors.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub struct ScenarioError {
    /// The file, as the user named it.
    pub file: String,
    /// Line in the file, from 1; none when the fault has no place in it (a missing key's table, a flag).
    pub line: Option<usize>,
    /// Column in characters, from 1.
    pub column: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

impl ScenarioError {
    /// A fault in a file that the scenario names, at its `line`. What `problem` says to write, behind `; write `, is in the
    /// format of that file: no key of the scenario takes it.
    pub(super) fn in_file(file: String, line: Option<usize>, problem: &str) -> ScenarioError {
        let (message, help) = match problem.rsplit_once("; write ") {
            Some((message, instead)) => (message, Some(instead.to_owned())),
            None => (problem, None),
        };
        ScenarioError { file, line, column: None, message: message.to_owned(), help }
    }

    /// A fault in a workload's file.
    ///
    /// # Errors
    /// The error itself, where it is about no file.
    pub(super) fn in_workload_file(error: WorkloadError) -> Result<ScenarioError, WorkloadError> {
        match error {
            WorkloadError::Line { file, line, what } => {
                Ok(ScenarioError::in_file(file, Some(line as usize), &what))
            }
            WorkloadError::File { file, what } => Ok(ScenarioError::in_file(file, None, &what)),
            other => Err(other),
        }
    }

    /// What is wrong and what to write instead in one line, without the place: for those who have only the results.
    pub fn in_a_line(&self) -> String {
        match &self.help {
            Some(help) => format!("{}; write: {help}", self.message),
            None => self.message.clone(),
        }
    }
}

impl fmt::Debug for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        for place in [self.line, self.column].into_iter().flatten() {
            write!(f, ":{place}")?;
        }
        write!(f, ": {}", self.message)?;
        match &self.help {
            Some(help) => write!(f, "\n  write: {help}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_write_in_a_file_is_no_key_of_the_scenario() {
        for instead in ["3", "100Gbps", "1000us", "0 2 100Gbps 1us 0", "\"x\"", "[1, 2]"] {
            let error =
                ScenarioError::in_file("t.txt".into(), Some(3), &format!("it is wrong; write {instead}"));
            assert_eq!(error.to_string(), format!("t.txt:3: it is wrong\n  write: {instead}"));
        }
        let whole = ScenarioError::in_file("t.txt".into(), None, "it is empty");
        assert_eq!(whole.to_string(), "t.txt: it is empty");
    }

    #[test]
    fn a_main_that_returns_it_shows_what_is_wrong_and_what_to_write() {
        let error = ScenarioError {
            file: "s.toml".into(),
            line: Some(7),
            column: Some(1),
            message: "unknown key \"lnk\"".into(),
            help: Some("link = \"400Gbps\"".into()),
        };
        let shown: Box<dyn std::error::Error> = error.clone().into();
        assert_eq!(format!("{shown:?}"), error.to_string());
        assert_eq!(format!("{error:?}"), "s.toml:7:1: unknown key \"lnk\"\n  write: link = \"400Gbps\"");
    }
}
