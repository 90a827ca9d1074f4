//! A scenario with its runs and their results, for programs that control the execution of runs themselves.

use crate::{Control, RunError, RunResult, add, add_baseline, baseline};
use anabranch_engine::RunPoint;
use anabranch_lab::scenario::{Diagnostic, Scenario};
use anabranch_results::{MissingRun, ResultSet, RunFailure, ScenarioFacts};
use std::collections::BTreeMap;

/// A scenario whose fabrics can be built, with the results of the runs that have ended.
pub struct Session {
    title: String,
    toml: String,
    facts: ScenarioFacts,
    files: BTreeMap<String, String>,
    warnings: Vec<Diagnostic>,
    points: Vec<RunPoint>,
    actual: usize,
    ends: Vec<Option<End>>,
}

/// The end of a run: its results, or the cause of its failure with partial results if there are any.
type End = Result<RunResult, (RunFailure, Option<Box<RunResult>>)>;

impl Session {
    /// A session of a scenario, with a baseline for each run that has faults.
    ///
    /// # Errors
    /// The scenario cannot be run, for example because a fabric or a workload cannot be built.
    pub fn of(scenario: Scenario) -> Result<Session, Diagnostic> {
        let examined = scenario.examine()?;
        let toml = scenario.to_annotated_toml(&examined.facts);
        let facts = scenario.facts(&examined.facts);
        let mut points = scenario.points()?;
        let actual = points.len();
        points.extend(baseline::points(&points));
        let ends = points.iter().map(|_| None).collect();
        let Scenario { title, files, .. } = scenario;
        Ok(Session { title, toml, facts, files, warnings: examined.warnings, points, actual, ends })
    }

    /// Replaces the warnings.
    pub fn set_warnings(&mut self, warnings: Vec<Diagnostic>) {
        self.warnings = warnings;
    }

    /// Adds a warning.
    pub fn warn(&mut self, warning: Diagnostic) {
        self.warnings.push(warning);
    }

    /// Warnings about the scenario.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// The runs, followed by their baselines.
    pub fn points(&self) -> &[RunPoint] {
        &self.points
    }

    /// The number of [`Session::points`] that are not baselines.
    pub fn actual(&self) -> usize {
        self.actual
    }

    /// The resolved scenario, with all defaults written out.
    pub fn resolved(&self) -> &str {
        &self.toml
    }

    /// The files to which [`Session::resolved`] refers, by name.
    pub fn files(&self) -> &BTreeMap<String, String> {
        &self.files
    }

    /// The control for the run at `index`. Goodput is recorded if the run has faults or is a baseline.
    pub fn control(&self, index: usize) -> Control {
        let has_baselines = self.actual < self.points.len();
        let is_compared = index >= self.actual || !self.points[index].faults.is_empty();
        Control { goodput: has_baselines && is_compared, ..Control::default() }
    }

    /// Records the end of the run at `index`.
    pub fn ended(&mut self, index: usize, end: Result<RunResult, RunError>) {
        self.ends[index] = Some(end.map_err(RunError::into_failure));
    }

    /// The index of the first run that has not ended, for programs that execute runs one after the other.
    pub fn next(&self) -> Option<usize> {
        self.ends.iter().position(Option::is_none)
    }

    /// Sets the wall-clock time of the run with the highest index among the runs that have ended. A run without
    /// results has no wall-clock time.
    pub fn set_wall_time(&mut self, seconds: f64) {
        match self.ends.iter_mut().rev().flatten().next() {
            Some(Ok(result)) => result.run.wall_s = seconds,
            Some(Err((_, Some(partial)))) => partial.run.wall_s = seconds,
            Some(Err((_, None))) | None => {}
        }
    }

    /// A description of the run at `index`.
    pub fn name(&self, index: usize) -> String {
        self.missing(index, None).describe()
    }

    /// The digests of the runs that have ended, in the order of the runs. The digest of a run without results is
    /// empty.
    pub fn digests(&self) -> Vec<String> {
        let digest = |end: &End| match end {
            Ok(result) => result.run.digest.clone(),
            Err((_, Some(partial))) => partial.run.digest.clone(),
            Err((_, None)) => String::new(),
        };
        self.ends.iter().flatten().map(digest).collect()
    }

    /// The results of the run at `index` alone. If the run failed or has not ended, it is among the missing runs.
    pub fn result(&self, index: usize) -> ResultSet {
        let mut set = self.empty();
        self.add_run(&mut set, index, self.ends[index].as_ref(), None);
        set
    }

    /// The results of the run at `index`, which has just ended with `end`. The session does not record this end.
    pub fn result_of(&self, index: usize, end: Result<RunResult, RunError>) -> ResultSet {
        let mut set = self.empty();
        self.add_run(&mut set, index, Some(&end.map_err(RunError::into_failure)), None);
        set
    }

    /// The results of all runs that have ended. Runs that failed or have not ended yet are among the missing runs.
    pub fn results(&self) -> ResultSet {
        let mut set = self.empty();
        let curves: Vec<_> =
            self.ends.iter().map(|end| baseline::goodput(&end.as_ref()?.as_ref().ok()?.series)).collect();
        let recoveries = match self.ends.iter().all(Option::is_some) {
            true => baseline::recoveries(&self.points, self.actual, &curves),
            false => vec![None; self.points.len()],
        };
        for (index, recovery) in recoveries.into_iter().enumerate() {
            self.add_run(&mut set, index, self.ends[index].as_ref(), recovery);
        }
        set
    }

    fn empty(&self) -> ResultSet {
        ResultSet {
            title: self.title.clone(),
            scenario_toml: self.toml.clone(),
            facts: self.facts.clone(),
            warnings: self.warnings.iter().map(Diagnostic::in_a_line).collect(),
            ..ResultSet::default()
        }
    }

    fn add_run(&self, set: &mut ResultSet, index: usize, end: Option<&End>, recovery: Option<f64>) {
        let (result, failure) = match end {
            Some(Ok(result)) => (Some(result), None),
            Some(Err((cause, partial))) => (partial.as_deref(), Some(Some(cause.clone()))),
            None => (None, Some(None)),
        };
        set.missing.extend(failure.map(|cause| self.missing(index, cause)));
        if let Some(result) = result {
            let mut result = result.clone();
            result.run.time_to_recover_us = recovery;
            if index < self.actual {
                add(set, result)
            } else {
                add_baseline(set, result)
            };
        }
    }

    fn missing(&self, index: usize, cause: Option<RunFailure>) -> MissingRun {
        let point = &self.points[index];
        MissingRun {
            scheme: point.scheme.name.clone(),
            seed: point.seed,
            sweep: point.sweep.clone(),
            baseline: index >= self.actual,
            cause,
        }
    }
}
