//! Abstract models behind figures that simulate no packet network. They give rows of the kind that a simulation
//! gives, so that tables, plots and claims work for both.

pub mod balls;
mod load_imbalance;
mod lossless_reach;
mod packet_tracking;
mod state_bits;

use crate::scenario::ModelSpec;
use anabranch_engine::{Control, RunResult};
use anabranch_proto::TransportConfig;
use anabranch_proto::lb::StateField;
use anabranch_results::{RunRow, Value};
use std::collections::BTreeMap;

/// The fields in DCP's state that exist once per tracked message (DCP, section 4.5).
pub const MESSAGE_FIELDS: [&str; 3] = ["packet counter", "mcf", "Cf"];

/// Computes a model. There is one result for each combination of a variant, the values of the parameters and a seed.
/// The results are sorted in this order. In some models, schemes, methods or chips take the place of variants.
///
/// The rows of `load-imbalance` have the schemes `random` and `hash`, `active_flows` and `evs` in `sweep`, and
/// `load_imbalance` in `extra`.
///
/// The rows of `balls-into-bins` have the name of the variant as the scheme, and the values listed by [`balls`] in
/// `extra`. In `sweep` they have `ports`, and `recycle_every` if there are several values of it. The curves are
/// `queue_length_balls` of `bin:0` and so on (in games of at most [`balls::MAX_BIN_CURVES`] bins) and
/// `longest_queue_balls` of `bins`. A round is drawn as a microsecond.
///
/// `state-bits` has a row for each built-in scheme, with `state_bits` and `state_bits:FIELD` of its balancer in
/// `extra`. A scheme with the balancer `reps` has two rows: one for a buffer of 1 and one for its own buffer size. They
/// differ by `buffer` in `sweep`, and have no further values. Any other scheme with a program has `program_bytes`, and
/// Themis-spraying also `source_tor_bytes`, `destination_tor_bytes` and `tor_bytes`. Any other scheme with DCP's
/// transport has `transport_bytes` (per queue pair), `message_bytes` (per tracked message) and `messages_bytes` (for
/// all tracked messages).
///
/// The rows of `packet-tracking` have the schemes `bdp-bitmap`, `linked-chunks` and `dcp`, and `degree` in `sweep`. In
/// `extra` they have `queue_pair_bytes`, `all_bytes` (for all queue pairs), `cycles` per packet and `packet_rate_mpps`.
/// The rows of `dcp` also have `message_bytes` and `messages_bytes`. The rows of `lossless-reach` have the name of the
/// chip as the scheme, `queues` in `sweep`, and `reach_km` in `extra`.
///
/// # Errors
/// A game has more balls or colours than the limits allow, or the user stopped it.
pub fn run(spec: &ModelSpec, control: &Control) -> Result<Vec<RunResult>, ModelError> {
    match spec {
        ModelSpec::BallsIntoBins { .. } => balls::run(spec, control),
        ModelSpec::LoadImbalance { .. } => Ok(load_imbalance::run(spec)),
        ModelSpec::StateBits {} => Ok(state_bits::run()),
        ModelSpec::PacketTracking(spec) => Ok(packet_tracking::run(spec)),
        ModelSpec::LosslessReach(spec) => Ok(lossless_reach::run(spec)),
    }
}

/// A row that is not the result of a simulation.
fn row(scheme: &str, sweep: Option<(&str, i64)>, extra: BTreeMap<String, f64>) -> RunResult {
    let sweep = sweep.map(|(parameter, value)| (parameter.to_owned(), Value::Integer(value)));
    let run =
        RunRow { scheme: scheme.to_owned(), sweep: sweep.into_iter().collect(), extra, ..RunRow::default() };
    RunResult::new(run, Vec::new(), Vec::new(), Vec::new())
}

fn field_bits(field: &StateField) -> f64 {
    f64::from(field.bits) * f64::from(field.count)
}

/// The bytes that a NIC keeps for a queue pair, for transports that track messages.
fn of_transport(transport: &TransportConfig) -> BTreeMap<String, f64> {
    let Some(tracked) = transport.tracked_messages() else { return BTreeMap::new() };
    let state = transport.tracking(0);
    let bytes = |wanted: &dyn Fn(&StateField) -> bool| -> f64 {
        state.iter().filter(|field| wanted(field)).map(field_bits).sum::<f64>() / 8.0
    };
    let messages = bytes(&|field| MESSAGE_FIELDS.contains(&field.name));
    [
        ("transport_bytes", bytes(&|_| true)),
        ("messages_bytes", messages),
        ("message_bytes", messages / f64::from(tracked)),
    ]
    .map(|(name, bytes)| (name.to_owned(), bytes))
    .into()
}

/// The reason why a model has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The user stopped the computation.
    #[error("stopped")]
    Cancelled,
    /// The model has more balls or colours than the limit.
    #[error("the model has {count} {what}, more than {most}; lower {keys}")]
    TooLarge {
        /// The objects that are too many, in the plural.
        what: &'static str,
        /// The number of balls or colours that the model has.
        count: u64,
        /// The largest number that is allowed.
        most: u64,
        /// The keys of `[model]` to lower.
        keys: &'static str,
    },
}
