//! The payloads of the packets at a node.
//!
//! A host reads the payload of a packet from its message when the packet leaves. While a second copy of a packet waits
//! in the NIC, the acknowledgement of the first copy may arrive, and the sender then forgets the message. [`Parts`]
//! therefore remembers the places of the payloads that have left.
//!
//! The engine's switch queues packets without payload. [`Payloads`] stores the payloads. A payload depends only on
//! queue pair and PSN, so all copies of a packet share one entry. A switch does not report the packets that it drops.
//! The oldest payloads are therefore removed when there is no more room.

use anabranch_base::{MessageId, QpId};
use std::collections::{BTreeMap, VecDeque};

/// Largest number of bytes of payload that a switch keeps.
const MOST_BYTES: usize = 64 << 20;

/// Outdated entries of [`Payloads::order`] are removed when its length exceeds twice the number of stored packets by
/// more than this.
const LEAST_ORDER: usize = 1 << 10;

/// Largest number of packets for which a host keeps the places of their payloads.
const MOST_PARTS: usize = 1 << 16;

/// The place of a packet's payload: the message, the offset in the message, and the length.
pub type Part = (MessageId, u64, u16);

/// The places of the payloads of the packets that a host has sent most recently.
#[derive(Default)]
pub struct Parts {
    by_packet: BTreeMap<(QpId, u32), Part>,
    /// The packets in the order of their first departure.
    order: VecDeque<(QpId, u32)>,
}

impl Parts {
    pub fn remember(&mut self, packet: (QpId, u32), part: Part) {
        if self.by_packet.insert(packet, part).is_none() {
            self.order.push_back(packet);
        }
        if self.order.len() > MOST_PARTS
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_packet.remove(&oldest);
        }
    }

    pub fn of(&self, packet: (QpId, u32)) -> Option<Part> {
        self.by_packet.get(&packet).copied()
    }
}

#[derive(Default)]
pub struct Payloads {
    by_packet: BTreeMap<(QpId, u32), Stored>,
    /// The packets in the order of their arrivals, each with the number of its arrival.
    order: VecDeque<(u64, (QpId, u32))>,
    arrivals: u64,
    bytes: usize,
}

/// A payload with its offset in the message.
pub struct Stored {
    pub offset: u32,
    pub bytes: Vec<u8>,
    /// The number of the payload's latest arrival.
    arrival: u64,
}

impl Payloads {
    pub fn store(&mut self, (qp, psn): (QpId, u32), offset: u32, bytes: &[u8]) {
        self.arrivals += 1;
        let arrival = self.arrivals;
        self.order.push_back((arrival, (qp, psn)));
        let stored = Stored { offset, bytes: bytes.to_vec(), arrival };
        self.bytes += bytes.len();
        if let Some(before) = self.by_packet.insert((qp, psn), stored) {
            self.bytes -= before.bytes.len();
        }
        // A packet that comes again leaves its earlier entry behind.
        if self.order.len() > 2 * self.by_packet.len() + LEAST_ORDER {
            let by_packet = &self.by_packet;
            self.order.retain(|(number, packet)| {
                by_packet.get(packet).is_some_and(|stored| stored.arrival == *number)
            });
        }
        while self.bytes > MOST_BYTES
            && let Some((number, packet)) = self.order.pop_front()
        {
            if self.by_packet.get(&packet).is_some_and(|stored| stored.arrival == number)
                && let Some(stored) = self.by_packet.remove(&packet)
            {
                self.bytes -= stored.bytes.len();
            }
        }
    }

    pub fn of(&self, packet: (QpId, u32)) -> Option<&Stored> {
        self.by_packet.get(&packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_parts_make_room() {
        let mut parts = Parts::default();
        let part = |psn: u32| (MessageId(1), u64::from(psn) * 10, 10);
        for psn in 0..=MOST_PARTS as u32 {
            parts.remember((QpId(3), psn), part(psn));
            parts.remember((QpId(3), psn), part(psn));
        }
        assert_eq!([0, 1].map(|psn| parts.of((QpId(3), psn))), [None, Some(part(1))]);
        assert_eq!(parts.of((QpId(4), 1)), None);
        assert_eq!((parts.by_packet.len(), parts.order.len()), (MOST_PARTS, MOST_PARTS));
    }

    #[test]
    fn the_oldest_payloads_make_room() {
        let mut payloads = Payloads::default();
        for psn in 0..20 {
            payloads.store((QpId(1), psn), psn, &vec![psn as u8; MOST_BYTES / 10]);
            payloads.store((QpId(1), 0), 0, &[7; 100]);
        }
        assert_eq!(payloads.of((QpId(1), 0)).map(|stored| stored.bytes.len()), Some(100), "it came again");
        assert!(payloads.of((QpId(1), 1)).is_none(), "it is the oldest");
        assert_eq!(payloads.of((QpId(1), 19)).map(|stored| stored.offset), Some(19));
        assert!(payloads.bytes <= MOST_BYTES);
    }

    #[test]
    fn a_packet_that_comes_again_takes_no_more_memory() {
        let mut payloads = Payloads::default();
        for _ in 0..100_000 {
            payloads.store((QpId(1), 0), 0, &[7]);
        }
        assert!(payloads.order.len() < 10_000, "{}", payloads.order.len());
    }
}
