//! The results of a scenario as a whole.

use crate::{Figure, FiledCurves, FlowRow, JobRow, RunRow, SeriesRow};

/// Everything that one `anabranch run` or one figure produced.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultSet {
    /// The scenario's title.
    pub title: String,
    /// The resolved scenario, as TOML.
    pub scenario_toml: String,
    /// One row a run (scheme x sweep point x seed), in that order.
    pub runs: Vec<RunRow>,
    /// One row a message of each run. A run may leave its messages out (collectives have millions of them): then
    /// [`RunRow::flows`] says how many there were, and there is no row.
    pub flows: Vec<FlowRow>,
    /// One row a job of each run of a collective workload.
    pub jobs: Vec<JobRow>,
    /// Measured curves, those that are held here.
    pub series: Vec<SeriesRow>,
    /// Measured curves that are in files, by run, each run at most once and none that has rows in `series`.
    pub filed: Vec<FiledCurves>,
    /// The figure of a paper that this reproduces, with its claims; none for an ordinary run.
    pub figure: Option<Figure>,
}
