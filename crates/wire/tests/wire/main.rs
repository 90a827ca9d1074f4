//! Bytes of packets: those of one packet by hand, round trips of random ones, and what is refused.

mod dcp;
mod errors;
mod packets;
mod pause;
mod roce;
mod strack;
mod support;
mod uet;
