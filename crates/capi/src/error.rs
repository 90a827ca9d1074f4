/// An error of a call. Its text contains a hint for the correction where one is known.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum OnlineError {
    /// The scenario is wrong, or the run failed.
    #[error("{0}")]
    Scenario(String),
    /// The call is not possible, for example because of a wrong argument.
    #[error("{0}")]
    Call(String),
}
