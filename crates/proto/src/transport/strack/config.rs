//! The parameters.

use crate::Span;
use anabranch_base::{AboveZero, Bytes, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of the `strack` transport.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct StrackConfig {
        /// Payload of a full packet.
        #[param(Bytes(1)..=Bytes(65_535); example = "4086B"; source = "STrack, section 4.2: an MTU of 4 KB")]
        pub payload: Bytes,
        /// Headers of a data packet, and the size of a probe.
        #[param(Bytes(1)..=Bytes(65_534); example = "64B"; source = "htsim")]
        pub header: Bytes,
        /// Size of a SACK.
        #[param(Bytes(1)..=Bytes(65_535); example = "64B"; source = "htsim")]
        pub ack: Bytes,
        /// A SACK once this many bytes (on the wire) have arrived since the last one.
        #[param(AboveZero; example = "16KiB"; source = "unspecified in STrack, section 3.3.1; htsim")]
        pub sack_bytes: Bytes,
        /// Least number of out-of-order packets from which a loss is inferred (min_threshold).
        #[param(1..=4_095; example = 5; source = "STrack, section 3.3.2")]
        pub min_threshold: u32,
        /// A probe is sent after this long without a SACK.
        #[param(AboveZero; example = "3rtt"; source = "STrack, section 3.3.2 and Algorithm 1, line 9")]
        pub probe_after: Span,
        /// A probe's SACK that comes back within this time means loss, not queueing.
        #[param(AboveZero; example = "3rtt"; source = "STrack, Algorithm 1, line 10")]
        pub probe_rtt: Span,
        /// When a probe's SACK indicates loss: true declares lost every unacknowledged packet that was sent before the
        /// probe, which also recovers a lost tail without a timeout; false only those below the highest received PSN,
        /// as in OOO-based detection.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[param(any; example = true; source = "false: STrack, section 3.3.2"; default = false)]
        pub probe_takes_all: bool,
        /// Retransmission timeout: after this long without progress of the ePSN all unacknowledged packets are declared
        /// lost.
        #[param(AboveZero; example = "250us"; source = "STrack, section 3.3.2: hundreds of microseconds")]
        pub rto: Span,
    }
}
