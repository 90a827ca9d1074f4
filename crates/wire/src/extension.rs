//! The extension header, which carries the fields of the protocol cores' packets for which RoCEv2 has no room. It
//! comes after the standard headers of a packet (BTH, RETH, AETH, or a paper's own) and before the payload. The bit
//! [`EXTENSION_BIT`] of the BTH announces it. Devices that do not know the extension header treat it as payload.
//!
//! | Bytes | Field | Bit of byte 1 |
//! |---|---|---|
//! | 0 | 0xa1 | |
//! | 1 | the bits of the last column, each of which states whether a field is present | |
//! | 2-3 | bits of programs in switches ([`Packet::tag`](anabranch_proto::Packet::tag)) | |
//! | 4 B | time in ticks: when data or a probe was sent; for answers, when the answered packet was sent | 0 |
//! | 12 B | message, its number of packets, offset of the payload in it; 4 bytes each | 1 |
//! | 4 B | `dcp`: MSN and sRetryNo. `eqds`: the pull up to which there is demand | 2 |
//! | 12 B | 0 (1 byte), base PSN (3), bitmap of received PSNs (8) | 3 |
//! | 8 B | 0 (2 bytes), bitmap of the PSNs whose entropy values are echoed (6) | 4 |
//! | 4 B | timestamps of programs in switches | 5 |
//! | 4 B | flags (1 byte): a retransmission (bit 0), trimmed at the last hop (1), marked (2), in the control class (3); 0 (1); size on the wire before trimming, or 0 (2) | 6 |
//!
//! Bit 7 is reserved.
//!
//! [`EXTENSION_BIT`]: crate::bth::EXTENSION_BIT

use crate::bytes::{Cursor, put_u24};
use crate::error::WireError;
use anabranch_proto::{CarriedEvs, Msn};

const KIND: u8 = 0xa1;
/// The size in bytes of the extension header of a usual data packet, which has a time and a part of a message.
pub(crate) const DATA_EXTENSION_BYTES: usize = 20;

/// The position of the payload's offset within the extension header of data.
pub(crate) const OFFSET_IN_EXTENSION: usize = 16;

const TIME: u8 = 1 << 0;
const MESSAGE: u8 = 1 << 1;
const NUMBER: u8 = 1 << 2;
const BITMAP: u8 = 1 << 3;
const CARRIED: u8 = 1 << 4;
const STAMPS: u8 = 1 << 5;
const FLAGS: u8 = 1 << 6;
const RESERVED: u8 = !(TIME | MESSAGE | NUMBER | BITMAP | CARRIED | STAMPS | FLAGS);

/// The flag of a data packet that is a retransmission.
pub const RETRANSMITTED: u8 = 1 << 0;
/// The flag of a packet that the last switch before the receiver trimmed, and of its NACK.
pub const LAST_HOP: u8 = 1 << 1;
/// The flag of the NACK of a trimmed packet that was marked.
pub const MARKED: u8 = 1 << 2;
/// The flag of a probe with the priority of an ACK.
pub const CONTROL: u8 = 1 << 3;

/// The fields of an extension header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extension {
    /// The packet's tag, by which programs in switches exchange information.
    pub tag: u16,
    /// The lowest 32 bits of a time in ticks.
    pub time: Option<u32>,
    /// The part of a message that the packet carries.
    pub message: Option<MessagePart>,
    /// The number of the request (DCP), or the pull (EQDS).
    pub number: Option<Msn>,
    /// The base PSN with 24 bits, and the bitmap that begins at it.
    pub bitmap: Option<(u32, u64)>,
    /// The PSNs whose entropy values are echoed.
    pub carried: Option<CarriedEvs>,
    /// The packet's timestamps, by which programs in switches exchange times.
    pub stamps: Option<u32>,
    /// [`RETRANSMITTED`], [`LAST_HOP`], [`MARKED`] and [`CONTROL`].
    pub flags: u8,
    /// The size on the wire that a trimmed packet had, or 0. With neither size nor flags, their field is absent.
    pub data_bytes: u16,
}

/// The part of a message that a data packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessagePart {
    /// The number of the message.
    pub message: u32,
    /// The number of packets of the message, or of the request with DCP.
    pub packets: u32,
    /// The offset of the payload in the message.
    pub offset: u32,
}

impl Extension {
    /// Whether the header has no field at all.
    pub fn is_empty(&self) -> bool {
        *self == Extension::default()
    }

    fn has_flags(&self) -> bool {
        self.flags != 0 || self.data_bytes != 0
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let bit = |present: bool, bit: u8| if present { bit } else { 0 };
        let fields = bit(self.time.is_some(), TIME)
            | bit(self.message.is_some(), MESSAGE)
            | bit(self.number.is_some(), NUMBER)
            | bit(self.bitmap.is_some(), BITMAP)
            | bit(self.carried.is_some(), CARRIED)
            | bit(self.stamps.is_some(), STAMPS)
            | bit(self.has_flags(), FLAGS);
        out.extend([KIND, fields]);
        out.extend(self.tag.to_be_bytes());
        if let Some(time) = self.time {
            out.extend(time.to_be_bytes());
        }
        if let Some(MessagePart { message, packets, offset }) = self.message {
            [message, packets, offset].iter().for_each(|number| out.extend(number.to_be_bytes()));
        }
        if let Some(number) = self.number {
            out.extend(number.pull_target().to_be_bytes());
        }
        if let Some((base, bits)) = self.bitmap {
            out.push(0);
            put_u24(out, "base PSN", base)?;
            out.extend(bits.to_be_bytes());
        }
        if let Some(carried) = self.carried {
            out.extend(carried.bits().to_be_bytes());
        }
        if let Some(stamps) = self.stamps {
            out.extend(stamps.to_be_bytes());
        }
        if self.has_flags() {
            out.extend([self.flags, 0]);
            out.extend(self.data_bytes.to_be_bytes());
        }
        Ok(())
    }

    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<Extension, WireError> {
        let at = cursor.at();
        let kind = cursor.u8("extension header")?;
        if kind != KIND {
            return Err(WireError::value("extension header", at, kind, "0xa1"));
        }
        let fields = cursor.with_reserved("fields of the extension header", RESERVED)?;
        let has = |bit: u8| fields & bit != 0;
        let mut extension = Extension { tag: cursor.u16("tag")?, ..Extension::default() };
        if has(TIME) {
            extension.time = Some(cursor.u32("time")?);
        }
        if has(MESSAGE) {
            let [message, packets, offset] =
                [cursor.u32("message")?, cursor.u32("packets")?, cursor.u32("offset")?];
            extension.message = Some(MessagePart { message, packets, offset });
        }
        if has(NUMBER) {
            extension.number = Some(Msn::of_pull_target(cursor.u32("MSN or pull")?));
        }
        if has(BITMAP) {
            cursor.zeros("base PSN", 1)?;
            extension.bitmap = Some((cursor.u24("base PSN")?, cursor.u64("bitmap")?));
        }
        if has(CARRIED) {
            cursor.zeros("bitmap of entropy values", 2)?;
            let [a, b, c, d, e, f] = cursor.take("bitmap of entropy values")?;
            extension.carried = Some(CarriedEvs::new(u64::from_be_bytes([0, 0, a, b, c, d, e, f])));
        }
        if has(STAMPS) {
            extension.stamps = Some(cursor.u32("timestamps of programs")?);
        }
        if has(FLAGS) {
            let reserved = !(RETRANSMITTED | LAST_HOP | MARKED | CONTROL);
            extension.flags = cursor.with_reserved("flags", reserved)?;
            cursor.zeros("flags", 1)?;
            extension.data_bytes = cursor.u16("size before trimming")?;
        }
        Ok(extension)
    }
}
