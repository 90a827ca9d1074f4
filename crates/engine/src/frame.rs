//! Frames: packets on links and in queues, with the data that the engine keeps beside them.

use anabranch_base::{HostId, QpId, Time};
use anabranch_proto::Packet;

/// A packet with the data that a node keeps beside it, or a pause frame.
// This order of the fields lets copies move whole machine words.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Frame {
    /// The packet. In a pause frame it has no meaning, except for the [class](Frame::paused_class).
    pub packet: Packet,
    /// The number, from 1, of the frame's telemetry record at the node or in the mail that holds the frame. 0 if the
    /// frame has no telemetry.
    pub telemetry: u32,
    /// The port at which the frame arrives or has arrived.
    pub port: u16,
    pub kind: FrameKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// A pause frame that resumes a data class of the port at which it arrives (XON).
    Resume,
    /// A pause frame that pauses a data class of the port at which it arrives (XOFF).
    Pause,
    Packet,
}

/// The value in place of an ingress port for a queued frame that is charged to no port, because a switch program held
/// the frame outside the buffer.
pub const UNCHARGED: u16 = u16::MAX;

const FILLER: Packet = Packet::cnp(QpId(0), HostId(0));

impl Frame {
    /// A packet that arrived at `port`, without telemetry.
    #[inline]
    pub fn new(packet: Packet, port: u16) -> Self {
        Frame { packet, telemetry: 0, port, kind: FrameKind::Packet }
    }

    pub fn pause(port: u16, class: u8, stop: bool) -> Self {
        let kind = if stop { FrameKind::Pause } else { FrameKind::Resume };
        let mut packet = FILLER;
        packet.ev = class.into();
        Frame { packet, telemetry: 0, port, kind }
    }

    /// The traffic class of a pause frame. The class is stored in the field of the entropy value, which pause frames do
    /// not need.
    pub fn paused_class(&self) -> u8 {
        self.packet.ev as u8
    }
}

/// The arrival of a frame at a node. It fills one cache line. The packet is stored in the event itself, so that no hop
/// has to look it up elsewhere.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Arrival {
    /// The time at which the node may act on the frame. The last bit has then arrived and, unless the frame is a pause
    /// frame, the latency of the switch is over.
    pub time: Time,
    pub frame: Frame,
}

const _: () = assert!(size_of::<Arrival>() == 64);

impl Arrival {
    /// The content of unused memory for arrivals.
    pub const BLANK: Arrival = Arrival {
        time: Time::ZERO,
        frame: Frame { packet: FILLER, telemetry: 0, port: 0, kind: FrameKind::Resume },
    };
}

/// The kinds of events at a node, in the order in which they are handled at one instant. A pause takes effect before
/// the port that it stops becomes free, and a free port serves its queues before a new packet arrives.
pub mod event_kind {
    /// The arrival of a pause frame.
    pub const PAUSE: u64 = 0;
    /// The link of a port becomes free, or a timer of pauses at a switch is due.
    pub const FREE: u64 = 1;
    /// The arrival of a packet.
    pub const ARRIVAL: u64 = 2;
    /// A timer of a host or of a switch program.
    pub const TIMER: u64 = 3;
    /// The start of messages, or the end of a step.
    pub const POST: u64 = 4;
    /// A notice to a switch program that a queue pair was opened or is done.
    pub const NOTICE: u64 = 5;
    /// The call of the injector, after all other events of hosts at the instant.
    pub const INJECTOR: u64 = 6;
}

/// The position of an event among the events of its node: its time, then its kind. The collection that holds the events
/// decides the order of events with the same time and kind.
///
/// The events of a cluster are merged by time, then by the number of the node, then by kind. Results rely on this
/// order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Order(u64);

impl Order {
    pub const NEVER: Order = Order(u64::MAX);
    const LAST: Time = Time((u64::MAX >> 3) - 1);

    #[inline]
    pub fn new(time: Time, kind: u64) -> Self {
        debug_assert!(time <= Order::LAST, "events end before {time}");
        Order(time.0 << 3 | kind)
    }

    /// The position of an event of this [`event_kind`] at a time that the scenario or a protocol chose. Times after the
    /// end of any run are clipped.
    #[inline]
    pub fn chosen(time: Time, kind: u64) -> Self {
        Order(time.0.min(Order::LAST.0) << 3 | kind)
    }

    /// The position before every event at `time`.
    #[inline]
    pub fn before(time: Time) -> Self {
        Order(time.0.saturating_mul(8))
    }

    #[inline]
    pub fn time(self) -> Time {
        if self == Order::NEVER { Time::NEVER } else { Time(self.0 >> 3) }
    }

    #[inline]
    pub fn kind(self) -> u64 {
        self.0 & 7
    }
}
