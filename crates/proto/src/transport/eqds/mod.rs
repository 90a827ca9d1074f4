//! The `eqds` transport: EQDS (NSDI 2022), in which the receiving host pulls packets.
//!
//! Reliability is that of `sack`: delivery in any order, selective acknowledgement, one timeout per packet. In addition
//! a packet needs credit, which the receiver grants in pull packets. Every receiving host paces its pulls at its line
//! rate and distributes them round robin ([`PullPacer`]). A new sender has a window of speculative credit; the first
//! answer cancels the rest of it. Data packets carry the pull up to which the sender has demand. A sender without
//! credit sends that number in a request to send (RTS), and repeats it after each RTO without an answer.
//!
//! The numbers of pulls and targets are cumulative, so that a later packet compensates for the loss of an earlier one.
//! Their unit is a full packet, while EQDS counts bytes: one pull is for one packet there too, and a short last packet
//! costs as much as a full one here.

mod config;
mod pacer;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub use config::EqdsConfig;
pub use pacer::PullPacer;
pub use receiver::EqdsReceiver;
pub use sender::EqdsSender;
