//! What can be set.

use crate::{Span, StateField};
use anabranch_base::Bytes;
use serde::{Deserialize, Serialize};

/// Parameters of the `dcp` transport, with DCQCN's notification point in its receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DcpConfig {
    /// Payload of a full packet.
    pub payload: Bytes,
    /// Headers of a data packet, and what is left of a trimmed one.
    pub header: Bytes,
    /// Size of an ACK or CNP.
    pub ack: Bytes,
    /// Bits of the packet counter of a message, 1 to 31. A longer message goes as several requests.
    pub counter_bits: u32,
    /// Requests from the oldest unacknowledged one on that the receiver tracks; also the WQEs of a turn (n).
    pub tracked_messages: u32,
    /// Payload that a queue pair sends in a turn.
    pub round_quota: Bytes,
    /// Packets to send again that are fetched from host memory at once.
    pub batch: u32,
    /// One round trip over PCIe; a fetch of packets to send again takes two. 0: none.
    pub pcie: Span,
    /// At most one CNP in this time; 0: one for every marked packet.
    pub cnp_interval: Span,
    /// The coarse timeout of the oldest unacknowledged request.
    pub rto: Span,
}

/// Packets of a message that the receiver's counter can hold; longer ones go as several requests.
pub(in crate::transport) fn largest_request(config: &DcpConfig) -> u32 {
    (1 << config.counter_bits.clamp(1, 31)) - 1
}

impl DcpConfig {
    /// The state that hardware keeps for a queue pair, field by field.
    ///
    /// Section 4.5: a counter of 14 bits and two flags make 2 B a message, and 16 B for 8 messages. Table 3 says
    /// 32 B a queue pair. The text names four more fields, whose widths are chosen here (those of the packet's MSN,
    /// and a byte): 24 B in all. Of what the other 8 B are it says nothing; the length of the RetransQ (section 4.3)
    /// and the timer's start may be among them.
    pub fn state(&self) -> Vec<StateField> {
        vec![
            StateField::new("packet counter", self.counter_bits, self.tracked_messages),
            StateField::new("mcf", 1, self.tracked_messages),
            StateField::new("Cf", 1, self.tracked_messages),
            StateField::new("eMSN", 24, 1),
            StateField::new("rRetryNo", 8, 1),
            StateField::new("unaMSN", 24, 1),
            StateField::new("sRetryNo", 8, 1),
        ]
    }
}
