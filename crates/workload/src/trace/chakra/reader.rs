//! The reader of the lines of a Chakra text.

use super::{Options, dependencies};
use crate::WorkloadError;
use crate::collective::Algorithm;
use crate::text::{self, quote};
use crate::trace::CollectiveRules;
use crate::trace::graph::{Collective, Graph, Node, Op};
use anabranch_base::{Duration, Problem};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
pub(super) struct Reader {
    graph: Graph,
    /// Whether each stream of a GPU is a separate processor.
    streams: bool,
    /// The streams of the current rank's GPU, in the order of their processors.
    known_streams: Vec<u64>,
    without_control: bool,
    /// For each rank, the positions of its nodes by their numbers in the trace.
    places: Vec<BTreeMap<u64, u32>>,
    /// For each rank and position, the numbers of the nodes on which the node depends.
    waits: Vec<Vec<Vec<u64>>>,
    /// The ranks of each group.
    groups: BTreeMap<String, Vec<u32>>,
    /// The collectives in their order, for each group and rank. The group of all ranks has an empty name.
    collectives: BTreeMap<String, BTreeMap<u32, Vec<Part>>>,
}

/// The numbers of the processors of a rank. The streams of the rank's GPU have the numbers after these.
const GPU: u32 = 0;
const CPU: u32 = 1;

/// The participation of a rank in a collective.
#[derive(Clone, Copy)]
struct Part {
    usual: Algorithm,
    bytes: u64,
    node: u32,
}

impl Reader {
    pub fn new(options: Options) -> Self {
        Reader { streams: options.streams, without_control: options.without_control, ..Reader::default() }
    }

    pub fn ranks(&self) -> usize {
        self.graph.ranks.len()
    }

    pub fn read(&mut self, words: &[&str]) -> Result<(), Problem> {
        match words {
            ["rank", _] => {
                self.known_streams.clear();
                self.graph.ranks.push(Vec::new());
                self.places.push(BTreeMap::new());
                self.waits.push(Vec::new());
                return Ok(());
            }
            ["group", name, ranks @ ..] => {
                let ranks =
                    ranks.iter().map(|rank| text::whole_u32(rank, "the rank")).collect::<Result<_, _>>()?;
                return match self.groups.insert((*name).to_owned(), ranks) {
                    None => Ok(()),
                    Some(_) => Err(format!("group {} is there for the second time", quote(name)).into()),
                };
            }
            _ => {}
        }
        let (words, by_data, by_control) = dependencies(words);
        let by_control = if self.without_control { &[] } else { by_control };
        let (Some(nodes), [id, operation @ ..]) = (self.graph.ranks.last(), words) else {
            return Err("expected `rank N` or a node".into());
        };
        let node = nodes.len() as u32;
        let op = self.operation(operation, node)?;
        let rank = self.places.len() - 1;
        let place = text::whole(id, "the node's number", u64::MAX)?;
        if self.places[rank].insert(place, node).is_some() {
            return Err(format!("node {place} is there for the second time in this rank").into());
        }
        let before = by_data.iter().chain(by_control);
        let number = |id: &&str| text::whole(id, "the number of a node", u64::MAX);
        self.waits[rank].push(before.map(number).collect::<Result<_, _>>()?);
        self.graph.ranks[rank].push(Node { op, place, after: Vec::new(), with: Vec::new() });
        Ok(())
    }

    /// The operation of node `node` of the current rank.
    fn operation(&mut self, words: &[&str], node: u32) -> Result<Op, Problem> {
        let whole = |word: &str, what: &str| text::whole(word, what, u64::MAX);
        let unknown = || Err(format!("{} is no operation", quote(&words.join(" "))).into());
        Ok(match words {
            ["nothing"] => Op::Compute { takes: Duration::ZERO, processor: None },
            ["compute", us, on @ ("cpu" | "gpu"), stream @ ..] if stream.len() < 2 => {
                let takes = Duration::from_us(text::whole(us, "the duration", u64::MAX / 1_000_000_000)?);
                let processor = match (*on, stream.first()) {
                    ("cpu", _) => CPU,
                    (_, Some(stream)) if self.streams => self.processor_of(whole(stream, "tid")?),
                    _ => GPU,
                };
                Op::Compute { takes, processor: Some(processor) }
            }
            ["send", to, bytes, tag] => Op::Send {
                to: text::whole_u32(to, "comm_dst")?,
                bytes: whole(bytes, "comm_size")?,
                tag: whole(tag, "comm_tag")?,
                channel: 0,
            },
            ["receive", from, bytes, tag] => Op::Receive {
                from: text::whole_u32(from, "comm_src")?,
                bytes: Some(whole(bytes, "comm_size")?),
                tag: whole(tag, "comm_tag")?,
            },
            [name, bytes, group @ ..] if matches!(group, [] | ["group", _]) => {
                let usual = match *name {
                    "allreduce" => Algorithm::AllreduceRing,
                    "allgather" => Algorithm::AllgatherRing,
                    "reducescatter" => Algorithm::ReducescatterRing,
                    "broadcast" => Algorithm::BroadcastRing,
                    "alltoall" => Algorithm::Alltoall,
                    _ => return unknown(),
                };
                let part = Part { usual, bytes: whole(bytes, "the size")?, node };
                let group = (*group.last().unwrap_or(&"")).to_owned();
                let rank = self.places.len() as u32 - 1;
                self.collectives.entry(group).or_default().entry(rank).or_default().push(part);
                // `connect` later sets the number of the collective.
                Op::Collective(0)
            }
            _ => return unknown(),
        })
    }

    /// The processor of a stream of the current rank's GPU.
    fn processor_of(&mut self, stream: u64) -> u32 {
        let known = self.known_streams.iter().position(|known| *known == stream);
        let number = known.unwrap_or_else(|| {
            self.known_streams.push(stream);
            self.known_streams.len() - 1
        });
        CPU + 1 + number as u32
    }

    /// Replicates the only rank, so that there are `ranks` equal ranks.
    pub fn replicate(&mut self, ranks: u32) -> Result<(), Problem> {
        if let Some(node) =
            self.graph.ranks[0].iter().find(|node| matches!(node.op, Op::Send { .. } | Op::Receive { .. }))
        {
            return Err(format!(
                "node {}: it sends to or receives from one rank, which not every rank can do; leave replicate out",
                node.place
            ).into());
        }
        if let Some(group) = self.collectives.keys().find(|group| !group.is_empty()) {
            return Err(format!(
                "a collective is of group {}, and replicated ranks have those of all ranks alone; leave replicate out",
                quote(group)
            ).into());
        }
        for rank in 1..ranks {
            let nodes = self.graph.ranks[0].iter().map(|node| Node {
                op: node.op,
                place: node.place,
                after: Vec::new(),
                with: Vec::new(),
            });
            let nodes = nodes.collect();
            self.graph.ranks.push(nodes);
            self.places.push(self.places[0].clone());
            self.waits.push(self.waits[0].clone());
            for by_rank in self.collectives.values_mut() {
                let parts = by_rank.get(&0).cloned().unwrap_or_default();
                by_rank.insert(rank, parts);
            }
        }
        Ok(())
    }

    pub fn finish(
        mut self,
        file: &str,
        rules: CollectiveRules<'_>,
        without_missing: bool,
    ) -> Result<Graph, WorkloadError> {
        for (rank, nodes) in self.graph.ranks.iter_mut().enumerate() {
            for (node, waits) in nodes.iter_mut().zip(&self.waits[rank]) {
                for id in waits {
                    match self.places[rank].get(id) {
                        Some(before) => node.after.push(*before),
                        None if without_missing => {}
                        None => {
                            let what = Problem::with_text(
                                format!(
                                    "rank {rank}, node {}: it waits for node {id}, which is not there",
                                    node.place
                                ),
                                "it, or without_missing = true in [workload], by which such nodes count as over",
                            );
                            return Err(WorkloadError::file(file, what));
                        }
                    }
                }
            }
        }
        let all: Vec<u32> = (0..self.graph.ranks.len() as u32).collect();
        for (channel, (group, by_rank)) in (0..u32::MAX).rev().zip(std::mem::take(&mut self.collectives)) {
            let ranks = match group.as_str() {
                "" => all.clone(),
                name => self.groups.get(name).cloned().unwrap_or_default(),
            };
            self.connect(&group, channel, &ranks, &by_rank, rules)
                .map_err(|what| WorkloadError::file(file, what))?;
        }
        Ok(self.graph)
    }

    /// Joins the collective nodes of a group's ranks into collectives.
    fn connect(
        &mut self,
        group: &str,
        channel: u32,
        ranks: &[u32],
        by_rank: &BTreeMap<u32, Vec<Part>>,
        rules: CollectiveRules<'_>,
    ) -> Result<(), Problem> {
        let of_group = if group.is_empty() { String::new() } else { format!(" of group {}", quote(group)) };
        let place =
            |graph: &Graph, rank: u32, part: &Part| graph.ranks[rank as usize][part.node as usize].place;
        let within: BTreeSet<u32> = ranks.iter().copied().collect();
        if let Some((&rank, parts)) = by_rank.iter().find(|(rank, _)| !within.contains(rank)) {
            let place = parts.first().map_or(0, |part| place(&self.graph, rank, part));
            return Err(format!(
                "rank {rank}, node {place}: it is a collective{of_group}, in which its rank is not"
            )
            .into());
        }
        let of = |rank: u32| by_rank.get(&rank).map_or(&[][..], Vec::as_slice);
        let Some(&first) = ranks.first() else { return Ok(()) };
        for &rank in ranks {
            let (own, of_first) = (of(rank), of(first));
            if let Some((number, (part, _))) = own
                .iter()
                .zip(of_first)
                .enumerate()
                .find(|(_, (part, other))| (part.usual, part.bytes) != (other.usual, other.bytes))
            {
                let (at, of_first) = (place(&self.graph, rank, part), &of_first[number]);
                return Err(format!(
                    "rank {rank}, node {at}: it is collective {number}{of_group} of its rank, an {} of {} B, and that of \
                     rank {first} (node {}) is an {} of {} B; give all of them the same collectives in the same order",
                    part.usual.collective(),
                    part.bytes,
                    place(&self.graph, first, of_first),
                    of_first.usual.collective(),
                    of_first.bytes
                ).into());
            }
            let (more, fewer, parts) = match own.len() > of_first.len() {
                true => (rank, first, own),
                false => (first, rank, of_first),
            };
            let both = own.len().min(of_first.len());
            if let Some(part) = parts.get(both) {
                return Err(format!(
                    "rank {more}, node {}: it is collective {both}{of_group} of its rank, and rank {fewer} has no more than \
                     {both}; give all of them the same collectives in the same order",
                    place(&self.graph, more, part)
                ).into());
            }
        }
        for (number, &Part { usual, bytes, .. }) in of(first).iter().enumerate() {
            let members: Vec<(u32, u32)> = ranks.iter().map(|&rank| (rank, of(rank)[number].node)).collect();
            let index = self.graph.collectives.len() as u32;
            for &(rank, node) in &members {
                self.graph.ranks[rank as usize][node as usize].op = Op::Collective(index);
            }
            let (algorithm, chunk) = (rules.algorithm(usual, bytes), rules.chunk);
            let bytes = match usual {
                Algorithm::AllgatherRing => bytes.saturating_mul(members.len() as u64),
                _ => bytes,
            };
            // A collective without bytes has no messages, so each of its nodes ends as soon as it begins.
            self.graph.collectives.push(Collective { algorithm, bytes, chunk, channel, members });
        }
        Ok(())
    }
}
