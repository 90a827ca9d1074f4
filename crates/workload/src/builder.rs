//! A builder of workloads.

use super::{Activation, Done, Gate, Group, Job, Message, Opens, Qp, Start, Step, Workload, WorkloadError};
use anabranch_base::{Duration, GateId, HostId, MessageId, QpId};

/// The largest number of messages that a generator creates. If arrivals are random, the limit applies to the expected
/// number. At this limit, the messages occupy at least 2 GB.
pub const MAX_MESSAGES: u32 = 50_000_000;

/// A builder that collects queue pairs, messages, gates and activations in the order of the calls.
///
/// # Panics
/// The methods panic if there are more than 2^32 objects of one type, since ids have 32 bits.
#[derive(Clone, Debug, Default)]
pub struct WorkloadBuilder {
    workload: Workload,
    activations: Vec<(MessageId, Activation)>,
    /// For each activation by a step, the gate of the step and the gate that the step activates.
    step_activations: Vec<(GateId, GateId)>,
}

impl WorkloadBuilder {
    /// A builder of an empty workload.
    pub fn new() -> Self {
        Self::default()
    }

    /// A builder with room for `messages` messages, each on its own queue pair.
    pub fn with_capacity(messages: usize) -> Self {
        let mut builder = Self::default();
        builder.workload.qps.reserve_exact(messages);
        builder.workload.messages.reserve_exact(messages);
        builder
    }

    /// A builder with room for these numbers of messages, of gates that start one message each, and of activations.
    pub(super) fn with_room(messages: usize, gates: usize, activations: usize) -> Self {
        let mut builder = Self::default();
        builder.workload.messages.reserve_exact(messages);
        builder.workload.gates.reserve_exact(gates);
        builder.workload.gate_starts.reserve_exact(gates);
        builder.activations.reserve_exact(activations);
        builder
    }

    /// The number of messages, which is also the id that the next message will have.
    pub(super) fn messages(&self) -> u32 {
        last_id(self.workload.messages.len() + 1)
    }

    /// Adds a job. Its messages must come after the messages of earlier jobs.
    pub fn add_job(&mut self, job: Job) {
        self.workload.jobs.push(job);
    }

    /// Makes a group of the messages that were added since the last group, or since the beginning. Results report the
    /// group under `name`.
    pub fn end_group(&mut self, name: &'static str) {
        let from = self.workload.groups.last().map_or(0, |group| group.messages.end);
        self.workload.groups.push(Group { name, messages: from..self.messages() });
    }

    /// Adds a queue pair from `src` to `dst`.
    pub fn add_qp(&mut self, src: HostId, dst: HostId) -> QpId {
        self.workload.qps.push(Qp { src, dst });
        QpId(last_id(self.workload.qps.len()))
    }

    /// Adds a message of `bytes` bytes to `qp`. A message with [`Start::ByGate`] requires a gate that starts it.
    pub fn add_message(&mut self, qp: QpId, bytes: u64, start: Start) -> MessageId {
        self.workload.messages.push(Message { bytes, qp, activations_from: 0, activations_len: 0, start });
        MessageId(last_id(self.workload.messages.len()))
    }

    /// Adds a gate that starts the messages `starts`, which must have been added with [`Start::ByGate`]. With
    /// [`Opens::Each`], they start in this order.
    pub fn add_gate(&mut self, opens: Opens, starts: &[MessageId]) -> GateId {
        let starts_from = self.workload.gate_starts.len() as u32;
        self.workload.gate_starts.extend_from_slice(starts);
        last_id(self.workload.gate_starts.len().max(1));
        self.workload.gates.push(Gate { starts_from, starts_len: starts.len() as u32, opens });
        GateId(last_id(self.workload.gates.len()))
    }

    /// Makes a message activate `gate` when it is delivered or acknowledged, as `on` states. If one event of a message
    /// activates several gates, the gates are activated in the order of the calls of this method.
    pub fn activate(&mut self, message: MessageId, on: Done, gate: GateId) {
        self.activations.push((message, Activation { on, gate }));
        last_id(self.activations.len());
    }

    /// Adds a step of `host` on `processor`. The step waits for `needs` activations of the returned gate and lasts
    /// `takes`. It then posts `starts`, which must have been added with [`Start::ByGate`].
    pub fn add_step(
        &mut self,
        (host, processor): (HostId, u32),
        needs: u32,
        takes: Duration,
        starts: &[MessageId],
    ) -> GateId {
        let number = u32::try_from(self.workload.steps.len()).expect("2^32 steps at most");
        let gate = self.add_gate(Opens::Step(number), starts);
        let latency = Duration::ZERO;
        let step = Step { host, takes, latency, needs, processor, gate, gates_from: 0, gates_len: 0 };
        self.workload.steps.push(step);
        gate
    }

    /// Adds a transfer that occupies a sending and a receiving NVLink pipe for `takes`, with `latency` as the
    /// [`Step::latency`] of the receiving step. The transfer waits for `needs` activations of the first returned
    /// gate. The second returned gate belongs to a step that ends when the receiver has all the data.
    ///
    /// # Panics
    /// The number of a GPU is [`Step::MOST_GPUS`] or more.
    pub fn add_nvlink(
        &mut self,
        ends: [(HostId, u32); 2],
        needs: u32,
        [takes, latency]: [Duration; 2],
    ) -> [GateId; 2] {
        let [(src, from), (dst, to)] = ends;
        let sends = self.add_step((src, Step::sending_pipe(from)), needs, takes, &[]);
        let receives = self.add_receiving((dst, to), 1, [takes, latency], &[]);
        self.activate_after(sends, receives);
        [sends, receives]
    }

    /// Adds a step that receives on the NVLink pipe of a GPU of a host, and posts `starts` at its end.
    pub(super) fn add_receiving(
        &mut self,
        (host, gpu): (HostId, u32),
        needs: u32,
        [takes, latency]: [Duration; 2],
        starts: &[MessageId],
    ) -> GateId {
        let gate = self.add_step((host, Step::receiving_pipe(gpu)), needs, takes, starts);
        if let Some(step) = self.workload.steps.last_mut() {
            step.latency = latency;
        }
        gate
    }

    /// Makes the step with gate `step` activate `gate` when the step ends. The activations of one step happen in the
    /// order of the calls of this method.
    pub fn activate_after(&mut self, step: GateId, gate: GateId) {
        self.step_activations.push((step, gate));
        last_id(self.step_activations.len());
    }

    pub(super) fn set_needs(&mut self, step: GateId, needs: u32) {
        if let Opens::Step(number) = self.workload.gates[step.index()].opens {
            self.workload.steps[number as usize].needs = needs;
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.workload.messages.iter().map(|message| message.bytes).sum()
    }

    /// The number of steps, which is also the number that the next step will have.
    pub(super) fn steps(&self) -> u32 {
        self.workload.steps.len() as u32
    }

    /// Builds the workload, and frees unused memory.
    ///
    /// # Errors
    /// A message that activates a gate was never added, a gate that activates another one belongs to no step, or
    /// [`Workload::validate`] refuses the workload.
    pub fn build(mut self) -> Result<Workload, WorkloadError> {
        self.activations.sort_by_key(|(message, _)| *message);
        let mut from = 0;
        for owned in self.activations.chunk_by(|(a, _), (b, _)| a == b) {
            let owner = owned[0].0;
            let message = self.workload.messages.get_mut(owner.index()).ok_or_else(|| {
                WorkloadError::Inconsistent(format!("message {owner} activates a gate but was never added"))
            })?;
            message.activations_from = from;
            message.activations_len = owned.len() as u32;
            from += owned.len() as u32;
        }
        self.workload.activations = self.activations.into_iter().map(|(_, activation)| activation).collect();
        self.step_activations.sort_by_key(|(step, _)| *step);
        for owned in self.step_activations.chunk_by(|(a, _), (b, _)| a == b) {
            let gate = self.workload.gates.get(owned[0].0.index());
            let Some(Gate { opens: Opens::Step(number), .. }) = gate else {
                let what = format!("gate {} activates another one and is that of no step", owned[0].0);
                return Err(WorkloadError::Inconsistent(what));
            };
            let step = &mut self.workload.steps[*number as usize];
            (step.gates_from, step.gates_len) = (self.workload.step_gates.len() as u32, owned.len() as u32);
            self.workload.step_gates.extend(owned.iter().map(|(_, gate)| gate));
        }
        self.workload.qps.shrink_to_fit();
        self.workload.messages.shrink_to_fit();
        self.workload.gates.shrink_to_fit();
        self.workload.gate_starts.shrink_to_fit();
        self.workload.activations.shrink_to_fit();
        self.workload.steps.shrink_to_fit();
        self.workload.step_gates.shrink_to_fit();
        self.workload.jobs.shrink_to_fit();
        self.workload.validate()?;
        Ok(self.workload)
    }
}

/// The id of the last of `len` objects.
fn last_id(len: usize) -> u32 {
    u32::try_from(len - 1).expect("a workload has at most 2^32 objects of one type")
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::Time;

    #[test]
    fn activations_end_up_with_their_messages() {
        let mut b = WorkloadBuilder::new();
        let qp = b.add_qp(HostId(0), HostId(1));
        let first = b.add_message(qp, 10, Start::At(Time::ZERO));
        let second = b.add_message(qp, 20, Start::ByGate);
        let third = b.add_message(qp, 30, Start::ByGate);
        let after_second = b.add_gate(Opens::After(1), &[third]);
        let after_first = b.add_gate(Opens::After(2), &[second]);
        b.activate(second, Done::Delivered, after_second);
        b.activate(first, Done::Acknowledged, after_first);
        b.activate(first, Done::Delivered, after_first);
        let w = b.build().unwrap();
        let of = |m: MessageId| {
            let m = w.messages[m.index()];
            w.activations[m.activations_from as usize..][..m.activations_len as usize].to_vec()
        };
        assert_eq!(
            of(first),
            [
                Activation { on: Done::Acknowledged, gate: after_first },
                Activation { on: Done::Delivered, gate: after_first }
            ]
        );
        assert_eq!(of(second), [Activation { on: Done::Delivered, gate: after_second }]);
        assert_eq!(of(third), []);
        assert_eq!(w.gate_starts, [third, second]);
    }

    #[test]
    fn an_activation_of_nothing_is_refused() {
        let mut b = WorkloadBuilder::new();
        let gate = b.add_gate(Opens::Each, &[]);
        b.activate(MessageId(3), Done::Delivered, gate);
        assert_eq!(
            b.build().unwrap_err().to_string(),
            "inconsistent workload: message 3 activates a gate but was never added"
        );
    }
}
