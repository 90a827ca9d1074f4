//! Values that tests of several transports and congestion controls share: two hosts, a queue pair, and the facts of a
//! fabric.

use anabranch_base::{Bytes, Duration, HostId, MessageId, QpId, Rate, Time};
use anabranch_proto::PathFacts;
use anabranch_proto::cc::{LossCause, LossReport};
use anabranch_proto::transport::Ends;

pub const ENDS: Ends = Ends { qp: QpId(3), src: HostId(1), dst: HostId(2) };

/// A path with a base RTT of 8 us and 100 Gb/s, for packets of `packet` bytes.
pub const fn facts(packet: u64) -> PathFacts {
    PathFacts {
        base_rtt: Duration::from_us(8),
        bdp: Bytes(100_000),
        packet: Bytes(packet),
        line_rate: Rate::from_gbps(100),
        port_rate: Rate::from_gbps(100),
        queue: Bytes(1_000_000),
    }
}

/// The path of [`facts`] with four times its BDP, so that parameters in BDPs rarely limit.
pub const fn wide_facts(packet: u64) -> PathFacts {
    PathFacts { bdp: Bytes(400_000), ..facts(packet) }
}

pub fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

pub fn ids(messages: impl IntoIterator<Item = MessageId>) -> Vec<u32> {
    messages.into_iter().map(|message| message.0).collect()
}

/// A loss without details, for congestion controls that need none.
pub fn loss(now: Time) -> LossReport {
    LossReport { now, bytes: 0, cause: LossCause::Inferred, rtt: None, in_flight: 0 }
}
