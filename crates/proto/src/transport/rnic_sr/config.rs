//! The parameters.

use crate::Span;
use anabranch_base::{AboveZero, Bytes, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of the `rnic-sr` transport, with DCQCN's notification point in its receiver.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct RnicSrConfig {
        /// Payload of a full packet.
        #[param(Bytes(1)..=Bytes(65_535); example = "4096B"; source = "the largest MTU of RoCEv2")]
        pub payload: Bytes,
        /// Headers of a data packet.
        #[param(Bytes(1)..=Bytes(65_534); example = "78B";
            source = "Themis-spraying, section 2.2: RoCEv2's headers and a RETH in every packet")]
        pub header: Bytes,
        /// Size of an ACK, NACK or CNP.
        #[param(Bytes(1)..=Bytes(65_535); example = "64B"; source = "the smallest Ethernet frame")]
        pub ack: Bytes,
        /// An ACK for every n packets by which the ePSN advances (and for the last one of a message, and a duplicate).
        #[param(1..=65_535; example = 4; source = "unspecified; about 16 KB")]
        pub ack_every: u32,
        /// Transmit window: largest distance, in packets, between the lowest unacknowledged PSN and the next PSN to
        /// send.
        #[param(1..=65_535; example = 512; source = "Themis-spraying, section 6.1")]
        pub window_packets: u32,
        /// At most one CNP per queue pair in this time. 0: no CNPs; every marked packet is acknowledged at once, with
        /// the mark echoed in the ACK.
        #[param(any; example = "50us"; source = "DCQCN (SIGCOMM 2015), section 3.1: at most one CNP in 50 us")]
        pub cnp_interval: Span,
        /// Retransmission timeout: after this long without a new acknowledgement everything unacknowledged is
        /// retransmitted.
        #[param(AboveZero; example = "4ms"; source = "Themis-spraying, section 6.1")]
        pub rto: Span,
        /// False: the NIC ignores NACKs, their cumulative acknowledgement included, and recovers by timeout alone.
        #[param(any; example = true; source = "Themis-spraying, section 2.3")]
        pub hears_nacks: bool,
        /// Time for which a NACK-triggered retransmission blocks the queue pair's transmit path, from its start.
        #[param(any; example = "1.4us"; source = "calibrated against Themis-spraying, figure 2c")]
        pub retransmission_block: Span,
    }
}
