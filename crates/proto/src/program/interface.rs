//! What every program is to its switch, and what they tell each other.

use crate::{Packet, PathFacts};
use anabranch_base::{Bytes, Duration, HostId, QpId, Time};
use std::sync::Arc;

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
    /// `0..paths`, what to XOR into the entropy value (Themis-spraying, section 4.1, PathMap).
    pub path_map: Option<Arc<[u16]>>,
    /// Which data centre is whose.
    pub sites: Sites,
    /// The ToRs of all hosts and the round trips to them; empty for programs that do not ask for these
    /// ([`ProgramConfig::wants_tors`](crate::program::ProgramConfig::wants_tors)).
    pub tors: Tors,
}

/// The ToRs of a fabric, as a switch sees them.
#[derive(Clone, Debug, Default)]
pub struct Tors {
    /// By host: its ToR.
    pub of_host: Arc<[u32]>,
    /// By ToR: the round trip between the switch and it that a bit takes when nothing queues, which is what links and
    /// switches on the way delay.
    pub round_trips: Arc<[Duration]>,
}

impl Tors {
    /// The round trip between the switch and the ToR of `host`; zero where nothing is known of it.
    pub fn round_trip_to(&self, host: HostId) -> Duration {
        let tor = self.of_host.get(host.index());
        tor.and_then(|&tor| self.round_trips.get(tor as usize)).copied().unwrap_or(Duration::ZERO)
    }
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
    /// Equal-cost ports towards its destination when every link is up; 1 to a host of this switch, 0 when there is no
    /// path.
    pub ports: u16,
    /// At egress: bytes of data that it leaves behind in its queue.
    pub queued: u32,
}

/// What becomes of a packet at ingress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes where routing sends it.
    Forward,
    /// It goes by this one of the equal-cost ports, modulo their number; by another one, chosen by ECMP, if routing has
    /// withdrawn it.
    Port(u16),
    /// It is dropped, or the program has taken from it what it needs.
    Drop,
    /// The program holds it in the switch's buffer, and will emit it later.
    Hold,
    /// The program holds it outside the switch's buffer, for instance in a recirculation port, and will emit it later. It
    /// is not charged to the lossless class, not even while it waits at its egress port afterwards.
    HoldOutside,
}

/// Where a packet was before a program emitted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Nowhere: the program made it.
    Never,
    /// In the switch's buffer, charged to its ingress port, [`Passage::port`] of its arrival ([`Verdict::Hold`]).
    InBuffer(u16),
    /// Outside the switch's buffer ([`Verdict::HoldOutside`]).
    OutsideBuffer,
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

/// What every program implements, and one of your own.
///
/// After each call the switch sends what the program put into `out`, then asks for
/// [`next_timeout`](Self::next_timeout). Each packet that it kept ([`Verdict::Hold`], [`Verdict::HoldOutside`]) it emits
/// once, as it was kept and with the length that it had: else the run ends.
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
    ///
    /// The notice crosses the fabric without a packet. It comes one window's length (the fabric's shortest latency, see
    /// the engine in ARCHITECTURE.md) after it happened: never later than the queue pair's first packet can be here, and
    /// possibly before packets that the end of the queue pair left under way. Those of one time come by rising source,
    /// after everything else that happens at the switch at that time.
    fn handle_qp(&mut self, notice: &QpNotice, out: &mut Vec<Emitted>) {
        let _ = (notice, out);
    }
    /// Entries now in those of its tables that follow queue pairs.
    fn table_entries(&self) -> u64 {
        0
    }
}
