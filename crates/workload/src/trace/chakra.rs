//! Chakra execution traces: one file per rank, which consists of length-delimited protobuf messages.
//!
//! The files are first converted to a text with one line per node ([`to_text`]). A scenario keeps this text, which is
//! then read like any other trace. Each node has data and control dependencies, which have the same effect. The types
//! of nodes are:
//! - `COMP`: its duration (or `runtime` in traces of older tools). A rank computes one node at a time on its CPU and
//!   one at a time on its GPU (`is_cpu_op`), or one at a time per stream of the GPU (`tid`);
//! - `COMM_SEND`, `COMM_RECV`: `comm_size`, `comm_dst` or `comm_src`, `comm_tag`;
//! - `COMM_COLL`: `comm_type` and `comm_size`, among all ranks or those of a group. Such a node on the CPU without
//!   `comm_type` is the launch of a collective, and counts as a computation. `comm_size` is the size of a rank's data
//!   before the collective, as in ASTRA-sim, whose ring AllGather sends messages of `comm_size`. The result of an
//!   AllGather is therefore larger by the factor of the number of ranks. A broadcast comes from the first rank of its
//!   group, since no attribute names another rank. A collective of no bytes has no messages, and its nodes end at once:
//!   it is no barrier. NCCL discards such collectives too (`taskAppend` in its `enqueue.cc`);
//! - `METADATA`: has no effect.
//!
//! `pg_name` names the group, or `comm_group` in traces of older tools. Without a name, or with an empty name or `0`,
//! the group has all ranks. The ranks of the groups are in a file that has the form of ASTRA-sim:
//! `{"1": [0, 1], "2": [2, 3]}`. Within a group, the n-th collective node of each rank belongs to the n-th collective
//! of the group.

mod node;
mod reader;

use super::CollectiveRules;
use super::graph::Graph;
use crate::WorkloadError;
use crate::text::{self, quote};
use anabranch_base::Problem;
use node::{EtNode, Groups};
use prost::Message;
use reader::Reader;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The text for the files of all ranks and for the file of groups.
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
        rank_to_text(bytes, &groups, &mut text).map_err(|what| WorkloadError::file(name, what))?;
    }
    Ok(text)
}

fn rank_to_text(bytes: &[u8], groups: &Groups, text: &mut String) -> Result<(), Problem> {
    if bytes.is_empty() {
        return Err(Problem::with_text("it is empty", "the trace of its rank"));
    }
    let broken = |count: usize| {
        move |error: prost::DecodeError| {
            Problem::with_text(format!("message {count} is no Chakra node: {error}"), "the file anew")
        }
    };
    let mut rest = bytes;
    // The first protobuf message describes the file.
    let length = prost::decode_length_delimiter(&mut rest).map_err(broken(0))?;
    rest = rest
        .get(length..)
        .ok_or_else(|| Problem::with_text("it ends within its first message", "the file anew"))?;
    let mut ids = BTreeSet::new();
    for count in 1.. {
        if rest.is_empty() {
            break;
        }
        let node = EtNode::decode_length_delimited(&mut rest).map_err(broken(count))?;
        let operation = node
            .operation(groups)
            .map_err(|what| what.prefixed(format_args!("node {} ({}): ", node.id, quote(&node.name))))?;
        if !ids.insert(node.id) {
            return Err(Problem::with_text(
                format!("node {} ({}) is there for the second time", node.id, quote(&node.name)),
                "another number",
            ));
        }
        let _ = write!(text, "{} {operation}", node.id);
        let by_data: BTreeSet<u64> = node.data_deps.iter().copied().collect();
        let by_control: BTreeSet<u64> = node.ctrl_deps.iter().copied().collect();
        for (word, before) in [("after", &by_data), ("control", &(&by_control - &by_data))] {
            if !before.is_empty() {
                let _ = write!(text, " {word}");
                before.iter().for_each(|id| text.push_str(&format!(" {id}")));
            }
        }
        text.push('\n');
    }
    Ok(())
}

/// The collectives, as the text writes them.
const COLLECTIVES: [&str; 5] = ["allreduce", "allgather", "broadcast", "alltoall", "reducescatter"];

/// Whether `text` is an output of [`to_text`].
pub fn is_text(text: &str) -> bool {
    text.starts_with("chakra of ")
}

/// Reads an output of [`to_text`].
pub fn parse(
    file: &str,
    text: &str,
    rules: CollectiveRules<'_>,
    options: Options,
) -> Result<Graph, WorkloadError> {
    let mut reader = Reader::new(options);
    for (number, line) in text::lines(text).skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        reader.read(&words).map_err(|what| WorkloadError::line(file, number, what))?;
    }
    match (reader.ranks(), options.replicate) {
        (1, Some(ranks)) => reader.replicate(ranks).map_err(|what| WorkloadError::file(file, what))?,
        (1, None) => {
            let what = Problem::with_text(
                "there is the trace of rank 0 alone",
                "those of the others too, or replicate = 8 if each of 8 ranks does what rank 0 does",
            );
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
    reader.finish(file, rules, options.without_missing)
}

/// The options for reading a trace, which [`TraceSpec`](super::TraceSpec) describes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    pub replicate: Option<u32>,
    /// Whether the streams of a GPU compute concurrently.
    pub streams: bool,
    pub without_missing: bool,
    pub without_control: bool,
}

/// Divides the words of a node's line into the operation, the data dependencies and the control dependencies.
fn dependencies<'a, 'b>(words: &'a [&'b str]) -> (&'a [&'b str], &'a [&'b str], &'a [&'b str]) {
    let at = |word| words.iter().position(|other| *other == word);
    let control = at("control").unwrap_or(words.len());
    let data = at("after").unwrap_or(control);
    (&words[..data], words[data..control].get(1..).unwrap_or(&[]), words[control..].get(1..).unwrap_or(&[]))
}

/// The number of nodes with control dependencies in an output of [`to_text`].
pub fn waiting_by_control(text: &str) -> usize {
    text::lines(text)
        .skip(1)
        .filter(|(_, line)| line.split_whitespace().any(|word| word == "control"))
        .count()
}

/// The number of nodes in an output of [`to_text`] that are collectives of no bytes.
pub fn without_bytes(text: &str) -> usize {
    let is_empty = |line: &str| match line.split_whitespace().collect::<Vec<_>>()[..] {
        ["group" | "rank", ..] => false,
        [_, kind, "0", ..] => COLLECTIVES.contains(&kind),
        _ => false,
    };
    text::lines(text).skip(1).filter(|(_, line)| is_empty(line)).count()
}

/// The number of nodes in an output of [`to_text`] that depend on nodes that do not exist.
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

#[cfg(test)]
mod tests {
    use super::super::Format;
    use super::super::graph::Naming;
    use super::*;

    /// The node of a collective of no bytes ends as soon as it begins, so the other ranks need not have joined.
    #[test]
    fn a_collective_of_no_bytes_is_no_barrier() {
        let text = |bytes: u32| {
            format!(
                "chakra of 2 ranks\nrank 0\n1 allreduce {bytes}\n2 send 1 8 0 after 1\nrank 1\n1 receive 0 8 0\n\
                 2 allreduce {bytes} after 1\n"
            )
        };
        let check = |bytes: u32| {
            let rules = CollectiveRules { chunk: 1_000, instead: &[] };
            let graph = parse("job", &text(bytes), rules, Options::default()).unwrap();
            let naming = Naming { file: "job", place: "node", control: true, format: Format::Chakra };
            graph.check(naming).map(drop)
        };
        check(0).unwrap();
        assert!(check(8).unwrap_err().to_string().contains("it never begins"));
    }

    #[test]
    fn collectives_of_no_bytes_are_counted() {
        let text = "chakra of 1 ranks\ngroup allreduce 0\nrank 0\n1 allreduce 0\n2 alltoall 0 group 7 after 1\n3 send 0 0 1\n\
                    4 allgather 10 after 0\n";
        assert_eq!(without_bytes(text), 2);
    }
}
