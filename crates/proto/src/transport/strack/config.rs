//! The parameters of the `strack` transport.

use crate::Span;
use anabranch_base::{AboveZero, Bytes, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of the `strack` transport.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct StrackConfig {
        /// Number of bytes of payload in a full packet.
        #[param(Bytes(1)..=Bytes(65_535); example = "4086B"; source = "STrack, section 4.2: an MTU of 4 KB")]
        pub payload: Bytes,
        /// Size of the headers of a data packet, which is also the size of a probe.
        #[param(Bytes(1)..=Bytes(65_534); example = "64B"; source = "htsim")]
        pub header: Bytes,
        /// Size of a SACK.
        #[param(Bytes(1)..=Bytes(65_535); example = "64B"; source = "htsim")]
        pub ack: Bytes,
        /// Bytes (on the wire) since the last SACK after which the receiver sends one.
        #[param(AboveZero; example = "16KiB"; source = "unspecified in STrack, section 3.3.1; htsim")]
        pub sack_bytes: Bytes,
        /// OOO-based detection infers a loss only if more than this number of packets have arrived out of order, even
        /// if the window is smaller (min_threshold).
        #[param(1..=4_095; example = 5; source = "STrack, section 3.3.2")]
        pub min_threshold: u32,
        /// Time without a SACK after which the sender sends a probe.
        #[param(AboveZero; example = "3rtt"; source = "STrack, section 3.3.2 and Algorithm 1, line 9")]
        pub probe_after: Span,
        /// Round-trip time of a probe and its SACK below which the SACK means a loss, and not queueing.
        #[param(AboveZero; example = "3rtt"; source = "STrack, Algorithm 1, line 10")]
        pub probe_rtt: Span,
        /// Whether a probe's SACK that indicates a loss declares lost every unacknowledged packet that was sent before
        /// the probe. This also recovers a lost tail without a timeout. If not, only packets below the highest received
        /// PSN are declared lost, as in OOO-based detection.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[param(any; example = true; source = "false: STrack, section 3.3.2"; default = false)]
        pub probe_takes_all: bool,
        /// Retransmission timeout. If the ePSN does not advance for this time, all unacknowledged packets are declared
        /// lost.
        #[param(AboveZero; example = "250us"; source = "STrack, section 3.3.2: hundreds of microseconds")]
        pub rto: Span,
    }
}
