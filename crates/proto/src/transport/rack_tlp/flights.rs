//! The transmission time and state of each packet.

use anabranch_base::Time;
use std::collections::VecDeque;

/// The records of the packets from the lowest unacknowledged one to the newest.
pub(super) struct Flights {
    /// The records in the order of their PSNs. The first record is that of the PSN `lowest`.
    packets: VecDeque<Flight>,
    lowest: u32,
    /// Transmissions in the order of sending. The entry of a packet that was meanwhile sent again, lost or
    /// acknowledged is removed when the entry reaches the front.
    order: VecDeque<(Time, u32)>,
}

#[derive(Clone, Copy)]
pub(super) struct Flight {
    /// The time of the last transmission.
    pub sent: Time,
    pub bytes: u16,
    pub state: State,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum State {
    InFlight,
    /// Declared lost, and not yet retransmitted.
    Lost,
    Sacked,
}

impl Flights {
    pub fn new() -> Self {
        Flights { packets: VecDeque::new(), lowest: 0, order: VecDeque::new() }
    }

    /// The record of a PSN that was sent and is not yet acknowledged cumulatively.
    #[inline]
    pub fn get(&self, psn: u32) -> Flight {
        self.packets[(psn - self.lowest) as usize]
    }

    /// Records a new packet, whose PSN follows the newest one.
    #[inline]
    pub fn send_next(&mut self, now: Time, bytes: u16) {
        self.order.push_back((now, self.lowest + self.packets.len() as u32));
        self.packets.push_back(Flight { sent: now, bytes, state: State::InFlight });
    }

    pub fn send_again(&mut self, now: Time, psn: u32) {
        let flight = &mut self.packets[(psn - self.lowest) as usize];
        (flight.sent, flight.state) = (now, State::InFlight);
        self.order.push_back((now, psn));
    }

    #[inline]
    pub fn set(&mut self, psn: u32, state: State) {
        self.packets[(psn - self.lowest) as usize].state = state;
    }

    /// Removes the lowest packet, which must exist, and returns its record.
    #[inline]
    pub fn pop(&mut self) -> Option<Flight> {
        self.lowest += 1;
        self.packets.pop_front()
    }

    /// The time and PSN of the earliest transmission in flight.
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
