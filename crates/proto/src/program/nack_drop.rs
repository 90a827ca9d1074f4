//! Drops a share of the NACKs: the intervention of Themis-spraying, section 2.3, figure 2.

use super::AnyProgram;
use super::interface::{
    EgressPorts, Emitted, Passage, Program, ProgramCounter, ProgramFacts, ProgramProperties, Total, Verdict,
};
use crate::{Packet, Repr, StateField};
use anabranch_base::{Stream, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of the program `nack-drop`.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct NackDropConfig {
        /// The probability that a NACK is dropped.
        #[param(0.0..=1.0; example = 0.5; source = "Themis-spraying, section 2.3")]
        pub share: f64,
    }
}

/// A program that drops NACKs from other switches to the switch's hosts.
pub struct NackDrop {
    share: f64,
    random: Stream,
    passed: u64,
    dropped: u64,
}

impl NackDrop {
    /// A program that drops each NACK from another switch to a host of this switch with probability `share`.
    pub fn new(share: f64, random: Stream) -> Self {
        NackDrop { share, random, passed: 0, dropped: 0 }
    }
}

impl ProgramProperties for NackDropConfig {
    fn build(&self, _facts: &ProgramFacts, random: Stream) -> AnyProgram {
        AnyProgram::NackDrop(NackDrop::new(self.share, random))
    }

    fn state(&self) -> Vec<StateField> {
        Vec::new()
    }

    fn chooses_paths(&self) -> bool {
        false
    }
}

impl Program for NackDrop {
    fn egress_ports(&self) -> EgressPorts {
        EgressPorts::None
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::{HostId, Purpose, QpId, Time, stream};

    const ARRIVING: Passage = Passage {
        now: Time::ZERO,
        src: HostId(0),
        port: 0,
        from_host: false,
        to_host: true,
        ports: 1,
        queued: 0,
    };

    fn drops(share: f64) -> NackDrop {
        NackDrop::new(share, stream(1, 0, Purpose::Model))
    }

    fn nack() -> Packet {
        Packet::nack(QpId(0), HostId(9), 0).with_bytes(60)
    }

    fn counts(drops: &NackDrop) -> (u64, u64) {
        let counters = drops.counters();
        assert_eq!([counters[0].name, counters[1].name], ["nacks_passed", "nacks_dropped"]);
        (counters[0].value, counters[1].value)
    }

    #[test]
    fn it_drops_its_share_and_counts_what_it_did() {
        for (share, least, most) in [(0.0, 0, 0), (0.25, 2_300, 2_700), (1.0, 10_000, 10_000)] {
            let mut program = drops(share);
            let verdicts = (0..10_000).map(|_| program.ingress(&mut nack(), &ARRIVING, &mut Vec::new()));
            let dropped = verdicts.filter(|verdict| *verdict == Verdict::Drop).count() as u64;
            assert!((least..=most).contains(&dropped), "{dropped} of 10000 at {share}");
            assert_eq!(counts(&program), (10_000 - dropped, dropped));
        }
    }

    #[test]
    fn only_nacks_on_their_way_to_its_hosts_are_dropped() {
        let mut program = drops(1.0);
        let others = [
            (Packet { repr: Repr::Cnp, ..nack() }, ARRIVING),
            (nack(), Passage { to_host: false, ports: 4, ..ARRIVING }),
            (nack(), Passage { from_host: true, ..ARRIVING }),
        ];
        for (mut packet, at) in others {
            assert_eq!(program.ingress(&mut packet, &at, &mut Vec::new()), Verdict::Forward);
        }
        assert_eq!(counts(&program), (0, 0));
    }
}
