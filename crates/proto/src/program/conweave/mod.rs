//! ConWeave ("Network Load Balancing with In-network Reordering Support for RDMA", SIGCOMM 2023).
//!
//! A queue pair stays on one path as long as replies on that path arrive in time. If a reply is late, the [source] ToR
//! sends one last packet on this path, the TAIL, and continues on another path. The [destination] ToR holds packets
//! that overtake the TAIL, so that the host sees no reordering. A queue pair that was idle for long takes any path
//! without a TAIL. Each ToR plays both roles. The fields that the two ToRs exchange are in [header].
//!
//! The steps follow the description in the paper's section 3 and the behaviour of its authors' public simulator.
//! Differences are noted at each step, with two exceptions:
//! - A path is the source ToR's choice of a port. In fabrics of more than two tiers, ECMP determines the rest of the
//!   path.
//! - The number and length of reordering queues are unlimited, and counted.

mod destination;
mod header;
mod source;

use crate::program::AnyProgram;
use crate::program::interface::{
    EgressPorts, Emitted, Passage, Program, ProgramCounter, ProgramFacts, ProgramProperties, Total, Verdict,
};
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
        /// Time that a reply may take, in addition to the unloaded round trip between the two ToRs of the queue pair.
        /// After this time the queue pair is rerouted.
        #[param(AboveZero; example = "4us";
            source = "the simulator published with ConWeave; over links of 1 us in two tiers the 8 us of the paper's table 3")]
        pub reply_extra: Span,
        /// Time for which queue pairs are not rerouted to a path after an ECN mark on it.
        #[param(AboveZero; example = "16us";
            source = "the simulator published with ConWeave, for leaf-spine fabrics")]
        pub path_pause: Span,
        /// Time after the estimated arrival of the TAIL at which held packets are released.
        #[param(AboveZero; example = "16us";
            source = "the simulator published with ConWeave, for leaf-spine fabrics")]
        pub flush_extra: Span,
        /// Time after which held packets are released if there is no estimate of the TAIL's arrival.
        #[param(AboveZero; example = "200us";
            source = "the simulator published with ConWeave, for leaf-spine fabrics")]
        pub default_wait: Span,
        /// Idle time after which a queue pair may take any path, whether or not a CLEAR ended its last reroute.
        #[param(AboveZero; example = "300us";
            source = "the simulator published with ConWeave, for leaf-spine fabrics")]
        pub expiry: Span,
    }
}

/// The program of a single switch, in both roles.
///
/// It processes only data between ToRs, and the packets that the programs of other ToRs send to it. All other packets
/// pass unchanged. A trimmed packet counts as lost. Since it travels in the control queues and overtakes data, its
/// arrival does not show that earlier packets have arrived.
pub struct Conweave {
    source: Source,
    destination: Destination,
}

impl Conweave {
    /// The program before the first packet.
    pub fn new(config: &ConweaveConfig, facts: &ProgramFacts, random: Stream) -> Self {
        Conweave { source: Source::new(config, facts, random), destination: Destination::new(config, facts) }
    }

    /// The state of a queue pair at its source and its destination ToR. A switch also keeps the end of the pause of
    /// each path, the round trip to each ToR, and the held packets.
    pub(super) fn state(_: &ConweaveConfig) -> Vec<StateField> {
        let mut fields = Source::state();
        fields.extend(Destination::state());
        fields
    }
}

impl ProgramProperties for ConweaveConfig {
    fn build(&self, facts: &ProgramFacts, random: Stream) -> AnyProgram {
        AnyProgram::Conweave(Conweave::new(self, facts, random))
    }

    fn state(&self) -> Vec<StateField> {
        Conweave::state(self)
    }

    fn chooses_paths(&self) -> bool {
        true
    }

    fn wants_tors(&self) -> bool {
        true
    }
}

impl Program for Conweave {
    fn egress_ports(&self) -> EgressPorts {
        EgressPorts::None
    }

    fn ingress(&mut self, packet: &mut Packet, at: &Passage, out: &mut Vec<Emitted>) -> Verdict {
        match &packet.repr {
            Repr::Data { .. } if at.from_host && !at.to_host => self.source.send(packet, at),
            Repr::Data { .. } if at.to_host && !at.from_host => match Header::of_tag(packet.tag) {
                Some(header) => self.destination.receive(header, packet, at, out),
                None => Verdict::Forward,
            },
            Repr::Program { word } if at.to_host => match Word::of_bits(*word) {
                Some(word) => {
                    self.source.handle_control(packet.qp, word, at.now);
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
