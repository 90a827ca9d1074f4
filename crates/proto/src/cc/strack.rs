//! STrack's congestion control (Algorithms 2 and 4).

use super::{Acked, StrackCcConfig};
use crate::PathFacts;

/// A window.
#[derive(Clone, Debug)]
pub struct StrackCc {
    window: u64,
}

impl StrackCc {
    /// At its initial window.
    pub fn new(config: &StrackCcConfig, facts: &PathFacts) -> Self {
        StrackCc { window: config.initial_window.on(facts).0 }
    }

    pub(super) fn window(&self) -> u64 {
        self.window
    }

    pub(super) fn handle_ack(&mut self, _acked: &Acked) {}
}
