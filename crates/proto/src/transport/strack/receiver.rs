//! The receiving end (STrack, section 3.3.1).

use crate::packet::{Packet, Repr, SackCause};
use crate::psn_set::PsnSet;
use crate::transport::{Ends, Receiver, StrackConfig};
use crate::wire::strack::MAX_OUT_OF_ORDER;
use anabranch_base::{MessageId, Time};
use smallvec::SmallVec;

/// The receiving end of a queue pair.
///
/// Drive it: [`handle_packet`](Self::handle_packet) for each data packet or probe, then
/// [`poll_transmit`](Self::poll_transmit) until it answers none.
pub struct StrackReceiver {
    /// ePSN: every PSN below has arrived.
    expected: u32,
    /// Data packets that arrived, each once.
    fresh: u32,
    /// Lowest PSN that arrived since the last SACK; none: the ePSN stands for it.
    lowest: Option<u32>,
    /// Bytes on the wire of distinct data packets, modulo 2^32.
    bytes_received: u32,
    /// Distinct data packets that arrived since the ePSN moved last, up to what 12 bits hold.
    out_of_order: u16,
    sack_size: u16,
    /// Bytes that arrived since the last SACK, copies included.
    bytes_unsaid: u64,
    sack_bytes: u64,
    /// Arrived above `expected`.
    arrived: PsnSet,
    open: SmallVec<[OpenMessage; 2]>,
    due: Option<Due>,
    ends: Ends,
}

/// A message of which some packets, not all, have arrived.
struct OpenMessage {
    id: MessageId,
    left: u32,
}

/// A SACK that is to be sent: what it echoes, and the base that a probe asks for.
#[derive(Clone, Copy)]
struct Due {
    ev: u16,
    marked: bool,
    sent_at: Time,
    probe: Option<u32>,
}

impl StrackReceiver {
    /// The receiving end of a queue pair between `ends`.
    pub fn new(config: &StrackConfig, ends: Ends) -> Self {
        StrackReceiver {
            expected: 0,
            fresh: 0,
            lowest: None,
            bytes_received: 0,
            out_of_order: 0,
            sack_size: config.ack.0 as u16,
            bytes_unsaid: 0,
            sack_bytes: config.sack_bytes.0,
            arrived: PsnSet::new(),
            open: SmallVec::new(),
            due: None,
            ends,
        }
    }
}

impl Receiver for StrackReceiver {
    /// Takes a packet in; answers with the message that it made whole.
    #[inline]
    fn handle_packet(&mut self, _now: Time, packet: &Packet) -> Option<MessageId> {
        match packet.repr {
            Repr::Data { psn, message, message_packets, sent_at, ack_now, .. } => {
                let is_expected = psn == self.expected;
                let is_fresh = self.accept(psn, packet.wire_bytes);
                self.lowest = Some(self.lowest.map_or(psn, |lowest| lowest.min(psn)));
                self.bytes_unsaid += u64::from(packet.wire_bytes);
                // STrack, section 3.3.1, conditions 1, 2 and 4. A copy of what arrived before is none of them: the
                // sender hears of that packet by the next SACK, at the latest by that of its probe.
                if is_expected || ack_now || self.bytes_unsaid >= self.sack_bytes {
                    self.due = Some(Due { ev: packet.ev, marked: packet.marked, sent_at, probe: None });
                }
                if is_fresh { self.count(message, message_packets) } else { None }
            }
            // Condition 3.
            Repr::Probe { base, sent_at } => {
                self.due = Some(Due { ev: packet.ev, marked: packet.marked, sent_at, probe: Some(base) });
                None
            }
            _ => None,
        }
    }

    /// The next SACK to send, if one is due.
    #[inline]
    fn poll_transmit(&mut self) -> Option<Packet> {
        let Due { ev, marked, sent_at, probe } = self.due.take()?;
        let base = match probe {
            // The probe chose the segment. What the record of the lowest PSN stands for remains to be said.
            Some(base) => base,
            None => {
                let lowest = self.lowest.take().unwrap_or(self.expected);
                self.bytes_unsaid = 0;
                self.segment_of(lowest)
            }
        };
        let cause = SackCause::new(marked, probe.is_some());
        let repr = Repr::sack(self.expected)
            .with_received(base, self.received_from(base))
            .with_counts(self.bytes_received, self.out_of_order, cause)
            .with_sent_at(sent_at);
        let (qp, dst, wire_bytes) = (self.ends.qp, self.ends.src, self.sack_size);
        Some(Packet::new(qp, dst, repr).with_bytes(wire_bytes).with_ev(ev))
    }

    #[inline]
    fn fresh_packets(&self) -> u64 {
        u64::from(self.fresh)
    }
}

impl StrackReceiver {
    /// Marks `psn` as arrived; false when it had arrived before.
    #[inline]
    fn accept(&mut self, psn: u32, bytes: u16) -> bool {
        if psn < self.expected {
            return false;
        }
        self.arrived.make_room(self.expected, psn);
        if !self.arrived.insert(psn) {
            return false;
        }
        self.fresh += 1;
        self.bytes_received = self.bytes_received.wrapping_add(u32::from(bytes));
        if psn == self.expected {
            self.expected = self.arrived.take_run(psn);
            self.out_of_order = 0;
        } else {
            self.out_of_order = (self.out_of_order + 1).min(MAX_OUT_OF_ORDER);
        }
        true
    }

    /// The first PSN of the segment that holds `psn`: segments of 64 part the bitmap, which starts at the ePSN.
    /// What lies below the ePSN is said by that; the first segment tells what comes after it.
    #[inline]
    fn segment_of(&self, psn: u32) -> u32 {
        self.expected + psn.saturating_sub(self.expected) / 64 * 64
    }

    /// Which of `base..base + 64` have arrived: all below the ePSN, and what the set holds.
    #[inline]
    fn received_from(&mut self, base: u32) -> u64 {
        if base >= self.expected {
            self.arrived.make_room(self.expected, base.saturating_add(64));
            return self.arrived.window(base);
        }
        let below = self.expected - base;
        if below >= 64 {
            return u64::MAX;
        }
        self.arrived.make_room(self.expected, self.expected + 64);
        self.arrived.window(self.expected) << below | ((1 << below) - 1)
    }

    /// Counts a fresh packet of a message; answers with the message when it was the last one missing.
    #[inline]
    fn count(&mut self, id: MessageId, packets: u32) -> Option<MessageId> {
        let place = match self.open.iter().position(|open| open.id == id) {
            Some(place) => place,
            None => {
                self.open.push(OpenMessage { id, left: packets });
                self.open.len() - 1
            }
        };
        let open = &mut self.open[place];
        open.left -= 1;
        (open.left == 0).then(|| self.open.swap_remove(place).id)
    }
}
