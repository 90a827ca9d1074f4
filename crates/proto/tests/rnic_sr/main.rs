//! Both ends of `rnic-sr`, call by call: what Themis-spraying says of commodity NICs (section 2.3).

mod receiver;
mod sender;

use anabranch_base::{Bytes, Duration, HostId, MessageId, QpId, Rate, Time};
use anabranch_proto::transport::{Ends, RnicSrConfig};
use anabranch_proto::{PathFacts, Repr, Span};

const ENDS: Ends = Ends { qp: QpId(3), src: HostId(1), dst: HostId(2) };
const ACK: u16 = 64;

const FACTS: PathFacts = PathFacts {
    base_rtt: Duration::from_us(8),
    bdp: Bytes(400_000),
    packet: Bytes(1_000),
    line_rate: Rate::from_gbps(100),
};

/// Packets of 1,000 B, 64 of them headers; ACKs every 4; the window and the RTO of the paper.
fn config() -> RnicSrConfig {
    RnicSrConfig {
        payload: Bytes(936),
        header: Bytes(64),
        ack: Bytes(64),
        ack_every: 4,
        window_packets: 512,
        cnp_interval: Span::Time(Duration::from_us(50)),
        rto: Span::Time(Duration::from_us(4_000)),
        hears_nacks: true,
        retransmission_block: Span::Time(Duration::ZERO),
    }
}

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

fn ids(messages: impl IntoIterator<Item = MessageId>) -> Vec<u32> {
    messages.into_iter().map(|message| message.0).collect()
}

fn ack(cumulative: u32) -> Repr {
    Repr::ack(cumulative)
}

fn nack(psn: u32) -> Repr {
    Repr::nack(psn)
}
