//! The inbox of a switch whose ports share nothing: its arrivals by egress port.

use super::{FarArrival, LONGEST_WINDOW, OFFSET_BITS, PORT_BITS, Sources, draw_order};
use crate::frame::Arrival;
use anabranch_base::{NodeId, Time};
use anabranch_proto::IntStack;
use std::ops::Range;

/// The arrivals at a switch within a window, by egress port. Those of a port are in the order in which the switch handles them.
#[derive(Default)]
pub struct PortInbox {
    /// The arrivals as they come from the mail, each with its egress port.
    unsorted: Vec<(u16, Entry)>,
    /// The arrivals by egress port.
    sorted: Vec<Entry>,
    /// By egress port: the end of its arrivals in `sorted`.
    ends: Vec<u32>,
    start: u64,
}

/// An arrival in a [`PortInbox`].
#[derive(Clone, Copy, Default)]
struct Entry {
    /// Offset within the window, then ingress port.
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
        self.ends.clear();
        self.ends.resize(ports, 0);
        let PortInbox { unsorted, ends, .. } = self;
        let mut add = |arrival: &Arrival, place: Place| {
            let offset = arrival.time.0 - start.0;
            debug_assert!(offset < LONGEST_WINDOW, "an arrival beyond its window");
            if arrival.time < end
                && let Some(egress) = route(arrival)
            {
                let key = offset << PORT_BITS | u64::from(arrival.frame.port);
                unsorted.push((egress, Entry { key, place }));
                ends[usize::from(egress)] += 1;
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
        self.sort();
        if let Some(seed) = sources.order {
            self.draw_order(seed, node);
        }
    }

    /// Sorts by egress port, then by key.
    #[inline]
    fn sort(&mut self) {
        let PortInbox { unsorted, sorted, ends, .. } = self;
        sorted.resize(unsorted.len(), Entry::default());
        // First the counts become the starts, which move to the ends as ports fill up.
        let mut start = 0;
        for end in ends.iter_mut() {
            start += std::mem::replace(end, start);
        }
        for (egress, entry) in unsorted.iter() {
            let next = &mut ends[usize::from(*egress)];
            sorted[*next as usize] = *entry;
            *next += 1;
        }
        let mut start = 0;
        for end in ends.iter() {
            let of_port = &mut sorted[start..*end as usize];
            if of_port.len() > 1 {
                // The key function compiles the sort in this crate; see `sort` of the other inbox.
                of_port.sort_unstable_by_key(|entry| (entry.key, entry.place.index));
            }
            start = *end as usize;
        }
    }

    /// Puts the arrivals of each instant and egress port into a random order, the one of all arrivals at that instant.
    #[inline(never)]
    fn draw_order(&mut self, seed: u64, node: NodeId) {
        let mut from = 0;
        for end in &self.ends {
            let of_port = &mut self.sorted[from..*end as usize];
            from = *end as usize;
            for tied in of_port.chunk_by_mut(|one, next| one.key >> PORT_BITS == next.key >> PORT_BITS) {
                if tied.len() > 1 {
                    let time = self.start + (tied[0].key >> PORT_BITS);
                    draw_order(seed, node, time, tied, |entry| entry.key & ((1 << PORT_BITS) - 1));
                }
            }
        }
    }

    /// The arrivals that leave by `port`.
    #[inline]
    pub fn range(&self, port: u16) -> Range<usize> {
        let port = usize::from(port);
        let start = if port == 0 { 0 } else { self.ends[port - 1] as usize };
        start..self.ends[port] as usize
    }

    /// The time of the arrival at `index`.
    #[inline]
    pub fn time(&self, index: usize) -> Time {
        Time(self.start + (self.sorted[index].key >> PORT_BITS))
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

const _: () = assert!(OFFSET_BITS + PORT_BITS < u64::BITS);
