//! The inbox of a switch whose ports share nothing in a synchronisation window.

use super::{FarArrival, LONGEST_WINDOW, OFFSET_BITS, PORT_BITS, Sources, draw_order, sort_nearly_sorted};
use crate::frame::Arrival;
use crate::prefetch::prefetch;
use anabranch_base::{NodeId, Time};
use anabranch_proto::IntStack;

/// The arrivals at a switch within a synchronisation window, sorted by egress port. For each port they are in the order
/// in which the switch handles them.
#[derive(Default)]
pub struct PortInbox<'m> {
    unsorted: Vec<Entry<'m>>,
    sorted: Vec<Entry<'m>>,
    /// The ports with arrivals, in increasing order, each with the end of its arrivals in `sorted`.
    ports: Vec<(u16, u32)>,
    /// The end of the arrivals in `sorted`, for each egress port and each of the [`PARTS`] of the window.
    ends: Vec<u32>,
}

/// An arrival in a [`PortInbox`].
#[derive(Clone, Copy)]
pub struct Entry<'m> {
    /// The sort key. From the highest bits down, it has the egress port, the shifted offset within the window, the
    /// ingress port and the number of the sending thread.
    key: u64,
    pub arrival: &'m Arrival,
}

const THREAD_BITS: u32 = 10;

/// The largest number of threads whose mail a [`PortInbox`] can take.
pub const MOST_THREADS: usize = (1 << THREAD_BITS) - 1;

/// The thread number that stands for arrivals over long links.
const FAR: usize = MOST_THREADS;

/// The number of parts of a synchronisation window in which `sort_many` counts arrivals.
const PARTS: usize = 32;

/// Prefetching is ahead of reading by this many arrivals.
const PREFETCHED: usize = 8;

static BLANK: Arrival = Arrival::BLANK;

impl<'m> Entry<'m> {
    #[inline]
    fn new(egress: u16, offset: u64, thread: usize, arrival: &'m Arrival) -> Entry<'m> {
        let instant = u64::from(egress) << OFFSET_BITS | offset;
        let port = instant << PORT_BITS | u64::from(arrival.frame.port);
        Entry { key: port << THREAD_BITS | thread as u64, arrival }
    }

    #[inline]
    fn egress(&self) -> u16 {
        (self.key >> (OFFSET_BITS + PORT_BITS + THREAD_BITS)) as u16
    }

    /// The egress port and the part of the window, as one number.
    #[inline]
    fn part(&self) -> usize {
        (self.key >> (OFFSET_BITS - PARTS.ilog2() + PORT_BITS + THREAD_BITS)) as usize
    }

    /// The egress port and the offset within the window, as one number.
    #[inline]
    fn instant(&self) -> u64 {
        self.key >> (PORT_BITS + THREAD_BITS)
    }

    pub fn telemetry(&self, sources: &Sources<'m>, far: &'m [FarArrival]) -> Option<&'m IntStack> {
        match self.key as usize & FAR {
            FAR => far.iter().find(|far| std::ptr::eq(&far.arrival, self.arrival))?.stack.as_deref(),
            thread => {
                sources.slots[thread].stacks.get((self.arrival.frame.telemetry as usize).checked_sub(1)?)
            }
        }
    }
}

impl<'m> PortInbox<'m> {
    /// An empty inbox with the memory of another one.
    pub fn recycled(mut self) -> PortInbox<'static> {
        self.unsorted.clear();
        self.sorted.clear();
        // The new vector reuses the memory of the old one, since both element types have the same layout.
        let blank = |entry: Entry<'_>| Entry { key: entry.key, arrival: &BLANK };
        PortInbox {
            unsorted: self.unsorted.into_iter().map(blank).collect(),
            sorted: self.sorted.into_iter().map(blank).collect(),
            ports: self.ports,
            ends: self.ends,
        }
    }

    /// Sorts the arrivals at `node`, a switch with `ports` ports, in the synchronisation window from `start` until
    /// before `end`. `route` gives the egress port of an arrival. An arrival without an egress port is left out.
    #[inline]
    pub fn open(
        &mut self,
        sources: &Sources<'m>,
        (node, ports): (NodeId, usize),
        (start, end): (Time, Time),
        far: &'m [FarArrival],
        mut route: impl FnMut(&Arrival) -> Option<u16>,
    ) {
        self.unsorted.clear();
        let unsorted = &mut self.unsorted;
        // Offsets are shifted left, so that their highest bits in the key number the parts of this window.
        let length = end.since(start).0;
        let shift = (OFFSET_BITS + length.leading_zeros()).saturating_sub(u64::BITS);
        let of_threads = sources.slots.iter().enumerate().flat_map(|(thread, mail)| {
            mail.runs_of(sources.window, node).map(move |(_, arrivals)| (thread, arrivals))
        });
        // There is one loop over all arrivals, so that `route` is inlined.
        for (thread, arrivals) in
            of_threads.chain(far.iter().map(|far| (FAR, std::slice::from_ref(&far.arrival))))
        {
            for (number, arrival) in arrivals.iter().enumerate() {
                if let Some(soon) = arrivals.get(number + PREFETCHED) {
                    prefetch(soon);
                }
                let offset = arrival.time.0 - start.0;
                debug_assert!(offset < LONGEST_WINDOW, "an arrival beyond its window");
                if arrival.time < end
                    && let Some(egress) = route(arrival)
                {
                    unsorted.push(Entry::new(egress, offset << shift, thread, arrival));
                }
            }
        }
        self.ports.clear();
        if self.unsorted.len() < ports {
            self.sort_few();
        } else {
            self.sort_many(ports);
        }
        if let Some(seed) = sources.order {
            self.draw_order(seed, node);
        }
    }

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

    /// Sorts arrivals in two passes: a counting sort by egress port and part of the window, then an insertion sort by
    /// the full key.
    fn sort_many(&mut self, ports: usize) {
        let PortInbox { unsorted, sorted, ends, .. } = self;
        ends.clear();
        ends.resize(ports * PARTS, 0);
        unsorted.iter().for_each(|entry| ends[entry.part()] += 1);
        // The counts become the starts of the parts. As a part is filled, its start advances to its end.
        let mut start = 0;
        for end in ends.iter_mut() {
            start += std::mem::replace(end, start);
        }
        sorted.resize(unsorted.len(), Entry { key: 0, arrival: &BLANK });
        for entry in unsorted.iter() {
            let next = &mut ends[entry.part()];
            sorted[*next as usize] = *entry;
            *next += 1;
        }
        sort_nearly_sorted(sorted, |entry| entry.key);
        let mut start = 0;
        for (port, ends) in (0..).zip(ends.chunks_exact(PARTS)) {
            if ends[PARTS - 1] > start {
                start = ends[PARTS - 1];
                self.ports.push((port, start));
            }
        }
    }

    /// Puts the arrivals at each instant and egress port into a random order, which agrees with the random order of
    /// all arrivals at that instant.
    #[inline(never)]
    fn draw_order(&mut self, seed: u64, node: NodeId) {
        for tied in self.sorted.chunk_by_mut(|one, next| one.instant() == next.instant()) {
            if tied.len() > 1 {
                let time = tied[0].arrival.time.0;
                draw_order(seed, node, time, tied, |entry| u64::from(entry.arrival.frame.port));
            }
        }
    }

    pub fn ports(&self) -> impl Iterator<Item = (u16, &[Entry<'m>])> {
        let mut rest = &self.sorted[..];
        let mut from = 0;
        self.ports.iter().map(move |(port, end)| {
            let (of_port, behind) = rest.split_at((end - from) as usize);
            (rest, from) = (behind, *end);
            (*port, of_port)
        })
    }
}

const _: () = assert!(OFFSET_BITS + 2 * PORT_BITS + THREAD_BITS <= u64::BITS);
