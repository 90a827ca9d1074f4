//! The results of a scenario as a whole.

use crate::{
    Figure, FiledCurves, FlowRow, JobRow, LiveRun, PartRow, RunFailure, RunRow, RunWarning, ScenarioFacts,
    SearchAnswer, SeriesRow, SharedWarning, Value,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The results of one `anabranch run`, one `anabranch find` or one figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultSet {
    /// The scenario's title.
    pub title: String,
    /// The resolved scenario, as TOML.
    pub scenario_toml: String,
    /// The facts about the scenario that the rows of results do not contain.
    pub facts: ScenarioFacts,
    /// One row per run (scheme x sweep point x seed), in that order. The rows of the baselines follow. A baseline has
    /// no flows, jobs and parts.
    pub runs: Vec<RunRow>,
    /// One row per message that belongs to no job, because jobs may have millions of messages. [`RunRow::flows`] counts
    /// the messages of jobs, too.
    pub flows: Vec<FlowRow>,
    /// One row per job of each run. There are no rows if the workload has no jobs.
    pub jobs: Vec<JobRow>,
    /// One row per rank of each job that has steps, for example a job with transfers over NVLink. Each job from a
    /// trace also has one row per collective.
    pub parts: Vec<PartRow>,
    /// Measured curves in memory.
    pub series: Vec<SeriesRow>,
    /// Measured curves in files, in the order of the runs. A run occurs at most once. A run that has rows in `series`
    /// does not occur.
    pub filed: Vec<FiledCurves>,
    /// The requested runs that failed or never ran. The list is empty if the results are complete.
    pub missing: Vec<MissingRun>,
    /// Warnings about the scenario as a whole, in sentences. [`RunRow::warnings`] has the warnings of a single run.
    pub warnings: Vec<String>,
    /// The figure of a paper that this result set reproduces, with its claims.
    pub figure: Option<Figure>,
    /// The search of `anabranch find` with its answer.
    pub answer: Option<SearchAnswer>,
    /// For runs on real packets, one row for each of `runs`. Empty if the runs are simulated.
    pub live: Vec<LiveRun>,
}

impl ResultSet {
    /// The runs that are not baselines.
    pub fn actual(&self) -> &[RunRow] {
        &self.runs[..self.first_baseline()]
    }

    /// The baselines ([`RunRow::baseline`]).
    pub fn baselines(&self) -> &[RunRow] {
        &self.runs[self.first_baseline()..]
    }

    /// Removes the baselines and their curves.
    pub fn leave_out_baselines(&mut self) {
        let first = self.first_baseline();
        self.runs.truncate(first);
        self.series.retain(|row| (row.run as usize) < first);
        self.filed.retain(|curves| (curves.run() as usize) < first);
    }

    /// The warnings of the scenario, followed by the warnings of its runs.
    pub fn all_warnings(&self) -> Vec<String> {
        let of_runs = self.run_warnings();
        self.warnings.iter().cloned().chain(of_runs.iter().map(SharedWarning::to_string)).collect()
    }

    /// The distinct warnings of the runs that are not baselines. Each warning has the schemes whose runs have it.
    ///
    /// If the sweep changes a fault, a warning about this fault has only the schemes whose runs all have the warning.
    pub fn run_warnings(&self) -> Vec<SharedWarning> {
        let swept_fault = |key: &String| key.strip_prefix("fault.")?.split('.').next()?.parse::<u32>().ok();
        let swept: BTreeSet<u32> =
            self.actual().iter().flat_map(|run| run.sweep.keys().filter_map(swept_fault)).collect();
        let runs_of = |scheme: &str| self.actual().iter().filter(|run| run.scheme == scheme).count();
        let mut found: Vec<SharedWarning> = Vec::new();
        for (run, warning) in self.actual().iter().flat_map(|run| run.warnings.iter().map(move |w| (run, w)))
        {
            let of_runs = runs_of(&run.scheme);
            if !found.iter_mut().any(|known| known.add(warning, &run.scheme, of_runs)) {
                let mut new = SharedWarning::new(warning);
                new.add(warning, &run.scheme, of_runs);
                found.push(new);
            }
        }
        let is_swept = |warning: &RunWarning| warning.fault().is_some_and(|fault| swept.contains(&fault));
        for shared in found.iter_mut().filter(|shared| is_swept(&shared.warning)) {
            shared.schemes.retain(|scheme| scheme.runs == scheme.of_runs);
        }
        found.retain(|shared| !shared.schemes.is_empty());
        let mut told: Vec<SharedWarning> = Vec::with_capacity(found.len());
        for shared in found {
            if !told.iter_mut().any(|known| known.add_job(&shared)) {
                told.push(shared);
            }
        }
        told
    }

    /// Every value of the resolved scenario as TOML, by its path. A list element with a name has this name in the
    /// path, in place of its number.
    pub fn scenario_keys(&self) -> BTreeMap<String, String> {
        let mut keys = BTreeMap::new();
        if let Ok(table) = toml::from_str::<toml::Table>(&self.scenario_toml) {
            flatten("", &toml::Value::Table(table), &mut keys);
        }
        keys
    }

    fn first_baseline(&self) -> usize {
        self.runs.iter().position(|run| run.baseline).unwrap_or(self.runs.len())
    }
}

fn flatten(path: &str, value: &toml::Value, keys: &mut BTreeMap<String, String>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        toml::Value::Table(table) => {
            table.iter().for_each(|(key, value)| flatten(&below(key), value, keys));
        }
        toml::Value::Array(values) if values.iter().any(toml::Value::is_table) => {
            for (number, value) in values.iter().enumerate() {
                let name = value.get("name").and_then(toml::Value::as_str);
                flatten(&below(name.unwrap_or(&number.to_string())), value, keys);
            }
        }
        other => {
            keys.insert(path.to_owned(), other.to_string());
        }
    }
}

/// A requested run without complete results. If it has partial results, it also has its row in [`ResultSet::runs`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredMissingRun", into = "StoredMissingRun")]
pub struct MissingRun {
    /// The scheme of the run.
    pub scheme: String,
    /// The seed of the run.
    pub seed: u64,
    /// The run's point of the sweep.
    pub sweep: BTreeMap<String, Value>,
    /// Whether the run is a baseline ([`RunRow::baseline`]).
    pub baseline: bool,
    /// The cause of the failure, or `None` if the run has not ended, for example because the program was interrupted.
    pub cause: Option<RunFailure>,
}

/// A missing run in a file, which has the text of the cause in addition to the cause.
#[derive(Serialize, Deserialize)]
struct StoredMissingRun {
    scheme: String,
    seed: u64,
    sweep: BTreeMap<String, Value>,
    baseline: bool,
    error: Option<String>,
    cause: Option<RunFailure>,
}

impl From<MissingRun> for StoredMissingRun {
    fn from(MissingRun { scheme, seed, sweep, baseline, cause }: MissingRun) -> Self {
        let error = cause.as_ref().map(RunFailure::to_string);
        StoredMissingRun { scheme, seed, sweep, baseline, error, cause }
    }
}

impl From<StoredMissingRun> for MissingRun {
    fn from(stored: StoredMissingRun) -> Self {
        let StoredMissingRun { scheme, seed, sweep, baseline, cause, .. } = stored;
        MissingRun { scheme, seed, sweep, baseline, cause }
    }
}

impl MissingRun {
    /// The run's name for people: `reps, seed 1, topology.oversubscription = 4`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EmptyReason, Value};
    use std::collections::BTreeMap;

    fn run(scheme: &str, at: Option<&str>, warnings: &[RunWarning]) -> RunRow {
        let sweep = at.map(|at| ("fault.0.at".to_owned(), Value::Text(at.to_owned())));
        RunRow {
            scheme: scheme.into(),
            sweep: sweep.into_iter().collect::<BTreeMap<_, _>>(),
            warnings: warnings.to_vec(),
            ..RunRow::default()
        }
    }

    fn missed() -> RunWarning {
        RunWarning::FaultWithoutPackets { fault: 0, on: "rate host:3".to_owned() }
    }

    fn no_curve() -> RunWarning {
        let (series, on) = ("queue-depth".to_owned(), Some("tor:0".to_owned()));
        RunWarning::EmptyMeasure { measure: 1, series, on, reason: EmptyReason::AllZero }
    }

    #[test]
    fn warnings_of_runs_are_told_once_with_their_schemes() {
        let runs = vec![
            run("reps", None, &[missed()]),
            run("reps", None, &[]),
            run("ops", None, &[missed(), no_curve()]),
        ];
        let set = ResultSet { runs, warnings: vec!["the queue is short".into()], ..ResultSet::default() };
        let expected = [
            "the queue is short",
            "reps (in 1 of 2 runs), ops: fault.0 (rate host:3) met no packet: it lost, refused or slowed none",
            "ops: measure.1 (queue-depth on \"tor:0\") saw nothing: it has no point above 0",
        ];
        assert_eq!(set.all_warnings(), expected);
    }

    #[test]
    fn jobs_within_servers_are_one_warning_with_their_count() {
        let within = |job: u32, ranks: u64| RunWarning::JobWithinServers {
            job,
            algorithm: "alltoall".to_owned(),
            ranks,
        };
        let warnings = [within(0, 8), within(1, 8), within(2, 4), within(3, 8)];
        let runs = vec![run("reps", None, &warnings), run("ops", None, &warnings)];
        let set = ResultSet { runs, ..ResultSet::default() };
        let rest = "and nothing crosses the network:";
        let expected = [
            format!(
                "reps, ops: 3 jobs from 0 to 3 (alltoall, 8 ranks each): all that their ranks send stays inside their \
                 servers, {rest} they take as long under every scheme"
            ),
            format!(
                "reps, ops: job 2 (alltoall, 4 ranks): all that its ranks send stays inside their servers, {rest} it takes as \
                 long under every scheme"
            ),
        ];
        assert_eq!(set.all_warnings(), expected);
    }

    #[test]
    fn warnings_that_differ_in_packets_alone_are_one_with_a_range() {
        let met = |fault: u32, packets: u64| RunWarning::FaultWithoutData {
            fault,
            on: "rate host:3".to_owned(),
            packets,
        };
        let runs = vec![
            run("reps", None, &[met(0, 261)]),
            run("reps", None, &[met(0, 5)]),
            run("ops", None, &[met(0, 17), met(1, 5)]),
            run("ops", None, &[]),
        ];
        let set = ResultSet { runs, ..ResultSet::default() };
        let expected = [
            "reps, ops (in 1 of 2 runs): fault.0 (rate host:3) met no data: the 5 to 261 packets that it hit are ACKs \
             and the like",
            "ops (in 1 of 2 runs): fault.1 (rate host:3) met no data: the 5 packets that it hit are ACKs and the like",
        ];
        assert_eq!(set.all_warnings(), expected);
    }

    #[test]
    fn a_swept_fault_may_be_met_at_some_points_only() {
        let runs = vec![
            run("reps", Some("1us"), &[]),
            run("reps", Some("9s"), &[missed(), no_curve()]),
            run("ops", Some("1us"), &[missed()]),
            run("ops", Some("9s"), &[missed()]),
        ];
        let set = ResultSet { runs, ..ResultSet::default() };
        let expected = [
            "ops: fault.0 (rate host:3) met no packet: it lost, refused or slowed none",
            "reps (in 1 of 2 runs): measure.1 (queue-depth on \"tor:0\") saw nothing: it has no point above 0",
        ];
        assert_eq!(set.all_warnings(), expected);
    }

    #[test]
    fn a_fault_that_is_not_swept_is_warned_of_at_every_point() {
        let other = RunWarning::FaultWithoutPackets { fault: 1, on: "loss host:4".to_owned() };
        let runs = vec![run("reps", Some("1us"), &[missed()]), run("reps", Some("9s"), &[other])];
        let set = ResultSet { runs, ..ResultSet::default() };
        let expected =
            "reps (in 1 of 2 runs): fault.1 (loss host:4) met no packet: it lost, refused or slowed none";
        assert_eq!(set.all_warnings(), [expected]);
    }
}
