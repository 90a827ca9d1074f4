//! From a graph to a workload: steps, messages and what starts them.

use super::graph::{Graph, Naming, Op, Pairs, PerNode};
use super::{SendEnds, ServerSpec};
use crate::collective::Plan;
use crate::{Done, Job, JobCollective, Opens, Start, Step, WorkloadBuilder, WorkloadError};
use anabranch_base::{Duration, GateId, HostId, MessageId, QpId};
use std::collections::BTreeMap;

/// How messages go from rank to rank.
#[derive(Clone, Copy)]
pub struct Ways<'a> {
    /// The host of each rank.
    pub hosts: &'a [HostId],
    /// When a send is over.
    pub ends: SendEnds,
    /// Ranks that have another way to each other.
    pub server: Option<ServerSpec>,
    /// When all of it begins.
    pub start: Duration,
}

impl Graph {
    /// Adds the job of rank after rank.
    ///
    /// # Errors
    /// The errors of [`Graph::check`].
    pub fn lower(
        &self,
        builder: &mut WorkloadBuilder,
        format: &'static str,
        ways: Ways<'_>,
        naming: Naming<'_>,
    ) -> Result<(), WorkloadError> {
        let pairs = self.check(naming)?;
        let (messages, steps, bytes) = (builder.messages(), builder.steps(), builder.bytes());
        let collectives = Lowering::lower(self, ways, &pairs, builder);
        builder.add_job(Job {
            algorithm: format,
            bytes: builder.bytes() - bytes,
            hosts: ways.hosts.to_vec(),
            messages: messages..builder.messages(),
            steps: steps..builder.steps(),
            collectives,
        });
        Ok(())
    }
}

/// Something that was sent.
#[derive(Clone, Copy)]
enum Sent {
    /// Over the network.
    Message(MessageId),
    /// Within a server: the step at whose end it is there.
    Within(GateId),
}

fn activate(builder: &mut WorkloadBuilder, sent: Sent, on: Done, gate: GateId) {
    match sent {
        Sent::Message(message) => builder.activate(message, on, gate),
        // Its sender knows when it is there.
        Sent::Within(step) => builder.activate_after(step, gate),
    }
}

/// A graph on its way to being a workload.
struct Lowering<'a> {
    graph: &'a Graph,
    ways: Ways<'a>,
    builder: &'a mut WorkloadBuilder,
    /// The step that is a node's beginning.
    begins: PerNode<GateId>,
    /// Where a node's end is another step than its beginning.
    over: PerNode<Option<GateId>>,
    /// Of sends.
    sent: PerNode<Option<Sent>>,
    qps: BTreeMap<(u32, u32, u32), QpId>,
}

impl<'a> Lowering<'a> {
    fn lower(
        graph: &'a Graph,
        ways: Ways<'a>,
        pairs: &Pairs,
        builder: &'a mut WorkloadBuilder,
    ) -> Vec<JobCollective> {
        fn empty<T: Clone>(graph: &Graph, with: T) -> PerNode<T> {
            graph.ranks.iter().map(|nodes| vec![with.clone(); nodes.len()]).collect()
        }
        let mut lowering = Lowering {
            graph,
            ways,
            builder,
            begins: empty(graph, GateId(0)),
            over: empty(graph, None),
            sent: empty(graph, None),
            qps: BTreeMap::new(),
        };
        lowering.add_nodes();
        for (&(from, send), &(to, receive)) in pairs {
            let sent = lowering.sent[from as usize][send as usize];
            let over = lowering.over[to as usize][receive as usize];
            if let (Some(sent), Some(over)) = (sent, over) {
                lowering.activate(sent, Done::Delivered, over);
            }
        }
        lowering.connect();
        lowering.add_collectives();
        lowering.collectives()
    }

    /// What the trace's collectives are, where they have more than one rank.
    fn collectives(&self) -> Vec<JobCollective> {
        let several = self.graph.collectives.iter().filter(|its| its.members.len() > 1);
        let named = several.map(|its| {
            let member = |&(rank, node): &(u32, u32)| {
                let begins = self.begins[rank as usize][node as usize];
                (rank, [begins, self.over[rank as usize][node as usize].unwrap_or(begins)])
            };
            let (rank, node) = its.members[0];
            JobCollective {
                algorithm: its.algorithm.name(),
                bytes: its.bytes,
                place: self.graph.ranks[rank as usize][node as usize].place,
                members: its.members.iter().map(member).collect(),
            }
        });
        named.collect()
    }

    fn qp(&mut self, src: u32, dst: u32, channel: u32) -> QpId {
        let ends = (self.ways.hosts[src as usize], self.ways.hosts[dst as usize]);
        *self.qps.entry((src, dst, channel)).or_insert_with(|| self.builder.add_qp(ends.0, ends.1))
    }

    /// Lets an end of what was sent activate a gate.
    fn activate(&mut self, sent: Sent, on: Done, gate: GateId) {
        activate(self.builder, sent, on, gate);
    }

    /// Something that rank `src` sends to another one of its server after `needs` activations of the first gate.
    fn send_within(&mut self, server: &ServerSpec, src: u32, bytes: u64, needs: u32) -> (GateId, Sent) {
        let host = self.ways.hosts[src as usize];
        let takes = server.link.time_for(bytes);
        let sends = self.builder.add_step((host, Step::SERVER_LINK), needs, takes, &[]);
        let arrives = self.builder.add_step((host, Step::IDLE), 1, server.link_latency, &[]);
        self.builder.activate_after(sends, arrives);
        (sends, Sent::Within(arrives))
    }

    /// The server that two ranks share.
    fn server_of(&self, one: u32, other: u32) -> Option<ServerSpec> {
        self.ways.server.filter(|server| server.joins(one, other))
    }

    /// A step for the beginning of each node, and one for the end of those that do not end by themselves.
    fn add_nodes(&mut self) {
        for (rank, nodes) in (0_u32..).zip(&self.graph.ranks) {
            let host = (self.ways.hosts[rank as usize], Step::NO_PROCESSOR);
            let starts = (self.ways.start > Duration::ZERO && !nodes.is_empty())
                .then(|| self.builder.add_step((host.0, Step::IDLE), 0, self.ways.start, &[]));
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
                                let (sends, sent) = self.send_within(&server, rank, bytes, 1);
                                self.builder.activate_after(begins, sends);
                                (begins, sent)
                            }
                            None => {
                                let qp = self.qp(rank, to, channel);
                                let message = self.builder.add_message(qp, bytes, Start::ByGate);
                                let begins = self.builder.add_step(host, needs, Duration::ZERO, &[message]);
                                (begins, Sent::Message(message))
                            }
                        };
                        self.sent[rank as usize][number] = Some(sent);
                        if self.ways.ends == SendEnds::Acknowledged {
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
                        let its = &self.graph.collectives[number as usize];
                        over = (its.members.len() > 1)
                            .then(|| self.builder.add_step(host, 0, Duration::ZERO, &[]));
                        self.builder.add_step(host, needs, Duration::ZERO, &[])
                    }
                };
                if let Some(starts) = starts {
                    self.builder.activate_after(starts, begins);
                }
                self.begins[rank as usize][number] = begins;
                self.over[rank as usize][number] = over;
            }
        }
    }

    /// Lets nodes follow each other.
    fn connect(&mut self) {
        for (rank, followers) in self.graph.followers().iter().enumerate() {
            let begins = &self.begins[rank];
            for (number, followers) in followers.iter().enumerate() {
                let (begun, over) = (begins[number], self.over[rank][number]);
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

    /// The messages of collectives: each waits for what its algorithm says, and for its rank to take part.
    fn add_collectives(&mut self) {
        let mut plans: BTreeMap<(&str, u64, u64, usize), Plan> = BTreeMap::new();
        let graph = self.graph;
        for its in &graph.collectives {
            let ranks = its.members.len();
            if ranks < 2 {
                continue;
            }
            let key = (its.algorithm.name(), its.bytes, its.chunk, ranks);
            let plan = plans
                .entry(key)
                .or_insert_with(|| its.algorithm.plan(ranks as u32, its.bytes, its.chunk, ranks as u32 - 1));
            let mut all_sent: Vec<Sent> = Vec::with_capacity(plan.sends.len());
            let mut gates: Vec<Vec<GateId>> = vec![Vec::new(); ranks];
            let mut ends: Vec<u32> = vec![0; ranks];
            for send in &plan.sends {
                let (src, dst) = (its.members[send.src as usize], its.members[send.dst as usize]);
                let needs = send.waits_len + 1;
                let (gate, sent) = match self.server_of(src.0, dst.0) {
                    Some(server) => self.send_within(&server, src.0, send.bytes, needs),
                    None => {
                        let qp = self.qp(src.0, dst.0, its.channel);
                        let message = self.builder.add_message(qp, send.bytes, Start::ByGate);
                        (self.builder.add_gate(Opens::After(needs), &[message]), Sent::Message(message))
                    }
                };
                for wait in plan.waits_of(send) {
                    self.activate(all_sent[*wait as usize], Done::Delivered, gate);
                }
                all_sent.push(sent);
                gates[send.src as usize].push(gate);
                let over = |member: (u32, u32)| self.over[member.0 as usize][member.1 as usize];
                if let (Some(sender), Some(receiver)) = (over(src), over(dst)) {
                    self.activate(sent, Done::Acknowledged, sender);
                    self.activate(sent, Done::Delivered, receiver);
                }
                ends[send.src as usize] += 1;
                ends[send.dst as usize] += 1;
            }
            for ((gates, ends), &(rank, node)) in gates.into_iter().zip(ends).zip(&its.members) {
                let begins = self.begins[rank as usize][node as usize];
                let over = self.over[rank as usize][node as usize];
                gates.iter().for_each(|gate| self.builder.activate_after(begins, *gate));
                if let Some(over) = over {
                    // It has to take part as well, should it have nothing to send or to receive.
                    self.builder.activate_after(begins, over);
                    self.builder.set_needs(over, ends + 1);
                }
            }
        }
    }
}
