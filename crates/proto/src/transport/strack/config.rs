//! What can be set.

use crate::Span;
use anabranch_base::Bytes;
use serde::{Deserialize, Serialize};

/// Parameters of the `strack` transport.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StrackConfig {
    /// Payload of a full packet.
    pub payload: Bytes,
    /// Headers of a data packet, and the size of a probe.
    pub header: Bytes,
    /// Size of a SACK.
    pub ack: Bytes,
    /// A SACK once this many bytes (on the wire) have arrived since the last one.
    pub sack_bytes: Bytes,
    /// Losses are inferred from no fewer out-of-order packets than this (min_threshold).
    pub min_threshold: u32,
    /// A probe is sent after this long without a SACK.
    pub probe_after: Span,
    /// A probe's SACK that comes back within this time means loss, not queueing.
    pub probe_rtt: Span,
    /// Without a higher ePSN for this long everything unacknowledged is lost.
    pub rto: Span,
}
