//! Oblivious packet spraying.

use super::AnyLb;
use super::interface::{Environment, LbProperties, LoadBalancer, NicPorts};
use crate::StateField;
use anabranch_base::{Stream, Time, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of oblivious packet spraying.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct OpsConfig {
        /// Number of entropy values (EVS size).
        #[param(1..=65_536; example = 65_536; source = "REPS, section 2.2 and Table 1")]
        pub evs: u32,
    }
}

/// A random entropy value for each packet.
#[derive(Clone, Debug)]
pub struct Ops {
    evs: u32,
    random: Stream,
    ports: NicPorts,
}

impl Ops {
    /// A sender that draws among `config.evs` entropy values.
    pub fn new(config: &OpsConfig, random: Stream) -> Self {
        Ops { evs: config.evs, random, ports: NicPorts::ONE }
    }
}

impl LbProperties for OpsConfig {
    fn build(&self, _environment: &Environment, random: Stream) -> AnyLb {
        AnyLb::Ops(Ops::new(self, random))
    }

    fn state(&self) -> Vec<StateField> {
        Vec::new()
    }

    fn reacts_to_ecn(&self) -> bool {
        false
    }
}

impl LoadBalancer for Ops {
    #[inline]
    fn next_ev(&mut self, _now: Time, _window: u64) -> u16 {
        self.ports.steer(self.random.below(self.evs) as u16, self.evs)
    }

    fn see_ports(&mut self, ports: NicPorts) {
        self.ports = ports;
    }
}
