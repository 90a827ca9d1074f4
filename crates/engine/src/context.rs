//! What a node's handler is given beside the node: the time, what all share, and where its doings go.

use crate::backlog::Backlogs;
use crate::board::ReadyWork;
use crate::faults::Hits;
use crate::injector::InjectedEnd;
use crate::mail::Outbox;
use crate::network::Network;
use anabranch_base::{Duration, HostId, MessageId, NodeId, QpId, Time};
use anabranch_fabric::Routing;
use anabranch_proto::{Packet, Repr};
use std::ops::AddAssign;

/// What a handler sees and where it puts what comes of it. One for each thread and window.
pub struct Context<'w, O> {
    /// The time of the event.
    pub now: Time,
    /// What all nodes share.
    pub network: &'w Network<'w>,
    /// Routes as the switches know them now.
    pub routing: &'w Routing,
    /// What programs hear of queue pairs within the window, by time.
    pub program_notices: &'w [Notice],
    /// What is sent to other nodes.
    pub out: Outbox<'w>,
    /// Who looks.
    pub observer: &'w mut O,
    /// What is counted, over the nodes of a thread.
    pub counters: &'w mut Counters,
    /// What data packets found waiting, likewise.
    pub backlogs: &'w mut Backlogs,
    /// What crosses nodes without being a packet.
    pub effects: &'w mut Effects,
}

/// What a thread's nodes say that is no packet.
#[derive(Default)]
pub struct Effects {
    /// Messages that a gate of this host opened at other hosts of its cluster: to be posted now.
    pub remote_messages: Vec<MessageId>,
    /// Steps of other hosts of its cluster that this host made ready: to begin now.
    pub remote_steps: Vec<u32>,
    /// Ends, at this instant, of messages that a poster posted.
    pub injected_ends: Vec<InjectedEnd>,
    /// Room for what gates open.
    pub ready_work: ReadyWork,
    /// Queue pairs that were opened or are done: told between windows.
    pub notices: Vec<Notice>,
    /// What must end the run, at its earliest place in the order.
    pub failure: Option<(Time, NodeId, Failure)>,
    /// Packets that faults hit.
    pub hits: Hits,
    /// By queue pair of the engine, as long as the last one that lost any: data packets whose payload was lost.
    pub lost: Vec<u32>,
}

impl<O> Context<'_, O> {
    /// The payload of a packet is lost, where it has any: dropped, cut off, or lost on a link.
    #[cold]
    pub fn note_lost_payload(&mut self, packet: &Packet) {
        if let Repr::Data { .. } = packet.repr {
            let (lost, qp) = (&mut self.effects.lost, packet.qp.index());
            if lost.len() <= qp {
                lost.resize(qp + 1, 0);
            }
            lost[qp] += 1;
        }
    }
}

impl Effects {
    /// The run cannot go on. Of several reasons the first in the order (time, node, event) is kept, whatever the threads.
    #[cold]
    pub fn fail(&mut self, now: Time, node: NodeId, failure: Failure) {
        if self.failure.as_ref().is_none_or(|(time, other, _)| (now, node) < (*time, *other)) {
            self.failure = Some((now, node, failure));
        }
    }
}

/// A queue pair of the engine was opened, with its first message posted, or is done, with its last one acknowledged.
/// Programs hear of it a [window's length](Network::window) later, which is before its first packet can come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    /// When.
    pub time: Time,
    /// Its source, which says so.
    pub src: HostId,
    /// Which.
    pub qp: QpId,
    /// It was opened; else, it is done.
    pub opens: bool,
}

/// Totals over a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Events.
    pub events: u64,
    /// Packets put on links.
    pub packet_hops: u64,
    /// Packets dropped for lack of buffer, or since a fault made a switch refuse them.
    pub drops: u64,
    /// Packets lost on links, in switches that went down, or without a route.
    pub link_losses: u64,
    /// Data packets cut to their header.
    pub trims: u64,
    /// Trimmed packets dropped, on the way to the receiver or back; among `drops`.
    pub header_drops: u64,
    /// Data packets marked.
    pub ecn_marks: u64,
    /// Packets that hosts and programs made.
    pub injected: u64,
    /// Packets that hosts and programs consumed.
    pub consumed: u64,
    /// Messages posted.
    pub posted: u64,
    /// Messages acknowledged.
    pub acknowledged: u64,
    /// Steps that are over.
    pub steps: u64,
    /// Pause frames (XOFF) sent.
    pub pause_frames: u64,
    /// Time for which links' data classes were paused, without the pauses that still last.
    pub pause_time: Duration,
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Counters) {
        self.events += other.events;
        self.packet_hops += other.packet_hops;
        self.drops += other.drops;
        self.link_losses += other.link_losses;
        self.trims += other.trims;
        self.header_drops += other.header_drops;
        self.ecn_marks += other.ecn_marks;
        self.injected += other.injected;
        self.consumed += other.consumed;
        self.posted += other.posted;
        self.acknowledged += other.acknowledged;
        self.steps += other.steps;
        self.pause_frames += other.pause_frames;
        self.pause_time = self.pause_time + other.pause_time;
    }
}

/// Why a run ended before its messages did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nothing new was delivered for as long as the scenario allows.
    Stalled,
    /// Messages are left and no event is.
    NothingLeft,
    /// A bound of the scenario was reached: which.
    Limit(&'static str),
    /// Observers keep more points than the run may have.
    TooManyPoints,
    /// A queue pair has too many packets.
    OutOfPsns(QpId),
    /// The user wants to stop.
    Cancelled,
    /// Paused links that wait for each other, by name.
    Deadlock(Vec<String>),
    /// A lossless class had no room for a packet: where, with the numbers, and what to write instead.
    LosslessDrop(String),
    /// A checker found the engine wrong, or what somebody else brought.
    Invariant(String),
}
