//! Plans of MSCCL++, as JSON: for each GPU thread blocks, for each of them operations.
//!
//! A put is a message, and so is a signal, of [`SIGNAL`] bytes on the same queue pair. A wait is over when its signal is
//! there, and all puts to the same GPU that came before that signal are: the n-th wait of a channel takes the n-th signal.
//! What is read from another GPU ([`READ`]) is asked for in a message and comes in another. A packet that is put brings its
//! own flags, which double it, and whoever reads the chunk waits for it. Copying and reducing takes no time. A channel has
//! a queue pair.

mod plan;

use super::graph::{Graph, Node, Op};
use super::msccl::Chunks;
use super::{MOST_RANKS, buffer};
use crate::WorkloadError;
use anabranch_base::{Bytes, Duration};
use plan::{Block, Chunk, Gpu, Kind, Operation, Plan};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a signal: a semaphore is a number of 64 bits.
const SIGNAL: u64 = 8;
/// Bytes that ask for a read: what InfiniBand's header of one has.
const READ: u64 = 16;
/// A packet carries a flag for each word of data.
const PACKET: u64 = 2;
/// What computes nothing and is over at once.
const NOTHING: Op = Op::Compute { takes: Duration::ZERO, processor: None };

/// Reads a file; `bytes` is what each rank's input buffer has.
///
/// # Errors
/// Where it is, what was expected there and what to write instead.
pub fn parse(file: &str, text: &str, bytes: Option<Bytes>) -> Result<Graph, WorkloadError> {
    let bytes = buffer(bytes, "a plan of MSCCL++", "input buffer")?;
    let plan = Plan::parse(file, text)?;
    let (least, most) = (plan.min_message_size, plan.max_message_size);
    if !(least..=most).contains(&bytes) {
        let what = format!("the plan {file} is for {least} to {most} bytes, not {bytes}");
        return Err(WorkloadError::key("bytes", what));
    }
    let count = plan.gpus.len();
    if count > MOST_RANKS as usize {
        return Err(WorkloadError::file(file, format!("it has {count} GPUs, and the most is {MOST_RANKS}")));
    }
    let mut gpus: Vec<Option<&Gpu>> = vec![None; count];
    for gpu in &plan.gpus {
        let Some(place) = gpus.get_mut(gpu.id as usize) else {
            let what = format!("there are {count} GPUs, 0 to {}, and no GPU {}", count - 1, gpu.id);
            return Err(WorkloadError::file(file, what));
        };
        if place.replace(gpu).is_some() {
            return Err(WorkloadError::file(file, format!("GPU {} is here for the second time", gpu.id)));
        }
    }
    let gpus: Vec<&Gpu> = gpus.into_iter().flatten().collect();
    let mut reader = Reader {
        file,
        bytes,
        gpus: &gpus,
        ranks: (0..count).map(|_| Vec::new()).collect(),
        messages: Vec::new(),
        signals: BTreeMap::new(),
        waits: BTreeMap::new(),
        written: Vec::new(),
        read: Vec::new(),
    };
    for gpu in &gpus {
        reader.gpu(gpu)?;
    }
    reader.join_packets();
    reader.join_signals()?;
    // What nobody waits for arrives all the same.
    for message in 0..reader.messages.len() {
        reader.received(message);
    }
    Ok(Graph { ranks: reader.ranks, ..Graph::default() })
}

/// Whose end of which channel: a rank, the kind, the other rank, and which of the channels of that kind to it.
type End = (u32, Kind, u32, usize);

/// A message.
struct Message {
    from: (u32, u32),
    to: u32,
    /// The node that receives it.
    received: Option<u32>,
    /// It was put, so that signals that come after it tell of it.
    is_put: bool,
}

/// A signal: its message, and whether it tells of what was put before.
struct Signal {
    message: usize,
    tells: bool,
}

/// Chunks of a GPU's scratch buffer.
#[derive(Clone, Copy)]
struct Range {
    rank: u32,
    from: u64,
    to: u64,
}

/// Who writes packets into chunks.
enum Writer {
    /// A node of the same rank.
    Node(u32),
    Message(usize),
}

struct Reader<'a> {
    file: &'a str,
    bytes: u64,
    gpus: &'a [&'a Gpu],
    ranks: Vec<Vec<Node>>,
    messages: Vec<Message>,
    /// By the sender's end.
    signals: BTreeMap<End, Vec<Signal>>,
    /// By the waiter's end, the nodes that wait.
    waits: BTreeMap<End, Vec<u32>>,
    written: Vec<(Range, Writer)>,
    /// The nodes that read packets.
    read: Vec<(Range, u32)>,
}

/// Where an operation stands.
#[derive(Clone, Copy)]
struct At<'a> {
    gpu: &'a Gpu,
    block: &'a Block,
    /// Its number within the block, from 0.
    number: usize,
    op: &'a Operation,
    /// Its number within the GPU, from 1: the place of its nodes.
    place: u64,
}

/// What thread blocks of a GPU wait for each other with.
#[derive(Default)]
struct Within {
    /// By barrier and time.
    barriers: BTreeMap<(u32, usize), Meeting>,
    released: BTreeMap<u32, Vec<u32>>,
    acquired: BTreeMap<u32, Vec<u32>>,
}

/// Thread blocks at a barrier.
struct Meeting {
    /// At which all of them go on.
    node: u32,
    came: usize,
    /// How many are to come, as the last of them says it.
    meet: Option<usize>,
}

impl<'a> Reader<'a> {
    fn wrong(&self, at: At, what: impl std::fmt::Display) -> WorkloadError {
        let (gpu, block, name) = (at.gpu.id, at.block.id, &at.op.name);
        let name = crate::text::quote(name);
        let at = at.number;
        WorkloadError::file(
            self.file,
            format!("GPU {gpu}, thread block {block}, operation {at} ({name}): {what}"),
        )
    }

    fn node(&mut self, rank: u32, op: Op, place: u64, after: Vec<u32>) -> u32 {
        let nodes = &mut self.ranks[rank as usize];
        nodes.push(Node { op, place, after, with: Vec::new() });
        nodes.len() as u32 - 1
    }

    /// A message from rank `from`, sent after these of its nodes.
    fn message(&mut self, at: At, from: u32, after: Vec<u32>, to: u32, bytes: u64, channel: u32) -> usize {
        let number = self.messages.len();
        let op = Op::Send { to, bytes, tag: number as u64, channel };
        let send = self.node(from, op, at.place, after);
        self.messages.push(Message { from: (from, send), to, received: None, is_put: false });
        number
    }

    /// The node of the receiving rank at which a message is there.
    fn received(&mut self, message: usize) -> u32 {
        let Message { from: (from, send), to, received, .. } = self.messages[message];
        received.unwrap_or_else(|| {
            let place = self.ranks[from as usize][send as usize].place;
            let op = Op::Receive { from, bytes: None, tag: message as u64 };
            // A rank that is not there is told of when the graph is checked.
            let node =
                if (to as usize) < self.ranks.len() { self.node(to, op, place, Vec::new()) } else { 0 };
            self.messages[message].received = Some(node);
            node
        })
    }

    fn gpu(&mut self, gpu: &'a Gpu) -> Result<(), WorkloadError> {
        let (mut within, mut place) = (Within::default(), 0);
        for block in &gpu.threadblocks {
            let mut before = None;
            let mut turns: BTreeMap<u32, usize> = BTreeMap::new();
            for (number, op) in block.ops.iter().enumerate() {
                place += 1;
                let at = At { gpu, block, number, op, place };
                before = Some(self.operation(at, before, &mut within, &mut turns)?);
            }
        }
        for ((barrier, turn), Meeting { came, meet, .. }) in within.barriers {
            if let Some(meet) = meet.filter(|meet| *meet != came) {
                let what = format!(
                    "GPU {}: {came} thread blocks come to barrier {barrier} for time {} and {meet} meet there",
                    gpu.id,
                    turn + 1,
                );
                return Err(WorkloadError::file(self.file, what));
            }
        }
        for (semaphore, acquired) in within.acquired {
            let initial = gpu.semaphores.get(semaphore as usize).map_or(0, |its| its.init_value) as usize;
            let released = within.released.remove(&semaphore).unwrap_or_default();
            for (number, node) in acquired.into_iter().enumerate().skip(initial) {
                let Some(release) = released.get(number - initial) else {
                    let what = format!(
                        "GPU {}: semaphore {semaphore} is acquired {} times and released {}",
                        gpu.id,
                        number + 1,
                        released.len()
                    );
                    return Err(WorkloadError::file(self.file, what));
                };
                self.ranks[gpu.id as usize][node as usize].after.push(*release);
            }
        }
        Ok(())
    }

    /// Adds the nodes of an operation, and answers with the one that what follows waits for.
    fn operation(
        &mut self,
        at: At<'a>,
        before: Option<u32>,
        within: &mut Within,
        turns: &mut BTreeMap<u32, usize>,
    ) -> Result<u32, WorkloadError> {
        let (rank, op) = (at.gpu.id, at.op);
        let after: Vec<u32> = before.into_iter().collect();
        match op.name.as_str() {
            "nop" | "copy" | "re" => Ok(self.node(rank, NOTHING, at.place, after)),
            "put" | "res" => self.put(at, after, 1),
            "pws" | "pwsf" => {
                let put = self.put(at, after, 1)?;
                let signal = self.signal(at, put, true)?;
                if op.name == "pws" { Ok(signal) } else { self.flush(at, signal) }
            }
            "get" | "rre" => self.get(at, after),
            "rres" => {
                let got = self.get(at, after)?;
                self.put(at, vec![got], 1)
            }
            "signal" | "rlxsignal" | "wait" | "rlxwait" if op.channel_ids.is_empty() => {
                Err(self.wrong(at, "it has no channel_ids; write those of its thread block that it is for"))
            }
            "signal" | "rlxsignal" => {
                let begins = self.node(rank, NOTHING, at.place, after);
                self.signal(at, begins, op.name == "signal")
            }
            "wait" | "rlxwait" => {
                let wait = self.node(rank, NOTHING, at.place, after);
                for number in &op.channel_ids {
                    let end = self.end(at, *number)?.0;
                    self.waits.entry(end).or_default().push(wait);
                }
                Ok(wait)
            }
            "flush" => {
                let begins = self.node(rank, NOTHING, at.place, after);
                self.flush(at, begins)
            }
            "barrier" => {
                let Some(barrier) = op.barrier_id else {
                    return Err(self.wrong(at, "it has no barrier_id"));
                };
                let turn = turns.entry(barrier).or_default();
                let meeting = within.barriers.entry((barrier, *turn)).or_insert_with(|| Meeting {
                    node: self.node(rank, NOTHING, at.place, Vec::new()),
                    came: 0,
                    meet: None,
                });
                *turn += 1;
                meeting.came += 1;
                meeting.meet = op.num_threadblocks;
                self.ranks[rank as usize][meeting.node as usize].after.extend(after);
                Ok(meeting.node)
            }
            "sem_acquire" | "sem_release" => {
                let node = self.node(rank, NOTHING, at.place, after);
                let is_release = op.name == "sem_release";
                let all = if is_release { &mut within.released } else { &mut within.acquired };
                op.semaphore_ids.iter().for_each(|id| all.entry(*id).or_default().push(node));
                Ok(node)
            }
            "ppkt" => self.put(at, after, PACKET),
            "upkt" | "cpkt" | "tpkt" | "repkt" | "recpkt" => self.packets(at, after),
            "rppkt" | "respkt" | "recspkt" => {
                let read = self.packets(at, after)?;
                self.put(at, vec![read], PACKET)
            }
            "gstore" | "glre" | "glres" => {
                Err(self.wrong(at, "it needs a switch that stores and reduces, which is not simulated"))
            }
            "pipeline" => Err(self.wrong(
                at,
                "a loop over parts of a chunk is not simulated; write the plan without it, in more chunks",
            )),
            _ => {
                let known = "nop, copy, re, put, pws, pwsf, get, rre, rres, res, signal, wait, rlxsignal, rlxwait, flush, \
                             barrier, sem_acquire, sem_release, ppkt, upkt, cpkt, tpkt, repkt, recpkt, rppkt, respkt and recspkt";
                Err(self.wrong(at, format!("operations are {known}")))
            }
        }
    }

    /// Messages to all remote chunks that an operation writes.
    fn put(&mut self, at: At<'a>, after: Vec<u32>, factor: u64) -> Result<u32, WorkloadError> {
        let sizes = at.op.src_buff.iter().zip(&at.op.dst_buff).map(|(from, to)| (from.size, to.size));
        if let Some((from, to)) = sizes.into_iter().find(|(from, to)| from != to) {
            let what = format!(
                "it puts {from} chunks where there are {to}; write as many of src_buff as of dst_buff"
            );
            return Err(self.wrong(at, what));
        }
        let remote = at.op.dst_buff.iter().filter(|chunk| chunk.buffer_id.is_some());
        let mut sent = Vec::new();
        for (number, chunk) in remote.enumerate() {
            let (to, is_scratch) = self.remote(at, chunk)?;
            let bytes = self.bytes(at, to, is_scratch, chunk)?.saturating_mul(factor);
            let channel = match at.op.channel_ids.get(number) {
                Some(channel) => self.end(at, *channel)?.1,
                None => self.channel_to(at, to),
            };
            if bytes == 0 {
                continue;
            }
            let message = self.message(at, at.gpu.id, after.clone(), to, bytes, channel);
            self.messages[message].is_put = true;
            if factor == PACKET {
                self.written.push((Range::of(to, chunk), Writer::Message(message)));
            }
            sent.push(self.messages[message].from.1);
        }
        let after = if sent.is_empty() { after } else { sent };
        Ok(self.node(at.gpu.id, NOTHING, at.place, after))
    }

    /// Reads of all remote chunks that an operation reads: over when all are there.
    fn get(&mut self, at: At<'a>, after: Vec<u32>) -> Result<u32, WorkloadError> {
        let rank = at.gpu.id;
        let mut got = Vec::new();
        for chunk in at.op.src_buff.iter().filter(|chunk| chunk.buffer_id.is_some()) {
            let (from, is_scratch) = self.remote(at, chunk)?;
            let bytes = self.bytes(at, from, is_scratch, chunk)?;
            if bytes == 0 {
                continue;
            }
            let channel = self.channel_to(at, from);
            let asks = self.message(at, rank, after.clone(), from, READ, channel);
            let asked = self.received(asks);
            let data = self.message(at, from, vec![asked], rank, bytes, channel);
            got.push(self.received(data));
        }
        let after = if got.is_empty() { after } else { got };
        Ok(self.node(rank, NOTHING, at.place, after))
    }

    fn signal(&mut self, at: At<'a>, after: u32, tells: bool) -> Result<u32, WorkloadError> {
        let mut sent = Vec::new();
        for number in &at.op.channel_ids {
            let (end, channel) = self.end(at, *number)?;
            let message = self.message(at, at.gpu.id, vec![after], end.2, SIGNAL, channel);
            self.signals.entry(end).or_default().push(Signal { message, tells });
            sent.push(self.messages[message].from.1);
        }
        Ok(self.node(at.gpu.id, NOTHING, at.place, sent))
    }

    /// Waits until what was sent on the operation's channels is acknowledged.
    fn flush(&mut self, at: At<'a>, after: u32) -> Result<u32, WorkloadError> {
        let rank = at.gpu.id;
        let mut flushed = Vec::new();
        for number in &at.op.channel_ids {
            let (end, channel) = self.end(at, *number)?;
            let nodes = &self.ranks[rank as usize];
            let is_its = |node: &Node| match node.op {
                Op::Send { to, channel: its, .. } => to == end.2 && its == channel,
                _ => false,
            };
            let before = self.before(rank, after);
            flushed.extend(before.into_iter().filter(|node| is_its(&nodes[*node as usize])));
        }
        let waits = |send| Op::Acknowledged { send };
        let nodes: Vec<u32> = flushed
            .into_iter()
            .map(|send| self.node(rank, waits(send), at.place, vec![after, send]))
            .collect();
        let after = if nodes.is_empty() { vec![after] } else { nodes };
        Ok(self.node(rank, NOTHING, at.place, after))
    }

    /// A node that reads packets from scratch buffers, or writes some there, or both.
    fn packets(&mut self, at: At<'a>, after: Vec<u32>) -> Result<u32, WorkloadError> {
        let rank = at.gpu.id;
        let node = self.node(rank, NOTHING, at.place, after);
        let is_scratch = |chunk: &&Chunk| chunk.buffer == Some(plan::Buffer::Scratch);
        for chunk in at.op.src_buff.iter().filter(is_scratch) {
            self.bytes(at, rank, true, chunk)?;
            self.read.push((Range::of(rank, chunk), node));
        }
        for chunk in at.op.dst_buff.iter().filter(is_scratch) {
            self.bytes(at, rank, true, chunk)?;
            self.written.push((Range::of(rank, chunk), Writer::Node(node)));
        }
        Ok(node)
    }

    /// The rank of a remote chunk, and whether it is in a scratch buffer.
    fn remote(&self, at: At, chunk: &Chunk) -> Result<(u32, bool), WorkloadError> {
        let number = chunk.buffer_id.unwrap_or_default();
        let kind = at.op.channel_type;
        let of_kind = at.block.remote_buffer_refs.iter().find(|refs| Some(refs.access_channel_type) == kind);
        let its = of_kind
            .and_then(|refs| refs.remote_buffer_ids.get(number))
            .and_then(|id| at.gpu.remote_buffers.get(*id));
        match its {
            Some(its) => Ok((its.rank, its.buffer == plan::Buffer::Scratch)),
            None => {
                Err(self
                    .wrong(at, format!("its thread block refers to no remote buffer {number} of that kind")))
            }
        }
    }

    /// The end of an operation's channel, which it counts within its thread block, and the number of its queue pair.
    fn end(&self, at: At, number: usize) -> Result<(End, u32), WorkloadError> {
        let kind = at.op.channel_type;
        let of_kind = at.block.channels.iter().find(|refs| Some(refs.channel_type) == kind);
        let id = of_kind.and_then(|refs| refs.channel_ids.get(number)).copied();
        let found = kind.zip(id).and_then(|(kind, id)| {
            let others = at.gpu.connected_to(kind);
            let peer = *others.get(id)?;
            let which = others[..id].iter().filter(|other| **other == peer).count();
            Some(((at.gpu.id, kind, peer, which), kind.queue_pair(which)))
        });
        found.ok_or_else(|| self.wrong(at, format!("its thread block has no channel {number} of that kind")))
    }

    /// The queue pair of the first channel of the operation's kind to a rank, by which its signals go too.
    fn channel_to(&self, at: At, rank: u32) -> u32 {
        let Some(kind) = at.op.channel_type else { return 0 };
        let others = at.gpu.connected_to(kind);
        let refs = at.block.channels.iter().filter(|refs| refs.channel_type == kind);
        let id = refs.flat_map(|refs| &refs.channel_ids).copied().find(|id| others.get(*id) == Some(&rank));
        let which = id.map_or(0, |id| others[..id].iter().filter(|other| **other == rank).count());
        kind.queue_pair(which)
    }

    /// Bytes of chunks of a buffer of `owner`, or of this thread block's share of them.
    fn bytes(&self, at: At, owner: u32, is_scratch: bool, chunk: &Chunk) -> Result<u64, WorkloadError> {
        let Some(gpu) = self.gpus.get(owner as usize) else {
            let what = format!("there are GPUs 0 to {}, and no GPU {owner}", self.gpus.len() - 1);
            return Err(self.wrong(at, what));
        };
        let most = if is_scratch { gpu.scratch_chunks } else { gpu.input_chunks.max(gpu.output_chunks) };
        let end = chunk.index.saturating_add(chunk.size);
        if end > most {
            let what = format!(
                "chunks {} to {} of GPU {owner}, whose buffer has {most}",
                chunk.index,
                end.saturating_sub(1)
            );
            return Err(self.wrong(at, what));
        }
        let count = [at.gpu.input_chunks, at.gpu.output_chunks].into_iter().find(|count| *count > 0);
        let all = Chunks { bytes: self.bytes, count: count.unwrap_or(1) }.bytes(chunk.index, chunk.size);
        match at.op.tbg_info {
            Some(group) if group.tbg_size > 0 => {
                Ok(all / group.tbg_size + u64::from(group.tb_id < all % group.tbg_size))
            }
            _ => Ok(all),
        }
    }

    /// The nodes of a rank that are over before `node` begins.
    fn before(&self, rank: u32, node: u32) -> BTreeSet<u32> {
        let nodes = &self.ranks[rank as usize];
        let (mut seen, mut left) = (BTreeSet::new(), vec![node]);
        while let Some(next) = left.pop() {
            left.extend(nodes[next as usize].after.iter().filter(|before| seen.insert(**before)));
        }
        seen
    }

    /// Lets who reads packets wait for those who write them.
    fn join_packets(&mut self) {
        let written = std::mem::take(&mut self.written);
        for (read, node) in std::mem::take(&mut self.read) {
            for (_, writer) in written.iter().filter(|(range, _)| range.meets(read)) {
                let before = match *writer {
                    Writer::Node(writer) => writer,
                    Writer::Message(message) => self.received(message),
                };
                if before != node {
                    self.ranks[read.rank as usize][node as usize].after.push(before);
                }
            }
        }
    }

    /// Lets who waits for a signal wait for it, and for what it tells of.
    fn join_signals(&mut self) -> Result<(), WorkloadError> {
        for ((rank, kind, peer, which), waits) in std::mem::take(&mut self.waits) {
            let signals = self.signals.remove(&(peer, kind, rank, which)).unwrap_or_default();
            if waits.len() > signals.len() {
                let what = format!(
                    "GPU {rank} waits {} times on a channel from GPU {peer}, which signals {} times",
                    waits.len(),
                    signals.len()
                );
                return Err(WorkloadError::file(self.file, what));
            }
            let mut told = BTreeSet::new();
            for (wait, Signal { message, tells }) in waits.into_iter().zip(signals) {
                let mut needs = vec![message];
                if tells {
                    let before = self.before(peer, self.messages[message].from.1);
                    let puts = (0..).zip(&self.messages).filter(|(_, other)| {
                        other.is_put
                            && other.from.0 == peer
                            && other.to == rank
                            && before.contains(&other.from.1)
                    });
                    needs.extend(puts.map(|(number, _)| number).filter(|put| told.insert(*put)));
                }
                for message in needs {
                    let there = self.received(message);
                    self.ranks[rank as usize][wait as usize].after.push(there);
                }
            }
        }
        Ok(())
    }
}

impl Range {
    fn of(rank: u32, chunk: &Chunk) -> Range {
        Range { rank, from: chunk.index, to: chunk.index.saturating_add(chunk.size) }
    }

    fn meets(self, other: Range) -> bool {
        self.rank == other.rank && self.from < other.to && other.from < self.to
    }
}
