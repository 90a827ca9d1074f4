//! A port that is simulated through a synchronisation window independently of the other ports. Its link is not
//! impaired, and the run has no telemetry.

use super::pfc::{Admission, SwitchPfc};
use super::shared::SharedQueues;
use crate::context::Context;
use crate::egress::{Port, QueueClass, trim_or_drop, waits_with_control};
use crate::frame::Frame;
use crate::link::{HopTimes, LinkKind};
use crate::mail::Entry;
use crate::observer::Observer;
use crate::queue::{Fifo, FullQueue, Pool};
use anabranch_base::{LinkId, Purpose, Stream, Time, stream};
use anabranch_proto::Packet;

/// A queue of arrivals of the present synchronisation window. They wait behind the frames that were already queued. The
/// arrivals themselves stay in the mail.
#[derive(Default)]
pub struct Waiting {
    /// The indexes of the waiting packets among the arrivals at the port, in increasing order.
    entries: Vec<u32>,
    /// The number of entries that have left.
    left: usize,
}

impl Waiting {
    #[inline]
    fn is_empty(&self) -> bool {
        self.left == self.entries.len()
    }

    #[inline]
    fn push(&mut self, index: u32) {
        self.entries.push(index);
    }

    #[inline]
    fn pop(&mut self) -> Option<u32> {
        let entry = *self.entries.get(self.left)?;
        self.left += 1;
        Some(entry)
    }

    fn last_mut(&mut self) -> Option<&mut u32> {
        self.entries[self.left..].last_mut()
    }

    #[inline(always)]
    fn move_to(&mut self, queue: &mut Fifo, pool: &mut Pool, arrivals: &[Entry<'_>]) {
        if !self.is_empty() {
            self.copy_to(queue, pool, arrivals);
        }
        self.entries.clear();
        self.left = 0;
    }

    #[inline(never)]
    fn copy_to(&self, queue: &mut Fifo, pool: &mut Pool, arrivals: &[Entry<'_>]) {
        for index in &self.entries[self.left..] {
            queue.push(pool, &arrivals[*index as usize].arrival.frame);
        }
    }
}

/// At a plain port, nearly all packets that arrive and leave within one synchronisation window are never stored in a
/// queue: they are copied directly from the incoming to the outgoing mail.
pub struct PlainPort<'s, 'm> {
    pub wire: Wire<'s>,
    /// The slots for the queues of the port's switch.
    pub pool: &'s mut Pool,
    /// The arrivals that wait: first data, then control.
    pub waiting: &'s mut [Waiting; 2],
    pub arrivals: &'s [Entry<'m>],
    /// The random stream that decides which packet the full data queue drops or trims.
    pub coins: PortStream<'s>,
}

/// The buffer to which the data that waits at a port is charged.
pub trait Buffer {
    /// Charges a packet of `bytes` bytes that arrived at port `from` and waits in a queue that holds `held` bytes.
    fn charge(&mut self, from: u16, held: u32, bytes: u16);
    fn release(&mut self, from: u16, bytes: u16);
}

/// The buffer of a switch whose queues have limits of their own: nothing is charged.
pub struct Unshared;

impl Buffer for Unshared {
    #[inline]
    fn charge(&mut self, _: u16, _: u32, _: u16) {}
    #[inline]
    fn release(&mut self, _: u16, _: u16) {}
}

impl Buffer for SwitchPfc {
    #[inline]
    fn charge(&mut self, from: u16, _: u32, bytes: u16) {
        let admission = self.admit(from, bytes);
        debug_assert_eq!(admission, Admission::Fits, "a threshold in a calm window");
    }

    #[inline]
    fn release(&mut self, from: u16, bytes: u16) {
        // No port is paused here, so none is resumed.
        let _ = self.release(from, bytes);
    }
}

impl Buffer for SharedQueues {
    #[inline]
    fn charge(&mut self, _: u16, held: u32, bytes: u16) {
        let fits = self.admit(held, bytes);
        debug_assert!(fits, "a threshold in a calm window");
    }

    #[inline]
    fn release(&mut self, _: u16, bytes: u16) {
        self.release(bytes);
    }
}

/// The port and its outgoing link.
pub struct Wire<'s> {
    pub out: &'s mut Port,
    pub kind: &'s LinkKind,
    /// The time at which the port becomes free. [`Time::NEVER`] if it is not busy.
    pub free: Time,
    /// The random stream for ECN marking.
    pub marks: PortStream<'s>,
    /// The number of packets that the port has marked.
    pub marked: u64,
}

impl<'m> PlainPort<'_, 'm> {
    /// Runs the events of the port before `end`: its arrivals, and the times at which the port becomes free. Data that
    /// waits is charged to `buffer`. Returns the number of packets that the port has marked, and the time at which
    /// the port becomes free. This time is [`Time::NEVER`] if the port is not busy.
    #[inline(always)]
    pub fn run<B: Buffer, O: Observer>(
        mut self,
        buffer: &mut B,
        end: Time,
        at: &mut Context<'_, O>,
    ) -> (u64, Time) {
        let mut next = 0;
        let mut arrives = self.time(next);
        let mut events = 0;
        loop {
            if arrives < self.wire.free {
                at.now = arrives;
                self.arrive(next as u32, buffer, at);
                next += 1;
                arrives = self.time(next);
            } else if self.wire.free < end {
                at.now = self.wire.free;
                self.serve(buffer, at);
            } else {
                break;
            }
            events += 1;
        }
        at.counters.events += events;
        at.link.finish(&mut at.out);
        let out = &mut *self.wire.out;
        out.busy = self.wire.free != Time::NEVER;
        let [data, control] = &mut *self.waiting;
        data.move_to(&mut out.data, self.pool, self.arrivals);
        control.move_to(&mut out.control, self.pool, self.arrivals);
        (self.wire.marked, self.wire.free)
    }

    #[inline(always)]
    fn frame(&self, index: u32) -> &'m Frame {
        &self.arrivals[index as usize].arrival.frame
    }

    #[inline(always)]
    fn time(&self, index: usize) -> Time {
        self.arrivals.get(index).map_or(Time::NEVER, |entry| entry.arrival.time)
    }

    #[inline(always)]
    fn arrive<B: Buffer, O: Observer>(&mut self, index: u32, buffer: &mut B, at: &mut Context<'_, O>) {
        let Frame { packet, port: from, .. } = self.frame(index);
        let limits = &at.network.queues;
        let is_control = waits_with_control(packet, limits);
        let out = &mut *self.wire.out;
        at.observer.offered(out.link, at.now, packet.wire_bytes);
        if self.wire.free == Time::NEVER {
            if !is_control {
                at.backlogs.record_empty();
            }
            return self.wire.send(packet, at);
        }
        if !is_control {
            at.backlogs.record(out.queued());
        }
        let (held, limit) = match is_control {
            true => (&mut out.control_bytes, limits.control),
            false => (&mut out.data_bytes, self.wire.kind.data_limit),
        };
        let bytes = u32::from(packet.wire_bytes);
        if u64::from(*held) + u64::from(bytes) > u64::from(limit) {
            return self.reject(index, is_control, at);
        }
        if !is_control {
            buffer.charge(*from, *held, packet.wire_bytes);
        }
        *held += bytes;
        self.waiting[usize::from(is_control)].push(index);
        note_queued(out, at);
    }

    #[cold]
    #[inline(never)]
    fn reject<O: Observer>(&mut self, index: u32, is_control: bool, at: &mut Context<'_, O>) {
        let uses_coin = !is_control && at.network.queues.full == FullQueue::Coin;
        let link = self.wire.out.link;
        if !uses_coin || self.coins.of(link, at).below(2) != 0 || !self.replace_youngest(index, at) {
            let frame = self.frame(index);
            self.trim_or_drop(frame, at);
        }
    }

    /// Drops or trims the youngest packet in the data queue and puts the arriving packet in its place. Returns false if
    /// the arriving packet still does not fit, or if the queue is empty.
    fn replace_youngest<O: Observer>(&mut self, index: u32, at: &mut Context<'_, O>) -> bool {
        let (arriving, arrivals) = (self.frame(index), self.arrivals);
        let (out, data) = (&mut *self.wire.out, &mut self.waiting[0]);
        let youngest = match (data.last_mut(), out.data.last(self.pool)) {
            (Some(last), _) => arrivals[*last as usize].arrival.frame,
            (None, Some(last)) => *last,
            (None, None) => return false,
        };
        out.data_bytes -= u32::from(youngest.packet.wire_bytes);
        let bytes = arriving.packet.wire_bytes;
        let fits = u64::from(out.data_bytes) + u64::from(bytes) <= u64::from(self.wire.kind.data_limit);
        match (data.last_mut(), fits) {
            (Some(last), true) => *last = index,
            (Some(_), false) => drop(data.entries.pop()),
            (None, true) => drop(out.data.replace_last(self.pool, arriving)),
            (None, false) => drop(out.data.pop_last(self.pool)),
        }
        if fits {
            out.data_bytes += u32::from(bytes);
        }
        note_queued(out, at);
        self.trim_or_drop(&youngest, at);
        fits
    }

    fn trim_or_drop<O: Observer>(&mut self, frame: &Frame, at: &mut Context<'_, O>) {
        let out = &mut *self.wire.out;
        let Some(header) = trim_or_drop(out, &frame.packet, at) else { return };
        // The header is not one of the arrivals, so it cannot wait as an index. It is stored in the queue, and the
        // control packets that wait before it are moved there first.
        self.waiting[1].move_to(&mut out.control, self.pool, self.arrivals);
        out.control.push(self.pool, &Frame::new(header, frame.port));
        out.control_bytes += u32::from(header.wire_bytes);
        note_queued(out, at);
    }

    #[inline(always)]
    fn serve<B: Buffer, O: Observer>(&mut self, buffer: &mut B, at: &mut Context<'_, O>) {
        let [data, control] = &mut *self.waiting;
        let out = &mut *self.wire.out;
        let waits =
            [!out.data.is_empty() || !data.is_empty(), !out.control.is_empty() || !control.is_empty()];
        let Some(class) = out.turn(waits) else {
            self.wire.free = Time::NEVER;
            return;
        };
        let (queue, waiting) = match class {
            QueueClass::Data => (&mut out.data, data),
            QueueClass::Control => (&mut out.control, control),
        };
        if let Some(taken) = queue.pop(self.pool) {
            self.wire.leave((class, waits[1]), self.pool.frame(&taken), buffer, at);
            self.pool.release(taken);
        } else if let Some(index) = waiting.pop() {
            self.wire.leave((class, waits[1]), &self.arrivals[index as usize].arrival.frame, buffer, at);
        }
    }
}

#[inline(always)]
fn note_queued<O: Observer>(out: &mut Port, at: &mut Context<'_, O>) {
    let queued = out.queued();
    out.peak = out.peak.max(queued);
    at.observer.queued(out.link, at.now, queued);
}

impl Wire<'_> {
    /// The ECN marking of a data packet depends on the length of its queue without the packet.
    #[inline(always)]
    fn leave<B: Buffer, O: Observer>(
        &mut self,
        (class, control_waits): (QueueClass, bool),
        Frame { packet, port: from, .. }: &Frame,
        buffer: &mut B,
        at: &mut Context<'_, O>,
    ) {
        let out = &mut *self.out;
        if class == QueueClass::Data {
            buffer.release(*from, packet.wire_bytes);
        }
        out.count_left(class, packet.wire_bytes, control_waits);
        at.observer.queued(out.link, at.now, out.queued());
        if out.data_bytes > self.kind.marking.kmin && !packet.is_control() && self.marks(at) {
            at.counters.ecn_marks += 1;
            self.marked += 1;
            self.send(&Packet { marked: true, ..*packet }, at);
        } else {
            self.send(packet, at);
        }
    }

    fn marks<O>(&mut self, at: &Context<'_, O>) -> bool {
        let (queued, link) = (self.out.data_bytes, self.out.link);
        self.kind.marking.marks(queued, || self.marks.of(link, at).next_u32())
    }

    #[inline(always)]
    fn send<O: Observer>(&mut self, packet: &Packet, at: &mut Context<'_, O>) {
        let out = &mut *self.out;
        debug_assert!(out.busy_until <= at.now, "two packets on one wire");
        let HopTimes { leaves: until, acts, .. } = self.kind.hop(at.now, packet.wire_bytes);
        out.busy_until = until;
        self.free = until;
        at.link.send((out.peer, out.peer_port), acts, packet, &mut at.out);
        at.counters.packet_hops += 1;
        at.observer.transmitted(out.link, at.now, until, packet.wire_bytes);
        at.observer.sent(out.link, at.now, until, packet);
    }
}

/// A random stream of a port. It is created when it is first used.
pub struct PortStream<'s> {
    pub stream: &'s mut Option<Box<Stream>>,
    pub purpose: Purpose,
}

impl PortStream<'_> {
    pub fn of<O>(&mut self, link: LinkId, at: &Context<'_, O>) -> &mut Stream {
        let new = || Box::new(stream(at.network.seed, u64::from(link.0), self.purpose));
        self.stream.get_or_insert_with(new)
    }
}
