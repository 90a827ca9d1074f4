//! The parameters of the `uet` transport.

use super::credit::CreditConfig;
use crate::Span;
use anabranch_base::{AboveZero, Bytes, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of the `uet` transport.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct UetConfig {
        /// Payload of a full packet.
        #[param(Bytes(1)..=Bytes(65_535); example = "4096B"; source = "UET 1.0.3, section 3.2: an MTU of 4 KiB")]
        pub payload: Bytes,
        /// Headers of a data packet.
        #[param(Bytes(1)..=Bytes(65_534); example = "102B";
            source = "UET 1.0.3, sections 3.4 and 3.5: Ethernet 18, IPv4 20 (IPv6 40), UDP 8, PDS 12, SES 44; uet-htsim: 64")]
        pub header: Bytes,
        /// Size of an ACK.
        #[param(Bytes(1)..=Bytes(65_535); example = "78B";
            source = "UET 1.0.3, section 3.5: ACK_CC of 32 B, of 98 with IPv6; uet-htsim: 64")]
        pub ack: Bytes,
        /// Size of a NACK, of a control packet (a probe, a pull or a request for credit) and of a trimmed packet.
        #[param(Bytes(1)..=Bytes(65_535); example = "62B"; source = "UET 1.0.3, section 3.5: PDS of 16 B, of 82 with IPv6; uet-htsim: 64")]
        pub control: Bytes,
        /// Number of bytes after whose arrival the receiver sends an ACK (ACK_Gen_Trigger), counted from the last
        /// ACK. Each packet counts as at least 1 KiB. A packet is acknowledged immediately if it is marked, if it is
        /// a duplicate, a retransmission or the first of its queue pair, if it requests an ACK, or if it closes the
        /// gap below a packet that requested one.
        #[param(AboveZero; example = "16KiB"; source = "UET 1.0.3, section 3.5: 16 KiB, at most 32 KiB")]
        pub sack_bytes: Bytes,
        /// The unit in which ACKs count received bytes.
        #[serde(default = "received_unit")]
        #[param(Bytes(1)..=Bytes(4_096); example = "1B"; source = "UET 1.0.3, section 3.6.9; uet-htsim: 1"; default = "256B")]
        pub received_unit: Bytes,
        /// Number of PSNs, from the lowest unacknowledged one on, that may be in flight (MPR).
        #[param(128..=32_640; example = 1_024; source = "UET 1.0.3, section 3.5: 8 times 128")]
        pub mpr: u32,
        /// Retransmission timeout of each packet (RTO_Init_Time).
        #[param(AboveZero; example = "100us"; source = "unspecified; uet-htsim: 15 us and six full queues")]
        pub rto: Span,
        /// Largest number of times that the timeout of a packet doubles. It doubles with each retransmission of the
        /// packet. UET gives up after five retransmissions; here the last timeout is repeated.
        #[serde(default = "rto_doublings")]
        #[param(0..=16; example = 0; source = "UET 1.0.3, section 3.5; uet-htsim: 0"; default = 5)]
        pub rto_doublings: u32,
        /// Packets are inferred lost once this many packets have arrived out of order. With 0, a gap never means loss.
        #[serde(default, skip_serializing_if = "is_default")]
        #[param(0..=65_535; example = 5; source = "unspecified in UET 1.0.3 (optional); uet-htsim: 0, or 5 with -sleek"; default = 0)]
        pub loss_packets: u32,
        /// Number of congestion windows of data that must also have arrived out of order before `loss_packets` takes
        /// effect.
        #[serde(default, skip_serializing_if = "is_default")]
        #[param(0.0..=1000.0; example = 1.5; source = "unspecified in UET 1.0.3; uet-htsim with -sleek: 1.5"; default = 0.0)]
        pub loss_windows: f64,
        /// Time without an answer after which the source sends a probe. The receiver answers a probe immediately with
        /// an ACK. If the time is not set, no probes are sent. With `loss_packets`, the answer to the last probe means
        /// loss if no other answer arrived since the probe was sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(AboveZero; example = "3rtt"; source = "unspecified in UET 1.0.3 (optional); uet-htsim with -sleek")]
        pub probe_after: Option<Span>,
        /// Credit of receivers (RCCC). If it is not set, a source needs no credit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(table)]
        pub credit: Option<CreditConfig>,
    }
}

fn received_unit() -> Bytes {
    Bytes(256)
}

fn rto_doublings() -> u32 {
    5
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
