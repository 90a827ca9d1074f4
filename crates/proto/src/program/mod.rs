//! Switch programs: the processing of packets in a programmable switch.
//!
//! A program has the facilities of hardware: headers, registers, the length of the queue that a packet leaves behind,
//! and a choice among the equal-cost ports. It can drop, mirror and emit packets. Each switch to which a program is
//! attached has its own instance of the program.

mod annulus;
mod bicc;
mod conweave;
mod flowlet;
mod interface;
mod marking;
mod nack_drop;
pub mod themis_longhaul;
mod themis_spraying;

use crate::StateField;
use anabranch_base::{ParameterType, Parameters, Registered, Stream, foreign, kinds};

pub use annulus::{Annulus, AnnulusConfig};
pub use bicc::{Bicc, BiccConfig, BiccScope};
pub use conweave::{Conweave, ConweaveConfig};
pub use flowlet::{Flowlet, FlowletConfig};
pub use interface::{
    EgressPorts, Emitted, Held, Passage, Program, ProgramCounter, ProgramFacts, ProgramProperties, QpNotice,
    SchemeParts, Sites, Tors, Total, Verdict,
};
pub use nack_drop::{NackDrop, NackDropConfig};
pub use themis_longhaul::{ThemisLonghaul, ThemisLonghaulConfig};
pub use themis_spraying::{PATH_AVOIDANCE_SIGNAL, SPRAYED, ThemisSpraying, ThemisSprayingConfig};

kinds! {
    /// A program and its parameters.
    #[derive(Clone, Debug, PartialEq)]
    pub enum ProgramConfig or RegisteredProgram {
        /// Themis for packet spraying, in both roles at every ToR.
        #[kind("themis-spraying")]
        ThemisSpraying(ThemisSprayingConfig),
        /// ConWeave, in both roles at every ToR.
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

/// A user-defined program with its parameters.
pub type RegisteredProgram = Registered<ProgramFactory>;

/// Builds the program of one switch. The program draws its random numbers from the stream.
pub type ProgramFactory = dyn Fn(&ProgramFacts, &Parameters, Stream) -> Box<dyn Program> + Send + Sync;

/// The component that is named in the error for a panic in a user-defined program.
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

impl ProgramProperties for RegisteredProgram {
    fn build(&self, facts: &ProgramFacts, random: Stream) -> AnyProgram {
        AnyProgram::Custom(foreign(PART, || self.factory()(facts, self.parameters(), random)))
    }

    fn state(&self) -> Vec<StateField> {
        Vec::new()
    }

    /// It is not known whether a user-defined program chooses paths, so it counts as one that does.
    fn chooses_paths(&self) -> bool {
        true
    }

    fn wants_tors(&self) -> bool {
        true
    }

    fn path_entries(&self) -> Option<u32> {
        let paths = self.parameters().iter().find(|(name, _)| *name == "paths");
        paths.and_then(|(_, value)| u32::read(value).ok())
    }
}

macro_rules! each_config {
    ($self:ident, $config:ident => $call:expr) => {
        match $self {
            ProgramConfig::ThemisSpraying($config) => $call,
            ProgramConfig::Conweave($config) => $call,
            ProgramConfig::ThemisLonghaul($config) => $call,
            ProgramConfig::Flowlet($config) => $call,
            ProgramConfig::NackDrop($config) => $call,
            ProgramConfig::Annulus($config) => $call,
            ProgramConfig::Bicc($config) => $call,
            ProgramConfig::Registered($config) => $call,
        }
    };
}
use each_config;

macro_rules! each_program {
    ($self:ident, $program:ident => $call:expr) => {
        match $self {
            AnyProgram::ThemisSpraying($program) => $call,
            AnyProgram::Conweave($program) => $call,
            AnyProgram::ThemisLonghaul($program) => $call,
            AnyProgram::Flowlet($program) => $call,
            AnyProgram::NackDrop($program) => $call,
            AnyProgram::Annulus($program) => $call,
            AnyProgram::Bicc($program) => $call,
            AnyProgram::Custom($program) => anabranch_base::foreign($crate::program::PART, || $call),
        }
    };
}

use each_program;
