//! `uet`: packet delivery of Ultra Ethernet (UET 1.0.3, section 3.5) in its mode RUD: reliable, in any order.
//!
//! A PDC (packet delivery context) is a queue pair here. The receiver coalesces selective acknowledgements. An ACK
//! carries the number of bytes that the receiver has received, from which the sender computes the bytes in flight. A
//! gap alone is not taken for a loss. A packet is retransmitted with a new entropy value if a NACK reports that it was
//! trimmed, or if its own timeout has passed. A loss may also be inferred from the number of packets that arrived out
//! of order. UET leaves this option open.
//!
//! Not built: the modes ROD (in order) and UUD, set-up and tear-down of PDCs, changes of MPR, NACKs for other reasons
//! than trimming, the receiver's penalty and its service time (the text does not say when a receiver sets a penalty).

mod config;
mod copies;
mod credit;
mod ev_order;
mod receiver;
mod sender;

use crate::cc::AnyCc;
use crate::lb::AnyLb;
use crate::transport::common::MAX_SPAN;
use crate::transport::{
    AckInterval, AnyReceiver, AnySender, Ends, Headers, NumberSpace, PullPacer, SenderCounter,
    TransportProperties, bitmap, framing_and_rto, sent_at, whole_packets,
};
use crate::{PathFacts, Span, StateField};
use anabranch_base::Bytes;

use credit::PULLED_BYTES;

pub use config::UetConfig;
pub use credit::CreditConfig;
pub use receiver::UetReceiver;
pub use sender::UetSender;

pub(in crate::transport) use copies::Backoff;
pub(in crate::transport) use ev_order::EvOrder;
pub(in crate::transport) use receiver::{LEAST_COUNTED, ReverseEvs};
pub(in crate::transport) use sender::Endpoint;

impl TransportProperties for UetConfig {
    fn build_sender(&self, ends: Ends, facts: &PathFacts, cc: AnyCc, lb: AnyLb) -> AnySender {
        AnySender::Uet(UetSender::new(self, facts, ends, cc, lb))
    }

    fn build_receiver(&self, ends: Ends, facts: &PathFacts) -> AnyReceiver {
        AnyReceiver::Uet(UetReceiver::new(self, facts, ends))
    }

    framing_and_rto!();

    fn headers(&self) -> Headers {
        Headers::Uet { credit: self.credit.is_some() }
    }

    fn trimmed_bytes(&self) -> Bytes {
        self.control
    }

    fn shortest_packet(&self) -> Bytes {
        self.control
    }

    fn tracking(&self, packets: u32) -> Vec<StateField> {
        let mut fields = tracking(self.mpr, packets);
        if self.credit.is_some() {
            let names = ["credit", "pull", "credit_target", "granted", "target"];
            fields.extend(names.map(|name| StateField::new(name, 24, 1)));
        }
        fields
    }

    /// With credit, the exchange of a request and a pull may precede the packet.
    fn round_trips(&self) -> u32 {
        if self.credit.is_some() { 2 } else { 1 }
    }

    fn pull_pacer(&self, facts: &PathFacts) -> Option<PullPacer> {
        Some(self.credit.as_ref()?.pacer(facts))
    }

    fn counters(&self) -> &'static [SenderCounter] {
        &[SenderCounter::Nacks]
    }

    fn timeouts(&self) -> Vec<(&'static str, Span)> {
        let mut timeouts = vec![("transport.rto", self.rto)];
        timeouts.extend(self.probe_after.map(|after| ("transport.probe_after", after)));
        timeouts
    }

    /// More than `MAX_SPAN` PSNs below 2^32 stay unused, so that the PSNs in flight never wrap.
    fn number_space(&self, _window: u64) -> NumberSpace {
        let psns = NumberSpace::of_packets(u64::from(u32::MAX) - u64::from(MAX_SPAN) - 1);
        NumberSpace { pulled_bytes: self.credit.as_ref().map(|_| PULLED_BYTES), ..psns }
    }

    fn ack_interval(&self, window: u64) -> AckInterval {
        if window < self.sack_bytes.0 {
            return AckInterval::EVERY_PACKET;
        }
        let counted = (self.payload.0 + self.header.0).max(LEAST_COUNTED);
        let packets = u32::try_from(self.sack_bytes.0.div_ceil(counted)).unwrap_or(u32::MAX);
        AckInterval { packets, parameter: "transport.sack_bytes", every_packet: "\"1B\"" }
    }

    /// ACKs count received bytes in whole units. Up to `received_unit` - 1 bytes therefore still count as in flight
    /// after they have arrived.
    fn packets_in_window(&self, window: u64, packet: u64) -> u64 {
        whole_packets(window.saturating_sub(self.received_unit.0 - 1), packet)
    }

    /// The timeout doubles with each round, at most `rto_doublings` times.
    fn timeouts_of_rounds(&self, rounds: f64) -> f64 {
        let (mut left, mut timeout, mut sum) = (rounds, 1.0, 0.0);
        for _ in 0..self.rto_doublings {
            let part = if left < 1.0 { left } else { 1.0 };
            sum += part * timeout;
            left -= part;
            timeout *= 2.0;
        }
        sum + left * timeout
    }
}

/// The receiver has a bit for each PSN of the MPR, rcvd_bytes and ooo_count (UET 1.0.3, table 3-77). For each packet
/// in flight, the sender has two bits (acknowledged, lost), the time of the last transmission, the number of
/// retransmissions and the entropy value.
pub(in crate::transport) fn tracking(mpr: u32, packets: u32) -> Vec<StateField> {
    vec![
        bitmap("received", mpr),
        StateField::new("rcvd_bytes", 24, 1),
        StateField::new("ooo_count", 16, 1),
        bitmap("acknowledged", packets),
        bitmap("lost", packets),
        sent_at(packets),
        StateField::new("retransmissions", 2, packets),
        StateField::new("entropy value", 16, packets),
    ]
}
