//! Oblivious packet spraying.

use super::interface::LoadBalancer;
use anabranch_base::{Stream, Time};

/// A random entropy value for each packet.
#[derive(Clone, Debug)]
pub struct Ops {
    /// They are below.
    evs: u32,
    random: Stream,
}

impl Ops {
    /// Draws among `evs` entropy values, 1 to 65,536.
    pub fn new(evs: u32, random: Stream) -> Self {
        Ops { evs: evs.clamp(1, 1 << 16), random }
    }
}

impl LoadBalancer for Ops {
    #[inline]
    fn next_ev(&mut self, _now: Time, _window: u64) -> u16 {
        self.random.below(self.evs) as u16
    }
}
