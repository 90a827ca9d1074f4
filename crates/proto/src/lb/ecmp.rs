//! One path for a queue pair's lifetime, chosen by the ECMP hash.

use super::AnyLb;
use super::interface::{Environment, LbProperties, LoadBalancer};
use crate::StateField;
use anabranch_base::{Stream, Time};

pub(super) struct EcmpConfig;

/// A constant entropy value.
#[derive(Clone, Copy, Debug)]
pub struct Ecmp(pub u16);

impl Ecmp {
    pub(super) fn state() -> Vec<StateField> {
        vec![StateField::new("entropy value", 16, 1)]
    }
}

impl LbProperties for EcmpConfig {
    fn build(&self, _environment: &Environment, mut random: Stream) -> AnyLb {
        AnyLb::ecmp(random.next_u32() as u16)
    }

    fn state(&self) -> Vec<StateField> {
        Ecmp::state()
    }

    fn reacts_to_ecn(&self) -> bool {
        false
    }

    fn chooses_paths(&self) -> bool {
        false
    }
}

impl LoadBalancer for Ecmp {
    #[inline]
    fn next_ev(&mut self, _now: Time, _window: u64) -> u16 {
        self.0
    }
}
