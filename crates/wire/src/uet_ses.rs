//! The standard request header of Ultra Ethernet's semantic sublayer (UE Specification 1.0, section 3.4.2), as far as
//! a Write uses it. It has 44 bytes.
//!
//! | Bytes | Field |
//! |---|---|
//! | 0 | 2 reserved bits, opcode (6 bits): 1 for a Write |
//! | 1 | version (2 bits): 0; delivery complete, initiator error, relative addressing, header data: all 0; end of message, start of message |
//! | 2-3 | message |
//! | 4-7 | generation of the resource index (1), job (3): 0 |
//! | 8-11 | process at the destination (2), resource index (2): 0 |
//! | 12-19 | buffer offset: the address of the message |
//! | 20-23 | initiator: 0 |
//! | 24-31 | memory key |
//! | 32-39 | at the start of a message its header data: 0; elsewhere 18 reserved bits, payload length (14 bits), offset in the message (4) |
//! | 40-43 | length of the message |

use crate::bytes::Cursor;
use crate::error::{Fault, WireError};

/// Size of the header in bytes.
pub const SES_BYTES: usize = 44;

const WRITE: u8 = 1;
const END: u8 = 1 << 1;
const START: u8 = 1 << 0;

const LENGTH_BITS: u8 = 14;

/// The header of a packet of a Write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteRequest {
    /// The message, with 16 bits.
    pub message: u16,
    /// The address at which the message is stored.
    pub buffer_offset: u64,
    /// The key of the memory.
    pub memory_key: u64,
    /// The offset of the payload in the message.
    pub offset: u32,
    /// The number of bytes of the payload. The packet that starts a message has no field for this number.
    pub payload_bytes: u16,
    /// The number of bytes of the message.
    pub message_bytes: u32,
    /// Whether the message ends with this packet.
    pub is_end: bool,
}

impl WriteRequest {
    /// Appends the header to `out`.
    ///
    /// # Errors
    /// The payload is too long for its field.
    pub fn put(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let is_start = self.offset == 0;
        let flags = if is_start { START } else { 0 } | if self.is_end { END } else { 0 };
        let at = out.len();
        out.extend([WRITE, flags]);
        out.extend(self.message.to_be_bytes());
        out.extend([0; 8]);
        out.extend(self.buffer_offset.to_be_bytes());
        out.extend([0; 4]);
        out.extend(self.memory_key.to_be_bytes());
        let length = if is_start { 0 } else { self.payload_bytes };
        if length >> LENGTH_BITS != 0 {
            let fault = Fault::TooLarge { value: length.into(), bits: LENGTH_BITS };
            return Err(WireError::new("payload length", at + 34, fault));
        }
        out.extend(u32::from(length).to_be_bytes());
        out.extend(self.offset.to_be_bytes());
        out.extend(self.message_bytes.to_be_bytes());
        Ok(())
    }

    /// Reads the header. All bytes after it are the payload.
    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<WriteRequest, WireError> {
        let at = cursor.at();
        let opcode = cursor.u8("SES opcode")?;
        if opcode != WRITE {
            return Err(WireError::value("SES opcode", at, opcode, "1 (Write)"));
        }
        let flags = cursor.with_reserved("SES flags", !(END | START))?;
        let message = cursor.u16("message")?;
        cursor.zeros("job", 4)?;
        cursor.zeros("resource", 4)?;
        let buffer_offset = cursor.u64("buffer offset")?;
        cursor.zeros("initiator", 4)?;
        let memory_key = cursor.u64("memory key")?;
        let length = cursor.u32("payload length")?;
        let offset = cursor.u32("message offset")?;
        let message_bytes = cursor.u32("request length")?;
        let have = cursor.rest().len();
        let is_start = flags & START != 0;
        if is_start != (offset == 0) || is_start && length != 0 {
            return Err(WireError::value("SES flags", at + 1, flags, "start of message at offset 0 alone"));
        }
        if !is_start && length as usize != have {
            return Err(WireError::value("payload length", at + 32, length, "the bytes after the header"));
        }
        Ok(WriteRequest {
            message,
            buffer_offset,
            memory_key,
            offset,
            payload_bytes: have as u16,
            message_bytes,
            is_end: flags & END != 0,
        })
    }
}
