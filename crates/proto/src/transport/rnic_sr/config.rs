//! What can be set.

use crate::Span;
use anabranch_base::Bytes;
use serde::{Deserialize, Serialize};

/// Parameters of the `rnic-sr` transport, with DCQCN's notification point in its receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RnicSrConfig {
    /// Payload of a full packet.
    pub payload: Bytes,
    /// Headers of a data packet.
    pub header: Bytes,
    /// Size of an ACK, NACK or CNP.
    pub ack: Bytes,
    /// An ACK for every n packets by which the ePSN advances (and for the last one of a message, and a duplicate).
    pub ack_every: u32,
    /// The transmit window: packets from the lowest unacknowledged one on that may have been sent.
    pub window_packets: u32,
    /// At most one CNP in this time. 0: none; every marked packet is acknowledged at once and its ACK says so.
    pub cnp_interval: Span,
    /// Without a new acknowledgement for this long everything unacknowledged is sent again.
    pub rto: Span,
    /// False: a NIC with timeouts alone, which takes no notice of a NACK, not even of what it acknowledges.
    pub hears_nacks: bool,
    /// The queue pair sends nothing for this long from the start of each retransmission that a NACK asked for.
    pub retransmission_block: Span,
}
