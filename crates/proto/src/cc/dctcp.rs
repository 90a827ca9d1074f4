//! DCTCP in the per-ACK form of MPRDMA (REPS, section 4.1).

use super::AnyCc;
use super::interface::{AckReport, CcProperties, CongestionControl, LossReport, Windows};
use crate::{PathFacts, Size};
use anabranch_base::{AboveZero, Stream, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of per-ACK DCTCP.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct DctcpConfig {
        /// Window at the start.
        #[param(AboveZero; example = "1.5bdp"; source = "the simulator published with REPS")]
        pub initial_window: Size,
        /// Largest window.
        #[param(AboveZero; example = "1.5bdp"; source = "the simulator published with REPS")]
        pub max_window: Size,
        /// Number of packets by which a marked ACK shrinks the window, for each packet that it acknowledges.
        #[param(0.0..=1.0; example = 0.25; source = "the simulator published with REPS")]
        pub decrease: f64,
        /// Number of packets by which a loss shrinks the window.
        #[param(0.0..; example = 1.0; source = "REPS, section 4.1")]
        pub loss_decrease: f64,
    }
}

/// The window in bytes. It grows by one packet per RTT and shrinks by a fraction of a packet per marked packet.
#[derive(Clone, Debug)]
pub struct Dctcp {
    window: f64,
    packet: f64,
    max: f64,
    decrease: f64,
    loss_decrease: f64,
}

impl Dctcp {
    /// A window at its initial size.
    pub fn new(config: &DctcpConfig, facts: &PathFacts) -> Self {
        let packet = facts.packet.0 as f64;
        let max = (config.max_window.window_on(facts).0 as f64).max(packet);
        Dctcp {
            window: (config.initial_window.window_on(facts).0 as f64).clamp(packet, max),
            packet,
            max,
            decrease: config.decrease * packet,
            loss_decrease: config.loss_decrease * packet,
        }
    }
}

impl CcProperties for DctcpConfig {
    fn build_with_stream(&self, facts: &PathFacts, _random: Stream) -> AnyCc {
        AnyCc::Dctcp(Dctcp::new(self, facts))
    }

    fn windows(&self) -> Windows {
        Windows::Adaptive { initial: self.initial_window, max: self.max_window }
    }

    fn reacts_to_ecn(&self) -> bool {
        true
    }

    fn resumes_window(&self) -> bool {
        true
    }
}

impl CongestionControl for Dctcp {
    #[inline]
    fn window(&self) -> u64 {
        self.window as u64
    }

    #[inline]
    fn handle_ack(&mut self, acked: &AckReport) {
        let packets = f64::from(acked.packets);
        if acked.marked {
            self.set(self.window - packets * self.decrease);
        } else {
            self.set(self.window + packets * self.packet * self.packet / self.window);
        }
    }

    #[inline]
    fn handle_loss(&mut self, _lost: &LossReport) {
        self.set(self.window - self.loss_decrease);
    }

    fn start_with_window(&mut self, bytes: u64) {
        self.set(bytes as f64);
    }

    #[inline]
    fn paces(&self) -> bool {
        false
    }
}

impl Dctcp {
    #[inline]
    fn set(&mut self, window: f64) {
        self.window = window.clamp(self.packet, self.max);
    }
}
