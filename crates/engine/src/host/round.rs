//! The NIC's round robin of queue pairs that may have something to send.

use anabranch_base::Time;
use anabranch_proto::transport::AnySender;

const NONE: u32 = u32::MAX;

/// A sender with its state in the round robin.
// The order of the fields puts them into one cache line with the beginning of the sender.
#[repr(C)]
pub struct SenderSlot {
    /// The number of its queue pair among those on which the host sends.
    pub qp: u32,
    /// The slot of the next sender in the round robin.
    next: u32,
    /// Whether it is in the round robin.
    ready: bool,
    /// Whether its queue pair was done while it was in the round robin.
    done: bool,
    /// Data packets that wait at ports of the NIC.
    pub at_ports: u8,
    /// The most of them before it has no turn.
    most_at_ports: u8,
    /// The time of the next timer event; never, if there is none.
    pub timer: Time,
    /// The time of the timer event after that, so that a timeout behind paced packets is not scheduled anew with each of
    /// them. Events at other times are stale.
    pub later: Time,
    /// The entropy value of the last data packet.
    ev: Option<u16>,
    /// The number of data packets with another entropy value than the one before.
    pub path_changes: u32,
    /// The transport's sender.
    pub sender: AnySender,
}

impl SenderSlot {
    /// A sender that is not in the round robin, at a NIC with so many ports.
    pub fn new(qp: u32, sender: AnySender, ports: u16) -> Self {
        SenderSlot {
            qp,
            next: NONE,
            ready: false,
            done: false,
            at_ports: 0,
            most_at_ports: ports.min(u8::MAX.into()) as u8,
            timer: Time::NEVER,
            later: Time::NEVER,
            ev: None,
            path_changes: 0,
            sender,
        }
    }

    /// The slot with its sender replaced.
    #[cfg(test)]
    pub fn with_sender(self, with: impl Fn(AnySender) -> AnySender) -> Self {
        SenderSlot { sender: with(self.sender), ..self }
    }

    /// Records the entropy value of a data packet that leaves.
    #[inline]
    pub fn note_ev(&mut self, ev: u16) {
        let before = self.ev.replace(ev);
        self.path_changes += u32::from(before.is_some_and(|before| before != ev));
    }

    /// The entropy value of its last data packet.
    #[inline]
    pub fn last_ev(&self) -> Option<u16> {
        self.ev
    }

    /// Whether it has no turn until one of its packets leaves its port.
    #[inline]
    pub fn waits_for_port(&self) -> bool {
        self.at_ports >= self.most_at_ports
    }

    /// Whether its queue pair is done, and the slot is free once its turn comes.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.done
    }
}

/// A queue of senders, linked through their slots.
#[derive(Clone, Copy)]
pub struct Round {
    first: u32,
    last: u32,
}

impl Round {
    /// A round robin without senders.
    pub const EMPTY: Round = Round { first: NONE, last: NONE };

    /// Puts the sender at `slot` at the end, unless it is in the round robin.
    #[inline]
    pub fn make_ready(&mut self, senders: &mut [SenderSlot], slot: u32) {
        let sender = &mut senders[slot as usize];
        if sender.ready {
            return;
        }
        sender.ready = true;
        sender.next = NONE;
        let last = std::mem::replace(&mut self.last, slot);
        if last == NONE {
            self.first = slot;
        } else {
            senders[last as usize].next = slot;
        }
    }

    /// Puts a sender that has just had its turn back at the head.
    pub fn keep_turn(&mut self, senders: &mut [SenderSlot], slot: u32) {
        let next = std::mem::replace(&mut self.first, slot);
        if next == NONE {
            self.last = slot;
        }
        let sender = &mut senders[slot as usize];
        sender.ready = true;
        sender.next = next;
    }

    /// Takes out the sender whose turn it is.
    #[inline]
    pub fn take_turn(&mut self, senders: &mut [SenderSlot]) -> Option<u32> {
        let slot = self.first;
        if slot == NONE {
            return None;
        }
        let sender = &mut senders[slot as usize];
        sender.ready = false;
        self.first = sender.next;
        if self.first == NONE {
            self.last = NONE;
        }
        Some(slot)
    }

    /// Marks the queue pair of the sender at `slot` as done. Returns whether the slot is free at once; otherwise it becomes
    /// free when its turn comes.
    pub fn leave(&mut self, senders: &mut [SenderSlot], slot: u32) -> bool {
        let sender = &mut senders[slot as usize];
        sender.done = sender.ready;
        !sender.ready
    }
}
