//! The `irn` transport: RoCE with selective acknowledgement and a BDP of packets in flight, after Mittal et al.,
//! "Revisiting Network Support for RDMA" (SIGCOMM 2018), section 3, as DCP describes it (section 2.2).
//!
//! The receiver places packets in any order; an out-of-order packet is acknowledged by a SACK, which carries its PSN
//! and the ePSN. The sender keeps a bitmap of the SACKed packets. A SACK or a timeout begins a loss recovery, in which
//! the sender retransmits each lost packet once. A packet is declared lost if a higher PSN was SACKed. So reordering
//! costs a spurious retransmission, and the loss of a retransmission costs a timeout: the two issues that motivate DCP.

mod config;
mod receiver;
mod sender;

pub use config::IrnConfig;
pub use receiver::IrnReceiver;
pub use sender::IrnSender;
