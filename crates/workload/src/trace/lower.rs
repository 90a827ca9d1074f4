//! The translation of a graph into steps, messages and gates of a workload.

use super::SendEnds;
use super::graph::{Graph, Naming, Op, Pairs, PerNode};
use crate::collective::server::{Ranks, Transfer, Way};
use crate::collective::{Layout, Plan};
use crate::{Done, Job, JobCollective, MAX_MESSAGES, Start, Step, WorkloadBuilder, WorkloadError};
use anabranch_base::{Duration, GateId, HostId, Problem};
use std::collections::BTreeMap;

/// The settings with which a job is translated.
#[derive(Clone, Copy)]
pub struct Mapping {
    pub ends: SendEnds,
    /// The time at which the job begins.
    pub start: Duration,
}

impl Graph {
    /// Adds the job to a workload.
    pub fn lower(
        &self,
        builder: &mut WorkloadBuilder,
        ranks: Ranks,
        mapping: Mapping,
        naming: Naming<'_>,
    ) -> Result<(), WorkloadError> {
        let pairs = self.check(naming)?;
        self.check_transfers(&ranks, naming)?;
        let (messages, steps, bytes) = (builder.messages(), builder.steps(), builder.bytes());
        let hosts = ranks.hosts();
        let (rank_steps, collectives) = Lowering::lower(self, (ranks, mapping), &pairs, builder);
        builder.add_job(Job {
            algorithm: naming.format.name(),
            chosen: None,
            bytes: builder.bytes() - bytes,
            hosts,
            messages: messages..builder.messages(),
            steps: steps..builder.steps(),
            rank_steps: rank_steps.into_iter().map(|first| first - steps).collect(),
            collectives,
        });
        Ok(())
    }

    /// Checks that the transfers of all collectives are not too many. [`Graph::check`] counts the messages without the
    /// channels of servers, which divide chunks further.
    fn check_transfers(&self, ranks: &Ranks, naming: Naming<'_>) -> Result<(), WorkloadError> {
        let mut layouts: BTreeMap<Vec<u32>, Layout> = BTreeMap::new();
        let mut transfers = 0_u64;
        for collective in &self.collectives {
            let members: Vec<u32> = collective.members.iter().map(|(rank, _)| *rank).collect();
            let layout =
                layouts.entry(members).or_insert_with_key(|members| ranks.layout(members.iter().copied()));
            let of_this = collective.algorithm.messages_in(layout, collective.bytes, collective.chunk);
            transfers = transfers.saturating_add(of_this);
        }
        if transfers <= u64::from(MAX_MESSAGES) {
            return Ok(());
        }
        let what = Problem::with_text(
            format!(
                "its collectives come to {transfers} transfers on all channels, and the most is {MAX_MESSAGES}"
            ),
            "a larger chunk, or channels = 1 into [workload.server]",
        );
        Err(WorkloadError::file(naming.file, what))
    }
}

struct Lowering<'a> {
    graph: &'a Graph,
    mapping: Mapping,
    ranks: Ranks,
    builder: &'a mut WorkloadBuilder,
    /// The gate of the step with which each node begins.
    begins: PerNode<GateId>,
    /// The gate of the step with which each node ends, if a node begins and ends with different steps.
    ends: PerNode<Option<GateId>>,
    /// The transfer of each send node.
    sent: PerNode<Option<Transfer>>,
    /// The numbers of the processors of ranks that share a host. The key is the host, the GPU, and the number of the
    /// processor in its rank.
    processors: BTreeMap<(HostId, u32, u32), u32>,
}

impl<'a> Lowering<'a> {
    fn lower(
        graph: &'a Graph,
        (ranks, mapping): (Ranks, Mapping),
        pairs: &Pairs,
        builder: &'a mut WorkloadBuilder,
    ) -> (Vec<u32>, Vec<JobCollective>) {
        fn empty<T: Clone>(graph: &Graph, with: T) -> PerNode<T> {
            graph.ranks.iter().map(|nodes| vec![with.clone(); nodes.len()]).collect()
        }
        let mut lowering = Lowering {
            graph,
            mapping,
            ranks,
            builder,
            begins: empty(graph, GateId(0)),
            ends: empty(graph, None),
            sent: empty(graph, None),
            processors: BTreeMap::new(),
        };
        let rank_steps = lowering.add_nodes();
        for (&(from, send), &(to, receive)) in pairs {
            let sent = lowering.sent[from as usize][send as usize];
            let over = lowering.ends[to as usize][receive as usize];
            if let (Some(sent), Some(over)) = (sent, over) {
                sent.activate(lowering.builder, Done::Delivered, over);
            }
        }
        lowering.connect();
        lowering.add_collectives();
        (rank_steps, lowering.collectives())
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

    /// Adds a step for the start of each node, and another one for its end unless both are the same step. Returns the
    /// number of the first step of each rank.
    fn add_nodes(&mut self) -> Vec<u32> {
        let mut rank_steps = Vec::with_capacity(self.graph.ranks.len());
        for (rank, nodes) in (0_u32..).zip(&self.graph.ranks) {
            rank_steps.push(self.builder.steps());
            let host = (self.ranks.host(rank), Step::NO_PROCESSOR);
            let starts = (self.mapping.start > Duration::ZERO && !nodes.is_empty())
                .then(|| self.builder.add_step((host.0, Step::IDLE), 0, self.mapping.start, &[]));
            for (number, node) in nodes.iter().enumerate() {
                let waits = (node.after.len() + node.with.len()) as u32;
                let starts = starts.filter(|_| waits == 0);
                let needs = waits + u32::from(starts.is_some());
                let mut over = None;
                let begins = match node.op {
                    Op::Compute { takes, processor } => {
                        let processor = processor.map_or(Step::NO_PROCESSOR, |own| {
                            self.ranks.processor(rank, own, &mut self.processors)
                        });
                        self.builder.add_step((host.0, processor), needs, takes, &[])
                    }
                    Op::Send { to, bytes, channel, .. } => {
                        let (begins, sent) = match self.ranks.way(rank, to) {
                            Way::Network => {
                                let qp = self.ranks.qp(self.builder, [rank, to], (channel, 0));
                                let message = self.builder.add_message(qp, bytes, Start::ByGate);
                                let begins = self.builder.add_step(host, needs, Duration::ZERO, &[message]);
                                (begins, Transfer::Message(message))
                            }
                            Way::NvLink | Way::Relay(_) => {
                                let begins = self.builder.add_step(host, needs, Duration::ZERO, &[]);
                                let ends = [rank, to];
                                let sent = (bytes, (channel, 0));
                                let (sends, sent) = self.ranks.send(self.builder, ends, sent, 1);
                                sends
                                    .into_iter()
                                    .for_each(|sends| self.builder.activate_after(begins, sends));
                                (begins, sent)
                            }
                        };
                        self.sent[rank as usize][number] = Some(sent);
                        if self.mapping.ends == SendEnds::Acknowledged {
                            let end = self.builder.add_step(host, 1, Duration::ZERO, &[]);
                            sent.activate(self.builder, Done::Acknowledged, end);
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
        rank_steps
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
                            sent.activate(self.builder, Done::Acknowledged, over);
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

    /// Adds the messages of collectives. Each message waits for its dependencies in the plan, and for the
    /// collective's node in the sending rank.
    fn add_collectives(&mut self) {
        let mut plans: BTreeMap<(&str, u64, u64, Layout), Plan> = BTreeMap::new();
        let graph = self.graph;
        for collective in graph.collectives.iter().filter(|collective| collective.members.len() > 1) {
            let layout = self.ranks.layout(collective.members.iter().map(|(rank, _)| *rank));
            let key = (collective.algorithm.name(), collective.bytes, collective.chunk, layout);
            let plan = plans.entry(key).or_insert_with_key(|(_, bytes, chunk, layout)| {
                collective.algorithm.plan_in(layout, *bytes, *chunk, layout.ranks() - 1)
            });
            self.add_collective(&collective.members, collective.channel, plan);
        }
    }

    /// Adds the messages of a collective. `members` has its ranks, each with the node that joins the collective.
    fn add_collective(&mut self, members: &[(u32, u32)], channel: u32, plan: &Plan) {
        let mut all_sent: Vec<Transfer> = Vec::with_capacity(plan.sends.len());
        let mut gates: Vec<Vec<GateId>> = vec![Vec::new(); members.len()];
        let mut ends: Vec<u32> = vec![0; members.len()];
        for send in &plan.sends {
            let [src, dst] = [send.src, send.dst].map(|rank| members[rank as usize]);
            let needs = send.waits_len + 1;
            let (gate, sent) = self.ranks.carry(self.builder, ([src.0, dst.0], send), channel, needs);
            if let Some(gate) = gate {
                for wait in plan.waits_of(send) {
                    all_sent[*wait as usize].activate(self.builder, Done::Delivered, gate);
                }
                gates[send.src as usize].push(gate);
            }
            all_sent.push(sent);
            let over = |member: (u32, u32)| self.ends[member.0 as usize][member.1 as usize];
            if let (Some(sender), Some(receiver)) = (over(src), over(dst)) {
                sent.activate(self.builder, Done::Acknowledged, sender);
                sent.activate(self.builder, Done::Delivered, receiver);
            }
            ends[send.src as usize] += 1;
            ends[send.dst as usize] += 1;
        }
        self.ranks.end_collective();
        for ((gates, ends), &(rank, node)) in gates.into_iter().zip(ends).zip(members) {
            let begins = self.begins[rank as usize][node as usize];
            let over = self.ends[rank as usize][node as usize];
            gates.iter().for_each(|gate| self.builder.activate_after(begins, *gate));
            if let Some(over) = over {
                // The start of the node counts as well, since a rank may have nothing to send or to receive.
                self.builder.activate_after(begins, over);
                self.builder.set_needs(over, ends + 1);
            }
        }
    }
}
