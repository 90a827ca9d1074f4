//! The `go-back-n` transport: RoCEv2 as in NICs.
//!
//! The receiver accepts packets in order only. It acknowledges them cumulatively, one ACK for several, and answers a
//! gap with a NACK, at most one per `nack_interval` for the same ePSN. The sender then restarts at the missing packet.
//! DCQCN's notification point is in the receiver; its reaction point, or any other congestion control, gives the sender
//! a rate, a window, or both.

mod config;
mod receiver;
mod sender;

pub use config::GoBackNConfig;
pub use receiver::GoBackNReceiver;
pub use sender::GoBackNSender;
