//! A calendar of arrivals over long links.

use crate::frame::FrameKind;
use crate::mail::FarArrival;
use anabranch_base::{NodeId, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Arrivals over long links. With links of over a thousand kilometres, a heap of all arrivals would have millions of
/// entries and cause a cache miss for each. Arrivals therefore wait unsorted in time bins. Only the arrivals up to the
/// bin in which the present synchronisation window ends are in a heap.
#[derive(Default)]
pub struct FarCalendar {
    /// The arrivals in bins before `horizon`. Each entry has the time and the index in `slab`.
    near: BinaryHeap<Reverse<(Time, u32)>>,
    slab: Vec<Option<FarArrival>>,
    free: Vec<u32>,
    /// The number of the first bin whose arrivals may be in `bins`.
    horizon: u64,
    /// The non-empty bins, by time divided by 2^[`BIN_BITS`] ps. Each bin consists of chunks.
    bins: BTreeMap<u64, Vec<Vec<FarArrival>>>,
    spare: Vec<Vec<FarArrival>>,
    /// The time of the first arrival in `bins`.
    first_binned: Option<Time>,
    /// The arrivals of the present synchronisation window, sorted by node and then by time.
    due: Vec<FarArrival>,
}

/// The binary logarithm of the length of a bin in ps. 2^19 ps are about half a microsecond.
const BIN_BITS: u32 = 19;

/// The number of arrivals in a chunk. If a bin were a single growing vector, its unused capacity might be as large as
/// its contents.
const CHUNK: usize = 32;

impl FarCalendar {
    pub fn add(&mut self, far: FarArrival) {
        let time = far.arrival.time;
        if time.0 >> BIN_BITS < self.horizon {
            self.add_near(far);
            return;
        }
        self.first_binned = Some(self.first_binned.map_or(time, |first| first.min(time)));
        let bin = self.bins.entry(time.0 >> BIN_BITS).or_default();
        match bin.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push(far),
            Some(_) | None => {
                let mut chunk = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK));
                chunk.push(far);
                bin.push(chunk);
            }
        }
    }

    fn add_near(&mut self, far: FarArrival) {
        let time = far.arrival.time;
        let place = match self.free.pop() {
            Some(place) => {
                self.slab[place as usize] = Some(far);
                place
            }
            None => {
                self.slab.push(Some(far));
                self.slab.len() as u32 - 1
            }
        };
        self.near.push(Reverse((time, place)));
    }

    /// The time of the first arrival that is not [due](FarCalendar::due); [`Time::NEVER`] if there is none.
    pub fn first(&self) -> Time {
        let near = self.near.peek().map_or(Time::NEVER, |Reverse((time, _))| *time);
        near.min(self.first_binned.unwrap_or(Time::NEVER))
    }

    /// Begins a synchronisation window that ends at `end`: the arrivals before `end` become due.
    pub fn take_due(&mut self, end: Time) {
        self.due.clear();
        while let Some(&Reverse((time, place))) = self.near.peek()
            && time < end
        {
            self.near.pop();
            self.due.extend(self.slab[place as usize].take());
            self.free.push(place);
        }
        if self.first_binned.is_some_and(|first| first < end) {
            while let Some(bin) = self.bins.first_entry().filter(|bin| *bin.key() << BIN_BITS < end.0) {
                let (number, chunks) = bin.remove_entry();
                self.horizon = number + 1;
                for mut chunk in chunks {
                    if self.horizon << BIN_BITS <= end.0 {
                        self.due.append(&mut chunk);
                    } else {
                        self.due.extend(chunk.extract_if(.., |far| far.arrival.time < end));
                        chunk.drain(..).for_each(|far| self.add_near(far));
                    }
                    self.spare.push(chunk);
                }
            }
            let next = self.bins.first_key_value();
            self.first_binned =
                next.and_then(|(_, bin)| bin.iter().flatten().map(|far| far.arrival.time).min());
        }
        self.due.sort_by_key(|far| (far.node, far.arrival.time));
    }

    pub fn due(&self) -> &[FarArrival] {
        &self.due
    }

    /// The arrivals of the present synchronisation window at `node`.
    pub fn due_at(&self, node: NodeId) -> &[FarArrival] {
        if self.due.is_empty() {
            return &[];
        }
        let from = self.due.partition_point(|far| far.node < node);
        let until = self.due.partition_point(|far| far.node <= node);
        &self.due[from..until]
    }

    /// The number of packets that are not due yet.
    pub fn packets(&self) -> u64 {
        let all = self.bins.values().flatten().flatten().chain(self.slab.iter().flatten());
        all.filter(|far| far.arrival.frame.kind == FrameKind::Packet).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Arrival, Frame};
    use anabranch_base::{HostId, QpId};
    use anabranch_proto::{Packet, Repr};
    use proptest::prelude::*;

    proptest! {
        /// The calendar gives the same arrivals as a plain list: each synchronisation window gets all arrivals before
        /// its end, sorted by node and time.
        #[test]
        fn what_is_due_comes_out_by_node_and_time(
            windows in prop::collection::vec(
                (
                    prop_oneof![1u64..30_000, 1u64..3_000_000],
                    prop::collection::vec((0u32..4, 0u64..4_000_000, any::<bool>()), 0..40),
                ),
                1..40,
            ),
        ) {
            let (mut arriving, mut plain, mut now, mut sent) = (FarCalendar::default(), Vec::new(), 0, 0);
            for (length, more) in windows {
                now += length;
                for (node, delay, is_packet) in more {
                    let repr = Repr::nack(sent);
                    let (qp, dst) = (QpId(0), HostId(0));
                    let packet = Packet { qp, dst, wire_bytes: 64, ev: 0, marked: false, tag: 0, repr };
                    let kind = if is_packet { FrameKind::Packet } else { FrameKind::Pause };
                    let frame = Frame { kind, ..Frame::new(packet, 0) };
                    // Some packets arrive at the same instant, others at different instants of the same bin.
                    let time = Time((now + delay) / 50_000 * 50_000 + 50_000);
                    arriving.add(FarArrival { node: NodeId(node), arrival: Arrival { time, frame }, stack: None });
                    plain.push((NodeId(node), time, sent, is_packet));
                    sent += 1;
                }
                let end = Time(now + 5_000);
                arriving.take_due(end);
                let (mut due, rest): (Vec<_>, Vec<_>) = plain.into_iter().partition(|(_, time, ..)| *time < end);
                due.sort_unstable();
                plain = rest;
                let number = |far: &FarArrival| match far.arrival.frame.packet.repr {
                    Repr::Nack { psn, .. } => psn,
                    _ => u32::MAX,
                };
                let seen = |far: &FarArrival| (far.node, far.arrival.time, number(far));
                let mut are: Vec<_> = arriving.due().iter().map(seen).collect();
                prop_assert!(are.is_sorted_by_key(|(node, time, _)| (*node, *time)));
                are.sort_unstable();
                let should: Vec<_> = due.iter().map(|(node, time, number, _)| (*node, *time, *number)).collect();
                prop_assert_eq!(&are, &should);
                let mut there: Vec<_> = (0..4).flat_map(|node| arriving.due_at(NodeId(node))).map(seen).collect();
                there.sort_unstable();
                prop_assert_eq!(there, should);
                prop_assert_eq!(arriving.first(), plain.iter().map(|p| p.1).min().unwrap_or(Time::NEVER));
                prop_assert_eq!(arriving.packets(), plain.iter().filter(|p| p.3).count() as u64);
            }
        }
    }
}
