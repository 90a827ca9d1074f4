//! What can be set.

use crate::Span;
use anabranch_base::Bytes;
use serde::{Deserialize, Serialize};

/// Parameters of the `go-back-n` transport, with DCQCN's notification point in its receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoBackNConfig {
    /// Payload of a full packet.
    pub payload: Bytes,
    /// Headers of a data packet.
    pub header: Bytes,
    /// Size of an ACK, NACK or CNP.
    pub ack: Bytes,
    /// An ACK for every n-th packet that arrives in order (and for the last one of a message).
    pub ack_every: u32,
    /// A missing PSN is asked for again after this long.
    pub nack_interval: Span,
    /// At most one CNP in this time. 0: none; every marked packet is acknowledged at once and its ACK says so.
    pub cnp_interval: Span,
    /// Without a new acknowledgement for this long the sender goes back.
    pub rto: Span,
}
