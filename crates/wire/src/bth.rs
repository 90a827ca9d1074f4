//! The InfiniBand headers of RoCEv2: the base transport header (BTH), the RDMA extended transport header (RETH) and
//! the ACK extended transport header (AETH).
//!
//! | BTH | Field |
//! |---|---|
//! | 0 | opcode |
//! | 1 | solicited event, migration state, pad count (2 bits), version (4 bits, 0) |
//! | 2-3 | partition key |
//! | 4 | FECN, BECN, six reserved bits; the ICRC does not cover this byte, so that switches may change it |
//! | 5-7 | number of the queue pair at the destination |
//! | 8 | AckReq, seven reserved bits |
//! | 9-11 | PSN |
//!
//! RETH: address (8 bytes), key (4), length (4). AETH: syndrome (1), MSN (3).
//!
//! The reserved bits of byte 4, from the lowest:
//! - Bit 0, `dcp`: the highest bit of sRetryNo ([`dcp`](crate::dcp)).
//! - Bit 1: the packet was sprayed by Themis-S.
//! - Bit 2: this NACK is a Path Avoidance Signal (Themis-spraying, section 4.4: "a specific reserved bit").
//! - Bit 3: an [extension header](crate::extension) follows the standard headers.

use crate::bytes::{Cursor, put_u24};
use crate::error::{Fault, WireError};
use anabranch_proto::transport::dcp_reception::Reth;

/// Size of a BTH in bytes.
pub const BTH_BYTES: usize = 12;
/// Size of a RETH in bytes.
pub const RETH_BYTES: usize = 16;
/// Size of MRC's METH and TSETH together in bytes.
pub(crate) const METH_TSETH_BYTES: usize = 8;
/// Size of an AETH in bytes.
pub const AETH_BYTES: usize = 4;

/// Opcodes of reliable connections, RoCEv2's CNP opcode, and this project's own opcodes in the range for manufacturers
/// (from 0xc0).
pub mod opcode {
    /// The first of several packets of a Write. A RETH follows.
    pub const WRITE_FIRST: u8 = 0x06;
    /// A packet of a Write that is neither the first nor the last.
    pub const WRITE_MIDDLE: u8 = 0x07;
    /// The last of several packets of a Write.
    pub const WRITE_LAST: u8 = 0x08;
    /// The only packet of a Write. A RETH follows.
    pub const WRITE_ONLY: u8 = 0x0a;
    /// An ACK or a NACK. The AETH that follows tells which.
    pub const ACKNOWLEDGE: u8 = 0x11;
    /// A CNP. 16 reserved bytes follow.
    pub const CNP: u8 = 0x81;
    /// A pull of `eqds`.
    pub const PULL: u8 = 0xc0;
    /// A request to send of `eqds`.
    pub const RTS: u8 = 0xc1;
    /// A message between programs in switches.
    pub const PROGRAM: u8 = 0xc2;
    /// A packet of a user-defined transport.
    pub const CUSTOM: u8 = 0xc3;
    /// A trimmed packet on its way back to the sender, in a format without DCP's headers.
    pub const RETURNED: u8 = 0xc4;
    /// A SACK with the fields of STrack's figure 7 but no AETH, in a format without STrack's headers.
    pub const SACK: u8 = 0xc5;
    /// An ACK of `uet` in this crate's own format, or a SACK of `mrc` with MRC's headers.
    pub const UET_ACK: u8 = 0xc6;
    /// An endpoint request or response of `mrc`.
    pub const ENDPOINT: u8 = 0xc7;
    /// A NACK of `mrc`, with MRC's headers.
    pub const MRC_NACK: u8 = 0xc8;
    /// A reliability probe of `mrc`, with MRC's headers.
    pub const MRC_PROBE: u8 = 0xc9;
}

/// The AETH syndrome of an ACK that carries no credit count.
pub const ACK: u8 = 0x1f;
/// The AETH syndrome of a NACK for a gap in the PSNs.
pub const NACK: u8 = 0x60;

/// The bit of `reserved` that is the highest bit of DCP's sRetryNo.
pub const RETRY_BIT: u8 = 1 << 0;
/// The bit of `reserved` for a packet that Themis-S has sprayed.
pub const SPRAYED_BIT: u8 = 1 << 1;
/// The bit of `reserved` for a Path Avoidance Signal.
pub const AVOIDANCE_BIT: u8 = 1 << 2;
/// The bit of `reserved` for an extension header after the standard headers.
pub const EXTENSION_BIT: u8 = 1 << 3;

/// A base transport header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bth {
    /// The opcode, which determines the headers that follow ([`opcode`]).
    pub opcode: u8,
    /// The solicited event bit.
    pub solicited: bool,
    /// The migration state bit (MigReq).
    pub migrated: bool,
    /// The number of padding bytes after the payload, at most 3. They extend the payload to a multiple of four bytes.
    pub pad: u8,
    /// The partition key (P_Key), with 16 bits.
    pub partition: u16,
    /// The forward ECN bit.
    pub fecn: bool,
    /// The backward ECN bit, which is set in CNPs. Here it is also set in the ACKs of marked packets.
    pub becn: bool,
    /// The six reserved bits of byte 4.
    pub reserved: u8,
    /// The number of the queue pair at the destination, with 24 bits.
    pub qpn: u32,
    /// Whether the packet requests an ACK.
    pub ack_request: bool,
    /// The seven reserved bits of byte 8. In DCP they are the lower bits of sRetryNo.
    pub reserved_low: u8,
    /// The PSN, with 24 bits.
    pub psn: u32,
}

impl Bth {
    /// The partition key of the default partition.
    pub const DEFAULT_PARTITION: u16 = 0xffff;

    /// A header in the default partition.
    pub fn new(opcode: u8, qpn: u32, psn: u32) -> Self {
        Bth { opcode, partition: Bth::DEFAULT_PARTITION, qpn, psn, ..Bth::default() }
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let bit = |flag: bool, place: u32| u8::from(flag) << place;
        out.push(self.opcode);
        out.push(bit(self.solicited, 7) | bit(self.migrated, 6) | (self.pad & 0b11) << 4);
        out.extend(self.partition.to_be_bytes());
        out.push(bit(self.fecn, 7) | bit(self.becn, 6) | self.reserved & 0x3f);
        put_u24(out, "queue pair number", self.qpn)?;
        out.push(bit(self.ack_request, 7) | self.reserved_low & 0x7f);
        put_u24(out, "PSN", self.psn)
    }

    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<Bth, WireError> {
        let opcode = cursor.u8("BTH opcode")?;
        let flags = cursor.with_reserved("BTH version", 0x0f)?;
        let partition = cursor.u16("BTH partition key")?;
        let marks = cursor.u8("BTH FECN, BECN")?;
        let qpn = cursor.u24("BTH queue pair number")?;
        let asks = cursor.u8("BTH AckReq")?;
        Ok(Bth {
            opcode,
            solicited: flags & 0x80 != 0,
            migrated: flags & 0x40 != 0,
            pad: flags >> 4 & 0b11,
            partition,
            fecn: marks & 0x80 != 0,
            becn: marks & 0x40 != 0,
            reserved: marks & 0x3f,
            qpn,
            ack_request: asks & 0x80 != 0,
            reserved_low: asks & 0x7f,
            psn: cursor.u24("BTH PSN")?,
        })
    }
}

/// The position of a packet in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// The first of several packets.
    First,
    /// A packet that is neither the first nor the last.
    Middle,
    /// The last of several packets.
    Last,
    /// The only packet of the message.
    Only,
}

impl Position {
    /// The position of the bytes `offset..offset + bytes` in a message of `length` bytes.
    pub fn of(offset: u64, bytes: u64, length: u64) -> Position {
        match (offset == 0, offset.saturating_add(bytes) >= length) {
            (true, true) => Position::Only,
            (true, false) => Position::First,
            (false, false) => Position::Middle,
            (false, true) => Position::Last,
        }
    }
}

/// An ACK extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aeth {
    /// The kind of answer: [`ACK`], [`NACK`], or another syndrome of InfiniBand.
    pub syndrome: u8,
    /// The number of completed messages, with 24 bits. In DCP this is the eMSN. In other formats this is 0, because
    /// the protocol cores do not count messages.
    pub msn: u32,
}

impl Aeth {
    pub(crate) fn put(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        out.push(self.syndrome);
        put_u24(out, "AETH MSN", self.msn)
    }

    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<Aeth, WireError> {
        Ok(Aeth { syndrome: cursor.u8("AETH syndrome")?, msn: cursor.u24("AETH MSN")? })
    }
}

pub(crate) fn put_reth(out: &mut Vec<u8>, reth: &Reth) {
    out.extend(reth.address.to_be_bytes());
    out.extend(reth.key.to_be_bytes());
    out.extend(reth.length.to_be_bytes());
}

pub(crate) fn read_reth(cursor: &mut Cursor<'_>) -> Result<Reth, WireError> {
    Ok(Reth {
        address: cursor.u64("RETH address")?,
        key: cursor.u32("RETH key")?,
        length: cursor.u32("RETH length")?,
    })
}

pub(crate) fn u32_of(field: &'static str, at: usize, value: u64) -> Result<u32, WireError> {
    u32::try_from(value).map_err(|_| WireError::new(field, at, Fault::TooLarge { value, bits: 32 }))
}
