//! The simulator in a web page. [`Runs`] takes the text of a scenario, executes its runs one by one and returns the
//! page of their report. [`check`] finds errors in a text while the user writes it. `cargo xtask playground` builds
//! this crate for WebAssembly, embedded in one page that needs no server.
#![forbid(unsafe_code)]

use anabranch_report::Provenance;
use anabranch_sim::scenario::{
    Completion, Completions, Diagnostic, NoFiles, Overrides, Span, completions, find_in, read,
};
use anabranch_sim::{Session, run};
use serde_json::{Value as Json, json};
use wasm_bindgen::prelude::wasm_bindgen;

const FILE_NAME: &str = "scenario.toml";

/// The diagnosis of a scenario as JSON. For a scenario with an error, it is `{"error": {"line", "column", "message",
/// "help"}}`. For a valid scenario, it is `{"runs", "hosts", "packets", "warnings"}`, where `packets` estimates the
/// number of data packets of all runs.
#[wasm_bindgen]
pub fn check(text: &str) -> String {
    match read_text(text).and_then(|session| Ok((sizes(&session)?, session))) {
        Ok(((hosts, packets), session)) => json!({
            "runs": session.points().len(),
            "hosts": hosts,
            "packets": packets,
            "warnings": session.warnings().iter().map(diagnostic).collect::<Vec<_>>(),
        }),
        Err(error) => json!({ "error": diagnostic(&error) }),
    }
    .to_string()
}

/// The keys and words that can be written at a position of a scenario, as JSON: `{"replaced", "list": [{"name", "text",
/// "meaning"}]}`. An entry of the list replaces the last `replaced` characters before the position.
#[wasm_bindgen]
pub fn complete(before: &str, after: &str) -> String {
    let Completions { replaced, list } = completions(before, after);
    let row = |one: Completion| json!({ "name": one.name, "text": one.text, "meaning": one.meaning });
    json!({ "replaced": replaced, "list": list.into_iter().map(row).collect::<Vec<_>>() }).to_string()
}

fn diagnostic(error: &Diagnostic) -> Json {
    let Diagnostic { span, message, .. } = error;
    json!({ "line": span.line, "column": span.column, "message": message, "help": error.help() })
}

/// The approximate size of a packet in bytes.
const PACKET: u64 = 4096;

fn read_text(text: &str) -> Result<Session, Diagnostic> {
    let over = overrides();
    let mut session = Session::of(read(FILE_NAME, text, &NoFiles, &over)?)?;
    if find_in(FILE_NAME, text, &over)?.is_some() {
        session.warn(without_place(
            "the search in [find] is run by the command `anabranch find`, not here".to_owned(),
        ));
    }
    Ok(session)
}

fn overrides() -> Overrides {
    Overrides { usual_seeds: Overrides::USUAL_SEEDS.into(), ..Overrides::default() }
}

/// The number of hosts of the first run, and an estimate of the data packets of all runs: the packets of the first run
/// times the number of runs.
fn sizes(session: &Session) -> Result<(u32, u64), Diagnostic> {
    let Some(first) = session.points().first() else { return Ok((0, 0)) };
    let built = anabranch_sim::build(first).map_err(|error| without_place(error.to_string()))?;
    let a_run: u64 = built.workload.messages.iter().map(|message| message.bytes.div_ceil(PACKET)).sum();
    Ok((built.topology.hosts, a_run.saturating_mul(session.points().len() as u64)))
}

fn without_place(message: String) -> Diagnostic {
    let span = Span { file: FILE_NAME.to_owned(), line: None, column: None };
    Diagnostic::warning(span, message, None)
}

/// A scenario whose runs are executed one by one.
#[wasm_bindgen]
pub struct Runs(Session);

#[wasm_bindgen]
impl Runs {
    /// Parses a scenario.
    ///
    /// # Errors
    /// The scenario is invalid, or its fabric or workload cannot be built.
    #[wasm_bindgen(constructor)]
    pub fn new(text: &str) -> Result<Runs, String> {
        read_text(text).map(Runs).map_err(|error| error.to_string())
    }

    /// The number of runs, including the baselines. A baseline repeats a run that has faults, but without the faults.
    pub fn runs(&self) -> usize {
        self.0.points().len()
    }

    /// The name of the next run, or `None` if all runs are done.
    pub fn next(&self) -> Option<String> {
        self.0.next().map(|index| self.0.name(index))
    }

    /// Executes the next run, if there is one.
    pub fn simulate(&mut self) {
        let Some(index) = self.0.next() else { return };
        let end = run(&self.0.points()[index], &self.0.control(index));
        self.0.ended(index, end);
    }

    /// Records the wall-clock duration of the last run that was executed, in seconds.
    pub fn took(&mut self, seconds: f64) {
        self.0.set_wall_time(seconds);
    }

    /// The digests of the runs so far, in the order of the runs. The command line gives the same digests. The digest
    /// of a run without results is empty.
    pub fn digests(&self) -> Vec<String> {
        self.0.digests()
    }

    /// The page of the report on the runs so far.
    pub fn page(&self) -> String {
        let program = format!("anabranch {}, in a page", env!("CARGO_PKG_VERSION"));
        anabranch_report::html(&self.0.results(), &Provenance { program, ..Provenance::default() })
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

    fn finished(text: &str) -> Runs {
        let mut session = Runs::new(text).unwrap();
        while session.next().is_some() {
            session.simulate();
        }
        session
    }

    #[test]
    fn runs_and_their_baselines_come_one_by_one_and_make_a_page() {
        let mut session = Runs::new(TEXT).unwrap();
        assert_eq!(session.runs(), 4);
        assert_eq!(session.next().as_deref(), Some("reps, seed 1"));
        session.simulate();
        let page = session.page();
        assert!(page.contains("These results are not whole"), "what is missing is told");
        let session = finished(TEXT);
        let results = session.0.results();
        assert_eq!((results.actual().len(), results.baselines().len(), results.missing.len()), (2, 2, 0));
        assert!(session.digests().iter().all(|digest| !digest.is_empty()), "{:?}", session.digests());
        assert!(session.page().contains("<title>Small"));
    }

    #[test]
    fn what_stalls_is_missing_and_has_its_reason() {
        let stuck = TEXT.replace(r#""tor:0/up:0""#, r#""tor:0/up""#).replace(r#", duration = "20us""#, "");
        let results = finished(&stuck).0.results();
        let why = results.missing[0].cause.as_ref().unwrap().to_string();
        assert!(why.contains("no path is left between host"), "{why}");
    }

    #[test]
    fn keys_are_completed() {
        let completed: Json = serde_json::from_str(&complete("[topology]\nho", "\n[workload]\n")).unwrap();
        assert_eq!(
            (&completed["replaced"], &completed["list"][0]["text"]),
            (&json!(2), &json!("hosts = 128"))
        );
        let meaning = completed["list"][0]["meaning"].as_str().unwrap();
        assert!(
            meaning.starts_with("`fat-tree`, `leaf-spine`, `single-switch`: Number of hosts of the fabric."),
            "{meaning}"
        );
    }

    #[test]
    fn errors_have_their_place() {
        let diagnosis: Json = serde_json::from_str(&check(&TEXT.replace("schemes", "scheems"))).unwrap();
        assert_eq!(diagnosis["error"]["line"], 3);
        assert_eq!(diagnosis["error"]["help"], r#"schemes (did you mean "schemes"?)"#);
        let diagnosis: Json = serde_json::from_str(&check(TEXT)).unwrap();
        assert_eq!(
            (&diagnosis["runs"], &diagnosis["hosts"], &diagnosis["packets"]),
            (&json!(4), &json!(16), &json!(1600))
        );
    }
}
