//! Algorithms of MSCCL, as XML: for each GPU thread blocks, for each of them steps.
//!
//! A buffer is cut into `nchunksperloop` chunks that differ by at most a byte, the longer ones first. The steps of a thread
//! block follow each other; `depid` and `deps` name a step of another block that comes before. Copying and reducing takes
//! no time. What one GPU sends another on one channel has a queue pair.

use super::graph::{Graph, Node, Op};
use super::{MOST_RANKS, buffer};
use crate::WorkloadError;
use crate::text::{self, quote};
use anabranch_base::{Bytes, Duration};
use roxmltree::{Document, Node as Xml};
use std::collections::BTreeMap;

/// Reads a file; `bytes` is what each rank's buffer has.
///
/// # Errors
/// The line, what was expected there and what to write instead.
pub fn parse(file: &str, text: &str, bytes: Option<Bytes>) -> Result<Graph, WorkloadError> {
    let bytes = buffer(bytes, "an algorithm of MSCCL", "buffer")?;
    let document = Document::parse(text).map_err(|error| {
        WorkloadError::line(file, error.pos().row, format!("it is no XML: {error}; write the file anew"))
    })?;
    let reader = Reader { file, document: &document };
    let algorithm = document.root_element();
    reader.named(algorithm, "algo")?;
    let ranks = reader.number(algorithm, "ngpus", MOST_RANKS.into())? as u32;
    let chunks = reader.number(algorithm, "nchunksperloop", 1 << 24)?;
    if ranks == 0 || chunks == 0 {
        return Err(reader.wrong(algorithm, "ngpus and nchunksperloop must be 1 or more"));
    }
    let mut graph = Graph { ranks: (0..ranks).map(|_| Vec::new()).collect(), ..Graph::default() };
    for gpu in algorithm.children().filter(Xml::is_element) {
        reader.named(gpu, "gpu")?;
        let rank = reader.number(gpu, "id", u32::MAX.into())?;
        let Some(nodes) = graph.ranks.get_mut(rank as usize) else {
            return Err(reader.wrong(gpu, format!("there are GPUs 0 to {}, and no GPU {rank}", ranks - 1)));
        };
        if !nodes.is_empty() {
            return Err(reader.wrong(gpu, format!("GPU {rank} is here for the second time")));
        }
        *nodes = reader.gpu(gpu, Chunks { bytes, count: chunks })?;
    }
    Ok(graph)
}

/// A buffer in chunks.
#[derive(Clone, Copy)]
pub(super) struct Chunks {
    pub bytes: u64,
    pub count: u64,
}

impl Chunks {
    /// Bytes of `count` chunks from the one at `offset` on; scratch buffers have more of them than others.
    pub fn bytes(self, offset: u64, count: u64) -> u64 {
        let longer = self.bytes % self.count;
        // Longer chunks before the one at this offset.
        let before = |offset: u64| {
            (offset / self.count).saturating_mul(longer).saturating_add((offset % self.count).min(longer))
        };
        let longer_ones = before(offset + count) - before(offset);
        count.saturating_mul(self.bytes / self.count).saturating_add(longer_ones)
    }
}

struct Reader<'a> {
    file: &'a str,
    document: &'a Document<'a>,
}

impl Reader<'_> {
    fn wrong(&self, at: Xml, what: impl Into<String>) -> WorkloadError {
        WorkloadError::line(self.file, self.line(at), what)
    }

    fn line(&self, at: Xml) -> u32 {
        self.document.text_pos_at(at.range().start).row
    }

    fn named(&self, at: Xml, name: &str) -> Result<(), WorkloadError> {
        match at.tag_name().name() {
            its if its == name => Ok(()),
            other => {
                Err(self.wrong(at, format!("expected <{name}>, not <{}>", quote(other).trim_matches('`'))))
            }
        }
    }

    fn text(&self, at: Xml, name: &str) -> Result<String, WorkloadError> {
        let missing =
            || self.wrong(at, format!("<{}> has no {name}; write {name}=\"0\"", at.tag_name().name()));
        at.attribute(name).map(str::to_owned).ok_or_else(missing)
    }

    fn number(&self, at: Xml, name: &str, most: u64) -> Result<u64, WorkloadError> {
        text::whole(&self.text(at, name)?, name, most).map_err(|what| self.wrong(at, what))
    }

    /// A number, or -1 for none.
    fn number_or_none(&self, at: Xml, name: &str) -> Result<Option<u32>, WorkloadError> {
        match self.text(at, name)?.as_str() {
            "-1" => Ok(None),
            _ => self.number(at, name, u64::from(u32::MAX) - 1).map(|number| Some(number as u32)),
        }
    }

    fn gpu(&self, gpu: Xml, chunks: Chunks) -> Result<Vec<Node>, WorkloadError> {
        let mut nodes: Vec<Node> = Vec::new();
        // By thread block and step: its first and last node.
        let mut places: BTreeMap<(u32, u32), (u32, u32)> = BTreeMap::new();
        let mut waits = Vec::new();
        for block in gpu.children().filter(Xml::is_element) {
            self.named(block, "tb")?;
            let id = self.number(block, "id", u32::MAX.into())? as u32;
            let ends = [self.number_or_none(block, "send")?, self.number_or_none(block, "recv")?];
            let channel = self.number(block, "chan", 1 << 20)? as u32;
            let mut before: Option<u32> = None;
            for step in block.children().filter(Xml::is_element) {
                self.named(step, "step")?;
                let first = nodes.len() as u32;
                for op in self.operations(step, ends, channel, chunks)? {
                    let number = nodes.len() as u32;
                    let place = self.line(step).into();
                    nodes.push(Node { op, place, after: before.into_iter().collect(), with: Vec::new() });
                    before = Some(number);
                }
                let key = (id, self.number(step, "s", u32::MAX.into())? as u32);
                if places.insert(key, (first, nodes.len() as u32 - 1)).is_some() {
                    return Err(
                        self.wrong(step, format!("step {} of block {id} is here for the second time", key.1))
                    );
                }
                let (block, other) =
                    (self.number_or_none(step, "depid")?, self.number_or_none(step, "deps")?);
                if let (Some(block), Some(other)) = (block, other) {
                    waits.push((first, (block, other), step));
                }
            }
        }
        for (node, (block, other), step) in waits {
            let Some((_, last)) = places.get(&(block, other)) else {
                return Err(self
                    .wrong(step, format!("it waits for step {other} of block {block}, which is not there")));
            };
            nodes[node as usize].after.push(*last);
        }
        Ok(nodes)
    }

    /// What a step comes to: at most a receive and then a send.
    fn operations(
        &self,
        step: Xml,
        [send, receive]: [Option<u32>; 2],
        channel: u32,
        chunks: Chunks,
    ) -> Result<Vec<Op>, WorkloadError> {
        let kind = self.text(step, "type")?;
        let (receives, sends) = match kind.as_str() {
            "s" => (false, true),
            "r" | "rrc" => (true, false),
            "rcs" | "rrs" | "rrcs" => (true, true),
            "cpy" | "re" | "nop" => {
                return Ok(vec![Op::Compute { takes: Duration::ZERO, processor: None }]);
            }
            other => {
                let what = format!(
                    "type is one of s, r, rcs, rrc, rrs, rrcs, cpy, re and nop, not {}",
                    quote(other)
                );
                return Err(self.wrong(step, what));
            }
        };
        let count = self.number(step, "cnt", 1 << 24)?;
        let offset = self.number(step, if sends { "srcoff" } else { "dstoff" }, 1 << 32)?;
        let bytes = chunks.bytes(offset, count);
        let whom = |peer: Option<u32>, what: &str| {
            peer.ok_or_else(|| {
                self.wrong(step, format!("a step of type {kind} needs a block with {what}, which is -1"))
            })
        };
        let mut operations = Vec::new();
        if receives {
            let from = whom(receive, "recv")?;
            operations.push(Op::Receive { from, bytes: None, tag: channel.into() });
        }
        if sends {
            operations.push(Op::Send { to: whom(send, "send")?, bytes, tag: channel.into(), channel });
        }
        Ok(operations)
    }
}
