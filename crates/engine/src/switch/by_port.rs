//! Switches whose ports share nothing during a synchronisation window, so that each port is simulated through the
//! window independently of the others.
//!
//! The order of events at different ports does not matter if each queue has a limit of its own, and no program,
//! adaptive routing, shared buffer or pause involves several ports. The arrivals of a window are then sorted by egress
//! port, and each port merges its arrivals with the times at which it becomes free.
//!
//! With a shared buffer or PFC, the ports are independent in a window in which nothing is paused and no threshold can
//! be crossed in any order of arrivals and departures. In its other windows, such a switch runs its events in their
//! order.

use super::Switch;
use super::plain_port::{PlainPort, PortStream, Unshared, Waiting, Wire};
use super::shared::SharedQueues;
use crate::context::Context;
use crate::egress::{PortTimes, waits_with_control};
use crate::frame::{Frame, FrameKind};
use crate::mail::{Entry, FarArrival, PortInbox, Sources};
use crate::observer::Observer;
use anabranch_base::{Purpose, Time};
use anabranch_proto::IntStack;

/// Memory for a synchronisation window of a switch whose ports are independent of each other. The switches of a thread
/// share this memory.
#[derive(Default)]
pub struct PortScratch {
    inbox: PortInbox<'static>,
    /// The arrivals that wait at the present port: first data, then control.
    waiting: [Waiting; 2],
    /// For each ingress port, the bytes of data that arrive.
    arriving: Vec<u64>,
}

/// Prefetching is ahead of running by this many ports.
const PREFETCHED: usize = 3;

type OfPort<'s, 'm> = (&'s [Entry<'m>], &'s Sources<'m>, &'m [FarArrival]);

impl Switch {
    /// Moves the times at which the ports become free into one queue, so that the switch can run its events in their
    /// order.
    #[inline]
    pub(super) fn merge_ports(&mut self) {
        if let Some(times) = &mut self.by_port {
            times.move_to(&mut self.egress.free_times);
        }
    }

    /// Runs the events of the switch from `start` until before `end` port by port, if its ports share nothing in that
    /// time. `at.now` is then at or after the latest of these events. Returns false without running an event if the
    /// switch must run its events in their order.
    #[inline]
    pub fn run_by_port<'m, O: Observer>(
        &mut self,
        scratch: &mut PortScratch,
        mail: (&Sources<'m>, &'m [FarArrival]),
        (start, end): (Time, Time),
        at: &mut Context<'_, O>,
    ) -> bool {
        let Some(mut times) = self.by_port.take() else { return false };
        let mut inbox: PortInbox<'m> = std::mem::take(&mut scratch.inbox);
        let is_split = match (self.counts, at.network.hosts_have_one_port()) {
            (false, true) => self.open_by_port::<true, O>(&mut inbox, mail, (start, end), at),
            (false, false) => self.open_by_port::<false, O>(&mut inbox, mail, (start, end), at),
            (true, true) => {
                self.open_calm::<true, O>(&mut inbox, &mut scratch.arriving, mail, (start, end), at)
            }
            (true, false) => {
                self.open_calm::<false, O>(&mut inbox, &mut scratch.arriving, mail, (start, end), at)
            }
        };
        if is_split {
            times.take_from(&mut self.egress.free_times);
            self.run_ports(&mut times, (&inbox, mail), &mut scratch.waiting, (start, end), at);
        } else {
            times.move_to(&mut self.egress.free_times);
        }
        scratch.inbox = inbox.recycled();
        self.by_port = Some(times);
        is_split
    }

    /// Sorts the arrivals from `start` until before `end` by egress port, and drops arrivals without a route. Returns
    /// true, since the ports of a switch without a shared buffer and PFC are always independent.
    #[inline]
    fn open_by_port<'m, const ONE_PORT: bool, O: Observer>(
        &mut self,
        inbox: &mut PortInbox<'m>,
        (sources, far): (&Sources<'m>, &'m [FarArrival]),
        (start, end): (Time, Time),
        at: &mut Context<'_, O>,
    ) -> bool {
        let (node, ports) = (self.egress.node, self.egress.ports.len());
        at.now = start;
        inbox.open(sources, (node, ports), (start, end), far, |arrival| {
            let port = self.port_of::<ONE_PORT, O>(&arrival.frame.packet, at);
            if port.is_none() {
                at.now = at.now.max(arrival.time);
                at.counters.events += 1;
                self.drop_unroutable(&Frame { telemetry: 0, ..arrival.frame }, at);
            }
            port
        });
        true
    }

    /// Sorts the arrivals from `start` until before `end` by egress port, at a switch with a shared buffer or PFC.
    /// Returns true if three conditions hold: no threshold can be crossed in any order of events, no pause is in effect
    /// or pending in either direction, and each arrival is a packet with a route.
    fn open_calm<'m, const ONE_PORT: bool, O: Observer>(
        &mut self,
        inbox: &mut PortInbox<'m>,
        arriving: &mut Vec<u64>,
        (sources, far): (&Sources<'m>, &'m [FarArrival]),
        (start, end): (Time, Time),
        at: &mut Context<'_, O>,
    ) -> bool {
        let (node, ports) = (self.egress.node, self.egress.ports.len());
        arriving.clear();
        arriving.resize(ports, 0);
        if self.egress.ports.iter().any(|port| port.paused || port.pause_pending) || !self.is_calm(arriving) {
            return false;
        }
        let mut are_routed = true;
        inbox.open(sources, (node, ports), (start, end), far, |arrival| {
            let frame = &arrival.frame;
            let port = (frame.kind == FrameKind::Packet)
                .then(|| self.port_of::<ONE_PORT, O>(&frame.packet, at))
                .flatten();
            are_routed &= port.is_some();
            if !waits_with_control(&frame.packet, &at.network.queues) {
                arriving[usize::from(frame.port)] += u64::from(frame.packet.wire_bytes);
            }
            port
        });
        are_routed && self.is_calm(arriving)
    }

    /// Whether no upstream sender is paused and no threshold would be crossed if all arriving data waited at the same
    /// time. `arriving` has the bytes of that data for each ingress port.
    fn is_calm(&self, arriving: &[u64]) -> bool {
        let fits = |shared: &SharedQueues| {
            let longest = self.egress.ports.iter().map(|port| port.data_bytes).max().unwrap_or(0);
            shared.is_calm(longest.into(), arriving.iter().sum())
        };
        self.pfc.as_ref().is_none_or(|pfc| pfc.is_calm(arriving))
            && self.shared.as_ref().is_none_or(|shared| fits(shared))
    }

    #[inline]
    fn run_ports<'m, O: Observer>(
        &mut self,
        times: &mut PortTimes,
        (inbox, (sources, far)): (&PortInbox<'m>, (&Sources<'m>, &'m [FarArrival])),
        waiting: &mut [Waiting; 2],
        (start, end): (Time, Time),
        at: &mut Context<'_, O>,
    ) {
        let mut latest = at.now;
        let mut ahead = inbox.ports().map(|(port, _)| port);
        ahead.by_ref().take(PREFETCHED).for_each(|port| self.prefetch_queues(port));
        for (port, arrivals) in inbox.ports() {
            if let Some(port) = ahead.next() {
                self.prefetch_queues(port);
            }
            at.now = start;
            let free = self.run_port(port, times.of(port), (arrivals, sources, far), waiting, end, at);
            times.set(port, free);
            latest = latest.max(at.now);
        }
        let (mut first, mut next) = (Time::NEVER, times.next_busy(0));
        while let Some(port) = next {
            let mut free = times.of(port);
            if free < end {
                at.now = start;
                free = self.run_port(port, free, (&[], sources, far), waiting, end, at);
                times.set(port, free);
                latest = latest.max(at.now);
            }
            first = first.min(free);
            next = times.next_busy(port + 1);
        }
        times.set_first(first);
        at.now = latest;
    }

    #[inline]
    fn prefetch_queues(&self, port: u16) {
        let out = &self.egress.ports[usize::from(port)];
        out.data.prefetch(&self.egress.pool);
        out.control.prefetch(&self.egress.pool);
    }

    /// Runs the events of one port before `end`: its arrivals, and the times at which the port becomes free. The first
    /// of these times is `free`. Returns the first one that is not before `end`, or [`Time::NEVER`] if the port is not
    /// busy then.
    fn run_port<'m, O: Observer>(
        &mut self,
        port: u16,
        free: Time,
        (arrivals, sources, far): OfPort<'_, 'm>,
        waiting: &mut [Waiting; 2],
        end: Time,
        at: &mut Context<'_, O>,
    ) -> Time {
        if !self.egress.is_plain(port) {
            return self.run_special_port(port, free, (arrivals, sources, far), end, at);
        }
        let out = &mut self.egress.ports[usize::from(port)];
        let wire = Wire {
            kind: &at.network.link_kinds[usize::from(out.link_kind)],
            out,
            free,
            marks: PortStream { stream: &mut self.marks[usize::from(port)], purpose: Purpose::EcnMarking },
            marked: 0,
        };
        let coins = PortStream { stream: &mut self.coins[usize::from(port)], purpose: Purpose::FullQueue };
        let port = PlainPort { wire, pool: &mut self.egress.pool, waiting, arrivals, coins };
        let (marked, free) = match (&mut self.pfc, &mut self.shared) {
            (None, None) => port.run(&mut Unshared, end, at),
            (Some(pfc), _) => port.run(&mut **pfc, end, at),
            (None, Some(shared)) => port.run(&mut **shared, end, at),
        };
        self.marked += marked;
        free
    }

    #[inline(never)]
    fn run_special_port<'m, O: Observer>(
        &mut self,
        port: u16,
        mut free: Time,
        (arrivals, sources, far): OfPort<'_, 'm>,
        end: Time,
        at: &mut Context<'_, O>,
    ) -> Time {
        let mut arrivals = arrivals.iter();
        let mut next = arrivals.next();
        loop {
            match next.filter(|entry| entry.arrival.time < free) {
                Some(entry) => {
                    at.now = entry.arrival.time;
                    self.arrive_at(port, &entry.arrival.frame, entry.telemetry(sources, far), at);
                    next = arrivals.next();
                }
                None if free < end => {
                    at.now = free;
                    free = Time::NEVER;
                    self.egress.port(port).busy = false;
                    self.serve(port, at);
                }
                None => return free,
            }
            // Only this port runs, so the only stored time belongs to it.
            free = self.egress.free_times.take_only().unwrap_or(free);
            at.counters.events += 1;
        }
    }

    fn arrive_at<O: Observer>(
        &mut self,
        port: u16,
        frame: &Frame,
        stack: Option<&IntStack>,
        at: &mut Context<'_, O>,
    ) {
        at.observer.offered(self.egress.port(port).link, at.now, frame.packet.wire_bytes);
        match (stack, &mut self.egress.telemetry) {
            (Some(stack), Some(telemetry)) => {
                let telemetry = telemetry.records.insert(stack);
                self.forward(port, &Frame { telemetry, ..*frame }, at);
            }
            _ => self.forward(port, frame, at),
        }
    }
}
