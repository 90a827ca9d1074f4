//! The state that a connection passes to the next one between the same two hosts.

use super::config::Inherits;
use super::sender::SackSender;
use crate::lb::{AnyLb, Reps};

/// The network state that a finished connection leaves to the next one.
#[derive(Clone, Debug)]
pub struct CachedState {
    /// The congestion window, in bytes.
    window: u64,
    entropies: Option<Box<Reps>>,
}

impl SackSender {
    /// The state for the next connection. None if connections inherit no state.
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

    /// Replaces the initial state by that of an earlier connection.
    pub fn inherit(&mut self, earlier: &CachedState) {
        self.start_with_window(earlier.window);
        if let (Some(entropies), AnyLb::Reps(reps)) = (&earlier.entropies, self.lb_mut()) {
            reps.inherit(entropies);
        }
    }
}
