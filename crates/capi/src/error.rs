//! What goes wrong.

/// What cannot be done, and what to write instead.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum OnlineError {
    /// The scenario is at fault, or the run failed.
    #[error("{0}")]
    Scenario(String),
    /// A call is.
    #[error("{0}")]
    Call(String),
}
