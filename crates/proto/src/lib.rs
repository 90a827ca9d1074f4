//! The protocols as pure state machines.
//!
//! There is no clock, IO, thread or global state: the current time is an argument. The state machines are called
//! cores. Most of their methods are `handle_*` (an event occurred) and `poll_*` (the next output). The same code can
//! drive a simulated NIC or a real one.
#![forbid(unsafe_code)]

pub mod cc;
mod conflict;
mod interface;
pub mod lb;
mod packet;
pub mod program;
mod psn_set;
mod relative;
mod state;
mod telemetry;
pub mod transport;

pub use cc::CcConfig;
pub use conflict::Conflict;
pub use lb::LbConfig;
pub use packet::{CarriedEvs, EndpointOp, MAX_OUT_OF_ORDER, Msn, Packet, Repr, SackCause};
pub use program::ProgramConfig;
pub use relative::{Pace, PathFacts, Size, Span, Threshold};
pub use state::StateField;
pub use telemetry::{IntHop, IntStack};
pub use transport::TransportConfig;
