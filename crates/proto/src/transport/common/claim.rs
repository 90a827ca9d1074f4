//! The division of a message into packets.

use super::interface::OutOfPsns;
use super::payload_range::PayloadRange;
use anabranch_base::MessageId;

/// The largest distance from the lowest unacknowledged PSN to the first PSN that was never sent, for `sack`, `eqds`,
/// `strack` and `rack-tlp`. It bounds the memory of a queue pair whose lowest packet is lost repeatedly.
pub(in crate::transport) const MAX_SPAN: u32 = 1 << 16;

/// The PSNs that are assigned to a posted message.
pub(in crate::transport) struct Claim {
    pub first: u32,
    pub packets: u32,
    /// Size of the message's last packet on the wire.
    pub last_bytes: u16,
}

impl Claim {
    /// Claims the PSNs from `first` on for a message of `bytes` bytes.
    ///
    /// # Errors
    /// The message would need the PSN `most` or a later one.
    pub fn new(first: u32, most: u32, bytes: u64, payload: u32, header: u16) -> Result<Self, OutOfPsns> {
        let packets = bytes.div_ceil(u64::from(payload)).max(1);
        if packets > u64::from(most.saturating_sub(first)) {
            return Err(OutOfPsns);
        }
        let packets = packets as u32;
        let last_payload = bytes - u64::from(packets - 1) * u64::from(payload);
        Ok(Claim { first, packets, last_bytes: last_payload as u16 + header })
    }

    /// The PSN after the last one of the message.
    pub fn end(&self) -> u32 {
        self.first + self.packets
    }

    /// The payload of the packet `psn` of the message. None if `psn` belongs to another message.
    pub fn payload_range(
        &self,
        message: MessageId,
        psn: u32,
        payload: u32,
        header: u16,
    ) -> Option<PayloadRange> {
        let place = psn.checked_sub(self.first).filter(|&place| place < self.packets)?;
        let last_payload = self.last_bytes - header;
        let is_last = place + 1 == self.packets;
        let offset = u64::from(place) * u64::from(payload);
        let message_bytes = u64::from(self.packets - 1) * u64::from(payload) + u64::from(last_payload);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_packet_takes_what_is_left() {
        for (bytes, packets, last_bytes) in [(0, 1, 64), (1, 1, 65), (1_000, 1, 1_064), (1_001, 2, 65)] {
            let claim = Claim::new(7, u32::MAX, bytes, 1_000, 64).unwrap();
            assert_eq!((claim.packets, claim.last_bytes, claim.end()), (packets, last_bytes, 7 + packets));
        }
    }

    #[test]
    fn psns_run_out() {
        assert_eq!(Claim::new(90, 100, 10_000, 1_000, 64).map(|claim| claim.end()), Ok(100));
        assert_eq!(Claim::new(90, 100, 10_001, 1_000, 64).map(|claim| claim.end()), Err(OutOfPsns));
        for first in [0, 1, 90, u32::MAX] {
            assert!(Claim::new(first, u32::MAX, u64::MAX, 1, 64).is_err());
        }
        assert!(Claim::new(101, 100, 1, 1_000, 64).is_err());
    }
}
