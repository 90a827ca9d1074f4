//! The messages of a sender whose packets may be acknowledged in any order, and the PSNs of each message.

use super::claim::{Claim, MAX_SPAN};
use super::interface::OutOfPsns;
use super::messages::PacketInfo;
use super::payload_range::PayloadRange;
use anabranch_base::MessageId;
use std::collections::VecDeque;

/// Unacknowledged messages, in the order of their PSNs.
pub(in crate::transport) struct Outgoing {
    /// The first message with unacknowledged packets. It is stored inline, so that most queue pairs follow no pointer.
    first: Message,
    /// The first PSN that is not assigned to a message.
    end: u32,
    payload: u32,
    header: u16,
    packet_bytes: u16,
    later: VecDeque<Message>,
    acknowledged: VecDeque<MessageId>,
}

struct Message {
    id: MessageId,
    first: u32,
    packets: u32,
    unacked: u32,
    last_bytes: u16,
}

const NO_MESSAGE: Message = Message { id: MessageId(0), first: 0, packets: 0, unacked: 0, last_bytes: 0 };

impl Outgoing {
    pub fn new(payload: u64, header: u64) -> Self {
        Outgoing {
            first: NO_MESSAGE,
            end: 0,
            payload: payload as u32,
            header: header as u16,
            packet_bytes: (payload + header) as u16,
            later: VecDeque::new(),
            acknowledged: VecDeque::new(),
        }
    }

    #[inline]
    pub fn end(&self) -> u32 {
        self.end
    }

    /// Size of a full packet on the wire.
    #[inline]
    pub fn packet_bytes(&self) -> u16 {
        self.packet_bytes
    }

    pub fn post(&mut self, id: MessageId, bytes: u64) -> Result<(), OutOfPsns> {
        let most = u32::MAX - MAX_SPAN - 1;
        let claim = Claim::new(self.end, most, bytes, self.payload, self.header)?;
        self.end = claim.end();
        let Claim { first, packets, last_bytes } = claim;
        let message = Message { id, first, packets, unacked: packets, last_bytes };
        if self.first.packets == 0 {
            self.first = message;
        } else {
            self.later.push_back(message);
        }
        Ok(())
    }

    /// The message and size of the packet with this PSN. Its message must not yet be acknowledged completely.
    #[inline]
    pub fn packet_info(&self, psn: u32) -> PacketInfo {
        let slot = self.slot_of(psn);
        let message = if slot == 0 { &self.first } else { &self.later[slot - 1] };
        let is_last = psn + 1 == message.first + message.packets;
        let bytes = if is_last { message.last_bytes } else { self.packet_bytes };
        PacketInfo { message: message.id, message_packets: message.packets, bytes }
    }

    pub fn payload_range(&self, psn: u32) -> Option<PayloadRange> {
        let slot = self.slot_of(psn);
        let message = if slot == 0 { &self.first } else { self.later.get(slot - 1)? };
        let &Message { id, first, packets, last_bytes, .. } = message;
        Claim { first, packets, last_bytes }.payload_range(id, psn, self.payload, self.header)
    }

    /// Counts a packet as acknowledged. Its message must not yet be acknowledged completely.
    #[inline]
    pub fn acknowledge(&mut self, psn: u32) {
        let slot = self.slot_of(psn);
        let message = if slot == 0 { &mut self.first } else { &mut self.later[slot - 1] };
        message.unacked -= 1;
        if message.unacked == 0 {
            self.acknowledged.push_back(message.id);
            while self.first.packets > 0 && self.first.unacked == 0 {
                self.first = self.later.pop_front().unwrap_or(NO_MESSAGE);
            }
        }
    }

    #[inline]
    pub fn poll_acknowledged(&mut self) -> Option<MessageId> {
        self.acknowledged.pop_front()
    }

    /// The position of the message to which `psn` belongs. Position 0 is `first`.
    #[inline]
    fn slot_of(&self, psn: u32) -> usize {
        if psn < self.first.first + self.first.packets {
            return 0;
        }
        1 + self.later.partition_point(|message| message.first + message.packets <= psn)
    }
}
