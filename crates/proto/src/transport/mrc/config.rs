//! The parameters of the `mrc` transport.

use crate::Span;
use crate::transport::UetConfig;
use anabranch_base::{AboveZero, Bytes, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of the `mrc` transport.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct MrcConfig {
        /// Payload of a full packet.
        #[param(Bytes(1)..=Bytes(65_535); example = "4096B"; source = "MRC (OCP 1.0): an MTU of 4 KiB")]
        pub payload: Bytes,
        /// Headers of a data packet.
        #[param(Bytes(1)..=Bytes(65_534); example = "146B";
            source = "MRC (OCP 1.0): Ethernet 18, IPv6 40, UDP 8, BTH 12, METH 4, timestamp 4, RETH 16, ICRC 4, and 40 of SRv6 with source routes")]
        pub header: Bytes,
        /// Size of a SACK and of an endpoint response.
        #[param(Bytes(1)..=Bytes(65_535); example = "158B"; source = "MRC (OCP 1.0): 118, and 40 of SRv6 with source routes")]
        pub ack: Bytes,
        /// Size of a NACK and of a trimmed packet.
        #[param(Bytes(1)..=Bytes(65_535); example = "142B";
            source = "MRC (OCP 1.0): a NACK of 102, and 40 of SRv6 with source routes; unspecified for trimmed packets")]
        pub control: Bytes,
        /// Size of a probe and of an endpoint request.
        #[param(Bytes(1)..=Bytes(65_535); example = "138B"; source = "MRC (OCP 1.0): 98, and 40 of SRv6 with source routes")]
        pub request: Bytes,
        /// The receiver sends a SACK when more than this number of bytes of payload have arrived since the last SACK.
        /// Each packet counts as at least 1 KiB. A packet is acknowledged immediately if it is marked, if it is a
        /// duplicate, a retransmission or the first of its queue pair, if it requests a SACK, or if it closes the gap
        /// below a packet that requested one.
        #[param(AboveZero; example = "16KiB"; source = "unspecified in MRC (OCP 1.0); UET 1.0.3: 16 KiB, a client: 4 KiB")]
        pub sack_bytes: Bytes,
        /// The unit in which SACKs count received bytes.
        #[param(Bytes(1)..=Bytes(4_096); example = "256B"; source = "MRC (OCP 1.0): the state of NSCC, as in UET 1.0.3")]
        pub received_unit: Bytes,
        /// Number of PSNs, from the lowest unacknowledged one on, that may be in flight (MPR).
        #[param(128..=32_640; example = 4_096; source = "MRC (OCP 1.0): a multiple of 128, at most 4096")]
        pub mpr: u32,
        /// Local ACK timeout of each packet.
        #[param(AboveZero; example = "100us"; source = "unspecified in MRC (OCP 1.0): 1.024 us times a power of two; a client: 16.8 ms")]
        pub rto: Span,
        /// Number of timeouts of a packet that leave its timeout unchanged.
        #[param(0..=7; example = 3; source = "MRC (OCP 1.0): at most 7; a client: 3")]
        pub rto_linear: u32,
        /// Largest number of doublings of a packet's timeout. The first `rto_linear` timeouts leave the timeout
        /// unchanged, and each further timeout doubles it. MRC gives up after the last doubling. Here the last timeout
        /// is repeated. A NACK or an inferred loss restarts the count.
        #[param(0..=16; example = 5; source = "unspecified in MRC (OCP 1.0); a client: 5")]
        pub rto_doublings: u32,
        /// Packets are inferred lost once this many packets have arrived out of order. With 0, the number of
        /// out-of-order packets never means loss.
        #[serde(default, skip_serializing_if = "is_default")]
        #[param(0..=65_535; example = 5; source = "unspecified in MRC (OCP 1.0), whose SACKs have the number; STrack and uet-htsim: 5"; default = 0)]
        pub loss_packets: u32,
        /// Number of congestion windows of data that must also have arrived out of order before `loss_packets` takes
        /// effect.
        #[serde(default, skip_serializing_if = "is_default")]
        #[param(0.0..=1000.0; example = 1.5; source = "unspecified in MRC (OCP 1.0); uet-htsim with -sleek: 1.5"; default = 0.0)]
        pub loss_windows: f64,
        /// A packet is inferred lost once a later one with its entropy value has arrived.
        #[serde(default, skip_serializing_if = "is_default")]
        #[param(any; example = true; source = "unspecified in MRC (OCP 1.0); holds where an entropy value is one path that keeps the order";
            default = false)]
        pub loss_by_path: bool,
        /// Time without an answer after which the source sends a probe. The receiver answers a probe immediately with
        /// a SACK. If the time is not set, no such probes are sent. With `loss_packets`, the answer to the last probe
        /// means loss if no other answer arrived since the probe was sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(AboveZero; example = "3rtt"; source = "unspecified in MRC (OCP 1.0): when progress stalls; uet-htsim with -sleek: 3 round trips")]
        pub probe_after: Option<Span>,
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl MrcConfig {
    /// The parameters of the part that MRC shares with UET.
    pub(super) fn delivery(&self) -> UetConfig {
        let &MrcConfig { payload, header, ack, control, sack_bytes, received_unit, mpr, rto, .. } = self;
        let &MrcConfig { rto_doublings, loss_packets, loss_windows, probe_after, .. } = self;
        UetConfig {
            payload,
            header,
            ack,
            control,
            sack_bytes,
            received_unit,
            mpr,
            rto,
            rto_doublings,
            loss_packets,
            loss_windows,
            probe_after,
            credit: None,
        }
    }
}
