//! The parameters of the `rack-tlp` transport.

use crate::{Size, Span};
use anabranch_base::{AboveZero, Bytes, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of the `rack-tlp` transport, with DCQCN's notification point in its receiver.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct RackTlpConfig {
        /// Number of bytes of payload in a full packet.
        #[param(Bytes(1)..=Bytes(65_535); example = "1000B"; source = "DCP, footnotes 9 to 11")]
        pub payload: Bytes,
        /// Size of the headers of a data packet.
        #[param(Bytes(1)..=Bytes(65_534); example = "48B";
            source = "the ns-3 RDMA simulators: 48 B around 1000 B of payload")]
        pub header: Bytes,
        /// Size of an ACK or CNP.
        #[param(Bytes(1)..=Bytes(65_535); example = "60B"; source = "the ns-3 RDMA simulators")]
        pub ack: Bytes,
        /// Number of packets by which the ePSN advances per ACK. A packet is acknowledged in any case if it is the
        /// last packet of a message, requests an ACK, is out of order, fills a gap, or is a duplicate. If
        /// `cnp_interval` is 0, a marked packet is also acknowledged in any case.
        #[param(1..=65_535; example = 1; source = "RFC 8985 learns from each packet")]
        pub ack_every: u32,
        /// Largest number of bytes in flight: sent, and neither acknowledged nor declared lost.
        #[param(AboveZero; example = "1bdp"; source = "unspecified; as for IRN")]
        pub window: Size,
        /// Reordering window. A packet is lost if a later packet is acknowledged, and if an RTT plus this window has
        /// passed since the lost packet was sent. In DCP, the reordering window is an RTT (`"1rtt"`), so that a
        /// retransmission is an RTT late.
        #[param(any; example = "1rtt"; source = "DCP, section 6.3")]
        pub reo_wnd: Span,
        /// Retransmission timeout, the last resort.
        #[param(AboveZero; example = "4ms";
            source = "unspecified; the simulator published with ConWeave has this for go-back-N")]
        pub rto: Span,
        /// Least time between two CNPs for a queue pair. With 0, there are no CNPs: every marked packet is acknowledged
        /// immediately, and the ACK echoes the mark.
        #[param(any; example = "50us"; source = "DCQCN (SIGCOMM 2015), section 3.1: at most one CNP in 50 us")]
        pub cnp_interval: Span,
    }
}
