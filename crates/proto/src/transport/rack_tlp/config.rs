//! What can be set.

use crate::{Size, Span};
use anabranch_base::Bytes;
use serde::{Deserialize, Serialize};

/// Parameters of the `rack-tlp` transport, with DCQCN's notification point in its receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RackTlpConfig {
    /// Payload of a full packet.
    pub payload: Bytes,
    /// Headers of a data packet.
    pub header: Bytes,
    /// Size of an ACK or CNP.
    pub ack: Bytes,
    /// An ACK for every n packets by which the ePSN advances (and for the last one of a message, a packet out of
    /// order, one that fills a gap, and a duplicate).
    pub ack_every: u32,
    /// Bytes in flight: sent, and neither acknowledged nor taken for lost.
    pub window: Size,
    /// A packet is lost when one that was sent later is acknowledged and an RTT and this have passed since it was
    /// sent. DCP has "1rtt": its reordering window is an RTT, and a retransmission comes an RTT late.
    pub reo_wnd: Span,
    /// The timeout of last resort.
    pub rto: Span,
    /// At most one CNP in this time. 0: none; every marked packet is acknowledged at once and its ACK says so.
    pub cnp_interval: Span,
}
