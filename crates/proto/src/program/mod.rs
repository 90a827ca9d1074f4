//! Programs in switches: what a programmable switch does to the packets that pass it.
//!
//! A program sees what hardware offers: headers, registers, the queue that a packet leaves behind, a choice among
//! the equal-cost ports, drop, mirror and emit. One instance lives in each switch that it is attached to.

mod annulus;
mod bicc;
mod conweave;
mod flowlet;
mod nack_drop;
pub mod themis_longhaul;
mod themis_spraying;

use crate::{Packet, PathFacts, Span};
use anabranch_base::{Bytes, HostId, QpId, Stream, Time};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub use annulus::{Annulus, AnnulusConfig};
pub use bicc::{Bicc, BiccConfig};
pub use conweave::{Conweave, ConweaveConfig};
pub use flowlet::Flowlet;
pub use nack_drop::NackDrop;
pub use themis_longhaul::{ThemisLonghaul, ThemisLonghaulConfig};
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
    /// Themis for long-haul networks, at the switches between data centres.
    ThemisLonghaul(ThemisLonghaulConfig),
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
    /// Annulus as Themis-longhaul simulates it, at every ToR.
    Annulus(AnnulusConfig),
    /// BiCC as Themis-longhaul simulates it, at every external switch.
    Bicc(BiccConfig),
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
    /// Which data centre is whose.
    pub sites: Sites,
}

/// The data centres of a fabric; by default there is one.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    /// By host: its data centre, from 0; empty where there is one.
    pub of_host: Arc<[u16]>,
    /// That of the switch.
    pub own: u16,
}

impl Sites {
    /// Whether a host is in the switch's own data centre.
    #[inline]
    pub fn is_own(&self, host: HostId) -> bool {
        self.of(host) == self.own
    }

    /// Whether what goes from `src` to `dst` leaves its data centre.
    #[inline]
    pub fn crosses(&self, src: HostId, dst: HostId) -> bool {
        self.of(src) != self.of(dst)
    }

    fn of(&self, host: HostId) -> u16 {
        self.of_host.get(host.index()).copied().unwrap_or(0)
    }
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
    /// It was sent by a host of this switch.
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
    /// The program keeps it in the switch's buffer, and will emit it later.
    Hold,
    /// The program keeps it in memory of its own, such as that of a port through which packets come round again, and
    /// will emit it later. A lossless class does not count it, also while it then waits for its link.
    SetAside,
}

/// Where a packet was before a program emitted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Nowhere: the program made it.
    Never,
    /// In the buffer of the port by which it came, [`Passage::port`] of its arrival ([`Verdict::Hold`]).
    InBuffer(u16),
    /// In memory of its own ([`Verdict::SetAside`]).
    Aside,
}

/// What a program that keeps tables of queue pairs hears of them ([`Program::handle_qp`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QpNotice {
    /// The time.
    pub now: Time,
    /// The queue pair.
    pub qp: QpId,
    /// Its requester, the host that sends data.
    pub src: HostId,
    /// Its responder.
    pub dst: HostId,
    /// Whether its first message is posted now; else, its last one is acknowledged, and it is destroyed.
    pub opens: bool,
}

/// A packet that a program sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emitted {
    /// The packet; routing sends it on, and it passes no ingress of this switch again.
    pub packet: Packet,
    /// Where it was before.
    pub held: Held,
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
    /// Whether it wants to hear of queue pairs.
    fn wants_qps(&self) -> bool {
        false
    }
    /// A queue pair of the fabric, of whatever hosts, is opened or destroyed.
    fn handle_qp(&mut self, notice: &QpNotice, out: &mut Vec<Emitted>) {
        let _ = (notice, out);
    }
    /// Entries now in those of its tables that follow queue pairs.
    fn table_entries(&self) -> u64 {
        0
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
            ProgramConfig::ThemisLonghaul(config) => {
                AnyProgram::ThemisLonghaul(Box::new(ThemisLonghaul::new(config, facts, random)))
            }
            ProgramConfig::Flowlet { gap } => AnyProgram::Flowlet(Flowlet::new(gap.on(&facts.path), random)),
            ProgramConfig::NackDrop { share } => AnyProgram::NackDrop(NackDrop::new(*share, random)),
            ProgramConfig::Annulus(config) => AnyProgram::Annulus(Annulus::new(config, facts)),
            ProgramConfig::Bicc(config) => AnyProgram::Bicc(Bicc::new(config, facts)),
        }
    }

    /// Entries of its tables that have one for each path; none where it has no such tables.
    pub fn path_entries(&self) -> Option<u32> {
        match self {
            ProgramConfig::ThemisSpraying(config) => Some(config.paths),
            ProgramConfig::Conweave(_)
            | ProgramConfig::ThemisLonghaul(_)
            | ProgramConfig::Flowlet { .. }
            | ProgramConfig::NackDrop { .. }
            | ProgramConfig::Annulus(_)
            | ProgramConfig::Bicc(_) => None,
        }
    }

    /// The state that a switch keeps for a queue pair, field by field.
    pub fn state(&self) -> Vec<StateField> {
        match self {
            ProgramConfig::ThemisSpraying(config) => ThemisSpraying::state(config),
            ProgramConfig::Conweave(config) => Conweave::state(config),
            ProgramConfig::ThemisLonghaul(config) => ThemisLonghaul::state(config),
            ProgramConfig::Flowlet { .. } => Flowlet::state(),
            ProgramConfig::NackDrop { .. } => Vec::new(),
            ProgramConfig::Annulus(_) => Annulus::state(),
            ProgramConfig::Bicc(_) => Bicc::state(),
        }
    }
}

/// Hands each call on to whichever program it is.
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
