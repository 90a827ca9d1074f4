//! A round robin of entropy values: a few paths under one window.
//!
//! The simulator published with REPS models MPTCP by a round robin of 8 entropy values. In the text of REPS (section
//! 4.1), a message is instead divided "into 8 subflows", each with a window of its own, "similarly to using multiple
//! QPs". The text corresponds to `qps = 8` over `ecmp`.

use super::AnyLb;
use super::interface::{Environment, LbProperties, LoadBalancer};
use crate::StateField;
use anabranch_base::{Stream, Time, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of the balancer `round-robin`.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct RoundRobinConfig {
        /// Number of entropy values. They are consecutive, and the first one is random.
        #[param(1..=65_536; example = 8; source = "the simulator published with REPS; subflows of REPS, section 4.1")]
        pub evs: u32,
    }
}

/// A sender that uses its entropy values in turn.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    first: u16,
    /// The offset of the next entropy value from the first one.
    next: u16,
    /// The offset of the last entropy value of a round.
    last: u16,
}

impl RoundRobin {
    /// A sender before its first packet.
    pub fn new(config: &RoundRobinConfig, mut random: Stream) -> Self {
        RoundRobin { first: random.next_u32() as u16, next: 0, last: (config.evs - 1) as u16 }
    }

    pub(super) fn state() -> Vec<StateField> {
        vec![StateField::new("first entropy value", 16, 1), StateField::new("turn", 16, 1)]
    }
}

impl LbProperties for RoundRobinConfig {
    fn build(&self, _environment: &Environment, random: Stream) -> AnyLb {
        AnyLb::RoundRobin(RoundRobin::new(self, random))
    }

    fn state(&self) -> Vec<StateField> {
        RoundRobin::state()
    }

    fn reacts_to_ecn(&self) -> bool {
        false
    }
}

impl LoadBalancer for RoundRobin {
    #[inline]
    fn next_ev(&mut self, _now: Time, _window: u64) -> u16 {
        let ev = self.first.wrapping_add(self.next);
        self.next = if self.next == self.last { 0 } else { self.next + 1 };
        ev
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::random;
    use super::*;

    #[test]
    fn each_has_its_turn() {
        for evs in [1, 3, 8, 65_536] {
            let mut lb = RoundRobin::new(&RoundRobinConfig { evs }, random());
            let mut round = || (0..evs).map(|_| lb.next_ev(Time::ZERO, 0)).collect::<Vec<_>>();
            let (first, second) = (round(), round());
            assert_eq!(first, second);
            let mut different = first.clone();
            different.sort_unstable();
            different.dedup();
            assert_eq!(different.len(), evs as usize);
        }
    }
}
