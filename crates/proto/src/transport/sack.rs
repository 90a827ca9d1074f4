//! `sack`: out-of-order delivery, selective acknowledgement, selective retransmission, fixed RTO.
//!
//! This is the transport that the REPS paper assumes (sections 2.1 and 4.1): the receiver places packets in any order,
//! acknowledges them by number and echoes the entropy value of each. The sender retransmits a packet when its timer
//! expires, or at once if the fabric trimmed it.

mod cached_state;
mod config;
mod receiver;
mod sender;

pub use cached_state::CachedState;
pub use config::{Inherits, SackConfig};
pub use receiver::SackReceiver;
pub use sender::SackSender;
