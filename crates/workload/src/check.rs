//! Checks of the internal consistency of a workload, and its size in memory.

use super::{Done, Fabric, Gate, Message, Opens, Start, Step, Workload, WorkloadError};
use anabranch_base::{GateId, HostId, MessageId};
use std::mem::size_of;
use std::ops::Range;

/// Checks that a workload has messages, and that the hosts of its queue pairs, jobs and steps are on the fabric.
pub(super) fn on_fabric(workload: &Workload, fabric: &Fabric) -> Result<(), WorkloadError> {
    let ends = workload.qps.iter().flat_map(|qp| [qp.src, qp.dst]);
    let ranks = workload.jobs.iter().flat_map(|job| job.hosts.iter().copied());
    let steps = workload.steps.iter().map(|step| step.host);
    let problem = match ends.chain(ranks).chain(steps).find(|host| host.0 >= fabric.hosts) {
        Some(host) => format!("there is no host {host}: they are 0 to {}", fabric.hosts - 1),
        None if workload.messages.is_empty() => "there is no message".to_owned(),
        None => return Ok(()),
    };
    Err(WorkloadError::Inconsistent(problem))
}

impl Workload {
    /// Checks that ids and ranges are valid and that no host sends to itself. Also checks that each message has at
    /// least one byte and exactly one start condition, and that steps affect other hosts only where they may. Every
    /// message must be able to start, and every step to begin.
    ///
    /// The caller must check that the hosts exist, because a workload does not know the fabric. Groups, and the rank
    /// steps and collectives of jobs, are not checked.
    ///
    /// # Errors
    /// [`WorkloadError::Inconsistent`] names the first contradiction. [`WorkloadError::NeverStart`] names the messages
    /// that never start, because their gates wait for each other in a cycle or for more activations than there are.
    pub fn validate(&self) -> Result<(), WorkloadError> {
        self.check_references().map_err(WorkloadError::Inconsistent)?;
        self.check_starts().map_err(WorkloadError::Inconsistent)?;
        self.check_steps().map_err(WorkloadError::Inconsistent)?;
        let (messages, step) = self.never_started();
        match step {
            _ if !messages.is_empty() => Err(WorkloadError::NeverStart { messages }),
            Some(step) => Err(WorkloadError::Inconsistent(format!("step {step} never begins"))),
            None => Ok(()),
        }
    }

    /// The memory that this workload occupies, in bytes.
    pub fn memory_bytes(&self) -> usize {
        fn heap<T>(vec: &Vec<T>) -> usize {
            vec.capacity() * size_of::<T>()
        }
        size_of::<Workload>()
            + heap(&self.qps)
            + heap(&self.messages)
            + heap(&self.gates)
            + heap(&self.gate_starts)
            + heap(&self.activations)
            + heap(&self.steps)
            + heap(&self.step_gates)
            + heap(&self.jobs)
            + heap(&self.groups)
            + self
                .jobs
                .iter()
                .map(|job| heap(&job.hosts) + heap(&job.rank_steps) + heap(&job.collectives))
                .sum::<usize>()
            + self
                .jobs
                .iter()
                .flat_map(|job| &job.collectives)
                .map(|collective| heap(&collective.members))
                .sum::<usize>()
    }

    fn check_references(&self) -> Result<(), String> {
        for (id, qp) in self.qps.iter().enumerate() {
            if qp.src == qp.dst {
                return Err(format!("queue pair {id} goes from host {} to itself", qp.src));
            }
        }
        for (id, message) in self.messages.iter().enumerate() {
            if message.qp.index() >= self.qps.len() {
                return Err(format!("message {id} is on queue pair {}, which does not exist", message.qp));
            }
            if message.bytes == 0 {
                return Err(format!("message {id} has no bytes; the least is 1"));
            }
            if !within(message.activations_from, message.activations_len, self.activations.len()) {
                return Err(format!("message {id} owns activations that do not exist"));
            }
        }
        for (id, gate) in self.gates.iter().enumerate() {
            if !within(gate.starts_from, gate.starts_len, self.gate_starts.len()) {
                return Err(format!("gate {id} owns starts that do not exist"));
            }
            if gate.opens == Opens::After(0) {
                return Err(format!("gate {id} opens after no activation; the least is 1"));
            }
        }
        let mut from = 0;
        let mut steps_from = 0;
        for (id, job) in self.jobs.iter().enumerate() {
            let Range { start, end } = job.steps;
            if start == end {
                // A job without steps has an empty range.
            } else if start < steps_from || end < start || end as usize > self.steps.len() {
                return Err(format!(
                    "job {id} has steps {start} to {end}, which do not exist or are another's"
                ));
            }
            steps_from = steps_from.max(end);
            let Range { start, end } = job.messages;
            if start < from || end < start || end as usize > self.messages.len() {
                return Err(format!(
                    "job {id} has messages {start} to {end} (not included); they must be within {from} to {}",
                    self.messages.len()
                ));
            }
            from = end;
        }
        match self.activations.iter().find(|a| a.gate.index() >= self.gates.len()) {
            Some(a) => Err(format!("a message activates gate {}, which does not exist", a.gate)),
            None => Ok(()),
        }
    }

    /// Checks that each message with [`Start::ByGate`] is in exactly one gate's list, and that no other message is in a
    /// list.
    fn check_starts(&self) -> Result<(), String> {
        let mut listed = vec![false; self.messages.len()];
        for (id, gate) in self.gates.iter().enumerate() {
            for start in self.starts_of(gate) {
                match self.messages.get(start.index()).map(|m| m.start) {
                    None => return Err(format!("gate {id} starts message {start}, which does not exist")),
                    Some(Start::At(time)) => {
                        return Err(format!(
                            "message {start} starts at {time} and by gate {id}; give it one start"
                        ));
                    }
                    Some(Start::ByGate) if listed[start.index()] => {
                        return Err(format!(
                            "message {start} is listed twice by gates, the second time by gate {id}"
                        ));
                    }
                    Some(Start::ByGate) => listed[start.index()] = true,
                }
            }
        }
        let orphan =
            self.messages.iter().zip(&listed).position(|(m, listed)| m.start == Start::ByGate && !listed);
        match orphan {
            Some(id) => Err(format!("message {id} waits for a gate, but no gate lists it")),
            None => Ok(()),
        }
    }

    /// Checks that steps and their gates refer to each other. A step may start only messages of its own host. It may
    /// activate gates of other hosts only if it [may reach others](Step::reaches_others). A message may activate steps
    /// only of the host where it ends: the receiver if it is delivered, the sender if it is acknowledged.
    fn check_steps(&self) -> Result<(), String> {
        if self.steps.is_empty() && !self.gates.iter().any(|gate| matches!(gate.opens, Opens::Step(_))) {
            return Ok(());
        }
        let mut at: Vec<Option<HostId>> = vec![None; self.gates.len()];
        for (id, step) in self.steps.iter().enumerate() {
            let gate = self.gates.get(step.gate.index());
            if gate.is_none_or(|gate| gate.opens != Opens::Step(id as u32)) {
                return Err(format!("step {id} has gate {}, which is not its own", step.gate));
            }
            if !within(step.gates_from, step.gates_len, self.step_gates.len())
                || self.gates_of(step).iter().any(|gate| gate.index() >= self.gates.len())
            {
                return Err(format!("step {id} activates gates that do not exist"));
            }
            at[step.gate.index()] = Some(step.host);
        }
        if let Some(id) = self.gates.iter().position(|gate| match gate.opens {
            Opens::Step(step) => {
                self.steps.get(step as usize).is_none_or(|step| at[step.gate.index()].is_none())
            }
            _ => false,
        }) {
            return Err(format!("gate {id} opens after a step that does not exist"));
        }
        let source = |message: &MessageId| self.qps[self.messages[message.index()].qp.index()].src;
        for (id, step) in self.steps.iter().enumerate() {
            let elsewhere = |gate: &GateId| {
                let of_other = at[gate.index()].is_some_and(|host| host != step.host);
                of_other || self.starts_of(&self.gates[gate.index()]).iter().any(|m| source(m) != step.host)
            };
            let reaches = !step.reaches_others() && self.gates_of(step).iter().any(elsewhere);
            if elsewhere(&step.gate) || reaches {
                return Err(format!(
                    "step {id} is of host {}, and starts messages or activates steps of another host",
                    step.host
                ));
            }
        }
        for (id, message) in self.messages.iter().enumerate() {
            let ends = self.qps[message.qp.index()];
            let owned =
                &self.activations[message.activations_from as usize..][..message.activations_len as usize];
            for activation in owned {
                let host = if activation.on == Done::Delivered { ends.dst } else { ends.src };
                if at[activation.gate.index()].is_some_and(|other| other != host) {
                    return Err(format!(
                        "message {id} ends at host {host} and activates a step of another host"
                    ));
                }
            }
        }
        Ok(())
    }

    /// The messages that never start, in order, and the first step that never begins. Every message that starts is
    /// assumed to complete.
    ///
    /// The number of activations alone decides whether a gate opens, and further activations never close it. The order
    /// in which messages complete therefore does not matter.
    fn never_started(&self) -> (Vec<MessageId>, Option<usize>) {
        let mut started: Vec<bool> = self.messages.iter().map(|m| m.start != Start::ByGate).collect();
        let mut ended: Vec<&Message> = self.messages.iter().filter(|m| m.start != Start::ByGate).collect();
        let mut activated = vec![0u64; self.gates.len()];
        let mut active: Vec<GateId> = Vec::new();
        let open = |started: &mut Vec<bool>, ended: &mut Vec<_>, starts: &[MessageId]| {
            for start in starts {
                started[start.index()] = true;
                ended.push(&self.messages[start.index()]);
            }
        };
        for step in self.steps.iter().filter(|step| step.needs == 0) {
            open(&mut started, &mut ended, self.starts_of(&self.gates[step.gate.index()]));
            active.extend(self.gates_of(step));
        }
        loop {
            while let Some(gate_id) = active.pop() {
                let gate = &self.gates[gate_id.index()];
                let before = activated[gate_id.index()];
                activated[gate_id.index()] += 1;
                let starts = self.starts_of(gate);
                let opened = match gate.opens {
                    Opens::After(count) if before + 1 == u64::from(count) => starts,
                    Opens::After(_) => &[],
                    Opens::Each => starts.get(before as usize).map_or(&[][..], std::slice::from_ref),
                    Opens::Step(step) => {
                        let step = &self.steps[step as usize];
                        if before + 1 == u64::from(step.needs) {
                            active.extend(self.gates_of(step));
                            starts
                        } else {
                            &[]
                        }
                    }
                };
                open(&mut started, &mut ended, opened);
            }
            let Some(message) = ended.pop() else { break };
            let owned =
                &self.activations[message.activations_from as usize..][..message.activations_len as usize];
            active.extend(owned.iter().map(|activation| activation.gate));
        }
        let idle = |step: &Step| activated[step.gate.index()] < u64::from(step.needs);
        let step = self.steps.iter().position(idle);
        ((0..).map(MessageId).zip(started).filter(|(_, started)| !started).map(|(id, _)| id).collect(), step)
    }

    /// The gates that a step activates.
    pub fn gates_of(&self, step: &Step) -> &[GateId] {
        &self.step_gates[step.gates_from as usize..][..step.gates_len as usize]
    }

    fn starts_of(&self, gate: &Gate) -> &[MessageId] {
        &self.gate_starts[gate.starts_from as usize..][..gate.starts_len as usize]
    }
}

fn within(from: u32, len: u32, of: usize) -> bool {
    u64::from(from) + u64::from(len) <= of as u64
}

#[cfg(test)]
mod tests {
    use super::super::WorkloadBuilder;
    use super::*;
    use anabranch_base::{Duration, QpId, Rate, Time};

    fn wrong(make: impl FnOnce(&mut WorkloadBuilder, QpId)) -> String {
        let mut b = WorkloadBuilder::new();
        let qp = b.add_qp(HostId(0), HostId(1));
        make(&mut b, qp);
        b.build().unwrap_err().to_string()
    }

    #[test]
    fn contradictions_are_named() {
        let now = Start::At(Time::ZERO);
        let says =
            |text: &str, expected: &str| assert_eq!(text, format!("inconsistent workload: {expected}"));
        says(
            &wrong(|b, _| {
                b.add_qp(HostId(7), HostId(7));
            }),
            "queue pair 1 goes from host 7 to itself",
        );
        says(
            &wrong(|b, _| {
                b.add_message(QpId(5), 1, now);
            }),
            "message 0 is on queue pair 5, which does not exist",
        );
        says(
            &wrong(|b, qp| {
                b.add_message(qp, 0, now);
            }),
            "message 0 has no bytes; the least is 1",
        );
        says(
            &wrong(|b, qp| {
                b.add_message(qp, 1, Start::ByGate);
            }),
            "message 0 waits for a gate, but no gate lists it",
        );
        says(
            &wrong(|b, qp| {
                let m = b.add_message(qp, 1, now);
                b.add_gate(Opens::Each, &[m]);
            }),
            "message 0 starts at 0ps and by gate 0; give it one start",
        );
        says(
            &wrong(|b, qp| {
                let m = b.add_message(qp, 1, Start::ByGate);
                b.add_gate(Opens::Each, &[m, m]);
            }),
            "message 0 is listed twice by gates, the second time by gate 0",
        );
        says(
            &wrong(|b, _| {
                b.add_gate(Opens::After(0), &[]);
            }),
            "gate 0 opens after no activation; the least is 1",
        );
        says(
            &wrong(|b, qp| {
                let m = b.add_message(qp, 1, now);
                b.activate(m, Done::Delivered, anabranch_base::GateId(2));
            }),
            "a message activates gate 2, which does not exist",
        );
    }

    #[test]
    fn ranges_outside_are_refused() {
        let mut b = WorkloadBuilder::new();
        let qp = b.add_qp(HostId(0), HostId(1));
        b.add_message(qp, 1, Start::At(Time::ZERO));
        let mut w = b.build().unwrap();
        w.messages[0].activations_from = u32::MAX;
        w.messages[0].activations_len = u32::MAX;
        assert!(
            w.validate().unwrap_err().to_string().contains("message 0 owns activations that do not exist")
        );
    }

    #[test]
    fn cycles_and_missing_activations_are_found() {
        let text = wrong(|b, qp| {
            let first = b.add_message(qp, 1, Start::At(Time::ZERO));
            let a = b.add_message(qp, 1, Start::ByGate);
            let c = b.add_message(qp, 1, Start::ByGate);
            let ga = b.add_gate(Opens::After(2), &[a]);
            let gc = b.add_gate(Opens::After(1), &[c]);
            b.activate(first, Done::Delivered, ga);
            b.activate(a, Done::Delivered, gc);
            b.activate(c, Done::Delivered, ga);
        });
        assert!(text.starts_with("messages 1, 2 can never start"), "{text}");
        let text = wrong(|b, qp| {
            let first = b.add_message(qp, 1, Start::At(Time::ZERO));
            let later: Vec<_> = (0..11).map(|_| b.add_message(qp, 1, Start::ByGate)).collect();
            let gate = b.add_gate(Opens::Each, &later);
            b.activate(first, Done::Delivered, gate);
            b.activate(later[0], Done::Acknowledged, gate);
        });
        assert!(text.starts_with("messages 3, 4, 5, 6, 7, 8, 9, 10 and 1 more can never start"), "{text}");
    }

    #[test]
    fn a_step_of_a_host_that_does_not_exist_is_refused() {
        let fabric = Fabric {
            hosts: 16,
            host_rate: Rate::from_gbps(100),
            tor_of: vec![0; 16],
            dcs: 1,
            file_nodes: Vec::new(),
            dims: Vec::new(),
            servers: None,
            of_gpus: false,
        };
        let with_step_of = |host: u32| {
            let mut builder = WorkloadBuilder::new();
            let qp = builder.add_qp(HostId(0), HostId(1));
            builder.add_message(qp, 1, Start::At(Time::ZERO));
            builder.add_step((HostId(host), 0), 0, Duration::ZERO, &[]);
            on_fabric(&builder.build().unwrap(), &fabric)
        };
        with_step_of(15).unwrap();
        let error = with_step_of(99).unwrap_err().to_string();
        assert!(error.contains("there is no host 99: they are 0 to 15"), "{error}");
    }
}
