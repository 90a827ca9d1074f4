//! Nodes and groups of ranks in Chakra's files.

use crate::WorkloadError;
use crate::text::quote;
use anabranch_base::Problem;
use prost::Message;
use std::collections::BTreeMap;

/// The fields of a node that this reader uses (et_def.proto).
#[derive(Clone, PartialEq, Message)]
pub(super) struct EtNode {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(int32, tag = "3")]
    kind: i32,
    #[prost(uint64, repeated, tag = "4")]
    pub ctrl_deps: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    pub data_deps: Vec<u64>,
    #[prost(uint64, tag = "7")]
    duration_micros: u64,
    #[prost(message, repeated, tag = "10")]
    attr: Vec<Attribute>,
}

/// An attribute of a node, with the types of values that are read. Tools use different types for the same number.
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

    fn number(&self, name: &str) -> Result<u64, Problem> {
        match self.get(name).map(Value::number) {
            Some(Some(number)) => Ok(number),
            Some(None) => Err(format!("{name} is no whole number of 0 or more").into()),
            None => Err(format!("it has no {name}").into()),
        }
    }

    /// The group of ranks of a collective; `None` stands for all ranks.
    fn group(&self, groups: &Groups) -> Result<Option<String>, Problem> {
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
                        .into()
                }
                None => Problem::with_text(
                    format!(
                        "it is among the ranks of the group {}, and no file says which these are",
                        quote(&name)
                    ),
                    "comm_groups = \"groups.json\"",
                ),
            }),
        }
    }

    /// The operation as the text writes it.
    pub fn operation(&self, groups: &Groups) -> Result<String, Problem> {
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
            4 if takes == 0 && self.get("num_ops").and_then(Value::number).is_some_and(|n| n > 0) => {
                Err(Problem::with_value(
                    "it has num_ops and no duration, which takes a model of the processor",
                    "duration_micros",
                ))
            }
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
                        ).into());
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
                    .into())
            }
            other => Err(Problem::with_text(
                format!("its type {other} is unknown"),
                "1 (METADATA) or 4 to 7 (COMP and COMM)",
            )),
        }
    }
}

/// The groups of ranks that collectives name.
pub(super) struct Groups<'a> {
    /// The name of the file of groups.
    file: Option<&'a str>,
    /// The ranks of each group, by the group's name.
    pub ranks: BTreeMap<String, Vec<u32>>,
}

impl<'a> Groups<'a> {
    /// Reads the groups from the name and the text of their file, for a trace of `count` ranks.
    pub fn read(named: Option<(&'a str, &str)>, count: usize) -> Result<Self, WorkloadError> {
        let Some((file, text)) = named else { return Ok(Groups { file: None, ranks: BTreeMap::new() }) };
        let wrong = |what: Problem| WorkloadError::file(file, what);
        let ranks: BTreeMap<String, Vec<u32>> = serde_json::from_str(text)
            .map_err(|error| wrong(format!("expected {{\"1\": [0, 1], \"2\": [2, 3]}}: {error}").into()))?;
        for (name, ranks) in &ranks {
            // These names would have another meaning in a line of the text.
            let is_reserved = name.contains('#') || ["after", "control"].contains(&name.as_str());
            if name.is_empty() || name.contains(char::is_whitespace) || is_reserved {
                return Err(wrong(Problem::with_text(
                    format!("the name {} is not simulated", quote(name)),
                    "a number",
                )));
            }
            if let Some(rank) = ranks.iter().find(|rank| **rank as usize >= count) {
                return Err(wrong(Problem::with_text(
                    format!("group {} has rank {rank}, and the trace has {count} ranks", quote(name)),
                    format_args!("0 to {}", count.saturating_sub(1)),
                )));
            }
            let mut sorted = ranks.clone();
            sorted.sort_unstable();
            if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(wrong(Problem::with_text(
                    format!("group {} has rank {} twice", quote(name), twice[0]),
                    "it once",
                )));
            }
            if ranks.is_empty() || (name == "0" && ranks.len() < count) {
                return Err(wrong(format!(
                    "group {} has {} ranks of {count}: `0` stands for all of them, and another one has 1 at least",
                    quote(name),
                    ranks.len()
                )
                .into()));
            }
        }
        Ok(Groups { file: Some(file), ranks })
    }
}
