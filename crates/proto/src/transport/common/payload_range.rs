//! The bytes of a message that a data packet carries.

use anabranch_base::MessageId;

/// The payload of a data packet, given by its place in the message. A driver with real buffers reads the payload from
/// this place, and the packet's headers carry the place to the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PayloadRange {
    /// The message that contains the payload.
    pub message: MessageId,
    /// Offset of the payload's first byte in the message.
    pub offset: u64,
    /// Length of the payload in bytes.
    pub bytes: u16,
    /// Length of the message in bytes.
    pub message_bytes: u64,
    /// With `dcp`, the offset of the payload's first byte in the packet's request. Otherwise it equals `offset`.
    pub request_offset: u64,
    /// With `dcp`, the length of the packet's request in bytes. Otherwise it equals `message_bytes`.
    pub request_bytes: u64,
}
