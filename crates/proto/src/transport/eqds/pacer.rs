//! The pull pacer of a host.

use super::config::EqdsConfig;
use crate::PathFacts;
use anabranch_base::{Duration, Time};
use std::collections::VecDeque;

/// The pull pacer of a receiving host. It sends one pull per packet time, round robin over the receivers with demand.
///
/// To drive it, call [`join`](Self::join) for a receiver that requests a pull. At [`next_timeout`](Self::next_timeout),
/// call [`take_turn`](Self::take_turn) until a receiver pulls, and [`pulled`](Self::pulled) when one has.
#[derive(Clone, Debug)]
pub struct PullPacer {
    /// The time that a full packet takes at the pull rate.
    interval: Duration,
    /// The earliest time of the next pull.
    free_at: Time,
    /// Receivers with demand, given by their index at the host.
    waiting: VecDeque<u32>,
}

impl PullPacer {
    /// A pacer without waiting receivers.
    pub fn new(config: &EqdsConfig, facts: &PathFacts) -> Self {
        let interval = config.pull_rate.on(facts).time_for(config.payload.0 + config.header.0);
        PullPacer { interval, free_at: Time::ZERO, waiting: VecDeque::new() }
    }

    /// Appends a receiver to the queue.
    #[inline]
    pub fn join(&mut self, receiver: u32) {
        self.waiting.push_back(receiver);
    }

    /// The time at which the next pull may be sent. None if no receiver has demand.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        (!self.waiting.is_empty()).then_some(self.free_at)
    }

    /// The receiver whose turn it is, if a pull may be sent now.
    #[inline]
    pub fn take_turn(&mut self, now: Time) -> Option<u32> {
        if now < self.free_at { None } else { self.waiting.pop_front() }
    }

    /// Records that a pull was sent.
    #[inline]
    pub fn pulled(&mut self, now: Time) {
        self.free_at = now + self.interval;
    }
}
