//! Observers, which record events of a run. Without an observer, recording costs nothing.

mod foreign;
mod qps;
mod registered;

use anabranch_base::{Duration, LinkId, NodeId, QpId, Time};
use anabranch_proto::Packet;

pub use foreign::{HookNodes, PerNode};
pub use qps::QpSelector;
pub use registered::{AnyRecorder, Curve, NamedObservers, ObserverFactory, ObserverSpec, Recorder};

/// An observer of a run. It cannot change the simulation, but a run with too many points ([`recorded`](Self::recorded))
/// fails.
///
/// Each node has an observer of its own ([`fork`](Self::fork)), which gets all events of the node. If
/// [`wants_node_order`](Self::wants_node_order) is true, these events come in their order. If not, only the events of
/// each port are in order. At the end of the run the observers are joined ([`join`](Self::join)), in the order of
/// their nodes. The result therefore does not depend on the number of threads, whatever `join` does.
///
/// An event of a link belongs to the node that sends on the link, except that a drop at a slow receiver
/// ([`refused_by_host`](Self::refused_by_host)) belongs to that receiver. A delivery belongs to the destination of the
/// queue pair, and an acknowledgement to its source.
pub trait Observer: Send {
    /// A new observer of the same kind that has seen no events. There is one for each node with an event, so an
    /// observer without events should be small.
    fn fork(&self) -> Self
    where
        Self: Sized;

    /// Takes over the records of the observer of another node. The number of that node is higher than the numbers of
    /// all nodes whose observers were joined before.
    fn join(&mut self, other: Self)
    where
        Self: Sized;

    /// A packet of `bytes` bytes occupies `link` from `from` until `until`, even if the link loses the packet.
    #[inline]
    fn transmitted(&mut self, link: LinkId, from: Time, until: Time, bytes: u16) {
        let _ = (link, from, until, bytes);
    }

    /// `packet`, as it is on the wire, occupies `link` from `from` until `until`. This is called after each call of
    /// [`transmitted`](Self::transmitted).
    #[inline]
    fn sent(&mut self, link: LinkId, from: Time, until: Time, packet: &Packet) {
        let _ = (link, from, until, packet);
    }

    /// A pause frame (XOFF if `stop` is set, otherwise XON) occupies `link` from `from` until `until`. This is also
    /// called for a pause frame that the link loses.
    fn sent_pause(&mut self, link: LinkId, from: Time, until: Time, stop: bool) {
        let _ = (link, from, until, stop);
    }

    /// From now on, `bytes` bytes wait for `link`.
    #[inline]
    fn queued(&mut self, link: LinkId, now: Time, bytes: u32) {
        let _ = (link, now, bytes);
    }

    /// `bytes` bytes arrived at a switch that must send them on `link`, whether the queue had room for them or not.
    #[inline]
    fn offered(&mut self, link: LinkId, now: Time, bytes: u16) {
        let _ = (link, now, bytes);
    }

    /// A packet was dropped before it could be sent on `link`: for lack of buffer, by a fault of the sending switch, or
    /// by a PFC watchdog.
    #[inline]
    fn dropped(&mut self, link: LinkId, now: Time) {
        let _ = (link, now);
    }

    /// A slow receiver dropped a packet that had crossed `link`. By default this counts as a drop of the link.
    fn refused_by_host(&mut self, link: LinkId, now: Time) {
        self.dropped(link, now);
    }

    /// Data class `class` of `link` is paused (`on`) or resumed. The first traffic class is 0.
    fn paused(&mut self, link: LinkId, class: u8, now: Time, on: bool) {
        let _ = (link, class, now, on);
    }

    /// `link` was paused, and `victims` queue pairs became victims of this pause. They have packets in the paused
    /// queue, although their egress port at the switch that sent the pause is not paused and has no data queued.
    ///
    /// Victims are counted when the pause takes effect, after all events of the paused switch at that instant. The
    /// events of the pausing switch at that instant are done if its number is lower than that of the paused switch, and
    /// not done if it is higher. When a link goes down or comes up and its ends agree on a new pause state, victims are
    /// counted before the first event of that instant.
    fn held_up(&mut self, link: LinkId, now: Time, victims: u32) {
        let _ = (link, now, victims);
    }

    /// Whether [`held_up`](Self::held_up) must be called for `link`. Counting victims visits every waiting packet,
    /// which takes time.
    fn wants_victims(&self, link: LinkId) -> bool {
        let _ = link;
        false
    }

    /// From now on, the program of switch `node` holds `aside` bytes outside the buffer, and has `entries` entries in
    /// its tables of queue pairs.
    #[inline]
    fn kept(&mut self, node: NodeId, now: Time, aside: u32, entries: u32) {
        let _ = (node, now, aside, entries);
    }

    /// A packet arrived at the receiver of queue pair `qp`.
    #[inline]
    fn delivered(&mut self, qp: QpId, now: Time, packet: &Packet) {
        let _ = (qp, now, packet);
    }

    /// An acknowledgement arrived at the sender of queue pair `qp`. `rtt` is the round trip time of the acknowledged
    /// packet, and `marked` tells whether that packet was marked.
    #[inline]
    fn acknowledged(&mut self, qp: QpId, now: Time, rtt: Duration, marked: bool) {
        let _ = (qp, now, rtt, marked);
    }

    /// Whether events at different ports of a switch must be reported in their order. If not, only the events at each
    /// port are in their order, which allows a faster run.
    fn wants_node_order(&self) -> bool {
        true
    }

    /// The number of points that this observer has recorded because of events. A run ends with
    /// [`RunError::TooManyPoints`](crate::RunError::TooManyPoints) if its observers together record more points than
    /// the run may have.
    fn recorded(&self) -> u64 {
        0
    }
}

/// Both observers get all events, except that an observer gets the counts of victims only if it wants them.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn fork(&self) -> Self {
        (self.0.fork(), self.1.fork())
    }

    fn join(&mut self, other: Self) {
        self.0.join(other.0);
        self.1.join(other.1);
    }

    #[inline]
    fn transmitted(&mut self, link: LinkId, from: Time, until: Time, bytes: u16) {
        self.0.transmitted(link, from, until, bytes);
        self.1.transmitted(link, from, until, bytes);
    }

    #[inline]
    fn sent(&mut self, link: LinkId, from: Time, until: Time, packet: &Packet) {
        self.0.sent(link, from, until, packet);
        self.1.sent(link, from, until, packet);
    }

    fn sent_pause(&mut self, link: LinkId, from: Time, until: Time, stop: bool) {
        self.0.sent_pause(link, from, until, stop);
        self.1.sent_pause(link, from, until, stop);
    }

    #[inline]
    fn queued(&mut self, link: LinkId, now: Time, bytes: u32) {
        self.0.queued(link, now, bytes);
        self.1.queued(link, now, bytes);
    }

    #[inline]
    fn offered(&mut self, link: LinkId, now: Time, bytes: u16) {
        self.0.offered(link, now, bytes);
        self.1.offered(link, now, bytes);
    }

    #[inline]
    fn dropped(&mut self, link: LinkId, now: Time) {
        self.0.dropped(link, now);
        self.1.dropped(link, now);
    }

    fn refused_by_host(&mut self, link: LinkId, now: Time) {
        self.0.refused_by_host(link, now);
        self.1.refused_by_host(link, now);
    }

    fn paused(&mut self, link: LinkId, class: u8, now: Time, on: bool) {
        self.0.paused(link, class, now, on);
        self.1.paused(link, class, now, on);
    }

    fn held_up(&mut self, link: LinkId, now: Time, victims: u32) {
        if self.0.wants_victims(link) {
            self.0.held_up(link, now, victims);
        }
        if self.1.wants_victims(link) {
            self.1.held_up(link, now, victims);
        }
    }

    fn wants_victims(&self, link: LinkId) -> bool {
        self.0.wants_victims(link) || self.1.wants_victims(link)
    }

    #[inline]
    fn kept(&mut self, node: NodeId, now: Time, aside: u32, entries: u32) {
        self.0.kept(node, now, aside, entries);
        self.1.kept(node, now, aside, entries);
    }

    #[inline]
    fn delivered(&mut self, qp: QpId, now: Time, packet: &Packet) {
        self.0.delivered(qp, now, packet);
        self.1.delivered(qp, now, packet);
    }

    #[inline]
    fn acknowledged(&mut self, qp: QpId, now: Time, rtt: Duration, marked: bool) {
        self.0.acknowledged(qp, now, rtt, marked);
        self.1.acknowledged(qp, now, rtt, marked);
    }

    fn wants_node_order(&self) -> bool {
        self.0.wants_node_order() || self.1.wants_node_order()
    }

    fn recorded(&self) -> u64 {
        self.0.recorded() + self.1.recorded()
    }
}

/// An observer that records nothing.
pub struct NoObserver;

impl Observer for NoObserver {
    fn fork(&self) -> Self {
        NoObserver
    }

    fn join(&mut self, NoObserver: Self) {}

    fn wants_node_order(&self) -> bool {
        false
    }
}
