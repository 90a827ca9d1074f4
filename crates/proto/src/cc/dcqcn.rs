//! DCQCN's reaction point (SIGCOMM 2015, section 3 and Algorithm 1).

use super::DcqcnConfig;
use crate::PathFacts;
use anabranch_base::{Rate, Time};

/// A sending rate.
#[derive(Clone, Debug)]
pub struct Dcqcn {
    window: u64,
    rate: Rate,
}

impl Dcqcn {
    /// At line rate.
    pub fn new(config: &DcqcnConfig, facts: &PathFacts) -> Self {
        Dcqcn { window: config.window.on(facts).0, rate: facts.line_rate }
    }

    pub(super) fn window(&self) -> u64 {
        self.window
    }

    pub(super) fn rate(&mut self, _now: Time) -> Rate {
        self.rate
    }

    pub(super) fn next_increase(&self) -> Option<Time> {
        None
    }

    pub(super) fn handle_sent(&mut self, _now: Time, _bytes: u16) {}

    pub(super) fn handle_cnp(&mut self, _now: Time) {}
}
