//! Frames: packets on links and in queues, with what the engine keeps beside them.

use anabranch_base::{HostId, QpId, Time};
use anabranch_proto::Packet;

/// A packet with what a node knows of it beside its bits; or a pause frame, which is no packet.
// In this order, so that copies are made of whole words.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Frame {
    /// The packet; of a pause frame, filler.
    pub packet: Packet,
    /// Its telemetry: the number, from 1, of a record of whoever holds it now; 0: none.
    pub telemetry: u32,
    /// The port of this node by which it came.
    pub port: u16,
    /// What it is.
    pub kind: FrameKind,
}

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// A pause frame: the data class of the port by which it came may send again.
    Resume,
    /// A pause frame: the data class of the port by which it came must wait.
    Pause,
    /// A packet.
    Packet,
}

/// The port in a queued frame that is charged to no ingress port: the switch's program had held it outside the buffer.
pub const UNCHARGED: u16 = u16::MAX;

const FILLER: Packet = Packet::cnp(QpId(0), HostId(0));

impl Frame {
    /// A packet that came in by `port`, without telemetry.
    #[inline]
    pub fn new(packet: Packet, port: u16) -> Self {
        Frame { packet, telemetry: 0, port, kind: FrameKind::Packet }
    }

    /// A pause frame that comes in by `port`.
    pub fn pause(port: u16, stop: bool) -> Self {
        let kind = if stop { FrameKind::Pause } else { FrameKind::Resume };
        Frame { packet: FILLER, telemetry: 0, port, kind }
    }
}

/// A frame that comes in at a node. One cache line: the packet travels inside its event, so that no hop has to look
/// it up elsewhere.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Arrival {
    /// When the node may act on it: its last bit is in and, unless it is a pause frame, the switch's latency is over.
    pub time: Time,
    /// What comes in.
    pub frame: Frame,
}

const _: () = assert!(size_of::<Arrival>() == 64);

impl Arrival {
    /// Nothing: what stands where nothing has come in yet.
    pub const BLANK: Arrival = Arrival {
        time: Time::ZERO,
        frame: Frame { packet: FILLER, telemetry: 0, port: 0, kind: FrameKind::Resume },
    };
}

/// The kinds of events at a node, in the order in which they run at one time: a pause acts before the port that it
/// stops, and a port that frees up serves what waits before a newcomer.
pub mod event_kind {
    /// A pause frame comes in.
    pub const PAUSE: u64 = 0;
    /// The link of a port is free.
    pub const FREE: u64 = 1;
    /// A packet comes in.
    pub const ARRIVAL: u64 = 2;
    /// The timer of a queue pair or of a switch's program.
    pub const TIMER: u64 = 3;
    /// Messages are to be posted.
    pub const POST: u64 = 4;
    /// A switch's program hears of a queue pair.
    pub const NOTICE: u64 = 5;
    /// What posts messages while the run goes on is called, when all hosts have done all of the above.
    pub const INJECTOR: u64 = 6;
}

/// Where an event of one node stands among its others: its time, then its kind. Among equals the port or the queue
/// pair decides, which is up to whoever keeps the events of that kind.
///
/// Together with the node's number, by which clusters of nodes are merged, this is the ordering contract: made of
/// local facts alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Order(u64);

impl Order {
    /// After everything.
    pub const NEVER: Order = Order(u64::MAX);
    const LAST: Time = Time((u64::MAX >> 3) - 1);

    /// An event of this [`kind`] at `time`.
    #[inline]
    pub fn new(time: Time, kind: u64) -> Self {
        debug_assert!(time <= Order::LAST, "events end before {time}");
        Order(time.0 << 3 | kind)
    }

    /// The same for a time that others have chosen, however late: beyond the end of any run it does not matter when.
    #[inline]
    pub fn chosen(time: Time, kind: u64) -> Self {
        Order(time.0.min(Order::LAST.0) << 3 | kind)
    }

    /// Before every event at `time`.
    #[inline]
    pub fn before(time: Time) -> Self {
        Order(time.0.saturating_mul(8))
    }

    /// When.
    #[inline]
    pub fn time(self) -> Time {
        if self == Order::NEVER { Time::NEVER } else { Time(self.0 >> 3) }
    }

    /// Which [`kind`].
    #[inline]
    pub fn kind(self) -> u64 {
        self.0 & 7
    }
}
