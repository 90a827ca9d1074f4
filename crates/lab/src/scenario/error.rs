//! What is wrong in a scenario, where, and what to write instead.

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
