//! The simulator in a page. [`Session`] takes the text of a scenario, carries out its runs one by one and returns the page
//! of their report; [`check`] says what is wrong in a text while it is written. `cargo xtask playground` builds it for
//! WebAssembly and puts it into one page, which needs no server.
#![forbid(unsafe_code)]

use anabranch_report::Provenance;
use anabranch_results::{MissingRun, ResultSet};
use anabranch_sim::scenario::{NoFiles, Overrides, RunPoint, Scenario, ScenarioError, find_in, read};
use anabranch_sim::{Control, RunError, RunResult, add, add_baseline, baseline, run};
use serde_json::{Value as Json, json};
use wasm_bindgen::prelude::wasm_bindgen;

/// What messages call the text.
const SHOWN: &str = "scenario.toml";

/// What is to be said of a scenario, as JSON: `{"error": {"line", "column", "message", "help"}}`, or
/// `{"runs", "hosts", "packets", "warnings"}` with the data packets of all its runs.
#[wasm_bindgen]
pub fn check(text: &str) -> String {
    match Prepared::of(text) {
        Ok(prepared) => json!({
            "runs": prepared.points.len(),
            "hosts": prepared.hosts,
            "packets": prepared.packets,
            "warnings": prepared.warnings.iter().map(told).collect::<Vec<_>>(),
        }),
        Err(error) => json!({ "error": told(&error) }),
    }
    .to_string()
}

/// An error or a warning with its place.
fn told(error: &ScenarioError) -> Json {
    let ScenarioError { line, column, message, help, .. } = error;
    json!({ "line": line, "column": column, "message": message, "help": help })
}

/// A scenario whose fabrics can be built.
struct Prepared {
    scenario: Scenario,
    /// The runs, then their baselines.
    points: Vec<RunPoint>,
    /// How many are no baselines.
    actual: usize,
    toml: String,
    warnings: Vec<ScenarioError>,
    hosts: u32,
    packets: u64,
}

impl Prepared {
    fn of(text: &str) -> Result<Prepared, ScenarioError> {
        let over = Overrides { usual_seeds: Overrides::USUAL_SEEDS.into(), ..Overrides::default() };
        let scenario = read(SHOWN, text, &NoFiles, &over)?;
        let examined = scenario.examine()?;
        let toml = scenario.to_annotated_toml(&examined.facts);
        let mut points = scenario.points()?;
        let actual = points.len();
        points.extend(baseline::points(&points));
        let mut warnings = examined.warnings;
        if find_in(SHOWN, text, &over)?.is_some() {
            warnings.push(bare(
                "what [find] asks is answered by the command `anabranch find`, not here".to_owned(),
            ));
        }
        let (mut hosts, mut packets) = (0, 0);
        if let Some(first) = points.first() {
            let built = anabranch_sim::build(first).map_err(|error| bare(error.to_string()))?;
            hosts = built.topology.hosts;
            let a_run: u64 =
                built.workload.messages.iter().map(|message| message.bytes.div_ceil(PACKET)).sum();
            packets = a_run.saturating_mul(points.len() as u64);
        }
        Ok(Prepared { scenario, points, actual, toml, warnings, hosts, packets })
    }
}

/// What is said of no place.
fn bare(message: String) -> ScenarioError {
    ScenarioError { file: SHOWN.to_owned(), line: None, column: None, message, help: None }
}

/// About what a packet holds, in bytes, for a first idea of how long a scenario takes.
const PACKET: u64 = 4096;

/// A scenario of which one run after the other is carried out.
#[wasm_bindgen]
pub struct Session {
    prepared: Prepared,
    ends: Vec<End>,
}

/// How a run ended: with its results, or with why it failed and what it came to until then.
type End = Result<RunResult, (String, Option<RunResult>)>;

#[wasm_bindgen]
impl Session {
    /// Reads a scenario.
    ///
    /// # Errors
    /// What is wrong in it, with its place, as the command says it.
    #[wasm_bindgen(constructor)]
    pub fn new(text: &str) -> Result<Session, String> {
        let prepared = Prepared::of(text).map_err(|error| error.to_string())?;
        Ok(Session { prepared, ends: Vec::new() })
    }

    /// How many runs it has, those without faults among them.
    pub fn runs(&self) -> usize {
        self.prepared.points.len()
    }

    /// What the next run is called; nothing when all are done.
    pub fn next(&self) -> Option<String> {
        Some(self.missing(self.ends.len(), None)?.describe())
    }

    /// Carries out the next run, if there is one.
    pub fn simulate(&mut self) {
        let Some(point) = self.prepared.points.get(self.ends.len()) else { return };
        let goodput = self.prepared.actual < self.prepared.points.len()
            && (self.ends.len() >= self.prepared.actual || !point.faults.is_empty());
        let control = Control { goodput, ..Control::default() };
        self.ends.push(run(point, &control).map_err(|error| {
            let why = error.to_string();
            match error {
                RunError::Stalled { partial, .. }
                | RunError::Deadlock { partial, .. }
                | RunError::Limit { partial, .. } => (why, Some(*partial)),
                _ => (why, None),
            }
        }));
    }

    /// The last run took so long, in seconds.
    pub fn took(&mut self, seconds: f64) {
        if let Some(Ok(result) | Err((_, Some(result)))) = self.ends.last_mut() {
            result.run.wall_s = seconds;
        }
    }

    /// The digests of the runs so far, in their order, as the command has them; empty for those that came to nothing.
    pub fn digests(&self) -> Vec<String> {
        let digest = |end: &End| match end {
            Ok(result) | Err((_, Some(result))) => result.run.digest.clone(),
            Err((_, None)) => String::new(),
        };
        self.ends.iter().map(digest).collect()
    }

    /// The page of the report, of what there is.
    pub fn page(&self) -> String {
        let program = format!("anabranch {}, in a page", env!("CARGO_PKG_VERSION"));
        anabranch_report::html(&self.results(), &Provenance { program, ..Provenance::default() })
    }
}

impl Session {
    fn missing(&self, index: usize, error: Option<String>) -> Option<MissingRun> {
        let point = self.prepared.points.get(index)?;
        Some(MissingRun {
            scheme: point.scheme.name.clone(),
            seed: point.seed,
            sweep: point.sweep.clone(),
            baseline: index >= self.prepared.actual,
            error,
        })
    }

    fn results(&self) -> ResultSet {
        let Prepared { scenario, points, actual, toml, warnings, .. } = &self.prepared;
        let mut set = ResultSet {
            title: scenario.title.clone(),
            scenario_toml: toml.clone(),
            warnings: warnings.iter().map(ScenarioError::in_a_line).collect(),
            ..ResultSet::default()
        };
        let curves: Vec<_> =
            self.ends.iter().map(|end| baseline::goodput(&end.as_ref().ok()?.series)).collect();
        let recoveries = match curves.len() == points.len() {
            true => baseline::recoveries(points, *actual, &curves),
            false => vec![None; points.len()],
        };
        for (index, recovery) in recoveries.into_iter().enumerate() {
            let (result, error) = match self.ends.get(index) {
                Some(Ok(result)) => (Some(result), None),
                Some(Err((why, partial))) => (partial.as_ref(), Some(Some(why.clone()))),
                None => (None, Some(None)),
            };
            set.missing.extend(error.and_then(|why| self.missing(index, why)));
            if let Some(result) = result {
                let mut result = result.clone();
                result.run.time_to_recover_us = recovery;
                if index < *actual {
                    add(&mut set, result)
                } else {
                    add_baseline(&mut set, result)
                };
            }
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
title = "Small"
schemes = ["reps", "ecmp"]
seeds = [1]
topology = { kind = "fat-tree", hosts = 16, link = "400Gbps" }
workload = { kind = "permutation", bytes = "100KB" }
fault = [{ kind = "link-down", links = "tor:0/up:0", at = "2us", duration = "20us" }]
"#;

    fn finished(text: &str) -> Session {
        let mut session = Session::new(text).unwrap();
        while session.next().is_some() {
            session.simulate();
        }
        session
    }

    #[test]
    fn runs_and_their_baselines_come_one_by_one_and_make_a_page() {
        let mut session = Session::new(TEXT).unwrap();
        assert_eq!(session.runs(), 4);
        assert_eq!(session.next().as_deref(), Some("reps, seed 1"));
        session.simulate();
        let page = session.page();
        assert!(page.contains("These results are not whole"), "what is missing is told");
        let session = finished(TEXT);
        let results = session.results();
        assert_eq!((results.actual().len(), results.baselines().len(), results.missing.len()), (2, 2, 0));
        assert!(session.digests().iter().all(|digest| !digest.is_empty()), "{:?}", session.digests());
        assert!(session.page().contains("<title>Small"));
    }

    #[test]
    fn what_stalls_is_missing_and_has_its_reason() {
        let stuck = TEXT.replace(r#""tor:0/up:0""#, r#""tor:0/up""#).replace(r#", duration = "20us""#, "");
        let results = finished(&stuck).results();
        let why = results.missing[0].error.as_deref().unwrap();
        assert!(why.contains("no path is left between host"), "{why}");
    }

    #[test]
    fn errors_have_their_place() {
        let said: Json = serde_json::from_str(&check(&TEXT.replace("schemes", "scheems"))).unwrap();
        assert_eq!(said["error"]["line"], 3);
        assert_eq!(said["error"]["help"], r#"schemes (did you mean "schemes"?)"#);
        let said: Json = serde_json::from_str(&check(TEXT)).unwrap();
        assert_eq!((&said["runs"], &said["hosts"], &said["packets"]), (&json!(4), &json!(16), &json!(1600)));
    }
}
