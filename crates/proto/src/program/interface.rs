//! The interface between a program and its switch.

use super::{AnyProgram, ProgramConfig, each_config, each_program};
use crate::interface::interface;
use crate::{Conflict, LbConfig, Packet, PathFacts, StateField, TransportConfig};
use anabranch_base::{Bytes, Duration, HostId, QpId, Stream, Time};
use std::sync::Arc;

/// The facts about the fabric from which a program is built.
#[derive(Clone, Debug)]
pub struct ProgramFacts {
    /// The fabric's longest path.
    pub path: PathFacts,
    /// Size of an ACK or NACK, for packets that a program creates.
    pub ack: Bytes,
    /// Equal-cost paths between two ToRs (N).
    pub paths: u32,
    /// For fabrics where the ToR's choice of a port does not determine the whole path: the value to XOR into the
    /// entropy value for each relative path change in `0..paths` (Themis-spraying, section 4.1, PathMap).
    pub path_map: Option<Arc<[u16]>>,
    /// The data centre of each host.
    pub sites: Sites,
    /// The ToRs of all hosts and the round trips to them; empty for programs that do not need these
    /// ([`ProgramConfig::wants_tors`](crate::program::ProgramConfig::wants_tors)).
    pub tors: Tors,
}

/// The ToRs of a fabric, as a switch sees them.
#[derive(Clone, Debug, Default)]
pub struct Tors {
    /// The ToR of each host.
    pub of_host: Arc<[u32]>,
    /// For each ToR, the round trip of a bit between the switch and it without queueing: the delays of links and
    /// switches.
    pub round_trips: Arc<[Duration]>,
}

impl Tors {
    /// The round trip between the switch and the ToR of `host`; zero if it is not known.
    pub fn round_trip_to(&self, host: HostId) -> Duration {
        let tor = self.of_host.get(host.index());
        tor.and_then(|&tor| self.round_trips.get(tor as usize)).copied().unwrap_or(Duration::ZERO)
    }
}

/// The data centres of a fabric; by default there is one.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    /// The data centre of each host, numbered from 0; empty if there is only one.
    pub of_host: Arc<[u16]>,
    /// The data centre of the switch.
    pub own: u16,
}

impl Sites {
    /// Whether a host is in the switch's data centre.
    #[inline]
    pub fn is_own(&self, host: HostId) -> bool {
        self.of(host) == self.own
    }

    /// Whether packets from `src` to `dst` leave their data centre.
    #[inline]
    pub fn crosses(&self, src: HostId, dst: HostId) -> bool {
        self.of(src) != self.of(dst)
    }

    fn of(&self, host: HostId) -> u16 {
        self.of_host.get(host.index()).copied().unwrap_or(0)
    }
}

/// The context of a packet that passes a program.
#[derive(Clone, Copy, Debug)]
pub struct Passage {
    /// The time.
    pub now: Time,
    /// The host that sent the packet, as its IP header says.
    pub src: HostId,
    /// At ingress: the port on which the packet arrived.
    pub port: u16,
    /// Whether a host of this switch sent the packet.
    pub from_host: bool,
    /// Whether the packet is for a host of this switch.
    pub to_host: bool,
    /// Number of equal-cost ports towards the destination when every link is up; 1 for a host of this switch, 0 without
    /// a path.
    pub ports: u16,
    /// At egress: bytes of data that the packet leaves behind in its queue.
    pub queued: u32,
}

/// The ports of a switch at which a program handles packets before they are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EgressPorts {
    /// No port.
    None,
    /// The ports to hosts of the switch.
    ToHosts,
    /// All ports.
    All,
}

/// The decision about a packet at ingress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet follows routing.
    Forward,
    /// The packet takes this equal-cost port, modulo their number; or another one chosen by ECMP, if routing has
    /// withdrawn it.
    Port(u16),
    /// The packet is dropped, or was consumed by the program.
    Drop,
    /// The program holds the packet in the switch's buffer, and emits it later.
    Hold,
    /// The program holds the packet outside the switch's buffer, for example in a recirculation port, and emits it
    /// later. The packet is not charged to the lossless class, not even while it waits at its egress port afterwards.
    HoldOutside,
}

/// The place of a packet before a program emitted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// The program created the packet.
    Never,
    /// The switch's buffer, charged to the ingress port, which is [`Passage::port`] of the arrival ([`Verdict::Hold`]).
    InBuffer(u16),
    /// A place outside the switch's buffer ([`Verdict::HoldOutside`]).
    OutsideBuffer,
}

/// A notice about a queue pair, for programs with tables of queue pairs ([`Program::handle_qp`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QpNotice {
    /// The time.
    pub now: Time,
    /// The queue pair.
    pub qp: QpId,
    /// The requester, the host that sends data.
    pub src: HostId,
    /// The responder.
    pub dst: HostId,
    /// True when the first message is posted; false when the last one is acknowledged and the queue pair is destroyed.
    pub opens: bool,
}

/// A packet that a program emits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emitted {
    /// The packet. It follows routing and does not pass the program's ingress again.
    pub packet: Packet,
    /// Its place before.
    pub held: Held,
}

/// A counter of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramCounter {
    /// The name in results, such as `nacks_invalid`.
    pub name: &'static str,
    /// The value in this switch.
    pub value: u64,
    /// The aggregation over switches.
    pub total: Total,
}

/// The aggregation of a counter over switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Total {
    /// The sum.
    Sum,
    /// The maximum.
    Max,
}

interface! {
    /// A program in a switch, built-in or user-defined.
    ///
    /// After each call the switch sends the packets in `out`, then reads [`next_timeout`](Self::next_timeout). The program
    /// emits each held packet ([`Verdict::Hold`], [`Verdict::HoldOutside`]) exactly once, from the place where it was held
    /// and with its length unchanged; otherwise the run ends with an error.
    pub trait Program: Send for each of AnyProgram by each_program {
        /// Handles the arrival of a packet.
        fn ingress(&mut self, packet: &mut Packet, at: &Passage, out: &mut Vec<Emitted>) -> Verdict;
        /// The ports for which [`egress`](Self::egress) is called. A program must always return the same answer.
        fn egress_ports(&self) -> EgressPorts {
            EgressPorts::All
        }
        /// Handles a packet that has left its egress queue and is about to be sent.
        fn egress(&mut self, packet: &mut Packet, at: &Passage, out: &mut Vec<Emitted>) {
            let _ = (packet, at, out);
        }
        /// Handles the expiry of the timer.
        fn handle_timeout(&mut self, now: Time, out: &mut Vec<Emitted>) {
            let _ = (now, out);
        }
        /// The time at which [`handle_timeout`](Self::handle_timeout) is due.
        fn next_timeout(&self) -> Option<Time> {
            None
        }
        /// The counters so far.
        fn counters(&self) -> Vec<ProgramCounter> {
            Vec::new()
        }
        /// Whether the program needs notices about queue pairs.
        fn wants_qps(&self) -> bool {
            false
        }
        /// Handles the opening or destruction of any queue pair of the fabric.
        ///
        /// The notice crosses the fabric without a packet. It arrives one window's length (the fabric's shortest latency,
        /// see the engine in ARCHITECTURE.md) after the event: never after the queue pair's first packet, and possibly
        /// before the last packets in flight of a destroyed queue pair. Notices of one time arrive in the order of their
        /// sources, after all other events of that time at the switch.
        fn handle_qp(&mut self, notice: &QpNotice, out: &mut Vec<Emitted>) {
            let _ = (notice, out);
        }
        /// Current number of entries in the tables of queue pairs.
        fn table_entries(&self) -> u64 {
            0
        }
    }
}

/// The parts of a scheme beside its program, for [`ProgramProperties::check_beside`].
#[derive(Clone, Copy, Debug)]
pub struct SchemeParts<'a> {
    /// The transport.
    pub transport: &'a TransportConfig,
    /// The load balancers, each with the path of its table.
    pub lbs: &'a [(&'static str, &'a LbConfig)],
}

interface! {
    /// The properties of a program that its configuration tells: its file implements them.
    pub trait ProgramProperties for each of ProgramConfig by each_config {
        /// The program of one switch, which draws from `random`.
        fn build(&self, facts: &ProgramFacts, random: Stream) -> AnyProgram;
        /// The state that a switch keeps for a queue pair, field by field; empty for user-defined programs.
        fn state(&self) -> Vec<StateField>;
        /// Whether it chooses the paths of packets.
        fn chooses_paths(&self) -> bool;
        /// Whether it needs the round trips to other ToRs ([`ProgramFacts::tors`]).
        fn wants_tors(&self) -> bool {
            false
        }
        /// Size of the tables with one entry per path; none without such tables. For a user-defined program, its
        /// parameter `paths`.
        fn path_entries(&self) -> Option<u32> {
            None
        }
        /// Whether it belongs in the switches between data centres.
        fn is_between_sites(&self) -> bool {
            false
        }
        /// Bytes of state in a ToR with this many NICs, each with this many queue pairs to other ToRs; none where its
        /// paper gives no such number.
        fn tor_bytes(&self, nic_qps: u64, nics: u64) -> Option<u64> {
            let _ = (nic_qps, nics);
            None
        }
        /// Checks parameters that must go together, and what it requires of the other parts of its scheme.
        ///
        /// # Errors
        /// The first conflict.
        fn check_beside(&self, parts: &SchemeParts<'_>) -> Result<(), Conflict> {
            let _ = parts;
            Ok(())
        }
    }
}
