//! What can be set.

use crate::Span;
use anabranch_base::{AboveZero, Bytes, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of the `mp-rdma` transport.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct MpRdmaConfig {
        /// Payload of a full packet.
        #[is(Bytes(1)..=Bytes(65_535); example = "1000B"; source = "DCP, footnotes 9 to 11")]
        pub payload: Bytes,
        /// Headers of a data packet.
        #[is(Bytes(1)..=Bytes(65_534); example = "48B";
            source = "the ns-3 RDMA simulators: 48 B around 1000 B of payload")]
        pub header: Bytes,
        /// Size of an ACK or NACK.
        #[is(Bytes(1)..=Bytes(65_535); example = "60B"; source = "the ns-3 RDMA simulators")]
        pub ack: Bytes,
        /// A path is slow when the packet that an ACK names lies further than this behind the highest that any ACK named
        /// (Delta; 32 in simulations of it).
        #[is(1..=65_535; example = 32; source = "public simulations of MP-RDMA (NSDI 2018)")]
        pub delta: u32,
        /// Packets from the ePSN on that the receiver has room for (L; 64 in simulations of it).
        #[is(1..=65_535; example = 64; source = "public simulations of MP-RDMA (NSDI 2018)")]
        pub bitmap: u32,
        /// A queue pair that had nothing on its way for this long starts anew, with the window of the start.
        #[is(AboveZero; example = "3rtt"; source = "unsaid")]
        pub restart_after: Span,
        /// Without a new cumulative acknowledgement for this long the sender goes back. The paper's is unknown.
        #[is(AboveZero; example = "4ms"; source = "unsaid; as for go-back-N")]
        pub rto: Span,
    }
}
