//! The receiver of the `strack` transport (STrack, section 3.3.1).

use super::config::StrackConfig;
use crate::packet::{MAX_OUT_OF_ORDER, Packet, Repr, SackCause};
use crate::transport::common::{Answers, AnyOrder, Arrivals, Cause, Ends, Receiver};
use anabranch_base::{MessageId, Time};

/// The receiver of a queue pair.
///
/// To drive it, call [`handle_packet`](Self::handle_packet) for each data packet or probe, then
/// [`poll_transmit`](Self::poll_transmit) until it returns None.
pub struct StrackReceiver {
    arrivals: Arrivals,
    /// The lowest PSN that arrived since the last SACK that answered no probe. With None, the ePSN is used.
    lowest: Option<u32>,
    /// Bytes on the wire of distinct data packets, modulo 2^32.
    bytes_received: u32,
    /// Number of distinct data packets that arrived since the ePSN last advanced, at most [`MAX_OUT_OF_ORDER`].
    out_of_order: u16,
    /// Bytes on the wire that arrived since the last SACK that answered no probe, duplicates included.
    bytes_since_sack: u64,
    sack_bytes: u64,
    open: AnyOrder,
    due: Option<PendingSack>,
    answers: Answers,
}

/// A SACK that is to be sent: the packet that it echoes and, if that is a probe, the base that the probe requests.
#[derive(Clone, Copy)]
struct PendingSack {
    cause: Cause,
    probe: Option<u32>,
}

impl StrackReceiver {
    /// The receiver of a queue pair between `ends`.
    pub fn new(config: &StrackConfig, ends: Ends) -> Self {
        StrackReceiver {
            arrivals: Arrivals::new(),
            lowest: None,
            bytes_received: 0,
            out_of_order: 0,
            bytes_since_sack: 0,
            sack_bytes: config.sack_bytes.0,
            open: AnyOrder::new(),
            due: None,
            answers: Answers::new(ends, config.ack),
        }
    }
}

impl Receiver for StrackReceiver {
    #[inline]
    fn handle_packet(&mut self, _now: Time, packet: &Packet) -> Option<MessageId> {
        match packet.repr {
            Repr::Data { psn, message, message_packets, sent_at, ack_now, .. } => {
                let is_expected = psn == self.arrivals.expected;
                let is_fresh = self.accept(psn, packet.wire_bytes);
                self.lowest = Some(self.lowest.map_or(psn, |lowest| lowest.min(psn)));
                self.bytes_since_sack += u64::from(packet.wire_bytes);
                // STrack, section 3.3.1: conditions 2 (the ePSN advances), 4 (a request) and 1 (enough bytes). A
                // duplicate can fulfil conditions 1 and 4. If a duplicate causes no SACK, a later SACK covers its PSN,
                // at the latest the SACK of a probe.
                if is_expected || ack_now || self.bytes_since_sack >= self.sack_bytes {
                    self.due = Some(PendingSack { cause: Cause::new(packet, sent_at), probe: None });
                }
                if is_fresh { self.open.count(message, message_packets) } else { None }
            }
            // Condition 3: a probe arrived.
            Repr::Probe { base, sent_at, .. } => {
                self.due = Some(PendingSack { cause: Cause::new(packet, sent_at), probe: Some(base) });
                None
            }
            _ => None,
        }
    }

    #[inline]
    fn poll_transmit(&mut self) -> Option<Packet> {
        let PendingSack { cause, probe } = self.due.take()?;
        let base = match probe {
            // The probe chose the segment, so the packets since the last SACK still need a SACK of their own.
            Some(base) => base,
            None => {
                let lowest = self.lowest.take().unwrap_or(self.arrivals.expected);
                self.bytes_since_sack = 0;
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
    /// Returns false for a duplicate.
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

    /// The first PSN of the segment that contains `psn`. The bitmap starts at the ePSN and is divided into segments
    /// of 64 PSNs. For a PSN below the ePSN, the first segment is used.
    ///
    /// A lost SACK needs no repetition, since the sender derives the bytes in flight and the losses from the counts in
    /// later SACKs (section 3.3.2).
    #[inline]
    fn segment_of(&self, psn: u32) -> u32 {
        self.arrivals.expected + psn.saturating_sub(self.arrivals.expected) / 64 * 64
    }
}
