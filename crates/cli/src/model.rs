//! Figures without packets, which have an abstract model instead of a scenario.

use crate::execute::{Outcome, collect_rows, guarded, pass_on_interrupts};
use crate::failure::Failure;
use crate::source::input;
use crate::store::Item;
use anabranch_results::ScenarioFacts;
use anabranch_results::digest::text_digest;
use anabranch_results::{MissingRun, RunFailure};
use anabranch_sim::Control;
use anabranch_sim::model::{ModelError, run};
use anabranch_sim::scenario::ModelSpec;
use std::collections::BTreeMap;

/// The item under which the results of a model are stored.
///
/// # Errors
/// The model cannot be written as TOML, which does not happen with a model that was read from a file.
pub fn item(name: String, spec: &ModelSpec) -> Result<Item, Failure> {
    let toml = toml::to_string(spec).map_err(input)?;
    Ok(Item {
        name,
        digest: text_digest(&toml),
        toml,
        facts: ScenarioFacts::default(),
        files: BTreeMap::new(),
        warnings: Vec::new(),
    })
}

/// Computes a model. If that fails, the failure is part of the outcome.
pub fn compute(spec: &ModelSpec) -> Outcome {
    let control = [Control::default()];
    let failed = |message: String| {
        let run = MissingRun {
            scheme: "model".to_owned(),
            seed: 0,
            sweep: BTreeMap::new(),
            baseline: false,
            cause: Some(RunFailure::Other { message }),
        };
        Outcome::missing(run)
    };
    match pass_on_interrupts(&control, || guarded(|| run(spec, &control[0]))) {
        Ok(Ok(results)) => collect_rows(results),
        Ok(Err(ModelError::Cancelled)) => Outcome::interrupted(),
        Ok(Err(error)) => failed(error.to_string()),
        Err(panic) => failed(panic),
    }
}
