//! What can be set.

use crate::Span;
use anabranch_base::Bytes;
use serde::{Deserialize, Serialize};

/// Parameters of the `mp-rdma` transport.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MpRdmaConfig {
    /// Payload of a full packet.
    pub payload: Bytes,
    /// Headers of a data packet.
    pub header: Bytes,
    /// Size of an ACK or NACK.
    pub ack: Bytes,
    /// A path is slow when the packet that an ACK names lies further than this behind the highest that any ACK named
    /// (Delta; 32 in simulations of it).
    pub delta: u32,
    /// Packets from the ePSN on that the receiver has room for (L; 64 in simulations of it).
    pub bitmap: u32,
    /// A queue pair that had nothing on its way for this long starts anew, with the window of the start.
    pub restart_after: Span,
    /// Without a new cumulative acknowledgement for this long the sender goes back. The paper's is unknown.
    pub rto: Span,
}
