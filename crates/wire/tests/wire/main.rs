//! Tests of the encoding of packets: the bytes of single packets by hand, round trips of random packets, and refused
//! packets.

mod dcp;
mod errors;
mod mrc_packets;
mod packets;
mod pause;
mod roce;
mod strack;
mod support;
mod uet;
mod uet_packets;
