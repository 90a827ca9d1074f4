//! The timing wheel: signals at any delay, in O(1) for those within its horizon.

use super::event::Signal;
use anabranch_base::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A tick is 2^12 ps, about 4 ns.
const TICK_BITS: u32 = 12;
/// The horizon is 8192 ticks, about 34 us: beyond lie only timers of queue pairs and starts of messages.
const SLOTS: usize = 8192;
const NONE: u32 = u32::MAX;

/// Signals ordered by time. Within one time the order is the caller's business.
pub struct Wheel {
    /// First entry of each slot's list.
    slots: Vec<u32>,
    /// Which slots have entries: a bit each.
    occupied: [u64; SLOTS / 64],
    entries: Vec<Entry>,
    free: u32,
    /// The signals of `current_tick`, latest first.
    current: Vec<Signal>,
    current_tick: u64,
    /// The tick of the last time that was taken: no earlier signal can come.
    now_tick: u64,
    in_slots: usize,
    far: BinaryHeap<Reverse<Far>>,
}

#[derive(Clone, Copy)]
struct Entry {
    signal: Signal,
    next: u32,
}

/// A signal beyond the horizon, ordered by time alone.
struct Far(Signal);

impl PartialEq for Far {
    fn eq(&self, other: &Self) -> bool {
        self.0.time == other.0.time
    }
}
impl Eq for Far {}
impl PartialOrd for Far {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Far {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.time.cmp(&other.0.time)
    }
}

impl Wheel {
    /// An empty wheel.
    pub fn new() -> Self {
        Wheel {
            slots: vec![NONE; SLOTS],
            occupied: [0; SLOTS / 64],
            entries: Vec::new(),
            free: NONE,
            current: Vec::new(),
            current_tick: 0,
            now_tick: 0,
            in_slots: 0,
            far: BinaryHeap::new(),
        }
    }

    /// Adds a signal, which must not lie before the last time taken.
    #[inline]
    pub fn push(&mut self, signal: Signal) {
        let tick = signal.time.0 >> TICK_BITS;
        debug_assert!(tick >= self.now_tick, "a signal in the past");
        if tick - self.now_tick >= SLOTS as u64 {
            self.far.push(Reverse(Far(signal)));
        } else if self.current.is_empty() {
            // Nothing is filed either: `take` leaves no slot occupied behind an empty current one.
            self.current_tick = tick;
            self.current.push(signal);
        } else if tick == self.current_tick {
            let place = self.current.partition_point(|other| other.time > signal.time);
            self.current.insert(place, signal);
        } else if tick > self.current_tick {
            self.file(signal);
        } else {
            while let Some(later) = self.current.pop() {
                self.file(later);
            }
            self.current_tick = tick;
            self.current.push(signal);
        }
    }

    /// The time of the earliest signal, or [`Time::NEVER`].
    #[inline]
    pub fn first_time(&self) -> Time {
        let near = self.current.last().map_or(Time::NEVER, |signal| signal.time);
        let far = self.far.peek().map_or(Time::NEVER, |Reverse(far)| far.0.time);
        near.min(far)
    }

    /// Takes the signals of `time`, the earliest there is.
    #[inline]
    pub fn take(&mut self, time: Time, mut each: impl FnMut(Signal)) {
        while let Some(signal) = self.current.pop_if(|signal| signal.time == time) {
            each(signal);
        }
        self.now_tick = time.0 >> TICK_BITS;
        if self.current.is_empty() && self.in_slots > 0 {
            self.refill();
        }
        while self.far.peek().is_some_and(|Reverse(far)| far.0.time == time) {
            if let Some(Reverse(far)) = self.far.pop() {
                each(far.0);
            }
        }
    }

    /// Time has moved to `time` without a signal: none may come before it any more.
    #[inline]
    pub fn advance(&mut self, time: Time) {
        self.now_tick = time.0 >> TICK_BITS;
    }

    #[inline]
    fn file(&mut self, signal: Signal) {
        let slot = (signal.time.0 >> TICK_BITS) as usize % SLOTS;
        let entry = Entry { signal, next: self.slots[slot] };
        let place = if self.free == NONE {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        } else {
            let place = self.free;
            self.free = self.entries[place as usize].next;
            self.entries[place as usize] = entry;
            place
        };
        self.slots[slot] = place;
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.in_slots += 1;
    }

    /// Makes the earliest occupied slot the current one.
    fn refill(&mut self) {
        let slot = self.first_slot();
        let mut place = std::mem::replace(&mut self.slots[slot], NONE);
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        while place != NONE {
            let entry = &mut self.entries[place as usize];
            self.current.push(entry.signal);
            let next = std::mem::replace(&mut entry.next, self.free);
            self.free = place;
            place = next;
            self.in_slots -= 1;
        }
        self.current_tick = self.current[0].time.0 >> TICK_BITS;
        self.current.sort_unstable_by_key(|signal| Reverse(signal.time));
    }

    /// The first occupied slot from the current time on; there is one.
    fn first_slot(&self) -> usize {
        let start = self.now_tick as usize % SLOTS;
        let (word, bit) = (start / 64, start % 64);
        let here = self.occupied[word] & (u64::MAX << bit);
        if here != 0 {
            return word * 64 + here.trailing_zeros() as usize;
        }
        let words = SLOTS / 64;
        for i in 1..=words {
            let word = (word + i) % words;
            if self.occupied[word] != 0 {
                return word * 64 + self.occupied[word].trailing_zeros() as usize;
            }
        }
        unreachable!("the wheel counts {} signals and holds none", self.in_slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::event::What;
    use anabranch_base::NodeId;
    use proptest::prelude::*;

    proptest! {
        /// The wheel against a sorted list, over delays from nothing to far beyond the horizon.
        #[test]
        fn signals_come_out_by_time(
            steps in prop::collection::vec((prop_oneof![0u64..5_000, 0u64..1_000_000, 0u64..200_000_000], 0usize..4), 1..300),
        ) {
            let (mut wheel, mut plain, mut now) = (Wheel::new(), Vec::new(), 0);
            for (number, (delay, takes)) in steps.into_iter().enumerate() {
                let signal = Signal { time: Time(now + delay), node: NodeId(number as u32), what: What::Post };
                wheel.push(signal);
                plain.push(signal);
                for _ in 0..takes {
                    let Some(first) = plain.iter().map(|s| s.time).min() else { break };
                    prop_assert_eq!(wheel.first_time(), first);
                    let mut taken = Vec::new();
                    wheel.take(first, |s| taken.push(s.node));
                    taken.sort();
                    let mut expected: Vec<_> = plain.iter().filter(|s| s.time == first).map(|s| s.node).collect();
                    expected.sort();
                    prop_assert_eq!(taken, expected);
                    plain.retain(|s| s.time != first);
                    now = first.0;
                }
            }
        }
    }
}
