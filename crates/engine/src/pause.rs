//! Pause frames (IEEE 802.1Qbb): their state at the end of a link that sends them, and how long a pause lasts.
//!
//! A pause lasts for a number of quanta, each of 512 bit times, unless the sender of the pause refreshes it. A switch
//! that runs out of buffer refreshes its pauses until it sends XON, so its pauses have no timer here. The pauses of
//! hosts have a timer, because a host with a pause storm does not send XON.

use anabranch_base::{Duration, Rate};

/// The most bytes that a link could carry during a pause: 65,535 quanta of 512 bits (IEEE 802.1Qbb). The timer of a
/// pause frame has 16 bits.
const LONGEST_PAUSE_BYTES: u64 = 65_535 * 512 / 8;

/// The duration of the longest pause of a link with this rate.
pub fn longest_pause(rate: Rate) -> Duration {
    rate.time_for(LONGEST_PAUSE_BYTES)
}

/// The state of pauses at the end of a link that may pause the other end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseState {
    /// Whether the other end should be paused (XOFF).
    pub stopped: bool,
    /// The pause state in the last pause frame that was sent. After the link has gone down or come up, it is the state
    /// that both ends then assumed. After a pause storm of a host it is false, since the last pause expires.
    pub peer_paused: bool,
}

impl PauseState {
    /// Requests a pause or a resume of the other end. Returns whether a pause frame is pending now, or none if a pause was
    /// already requested and is requested again. A pending frame carries the state at the time of its transmission. If the
    /// other end already has that state, no frame is sent.
    pub fn request(&mut self, stop: bool) -> Option<bool> {
        if stop && self.stopped {
            return None;
        }
        self.stopped = stop;
        Some(self.peer_paused != stop)
    }

    /// Records that a pause frame leaves now. Returns the state that it carries.
    pub fn sent(&mut self) -> bool {
        self.peer_paused = self.stopped;
        self.stopped
    }

    /// Returns the pause state that both ends assume without a frame after the link went down or came up (`up`). While
    /// the link is down, the other end is not paused, and packets sent on it are lost.
    pub fn settle(&mut self, up: bool) -> bool {
        self.peer_paused = self.stopped && up;
        self.peer_paused
    }
}
