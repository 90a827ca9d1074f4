//! `strack`: out-of-order delivery, coalesced selective acknowledgement, three ways to find a loss (STrack,
//! section 3.3).
//!
//! The receiver sends a SACK when enough bytes came, when the ePSN moves, and when it is asked; each names 64 PSNs
//! and counts the bytes that came and the packets since the ePSN stands still. From these the sender knows what
//! is in flight and what is lost.

mod outgoing;
mod receiver;
mod sender;

pub use receiver::StrackReceiver;
pub(super) use sender::MAX_SPAN;
pub use sender::StrackSender;
