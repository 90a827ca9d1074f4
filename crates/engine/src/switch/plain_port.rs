//! A port that runs through a window by itself, in the case of nearly all packets.

use crate::context::Context;
use crate::egress::{Port, QueueClass, count_drop, send_on_plain_wire, trimmed, waits_with_control};
use crate::frame::Frame;
use crate::mail::{FarArrival, PortInbox, Sources};
use crate::observer::Observer;
use crate::queue::{Fifo, FullQueue, Pool};
use anabranch_base::{LinkId, Purpose, Stream, Time, stream};
use anabranch_proto::Packet;
use std::ops::Range;

/// The arrivals at a switch within a window.
#[derive(Clone, Copy)]
pub struct Arrivals<'m> {
    /// Their order.
    pub inbox: &'m PortInbox,
    /// The mail.
    pub sources: &'m Sources<'m>,
    /// Arrivals over long links.
    pub far: &'m [FarArrival],
}

impl Arrivals<'_> {
    #[inline(always)]
    fn frame(&self, index: u32) -> &Frame {
        &self.inbox.arrival(index as usize, self.sources, self.far).0.frame
    }
}

/// A queue of arrivals of the present window, behind the frames that had waited before it. They stay where they are in the mail.
#[derive(Default)]
pub struct Waiting {
    /// The indexes in the inbox, by order of arrival.
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

    /// The youngest entry.
    fn last_mut(&mut self) -> Option<&mut u32> {
        self.entries[self.left..].last_mut()
    }

    /// Moves the frames of all entries into `queue`.
    #[inline]
    fn move_to(&mut self, queue: &mut Fifo, pool: &mut Pool, arrivals: &Arrivals<'_>) {
        for index in &self.entries[self.left..] {
            queue.push(pool, arrivals.frame(*index));
        }
        self.entries.clear();
        self.left = 0;
    }
}

/// A port of a link that is not impaired, without telemetry. Packets that leave in the window in which they arrive are never
/// queued: they are copied from mail to mail.
pub struct PlainPort<'s> {
    /// The port.
    pub out: &'s mut Port,
    /// The slots of the queues of its switch.
    pub pool: &'s mut Pool,
    /// The arrivals that wait: data and control.
    pub waiting: &'s mut [Waiting; 2],
    /// The arrivals at its switch.
    pub arrivals: Arrivals<'s>,
    /// The time at which it becomes free; never, if it is not busy.
    pub free: Time,
    /// The random stream for ECN marking.
    pub marks: PortStream<'s>,
    /// The number of packets that it has marked.
    pub marked: u64,
    /// The random stream for the coins of its full data queue.
    pub coins: PortStream<'s>,
}

impl PlainPort<'_> {
    /// Runs the events until before `end`: arrivals in `range`, and the times at which the port becomes free.
    #[inline]
    pub fn run<O: Observer>(&mut self, range: Range<usize>, end: Time, at: &mut Context<'_, O>) {
        let inbox = self.arrivals.inbox;
        let mut next = range.start;
        let mut arrives = if next < range.end { inbox.time(next) } else { Time::NEVER };
        let mut events = 0;
        loop {
            if arrives < self.free {
                at.now = arrives;
                self.arrive(next as u32, at);
                next += 1;
                arrives = if next < range.end { inbox.time(next) } else { Time::NEVER };
            } else if self.free < end {
                at.now = self.free;
                self.serve(at);
            } else {
                break;
            }
            events += 1;
        }
        at.counters.events += events;
        self.out.busy = self.free != Time::NEVER;
        let [data, control] = &mut *self.waiting;
        data.move_to(&mut self.out.data, self.pool, &self.arrivals);
        control.move_to(&mut self.out.control, self.pool, &self.arrivals);
    }

    /// Sends a packet on the free link.
    #[inline(always)]
    fn send<O: Observer>(&mut self, packet: &Packet, at: &mut Context<'_, O>) {
        send_on_plain_wire(self.out, packet, at);
        self.free = self.out.busy_until;
    }

    /// Sends an arriving packet, or lets it wait.
    #[inline(always)]
    fn arrive<O: Observer>(&mut self, index: u32, at: &mut Context<'_, O>) {
        let arrivals = self.arrivals;
        let packet = &arrivals.frame(index).packet;
        let limits = &at.network.queues;
        let is_control = waits_with_control(packet, limits);
        at.observer.offered(self.out.link, at.now, packet.wire_bytes);
        if self.free == Time::NEVER {
            if !is_control {
                at.backlogs.record_empty();
            }
            return self.send(packet, at);
        }
        let out = &mut *self.out;
        if !is_control {
            at.backlogs.record(out.queued());
        }
        let (held, limit) = match is_control {
            true => (&mut out.control_bytes, limits.control),
            false => (&mut out.data_bytes, limits.data),
        };
        let bytes = u32::from(packet.wire_bytes);
        if u64::from(*held) + u64::from(bytes) > u64::from(limit) {
            return self.reject(index, is_control, at);
        }
        *held += bytes;
        self.waiting[usize::from(is_control)].push(index);
        self.note_queued(at);
    }

    /// Records that a packet has been queued.
    #[inline(always)]
    fn note_queued<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        let queued = self.out.queued();
        self.out.peak = self.out.peak.max(queued);
        at.observer.queued(self.out.link, at.now, queued);
    }

    /// Handles an arriving packet without room in its queue: it or the youngest in the queue is dropped or trimmed.
    #[cold]
    #[inline(never)]
    fn reject<O: Observer>(&mut self, index: u32, is_control: bool, at: &mut Context<'_, O>) {
        let uses_coin = !is_control && at.network.queues.full == FullQueue::Coin;
        if !uses_coin || self.coins.of(self.out.link, at).below(2) != 0 || !self.replace_youngest(index, at) {
            let frame = *self.arrivals.frame(index);
            self.trim_or_drop(&frame, at);
        }
    }

    /// Drops or trims the youngest packet in the data queue and puts the arriving one in its place. False where the arriving
    /// packet does not fit even so, or the queue is empty.
    fn replace_youngest<O: Observer>(&mut self, index: u32, at: &mut Context<'_, O>) -> bool {
        let arriving = *self.arrivals.frame(index);
        let out = &mut *self.out;
        let youngest = match self.waiting[0].last_mut() {
            Some(last) => *self.arrivals.frame(*last),
            None => match out.data.last(self.pool) {
                Some(last) => *last,
                None => return false,
            },
        };
        out.data_bytes -= u32::from(youngest.packet.wire_bytes);
        let bytes = arriving.packet.wire_bytes;
        let fits = u64::from(out.data_bytes) + u64::from(bytes) <= u64::from(at.network.queues.data);
        match (self.waiting[0].last_mut(), fits) {
            (Some(last), true) => *last = index,
            (Some(_), false) => drop(self.waiting[0].entries.pop()),
            (None, true) => drop(out.data.replace_last(self.pool, &arriving)),
            (None, false) => drop(out.data.pop_last(self.pool)),
        }
        if fits {
            out.data_bytes += u32::from(bytes);
        }
        self.note_queued(at);
        self.trim_or_drop(&youngest, at);
        fits
    }

    /// Trims a packet, or drops it.
    fn trim_or_drop<O: Observer>(&mut self, frame: &Frame, at: &mut Context<'_, O>) {
        let limits = &at.network.queues;
        let Some(header) = trimmed(&frame.packet, limits.trimmed_bytes) else {
            return count_drop(self.out.link, &frame.packet, at);
        };
        at.counters.trims += 1;
        at.note_lost_payload(&frame.packet);
        if self.out.control_bytes + u32::from(header.wire_bytes) > limits.control {
            return count_drop(self.out.link, &header, at);
        }
        // A header is no arrival, so it cannot wait as one: it is queued, and with it the arrivals before it.
        self.waiting[1].move_to(&mut self.out.control, self.pool, &self.arrivals);
        self.out.control.push(self.pool, &Frame::new(header, frame.port));
        self.out.control_bytes += u32::from(header.wire_bytes);
        self.note_queued(at);
    }

    /// Serves the free port: sends the next packet, and ECN-marks data by the queue length that it leaves behind.
    #[inline(always)]
    fn serve<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        let out = &mut *self.out;
        let control_waits = !out.control.is_empty() || !self.waiting[1].is_empty();
        let data_waits = !out.data.is_empty() || !self.waiting[0].is_empty();
        let Some(class) = out.turn([data_waits, control_waits]) else {
            self.free = Time::NEVER;
            return;
        };
        let (queue, waiting) = match class {
            QueueClass::Data => (&mut out.data, &mut self.waiting[0]),
            QueueClass::Control => (&mut out.control, &mut self.waiting[1]),
        };
        if let Some(taken) = queue.pop(self.pool) {
            let packet = self.pool.take(taken).packet;
            self.leave(class, control_waits, &packet, at);
        } else if let Some(index) = waiting.pop() {
            let arrivals = self.arrivals;
            self.leave(class, control_waits, &arrivals.frame(index).packet, at);
        }
    }

    /// Sends a packet that has left its queue.
    #[inline(always)]
    fn leave<O: Observer>(
        &mut self,
        class: QueueClass,
        control_waits: bool,
        packet: &Packet,
        at: &mut Context<'_, O>,
    ) {
        self.out.count_left(class, packet.wire_bytes, control_waits);
        at.observer.queued(self.out.link, at.now, self.out.queued());
        let (queued, kind) = (self.out.data_bytes, &at.network.link_kinds[usize::from(self.out.link_kind)]);
        if queued > kind.marking.kmin && !packet.is_control() && self.marks(queued, at) {
            at.counters.ecn_marks += 1;
            self.marked += 1;
            self.send(&Packet { marked: true, ..*packet }, at);
        } else {
            self.send(packet, at);
        }
    }

    /// Whether a packet that leaves `queued` bytes behind is marked.
    fn marks<O>(&mut self, queued: u32, at: &Context<'_, O>) -> bool {
        let marking = &at.network.link_kinds[usize::from(self.out.link_kind)].marking;
        let link = self.out.link;
        marking.marks(queued, || self.marks.of(link, at).next_u32())
    }
}

/// A random stream of a port, which begins with its first number.
pub struct PortStream<'s> {
    /// The stream, once it has begun.
    pub stream: &'s mut Option<Box<Stream>>,
    /// Its purpose.
    pub purpose: Purpose,
}

impl PortStream<'_> {
    fn of<O>(&mut self, link: LinkId, at: &Context<'_, O>) -> &mut Stream {
        let new = || Box::new(stream(at.network.seed, u64::from(link.0), self.purpose));
        self.stream.get_or_insert_with(new)
    }
}
