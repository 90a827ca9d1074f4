//! `strack`: out-of-order delivery, coalesced selective acknowledgement and three kinds of loss detection (STrack,
//! section 3.3).
//!
//! The receiver sends a SACK when enough bytes have arrived, when the ePSN advances, and on request. A SACK has a
//! bitmap of 64 PSNs and counts the received bytes and the packets since the ePSN last advanced. From these counts the
//! sender derives the bytes in flight and the losses.

mod config;
mod outgoing;
mod receiver;
mod sender;

pub use config::StrackConfig;
pub use receiver::StrackReceiver;
pub use sender::StrackSender;
