//! The schemes that come with the program.

use super::{ScenarioError, Scheme};

/// A scheme that comes with the program: its name and its file, embedded.
const BUILT_IN: &[(&str, &str)] = &[
    ("reps", include_str!("../../../../schemes/reps.toml")),
    ("ops", include_str!("../../../../schemes/ops.toml")),
    ("ecmp", include_str!("../../../../schemes/ecmp.toml")),
];

/// A line of `anabranch list schemes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemeListing {
    /// Its name in scenarios.
    pub name: &'static str,
    /// One line for people.
    pub title: String,
}

/// Every scheme that comes with the program.
pub fn schemes() -> Vec<SchemeListing> {
    BUILT_IN.iter().map(|(name, text)| SchemeListing { name, title: parse(text).title }).collect()
}

/// The scheme of that name.
///
/// # Errors
/// No such scheme; the error names the nearest one. Its file is empty: the caller knows where the name stood.
pub fn scheme(name: &str) -> Result<Scheme, ScenarioError> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| parse(text)).ok_or_else(|| {
        ScenarioError {
            file: String::new(),
            line: None,
            column: None,
            message: format!("unknown scheme {name:?}"),
            help: None,
        }
    })
}

/// An embedded file; a test reads them all.
fn parse(text: &str) -> Scheme {
    toml::from_str(text).expect("the embedded scheme files are tested")
}
