//! The parameters.

use crate::Span;
use anabranch_base::{AboveZero, Bytes, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of the `go-back-n` transport, with DCQCN's notification point in its receiver.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct GoBackNConfig {
        /// Payload of a full packet.
        #[param(Bytes(1)..=Bytes(65_535); example = "1000B";
            source = "the ns-3 RDMA simulators: 48 B around 1000 B of payload")]
        pub payload: Bytes,
        /// Headers of a data packet.
        #[param(Bytes(1)..=Bytes(65_534); example = "48B";
            source = "the ns-3 RDMA simulators: 48 B around 1000 B of payload")]
        pub header: Bytes,
        /// Size of an ACK, NACK or CNP.
        #[param(Bytes(1)..=Bytes(65_535); example = "60B"; source = "the ns-3 RDMA simulators")]
        pub ack: Bytes,
        /// An ACK for every n-th packet that arrives in order (and for the last one of a message).
        #[param(1..=65_535; example = 1; source = "the ns-3 RDMA simulators acknowledge each packet")]
        pub ack_every: u32,
        /// Minimum time between two NACKs for the same ePSN: an out-of-order packet that arrives later than this after
        /// the last NACK causes another one.
        #[param(AboveZero; example = "500us"; source = "the simulator published with HPCC")]
        pub nack_interval: Span,
        /// At most one CNP per queue pair in this time. 0: no CNPs; a marked packet is acknowledged at once, with the
        /// mark echoed in the ACK.
        #[param(any; example = "50us"; source = "DCQCN (SIGCOMM 2015), section 3.1: at most one CNP in 50 us")]
        pub cnp_interval: Span,
        /// A mark that arrives less than `cnp_interval` after a CNP is remembered: the first packet after the interval,
        /// marked or not, causes a CNP.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[param(any; example = true; source = "unspecified; true: htsim, whose receivers send it when the interval ends";
            default = false)]
        pub trailing_cnp: bool,
        /// Retransmission timeout: after this long without a new acknowledgement the sender restarts at the lowest
        /// unacknowledged packet (go-back-N).
        #[param(AboveZero; example = "4ms"; source = "the simulator published with ConWeave")]
        pub rto: Span,
    }
}
