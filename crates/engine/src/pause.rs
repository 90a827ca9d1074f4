//! Pause frames (IEEE 802.1Qbb): the state at the node that sends them, and the duration of a pause.
//!
//! A pause lasts for a number of quanta, each of 512 bit times, unless its sender refreshes it. The model has no timer
//! for pauses of switches, since a switch that runs out of buffer refreshes its pauses until it sends XON. Pauses of
//! hosts have a timer, because a host with a pause storm does not send XON.

use anabranch_base::{Duration, Rate};

/// The most bytes that a link can carry during the longest pause: 65,535 quanta of 512 bits (IEEE 802.1Qbb).
const LONGEST_PAUSE_BYTES: u64 = 65_535 * 512 / 8;

/// The duration of the longest pause of a link with this rate.
pub fn longest_pause(rate: Rate) -> Duration {
    rate.time_for(LONGEST_PAUSE_BYTES)
}

/// The state of the pauses that one end of a link sends to the other end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseState {
    /// Whether the other end should be paused (XOFF).
    pub stopped: bool,
    /// The pause state of the other end: the state in the last pause frame, or the state that both ends assumed when
    /// the link went down or came up. False after a pause storm of a host, since the last pause expires.
    pub peer_paused: bool,
}

impl PauseState {
    /// Requests a pause or a resume of the other end. Returns none if a pause is requested twice in a row, otherwise
    /// whether a pause frame is now pending. No frame is pending if the other end already has the requested state. A
    /// pending frame carries the state at the time of its transmission.
    pub fn request(&mut self, stop: bool) -> Option<bool> {
        if stop && self.stopped {
            return None;
        }
        self.stopped = stop;
        Some(self.peer_paused != stop)
    }

    /// Records that a pause frame leaves now. Returns the state in the frame.
    pub fn sent(&mut self) -> bool {
        self.peer_paused = self.stopped;
        self.stopped
    }

    /// Returns the pause state that both ends assume, without a frame, after the link came up (`up`) or went down.
    pub fn settle(&mut self, up: bool) -> bool {
        self.peer_paused = self.stopped && up;
        self.peer_paused
    }
}
