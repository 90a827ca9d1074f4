//! Workloads: messages that hosts send on queue pairs, each with a start condition.
//!
//! [`build`] makes a [`Workload`] from a scenario's specification; [`WorkloadBuilder`] makes one from calls.

mod builder;
mod check;
mod cm;
pub mod collective;
mod error;
mod fabric;
mod generate;
mod ns3;
mod server;
mod sizes;
mod spec;
mod text;
mod trace;

pub use builder::{MAX_MESSAGES, WorkloadBuilder};
pub use error::WorkloadError;
pub use fabric::Fabric;
pub use generate::{MOST_LOAD, build, files_needed, warnings};
pub use ns3::FlowFormat;
pub use server::ServerSpec;
pub use sizes::SizeDistribution;
pub use spec::{IncastsSpec, MessageSpec, PipelineSpec, RegisteredWorkload, WorkloadFactory, WorkloadSpec};
pub use trace::{
    AlgorithmFrom, Format, RankHosts, RankOrder, SendEnds, Streams, TraceSpec, is_text_of_ranks,
    text_of_binary_goal, text_of_ranks,
};

use anabranch_base::{Duration, GateId, HostId, MessageId, QpId, Time};

/// The common form of all workloads: messages on queue pairs, started at a time or by a gate.
///
/// A message is posted to its queue pair when its start condition holds; a queue pair sends its messages in
/// the order of posting. A message activates gates when it is delivered (the receiver has its last byte) or acknowledged
/// (the sender has an acknowledgement of all of it); a gate that opens posts its messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// Queue pairs, by [`QpId`].
    pub qps: Vec<Qp>,
    /// Messages, by [`MessageId`].
    pub messages: Vec<Message>,
    /// Gates, by [`GateId`].
    pub gates: Vec<Gate>,
    /// The messages that gates start; each gate has a range.
    pub gate_starts: Vec<MessageId>,
    /// The activations of gates by messages; each message has a range.
    pub activations: Vec<Activation>,
    /// The computation of hosts between messages.
    pub steps: Vec<Step>,
    /// The gates that steps activate; each step has a range.
    pub step_gates: Vec<GateId>,
    /// The jobs of the messages, in the order of their messages; empty if the messages belong to no job.
    pub jobs: Vec<Job>,
    /// Parts of the workload that results report separately, in the order of their messages; empty if there is one part.
    pub groups: Vec<Group>,
}

/// Messages that results report separately from the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The name in results.
    pub name: &'static str,
    /// The numbers of its messages. No message is in two groups.
    pub messages: std::ops::Range<u32>,
}

/// A collective among some hosts, or the whole work of a trace's ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The algorithm's name in scenarios, or a trace's format.
    pub algorithm: &'static str,
    /// Bytes of the collective, as the scenario gives them, or of all messages of a trace.
    pub bytes: u64,
    /// The host of each rank.
    pub hosts: Vec<HostId>,
    /// The numbers of its messages. No message is in two jobs.
    pub messages: std::ops::Range<u32>,
    /// The numbers of its steps. No step is in two jobs.
    pub steps: std::ops::Range<u32>,
    /// The collectives of its trace, in the order of reading.
    pub collectives: Vec<JobCollective>,
}

/// A collective of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobCollective {
    /// The algorithm's name in scenarios.
    pub algorithm: &'static str,
    /// Its bytes, as [`collective::Algorithm`] counts them.
    pub bytes: u64,
    /// Its position in the trace: the line, or the node of its first rank.
    pub place: u64,
    /// Its ranks, each with the steps at which it begins and at whose end it is complete on that rank.
    pub members: Vec<(u32, [GateId; 2])>,
}

/// An activity of a host with a duration, such as computation. A step is ready when its gate ([`Opens::Step`]) has had as
/// many activations as it needs, and begins when its processor is free. At its end it posts the gate's messages, then
/// activates further gates.
///
/// All of this happens on one host: the activations of its gate, the messages that it starts, and the gates that it
/// activates. Only [`Step::IDLE`] steps and steps on NVLink pipes may activate gates of other hosts.
///
/// A transfer over NVLink is two steps: one on the pipe of the sending GPU, and, made ready by its end, one on the pipe of the
/// receiving GPU. The second may begin before it is ready, as data arrive while they are sent: it begins when its pipe is free,
/// at the earliest at its being ready + [`Step::latency`] - [`Step::takes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The host that executes it.
    pub host: HostId,
    /// The time from its beginning to its end.
    pub takes: Duration,
    /// The least time from its being ready to its end, only for a step that [receives](Step::is_receiving).
    pub latency: Duration,
    /// The number of activations for which it waits; with 0 it is ready at time 0.
    pub needs: u32,
    /// The processor of its host that it occupies, up to [`Step::LAST_PROCESSOR`]; steps that wait for a processor get it in
    /// the order in which they became ready. Larger values are the pipes of GPUs and the constants of this type.
    pub processor: u32,
    /// The gate whose activations it awaits, and whose messages it starts.
    pub gate: GateId,
    /// The first of the gates that it activates, in [`Workload::step_gates`].
    pub gates_from: u32,
    /// The number of gates that it activates.
    pub gates_len: u32,
}

impl Step {
    /// The step computes without occupying a processor: it begins when it is ready.
    pub const NO_PROCESSOR: u32 = u32::MAX;
    /// The host only waits, for its job to begin or for another host. The step may activate gates of other hosts, which are
    /// then of one cluster.
    pub const IDLE: u32 = u32::MAX - 1;
    /// The most GPUs that share a host.
    pub const MOST_GPUS: u32 = 1 << 10;
    /// The largest number of a processor.
    pub const LAST_PROCESSOR: u32 = Step::FIRST_PIPE - 1;
    /// The NVLink pipes of the GPUs of a host, first those that send, then those that receive.
    const FIRST_PIPE: u32 = Step::FIRST_RECEIVING - Step::MOST_GPUS;
    const FIRST_RECEIVING: u32 = Step::IDLE - Step::MOST_GPUS;

    /// The pipe by which GPU `gpu` of a host sends over NVLink.
    ///
    /// # Panics
    /// On a number of [`Step::MOST_GPUS`] or more.
    pub fn sending_pipe(gpu: u32) -> u32 {
        assert!(gpu < Step::MOST_GPUS, "a host has no GPU {gpu}");
        Step::FIRST_PIPE + gpu
    }

    /// The pipe by which GPU `gpu` of a host receives over NVLink.
    ///
    /// # Panics
    /// On a number of [`Step::MOST_GPUS`] or more.
    pub fn receiving_pipe(gpu: u32) -> u32 {
        Step::sending_pipe(gpu) + Step::MOST_GPUS
    }

    /// Whether the step is computation.
    pub fn computes(&self) -> bool {
        self.processor <= Step::LAST_PROCESSOR || self.processor == Step::NO_PROCESSOR
    }

    /// Whether it sends over NVLink.
    pub fn is_sending(&self) -> bool {
        (Step::FIRST_PIPE..Step::FIRST_RECEIVING).contains(&self.processor)
    }

    /// Whether it receives over NVLink.
    pub fn is_receiving(&self) -> bool {
        (Step::FIRST_RECEIVING..Step::IDLE).contains(&self.processor)
    }

    /// Whether it occupies a processor or a pipe, and thus waits for other such steps of its host.
    pub fn is_serial(&self) -> bool {
        self.processor < Step::IDLE
    }

    /// The least time from its being ready to its end. A receiver's data may all have arrived but for the latency.
    pub fn least_time(&self) -> Duration {
        if self.is_receiving() { self.latency } else { self.takes }
    }

    /// Whether it may activate gates of other hosts.
    fn reaches_others(&self) -> bool {
        self.processor > Step::LAST_PROCESSOR && self.processor != Step::NO_PROCESSOR
    }
}

/// A queue pair: a connection that carries messages in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Qp {
    /// The sending host.
    pub src: HostId,
    /// The receiving host, never the sender itself.
    pub dst: HostId,
}

/// A message to carry over a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Length in bytes, at least 1.
    pub bytes: u64,
    /// Its queue pair.
    pub qp: QpId,
    /// The first of its activations, in [`Workload::activations`].
    pub activations_from: u32,
    /// The number of its activations.
    pub activations_len: u32,
    /// The condition under which it is posted.
    pub start: Start,
}

/// The condition under which a message is posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Posted at a time.
    At(Time),
    /// Posted when a gate opens for it. Exactly one gate lists it.
    ByGate,
}

/// The activation of a gate by the completion of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activation {
    /// The completion that activates the gate.
    pub on: Done,
    /// The gate to activate.
    pub gate: GateId,
}

/// The two completions of a message, at its receiver and at its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// The receiver has every byte.
    Delivered,
    /// The sender has an acknowledgement of every byte.
    Acknowledged,
}

/// A condition on other messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The first of its messages, in [`Workload::gate_starts`].
    pub starts_from: u32,
    /// The number of its messages.
    pub starts_len: u32,
    /// The rule by which activations open it.
    pub opens: Opens,
}

/// The rule by which activations open a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opens {
    /// Opens once, for all its messages, after this many activations. In connection matrices 1 is `oneshot`, more is
    /// `barrier`.
    After(u32),
    /// Opens at each activation, for its next message (`multishot`).
    Each,
    /// Opens for all its messages at the end of the step with this number in [`Workload::steps`].
    Step(u32),
}
