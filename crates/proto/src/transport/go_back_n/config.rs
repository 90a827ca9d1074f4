//! The parameters of the `go-back-n` transport.

use crate::Span;
use anabranch_base::{AboveZero, Bytes, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of the `go-back-n` transport, with DCQCN's notification point in its receiver.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct GoBackNConfig {
        /// Number of bytes of payload in a full packet.
        #[param(Bytes(1)..=Bytes(65_535); example = "1000B";
            source = "the ns-3 RDMA simulators: 48 B around 1000 B of payload")]
        pub payload: Bytes,
        /// Size of the headers of a data packet.
        #[param(Bytes(1)..=Bytes(65_534); example = "48B";
            source = "the ns-3 RDMA simulators: 48 B around 1000 B of payload")]
        pub header: Bytes,
        /// Size of an ACK, NACK or CNP.
        #[param(Bytes(1)..=Bytes(65_535); example = "60B"; source = "the ns-3 RDMA simulators")]
        pub ack: Bytes,
        /// Number of in-order packets per ACK. A duplicate is acknowledged in any case. An in-order packet is
        /// acknowledged in any case if it is the last packet of a message, if it requests an ACK, or if it is marked
        /// and `cnp_interval` is 0.
        #[param(1..=65_535; example = 1; source = "the ns-3 RDMA simulators acknowledge each packet")]
        pub ack_every: u32,
        /// Minimum time between two NACKs for the same ePSN. An out-of-order packet that arrives after this time causes
        /// another NACK.
        #[param(AboveZero; example = "500us"; source = "the simulator published with HPCC")]
        pub nack_interval: Span,
        /// Least time between two CNPs for a queue pair. With 0, there are no CNPs: a marked packet that arrives in
        /// order is acknowledged immediately, and the ACK echoes the mark.
        #[param(any; example = "50us"; source = "DCQCN (SIGCOMM 2015), section 3.1: at most one CNP in 50 us")]
        pub cnp_interval: Span,
        /// Whether a mark that arrives less than `cnp_interval` after a CNP causes a CNP later. If so, the first packet
        /// after the interval, marked or not, causes it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[param(any; example = true; source = "unspecified; true: htsim, whose receivers send it when the interval ends";
            default = false)]
        pub trailing_cnp: bool,
        /// Retransmission timeout. If no new acknowledgement arrives for this time, the sender restarts at the lowest
        /// unacknowledged packet (go-back-N).
        #[param(AboveZero; example = "4ms"; source = "the simulator published with ConWeave")]
        pub rto: Span,
    }
}
