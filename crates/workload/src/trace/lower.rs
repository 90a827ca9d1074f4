//! The translation of a graph into steps, messages and gates of a workload.

use super::graph::{Graph, Naming, Op, Pairs, PerNode};
use super::{SendEnds, ServerSpec};
use crate::collective::Plan;
use crate::{Done, Job, JobCollective, Opens, Start, Step, WorkloadBuilder, WorkloadError};
use anabranch_base::{Duration, GateId, HostId, MessageId, QpId};
use std::collections::BTreeMap;

/// The mapping of a job to hosts and time.
#[derive(Clone, Copy)]
pub struct Mapping<'a> {
    /// The host of each rank.
    pub hosts: &'a [HostId],
    /// The event that ends a send.
    pub ends: SendEnds,
    /// The servers, within which ranks do not use the network.
    pub server: Option<ServerSpec>,
    /// The time at which the job begins.
    pub start: Duration,
}

impl Graph {
    /// Adds the job to a workload.
    ///
    /// # Errors
    /// A graph that [`Graph::check`] refuses.
    pub fn lower(
        &self,
        builder: &mut WorkloadBuilder,
        format: &'static str,
        mapping: Mapping<'_>,
        naming: Naming<'_>,
    ) -> Result<(), WorkloadError> {
        let pairs = self.check(naming)?;
        let (messages, steps, bytes) = (builder.messages(), builder.steps(), builder.bytes());
        let collectives = Lowering::lower(self, mapping, &pairs, builder);
        builder.add_job(Job {
            algorithm: format,
            bytes: builder.bytes() - bytes,
            hosts: mapping.hosts.to_vec(),
            messages: messages..builder.messages(),
            steps: steps..builder.steps(),
            collectives,
        });
        Ok(())
    }
}

/// Data on the way from one rank to another.
#[derive(Clone, Copy)]
enum Transfer {
    /// A message over the network.
    Message(MessageId),
    /// A transfer over NVLink, with the gate of the step at whose end the receiver has it.
    NvLink(GateId),
}

fn activate(builder: &mut WorkloadBuilder, transfer: Transfer, on: Done, gate: GateId) {
    match transfer {
        Transfer::Message(message) => builder.activate(message, on, gate),
        // Arrival and acknowledgement coincide.
        Transfer::NvLink(step) => builder.activate_after(step, gate),
    }
}

/// The state of the translation.
struct Lowering<'a> {
    graph: &'a Graph,
    mapping: Mapping<'a>,
    builder: &'a mut WorkloadBuilder,
    /// The gate of the step with which each node begins.
    begins: PerNode<GateId>,
    /// The gate of the step with which each node ends, if it is not the first one.
    ends: PerNode<Option<GateId>>,
    /// The transfer of each send node.
    sent: PerNode<Option<Transfer>>,
    qps: BTreeMap<(u32, u32, u32), QpId>,
}

impl<'a> Lowering<'a> {
    fn lower(
        graph: &'a Graph,
        mapping: Mapping<'a>,
        pairs: &Pairs,
        builder: &'a mut WorkloadBuilder,
    ) -> Vec<JobCollective> {
        fn empty<T: Clone>(graph: &Graph, with: T) -> PerNode<T> {
            graph.ranks.iter().map(|nodes| vec![with.clone(); nodes.len()]).collect()
        }
        let mut lowering = Lowering {
            graph,
            mapping,
            builder,
            begins: empty(graph, GateId(0)),
            ends: empty(graph, None),
            sent: empty(graph, None),
            qps: BTreeMap::new(),
        };
        lowering.add_nodes();
        for (&(from, send), &(to, receive)) in pairs {
            let sent = lowering.sent[from as usize][send as usize];
            let over = lowering.ends[to as usize][receive as usize];
            if let (Some(sent), Some(over)) = (sent, over) {
                lowering.activate(sent, Done::Delivered, over);
            }
        }
        lowering.connect();
        lowering.add_collectives();
        lowering.collectives()
    }

    /// The trace's collectives with more than one rank.
    fn collectives(&self) -> Vec<JobCollective> {
        let several = self.graph.collectives.iter().filter(|collective| collective.members.len() > 1);
        let named = several.map(|collective| {
            let member = |&(rank, node): &(u32, u32)| {
                let begins = self.begins[rank as usize][node as usize];
                (rank, [begins, self.ends[rank as usize][node as usize].unwrap_or(begins)])
            };
            let (rank, node) = collective.members[0];
            JobCollective {
                algorithm: collective.algorithm.name(),
                bytes: collective.bytes,
                place: self.graph.ranks[rank as usize][node as usize].place,
                members: collective.members.iter().map(member).collect(),
            }
        });
        named.collect()
    }

    fn qp(&mut self, src: u32, dst: u32, channel: u32) -> QpId {
        let ends = (self.mapping.hosts[src as usize], self.mapping.hosts[dst as usize]);
        *self.qps.entry((src, dst, channel)).or_insert_with(|| self.builder.add_qp(ends.0, ends.1))
    }

    /// Makes the completion `on` of a transfer activate a gate.
    fn activate(&mut self, transfer: Transfer, on: Done, gate: GateId) {
        activate(self.builder, transfer, on, gate);
    }

    /// Adds a transfer between two ranks of a server, which starts after `needs` activations of the returned gate.
    fn send_in_server(
        &mut self,
        server: &ServerSpec,
        [src, dst]: [u32; 2],
        bytes: u64,
        needs: u32,
    ) -> (GateId, Transfer) {
        let ends = [src, dst].map(|rank| (self.mapping.hosts[rank as usize], 0));
        let times = [server.link.time_for(bytes), server.link_latency];
        let [sends, receives] = self.builder.add_nvlink(ends, needs, times);
        (sends, Transfer::NvLink(receives))
    }

    /// The server of two ranks, if they share one.
    fn server_of(&self, one: u32, other: u32) -> Option<ServerSpec> {
        self.mapping.server.filter(|server| server.joins(one, other))
    }

    /// Adds a step for the beginning of each node, and one for the end of nodes that end with an event.
    fn add_nodes(&mut self) {
        for (rank, nodes) in (0_u32..).zip(&self.graph.ranks) {
            let host = (self.mapping.hosts[rank as usize], Step::NO_PROCESSOR);
            let starts = (self.mapping.start > Duration::ZERO && !nodes.is_empty())
                .then(|| self.builder.add_step((host.0, Step::IDLE), 0, self.mapping.start, &[]));
            for (number, node) in nodes.iter().enumerate() {
                let waits = (node.after.len() + node.with.len()) as u32;
                let starts = starts.filter(|_| waits == 0);
                let needs = waits + u32::from(starts.is_some());
                let mut over = None;
                let begins = match node.op {
                    Op::Compute { takes, processor } => {
                        let processor = processor.unwrap_or(Step::NO_PROCESSOR);
                        self.builder.add_step((host.0, processor), needs, takes, &[])
                    }
                    Op::Send { to, bytes, channel, .. } => {
                        let (begins, sent) = match self.server_of(rank, to) {
                            Some(server) => {
                                let begins = self.builder.add_step(host, needs, Duration::ZERO, &[]);
                                let (sends, sent) = self.send_in_server(&server, [rank, to], bytes, 1);
                                self.builder.activate_after(begins, sends);
                                (begins, sent)
                            }
                            None => {
                                let qp = self.qp(rank, to, channel);
                                let message = self.builder.add_message(qp, bytes, Start::ByGate);
                                let begins = self.builder.add_step(host, needs, Duration::ZERO, &[message]);
                                (begins, Transfer::Message(message))
                            }
                        };
                        self.sent[rank as usize][number] = Some(sent);
                        if self.mapping.ends == SendEnds::Acknowledged {
                            let end = self.builder.add_step(host, 1, Duration::ZERO, &[]);
                            self.activate(sent, Done::Acknowledged, end);
                            over = Some(end);
                        }
                        begins
                    }
                    Op::Receive { .. } | Op::Acknowledged { .. } => {
                        over = Some(self.builder.add_step(host, 2, Duration::ZERO, &[]));
                        self.builder.add_step(host, needs, Duration::ZERO, &[])
                    }
                    Op::Collective(number) => {
                        let collective = &self.graph.collectives[number as usize];
                        over = (collective.members.len() > 1)
                            .then(|| self.builder.add_step(host, 0, Duration::ZERO, &[]));
                        self.builder.add_step(host, needs, Duration::ZERO, &[])
                    }
                };
                if let Some(starts) = starts {
                    self.builder.activate_after(starts, begins);
                }
                self.begins[rank as usize][number] = begins;
                self.ends[rank as usize][number] = over;
            }
        }
    }

    /// Adds the dependencies between the nodes of a rank.
    fn connect(&mut self) {
        for (rank, followers) in self.graph.followers().iter().enumerate() {
            let begins = &self.begins[rank];
            for (number, followers) in followers.iter().enumerate() {
                let (begun, over) = (begins[number], self.ends[rank][number]);
                match (self.graph.ranks[rank][number].op, over) {
                    (Op::Receive { .. }, Some(over)) => self.builder.activate_after(begun, over),
                    (Op::Acknowledged { send }, Some(over)) => {
                        self.builder.activate_after(begun, over);
                        if let Some(sent) = self.sent[rank][send as usize] {
                            activate(self.builder, sent, Done::Acknowledged, over);
                        }
                    }
                    _ => {}
                }
                for next in &followers.begun {
                    self.builder.activate_after(begun, begins[*next as usize]);
                }
                for next in &followers.over {
                    self.builder.activate_after(over.unwrap_or(begun), begins[*next as usize]);
                }
            }
        }
    }

    /// Adds the messages of collectives. Each waits for its dependencies in the plan, and for the node of its rank.
    fn add_collectives(&mut self) {
        let mut plans: BTreeMap<(&str, u64, u64, usize), Plan> = BTreeMap::new();
        let graph = self.graph;
        for collective in &graph.collectives {
            let ranks = collective.members.len();
            if ranks < 2 {
                continue;
            }
            let key = (collective.algorithm.name(), collective.bytes, collective.chunk, ranks);
            let plan = plans.entry(key).or_insert_with(|| {
                collective.algorithm.plan(ranks as u32, collective.bytes, collective.chunk, ranks as u32 - 1)
            });
            let mut all_sent: Vec<Transfer> = Vec::with_capacity(plan.sends.len());
            let mut gates: Vec<Vec<GateId>> = vec![Vec::new(); ranks];
            let mut ends: Vec<u32> = vec![0; ranks];
            for send in &plan.sends {
                let (src, dst) =
                    (collective.members[send.src as usize], collective.members[send.dst as usize]);
                let needs = send.waits_len + 1;
                let (gate, sent) = match self.server_of(src.0, dst.0) {
                    Some(server) => self.send_in_server(&server, [src.0, dst.0], send.bytes, needs),
                    None => {
                        let qp = self.qp(src.0, dst.0, collective.channel);
                        let message = self.builder.add_message(qp, send.bytes, Start::ByGate);
                        (self.builder.add_gate(Opens::After(needs), &[message]), Transfer::Message(message))
                    }
                };
                for wait in plan.waits_of(send) {
                    self.activate(all_sent[*wait as usize], Done::Delivered, gate);
                }
                all_sent.push(sent);
                gates[send.src as usize].push(gate);
                let over = |member: (u32, u32)| self.ends[member.0 as usize][member.1 as usize];
                if let (Some(sender), Some(receiver)) = (over(src), over(dst)) {
                    self.activate(sent, Done::Acknowledged, sender);
                    self.activate(sent, Done::Delivered, receiver);
                }
                ends[send.src as usize] += 1;
                ends[send.dst as usize] += 1;
            }
            for ((gates, ends), &(rank, node)) in gates.into_iter().zip(ends).zip(&collective.members) {
                let begins = self.begins[rank as usize][node as usize];
                let over = self.ends[rank as usize][node as usize];
                gates.iter().for_each(|gate| self.builder.activate_after(begins, *gate));
                if let Some(over) = over {
                    // A rank with nothing to send or to receive must reach the collective too.
                    self.builder.activate_after(begins, over);
                    self.builder.set_needs(over, ends + 1);
                }
            }
        }
    }
}
