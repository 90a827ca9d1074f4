//! The scheduler: what happens next.
//!
//! Most delays of a fabric are a handful of constants: a full packet or an ACK over a link of one kind. Events
//! that are pushed with the same delay come due in the order of pushing, so each such delay has a plain FIFO
//! (a *line*): a push and a pop touch memory in sequence, and nothing is sorted. Everything else (timers, starts,
//! odd packet sizes, a port that frees up at an odd time) goes to a timing wheel. Taking the next events means
//! looking at a dozen heads.

use super::event::{Arrival, MAX_RANKED, Rank, Signal, What};
use super::wheel::Wheel;
use anabranch_base::{Duration, NodeId, Time};
use anabranch_proto::Packet;
use std::collections::VecDeque;

/// Most lines of each sort. Delays beyond that use the wheel.
const MAX_LINES: usize = 16;

/// A delay that has a line of its own, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineId(u8);

impl LineId {
    /// Not a line: the wheel.
    pub const WHEEL: LineId = LineId(u8::MAX);
}

/// Everything that is to happen, ordered by (time, node, kind, port).
pub struct Scheduler {
    arrivals: Vec<(Duration, VecDeque<Arrival>)>,
    frees: Vec<(Duration, VecDeque<Signal>)>,
    wheel: Wheel,
    /// The time of the first event of each arrival line, each free line, and the wheel.
    arrival_heads: [Time; MAX_LINES],
    free_heads: [Time; MAX_LINES],
    wheel_head: Time,
    /// Packets of unusual size on their way.
    parked: Vec<Packet>,
    parked_free: Vec<u32>,
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
            arrivals: Vec::new(),
            frees: Vec::new(),
            wheel: Wheel::new(),
            arrival_heads: [Time::NEVER; MAX_LINES],
            free_heads: [Time::NEVER; MAX_LINES],
            wheel_head: Time::NEVER,
            parked: Vec::new(),
            parked_free: Vec::new(),
        }
    }

    /// The line for arrivals after exactly `delay`; the wheel when there are too many lines.
    pub fn arrival_line(&mut self, delay: Duration) -> LineId {
        line(&mut self.arrivals, delay)
    }

    /// The line for ports that free up after exactly `delay`.
    pub fn free_line(&mut self, delay: Duration) -> LineId {
        line(&mut self.frees, delay)
    }

    /// A packet arrives; `line` is that of the delay between now and its time.
    #[inline]
    pub fn push_arrival(&mut self, line: LineId, time: Time, node: NodeId, port: u16, packet: Packet) {
        let index = usize::from(line.0);
        if let Some((_, queue)) = self.arrivals.get_mut(index) {
            debug_assert!(queue.back().is_none_or(|last| last.time <= time), "a line out of order");
            if queue.is_empty() {
                self.arrival_heads[index] = time;
            }
            queue.push_back(Arrival { time, node, port, packet });
        } else {
            let place = match self.parked_free.pop() {
                Some(place) => {
                    self.parked[place as usize] = packet;
                    place
                }
                None => {
                    self.parked.push(packet);
                    self.parked.len() as u32 - 1
                }
            };
            self.push_signal(Signal { time, node, what: What::Parked(place, port) });
        }
    }

    /// A port frees up; `line` is that of the delay between now and `time`.
    #[inline]
    pub fn push_free(&mut self, line: LineId, time: Time, node: NodeId, port: u16) {
        let signal = Signal { time, node, what: What::PortFree(port) };
        let index = usize::from(line.0);
        if let Some((_, queue)) = self.frees.get_mut(index) {
            if queue.is_empty() {
                self.free_heads[index] = time;
            }
            queue.push_back(signal);
        } else {
            self.push_signal(signal);
        }
    }

    /// Anything else happens.
    #[inline]
    pub fn push_signal(&mut self, signal: Signal) {
        self.wheel.push(signal);
        self.wheel_head = self.wheel_head.min(signal.time);
    }

    /// The time of the next event, or [`Time::NEVER`].
    #[inline]
    pub fn next_time(&self) -> Time {
        let mut first = self.wheel_head;
        for head in &self.arrival_heads[..self.arrivals.len()] {
            first = first.min(*head);
        }
        for head in &self.free_heads[..self.frees.len()] {
            first = first.min(*head);
        }
        first
    }

    /// Moves the events of `time`, which is [`next_time`](Self::next_time), into `batch`, in their order.
    #[inline]
    pub fn take(&mut self, time: Time, batch: &mut Batch) {
        batch.clear();
        for (index, (_, queue)) in self.arrivals.iter_mut().enumerate() {
            if self.arrival_heads[index] != time {
                continue;
            }
            self.arrival_heads[index] = Time::NEVER;
            while let Some(arrival) = queue.front() {
                if arrival.time != time {
                    self.arrival_heads[index] = arrival.time;
                    break;
                }
                batch.add_arrival(*arrival);
                queue.pop_front();
            }
        }
        for (index, (_, queue)) in self.frees.iter_mut().enumerate() {
            if self.free_heads[index] != time {
                continue;
            }
            self.free_heads[index] = Time::NEVER;
            while let Some(signal) = queue.front() {
                if signal.time != time {
                    self.free_heads[index] = signal.time;
                    break;
                }
                batch.add_signal(*signal);
                queue.pop_front();
            }
        }
        if self.wheel_head == time {
            let (parked, parked_free) = (&self.parked, &mut self.parked_free);
            self.wheel.take(time, |signal| match signal.what {
                What::Parked(place, port) => {
                    parked_free.push(place);
                    let packet = parked[place as usize];
                    batch.add_arrival(Arrival { time, node: signal.node, port, packet });
                }
                _ => batch.add_signal(signal),
            });
            self.wheel_head = self.wheel.first_time();
        } else {
            self.wheel.advance(time);
        }
        assert!(batch.order.len() as u64 <= MAX_RANKED, "more than 2^20 events at one instant");
        if batch.order.len() > 1 {
            batch.order.sort_unstable();
        }
    }

    /// Packets on links.
    pub fn packets(&self) -> u64 {
        let on_lines: usize = self.arrivals.iter().map(|(_, queue)| queue.len()).sum();
        (on_lines + self.parked.len() - self.parked_free.len()) as u64
    }
}

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
        if place < self.arrivals.len() {
            Event::Arrival(&self.arrivals[place])
        } else {
            Event::Signal(self.signals[MAX_RANKED as usize - 1 - place])
        }
    }

    #[inline]
    fn clear(&mut self) {
        self.order.clear();
        self.arrivals.clear();
        self.signals.clear();
    }

    #[inline]
    fn add_arrival(&mut self, arrival: Arrival) {
        self.order.push(Rank::of_arrival(&arrival, self.arrivals.len()));
        self.arrivals.push(arrival);
    }

    #[inline]
    fn add_signal(&mut self, signal: Signal) {
        self.order.push(Rank::of_signal(&signal, MAX_RANKED as usize - 1 - self.signals.len()));
        self.signals.push(signal);
    }
}

fn line<T>(lines: &mut Vec<(Duration, VecDeque<T>)>, delay: Duration) -> LineId {
    if let Some(index) = lines.iter().position(|(d, _)| *d == delay) {
        return LineId(index as u8);
    }
    if lines.len() == MAX_LINES {
        return LineId::WHEEL;
    }
    lines.push((delay, VecDeque::new()));
    LineId(lines.len() as u8 - 1)
}
