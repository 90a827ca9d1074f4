//! Observers: what is recorded while a run goes on. An absent observer costs nothing.

mod foreign;
mod qps;
mod registered;

use anabranch_base::{Duration, LinkId, NodeId, QpId, Time};
use anabranch_proto::Packet;

pub use foreign::{HookNodes, PerNode};
pub use qps::QpSelector;
pub use registered::{AnyRecorder, Curve, NamedObservers, ObserverFactory, ObserverSpec, Recorder};

/// Sees packets pass. It cannot change anything, so results do not depend on it.
///
/// Each node has an observer of its own ([`fork`](Self::fork)), which is told all that happens there, in its order. At
/// the end they are one again ([`join`](Self::join)), by rising number of their nodes. So what is seen does not depend
/// on the number of threads, whatever `join` does. What happens on a link happens at the node that sends on it, a
/// delivery at the queue pair's destination, an acknowledgement at its source.
pub trait Observer: Send {
    /// One more of its kind, which has seen nothing: for a node at which something happens for the first time. There
    /// may be as many as nodes, so that one that has seen nothing is better small.
    fn fork(&self) -> Self
    where
        Self: Sized;

    /// Takes over what another one has seen, of a node behind all those so far.
    fn join(&mut self, other: Self)
    where
        Self: Sized;

    /// `bytes` bytes occupy `link` between two times.
    #[inline]
    fn transmitted(&mut self, link: LinkId, from: Time, until: Time, bytes: u16) {
        let _ = (link, from, until, bytes);
    }

    /// `packet` occupies `link` between two times, as it is on the wire: called beside
    /// [`transmitted`](Self::transmitted), also for a packet that the link loses.
    #[inline]
    fn sent(&mut self, link: LinkId, from: Time, until: Time, packet: &Packet) {
        let _ = (link, from, until, packet);
    }

    /// A pause frame (XOFF, or XON where `stop` is not set) occupies `link` between two times, also one that the link
    /// loses.
    fn sent_pause(&mut self, link: LinkId, from: Time, until: Time, stop: bool) {
        let _ = (link, from, until, stop);
    }

    /// From now on, `bytes` bytes wait for `link`.
    #[inline]
    fn queued(&mut self, link: LinkId, now: Time, bytes: u32) {
        let _ = (link, now, bytes);
    }

    /// `bytes` bytes came to a switch to go out by `link`, whether they found room or not.
    #[inline]
    fn offered(&mut self, link: LinkId, now: Time, bytes: u16) {
        let _ = (link, now, bytes);
    }

    /// A packet that was to go out by `link` was dropped for lack of buffer.
    #[inline]
    fn dropped(&mut self, link: LinkId, now: Time) {
        let _ = (link, now);
    }

    /// The data class of `link` must pause from now on, or may go on.
    fn paused(&mut self, link: LinkId, now: Time, on: bool) {
        let _ = (link, now, on);
    }

    /// `link` was paused while packets of `victims` queue pairs waited in its queue whose egress port at the pausing
    /// switch had no data queued and was not paused itself.
    ///
    /// That is counted when the pause takes effect, after all that happens at the paused switch at that time, and looks
    /// at the other one as it stands then in the order (time, node, kind, port): with its events of the same time done if
    /// its number is lower, and not if it is higher. Where a link comes up or goes down and its ends agree anew, it is
    /// counted before the first event of that time.
    fn held_up(&mut self, link: LinkId, now: Time, victims: u32) {
        let _ = (link, now, victims);
    }

    /// Whether [`held_up`](Self::held_up) is wanted for `link`: counting victims means a look at every packet
    /// that waits.
    fn wants_victims(&self, link: LinkId) -> bool {
        let _ = link;
        false
    }

    /// From now on, the program of switch `node` keeps `aside` bytes in memory of its own, and has `entries` entries
    /// in the tables that follow queue pairs.
    #[inline]
    fn kept(&mut self, node: NodeId, now: Time, aside: u32, entries: u32) {
        let _ = (node, now, aside, entries);
    }

    /// A packet reached the receiving end of queue pair `qp`.
    #[inline]
    fn delivered(&mut self, qp: QpId, now: Time, packet: &Packet) {
        let _ = (qp, now, packet);
    }

    /// An acknowledgement reached the sending end of queue pair `qp`: the round trip of the packet that caused
    /// it, and whether that was marked.
    #[inline]
    fn acknowledged(&mut self, qp: QpId, now: Time, rtt: Duration, marked: bool) {
        let _ = (qp, now, rtt, marked);
    }

    /// Points that it keeps because of events, over the whole run so far. One whose observers keep more in all than the
    /// run may have ends, by [`RunError::TooManyPoints`](crate::RunError::TooManyPoints).
    fn recorded(&self) -> u64 {
        0
    }
}

/// Both look.
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

    fn paused(&mut self, link: LinkId, now: Time, on: bool) {
        self.0.paused(link, now, on);
        self.1.paused(link, now, on);
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

    fn recorded(&self) -> u64 {
        self.0.recorded() + self.1.recorded()
    }
}

/// Nobody looks.
pub struct NoObserver;

impl Observer for NoObserver {
    fn fork(&self) -> Self {
        NoObserver
    }

    fn join(&mut self, NoObserver: Self) {}
}
