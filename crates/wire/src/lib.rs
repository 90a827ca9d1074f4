//! The encoding of every packet as bytes.
//!
//! [`encode()`] makes a frame from a packet of the protocol cores: Ethernet, IPv4 or IPv6, UDP to port 4791, a BTH,
//! the headers of the transport ([`Headers`](anabranch_proto::transport::Headers)), the payload, and the ICRC. Packets
//! of Ultra Ethernet go to port 4793, have the headers of Ultra Ethernet instead of a BTH, and have no ICRC.
//! [`decode()`] restores the packet and returns the payload. If the headers carry the offset of the payload in its
//! message, this offset is returned too. [`trim`] trims a packet as a switch with a full queue does. [`PauseFrame`] is
//! a pause frame of PFC. [`RoceFrame`] reads RoCEv2 packets of any implementation.
//!
//! Bytes that are no packet give an error, which names the field, its offset and the problem. No function of this
//! crate reads a clock or a file, and all results depend only on the arguments.
#![forbid(unsafe_code)]

mod bth;
mod bytes;
pub mod dcp;
mod decode;
mod encode;
mod error;
pub mod extension;
mod format;
mod frame;
mod icrc;
mod link;
mod mrc;
mod number;
mod pfc;
mod received;
pub mod strack;
pub mod uet;
mod uet_ack;
mod uet_packet;
mod uet_ses;

pub use bth::{
    ACK, AETH_BYTES, AVOIDANCE_BIT, Aeth, BTH_BYTES, Bth, EXTENSION_BIT, NACK, Position, RETH_BYTES,
    RETRY_BIT, SPRAYED_BIT, opcode,
};
pub use decode::{decode, trim};
pub use encode::{encode, encode_head};
pub use error::{Fault, WireError};
pub use format::{
    CONTROL_CLASS, DATA_CLASS, FIRST_QPN, Format, Memory, Payload, TRIMMED_CLASS, TRIMMED_LAST_HOP_CLASS, qpn,
};
pub use frame::{RoceFrame, Tail, encode_roce, frame_of_datagram};
pub use icrc::{ICRC_BYTES, icrc};
pub use link::{Addresses, CE, ECT0, ETHERNET_BYTES, Entropy, FCS_BYTES, Link, Route, SHORTEST, UDP_PORT};
pub use number::{Reference, nearest_psn};
pub use pfc::PauseFrame;
pub use received::Received;
pub use uet_ses::{SES_BYTES, WriteRequest};
