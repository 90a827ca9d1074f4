//! Congestion control: how much may be in the network.

mod dctcp;

use crate::{PathFacts, Size};
use anabranch_base::{Duration, Time};
use serde::{Deserialize, Serialize};

pub use dctcp::Dctcp;

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

/// What an ACK tells a congestion control.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// When it arrived.
    pub now: Time,
    /// Packets that it acknowledges for the first time.
    pub packets: u32,
    /// It carries a congestion mark.
    pub marked: bool,
    /// Round trip of the packet that caused it.
    pub rtt: Duration,
}

/// Any congestion control. It answers with an allowance and learns from feedback; it never sees a load balancer.
pub enum AnyCc {
    /// See [`Dctcp`].
    Dctcp(Dctcp),
    /// A fixed window in bytes.
    Constant(u64),
    /// Somebody else's.
    Custom(Box<dyn CongestionControl>),
}

/// What a congestion control of your own implements.
pub trait CongestionControl: Send {
    /// Bytes that may be in flight.
    fn window(&self) -> u64;
    /// An ACK arrived.
    fn handle_ack(&mut self, acked: &Acked);
    /// A packet was lost (timed out or trimmed).
    fn handle_loss(&mut self, now: Time);
}

impl CcConfig {
    /// The congestion control of a new queue pair.
    pub fn build(&self, facts: &PathFacts) -> AnyCc {
        match self {
            CcConfig::Dctcp(config) => AnyCc::Dctcp(Dctcp::new(config, facts)),
            CcConfig::Constant { window } => AnyCc::Constant(window.on(facts).0),
        }
    }
}

impl AnyCc {
    /// Bytes that may be in flight.
    #[inline]
    pub fn window(&self) -> u64 {
        match self {
            AnyCc::Dctcp(cc) => cc.window(),
            AnyCc::Constant(window) => *window,
            AnyCc::Custom(cc) => cc.window(),
        }
    }

    /// An ACK arrived.
    #[inline]
    pub fn handle_ack(&mut self, acked: &Acked) {
        match self {
            AnyCc::Dctcp(cc) => cc.handle_ack(acked),
            AnyCc::Constant(_) => {}
            AnyCc::Custom(cc) => cc.handle_ack(acked),
        }
    }

    /// A packet was lost (timed out or trimmed).
    #[inline]
    pub fn handle_loss(&mut self, now: Time) {
        match self {
            AnyCc::Dctcp(cc) => cc.handle_loss(),
            AnyCc::Constant(_) => {}
            AnyCc::Custom(cc) => cc.handle_loss(now),
        }
    }
}
