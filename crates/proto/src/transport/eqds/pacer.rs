//! The pull pacer of a host.

use super::config::EqdsConfig;
use crate::PathFacts;
use anabranch_base::{Rate, Time};
use std::collections::VecDeque;

/// The pull pacer of a receiving host: pulls at a rate, round robin over the receivers with demand.
///
/// Drive it: [`join`](Self::join) for a receiver that requests a pull; at [`next_timeout`](Self::next_timeout),
/// [`take_turn`](Self::take_turn) until a receiver pulls, and [`pulled`](Self::pulled) when one did.
#[derive(Clone, Debug)]
pub struct PullPacer {
    /// The rate of what is pulled.
    rate: Rate,
    /// The earliest time of the next pull.
    free_at: Time,
    /// Receivers with demand, by their index at the host.
    waiting: VecDeque<u32>,
}

impl PullPacer {
    /// A pacer without waiting receivers.
    pub fn new(config: &EqdsConfig, facts: &PathFacts) -> Self {
        PullPacer::at_rate(config.pull_rate.on(facts))
    }

    /// A pacer of this rate without waiting receivers.
    pub fn at_rate(rate: Rate) -> Self {
        PullPacer { rate, free_at: Time::ZERO, waiting: VecDeque::new() }
    }

    /// Appends a receiver to the queue.
    #[inline]
    pub fn join(&mut self, receiver: u32) {
        self.waiting.push_back(receiver);
    }

    /// The time at which the next pull may be sent; none while no receiver has demand.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        (!self.waiting.is_empty()).then_some(self.free_at)
    }

    /// The receiver whose turn it is, if a pull may be sent now.
    #[inline]
    pub fn take_turn(&mut self, now: Time) -> Option<u32> {
        if now < self.free_at { None } else { self.waiting.pop_front() }
    }

    /// Records that a pull of `bytes` bytes was sent.
    #[inline]
    pub fn pulled(&mut self, now: Time, bytes: u64) {
        self.free_at = now + self.rate.time_for(bytes);
    }
}
