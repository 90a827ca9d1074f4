//! Ports: where packets wait for a link, and what links of one kind have in common.

use super::fifo::{Fifo, Pool};
use super::scheduler::{LineId, Scheduler};
use anabranch_base::{Duration, LinkId, NodeId, Rate, Time};
use anabranch_proto::Packet;

/// The sending end of a link, with its queues. One cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Port {
    /// When the last bit of the packet on the wire leaves.
    pub busy_until: Time,
    /// Data packets waiting.
    pub data: Fifo,
    /// Control packets waiting: served first or by weight, never interrupting a packet.
    pub control: Fifo,
    /// Bytes in `data`.
    pub data_bytes: u32,
    /// Bytes in `control`.
    pub control_bytes: u32,
    /// The node whose port this is.
    pub node: NodeId,
    /// The node at the other end.
    pub peer: NodeId,
    /// The link.
    pub link: LinkId,
    /// The port at the other end.
    pub peer_port: u16,
    /// Index of its link's [`LinkKind`].
    pub kind: u16,
    /// Bytes of control that may go for 2^16 bytes of data while both wait; 0: control goes first.
    weight: u32,
    /// Bytes by which control is ahead of its share while both wait.
    ahead: i64,
    /// An event at `busy_until` is on its way.
    pub wakes: bool,
    /// A fault (or a lossy cable) is or will be on this link: look closer before sending.
    pub impaired: bool,
    /// The other end has paused the data class.
    pub paused: bool,
    /// A pause frame is to go out, ahead of everything else.
    pub speaks: bool,
}

/// What links of one rate and latency have in common.
#[derive(Clone, Debug)]
pub struct LinkKind {
    rate: Rate,
    /// Propagation, and the latency of the switch that the link leads to.
    delay: Duration,
    /// Propagation alone.
    pub latency: Duration,
    /// When a switch's queue for it marks.
    pub marking: Marking,
    /// What packets of the two usual sizes have in common, and an entry for the rest.
    classes: [SizeClass; 3],
}

#[derive(Clone, Copy, Debug)]
struct SizeClass {
    bytes: u16,
    serialisation: Duration,
    arrivals: LineId,
    frees: LineId,
}

/// A pause frame on the wire (IEEE 802.1Qbb): the smallest Ethernet frame.
pub const PAUSE_FRAME_BYTES: u16 = 64;

/// Index of the class for unusual sizes, whose time is computed for each packet.
const OTHER: usize = 2;

impl LinkKind {
    /// Links of `rate` whose packets take the first of the `latencies` to a node that looks at them the second
    /// one later. Packets of the two `sizes` (a full one, an ACK) get lines of their own.
    pub fn new(
        rate: Rate,
        latencies: [Duration; 2],
        marking: Marking,
        sizes: [u16; 2],
        scheduler: &mut Scheduler,
    ) -> Self {
        let [latency, switch_latency] = latencies;
        let delay = latency + switch_latency;
        let mut usual = |bytes: u16| {
            let serialisation = rate.time_for(u64::from(bytes));
            let arrivals = scheduler.arrival_line(serialisation + delay);
            SizeClass { bytes, serialisation, arrivals, frees: scheduler.free_line(serialisation) }
        };
        let (full, ack) = (usual(sizes[0]), usual(sizes[1]));
        let other = SizeClass {
            bytes: 0,
            serialisation: Duration::ZERO,
            arrivals: LineId::WHEEL,
            frees: LineId::WHEEL,
        };
        LinkKind { rate, delay, latency, marking, classes: [full, ack, other] }
    }

    /// The rate of the links.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// The time that a packet occupies the link.
    #[inline]
    pub fn serialisation(&self, bytes: u16) -> Duration {
        self.class(bytes).serialisation
    }

    #[inline]
    fn class(&self, bytes: u16) -> SizeClass {
        if bytes == self.classes[0].bytes {
            self.classes[0]
        } else if bytes == self.classes[1].bytes {
            self.classes[1]
        } else {
            SizeClass { serialisation: self.rate.time_for(u64::from(bytes)), ..self.classes[OTHER] }
        }
    }
}

impl Port {
    /// The port of `node` that sends on `link`, with empty queues; the link leads to `peer` and is of the kind
    /// numbered `kind`; `weight` is that of its control queue, in 2^-16ths, 0 where that goes first.
    pub fn new(node: NodeId, link: LinkId, peer: NodeId, peer_port: u16, kind: u16, weight: u32) -> Self {
        Port {
            busy_until: Time::ZERO,
            data: Fifo::EMPTY,
            control: Fifo::EMPTY,
            data_bytes: 0,
            control_bytes: 0,
            node,
            peer,
            link,
            peer_port,
            kind,
            weight,
            ahead: 0,
            wakes: false,
            impaired: false,
            paused: false,
            speaks: false,
        }
    }

    /// Puts a packet on the wire, which is free (unless it will be `lost` on it), and asks for a call when the wire
    /// is free again if `more` waits, or anything in the queues.
    #[inline]
    pub fn transmit(
        &mut self,
        kind: &LinkKind,
        scheduler: &mut Scheduler,
        now: Time,
        packet: &Packet,
        lost: bool,
        more: bool,
    ) {
        debug_assert!(self.busy_until <= now, "two packets on one wire");
        let class = kind.class(packet.wire_bytes);
        self.busy_until = now + class.serialisation;
        if !lost {
            scheduler.push_arrival(
                class.arrivals,
                self.busy_until + kind.delay,
                self.peer,
                self.peer_port,
                packet,
            );
        }
        self.wakes = more || self.has_work();
        if self.wakes {
            scheduler.push_free(class.frees, self.busy_until, self.node, self.link);
        }
    }

    /// Occupies the wire, which is free, with a pause frame; answers with the time at which the other end acts
    /// on it. MACs handle these frames: a switch's latency does not count.
    pub fn transmit_pause(&mut self, kind: &LinkKind, scheduler: &mut Scheduler, now: Time) -> Time {
        debug_assert!(self.busy_until <= now, "two packets on one wire");
        self.busy_until = now + kind.serialisation(PAUSE_FRAME_BYTES);
        self.speaks = false;
        self.wakes = self.has_work();
        if self.wakes {
            scheduler.push_free(LineId::WHEEL, self.busy_until, self.node, self.link);
        }
        self.busy_until + kind.latency
    }

    /// A packet was queued while the wire is busy: asks for a call when it is free.
    #[inline]
    pub fn wake(&mut self, scheduler: &mut Scheduler) {
        if !self.wakes {
            self.wakes = true;
            scheduler.push_free(LineId::WHEEL, self.busy_until, self.node, self.link);
        }
    }

    /// Whether the wire is free and nothing that may go out waits for it.
    #[inline]
    pub fn is_free(&self, now: Time) -> bool {
        !self.wakes && self.busy_until <= now
    }

    /// Loads the packets that are next in its queues.
    #[inline]
    pub fn expect(&self, pool: &Pool) {
        self.control.expect(pool);
        self.data.expect(pool);
    }

    /// Whether anything waits that may go out.
    #[inline]
    pub fn has_work(&self) -> bool {
        !self.control.is_empty() || (!self.data.is_empty() && !self.paused) || self.speaks
    }

    /// Queues a packet of the class that `control` names, which came in by the port whose outgoing link is
    /// `from`. The caller has checked that it fits.
    #[inline]
    pub fn enqueue(&mut self, pool: &mut Pool, packet: &Packet, from: u32, control: bool) {
        if control {
            self.control.push(pool, packet, from);
            self.control_bytes += u32::from(packet.wire_bytes);
        } else {
            self.data.push(pool, packet, from);
            self.data_bytes += u32::from(packet.wire_bytes);
        }
    }

    /// Whether it is control's turn (DCP, section 4.2: weighted round robin). A queue that waits alone goes, and
    /// runs up no account.
    #[inline]
    fn weigh(&mut self) -> bool {
        if self.control.is_empty() || self.data.is_empty() || self.paused {
            self.ahead = 0;
            return true;
        }
        self.ahead <= 0
    }

    /// A packet that was to go out does not: asks for a call at once if `more` waits, or anything in the queues.
    pub fn skip(&mut self, scheduler: &mut Scheduler, now: Time, more: bool) {
        if more || self.has_work() {
            self.wakes = true;
            // Not now: what happens at one node at one time is one event.
            scheduler.push_free(LineId::WHEEL, now + Duration(1), self.node, self.link);
        }
    }

    /// Takes the next packet that may go out: control first or by weight, data unless it is paused. With the packet comes
    /// where it came from.
    #[inline(always)]
    pub fn dequeue(&mut self, pool: &mut Pool) -> Option<(Packet, u32)> {
        if self.weight > 0 && !self.weigh() {
            // It is data's turn, which waits.
            let taken = self.data.pop(pool)?;
            self.data_bytes -= u32::from(taken.0.wire_bytes);
            let share = (u64::from(taken.0.wire_bytes) * u64::from(self.weight)) >> 16;
            self.ahead -= share as i64;
            return Some(taken);
        }
        if let Some(taken) = self.control.pop(pool) {
            self.control_bytes -= u32::from(taken.0.wire_bytes);
            if self.weight > 0 {
                self.ahead += i64::from(taken.0.wire_bytes);
            }
            return Some(taken);
        }
        if self.paused {
            return None;
        }
        let taken = self.data.pop(pool)?;
        self.data_bytes -= u32::from(taken.0.wire_bytes);
        Some(taken)
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
    /// Chance of a mark just below `kmax`, in units of 2^-32.
    pub pmax: u64,
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
        u64::from(random()) * u64::from(self.kmax - self.kmin) < u64::from(queued - self.kmin) * self.pmax
    }
}
