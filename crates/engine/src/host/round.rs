//! The NIC's round robin over those queue pairs that may have something to send.

use anabranch_base::Time;
use anabranch_proto::transport::AnySender;

const NONE: u32 = u32::MAX;

/// A sender with its state in the round robin.
// This order puts the other fields directly before the sender, mostly into the cache line in which the sender begins.
#[repr(C)]
pub struct SenderSlot {
    /// The number of the sender's queue pair among those on which the host sends.
    pub qp: u32,
    /// The slot of the next sender in the round robin.
    next: u32,
    ready: bool,
    /// Whether the queue pair became done while the sender was in the round robin.
    done: bool,
    /// The number of the sender's data packets that wait at ports of the NIC.
    pub at_ports: u8,
    /// The value of `at_ports` at which the sender gets no further turn.
    most_at_ports: u8,
    /// The time of the next timer event; [`Time::NEVER`] if there is none.
    pub timer: Time,
    /// The time of a second scheduled timer event, the next one after `timer`. With pacing, `timer` changes for each
    /// packet, while the event of the timeout stays valid here. An event at neither of the two times is stale.
    pub later: Time,
    /// The entropy value of the sender's last data packet.
    ev: Option<u16>,
    /// The number of data packets whose entropy value differs from the value of the data packet before.
    pub path_changes: u32,
    pub sender: AnySender,
}

impl SenderSlot {
    /// A sender that is not in the round robin, at a NIC with this number of ports.
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

    #[cfg(test)]
    pub fn with_sender(self, with: impl Fn(AnySender) -> AnySender) -> Self {
        SenderSlot { sender: with(self.sender), ..self }
    }

    #[inline]
    pub fn note_ev(&mut self, ev: u16) {
        let before = self.ev.replace(ev);
        self.path_changes += u32::from(before.is_some_and(|before| before != ev));
    }

    #[inline]
    pub fn last_ev(&self) -> Option<u16> {
        self.ev
    }

    /// Whether the sender gets no turn until one of its packets at the ports leaves.
    #[inline]
    pub fn waits_for_port(&self) -> bool {
        self.at_ports >= self.most_at_ports
    }

    /// Whether the queue pair is done, so that the slot becomes free when its turn comes.
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
    pub const EMPTY: Round = Round { first: NONE, last: NONE };

    /// Adds the sender at `slot` to the end of the round robin, unless the sender is already in the round robin.
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

    /// Puts a sender that has just had its turn back at the head of the round robin, so that it gets the next turn too.
    pub fn keep_turn(&mut self, senders: &mut [SenderSlot], slot: u32) {
        let next = std::mem::replace(&mut self.first, slot);
        if next == NONE {
            self.last = slot;
        }
        let sender = &mut senders[slot as usize];
        sender.ready = true;
        sender.next = next;
    }

    /// Removes the sender whose turn it is, and returns its slot.
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

    /// Marks the queue pair of the sender at `slot` as done. Returns true if the slot is free immediately. Otherwise it
    /// becomes free when its turn comes.
    pub fn leave(&mut self, senders: &mut [SenderSlot], slot: u32) -> bool {
        let sender = &mut senders[slot as usize];
        sender.done = sender.ready;
        !sender.ready
    }
}
