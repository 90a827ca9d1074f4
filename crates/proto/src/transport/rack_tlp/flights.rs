//! When each packet was last sent, and what became of it.

use anabranch_base::Time;
use std::collections::VecDeque;

/// The packets from the lowest unacknowledged one to the newest.
pub(super) struct Flights {
    /// By PSN, from `lowest` on.
    packets: VecDeque<Flight>,
    lowest: u32,
    /// Those in flight in the order in which they were sent. What is no longer true of a packet is dropped when it
    /// comes up.
    order: VecDeque<(Time, u32)>,
}

/// A packet.
#[derive(Clone, Copy)]
pub(super) struct Flight {
    /// When it was last sent.
    pub sent: Time,
    /// Its size on the wire.
    pub bytes: u16,
    pub state: State,
}

/// What the sender knows of a packet that it sent.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum State {
    InFlight,
    /// Lost, and not sent again yet.
    Lost,
    /// A SACK named it.
    Sacked,
}

impl Flights {
    pub fn new() -> Self {
        Flights { packets: VecDeque::new(), lowest: 0, order: VecDeque::new() }
    }

    /// The packet with this PSN, which is neither acknowledged cumulatively nor new.
    #[inline]
    pub fn get(&self, psn: u32) -> Flight {
        self.packets[(psn - self.lowest) as usize]
    }

    /// A new packet, with the PSN after the newest one's, is sent.
    #[inline]
    pub fn send_next(&mut self, now: Time, bytes: u16) {
        self.order.push_back((now, self.lowest + self.packets.len() as u32));
        self.packets.push_back(Flight { sent: now, bytes, state: State::InFlight });
    }

    /// A packet is sent again.
    pub fn send_again(&mut self, now: Time, psn: u32) {
        let flight = &mut self.packets[(psn - self.lowest) as usize];
        (flight.sent, flight.state) = (now, State::InFlight);
        self.order.push_back((now, psn));
    }

    /// A packet is lost or SACKed.
    #[inline]
    pub fn set(&mut self, psn: u32, state: State) {
        self.packets[(psn - self.lowest) as usize].state = state;
    }

    /// Forgets the lowest packet, which there is, and returns what was known of it.
    #[inline]
    pub fn pop(&mut self) -> Option<Flight> {
        self.lowest += 1;
        self.packets.pop_front()
    }

    /// The packet in flight that was sent first, and when.
    #[inline]
    pub fn oldest(&mut self) -> Option<(Time, u32)> {
        while let Some(&(sent, psn)) = self.order.front() {
            if psn >= self.lowest {
                let flight = self.get(psn);
                if flight.state == State::InFlight && flight.sent == sent {
                    return Some((sent, psn));
                }
            }
            self.order.pop_front();
        }
        None
    }
}
