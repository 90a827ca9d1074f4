//! Chakra execution traces: a file of length-delimited protobuf messages for each rank.
//!
//! They are first put into a text of a line a node ([`to_text`]), which is what a scenario keeps; then read as any trace.
//! Of each node its dependencies (data and control alike), and:
//! - `COMP`: its duration, one at a time on the CPU and one at a time on the GPU of its rank (`is_cpu_op`);
//! - `COMM_SEND`, `COMM_RECV`: `comm_size`, `comm_dst` or `comm_src`, `comm_tag`;
//! - `COMM_COLL`: `comm_type` and `comm_size`, among all ranks; one on the CPU without a type is the launch, which computes;
//! - `METADATA`: nothing.
//!
//! The n-th collective of a rank is one with the n-th of all others.

use super::graph::{Collective, Graph, Node, Op};
use crate::WorkloadError;
use crate::collective::Algorithm;
use crate::text::{self, quote};
use anabranch_base::Duration;
use prost::Message;
use std::collections::BTreeMap;
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

    /// What it does, in a word and numbers.
    fn operation(&self) -> Result<String, String> {
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
                if let Some(Value::Text(group)) = self.get("pg_name")
                    && !matches!(group.as_str(), "" | "0")
                {
                    return Err(format!(
                        "it is among the ranks of the group {}, and only collectives of all ranks are simulated",
                        quote(group)
                    ));
                }
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
                Ok(format!("{kind} {}", self.number("comm_size")?))
            }
            2 | 3 => Err("loads and stores of memory are not simulated; leave the node out or make it a COMP".to_owned()),
            other => Err(format!("its type {other} is unknown; write 1 (METADATA) or 4 to 7 (COMP and COMM)")),
        }
    }
}

/// The text of the files of all ranks, which are named in errors.
///
/// # Errors
/// No protobuf, or a node that is not simulated.
pub fn to_text(files: &[(String, Vec<u8>)]) -> Result<String, WorkloadError> {
    let mut text = format!("chakra of {} ranks\n", files.len());
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
            let operation = node.operation().map_err(|what| {
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

/// Reads a text of [`to_text`]. Messages of collectives have at most `chunk` bytes.
///
/// # Errors
/// The line, what was expected there and what to write instead.
pub fn parse(file: &str, text: &str, chunk: u64) -> Result<Graph, WorkloadError> {
    let mut reader = Reader::default();
    for (number, line) in text::lines(text).skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        reader.take(&words).map_err(|what| WorkloadError::line(file, number, what))?;
    }
    reader.finish(file, chunk)
}

#[derive(Default)]
struct Reader {
    graph: Graph,
    /// By rank: a node's place by its number, and the numbers that each waits for.
    places: Vec<BTreeMap<u64, u32>>,
    waits: Vec<Vec<Vec<u64>>>,
    /// By rank, its collectives in their order: algorithm, bytes, node.
    collectives: Vec<Vec<(Algorithm, u64, u32)>>,
}

impl Reader {
    fn take(&mut self, words: &[&str]) -> Result<(), String> {
        let whole = |word: &str, what: &str| text::whole(word, what, u64::MAX);
        if let ["rank", _] = words {
            self.graph.ranks.push(Vec::new());
            self.places.push(BTreeMap::new());
            self.waits.push(Vec::new());
            self.collectives.push(Vec::new());
            return Ok(());
        }
        let (words, before) = match words.iter().position(|word| *word == "after") {
            Some(at) => (&words[..at], &words[at + 1..]),
            None => (words, &[][..]),
        };
        let (Some(nodes), [id, operation @ ..]) = (self.graph.ranks.last_mut(), words) else {
            return Err("expected `rank N` or a node".to_owned());
        };
        let rank = self.places.len() - 1;
        let number = nodes.len() as u32;
        let mut collective = |algorithm, bytes: &str| -> Result<Op, String> {
            self.collectives[rank].push((algorithm, whole(bytes, "the size")?, number));
            Ok(Op::Collective(self.collectives[rank].len() as u32 - 1))
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
            ["allreduce", bytes] => collective(Algorithm::AllreduceRing, bytes)?,
            ["allgather", bytes] => collective(Algorithm::AllgatherRing, bytes)?,
            ["reducescatter", bytes] => collective(Algorithm::ReducescatterRing, bytes)?,
            ["alltoall", bytes] => collective(Algorithm::Alltoall, bytes)?,
            _ => return Err(format!("{} is no operation", quote(&operation.join(" ")))),
        };
        let place = whole(id, "the node's number")?;
        if self.places[rank].insert(place, number).is_some() {
            return Err(format!("node {place} is there for the second time in this rank"));
        }
        let before = before.iter().map(|id| whole(id, "the number of a node")).collect::<Result<_, _>>()?;
        self.waits[rank].push(before);
        nodes.push(Node { op, place, after: Vec::new(), with: Vec::new() });
        Ok(())
    }

    fn finish(mut self, file: &str, chunk: u64) -> Result<Graph, WorkloadError> {
        let wrong = |rank: usize, node: u64, what: String| {
            Err(WorkloadError::file(file, format!("rank {rank}, node {node}: {what}")))
        };
        for (rank, nodes) in self.graph.ranks.iter_mut().enumerate() {
            for (node, waits) in nodes.iter_mut().zip(&self.waits[rank]) {
                for id in waits {
                    match self.places[rank].get(id) {
                        Some(before) => node.after.push(*before),
                        None => {
                            return wrong(
                                rank,
                                node.place,
                                format!("it waits for node {id}, which is not there"),
                            );
                        }
                    }
                }
            }
        }
        let of_first = self.collectives.first().map_or(&[][..], Vec::as_slice);
        for (number, (algorithm, bytes, _)) in of_first.iter().enumerate() {
            let mut members = Vec::with_capacity(self.collectives.len());
            for (rank, its) in self.collectives.iter().enumerate() {
                match its.get(number) {
                    Some((same, size, node)) if same == algorithm && size == bytes => {
                        members.push((rank as u32, *node))
                    }
                    Some((_, _, node)) => {
                        let place = self.graph.ranks[rank][*node as usize].place;
                        let what = format!(
                            "it is collective {number} of its rank, and that of rank 0 is another one"
                        );
                        return wrong(rank, place, what);
                    }
                    None => {
                        let what = format!(
                            "rank {rank} has {} collectives, and rank 0 has {}",
                            its.len(),
                            of_first.len()
                        );
                        return Err(WorkloadError::file(file, what));
                    }
                }
            }
            let (algorithm, bytes) = (*algorithm, *bytes);
            // Those without bytes are no more than their nodes, which then wait for each other.
            self.graph.collectives.push(Collective { algorithm, bytes, chunk, channel: u32::MAX, members });
        }
        Ok(self.graph)
    }
}
