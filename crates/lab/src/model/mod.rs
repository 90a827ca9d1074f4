//! Models behind figures that are no packet network. They give the same rows as a simulation, so that tables, plots
//! and claims work the same.

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

/// Names of the fields in DCP's state that it has once for each tracked message (DCP, section 4.5).
pub const MESSAGE_FIELDS: [&str; 3] = ["packet counter", "mcf", "Cf"];

/// Computes a model: one result a game or algorithm, in the order variant, parameter, seed.
///
/// The rows: `load-imbalance` has the schemes `random` and `hash`, `active_flows` and `evs` in `sweep`, and
/// `load_imbalance` in `extra`. `balls-into-bins` has the variant's name as the scheme, `ports` in `sweep` (and
/// `recycle_every` where there are several), and in
/// `extra` what [`balls`] lists; its curves are `queue_length_balls` of `bin:0` and so on (in games of at most
/// [`balls::MAX_BIN_CURVES`] bins) and `longest_queue_balls` of `bins`, with a round drawn as a microsecond.
/// `state-bits` has a row for each balancer with `state_bits` and `state_bits:FIELD` in `extra`; a balancer with a
/// buffer has one for a buffer of 1 and one for its own size, told apart by `buffer` in `sweep`;
/// a scheme with a program has `program_bytes`, that of Themis also `source_tor_bytes`, `destination_tor_bytes` and
/// `tor_bytes`; one with DCP's transport has `transport_bytes` (a queue pair), `message_bytes` (a tracked message) and
/// `messages_bytes` (all of them).
///
/// `packet-tracking` has the schemes `bdp-bitmap`, `linked-chunks` and `dcp`, and `degree` in `sweep`. In `extra` are
/// `queue_pair_bytes`, `all_bytes` (of all queue pairs), `cycles` a packet and `packet_rate_mpps`, of `dcp` also
/// `message_bytes` and `messages_bytes`. `lossless-reach` has each chip's name as the scheme, `queues` in `sweep`, and
/// `reach_km` in `extra`.
///
/// # Errors
/// A game too large to hold, or a user who stopped it.
pub fn run(spec: &ModelSpec, control: &Control) -> Result<Vec<RunResult>, ModelError> {
    match spec {
        ModelSpec::BallsIntoBins { .. } => balls::run(spec, control),
        ModelSpec::LoadImbalance { .. } => Ok(load_imbalance::run(spec)),
        ModelSpec::StateBits {} => Ok(state_bits::run()),
        ModelSpec::PacketTracking(spec) => Ok(packet_tracking::run(spec)),
        ModelSpec::LosslessReach(spec) => Ok(lossless_reach::run(spec)),
    }
}

/// A row without a simulation behind it.
fn row(scheme: &str, sweep: Option<(&str, i64)>, extra: BTreeMap<String, f64>) -> RunResult {
    let sweep = sweep.map(|(parameter, value)| (parameter.to_owned(), Value::Integer(value)));
    let run =
        RunRow { scheme: scheme.to_owned(), sweep: sweep.into_iter().collect(), extra, ..RunRow::default() };
    RunResult::new(run, Vec::new(), Vec::new(), Vec::new())
}

fn field_bits(field: &StateField) -> f64 {
    f64::from(field.bits) * f64::from(field.count)
}

/// The state of the transport that a NIC keeps for a queue pair, for transports that track messages: it does not depend on the
/// packets in flight.
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

/// The reason for a missing result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The user stopped it.
    #[error("stopped")]
    Cancelled,
    /// The numbers of a model multiply to more than a computer should try.
    #[error("the model has {count} {what}, more than {most}; lower {keys}")]
    TooLarge {
        /// The things that are too many, in the plural.
        what: &'static str,
        /// Their number.
        count: u64,
        /// The largest number that is allowed.
        most: u64,
        /// The keys of `[model]` to lower.
        keys: &'static str,
    },
}
