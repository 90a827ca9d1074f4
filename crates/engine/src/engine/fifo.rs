//! Queues of packets, linked through one pool.

use super::prefetch::prefetch;
use anabranch_proto::Packet;

const NONE: u32 = u32::MAX;

/// The slots of all queues. Slots are reused last in, first out, so that the ones in use stay in the cache.
pub struct Pool {
    slots: Vec<Slot>,
    free: u32,
    used: u64,
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Slot {
    packet: Packet,
    next: u32,
    /// Where it came from: the link that leaves the port by which it came in.
    from: u32,
}

/// A first-in, first-out queue of packets in a [`Pool`].
#[derive(Clone, Copy, Debug)]
pub struct Fifo {
    head: u32,
    tail: u32,
}

impl Pool {
    /// A pool without packets.
    pub fn new() -> Self {
        Pool { slots: Vec::new(), free: NONE, used: 0 }
    }

    /// Packets in all queues.
    pub fn used(&self) -> u64 {
        self.used
    }
}

impl Fifo {
    /// An empty queue.
    pub const EMPTY: Fifo = Fifo { head: NONE, tail: NONE };

    /// Whether nothing is queued.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// Loads the oldest packet.
    #[inline]
    pub fn expect(&self, pool: &Pool) {
        if let Some(slot) = pool.slots.get(self.head as usize) {
            prefetch(slot);
        }
    }

    /// Appends a packet that came in by the port whose outgoing link is `from`.
    #[inline]
    pub fn push(&mut self, pool: &mut Pool, packet: &Packet, from: u32) {
        let slot = Slot { packet: *packet, next: NONE, from };
        let place = if pool.free == NONE {
            pool.slots.push(slot);
            pool.slots.len() as u32 - 1
        } else {
            let place = pool.free;
            pool.free = pool.slots[place as usize].next;
            pool.slots[place as usize] = slot;
            place
        };
        if self.head == NONE {
            self.head = place;
        } else {
            pool.slots[self.tail as usize].next = place;
        }
        self.tail = place;
        pool.used += 1;
    }

    /// The packets in their order, each with where it came from.
    pub fn iter<'a>(&self, pool: &'a Pool) -> impl Iterator<Item = (&'a Packet, u32)> + use<'a> {
        let mut next = self.head;
        std::iter::from_fn(move || {
            let slot = pool.slots.get(next as usize)?;
            next = slot.next;
            Some((&slot.packet, slot.from))
        })
    }

    /// Removes the oldest packet; answers also with where it came from.
    #[inline(always)]
    pub fn pop(&mut self, pool: &mut Pool) -> Option<(Packet, u32)> {
        if self.head == NONE {
            return None;
        }
        let place = self.head;
        let slot = &mut pool.slots[place as usize];
        let (packet, from) = (slot.packet, slot.from);
        self.head = std::mem::replace(&mut slot.next, pool.free);
        pool.free = place;
        pool.used -= 1;
        Some((packet, from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::{HostId, QpId};
    use anabranch_proto::Repr;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn queues_in_one_pool_do_not_disturb_each_other(steps in prop::collection::vec((0usize..3, any::<bool>()), 1..500)) {
            let mut pool = Pool::new();
            let mut queues = [Fifo::EMPTY; 3];
            let mut plain: [VecDeque<u32>; 3] = Default::default();
            for (number, (queue, push)) in steps.into_iter().enumerate() {
                let psn = number as u32;
                if push {
                    let packet = Packet::nack(QpId(0), HostId(0), psn).with_bytes(64);
                    queues[queue].push(&mut pool, &packet, psn + 7);
                    plain[queue].push_back(psn);
                } else {
                    let seen = queues[queue].iter(&pool).map(|(packet, _)| packet.repr);
                    let nack = |psn| Repr::nack(psn);
                    prop_assert!(seen.eq(plain[queue].iter().map(|&psn| nack(psn))));
                    let popped = queues[queue].pop(&mut pool).map(|(packet, from)| (packet.repr, from));
                    prop_assert_eq!(popped, plain[queue].pop_front().map(|psn| (nack(psn), psn + 7)));
                }
                prop_assert_eq!(pool.used() as usize, plain.iter().map(VecDeque::len).sum::<usize>());
            }
        }
    }
}
