//! The receiver of the `mp-rdma` transport.

use super::config::MpRdmaConfig;
use crate::packet::{Packet, Repr};
use crate::transport::common::{Answers, Cause, Ends, Receiver};
use anabranch_base::{MessageId, Time};
use std::collections::VecDeque;

/// The receiver of a queue pair.
///
/// To drive it, call [`handle_packet`](Self::handle_packet) for each packet, then
/// [`poll_transmit`](Self::poll_transmit) and [`poll_delivered`](Self::poll_delivered) until they return None.
pub struct MpRdmaReceiver {
    /// ePSN: every PSN below it has arrived.
    expected: u32,
    /// Number of distinct packets that were accepted.
    fresh: u32,
    /// L: the number of PSNs from `expected` on that are accepted.
    bitmap: u32,
    /// Number of packets below the ePSN that belong to the same message as `expected`.
    passed: u32,
    answers: Answers,
    answer: Option<Packet>,
    /// The accepted packets from `expected` on. In the sources, a slot of the bitmap marks the last packet of a
    /// message. Here the slot holds the message.
    slots: VecDeque<Option<Slot>>,
    delivered: VecDeque<MessageId>,
}

#[derive(Clone, Copy)]
struct Slot {
    message: MessageId,
    message_packets: u32,
}

impl MpRdmaReceiver {
    /// The receiver of a queue pair between `ends`.
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
    /// Messages are delivered in order: a message is complete when the ePSN is beyond its last packet. Every data
    /// packet gets one answer, which echoes its entropy value. The answer is a NACK, or an ACK with the PSN, the mark
    /// and the ePSN. Trimmed packets are discarded.
    #[inline]
    fn handle_packet(&mut self, _now: Time, packet: &Packet) -> Option<MessageId> {
        let Repr::Data { psn, message, message_packets, sent_at, .. } = packet.repr else {
            return None;
        };
        let cause = Cause::new(packet, sent_at);
        if psn >= self.expected && psn - self.expected >= self.bitmap {
            self.answer = Some(self.answers.packet(packet.ev, cause.nack(self.expected)));
            return None;
        }
        // A duplicate is acknowledged too, because the sender counts answers and does not know that the first copy
        // arrived. The available papers do not specify this, and public simulations differ.
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

    #[inline]
    fn poll_transmit(&mut self) -> Option<Packet> {
        self.answer.take()
    }

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
