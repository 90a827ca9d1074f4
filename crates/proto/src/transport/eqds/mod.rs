//! EQDS (NSDI 2022): the receiving host pulls.
//!
//! Reliability is that of `sack`: any order, selective acknowledgement, one timeout per packet. Beside it stands credit: a
//! packet goes out for credit alone, which the receiver grants in pull packets. Every receiving host paces its pulls at
//! its line rate and shares them out round robin ([`PullPacer`]). A new sender has a window of speculative credit, of
//! which the first answer takes what is left. Data packets say up to which pull the sender has demand; a sender without
//! credit says it in a request to send (RTS), again after each RTO without an answer.
//!
//! Numbers of pulls and targets are cumulative, so that a later one makes up for a lost one. Their unit is a full packet,
//! where EQDS counts bytes: one pull is for one packet there too, and a short last packet pays for a full one here.

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
