//! ConWeave (SIGCOMM 2023).

use super::{Emitted, Passage, Program, ProgramFacts, Verdict};
use crate::lb::StateField;
use crate::{Packet, Span};
use anabranch_base::Stream;
use serde::{Deserialize, Serialize};

/// Parameters of ConWeave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConweaveConfig {
    /// Beyond the base RTT, how long a reply may take before the queue pair is rerouted.
    pub reply_extra: Span,
    /// A path that was marked is not chosen for this long.
    pub path_pause: Span,
    /// Held packets go out this long after the TAIL should have come.
    pub flush_extra: Span,
    /// Held packets go out after this long when nothing is known of the TAIL.
    pub default_wait: Span,
    /// Without a CLEAR for this long a queue pair may be rerouted again.
    pub expiry: Span,
}

/// The program of one switch.
pub struct Conweave {}

impl Conweave {
    /// Before the first packet.
    pub fn new(_: &ConweaveConfig, _: &ProgramFacts, _: Stream) -> Self {
        Conweave {}
    }

    pub(super) fn state(_: &ConweaveConfig) -> Vec<StateField> {
        Vec::new()
    }
}

impl Program for Conweave {
    fn ingress(&mut self, _: &mut Packet, _: &Passage, _: &mut Vec<Emitted>) -> Verdict {
        Verdict::Forward
    }
}
