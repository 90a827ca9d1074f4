//! The inbox of a switch whose ports share nothing: its arrivals by egress port.

use super::{FarArrival, LONGEST_WINDOW, OFFSET_BITS, PORT_BITS, Sources, draw_order};
use crate::frame::Arrival;
use anabranch_base::{NodeId, Time};
use anabranch_proto::IntStack;

/// The arrivals at a switch within a window, by egress port. Those of a port are in the order in which the switch handles them.
#[derive(Default)]
pub struct PortInbox {
    /// The arrivals as they come from the mail.
    unsorted: Vec<Entry>,
    /// The arrivals by egress port.
    sorted: Vec<Entry>,
    /// Ports with arrivals, rising, each with the end of its arrivals in `sorted`.
    ports: Vec<(u16, u32)>,
    /// By egress port and [`PARTS`]th of the window: the end of the arrivals in `sorted`.
    ends: Vec<u32>,
    start: u64,
}

/// An arrival in a [`PortInbox`].
#[derive(Clone, Copy, Default)]
struct Entry {
    /// Egress port, offset within the window, ingress port.
    key: u64,
    place: Place,
}

/// The place of an arrival in the mail.
#[derive(Clone, Copy, Default)]
struct Place {
    /// The slot of its thread; [`FAR`] for one over a long link.
    slot: u32,
    /// Its index there.
    index: u32,
}

const FAR: u32 = u32::MAX;

impl Entry {
    #[inline]
    fn new(egress: u16, offset: u64, ingress: u16, place: Place) -> Entry {
        let instant = u64::from(egress) << OFFSET_BITS | offset;
        Entry { key: instant << PORT_BITS | u64::from(ingress), place }
    }

    #[inline]
    fn egress(&self) -> u16 {
        (self.key >> (OFFSET_BITS + PORT_BITS)) as u16
    }

    /// The egress port and the offset within the window.
    #[inline]
    fn instant(&self) -> u64 {
        self.key >> PORT_BITS
    }

    #[inline]
    fn offset(&self) -> u64 {
        self.instant() & (LONGEST_WINDOW - 1)
    }
}

/// Parts of a window by which arrivals are counted, about as many as a link has packets in a window.
const PARTS: usize = 32;

impl PortInbox {
    /// Sorts the arrivals at `node`, a switch with `ports` ports, within the window from `start` until before `end`. `route` gives
    /// the egress port of an arrival; one without is left out.
    #[inline]
    pub fn open(
        &mut self,
        sources: &Sources<'_>,
        (node, ports): (NodeId, usize),
        (start, end): (Time, Time),
        far: &[FarArrival],
        mut route: impl FnMut(&Arrival) -> Option<u16>,
    ) {
        self.unsorted.clear();
        self.start = start.0;
        let unsorted = &mut self.unsorted;
        let mut add = |arrival: &Arrival, place: Place| {
            let offset = arrival.time.0 - start.0;
            debug_assert!(offset < LONGEST_WINDOW, "an arrival beyond its window");
            if arrival.time < end
                && let Some(egress) = route(arrival)
            {
                unsorted.push(Entry::new(egress, offset, arrival.frame.port, place));
            }
        };
        for (slot, mail) in sources.slots.iter().enumerate() {
            for (first, arrivals) in mail.runs_of(sources.window, node) {
                for (index, arrival) in (first..).zip(arrivals) {
                    add(arrival, Place { slot: slot as u32, index });
                }
            }
        }
        for (index, far) in (0..).zip(far) {
            add(&far.arrival, Place { slot: FAR, index });
        }
        self.ports.clear();
        if self.unsorted.len() < ports {
            self.sort_few();
        } else {
            self.sort_many(ports, end.since(start).0);
        }
        if let Some(seed) = sources.order {
            self.draw_order(seed, node);
        }
    }

    /// Sorts fewer arrivals than there are ports.
    fn sort_few(&mut self) {
        self.sorted.clear();
        self.sorted.append(&mut self.unsorted);
        self.sorted.sort_unstable_by_key(|entry| entry.key);
        let mut end = 0;
        for of_port in self.sorted.chunk_by(|one, next| one.egress() == next.egress()) {
            end += of_port.len() as u32;
            self.ports.push((of_port[0].egress(), end));
        }
    }

    /// Sorts arrivals by egress port and part of the window by counting, and then by insertion. The window is `length` ps long.
    fn sort_many(&mut self, ports: usize, length: u64) {
        let PortInbox { unsorted, sorted, ends, .. } = self;
        let shift = (u64::BITS - length.leading_zeros()).saturating_sub(PARTS.ilog2());
        let part = |entry: &Entry| usize::from(entry.egress()) * PARTS + (entry.offset() >> shift) as usize;
        ends.clear();
        ends.resize(ports * PARTS, 0);
        unsorted.iter().for_each(|entry| ends[part(entry)] += 1);
        // The counts become starts, which become ends as the parts fill up.
        let mut start = 0;
        for end in ends.iter_mut() {
            start += std::mem::replace(end, start);
        }
        sorted.resize(unsorted.len(), Entry::default());
        for entry in unsorted.iter() {
            let next = &mut ends[part(entry)];
            sorted[*next as usize] = *entry;
            *next += 1;
        }
        sort_nearly_sorted(sorted);
        let mut start = 0;
        for (port, ends) in (0..).zip(ends.chunks_exact(PARTS)) {
            if ends[PARTS - 1] > start {
                start = ends[PARTS - 1];
                self.ports.push((port, start));
            }
        }
    }

    /// Puts the arrivals of each instant and egress port into a random order, the one of all arrivals at that instant.
    #[inline(never)]
    fn draw_order(&mut self, seed: u64, node: NodeId) {
        for tied in self.sorted.chunk_by_mut(|one, next| one.instant() == next.instant()) {
            if tied.len() > 1 {
                let time = self.start + tied[0].offset();
                draw_order(seed, node, time, tied, |entry| entry.key & ((1 << PORT_BITS) - 1));
            }
        }
    }

    /// Ports with arrivals, rising, each with the end of its arrivals.
    pub fn ports(&self) -> &[(u16, u32)] {
        &self.ports
    }

    /// The time of the arrival at `index`.
    #[inline]
    pub fn time(&self, index: usize) -> Time {
        Time(self.start + self.sorted[index].offset())
    }

    /// The arrival at `index`.
    #[inline(always)]
    pub fn arrival<'a>(&self, index: usize, sources: &'a Sources<'_>, far: &'a [FarArrival]) -> &'a Arrival {
        let Place { slot, index } = self.sorted[index].place;
        match sources.slots.get(slot as usize) {
            Some(slot) => slot.room.at(index),
            None => &far[index as usize].arrival,
        }
    }

    /// The telemetry of the arrival at `index`.
    pub fn telemetry<'a>(
        &self,
        index: usize,
        sources: &'a Sources<'_>,
        far: &'a [FarArrival],
    ) -> Option<&'a IntStack> {
        let arrival = self.arrival(index, sources, far);
        let Place { slot, index } = self.sorted[index].place;
        match sources.slots.get(slot as usize) {
            Some(slot) => {
                let stack = (arrival.frame.telemetry as usize).checked_sub(1)?;
                Some(&slot.stacks[stack])
            }
            None => far[index as usize].stack.as_deref(),
        }
    }
}

/// Sorts arrivals that are nearly sorted, by insertion as long as that takes few steps.
#[inline]
fn sort_nearly_sorted(arrivals: &mut [Entry]) {
    let mut left = 8 * arrivals.len();
    for index in 1..arrivals.len() {
        let entry = arrivals[index];
        let mut place = index;
        while place > 0 && arrivals[place - 1].key > entry.key {
            arrivals[place] = arrivals[place - 1];
            place -= 1;
        }
        arrivals[place] = entry;
        left = left.saturating_sub(index - place);
        if left == 0 {
            return arrivals.sort_unstable_by_key(|entry| entry.key);
        }
    }
}

const _: () = assert!(OFFSET_BITS + 2 * PORT_BITS <= u64::BITS);
