//! The simulator in a page. [`Runs`] takes the text of a scenario, carries out its runs one by one and returns the page
//! of their report; [`check`] says what is wrong in a text while it is written. `cargo xtask playground` builds it for
//! WebAssembly and puts it into one page, which needs no server.
#![forbid(unsafe_code)]

use anabranch_report::Provenance;
use anabranch_sim::scenario::{Diagnostic, NoFiles, Overrides, Span, find_in, read};
use anabranch_sim::{Session, run};
use serde_json::{Value as Json, json};
use wasm_bindgen::prelude::wasm_bindgen;

/// What messages call the text.
const SHOWN: &str = "scenario.toml";

/// What is to be said of a scenario, as JSON: `{"error": {"line", "column", "message", "help"}}`, or
/// `{"runs", "hosts", "packets", "warnings"}` with the data packets of all its runs.
#[wasm_bindgen]
pub fn check(text: &str) -> String {
    match read_text(text).and_then(|session| Ok((sizes(&session)?, session))) {
        Ok(((hosts, packets), session)) => json!({
            "runs": session.points().len(),
            "hosts": hosts,
            "packets": packets,
            "warnings": session.warnings().iter().map(told).collect::<Vec<_>>(),
        }),
        Err(error) => json!({ "error": told(&error) }),
    }
    .to_string()
}

/// An error or a warning with its place.
fn told(error: &Diagnostic) -> Json {
    let Diagnostic { span, message, .. } = error;
    json!({ "line": span.line, "column": span.column, "message": message, "help": error.help() })
}

/// About what a packet holds, in bytes, for a first idea of how long a scenario takes.
const PACKET: u64 = 4096;

fn read_text(text: &str) -> Result<Session, Diagnostic> {
    let over = overrides();
    let mut session = Session::of(read(SHOWN, text, &NoFiles, &over)?)?;
    if find_in(SHOWN, text, &over)?.is_some() {
        session
            .warn(bare("the search in [find] is run by the command `anabranch find`, not here".to_owned()));
    }
    Ok(session)
}

fn overrides() -> Overrides {
    Overrides { usual_seeds: Overrides::USUAL_SEEDS.into(), ..Overrides::default() }
}

/// Hosts of the first run, and data packets of all.
fn sizes(session: &Session) -> Result<(u32, u64), Diagnostic> {
    let Some(first) = session.points().first() else { return Ok((0, 0)) };
    let built = anabranch_sim::build(first).map_err(|error| bare(error.to_string()))?;
    let a_run: u64 = built.workload.messages.iter().map(|message| message.bytes.div_ceil(PACKET)).sum();
    Ok((built.topology.hosts, a_run.saturating_mul(session.points().len() as u64)))
}

/// A diagnostic of the whole scenario.
fn bare(message: String) -> Diagnostic {
    let span = Span { file: SHOWN.to_owned(), line: None, column: None };
    Diagnostic::warning(span, message, None)
}

/// A scenario of which one run after the other is carried out.
#[wasm_bindgen]
pub struct Runs(Session);

#[wasm_bindgen]
impl Runs {
    /// Reads a scenario.
    ///
    /// # Errors
    /// What is wrong in it, with its place, as the command says it.
    #[wasm_bindgen(constructor)]
    pub fn new(text: &str) -> Result<Runs, String> {
        read_text(text).map(Runs).map_err(|error| error.to_string())
    }

    /// How many runs it has, those without faults among them.
    pub fn runs(&self) -> usize {
        self.0.points().len()
    }

    /// What the next run is called; nothing when all are done.
    pub fn next(&self) -> Option<String> {
        self.0.next().map(|index| self.0.name(index))
    }

    /// Carries out the next run, if there is one.
    pub fn simulate(&mut self) {
        let Some(index) = self.0.next() else { return };
        let end = run(&self.0.points()[index], &self.0.control(index));
        self.0.ended(index, end);
    }

    /// The last run took so long, in seconds.
    pub fn took(&mut self, seconds: f64) {
        self.0.set_wall_time(seconds);
    }

    /// The digests of the runs so far, in their order, as the command has them; empty for those that came to nothing.
    pub fn digests(&self) -> Vec<String> {
        self.0.digests()
    }

    /// The page of the report, of what there is.
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
