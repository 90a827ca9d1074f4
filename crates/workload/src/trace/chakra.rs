//! Chakra execution traces: a file of length-delimited protobuf messages for each rank.
//!
//! They are first put into a text of a line a node ([`to_text`]), which is what a scenario keeps; then read as any trace.
//! Of each node its dependencies (data and control alike), and:
//! - `COMP`: its duration, one at a time on the CPU and one at a time on the GPU of its rank (`is_cpu_op`);
//! - `COMM_SEND`, `COMM_RECV`: `comm_size`, `comm_dst` or `comm_src`, `comm_tag`;
//! - `COMM_COLL`: `comm_type` and `comm_size`, among all ranks or those of a group; one on the CPU without a type is the
//!   launch, which computes;
//! - `METADATA`: nothing.
//!
//! The group is named by `pg_name`, or by `comm_group` as older tools write it; none, an empty name and `0` are all ranks.
//! Which ranks are in it says a file of groups, as ASTRA-sim reads it: `{"1": [0, 1], "2": [2, 3]}`. The n-th collective of
//! a rank in a group is one with the n-th of all others in it.

use super::Collectives;
use super::graph::{Collective, Graph, Node, Op};
use crate::WorkloadError;
use crate::collective::Algorithm;
use crate::text::{self, quote};
use anabranch_base::Duration;
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A node, as far as it is read (et_def.proto).
#[derive(Clone, PartialEq, Message)]
struct EtNode {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(int32, tag = "3")]
    kind: i32,
    #[prost(uint64, repeated, tag = "4")]
    ctrl_deps: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    data_deps: Vec<u64>,
    #[prost(uint64, tag = "7")]
    duration_micros: u64,
    #[prost(message, repeated, tag = "10")]
    attr: Vec<Attribute>,
}

/// An attribute of a node, with those of its values that are read. Tools do not agree on the type of a number.
#[derive(Clone, PartialEq, Message)]
struct Attribute {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(oneof = "Value", tags = "7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29")]
    value: Option<Value>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Value {
    #[prost(int32, tag = "7")]
    Int32(i32),
    #[prost(int64, tag = "9")]
    Int64(i64),
    #[prost(uint32, tag = "11")]
    Uint32(u32),
    #[prost(uint64, tag = "13")]
    Uint64(u64),
    #[prost(sint32, tag = "15")]
    Sint32(i32),
    #[prost(sint64, tag = "17")]
    Sint64(i64),
    #[prost(fixed32, tag = "19")]
    Fixed32(u32),
    #[prost(fixed64, tag = "21")]
    Fixed64(u64),
    #[prost(sfixed32, tag = "23")]
    Sfixed32(i32),
    #[prost(sfixed64, tag = "25")]
    Sfixed64(i64),
    #[prost(bool, tag = "27")]
    Bool(bool),
    #[prost(string, tag = "29")]
    Text(String),
}

impl Value {
    fn number(&self) -> Option<u64> {
        match self {
            Value::Int32(n) | Value::Sint32(n) | Value::Sfixed32(n) => u64::try_from(*n).ok(),
            Value::Int64(n) | Value::Sint64(n) | Value::Sfixed64(n) => u64::try_from(*n).ok(),
            Value::Uint32(n) | Value::Fixed32(n) => Some(u64::from(*n)),
            Value::Uint64(n) | Value::Fixed64(n) => Some(*n),
            Value::Bool(is) => Some(u64::from(*is)),
            Value::Text(text) => text.parse().ok(),
        }
    }
}

impl EtNode {
    fn get(&self, name: &str) -> Option<&Value> {
        self.attr.iter().find(|attribute| attribute.name == name)?.value.as_ref()
    }

    fn number(&self, name: &str) -> Result<u64, String> {
        match self.get(name).map(Value::number) {
            Some(Some(number)) => Ok(number),
            Some(None) => Err(format!("{name} is no whole number of 0 or more")),
            None => Err(format!("it has no {name}")),
        }
    }

    /// The group of ranks that a collective is among; none: all.
    fn group(&self, groups: &Groups) -> Result<Option<String>, String> {
        let name = match self.get("pg_name").or_else(|| self.get("comm_group")) {
            None => return Ok(None),
            Some(Value::Text(name)) => name.clone(),
            Some(value) => value.number().ok_or("comm_group is no whole number of 0 or more")?.to_string(),
        };
        match name.as_str() {
            "" | "0" => Ok(None),
            _ if groups.ranks.contains_key(&name) => Ok(Some(name)),
            _ => Err(match groups.file {
                Some(file) => {
                    format!("it is among the ranks of the group {}, which {file} does not have", quote(&name))
                }
                None => format!(
                    "it is among the ranks of the group {}, and no file says which these are; write comm_groups",
                    quote(&name)
                ),
            }),
        }
    }

    /// What it does, in a word and numbers.
    fn operation(&self, groups: &Groups) -> Result<String, String> {
        let on_cpu = self.get("is_cpu_op").and_then(Value::number).is_none_or(|is| is != 0);
        let compute = format!("compute {} {}", self.duration_micros, if on_cpu { "cpu" } else { "gpu" });
        let tag = || if self.get("comm_tag").is_some() { self.number("comm_tag") } else { Ok(0) };
        match self.kind {
            1 => Ok("nothing".to_owned()),
            4 if self.duration_micros == 0 && self.get("num_ops").and_then(Value::number).is_some_and(|n| n > 0) => {
                Err("it has num_ops and no duration, which takes a model of the processor; write duration_micros".to_owned())
            }
            4 => Ok(compute),
            5 => Ok(format!("send {} {} {}", self.number("comm_dst")?, self.number("comm_size")?, tag()?)),
            6 => Ok(format!("receive {} {} {}", self.number("comm_src")?, self.number("comm_size")?, tag()?)),
            7 if self.get("comm_type").is_none() && on_cpu => Ok(compute),
            7 => {
                let kind = match self.number("comm_type")? {
                    0 => "allreduce",
                    2 => "allgather",
                    6 => "alltoall",
                    7 => "reducescatter",
                    other => {
                        return Err(format!(
                            "comm_type {other} is not simulated: 0 (AllReduce), 2 (AllGather), 6 (AllToAll) and 7 \
                             (ReduceScatter) are"
                        ));
                    }
                };
                let bytes = self.number("comm_size")?;
                Ok(match self.group(groups)? {
                    Some(group) => format!("{kind} {bytes} group {group}"),
                    None => format!("{kind} {bytes}"),
                })
            }
            2 | 3 => Err("loads and stores of memory are not simulated; leave the node out or make it a COMP".to_owned()),
            other => Err(format!("its type {other} is unknown; write 1 (METADATA) or 4 to 7 (COMP and COMM)")),
        }
    }
}

/// Groups of ranks.
struct Groups<'a> {
    /// Where they are from.
    file: Option<&'a str>,
    /// By name.
    ranks: BTreeMap<String, Vec<u32>>,
}

impl<'a> Groups<'a> {
    /// Reads a file of groups, with its name, for a trace of `count` ranks.
    fn read(named: Option<(&'a str, &str)>, count: usize) -> Result<Self, WorkloadError> {
        let Some((file, text)) = named else { return Ok(Groups { file: None, ranks: BTreeMap::new() }) };
        let wrong = |what: String| WorkloadError::file(file, what);
        let ranks: BTreeMap<String, Vec<u32>> = serde_json::from_str(text)
            .map_err(|error| wrong(format!("expected {{\"1\": [0, 1], \"2\": [2, 3]}}: {error}")))?;
        for (name, ranks) in &ranks {
            if name.is_empty() || name.contains(char::is_whitespace) {
                return Err(wrong(format!("the name {} is not simulated; write a number", quote(name))));
            }
            if let Some(rank) = ranks.iter().find(|rank| **rank as usize >= count) {
                return Err(wrong(format!(
                    "group {} has rank {rank}, and the trace has {count} ranks; write 0 to {}",
                    quote(name),
                    count.saturating_sub(1)
                )));
            }
            let mut sorted = ranks.clone();
            sorted.sort_unstable();
            if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(wrong(format!(
                    "group {} has rank {} twice; write it once",
                    quote(name),
                    twice[0]
                )));
            }
            if ranks.is_empty() || (name == "0" && ranks.len() < count) {
                return Err(wrong(format!(
                    "group {} has {} ranks of {count}: `0` stands for all of them, and another one has 1 at least",
                    quote(name),
                    ranks.len()
                )));
            }
        }
        Ok(Groups { file: Some(file), ranks })
    }
}

/// The text of the files of all ranks, and of the groups that a file says; each is named in errors.
///
/// # Errors
/// No protobuf, or a node that is not simulated; groups that are none.
pub fn to_text(files: &[(String, Vec<u8>)], groups: Option<(&str, &str)>) -> Result<String, WorkloadError> {
    let groups = Groups::read(groups, files.len())?;
    let mut text = format!("chakra of {} ranks\n", files.len());
    for (name, ranks) in groups.ranks.iter().filter(|(name, _)| *name != "0") {
        let _ = write!(text, "group {name}");
        ranks.iter().for_each(|rank| text.push_str(&format!(" {rank}")));
        text.push('\n');
    }
    for (rank, (name, bytes)) in files.iter().enumerate() {
        let _ = writeln!(text, "rank {rank}");
        let mut rest = &bytes[..];
        let mut count = 0;
        while !rest.is_empty() {
            let broken = |error: prost::DecodeError| {
                WorkloadError::file(
                    name,
                    format!("message {count} is no Chakra node: {error}; write the file anew"),
                )
            };
            let node = match count {
                // The first message is about the file.
                0 => {
                    let length = prost::decode_length_delimiter(&mut rest).map_err(broken)?;
                    rest = rest.get(length..).ok_or_else(|| {
                        WorkloadError::file(name, "it ends within its first message; write the file anew")
                    })?;
                    None
                }
                _ => Some(EtNode::decode_length_delimited(&mut rest).map_err(broken)?),
            };
            count += 1;
            let Some(node) = node else { continue };
            let operation = node.operation(&groups).map_err(|what| {
                WorkloadError::file(name, format!("node {} ({}): {what}", node.id, quote(&node.name)))
            })?;
            let _ = write!(text, "{} {operation}", node.id);
            let mut before: Vec<u64> = node.ctrl_deps.iter().chain(&node.data_deps).copied().collect();
            before.sort_unstable();
            before.dedup();
            if !before.is_empty() {
                text.push_str(" after");
                for id in before {
                    let _ = write!(text, " {id}");
                }
            }
            text.push('\n');
        }
    }
    Ok(text)
}

/// Whether this is a text of [`to_text`].
pub fn is_text(text: &str) -> bool {
    text.starts_with("chakra of ")
}

/// Reads a text of [`to_text`].
///
/// # Errors
/// The line, what was expected there and what to write instead.
pub fn parse(file: &str, text: &str, how: Collectives<'_>) -> Result<Graph, WorkloadError> {
    let mut reader = Reader::default();
    for (number, line) in text::lines(text).skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        reader.take(&words).map_err(|what| WorkloadError::line(file, number, what))?;
    }
    reader.finish(file, how)
}

#[derive(Default)]
struct Reader {
    graph: Graph,
    /// By rank: a node's place by its number, and the numbers that each waits for.
    places: Vec<BTreeMap<u64, u32>>,
    waits: Vec<Vec<Vec<u64>>>,
    /// The ranks of each group.
    groups: BTreeMap<String, Vec<u32>>,
    /// By group, all ranks being the empty name, and by rank: its collectives in their order.
    collectives: BTreeMap<String, BTreeMap<u32, Vec<Part>>>,
}

/// What a rank has of a collective.
#[derive(Clone, Copy)]
struct Part {
    usual: Algorithm,
    bytes: u64,
    node: u32,
}

impl Reader {
    fn take(&mut self, words: &[&str]) -> Result<(), String> {
        let whole = |word: &str, what: &str| text::whole(word, what, u64::MAX);
        match words {
            ["rank", _] => {
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
                    Some(_) => Err(format!("group {} is there for the second time", quote(name))),
                };
            }
            _ => {}
        }
        let (words, before) = match words.iter().position(|word| *word == "after") {
            Some(at) => (&words[..at], &words[at + 1..]),
            None => (words, &[][..]),
        };
        let (Some(nodes), [id, operation @ ..]) = (self.graph.ranks.last_mut(), words) else {
            return Err("expected `rank N` or a node".to_owned());
        };
        let rank = self.places.len() - 1;
        let node = nodes.len() as u32;
        let mut collective = |usual, bytes: &str, group: &str| -> Result<Op, String> {
            let its = self.collectives.entry(group.to_owned()).or_default().entry(rank as u32).or_default();
            its.push(Part { usual, bytes: whole(bytes, "the size")?, node });
            // Which one it is turns out when all are known.
            Ok(Op::Collective(0))
        };
        let op = match operation {
            ["nothing"] => Op::Compute { takes: Duration::ZERO, processor: None },
            ["compute", us, on @ ("cpu" | "gpu")] => Op::Compute {
                takes: Duration::from_us(text::whole(us, "the duration", u64::MAX / 1_000_000_000)?),
                processor: Some(u32::from(*on == "cpu")),
            },
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
            [what, bytes, group @ ..] if matches!(group, [] | ["group", _]) => {
                let usual = match *what {
                    "allreduce" => Algorithm::AllreduceRing,
                    "allgather" => Algorithm::AllgatherRing,
                    "reducescatter" => Algorithm::ReducescatterRing,
                    "alltoall" => Algorithm::Alltoall,
                    _ => return Err(format!("{} is no operation", quote(&operation.join(" ")))),
                };
                collective(usual, bytes, group.last().unwrap_or(&""))?
            }
            _ => return Err(format!("{} is no operation", quote(&operation.join(" ")))),
        };
        let place = whole(id, "the node's number")?;
        if self.places[rank].insert(place, node).is_some() {
            return Err(format!("node {place} is there for the second time in this rank"));
        }
        let before = before.iter().map(|id| whole(id, "the number of a node")).collect::<Result<_, _>>()?;
        self.waits[rank].push(before);
        nodes.push(Node { op, place, after: Vec::new(), with: Vec::new() });
        Ok(())
    }

    fn finish(mut self, file: &str, how: Collectives<'_>) -> Result<Graph, WorkloadError> {
        for (rank, nodes) in self.graph.ranks.iter_mut().enumerate() {
            for (node, waits) in nodes.iter_mut().zip(&self.waits[rank]) {
                for id in waits {
                    match self.places[rank].get(id) {
                        Some(before) => node.after.push(*before),
                        None => {
                            let what = format!(
                                "rank {rank}, node {}: it waits for node {id}, which is not there",
                                node.place
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
            self.connect(&group, channel, &ranks, &by_rank, how)
                .map_err(|what| WorkloadError::file(file, what))?;
        }
        Ok(self.graph)
    }

    /// Makes collectives of what the ranks of a group have of them.
    fn connect(
        &mut self,
        group: &str,
        channel: u32,
        ranks: &[u32],
        by_rank: &BTreeMap<u32, Vec<Part>>,
        how: Collectives<'_>,
    ) -> Result<(), String> {
        let of_group = if group.is_empty() { String::new() } else { format!(" of group {}", quote(group)) };
        let place =
            |graph: &Graph, rank: u32, part: &Part| graph.ranks[rank as usize][part.node as usize].place;
        let within: BTreeSet<u32> = ranks.iter().copied().collect();
        if let Some((&rank, its)) = by_rank.iter().find(|(rank, _)| !within.contains(rank)) {
            let place = its.first().map_or(0, |part| place(&self.graph, rank, part));
            return Err(format!(
                "rank {rank}, node {place}: it is a collective{of_group}, in which its rank is not"
            ));
        }
        let of = |rank: u32| by_rank.get(&rank).map_or(&[][..], Vec::as_slice);
        let Some(&first) = ranks.first() else { return Ok(()) };
        for &rank in ranks {
            let (its, of_first) = (of(rank), of(first));
            if let Some((number, (part, _))) = its
                .iter()
                .zip(of_first)
                .enumerate()
                .find(|(_, (part, other))| (part.usual, part.bytes) != (other.usual, other.bytes))
            {
                let place = place(&self.graph, rank, part);
                return Err(format!(
                    "rank {rank}, node {place}: it is collective {number}{of_group} of its rank, and that of rank {first} is \
                     another one"
                ));
            }
            if its.len() != of_first.len() {
                return Err(format!(
                    "rank {rank} has {} collectives{of_group}, and rank {first} has {}",
                    its.len(),
                    of_first.len()
                ));
            }
        }
        for (number, &Part { usual, bytes, .. }) in of(first).iter().enumerate() {
            let members: Vec<(u32, u32)> = ranks.iter().map(|&rank| (rank, of(rank)[number].node)).collect();
            let index = self.graph.collectives.len() as u32;
            for &(rank, node) in &members {
                self.graph.ranks[rank as usize][node as usize].op = Op::Collective(index);
            }
            let (algorithm, chunk) = (how.algorithm(usual, bytes), how.chunk);
            // Those without bytes are no more than their nodes, which then wait for each other.
            self.graph.collectives.push(Collective { algorithm, bytes, chunk, channel, members });
        }
        Ok(())
    }
}
