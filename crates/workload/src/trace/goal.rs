//! GOAL, the group operation assembly language of LogGOPSim, as text.
//!
//! A file has `num_ranks N`, then `rank R { ... }` for each rank, with one statement per line. A statement is an
//! operation or a dependency. An operation is `[label:] send SIZEb to R [tag T]`, `recv SIZEb from R [tag T]` or `calc
//! NANOSECONDS`, each optionally followed by `cpu C` and `nic C`. A dependency is `LABEL requires LABEL` or `LABEL
//! irequires LABEL`. Comments are `//` to the end of the line and `/* */`.
//!
//! A `cpu` (0 by default) executes one computation at a time, in the order in which the computations become ready.
//! `nic` must be 0, since a host has one NIC. The `cpu` of a send or receive has no effect, since posting takes no
//! time.

use super::MOST_RANKS;
use super::graph::{Graph, Node, Op};
use crate::text::{self, quote};
use crate::{Step, WorkloadError};
use anabranch_base::{Bytes, Duration, Fix, Problem};
use std::collections::BTreeMap;

pub fn parse(file: &str, text: &str) -> Result<Graph, WorkloadError> {
    let mut graph = Graph::default();
    let mut reader = Reader::default();
    let plain = without_comments(text).map_err(|line| {
        WorkloadError::line(
            file,
            line,
            Problem::with_text("the comment that begins here does not end", "*/ behind it"),
        )
    })?;
    for (index, line) in plain.lines().enumerate() {
        let number = index as u32 + 1;
        // Braces may be on the same line as statements.
        for part in line.replace('{', " {\n").replace('}', "\n}\n").lines() {
            let words: Vec<&str> = part.split_whitespace().collect();
            if !words.is_empty() {
                reader.line = number;
                let result = reader.read(&words, &mut graph);
                result.map_err(|what| WorkloadError::line(file, reader.line, what))?;
            }
        }
    }
    if let Some((rank, _)) = reader.rank {
        return Err(WorkloadError::file(
            file,
            Problem::with_text(format!("rank {rank} does not end"), "a `}` behind it"),
        ));
    }
    if graph.ranks.is_empty() {
        return Err(WorkloadError::file(file, "it is empty; its first line must be `num_ranks N`"));
    }
    let Some(missing) = reader.seen.iter().position(|seen| !seen) else { return Ok(graph) };
    let instead = match reader.seen[missing..].contains(&true) || missing == 0 {
        true => format!("`rank {missing} {{ }}` behind the others, where it does nothing"),
        false => format!("`num_ranks {missing}`"),
    };
    let what = Problem::with_text(
        format!("there are {} ranks, and there is no `rank {missing} {{`", reader.seen.len()),
        instead,
    );
    Err(WorkloadError::line(file, reader.counted, what))
}

/// The text without comments. The number of lines stays the same. The error is the line of a comment that does not end.
fn without_comments(text: &str) -> Result<String, u32> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        let line = rest.find("//").unwrap_or(rest.len());
        let block = rest.find("/*").unwrap_or(rest.len());
        let at = line.min(block);
        plain.push_str(&rest[..at]);
        if at == rest.len() {
            return Ok(plain);
        }
        let end = match line < block {
            true => rest[at..].find('\n').map_or(rest.len(), |length| at + length),
            false => match rest[at + 2..].find("*/") {
                Some(length) => at + length + 4,
                None => return Err(plain.matches('\n').count() as u32 + 1),
            },
        };
        // A comment divides words.
        plain.push(' ');
        plain.extend(rest[at..end].chars().filter(|c| *c == '\n'));
        rest = &rest[end..];
    }
}

#[derive(Default)]
struct Reader {
    /// The number of the current line, or of the line with an error.
    line: u32,
    /// The number of the line that has the number of ranks.
    counted: u32,
    /// For each rank, whether its section has been read.
    seen: Vec<bool>,
    /// The rank whose section is being read, and whether its `{` has been read.
    rank: Option<(u32, bool)>,
    /// The node of each label of the rank that is being read.
    labels: BTreeMap<String, u32>,
    /// The dependencies of the rank that is being read. Each has the waiting label, the label for which it waits,
    /// whether it waits for the start (`irequires`) rather than the end, and the line.
    waits: Vec<(String, String, bool, u32)>,
}

impl Reader {
    fn read(&mut self, words: &[&str], graph: &mut Graph) -> Result<(), Problem> {
        match (self.rank, words) {
            (None, ["num_ranks", count]) if graph.ranks.is_empty() => {
                let count = text::whole(count, "the number of ranks", MOST_RANKS.into())?;
                if count == 0 {
                    return Err(Problem::with_text("there are no ranks", "`num_ranks 2`"));
                }
                graph.ranks = (0..count).map(|_| Vec::new()).collect();
                self.seen = vec![false; count as usize];
                self.counted = self.line;
                Ok(())
            }
            (None, ["num_ranks", ..]) => Err("expected one `num_ranks N`, in the first line".into()),
            (None, ["rank", rank, rest @ ..]) if matches!(rest, [] | ["{"]) => {
                let rank = text::whole_u32(rank, "the rank")?;
                let known = self.seen.len();
                match self.seen.get_mut(rank as usize) {
                    None if known == 0 => Err(Problem::with_text(
                        "nothing says how many ranks there are",
                        "`num_ranks 2` above it, or another number",
                    )),
                    None => Err(format!("there are ranks 0 to {}, and no rank {rank}", known - 1).into()),
                    Some(true) => Err(Problem::with_text(
                        format!("rank {rank} is here for the second time"),
                        "all of it in one place",
                    )),
                    Some(seen) => {
                        *seen = true;
                        self.rank = Some((rank, !rest.is_empty()));
                        Ok(())
                    }
                }
            }
            (None, _) => Err(format!("expected `rank R {{`, not {}", quote(words[0])).into()),
            (Some((rank, false)), ["{"]) => {
                self.rank = Some((rank, true));
                Ok(())
            }
            (Some((rank, false)), _) => Err(format!("expected `{{` behind `rank {rank}`").into()),
            (Some((rank, true)), ["}"]) => self.end(&mut graph.ranks[rank as usize]),
            (Some((rank, true)), _) => self.statement(words, &mut graph.ranks[rank as usize]),
        }
    }

    fn statement(&mut self, words: &[&str], nodes: &mut Vec<Node>) -> Result<(), Problem> {
        if let [who, "requires" | "irequires", whom] = words {
            let begun = words[1] == "irequires";
            self.waits.push(((*who).to_owned(), (*whom).to_owned(), begun, self.line));
            return Ok(());
        }
        let (label, words) = match words {
            [label, rest @ ..] if label.ends_with(':') => (Some(label.trim_end_matches(':')), rest),
            [label, ":", rest @ ..] => (Some(*label), rest),
            _ => (None, words),
        };
        let op = operation(words)?;
        let number =
            u32::try_from(nodes.len()).map_err(|_| "a rank has 2^32 operations at most".to_owned())?;
        if let Some(label) = label
            && self.labels.insert(label.to_owned(), number).is_some()
        {
            return Err(Problem::with_text(
                format!("the label {} is there already", quote(label)),
                "another one",
            ));
        }
        nodes.push(Node { op, place: self.line.into(), after: Vec::new(), with: Vec::new() });
        Ok(())
    }

    /// Completes a rank, and resolves the labels of its dependencies.
    fn end(&mut self, nodes: &mut [Node]) -> Result<(), Problem> {
        let labels = std::mem::take(&mut self.labels);
        self.rank = None;
        let end = self.line;
        for (who, whom, begun, line) in std::mem::take(&mut self.waits) {
            self.line = line;
            let of = |label: &str| {
                let what = || format!("there is no label {} in this rank", quote(label));
                labels.get(label).copied().ok_or_else(what)
            };
            let (whom_label, who, whom) = (&whom, of(&who)?, of(&whom)?);
            if begun && matches!(nodes[whom as usize].op, Op::Compute { .. }) {
                return Err(Problem::with_text(
                    "irequires of a calc is not simulated, only of send and recv",
                    format_args!(
                        "requires in its place, or the label of what {} itself requires",
                        quote(whom_label)
                    ),
                ));
            }
            let node = &mut nodes[who as usize];
            if begun { node.with.push(whom) } else { node.after.push(whom) }
        }
        self.line = end;
        Ok(())
    }
}

fn operation(words: &[&str]) -> Result<Op, Problem> {
    let expected = "expected `send 1b to 1`, `recv 1b from 0`, `calc 100` or `l2 requires l1`";
    let size = |word: &str| {
        let digits = word.strip_suffix('b').ok_or_else(|| {
            let bytes = word.parse().ok().or_else(|| word.parse::<Bytes>().ok().map(|bytes| bytes.0));
            let fix = bytes.map(|bytes| Fix::value(format_args!("{bytes}b")));
            Problem { message: format!("a size ends in b, as in 8b, not {}", quote(word)), fix }
        })?;
        text::whole(digits, "the size", u64::MAX).map_err(Problem::from)
    };
    match words {
        ["send", bytes, "to", to, rest @ ..] => {
            let (bytes, to) = (size(bytes)?, text::whole_u32(to, "the rank")?);
            let Tail { tag, .. } = tail(rest)?;
            Ok(Op::Send { to, bytes, tag, channel: 0 })
        }
        ["recv", bytes, "from", from, rest @ ..] => {
            let (bytes, from) = (size(bytes)?, text::whole_u32(from, "the rank")?);
            let Tail { tag, .. } = tail(rest)?;
            Ok(Op::Receive { from, bytes: Some(bytes), tag })
        }
        ["calc", time, rest @ ..] => {
            let ns = text::whole(time, "the time in nanoseconds", u64::from(u32::MAX) * 1_000)
                .map_err(|what| text::without_unit(what, time, Duration::from_ns(1)))?;
            let Tail { cpu, .. } = tail(rest)?;
            Ok(Op::Compute { takes: Duration::from_ns(ns), processor: Some(cpu) })
        }
        [first, ..] => Err(format!("{expected}, not {}", quote(first)).into()),
        [] => Err(format!("a label without an operation; {expected}").into()),
    }
}

struct Tail {
    tag: u64,
    cpu: u32,
}

fn tail(mut words: &[&str]) -> Result<Tail, Problem> {
    let mut tail = Tail { tag: 0, cpu: 0 };
    let mut seen: Vec<&str> = Vec::new();
    while let [name, value, rest @ ..] = words {
        if seen.contains(name) {
            return Err(format!("{name} is there twice; remove one of the two").into());
        }
        seen.push(name);
        match *name {
            "tag" => tail.tag = text::whole(value, "the tag", u64::MAX)?,
            "cpu" => tail.cpu = text::whole(value, "the cpu", u64::from(Step::LAST_PROCESSOR))? as u32,
            "nic" if *value == "0" => {}
            "nic" => {
                return Err(Problem::with_text(
                    format!("nic {value} is not simulated: a host has one NIC"),
                    "nic 0",
                ));
            }
            _ => return Err(format!("expected tag, cpu or nic, not {}", quote(name)).into()),
        }
        words = rest;
    }
    match words {
        [] => Ok(tail),
        [word, ..] => Err(format!("{} has no value behind it", quote(word)).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_divides_words() {
        assert_eq!(without_comments("send/*x\n*/8b // y\nto").as_deref(), Ok("send \n8b  \nto"));
    }
}
