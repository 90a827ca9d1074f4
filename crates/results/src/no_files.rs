//! A replacement for curves in files, for builds without the feature `files`.

use crate::{CurvePoints, ResultsError};

/// The curves of one run of a result set in a file. Without the feature `files` there are no such curves.
#[derive(Clone, Debug, PartialEq)]
pub enum FiledCurves {}

impl FiledCurves {
    /// The index of the run in its result set.
    pub fn run(&self) -> u32 {
        match *self {}
    }

    /// The series and the entity of each curve.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        std::iter::empty()
    }

    /// The points of all curves of a series.
    ///
    /// # Errors
    /// None.
    pub fn points(&self, _: &str) -> Result<Vec<CurvePoints>, ResultsError> {
        match *self {}
    }
}
