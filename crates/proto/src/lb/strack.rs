//! STrack's adaptive load balancing (Algorithm 3).

use super::{Environment, StateField, StrackLbConfig};
use anabranch_base::Stream;

/// The bitmap of paths.
#[derive(Clone, Debug)]
pub struct StrackLb {
    next: u16,
}

impl StrackLb {
    /// No path is marked.
    pub fn new(_config: &StrackLbConfig, _environment: &Environment, _random: Stream) -> Self {
        StrackLb { next: 0 }
    }

    pub(super) fn state(_config: &StrackLbConfig) -> Vec<StateField> {
        Vec::new()
    }

    pub(super) fn next_ev(&mut self, _window: u64) -> u16 {
        self.next = (self.next + 1) % 256;
        self.next
    }

    pub(super) fn handle_ack(&mut self, _ev: u16, _marked: bool) {}
}
