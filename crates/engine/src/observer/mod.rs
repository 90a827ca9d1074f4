//! Observers: what is recorded while a run goes on. An absent observer costs nothing.

mod qps;
mod series;

use anabranch_base::{Duration, LinkId, NodeId, QpId, Time};
use anabranch_proto::Packet;

pub use qps::QpSelector;
pub use series::SeriesObserver;

/// Sees packets pass. It cannot change anything, so results do not depend on it.
///
/// Threads have an observer each ([`fork`](Self::fork)), which are one again at the end ([`join`](Self::join)). All
/// that happens at one node is told to one of them, in its order; what happens at different nodes comes window by
/// window, node by node, and not in the order of time.
pub trait Observer: Send {
    /// One more of its kind, which has seen nothing. Asked for before a run.
    fn fork(&self) -> Self
    where
        Self: Sized;

    /// Takes over what another one has seen, of other nodes.
    fn join(&mut self, other: Self)
    where
        Self: Sized;

    /// `bytes` bytes occupy `link` between two times.
    #[inline]
    fn transmitted(&mut self, link: LinkId, from: Time, until: Time, bytes: u16) {
        let _ = (link, from, until, bytes);
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

    /// `link` was paused while packets of `victims` queue pairs waited in its queue whose next egress at the
    /// pausing switch was not congested.
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
}

/// Nobody looks.
pub struct NoObserver;

impl Observer for NoObserver {
    fn fork(&self) -> Self {
        NoObserver
    }

    fn join(&mut self, NoObserver: Self) {}
}
