//! What can be set.

use crate::Span;
use anabranch_base::Bytes;
use serde::{Deserialize, Serialize};

/// Parameters of the `sack` transport.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SackConfig {
    /// Payload of a full packet.
    pub payload: Bytes,
    /// Headers of a data packet, and the size of a trimmed one.
    pub header: Bytes,
    /// Size of an ACK or NACK.
    pub ack: Bytes,
    /// An ACK for every n-th packet (and for the last one of a message, a marked one and a duplicate).
    pub ack_every: u32,
    /// A packet that is not acknowledged this long after it was sent is sent again.
    pub rto: Span,
}
