//! `sack`: out-of-order delivery, selective acknowledgement, selective retransmission, fixed RTO.
//!
//! The transport that the REPS paper assumes (sections 2.1 and 4.1): the receiver places packets in any order,
//! acknowledges them by number and echoes each one's entropy value; the sender sends again what times out,
//! or at once what the fabric trimmed.

mod cached_state;
mod config;
mod receiver;
mod sender;

pub use cached_state::CachedState;
pub use config::{Inherits, SackConfig};
pub use receiver::SackReceiver;
pub use sender::SackSender;
