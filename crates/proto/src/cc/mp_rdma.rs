//! MP-RDMA's window. A queue pair has one window for all its paths, and every ACK changes the window.
//!
//! The text of the paper (NSDI 2018) was not available. An ACK changes the window by the rules on which public
//! simulations of the scheme agree. REPS (section 4.1) describes these rules, and the rule for a loss.

use super::AnyCc;
use super::interface::{AckReport, CcProperties, CongestionControl, LossReport, Windows};
use crate::{PathFacts, Size};
use anabranch_base::{AboveZero, Stream, Time, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of MP-RDMA's window. The steps by which the window changes are fixed.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct MpRdmaCcConfig {
        /// Window at the start, and after an idle period.
        #[param(AboveZero; example = "1bdp"; source = "unspecified")]
        pub initial_window: Size,
        /// Largest window. As far as is known, the paper sets no limit. Without a limit, the window of a queue pair
        /// that is never marked would grow without bound.
        #[param(AboveZero; example = "2bdp"; source = "unspecified")]
        pub max_window: Size,
    }
}

/// The window in bytes. It grows by one packet per RTT and shrinks by half a packet per marked packet.
#[derive(Clone, Debug)]
pub struct MpRdmaCc {
    window: f64,
    packet: f64,
    initial: f64,
    max: f64,
}

impl MpRdmaCc {
    /// A window at its initial size.
    pub fn new(config: &MpRdmaCcConfig, facts: &PathFacts) -> Self {
        let packet = facts.packet.0 as f64;
        let max = (config.max_window.window_on(facts).0 as f64).max(packet);
        let initial = (config.initial_window.window_on(facts).0 as f64).clamp(packet, max);
        MpRdmaCc { window: initial, packet, initial, max }
    }
}

impl CcProperties for MpRdmaCcConfig {
    fn build_with_stream(&self, facts: &PathFacts, _random: Stream) -> AnyCc {
        AnyCc::MpRdma(MpRdmaCc::new(self, facts))
    }

    fn windows(&self) -> Windows {
        Windows::Adaptive { initial: self.initial_window, max: self.max_window }
    }

    fn reacts_to_ecn(&self) -> bool {
        true
    }
}

impl CongestionControl for MpRdmaCc {
    #[inline]
    fn window(&self) -> u64 {
        self.window as u64
    }

    #[inline]
    fn handle_ack(&mut self, acked: &AckReport) {
        let packets = f64::from(acked.packets);
        if acked.marked {
            self.set(self.window - packets * self.packet / 2.0);
        } else {
            self.set(self.window + packets * self.packet * self.packet / self.window);
        }
    }

    /// The window shrinks by one packet for a loss (REPS, section 4.1).
    #[inline]
    fn handle_loss(&mut self, _lost: &LossReport) {
        self.set(self.window - self.packet);
    }

    fn handle_restart(&mut self, _now: Time) {
        self.window = self.initial;
    }

    #[inline]
    fn paces(&self) -> bool {
        false
    }
}

impl MpRdmaCc {
    #[inline]
    fn set(&mut self, window: f64) {
        self.window = window.clamp(self.packet, self.max);
    }
}
