//! A run that has ended.

use anabranch_results::{FiledCurves, GOODPUT};
use anabranch_sim::RunResult;
use anabranch_sim::baseline::{self, Curve};

/// The outcome of a run.
#[derive(Debug)]
pub struct RunOutcome {
    /// The result, without curves when they are filed.
    pub result: RunResult,
    /// The file of its curves, when they are many.
    pub filed: Option<FiledCurves>,
}

impl RunOutcome {
    /// Its goodput curve; none where it was not recorded or cannot be read.
    pub fn goodput(&self) -> Option<Curve> {
        match &self.filed {
            Some(filed) => filed.points(GOODPUT).ok()?.into_iter().next().map(|curve| curve.points),
            None => baseline::goodput(&self.result.series),
        }
    }
}
