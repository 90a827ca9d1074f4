//! Programs in switches: what a programmable switch does to the packets that pass it.
//!
//! A program sees what hardware offers: headers, registers, the queue that a packet leaves behind, a choice among
//! the equal-cost ports, drop, mirror and emit. One instance lives in each switch that it is attached to.

mod conweave;
mod flowlet;
mod nack_drop;
mod themis_spraying;

use crate::{Packet, PathFacts, Span};
use anabranch_base::{Bytes, HostId, Stream, Time};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub use conweave::{Conweave, ConweaveConfig};
pub use flowlet::Flowlet;
pub use nack_drop::NackDrop;
pub use themis_spraying::{ThemisSpraying, ThemisSprayingConfig};

use crate::lb::StateField;

/// A program and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ProgramConfig {
    /// Themis for packet spraying: both halves, at every ToR.
    ThemisSpraying(ThemisSprayingConfig),
    /// ConWeave: both halves, at every ToR.
    Conweave(ConweaveConfig),
    /// Flowlet switching as in LetFlow, at the source ToR.
    Flowlet {
        /// A pause this long in a queue pair's packets starts a new flowlet, which takes a path of its own.
        gap: Span,
    },
    /// Drops a share of the NACKs on their way to the switch's hosts (Themis-spraying, section 2.3).
    NackDrop {
        /// Between 0 and 1.
        share: f64,
    },
}

/// What a program is told of its surroundings.
#[derive(Clone, Debug)]
pub struct ProgramFacts {
    /// The fabric's longest path.
    pub path: PathFacts,
    /// Size of an ACK or NACK, for those that a program makes.
    pub ack: Bytes,
    /// Equal-cost paths between two ToRs (N).
    pub paths: u32,
    /// Where the ToR's choice of a port does not decide the whole path: for each relative path change in
    /// `0..paths`, what to xor to the entropy value (Themis-spraying, section 4.1, PathMap).
    pub path_map: Option<Arc<[u16]>>,
}

/// Where a packet stands when a program sees it.
#[derive(Clone, Copy, Debug)]
pub struct Passage {
    /// The time.
    pub now: Time,
    /// The host that sent the packet, as its IP header says.
    pub src: HostId,
    /// At ingress: the port by which it came in.
    pub port: u16,
    /// At ingress: it came from a host of this switch.
    pub from_host: bool,
    /// It goes to a host of this switch.
    pub to_host: bool,
    /// Equal-cost ports on its way when every link is up; 1 to a host of this switch, 0 when there is no way.
    pub ports: u16,
    /// At egress: bytes of data that it leaves behind in its queue.
    pub queued: u32,
}

/// What becomes of a packet at ingress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes where routing sends it.
    Forward,
    /// It goes by this one of the equal-cost ports, modulo their number; by another one if routing knows that it is
    /// gone.
    Port(u16),
    /// It is dropped, or the program has taken from it what it needs.
    Drop,
    /// The program keeps it and will emit it later.
    Hold,
}

/// A packet that a program sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emitted {
    /// The packet; routing sends it on, and it passes no ingress of this switch again.
    pub packet: Packet,
    /// The program held it, in the buffer of the port by which it came: [`Passage::port`] of its arrival. None: the
    /// program made it.
    pub held: Option<u16>,
}

/// A number that a program counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramCounter {
    /// Its name in results, such as `nacks_invalid`.
    pub name: &'static str,
    /// Its value in this switch.
    pub value: u64,
    /// How it adds up over switches.
    pub total: Total,
}

/// How a counter adds up over switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Total {
    /// The sum.
    Sum,
    /// The largest.
    Max,
}

/// Any program.
pub enum AnyProgram {
    /// See [`ThemisSpraying`].
    ThemisSpraying(ThemisSpraying),
    /// See [`Conweave`].
    Conweave(Conweave),
    /// See [`Flowlet`].
    Flowlet(Flowlet),
    /// See [`NackDrop`].
    NackDrop(NackDrop),
    /// Somebody else's.
    Custom(Box<dyn Program>),
}

/// What a program of your own implements.
///
/// After each call the switch sends what the program put into `out`, then asks for
/// [`next_timeout`](Self::next_timeout).
pub trait Program: Send {
    /// A packet came in.
    fn ingress(&mut self, packet: &mut Packet, at: &Passage, out: &mut Vec<Emitted>) -> Verdict;
    /// A packet has left its egress queue and is about to go out.
    fn egress(&mut self, packet: &mut Packet, at: &Passage, out: &mut Vec<Emitted>) {
        let _ = (packet, at, out);
    }
    /// Its timer is due.
    fn handle_timeout(&mut self, now: Time, out: &mut Vec<Emitted>) {
        let _ = (now, out);
    }
    /// When [`handle_timeout`](Self::handle_timeout) is due.
    fn next_timeout(&self) -> Option<Time> {
        None
    }
    /// What it counted so far.
    fn counters(&self) -> Vec<ProgramCounter> {
        Vec::new()
    }
}

impl ProgramConfig {
    /// The program of one switch.
    pub fn build(&self, facts: &ProgramFacts, random: Stream) -> AnyProgram {
        match self {
            ProgramConfig::ThemisSpraying(config) => {
                AnyProgram::ThemisSpraying(ThemisSpraying::new(config, facts, random))
            }
            ProgramConfig::Conweave(config) => AnyProgram::Conweave(Conweave::new(config, facts, random)),
            ProgramConfig::Flowlet { gap } => AnyProgram::Flowlet(Flowlet::new(gap.on(&facts.path), random)),
            ProgramConfig::NackDrop { share } => AnyProgram::NackDrop(NackDrop::new(*share, random)),
        }
    }

    /// Entries of its tables that have one for each path; none where it has no such tables.
    pub fn path_entries(&self) -> Option<u32> {
        match self {
            ProgramConfig::ThemisSpraying(config) => Some(config.paths),
            ProgramConfig::Conweave(_) | ProgramConfig::Flowlet { .. } | ProgramConfig::NackDrop { .. } => {
                None
            }
        }
    }

    /// The state that a switch keeps for a queue pair, field by field.
    pub fn state(&self) -> Vec<StateField> {
        match self {
            ProgramConfig::ThemisSpraying(config) => ThemisSpraying::state(config),
            ProgramConfig::Conweave(config) => Conweave::state(config),
            ProgramConfig::Flowlet { .. } => Flowlet::state(),
            ProgramConfig::NackDrop { .. } => Vec::new(),
        }
    }
}

/// Hands each call on to whichever program it is.
macro_rules! dispatch {
    ($self:ident, $program:ident => $call:expr) => {
        match $self {
            AnyProgram::ThemisSpraying($program) => $call,
            AnyProgram::Conweave($program) => $call,
            AnyProgram::Flowlet($program) => $call,
            AnyProgram::NackDrop($program) => $call,
            AnyProgram::Custom($program) => $call,
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
}
