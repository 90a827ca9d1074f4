//! The parameters.

use crate::Span;
use anabranch_base::{AboveZero, Bytes, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of the `mp-rdma` transport.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct MpRdmaConfig {
        /// Payload of a full packet.
        #[param(Bytes(1)..=Bytes(65_535); example = "1000B"; source = "DCP, footnotes 9 to 11")]
        pub payload: Bytes,
        /// Headers of a data packet.
        #[param(Bytes(1)..=Bytes(65_534); example = "48B";
            source = "the ns-3 RDMA simulators: 48 B around 1000 B of payload")]
        pub header: Bytes,
        /// Size of an ACK or NACK.
        #[param(Bytes(1)..=Bytes(65_535); example = "60B"; source = "the ns-3 RDMA simulators")]
        pub ack: Bytes,
        /// Out-of-order threshold (Delta): a path is slow when the PSN that its ACK names is more than this below the
        /// highest acknowledged PSN. 32 in public simulations.
        #[param(1..=65_535; example = 32; source = "public simulations of MP-RDMA (NSDI 2018)")]
        pub delta: u32,
        /// Number of packets from the ePSN on that the receiver accepts (L; 64 in simulations of it).
        #[param(1..=65_535; example = 64; source = "public simulations of MP-RDMA (NSDI 2018)")]
        pub bitmap: u32,
        /// A queue pair with nothing in flight for this long restarts with the initial window.
        #[param(AboveZero; example = "3rtt"; source = "unspecified")]
        pub restart_after: Span,
        /// Retransmission timeout: after this long without a new cumulative acknowledgement the sender restarts at the
        /// lowest unacknowledged packet (go-back-N). The paper's value was not available.
        #[param(AboveZero; example = "4ms"; source = "unspecified; as for go-back-N")]
        pub rto: Span,
    }
}
