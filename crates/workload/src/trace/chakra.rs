//! Chakra execution traces: a file of length-delimited protobuf messages for each rank.
//!
//! They are first put into a text of a line a node ([`to_text`]), which is what a scenario keeps; then read as any trace.
//! Of each node its dependencies (data and control alike), and:
//! - `COMP`: its duration (or `runtime`, as older tools write it), one at a time on the CPU and one at a time on the GPU of
//!   its rank (`is_cpu_op`), or one at a time per stream of the GPU (`tid`);
//! - `COMM_SEND`, `COMM_RECV`: `comm_size`, `comm_dst` or `comm_src`, `comm_tag`;
//! - `COMM_COLL`: `comm_type` and `comm_size`, among all ranks or those of a group; one on the CPU without a type is the
//!   launch, which computes. The size is what a rank has before it, as in ASTRA-sim, whose ring AllGather sends
//!   messages of `comm_size`: the result of an AllGather is as many times larger as there are ranks. A broadcast is from the
//!   first rank of its group, as no attribute names another one;
//! - `METADATA`: nothing.
//!
//! The group is named by `pg_name`, or by `comm_group` as older tools write it; none, an empty name and `0` are all ranks.
//! Which ranks are in it says a file of groups, as ASTRA-sim reads it: `{"1": [0, 1], "2": [2, 3]}`. The n-th collective of
//! a rank in a group is one with the n-th of all others in it.

use super::CollectiveRules;
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
                    "it is among the ranks of the group {}, and no file says which these are; write comm_groups = \"groups.json\"",
                    quote(&name)
                ),
            }),
        }
    }

    /// What it does, in a word and numbers.
    fn operation(&self, groups: &Groups) -> Result<String, String> {
        let on_cpu = self.get("is_cpu_op").and_then(Value::number).is_none_or(|is| is != 0);
        let takes = match (self.duration_micros, self.get("runtime")) {
            (0, Some(_)) => self.number("runtime")?,
            (takes, _) => takes,
        };
        let stream =
            || self.get("tid").and_then(Value::number).map(|tid| format!(" {tid}")).unwrap_or_default();
        let compute = match on_cpu {
            true => format!("compute {takes} cpu"),
            false => format!("compute {takes} gpu{}", stream()),
        };
        let tag = || if self.get("comm_tag").is_some() { self.number("comm_tag") } else { Ok(0) };
        match self.kind {
            1 => Ok("nothing".to_owned()),
            4 if takes == 0 && self.get("num_ops").and_then(Value::number).is_some_and(|n| n > 0) => Err(
                "it has num_ops and no duration, which takes a model of the processor; write duration_micros"
                    .to_owned(),
            ),
            4 => Ok(compute),
            5 => Ok(format!("send {} {} {}", self.number("comm_dst")?, self.number("comm_size")?, tag()?)),
            6 => Ok(format!("receive {} {} {}", self.number("comm_src")?, self.number("comm_size")?, tag()?)),
            7 if self.get("comm_type").is_none() && on_cpu => Ok(compute),
            7 => {
                let kind = match self.number("comm_type")? {
                    0 => "allreduce",
                    2 => "allgather",
                    5 => "broadcast",
                    6 => "alltoall",
                    7 => "reducescatter",
                    other => {
                        return Err(format!(
                            "comm_type {other} is not simulated: 0 (AllReduce), 2 (AllGather), 5 (Broadcast), 6 (AllToAll) \
                             and 7 (ReduceScatter) are"
                        ));
                    }
                };
                let bytes = self.number("comm_size")?;
                Ok(match self.group(groups)? {
                    Some(group) => format!("{kind} {bytes} group {group}"),
                    None => format!("{kind} {bytes}"),
                })
            }
            2 | 3 => {
                Err("loads and stores of memory are not simulated; leave the node out or make it a COMP"
                    .to_owned())
            }
            other => {
                Err(format!("its type {other} is unknown; write 1 (METADATA) or 4 to 7 (COMP and COMM)"))
            }
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
        let mut ids = BTreeSet::new();
        if rest.is_empty() {
            return Err(WorkloadError::file(name, "it is empty; write the trace of its rank"));
        }
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
            if !ids.insert(node.id) {
                let what = format!(
                    "node {} ({}) is there for the second time; write another number",
                    node.id,
                    quote(&node.name)
                );
                return Err(WorkloadError::file(name, what));
            }
            let _ = write!(text, "{} {operation}", node.id);
            let by_data: BTreeSet<u64> = node.data_deps.iter().copied().collect();
            let by_control: BTreeSet<u64> = node.ctrl_deps.iter().copied().collect();
            for (word, before) in [("after", &by_data), ("control", &(&by_control - &by_data))] {
                if !before.is_empty() {
                    let _ = write!(text, " {word}");
                    for id in before {
                        let _ = write!(text, " {id}");
                    }
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
pub fn parse(
    file: &str,
    text: &str,
    how: CollectiveRules<'_>,
    read: Options,
) -> Result<Graph, WorkloadError> {
    let mut reader =
        Reader { streams: read.streams, without_control: read.without_control, ..Reader::default() };
    for (number, line) in text::lines(text).skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        reader.take(&words).map_err(|what| WorkloadError::line(file, number, what))?;
    }
    match (reader.graph.ranks.len(), read.replicate) {
        (1, Some(ranks)) => reader.replicate(ranks).map_err(|what| WorkloadError::file(file, what))?,
        (1, None) => {
            let what = "there is the trace of rank 0 alone; write those of the others too, or replicate = 8 if each of 8 ranks \
                        does what rank 0 does";
            return Err(WorkloadError::file(file, what));
        }
        (ranks, Some(_)) => {
            let what = format!(
                "there are the traces of {ranks} ranks, and one alone can be replicated; leave replicate out"
            );
            return Err(WorkloadError::key("replicate", what));
        }
        (_, None) => {}
    }
    reader.finish(file, how, read.without_missing)
}

/// Where the dependencies of a node begin, by data and by control, among the words of its line.
fn dependencies<'a, 'b>(words: &'a [&'b str]) -> (&'a [&'b str], &'a [&'b str], &'a [&'b str]) {
    let at = |word| words.iter().position(|its| *its == word);
    let control = at("control").unwrap_or(words.len());
    let data = at("after").unwrap_or(control);
    (&words[..data], words[data..control].get(1..).unwrap_or(&[]), words[control..].get(1..).unwrap_or(&[]))
}

/// Options many nodes of a text of [`to_text`] wait for others by control.
pub fn waiting_by_control(text: &str) -> usize {
    text::lines(text)
        .skip(1)
        .filter(|(_, line)| line.split_whitespace().any(|word| word == "control"))
        .count()
}

/// Options many nodes of a text of [`to_text`] wait for some that are not there.
pub fn waiting_for_missing(text: &str, without_control: bool) -> usize {
    let mut waiting = 0;
    let mut rank: (BTreeSet<&str>, Vec<Vec<&str>>) = Default::default();
    let mut count = |(ids, waits): &(BTreeSet<&str>, Vec<Vec<&str>>)| {
        waiting += waits.iter().filter(|waits| waits.iter().any(|id| !ids.contains(id))).count();
    };
    for (_, line) in text::lines(text).skip(1) {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("rank") => count(&std::mem::take(&mut rank)),
            Some("group") | None => {}
            Some(id) => {
                rank.0.insert(id);
                let words: Vec<&str> = words.collect();
                let (_, by_data, by_control) = dependencies(&words);
                let by_control = if without_control { &[] } else { by_control };
                rank.1.push([by_data, by_control].concat());
            }
        }
    }
    count(&rank);
    waiting
}

/// Options a trace is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The one rank that there is stands for so many.
    pub replicate: Option<u32>,
    /// Streams of a GPU compute beside each other.
    pub streams: bool,
    /// What nodes wait for and is not there counts as over.
    pub without_missing: bool,
    /// Nodes do not wait for those that they depend on by control.
    pub without_control: bool,
}

#[derive(Default)]
struct Reader {
    graph: Graph,
    /// Whether each stream of a GPU is a processor of its own, and the streams of the present rank.
    streams: bool,
    known_streams: Vec<u64>,
    without_control: bool,
    /// By rank: a node's place by its number, and the numbers that each waits for.
    places: Vec<BTreeMap<u64, u32>>,
    waits: Vec<Vec<Vec<u64>>>,
    /// The ranks of each group.
    groups: BTreeMap<String, Vec<u32>>,
    /// By group, all ranks being the empty name, and by rank: its collectives in their order.
    collectives: BTreeMap<String, BTreeMap<u32, Vec<Part>>>,
}

/// The processors of a rank; the streams of its GPU come behind.
const GPU: u32 = 0;
const CPU: u32 = 1;

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
                    Some(_) => Err(format!("group {} is there for the second time", quote(name))),
                };
            }
            _ => {}
        }
        let (words, by_data, by_control) = dependencies(words);
        let by_control = if self.without_control { &[] } else { by_control };
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
            ["compute", us, on @ ("cpu" | "gpu"), stream @ ..] if stream.len() < 2 => {
                let takes = Duration::from_us(text::whole(us, "the duration", u64::MAX / 1_000_000_000)?);
                let processor = match (*on, stream.first()) {
                    ("cpu", _) => CPU,
                    (_, Some(stream)) if self.streams => {
                        let stream = whole(stream, "tid")?;
                        let known = self.known_streams.iter().position(|known| *known == stream);
                        let number = known.unwrap_or_else(|| {
                            self.known_streams.push(stream);
                            self.known_streams.len() - 1
                        });
                        CPU + 1 + number as u32
                    }
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
            [what, bytes, group @ ..] if matches!(group, [] | ["group", _]) => {
                let usual = match *what {
                    "allreduce" => Algorithm::AllreduceRing,
                    "allgather" => Algorithm::AllgatherRing,
                    "reducescatter" => Algorithm::ReducescatterRing,
                    "broadcast" => Algorithm::BroadcastRing,
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
        let before = by_data.iter().chain(by_control);
        let before = before.map(|id| whole(id, "the number of a node")).collect::<Result<_, _>>()?;
        self.waits[rank].push(before);
        nodes.push(Node { op, place, after: Vec::new(), with: Vec::new() });
        Ok(())
    }

    /// Makes the one rank `ranks` ranks that do the same.
    fn replicate(&mut self, ranks: u32) -> Result<(), String> {
        if let Some(node) =
            self.graph.ranks[0].iter().find(|node| matches!(node.op, Op::Send { .. } | Op::Receive { .. }))
        {
            return Err(format!(
                "node {}: it sends to or receives from one rank, which not every rank can do; leave replicate out",
                node.place
            ));
        }
        if let Some(group) = self.collectives.keys().find(|group| !group.is_empty()) {
            return Err(format!(
                "a collective is of group {}, and replicated ranks have those of all ranks alone; leave replicate out",
                quote(group)
            ));
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

    fn finish(
        mut self,
        file: &str,
        how: CollectiveRules<'_>,
        without_missing: bool,
    ) -> Result<Graph, WorkloadError> {
        for (rank, nodes) in self.graph.ranks.iter_mut().enumerate() {
            for (node, waits) in nodes.iter_mut().zip(&self.waits[rank]) {
                for id in waits {
                    match self.places[rank].get(id) {
                        Some(before) => node.after.push(*before),
                        None if without_missing => {}
                        None => {
                            let what = format!(
                                "rank {rank}, node {}: it waits for node {id}, which is not there; write it, or \
                                 without_missing = true in [workload], by which such nodes count as over",
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
        how: CollectiveRules<'_>,
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
                let (at, of_first) = (place(&self.graph, rank, part), &of_first[number]);
                return Err(format!(
                    "rank {rank}, node {at}: it is collective {number}{of_group} of its rank, an {} of {} B, and that of \
                     rank {first} (node {}) is an {} of {} B; give all of them the same collectives in the same order",
                    part.usual.collective(),
                    part.bytes,
                    place(&self.graph, first, of_first),
                    of_first.usual.collective(),
                    of_first.bytes
                ));
            }
            let (more, fewer, parts) = match its.len() > of_first.len() {
                true => (rank, first, its),
                false => (first, rank, of_first),
            };
            let both = its.len().min(of_first.len());
            if let Some(part) = parts.get(both) {
                return Err(format!(
                    "rank {more}, node {}: it is collective {both}{of_group} of its rank, and rank {fewer} has no more than \
                     {both}; give all of them the same collectives in the same order",
                    place(&self.graph, more, part)
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
            let bytes = match usual {
                Algorithm::AllgatherRing => bytes.saturating_mul(members.len() as u64),
                _ => bytes,
            };
            // Those without bytes are no more than their nodes, which then wait for each other.
            self.graph.collectives.push(Collective { algorithm, bytes, chunk, channel, members });
        }
        Ok(())
    }
}
