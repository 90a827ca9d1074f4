//! The mail: frames that were sent and have not arrived yet. The outgoing frames of each thread are sorted by
//! synchronisation window and destination node, and the inbox of a node holds its arrivals of one window.
//!
//! A frame that a node sends in one window arrives at another node in a later window, and never in the same one (see
//! [`crate::engine`]). During a window, a thread therefore writes mail of later windows, and all threads read mail of
//! the present one. No mail is read while it is written.

use crate::frame::{Arrival, Frame, FrameKind};
use crate::prefetch::prefetch;
use anabranch_base::{NodeId, Purpose, Time, draw_at, parameter_choices};
use anabranch_proto::{IntStack, Packet};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

mod by_port;
mod inbox;

pub use by_port::{Entry, MOST_THREADS, PortInbox};
pub use inbox::Inbox;

/// The largest number of future synchronisation windows that have mail of their own. Arrivals after them are
/// [`FarArrival`]s.
pub const MAX_WINDOWS_AHEAD: usize = 6;

/// The length of the longest synchronisation window in ps. The number of time bits in the keys of an inbox limits it.
pub const LONGEST_WINDOW: u64 = 1 << OFFSET_BITS;
const OFFSET_BITS: u32 = 22;
/// The bits for the number of an arrival within an inbox.
const NUMBER_BITS: u32 = 25;
const PORT_BITS: u32 = 16;
const _: () = assert!(OFFSET_BITS + 1 + PORT_BITS + NUMBER_BITS == 64);

/// The frames that one thread has sent and that arrive within one synchronisation window.
#[derive(Default)]
pub struct WindowMail {
    /// The number of the synchronisation window in which the frames arrive, counted from 0.
    window: u64,
    /// The mailbox of each destination node.
    boxes: Vec<Mailbox>,
    room: ArrivalArena,
    /// The nodes with an arrival, each once.
    touched: Vec<NodeId>,
    /// The telemetry of frames in flight. The record with number `n` is `stacks[n - 1]`.
    stacks: Vec<IntStack>,
    packets: u64,
    pauses: u64,
}

/// The arrivals at one node, as a chain of runs in the arena. All runs but the last one are full.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct Mailbox {
    /// The synchronisation window of the arrivals. Arrivals of an earlier window have been read, and the first arrival
    /// of a later window replaces them.
    window: u64,
    /// The first index of the first run.
    first: u32,
    /// The first index of the last run.
    last: u32,
    /// The index of the next arrival that is added.
    next: u32,
    /// The end of the last run.
    end: u32,
    arrivals: u32,
}

/// The lengths of runs are multiples of this number of arrivals.
const STEP: u32 = 8;
/// The most arrivals in a run.
const LONGEST_RUN: u32 = 512;
/// The length of a block in arrivals.
const BLOCK: u32 = 2048;
type Block = Box<[Arrival; BLOCK as usize]>;

fn blank_block() -> Block {
    let arrivals = vec![Arrival::BLANK; BLOCK as usize].into_boxed_slice();
    arrivals.try_into().unwrap_or_else(|_| unreachable!("a block has its length"))
}

#[derive(Default)]
pub struct Blocks(Vec<Block>);

/// An arena for the arrivals of a synchronisation window. It consists of runs, which are ranges of consecutive
/// indexes. Runs are allocated one after the other and freed together. The index of an arrival is the number of its
/// block times [`BLOCK`], plus its index within the block. Blocks move between the windows of a thread, so that memory
/// that has just been read is written next.
///
/// A vector per mailbox would keep the capacity of its fullest window. At a hundred thousand nodes, this would be most
/// of the memory of a simulation, and the kernel's clearing of that memory would take most of the time of a short
/// simulation.
#[derive(Default)]
struct ArrivalArena {
    blocks: Vec<Block>,
    /// The length of each run, and the first index of the run that follows it in its mailbox. The position in this
    /// vector is the run's own first index divided by [`STEP`].
    runs: Vec<(u32, u32)>,
    used: u32,
}

impl ArrivalArena {
    #[inline]
    fn at(&self, index: u32) -> &Arrival {
        &self.blocks[(index / BLOCK) as usize][(index % BLOCK) as usize]
    }

    /// Allocates a run of about `hint` arrivals. Returns its first index and its end.
    #[inline]
    fn allocate(&mut self, hint: u32, free: &mut Blocks) -> (u32, u32) {
        let length = (hint / STEP * STEP).clamp(STEP, LONGEST_RUN);
        let left = BLOCK - self.used % BLOCK;
        let first = if length <= left { self.used } else { self.used + left };
        self.used = first + length;
        if self.used.div_ceil(BLOCK) as usize > self.blocks.len() {
            self.add_block(free);
        }
        self.runs[(first / STEP) as usize].0 = length;
        (first, self.used)
    }

    #[cold]
    #[inline(never)]
    fn add_block(&mut self, free: &mut Blocks) {
        self.blocks.push(free.0.pop().unwrap_or_else(blank_block));
        let runs = self.blocks.len() * (BLOCK / STEP) as usize;
        self.runs.resize(runs.max(self.runs.len()), (0, 0));
    }
}

impl Mailbox {
    /// Adds an arrival of `window`. The first arrival of the window adds `node` to `touched`.
    #[inline(always)]
    fn push(
        &mut self,
        window: u64,
        arrival: &Arrival,
        node: NodeId,
        (room, touched, free): (&mut ArrivalArena, &mut Vec<NodeId>, &mut Blocks),
    ) {
        self.make_room(window, node, (room, touched, free));
        let block = &mut room.blocks[(self.next / BLOCK) as usize];
        block[(self.next % BLOCK) as usize] = *arrival;
        self.next += 1;
        self.arrivals += 1;
        // The same sender will probably send the next arrival soon.
        prefetch(&block[(self.next % BLOCK) as usize]);
    }

    #[inline(always)]
    fn make_room(
        &mut self,
        window: u64,
        node: NodeId,
        (room, touched, free): (&mut ArrivalArena, &mut Vec<NodeId>, &mut Blocks),
    ) {
        if self.window != window {
            touched.push(node);
            // Room for about as many arrivals as in the previous window with mail, so that most are read in sequence.
            let (first, end) = room.allocate(self.arrivals, free);
            (self.window, self.arrivals) = (window, 0);
            (self.first, self.last, self.next, self.end) = (first, first, first, end);
        } else if self.next == self.end {
            let (first, end) = room.allocate(self.arrivals / 4, free);
            room.runs[(self.last / STEP) as usize].1 = first;
            (self.last, self.next, self.end) = (first, first, end);
        }
    }
}

/// An arrival after the last synchronisation window that has mail of its own, usually because its link is long.
pub struct FarArrival {
    pub node: NodeId,
    pub arrival: Arrival,
    pub stack: Option<Box<IntStack>>,
}

impl WindowMail {
    pub fn new(nodes: usize) -> Self {
        WindowMail { boxes: (0..nodes).map(|_| Mailbox::default()).collect(), ..WindowMail::default() }
    }

    /// Prepares this mail for `window`. Mail of an earlier synchronisation window, which has been read, is dropped, and
    /// its blocks move to `free`.
    pub fn reuse_for(&mut self, window: u64, free: &mut Blocks) {
        if self.window != window {
            self.window = window;
            self.touched.clear();
            self.stacks.clear();
            self.room.used = 0;
            free.0.append(&mut self.room.blocks);
            (self.packets, self.pauses) = (0, 0);
        }
    }

    /// The number of packets that arrive within `window`.
    pub fn packets(&self, window: u64) -> u64 {
        if self.window == window { self.packets } else { 0 }
    }

    /// The number of packets that arrive within `window`, at `time` or later.
    pub fn packets_from(&self, window: u64, time: Time) -> u64 {
        if self.window != window {
            return 0;
        }
        let mail = self.touched.iter().flat_map(|node| self.runs_of(window, *node));
        let late = mail.flat_map(|(_, arrivals)| arrivals).filter(|arrival| arrival.time >= time);
        late.filter(|arrival| arrival.frame.kind == FrameKind::Packet).count() as u64
    }

    pub fn is_empty(&self, window: u64) -> bool {
        self.window != window || self.packets + self.pauses == 0
    }

    /// The runs of arrivals at `node` within `window`, each with the index of its first arrival.
    #[inline]
    fn runs_of(&self, window: u64, node: NodeId) -> impl Iterator<Item = (u32, &[Arrival])> {
        let mail = self.boxes[node.index()];
        let mut left = if mail.window == window { mail.arrivals } else { 0 };
        let mut next = mail.first;
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let (length, behind) = self.room.runs[(next / STEP) as usize];
            let here = length.min(left);
            let index = next;
            (left, next) = (left - here, behind);
            let from = (index % BLOCK) as usize;
            Some((index, &self.room.blocks[(index / BLOCK) as usize][from..from + here as usize]))
        })
    }
}

/// The outgoing frames of a thread in a synchronisation window. `slots` is the mail of the following windows.
pub struct Outbox<'m> {
    /// The end of the present synchronisation window, then the ends of the windows of `slots`, then `u64::MAX`.
    ends: [u64; MAX_WINDOWS_AHEAD + 2],
    slots: SmallVec<[&'m mut WindowMail; MAX_WINDOWS_AHEAD]>,
    far: &'m mut Vec<FarArrival>,
    free: &'m mut Blocks,
}

impl<'m> Outbox<'m> {
    /// An outbox. `ends` has the end of the present synchronisation window and the ends of the windows of `slots`.
    pub fn new(
        ends: &[Time],
        slots: SmallVec<[&'m mut WindowMail; MAX_WINDOWS_AHEAD]>,
        (far, free): (&'m mut Vec<FarArrival>, &'m mut Blocks),
    ) -> Self {
        let mut all = [u64::MAX; MAX_WINDOWS_AHEAD + 2];
        for (index, end) in all.iter_mut().zip(&ends[..=slots.len()]) {
            *index = end.0;
        }
        Outbox { ends: all, slots, far, free }
    }

    /// Sends a packet without telemetry.
    #[inline(always)]
    pub fn send_packet(&mut self, node: NodeId, time: Time, packet: &Packet, port: u16) {
        assert!(
            time.0 >= self.ends[0],
            "a packet of no bytes arrives within the window in which it was sent"
        );
        let mut ahead = 0;
        while time.0 >= self.ends[ahead + 1] {
            ahead += 1;
        }
        match self.slots.get_mut(ahead) {
            Some(slot) => {
                slot.packets += 1;
                let frame = Frame { packet: *packet, telemetry: 0, port, kind: FrameKind::Packet };
                let room = (&mut slot.room, &mut slot.touched, &mut *self.free);
                slot.boxes[node.index()].push(slot.window, &Arrival { time, frame }, node, room);
            }
            None => self.send(node, Arrival { time, frame: Frame::new(*packet, port) }, None),
        }
    }

    /// Sends a frame to `node`, with its telemetry `stack` if it has one.
    pub fn send(&mut self, node: NodeId, mut arrival: Arrival, stack: Option<&IntStack>) {
        let time = arrival.time.0;
        assert!(time >= self.ends[0], "a packet of no bytes arrives within the window in which it was sent");
        let mut ahead = 0;
        while time >= self.ends[ahead + 1] {
            ahead += 1;
        }
        let Some(slot) = self.slots.get_mut(ahead) else {
            arrival.frame.telemetry = 0;
            self.far.push(FarArrival { node, arrival, stack: stack.copied().map(Box::new) });
            return;
        };
        if let Some(stack) = stack {
            slot.stacks.push(*stack);
            arrival.frame.telemetry = slot.stacks.len() as u32;
        }
        match arrival.frame.kind {
            FrameKind::Packet => slot.packets += 1,
            FrameKind::Pause | FrameKind::Resume => slot.pauses += 1,
        }
        let room = (&mut slot.room, &mut slot.touched, &mut *self.free);
        slot.boxes[node.index()].push(slot.window, &arrival, node, room);
    }
}

/// The outgoing packets of one port within a synchronisation window. They arrive at one node, at increasing times. A
/// thread has one such writer, for the port that it simulates at present.
pub struct LinkMail {
    /// The node at which packets arrive, and its port.
    to: (NodeId, u16),
    /// The slot of the latest arrival. `usize::MAX` before the first arrival, after [`finish`](Self::finish), and if
    /// the arrival is over a long link.
    ahead: usize,
    /// The end of that slot's synchronisation window. 0 before the first arrival and after [`finish`](Self::finish).
    until: u64,
    /// The block that contains the run which is being written. The slot holds an unused block in its place.
    block: Block,
    number: u32,
    /// The index of the first arrival since [`turn_to`](Self::turn_to), within the block.
    first: u32,
    /// The index of the next arrival, within the block.
    next: u32,
    /// The end of the run, as an index within the block.
    end: u32,
}

/// Prefetching is ahead of writing by this many arrivals.
const PREFETCHED_RUN: usize = 3;

impl Default for LinkMail {
    fn default() -> Self {
        let (to, ahead, block) = ((NodeId(0), 0), usize::MAX, blank_block());
        LinkMail { to, ahead, until: 0, block, number: 0, first: 0, next: 0, end: 0 }
    }
}

impl LinkMail {
    /// Sends a packet without telemetry to a node and its port `to`, where it arrives at `time`. Before another method
    /// sends a frame to the node, [`finish`](Self::finish) must be called.
    #[inline(always)]
    pub fn send(&mut self, to: (NodeId, u16), time: Time, packet: &Packet, out: &mut Outbox<'_>) {
        let is_open = time.0 < self.until && self.next < self.end && self.to == to;
        if !is_open && !self.turn_to(to, time, out) {
            return out.send(to.0, Arrival { time, frame: Frame::new(*packet, to.1) }, None);
        }
        let frame = Frame { packet: *packet, telemetry: 0, port: to.1, kind: FrameKind::Packet };
        self.block[(self.next % BLOCK) as usize] = Arrival { time, frame };
        self.next += 1;
        prefetch(&self.block[(self.next as usize + PREFETCHED_RUN) % BLOCK as usize]);
    }

    /// Selects the slot whose synchronisation window contains an arrival at `time`, and a run with room. Returns false
    /// if no slot has that window.
    #[inline(never)]
    fn turn_to(&mut self, to: (NodeId, u16), time: Time, out: &mut Outbox<'_>) -> bool {
        self.finish(out);
        assert!(time.0 >= out.ends[0], "a packet of no bytes arrives within the window in which it was sent");
        let mut ahead = 0;
        while time.0 >= out.ends[ahead + 1] {
            ahead += 1;
        }
        let Some(slot) = out.slots.get_mut(ahead) else { return false };
        let mailbox = &mut slot.boxes[to.0.index()];
        mailbox.make_room(slot.window, to.0, (&mut slot.room, &mut slot.touched, &mut *out.free));
        (self.to, self.ahead, self.until) = (to, ahead, out.ends[ahead + 1]);
        self.number = mailbox.next / BLOCK;
        let begin = self.number * BLOCK;
        (self.first, self.next, self.end) = (mailbox.next - begin, mailbox.next - begin, mailbox.end - begin);
        std::mem::swap(&mut self.block, &mut slot.room.blocks[self.number as usize]);
        self.block[self.next as usize..].iter().take(PREFETCHED_RUN).for_each(prefetch);
        true
    }

    /// Completes the outgoing packets of the port, so that other frames may be sent to the node.
    #[inline]
    pub fn finish(&mut self, out: &mut Outbox<'_>) {
        let Some(slot) = out.slots.get_mut(std::mem::replace(&mut self.ahead, usize::MAX)) else { return };
        std::mem::swap(&mut self.block, &mut slot.room.blocks[self.number as usize]);
        let mailbox = &mut slot.boxes[self.to.0.index()];
        let packets = self.next - self.first;
        mailbox.next += packets;
        mailbox.arrivals += packets;
        slot.packets += u64::from(packets);
        self.until = 0;
    }
}

/// The order in which a node handles packets that arrive at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalOrder {
    /// By increasing ingress port.
    #[default]
    Port,
    /// In a random order for each node and instant.
    Random,
}

parameter_choices!(ArrivalOrder: "port" = Port, "random" = Random);

/// Puts arrivals of one instant at `node`, which are sorted by port, into a random order. The order depends only on
/// seed, node, time and ports.
fn draw_order<T>(seed: u64, node: NodeId, time: u64, tied: &mut [T], port: impl Fn(&T) -> u64) {
    let instant = instant_seed(seed, node, time);
    tied.sort_by_key(|one| rank_at(instant, port(one)));
}

/// The rank of an arrival among those at `node` at `time`, if their order is random.
pub fn drawn_rank(seed: u64, node: NodeId, time: u64, port: u64) -> u64 {
    rank_at(instant_seed(seed, node, time), port)
}

#[inline]
fn instant_seed(seed: u64, node: NodeId, time: u64) -> u64 {
    draw_at(seed, u64::from(node.0), Purpose::ArrivalOrder, time)
}

#[inline]
fn rank_at(instant: u64, port: u64) -> u64 {
    draw_at(instant, port, Purpose::ArrivalOrder, 0)
}

/// Sorts items that are nearly sorted by `key`. Insertion is used as long as it takes few steps.
#[inline]
fn sort_nearly_sorted<T: Copy>(items: &mut [T], key: impl Fn(&T) -> u64) {
    let mut left = 8 * items.len();
    let mut last = 0;
    for index in 0..items.len() {
        let item = items[index];
        if last <= key(&item) {
            last = key(&item);
            continue;
        }
        // The item with the key `last`, the greatest one so far, moves to this place.
        let mut place = index;
        while place > 0 && key(&items[place - 1]) > key(&item) {
            items[place] = items[place - 1];
            place -= 1;
        }
        items[place] = item;
        left = left.saturating_sub(index - place);
        if left == 0 {
            // With the key as a closure of this crate, the compiler builds the sort in this crate. A sort of plain
            // integers could be taken from another crate, which is not optimised in tests.
            return items.sort_unstable_by_key(key);
        }
    }
}

/// The mail of all threads for the present synchronisation window.
pub struct Sources<'m> {
    pub slots: &'m [&'m WindowMail],
    /// The number of the window.
    pub window: u64,
    /// The seed for the order of arrivals at one instant; none if arrivals are ordered by port.
    pub order: Option<u64>,
}

/// The largest number of arrivals from each thread that are prefetched before a node's turn. From there on, the CPU's
/// own prefetcher continues along consecutive addresses.
const MAX_PREFETCHED: usize = 16;

impl Sources<'_> {
    /// The nodes with an arrival that is not over a long link. Some nodes come more than once.
    pub fn touched(&self) -> impl Iterator<Item = NodeId> + '_ {
        let of_window = |slot: &&&WindowMail| slot.window == self.window;
        self.slots.iter().filter(of_window).flat_map(|slot| slot.touched.iter().copied())
    }

    /// Prefetches the first arrivals at `node`. Returns the number of all arrivals at the node, except those over
    /// long links.
    #[inline]
    pub fn prefetch(&self, node: NodeId) -> u32 {
        let mut arrivals = 0;
        for slot in self.slots {
            if let Some((_, run)) = slot.runs_of(self.window, node).next() {
                run.iter().take(MAX_PREFETCHED).for_each(prefetch);
                arrivals += slot.boxes[node.index()].arrivals;
            }
        }
        arrivals
    }
}

#[cfg(test)]
mod tests;
