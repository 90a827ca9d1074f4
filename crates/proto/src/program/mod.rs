//! Switch programs: the processing of packets in a programmable switch.
//!
//! A program has the facilities of hardware: headers, registers, the queue that a packet leaves behind, a choice among
//! the equal-cost ports, drop, mirror and emit. Each switch that a program is attached to has one instance.

mod annulus;
mod bicc;
mod conweave;
mod flowlet;
mod interface;
mod marking;
mod nack_drop;
pub mod themis_longhaul;
mod themis_spraying;

use crate::{Packet, StateField};
use anabranch_base::{ParameterType, Parameters, Registered, Stream, Time, foreign, kinds};

pub use annulus::{Annulus, AnnulusConfig};
pub use bicc::{Bicc, BiccConfig, BiccScope};
pub use conweave::{Conweave, ConweaveConfig};
pub use flowlet::{Flowlet, FlowletConfig};
pub use interface::{
    Emitted, Held, Passage, Program, ProgramCounter, ProgramFacts, QpNotice, Sites, Tors, Total, Verdict,
};
pub use nack_drop::{NackDrop, NackDropConfig};
pub use themis_longhaul::{ThemisLonghaul, ThemisLonghaulConfig};
pub use themis_spraying::{ThemisSpraying, ThemisSprayingConfig};

kinds! {
    /// A program and its parameters.
    #[derive(Clone, Debug, PartialEq)]
    pub enum ProgramConfig or RegisteredProgram {
        /// Themis for packet spraying: both halves, at every ToR.
        #[kind("themis-spraying")]
        ThemisSpraying(ThemisSprayingConfig),
        /// ConWeave: both halves, at every ToR.
        #[kind("conweave")]
        Conweave(ConweaveConfig),
        /// Themis for long-haul networks, at the switches between data centres.
        #[kind("themis-longhaul")]
        ThemisLonghaul(ThemisLonghaulConfig),
        /// Flowlet switching as in LetFlow, at the source ToR.
        #[kind("flowlet")]
        Flowlet(FlowletConfig),
        /// Drops a share of the NACKs on their way to the switch's hosts (Themis-spraying, section 2.3).
        #[kind("nack-drop")]
        NackDrop(NackDropConfig),
        /// Annulus as Themis-longhaul simulates it, at every ToR.
        #[kind("annulus")]
        Annulus(AnnulusConfig),
        /// BiCC as Themis-longhaul simulates it, at every external switch.
        #[kind("bicc")]
        Bicc(BiccConfig),
    }
}

impl ProgramConfig {
    /// Whether the program chooses the paths of packets. What a registered one does is not known: it is taken to.
    pub fn chooses_paths(&self) -> bool {
        !matches!(
            self,
            ProgramConfig::NackDrop(_)
                | ProgramConfig::ThemisLonghaul(_)
                | ProgramConfig::Annulus(_)
                | ProgramConfig::Bicc(_)
        )
    }
}

/// A user-defined program with its parameters.
pub type RegisteredProgram = Registered<ProgramFactory>;

/// Builds the program of one switch, which draws from the stream.
pub type ProgramFactory = dyn Fn(&ProgramFacts, &Parameters, Stream) -> Box<dyn Program> + Send + Sync;

/// The part that the error for a panic in a user-defined program names.
const PART: &str = "program";

/// Any program.
pub enum AnyProgram {
    /// See [`ThemisSpraying`].
    ThemisSpraying(ThemisSpraying),
    /// See [`Conweave`].
    Conweave(Conweave),
    /// See [`ThemisLonghaul`].
    ThemisLonghaul(Box<ThemisLonghaul>),
    /// See [`Flowlet`].
    Flowlet(Flowlet),
    /// See [`NackDrop`].
    NackDrop(NackDrop),
    /// See [`Annulus`].
    Annulus(Annulus),
    /// See [`Bicc`].
    Bicc(Bicc),
    /// A user-defined program.
    Custom(Box<dyn Program>),
}

impl ProgramConfig {
    /// The program of one switch.
    pub fn build(&self, facts: &ProgramFacts, random: Stream) -> AnyProgram {
        match self {
            ProgramConfig::ThemisSpraying(config) => {
                AnyProgram::ThemisSpraying(ThemisSpraying::new(config, facts, random))
            }
            ProgramConfig::Conweave(config) => AnyProgram::Conweave(Conweave::new(config, facts, random)),
            ProgramConfig::ThemisLonghaul(config) => {
                AnyProgram::ThemisLonghaul(Box::new(ThemisLonghaul::new(config, facts, random)))
            }
            ProgramConfig::Flowlet(config) => {
                AnyProgram::Flowlet(Flowlet::new(config.gap.on(&facts.path), random))
            }
            ProgramConfig::NackDrop(config) => AnyProgram::NackDrop(NackDrop::new(config.share, random)),
            ProgramConfig::Annulus(config) => AnyProgram::Annulus(Annulus::new(config, facts)),
            ProgramConfig::Bicc(config) => AnyProgram::Bicc(Bicc::new(config, facts, random)),
            ProgramConfig::Registered(its) => {
                AnyProgram::Custom(foreign(PART, || its.factory()(facts, its.parameters(), random)))
            }
        }
    }

    /// Whether the program needs the round trips to other ToRs ([`ProgramFacts::tors`]). User-defined programs may.
    pub fn wants_tors(&self) -> bool {
        matches!(self, ProgramConfig::Conweave(_) | ProgramConfig::Registered(_))
    }

    /// Size of the tables with one entry per path; none without such tables. For a user-defined program, its parameter
    /// `paths`.
    pub fn path_entries(&self) -> Option<u32> {
        match self {
            ProgramConfig::ThemisSpraying(config) => Some(config.paths),
            ProgramConfig::Conweave(_)
            | ProgramConfig::ThemisLonghaul(_)
            | ProgramConfig::Flowlet(_)
            | ProgramConfig::NackDrop(_)
            | ProgramConfig::Annulus(_)
            | ProgramConfig::Bicc(_) => None,
            ProgramConfig::Registered(its) => {
                let paths = its.parameters().iter().find(|(name, _)| *name == "paths");
                paths.and_then(|(_, value)| u32::read(value).ok())
            }
        }
    }

    /// The state that a switch keeps for a queue pair, field by field; empty for user-defined programs.
    pub fn state(&self) -> Vec<StateField> {
        match self {
            ProgramConfig::ThemisSpraying(config) => ThemisSpraying::state(config),
            ProgramConfig::Conweave(config) => Conweave::state(config),
            ProgramConfig::ThemisLonghaul(config) => ThemisLonghaul::state(config),
            ProgramConfig::Flowlet(_) => Flowlet::state(),
            ProgramConfig::NackDrop(_) => Vec::new(),
            ProgramConfig::Annulus(_) => Annulus::state(),
            ProgramConfig::Bicc(_) => Bicc::state(),
            ProgramConfig::Registered(_) => Vec::new(),
        }
    }
}

/// Forwards a call to the program of the variant.
macro_rules! dispatch {
    ($self:ident, $program:ident => $call:expr) => {
        match $self {
            AnyProgram::ThemisSpraying($program) => $call,
            AnyProgram::Conweave($program) => $call,
            AnyProgram::ThemisLonghaul($program) => $call,
            AnyProgram::Flowlet($program) => $call,
            AnyProgram::NackDrop($program) => $call,
            AnyProgram::Annulus($program) => $call,
            AnyProgram::Bicc($program) => $call,
            AnyProgram::Custom($program) => foreign(PART, || $call),
        }
    };
}

impl AnyProgram {
    /// See [`Program::ingress`].
    #[inline]
    pub fn ingress(&mut self, packet: &mut Packet, at: &Passage, out: &mut Vec<Emitted>) -> Verdict {
        dispatch!(self, program => program.ingress(packet, at, out))
    }

    /// See [`Program::egress`].
    #[inline]
    pub fn egress(&mut self, packet: &mut Packet, at: &Passage, out: &mut Vec<Emitted>) {
        dispatch!(self, program => program.egress(packet, at, out));
    }

    /// See [`Program::handle_timeout`].
    pub fn handle_timeout(&mut self, now: Time, out: &mut Vec<Emitted>) {
        dispatch!(self, program => program.handle_timeout(now, out));
    }

    /// See [`Program::next_timeout`].
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        dispatch!(self, program => program.next_timeout())
    }

    /// See [`Program::counters`].
    pub fn counters(&self) -> Vec<ProgramCounter> {
        dispatch!(self, program => program.counters())
    }

    /// See [`Program::wants_qps`].
    pub fn wants_qps(&self) -> bool {
        dispatch!(self, program => program.wants_qps())
    }

    /// See [`Program::handle_qp`].
    pub fn handle_qp(&mut self, notice: &QpNotice, out: &mut Vec<Emitted>) {
        dispatch!(self, program => program.handle_qp(notice, out));
    }

    /// See [`Program::table_entries`].
    pub fn table_entries(&self) -> u64 {
        dispatch!(self, program => program.table_entries())
    }
}
