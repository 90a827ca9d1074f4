//! Models behind figures that are no packet network. They give the same rows as a simulation, so that tables, plots
//! and claims work the same.

pub mod balls;
mod state_bits;

use crate::scenario::ModelSpec;
use crate::{Control, RunResult};

/// Computes a model: one result a game or algorithm, in the order variant, parameter, seed.
///
/// What stands in the rows: `balls-into-bins` has the variant's name as the scheme, `ports` in `sweep`, and in
/// `extra` what [`balls`] lists; its curves are `queue_length_balls` of `bin:0` and so on (in games of at most
/// [`balls::MAX_BIN_CURVES`] bins) and `longest_queue_balls` of `bins`, with a round drawn as a microsecond.
/// `state-bits` has a row for each balancer with `state_bits` and `state_bits:FIELD` in `extra`; a balancer with a
/// buffer has one for a buffer of 1 and one for its own size, told apart by `buffer` in `sweep`;
/// a scheme with a program has `program_bytes`, that of Themis also `source_tor_bytes`, `destination_tor_bytes` and
/// `tor_bytes`.
///
/// # Errors
/// A game too large to hold, or a user who stopped it.
pub fn run(spec: &ModelSpec, control: &Control) -> Result<Vec<RunResult>, ModelError> {
    match spec {
        ModelSpec::BallsIntoBins { .. } => balls::run(spec, control),
        ModelSpec::StateBits {} => Ok(state_bits::run()),
    }
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The user stopped it.
    #[error("stopped")]
    Cancelled,
    /// The numbers of a model multiply to more than a computer should try.
    #[error("the model has {count} {what}, more than {most}; lower {keys}")]
    TooLarge {
        /// What there are too many of.
        what: &'static str,
        /// How many there would be.
        count: u64,
        /// How many there may be.
        most: u64,
        /// What to lower in `[model]`.
        keys: &'static str,
    },
}
