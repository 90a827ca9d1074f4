//! What the hosts send: messages on queue pairs, each with a start condition.
//!
//! [`build`] makes a [`Workload`] from what a scenario says; [`WorkloadBuilder`] makes one from calls.

mod builder;
mod check;
mod cm;
pub mod collective;
mod error;
mod fabric;
mod generate;
mod ns3;
mod sizes;
mod spec;
mod text;
mod trace;

pub use builder::{MAX_MESSAGES, WorkloadBuilder};
pub use error::WorkloadError;
pub use fabric::Fabric;
pub use generate::{MOST_LOAD, build, files_needed, warnings};
pub use ns3::FlowFormat;
pub use sizes::SizeDistribution;
pub use spec::{IncastsSpec, MessageSpec, PipelineSpec, RegisteredWorkload, WorkloadFactory, WorkloadSpec};
pub use trace::{
    AlgorithmFrom, Format, RankHosts, SendEnds, ServerSpec, Streams, TraceSpec, is_text_of_ranks,
    text_of_binary_goal, text_of_ranks,
};

use anabranch_base::{Duration, GateId, HostId, MessageId, QpId, Time};

/// The one form under every workload: messages on queue pairs, started by a time or by a gate.
///
/// A message is posted to its queue pair when its start condition is met; a queue pair sends its messages in
/// the order of posting. When a message is delivered (its last byte reached the receiver) or acknowledged
/// (the sender learnt of all of it), it activates gates; a gate that opens posts the messages it starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// Queue pairs, by [`QpId`].
    pub qps: Vec<Qp>,
    /// Messages, by [`MessageId`].
    pub messages: Vec<Message>,
    /// Gates, by [`GateId`].
    pub gates: Vec<Gate>,
    /// The messages that gates start; each gate owns a range.
    pub gate_starts: Vec<MessageId>,
    /// What messages activate; each message owns a range.
    pub activations: Vec<Activation>,
    /// What hosts compute between messages.
    pub steps: Vec<Step>,
    /// The gates that steps activate; each step owns a range.
    pub step_gates: Vec<GateId>,
    /// The jobs that the messages belong to, in the order of their messages; none where messages stand for
    /// themselves.
    pub jobs: Vec<Job>,
    /// Parts of the workload that results tell apart, in the order of their messages; none where it is one.
    pub groups: Vec<Group>,
}

/// Messages that results tell apart from the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name in results.
    pub name: &'static str,
    /// Its messages, by number. No message is in two groups.
    pub messages: std::ops::Range<u32>,
}

/// A collective among some hosts, or all that a trace has ranks do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The algorithm, under its name in scenarios; of a trace its format.
    pub algorithm: &'static str,
    /// Bytes of the collective, as the scenario gives them; of a trace the bytes of all its messages.
    pub bytes: u64,
    /// The host of each rank.
    pub hosts: Vec<HostId>,
    /// Its messages, by number. No message is in two jobs.
    pub messages: std::ops::Range<u32>,
    /// Its steps, by number. No step is in two jobs.
    pub steps: std::ops::Range<u32>,
    /// The collectives that its trace names, in the order in which they were read.
    pub collectives: Vec<JobCollective>,
}

/// A collective of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobCollective {
    /// The algorithm that does it, under its name in scenarios.
    pub algorithm: &'static str,
    /// Its bytes, as [`collective::Algorithm`] has them.
    pub bytes: u64,
    /// Where the trace names it: the line, or the node of its first rank.
    pub place: u64,
    /// Its ranks, each with the steps at which it begins and at whose end it is over there.
    pub members: Vec<(u32, [GateId; 2])>,
}

/// Something that a host does for a while, such as computing. It is ready when its gate ([`Opens::Step`]) has had as many
/// activations as it needs, begins when its processor is free, and at its end posts the gate's messages and then activates
/// its own gates.
///
/// All of that is at one host: who activates its gate, the messages that it starts, and the gates that it activates, except
/// for those of a [`Step::IDLE`] one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Where.
    pub host: HostId,
    /// From its beginning to its end.
    pub takes: Duration,
    /// Activations that it waits for; 0: it is ready at time 0.
    pub needs: u32,
    /// The processor of its host that it takes for itself, up to [`Step::LAST_PROCESSOR`]; those that wait for one go in the
    /// order in which they got ready. [`Step::NO_PROCESSOR`]: it begins when it is ready. Others: what it does instead.
    pub processor: u32,
    /// Its gate.
    pub gate: GateId,
    /// First of the gates that it activates in [`Workload::step_gates`].
    pub gates_from: u32,
    /// Number of them.
    pub gates_len: u32,
}

impl Step {
    /// For steps that share their host with any others.
    pub const NO_PROCESSOR: u32 = u32::MAX;
    /// For steps that send something within the host's server, one after the other.
    pub const SERVER_LINK: u32 = u32::MAX - 1;
    /// For steps in which the host does nothing: what it has sent within its server is on its way, or its job
    /// has yet to begin. They may activate gates of other hosts, which are then of one cluster.
    pub const IDLE: u32 = u32::MAX - 2;
    /// The largest number of a processor.
    pub const LAST_PROCESSOR: u32 = u32::MAX - 3;

    /// Whether its host computes.
    pub fn computes(&self) -> bool {
        self.processor <= Step::LAST_PROCESSOR || self.processor == Step::NO_PROCESSOR
    }

    /// Whether it waits for others of its host.
    pub fn is_serial(&self) -> bool {
        self.processor <= Step::SERVER_LINK && self.processor != Step::IDLE
    }
}

/// A one-way connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Qp {
    /// The sending host.
    pub src: HostId,
    /// The receiving host, never the sender itself.
    pub dst: HostId,
}

/// Bytes to carry over a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Length in bytes, at least 1.
    pub bytes: u64,
    /// Its queue pair.
    pub qp: QpId,
    /// First of its activations in [`Workload::activations`].
    pub activations_from: u32,
    /// Number of its activations.
    pub activations_len: u32,
    /// When it is posted.
    pub start: Start,
}

/// When a message is posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At a time.
    At(Time),
    /// When a gate opens for it (exactly one gate lists it).
    ByGate,
}

/// A message's end that activates a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activation {
    /// Delivery or acknowledgement.
    pub on: Done,
    /// The gate to activate.
    pub gate: GateId,
}

/// The two ends of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// The receiver holds every byte.
    Delivered,
    /// The sender has an acknowledgement of every byte.
    Acknowledged,
}

/// A condition on other messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// First of its messages in [`Workload::gate_starts`].
    pub starts_from: u32,
    /// Number of its messages.
    pub starts_len: u32,
    /// How it opens.
    pub opens: Opens,
}

/// How activations open a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opens {
    /// After this many activations, for all its messages, once (1: `oneshot`; more: `barrier`).
    After(u32),
    /// At each activation for its next message (`multishot`).
    Each,
    /// When the step with this number in [`Workload::steps`] is over, for all its messages.
    Step(u32),
}
