//! The results of a scenario as a whole.

use crate::{
    Answered, Figure, FiledCurves, FlowRow, JobRow, PartRow, RunRow, ScenarioFacts, SeriesRow, Value,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything that one `anabranch run` or one figure produced.
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
    /// [`RunRow::flows`] says how many there were, and there is no row.
    pub flows: Vec<FlowRow>,
    /// One row per job of each run of a collective workload.
    pub jobs: Vec<JobRow>,
    /// One row per rank and collective of each job from a trace.
    pub parts: Vec<PartRow>,
    /// Measured curves, those that are held here.
    pub series: Vec<SeriesRow>,
    /// Measured curves that are in files, by run, each run at most once and none that has rows in `series`.
    pub filed: Vec<FiledCurves>,
    /// The runs that were asked for and failed or never ran; none when the results are whole.
    pub missing: Vec<MissingRun>,
    /// What in the scenario cannot mean much, a sentence each; what single runs have to say is in [`RunRow::warnings`].
    pub warnings: Vec<String>,
    /// The figure of a paper that this reproduces, with its claims; none for an ordinary run.
    pub figure: Option<Figure>,
    /// What was asked of a parameter and found; none for an ordinary run.
    pub answer: Option<Answered>,
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
        self.filed.retain(|curves| (curves.run() as usize) < first);
    }

    /// All warnings: of the scenario, and of its runs.
    pub fn all_warnings(&self) -> Vec<String> {
        self.warnings.iter().cloned().chain(self.run_warnings()).collect()
    }

    /// The warnings of runs, each once, with its schemes and in how many of their runs. Those that differ in counts of
    /// packets alone are one, with the range.
    ///
    /// Where the sweep changes a fault, one that is met at some points needs no warning.
    pub fn run_warnings(&self) -> Vec<String> {
        let swept = self.actual().iter().any(|run| run.sweep.keys().any(|key| key.starts_with("fault.")));
        let runs_of = |scheme: &str| self.actual().iter().filter(|run| run.scheme == scheme).count();
        let mut found: Vec<(Counted, Vec<(&str, usize)>)> = Vec::new();
        for (run, warning) in self.actual().iter().flat_map(|run| run.warnings.iter().map(move |w| (run, w)))
        {
            let warning = Counted::of(warning);
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

    fn first_baseline(&self) -> usize {
        self.runs.iter().position(|run| run.baseline).unwrap_or(self.runs.len())
    }
}

/// A warning whose counts of packets may differ between runs.
#[derive(Clone)]
struct Counted {
    /// Its words, with nothing in place of counts.
    words: Vec<Option<String>>,
    /// The smallest and the largest of each count.
    counts: Vec<[u64; 2]>,
}

impl Counted {
    fn of(warning: &str) -> Counted {
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
        Counted { words: masked.collect(), counts }
    }

    fn widen(&mut self, other: &Counted) {
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
