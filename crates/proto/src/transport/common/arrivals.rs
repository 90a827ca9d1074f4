//! The packets that an order-tolerant receiver has received, and the messages that these packets complete.

use crate::psn_set::PsnSet;
use anabranch_base::MessageId;
use smallvec::SmallVec;
use std::collections::VecDeque;

pub(in crate::transport) struct Arrivals {
    /// ePSN: every PSN below it has arrived.
    pub expected: u32,
    /// Number of distinct packets that arrived.
    pub fresh: u32,
    /// The bitmap of PSNs above `expected` that arrived.
    set: PsnSet,
}

impl Arrivals {
    pub fn new() -> Self {
        Arrivals { expected: 0, fresh: 0, set: PsnSet::new() }
    }

    /// Marks `psn` as arrived, and moves the ePSN to the lowest PSN that has not arrived. Returns the number of PSNs
    /// by which the ePSN advances, or None for a duplicate.
    #[inline]
    pub fn accept(&mut self, psn: u32) -> Option<u32> {
        if psn < self.expected {
            return None;
        }
        self.set.make_room(self.expected, psn);
        if !self.set.insert(psn) {
            return None;
        }
        self.fresh += 1;
        if psn == self.expected {
            self.expected = self.set.take_run(psn);
        }
        Some(self.expected.saturating_sub(psn))
    }

    pub fn contains(&mut self, psn: u32) -> bool {
        if psn < self.expected {
            return true;
        }
        self.set.make_room(self.expected, psn);
        self.set.contains(psn)
    }

    /// A bitmap of the PSNs in `base..base + 64` that have arrived: all below the ePSN, and the members of the set.
    #[inline]
    pub fn window(&mut self, base: u32) -> u64 {
        if base >= self.expected {
            self.set.make_room(self.expected, base.saturating_add(64));
            return self.set.window(base);
        }
        let below = self.expected - base;
        if below >= 64 {
            return u64::MAX;
        }
        self.set.make_room(self.expected, self.expected + 64);
        self.set.window(self.expected) << below | ((1 << below) - 1)
    }
}

/// Messages that have arrived in part. Each is delivered when its last missing packet arrives.
pub(in crate::transport) struct AnyOrder(SmallVec<[PartialMessage; 2]>);

struct PartialMessage {
    id: MessageId,
    /// Number of packets of the message that have not arrived.
    left: u32,
}

impl AnyOrder {
    pub fn new() -> Self {
        AnyOrder(SmallVec::new())
    }

    /// Counts a new packet of a message. Returns the message if this packet was the last one missing.
    #[inline]
    pub fn count(&mut self, id: MessageId, packets: u32) -> Option<MessageId> {
        let slot = match self.0.iter().position(|message| message.id == id) {
            Some(slot) => slot,
            None => {
                self.0.push(PartialMessage { id, left: packets });
                self.0.len() - 1
            }
        };
        let message = &mut self.0[slot];
        message.left -= 1;
        (message.left == 0).then(|| self.0.swap_remove(slot).id)
    }
}

/// Undelivered messages of which at least one packet has arrived. The messages are kept and delivered in the order of
/// their PSNs.
pub(in crate::transport) struct InOrder(VecDeque<OrderedMessage>);

struct OrderedMessage {
    id: MessageId,
    /// Number of packets of the message that have not arrived.
    left: u32,
    /// The PSN of the first packet of this message to arrive. One PSN of each message is enough to order the messages,
    /// since the ranges of their PSNs do not overlap.
    psn: u32,
}

impl InOrder {
    pub fn new() -> Self {
        InOrder(VecDeque::new())
    }

    #[inline]
    pub fn count(&mut self, psn: u32, id: MessageId, packets: u32) {
        let slot = self.0.partition_point(|message| message.psn < psn);
        // The packet belongs to one of the neighbours, or to a message between them of which no packet has arrived.
        let neighbours = slot.saturating_sub(1)..(slot + 1).min(self.0.len());
        match self.0.range_mut(neighbours).find(|message| message.id == id) {
            Some(message) => message.left -= 1,
            None => self.0.insert(slot, OrderedMessage { id, left: packets - 1, psn }),
        }
    }

    /// The next message whose packets are all below the ePSN.
    #[inline]
    pub fn poll_delivered(&mut self, expected: u32) -> Option<MessageId> {
        // Once a message has arrived completely, the ePSN is beyond all of its PSNs or before all of them.
        let first = self.0.front().filter(|first| first.left == 0 && first.psn < expected)?.id;
        self.0.pop_front();
        Some(first)
    }
}
