//! Byte formats of DCP's packets (DCP, figure 4): its additions to RoCEv2, with all headers from the MAC on.
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
//! The paper specifies the fields of the data packet's first 57 bytes and their widths, the RETH in every packet of a
//! Write, the SSN in every packet of a Send and in the last one of a Write-with-Immediate, the sRetryNo, the eMSN in an
//! ACK, and two bits of the type of service. Choices made here:
//! - Numbers are in network byte order. MSN, eMSN and SSN have 24 bits.
//! - The tag is in the two lowest bits of the DSCP, so that the ECN keeps its own two.
//! - sRetryNo is in reserved bits of the BTH, which a trimmed packet keeps: its lower 7 bits in byte 50, below AckReq,
//!   its highest one in the lowest bit of byte 46.
//! - eMSN takes the place of the MSN in the AETH, whose meaning is nearly the same.
//! - A Send carries the offset of its packet and the length of the message: without the offset, a middle packet has a
//!   receive WQE but no place in its buffer; without the length, the number of packets is unknown. For a Write, RETH
//!   has both.
//! - Trimming does not change the UDP length: the text changes only the tag and the IP length (section 5). The UDP
//!   checksum is 0, as in RoCEv2.
//! - The invariant CRC, which a trimmed packet cannot have, and the frame check sequence are left out.

use crate::packet::Msn;
use crate::transport::dcp_reception::{Operation, Reth};

/// Size of a header-only packet in bytes (DCP, footnote 6): 14 MAC, 20 IP, 8 UDP, 12 BTH, 3 MSN, without the FCS and
/// the padding to Ethernet's minimum of 64 B.
pub const HEADER_ONLY_BYTES: usize = 57;

/// Size of an ACK in bytes.
pub const ACK_BYTES: usize = 58;

/// The UDP port of RoCEv2.
pub const UDP_PORT: u16 = 4791;

const MAC: usize = 14;
const IP: usize = 20;
const BTH: usize = MAC + IP + 8;
const AFTER_BTH: usize = BTH + 12;
const RETH_BYTES: usize = 16;
const WITH_IMMEDIATE_BYTES: usize = RETH_BYTES + 7;
const SEND_BYTES: usize = 11;
const TOS: usize = MAC + 1;
const ETHERTYPE_IPV4: u16 = 0x0800;
const ACKNOWLEDGE: u8 = 0x11;
const LIMIT_24: u32 = 1 << 24;
/// The position of the tag in the type of service.
const TAG_SHIFT: u32 = 2;
const TAG_MASK: u8 = 0b11 << TAG_SHIFT;

/// The DCP tag (DCP, section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// A packet of another protocol.
    Other = 0b00,
    /// An ACK.
    Ack = 0b01,
    /// Data, retransmissions included.
    Data = 0b10,
    /// A trimmed packet.
    HeaderOnly = 0b11,
}

/// The addresses of a packet, and its entropy value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// MAC address of the next hop.
    pub to_mac: [u8; 6],
    /// MAC address of the sender.
    pub from_mac: [u8; 6],
    /// IPv4 address of the sender.
    pub from: [u8; 4],
    /// IPv4 address of the receiver.
    pub to: [u8; 4],
    /// UDP source port: the entropy value.
    pub ev: u16,
    /// Queue pair number at the receiver; 24 bits.
    pub qpn: u32,
}

/// The position of a packet in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// The first of several packets.
    First,
    /// Neither first nor last.
    Middle,
    /// The last of several packets.
    Last,
    /// The only packet of the message.
    Only,
}

/// Headers of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Addresses and entropy value.
    pub route: Route,
    /// Lowest 24 bits of the PSN.
    pub psn: u32,
    /// The message, and its round.
    pub msn: Msn,
    /// AckReq: whether the message has a CQE.
    pub ack_request: bool,
    /// The position in the message.
    pub position: Position,
    /// The operation of the message.
    pub operation: Operation,
}

/// A packet of DCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A data packet and its payload.
    Data(Data, &'a [u8]),
    /// A header-only packet, on its way to the receiver or back.
    HeaderOnly {
        /// Addresses and entropy value.
        route: Route,
        /// Lowest 24 bits of the data packet's PSN.
        psn: u32,
        /// MSN of the data packet.
        msn: Msn,
    },
    /// An ACK.
    Ack {
        /// Addresses and entropy value.
        route: Route,
        /// eMSN: every message below is complete.
        expected: u32,
    },
}

/// An error of decoding or encoding a packet of DCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// There are too few bytes for the headers, or the number differs from that of the IP header.
    #[error("{have} bytes where the headers say {need}")]
    Length {
        /// The number of bytes.
        have: usize,
        /// The required number of bytes.
        need: usize,
    },
    /// The packet is not RoCEv2 over IPv4 without options.
    #[error("bytes {at} to {} are not those of RoCEv2 over IPv4: {found:#06x}", at + 1)]
    NotRoce {
        /// The offset of the two bytes.
        at: usize,
        /// Their value.
        found: u16,
    },
    /// The checksum of the IP header is wrong.
    #[error("the IP checksum is wrong")]
    Checksum,
    /// The tag does not match the opcode, or is not one of DCP.
    #[error("a DCP tag of {tag:#04b} with the opcode {opcode:#04x}")]
    Tag {
        /// The two bits.
        tag: u8,
        /// The BTH's opcode.
        opcode: u8,
    },
    /// Reserved bits are not 0.
    #[error("byte {at} is {found:#04x}; its reserved bits must be 0")]
    Reserved {
        /// The offset of the byte.
        at: usize,
        /// Its value.
        found: u8,
    },
    /// A number does not fit its field.
    #[error("the {field} {value} does not fit its field")]
    TooLarge {
        /// The field.
        field: &'static str,
        /// The number.
        value: usize,
    },
    /// A packet other than the last one carries an immediate value.
    #[error("only the last packet of a message carries an immediate")]
    EarlyImmediate,
}

impl Frame<'_> {
    /// Encodes the packet.
    ///
    /// # Errors
    /// A number does not fit its field, the payload does not fit a packet, or a packet other than the last one
    /// carries an immediate.
    pub fn encode(&self) -> Result<Vec<u8>, WireError> {
        match *self {
            Frame::Data(data, payload) => encode_data(&data, payload),
            Frame::HeaderOnly { route, psn, msn } => {
                // The original opcode is unknown here; receivers of header-only packets ignore it.
                let opcode = opcode(&Operation::Send { ssn: 0, offset: 0, length: 0 }, Position::Middle)?;
                let mut bytes = headers(&route, Tag::HeaderOnly, HEADER_ONLY_BYTES)?;
                put_bth(&mut bytes, opcode, &route, psn, msn.retry(), false)?;
                bytes.extend(u24_bytes("MSN", msn.number())?);
                Ok(bytes)
            }
            Frame::Ack { route, expected } => {
                let mut bytes = headers(&route, Tag::Ack, ACK_BYTES)?;
                put_bth(&mut bytes, ACKNOWLEDGE, &route, 0, 0, false)?;
                // Syndrome 0: an ACK without credits.
                bytes.push(0);
                bytes.extend(u24_bytes("eMSN", expected)?);
                Ok(bytes)
            }
        }
    }
}

/// Decodes a packet of DCP.
///
/// # Errors
/// The bytes are no packet of DCP.
pub fn decode(bytes: &[u8]) -> Result<Frame<'_>, WireError> {
    let route = check_headers(bytes)?;
    let tag = tag(bytes);
    let opcode = bytes[BTH];
    let wrong_tag = WireError::Tag { tag: tag as u8, opcode };
    let psn = number(&bytes[BTH + 9..BTH + 12]);
    match (tag, opcode) {
        (Tag::Ack, ACKNOWLEDGE) => {
            exactly(bytes, ACK_BYTES)?;
            let syndrome = bytes[AFTER_BTH];
            if syndrome != 0 {
                return Err(WireError::Reserved { at: AFTER_BTH, found: syndrome });
            }
            Ok(Frame::Ack { route, expected: number(&bytes[AFTER_BTH + 1..ACK_BYTES]) })
        }
        (Tag::HeaderOnly, opcode) if is_data(opcode) => {
            exactly(bytes, HEADER_ONLY_BYTES)?;
            Ok(Frame::HeaderOnly { route, psn, msn: msn(bytes) })
        }
        (Tag::Data, opcode) => {
            let (position, kind) = position_of(opcode).ok_or(wrong_tag)?;
            let need = HEADER_ONLY_BYTES + kind.bytes();
            let have = bytes.len();
            let (fields, payload) = bytes.split_at_checked(need).ok_or(WireError::Length { have, need })?;
            let operation = kind.read(&fields[HEADER_ONLY_BYTES..]);
            let ack_request = bytes[BTH + 8] & 0x80 != 0;
            Ok(Frame::Data(Data { route, psn, msn: msn(bytes), ack_request, position, operation }, payload))
        }
        _ => Err(wrong_tag),
    }
}

/// Trims a data packet as a switch does (DCP, section 4.2, packet trimming module; section 5): to its first 57 bytes,
/// with the tag and the IP length of a header-only packet.
///
/// # Errors
/// The bytes are no data packet of DCP.
pub fn trim(bytes: &[u8]) -> Result<[u8; HEADER_ONLY_BYTES], WireError> {
    check_headers(bytes)?;
    if tag(bytes) != Tag::Data {
        return Err(WireError::Tag { tag: tag(bytes) as u8, opcode: bytes[BTH] });
    }
    let (have, need) = (bytes.len(), HEADER_ONLY_BYTES);
    let mut left = *bytes.first_chunk().ok_or(WireError::Length { have, need })?;
    left[TOS] |= TAG_MASK;
    left[MAC + 2..MAC + 4].copy_from_slice(&((HEADER_ONLY_BYTES - MAC) as u16).to_be_bytes());
    put_checksum(&mut left);
    Ok(left)
}

/// Returns a header-only packet to the sender (DCP, section 4.1, step 2): source and destination are swapped, and the
/// queue pair is the sender's, which the receiver knows.
///
/// # Errors
/// The bytes are no header-only packet, or the number of the queue pair exceeds 24 bits.
pub fn turn_round(bytes: &mut [u8; HEADER_ONLY_BYTES], sender_qpn: u32) -> Result<(), WireError> {
    check_headers(bytes)?;
    if tag(bytes) != Tag::HeaderOnly {
        return Err(WireError::Tag { tag: tag(bytes) as u8, opcode: bytes[BTH] });
    }
    let qpn = u24_bytes("queue pair number", sender_qpn)?;
    let (to_mac, from_mac) = bytes[..12].split_at_mut(6);
    to_mac.swap_with_slice(from_mac);
    // Swapping the addresses does not change the checksum.
    let (from, to) = bytes[MAC + 12..MAC + IP].split_at_mut(4);
    from.swap_with_slice(to);
    bytes[BTH + 5..BTH + 8].copy_from_slice(&qpn);
    Ok(())
}

fn encode_data(data: &Data, payload: &[u8]) -> Result<Vec<u8>, WireError> {
    let Data { route, psn, msn, ack_request, position, operation } = data;
    let opcode = opcode(operation, *position)?;
    let kind = HeaderFields::of(operation);
    let mut bytes = headers(route, Tag::Data, HEADER_ONLY_BYTES + kind.bytes() + payload.len())?;
    put_bth(&mut bytes, opcode, route, *psn, msn.retry(), *ack_request)?;
    bytes.extend(u24_bytes("MSN", msn.number())?);
    match *operation {
        Operation::Write(reth) => put_reth(&mut bytes, reth),
        Operation::WriteWithImmediate { reth, ssn, immediate } => {
            put_reth(&mut bytes, reth);
            bytes.extend(u24_bytes("SSN", ssn)?);
            bytes.extend(immediate.to_be_bytes());
        }
        Operation::Send { ssn, offset, length } => {
            bytes.extend(u24_bytes("SSN", ssn)?);
            bytes.extend(offset.to_be_bytes());
            bytes.extend(length.to_be_bytes());
        }
    }
    bytes.extend(payload);
    Ok(bytes)
}

/// The MAC, IP and UDP headers of a packet of `length` bytes.
fn headers(route: &Route, tag: Tag, length: usize) -> Result<Vec<u8>, WireError> {
    let too_large = |_| WireError::TooLarge { field: "length", value: length };
    let ip_length = u16::try_from(length - MAC).map_err(too_large)?;
    let udp_length = ip_length - IP as u16;
    let mut bytes = Vec::with_capacity(length);
    bytes.extend(route.to_mac);
    bytes.extend(route.from_mac);
    bytes.extend(ETHERTYPE_IPV4.to_be_bytes());
    bytes.extend([0x45, (tag as u8) << TAG_SHIFT]);
    bytes.extend(ip_length.to_be_bytes());
    // No fragments, 64 hops, UDP, and a checksum that is set below.
    bytes.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    bytes.extend(route.from);
    bytes.extend(route.to);
    bytes.extend(route.ev.to_be_bytes());
    bytes.extend(UDP_PORT.to_be_bytes());
    bytes.extend(udp_length.to_be_bytes());
    bytes.extend([0, 0]);
    put_checksum(&mut bytes);
    Ok(bytes)
}

fn put_bth(
    bytes: &mut Vec<u8>,
    opcode: u8,
    route: &Route,
    psn: u32,
    retry: u8,
    ack_request: bool,
) -> Result<(), WireError> {
    // The default partition.
    bytes.extend([opcode, 0, 0xff, 0xff, retry >> 7]);
    bytes.extend(u24_bytes("queue pair number", route.qpn)?);
    bytes.push(u8::from(ack_request) << 7 | retry & 0x7f);
    bytes.extend(u24_bytes("PSN", psn)?);
    Ok(())
}

fn put_reth(bytes: &mut Vec<u8>, Reth { address, key, length }: Reth) {
    bytes.extend(address.to_be_bytes());
    bytes.extend(key.to_be_bytes());
    bytes.extend(length.to_be_bytes());
}

/// Checks the headers that all packets of DCP share.
fn check_headers(bytes: &[u8]) -> Result<Route, WireError> {
    let (have, need) = (bytes.len(), HEADER_ONLY_BYTES);
    if have < need {
        return Err(WireError::Length { have, need });
    }
    let two = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let expect = |at: usize, mask: u16, expected: u16| {
        let found = two(at);
        if found & mask == expected { Ok(()) } else { Err(WireError::NotRoce { at, found }) }
    };
    expect(12, 0xffff, ETHERTYPE_IPV4)?;
    expect(MAC, 0xff00, 0x4500)?;
    // UDP, and no fragment.
    expect(MAC + 6, 0xbfff, 0)?;
    expect(MAC + 8, 0x00ff, 17)?;
    expect(MAC + IP + 2, 0xffff, UDP_PORT)?;
    exactly(bytes, MAC + usize::from(two(MAC + 2)))?;
    if checksum(bytes) != 0 {
        return Err(WireError::Checksum);
    }
    let (flags, reserved) = (bytes[BTH + 1], bytes[BTH + 4]);
    if flags != 0 {
        return Err(WireError::Reserved { at: BTH + 1, found: flags });
    }
    if reserved & !1 != 0 {
        return Err(WireError::Reserved { at: BTH + 4, found: reserved });
    }
    let [to_mac, from_mac] = [0, 6].map(|at| std::array::from_fn(|i| bytes[at + i]));
    let [from, to] = [MAC + 12, MAC + 16].map(|at| std::array::from_fn(|i| bytes[at + i]));
    Ok(Route { to_mac, from_mac, from, to, ev: two(MAC + IP), qpn: number(&bytes[BTH + 5..BTH + 8]) })
}

fn exactly(bytes: &[u8], need: usize) -> Result<(), WireError> {
    let have = bytes.len();
    if have == need { Ok(()) } else { Err(WireError::Length { have, need }) }
}

fn tag(bytes: &[u8]) -> Tag {
    match (bytes[TOS] & TAG_MASK) >> TAG_SHIFT {
        0b01 => Tag::Ack,
        0b10 => Tag::Data,
        0b11 => Tag::HeaderOnly,
        _ => Tag::Other,
    }
}

fn msn(bytes: &[u8]) -> Msn {
    let retry = (bytes[BTH + 4] & 1) << 7 | bytes[BTH + 8] & 0x7f;
    Msn::new(number(&bytes[AFTER_BTH..HEADER_ONLY_BYTES]), retry)
}

/// The inverted one's complement sum of the IP header: 0 if the header has a correct checksum.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes[MAC..MAC + IP].chunks_exact(2);
    let sum: u32 = words.map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

fn put_checksum(bytes: &mut [u8]) {
    bytes[MAC + 10..MAC + 12].fill(0);
    let sum = checksum(bytes);
    bytes[MAC + 10..MAC + 12].copy_from_slice(&sum.to_be_bytes());
}

fn u24_bytes(field: &'static str, value: u32) -> Result<[u8; 3], WireError> {
    if value >= LIMIT_24 {
        return Err(WireError::TooLarge { field, value: value as usize });
    }
    let [_, a, b, c] = value.to_be_bytes();
    Ok([a, b, c])
}

/// Reads a number of at most four bytes in network byte order.
fn number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u32::from(byte))
}

/// The fields that follow the MSN, as the opcode determines them.
#[derive(Clone, Copy)]
enum HeaderFields {
    Write,
    WithImmediate,
    Send,
}

impl HeaderFields {
    fn of(operation: &Operation) -> Self {
        match operation {
            Operation::Write(_) => HeaderFields::Write,
            Operation::WriteWithImmediate { .. } => HeaderFields::WithImmediate,
            Operation::Send { .. } => HeaderFields::Send,
        }
    }

    fn bytes(self) -> usize {
        match self {
            HeaderFields::Write => RETH_BYTES,
            HeaderFields::WithImmediate => WITH_IMMEDIATE_BYTES,
            HeaderFields::Send => SEND_BYTES,
        }
    }

    /// Reads the fields, from exactly their number of bytes.
    fn read(self, bytes: &[u8]) -> Operation {
        let reth = || Reth {
            address: u64::from(number(&bytes[..4])) << 32 | u64::from(number(&bytes[4..8])),
            key: number(&bytes[8..12]),
            length: number(&bytes[12..16]),
        };
        match self {
            HeaderFields::Write => Operation::Write(reth()),
            HeaderFields::WithImmediate => Operation::WriteWithImmediate {
                reth: reth(),
                ssn: number(&bytes[16..19]),
                immediate: number(&bytes[19..23]),
            },
            HeaderFields::Send => Operation::Send {
                ssn: number(&bytes[..3]),
                offset: number(&bytes[3..7]),
                length: number(&bytes[7..11]),
            },
        }
    }
}

/// Opcodes of InfiniBand's reliable connections.
const OPCODES: [(u8, Position, HeaderFields); 10] = [
    (0x00, Position::First, HeaderFields::Send),
    (0x01, Position::Middle, HeaderFields::Send),
    (0x02, Position::Last, HeaderFields::Send),
    (0x04, Position::Only, HeaderFields::Send),
    (0x06, Position::First, HeaderFields::Write),
    (0x07, Position::Middle, HeaderFields::Write),
    (0x08, Position::Last, HeaderFields::Write),
    (0x09, Position::Last, HeaderFields::WithImmediate),
    (0x0a, Position::Only, HeaderFields::Write),
    (0x0b, Position::Only, HeaderFields::WithImmediate),
];

fn position_of(opcode: u8) -> Option<(Position, HeaderFields)> {
    OPCODES.iter().find(|known| known.0 == opcode).map(|&(_, position, kind)| (position, kind))
}

fn is_data(opcode: u8) -> bool {
    position_of(opcode).is_some()
}

fn opcode(operation: &Operation, position: Position) -> Result<u8, WireError> {
    let kind = HeaderFields::of(operation) as u8;
    let known = OPCODES.iter().find(|known| known.1 == position && known.2 as u8 == kind);
    // Every combination has an opcode except an immediate value before the last packet.
    known.map(|known| known.0).ok_or(WireError::EarlyImmediate)
}
