//! Queues of frames, linked through one pool of slots per node.

use crate::frame::Frame;
use crate::prefetch::prefetch;

const NONE: u32 = u32::MAX;

/// The slots of all queues of a node. Slots are reused last in, first out, so that the ones in use stay in the cache.
#[derive(Default)]
pub struct Pool {
    slots: Vec<Slot>,
    /// Slots that nothing is in.
    free: Vec<u32>,
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Slot {
    frame: Frame,
    next: u32,
}

/// A slot whose frame has left its queue.
pub struct Taken(u32);

/// A first-in, first-out queue of frames in a [`Pool`].
#[derive(Clone, Copy, Debug)]
pub struct Fifo {
    head: u32,
    tail: u32,
}

impl Pool {
    /// Frames in all queues.
    pub fn used(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }

    /// The frame in a slot.
    #[inline]
    pub fn frame(&self, taken: &Taken) -> &Frame {
        &self.slots[taken.0 as usize].frame
    }

    /// The same, to be changed.
    #[inline]
    pub fn frame_mut(&mut self, taken: &Taken) -> &mut Frame {
        &mut self.slots[taken.0 as usize].frame
    }

    /// The frame in a slot, which may be used again.
    pub fn take(&mut self, taken: Taken) -> Frame {
        self.free.push(taken.0);
        self.slots[taken.0 as usize].frame
    }

    /// The slot may be used again.
    #[inline]
    pub fn release(&mut self, taken: Taken) {
        self.free.push(taken.0);
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

    /// Appends a frame.
    #[inline]
    pub fn push(&mut self, pool: &mut Pool, frame: &Frame) {
        let slot = Slot { frame: *frame, next: NONE };
        let index = match pool.free.pop() {
            Some(index) => {
                pool.slots[index as usize] = slot;
                index
            }
            None => {
                pool.slots.push(slot);
                pool.slots.len() as u32 - 1
            }
        };
        if self.head == NONE {
            self.head = index;
        } else {
            pool.slots[self.tail as usize].next = index;
        }
        self.tail = index;
    }

    /// The frames in their order.
    pub fn iter<'a>(&self, pool: &'a Pool) -> impl Iterator<Item = &'a Frame> + use<'a> {
        let mut next = self.head;
        std::iter::from_fn(move || {
            let slot = pool.slots.get(next as usize)?;
            next = slot.next;
            Some(&slot.frame)
        })
    }

    /// Takes the oldest frame out of the queue. It stays in its slot until that is [released](Pool::release): a copy
    /// on its way to the link would cost more than all else.
    #[inline]
    pub fn pop(&mut self, pool: &Pool) -> Option<Taken> {
        let index = self.head;
        self.head = pool.slots.get(index as usize)?.next;
        // It may have waited since an earlier window: it is loaded while the one before is on the wire.
        if let Some(next) = pool.slots.get(self.head as usize) {
            prefetch(next);
        }
        Some(Taken(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::{HostId, QpId, Time};
    use anabranch_proto::{Packet, Repr};
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn queues_in_one_pool_do_not_disturb_each_other(
            steps in prop::collection::vec((0usize..3, any::<bool>()), 1..500),
        ) {
            let mut pool = Pool::default();
            let mut queues = [Fifo::EMPTY; 3];
            let mut plain: [VecDeque<u32>; 3] = Default::default();
            let nack = |psn| Repr::Nack { psn, sent_at: Time::ZERO };
            for (number, (queue, push)) in steps.into_iter().enumerate() {
                let psn = number as u32;
                if push {
                    let repr = nack(psn);
                    let (qp, dst) = (QpId(0), HostId(0));
                    let packet = Packet { qp, dst, wire_bytes: 64, ev: 0, marked: false, tag: 0, repr };
                    queues[queue].push(&mut pool, &Frame::new(packet, number as u16 + 7));
                    plain[queue].push_back(psn);
                } else {
                    let seen = queues[queue].iter(&pool).map(|frame| frame.packet.repr);
                    prop_assert!(seen.eq(plain[queue].iter().map(|&psn| nack(psn))));
                    let popped = queues[queue].pop(&pool).map(|taken| {
                        let frame = *pool.frame(&taken);
                        pool.release(taken);
                        (frame.packet.repr, frame.port)
                    });
                    prop_assert_eq!(popped, plain[queue].pop_front().map(|psn| (nack(psn), psn as u16 + 7)));
                }
                prop_assert_eq!(pool.used() as usize, plain.iter().map(VecDeque::len).sum::<usize>());
            }
        }
    }
}
