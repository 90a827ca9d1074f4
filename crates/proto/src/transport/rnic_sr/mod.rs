//! The `rnic_sr` transport: the selective repeat of commodity RDMA NICs, as Themis-spraying describes it
//! (section 2.3).
//!
//! The receiver places every packet where it belongs, whatever the order, and treats the first out-of-order packet
//! as a sign of loss: one NACK per ePSN. The sender answers a NACK with two packets. What the NACKs do not
//! repair waits for the timeout. A NIC that does not hear NACKs has the timeout alone (section 2.2). DCQCN's
//! notification point is in the receiver.

mod config;
mod receiver;
mod sender;

pub use config::RnicSrConfig;
pub use receiver::RnicSrReceiver;
pub use sender::RnicSrSender;
