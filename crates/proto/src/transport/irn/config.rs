//! The parameters of the `irn` transport.

use crate::{Size, Span};
use anabranch_base::{AboveZero, Bytes, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of the `irn` transport, with DCQCN's notification point in its receiver.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct IrnConfig {
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
        #[param(1..=65_535; example = 1; source = "IRN (SIGCOMM 2018): each packet is acknowledged")]
        pub ack_every: u32,
        /// Window of BDP-FC. A new packet may be sent if its PSN exceeds the lowest unacknowledged PSN by less than
        /// the number of full packets in this window.
        #[param(AboveZero; example = "1bdp"; source = "DCP, section 6.2; IRN (SIGCOMM 2018), BDP-FC")]
        pub window: Size,
        /// RTO_low: the timeout while at most `rto_low_packets` packets are in flight. It is ignored if it is longer
        /// than RTO_high.
        #[param(AboveZero; example = "100us"; source = "IRN (SIGCOMM 2018)")]
        pub rto_low: Span,
        /// RTO_high: the timeout while more than `rto_low_packets` packets are in flight.
        #[param(AboveZero; example = "320us"; source = "IRN (SIGCOMM 2018)")]
        pub rto: Span,
        /// Largest number of packets in flight with which RTO_low applies (N in the IRN paper).
        #[param(any; example = 3; source = "IRN (SIGCOMM 2018)")]
        pub rto_low_packets: u32,
        /// Whether a timeout declares lost all packets in flight that are not SACKed. If not, it declares lost only
        /// the lowest packet in flight and all packets below a SACKed packet, as the rule is worded.
        #[param(any; example = true;
            source = "unspecified; otherwise each packet of a lost tail waits for a timeout of its own")]
        pub timeout_takes_all: bool,
        /// Whether the SACK that begins a recovery declares lost all packets in flight that are not SACKed, as in
        /// simulators derived from ConWeave's. If not, it declares lost only packets below a SACKed packet (DCP,
        /// section 2.2).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[param(any; example = true; source = "the simulator published with ConWeave"; default = false)]
        pub sack_takes_all: bool,
        /// Least time between two CNPs for a queue pair. With 0, there are no CNPs: every marked packet is acknowledged
        /// immediately, and the ACK echoes the mark.
        #[param(any; example = "50us"; source = "DCQCN (SIGCOMM 2015), section 3.1: at most one CNP in 50 us")]
        pub cnp_interval: Span,
    }
}
