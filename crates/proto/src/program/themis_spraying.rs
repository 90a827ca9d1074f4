//! Themis for packet spraying.

use super::{Emitted, Passage, Program, ProgramFacts, Verdict};
use crate::Packet;
use crate::lb::StateField;
use anabranch_base::Stream;
use serde::{Deserialize, Serialize};

/// Parameters of Themis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThemisSprayingConfig {
    /// Entries of the tables that have one for each path (N_paths, Table 2).
    pub paths: u32,
    /// Packets that a NIC has unacknowledged at most (N_TX window, Table 2); half the bits of the bitmap.
    pub window: u32,
    /// A NACK is valid only when a later packet of the same path has passed (C2, section 4.2).
    pub confirmation: bool,
    /// Undetermined NACKs wait for what later packets say (section 4.3); without it they are dropped.
    pub lazy_drop: bool,
    /// Retransmissions take another path (section 4.4).
    pub reroute: bool,
    /// Paths whose packets stay out are avoided (section 4.4).
    pub failure_handling: bool,
    /// A path is avoided when a packet this many PSNs beyond the missing one passes (OOO_THRESHOLD).
    pub ooo_threshold: u32,
    /// Packets for which a path is avoided (AVOIDANCE_WINDOW).
    pub avoidance_window: u32,
}

/// The program of one ToR.
pub struct ThemisSpraying {}

impl ThemisSpraying {
    /// Before the first packet.
    pub fn new(_: &ThemisSprayingConfig, _: &ProgramFacts, _: Stream) -> Self {
        ThemisSpraying {}
    }

    pub(super) fn state(_: &ThemisSprayingConfig) -> Vec<StateField> {
        Vec::new()
    }
}

impl Program for ThemisSpraying {
    fn ingress(&mut self, _: &mut Packet, _: &Passage, _: &mut Vec<Emitted>) -> Verdict {
        Verdict::Forward
    }
}
