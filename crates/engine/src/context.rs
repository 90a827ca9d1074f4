//! The context of a node's event handlers: the time, the shared data, and the places for their output.

use crate::backlog::Backlogs;
use crate::board::ReadyWork;
use crate::faults::Hits;
use crate::frame::Arrival;
use crate::injector::InjectedEnd;
use crate::mail::{LinkMail, Outbox};
use crate::network::Network;
use anabranch_base::{Duration, HostId, MessageId, NodeId, QpId, Time};
use anabranch_fabric::Routing;
use anabranch_proto::{IntStack, Packet, Repr};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// The data that a handler reads besides its node's own state, and the places for its output.
pub struct Context<'w, O> {
    pub now: Time,
    /// The data that all nodes share.
    pub network: &'w Network<'w>,
    /// Routes as the switches currently know them.
    pub routing: &'w Routing,
    /// The notices of opened and finished queue pairs that switch programs receive within the synchronisation window,
    /// sorted by time.
    pub program_notices: &'w [Notice],
    pub out: Outbox<'w>,
    /// The outgoing packets of one port, if the node is a host with one port or a switch whose ports are simulated
    /// one by one in this synchronisation window.
    pub link: &'w mut LinkMail,
    /// The observer for the thread's nodes.
    pub observer: &'w mut O,
    /// The totals over the thread's nodes.
    pub counters: &'w mut Counters,
    /// The histogram of the bytes that data packets found waiting at the thread's switches.
    pub backlogs: &'w mut Backlogs,
    pub effects: &'w mut Effects,
}

/// Effects that a thread's nodes have, apart from frames.
#[derive(Default)]
pub struct Effects {
    /// The messages that a host has just made ready at other hosts of its cluster. They are posted at the same instant.
    pub remote_messages: Vec<MessageId>,
    /// The steps that a host has just made ready at other hosts of its cluster. They begin at the same instant.
    pub remote_steps: Vec<u32>,
    /// The deliveries and acknowledgements of injected messages at this instant.
    pub injected_ends: Vec<InjectedEnd>,
    /// Reusable memory for the messages and steps that gates make ready.
    pub ready_work: ReadyWork,
    /// The notices of queue pairs that were opened or are done. They are passed on between synchronisation windows.
    pub notices: Vec<Notice>,
    /// The failure that ends the run, which is the earliest one in the order (time, node).
    pub failure: Option<(Time, NodeId, Failure)>,
    /// For each fault, the numbers of packets that it hit.
    pub hits: Hits,
    /// For each queue pair of the engine, the number of data packets whose payload was lost. The list ends with the
    /// last queue pair that has losses.
    pub lost: Vec<u32>,
}

impl<O> Context<'_, O> {
    /// Sends a frame to `node`, and with it the telemetry `stack` of the frame, if there is one.
    pub fn send(&mut self, node: NodeId, arrival: Arrival, stack: Option<&IntStack>) {
        self.link.finish(&mut self.out);
        self.out.send(node, arrival, stack);
    }

    /// Counts a data packet whose payload is lost.
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
    /// Fails the run. If several nodes fail, the first failure in the order (time, node, event) is kept, for any
    /// number of threads.
    #[cold]
    pub fn fail(&mut self, now: Time, node: NodeId, failure: Failure) {
        if self.failure.as_ref().is_none_or(|(time, other, _)| (now, node) < (*time, *other)) {
            self.failure = Some((now, node, failure));
        }
    }
}

/// A notice that a queue pair of the engine was opened or is done. A queue pair opens when its first message is
/// posted, and is done when its last message is acknowledged. Switch programs receive the notice one [window
/// length](Network::window) later. The notice of a new queue pair thus comes before its first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The time at which the queue pair was opened or done. In [`Context::program_notices`], the time at which switch
    /// programs receive the notice.
    pub time: Time,
    pub src: HostId,
    pub qp: QpId,
    /// Whether the queue pair was opened; false if it is done.
    pub opens: bool,
}

/// Totals over a run, or over a part of its nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Events that nodes have handled.
    pub events: u64,
    /// Packets sent on links.
    pub packet_hops: u64,
    /// Packets dropped for lack of buffer, by a fault of a switch, by a slow receiver or by a PFC watchdog.
    pub drops: u64,
    /// Packets lost on links, in switches that went down, or without a route.
    pub link_losses: u64,
    /// Data packets that were trimmed to their header.
    pub trims: u64,
    /// Trimmed packets that were dropped on the way to the receiver or back. They are included in `drops`.
    pub header_drops: u64,
    /// ECN marks of data packets. A packet that is marked at several ports counts several times.
    pub ecn_marks: u64,
    /// Packets that hosts and switch programs created.
    pub injected: u64,
    /// Packets that hosts and switch programs consumed.
    pub consumed: u64,
    /// The number of messages posted so far.
    pub posted: u64,
    /// The number of messages acknowledged so far.
    pub acknowledged: u64,
    /// Steps that have ended.
    pub steps: u64,
    /// Pause frames (XOFF) sent.
    pub pause_frames: u64,
    /// The total time for which the data classes of links were paused. During the run, a pause is added when it ends.
    /// `NodeTotals` also includes pauses that have not ended.
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nothing new was delivered during the whole of the run's patience (`Limits::patience`).
    Stalled,
    /// Messages or steps are unfinished, and no event is left.
    NothingLeft,
    /// A limit of the scenario was reached. The text is the limit's key.
    Limit(&'static str),
    /// The curves have more points than the run may have.
    TooManyPoints,
    /// A queue pair has more packets than PSNs.
    OutOfPsns(QpId),
    Cancelled,
    /// Paused links wait for each other in a cycle. The texts are the links' names.
    Deadlock(Vec<String>),
    /// A lossless class had no room for a packet. The text names the place, the numbers of bytes, and a remedy.
    LosslessDrop(String),
    /// A check found a broken invariant.
    Invariant(String),
}
