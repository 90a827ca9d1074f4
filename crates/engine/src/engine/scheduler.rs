//! The scheduler: what happens next.
//!
//! Most delays of a fabric are a handful of constants: a full packet or an ACK over a link of one kind. Events
//! that are pushed with the same delay come due in the order of pushing, so each such delay has a plain FIFO
//! (a *line*): a push and a pop touch memory in sequence, and nothing is sorted. Everything else (timers, starts,
//! odd packet sizes, a port that frees up at an odd time) goes to a timing wheel. Taking the next events means
//! looking at a dozen heads.

use super::event::{Arrival, Free, MAX_RANKED, Rank, Signal, What};
use super::ring::Ring;
use super::wheel::Wheel;
use anabranch_base::{Duration, HostId, LinkId, NodeId, QpId, Time};
use anabranch_proto::Packet;

/// Most lines and the wheel. Delays beyond that use the wheel. A multiple of [`GROUP`].
const MAX_LINES: usize = 24;

/// Heads are looked at in groups of this many, which the compiler turns into straight code.
const GROUP: usize = 8;

/// A delay that has a line of its own, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineId(u8);

impl LineId {
    /// Not a line: the wheel.
    pub const WHEEL: LineId = LineId(0);
}

/// Everything that is to happen, ordered by (time, node, kind, port).
pub struct Scheduler {
    /// The time of the first event of the wheel and of each line.
    heads: [Time; MAX_LINES],
    /// How many of `heads` are looked at: a multiple of [`GROUP`]. Line `n` has head `n`; the wheel has head 0.
    looked_at: usize,
    lines: Vec<Line>,
    wheel: Wheel,
    /// Packets of unusual size on their way.
    parked: Vec<Packet>,
    parked_free: Vec<u32>,
}

struct Line {
    delay: Duration,
    events: Events,
}

enum Events {
    Arrivals(Ring<Arrival>),
    Frees(Ring<Free>),
}

/// The events of one time, in their order.
#[derive(Default)]
pub struct Batch {
    order: Vec<Rank>,
    arrivals: Vec<Arrival>,
    signals: Vec<Signal>,
}

/// One event of a batch.
pub enum Event<'a> {
    /// A packet arrives.
    Arrival(&'a Arrival),
    /// Anything else.
    Signal(Signal),
}

impl Scheduler {
    /// A scheduler without events.
    pub fn new() -> Self {
        Scheduler {
            heads: [Time::NEVER; MAX_LINES],
            looked_at: GROUP,
            lines: Vec::new(),
            wheel: Wheel::new(),
            parked: Vec::new(),
            parked_free: Vec::new(),
        }
    }

    /// The line for arrivals after exactly `delay`; the wheel when there are too many lines.
    pub fn arrival_line(&mut self, delay: Duration) -> LineId {
        self.line(
            delay,
            |events| matches!(events, Events::Arrivals(_)),
            || Events::Arrivals(Ring::new(NO_ARRIVAL)),
        )
    }

    /// The line for ports that free up after exactly `delay`.
    pub fn free_line(&mut self, delay: Duration) -> LineId {
        self.line(delay, |events| matches!(events, Events::Frees(_)), || Events::Frees(Ring::new(NO_FREE)))
    }

    fn line(&mut self, delay: Duration, fits: impl Fn(&Events) -> bool, make: impl Fn() -> Events) -> LineId {
        if let Some(index) = self.lines.iter().position(|line| line.delay == delay && fits(&line.events)) {
            return LineId(index as u8 + 1);
        }
        if self.lines.len() + 1 == MAX_LINES {
            return LineId::WHEEL;
        }
        self.lines.push(Line { delay, events: make() });
        self.looked_at = (self.lines.len() + 1).next_multiple_of(GROUP);
        LineId(self.lines.len() as u8)
    }

    /// A packet arrives; `line` is that of the delay between now and its time.
    #[inline]
    pub fn push_arrival(&mut self, line: LineId, time: Time, node: NodeId, port: u16, packet: &Packet) {
        let index = usize::from(line.0);
        if let Some(Line { events: Events::Arrivals(ring), .. }) = self.lines.get_mut(index.wrapping_sub(1)) {
            if ring.len() == 0 {
                self.heads[index] = time;
            }
            ring.push(Arrival { time, node, port, packet: *packet });
        } else {
            self.park(time, node, port, packet);
        }
    }

    fn park(&mut self, time: Time, node: NodeId, port: u16, packet: &Packet) {
        let place = match self.parked_free.pop() {
            Some(place) => {
                self.parked[place as usize] = *packet;
                place
            }
            None => {
                self.parked.push(*packet);
                self.parked.len() as u32 - 1
            }
        };
        self.push_signal(Signal { time, node, what: What::Parked(place, port) });
    }

    /// A port frees up; `line` is that of the delay between now and `time`.
    #[inline]
    pub fn push_free(&mut self, line: LineId, time: Time, node: NodeId, link: LinkId) {
        let free = Free { time, node, link };
        let index = usize::from(line.0);
        if let Some(Line { events: Events::Frees(ring), .. }) = self.lines.get_mut(index.wrapping_sub(1)) {
            if ring.len() == 0 {
                self.heads[index] = time;
            }
            ring.push(free);
        } else {
            self.push_signal(free.signal());
        }
    }

    /// Anything else happens.
    #[inline]
    pub fn push_signal(&mut self, signal: Signal) {
        self.wheel.push(signal);
        self.heads[0] = self.heads[0].min(signal.time);
    }

    /// The time of the next event, or [`Time::NEVER`].
    #[inline]
    pub fn next_time(&self) -> Time {
        let groups = self.heads[..self.looked_at].as_chunks::<GROUP>().0;
        groups.iter().fold(Time::NEVER, |first, group| {
            let [a, b, c, d, e, f, g, h] = *group;
            first.min(a.min(b).min(c.min(d)).min(e.min(f).min(g.min(h))))
        })
    }

    /// Moves the events of `time`, which is [`next_time`](Self::next_time), into `batch`, in their order.
    #[inline]
    pub fn take(&mut self, time: Time, batch: &mut Batch) {
        batch.clear();
        let mut due = self.due(time);
        if due & 1 != 0 {
            self.take_from_wheel(time, batch);
            due &= due - 1;
        } else {
            self.wheel.advance(time);
        }
        while due != 0 {
            let index = due.trailing_zeros() as usize;
            due &= due - 1;
            self.heads[index] = match &mut self.lines[index - 1].events {
                Events::Arrivals(ring) => {
                    drain(ring, time, |arrival| arrival.time, |arrival| batch.add_arrival(arrival))
                }
                Events::Frees(ring) => drain(ring, time, |free| free.time, |free| batch.add_free(*free)),
            };
        }
        if batch.order.len() > 1 {
            batch.sort();
        }
    }

    /// The heads with this time, a bit each.
    #[inline]
    fn due(&self, time: Time) -> u32 {
        let groups = self.heads[..self.looked_at].as_chunks::<GROUP>().0;
        groups.iter().rev().fold(0, |due, group| {
            (0..GROUP).fold(due << GROUP, |due, i| due | u32::from(group[i] == time) << i)
        })
    }

    fn take_from_wheel(&mut self, time: Time, batch: &mut Batch) {
        let (parked, parked_free) = (&self.parked, &mut self.parked_free);
        self.wheel.take(time, |signal| match signal.what {
            What::Parked(place, port) => {
                parked_free.push(place);
                let packet = parked[place as usize];
                batch.add_arrival(&Arrival { time, node: signal.node, port, packet });
            }
            _ => batch.add_signal(signal),
        });
        self.heads[0] = self.wheel.first_time();
    }

    /// Packets on links.
    pub fn packets(&self) -> u64 {
        let on_lines: usize = self
            .lines
            .iter()
            .map(|line| match &line.events {
                Events::Arrivals(ring) => ring.len(),
                Events::Frees(_) => 0,
            })
            .sum();
        (on_lines + self.parked.len() - self.parked_free.len()) as u64
    }

    /// The packets on links, in no order that means anything.
    pub fn each_packet(&self) -> impl Iterator<Item = &Packet> {
        let on_lines = self.lines.iter().flat_map(|line| match &line.events {
            Events::Arrivals(ring) => Some(ring.iter().map(|arrival| &arrival.packet)),
            Events::Frees(_) => None,
        });
        let mut parked = vec![true; self.parked.len()];
        self.parked_free.iter().for_each(|&place| parked[place as usize] = false);
        let parked = self.parked.iter().zip(parked).filter(|(_, is_there)| *is_there);
        on_lines.flatten().chain(parked.map(|(packet, _)| packet))
    }
}

/// Hands the events of `time` to `each`, and answers with the time of the one after them.
#[inline]
fn drain<T: Copy>(
    ring: &mut Ring<T>,
    time: Time,
    time_of: impl Fn(&T) -> Time,
    mut each: impl FnMut(&T),
) -> Time {
    while let Some(event) = ring.front() {
        let its_time = time_of(event);
        if its_time != time {
            return its_time;
        }
        each(event);
        ring.drop_front();
    }
    Time::NEVER
}

/// Fillers of unused places.
const NO_FREE: Free = Free { time: Time::NEVER, node: NodeId(0), link: LinkId(0) };
const NO_ARRIVAL: Arrival =
    Arrival { time: Time::NEVER, node: NodeId(0), port: 0, packet: Packet::nack(QpId(0), HostId(0), 0) };

impl Batch {
    /// The number of events.
    #[inline]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// The event that runs as number `index`.
    #[inline]
    pub fn event(&self, index: usize) -> Event<'_> {
        let place = self.order[index].place();
        // Arrivals and signals share the places: signals count down from the end of the range.
        match self.arrivals.get(place) {
            Some(arrival) => Event::Arrival(arrival),
            None => Event::Signal(self.signals[MAX_RANKED as usize - 1 - place]),
        }
    }

    #[inline]
    fn clear(&mut self) {
        self.order.clear();
        self.arrivals.clear();
        self.signals.clear();
    }

    #[inline]
    fn add_arrival(&mut self, arrival: &Arrival) {
        self.order.push(Rank::of_arrival(arrival, self.arrivals.len()));
        self.arrivals.push(*arrival);
    }

    /// Adds the signal of a port that frees up.
    #[inline]
    fn add_free(&mut self, free: Free) {
        self.order.push(Rank::of_free(&free, MAX_RANKED as usize - 1 - self.signals.len()));
        self.signals.push(free.signal());
    }

    #[inline]
    fn add_signal(&mut self, signal: Signal) {
        self.order.push(Rank::of_signal(&signal, MAX_RANKED as usize - 1 - self.signals.len()));
        self.signals.push(signal);
    }

    #[inline]
    fn sort(&mut self) {
        assert!(self.order.len() as u64 <= MAX_RANKED, "more than 2^20 events at one instant");
        if let [first, second] = &mut self.order[..] {
            if second < first {
                std::mem::swap(first, second);
            }
        } else {
            self.order.sort_unstable();
        }
    }
}
