//! Figures without packets: an abstract model instead of a scenario.

use crate::execute::Outcome;
use crate::failure::Failure;
use crate::source::input;
use crate::store::Item;
use anabranch_results::RunRow;
use anabranch_results::digest::{run_digest, text_digest};
use anabranch_sim::scenario::{ModelSpec, scheme, schemes};
use std::collections::BTreeMap;

/// What is stored of a model.
///
/// # Errors
/// Never for a model that was read from a file.
pub fn item(name: String, spec: &ModelSpec) -> Result<Item, Failure> {
    let toml = toml::to_string(spec).map_err(input)?;
    Ok(Item { name, digest: text_digest(&toml), toml, files: BTreeMap::new() })
}

/// Computes a model.
///
/// # Errors
/// When there is no such model.
pub fn compute(spec: &ModelSpec) -> Result<Outcome, Failure> {
    let mut runs = match spec {
        ModelSpec::StateBits {} => state_bits()?,
        ModelSpec::BallsIntoBins { .. } => {
            return Err(Failure::Run("the model balls-into-bins is not there yet".to_owned()));
        }
    };
    for run in &mut runs {
        run.digest = run_digest(run, &[]);
    }
    Ok(Outcome { runs, ..Outcome::default() })
}

/// One row a scheme: the hardware state of its load balancer, whole and by field, in `extra`.
fn state_bits() -> Result<Vec<RunRow>, Failure> {
    let rows = schemes().into_iter().map(|listing| {
        let fields = scheme(listing.name).map_err(input)?.lb.state();
        let bits = |field: &anabranch_proto::lb::StateField| f64::from(field.bits) * f64::from(field.count);
        let mut extra = BTreeMap::from([("state_bits".to_owned(), fields.iter().map(bits).sum())]);
        extra.extend(fields.iter().map(|field| (format!("state_bits: {}", field.name), bits(field))));
        Ok(RunRow { scheme: listing.name.to_owned(), extra, ..RunRow::default() })
    });
    rows.collect()
}
