//! A constant window: no congestion control.

use super::interface::CongestionControl;
use crate::Size;
use anabranch_base::{AboveZero, parameters};
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
