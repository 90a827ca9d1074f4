//! The inbox of a node: its arrivals of a synchronisation window, in the order in which the node handles them.

use super::{FarArrival, LONGEST_WINDOW, NUMBER_BITS, PORT_BITS, Sources, draw_order, sort_nearly_sorted};
use crate::frame::{Arrival, FrameKind, Order, event_kind};
use anabranch_base::{NodeId, Time};
use anabranch_proto::{IntStack, Packet};
use smallvec::SmallVec;

/// The arrivals at one node within a synchronisation window, in the order in which the node handles them.
#[derive(Default)]
pub struct Inbox {
    /// The sorted keys. From the highest bits down, a key has the offset within the window, a bit that is 0 for a pause
    /// frame and 1 for a packet, the port, and the number of the arrival.
    keys: Vec<u64>,
    unsorted: Vec<u64>,
    /// The end in `keys` of each part of the synchronisation window.
    ends: Vec<u32>,
    /// The runs, in the order of the numbers of their arrivals. Arrivals over long links are in no run, and their numbers
    /// follow those of the last run.
    runs: SmallVec<[InboxRun; 4]>,
    next: usize,
    start: u64,
}

const OFFSET_SHIFT: u32 = 1 + PORT_BITS + NUMBER_BITS;

/// The largest number of parts of a synchronisation window in which arrivals are counted.
const MOST_PARTS: usize = 1024;

/// A run of arrivals in the mail of one thread.
struct InboxRun {
    /// The number of the run's last arrival, plus one.
    end: u32,
    /// The index of an arrival in the thread's mail minus its number in this inbox, in wrapping arithmetic.
    shift: u32,
    slot: u32,
}

impl Inbox {
    /// Sorts the arrivals at `node` in the synchronisation window that starts at `start`. `far` has the arrivals over
    /// long links. `expect` is called for each arrival, to prefetch data that the node will look up.
    #[inline]
    pub fn open(
        &mut self,
        sources: &Sources<'_>,
        node: NodeId,
        start: Time,
        far: &[FarArrival],
        expect: impl Fn(&Packet),
    ) {
        self.keys.clear();
        self.runs.clear();
        self.next = 0;
        self.start = start.0;
        let (mut sorted, mut last) = (true, 0);
        let mut add = |arrival: &Arrival| {
            let offset = arrival.time.0 - start.0;
            debug_assert!(offset < LONGEST_WINDOW, "an arrival beyond its window");
            let is_packet = u64::from(arrival.frame.kind == FrameKind::Packet);
            let key = ((offset << 1 | is_packet) << PORT_BITS | u64::from(arrival.frame.port)) << NUMBER_BITS
                | self.keys.len() as u64;
            expect(&arrival.frame.packet);
            sorted &= last <= key;
            last = key;
            self.keys.push(key);
        };
        let mut end = 0;
        for (slot, mail) in sources.slots.iter().enumerate() {
            for (index, arrivals) in mail.runs_of(sources.window, node) {
                arrivals.iter().for_each(&mut add);
                let shift = index.wrapping_sub(end);
                end += arrivals.len() as u32;
                self.runs.push(InboxRun { end, shift, slot: slot as u32 });
            }
        }
        far.iter().for_each(|far| add(&far.arrival));
        assert!(
            self.keys.len() < 1 << NUMBER_BITS,
            "2^25 frames or more come in at a node within one window"
        );
        if !sorted {
            self.sort();
        }
        if let Some(seed) = sources.order {
            self.draw_order(seed, node);
        }
    }

    #[inline]
    fn sort(&mut self) {
        let Inbox { keys, unsorted, ends, .. } = self;
        let most = keys.iter().fold(0, |most, key| most | *key >> OFFSET_SHIFT);
        let parts = keys.len().next_power_of_two().min(MOST_PARTS);
        let shift = OFFSET_SHIFT + (u64::BITS - most.leading_zeros()).saturating_sub(parts.ilog2());
        ends.clear();
        ends.resize(parts, 0);
        keys.iter().for_each(|key| ends[(*key >> shift) as usize] += 1);
        // The counts become the starts of the parts. As a part is filled, its start advances to its end.
        let mut start = 0;
        for end in ends.iter_mut() {
            start += std::mem::replace(end, start);
        }
        std::mem::swap(keys, unsorted);
        keys.clear();
        keys.resize(unsorted.len(), 0);
        for key in unsorted.iter() {
            let next = &mut ends[(*key >> shift) as usize];
            keys[*next as usize] = *key;
            *next += 1;
        }
        sort_nearly_sorted(keys, |key| *key);
    }

    /// Puts the packets that arrive at each instant into a random order, and likewise the pause frames, which stay
    /// before the packets.
    #[inline(never)]
    fn draw_order(&mut self, seed: u64, node: NodeId) {
        const INSTANT: u32 = PORT_BITS + NUMBER_BITS;
        for tied in self.keys.chunk_by_mut(|one, next| one >> INSTANT == next >> INSTANT) {
            if tied.len() > 1 {
                let time = self.start + (tied[0] >> (INSTANT + 1));
                draw_order(seed, node, time, tied, |key| *key >> NUMBER_BITS & ((1 << PORT_BITS) - 1));
            }
        }
    }

    /// The position of the next arrival among the events of the node.
    #[inline]
    pub fn next(&self) -> Order {
        match self.keys.get(self.next) {
            None => Order::NEVER,
            Some(key) => {
                let (offset, is_packet) =
                    (key >> (NUMBER_BITS + PORT_BITS + 1), key >> (NUMBER_BITS + PORT_BITS) & 1);
                Order::new(
                    Time(self.start + offset),
                    if is_packet == 1 { event_kind::ARRIVAL } else { event_kind::PAUSE },
                )
            }
        }
    }

    #[inline(always)]
    pub fn take<'a>(
        &mut self,
        sources: &'a Sources<'_>,
        far: &'a [FarArrival],
    ) -> (&'a Arrival, Option<&'a IntStack>) {
        let number = (self.keys[self.next] & ((1 << NUMBER_BITS) - 1)) as u32;
        self.next += 1;
        match self.runs.iter().find(|run| number < run.end) {
            Some(run) => {
                let slot = sources.slots[run.slot as usize];
                let arrival = slot.room.at(number.wrapping_add(run.shift));
                let stack = (arrival.frame.telemetry as usize).checked_sub(1);
                (arrival, stack.map(|number| &slot.stacks[number]))
            }
            None => {
                let before = self.runs.last().map_or(0, |run| run.end);
                let far = &far[(number - before) as usize];
                (&far.arrival, far.stack.as_deref())
            }
        }
    }
}
