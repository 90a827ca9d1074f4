//! The engine's hosts and switches on real packets.
//!
//! A [`LiveNode`] is a node of the engine ([`DrivenNode`](anabranch_sim::DrivenNode)) whose packets are frames of
//! bytes: each data packet has its payload, which switches pass on and receivers write at its offset in the message.
//! This crate contains no protocol. It has bytes, clocks, sockets and processes.
//!
//! [`exact`] runs all nodes of a run in one thread with exact times. The results are then those of the simulator.

mod codec;
mod error;
mod exact;
mod messages;
mod node;
mod pattern;
mod stored;

pub use error::LiveError;
pub use exact::{ExactOutcome, exact};
pub use node::{Frame, LiveNode};
