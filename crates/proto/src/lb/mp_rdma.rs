//! MP-RDMA's choice of paths: a packet takes the path of the ACK that lets it go (multi-path ACK clocking).
//!
//! No state is kept of any path: one that is good brings back more ACKs, and so takes more packets. How many packets
//! an ACK lets go, the transport knows: it tells of the ACK once for each. The paper's text was not at hand. Both
//! rules below, of the first window and of probing, are those on which public simulations of it agree.

use super::interface::{Environment, LoadBalancer};
use crate::{Span, StateField};
use anabranch_base::{AboveZero, Duration, Stream, Time, parameters};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

parameters! {
    /// Parameters of MP-RDMA's choice of paths.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct MpRdmaLbConfig {
        /// Virtual paths, that is entropy values (UDP source ports).
        #[param(1..=65_536; example = 65_536; source = "unsaid")]
        pub paths: u32,
        /// Probability that a packet whose turn it is probes a path (p; 1 % in simulations of it).
        #[param(0.0..=1.0; example = 0.01; source = "public simulations of MP-RDMA (NSDI 2018)")]
        pub probe: f64,
        /// It is a packet's turn once in this time: an RTT. One simulation measures that, the others take the base RTT of
        /// the fabric (`"1rtt"`).
        #[param(AboveZero; example = "1rtt"; source = "public simulations of MP-RDMA (NSDI 2018)")]
        pub probe_interval: Span,
    }
}

/// The paths of an MP-RDMA sender.
#[derive(Clone, Debug)]
pub struct MpRdmaLb {
    /// Paths of the ACKs that let packets go which have not gone yet, the oldest first. A NIC sends them at once; here
    /// the wire may be busy with other queue pairs.
    clocked: VecDeque<u16>,
    paths: u32,
    probe: f64,
    probe_interval: Duration,
    /// The first packet from this time on may probe.
    next_probe: Time,
    random: Stream,
}

impl MpRdmaLb {
    /// A sender to which no ACK has come.
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

    /// None: needing no per-path state is the paper's point; `clocked` exists only in the simulator.
    pub(super) fn state() -> Vec<StateField> {
        Vec::new()
    }
}

impl LoadBalancer for MpRdmaLb {
    #[inline]
    fn next_ev(&mut self, now: Time, _window: u64) -> u16 {
        // The packets of the first window have no ACK to follow: a random path each (STrack, section 5.2.3, says that
        // MP-RDMA sprays it). So have those that find room in the window later, after the queue pair had too little to
        // send; what the paper says of them is unknown.
        let Some(path) = self.clocked.pop_front() else {
            return self.any();
        };
        if now >= self.next_probe {
            self.next_probe = now + self.probe_interval;
            if self.random.unit() < self.probe {
                return self.any();
            }
        }
        path
    }

    /// An ACK came back by path `ev` and lets one packet go.
    #[inline]
    fn handle_ack(&mut self, _now: Time, ev: u16, _marked: bool, _rtt: Duration) {
        self.clocked.push_back(ev);
    }

    /// Unsaid. What the ACKs told of their paths is old by now, and one of them may be the path that fails.
    fn handle_timeout(&mut self, _now: Time) {
        self.clocked.clear();
    }
}

impl MpRdmaLb {
    #[inline]
    fn any(&mut self) -> u16 {
        self.random.below(self.paths) as u16
    }
}
