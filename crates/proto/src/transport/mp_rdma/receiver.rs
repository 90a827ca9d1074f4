//! The receiving end.

use super::config::MpRdmaConfig;
use crate::packet::{Packet, Repr};
use crate::transport::common::{Answers, Cause, Ends, Receiver};
use anabranch_base::{MessageId, Time};
use std::collections::VecDeque;

/// The receiving end of a queue pair.
///
/// Drive it: [`handle_packet`](Self::handle_packet) for each packet, then [`poll_transmit`](Self::poll_transmit)
/// until it returns none, and [`poll_delivered`](Self::poll_delivered) likewise.
pub struct MpRdmaReceiver {
    /// ePSN: every PSN below has arrived.
    expected: u32,
    /// Number of distinct packets that were accepted.
    fresh: u32,
    /// L: the number of PSNs from `expected` on that are accepted.
    bitmap: u32,
    /// Number of packets below the ePSN of the message that `expected` belongs to.
    passed: u32,
    answers: Answers,
    answer: Option<Packet>,
    /// The packets from `expected` to the highest PSN that arrived: the paper's bitmap. Its slots are said to mark a
    /// message's last packet; here they have the message.
    slots: VecDeque<Option<Slot>>,
    delivered: VecDeque<MessageId>,
}

/// The message of a packet, and its number of packets.
#[derive(Clone, Copy)]
struct Slot {
    message: MessageId,
    message_packets: u32,
}

impl MpRdmaReceiver {
    /// The receiving end of a queue pair between `ends`.
    pub fn new(config: &MpRdmaConfig, ends: Ends) -> Self {
        MpRdmaReceiver {
            expected: 0,
            fresh: 0,
            bitmap: config.bitmap,
            passed: 0,
            answers: Answers::new(ends, config.ack),
            answer: None,
            slots: VecDeque::new(),
            delivered: VecDeque::new(),
        }
    }
}

impl Receiver for MpRdmaReceiver {
    /// Handles a received packet; returns the first message that it completes.
    ///
    /// Messages are delivered in order: a message is complete when the ePSN is beyond its last packet. Every data
    /// packet has one answer, which echoes its path: an ACK with its PSN, its mark and the ePSN, or a NACK. Only data
    /// counts: trimmed packets are discarded.
    #[inline]
    fn handle_packet(&mut self, _now: Time, packet: &Packet) -> Option<MessageId> {
        let Repr::Data { psn, message, message_packets, sent_at, .. } = packet.repr else {
            return None;
        };
        let cause = Cause::new(packet, sent_at);
        // A packet beyond the bitmap is dropped, and each one is answered with a NACK for the missing packet.
        if psn >= self.expected && psn - self.expected >= self.bitmap {
            self.answer = Some(self.answers.packet(packet.ev, cause.nack(self.expected)));
            return None;
        }
        // A duplicate is acknowledged too: the sender counts answers, and does not know that the first copy arrived.
        // The papers available do not specify it, and public simulations differ.
        if psn >= self.expected {
            self.accept((psn - self.expected) as usize, Slot { message, message_packets });
        }
        let repr = cause.ack(self.expected).with_received(psn, 1);
        self.answer = Some(self.answers.packet(packet.ev, repr));
        self.poll_delivered()
    }

    #[inline]
    fn poll_delivered(&mut self) -> Option<MessageId> {
        self.delivered.pop_front()
    }

    /// The ACK or NACK to send, if one is due.
    #[inline]
    fn poll_transmit(&mut self) -> Option<Packet> {
        self.answer.take()
    }

    /// Data packets received for the first time so far: those within the bitmap.
    #[inline]
    fn fresh_packets(&self) -> u64 {
        u64::from(self.fresh)
    }
}

impl MpRdmaReceiver {
    /// Marks the packet `ahead` PSNs beyond the ePSN as arrived, and advances the ePSN to the first missing packet.
    #[inline]
    fn accept(&mut self, ahead: usize, slot: Slot) {
        if self.slots.len() <= ahead {
            self.slots.resize(ahead + 1, None);
        }
        let is_fresh = self.slots[ahead].replace(slot).is_none();
        self.fresh += u32::from(is_fresh);
        while let Some(&Some(Slot { message, message_packets })) = self.slots.front() {
            self.slots.pop_front();
            self.expected += 1;
            self.passed += 1;
            if self.passed == message_packets {
                self.passed = 0;
                self.delivered.push_back(message);
            }
        }
    }
}
