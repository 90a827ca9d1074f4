//! The engine's hosts and switches on real packets.
//!
//! A [`LiveNode`] is a node of the engine ([`DrivenNode`](anabranch_sim::DrivenNode)) whose packets are frames of
//! bytes: each data packet has its payload, which switches pass on and receivers write at its offset in the message.
//! This crate contains no protocol. It has bytes, clocks, sockets and processes.
//!
//! [`live`] runs the nodes in real time, in several processes. Veth pairs between network namespaces, or pairs of
//! sockets, are the links. [`exact()`] runs all nodes of a run in one thread with exact times. The results are then
//! those of the simulator.
//!
//! [`send`] and [`receive`] move files between two addresses with the protocol state machines of `anabranch-proto`,
//! without nodes and without dilation.

mod channel;
mod check;
mod clock;
mod codec;
mod error;
mod exact;
mod lateness;
mod messages;
mod namespaces;
mod node;
mod pattern;
mod plan;
mod record;
mod replay;
mod sockets;
mod stored;
mod testbed;
mod transfer;
mod worker;

pub use check::{Need, check};
pub use error::LiveError;
pub use exact::{ExactOutcome, FrameOnLink, exact, exact_observed};
pub use lateness::Lateness;
pub use namespaces::remove_left_behind;
pub use node::{Arrived, Frame, LiveNode, PayloadPlace};
pub use plan::{Work, check_run};
pub use replay::{Replayed, replay};
pub use testbed::{LATE_ONE_IN, Links, LiveOutcome, Settings, live};
pub use transfer::{
    CommonSettings, Input, Output, Progress, ReceiveSettings, SendSettings, Statistics, Stored,
    TransferParameters, VERSION, receive, send,
};
