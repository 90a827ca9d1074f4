//! A run that has ended.

use anabranch_results::FiledCurves;
use anabranch_sim::RunResult;

/// What a run came to.
#[derive(Debug)]
pub struct Ran {
    /// Without curves when they are filed.
    pub result: RunResult,
    /// Its curves, when they are many.
    pub filed: Option<FiledCurves>,
}
