//! The bytes of a message that a data packet carries.

use super::claim::Claim;
use anabranch_base::MessageId;

/// The payload of a data packet, given by its place in the message that was posted on this queue pair. A driver with
/// real buffers reads the payload from there, and a packet's headers carry the place to the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PayloadRange {
    /// The message.
    pub message: MessageId,
    /// Offset of the first byte in the message.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u16,
    /// Length of the message in bytes.
    pub message_bytes: u64,
    /// With `dcp`, the offset of the first byte in the request that carries this part of the message. Otherwise it
    /// equals `offset`.
    pub request_offset: u64,
    /// With `dcp`, the length of that request in bytes. Otherwise it equals `message_bytes`.
    pub request_bytes: u64,
}

impl PayloadRange {
    /// The payload of the packet `psn` of a message with the PSNs of `claim`. None if `psn` belongs to another message.
    pub(in crate::transport) fn of(
        message: MessageId,
        claim: &Claim,
        psn: u32,
        payload: u32,
        header: u16,
    ) -> Option<PayloadRange> {
        let place = psn.checked_sub(claim.first).filter(|&place| place < claim.packets)?;
        let last_payload = claim.last_bytes - header;
        let is_last = place + 1 == claim.packets;
        let offset = u64::from(place) * u64::from(payload);
        let message_bytes = u64::from(claim.packets - 1) * u64::from(payload) + u64::from(last_payload);
        Some(PayloadRange {
            message,
            offset,
            bytes: if is_last { last_payload } else { payload as u16 },
            message_bytes,
            request_offset: offset,
            request_bytes: message_bytes,
        })
    }
}
