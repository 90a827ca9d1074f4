//! MP-RDMA's choice of paths: a packet takes the path of the ACK that clocks it out (multi-path ACK clocking).
//!
//! There is no state per path: a good path returns more ACKs, and therefore gets more packets. The transport knows how
//! many packets an ACK clocks out, and reports the ACK once for each of these packets. The text of the paper was not
//! available. The two rules below, for the first window and for probing, are those on which public simulations of the
//! scheme agree.

use super::AnyLb;
use super::interface::{Environment, LbProperties, LoadBalancer};
use crate::{Span, StateField};
use anabranch_base::{AboveZero, Duration, Stream, Time, parameters};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

parameters! {
    /// Parameters of MP-RDMA's choice of paths.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct MpRdmaLbConfig {
        /// Number of virtual paths, that is of entropy values (UDP source ports).
        #[param(1..=65_536; example = 65_536; source = "unspecified")]
        pub paths: u32,
        /// Probability p that a packet that may probe does so (1 % in simulations of MP-RDMA).
        #[param(0.0..=1.0; example = 0.01; source = "public simulations of MP-RDMA (NSDI 2018)")]
        pub probe: f64,
        /// Least time between two packets that may probe: an RTT. One simulation measures the RTT, the others take the
        /// base RTT of the fabric (`"1rtt"`).
        #[param(AboveZero; example = "1rtt"; source = "public simulations of MP-RDMA (NSDI 2018)")]
        pub probe_interval: Span,
    }
}

/// The paths of an MP-RDMA sender.
#[derive(Clone, Debug)]
pub struct MpRdmaLb {
    /// Paths of the packets that ACKs have clocked out and that are not yet sent, the oldest first. A NIC would send
    /// these packets immediately. Here the wire may be busy with other queue pairs.
    clocked: VecDeque<u16>,
    paths: u32,
    probe: f64,
    probe_interval: Duration,
    next_probe: Time,
    random: Stream,
}

impl MpRdmaLb {
    /// The load balancer of a sender that has not yet received an ACK.
    pub fn new(config: &MpRdmaLbConfig, environment: &Environment, random: Stream) -> Self {
        MpRdmaLb {
            clocked: VecDeque::new(),
            paths: config.paths,
            probe: config.probe,
            probe_interval: config.probe_interval.on(&environment.facts),
            next_probe: Time::ZERO,
            random,
        }
    }

    /// The paper's aim is to need no state per path, so there are no fields. `clocked` exists only in the simulator.
    pub(super) fn state() -> Vec<StateField> {
        Vec::new()
    }
}

impl LbProperties for MpRdmaLbConfig {
    fn build(&self, environment: &Environment, random: Stream) -> AnyLb {
        AnyLb::MpRdma(MpRdmaLb::new(self, environment, random))
    }

    fn state(&self) -> Vec<StateField> {
        MpRdmaLb::state()
    }

    fn reacts_to_ecn(&self) -> bool {
        false
    }

    /// A path that returns no ACKs clocks out no packets.
    fn leaves_lossy_paths(&self) -> bool {
        true
    }
}

impl LoadBalancer for MpRdmaLb {
    #[inline]
    fn next_ev(&mut self, now: Time, _window: u64) -> u16 {
        // The packets of the first window follow no ACK and take random paths (STrack, section 5.2.3: MP-RDMA sprays
        // the initial window). Later packets that no ACK clocked out, for example because the queue pair had too
        // little to send before, also take random paths. The paper's rule for these later packets is not known.
        let Some(path) = self.clocked.pop_front() else {
            return self.random_path();
        };
        if now >= self.next_probe {
            self.next_probe = now + self.probe_interval;
            if self.random.unit() < self.probe {
                return self.random_path();
            }
        }
        path
    }

    #[inline]
    fn handle_ack(&mut self, _now: Time, ev: u16, _marked: bool, _rtt: Duration) {
        self.clocked.push_back(ev);
    }

    /// Discards the paths of ACKs, since they are outdated after a timeout and one of them may have failed. The
    /// available papers do not specify this.
    fn handle_timeout(&mut self, _now: Time, _ev: Option<u16>) {
        self.clocked.clear();
    }
}

impl MpRdmaLb {
    #[inline]
    fn random_path(&mut self) -> u16 {
        self.random.below(self.paths) as u16
    }
}
