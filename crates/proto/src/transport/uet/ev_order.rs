//! The packets in flight of each entropy value, in the order of sending. If each entropy value stands for one path,
//! and paths keep the order of packets, a packet is lost once a later one with the same entropy value has arrived.

use anabranch_base::Time;
use std::collections::VecDeque;

#[derive(Default)]
pub(in crate::transport) struct EvOrder {
    /// The paths, sorted by entropy value.
    paths: Vec<Path>,
    overtaken: Vec<(u32, Time)>,
}

struct Path {
    ev: u16,
    /// PSNs and the times at which they were sent, the oldest first. Some are no longer in flight.
    sent: VecDeque<(u32, Time)>,
}

impl EvOrder {
    pub fn record(&mut self, ev: u16, psn: u32, at: Time) {
        let slot = match self.paths.binary_search_by_key(&ev, |path| path.ev) {
            Ok(slot) => slot,
            Err(slot) => {
                self.paths.insert(slot, Path { ev, sent: VecDeque::new() });
                slot
            }
        };
        self.paths[slot].sent.push_back((psn, at));
    }

    /// Records that the packet that was sent at `at` with this entropy value has arrived.
    pub fn note_arrival(&mut self, ev: u16, at: Time) {
        let Ok(slot) = self.paths.binary_search_by_key(&ev, |path| path.ev) else { return };
        let sent = &mut self.paths[slot].sent;
        while let Some(earlier) = sent.pop_front_if(|(_, sent_at)| *sent_at < at) {
            self.overtaken.push(earlier);
        }
    }

    /// The next packet that was overtaken. It may no longer be in flight.
    pub fn poll_overtaken(&mut self) -> Option<(u32, Time)> {
        self.overtaken.pop()
    }
}
