//! The data queues of traffic classes beyond the first one, and the choice among all classes of a port.
//!
//! The first class uses the fields of [`Port`](super::Port), so that a run with one class has no further queues.

use super::{Egress, FreeTimes, QueueClass};
use crate::context::Context;
use crate::egress::scheduler::Scheduler;
use crate::frame::Frame;
use crate::link::DelayClass;
use crate::network::Network;
use crate::observer::Observer;
use crate::queue::{Fifo, SlotHandle};
use anabranch_base::{Duration, Time};

/// The queues of the classes beyond the first one at all ports of a node.
pub struct ClassQueues {
    /// The number of classes beyond the first one.
    beyond: usize,
    /// The queues, in the order of ports and, at each port, in the order of classes.
    queues: Vec<ClassQueue>,
    schedulers: Vec<Scheduler>,
}

#[derive(Clone, Copy)]
pub struct ClassQueue {
    data: Fifo,
    pub bytes: u32,
    /// The time since which the other end has paused the class. [`Time::NEVER`] if the class is not paused.
    paused_since: Time,
    /// The total length of the pauses that have ended.
    paused_for: Duration,
    pub pause_pending: bool,
}

impl ClassQueue {
    pub fn is_paused(&self) -> bool {
        self.paused_since < Time::NEVER
    }
}

impl ClassQueues {
    /// Empty queues for a node with this number of ports. None if there is only one class.
    pub fn new(network: &Network<'_>, ports: usize) -> Option<ClassQueues> {
        let beyond = network.classes.len();
        let queue = ClassQueue {
            data: Fifo::EMPTY,
            bytes: 0,
            paused_since: Time::NEVER,
            paused_for: Duration::ZERO,
            pause_pending: false,
        };
        let packet = network.classes.iter().map(|class| class.facts.packet.0).max()?;
        let scheduler = Scheduler::new(&network.shares, packet.max(network.facts.packet.0));
        Some(ClassQueues { beyond, queues: vec![queue; ports * beyond], schedulers: vec![scheduler; ports] })
    }

    pub fn beyond(&self) -> usize {
        self.beyond
    }

    /// The queue of a class beyond the first one.
    pub fn queue(&mut self, port: u16, class: u8) -> &mut ClassQueue {
        let index = self.index(port, class);
        &mut self.queues[index]
    }

    fn index(&self, port: u16, class: u8) -> usize {
        usize::from(port) * self.beyond + usize::from(class) - 1
    }

    pub fn of_port(&self, port: u16) -> impl Iterator<Item = (u8, &ClassQueue)> {
        (1..).zip(&self.queues[usize::from(port) * self.beyond..][..self.beyond])
    }

    pub fn scheduler(&mut self, port: u16) -> &mut Scheduler {
        &mut self.schedulers[usize::from(port)]
    }

    pub fn bytes(&self, port: u16) -> u32 {
        self.of_port(port).map(|(_, queue)| queue.bytes).sum()
    }

    /// The total length until `now` of the pauses of `class`, over all ports.
    pub fn paused_for(&self, class: u8, now: Time) -> Duration {
        let of_class = self.queues.iter().skip(usize::from(class) - 1).step_by(self.beyond);
        of_class.fold(Duration::ZERO, |sum, queue| {
            let lasting =
                if queue.paused_since <= now { now.since(queue.paused_since) } else { Duration::ZERO };
            sum + queue.paused_for + lasting
        })
    }

    /// The total length until `now` of the pauses that are still in effect.
    pub fn lasting_pauses(&self, now: Time) -> Duration {
        let lasting = self.queues.iter().filter(|queue| queue.paused_since <= now);
        lasting.fold(Duration::ZERO, |sum, queue| sum + now.since(queue.paused_since))
    }
}

impl<F: FreeTimes> Egress<F> {
    pub fn bytes_of(&self, port: u16, class: u8) -> u32 {
        match (&self.classes, class) {
            (Some(classes), 1..) => {
                classes.of_port(port).find(|(known, _)| *known == class).map_or(0, |(_, queue)| queue.bytes)
            }
            _ => self.ports[usize::from(port)].data_bytes,
        }
    }

    pub fn waiting_in(&self, port: u16, class: u8) -> impl Iterator<Item = &Frame> {
        let queue = match (&self.classes, class) {
            (Some(classes), 1..) => &classes.queues[classes.index(port, class)].data,
            _ => &self.ports[usize::from(port)].data,
        };
        queue.iter(&self.pool)
    }

    pub fn is_paused(&self, port: u16, class: u8) -> bool {
        match (&self.classes, class) {
            (Some(classes), 1..) => {
                classes.of_port(port).any(|(known, queue)| known == class && queue.is_paused())
            }
            _ => self.ports[usize::from(port)].paused,
        }
    }

    /// Queues a packet in the data queue of `class` at `port`, whether it fits or not.
    pub fn enqueue_in<O: Observer>(&mut self, port: u16, class: u8, frame: &Frame, at: &mut Context<'_, O>) {
        let Some(classes) = self.classes.as_mut().filter(|_| class > 0) else {
            return self.enqueue(port, frame, false, at);
        };
        let queue = classes.queue(port, class);
        queue.data.push(&mut self.pool, frame);
        queue.bytes += u32::from(frame.packet.wire_bytes);
        let waits = !queue.is_paused();
        let out = &mut self.ports[usize::from(port)];
        if !out.busy && waits {
            out.busy = true;
            let free = out.busy_until.max(at.now);
            self.free_times.push(DelayClass::NONE, free, port);
        }
        self.note_queued(port, at);
    }

    /// Takes the next packet that may be sent by `port`: a control packet, or a packet of the class that the scheduler
    /// selects. Returns the packet with the class of its data queue, or without a class if it was in the control queue.
    pub fn dequeue_by_class<O: Observer>(
        &mut self,
        port: u16,
        at: &mut Context<'_, O>,
    ) -> Option<(Option<u8>, SlotHandle)> {
        let classes = self.classes.as_mut()?;
        let out = &mut self.ports[usize::from(port)];
        let first = !out.data.is_empty() && !out.paused;
        let waiting = classes.of_port(port).filter(|(_, queue)| !queue.data.is_empty() && !queue.is_paused());
        let waiting = waiting.fold(u16::from(first), |mask, (class, _)| mask | 1 << class);
        let control_waits = !out.control.is_empty();
        if control_waits && out.control_is_next(waiting != 0) {
            let taken = out.control.pop(&self.pool)?;
            out.count_left(QueueClass::Control, self.pool.frame(&taken).packet.wire_bytes, true);
            self.note_queued(port, at);
            return Some((None, taken));
        }
        if waiting == 0 {
            // No queue has a packet that may be sent. The class whose turn it is keeps the turn, because a sender at a
            // host may have data of this class.
            return None;
        }
        let class = classes.scheduler(port).next(|class| waiting >> class & 1 == 1)?;
        let taken = match class {
            0 => out.data.pop(&self.pool)?,
            _ => classes.queue(port, class).data.pop(&self.pool)?,
        };
        let bytes = self.pool.frame(&taken).packet.wire_bytes;
        classes.scheduler(port).count(class, bytes);
        out.count_data(bytes, control_waits);
        match class {
            0 => out.data_bytes -= u32::from(bytes),
            _ => classes.queue(port, class).bytes -= u32::from(bytes),
        }
        self.note_queued(port, at);
        Some((Some(class), taken))
    }

    /// Pauses or resumes `class` at `port`. Returns false if it already was in that state.
    pub fn set_paused<O: Observer>(
        &mut self,
        port: u16,
        class: u8,
        stop: bool,
        at: &mut Context<'_, O>,
    ) -> bool {
        let Some(classes) = self.classes.as_mut().filter(|_| class > 0) else {
            return if stop { self.pause(port, at) } else { self.unpause(port, at) };
        };
        let queue = classes.queue(port, class);
        if queue.is_paused() == stop {
            return false;
        }
        if !stop {
            let lasted = at.now.since(queue.paused_since);
            at.counters.pause_time = at.counters.pause_time + lasted;
            queue.paused_for = queue.paused_for + lasted;
        }
        queue.paused_since = if stop { at.now } else { Time::NEVER };
        at.observer.paused(self.ports[usize::from(port)].link, class, at.now, stop);
        true
    }

    pub fn has_work(&self, port: u16) -> bool {
        let of_class =
            |queue: &ClassQueue| queue.pause_pending || (!queue.data.is_empty() && !queue.is_paused());
        let in_classes = |classes: &ClassQueues| classes.of_port(port).any(|(_, queue)| of_class(queue));
        self.ports[usize::from(port)].has_work()
            || self.classes.as_ref().is_some_and(|classes| in_classes(classes))
    }

    /// The lowest class with a pending pause frame at `port`.
    pub fn pending_pause(&self, port: u16) -> Option<u8> {
        if self.ports[usize::from(port)].pause_pending {
            return Some(0);
        }
        let pending = |(_, queue): &(u8, &ClassQueue)| queue.pause_pending;
        self.classes.as_ref()?.of_port(port).find(pending).map(|(class, _)| class)
    }

    pub fn set_pause_pending(&mut self, port: u16, class: u8, pending: bool) {
        match (&mut self.classes, class) {
            (Some(classes), 1..) => classes.queue(port, class).pause_pending = pending,
            _ => self.ports[usize::from(port)].pause_pending = pending,
        }
    }
}
