//! Annulus ("A Dual Congestion Control Loop for Datacenter and WAN Traffic Aggregates", SIGCOMM 2020), as
//! Themis-longhaul simulates it (section VII-A). In Annulus, the sender's ToR reports congestion to the sender by
//! L3-routed QCN. In the simulation, the ToR sends a CNP back to the sender. Nothing is done near the receiver.
//!
//! Choices where section VII-A is silent:
//! - Flows: QCN works per port and cannot distinguish data centres, so all flows get CNPs. `inter_only` restricts the
//!   CNPs to flows that leave their data centre.
//! - Queues: all queues of the ToR can cause CNPs. If sender and receiver are hosts of the same ToR, this includes the
//!   queue to the receiver.
//! - Mark: Annulus has one loop for the bottlenecks near the source and another for those beyond. If the mark is kept,
//!   both the ToR and the receiver send a CNP for it, which cuts DCQCN's single rate twice. `clear_marks` clears the
//!   mark, as PNP does (section IV). Some numbers of Themis-longhaul's artifact agree with clearing, and others do
//!   not. The scheme keeps the mark, since the paper does not mention clearing.
//! - Frequency: as in PNP and DCQCN's notification point, there is at most one CNP per `cnp_interval` and queue pair.

use super::AnyProgram;
use super::interface::{
    Emitted, Held, Passage, Program, ProgramCounter, ProgramFacts, ProgramProperties, Sites, Total, Verdict,
};
use crate::{Packet, Repr, Span, StateField};
use anabranch_base::{Duration, Stream, Time, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of Annulus.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct AnnulusConfig {
        /// Least time between two CNPs for a queue pair. With 0, each marked packet causes one.
        #[param(any; example = "5us"; source = "unspecified; as at the hosts")]
        pub cnp_interval: Span,
        /// Whether the ToR clears the mark, so that only the ToR and not also the receiver sends a CNP for it.
        #[param(any; example = false; source = "unspecified; nothing is said of clearing")]
        pub clear_marks: bool,
        /// Whether flows that stay within a data centre are ignored.
        #[param(any; example = false; source = "unspecified; QCN works per port and does not tell flows apart")]
        pub inter_only: bool,
    }
}

/// The program of a single ToR.
pub struct Annulus {
    cnp_interval: Duration,
    clear_marks: bool,
    inter_only: bool,
    cnp_bytes: u16,
    sites: Sites,
    last_cnp: Vec<Option<Time>>,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    marks_seen: u64,
    cnps_sent: u64,
}

impl Annulus {
    /// The program before the first packet.
    pub fn new(config: &AnnulusConfig, facts: &ProgramFacts) -> Self {
        Annulus {
            cnp_interval: config.cnp_interval.on(&facts.path),
            clear_marks: config.clear_marks,
            inter_only: config.inter_only,
            cnp_bytes: facts.ack.0.min(u64::from(u16::MAX)) as u16,
            sites: facts.sites.clone(),
            last_cnp: Vec::new(),
            counts: Counts::default(),
        }
    }

    pub(super) fn state() -> Vec<StateField> {
        vec![StateField::new("last CNP", 32, 1)]
    }
}

impl ProgramProperties for AnnulusConfig {
    fn build(&self, facts: &ProgramFacts, _random: Stream) -> AnyProgram {
        AnyProgram::Annulus(Annulus::new(self, facts))
    }

    fn state(&self) -> Vec<StateField> {
        Annulus::state()
    }

    fn chooses_paths(&self) -> bool {
        false
    }
}

impl Program for Annulus {
    fn ingress(&mut self, _: &mut Packet, _: &Passage, _: &mut Vec<Emitted>) -> Verdict {
        Verdict::Forward
    }

    /// If a packet comes from a local host and is marked, this switch set the mark, since it is the packet's first hop.
    fn egress(&mut self, packet: &mut Packet, at: &Passage, out: &mut Vec<Emitted>) {
        if !packet.marked || !at.from_host || !matches!(packet.repr, Repr::Data { .. }) {
            return;
        }
        if self.inter_only && !self.sites.crosses(at.src, packet.dst) {
            return;
        }
        self.counts.marks_seen += 1;
        if self.clear_marks {
            packet.marked = false;
        }
        let qp = packet.qp.index();
        if self.last_cnp.len() <= qp {
            self.last_cnp.resize(qp + 1, None);
        }
        if self.last_cnp[qp].is_some_and(|last| at.now.since(last) < self.cnp_interval) {
            return;
        }
        self.last_cnp[qp] = Some(at.now);
        self.counts.cnps_sent += 1;
        let cnp = Packet::cnp(packet.qp, at.src).with_bytes(self.cnp_bytes);
        out.push(Emitted { packet: cnp, held: Held::Never });
    }

    fn counters(&self) -> Vec<ProgramCounter> {
        let sum = |name, value| ProgramCounter { name, value, total: Total::Sum };
        let Counts { marks_seen, cnps_sent } = self.counts;
        vec![
            sum("marks_seen", marks_seen),
            sum("cnps_sent", cnps_sent),
            sum("marks_within_interval", marks_seen - cnps_sent),
        ]
    }
}
