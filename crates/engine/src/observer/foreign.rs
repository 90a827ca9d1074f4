//! An observer of somebody else's, whose panics are told as such.

use super::Observer;
use anabranch_base::{Duration, LinkId, NodeId, QpId, Time, foreign};
use anabranch_proto::Packet;

/// What a panic in one is said to be in.
const PART: &str = "observer";

/// Somebody else's observer.
pub struct Foreign<O>(O);

impl<O: Observer> Foreign<O> {
    /// One more of its kind.
    pub fn fork_of(observer: &O) -> Self {
        Foreign(foreign(PART, || observer.fork()))
    }

    /// Hands what it has seen to one that somebody has.
    pub fn join_into(self, observer: &mut O) {
        foreign(PART, || observer.join(self.0));
    }
}

impl<O: Observer> Observer for Foreign<O> {
    fn fork(&self) -> Self {
        Foreign::fork_of(&self.0)
    }

    fn join(&mut self, other: Self) {
        other.join_into(&mut self.0);
    }

    #[inline]
    fn transmitted(&mut self, link: LinkId, from: Time, until: Time, bytes: u16) {
        foreign(PART, || self.0.transmitted(link, from, until, bytes));
    }

    #[inline]
    fn queued(&mut self, link: LinkId, now: Time, bytes: u32) {
        foreign(PART, || self.0.queued(link, now, bytes));
    }

    #[inline]
    fn offered(&mut self, link: LinkId, now: Time, bytes: u16) {
        foreign(PART, || self.0.offered(link, now, bytes));
    }

    #[inline]
    fn dropped(&mut self, link: LinkId, now: Time) {
        foreign(PART, || self.0.dropped(link, now));
    }

    fn paused(&mut self, link: LinkId, now: Time, on: bool) {
        foreign(PART, || self.0.paused(link, now, on));
    }

    fn held_up(&mut self, link: LinkId, now: Time, victims: u32) {
        foreign(PART, || self.0.held_up(link, now, victims));
    }

    fn wants_victims(&self, link: LinkId) -> bool {
        foreign(PART, || self.0.wants_victims(link))
    }

    #[inline]
    fn kept(&mut self, node: NodeId, now: Time, aside: u32, entries: u32) {
        foreign(PART, || self.0.kept(node, now, aside, entries));
    }

    #[inline]
    fn delivered(&mut self, qp: QpId, now: Time, packet: &Packet) {
        foreign(PART, || self.0.delivered(qp, now, packet));
    }

    #[inline]
    fn acknowledged(&mut self, qp: QpId, now: Time, rtt: Duration, marked: bool) {
        foreign(PART, || self.0.acknowledged(qp, now, rtt, marked));
    }

    fn recorded(&self) -> u64 {
        foreign(PART, || self.0.recorded())
    }
}
