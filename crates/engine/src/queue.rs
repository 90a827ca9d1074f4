//! Queues of frames. They are linked lists through one pool of slots per node.

use crate::frame::Frame;
use crate::prefetch::prefetch;
use anabranch_base::parameter_choices;
use serde::{Deserialize, Serialize};

const NONE: u32 = u32::MAX;

/// The packet that a full data queue drops or trims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FullQueue {
    /// The arriving packet (drop-tail).
    #[default]
    Arriving,
    /// The arriving packet or the youngest one in the queue, each with probability 1/2.
    Coin,
}

parameter_choices!(
    FullQueue: "arriving" = Arriving, "coin" = Coin;
    or "tail" = "arriving", "droptail" = "arriving", "taildrop" = "arriving", "fifo" = "arriving"
);

/// The slots of all queues of a node. Slots are reused last in, first out, so that the slots in use stay in the cache.
#[derive(Default)]
pub struct Pool {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Slot {
    frame: Frame,
    next: u32,
}

/// A handle of a slot whose frame has left its queue.
pub struct SlotHandle(u32);

/// A first-in, first-out queue of frames in a [`Pool`].
#[derive(Clone, Copy, Debug)]
pub struct Fifo {
    head: u32,
    tail: u32,
}

impl Pool {
    /// The number of slots in use. A frame that has left its queue may still occupy a slot.
    pub fn used(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }

    #[inline]
    pub fn frame(&self, taken: &SlotHandle) -> &Frame {
        &self.slots[taken.0 as usize].frame
    }

    #[inline]
    pub fn frame_mut(&mut self, taken: &SlotHandle) -> &mut Frame {
        &mut self.slots[taken.0 as usize].frame
    }

    /// Copies the frame out of a slot and frees the slot.
    pub fn take(&mut self, taken: SlotHandle) -> Frame {
        self.free.push(taken.0);
        self.slots[taken.0 as usize].frame
    }

    #[inline]
    pub fn release(&mut self, taken: SlotHandle) {
        self.free.push(taken.0);
    }
}

impl Fifo {
    pub const EMPTY: Fifo = Fifo { head: NONE, tail: NONE };

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == NONE
    }

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

    pub fn last<'a>(&self, pool: &'a Pool) -> Option<&'a Frame> {
        Some(&pool.slots.get(self.tail as usize)?.frame).filter(|_| !self.is_empty())
    }

    /// Replaces the youngest frame and returns it.
    pub fn replace_last(&mut self, pool: &mut Pool, frame: &Frame) -> Option<Frame> {
        let slot = pool.slots.get_mut(self.tail as usize).filter(|_| self.head != NONE)?;
        Some(std::mem::replace(&mut slot.frame, *frame))
    }

    /// Takes the youngest frame out of the queue by following the list to its end.
    pub fn pop_last(&mut self, pool: &mut Pool) -> Option<Frame> {
        let mut before = NONE;
        let mut last = self.head;
        while let Some(slot) = pool.slots.get(last as usize)
            && slot.next != NONE
        {
            (before, last) = (last, slot.next);
        }
        let frame = pool.slots.get(last as usize)?.frame;
        match pool.slots.get_mut(before as usize) {
            Some(slot) => slot.next = NONE,
            None => self.head = NONE,
        }
        self.tail = before;
        pool.free.push(last);
        Some(frame)
    }

    /// The frames, oldest first.
    pub fn iter<'a>(&self, pool: &'a Pool) -> impl Iterator<Item = &'a Frame> + use<'a> {
        let mut next = self.head;
        std::iter::from_fn(move || {
            let slot = pool.slots.get(next as usize)?;
            next = slot.next;
            Some(&slot.frame)
        })
    }

    #[inline]
    pub fn prefetch(&self, pool: &Pool) {
        if let Some(first) = pool.slots.get(self.head as usize) {
            prefetch(first);
        }
    }

    /// Takes the oldest frame out of the queue. The frame stays in its slot until the slot is
    /// [released](Pool::release), since copying the frame would cost more than the rest of the dequeue.
    #[inline]
    pub fn pop(&mut self, pool: &Pool) -> Option<SlotHandle> {
        let index = self.head;
        self.head = pool.slots.get(index as usize)?.next;
        // The next frame may have left the CPU cache since it was queued. It is prefetched while the present frame is
        // on the wire.
        if let Some(next) = pool.slots.get(self.head as usize) {
            prefetch(next);
        }
        Some(SlotHandle(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::{HostId, QpId};
    use anabranch_proto::{Packet, Repr};
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn queues_in_one_pool_do_not_disturb_each_other(
            steps in prop::collection::vec((0usize..3, 0u8..7), 1..500),
        ) {
            let mut pool = Pool::default();
            let mut queues = [Fifo::EMPTY; 3];
            let mut plain: [VecDeque<u32>; 3] = Default::default();
            let nack = Repr::nack;
            let frame = |psn: u32| {
                let (qp, dst) = (QpId(0), HostId(0));
                let packet = Packet { qp, dst, wire_bytes: 64, ev: 0, marked: false, tag: 0, repr: nack(psn) };
                Frame::new(packet, psn as u16 + 7)
            };
            let seen = |frame: &Frame| (frame.packet.repr, frame.port);
            let expected = |psn: u32| (nack(psn), psn as u16 + 7);
            for (number, (queue, step)) in steps.into_iter().enumerate() {
                let psn = number as u32;
                let (list, plain) = (&mut queues[queue], &mut plain[queue]);
                match step {
                    0..3 => {
                        list.push(&mut pool, &frame(psn));
                        plain.push_back(psn);
                    }
                    3 => {
                        let popped = list.pop_last(&mut pool).map(|frame| seen(&frame));
                        prop_assert_eq!(popped, plain.pop_back().map(expected));
                    }
                    4 => {
                        let replaced = list.replace_last(&mut pool, &frame(psn)).map(|frame| seen(&frame));
                        let before = plain.back_mut().map(|last| std::mem::replace(last, psn));
                        prop_assert_eq!(replaced, before.map(expected));
                    }
                    _ => {
                        let popped = list.pop(&pool).map(|taken| seen(&pool.take(taken)));
                        prop_assert_eq!(popped, plain.pop_front().map(expected));
                    }
                }
                prop_assert!(list.iter(&pool).map(seen).eq(plain.iter().copied().map(expected)));
                prop_assert_eq!(list.last(&pool).map(seen), plain.back().copied().map(expected));
            }
            prop_assert_eq!(pool.used() as usize, plain.iter().map(VecDeque::len).sum::<usize>());
        }
    }
}
