//! Host load balancing: which entropy value the next packet carries.

use crate::Span;
use serde::{Deserialize, Serialize};

/// A load balancer and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LbConfig {
    /// One entropy value for a queue pair's life.
    Ecmp {},
    /// A random entropy value for each packet (oblivious packet spraying).
    Ops {
        /// Number of entropy values (EVS size), 1 to 65,536.
        evs: u32,
    },
    /// Recycled entropies.
    Reps(RepsConfig),
}

/// Parameters of REPS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepsConfig {
    /// Number of entropy values (EVS_SIZE), 1 to 65,536.
    pub evs: u32,
    /// Entries of the circular buffer (REPS_BUFFER_SIZE), 1 to 32.
    pub buffer: u32,
    /// Freezing mode is there at all (Appendix C.4 studies REPS without it).
    pub freezing: bool,
    /// How long freezing lasts (FREEZING_TIMEOUT).
    pub freezing_timeout: Span,
    /// Packets after freezing of which every `buffer`-th explores (NUM_PKTS_CWND), at most 255.
    pub explore_packets: u32,
    /// A timeout means a failure when the highest RTT of the last two RTOs was below this many base RTTs
    /// (Appendix A, without trimming).
    pub failure_rtt: f64,
}
