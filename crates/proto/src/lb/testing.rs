//! Values that the tests of several balancers share.

use super::Environment;
use crate::PathFacts;
use anabranch_base::{Bytes, Duration, Purpose, Rate, Stream, Time, stream};

pub const RTO: Duration = Duration::from_us(70);

pub fn environment(trimming: bool) -> Environment {
    let facts = PathFacts {
        base_rtt: Duration::from_us(8),
        bdp: Bytes(400_000),
        packet: Bytes(4150),
        line_rate: Rate::from_gbps(400),
        port_rate: Rate::from_gbps(400),
        queue: Bytes(1_000_000),
    };
    Environment { facts, rto: RTO, trimming }
}

/// A stream that is the same in each test.
pub fn random() -> Stream {
    stream(1, 0, Purpose::LoadBalancer)
}

pub fn at(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}
