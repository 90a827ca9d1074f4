//! The parameters.

use crate::{Size, Span};
use anabranch_base::{AboveZero, Bytes, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of the `rack-tlp` transport, with DCQCN's notification point in its receiver.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct RackTlpConfig {
        /// Payload of a full packet.
        #[param(Bytes(1)..=Bytes(65_535); example = "1000B"; source = "DCP, footnotes 9 to 11")]
        pub payload: Bytes,
        /// Headers of a data packet.
        #[param(Bytes(1)..=Bytes(65_534); example = "48B";
            source = "the ns-3 RDMA simulators: 48 B around 1000 B of payload")]
        pub header: Bytes,
        /// Size of an ACK or CNP.
        #[param(Bytes(1)..=Bytes(65_535); example = "60B"; source = "the ns-3 RDMA simulators")]
        pub ack: Bytes,
        /// An ACK for every n packets by which the ePSN advances (and for the last one of a message, a packet out of
        /// order, one that fills a gap, and a duplicate).
        #[param(1..=65_535; example = 1; source = "RFC 8985 learns from each packet")]
        pub ack_every: u32,
        /// Bytes in flight: sent, and neither acknowledged nor declared lost.
        #[param(AboveZero; example = "1bdp"; source = "unspecified; as for IRN")]
        pub window: Size,
        /// Reordering window: a packet is lost when a later one is acknowledged, and an RTT plus this have passed since
        /// it was sent. DCP has "1rtt": its reordering window is an RTT, so that a retransmission is an RTT late.
        #[param(any; example = "1rtt"; source = "DCP, section 6.3")]
        pub reo_wnd: Span,
        /// The timeout of last resort.
        #[param(AboveZero; example = "4ms";
            source = "unspecified; the simulator published with ConWeave has this for go-back-N")]
        pub rto: Span,
        /// At most one CNP per queue pair in this time. 0: no CNPs; every marked packet is acknowledged at once, with
        /// the mark echoed in the ACK.
        #[param(any; example = "50us"; source = "DCQCN (SIGCOMM 2015), section 3.1: at most one CNP in 50 us")]
        pub cnp_interval: Span,
    }
}
