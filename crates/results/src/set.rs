//! The results of a scenario as a whole.

use crate::{Figure, FiledCurves, FlowRow, JobRow, RunRow, SeriesRow, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything that one `anabranch run` or one figure produced.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultSet {
    /// The scenario's title.
    pub title: String,
    /// The resolved scenario, as TOML.
    pub scenario_toml: String,
    /// One row a run (scheme x sweep point x seed), in that order; then the baselines.
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
    /// The runs that were asked for and failed or never ran; none when the results are whole.
    pub missing: Vec<MissingRun>,
    /// The figure of a paper that this reproduces, with its claims; none for an ordinary run.
    pub figure: Option<Figure>,
}

impl ResultSet {
    /// The runs of the scenario as it is.
    pub fn actual(&self) -> &[RunRow] {
        &self.runs[..self.first_baseline()]
    }

    /// The runs without its faults.
    pub fn baselines(&self) -> &[RunRow] {
        &self.runs[self.first_baseline()..]
    }

    /// Takes them out, with their curves.
    pub fn leave_out_baselines(&mut self) {
        let first = self.first_baseline();
        self.runs.truncate(first);
        self.series.retain(|row| (row.run as usize) < first);
        self.filed.retain(|curves| (curves.run as usize) < first);
    }

    fn first_baseline(&self) -> usize {
        self.runs.iter().position(|run| run.baseline).unwrap_or(self.runs.len())
    }
}

/// A run that was asked for and has no whole result. One that stalled or hit a limit also has its row in
/// [`ResultSet::runs`], with what it came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MissingRun {
    /// Its scheme.
    pub scheme: String,
    /// Its seed.
    pub seed: u64,
    /// Its point of the sweep.
    pub sweep: BTreeMap<String, Value>,
    /// It is one without the scenario's faults ([`RunRow::baseline`]).
    pub baseline: bool,
    /// Why it failed; none when it never ran to an end, as the program was interrupted.
    pub error: Option<String>,
}

impl MissingRun {
    /// Its name for people: `reps, seed 1, topology.oversubscription = 4`.
    pub fn describe(&self) -> String {
        let mut text = format!("{}, seed {}", self.scheme, self.seed);
        for (name, value) in &self.sweep {
            text.push_str(&format!(", {name} = {value}"));
        }
        if self.baseline {
            text.push_str(", without faults");
        }
        text
    }
}
