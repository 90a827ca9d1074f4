//! Time, units, ids, random streams and parameters: the words every other crate speaks.
//!
//! Nothing here knows networks or protocols. All quantities are integers, so that every machine agrees.
#![forbid(unsafe_code)]

mod declared;
mod diagnostic;
mod foreign;
mod ids;
mod names;
mod parameter;
mod random;
mod registered;
mod text;
mod time;
mod units;

pub use declared::{Declared, Field, Kind, OutOfRange, meaning};
pub use diagnostic::{Code, Diagnostic, Fix, Problem, Severity, Span};
pub use foreign::{Panicked, catch_foreign, catch_panicked, foreign};
pub use ids::{GateId, HostId, LinkId, MessageId, NodeId, QpId};
pub use names::{is_misspelt, nearest};
pub use parameter::{AboveZero, Parameter, ParameterType, ParameterValue, Range, Ranged, WrongValue};
pub use random::{Purpose, Stream, drawn_at, scaled, stream};
pub use registered::{Parameters, Refused, Registered};
pub use text::{ParseUnitError, from_text};
pub use time::{Duration, Time};
pub use units::{Bytes, Rate};
