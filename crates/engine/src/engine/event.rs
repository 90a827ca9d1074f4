//! Events, and the order in which they run.

use anabranch_base::{LinkId, NodeId, Time};
use anabranch_proto::Packet;

/// A packet that arrives at a node. One cache line: the packet travels inside its event, so that no hop has to
/// look it up elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When the node may act on it: its last bit is in and the switch's latency is over.
    pub time: Time,
    /// Where.
    pub node: NodeId,
    /// By which port.
    pub port: u16,
    /// What.
    pub packet: Packet,
}

const _: () = assert!(size_of::<Arrival>() == 64);

/// An event without a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// When.
    pub time: Time,
    /// Where.
    pub node: NodeId,
    /// What, with the port or queue pair that it is about.
    pub what: What,
}

/// The signal that nearly all are: the link of a port with packets waiting is free.
#[derive(Clone, Copy, Debug)]
pub struct Free {
    /// When.
    pub time: Time,
    /// Where.
    pub node: NodeId,
    /// Which.
    pub link: LinkId,
}

impl Free {
    /// As a signal among others.
    #[inline]
    pub fn signal(self) -> Signal {
        Signal { time: self.time, node: self.node, what: What::PortFree(self.link) }
    }
}

/// What a [`Signal`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The link of a port with packets waiting is free.
    PortFree(LinkId),
    /// A queue pair's timer.
    Timer(u32),
    /// The host's next messages are to be posted.
    Post,
    /// A packet of unusual size arrives: its place among the parked ones, and the port.
    Parked(u32, u16),
    /// A pause frame came in for a link of this node: its data class must wait, or may go on.
    Pause(LinkId, bool),
}

const _: () = assert!(size_of::<Signal>() == 24);

/// The rank of an event among those of its time: (node, kind, port), in one integer, with its place in the
/// batch in the low bits.
///
/// The ordering contract: made of local facts only, so that the order does not depend on how nodes are spread
/// over threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(u64);

const FIELD: u32 = 20;
const MASK: u64 = (1 << FIELD) - 1;

/// Most nodes, ports or queue pairs of a host, and events at one instant, that the rank can tell apart.
pub const MAX_RANKED: u64 = 1 << FIELD;

/// The kinds in their order at one node and time: a pause acts before the port that it stops, and a port that
/// frees up serves what waits before a newcomer.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
enum Kind {
    Pause = 0,
    PortFree = 1,
    Arrival = 2,
    Timer = 3,
    Post = 4,
}

impl Rank {
    fn new(node: NodeId, kind: Kind, port: u64, place: usize) -> Self {
        debug_assert!((place as u64) < MAX_RANKED);
        Rank(
            (u64::from(node.0) << (FIELD * 2 + 4))
                | ((kind as u64) << (FIELD * 2))
                | ((port & MASK) << FIELD)
                | place as u64,
        )
    }

    /// The rank of an arrival at `place` in its batch.
    #[inline]
    pub fn of_arrival(arrival: &Arrival, place: usize) -> Self {
        Rank::new(arrival.node, Kind::Arrival, u64::from(arrival.port), place)
    }

    /// The rank of a port that frees up, at `place` in its batch.
    #[inline]
    pub fn of_free(free: &Free, place: usize) -> Self {
        Rank::new(free.node, Kind::PortFree, u64::from(free.link.0), place)
    }

    /// The rank of a signal at `place` in its batch.
    #[inline]
    pub fn of_signal(signal: &Signal, place: usize) -> Self {
        match signal.what {
            What::PortFree(link) => Rank::new(signal.node, Kind::PortFree, u64::from(link.0), place),
            What::Timer(qp) => Rank::new(signal.node, Kind::Timer, u64::from(qp), place),
            What::Pause(link, _) => Rank::new(signal.node, Kind::Pause, u64::from(link.0), place),
            What::Post => Rank::new(signal.node, Kind::Post, 0, place),
            What::Parked(_, port) => Rank::new(signal.node, Kind::Arrival, u64::from(port), place),
        }
    }

    /// Its place in the batch.
    #[inline]
    pub fn place(self) -> usize {
        (self.0 & MASK) as usize
    }
}
