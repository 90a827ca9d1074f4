//! A run that has ended.

use anabranch_results::{FiledCurves, GOODPUT};
use anabranch_sim::RunResult;
use anabranch_sim::baseline::{self, Curve};

/// What a run came to.
#[derive(Debug)]
pub struct Ran {
    /// Without curves when they are filed.
    pub result: RunResult,
    /// Its curves, when they are many.
    pub filed: Option<FiledCurves>,
}

impl Ran {
    /// Its goodput; none where it was not recorded or cannot be read.
    pub fn goodput(&self) -> Option<Curve> {
        match &self.filed {
            Some(filed) => filed.points(GOODPUT).ok()?.into_iter().next().map(|curve| curve.points),
            None => baseline::goodput(&self.result.series),
        }
    }
}
