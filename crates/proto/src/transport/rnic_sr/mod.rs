//! The `rnic-sr` transport: the selective repeat of commodity RDMA NICs, as Themis-spraying describes it
//! (section 2.3).
//!
//! The receiver places packets in any order and takes the first out-of-order packet for a sign of loss: one NACK per
//! ePSN. The sender answers a NACK with two packets. Losses that the NACKs do not repair wait for the timeout. A NIC
//! that ignores NACKs has only the timeout (section 2.2). DCQCN's notification point is in the receiver.

mod config;
mod receiver;
mod sender;

pub use config::RnicSrConfig;
pub use receiver::RnicSrReceiver;
pub use sender::RnicSrSender;
