//! One path for a queue pair's life, whichever ECMP hashes it to.

use super::interface::LoadBalancer;
use crate::StateField;
use anabranch_base::Time;

/// One entropy value for ever.
#[derive(Clone, Copy, Debug)]
pub struct Ecmp(pub u16);

impl Ecmp {
    pub(super) fn state() -> Vec<StateField> {
        vec![StateField::new("entropy value", 16, 1)]
    }
}

impl LoadBalancer for Ecmp {
    #[inline]
    fn next_ev(&mut self, _now: Time, _window: u64) -> u16 {
        self.0
    }
}
