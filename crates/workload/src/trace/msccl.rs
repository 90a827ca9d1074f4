//! Algorithms of MSCCL in XML. Each GPU has thread blocks, and each thread block has steps.
//!
//! A buffer is divided into `nchunksperloop` chunks that differ by at most a byte, and the longer ones come first. The
//! steps of a thread block are sequential. `depid` and `deps` name a step of another thread block that must end first.
//! Copying and reducing take no time. Each pair of GPUs has one queue pair per channel and direction.

use super::graph::{Graph, Node, Op};
use super::{MOST_RANKS, buffer};
use crate::WorkloadError;
use crate::text::{self, quote};
use anabranch_base::{Bytes, Duration, Fix, Problem};
use roxmltree::{Document, Node as Xml};
use std::collections::{BTreeMap, BTreeSet};

/// Reads a file. `bytes` is the size of each rank's buffer.
pub fn parse(file: &str, text: &str, bytes: Option<Bytes>) -> Result<Graph, WorkloadError> {
    let bytes = buffer(bytes, "an algorithm of MSCCL", "buffer")?;
    let document = Document::parse(text).map_err(|error| {
        WorkloadError::line(
            file,
            error.pos().row,
            Problem::with_text(format!("it is no XML: {error}"), "the file anew"),
        )
    })?;
    let reader = Reader { file, document: &document };
    let algorithm = document.root_element();
    reader.expect_tag(algorithm, "algo")?;
    let ranks = reader.number(algorithm, "ngpus", MOST_RANKS.into())? as u32;
    let chunks = reader.number(algorithm, "nchunksperloop", 1 << 24)?;
    if ranks == 0 || chunks == 0 {
        return Err(reader.wrong(algorithm, "ngpus and nchunksperloop must be 1 or more"));
    }
    let protocol = Protocol::read(&reader, algorithm)?;
    let mut graph = Graph { ranks: (0..ranks).map(|_| Vec::new()).collect(), ..Graph::default() };
    let mut seen = vec![false; ranks as usize];
    for gpu in reader.elements(algorithm)? {
        reader.expect_tag(gpu, "gpu")?;
        let rank = reader.number(gpu, "id", u32::MAX.into())?;
        let Some(nodes) = graph.ranks.get_mut(rank as usize) else {
            return Err(reader.wrong(gpu, format!("there are GPUs 0 to {}, and no GPU {rank}", ranks - 1)));
        };
        if seen[rank as usize] {
            return Err(reader.wrong(gpu, format!("GPU {rank} is here for the second time")));
        }
        *nodes = reader.gpu(gpu, (Chunks { bytes, count: chunks }, protocol))?;
        seen[rank as usize] = true;
    }
    if let Some(missing) = seen.iter().position(|seen| !seen) {
        let fix = match seen[missing..].contains(&true) || missing == 0 {
            true => Fix::text(format_args!("<gpu id=\"{missing}\"/>, where it does nothing")),
            false => Fix::value(format_args!("ngpus=\"{missing}\"")),
        };
        let message = format!("ngpus says {ranks} GPUs, and GPU {missing} is not there");
        return Err(reader.wrong(algorithm, Problem { message, fix: Some(fix) }));
    }
    Ok(graph)
}

/// The protocol of messages, which determines their overhead.
#[derive(Clone, Copy)]
enum Protocol {
    Simple,
    Ll,
    Ll128,
}

impl Protocol {
    fn read(reader: &Reader, algorithm: Xml) -> Result<Self, WorkloadError> {
        match algorithm.attribute("proto") {
            None | Some("Simple") => Ok(Protocol::Simple),
            Some("LL") => Ok(Protocol::Ll),
            Some("LL128") => Ok(Protocol::Ll128),
            Some(other) => {
                let what = format!("proto is Simple, LL or LL128, not {}", quote(other));
                Err(reader.wrong(algorithm, what))
            }
        }
    }

    /// The length of a message with `data` bytes of data.
    fn bytes(self, data: u64) -> u64 {
        match self {
            Protocol::Simple => data,
            Protocol::Ll => data.saturating_mul(2),
            Protocol::Ll128 => data.saturating_add(data.div_ceil(120).saturating_mul(8)),
        }
    }
}

/// A buffer that is divided into chunks.
#[derive(Clone, Copy)]
pub(super) struct Chunks {
    pub bytes: u64,
    pub count: u64,
}

impl Chunks {
    /// The bytes of `count` chunks from chunk `offset` on. `offset` may exceed the number of chunks, since scratch
    /// buffers may have more chunks than other buffers.
    pub fn bytes(self, offset: u64, count: u64) -> u64 {
        let longer = self.bytes % self.count;
        // The number of longer chunks before chunk `offset`.
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
    fn wrong(&self, at: Xml, what: impl Into<Problem>) -> WorkloadError {
        WorkloadError::line(self.file, self.line(at), what)
    }

    fn line(&self, at: Xml) -> u32 {
        self.document.text_pos_at(at.range().start).row
    }

    fn expect_tag(&self, at: Xml, name: &str) -> Result<(), WorkloadError> {
        match at.tag_name().name() {
            found if found == name => Ok(()),
            other => {
                Err(self.wrong(at, format!("expected <{name}>, not <{}>", quote(other).trim_matches('`'))))
            }
        }
    }

    fn text(&self, at: Xml, name: &str) -> Result<String, WorkloadError> {
        let missing = || {
            let of_gpus = at.children().filter(Xml::is_element).count().to_string();
            let usual = match name {
                "ngpus" => of_gpus.as_str(),
                "nchunksperloop" | "cnt" => "1",
                "type" => "nop",
                "send" | "recv" | "depid" | "deps" => "-1",
                _ => "0",
            };
            self.wrong(
                at,
                Problem::with_value(
                    format!("<{}> has no {name}", at.tag_name().name()),
                    format_args!("{name}=\"{usual}\""),
                ),
            )
        };
        at.attribute(name).map(str::to_owned).ok_or_else(missing)
    }

    fn number(&self, at: Xml, name: &str, most: u64) -> Result<u64, WorkloadError> {
        text::whole(&self.text(at, name)?, name, most).map_err(|what| self.wrong(at, what))
    }

    /// The number in an attribute. None if it is -1.
    fn number_or_none(&self, at: Xml, name: &str) -> Result<Option<u32>, WorkloadError> {
        match self.text(at, name)?.as_str() {
            "-1" => Ok(None),
            _ => self.number(at, name, u64::from(u32::MAX) - 1).map(|number| Some(number as u32)),
        }
    }

    /// The elements within another element. Text between them is an error.
    fn elements<'b>(&self, of: Xml<'b, 'b>) -> Result<Vec<Xml<'b, 'b>>, WorkloadError> {
        let text = |node: &Xml| node.is_text() && node.text().is_some_and(|text| !text.trim().is_empty());
        match of.children().find(text) {
            Some(node) => {
                let what = format!(
                    "text where elements are expected: {}",
                    quote(node.text().unwrap_or_default().trim())
                );
                Err(self.wrong(node, what))
            }
            None => Ok(of.children().filter(Xml::is_element).collect()),
        }
    }

    /// Checks that the chunks of a step are within its GPU's buffer, if the file gives the buffer's size.
    fn within(
        &self,
        gpu: Xml,
        step: Xml,
        [buffer, offset]: [&str; 2],
        count: u64,
    ) -> Result<(), WorkloadError> {
        let Some(name) = step.attribute(buffer) else { return Ok(()) };
        let of = format!("{name}_chunks");
        if gpu.attribute(&*of).is_none() {
            return Ok(());
        }
        let (has, first) = (self.number(gpu, &of, 1 << 32)?, self.number(step, offset, 1 << 32)?);
        if first.saturating_add(count) <= has {
            return Ok(());
        }
        let instead = match has.saturating_sub(first) {
            0 => format!("{offset}=\"{}\"", has.saturating_sub(count)),
            left => format!("cnt=\"{left}\""),
        };
        let last = first + count - 1;
        let what = Problem::with_value(
            format!("chunks {first} to {last} of {name}, which has {has} ({of})"),
            instead,
        );
        Err(self.wrong(step, what))
    }

    fn gpu(&self, gpu: Xml, sizes: (Chunks, Protocol)) -> Result<Vec<Node>, WorkloadError> {
        let mut nodes: Vec<Node> = Vec::new();
        // The first and the last node of each step of each thread block.
        let mut places: BTreeMap<(u32, u32), (u32, u32)> = BTreeMap::new();
        let mut waits = Vec::new();
        let mut ids = BTreeSet::new();
        for block in self.elements(gpu)? {
            self.expect_tag(block, "tb")?;
            let id = self.number(block, "id", u32::MAX.into())? as u32;
            if !ids.insert(id) {
                return Err(self.wrong(
                    block,
                    Problem::with_text(format!("block {id} is here for the second time"), "another id"),
                ));
            }
            let ends = [self.number_or_none(block, "send")?, self.number_or_none(block, "recv")?];
            let channel = self.number(block, "chan", 1 << 20)? as u32;
            let mut before: Option<u32> = None;
            let mut last: Option<u32> = None;
            for step in self.elements(block)? {
                self.expect_tag(step, "step")?;
                let number = self.number(step, "s", u32::MAX.into())? as u32;
                if let Some(last) = last.replace(number).filter(|last| number <= *last) {
                    let what = Problem::with_text(
                        format!("step {number} of block {id} stands behind step {last}"),
                        "them in their order",
                    );
                    return Err(self.wrong(step, what));
                }
                let first = nodes.len() as u32;
                for op in self.operations((gpu, step), ends, channel, sizes)? {
                    let number = nodes.len() as u32;
                    let place = self.line(step).into();
                    nodes.push(Node { op, place, after: before.into_iter().collect(), with: Vec::new() });
                    before = Some(number);
                }
                places.insert((id, number), (first, nodes.len() as u32 - 1));
                let (block, other) =
                    (self.number_or_none(step, "depid")?, self.number_or_none(step, "deps")?);
                match (block, other) {
                    (Some(block), Some(other)) => waits.push((first, (block, other), step)),
                    (None, None) => {}
                    _ => {
                        let what = Problem::with_text(
                            "depid and deps name a block and its step together",
                            "-1 for both, or both",
                        );
                        return Err(self.wrong(step, what));
                    }
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

    /// The operations of a step: at most one receive, followed by at most one send. A step without communication has
    /// one operation, which ends immediately.
    fn operations(
        &self,
        (gpu, step): (Xml, Xml),
        [send, receive]: [Option<u32>; 2],
        channel: u32,
        (chunks, protocol): (Chunks, Protocol),
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
        self.within(gpu, step, ["srcbuf", "srcoff"], count)?;
        self.within(gpu, step, ["dstbuf", "dstoff"], count)?;
        let bytes = protocol.bytes(chunks.bytes(offset, count));
        // If chunks differ in length, the two ends of a message may name chunks of different lengths.
        let expected = chunks.bytes.is_multiple_of(chunks.count).then_some(bytes);
        let peer_of = |peer: Option<u32>, what: &str| {
            peer.ok_or_else(|| {
                self.wrong(step, format!("a step of type {kind} needs a block with {what}, which is -1"))
            })
        };
        let mut operations = Vec::new();
        if receives {
            let from = peer_of(receive, "recv")?;
            operations.push(Op::Receive { from, bytes: expected, tag: channel.into() });
        }
        if sends {
            operations.push(Op::Send { to: peer_of(send, "send")?, bytes, tag: channel.into(), channel });
        }
        Ok(operations)
    }
}
