//! Switches whose ports share nothing: each port runs through a window by itself.
//!
//! Where queues have limits of their own, and no program, shared buffer or pause looks across ports, the order of events of
//! different ports changes nothing. So the arrivals of a window are sorted by egress port, and each port merges its own with the
//! times at which it becomes free.

use super::Switch;
use super::plain_port::{PlainPort, PortStream, Waiting, Wire};
use crate::context::Context;
use crate::frame::{Frame, Order};
use crate::mail::{Entry, FarArrival, LinkMail, PortInbox, Sources};
use crate::observer::Observer;
use anabranch_base::{Purpose, Time};
use anabranch_proto::IntStack;

/// Memory for a window of a switch whose ports run by themselves, which all switches of a thread use in turn.
#[derive(Default)]
pub struct PortScratch {
    inbox: PortInbox<'static>,
    /// The arrivals that wait at the present port: data and control.
    waiting: [Waiting; 2],
}

/// Ports by which prefetching is ahead of running.
const PREFETCHED: usize = 3;

/// The arrivals at a port, with the mail of the window.
type OfPort<'s, 'm> = (&'s [Entry<'m>], &'s Sources<'m>, &'m [FarArrival]);

impl Switch {
    /// Whether its ports run by themselves, with [`run_by_port`](Self::run_by_port).
    #[inline]
    pub fn runs_by_port(&self) -> bool {
        self.by_port.is_some()
    }

    /// Runs its events from `start` until before `end`, port by port. At the end `at.now` is the time of the latest one. Returns
    /// the next time at which a port becomes free.
    pub fn run_by_port<'m, O: Observer>(
        &mut self,
        PortScratch { inbox: memory, waiting }: &mut PortScratch,
        (sources, far): (&Sources<'m>, &'m [FarArrival]),
        (start, end): (Time, Time),
        at: &mut Context<'_, O>,
    ) -> Order {
        let Some(mut times) = self.by_port.take() else { return Order::NEVER };
        let mut latest = start;
        let (node, ports) = (self.egress.node, self.egress.ports.len());
        let mut inbox: PortInbox<'m> = std::mem::take(memory);
        inbox.open(sources, (node, ports), (start, end), far, |arrival| {
            let port = at.network.route(at.routing, self.index, &arrival.frame.packet);
            if port.is_none() {
                latest = latest.max(arrival.time);
                at.counters.events += 1;
                self.drop_unroutable(&Frame { telemetry: 0, ..arrival.frame }, at);
            }
            port
        });
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
        drop(ahead);
        *memory = inbox.recycled();
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
        self.by_port = Some(times);
        at.now = latest;
        self.next_event()
    }

    #[inline]
    fn prefetch_queues(&self, port: u16) {
        let out = &self.egress.ports[usize::from(port)];
        out.data.prefetch(&self.egress.pool);
        out.control.prefetch(&self.egress.pool);
    }

    /// Runs the events of one port until before `end`: its arrivals, and the times at which it becomes free, first at `free`.
    /// Returns the time at which it becomes free after that; never, if it is not busy.
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
            mail: LinkMail::new(out.peer, out.peer_port),
            out,
            free,
            marks: PortStream { stream: &mut self.marks[usize::from(port)], purpose: Purpose::EcnMarking },
            marked: 0,
        };
        let coins = PortStream { stream: &mut self.coins[usize::from(port)], purpose: Purpose::FullQueue };
        let mut run = PlainPort { wire, pool: &mut self.egress.pool, waiting, arrivals, coins };
        run.run(end, at);
        self.marked += run.wire.marked;
        run.wire.free
    }

    /// Runs the events of a port whose transmissions may need the slow path.
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
            // No other port runs, so the only time is that of this one.
            free = self.egress.free_times.take_only().unwrap_or(free);
            at.counters.events += 1;
        }
    }

    /// Forwards a packet that leaves by `port`.
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
