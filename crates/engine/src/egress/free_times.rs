//! The times at which ports become free.

use crate::frame::{Order, event_kind};
use crate::link::DelayClass;
use anabranch_base::Time;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The times at which the ports of a node become free, at most one for each port. A switch also keeps the times of its
/// pause timers here, under a port number that no port has.
pub trait FreeTimes {
    /// Whether there can be only one port.
    fn is_one_port(&self) -> bool;
    /// Adds the time at which `port` becomes free. With an exact clock, the time is the present plus the delay of
    /// `class`, unless the class is [`DelayClass::NONE`].
    fn push(&mut self, class: DelayClass, time: Time, port: u16);
    /// The sort key of the next event at which a port becomes free, or [`Order::NEVER`] if there is none.
    fn first(&self) -> Order;
    /// Removes the earliest time, which must exist, and returns its port.
    fn pop(&mut self) -> u16;
}

/// The time at which the port of a node with a single port becomes free.
pub struct OnePort(Order);

impl Default for OnePort {
    fn default() -> Self {
        OnePort(Order::NEVER)
    }
}

impl FreeTimes for OnePort {
    #[inline]
    fn is_one_port(&self) -> bool {
        true
    }

    #[inline]
    fn push(&mut self, _: DelayClass, time: Time, _: u16) {
        debug_assert!(self.0 == Order::NEVER, "a port frees up twice");
        self.0 = Order::new(time, event_kind::FREE);
    }

    #[inline]
    fn first(&self) -> Order {
        self.0
    }

    #[inline]
    fn pop(&mut self) -> u16 {
        self.0 = Order::NEVER;
        0
    }
}

pub enum HostPorts {
    One(OnePort),
    Several(Box<DelayQueues>),
}

impl HostPorts {
    pub fn new(ports: u16) -> HostPorts {
        match ports {
            0 | 1 => HostPorts::One(OnePort::default()),
            _ => HostPorts::Several(Box::default()),
        }
    }
}

impl FreeTimes for HostPorts {
    #[inline]
    fn is_one_port(&self) -> bool {
        matches!(self, HostPorts::One(_))
    }

    #[inline]
    fn push(&mut self, class: DelayClass, time: Time, port: u16) {
        match self {
            HostPorts::One(one) => one.push(class, time, port),
            HostPorts::Several(several) => several.push(class, time, port),
        }
    }

    #[inline]
    fn first(&self) -> Order {
        match self {
            HostPorts::One(one) => one.first(),
            HostPorts::Several(several) => several.first(),
        }
    }

    #[inline]
    fn pop(&mut self) -> u16 {
        match self {
            HostPorts::One(one) => one.pop(),
            HostPorts::Several(several) => several.pop(),
        }
    }
}

/// The times for a node with any number of ports. Nearly all delays are those of a full packet or an ACK on one of
/// few kinds of links. Times with the same delay are due nearly in the order in which they are pushed. Up to
/// [`DelayClass::MAX`] of these delays therefore have FIFO queues. Times with other delays wait in a heap.
pub struct DelayQueues {
    queues: [VecDeque<Key>; DelayClass::MAX],
    rest: BinaryHeap<Reverse<Key>>,
    /// The first key of each queue, which is stored only here, and a copy of the first key of the heap.
    heads: [Key; DelayClass::MAX + 1],
    /// The smallest of `heads`.
    first: Key,
}

/// A time in the high 48 bits, a port in the low 16.
type Key = u64;
const PORT_BITS: u32 = 16;
const NEVER: Key = u64::MAX;

/// A time of 281.5 seconds (2^48 - 1 ps), which no run reaches. Events after it do not happen.
pub const LAST_TIME: Time = Time((1 << (64 - PORT_BITS)) - 1);
const _: () = assert!(crate::spec::Limits::MAX_TIME.0 < LAST_TIME.0);

impl Default for DelayQueues {
    fn default() -> Self {
        DelayQueues {
            queues: Default::default(),
            rest: BinaryHeap::new(),
            heads: [NEVER; DelayClass::MAX + 1],
            first: NEVER,
        }
    }
}

impl DelayQueues {
    /// Removes and returns the time at which the only busy port becomes free. None if no port is busy.
    pub fn take_only(&mut self) -> Option<Time> {
        let time = (self.first != NEVER).then_some(Time(self.first >> PORT_BITS))?;
        self.pop();
        Some(time)
    }

    #[inline]
    fn find_first(&mut self) {
        self.first = self.heads.iter().fold(NEVER, |first, head| first.min(*head));
    }
}

impl FreeTimes for DelayQueues {
    #[inline]
    fn is_one_port(&self) -> bool {
        false
    }

    #[inline]
    fn push(&mut self, class: DelayClass, time: Time, port: u16) {
        let key = time.0.min(LAST_TIME.0) << PORT_BITS | u64::from(port);
        self.first = self.first.min(key);
        let Some(queue) = self.queues.get_mut(usize::from(class.0)) else {
            self.rest.push(Reverse(key));
            self.heads[DelayClass::MAX] = self.heads[DelayClass::MAX].min(key);
            return;
        };
        let head = &mut self.heads[usize::from(class.0)];
        if *head == NEVER {
            *head = key;
        } else if key < *head {
            // The times are equal and the port is lower, or the clock is inexact.
            queue.push_front(std::mem::replace(head, key));
        } else if queue.back().is_none_or(|last| *last < key) {
            queue.push_back(key);
        } else {
            let slot = queue.partition_point(|other| *other < key);
            queue.insert(slot, key);
        }
    }

    #[inline]
    fn first(&self) -> Order {
        match self.first {
            NEVER => Order::NEVER,
            key => Order::new(Time(key >> PORT_BITS), event_kind::FREE),
        }
    }

    #[inline]
    fn pop(&mut self) -> u16 {
        let key = self.first;
        match self.heads.iter().position(|head| *head == key) {
            Some(DelayClass::MAX) => {
                self.rest.pop();
                self.heads[DelayClass::MAX] = self.rest.peek().map_or(NEVER, |Reverse(key)| *key);
            }
            Some(class) => self.heads[class] = self.queues[class].pop_front().unwrap_or(NEVER),
            None => unreachable!("a port is taken where none frees up"),
        }
        self.find_first();
        key as u16
    }
}

pub struct PortTimes {
    /// The time at which each port becomes free. [`Time::NEVER`] if the port is not busy.
    times: Vec<Time>,
    /// One bit for each port, in words of 64 bits. A bit is set if its port is busy.
    busy: Vec<u64>,
    first: Time,
}

impl PortTimes {
    pub fn new(ports: usize) -> Self {
        PortTimes {
            times: vec![Time::NEVER; ports],
            busy: vec![0; ports.div_ceil(u64::BITS as usize)],
            first: Time::NEVER,
        }
    }

    #[inline]
    pub fn of(&self, port: u16) -> Time {
        self.times[usize::from(port)]
    }

    #[inline]
    pub fn set(&mut self, port: u16, time: Time) {
        self.times[usize::from(port)] = time;
        let (block, bit) = (usize::from(port) / u64::BITS as usize, 1 << (port % u64::BITS as u16));
        if time == Time::NEVER {
            self.busy[block] &= !bit;
        } else {
            self.busy[block] |= bit;
        }
    }

    /// The first busy port whose number is at least `port`.
    #[inline]
    pub fn next_busy(&self, port: u16) -> Option<u16> {
        let mut block = usize::from(port) / u64::BITS as usize;
        let mut bits = self.busy.get(block)? & (u64::MAX << (port % u64::BITS as u16));
        while bits == 0 {
            block += 1;
            bits = *self.busy.get(block)?;
        }
        Some((block as u32 * u64::BITS + bits.trailing_zeros()) as u16)
    }

    /// A lower bound of the times. The callers of [`set_first`](Self::set_first) keep it up to date.
    #[inline]
    pub fn first(&self) -> Time {
        self.first
    }

    #[inline]
    pub fn move_to(&mut self, queues: &mut DelayQueues) {
        if self.first == Time::NEVER {
            return;
        }
        while let Some(port) = self.next_busy(0) {
            queues.push(DelayClass::NONE, self.of(port), port);
            self.set(port, Time::NEVER);
        }
        self.first = Time::NEVER;
    }

    #[inline]
    pub fn take_from(&mut self, queues: &mut DelayQueues) {
        while queues.first != NEVER {
            let time = Time(queues.first >> PORT_BITS);
            let port = queues.pop();
            self.set(port, time);
        }
    }

    pub fn set_first(&mut self, first: Time) {
        self.first = first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The queues give the same times as a sorted list, if delays of two constant lengths are mixed with any
        /// others.
        #[test]
        fn ports_free_up_by_time_and_port(
            steps in prop::collection::vec((0u64..20, 0usize..3, 0u64..300, 0u16..8, 0usize..3), 1..300),
        ) {
            let (mut queues, mut plain, mut now) = (DelayQueues::default(), Vec::new(), 0);
            for (pass, line, any, port, takes) in steps {
                let (delay, line) = match line {
                    0 => (83, DelayClass(0)),
                    1 => (2, DelayClass(1)),
                    _ => (any, DelayClass::NONE),
                };
                queues.push(line, Time(now + delay), port);
                plain.push((now + delay, port));
                plain.sort_unstable();
                for _ in 0..takes.min(plain.len()) {
                    let (time, port) = plain.remove(0);
                    prop_assert_eq!(queues.first(), Order::new(Time(time), event_kind::FREE));
                    prop_assert_eq!(queues.pop(), port);
                    now = now.max(time);
                }
                // Time does not advance past the earliest port that is still busy.
                now = plain.first().map_or(now + pass, |(first, _)| (now + pass).min(*first));
            }
            while let Some((_, port)) = (!plain.is_empty()).then(|| plain.remove(0)) {
                prop_assert_eq!(queues.pop(), port);
            }
            prop_assert_eq!(queues.first(), Order::NEVER);
        }
    }
}
