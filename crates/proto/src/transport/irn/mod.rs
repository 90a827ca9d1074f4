//! The `irn` transport: RoCE with selective acknowledgement and a BDP of packets in flight, after Mittal et al.,
//! "Revisiting Network Support for RDMA" (SIGCOMM 2018), section 3, as DCP retells it (section 2.2).
//!
//! The receiver places packets in any order; an out-of-order packet is acknowledged by a SACK, which carries its PSN
//! and the ePSN. The sender keeps a bitmap of them. A SACK or a timeout puts it into loss recovery, once; there it
//! sends each lost packet again once. A packet is declared lost if a higher PSN was SACKed. So reordering costs a
//! (spurious) retransmission, and a retransmission that is lost costs a timeout: the two issues that DCP starts from.

mod config;
mod receiver;
mod sender;

pub use config::IrnConfig;
pub use receiver::IrnReceiver;
pub use sender::IrnSender;
