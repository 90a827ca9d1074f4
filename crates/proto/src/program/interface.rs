//! The interface between a program and its switch.

use super::{AnyProgram, ProgramConfig, each_config, each_program};
use crate::interface::interface;
use crate::{Conflict, LbConfig, Packet, PathFacts, StateField, TransportConfig};
use anabranch_base::{Bytes, Duration, HostId, QpId, Stream, Time};
use std::sync::Arc;

/// The facts about the fabric from which a program is built.
#[derive(Clone, Debug)]
pub struct ProgramFacts {
    /// The facts about the fabric's longest path.
    pub path: PathFacts,
    /// Size of an ACK or NACK, for packets that a program creates.
    pub ack: Bytes,
    /// The largest number of equal-cost paths between two ToRs (N).
    pub paths: u32,
    /// The values to XOR into the entropy value (Themis-spraying, section 4.1, PathMap). The index is the relative path
    /// change, which is below `paths`. None if the ToR's choice of a port determines the whole path, or if the program
    /// has no tables with one entry per path.
    pub path_map: Option<Arc<[u16]>>,
    /// The data centres of all hosts and of the switch.
    pub sites: Sites,
    /// The ToRs of all hosts, and the round trips from the switch to these ToRs. Both lists are empty for programs that
    /// do not need them ([`ProgramConfig::wants_tors`](crate::program::ProgramConfig::wants_tors)).
    pub tors: Tors,
}

/// The ToRs of a fabric, from the viewpoint of one switch.
#[derive(Clone, Debug, Default)]
pub struct Tors {
    /// The ToR of each host.
    pub of_host: Arc<[u32]>,
    /// The round trip of a bit between the switch and each ToR without queueing: the delays of links and switches.
    pub round_trips: Arc<[Duration]>,
}

impl Tors {
    /// The round trip between the switch and the ToR of `host`, or zero if the round trip is unknown.
    pub fn round_trip_to(&self, host: HostId) -> Duration {
        let tor = self.of_host.get(host.index());
        tor.and_then(|&tor| self.round_trips.get(tor as usize)).copied().unwrap_or(Duration::ZERO)
    }
}

/// The data centres of the hosts and of one switch. By default, there is a single data centre.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    /// The data centre of each host, numbered from 0. The list is empty if there is only one data centre.
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

    /// Whether `src` and `dst` are in different data centres.
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
    /// The current simulated time.
    pub now: Time,
    /// The source host in the packet's IP header.
    pub src: HostId,
    /// The port on which the packet arrived. At egress, the value has no meaning.
    pub port: u16,
    /// Whether a host of this switch sent the packet.
    pub from_host: bool,
    /// Whether the packet is for a host of this switch.
    pub to_host: bool,
    /// Number of equal-cost ports towards the destination when every link is up. It is 1 for a host of this switch, and
    /// 0 without a path.
    pub ports: u16,
    /// Number of bytes of data that the packet leaves behind in its queue. At ingress, the value has no meaning.
    pub queued: u32,
}

/// The ports of a switch at which a program handles packets before they are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EgressPorts {
    /// The program handles no packets at egress.
    None,
    /// The ports to which hosts are attached.
    ToHosts,
    /// All ports of the switch.
    All,
}

/// The decision about a packet at ingress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet follows routing.
    Forward,
    /// The packet takes the equal-cost port with this number, modulo the number of ports. If routing has withdrawn that
    /// port, ECMP chooses another one. The number has no effect for a host of this switch, or with source routing.
    Port(u16),
    /// The packet is dropped, or the program has consumed it.
    Drop,
    /// The program holds the packet in the switch's buffer, and emits it later.
    Hold,
    /// The program holds the packet outside the switch's buffer, for example in a recirculation port, and emits it
    /// later. The packet is not charged to the lossless class, even while it waits at its egress port afterwards.
    HoldOutside,
}

/// The place where a packet was held before a program emitted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// The program created the packet, which was therefore not held.
    Never,
    /// The switch's buffer ([`Verdict::Hold`]). The number is the ingress port that is charged: [`Passage::port`] when
    /// the packet arrived.
    InBuffer(u16),
    /// A place outside the switch's buffer ([`Verdict::HoldOutside`]).
    OutsideBuffer,
}

/// The opening or the end of a queue pair, for programs with tables of queue pairs ([`Program::handle_qp`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QpNotice {
    /// The current simulated time.
    pub now: Time,
    /// The queue pair.
    pub qp: QpId,
    /// The requester, which is the host that sends data.
    pub src: HostId,
    /// The responder.
    pub dst: HostId,
    /// True when the first message is posted. False when the last message is acknowledged, which destroys the queue
    /// pair.
    pub opens: bool,
}

/// A packet that a program emits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emitted {
    /// The packet. It follows routing and does not pass the program's ingress again.
    pub packet: Packet,
    /// The place where the program held the packet.
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
    /// The counters of the switches are added.
    Sum,
    /// The largest of the counters of the switches is taken.
    Max,
}

interface! {
    /// A program in a switch, built-in or user-defined.
    ///
    /// After each call the switch reads [`next_timeout`](Self::next_timeout) and sends the packets in `out`. The
    /// program must emit each held packet ([`Verdict::Hold`], [`Verdict::HoldOutside`]) exactly once, from the place
    /// where it was held and with its length unchanged. If it emits more packets or bytes than it holds, the run ends
    /// with an error.
    pub trait Program: Send for each of AnyProgram by each_program {
        /// Handles the arrival of a packet.
        fn ingress(&mut self, packet: &mut Packet, at: &Passage, out: &mut Vec<Emitted>) -> Verdict;
        /// The ports for which [`egress`](Self::egress) is called. A program must always return the same value.
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
        /// The time at which [`handle_timeout`](Self::handle_timeout) is due. None if no timer is set.
        fn next_timeout(&self) -> Option<Time> {
            None
        }
        /// The counters so far.
        fn counters(&self) -> Vec<ProgramCounter> {
            Vec::new()
        }
        /// Whether [`handle_qp`](Self::handle_qp) is called.
        fn wants_qps(&self) -> bool {
            false
        }
        /// Handles the opening or destruction of any queue pair of the fabric.
        ///
        /// The notification crosses the fabric without a packet. It arrives one synchronisation window of the engine
        /// after the event (see the engine in ARCHITECTURE.md), but never after the queue pair's first packet. The
        /// notification of a destroyed queue pair may arrive before the last packets in flight. Notifications for the
        /// same time arrive in the order of their source hosts, after all other events of that time at the switch.
        fn handle_qp(&mut self, notice: &QpNotice, out: &mut Vec<Emitted>) {
            let _ = (notice, out);
        }
        /// Current number of entries in the tables of queue pairs.
        fn table_entries(&self) -> u64 {
            0
        }
    }
}

/// The other parts of the scheme to which a program belongs, for [`ProgramProperties::check_beside`].
#[derive(Clone, Copy, Debug)]
pub struct SchemeParts<'a> {
    /// The transport.
    pub transport: &'a TransportConfig,
    /// The load balancers, each with the path of its table in the scenario.
    pub lbs: &'a [(&'static str, &'a LbConfig)],
    /// Whether switches trim packets instead of dropping them.
    pub trim: bool,
}

interface! {
    /// The properties of a program that follow from its configuration.
    pub trait ProgramProperties for each of ProgramConfig by each_config {
        /// The program of one switch. It draws its random numbers from `random`.
        fn build(&self, facts: &ProgramFacts, random: Stream) -> AnyProgram;
        /// The state that a switch keeps for a queue pair, field by field. The list is empty for user-defined programs.
        fn state(&self) -> Vec<StateField>;
        /// Whether the program chooses the paths of packets.
        fn chooses_paths(&self) -> bool;
        /// Whether the program needs the round trips to other ToRs ([`ProgramFacts::tors`]).
        fn wants_tors(&self) -> bool {
            false
        }
        /// Size of the tables with one entry per path. None if the program has no such tables. For a user-defined
        /// program, the size is the parameter `paths`.
        fn path_entries(&self) -> Option<u32> {
            None
        }
        /// Whether the program belongs in the switches between data centres.
        fn is_between_sites(&self) -> bool {
            false
        }
        /// Bytes of state in a ToR with `nics` NICs, each with `nic_qps` queue pairs to other ToRs. None if the paper
        /// of the program gives no such number.
        fn tor_bytes(&self, nic_qps: u64, nics: u64) -> Option<u64> {
            let _ = (nic_qps, nics);
            None
        }
        /// Checks parameters that depend on each other, and the program's requirements on the other parts of its
        /// scheme.
        ///
        /// # Errors
        /// The first conflict.
        fn check_beside(&self, parts: &SchemeParts<'_>) -> Result<(), Conflict> {
            let _ = parts;
            Ok(())
        }
    }
}
