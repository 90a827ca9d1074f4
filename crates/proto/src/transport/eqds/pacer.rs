//! When a host pulls, and from whom.

use super::config::EqdsConfig;
use crate::PathFacts;
use anabranch_base::{Duration, Time};
use std::collections::VecDeque;

/// The pull pacer of a receiving host: a pull for each packet time, round robin over the receivers with demand.
///
/// Drive it: [`join`](Self::join) for a receiver that asks to pull; at [`next_timeout`](Self::next_timeout),
/// [`take_turn`](Self::take_turn) until a receiver pulls, and [`pulled`](Self::pulled) when one did.
#[derive(Clone, Debug)]
pub struct PullPacer {
    /// Time of a full packet at the pull rate.
    interval: Duration,
    /// No pull before this.
    free_at: Time,
    /// Receivers with demand, by the numbers that the host has for them.
    waiting: VecDeque<u32>,
}

impl PullPacer {
    /// Of a host without demand.
    pub fn new(config: &EqdsConfig, facts: &PathFacts) -> Self {
        let interval = config.pull_rate.on(facts).time_for(config.payload.0 + config.header.0);
        PullPacer { interval, free_at: Time::ZERO, waiting: VecDeque::new() }
    }

    /// Puts a receiver behind the others.
    #[inline]
    pub fn join(&mut self, receiver: u32) {
        self.waiting.push_back(receiver);
    }

    /// When the next pull may go out; none while nobody has demand.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        (!self.waiting.is_empty()).then_some(self.free_at)
    }

    /// The receiver whose turn it is, if a pull may go out now.
    #[inline]
    pub fn take_turn(&mut self, now: Time) -> Option<u32> {
        if now < self.free_at { None } else { self.waiting.pop_front() }
    }

    /// A pull went out.
    #[inline]
    pub fn pulled(&mut self, now: Time) {
        self.free_at = now + self.interval;
    }
}
