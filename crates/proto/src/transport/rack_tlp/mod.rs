//! The `rack-tlp` transport: loss detection by time (RFC 8985), as in DCP's comparison (sections 6.3 and 8).
//!
//! The sender knows the time at which it last sent each packet, retransmissions included, and learns from each ACK when
//! the packet that caused it was sent. A packet that was sent earlier than that by more than a reordering window is
//! lost. So packets may overtake each other within the window, and the loss of a retransmission is detected like any
//! other. A probe detects a lost tail, after which nothing was sent; the timeout is the last resort. The receiver is
//! `irn`'s.

mod config;
mod flights;
mod sender;

pub use config::RackTlpConfig;
pub use sender::RackTlpSender;
