//! The outcome of a run that has ended.

use anabranch_results::{FiledCurves, GOODPUT};
use anabranch_sim::RunResult;
use anabranch_sim::baseline::{self, Curve};

#[derive(Debug)]
pub struct RunOutcome {
    /// The result. It has no curves if they are in a file.
    pub result: RunResult,
    /// The file of the curves. It is `None` if the curves are in memory, or if the run has no curves.
    pub filed: Option<FiledCurves>,
}

impl RunOutcome {
    /// The goodput curve, or `None` if it was not recorded or cannot be read.
    pub fn goodput(&self) -> Option<Curve> {
        match &self.filed {
            Some(filed) => filed.points(GOODPUT).ok()?.into_iter().next().map(|curve| curve.points),
            None => baseline::goodput(&self.result.series),
        }
    }
}
