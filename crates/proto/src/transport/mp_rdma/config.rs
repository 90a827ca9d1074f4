//! The parameters of the `mp-rdma` transport.

use crate::Span;
use anabranch_base::{AboveZero, Bytes, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of the `mp-rdma` transport.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct MpRdmaConfig {
        /// Number of bytes of payload in a full packet.
        #[param(Bytes(1)..=Bytes(65_535); example = "1000B"; source = "DCP, footnotes 9 to 11")]
        pub payload: Bytes,
        /// Size of the headers of a data packet.
        #[param(Bytes(1)..=Bytes(65_534); example = "48B";
            source = "the ns-3 RDMA simulators: 48 B around 1000 B of payload")]
        pub header: Bytes,
        /// Size of an ACK or NACK.
        #[param(Bytes(1)..=Bytes(65_535); example = "60B"; source = "the ns-3 RDMA simulators")]
        pub ack: Bytes,
        /// Out-of-order threshold (Delta). A path is slow if the PSN of its ACK is more than this number below the
        /// highest acknowledged PSN. It is 32 in public simulations.
        #[param(1..=65_535; example = 32; source = "public simulations of MP-RDMA (NSDI 2018)")]
        pub delta: u32,
        /// Number of packets from the ePSN on that the receiver accepts (L; 64 in simulations of MP-RDMA).
        #[param(1..=65_535; example = 64; source = "public simulations of MP-RDMA (NSDI 2018)")]
        pub bitmap: u32,
        /// Time with nothing in flight after which a queue pair restarts with the initial window.
        #[param(AboveZero; example = "3rtt"; source = "unspecified")]
        pub restart_after: Span,
        /// Retransmission timeout. If no new cumulative acknowledgement arrives for this time, the sender restarts at
        /// the lowest unacknowledged packet (go-back-N). The paper's value was not available.
        #[param(AboveZero; example = "4ms"; source = "unspecified; as for go-back-N")]
        pub rto: Span,
    }
}
