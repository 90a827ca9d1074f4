//! Workloads: messages that hosts send on queue pairs, each with a start condition.
//!
//! [`build`] makes a [`Workload`] from a scenario's specification. [`WorkloadBuilder`] makes one from calls.

mod builder;
mod check;
mod cm;
pub mod collective;
mod error;
mod fabric;
mod generate;
mod join;
mod ns3;
mod sizes;
mod spec;
mod text;
mod trace;

pub use builder::{MAX_MESSAGES, WorkloadBuilder};
pub use collective::ServerSpec;
pub use error::WorkloadError;
pub use fabric::Fabric;
pub use generate::{MOST_LOAD, build, files_needed, warnings};
pub use ns3::FlowFormat;
pub use sizes::SizeDistribution;
pub use spec::{IncastsSpec, MessageSpec, PipelineSpec, RegisteredWorkload, WorkloadFactory, WorkloadSpec};
pub use trace::{
    AlgorithmFrom, Format, RankHosts, RankOrder, SendEnds, Streams, TraceSpec, is_text_of_ranks,
    text_of_binary_goal, text_of_ranks,
};

use anabranch_base::{Duration, GateId, HostId, MessageId, QpId, Time};

/// The common form of all workloads: messages on queue pairs. A message starts at a time or when a gate opens for it.
///
/// A message is posted to its queue pair when its start condition is met. A queue pair sends its messages in the
/// order of posting. A message activates gates when it is delivered (the receiver has all of it) or acknowledged (the
/// sender has an acknowledgement of all of it).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// The queue pairs, indexed by [`QpId`].
    pub qps: Vec<Qp>,
    /// The messages, indexed by [`MessageId`].
    pub messages: Vec<Message>,
    /// The gates, indexed by [`GateId`].
    pub gates: Vec<Gate>,
    /// The messages that gates start. Each gate has a range of this list.
    pub gate_starts: Vec<MessageId>,
    /// The activations of gates by messages. Each message has a range of this list.
    pub activations: Vec<Activation>,
    /// The steps of hosts between messages, such as computation.
    pub steps: Vec<Step>,
    /// The gates that steps activate. Each step has a range of this list.
    pub step_gates: Vec<GateId>,
    /// The jobs, in the order of their messages. Empty if the messages belong to no job.
    pub jobs: Vec<Job>,
    /// The parts of the workload that results report separately, in the order of their messages. Empty if there is only
    /// one part.
    pub groups: Vec<Group>,
}

/// A group of messages that results report separately from the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The name of the group in results.
    pub name: &'static str,
    /// The numbers of the group's messages. No message is in two groups.
    pub messages: std::ops::Range<u32>,
}

/// A collective among some hosts, or the complete work of a trace's ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The algorithm's name in scenarios, or the format of a trace.
    pub algorithm: &'static str,
    /// The algorithm and the protocol that NCCL's model chose, for a collective with `allreduce-nccl`. None for all
    /// other jobs.
    pub chosen: Option<(collective::Algorithm, collective::nccl::Protocol)>,
    /// The size of the collective in bytes, as the scenario gives it. For a trace, the sum of the lengths of the job's
    /// messages.
    pub bytes: u64,
    /// The host of each rank.
    pub hosts: Vec<HostId>,
    /// The numbers of the job's messages. No message is in two jobs.
    pub messages: std::ops::Range<u32>,
    /// The numbers of the job's steps. No step is in two jobs.
    pub steps: std::ops::Range<u32>,
    /// The position within `steps` of each rank's first step, for a job from a trace. A rank's computing steps lie
    /// before those of the next rank.
    pub rank_steps: Vec<u32>,
    /// The collectives of the job's trace that have more than one rank.
    pub collectives: Vec<JobCollective>,
}

/// A collective of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobCollective {
    /// The algorithm's name in scenarios.
    pub algorithm: &'static str,
    /// The size in bytes, as [`collective::Algorithm`] defines it.
    pub bytes: u64,
    /// The place in the trace at which the first rank joins: a line, or the number of a node or operation.
    pub place: u64,
    /// The ranks of the collective, each with the gates of two steps. The rank joins the collective when the first step
    /// begins, and the collective is complete on the rank when the second step ends.
    pub members: Vec<(u32, [GateId; 2])>,
}

/// An activity of a host with a duration, such as computation. A step is ready when its gate ([`Opens::Step`]) has had
/// as many activations as it needs, and begins when its processor is free. At its end it posts the gate's messages,
/// then activates further gates.
///
/// Everything about a step happens on one host: the activations of its gate, the messages that it starts, and the
/// gates that it activates. As an exception, [`Step::IDLE`] steps and steps on NVLink pipes may activate gates of
/// other hosts.
///
/// A GPU has two NVLink pipes, each with the total rate of its NVLinks: one for the data that it sends, and one for
/// the data that it receives. A transfer over NVLink consists of two steps, one on the pipe of the sending GPU and one
/// on the pipe of the receiving GPU. The end of the first step makes the second one ready. If the second step is ready
/// at time r, it begins at r + [`Step::latency`] - [`Step::takes`], or later if its pipe is not free. It may begin
/// before it is ready, since data arrives while further data is being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The host that executes the step.
    pub host: HostId,
    /// The time from the start of the step to its end.
    pub takes: Duration,
    /// The shortest time from when the step is ready to its end. It applies only to a step that
    /// [receives](Step::is_receiving).
    pub latency: Duration,
    /// The number of activations for which the step waits. With 0 it is ready at time 0.
    pub needs: u32,
    /// The processor of the host that the step occupies, up to [`Step::LAST_PROCESSOR`]. Steps that wait for a
    /// processor get it in the order in which they became ready. Larger values are the numbers of the GPUs' pipes,
    /// [`Step::IDLE`] and [`Step::NO_PROCESSOR`].
    pub processor: u32,
    /// The gate whose activations the step awaits, and whose messages it starts.
    pub gate: GateId,
    /// The position in [`Workload::step_gates`] of the first gate that the step activates.
    pub gates_from: u32,
    /// The number of gates that the step activates.
    pub gates_len: u32,
}

impl Step {
    /// The processor number of a step that computes without occupying a processor. Such a step begins when it is ready.
    pub const NO_PROCESSOR: u32 = u32::MAX;
    /// The processor number of a step in which the host only waits, either until its job begins or for another host.
    /// Such a step may activate gates of other hosts.
    pub const IDLE: u32 = u32::MAX - 1;
    /// The largest number of GPUs that share a host.
    pub const MOST_GPUS: u32 = 1 << 10;
    /// The largest number that a processor of a host may have.
    pub const LAST_PROCESSOR: u32 = Step::FIRST_PIPE - 1;
    /// The number of the first NVLink pipe of a host's GPUs. The pipes that send come first, then those that receive.
    const FIRST_PIPE: u32 = Step::FIRST_RECEIVING - Step::MOST_GPUS;
    const FIRST_RECEIVING: u32 = Step::IDLE - Step::MOST_GPUS;

    /// The pipe by which GPU `gpu` of a host sends over NVLink.
    ///
    /// # Panics
    /// `gpu` is [`Step::MOST_GPUS`] or more.
    pub fn sending_pipe(gpu: u32) -> u32 {
        assert!(gpu < Step::MOST_GPUS, "a host has no GPU {gpu}");
        Step::FIRST_PIPE + gpu
    }

    /// The pipe by which GPU `gpu` of a host receives over NVLink.
    ///
    /// # Panics
    /// `gpu` is [`Step::MOST_GPUS`] or more.
    pub fn receiving_pipe(gpu: u32) -> u32 {
        Step::sending_pipe(gpu) + Step::MOST_GPUS
    }

    /// Whether the step is computation.
    pub fn computes(&self) -> bool {
        self.processor <= Step::LAST_PROCESSOR || self.processor == Step::NO_PROCESSOR
    }

    /// Whether the step sends over NVLink.
    pub fn is_sending(&self) -> bool {
        (Step::FIRST_PIPE..Step::FIRST_RECEIVING).contains(&self.processor)
    }

    /// Whether the step receives over NVLink.
    pub fn is_receiving(&self) -> bool {
        (Step::FIRST_RECEIVING..Step::IDLE).contains(&self.processor)
    }

    /// Whether the step occupies a processor or a pipe, and therefore waits until that is free.
    pub fn is_serial(&self) -> bool {
        self.processor < Step::IDLE
    }

    /// The shortest time from when the step is ready to its end. For a receiving step this is the latency alone, since
    /// all its data has been sent when it is ready.
    pub fn least_time(&self) -> Duration {
        if self.is_receiving() { self.latency } else { self.takes }
    }

    /// Whether the step may activate gates of other hosts.
    fn reaches_others(&self) -> bool {
        self.processor > Step::LAST_PROCESSOR && self.processor != Step::NO_PROCESSOR
    }
}

/// A queue pair: a connection that carries messages in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Qp {
    /// The sending host.
    pub src: HostId,
    /// The receiving host, which is never the sender itself.
    pub dst: HostId,
}

/// A message to carry over a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The length in bytes, at least 1.
    pub bytes: u64,
    /// The queue pair of the message.
    pub qp: QpId,
    /// The position of the message's first activation in [`Workload::activations`].
    pub activations_from: u32,
    /// The number of gate activations by this message.
    pub activations_len: u32,
    /// The condition under which the message is posted.
    pub start: Start,
}

/// The condition under which a message is posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The message is posted at this time.
    At(Time),
    /// The message is posted when a gate opens for it. Exactly one gate lists the message.
    ByGate,
}

/// The activation of a gate when a message is delivered or acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activation {
    /// The event that activates the gate.
    pub on: Done,
    /// The gate that is activated.
    pub gate: GateId,
}

/// The two events that complete a message, at its receiver and at its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// The receiver has every byte.
    Delivered,
    /// The sender has an acknowledgement of every byte.
    Acknowledged,
}

/// A condition that holds messages back until enough other messages or steps have activated it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The position of the gate's first message in [`Workload::gate_starts`].
    pub starts_from: u32,
    /// The number of messages that the gate starts.
    pub starts_len: u32,
    /// The rule by which activations open the gate.
    pub opens: Opens,
}

/// The rule by which activations open a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opens {
    /// The gate opens once, for all its messages, after this number of activations. In a connection matrix, the
    /// number is 1 for `oneshot`, and the file states it for a `barrier`.
    After(u32),
    /// The gate opens at each activation, for its next message (`multishot`).
    Each,
    /// The gate opens for all its messages at the end of the step with this number in [`Workload::steps`].
    Step(u32),
}
