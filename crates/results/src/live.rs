//! Runs on real packets, each beside its simulation.

use crate::RunRow;
use serde::{Deserialize, Serialize};

/// The additional results of a run on real packets, whose [`RunRow`] has its times divided by the dilation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveRun {
    /// The real time that one unit of simulated time took.
    pub dilation: u32,
    /// The lateness in packet times that at most 1 % of the frames, and at most 1 % of the nodes' own events, exceeded.
    pub lateness_packet_times: f64,
    /// The lateness of the latest frame, in microseconds of real time.
    pub latest_frame_us: f64,
    /// The dilation at which nodes would probably have acted in time. `None` if they did. Otherwise the run is invalid,
    /// since its times are not those of the scenario.
    pub needed_dilation: Option<u32>,
    /// The number of messages that arrived with the bytes that were sent.
    pub messages_checked: u64,
    /// The number of bytes of these messages.
    pub bytes_checked: u64,
    /// The totals of the same run in the simulator.
    pub simulated: RunRow,
}
