//! Errors.

/// An error, with a hint for its correction.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum OnlineError {
    /// A wrong scenario, or a failed run.
    #[error("{0}")]
    Scenario(String),
    /// A wrong call.
    #[error("{0}")]
    Call(String),
}
