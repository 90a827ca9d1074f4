//! The receiving end (STrack, section 3.3.1).

use super::config::StrackConfig;
use crate::packet::{MAX_OUT_OF_ORDER, Packet, Repr, SackCause};
use crate::transport::common::{Answers, AnyOrder, Arrivals, Cause, Ends, Receiver};
use anabranch_base::{MessageId, Time};

/// The receiving end of a queue pair.
///
/// Drive it: [`handle_packet`](Self::handle_packet) for each data packet or probe, then
/// [`poll_transmit`](Self::poll_transmit) until it answers none.
pub struct StrackReceiver {
    arrivals: Arrivals,
    /// Lowest PSN that arrived since the last SACK; none: the ePSN stands for it.
    lowest: Option<u32>,
    /// Bytes on the wire of distinct data packets, modulo 2^32.
    bytes_received: u32,
    /// Distinct data packets that arrived since the ePSN moved last, up to what 12 bits hold.
    out_of_order: u16,
    /// Bytes that arrived since the last SACK, copies included.
    bytes_unsaid: u64,
    sack_bytes: u64,
    open: AnyOrder,
    due: Option<Due>,
    answers: Answers,
}

/// A SACK that is to be sent: what it echoes, and the base that a probe asks for.
#[derive(Clone, Copy)]
struct Due {
    cause: Cause,
    probe: Option<u32>,
}

impl StrackReceiver {
    /// The receiving end of a queue pair between `ends`.
    pub fn new(config: &StrackConfig, ends: Ends) -> Self {
        StrackReceiver {
            arrivals: Arrivals::new(),
            lowest: None,
            bytes_received: 0,
            out_of_order: 0,
            bytes_unsaid: 0,
            sack_bytes: config.sack_bytes.0,
            open: AnyOrder::new(),
            due: None,
            answers: Answers::new(ends, config.ack),
        }
    }
}

impl Receiver for StrackReceiver {
    /// Processes a received packet; returns the message that it completes.
    #[inline]
    fn handle_packet(&mut self, _now: Time, packet: &Packet) -> Option<MessageId> {
        match packet.repr {
            Repr::Data { psn, message, message_packets, sent_at, ack_now, .. } => {
                let is_expected = psn == self.arrivals.expected;
                let is_fresh = self.accept(psn, packet.wire_bytes);
                self.lowest = Some(self.lowest.map_or(psn, |lowest| lowest.min(psn)));
                self.bytes_unsaid += u64::from(packet.wire_bytes);
                // STrack, section 3.3.1, conditions 1, 2 and 4. A copy of what arrived before is none of them: the
                // sender hears of that packet by the next SACK, at the latest by that of its probe.
                if is_expected || ack_now || self.bytes_unsaid >= self.sack_bytes {
                    self.due = Some(Due { cause: Cause::new(packet, sent_at), probe: None });
                }
                if is_fresh { self.open.count(message, message_packets) } else { None }
            }
            // Condition 3.
            Repr::Probe { base, sent_at } => {
                self.due = Some(Due { cause: Cause::new(packet, sent_at), probe: Some(base) });
                None
            }
            _ => None,
        }
    }

    /// The next SACK to send, if one is due.
    #[inline]
    fn poll_transmit(&mut self) -> Option<Packet> {
        let Due { cause, probe } = self.due.take()?;
        let base = match probe {
            // The probe chose the segment. What the record of the lowest PSN stands for remains to be said.
            Some(base) => base,
            None => {
                let lowest = self.lowest.take().unwrap_or(self.arrivals.expected);
                self.bytes_unsaid = 0;
                self.segment_of(lowest)
            }
        };
        let repr = Repr::sack(self.arrivals.expected)
            .with_received(base, self.arrivals.window(base))
            .with_counts(
                self.bytes_received,
                self.out_of_order,
                SackCause::new(cause.marked, probe.is_some()),
            )
            .with_sent_at(cause.sent_at);
        Some(self.answers.packet(cause.ev, repr))
    }

    #[inline]
    fn fresh_packets(&self) -> u64 {
        self.arrivals.fresh.into()
    }
}

impl StrackReceiver {
    /// Marks `psn` as arrived; false when it had arrived before.
    #[inline]
    fn accept(&mut self, psn: u32, bytes: u16) -> bool {
        let Some(advance) = self.arrivals.accept(psn) else { return false };
        self.bytes_received = self.bytes_received.wrapping_add(u32::from(bytes));
        if advance > 0 {
            self.out_of_order = 0;
        } else {
            self.out_of_order = (self.out_of_order + 1).min(MAX_OUT_OF_ORDER);
        }
        true
    }

    /// The first PSN of the segment that holds `psn`: segments of 64 part the bitmap, which starts at the ePSN.
    /// What lies below the ePSN is said by that; the first segment tells what comes after it.
    ///
    /// A lost SACK is covered by the next one of its segment, which says of all 64 whether they arrived, or by the ePSN.
    /// Nothing waits for a packet's own SACK meanwhile: bytes in flight follow `bytes_recvd`, losses the count of packets
    /// out of order (section 3.3.2). So the text's rule stands; `sack`, which times each packet, has bits that look back.
    #[inline]
    fn segment_of(&self, psn: u32) -> u32 {
        self.arrivals.expected + psn.saturating_sub(self.arrivals.expected) / 64 * 64
    }
}
