//! ConWeave ("Network Load Balancing with In-network Reordering Support for RDMA", SIGCOMM 2023).
//!
//! A queue pair stays on one path as long as that path answers in time. When it does not, its [source] ToR sends one
//! last packet by it, the TAIL, and goes on by another; the [destination] ToR keeps what overtakes the TAIL, so that
//! the host sees no reordering. Each ToR plays both parts. What the two write for each other is in [header].
//!
//! The steps follow the description in the paper's section 3 and the behaviour of its authors' public simulator. What
//! differs from them says so where it stands:
//! - A path is the source ToR's choice of a port. In fabrics of more than two tiers the rest is up to ECMP.
//! - Reordering queues are as many and as long as needed; they are counted.

mod destination;
mod header;
mod source;

use crate::program::interface::{Emitted, Passage, Program, ProgramCounter, ProgramFacts, Total, Verdict};
use crate::{Packet, Repr, Span, StateField};
use anabranch_base::{AboveZero, Stream, Time, parameters};
use destination::Destination;
use header::{Header, Word};
use serde::{Deserialize, Serialize};
use source::Source;

parameters! {
    /// Parameters of ConWeave.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct ConweaveConfig {
        /// How long a reply may take before the queue pair is rerouted, beyond the round trip between its two ToRs that
        /// links and switches take by themselves.
        #[param(AboveZero; example = "4us";
            source = "the simulator published with ConWeave; over links of 1 us in two tiers the 8 us of the paper's table 3")]
        pub reply_extra: Span,
        /// Time for which a path is not chosen after an ECN mark on it.
        #[param(AboveZero; example = "16us";
            source = "the simulator published with ConWeave, for leaf-spine fabrics")]
        pub path_pause: Span,
        /// Held packets go out this long after the TAIL should have come.
        #[param(AboveZero; example = "16us";
            source = "the simulator published with ConWeave, for leaf-spine fabrics")]
        pub flush_extra: Span,
        /// Held packets go out after this long when nothing is known of the TAIL.
        #[param(AboveZero; example = "200us";
            source = "the simulator published with ConWeave, for leaf-spine fabrics")]
        pub default_wait: Span,
        /// A queue pair that was idle for longer takes any path, whether or not a CLEAR ended its last reroute.
        #[param(AboveZero; example = "300us";
            source = "the simulator published with ConWeave, for leaf-spine fabrics")]
        pub expiry: Span,
    }
}

/// The program of one switch, in both parts.
///
/// It acts on data between ToRs only; all other packets pass untouched. A trimmed packet counts as lost: it overtakes
/// data in the control queues, so it says nothing of when the packets before it arrive.
pub struct Conweave {
    source: Source,
    destination: Destination,
}

impl Conweave {
    /// Before the first packet.
    pub fn new(config: &ConweaveConfig, facts: &ProgramFacts, random: Stream) -> Self {
        Conweave { source: Source::new(config, facts, random), destination: Destination::new(config, facts) }
    }

    /// Of a queue pair, at its source and at its destination ToR. Beside them stand, for each path of the switch,
    /// the time until which it is paused, for each ToR how far it is, and the packets that are held.
    pub(super) fn state(_: &ConweaveConfig) -> Vec<StateField> {
        let mut fields = Source::state();
        fields.extend(Destination::state());
        fields
    }
}

impl Program for Conweave {
    fn ingress(&mut self, packet: &mut Packet, at: &Passage, out: &mut Vec<Emitted>) -> Verdict {
        match &packet.repr {
            Repr::Data { .. } if at.from_host && !at.to_host => self.source.send(packet, at),
            Repr::Data { .. } if at.to_host && !at.from_host => match Header::of_tag(packet.tag) {
                Some(header) => self.destination.receive(header, packet, at, out),
                None => Verdict::Forward,
            },
            Repr::Program { word } if at.to_host => match Word::of_bits(*word) {
                Some(word) => {
                    self.source.hear(packet.qp, word, at.now);
                    Verdict::Drop
                }
                None => Verdict::Forward,
            },
            _ => Verdict::Forward,
        }
    }

    fn handle_timeout(&mut self, now: Time, out: &mut Vec<Emitted>) {
        self.destination.handle_timeout(now, out);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.destination.next_timeout()
    }

    fn counters(&self) -> Vec<ProgramCounter> {
        let sum = |name, value| ProgramCounter { name, value, total: Total::Sum };
        let max = |name, value| ProgramCounter { name, value, total: Total::Max };
        let (sent, received) = (&self.source.counts, &self.destination.counts);
        vec![
            sum("reroutes", sent.reroutes),
            sum("reroutes_refused", sent.reroutes_refused),
            sum("moves_after_idle", sent.moves_after_idle),
            sum("replies_in_time", sent.replies_in_time),
            sum("replies_late", sent.replies_late),
            sum("clears_missed", sent.clears_missed),
            sum("notifies", received.notifies),
            sum("held_packets", received.held_packets),
            sum("flushed_by_tail", received.flushed_by_tail),
            sum("flushed_by_timeout", received.flushed_by_timeout),
            max("max_held_bytes", received.max_held_bytes),
            max("max_reorder_queues", received.max_reorder_queues),
        ]
    }
}
