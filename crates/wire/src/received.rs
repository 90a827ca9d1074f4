//! The result of reading a packet.

use crate::link::Route;
use anabranch_proto::Packet;
use anabranch_proto::transport::dcp_reception::Reth;

/// A packet that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<'a> {
    /// The packet. With only the headers of RoCEv2 (`Headers::InOrder`, `Headers::Direct`), the times of data, trimmed
    /// packets, ACKs and NACKs are 0. Each data packet then counts as the only packet of message 0. NICs with these
    /// headers keep times and messages as their own state. The time of a trimmed DCP packet is 0 too. With the headers
    /// of Ultra Ethernet (`Headers::Uet`) times are 0, message numbers have 16 bits, each message counts as one
    /// packet, the credit targets of requests have 24 bits, and received bytes are whole units of 256. With the
    /// headers of MRC (`Headers::Mrc`), each message counts as one packet, and received bytes are whole units of 256.
    pub packet: Packet,
    /// The addresses of the packet.
    pub route: Route,
    /// The payload. Empty unless the packet is a data packet.
    pub payload: &'a [u8],
    /// The offset of the payload in the frame.
    pub payload_at: usize,
    /// The offset in the message at which the payload belongs. It is `None` for packets other than data, and for data
    /// whose headers have no field for it, such as those of MRC or those of RoCEv2 alone. In these formats, `reth` has
    /// an address, or packets come in order.
    pub offset: Option<u32>,
    /// The RETH, if the packet has one. It is `None` for trimmed packets of MRC. With the headers of Ultra Ethernet,
    /// this field has the address, the key and the length of the whole message.
    pub reth: Option<Reth>,
}
