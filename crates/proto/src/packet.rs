//! Packets as the cores exchange them: meanings, not bytes.

use anabranch_base::{HostId, MessageId, QpId, Time};

/// A packet between two ends of a queue pair. 48 bytes, so that it and its event share a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The queue pair, known by both ends.
    pub qp: QpId,
    /// Where the fabric carries it.
    pub dst: HostId,
    /// Size on the wire, headers included.
    pub wire_bytes: u16,
    /// Entropy value: what ECMP hashes beside the flow.
    pub ev: u16,
    /// Congestion experienced: a switch marked it.
    pub marked: bool,
    /// What it says.
    pub repr: Repr,
}

/// What a packet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repr {
    /// Part of a message.
    Data {
        /// Packet sequence number on its queue pair.
        psn: u32,
        /// The message it belongs to.
        message: MessageId,
        /// Packets of that message, so that the receiver needs no other word of it (as RETH in every packet).
        message_packets: u32,
        /// When this copy left the sender; echoed, so that a retransmission gives no wrong RTT.
        sent_at: Time,
        /// The sender will send no more before it hears of this one: acknowledge at once.
        ack_now: bool,
    },
    /// A data packet whose payload a switch cut off.
    Trimmed {
        /// PSN of the data packet.
        psn: u32,
        /// When it left the sender.
        sent_at: Time,
    },
    /// Selective acknowledgement.
    Ack {
        /// ePSN: the receiver has every PSN below.
        cumulative: u32,
        /// The PSN of bit 0 of `received`.
        base: u32,
        /// Which of the 64 PSNs from `base` the receiver has.
        received: u64,
        /// The packet that caused this ACK was marked.
        marked: bool,
        /// `sent_at` of the packet that caused this ACK.
        sent_at: Time,
    },
    /// The packet arrived trimmed: send it again.
    Nack {
        /// Its PSN.
        psn: u32,
        /// When the trimmed copy left the sender: a later copy is not meant.
        sent_at: Time,
    },
}

impl Packet {
    /// Whether this travels in the control class (ACK, NACK, trimmed), ahead of data.
    #[inline]
    pub fn is_control(&self) -> bool {
        !matches!(self.repr, Repr::Data { .. })
    }
}

const _: () = assert!(size_of::<Packet>() == 48);
