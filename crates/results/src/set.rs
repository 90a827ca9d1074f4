//! The results of a scenario as a whole.

use crate::{
    Figure, FiledCurves, FlowRow, JobRow, PartRow, RunRow, ScenarioFacts, SearchAnswer, SeriesRow, Value,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The results of one `anabranch run` or of one figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultSet {
    /// The scenario's title.
    pub title: String,
    /// The resolved scenario, as TOML.
    pub scenario_toml: String,
    /// The facts about the scenario that its rows do not have.
    pub facts: ScenarioFacts,
    /// One row per run (scheme x sweep point x seed), in that order; then the baselines.
    pub runs: Vec<RunRow>,
    /// One row per message of each run. A run may leave its messages out (collectives have millions of them): then
    /// [`RunRow::flows`] has their number, and there are no rows.
    pub flows: Vec<FlowRow>,
    /// One row per job of each run of a collective workload.
    pub jobs: Vec<JobRow>,
    /// One row per rank and collective of each job from a trace.
    pub parts: Vec<PartRow>,
    /// Measured curves in memory.
    pub series: Vec<SeriesRow>,
    /// Measured curves in files, by run: each run at most once, and none that has rows in `series`.
    pub filed: Vec<FiledCurves>,
    /// The requested runs that failed or never ran; empty when the results are complete.
    pub missing: Vec<MissingRun>,
    /// Sentences about what limits the meaning of the scenario; those of single runs are in [`RunRow::warnings`].
    pub warnings: Vec<String>,
    /// The figure of a paper that this reproduces, with its claims; none for an ordinary run.
    pub figure: Option<Figure>,
    /// The question of `anabranch find` with its answer; none for an ordinary run.
    pub answer: Option<SearchAnswer>,
}

impl ResultSet {
    /// The runs with the scenario's faults.
    pub fn actual(&self) -> &[RunRow] {
        &self.runs[..self.first_baseline()]
    }

    /// The runs without the scenario's faults.
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

    /// All warnings: of the scenario, and of its runs.
    pub fn all_warnings(&self) -> Vec<String> {
        self.warnings.iter().cloned().chain(self.run_warnings()).collect()
    }

    /// The warnings of runs, each once, with its schemes and the number of their runs. Warnings that differ only in
    /// counts of packets are merged into one, with the range.
    ///
    /// Where the sweep changes a fault, it needs no warning if packets meet it at some points.
    pub fn run_warnings(&self) -> Vec<String> {
        let swept = self.actual().iter().any(|run| run.sweep.keys().any(|key| key.starts_with("fault.")));
        let runs_of = |scheme: &str| self.actual().iter().filter(|run| run.scheme == scheme).count();
        let mut found: Vec<(WarningPattern, Vec<(&str, usize)>)> = Vec::new();
        for (run, warning) in self.actual().iter().flat_map(|run| run.warnings.iter().map(move |w| (run, w)))
        {
            let warning = WarningPattern::of(warning);
            let index = found.iter().position(|(known, _)| known.words == warning.words);
            let index = index.unwrap_or_else(|| {
                found.push((warning.clone(), Vec::new()));
                found.len() - 1
            });
            found[index].0.widen(&warning);
            let schemes = &mut found[index].1;
            match schemes.iter_mut().find(|(scheme, _)| *scheme == run.scheme) {
                Some((_, runs)) => *runs += 1,
                None => schemes.push((&run.scheme, 1)),
            }
        }
        let of_runs = found.into_iter().filter_map(|(warning, mut schemes)| {
            let warning = warning.text();
            if swept && warning.starts_with("fault.") {
                schemes.retain(|(scheme, runs)| *runs == runs_of(scheme));
            }
            let schemes = schemes.into_iter().map(|(scheme, runs)| match runs_of(scheme) {
                all if all == runs => scheme.to_owned(),
                all => format!("{scheme} (in {runs} of {all} runs)"),
            });
            let schemes: Vec<String> = schemes.collect();
            (!schemes.is_empty()).then(|| format!("{}: {warning}", schemes.join(", ")))
        });
        of_runs.collect()
    }

    /// Every value of the resolved scenario as TOML, by its path; the entries of a list that have a name by that.
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

/// Every value with its path; elements of a list that have a name are addressed by it.
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

/// A warning whose counts of packets may differ between runs.
#[derive(Clone)]
struct WarningPattern {
    /// Its words; none in place of a count.
    words: Vec<Option<String>>,
    /// The smallest and the largest value of each count.
    counts: Vec<[u64; 2]>,
}

impl WarningPattern {
    fn of(warning: &str) -> WarningPattern {
        let mut counts = Vec::new();
        let words: Vec<&str> = warning.split(' ').collect();
        let is_counted = |index: usize| words.get(index + 1).is_some_and(|next| next.starts_with("packet"));
        let masked = words.iter().enumerate().map(|(index, word)| match word.parse() {
            Ok(count) if is_counted(index) => {
                counts.push([count, count]);
                None
            }
            _ => Some((*word).to_owned()),
        });
        WarningPattern { words: masked.collect(), counts }
    }

    fn widen(&mut self, other: &WarningPattern) {
        for ([least, most], [low, high]) in self.counts.iter_mut().zip(&other.counts) {
            (*least, *most) = ((*least).min(*low), (*most).max(*high));
        }
    }

    fn text(&self) -> String {
        let mut counts = self.counts.iter();
        let words = self.words.iter().map(|word| match word {
            Some(word) => word.clone(),
            None => match counts.next() {
                Some([least, most]) if least == most => least.to_string(),
                Some([least, most]) => format!("{least} to {most}"),
                None => String::new(),
            },
        });
        words.collect::<Vec<_>>().join(" ")
    }
}

/// A requested run without complete results. One that stalled or hit a limit also has its row in [`ResultSet::runs`],
/// with its results until then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MissingRun {
    /// Its scheme.
    pub scheme: String,
    /// Its seed.
    pub seed: u64,
    /// Its point of the sweep.
    pub sweep: BTreeMap<String, Value>,
    /// Whether it is a baseline ([`RunRow::baseline`]).
    pub baseline: bool,
    /// The error; none when the run never came to an end because the program was interrupted.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;
    use std::collections::BTreeMap;

    fn run(scheme: &str, at: Option<&str>, warnings: &[&str]) -> RunRow {
        let sweep = at.map(|at| ("fault.0.at".to_owned(), Value::Text(at.to_owned())));
        RunRow {
            scheme: scheme.into(),
            sweep: sweep.into_iter().collect::<BTreeMap<_, _>>(),
            warnings: warnings.iter().map(|&text| text.to_owned()).collect(),
            ..RunRow::default()
        }
    }

    #[test]
    fn warnings_of_runs_are_told_once_with_their_schemes() {
        let missed = "fault.0 met no packet";
        let runs = vec![
            run("reps", None, &[missed]),
            run("reps", None, &[]),
            run("ops", None, &[missed, "no curve"]),
        ];
        let set = ResultSet { runs, warnings: vec!["the queue is short".into()], ..ResultSet::default() };
        let expected =
            ["the queue is short", "reps (in 1 of 2 runs), ops: fault.0 met no packet", "ops: no curve"];
        assert_eq!(set.all_warnings(), expected);
    }

    #[test]
    fn warnings_that_differ_in_packets_alone_are_one_with_a_range() {
        let met = |fault: u32, packets: u32| {
            format!("fault.{fault} (rate host:3) met no data: the {packets} packets that it hit are ACKs")
        };
        let all = [met(0, 261), met(0, 5), met(0, 17), met(1, 5)];
        let runs = vec![
            run("reps", None, &[&all[0]]),
            run("reps", None, &[&all[1]]),
            run("ops", None, &[&all[2], &all[3]]),
            run("ops", None, &[]),
        ];
        let set = ResultSet { runs, ..ResultSet::default() };
        let expected = [
            "reps, ops (in 1 of 2 runs): fault.0 (rate host:3) met no data: the 5 to 261 packets that it hit are ACKs",
            "ops (in 1 of 2 runs): fault.1 (rate host:3) met no data: the 5 packets that it hit are ACKs",
        ];
        assert_eq!(set.all_warnings(), expected);
    }

    #[test]
    fn a_swept_fault_may_be_met_at_some_points_only() {
        let missed = "fault.0 met no packet";
        let runs = vec![
            run("reps", Some("1us"), &[]),
            run("reps", Some("9s"), &[missed]),
            run("ops", Some("1us"), &[missed]),
            run("ops", Some("9s"), &[missed]),
        ];
        let set = ResultSet { runs, ..ResultSet::default() };
        assert_eq!(set.all_warnings(), ["ops: fault.0 met no packet"]);
    }
}
