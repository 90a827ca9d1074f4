//! What can be set.

use crate::{Size, Span};
use anabranch_base::Bytes;
use serde::{Deserialize, Serialize};

/// Parameters of the `irn` transport, with DCQCN's notification point in its receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IrnConfig {
    /// Payload of a full packet.
    pub payload: Bytes,
    /// Headers of a data packet.
    pub header: Bytes,
    /// Size of an ACK or CNP.
    pub ack: Bytes,
    /// An ACK for every n packets by which the ePSN advances (and for the last one of a message, a packet out of
    /// order, one that fills a gap, and a duplicate).
    pub ack_every: u32,
    /// BDP-FC: a new packet goes out while its PSN is less than this beyond the lowest unacknowledged one.
    pub window: Size,
    /// RTO_low: the timeout with at most `rto_low_packets` packets in flight, where it is shorter than RTO_high.
    pub rto_low: Span,
    /// RTO_high: the timeout with more.
    pub rto: Span,
    /// N of the IRN paper.
    pub rto_low_packets: u32,
    /// True: a timeout takes for lost whatever is in flight and not SACKed. False: the lowest packet in flight, and
    /// of the others those with a SACKed one above them, which is the letter of the rule.
    pub timeout_takes_all: bool,
    /// At most one CNP in this time. 0: none; every marked packet is acknowledged at once and its ACK says so.
    pub cnp_interval: Span,
}
