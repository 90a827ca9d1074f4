//! The `mp-rdma` transport: MP-RDMA ("Multi-Path Transport for RDMA in Datacenters", NSDI 2018), as DCP compares
//! itself with it (DCP, sections 3, 6.2 and 6.3).
//!
//! The receiver acknowledges every packet individually, on the same path, keeps those out of order in a small bitmap,
//! and refuses with a NACK what lies beyond it. Each ACK clocks out packets on its path, as many as the window allows
//! (multi-path ACK clocking). A path whose packets come back too late is given no more (out-of-order aware path
//! selection). A NACK or a timeout makes the sender restart at the lowest unacknowledged packet (go-back-N; DCP,
//! section 3). The network is kept lossless by PFC; there is no DCQCN.
//!
//! The window is the congestion control's (`mp-rdma`), the choice of paths the balancer's (`mp-rdma`). This transport
//! knows how many packets an ACK lets go and tells the balancer of the ACK once for each, since neither sees the
//! other. It takes no notice of a congestion control's rate.
//!
//! The text of the paper was not at hand, so that no section of it is named here. What the code follows is what its
//! abstract and later papers say of it, and three public simulations where they agree; where they do not, or say
//! nothing, the code says so. The third of its mechanisms, `synchronise`, which orders what is written to memory, is
//! left out: messages are delivered in order here anyhow.

mod config;
mod receiver;
mod sender;

pub use config::MpRdmaConfig;
pub use receiver::MpRdmaReceiver;
pub use sender::MpRdmaSender;
