//! Congestion control: how much may be in the network.

use crate::Size;
use serde::{Deserialize, Serialize};

/// A congestion control and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum CcConfig {
    /// DCTCP in the per-ACK form of MPRDMA (REPS, section 4.1).
    Dctcp(DctcpConfig),
    /// A window that never changes.
    Constant {
        /// The window.
        window: Size,
    },
}

/// Parameters of per-ACK DCTCP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DctcpConfig {
    /// Window at the start.
    pub initial_window: Size,
    /// Largest window.
    pub max_window: Size,
    /// Packets taken off the window by a marked ACK, for each packet that it acknowledges.
    pub decrease: f64,
    /// Packets taken off the window by a loss.
    pub loss_decrease: f64,
}
