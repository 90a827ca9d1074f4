//! The parameters of the `rnic-sr` transport.

use crate::Span;
use anabranch_base::{AboveZero, Bytes, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of the `rnic-sr` transport, with DCQCN's notification point in its receiver.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct RnicSrConfig {
        /// Number of bytes of payload in a full packet.
        #[param(Bytes(1)..=Bytes(65_535); example = "4096B"; source = "the largest MTU of RoCEv2")]
        pub payload: Bytes,
        /// Size of the headers of a data packet.
        #[param(Bytes(1)..=Bytes(65_534); example = "78B";
            source = "Themis-spraying, section 2.2: RoCEv2's headers and a RETH in every packet")]
        pub header: Bytes,
        /// Size of an ACK, NACK or CNP.
        #[param(Bytes(1)..=Bytes(65_535); example = "64B"; source = "the smallest Ethernet frame")]
        pub ack: Bytes,
        /// Number of packets by which the ePSN advances per ACK. A packet is acknowledged in any case if it completes
        /// a message, requests an ACK, or is a duplicate. If `cnp_interval` is 0, a marked packet is also acknowledged
        /// in any case.
        #[param(1..=65_535; example = 4; source = "unspecified; about 16 KB")]
        pub ack_every: u32,
        /// Transmit window: largest distance, in packets, between the lowest unacknowledged PSN and the next PSN to
        /// send.
        #[param(1..=65_535; example = 512; source = "Themis-spraying, section 6.1")]
        pub window_packets: u32,
        /// Least time between two CNPs for a queue pair. With 0, there are no CNPs: every marked packet is acknowledged
        /// immediately, and the ACK echoes the mark.
        #[param(any; example = "50us"; source = "DCQCN (SIGCOMM 2015), section 3.1: at most one CNP in 50 us")]
        pub cnp_interval: Span,
        /// Retransmission timeout. If no new acknowledgement arrives for this time, everything unacknowledged is
        /// retransmitted.
        #[param(AboveZero; example = "4ms"; source = "Themis-spraying, section 6.1")]
        pub rto: Span,
        /// Whether the NIC handles NACKs. If not, it ignores them, including their cumulative acknowledgement, and
        /// recovers only by timeout.
        #[param(any; example = true; source = "Themis-spraying, section 2.3")]
        pub hears_nacks: bool,
        /// Time for which a retransmission that a NACK triggered blocks the queue pair's transmit path, from the start
        /// of the retransmission.
        #[param(any; example = "1.4us"; source = "calibrated against Themis-spraying, figure 2c")]
        pub retransmission_block: Span,
    }
}
