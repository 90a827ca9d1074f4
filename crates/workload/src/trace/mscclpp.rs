//! Plans of MSCCL++ in JSON. Each GPU has thread blocks, and each thread block has operations.
//!
//! Each channel has its own queue pair. A put is a message. A signal is a message of [`SIGNAL`] bytes. The n-th wait of
//! a channel belongs to the n-th signal of that channel, and ends when the signal has arrived. If the signal is not
//! relaxed, all earlier puts to the same GPU must have arrived too. A read from another GPU consists of a request of
//! [`READ`] bytes and a response. A put of packets has twice the bytes, because it includes flags. Readers of a chunk
//! wait for its packets. Copying and reducing take no time.
//!
//! The first acquisitions of a semaphore, as many as its initial value, do not wait. The n-th acquisition after them,
//! in the order of the file, waits for the n-th release, whichever thread block comes first. All packets of a chunk
//! must be there before any is read, since an execution has one flag for all of them. A plan that writes packets to a
//! chunk again after reading it is therefore refused as a cycle.

mod plan;

use super::graph::{Graph, Node, Op};
use super::msccl::Chunks;
use super::{MOST_RANKS, buffer};
use crate::WorkloadError;
use anabranch_base::{Bytes, Duration, Problem};
use plan::{Block, ChannelKind, Chunk, Gpu, Operation, Plan};
use std::collections::{BTreeMap, BTreeSet};

/// The length of a signal in bytes. A semaphore is a number of 64 bits.
const SIGNAL: u64 = 8;
/// The length of a read request in bytes, which is the length of InfiniBand's RETH.
const READ: u64 = 16;
/// The bytes of packets divided by the bytes of their data. Each word of data has a flag of the same length.
const PACKET: u64 = 2;
/// An operation that ends immediately.
const NOTHING: Op = Op::Compute { takes: Duration::ZERO, processor: None };

/// Reads a file. `bytes` is the size of each rank's input buffer.
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
    // Each message needs a receive, even if nothing waits for it.
    for message in 0..reader.messages.len() {
        reader.received(message);
    }
    Ok(Graph { ranks: reader.ranks, ..Graph::default() })
}

/// One end of a channel. It has its rank, the kind of the channel, the other rank, and the channel's number among the
/// channels of that kind to the other rank.
type ChannelEnd = (u32, ChannelKind, u32, usize);

/// A message between two ranks.
struct Message {
    from: (u32, u32),
    to: u32,
    /// The node that receives the message, if it has been added.
    received: Option<u32>,
    /// Whether the message is a put. A wait for a later signal between the same ranks also waits for the put, if the
    /// signal is not relaxed.
    is_put: bool,
}

/// A signal with its message. `covers_puts` is false for a relaxed signal: a wait for it does not wait for earlier
/// puts.
struct Signal {
    message: usize,
    covers_puts: bool,
}

/// A range of chunks in a GPU's scratch buffer, without the chunk `to`.
#[derive(Clone, Copy)]
struct Range {
    rank: u32,
    from: u64,
    to: u64,
}

/// The source of the packets in a range of chunks.
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
    /// The signals of each sending end of a channel.
    signals: BTreeMap<ChannelEnd, Vec<Signal>>,
    /// The waiting nodes of each receiving end of a channel.
    waits: BTreeMap<ChannelEnd, Vec<u32>>,
    /// The chunks into which packets are written.
    written: Vec<(Range, Writer)>,
    /// The chunks from which packets are read, each with the reading node.
    read: Vec<(Range, u32)>,
}

/// An operation with its position in the plan.
#[derive(Clone, Copy)]
struct Position<'a> {
    gpu: &'a Gpu,
    block: &'a Block,
    /// The number of the operation within its thread block, from 0.
    number: usize,
    op: &'a Operation,
    /// The number of the operation within its GPU, from 1. It is the `place` of the operation's nodes.
    place: u64,
}

/// The synchronisation between the thread blocks of a GPU.
#[derive(Default)]
struct BlockSync {
    /// The uses of each barrier. The key is the barrier and the number of the use.
    barriers: BTreeMap<(u32, usize), BarrierUse>,
    /// The nodes that release each semaphore.
    released: BTreeMap<u32, Vec<u32>>,
    /// The nodes that acquire each semaphore.
    acquired: BTreeMap<u32, Vec<u32>>,
}

struct BarrierUse {
    /// The node after which all thread blocks continue.
    node: u32,
    arrived: usize,
    /// The number of thread blocks that take part, as the thread block that arrived last states it.
    expected: Option<usize>,
}

impl<'a> Reader<'a> {
    fn wrong(&self, at: Position, what: impl Into<Problem>) -> WorkloadError {
        let (gpu, block, name) = (at.gpu.id, at.block.id, &at.op.name);
        let name = crate::text::quote(name);
        let at = at.number;
        let place = format_args!("GPU {gpu}, thread block {block}, operation {at} ({name}): ");
        WorkloadError::file(self.file, what.into().prefixed(place))
    }

    fn node(&mut self, rank: u32, op: Op, place: u64, after: Vec<u32>) -> u32 {
        let nodes = &mut self.ranks[rank as usize];
        nodes.push(Node { op, place, after, with: Vec::new() });
        nodes.len() as u32 - 1
    }

    /// Adds a message from rank `from`. It is sent after the nodes `after` of that rank.
    fn message(
        &mut self,
        at: Position,
        from: u32,
        after: Vec<u32>,
        to: u32,
        bytes: u64,
        channel: u32,
    ) -> usize {
        let number = self.messages.len();
        let op = Op::Send { to, bytes, tag: number as u64, channel };
        let send = self.node(from, op, at.place, after);
        self.messages.push(Message { from: (from, send), to, received: None, is_put: false });
        number
    }

    /// The node that receives a message. It is added if it does not exist yet.
    fn received(&mut self, message: usize) -> u32 {
        let Message { from: (from, send), to, received, .. } = self.messages[message];
        received.unwrap_or_else(|| {
            let place = self.ranks[from as usize][send as usize].place;
            let op = Op::Receive { from, bytes: None, tag: message as u64 };
            // If the rank does not exist, the check of the graph later refuses the graph.
            let node =
                if (to as usize) < self.ranks.len() { self.node(to, op, place, Vec::new()) } else { 0 };
            self.messages[message].received = Some(node);
            node
        })
    }

    fn gpu(&mut self, gpu: &'a Gpu) -> Result<(), WorkloadError> {
        let (mut sync, mut place) = (BlockSync::default(), 0);
        for block in &gpu.threadblocks {
            let mut before = None;
            let mut turns: BTreeMap<u32, usize> = BTreeMap::new();
            for (number, op) in block.ops.iter().enumerate() {
                place += 1;
                let at = Position { gpu, block, number, op, place };
                before = Some(self.operation(at, before, &mut sync, &mut turns)?);
            }
        }
        for ((barrier, turn), BarrierUse { arrived, expected, .. }) in sync.barriers {
            if let Some(expected) = expected.filter(|expected| *expected != arrived) {
                let what = format!(
                    "GPU {}: {arrived} thread blocks come to barrier {barrier} for time {} and {expected} meet there",
                    gpu.id,
                    turn + 1,
                );
                return Err(WorkloadError::file(self.file, what));
            }
        }
        for (semaphore, acquired) in sync.acquired {
            let initial =
                gpu.semaphores.get(semaphore as usize).map_or(0, |semaphore| semaphore.init_value) as usize;
            let released = sync.released.remove(&semaphore).unwrap_or_default();
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

    /// Adds the nodes of an operation, and returns the node for which the next operation waits.
    fn operation(
        &mut self,
        at: Position<'a>,
        before: Option<u32>,
        sync: &mut BlockSync,
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
            "signal" | "rlxsignal" | "wait" | "rlxwait" if op.channel_ids.is_empty() => Err(self.wrong(
                at,
                Problem::with_text("it has no channel_ids", "those of its thread block that it is for"),
            )),
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
            "barrier" => self.barrier(at, after, sync, turns),
            "sem_acquire" | "sem_release" => Ok(self.semaphores(at, after, sync)),
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
                Problem::with_text(
                    "a loop over parts of a chunk is not simulated",
                    "the plan without it, in more chunks",
                ),
            )),
            _ => {
                let known = "nop, copy, re, put, pws, pwsf, get, rre, rres, res, signal, wait, rlxsignal, rlxwait, flush, \
                             barrier, sem_acquire, sem_release, ppkt, upkt, cpkt, tpkt, repkt, recpkt, rppkt, respkt and recspkt";
                Err(self.wrong(at, format!("operations are {known}")))
            }
        }
    }

    /// Records the arrival of a thread block at a barrier, and returns the node after which all thread blocks continue.
    fn barrier(
        &mut self,
        at: Position<'a>,
        after: Vec<u32>,
        sync: &mut BlockSync,
        turns: &mut BTreeMap<u32, usize>,
    ) -> Result<u32, WorkloadError> {
        let rank = at.gpu.id;
        let Some(barrier) = at.op.barrier_id else {
            return Err(self.wrong(at, "it has no barrier_id"));
        };
        let turn = turns.entry(barrier).or_default();
        let barrier_use = sync.barriers.entry((barrier, *turn)).or_insert_with(|| BarrierUse {
            node: self.node(rank, NOTHING, at.place, Vec::new()),
            arrived: 0,
            expected: None,
        });
        *turn += 1;
        barrier_use.arrived += 1;
        barrier_use.expected = at.op.num_threadblocks;
        self.ranks[rank as usize][barrier_use.node as usize].after.extend(after);
        Ok(barrier_use.node)
    }

    fn semaphores(&mut self, at: Position<'a>, after: Vec<u32>, sync: &mut BlockSync) -> u32 {
        let node = self.node(at.gpu.id, NOTHING, at.place, after);
        let all = if at.op.name == "sem_release" { &mut sync.released } else { &mut sync.acquired };
        at.op.semaphore_ids.iter().for_each(|id| all.entry(*id).or_default().push(node));
        node
    }

    /// Adds messages to all remote chunks that an operation writes.
    fn put(&mut self, at: Position<'a>, after: Vec<u32>, factor: u64) -> Result<u32, WorkloadError> {
        let sizes = at.op.src_buff.iter().zip(&at.op.dst_buff).map(|(from, to)| (from.size, to.size));
        if let Some((from, to)) = sizes.into_iter().find(|(from, to)| from != to) {
            let what = Problem::with_text(
                format!("it puts {from} chunks where there are {to}"),
                "as many of src_buff as of dst_buff",
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
            if factor == PACKET && is_scratch {
                self.written.push((Range::of(to, chunk), Writer::Message(message)));
            }
            sent.push(self.messages[message].from.1);
        }
        let after = if sent.is_empty() { after } else { sent };
        Ok(self.node(at.gpu.id, NOTHING, at.place, after))
    }

    /// Adds reads of all remote chunks that an operation reads. The returned node begins when all data has arrived.
    fn get(&mut self, at: Position<'a>, after: Vec<u32>) -> Result<u32, WorkloadError> {
        let rank = at.gpu.id;
        let mut got = Vec::new();
        for chunk in at.op.src_buff.iter().filter(|chunk| chunk.buffer_id.is_some()) {
            let (from, is_scratch) = self.remote(at, chunk)?;
            let bytes = self.bytes(at, from, is_scratch, chunk)?;
            if bytes == 0 {
                continue;
            }
            let channel = self.channel_to(at, from);
            let request = self.message(at, rank, after.clone(), from, READ, channel);
            let requested = self.received(request);
            let data = self.message(at, from, vec![requested], rank, bytes, channel);
            got.push(self.received(data));
        }
        let after = if got.is_empty() { after } else { got };
        Ok(self.node(rank, NOTHING, at.place, after))
    }

    fn signal(&mut self, at: Position<'a>, after: u32, covers_puts: bool) -> Result<u32, WorkloadError> {
        let mut sent = Vec::new();
        for number in &at.op.channel_ids {
            let (end, channel) = self.end(at, *number)?;
            let message = self.message(at, at.gpu.id, vec![after], end.2, SIGNAL, channel);
            self.signals.entry(end).or_default().push(Signal { message, covers_puts });
            sent.push(self.messages[message].from.1);
        }
        Ok(self.node(at.gpu.id, NOTHING, at.place, sent))
    }

    /// Adds nodes that wait until all earlier messages on the operation's channels are acknowledged.
    fn flush(&mut self, at: Position<'a>, after: u32) -> Result<u32, WorkloadError> {
        let rank = at.gpu.id;
        let mut flushed = Vec::new();
        for number in &at.op.channel_ids {
            let (end, channel) = self.end(at, *number)?;
            let nodes = &self.ranks[rank as usize];
            let on_channel = |node: &Node| match node.op {
                Op::Send { to, channel: other, .. } => to == end.2 && other == channel,
                _ => false,
            };
            let before = self.before(rank, after);
            flushed.extend(before.into_iter().filter(|node| on_channel(&nodes[*node as usize])));
        }
        let waits = |send| Op::Acknowledged { send };
        let nodes: Vec<u32> = flushed
            .into_iter()
            .map(|send| self.node(rank, waits(send), at.place, vec![after, send]))
            .collect();
        let after = if nodes.is_empty() { vec![after] } else { nodes };
        Ok(self.node(rank, NOTHING, at.place, after))
    }

    /// Adds a node that reads packets from scratch buffers, writes packets there, or both.
    fn packets(&mut self, at: Position<'a>, after: Vec<u32>) -> Result<u32, WorkloadError> {
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
    fn remote(&self, at: Position, chunk: &Chunk) -> Result<(u32, bool), WorkloadError> {
        let number = chunk.buffer_id.unwrap_or_default();
        let kind = at.op.channel_type;
        let of_kind = at.block.remote_buffer_refs.iter().find(|refs| Some(refs.access_channel_type) == kind);
        let buffer = of_kind
            .and_then(|refs| refs.remote_buffer_ids.get(number))
            .and_then(|id| at.gpu.remote_buffers.get(*id));
        match buffer {
            Some(remote) => Ok((remote.rank, remote.buffer == plan::Buffer::Scratch)),
            None => {
                Err(self
                    .wrong(at, format!("its thread block refers to no remote buffer {number} of that kind")))
            }
        }
    }

    /// The end of channel `number` of an operation's thread block, and the number of its queue pair.
    fn end(&self, at: Position, number: usize) -> Result<(ChannelEnd, u32), WorkloadError> {
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

    /// The queue pair of the first channel of the operation's kind to a rank. Signals of the channel also use this
    /// queue pair.
    fn channel_to(&self, at: Position, rank: u32) -> u32 {
        let Some(kind) = at.op.channel_type else { return 0 };
        let others = at.gpu.connected_to(kind);
        let refs = at.block.channels.iter().filter(|refs| refs.channel_type == kind);
        let id = refs.flat_map(|refs| &refs.channel_ids).copied().find(|id| others.get(*id) == Some(&rank));
        let which = id.map_or(0, |id| others[..id].iter().filter(|other| **other == rank).count());
        kind.queue_pair(which)
    }

    /// The number of bytes in chunks of a buffer of `owner`, or in this thread block's share of them.
    fn bytes(&self, at: Position, owner: u32, is_scratch: bool, chunk: &Chunk) -> Result<u64, WorkloadError> {
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

    /// The nodes of a rank that end before `node` begins.
    fn before(&self, rank: u32, node: u32) -> BTreeSet<u32> {
        let nodes = &self.ranks[rank as usize];
        let (mut seen, mut left) = (BTreeSet::new(), vec![node]);
        while let Some(next) = left.pop() {
            left.extend(nodes[next as usize].after.iter().filter(|before| seen.insert(**before)));
        }
        seen
    }

    /// Makes readers of packets wait for their writers.
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

    /// Makes each wait depend on its signal, and on the puts that the signal covers.
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
            let mut covered = BTreeSet::new();
            for (wait, Signal { message, covers_puts }) in waits.into_iter().zip(signals) {
                let mut needs = vec![message];
                if covers_puts {
                    let before = self.before(peer, self.messages[message].from.1);
                    let puts = (0..).zip(&self.messages).filter(|(_, other)| {
                        other.is_put
                            && other.from.0 == peer
                            && other.to == rank
                            && before.contains(&other.from.1)
                    });
                    needs.extend(puts.map(|(number, _)| number).filter(|put| covered.insert(*put)));
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
