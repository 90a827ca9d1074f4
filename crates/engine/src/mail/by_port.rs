//! The inbox of a switch whose ports share nothing: its arrivals by egress port.

use super::{FarArrival, LONGEST_WINDOW, Numbered, OFFSET_BITS, Sources, draw_order, sort};
use crate::frame::Arrival;
use anabranch_base::{NodeId, Time};
use anabranch_proto::IntStack;

/// The arrivals at a switch within a window, by egress port. Those of a port are in the order in which the switch handles them.
#[derive(Default)]
pub struct PortInbox {
    /// Sorted keys: egress port, offset within the window, ingress port, number.
    keys: Vec<u64>,
    numbered: Numbered,
    start: u64,
    port_bits: u32,
}

impl PortInbox {
    /// Ports of a switch that can have such an inbox: the keys have room for more than four million arrivals.
    pub const MOST_PORTS: usize = 1 << 10;

    /// Sorts the arrivals at `node`, a switch with `ports` ports, within the window from `start` until before `end`. `route` gives
    /// the egress port of an arrival; one without is left out.
    pub fn open(
        &mut self,
        sources: &Sources<'_>,
        (node, ports): (NodeId, usize),
        (start, end): (Time, Time),
        far: &[FarArrival],
        mut route: impl FnMut(&Arrival) -> Option<u16>,
    ) {
        self.keys.clear();
        self.start = start.0;
        self.port_bits = ports.next_power_of_two().trailing_zeros().max(1);
        let (port_bits, number_bits) = (self.port_bits, self.number_bits());
        let mut number = 0;
        self.numbered.open(sources, node, far, |arrival| {
            let offset = arrival.time.0 - start.0;
            debug_assert!(offset < LONGEST_WINDOW, "an arrival beyond its window");
            if arrival.time < end
                && let Some(egress) = route(arrival)
            {
                let instant = u64::from(egress) << OFFSET_BITS | offset;
                let key = (instant << port_bits | u64::from(arrival.frame.port)) << number_bits | number;
                self.keys.push(key);
            }
            number += 1;
        });
        assert!(number < 1 << number_bits, "more than 2^22 frames come in at a switch within one window");
        sort(&mut self.keys);
        if let Some(seed) = sources.order {
            self.draw_order(seed, node);
        }
    }

    fn number_bits(&self) -> u32 {
        u64::BITS - OFFSET_BITS - 2 * self.port_bits
    }

    /// Puts the arrivals of each instant and egress port into a random order, the one of all arrivals at that instant.
    #[inline(never)]
    fn draw_order(&mut self, seed: u64, node: NodeId) {
        let (port_bits, number_bits) = (self.port_bits, self.number_bits());
        let instant = port_bits + number_bits;
        for tied in self.keys.chunk_by_mut(|one, next| one >> instant == next >> instant) {
            if tied.len() > 1 {
                let time = self.start + (tied[0] >> instant & (LONGEST_WINDOW - 1));
                draw_order(seed, node, time, tied, |key| key >> number_bits & ((1 << port_bits) - 1));
            }
        }
    }

    /// The number of arrivals.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// The egress port of the arrival at `index`.
    #[inline]
    pub fn egress(&self, index: usize) -> u16 {
        (self.keys[index] >> (u64::BITS - self.port_bits)) as u16
    }

    /// The time of the arrival at `index`.
    #[inline]
    pub fn time(&self, index: usize) -> Time {
        Time(self.start + (self.keys[index] >> (self.port_bits + self.number_bits()) & (LONGEST_WINDOW - 1)))
    }

    /// The arrival at `index`, with its telemetry.
    #[inline(always)]
    pub fn arrival<'a>(
        &self,
        index: usize,
        sources: &'a Sources<'_>,
        far: &'a [FarArrival],
    ) -> (&'a Arrival, Option<&'a IntStack>) {
        let number = (self.keys[index] & ((1 << self.number_bits()) - 1)) as u32;
        self.numbered.get(number, sources, far)
    }
}
