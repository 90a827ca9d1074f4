//! The receiving end.

use super::config::MpRdmaConfig;
use crate::packet::{Packet, Repr};
use crate::transport::common::{Answers, Cause, Ends, Receiver};
use anabranch_base::{MessageId, Time};
use std::collections::VecDeque;

/// The receiving end of a queue pair.
///
/// Drive it: [`handle_packet`](Self::handle_packet) for each packet, then [`poll_transmit`](Self::poll_transmit)
/// until it answers none, and [`poll_delivered`](Self::poll_delivered) likewise.
pub struct MpRdmaReceiver {
    /// ePSN: every PSN below has arrived.
    expected: u32,
    /// Packets that it took, each once.
    fresh: u32,
    /// L: packets from `expected` on that it takes.
    bitmap: u32,
    /// Packets of the message that `expected` belongs to and the ePSN has passed.
    passed: u32,
    answers: Answers,
    answer: Option<Packet>,
    /// What arrived from `expected` on, as far as the highest PSN that did. The bitmap of the paper, whose slots are
    /// said to mark a message's last packet; here they name the message.
    slots: VecDeque<Option<Part>>,
    delivered: VecDeque<MessageId>,
}

/// A packet's message, and how many packets that has.
#[derive(Clone, Copy)]
struct Part {
    message: MessageId,
    of: u32,
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
    /// Processes a received packet; returns the first message that it completes.
    ///
    /// Messages are delivered in order: one is whole when the ePSN has passed its last packet. Every data packet has
    /// one answer, which echoes its path: an ACK with its PSN, its mark and the ePSN, or a NACK. Only data counts: a
    /// trimmed packet is thrown away.
    #[inline]
    fn handle_packet(&mut self, _now: Time, packet: &Packet) -> Option<MessageId> {
        let Repr::Data { psn, message, message_packets, sent_at, .. } = packet.repr else {
            return None;
        };
        let cause = Cause::new(packet, sent_at);
        // Beyond the bitmap: dropped, and answered with a NACK for what is missing, each time.
        if psn >= self.expected && psn - self.expected >= self.bitmap {
            self.answer = Some(self.answers.packet(packet.ev, cause.nack(self.expected)));
            return None;
        }
        // A duplicate is acknowledged as well: the sender counts answers, and does not know that the first copy came.
        // Unsaid, and public simulations differ.
        if psn >= self.expected {
            self.accept((psn - self.expected) as usize, Part { message, of: message_packets });
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

    /// Data packets received for the first time so far: those that its bitmap had room for.
    #[inline]
    fn fresh_packets(&self) -> u64 {
        u64::from(self.fresh)
    }
}

impl MpRdmaReceiver {
    /// Marks the packet so many beyond the ePSN as arrived, and moves the ePSN past all that is there.
    #[inline]
    fn accept(&mut self, ahead: usize, part: Part) {
        if self.slots.len() <= ahead {
            self.slots.resize(ahead + 1, None);
        }
        let is_fresh = self.slots[ahead].replace(part).is_none();
        self.fresh += u32::from(is_fresh);
        while let Some(&Some(Part { message, of })) = self.slots.front() {
            self.slots.pop_front();
            self.expected += 1;
            self.passed += 1;
            if self.passed == of {
                self.passed = 0;
                self.delivered.push_back(message);
            }
        }
    }
}
