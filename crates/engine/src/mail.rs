//! What passes between nodes: each thread's outgoing arrivals by window and node, and a node's inbox of a window.
//!
//! Time is cut into windows. What a node sends in one window comes in at another node in a later one, never in the
//! same (see [`crate::engine`]), so during a window a thread writes the mail of later windows and all threads read
//! that of the present one: nothing is read while it is written.

use crate::frame::{Arrival, Frame, Order, What, kind};
use crate::prefetch::prefetch;
use anabranch_base::{NodeId, Time};
use anabranch_proto::{IntStack, Packet};
use smallvec::SmallVec;

/// Most windows ahead for which mail is filed by window. What comes in later than that is [`Far`].
pub const MOST_AHEAD: usize = 6;

/// The longest window: keys of an inbox have so many bits for the time.
pub const LONGEST_WINDOW: u64 = 1 << OFFSET_BITS;
const OFFSET_BITS: u32 = 22;
/// Bits for the place of an arrival in the inbox of a window.
const PLACE_BITS: u32 = 25;
const PORT_BITS: u32 = 16;
const _: () = assert!(OFFSET_BITS + 1 + PORT_BITS + PLACE_BITS == 64);

/// What one thread has sent that comes in within one window.
#[derive(Default)]
pub struct Slot {
    /// The window, counted from 0, that this mail is for.
    window: u64,
    /// By node.
    boxes: Vec<Mailbox>,
    /// The nodes at which anything comes in, each once.
    touched: Vec<NodeId>,
    /// Telemetry on its way: record `n` of a frame is `stacks[n - 1]`.
    stacks: Vec<IntStack>,
    packets: u64,
    pauses: u64,
}

/// What comes in at one node. Half a cache line.
#[derive(Default)]
#[repr(align(32))]
struct Mailbox {
    arrivals: Vec<Arrival>,
    /// The window that they are for. Those of an earlier one have been read, and go with the first of a later one.
    window: u64,
}

/// Room that a mailbox has from its first arrival on.
const FIRST_ROOM: usize = 16;

impl Mailbox {
    /// Adds an arrival of `window`; `touched` gets the `node` with the first one.
    #[inline(always)]
    fn push(&mut self, window: u64, arrival: Arrival, node: NodeId, touched: &mut Vec<NodeId>) {
        if self.window != window {
            self.window = window;
            touched.push(node);
            self.arrivals.clear();
            if self.arrivals.capacity() == 0 {
                self.arrivals.reserve_exact(FIRST_ROOM);
            }
        }
        self.arrivals.push(arrival);
        // Where the next one goes, most likely of the same sender and soon.
        if let Some(next) = self.arrivals.spare_capacity_mut().first() {
            prefetch(next);
        }
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

    /// Becomes the slot of `window`: mail of an earlier one, which has been read, goes.
    pub fn turn_to(&mut self, window: u64) {
        if self.window != window {
            self.window = window;
            self.touched.clear();
            self.stacks.clear();
            (self.packets, self.pauses) = (0, 0);
        }
    }

    /// Packets that come in within `window`.
    pub fn packets(&self, window: u64) -> u64 {
        if self.window == window { self.packets } else { 0 }
    }

    /// Whether anything comes in within `window`.
    pub fn is_empty(&self, window: u64) -> bool {
        self.window != window || self.packets + self.pauses == 0
    }

    /// What comes in at `node` within `window`.
    fn of(&self, window: u64, node: NodeId) -> &[Arrival] {
        let mail = &self.boxes[node.index()];
        if mail.window == window { &mail.arrivals } else { &[] }
    }
}

/// Where a thread puts what its nodes send.
pub struct Outbox<'m> {
    /// When the present window, and those after it for which there are slots, end; then never.
    ends: [u64; MOST_AHEAD + 2],
    /// The slots of the next windows.
    slots: SmallVec<[&'m mut Slot; MOST_AHEAD]>,
    far: &'m mut Vec<Far>,
}

impl<'m> Outbox<'m> {
    /// Mail for `slots`, of the windows after the present one, which and whose ends are `ends`.
    pub fn new(ends: &[Time], slots: SmallVec<[&'m mut Slot; MOST_AHEAD]>, far: &'m mut Vec<Far>) -> Self {
        let mut all = [u64::MAX; MOST_AHEAD + 2];
        for (place, end) in all.iter_mut().zip(&ends[..=slots.len()]) {
            *place = end.0;
        }
        Outbox { ends: all, slots, far }
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
                slot.boxes[node.index()].push(slot.window, Arrival { time, frame }, node, &mut slot.touched);
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
        slot.boxes[node.index()].push(slot.window, arrival, node, &mut slot.touched);
    }
}

/// What comes in at one node within a window, in the order in which it is to be looked at.
#[derive(Default)]
pub struct Inbox {
    /// Offset within the window, pause or packet, port, place: sorted.
    keys: Vec<u64>,
    next: usize,
    start: u64,
}

/// From where the arrivals of an inbox are read: a slot of each thread, and those that came over long links.
pub struct Sources<'m> {
    /// The slots of the present window, a thread each.
    pub slots: SmallVec<[&'m Slot; 8]>,
    /// The present window.
    pub window: u64,
}

impl Sources<'_> {
    /// The nodes at which anything comes in, some more than once.
    pub fn touched(&self) -> impl Iterator<Item = NodeId> + '_ {
        let of_window = |slot: &&&Slot| slot.window == self.window;
        self.slots.iter().filter(of_window).flat_map(|slot| slot.touched.iter().copied())
    }

    /// Loads the beginning of what comes in at `node`.
    #[inline]
    pub fn prefetch(&self, node: NodeId) {
        for slot in &self.slots {
            let mail = slot.of(self.window, node);
            mail.iter().take(PREFETCHED).for_each(prefetch);
        }
    }
}

/// Arrivals that are loaded ahead; those behind are in a row, which the processor sees.
const PREFETCHED: usize = 8;

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
        self.next = 0;
        self.start = start.0;
        let (mut sorted, mut last) = (true, 0);
        let mut place = 0;
        let mut add = |arrival: &Arrival| {
            let offset = arrival.time.0 - start.0;
            debug_assert!(offset < LONGEST_WINDOW, "an arrival beyond its window");
            let is_packet = u64::from(arrival.frame.what == What::Packet);
            let key = ((offset << 1 | is_packet) << PORT_BITS | u64::from(arrival.frame.port)) << PLACE_BITS
                | place;
            place += 1;
            expect(&arrival.frame.packet);
            sorted &= last <= key;
            last = key;
            self.keys.push(key);
        };
        for slot in &sources.slots {
            slot.of(sources.window, node).iter().for_each(&mut add);
        }
        far.iter().for_each(|far| add(&far.arrival));
        assert!(place < 1 << PLACE_BITS, "more than 2^25 frames come in at a node within one window");
        if !sorted {
            self.keys.sort_unstable();
        }
    }

    /// Where the next arrival stands among the node's events.
    #[inline]
    pub fn next(&self) -> Order {
        match self.keys.get(self.next) {
            None => Order::NEVER,
            Some(key) => {
                let (offset, is_packet) =
                    (key >> (PLACE_BITS + PORT_BITS + 1), key >> (PLACE_BITS + PORT_BITS) & 1);
                Order::new(
                    Time(self.start + offset),
                    if is_packet == 1 { kind::ARRIVAL } else { kind::PAUSE },
                )
            }
        }
    }

    /// Takes the next arrival, with its telemetry.
    #[inline]
    pub fn take<'a>(
        &mut self,
        sources: &'a Sources<'_>,
        node: NodeId,
        far: &'a [Far],
    ) -> (&'a Arrival, Option<&'a IntStack>) {
        let mut place = (self.keys[self.next] & ((1 << PLACE_BITS) - 1)) as usize;
        self.next += 1;
        for slot in &sources.slots {
            let arrivals = slot.of(sources.window, node);
            if let Some(arrival) = arrivals.get(place) {
                let stack =
                    (arrival.frame.telemetry as usize).checked_sub(1).map(|number| &slot.stacks[number]);
                return (arrival, stack);
            }
            place -= arrivals.len();
        }
        (&far[place].arrival, far[place].stack.as_deref())
    }
}
