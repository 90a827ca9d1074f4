//! DCP's additions to RoCEv2 (DCP, figure 4). The offsets are those in a frame over IPv4.
//!
//! | Bytes | Field | data | header-only | ACK |
//! |---|---|---|---|---|
//! | 0-13 | MAC: destination, source, EtherType | x | x | x |
//! | 14-33 | IPv4; the DCP tag in its type of service | x | x | x |
//! | 34-41 | UDP, to port 4791 | x | x | x |
//! | 42-53 | BTH | x | x | x |
//! | 54-56 | MSN | x | x | |
//! | 54-57 | AETH: syndrome, eMSN | | | x |
//! | 57-72 | RETH: address, key, length of the message | Write, Write-with-Immediate | | |
//! | 73-79 | SSN, immediate | last packet of a Write-with-Immediate | | |
//! | 57-67 | SSN, offset, length of the message | Send | | |
//!
//! The paper specifies the fields of the data packet's first 57 bytes and their widths. It also specifies the RETH in
//! every packet of a Write, and the SSN in every packet of a Send and in the last packet of a Write-with-Immediate.
//! Further fields of the paper are the sRetryNo, the eMSN in an ACK, and two bits of the type of service. This module
//! makes these choices:
//! - Numbers are in network byte order. MSN, eMSN and SSN have 24 bits.
//! - The tag is in the two lowest bits of the DSCP, so that ECN keeps its own two bits.
//! - sRetryNo is in reserved bits of the BTH, which a trimmed packet keeps. Its lower 7 bits are in byte 50, below
//!   AckReq, and its highest bit is the lowest bit of byte 46.
//! - The eMSN takes the place of the MSN in the AETH, because both numbers have nearly the same meaning.
//! - A Send carries the offset of its packet and the length of the message. Without the offset, a middle packet would
//!   have a receive WQE but no position in the buffer of the WQE. Without the length, the number of packets would be
//!   unknown. A Write has both values in its RETH.
//! - Trimming does not change the UDP length, since the paper changes only the tag and the IP length (section 5). The
//!   UDP checksum is 0, as in RoCEv2.
//! - Data and ACKs end with an ICRC, as in RoCEv2. A trimmed packet cannot have one.

use crate::bth::{Bth, EXTENSION_BIT, Position, RETRY_BIT, opcode, put_reth, read_reth};
use crate::bytes::{Cursor, put_u24, u24_bytes};
use crate::error::{Fault, WireError};
use crate::extension::Extension;
use crate::frame::{FrameParts, RoceFrame};
use crate::link::{Addresses, Entropy, Link, shorten};
use anabranch_proto::Msn;
use anabranch_proto::transport::dcp_reception::Operation;

/// The size of a header-only packet over IPv4 in bytes (DCP, footnote 6): 14 MAC, 20 IP, 8 UDP, 12 BTH and 3 MSN. It
/// does not include the FCS or the padding to Ethernet's minimum of 64 B.
pub const HEADER_ONLY_BYTES: usize = 57;

const MSN_BYTES: usize = 3;
const TAG_MASK: u8 = 0b11;

/// The DCP tag, which tells the kind of a packet (DCP, section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// A packet of another protocol.
    Other = 0b00,
    /// The tag of an ACK.
    Ack = 0b01,
    /// The tag of a data packet, which may be a retransmission.
    Data = 0b10,
    /// The tag of a trimmed packet.
    HeaderOnly = 0b11,
}

impl Tag {
    /// The tag in a DSCP.
    pub fn of_dscp(dscp: u8) -> Tag {
        match dscp & TAG_MASK {
            0b01 => Tag::Ack,
            0b10 => Tag::Data,
            0b11 => Tag::HeaderOnly,
            _ => Tag::Other,
        }
    }
}

/// The headers of a data packet after its BTH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataHeaders {
    /// The message, and the round in which it is sent.
    pub msn: Msn,
    /// The position of the packet in its message.
    pub position: Position,
    /// The operation of the message.
    pub operation: Operation,
}

impl DataHeaders {
    /// The BTH of the packet with this PSN. `at` is the offset that the BTH will have in the frame.
    ///
    /// # Errors
    /// A packet other than the last one carries an immediate.
    pub fn bth(&self, at: usize, qpn: u32, psn: u32, ack_request: bool) -> Result<Bth, WireError> {
        let fields = Fields::of(&self.operation);
        let known = OPCODES.iter().find(|known| known.1 == self.position && known.2 == fields);
        // Every combination has an opcode, except that an immediate value may come only with the last packet.
        let early = WireError::new("immediate", at, Fault::NoRoom { value: self.position as u64 });
        let opcode = known.ok_or(early)?.0;
        Ok(with_retry(Bth { ack_request, ..Bth::new(opcode, qpn, psn) }, self.msn))
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        put_u24(out, "MSN", self.msn.number())?;
        match self.operation {
            Operation::Write(reth) => put_reth(out, &reth),
            Operation::WriteWithImmediate { reth, ssn, immediate } => {
                put_reth(out, &reth);
                put_u24(out, "SSN", ssn)?;
                out.extend(immediate.to_be_bytes());
            }
            Operation::Send { ssn, offset, length } => {
                put_u24(out, "SSN", ssn)?;
                out.extend(offset.to_be_bytes());
                out.extend(length.to_be_bytes());
            }
        }
        Ok(())
    }

    pub(crate) fn read(frame: &RoceFrame<'_>, cursor: &mut Cursor<'_>) -> Result<DataHeaders, WireError> {
        let (position, fields) = position_of(frame)?;
        let msn = msn(&frame.bth, cursor)?;
        let operation = match fields {
            Fields::Write => Operation::Write(read_reth(cursor)?),
            Fields::WithImmediate => Operation::WriteWithImmediate {
                reth: read_reth(cursor)?,
                ssn: cursor.u24("SSN")?,
                immediate: cursor.u32("immediate")?,
            },
            Fields::Send => Operation::Send {
                ssn: cursor.u24("SSN")?,
                offset: cursor.u32("offset")?,
                length: cursor.u32("length")?,
            },
        };
        Ok(DataHeaders { msn, position, operation })
    }
}

/// Writes a data packet of any operation to `out`, which is cleared first. `bth` must be the BTH of `headers`
/// ([`DataHeaders::bth`]), and the DSCP of `link` must have the tag for data.
///
/// # Errors
/// A number does not fit in its field, or the frame is longer than an IP packet may be.
pub fn encode_data(
    link: Link,
    entropy: Entropy,
    bth: Bth,
    headers: &DataHeaders,
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let extension = Extension::default();
    let parts = FrameParts { link, entropy, bth, extension, payload, has_icrc: true };
    parts.put(out, |out| headers.put(out))
}

/// Reads the headers of a data packet of any operation, and its payload.
///
/// # Errors
/// The frame is no data packet of DCP or is too short, its ICRC is wrong, or its extension header is invalid.
pub fn decode_data<'a>(frame: &RoceFrame<'a>) -> Result<(DataHeaders, Extension, &'a [u8]), WireError> {
    if Tag::of_dscp(frame.link.dscp) != Tag::Data {
        return Err(wrong_tag(frame));
    }
    let mut cursor = frame.fields()?;
    let headers = DataHeaders::read(frame, &mut cursor)?;
    let extension = frame.extension(&mut cursor)?;
    Ok((headers, extension, cursor.rest()))
}

/// The BTH of a header-only packet that is not made by trimming. The opcode of the original packet is unknown here, and
/// [`decode()`](crate::decode()) accepts the opcode of any data packet.
pub(crate) fn header_only_bth(qpn: u32, psn: u32, msn: Msn) -> Bth {
    with_retry(Bth::new(SEND_MIDDLE, qpn, psn), msn)
}

pub(crate) fn msn(bth: &Bth, cursor: &mut Cursor<'_>) -> Result<Msn, WireError> {
    let retry = (bth.reserved & RETRY_BIT) << 7 | bth.reserved_low;
    Ok(Msn::new(cursor.u24("MSN")?, retry))
}

fn with_retry(bth: Bth, msn: Msn) -> Bth {
    Bth { reserved: bth.reserved | msn.retry() >> 7, reserved_low: msn.retry() & 0x7f, ..bth }
}

pub(crate) fn wrong_tag(frame: &RoceFrame<'_>) -> WireError {
    let expected = match frame.bth.opcode {
        opcode::ACKNOWLEDGE => "the DCP tag 01 of an ACK",
        _ if is_data(frame.bth.opcode) => "the DCP tag 10 of data, or 11 of a header-only packet",
        _ => "the opcode of a Send, a Write or an ACK",
    };
    WireError::value("DSCP or opcode", frame.link.route.ip.bth(), frame.link.dscp, expected)
}

/// Trims a data packet as a switch does (DCP, section 4.2, packet trimming module; section 5). The headers up to the
/// MSN remain, and the tag and the IP length become those of a header-only packet.
///
/// # Errors
/// The bytes are no data packet of DCP. The bytes are then not changed.
pub fn trim(bytes: &mut Vec<u8>) -> Result<(), WireError> {
    let frame = RoceFrame::decode(bytes, Entropy::Port)?;
    if Tag::of_dscp(frame.link.dscp) != Tag::Data || !is_data(frame.bth.opcode) {
        return Err(wrong_tag(&frame));
    }
    msn(&frame.bth, &mut frame.trimmed_fields())?;
    let (end, link) = (frame.behind_bth() + MSN_BYTES, frame.link);
    let marks = link.route.ip.bth() + 4;
    bytes.truncate(end);
    // The extension header has been cut off.
    bytes[marks] &= !EXTENSION_BIT;
    shorten(bytes, &link.route.ip, link.dscp | TAG_MASK);
    Ok(())
}

/// Redirects a header-only packet to the sender (DCP, section 4.1, step 2). Source and destination are swapped. The
/// destination queue pair becomes `sender_qpn`, the queue pair of the sender.
///
/// # Errors
/// The bytes are no header-only packet, or `sender_qpn` exceeds 24 bits. The bytes are then not changed.
pub fn turn_round(bytes: &mut [u8], sender_qpn: u32) -> Result<(), WireError> {
    let frame = RoceFrame::decode(bytes, Entropy::Port)?;
    if Tag::of_dscp(frame.link.dscp) != Tag::HeaderOnly {
        return Err(wrong_tag(&frame));
    }
    let ip = frame.link.route.ip;
    let qpn_at = ip.bth() + 5;
    let qpn = u24_bytes("queue pair number", qpn_at, sender_qpn)?;
    swap(bytes, 0, 6);
    // Swapping the addresses does not change the IP checksum.
    match ip {
        Addresses::V4 { .. } => swap(bytes, 26, 4),
        Addresses::V6 { .. } => swap(bytes, 22, 16),
    }
    bytes[qpn_at..qpn_at + 3].copy_from_slice(&qpn);
    Ok(())
}

fn swap(bytes: &mut [u8], at: usize, length: usize) {
    let (first, second) = bytes[at..at + 2 * length].split_at_mut(length);
    first.swap_with_slice(second);
}

/// The fields after the MSN, which the opcode determines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fields {
    Write,
    WithImmediate,
    Send,
}

impl Fields {
    fn of(operation: &Operation) -> Self {
        match operation {
            Operation::Write(_) => Fields::Write,
            Operation::WriteWithImmediate { .. } => Fields::WithImmediate,
            Operation::Send { .. } => Fields::Send,
        }
    }
}

const SEND_MIDDLE: u8 = 0x01;

/// The opcodes of data packets, as for InfiniBand's reliable connections.
const OPCODES: [(u8, Position, Fields); 10] = [
    (0x00, Position::First, Fields::Send),
    (SEND_MIDDLE, Position::Middle, Fields::Send),
    (0x02, Position::Last, Fields::Send),
    (0x04, Position::Only, Fields::Send),
    (opcode::WRITE_FIRST, Position::First, Fields::Write),
    (opcode::WRITE_MIDDLE, Position::Middle, Fields::Write),
    (opcode::WRITE_LAST, Position::Last, Fields::Write),
    (0x09, Position::Last, Fields::WithImmediate),
    (opcode::WRITE_ONLY, Position::Only, Fields::Write),
    (0x0b, Position::Only, Fields::WithImmediate),
];

fn position_of(frame: &RoceFrame<'_>) -> Result<(Position, Fields), WireError> {
    let known = OPCODES.iter().find(|known| known.0 == frame.bth.opcode);
    known.map(|&(_, position, fields)| (position, fields)).ok_or_else(|| wrong_tag(frame))
}

pub(crate) fn is_data(opcode: u8) -> bool {
    OPCODES.iter().any(|known| known.0 == opcode)
}

/// The size in bytes of the headers between the BTH and the payload of a Send.
pub(crate) const SEND_BYTES: usize = MSN_BYTES + 11;
