//! Ports: where packets wait for a link, and what links of one kind have in common.

use super::fifo::{Fifo, Pool};
use super::scheduler::{LineId, Scheduler};
use anabranch_base::{Duration, NodeId, Rate, Time};
use anabranch_proto::Packet;

/// The sending end of a link, with its queues. One cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Port {
    /// When the last bit of the packet on the wire leaves.
    pub busy_until: Time,
    /// Data packets waiting.
    pub data: Fifo,
    /// Control packets waiting: served first, never interrupting a packet.
    pub control: Fifo,
    /// Bytes in `data`.
    pub data_bytes: u32,
    /// Bytes in `control`.
    pub control_bytes: u32,
    /// The node at the other end.
    pub peer: NodeId,
    /// The port at the other end.
    pub peer_port: u16,
    /// Index of its link's [`LinkKind`].
    pub kind: u16,
    /// An event at `busy_until` is on its way.
    pub wakes: bool,
    /// A fault (or a lossy cable) is or will be on this link: look closer before sending.
    pub impaired: bool,
}

/// What links of one rate and latency have in common.
#[derive(Clone, Debug)]
pub struct LinkKind {
    rate: Rate,
    /// Picoseconds a byte, where that is a whole number.
    ps_per_byte: u64,
    /// Propagation, and the latency of the switch that the link leads to.
    delay: Duration,
    /// Propagation alone.
    pub latency: Duration,
    sizes: [u16; 2],
    arrival_lines: [LineId; 2],
    free_delays: [Duration; 2],
    free_lines: [LineId; 2],
}

impl LinkKind {
    /// Links of `rate` whose packets take `latency` to a node that looks at them `switch_latency` later.
    /// Packets of the two `sizes` (a full one, an ACK) get lines of their own.
    pub fn new(
        rate: Rate,
        latency: Duration,
        switch_latency: Duration,
        sizes: [u16; 2],
        scheduler: &mut Scheduler,
    ) -> Self {
        const PS_PER_SECOND_BYTE: u64 = 8_000_000_000_000;
        let delay = latency + switch_latency;
        let ps_per_byte =
            if PS_PER_SECOND_BYTE.is_multiple_of(rate.0) { PS_PER_SECOND_BYTE / rate.0 } else { 0 };
        let free_delays = sizes.map(|size| rate.time_for(u64::from(size)));
        let free_lines = free_delays.map(|delay| scheduler.free_line(delay));
        let arrival_lines = sizes.map(|size| scheduler.arrival_line(rate.time_for(u64::from(size)) + delay));
        LinkKind { rate, ps_per_byte, delay, latency, sizes, arrival_lines, free_delays, free_lines }
    }

    /// The time that a packet occupies the link.
    #[inline]
    pub fn serialisation(&self, bytes: u16) -> Duration {
        if self.ps_per_byte > 0 {
            Duration(u64::from(bytes) * self.ps_per_byte)
        } else {
            self.rate.time_for(u64::from(bytes))
        }
    }

    /// Asks for a call when a link of this kind, occupied since `now`, is free.
    #[inline]
    pub fn push_free(&self, scheduler: &mut Scheduler, now: Time, free_at: Time, node: NodeId, port: u16) {
        let occupied = free_at - now;
        let line = match self.free_delays.iter().position(|&delay| delay == occupied) {
            Some(size) => self.free_lines[size],
            None => LineId::WHEEL,
        };
        scheduler.push_free(line, free_at, node, port);
    }

    #[inline]
    fn arrival_line(&self, bytes: u16) -> LineId {
        if bytes == self.sizes[0] {
            self.arrival_lines[0]
        } else if bytes == self.sizes[1] {
            self.arrival_lines[1]
        } else {
            LineId::WHEEL
        }
    }
}

impl Port {
    /// A port with empty queues, whose link leads to `peer` and is of the kind numbered `kind`.
    pub fn new(peer: NodeId, peer_port: u16, kind: u16) -> Self {
        Port {
            busy_until: Time::ZERO,
            data: Fifo::EMPTY,
            control: Fifo::EMPTY,
            data_bytes: 0,
            control_bytes: 0,
            peer,
            peer_port,
            kind,
            wakes: false,
            impaired: false,
        }
    }

    /// Puts a packet on the wire, which is free.
    #[inline]
    pub fn transmit(&mut self, kind: &LinkKind, scheduler: &mut Scheduler, now: Time, packet: &Packet) {
        self.occupy(kind, now, packet.wire_bytes);
        let line = kind.arrival_line(packet.wire_bytes);
        scheduler.push_arrival(line, self.busy_until + kind.delay, self.peer, self.peer_port, *packet);
    }

    /// Occupies the wire for `bytes` bytes.
    #[inline]
    pub fn occupy(&mut self, kind: &LinkKind, now: Time, bytes: u16) {
        debug_assert!(self.busy_until <= now, "two packets on one wire");
        self.busy_until = now + kind.serialisation(bytes);
    }

    /// Whether a packet can go out without waiting.
    #[inline]
    pub fn is_idle(&self, now: Time) -> bool {
        !self.wakes && self.busy_until <= now
    }

    /// Whether packets wait.
    #[inline]
    pub fn has_queue(&self) -> bool {
        !self.control.is_empty() || !self.data.is_empty()
    }

    /// Queues a packet of the class that `control` names. The caller has checked that it fits.
    #[inline]
    pub fn enqueue(&mut self, pool: &mut Pool, packet: &Packet, control: bool) {
        if control {
            self.control.push(pool, packet);
            self.control_bytes += u32::from(packet.wire_bytes);
        } else {
            self.data.push(pool, packet);
            self.data_bytes += u32::from(packet.wire_bytes);
        }
    }

    /// Takes the next packet: control first.
    #[inline]
    pub fn dequeue(&mut self, pool: &mut Pool) -> Option<Packet> {
        if let Some(packet) = self.control.pop(pool) {
            self.control_bytes -= u32::from(packet.wire_bytes);
            return Some(packet);
        }
        let packet = self.data.pop(pool)?;
        self.data_bytes -= u32::from(packet.wire_bytes);
        Some(packet)
    }
}

/// When a queue marks: not at or below `kmin`, always above `kmax`, linearly between (RED on the queue that a
/// packet leaves behind).
#[derive(Clone, Copy, Debug)]
pub struct Marking {
    /// Bytes.
    pub kmin: u32,
    /// Bytes.
    pub kmax: u32,
}

impl Marking {
    /// Whether a packet that leaves `queued` bytes behind is marked.
    #[inline]
    pub fn marks(&self, queued: u32, random: impl FnOnce() -> u32) -> bool {
        if queued <= self.kmin {
            return false;
        }
        if queued > self.kmax {
            return true;
        }
        u64::from(random()) * u64::from(self.kmax - self.kmin) < u64::from(queued - self.kmin) << 32
    }
}
