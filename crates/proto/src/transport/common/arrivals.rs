//! Which packets a receiver has that takes them in any order, and which messages they make whole.

use crate::psn_set::PsnSet;
use anabranch_base::MessageId;
use smallvec::SmallVec;
use std::collections::VecDeque;

/// The PSNs that arrived.
pub(in crate::transport) struct Arrivals {
    /// ePSN: every PSN below has arrived.
    pub expected: u32,
    /// Packets that arrived, each once.
    pub fresh: u32,
    /// Arrived above `expected`: the bitmap.
    set: PsnSet,
}

impl Arrivals {
    /// None yet.
    pub fn new() -> Self {
        Arrivals { expected: 0, fresh: 0, set: PsnSet::new() }
    }

    /// Marks `psn` as arrived; none when it had arrived before, else how far the ePSN came: to the smallest PSN that has
    /// not.
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

    /// Whether `psn` has arrived.
    pub fn contains(&mut self, psn: u32) -> bool {
        if psn < self.expected {
            return true;
        }
        self.set.make_room(self.expected, psn);
        self.set.contains(psn)
    }

    /// Which of `base..base + 64` have arrived: all below the ePSN, and what the set holds.
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

/// Messages of which some packets, not all, have arrived. Each is delivered when its last packet comes.
pub(in crate::transport) struct AnyOrder(SmallVec<[Started; 2]>);

struct Started {
    id: MessageId,
    /// Packets that have not arrived.
    left: u32,
}

impl AnyOrder {
    /// None yet.
    pub fn new() -> Self {
        AnyOrder(SmallVec::new())
    }

    /// Counts a fresh packet of a message; answers with the message when it was the last one missing.
    #[inline]
    pub fn count(&mut self, id: MessageId, packets: u32) -> Option<MessageId> {
        let slot = match self.0.iter().position(|message| message.id == id) {
            Some(slot) => slot,
            None => {
                self.0.push(Started { id, left: packets });
                self.0.len() - 1
            }
        };
        let message = &mut self.0[slot];
        message.left -= 1;
        (message.left == 0).then(|| self.0.swap_remove(slot).id)
    }
}

/// Messages of which packets have arrived and that are not delivered, in the order of their PSNs, in which they are
/// delivered.
pub(in crate::transport) struct InOrder(VecDeque<Open>);

struct Open {
    id: MessageId,
    /// Packets that have not arrived.
    left: u32,
    /// Any PSN of it that has arrived: messages' PSNs do not overlap, so that this tells where it stands.
    psn: u32,
}

impl InOrder {
    /// None yet.
    pub fn new() -> Self {
        InOrder(VecDeque::new())
    }

    /// Counts a fresh packet of a message.
    #[inline]
    pub fn count(&mut self, psn: u32, id: MessageId, packets: u32) {
        let slot = self.0.partition_point(|open| open.psn < psn);
        // It belongs to a neighbour, or to a message between them of which nothing has arrived.
        let neighbours = slot.saturating_sub(1)..(slot + 1).min(self.0.len());
        match self.0.range_mut(neighbours).find(|open| open.id == id) {
            Some(open) => open.left -= 1,
            None => self.0.insert(slot, Open { id, left: packets - 1, psn }),
        }
    }

    /// The next message of which the ePSN has passed the last packet.
    #[inline]
    pub fn poll_delivered(&mut self, expected: u32) -> Option<MessageId> {
        // With all of it here, the ePSN has passed all of it or nothing.
        let first = self.0.front().filter(|first| first.left == 0 && first.psn < expected)?.id;
        self.0.pop_front();
        Some(first)
    }
}
