//! The form under every trace: what each rank does, and what waits for what.

use super::super::collective::{Algorithm, Plan};
use super::SendEnds;
use crate::{Done, Job, MAX_MESSAGES, Opens, Start, Step, Workload, WorkloadBuilder, WorkloadError};
use anabranch_base::{Duration, GateId, HostId, MessageId, QpId};
use std::collections::BTreeMap;

/// What all ranks do.
#[derive(Debug, Default)]
pub struct Graph {
    /// By rank, its nodes.
    pub ranks: Vec<Vec<Node>>,
    /// Collectives among some of them.
    pub collectives: Vec<Collective>,
}

/// Something that a rank does.
#[derive(Debug)]
pub struct Node {
    /// What.
    pub op: Op,
    /// Where it stands in its file: a line, or a node's number.
    pub place: u64,
    /// Nodes of its rank that are over before it begins.
    pub after: Vec<u32>,
    /// Nodes of its rank that have begun before it begins.
    pub with: Vec<u32>,
}

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Sends a message; over when [`SendEnds`] says so.
    Send {
        /// To this rank.
        to: u32,
        /// Its bytes.
        bytes: u64,
        /// By which the receiver knows it.
        tag: u64,
        /// Messages on different channels have queue pairs of their own.
        channel: u32,
    },
    /// Receives a message; over when it is there and the node has begun.
    Receive {
        /// From this rank.
        from: u32,
        /// Its bytes, where the receiver says them.
        bytes: Option<u64>,
        /// By which the receiver knows it.
        tag: u64,
    },
    /// Computes.
    Compute {
        /// For so long.
        takes: Duration,
        /// On this processor of its rank; none: beside whatever else it computes.
        processor: Option<u32>,
    },
    /// Takes part in the collective of this number; over when all that it sends is acknowledged, and all that it receives
    /// is there.
    Collective(u32),
}

/// A collective of some ranks, which each take part when their node begins.
#[derive(Debug)]
pub struct Collective {
    /// How.
    pub algorithm: Algorithm,
    /// See [`Algorithm`].
    pub bytes: u64,
    /// Most bytes of a message.
    pub chunk: u64,
    /// Its communicator: what is on one uses the same queue pairs.
    pub channel: u32,
    /// The ranks in their order, each with its node.
    pub members: Vec<(u32, u32)>,
}

/// How a format names the place of a node in errors.
#[derive(Clone, Copy, Debug)]
pub struct Naming<'a> {
    /// Name of the file.
    pub file: &'a str,
    /// `line`, `node`.
    pub place: &'static str,
}

impl Naming<'_> {
    /// An error about a node.
    pub fn wrong(&self, rank: usize, place: u64, what: impl std::fmt::Display) -> WorkloadError {
        WorkloadError::file(self.file, format!("rank {rank}, {} {place}: {what}", self.place))
    }
}

/// By rank and node.
type PerNode<T> = Vec<Vec<T>>;
/// By sending rank and node, the receiving rank and its node.
type Pairs = BTreeMap<(u32, u32), (u32, u32)>;

impl Graph {
    /// The workload of rank after rank on `hosts`.
    ///
    /// # Errors
    /// A send without a receive, or the other way round; nodes that wait for each other; too many messages.
    pub fn lower(
        &self,
        format: &'static str,
        hosts: &[HostId],
        ends: SendEnds,
        naming: Naming<'_>,
    ) -> Result<Workload, WorkloadError> {
        let pairs = self.matched(naming)?;
        self.check_order(&pairs, naming)?;
        self.check_size(naming)?;
        Lowering::new(self, hosts, ends, &pairs).finish(format)
    }

    /// By sending rank and node, the node of the receiving rank.
    fn matched(&self, naming: Naming<'_>) -> Result<Pairs, WorkloadError> {
        let mut sent: BTreeMap<(u32, u32, u64), Vec<(u32, u64)>> = BTreeMap::new();
        let all = || {
            let ranks = (0_u32..).zip(&self.ranks);
            ranks.flat_map(|(rank, nodes)| {
                (0_u32..).zip(nodes).map(move |(number, node)| (rank, number, node))
            })
        };
        let count = self.ranks.len() as u32;
        for (rank, number, node) in all() {
            let wrong = |what: String| Err(naming.wrong(rank as usize, node.place, what));
            match node.op {
                Op::Send { to, bytes, tag, .. } => {
                    if to >= count {
                        return wrong(format!(
                            "it sends to rank {to}, and there are ranks 0 to {}",
                            count - 1
                        ));
                    }
                    if to == rank {
                        return wrong(
                            "it sends to itself, which crosses no network; leave it out".to_owned(),
                        );
                    }
                    if bytes == 0 {
                        return wrong("it sends 0 bytes, and the least is 1; write 1".to_owned());
                    }
                    sent.entry((rank, to, tag)).or_default().push((number, bytes));
                }
                Op::Receive { from, .. } if from >= count => {
                    return wrong(format!(
                        "it receives from rank {from}, and there are ranks 0 to {}",
                        count - 1
                    ));
                }
                _ => {}
            }
        }
        sent.values_mut().for_each(|sends| sends.reverse());
        let mut pairs = BTreeMap::new();
        for (rank, number, node) in all() {
            let Op::Receive { from, bytes, tag } = node.op else { continue };
            let Some((send, sent_bytes)) = sent.get_mut(&(from, rank, tag)).and_then(Vec::pop) else {
                let what =
                    format!("it receives from rank {from} with tag {tag}, which that never sends (again)");
                return Err(naming.wrong(rank as usize, node.place, what));
            };
            if bytes.is_some_and(|bytes| bytes != sent_bytes) {
                let what = format!(
                    "it receives {} bytes from rank {from} with tag {tag}, which sends {sent_bytes}",
                    bytes.unwrap_or_default()
                );
                return Err(naming.wrong(rank as usize, node.place, what));
            }
            pairs.insert((from, send), (rank, number));
        }
        match sent.iter().find_map(|(&(from, to, tag), sends)| Some((from, to, tag, sends.last()?.0))) {
            Some((from, to, tag, send)) => {
                let place = self.ranks[from as usize][send as usize].place;
                let what = format!("it sends to rank {to} with tag {tag}, which that never receives");
                Err(naming.wrong(from as usize, place, what))
            }
            None => Ok(pairs),
        }
    }

    /// Whether every node comes to its turn.
    fn check_order(&self, pairs: &Pairs, naming: Naming<'_>) -> Result<(), WorkloadError> {
        let mut waits: PerNode<u32> = self
            .ranks
            .iter()
            .map(|nodes| nodes.iter().map(|node| (node.after.len() + node.with.len()) as u32).collect())
            .collect();
        pairs.values().for_each(|&(rank, node)| waits[rank as usize][node as usize] += 1);
        let followers = self.followers();
        let mut entered = vec![0; self.collectives.len()];
        let mut ready: Vec<(u32, u32)> = Vec::new();
        for (rank, waits) in (0_u32..).zip(&waits) {
            ready
                .extend((0_u32..).zip(waits).filter(|(_, waits)| **waits == 0).map(|(node, _)| (rank, node)));
        }
        let mut done = 0;
        while let Some((rank, node)) = ready.pop() {
            done += 1;
            let mut over = Vec::new();
            match self.ranks[rank as usize][node as usize].op {
                Op::Collective(number) => {
                    entered[number as usize] += 1;
                    let members = &self.collectives[number as usize].members;
                    if entered[number as usize] == members.len() {
                        over.extend(members);
                    }
                }
                _ => over.push((rank, node)),
            }
            let mut follow = |rank: u32, node: u32| {
                let left = &mut waits[rank as usize][node as usize];
                *left -= 1;
                if *left == 0 {
                    ready.push((rank, node));
                }
            };
            for other in &followers[rank as usize][node as usize].begun {
                follow(rank, *other);
            }
            for (rank, node) in over {
                for other in &followers[rank as usize][node as usize].over {
                    follow(rank, *other);
                }
                if let Some(&(to, receive)) = pairs.get(&(rank, node)) {
                    follow(to, receive);
                }
            }
        }
        if done == self.ranks.iter().map(Vec::len).sum::<usize>() {
            return Ok(());
        }
        let stuck =
            (0..).zip(&waits).find_map(|(rank, waits)| Some((rank, waits.iter().position(|&w| w > 0)?)));
        // Where none waits, a collective's other ranks never come.
        let (rank, node) = stuck
            .or_else(|| {
                let short =
                    self.collectives.iter().zip(&entered).find(|(its, in_)| **in_ < its.members.len())?.0;
                short.members.first().map(|&(rank, node)| (rank as usize, node as usize))
            })
            .unwrap_or_default();
        let place = self.ranks.get(rank).and_then(|nodes| nodes.get(node)).map_or(0, |node| node.place);
        Err(naming.wrong(rank, place, "it never begins: what it waits for waits for it, by some other nodes"))
    }

    fn check_size(&self, naming: Naming<'_>) -> Result<(), WorkloadError> {
        let sends =
            self.ranks.iter().flatten().filter(|node| matches!(node.op, Op::Send { .. })).count() as u64;
        let of = |its: &Collective| its.algorithm.messages(its.members.len() as u32, its.bytes, its.chunk);
        let messages = self.collectives.iter().map(of).fold(sends, u64::saturating_add);
        if messages == 0 {
            return Err(WorkloadError::file(
                naming.file,
                "nothing in it is sent; a workload needs a message",
            ));
        }
        if messages > u64::from(MAX_MESSAGES) {
            let what = format!(
                "it comes to {messages} messages, and the most is {MAX_MESSAGES}; write a larger chunk, or take a trace of \
                 fewer ranks or a part of it"
            );
            return Err(WorkloadError::file(naming.file, what));
        }
        Ok(())
    }

    fn followers(&self) -> PerNode<Followers> {
        let of_rank = |nodes: &Vec<Node>| {
            let mut followers: Vec<Followers> = nodes.iter().map(|_| Followers::default()).collect();
            for (number, node) in (0..).zip(nodes) {
                node.after.iter().for_each(|before| followers[*before as usize].over.push(number));
                node.with.iter().for_each(|before| followers[*before as usize].begun.push(number));
            }
            followers
        };
        self.ranks.iter().map(of_rank).collect()
    }
}

/// Nodes of a rank that wait for one.
#[derive(Clone, Debug, Default)]
struct Followers {
    /// Until it is over.
    over: Vec<u32>,
    /// Until it has begun.
    begun: Vec<u32>,
}

/// A graph on its way to being a workload.
struct Lowering<'a> {
    graph: &'a Graph,
    hosts: &'a [HostId],
    ends: SendEnds,
    builder: WorkloadBuilder,
    /// The step that is a node's beginning.
    begins: PerNode<GateId>,
    /// Where a node's end is another step than its beginning.
    over: PerNode<Option<GateId>>,
    /// Of sends.
    message: PerNode<Option<MessageId>>,
    qps: BTreeMap<(u32, u32, u32), QpId>,
}

impl<'a> Lowering<'a> {
    fn new(graph: &'a Graph, hosts: &'a [HostId], ends: SendEnds, pairs: &Pairs) -> Self {
        fn empty<T: Clone>(graph: &Graph, with: T) -> PerNode<T> {
            graph.ranks.iter().map(|nodes| vec![with.clone(); nodes.len()]).collect()
        }
        let mut lowering = Lowering {
            graph,
            hosts,
            ends,
            builder: WorkloadBuilder::new(),
            begins: empty(graph, GateId(0)),
            over: empty(graph, None),
            message: empty(graph, None),
            qps: BTreeMap::new(),
        };
        lowering.add_nodes();
        for (&(from, send), &(to, receive)) in pairs {
            let message = lowering.message[from as usize][send as usize];
            let over = lowering.over[to as usize][receive as usize];
            if let (Some(message), Some(over)) = (message, over) {
                lowering.builder.activate(message, Done::Delivered, over);
            }
        }
        lowering.connect();
        lowering.add_collectives();
        lowering
    }

    fn qp(&mut self, src: u32, dst: u32, channel: u32) -> QpId {
        let ends = (self.hosts[src as usize], self.hosts[dst as usize]);
        *self.qps.entry((src, dst, channel)).or_insert_with(|| self.builder.add_qp(ends.0, ends.1))
    }

    /// A step for the beginning of each node, and one for the end of those that do not end by themselves.
    fn add_nodes(&mut self) {
        for (rank, nodes) in (0_u32..).zip(&self.graph.ranks) {
            let host = (self.hosts[rank as usize], Step::NO_PROCESSOR);
            for (number, node) in nodes.iter().enumerate() {
                let needs = (node.after.len() + node.with.len()) as u32;
                let mut over = None;
                let begins = match node.op {
                    Op::Compute { takes, processor } => {
                        let processor = processor.unwrap_or(Step::NO_PROCESSOR);
                        self.builder.add_step((host.0, processor), needs, takes, &[])
                    }
                    Op::Send { to, bytes, channel, .. } => {
                        let qp = self.qp(rank, to, channel);
                        let message = self.builder.add_message(qp, bytes, Start::ByGate);
                        self.message[rank as usize][number] = Some(message);
                        if self.ends == SendEnds::Acknowledged {
                            let end = self.builder.add_step(host, 1, Duration::ZERO, &[]);
                            self.builder.activate(message, Done::Acknowledged, end);
                            over = Some(end);
                        }
                        self.builder.add_step(host, needs, Duration::ZERO, &[message])
                    }
                    Op::Receive { .. } => {
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
                if let (Op::Receive { .. }, Some(over)) = (self.graph.ranks[rank][number].op, over) {
                    self.builder.activate_after(begun, over);
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
        for its in &self.graph.collectives {
            let ranks = its.members.len();
            if ranks < 2 {
                continue;
            }
            let key = (its.algorithm.name(), its.bytes, its.chunk, ranks);
            let plan = plans
                .entry(key)
                .or_insert_with(|| its.algorithm.plan(ranks as u32, its.bytes, its.chunk, ranks as u32 - 1));
            let first = self.builder.messages();
            let mut gates: Vec<Vec<GateId>> = vec![Vec::new(); ranks];
            let mut ends: Vec<u32> = vec![0; ranks];
            for send in &plan.sends {
                let (src, dst) = (its.members[send.src as usize], its.members[send.dst as usize]);
                let qp = self.qp(src.0, dst.0, its.channel);
                let message = self.builder.add_message(qp, send.bytes, Start::ByGate);
                let gate = self.builder.add_gate(Opens::After(send.waits_len + 1), &[message]);
                for wait in plan.waits_of(send) {
                    self.builder.activate(MessageId(first + wait), Done::Delivered, gate);
                }
                gates[send.src as usize].push(gate);
                let over = |member: (u32, u32)| self.over[member.0 as usize][member.1 as usize];
                if let (Some(sender), Some(receiver)) = (over(src), over(dst)) {
                    self.builder.activate(message, Done::Acknowledged, sender);
                    self.builder.activate(message, Done::Delivered, receiver);
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

    fn finish(mut self, format: &'static str) -> Result<Workload, WorkloadError> {
        let messages = 0..self.builder.messages();
        let steps = 0..self.builder.steps();
        let bytes = self.builder.bytes();
        let hosts = self.hosts.to_vec();
        self.builder.add_job(Job { algorithm: format, bytes, hosts, messages, steps });
        self.builder.build()
    }
}
