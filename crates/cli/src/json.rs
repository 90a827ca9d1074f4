//! The JSON documents of `--json`. Field names are stable.

use crate::sensitivity::{Paper, VariedFigure};
use crate::simulated::Simulated;
use anabranch_results::{ClaimResult, ClaimRow, MissingRun, RunFailure, RunRow, SetupRow, SharedWarning};
use serde_json::{Value, json};
use std::path::Path;

/// The document of `anabranch run --json`.
pub fn run(digest: &str, done: &Simulated) -> Value {
    json!({
        "scenario": done.results.title,
        "digest": digest,
        "folder": done.folder.as_deref().map(Path::to_string_lossy),
        "verdict": anabranch_report::verdict(&done.results).join(" "),
        "summary": anabranch_report::summary_json(&done.results),
        "runs": done.results.actual().iter().map(row).collect::<Vec<_>>(),
        "baselines": done.results.baselines().iter().map(row).collect::<Vec<_>>(),
        "failed": done.results.missing.iter().filter(|run| run.cause.is_some()).map(missing_row).collect::<Vec<_>>(),
        "never_ran": done.results.missing.iter().filter(|run| run.cause.is_none()).map(missing_row).collect::<Vec<_>>(),
        "warnings": done.results.all_warnings(),
        "run_warnings": done.results.run_warnings(),
    })
}

/// The runs of a figure, as `anabranch reproduce --json` prints them.
pub fn figure(id: &str, digest: &str, done: &Simulated) -> Value {
    let mut document = run(digest, done);
    document["figure"] = json!(id);
    let sizes =
        done.results.figure.as_ref().map(|figure| figure.sizes.as_str()).filter(|text| !text.is_empty());
    document["sizes"] = json!(sizes);
    document
}

/// A claim of a figure, as `anabranch reproduce --json` prints it. `judged` is false at the quick scale, because
/// outcomes at that scale do not count.
pub fn claim(figure: &str, scale: &str, claim: &ClaimRow) -> Value {
    let (measured, outcome, error) = match &claim.result {
        ClaimResult::Evaluated { measured, outcome } => (json!(measured), json!(outcome), Value::Null),
        ClaimResult::Failed { error } => (Value::Null, Value::Null, json!(error)),
    };
    json!({
        "figure": figure,
        "says": claim.says,
        "source": claim.source,
        "kind": claim.kind,
        "paper": claim.paper,
        "measure": claim.measure,
        "measured": measured,
        "outcome": outcome,
        "judged": scale != "quick",
        "spread": claim.spread,
        "error": error,
        "why": claim.why,
        "scale": scale,
    })
}

/// The document of `anabranch reproduce --unsaid --json`. `claims` has the claims under the figures' default setups,
/// which `anabranch reproduce --json` prints too. `unsaid` has the outcomes of the claims under all setups.
pub fn unsaid(varied: &[VariedFigure], papers: &[Paper], scale: &str) -> Value {
    let claims = varied.iter().map(|done| &done.figure);
    let claims = claims.flat_map(|figure| figure.claims.iter().map(|row| claim(&figure.id, scale, row)));
    json!({
        "claims": claims.collect::<Vec<_>>(),
        "unsaid": varied.iter().map(varied_figure).collect::<Vec<_>>(),
        "papers": papers.iter().map(|paper| json!({
            "paper": paper.paper,
            "figures": paper.figures,
            "claims": paper.claims,
            "holds_by_default": paper.holds_by_default,
            "holds": paper.holds,
            "setup": paper.setup,
        })).collect::<Vec<_>>(),
    })
}

fn varied_figure(done: &VariedFigure) -> Value {
    let Some(unsaid) = &done.figure.unsaid else { return Value::Null };
    let claims = done.figure.claims.iter().enumerate().map(|(place, row)| {
        let mut document = claim(&done.figure.id, &done.figure.scale, row);
        document["span"] = json!(unsaid.span(place));
        document["holds"] = json!(unsaid.holds(place));
        document["setups"] = json!(unsaid.setups.len());
        document
    });
    let row = |setup: &SetupRow| {
        json!({
            "setup": unsaid.name(setup),
            "choice": setup.choice,
            "holds": setup.holds(),
            "claims": setup.claims,
            "failed_runs": setup.failed_runs,
        })
    };
    let setup = |(setup, warnings): (&SetupRow, &Vec<SharedWarning>)| {
        let mut document = row(setup);
        document["run_warnings"] = json!(warnings);
        document
    };
    json!({
        "figure": done.figure.id,
        "digest": done.digest,
        "folder": done.folder.to_string_lossy(),
        "sizes": done.figure.sizes,
        "together": unsaid.together,
        "most_runs_together": unsaid.most_runs_together,
        "runs": done.runs,
        "simulated": done.simulated,
        "wall_s": done.wall_s,
        "entries": unsaid.entries,
        "claims": claims.collect::<Vec<_>>(),
        "setups": unsaid.setups.iter().zip(&done.run_warnings).map(setup).collect::<Vec<_>>(),
        "best": unsaid.best().map(row),
        "failed": done.failed.iter().map(|(run, cause)| failed_run(run, cause)).collect::<Vec<_>>(),
    })
}

/// A failed run with its name, in the documents of campaigns and of varied figures.
pub fn failed_run(name: &str, cause: &RunFailure) -> Value {
    json!({ "run": name, "error": cause.to_string(), "cause": cause })
}

/// The row of a run. A number that the run did not measure is null.
fn row(run: &RunRow) -> Value {
    let mut row = json!(run);
    if let Value::Object(fields) = &mut row {
        // The document has these fields in `baselines` and `warnings`.
        fields.retain(|name, _| !matches!(name.as_str(), "baseline" | "warnings"));
        for name in RunRow::FIELDS.into_iter().filter(|name| run.number(name).is_none()) {
            fields.insert(name.to_owned(), Value::Null);
        }
    }
    row
}

fn missing_row(run: &MissingRun) -> Value {
    json!({
        "scheme": run.scheme,
        "seed": run.seed,
        "sweep": run.sweep,
        "baseline": run.baseline,
        "error": run.cause.as_ref().map(RunFailure::to_string),
        "cause": run.cause,
    })
}
