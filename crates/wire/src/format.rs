//! The parameters of a queue pair's bytes, and the payload of a data packet.

use crate::bth::{BTH_BYTES, RETH_BYTES};
use crate::bytes::LIMIT_24;
use crate::dcp::SEND_BYTES;
use crate::extension::DATA_EXTENSION_BYTES;
use crate::icrc::ICRC_BYTES;
use crate::link::{Addresses, Entropy, FCS_BYTES};
use crate::strack::TICK;
use anabranch_base::{Duration, QpId};
use anabranch_proto::transport::{Headers, PayloadRange};

/// The parameters of a queue pair's bytes, which both ends know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The headers. Those that a transport has by itself are
    /// [`TransportProperties::headers`](anabranch_proto::transport::TransportProperties::headers); a driver may give
    /// [`Headers::Extended`] to a transport whose own headers leave fields of its packets to state at the sender.
    pub headers: Headers,
    /// The field that carries the entropy value.
    pub entropy: Entropy,
    /// The unit of times on the wire. A driver whose clock counts in it loses no part of a time.
    pub tick: Duration,
}

impl Format {
    /// The format with entropy values in dynamic ports and the usual tick.
    pub const fn new(headers: Headers) -> Self {
        Format { headers, entropy: Entropy::DynamicPort, tick: TICK }
    }

    /// Bytes of a data packet besides its payload, with the check sequence. With [`Headers::InOrder`] the first packet of
    /// a message has 16 more.
    pub const fn overhead(&self, ip: &Addresses) -> usize {
        let own = match self.headers {
            Headers::InOrder => 0,
            Headers::Direct => RETH_BYTES,
            Headers::Extended | Headers::Irn | Headers::Strack => RETH_BYTES + DATA_EXTENSION_BYTES,
            Headers::Dcp => SEND_BYTES + DATA_EXTENSION_BYTES,
        };
        ip.bth() + BTH_BYTES + own + ICRC_BYTES + FCS_BYTES
    }

    /// Whether the headers are RoCEv2's alone, so that times and messages are state of the two NICs.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.headers, Headers::InOrder | Headers::Direct)
    }
}

/// DSCP of packets in the class of data, as RoCE usually has it. DCP's packets have its tag in the DSCP.
pub const DATA_CLASS: u8 = 26;
/// DSCP of packets that overtake data.
pub const CONTROL_CLASS: u8 = 48;
/// DSCP of packets whose payload a switch cut off, and with it the ICRC.
pub const TRIMMED_CLASS: u8 = 49;

/// The least of the numbers of queue pairs: 0 and 1 are those of management.
pub const FIRST_QPN: u32 = 256;

/// The number of a queue pair on the wire, the same at both ends; none if it exceeds 24 bits.
pub fn qpn(qp: QpId) -> Option<u32> {
    qp.0.checked_add(FIRST_QPN).filter(|&number| number < LIMIT_24)
}

/// The memory of the receiver in which a message lies, as a RETH names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Address of the first byte of the message.
    pub address: u64,
    /// Remote key.
    pub key: u32,
}

/// The payload of a data packet that is to be encoded; the default for all other packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Payload<'a> {
    /// Its range, from the sender ([`Sender::payload_range`](anabranch_proto::transport::Sender::payload_range)).
    pub range: PayloadRange,
    /// The receiver's memory.
    pub memory: Memory,
    /// Its bytes.
    pub bytes: &'a [u8],
}
