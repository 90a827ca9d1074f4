//! Drops a share of the NACKs: the intervention of Themis-spraying, section 2.3, figure 2.

use super::{Emitted, Passage, Program, ProgramCounter, Total, Verdict};
use crate::{Packet, Repr};
use anabranch_base::Stream;

/// Drops NACKs on their way to the switch's hosts.
pub struct NackDrop {
    share: f64,
    random: Stream,
    passed: u64,
    dropped: u64,
}

impl NackDrop {
    /// Drops each NACK with probability `share`.
    pub fn new(share: f64, random: Stream) -> Self {
        NackDrop { share, random, passed: 0, dropped: 0 }
    }
}

impl Program for NackDrop {
    fn ingress(&mut self, packet: &mut Packet, at: &Passage, _: &mut Vec<Emitted>) -> Verdict {
        if !at.to_host || at.from_host || !matches!(packet.repr, Repr::Nack { .. }) {
            return Verdict::Forward;
        }
        if self.random.unit() < self.share {
            self.dropped += 1;
            return Verdict::Drop;
        }
        self.passed += 1;
        Verdict::Forward
    }

    fn counters(&self) -> Vec<ProgramCounter> {
        let sum = |name, value| ProgramCounter { name, value, total: Total::Sum };
        vec![sum("nacks_passed", self.passed), sum("nacks_dropped", self.dropped)]
    }
}
