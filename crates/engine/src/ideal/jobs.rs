//! A lower bound for the CCT of a job. It follows from the order of the job's messages, their bytes and the links.

use super::{Ideal, ack_return};
use anabranch_base::{Duration, GateId, HostId, NodeId, QpId, Rate};
use anabranch_fabric::Topology;
use anabranch_workload::{Activation, Done, Job, Opens, Qp, Start, Step, Workload};
use std::collections::BTreeMap;

/// The size and the times of a message that is alone in the network.
#[derive(Clone, Copy)]
struct UnloadedTimes {
    /// A lower bound of the bytes of the message on the wire, with headers.
    wire: u64,
    /// The time from posting until the last byte arrives at the receiver.
    arrival: u64,
    /// The time from posting until the last ACK reaches the sender.
    acknowledged: u64,
    /// The earliest times from posting until the first bit enters the first, second, second-last and last link.
    leads: [u64; 4],
    /// The shortest times from when the last bit leaves the first, second, second-last and last link until the ACK
    /// reaches the sender.
    tails: [u64; 4],
    /// Whether the message leaves the ToRs of its sender.
    crosses: bool,
}

/// A resource that messages use one after the other. `lead` is the shortest time from the posting of a message until
/// the message reaches the resource. `tail` is the shortest time from when a message leaves the resource until the
/// message is done.
#[derive(Clone, Copy)]
struct Bottleneck {
    busy_until: u64,
    lead: u64,
    tail: u64,
}

/// The four resources that a message uses, as indexes into [`UnloadedTimes::leads`]: the sender's NIC, all uplinks of
/// the sender's ToRs together, all downlinks to the receiver's ToRs together, and all links to the receiver together.
const SENDER: usize = 0;
const UPLINKS: usize = 1;
const DOWNLINKS: usize = 2;
const RECEIVER: usize = 3;

impl Bottleneck {
    const FREE: Bottleneck = Bottleneck { busy_until: 0, lead: u64::MAX, tail: u64::MAX };

    /// Adds a message that occupies the resource for `time` and cannot start before `start`. Calls are made in the
    /// order of the start times.
    fn pass(&mut self, start: u64, time: u64, lead: u64, tail: u64) {
        self.busy_until = self.busy_until.max(start).saturating_add(time);
        (self.lead, self.tail) = (self.lead.min(lead), self.tail.min(tail));
    }

    fn done(&self) -> u64 {
        self.busy_until.saturating_add(self.lead).saturating_add(self.tail)
    }
}

/// A resource at some nodes: its index in [`UnloadedTimes::leads`], the nodes, and the ports of the ToR if only some
/// of them belong to the resource.
type Place<'a> = (usize, &'a [NodeId], &'a [u16]);

struct HostNodes {
    host: [NodeId; 1],
    /// The ToRs of the host's ports, each once and in ascending order.
    tors: Vec<NodeId>,
}

impl HostNodes {
    fn of(topology: &Topology, host: HostId) -> Self {
        let mut tors: Vec<NodeId> =
            (0..topology.host_ports(host)).map(|port| topology.tor_of(host, port)).collect();
        tors.sort_unstable();
        tors.dedup();
        HostNodes { host: [host.into()], tors }
    }
}

impl Ideal<'_> {
    /// The lower bound of each job's CCT, from its first posting or step to the end of its last message or step, for
    /// any transport and load balancer. No run is faster unless a fault or an inexact clock makes a link faster. The
    /// result is the largest of these bounds:
    ///
    /// - The chain of messages and steps that wait for each other. A message or step begins no earlier than the end of
    ///   those that it waits for. A message takes the time that it needs alone in the network ([`Ideal::fct`]).
    /// - The links of each host together, once for the bytes that the host sends and once for the bytes that it
    ///   receives. Each message counts from its earliest posting in the chain on. The rest of the shortest path and the
    ///   way back are added.
    /// - The links of each ToR to other switches, at the total rate of these links: once for the bytes that its hosts
    ///   send to other ToRs, and once for the bytes that they receive from other ToRs. This bound matters in an
    ///   oversubscribed fabric. It also holds for the messages whose shortest paths use the same links of the ToR, at
    ///   the rate of these links, which matters where each neighbour has links of its own (tori, meshes, hosts that are
    ///   joined directly). The ToRs of a host with several ports count together, over all planes.
    /// - Each processor, and the NVLinks of each GPU in either direction, whose steps run one after the other.
    ///
    /// Each job's bound ignores the other jobs. Gates that other jobs open count as open. Gates that let one message
    /// pass at a time (an all-to-all with few connections) also count as open.
    pub fn ccts(&self, workload: &Workload) -> Vec<Duration> {
        let mut gates = vec![Activations::NONE; workload.gates.len()];
        let of_messages = workload.activations.iter().map(|activation| activation.gate);
        of_messages.chain(workload.step_gates.iter().copied()).for_each(|gate| gates[gate.index()].all += 1);
        let hosts = if workload.jobs.is_empty() { 0 } else { self.topology.hosts };
        let nodes: Vec<HostNodes> =
            (0..hosts).map(|host| HostNodes::of(self.topology, HostId(host))).collect();
        workload.jobs.iter().map(|job| self.cct(workload, job, &nodes, &mut gates)).collect()
    }

    fn cct(
        &self,
        workload: &Workload,
        job: &Job,
        nodes: &[HostNodes],
        gates: &mut [Activations],
    ) -> Duration {
        let mut known: BTreeMap<(QpId, u64), UnloadedTimes> = BTreeMap::new();
        let mut unloaded = |message: u32| {
            let message = &workload.messages[message as usize];
            let key = (message.qp, message.bytes);
            *known.entry(key).or_insert_with(|| {
                let ends = workload.qps[message.qp.index()];
                self.unloaded(ends.src, ends.dst, message.bytes)
            })
        };
        let (starts, chain) = starts(workload, job, gates, &mut unloaded);
        let mut order: Vec<u32> = (0..starts.len() as u32).collect();
        order.sort_by_key(|&message| starts[message as usize]);
        let mut places: BTreeMap<Place<'_>, (Bottleneck, u128)> = BTreeMap::new();
        for message in order {
            let (start, of) = (starts[message as usize], unloaded(job.messages.start + message));
            let ends = workload.qps[workload.messages[(job.messages.start + message) as usize].qp.index()];
            let [from, to] = [ends.src, ends.dst].map(|host| &nodes[host.index()]);
            let at = [&from.host[..], &from.tors, &to.tors, &to.host];
            for place in [SENDER, UPLINKS, DOWNLINKS, RECEIVER] {
                let is_of_tor = place == UPLINKS || place == DOWNLINKS;
                if is_of_tor && !of.crosses {
                    continue;
                }
                let one_tor = is_of_tor && at[place].len() == 1;
                let some = one_tor.then(|| self.ports_used(place, at[place][0], ends)).flatten();
                let mut pass = |ports, rate: &dyn Fn() -> u128| {
                    let free = || (Bottleneck::FREE, rate().max(1));
                    let (bottleneck, rate) = places.entry((place, at[place], ports)).or_insert_with(free);
                    let time = u128::from(of.wire) * 8_000_000_000_000 / *rate;
                    let time = u64::try_from(time).unwrap_or(u64::MAX);
                    bottleneck.pass(start, time, of.leads[place], of.tails[place]);
                };
                pass(&[], &|| at[place].iter().map(|node| self.rate_at(place, *node)).sum());
                if let Some((ports, rate)) = some {
                    pass(ports, &|| rate);
                }
            }
        }
        let computing = busiest_processor(workload, job);
        let busiest = places.values().map(|(bottleneck, _)| bottleneck.done()).max().unwrap_or(0);
        Duration(busiest.max(chain).max(computing))
    }

    /// The rate of a resource at `node`, in bits per second.
    fn rate_at(&self, place: usize, node: NodeId) -> u128 {
        let links = self.topology.links_of(node);
        let ports = links.map(|link| &self.topology.ports[link as usize]);
        let hosts = self.topology.hosts;
        let rate = |rate: Rate| u128::from(rate.0);
        match place {
            SENDER => ports.map(|port| rate(port.rate)).sum(),
            UPLINKS => ports.filter(|port| port.peer.0 >= hosts).map(|port| rate(port.rate)).sum(),
            _ => {
                let towards = self.topology.links_of(node).map(|link| {
                    let port = &self.topology.ports[link as usize];
                    let back = self.topology.reverse(anabranch_base::LinkId(link));
                    (port.peer, rate(self.topology.ports[back.index()].rate))
                });
                towards.filter(|(peer, _)| place == RECEIVER || peer.0 >= hosts).map(|(_, rate)| rate).sum()
            }
        }
    }

    /// The ports of the ToR at `node` on the shortest paths between two hosts, with the total rate of their links up
    /// ([`UPLINKS`]) or down ([`DOWNLINKS`]) in bits per second. None if the ToR has no further ports to other
    /// switches, or if the other host has several ToRs.
    fn ports_used(&self, place: usize, node: NodeId, ends: Qp) -> Option<(&[u16], u128)> {
        let (here, there) = if place == UPLINKS { (ends.src, ends.dst) } else { (ends.dst, ends.src) };
        let tors = (0..self.topology.links_of(there.into()).len() as u16)
            .map(|port| self.routing.tor_index(there, port));
        let tor = self.routing.tor_index(there, 0);
        if tors.into_iter().any(|other| other != tor) {
            return None;
        }
        let ports = self.routing.group(self.routing.tor_index(here, 0) as usize, tor);
        let to_switches = |link: &u32| self.topology.ports[*link as usize].peer.0 >= self.topology.hosts;
        if ports.len() == self.topology.links_of(node).filter(to_switches).count() {
            return None;
        }
        let rate = |port: &u16| {
            let up = self.topology.link(node, *port);
            let link = if place == UPLINKS { up } else { self.topology.reverse(up) };
            u128::from(self.topology.ports[link.index()].rate.0)
        };
        Some((ports, ports.iter().map(rate).sum()))
    }

    fn unloaded(&self, src: HostId, dst: HostId, bytes: u64) -> UnloadedTimes {
        let tiers = self.tiers(src, dst);
        let acknowledged = self.fct(src, dst, bytes).0;
        let ack = ack_return(&tiers).0;
        // The time that the shortest packet takes to a resource is a lower bound for all packets.
        let shortest = self.parts(bytes).iter().map(|parts| parts.last).min().unwrap_or(0);
        let (mut leads, mut tails) = ([0; 4], [0; 4]);
        let last = tiers.len().saturating_sub(1);
        for (place, link) in [0, 1, last.saturating_sub(1), last].into_iter().enumerate() {
            let to = |links: &[super::Tier]| -> u64 {
                links.iter().map(|tier| tier.rate.time_for(shortest).0 + tier.onward.0).sum()
            };
            leads[place] = to(tiers.get(..link).unwrap_or(&[]));
            let onward = tiers.get(link).map_or(0, |tier| tier.onward.0);
            tails[place] = onward + to(tiers.get(link + 1..).unwrap_or(&[])) + ack;
        }
        UnloadedTimes {
            wire: bytes.saturating_add(bytes.div_ceil(self.framing.payload.0) * self.framing.header.0),
            arrival: acknowledged - ack,
            acknowledged,
            leads,
            tails,
            crosses: tiers.len() > 2,
        }
    }
}

fn busiest_processor(workload: &Workload, job: &Job) -> u64 {
    let mut busy: BTreeMap<(HostId, u32), u64> = BTreeMap::new();
    for step in &workload.steps[job.steps.start as usize..job.steps.end as usize] {
        if step.is_serial() {
            *busy.entry((step.host, step.processor)).or_default() += step.takes.0;
        }
    }
    busy.into_values().max().unwrap_or(0)
}

/// The activations of a gate. A gate holds work back until it has been activated often enough.
#[derive(Clone, Copy)]
struct Activations {
    /// The number of messages and steps, of any job, that activate the gate.
    all: u32,
    /// The number of messages and steps of the present job that activate the gate.
    inside: u32,
    /// The number of messages and steps of the present job that have not activated the gate yet.
    left: u32,
    earliest: u64,
    latest: u64,
}

impl Activations {
    const NONE: Activations = Activations { all: 0, inside: 0, left: 0, earliest: u64::MAX, latest: 0 };

    fn add_inside(&mut self) {
        (self.inside, self.left) = (self.inside + 1, self.left + 1);
    }

    fn reset(&mut self) {
        *self = Activations { all: self.all, ..Activations::NONE };
    }

    /// A lower bound of the time at which a gate that needs `needs` activations opens. If the gate needs all
    /// activations, the bound is the time of the present job's last activation. Otherwise it is the time of the first
    /// activation, or 0 if other jobs activate the gate too.
    fn open(&self, needs: u32) -> u64 {
        match needs {
            _ if needs >= self.all => self.latest,
            _ if self.all == self.inside => self.earliest,
            _ => 0,
        }
    }
}

#[derive(Clone, Copy)]
enum JobItem {
    Message(u32),
    Step(u32),
}

#[derive(Clone, Copy)]
struct JobGates<'w> {
    workload: &'w Workload,
    job: &'w Job,
}

impl<'w> JobGates<'w> {
    fn activations(self, message: u32) -> &'w [Activation] {
        let message = &self.workload.messages[message as usize];
        let from = message.activations_from as usize;
        &self.workload.activations[from..from + message.activations_len as usize]
    }

    fn activated_by_step(self, step: u32) -> &'w [GateId] {
        self.workload.gates_of(&self.workload.steps[step as usize])
    }

    /// The gates that the messages and steps of the job activate, once for each activation.
    fn activated(self) -> impl Iterator<Item = GateId> {
        let by_messages = self.job.messages.clone().flat_map(move |message| self.activations(message));
        let by_steps = self.job.steps.clone().flat_map(move |step| self.activated_by_step(step));
        by_messages.map(|activation| activation.gate).chain(by_steps.copied())
    }

    fn started_by(self, gate: GateId) -> impl Iterator<Item = u32> {
        let gate = &self.workload.gates[gate.index()];
        let from = gate.starts_from as usize;
        let started = self.workload.gate_starts[from..from + gate.starts_len as usize].iter();
        started.map(|message| message.0).filter(move |message| self.job.messages.contains(message))
    }

    /// The messages and steps that do not wait for others of the same job. `gates` has the activations inside the job.
    fn ready(self, gates: &[Activations]) -> Vec<JobItem> {
        let JobGates { workload, job } = self;
        let first = job.messages.start;
        let mut held = vec![false; job.messages.len()];
        let mut hold = |gate: GateId| {
            for message in self.started_by(gate) {
                held[(message - first) as usize] =
                    matches!(workload.messages[message as usize].start, Start::ByGate);
            }
        };
        self.activated()
            .filter(|gate| matches!(workload.gates[gate.index()].opens, Opens::After(_)))
            .for_each(&mut hold);
        job.steps.clone().for_each(|step| hold(workload.steps[step as usize].gate));
        let free = job.messages.clone().filter(|message| !held[(message - first) as usize]);
        let waits_for_none = |step: &u32| gates[workload.steps[*step as usize].gate.index()].inside == 0;
        let steps = job.steps.clone().filter(waits_for_none);
        free.map(JobItem::Message).chain(steps.map(JobItem::Step)).collect()
    }
}

/// The earliest posting of each message of a job, and the end of the chain of messages and steps that wait for each
/// other. Both are counted from the beginning of the job. The function restores `gates` before it returns.
fn starts(
    workload: &Workload,
    job: &Job,
    gates: &mut [Activations],
    unloaded: &mut impl FnMut(u32) -> UnloadedTimes,
) -> (Vec<u64>, u64) {
    let its = JobGates { workload, job };
    let (first, first_step) = (job.messages.start, job.steps.start);
    its.activated().for_each(|gate| gates[gate.index()].add_inside());
    let mut begins = vec![0; job.steps.len()];
    // Messages that wait for nothing in this job are posted at time 0.
    let mut starts = vec![0; job.messages.len()];
    let mut ready = its.ready(gates);
    let mut chain = 0;
    let mut opened = Vec::new();
    while let Some(item) = ready.pop() {
        let mut activate = |gate: GateId, end: u64| {
            let known = &mut gates[gate.index()];
            known.left -= 1;
            (known.earliest, known.latest) = (known.earliest.min(end), known.latest.max(end));
            if known.left == 0 {
                opened.push((gate, *known));
            }
        };
        match item {
            JobItem::Message(message) => {
                let (start, times) = (starts[(message - first) as usize], unloaded(message));
                chain = chain.max(start + times.acknowledged);
                for activation in its.activations(message) {
                    let delivered = activation.on == Done::Delivered;
                    let time = if delivered { times.arrival } else { times.acknowledged };
                    activate(activation.gate, start + time);
                }
            }
            JobItem::Step(number) => {
                let step = &workload.steps[number as usize];
                // An idle step before the job begins is not part of the job.
                let is_before = step.processor == Step::IDLE && step.needs == 0;
                let takes = if is_before { 0 } else { step.least_time().0 };
                let end: u64 = begins[(number - first_step) as usize] + takes;
                chain = chain.max(end);
                for message in its.started_by(step.gate) {
                    starts[(message - first) as usize] = end;
                    ready.push(JobItem::Message(message));
                }
                its.activated_by_step(number).iter().for_each(|gate| activate(*gate, end));
            }
        }
        for (gate, known) in opened.drain(..) {
            match workload.gates[gate.index()].opens {
                Opens::After(needs) => {
                    for message in its.started_by(gate) {
                        starts[(message - first) as usize] = known.open(needs);
                        ready.push(JobItem::Message(message));
                    }
                }
                Opens::Step(step) if job.steps.contains(&step) => {
                    begins[(step - first_step) as usize] = known.open(workload.steps[step as usize].needs);
                    ready.push(JobItem::Step(step));
                }
                Opens::Step(_) | Opens::Each => {}
            }
        }
    }
    its.activated().for_each(|gate| gates[gate.index()].reset());
    (starts, chain)
}
