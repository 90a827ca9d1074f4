//! What passes between nodes: each thread's outgoing arrivals by window and node, and a node's inbox of a window.
//!
//! Time is cut into windows. What a node sends in one window comes in at another node in a later one, never in the
//! same (see [`crate::engine`]), so during a window a thread writes the mail of later windows and all threads read
//! that of the present one: nothing is read while it is written.

use crate::frame::{Arrival, Frame, Order, What, kind};
use crate::prefetch::prefetch;
use anabranch_base::{NodeId, Purpose, Time, draw_at, parameter_choices};
use anabranch_proto::{IntStack, Packet};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Most windows ahead for which mail is filed by window. What comes in later than that is [`Far`].
pub const MOST_AHEAD: usize = 6;

/// The longest window: keys of an inbox have so many bits for the time.
pub const LONGEST_WINDOW: u64 = 1 << OFFSET_BITS;
const OFFSET_BITS: u32 = 22;
/// Bits for the number of an arrival in the inbox of a window.
const NUMBER_BITS: u32 = 25;
const PORT_BITS: u32 = 16;
const _: () = assert!(OFFSET_BITS + 1 + PORT_BITS + NUMBER_BITS == 64);

/// What one thread has sent that comes in within one window.
#[derive(Default)]
pub struct Slot {
    /// The window, counted from 0, that this mail is for.
    window: u64,
    /// By node.
    boxes: Vec<Mailbox>,
    /// What the boxes hold.
    room: Room,
    /// The nodes at which anything comes in, each once.
    touched: Vec<NodeId>,
    /// Telemetry on its way: record `n` of a frame is `stacks[n - 1]`.
    stacks: Vec<IntStack>,
    packets: u64,
    pauses: u64,
}

/// What comes in at one node: a chain of runs, all full but the last one.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct Mailbox {
    /// The window that they are for. Those of an earlier one have been read, and go with the first of a later one.
    window: u64,
    /// The first run.
    first: u32,
    /// The last run, where the next arrival goes on it, and where it ends.
    last: u32,
    next: u32,
    end: u32,
    arrivals: u32,
}

/// Runs are multiples of so many arrivals.
const STEP: u32 = 8;
/// The longest run.
const LONGEST_RUN: u32 = 512;
/// Arrivals in a block.
const BLOCK: u32 = 2048;
/// So many arrivals.
type Block = Box<[Arrival; BLOCK as usize]>;

/// Blocks of a thread that no slot has.
#[derive(Default)]
pub struct Blocks(Vec<Block>);

/// Room for the arrivals of a slot, handed out in runs from the beginning on, and all taken back at once. An arrival has
/// the index block times [`BLOCK`] plus its index in that. Blocks go from slot to slot of a thread: what has just been
/// read is written next, and all slots together have no more than is under way at a time.
///
/// A vector for each mailbox would keep the room of its fullest window. At a hundred thousand nodes that is most of
/// the memory of a run, and the kernel's clearing of it is most of the time of a short one. A mailbox first gets a run for
/// as many as came in last time, so that most is read in a row.
#[derive(Default)]
struct Room {
    blocks: Vec<Block>,
    /// By first place over [`STEP`]: how long a run is, and where the one behind it begins.
    runs: Vec<(u32, u32)>,
    /// Indexes that are handed out.
    used: u32,
}

impl Room {
    #[inline]
    fn at(&self, index: u32) -> &Arrival {
        &self.blocks[(index / BLOCK) as usize][(index % BLOCK) as usize]
    }

    /// A run for no more than so many, or the shortest: where it begins and ends.
    #[inline]
    fn hand_out(&mut self, wanted: u32, free: &mut Blocks) -> (u32, u32) {
        let length = (wanted / STEP * STEP).clamp(STEP, LONGEST_RUN);
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
        let blank = || vec![Arrival::BLANK; BLOCK as usize].into_boxed_slice();
        if let Some(block) = free.0.pop().or_else(|| blank().try_into().ok()) {
            self.blocks.push(block);
            let runs = self.blocks.len() * (BLOCK / STEP) as usize;
            self.runs.resize(runs.max(self.runs.len()), (0, 0));
        }
    }
}

impl Mailbox {
    /// Adds an arrival of `window`; `touched` gets the `node` with the first one.
    #[inline(always)]
    fn push(
        &mut self,
        window: u64,
        arrival: &Arrival,
        node: NodeId,
        (room, touched, free): (&mut Room, &mut Vec<NodeId>, &mut Blocks),
    ) {
        if self.window != window {
            touched.push(node);
            let (first, end) = room.hand_out(self.arrivals, free);
            (self.window, self.arrivals) = (window, 0);
            (self.first, self.last, self.next, self.end) = (first, first, first, end);
        } else if self.next == self.end {
            let (first, end) = room.hand_out(self.arrivals / 4, free);
            room.runs[(self.last / STEP) as usize].1 = first;
            (self.last, self.next, self.end) = (first, first, end);
        }
        let block = &mut room.blocks[(self.next / BLOCK) as usize];
        block[(self.next % BLOCK) as usize] = *arrival;
        self.next += 1;
        self.arrivals += 1;
        // Where the next one goes, most likely of the same sender and soon.
        prefetch(&block[(self.next % BLOCK) as usize]);
    }
}

/// An arrival beyond the windows that have slots: over a long link.
pub struct Far {
    /// Where.
    pub node: NodeId,
    /// What and when.
    pub arrival: Arrival,
    /// Its telemetry.
    pub stack: Option<Box<IntStack>>,
}

impl Slot {
    /// Room for mail to so many nodes.
    pub fn new(nodes: usize) -> Self {
        Slot { boxes: (0..nodes).map(|_| Mailbox::default()).collect(), ..Slot::default() }
    }

    /// Becomes the slot of `window`: mail of an earlier one, which has been read, goes, and its blocks are `free`.
    pub fn turn_to(&mut self, window: u64, free: &mut Blocks) {
        if self.window != window {
            self.window = window;
            self.touched.clear();
            self.stacks.clear();
            self.room.used = 0;
            free.0.append(&mut self.room.blocks);
            (self.packets, self.pauses) = (0, 0);
        }
    }

    /// Packets that come in within `window`.
    pub fn packets(&self, window: u64) -> u64 {
        if self.window == window { self.packets } else { 0 }
    }

    /// Packets that come in within `window`, at `time` or later.
    pub fn packets_from(&self, window: u64, time: Time) -> u64 {
        if self.window != window {
            return 0;
        }
        let mail = self.touched.iter().flat_map(|node| self.runs_of(window, *node));
        let late = mail.flat_map(|(_, arrivals)| arrivals).filter(|arrival| arrival.time >= time);
        late.filter(|arrival| arrival.frame.what == What::Packet).count() as u64
    }

    /// Whether anything comes in within `window`.
    pub fn is_empty(&self, window: u64) -> bool {
        self.window != window || self.packets + self.pauses == 0
    }

    /// The runs of what comes in at `node` within `window`: the place of the first arrival on each, and all of them.
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

/// Where a thread puts what its nodes send.
pub struct Outbox<'m> {
    /// When the present window, and those after it for which there are slots, end; then never.
    ends: [u64; MOST_AHEAD + 2],
    /// The slots of the next windows.
    slots: SmallVec<[&'m mut Slot; MOST_AHEAD]>,
    far: &'m mut Vec<Far>,
    free: &'m mut Blocks,
}

impl<'m> Outbox<'m> {
    /// Mail for `slots`, of the windows after the present one, which and whose ends are `ends`; with room from `free`.
    pub fn new(
        ends: &[Time],
        slots: SmallVec<[&'m mut Slot; MOST_AHEAD]>,
        (far, free): (&'m mut Vec<Far>, &'m mut Blocks),
    ) -> Self {
        let mut all = [u64::MAX; MOST_AHEAD + 2];
        for (index, end) in all.iter_mut().zip(&ends[..=slots.len()]) {
            *index = end.0;
        }
        Outbox { ends: all, slots, far, free }
    }

    /// Sends a packet without telemetry to `node`, where it comes in by `port`.
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
                let frame = Frame { packet: *packet, telemetry: 0, port, what: What::Packet };
                let room = (&mut slot.room, &mut slot.touched, &mut *self.free);
                slot.boxes[node.index()].push(slot.window, &Arrival { time, frame }, node, room);
            }
            None => self.send(node, Arrival { time, frame: Frame::new(*packet, port) }, None),
        }
    }

    /// Sends a frame to `node`; `stack` is its telemetry, if it has any.
    pub fn send(&mut self, node: NodeId, mut arrival: Arrival, stack: Option<&IntStack>) {
        let time = arrival.time.0;
        assert!(time >= self.ends[0], "a packet of no bytes arrives within the window in which it was sent");
        let mut ahead = 0;
        while time >= self.ends[ahead + 1] {
            ahead += 1;
        }
        let Some(slot) = self.slots.get_mut(ahead) else {
            arrival.frame.telemetry = 0;
            self.far.push(Far { node, arrival, stack: stack.copied().map(Box::new) });
            return;
        };
        if let Some(stack) = stack {
            slot.stacks.push(*stack);
            arrival.frame.telemetry = slot.stacks.len() as u32;
        }
        match arrival.frame.what {
            What::Packet => slot.packets += 1,
            What::Pause | What::Resume => slot.pauses += 1,
        }
        let room = (&mut slot.room, &mut slot.touched, &mut *self.free);
        slot.boxes[node.index()].push(slot.window, &arrival, node, room);
    }
}

/// In which order a node handles packets that arrive at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalOrder {
    /// By rising ingress port.
    #[default]
    Port,
    /// Drawn for each node and instant.
    Random,
}

parameter_choices!(ArrivalOrder: "port" = Port, "random" = Random);

/// What comes in at one node within a window, in the order in which it is to be looked at.
#[derive(Default)]
pub struct Inbox {
    /// Offset within the window, pause or packet, port, number: sorted.
    keys: Vec<u64>,
    /// Where the arrivals are, by number. Those that came over long links have the numbers behind.
    runs: SmallVec<[Run; 4]>,
    next: usize,
    start: u64,
}

/// A run of an inbox.
struct Run {
    /// The numbers of its arrivals are below.
    end: u32,
    /// Their indexes less their numbers, wrapped around.
    shift: u32,
    slot: u32,
}

/// From where the arrivals of an inbox are read: a slot of each thread, and those that came over long links.
pub struct Sources<'m> {
    /// The slots of the present window, a thread each.
    pub slots: &'m [&'m Slot],
    /// The present window.
    pub window: u64,
    /// The seed under which the order of arrivals at one instant is drawn; none: it is that of their ports.
    pub order: Option<u64>,
}

/// Arrivals that are loaded before a node's turn; the processor goes on by itself along a run.
const MOST_PREFETCHED: usize = 16;

impl Sources<'_> {
    /// The nodes at which anything comes in, some more than once.
    pub fn touched(&self) -> impl Iterator<Item = NodeId> + '_ {
        let of_window = |slot: &&&Slot| slot.window == self.window;
        self.slots.iter().filter(of_window).flat_map(|slot| slot.touched.iter().copied())
    }

    /// Loads the beginning of what comes in at `node`.
    #[inline]
    pub fn prefetch(&self, node: NodeId) {
        for slot in self.slots {
            if let Some((_, run)) = slot.runs_of(self.window, node).next() {
                run.iter().take(MOST_PREFETCHED).for_each(prefetch);
            }
        }
    }
}

impl Inbox {
    /// Sorts what comes in at `node` within the window that starts at `start`. `far` is what of it came over long
    /// links; `expect` is told of each, to load what the node will look up.
    #[inline]
    pub fn open(
        &mut self,
        sources: &Sources<'_>,
        node: NodeId,
        start: Time,
        far: &[Far],
        expect: impl Fn(&Packet),
    ) {
        self.keys.clear();
        self.runs.clear();
        self.next = 0;
        self.start = start.0;
        let (mut sorted, mut last) = (true, 0);
        let mut add = |arrival: &Arrival| {
            let offset = arrival.time.0 - start.0;
            debug_assert!(offset < LONGEST_WINDOW, "an arrival beyond its window");
            let is_packet = u64::from(arrival.frame.what == What::Packet);
            let key = ((offset << 1 | is_packet) << PORT_BITS | u64::from(arrival.frame.port)) << NUMBER_BITS
                | self.keys.len() as u64;
            expect(&arrival.frame.packet);
            sorted &= last <= key;
            last = key;
            self.keys.push(key);
        };
        let mut end = 0;
        for (number, slot) in sources.slots.iter().enumerate() {
            for (index, arrivals) in slot.runs_of(sources.window, node) {
                arrivals.iter().for_each(&mut add);
                let shift = index.wrapping_sub(end);
                end += arrivals.len() as u32;
                self.runs.push(Run { end, shift, slot: number as u32 });
            }
        }
        far.iter().for_each(|far| add(&far.arrival));
        assert!(
            self.keys.len() < 1 << NUMBER_BITS,
            "more than 2^25 frames come in at a node within one window"
        );
        if !sorted {
            // By a key, so that the sort is compiled here: the standard one of plain numbers is taken from the first crate
            // that calls it, which in tests is one that is not optimised.
            self.keys.sort_unstable_by_key(|key| *key);
        }
        if let Some(seed) = sources.order {
            self.draw_order(seed, node);
        }
    }

    /// Puts arrivals of one instant, which are sorted by port, into an order that is drawn: pause frames still come before
    /// packets. Nothing but seed, node, time and ports decides it, so that it does not depend on windows and threads.
    #[inline(never)]
    fn draw_order(&mut self, seed: u64, node: NodeId) {
        const INSTANT: u32 = PORT_BITS + NUMBER_BITS;
        let (start, purpose) = (self.start, Purpose::ArrivalOrder);
        for tied in self.keys.chunk_by_mut(|one, next| one >> INSTANT == next >> INSTANT) {
            if tied.len() > 1 {
                let time = start + (tied[0] >> (INSTANT + 1));
                let instant = draw_at(seed, u64::from(node.0), purpose, time);
                let port = |key: u64| key >> NUMBER_BITS & ((1 << PORT_BITS) - 1);
                tied.sort_unstable_by_key(|key| (draw_at(instant, port(*key), purpose, 0), *key));
            }
        }
    }

    /// Where the next arrival stands among the node's events.
    #[inline]
    pub fn next(&self) -> Order {
        match self.keys.get(self.next) {
            None => Order::NEVER,
            Some(key) => {
                let (offset, is_packet) =
                    (key >> (NUMBER_BITS + PORT_BITS + 1), key >> (NUMBER_BITS + PORT_BITS) & 1);
                Order::new(
                    Time(self.start + offset),
                    if is_packet == 1 { kind::ARRIVAL } else { kind::PAUSE },
                )
            }
        }
    }

    /// Takes the next arrival, with its telemetry.
    #[inline(always)]
    pub fn take<'a>(
        &mut self,
        sources: &'a Sources<'_>,
        far: &'a [Far],
    ) -> (&'a Arrival, Option<&'a IntStack>) {
        let number = (self.keys[self.next] & ((1 << NUMBER_BITS) - 1)) as u32;
        self.next += 1;
        match self.runs.iter().find(|run| number < run.end) {
            Some(run) => {
                let slot = sources.slots[run.slot as usize];
                let arrival = slot.room.at(number.wrapping_add(run.shift));
                let stack = (arrival.frame.telemetry as usize).checked_sub(1);
                (arrival, stack.map(|number| &slot.stacks[number]))
            }
            None => {
                let before = self.runs.last().map_or(0, |run| run.end);
                let far = &far[(number - before) as usize];
                (&far.arrival, far.stack.as_deref())
            }
        }
    }
}

#[cfg(test)]
mod tests;
