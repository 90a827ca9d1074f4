//! A constant window: no congestion control.

use super::AnyCc;
use super::interface::{CcProperties, CongestionControl, Windows};
use crate::{PathFacts, Size};
use anabranch_base::{AboveZero, Stream, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of a window that never changes.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct ConstantConfig {
        /// The window.
        #[param(AboveZero; example = "1bdp"; source = "DCP, section 6.2; 1000 BDP are none")]
        pub window: Size,
    }
}

/// A window in bytes that never changes.
#[derive(Clone, Copy, Debug)]
pub struct Constant(pub u64);

impl CcProperties for ConstantConfig {
    fn build_with_stream(&self, facts: &PathFacts, _random: Stream) -> AnyCc {
        AnyCc::constant(self.window.window_on(facts).0)
    }

    fn windows(&self) -> Windows {
        Windows::Constant(self.window)
    }

    fn reacts_to_ecn(&self) -> bool {
        false
    }
}

impl CongestionControl for Constant {
    #[inline]
    fn window(&self) -> u64 {
        self.0
    }

    #[inline]
    fn paces(&self) -> bool {
        false
    }
}
