//! Time, units, ids, random streams and parameters: types that the other crates share.
//!
//! The crate has no networks and no protocols. Quantities are integers, so that results are equal on every machine.
#![forbid(unsafe_code)]

mod declared;
mod diagnostic;
mod foreign;
mod ids;
mod names;
mod parameter;
mod parameter_type;
mod random;
mod range;
mod registered;
mod text;
mod time;
mod units;

pub use declared::{Declared, Field, KindDeclaration, OutOfRange, meaning};
pub use diagnostic::{Code, Diagnostic, Fix, Problem, Severity, Span};
pub use foreign::{Panicked, catch_foreign, catch_panicked, foreign};
pub use ids::{GateId, HostId, LinkId, MessageId, NodeId, QpId};
pub use names::{is_misspelt, nearest};
pub use parameter::{Parameter, WrongValue};
pub use parameter_type::{
    ParameterType, ParameterValue, RATE_FORM, SIZE_FORM, TIME_FORM, ValueError, ValueFault, ValueForm,
    unknown_choice,
};
pub use random::{Purpose, Stream, draw_at, scaled, stream};
pub use range::{AboveZero, Range, Ranged};
pub use registered::{Parameters, Refused, Registered};
pub use text::{from_text, in_unit_of};
pub use time::{Duration, Time};
pub use units::{Bytes, Rate};
