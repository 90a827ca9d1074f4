//! What every load balancer is to the transports, and what it is told.

use crate::PathFacts;
use anabranch_base::{Duration, Time};

/// What a load balancer is told of its surroundings.
#[derive(Clone, Copy, Debug)]
pub struct Environment {
    /// The fabric's longest path.
    pub facts: PathFacts,
    /// The transport's retransmission timeout.
    pub rto: Duration,
    /// Switches trim instead of dropping.
    pub trimming: bool,
}

/// What every load balancer implements, and one of your own.
pub trait LoadBalancer: Send {
    /// The entropy value of the packet that is sent now, within a window of `window` bytes.
    fn next_ev(&mut self, now: Time, window: u64) -> u16;
    /// An ACK arrived with the entropy value of the packet that caused it.
    fn handle_ack(&mut self, now: Time, ev: u16, marked: bool, rtt: Duration) {
        let _ = (now, ev, marked, rtt);
    }
    /// A packet timed out.
    fn handle_timeout(&mut self, now: Time) {
        let _ = now;
    }
    /// A packet with this entropy value was trimmed.
    fn handle_trim(&mut self, now: Time, ev: u16) {
        let _ = (now, ev);
    }
}
