//! The combination of two workloads into one.

use crate::{Activation, Gate, Group, Job, JobCollective, Message, Opens, Step, Workload, WorkloadError};
use anabranch_base::{GateId, MessageId, QpId};
use std::ops::Range;

impl Workload {
    /// Joins `other` to this workload. The two do not share queue pairs. The queue pairs, messages and jobs of `other`
    /// follow those of this workload.
    ///
    /// # Errors
    /// Together they have more than [`MAX_MESSAGES`](crate::MAX_MESSAGES) messages.
    pub fn beside(mut self, other: Workload) -> Result<Workload, WorkloadError> {
        let most = u64::from(crate::MAX_MESSAGES);
        let messages = self.messages.len() as u64 + other.messages.len() as u64;
        if messages > most {
            let problem = format!("all classes together have {messages} messages, and the most is {most}");
            return Err(WorkloadError::Inconsistent(problem));
        }
        let at = Offsets::of(&self);
        self.qps.extend(other.qps);
        self.messages.extend(other.messages.into_iter().map(|message| Message {
            qp: QpId(message.qp.0 + at.qps),
            activations_from: message.activations_from + at.activations,
            ..message
        }));
        self.gates.extend(other.gates.into_iter().map(|gate| Gate {
            starts_from: gate.starts_from + at.gate_starts,
            opens: match gate.opens {
                Opens::Step(step) => Opens::Step(step + at.steps),
                opens => opens,
            },
            ..gate
        }));
        self.gate_starts.extend(other.gate_starts.iter().map(|message| MessageId(message.0 + at.messages)));
        let gate = |gate: GateId| GateId(gate.0 + at.gates);
        self.activations
            .extend(other.activations.into_iter().map(|it| Activation { gate: gate(it.gate), ..it }));
        self.steps.extend(other.steps.into_iter().map(|step| Step {
            gate: gate(step.gate),
            gates_from: step.gates_from + at.step_gates,
            ..step
        }));
        self.step_gates.extend(other.step_gates.into_iter().map(gate));
        let moved = |range: &Range<u32>, by: u32| range.start + by..range.end + by;
        self.jobs.extend(other.jobs.into_iter().map(|job| Job {
            messages: moved(&job.messages, at.messages),
            steps: moved(&job.steps, at.steps),
            collectives: job.collectives.into_iter().map(|collective| at.collective(collective)).collect(),
            ..job
        }));
        self.groups.extend(
            other
                .groups
                .into_iter()
                .map(|group| Group { messages: moved(&group.messages, at.messages), ..group }),
        );
        Ok(self)
    }
}

/// The numbers of entries in the lists of a workload.
struct Offsets {
    qps: u32,
    messages: u32,
    gates: u32,
    gate_starts: u32,
    activations: u32,
    steps: u32,
    step_gates: u32,
}

impl Offsets {
    fn of(workload: &Workload) -> Offsets {
        Offsets {
            qps: workload.qps.len() as u32,
            messages: workload.messages.len() as u32,
            gates: workload.gates.len() as u32,
            gate_starts: workload.gate_starts.len() as u32,
            activations: workload.activations.len() as u32,
            steps: workload.steps.len() as u32,
            step_gates: workload.step_gates.len() as u32,
        }
    }

    fn collective(&self, collective: JobCollective) -> JobCollective {
        let moved = |(rank, gates): (u32, [GateId; 2])| (rank, gates.map(|gate| GateId(gate.0 + self.gates)));
        JobCollective { members: collective.members.into_iter().map(moved).collect(), ..collective }
    }
}
