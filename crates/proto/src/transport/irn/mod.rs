//! The `irn` transport: RoCE with selective acknowledgement and a BDP of packets in flight, after Mittal et al.,
//! "Revisiting Network Support for RDMA" (SIGCOMM 2018), section 3, as DCP retells it (section 2.2).
//!
//! The receiver places packets in any order and names each one that comes out of order beside the ePSN: a SACK. The
//! sender keeps a bitmap of them. A SACK or a timeout puts it into loss recovery, once; there it sends each lost
//! packet again once. Lost is what has a SACKed packet above it. So a packet that overtakes another costs a
//! retransmission, and a retransmission that is lost costs a timeout: the two issues that DCP starts from.

mod config;
mod receiver;
mod sender;

pub use config::IrnConfig;
pub use receiver::IrnReceiver;
pub use sender::IrnSender;
