//! The messages of a sender whose packets are acknowledged in order, and the PSNs of each message.

use super::claim::Claim;
use super::interface::{Framing, OutOfPsns};
use super::payload_range::PayloadRange;
use anabranch_base::MessageId;
use std::collections::VecDeque;

/// Unacknowledged messages, in the order of their PSNs.
// The order of the fields matters: fields that every packet touches come first.
#[repr(C)]
pub(in crate::transport) struct Messages {
    /// The first message with unacknowledged packets. It is stored inline, so that most queue pairs follow no pointer.
    first: Message,
    /// The first PSN that is not assigned to a message.
    end: u32,
    payload: u16,
    header: u16,
    acknowledged: VecDeque<MessageId>,
    later: VecDeque<Message>,
}

/// The message of a data packet, and the packet's size on the wire.
#[derive(Clone, Copy)]
pub(in crate::transport) struct PacketInfo {
    pub message: MessageId,
    pub message_packets: u32,
    pub bytes: u16,
}

struct Message {
    id: MessageId,
    first: u32,
    packets: u32,
    last_bytes: u16,
}

const NO_MESSAGE: Message = Message { id: MessageId(0), first: 0, packets: 0, last_bytes: 0 };

impl Messages {
    pub fn new(framing: &Framing) -> Self {
        Messages {
            first: NO_MESSAGE,
            end: 0,
            payload: framing.payload.0 as u16,
            header: framing.header.0 as u16,
            acknowledged: VecDeque::new(),
            later: VecDeque::new(),
        }
    }

    #[inline]
    pub fn end(&self) -> u32 {
        self.end
    }

    /// Size of a full packet on the wire.
    #[inline]
    pub fn packet_bytes(&self) -> u16 {
        self.payload + self.header
    }

    pub fn post(&mut self, id: MessageId, bytes: u64) -> Result<(), OutOfPsns> {
        let claim = Claim::new(self.end, u32::MAX, bytes, self.payload.into(), self.header)?;
        self.end = claim.end();
        let Claim { first, packets, last_bytes } = claim;
        let message = Message { id, first, packets, last_bytes };
        if self.first.packets == 0 {
            self.first = message;
        } else {
            self.later.push_back(message);
        }
        Ok(())
    }

    /// The message and size of the packet with this PSN, which must be posted and not yet acknowledged.
    #[inline]
    pub fn packet_info(&self, psn: u32) -> PacketInfo {
        let message = if psn < self.first.end() {
            &self.first
        } else {
            &self.later[self.later.partition_point(|message| message.end() <= psn)]
        };
        let bytes = if psn + 1 == message.end() { message.last_bytes } else { self.packet_bytes() };
        PacketInfo { message: message.id, message_packets: message.packets, bytes }
    }

    pub fn payload_range(&self, psn: u32) -> Option<PayloadRange> {
        let later = self.later.partition_point(|message| message.end() <= psn);
        let message = if psn < self.first.end() { &self.first } else { self.later.get(later)? };
        let &Message { id, first, packets, last_bytes } = message;
        Claim { first, packets, last_bytes }.payload_range(id, psn, self.payload.into(), self.header)
    }

    /// Marks the PSNs `from..to` as acknowledged. `from` must be the lowest unacknowledged PSN. Returns the bytes of
    /// these packets on the wire.
    pub fn acknowledge(&mut self, from: u32, to: u32) -> u64 {
        let mut bytes = u64::from(to - from) * u64::from(self.packet_bytes());
        while self.first.packets > 0 && self.first.end() <= to {
            bytes -= u64::from(self.packet_bytes() - self.first.last_bytes);
            self.acknowledged.push_back(self.first.id);
            self.first = self.later.pop_front().unwrap_or(NO_MESSAGE);
        }
        bytes
    }

    #[inline]
    pub fn poll_acknowledged(&mut self) -> Option<MessageId> {
        self.acknowledged.pop_front()
    }
}

impl Message {
    #[inline]
    fn end(&self) -> u32 {
        self.first + self.packets
    }
}
