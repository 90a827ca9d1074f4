//! Both ends of `irn`, call by call: the IRN paper's rules (section 3), as DCP retells them (section 2.2).

mod receiver;
mod sender;

use anabranch_base::{Bytes, Duration, HostId, MessageId, QpId, Rate, Time};
use anabranch_proto::transport::{Ends, IrnConfig};
use anabranch_proto::{PathFacts, Repr, Size, Span};

const ENDS: Ends = Ends { qp: QpId(3), src: HostId(1), dst: HostId(2) };
const ACK: u16 = 64;

const FACTS: PathFacts = PathFacts {
    base_rtt: Duration::from_us(8),
    bdp: Bytes(100_000),
    packet: Bytes(1_000),
    line_rate: Rate::from_gbps(100),
};

/// Packets of 1,000 B, 64 of them headers; an ACK a packet; a BDP of 100 packets; the timeouts of the IRN paper.
fn config() -> IrnConfig {
    IrnConfig {
        payload: Bytes(936),
        header: Bytes(64),
        ack: Bytes(64),
        ack_every: 1,
        window: Size::Bdp(1.0),
        rto_low: Span::Time(Duration::from_us(100)),
        rto: Span::Time(Duration::from_us(320)),
        rto_low_packets: 3,
        timeout_takes_all: false,
        cnp_interval: Span::Time(Duration::from_us(50)),
    }
}

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

fn ids(messages: impl IntoIterator<Item = MessageId>) -> Vec<u32> {
    messages.into_iter().map(|message| message.0).collect()
}

/// Packet `psn` arrived, and then the ePSN is `cumulative`.
fn ack(cumulative: u32, psn: u32) -> Repr {
    Repr::ack(cumulative).with_received(psn, 1)
}
