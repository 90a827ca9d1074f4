//! The `rack-tlp` transport: losses found by time (RFC 8985), as DCP compares itself with it (sections 6.3 and 8).
//!
//! The sender knows when it last sent each packet, retransmissions too, and learns from each ACK when the packet
//! that caused it was sent. What was sent before that, by more than a reordering window, is lost: so packets may
//! overtake each other within the window, and a retransmission that is lost is found as any other packet is. A tail
//! that nothing was sent after is found by a probe; the timeout is the last resort. The receiver is `irn`'s.

mod config;
mod flights;
mod sender;

pub use config::RackTlpConfig;
pub use sender::RackTlpSender;
