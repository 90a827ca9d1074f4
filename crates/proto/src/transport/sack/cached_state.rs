//! What a connection leaves to the next one of the same two hosts.

use super::config::Inherits;
use super::sender::SackSender;
use crate::lb::{AnyLb, Reps};

/// What a finished connection knew of the network.
#[derive(Clone, Debug)]
pub struct CachedState {
    /// Its congestion window, in bytes.
    window: u64,
    entropies: Option<Box<Reps>>,
}

impl SackSender {
    /// What it leaves, where connections inherit.
    pub fn cached_state(&self) -> Option<CachedState> {
        let (window, lb) = (self.window(), self.lb());
        match (self.inherits(), lb) {
            (Inherits::Nothing, _) => None,
            (Inherits::WindowAndEntropies, AnyLb::Reps(reps)) => {
                Some(CachedState { window, entropies: Some(Box::new(reps.clone())) })
            }
            _ => Some(CachedState { window, entropies: None }),
        }
    }

    /// Starts with what an earlier connection left instead of with what a new one has.
    pub fn inherit(&mut self, earlier: &CachedState) {
        self.start_with_window(earlier.window);
        if let (Some(entropies), AnyLb::Reps(reps)) = (&earlier.entropies, self.lb_mut()) {
            reps.inherit(entropies);
        }
    }
}
