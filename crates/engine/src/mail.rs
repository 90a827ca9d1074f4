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
    /// What the boxes hold.
    sheets: Sheets,
    /// The nodes at which anything comes in, each once.
    touched: Vec<NodeId>,
    /// Telemetry on its way: record `n` of a frame is `stacks[n - 1]`.
    stacks: Vec<IntStack>,
    packets: u64,
    pauses: u64,
}

/// What comes in at one node: a chain of sheets, all full but the last one.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct Mailbox {
    /// The window that they are for. Those of an earlier one have been read, and go with the first of a later one.
    window: u64,
    first: u32,
    last: u32,
    arrivals: u32,
}

/// Arrivals on a sheet.
const SHEET: usize = 8;
/// Sheets in a block.
const BLOCK: usize = 256;

/// The sheets of a slot, handed out in rising order and all taken back at once.
///
/// A vector for each mailbox would keep the room of its fullest window. At a hundred thousand nodes that is most of
/// the memory of a run, and the kernel's clearing of it is most of the time of a short one.
#[derive(Default)]
struct Sheets {
    blocks: Vec<Box<[[Arrival; SHEET]; BLOCK]>>,
    /// By sheet: the one behind it in its chain.
    behind: Vec<u32>,
    /// Sheets that are handed out.
    used: u32,
}

impl Sheets {
    #[inline]
    fn sheet(&self, number: u32) -> &[Arrival; SHEET] {
        &self.blocks[number as usize / BLOCK][number as usize % BLOCK]
    }

    #[inline]
    fn hand_out(&mut self) -> u32 {
        if self.used as usize == self.behind.len() {
            self.add_block();
        }
        self.used += 1;
        self.used - 1
    }

    #[cold]
    #[inline(never)]
    fn add_block(&mut self) {
        let blank = vec![[Arrival::BLANK; SHEET]; BLOCK].into_boxed_slice();
        if let Ok(block) = blank.try_into() {
            self.blocks.push(block);
            self.behind.resize(self.blocks.len() * BLOCK, 0);
        }
    }
}

impl Mailbox {
    /// Adds an arrival of `window`; `touched` gets the `node` with the first one.
    #[inline(always)]
    fn push(
        &mut self,
        window: u64,
        arrival: Arrival,
        node: NodeId,
        (sheets, touched): (&mut Sheets, &mut Vec<NodeId>),
    ) {
        if self.window != window {
            (self.window, self.arrivals) = (window, 0);
            touched.push(node);
        }
        let place = self.arrivals as usize % SHEET;
        if place == 0 {
            let sheet = sheets.hand_out();
            match self.arrivals {
                0 => self.first = sheet,
                _ => sheets.behind[self.last as usize] = sheet,
            }
            self.last = sheet;
        }
        self.arrivals += 1;
        let sheet = &mut sheets.blocks[self.last as usize / BLOCK][self.last as usize % BLOCK];
        sheet[place] = arrival;
        // Where the next one goes, most likely of the same sender and soon.
        if let Some(next) = sheet.get(place + 1) {
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
            self.sheets.used = 0;
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
        let mail = self.touched.iter().flat_map(|node| self.sheets_of(window, *node));
        let late = mail.flat_map(|(_, arrivals)| arrivals).filter(|arrival| arrival.time >= time);
        late.filter(|arrival| arrival.frame.what == What::Packet).count() as u64
    }

    /// Whether anything comes in within `window`.
    pub fn is_empty(&self, window: u64) -> bool {
        self.window != window || self.packets + self.pauses == 0
    }

    /// The sheets of what comes in at `node` within `window`, each with how many arrivals there are on it.
    fn sheets_of(&self, window: u64, node: NodeId) -> impl Iterator<Item = (u32, &[Arrival])> {
        let mail = self.boxes[node.index()];
        let mut left = if mail.window == window { mail.arrivals as usize } else { 0 };
        let mut next = mail.first;
        std::iter::from_fn(move || {
            let here = left.min(SHEET);
            let sheet = self.sheets.sheet(if here > 0 { next } else { return None });
            let number = next;
            left -= here;
            next = self.sheets.behind[next as usize];
            Some((number, &sheet[..here]))
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
                let room = (&mut slot.sheets, &mut slot.touched);
                slot.boxes[node.index()].push(slot.window, Arrival { time, frame }, node, room);
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
        let room = (&mut slot.sheets, &mut slot.touched);
        slot.boxes[node.index()].push(slot.window, arrival, node, room);
    }
}

/// What comes in at one node within a window, in the order in which it is to be looked at.
#[derive(Default)]
pub struct Inbox {
    /// Offset within the window, pause or packet, port, place: sorted.
    keys: Vec<u64>,
    /// Where the arrivals are: slot and sheet. The places of a sheet follow those of the one before it.
    sheets: Vec<(u32, u32)>,
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
            if let Some((_, first)) = slot.sheets_of(self.window, node).next() {
                first.iter().for_each(prefetch);
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
        self.sheets.clear();
        self.next = 0;
        self.start = start.0;
        let (mut sorted, mut last) = (true, 0);
        let mut add = |place: u64, arrival: &Arrival| {
            let offset = arrival.time.0 - start.0;
            debug_assert!(offset < LONGEST_WINDOW, "an arrival beyond its window");
            let is_packet = u64::from(arrival.frame.what == What::Packet);
            let key = ((offset << 1 | is_packet) << PORT_BITS | u64::from(arrival.frame.port)) << PLACE_BITS
                | place;
            expect(&arrival.frame.packet);
            sorted &= last <= key;
            last = key;
            self.keys.push(key);
        };
        for (number, slot) in sources.slots.iter().enumerate() {
            for (sheet, arrivals) in slot.sheets_of(sources.window, node) {
                let first = (self.sheets.len() * SHEET) as u64;
                self.sheets.push((number as u32, sheet));
                (first..).zip(arrivals).for_each(|(place, arrival)| add(place, arrival));
            }
        }
        let first = self.sheets.len() * SHEET;
        (first as u64..).zip(far).for_each(|(place, far)| add(place, &far.arrival));
        assert!(
            first + far.len() < 1 << PLACE_BITS,
            "more than 2^25 frames come in at a node within one window"
        );
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
        far: &'a [Far],
    ) -> (&'a Arrival, Option<&'a IntStack>) {
        let place = (self.keys[self.next] & ((1 << PLACE_BITS) - 1)) as usize;
        self.next += 1;
        match self.sheets.get(place / SHEET) {
            Some((slot, sheet)) => {
                let slot = sources.slots[*slot as usize];
                let arrival = &slot.sheets.sheet(*sheet)[place % SHEET];
                let number = (arrival.frame.telemetry as usize).checked_sub(1);
                (arrival, number.map(|number| &slot.stacks[number]))
            }
            None => {
                let far = &far[place - self.sheets.len() * SHEET];
                (&far.arrival, far.stack.as_deref())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::{HostId, QpId};
    use anabranch_proto::Repr;

    /// More frames at one instant at one node than 2^20, from the last port to the first, over two threads.
    #[test]
    fn a_million_arrivals_at_one_instant_come_in_their_order() {
        const EACH: u32 = (1 << 19) + 7;
        const PORTS: u32 = 1_000;
        let (node, start, at) = (NodeId(1), Time(1_000), Time(1_500));
        let mut far = Vec::new();
        let mut slots = [Slot::new(2), Slot::new(2)];
        for (thread, slot) in slots.iter_mut().enumerate() {
            slot.turn_to(1);
            let mut out = Outbox::new(&[start, Time(2_000)], SmallVec::from_iter([slot]), &mut far);
            for number in 0..EACH {
                let packet = Packet::new(QpId(number), HostId(0), Repr::Cnp).with_bytes(64);
                let port = 2 * (PORTS - 1 - number % PORTS) + thread as u32;
                out.send_packet(node, at, &packet, port as u16);
            }
        }
        let sources = Sources { slots: slots.iter().collect(), window: 1 };
        let mut inbox = Inbox::default();
        inbox.open(&sources, node, start, &[], |_| {});
        let (mut count, mut last) = (0, (0, 0));
        while inbox.next() != Order::NEVER {
            assert_eq!(inbox.next().time(), at);
            let (arrival, _) = inbox.take(&sources, &[]);
            let place = (arrival.frame.port, arrival.frame.packet.qp.0);
            assert!(count == 0 || last < place, "{place:?} after {last:?}");
            (count, last) = (count + 1, place);
        }
        assert_eq!(count, 2 * EACH);
        assert!(count > 1 << 20 && far.is_empty());
    }
}
