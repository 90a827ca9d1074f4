//! The parameters of the encoding of a queue pair's packets, and the payload of a data packet.

use crate::bth::{BTH_BYTES, METH_TSETH_BYTES, RETH_BYTES};
use crate::bytes::LIMIT_24;
use crate::dcp::SEND_BYTES;
use crate::error::{Fault, WireError};
use crate::extension::DATA_EXTENSION_BYTES;
use crate::icrc::ICRC_BYTES;
use crate::link::{Addresses, Entropy, FCS_BYTES};
use crate::strack::TICK;
use crate::uet::{CREDIT_TARGET_BYTES, REQUEST_BYTES};
use crate::uet_ses::SES_BYTES;
use anabranch_base::{Duration, QpId};
use anabranch_proto::transport::{Headers, PayloadRange};

/// The parameters of the encoding of a queue pair's packets. Both ends know them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The headers. [`TransportProperties::headers`](anabranch_proto::transport::TransportProperties::headers) gives
    /// the headers of each transport. They may leave out fields that the sender then has to store. A driver may choose
    /// [`Headers::Extended`] instead, which has these fields.
    pub headers: Headers,
    /// The field that carries the entropy value.
    pub entropy: Entropy,
    /// The unit of times on the wire. If it is the unit of a driver's clock, no part of a time is lost.
    pub tick: Duration,
}

impl Format {
    /// The format with these headers and the usual tick. With the headers of Ultra Ethernet, the entropy value is in
    /// the source port ([`Entropy::Port`]). With all other headers, it is in a dynamic port
    /// ([`Entropy::DynamicPort`]).
    pub const fn new(headers: Headers) -> Self {
        let entropy = match headers {
            Headers::Uet { .. } => Entropy::Port,
            _ => Entropy::DynamicPort,
        };
        Format { headers, entropy, tick: TICK }
    }

    /// The bytes of a usual data packet besides its payload, including the FCS. With [`Headers::InOrder`], the first
    /// packet of a message has 16 bytes more.
    pub const fn overhead(&self, ip: &Addresses) -> usize {
        let own = match self.headers {
            Headers::Uet { credit } => {
                let target = if credit { CREDIT_TARGET_BYTES } else { 0 };
                return ip.bth() + REQUEST_BYTES + target + SES_BYTES + FCS_BYTES;
            }
            Headers::InOrder => 0,
            Headers::Direct => RETH_BYTES,
            Headers::Mrc => RETH_BYTES + METH_TSETH_BYTES,
            Headers::Extended | Headers::Irn | Headers::Strack => RETH_BYTES + DATA_EXTENSION_BYTES,
            Headers::Dcp => SEND_BYTES + DATA_EXTENSION_BYTES,
        };
        ip.bth() + BTH_BYTES + own + ICRC_BYTES + FCS_BYTES
    }

    /// Whether the headers are only those of RoCEv2, so that the two NICs must keep times and messages as their own
    /// state.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.headers, Headers::InOrder | Headers::Direct)
    }
}

/// The DSCP of packets in the data class, which is the usual DSCP of RoCE. Data packets of DCP have DCP's tag instead.
pub const DATA_CLASS: u8 = 26;
/// The DSCP of packets that overtake data.
pub const CONTROL_CLASS: u8 = 48;
/// The DSCP of packets whose payload and ICRC a switch has cut off.
pub const TRIMMED_CLASS: u8 = 49;
/// The DSCP of packets that the last switch before the receiver has trimmed (Ultra Ethernet and MRC).
pub const TRIMMED_LAST_HOP_CLASS: u8 = 50;

/// The lowest number for queue pairs. The numbers 0 and 1 belong to management.
pub const FIRST_QPN: u32 = 256;

/// The number of a queue pair on the wire, which is the same at both ends. None if it exceeds 24 bits.
pub fn qpn(qp: QpId) -> Option<u32> {
    qp.0.checked_add(FIRST_QPN).filter(|&number| number < LIMIT_24)
}

/// The number of a queue pair, for the field at the offset `at` of a frame.
pub(crate) fn number_of(qp: QpId, at: usize) -> Result<u32, WireError> {
    let too_large = Fault::TooLarge { value: u64::from(qp.0) + u64::from(FIRST_QPN), bits: 24 };
    qpn(qp).ok_or(WireError::new("queue pair number", at, too_large))
}

/// The memory of the receiver in which a message is stored, as a RETH names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The address of the first byte of the message.
    pub address: u64,
    /// The remote key of this memory.
    pub key: u32,
}

/// The payload of a data packet that will be encoded. All other packets use the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Payload<'a> {
    /// The range of the payload in its message, from the sender
    /// ([`Sender::payload_range`](anabranch_proto::transport::Sender::payload_range)).
    pub range: PayloadRange,
    /// The memory of the receiver for the message.
    pub memory: Memory,
    /// The bytes of the payload.
    pub bytes: &'a [u8],
}
