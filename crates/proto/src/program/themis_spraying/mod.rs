//! Themis for packet spraying: PSNs determine paths, so that the receiver's ToR can distinguish lost packets from late
//! ones.
//!
//! Commodity NICs treat an out-of-order packet as a sign of loss. Themis-S at the sender's ToR sends each packet on the
//! path that its PSN selects. Themis-D at the receiver's ToR drops NACKs that are caused only by reordering. The
//! instance at each ToR has both roles, for different queue pairs. Only queue pairs whose two hosts are under different
//! ToRs take part.

mod bitmap;
mod by_qp;
mod destination;
mod source;

use crate::program::AnyProgram;
use crate::program::interface::{
    EgressPorts, Emitted, Passage, Program, ProgramCounter, ProgramFacts, ProgramProperties, SchemeParts,
    Total, Verdict,
};
use crate::{Conflict, Packet, Repr, StateField, TransportConfig};
use anabranch_base::{Stream, parameters};
use destination::Destination;
use serde::{Deserialize, Serialize};
use source::Source;

/// The bit of [`Packet::tag`] that makes a NACK a Path Avoidance Signal (section 4.4).
pub const PATH_AVOIDANCE_SIGNAL: u16 = 1 << 0;

/// The bit of [`Packet::tag`] that Themis-S sets in the data packets that it sprays. At the egress ports to hosts, the
/// bit is set in packets from other ToRs but not in packets of the ToR's own hosts. Themis-D ignores data packets
/// without the bit (section 5).
pub const SPRAYED: u16 = 1 << 1;

parameters! {
    /// Parameters of Themis-spraying.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct ThemisSprayingConfig {
        /// Number of paths for which the tables have entries (N_paths, Table 2).
        #[param(1..=65_536; example = 128; source = "Themis-spraying, Table 2")]
        pub paths: u32,
        /// Largest number of packets that a NIC may have unacknowledged (N_TX window, Table 2). The bitmap has twice as
        /// many bits.
        #[param(1..=65_536; example = 512; source = "Themis-spraying, Table 2")]
        pub window: u32,
        /// Condition C2 (section 4.2): a NACK is valid only if a later packet of the same path has already been
        /// forwarded to the NIC.
        #[param(any; example = true; source = "Themis-spraying, section 4.2, C2")]
        pub confirmation: bool,
        /// Lazy drop (section 4.3): an undetermined NACK is stored until a later packet decides its validity. Without
        /// lazy drop, an undetermined NACK is dropped.
        #[param(any; example = true; source = "Themis-spraying, section 4.3")]
        pub lazy_drop: bool,
        /// Whether retransmissions take another path (section 4.4).
        #[param(any; example = true; source = "Themis-spraying, section 4.4")]
        pub reroute: bool,
        /// Whether paths whose packets fail to arrive are avoided (section 4.4).
        #[param(any; example = true; source = "Themis-spraying, section 4.4")]
        pub failure_handling: bool,
        /// Distance in PSNs at which a path is avoided (OOO_THRESHOLD). The path of a missing packet is avoided once a
        /// packet passes whose PSN exceeds the missing PSN by more than this number.
        #[param(1..=u32::MAX; example = 448; source = "Themis-spraying, section 6.2")]
        pub ooo_threshold: u32,
        /// Number of packets for which a path is avoided (AVOIDANCE_WINDOW).
        #[param(1..=u32::MAX; example = 2_000_000; source = "Themis-spraying, section 6.2")]
        pub avoidance_window: u32,
    }
}

/// The program of a single ToR.
pub struct ThemisSpraying {
    source: Source,
    destination: Destination,
}

impl ThemisSpraying {
    /// The program before the first packet. Without lazy dropping no NACK is stashed, so that no failure is detected.
    pub fn new(config: &ThemisSprayingConfig, facts: &ProgramFacts, random: Stream) -> Self {
        debug_assert!(facts.paths <= config.paths, "{} paths, {} entries", facts.paths, config.paths);
        ThemisSpraying {
            source: Source::new(config, facts, random),
            destination: Destination::new(config, facts),
        }
    }

    /// The state of a queue pair in Themis-S (`S:`) and Themis-D (`D:`), from Tables 3 and 4.
    pub(super) fn state(config: &ThemisSprayingConfig) -> Vec<StateField> {
        vec![
            StateField::new("S: recved_nack_psn", 32, 1),
            StateField::new("S: path_adaptive_count", 32, config.paths),
            StateField::new("D: bitmap_array", 1, config.window * 2),
            StateField::new("D: epsn_array", 32, 1),
            StateField::new("D: base_first_half", 8, 1),
            StateField::new("D: base_second_half", 8, 1),
            StateField::new("D: path_psn_max_array", 32, config.paths),
            StateField::new("D: stashed_nack_psn", 32, 1),
            StateField::new("D: stashed_nack_valid", 8, 1),
            StateField::new("D: stash_nack_path_id", 32, 1),
            StateField::new("D: stash_nack_qpn", 32, 1),
            StateField::new("D: stash_nack_egress_port", 16, 1),
        ]
    }

    /// Equation 5: bytes of state in a ToR with `nics` NICs, each with `qps_per_nic` queue pairs to other ToRs. The
    /// PathMap has 2 bytes per path.
    pub fn tor_bytes(config: &ThemisSprayingConfig, qps_per_nic: u64, nics: u64) -> u64 {
        let bits = |field: &StateField| u64::from(field.bits) * u64::from(field.count);
        let qp_bytes = Self::state(config).iter().map(bits).sum::<u64>().div_ceil(8);
        u64::from(config.paths) * 2 + qp_bytes * qps_per_nic * nics
    }
}

impl ProgramProperties for ThemisSprayingConfig {
    fn build(&self, facts: &ProgramFacts, random: Stream) -> AnyProgram {
        AnyProgram::ThemisSpraying(ThemisSpraying::new(self, facts, random))
    }

    fn state(&self) -> Vec<StateField> {
        ThemisSpraying::state(self)
    }

    fn chooses_paths(&self) -> bool {
        true
    }

    fn path_entries(&self) -> Option<u32> {
        Some(self.paths)
    }

    fn tor_bytes(&self, nic_qps: u64, nics: u64) -> Option<u64> {
        Some(ThemisSpraying::tor_bytes(self, nic_qps, nics))
    }

    fn check_beside(&self, parts: &SchemeParts<'_>) -> Result<(), Conflict> {
        let TransportConfig::RnicSr(nic) = parts.transport else {
            let message = "the fabric.program themis-spraying needs transport.kind = \"rnic-sr\": its bitmap covers a \
                           window in packets, which no other transport keeps, and it answers to its NACKs";
            let fix = "fabric.program for a scheme with that transport: themis-spraying, sr-ar, sr-ecmp, sr-spray, conweave";
            return Err(Conflict::text("fabric.program".to_owned(), message.to_owned(), fix)
                .involving("transport.kind"));
        };
        if nic.window_packets > self.window {
            let message = format!(
                "fabric.program.window is {}, and the transport's window (transport.window_packets) of {} packets is \
                 larger than what such a bitmap covers",
                self.window, nic.window_packets
            );
            return Err(Conflict::value("fabric.program.window".to_owned(), message, nic.window_packets)
                .involving("transport.window_packets"));
        }
        if let Some((part, _)) = parts.lbs.iter().find(|(_, lb)| lb.chooses_paths()) {
            let message = format!(
                "the fabric.program themis-spraying names a packet's path by its PSN, so that {part}.kind must be \
                 \"ecmp\", which leaves the entropy value alone"
            );
            return Err(Conflict::value((*part).to_owned(), message, "{ kind = \"ecmp\" }")
                .involving("fabric.program"));
        }
        Ok(())
    }
}

impl Program for ThemisSpraying {
    fn egress_ports(&self) -> EgressPorts {
        EgressPorts::ToHosts
    }

    fn ingress(&mut self, packet: &mut Packet, at: &Passage, _: &mut Vec<Emitted>) -> Verdict {
        match (at.from_host, at.to_host, packet.repr) {
            (true, false, Repr::Data { psn, .. }) => return self.source.handle_data(packet, psn),
            (false, true, Repr::Nack { psn, .. }) => self.source.handle_nack(packet, psn),
            (true, false, Repr::Ack { cumulative, .. }) => self.destination.handle_ack(packet, cumulative),
            (true, false, Repr::Nack { psn, sent_at, .. }) => {
                return self.destination.handle_nack(packet, psn, sent_at);
            }
            _ => {}
        }
        Verdict::Forward
    }

    fn egress(&mut self, packet: &mut Packet, at: &Passage, out: &mut Vec<Emitted>) {
        if let Repr::Data { psn, .. } = packet.repr
            && at.to_host
            && packet.tag & SPRAYED != 0
        {
            self.destination.handle_data(packet, psn, out);
        }
    }

    fn counters(&self) -> Vec<ProgramCounter> {
        let sum = |name, value| ProgramCounter { name, value, total: Total::Sum };
        let (source, destination) = (&self.source.counters, &self.destination.counters);
        vec![
            sum("nacks_valid", destination.valid),
            sum("nacks_invalid", destination.invalid),
            sum("nacks_undetermined", destination.undetermined),
            sum("nacks_confirmed", destination.confirmed),
            sum("nacks_refuted", destination.refuted),
            sum("avoidance_signals", destination.avoidance_signals),
            sum("rerouted", source.rerouted),
            sum("avoided", source.avoided),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables 3 and 4, and equation 5 with the values of Table 2: the paper has "about 9.7 MB", and the exact value is
    /// 9.64 MB.
    #[test]
    fn state_is_as_large_as_the_paper_says() {
        let config = ThemisSprayingConfig {
            paths: 128,
            window: 512,
            confirmation: true,
            lazy_drop: true,
            reroute: true,
            failure_handling: true,
            ooo_threshold: 448,
            avoidance_window: 2_000_000,
        };
        let bytes = |side: &str| {
            let fields = ThemisSpraying::state(&config);
            fields.iter().filter(|f| f.name.starts_with(side)).map(|f| f.bits * f.count).sum::<u32>() / 8
        };
        assert_eq!((bytes("S: "), bytes("D: ")), (516, 661));
        assert_eq!(ThemisSpraying::tor_bytes(&config, 512, 16), 256 + (516 + 661) * 512 * 16);
        assert_eq!(ThemisSpraying::tor_bytes(&config, 512, 16), 9_642_240);
    }
}
