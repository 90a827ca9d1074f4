//! One path for a queue pair's lifetime, chosen by the ECMP hash.

use super::interface::LoadBalancer;
use crate::StateField;
use anabranch_base::Time;

/// A constant entropy value.
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
