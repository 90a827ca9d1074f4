//! Congestion controls and load balancers run fixed scripts, and the results are tables that can be checked by hand.
//!
//! A change of a table changes published results, so read the paper before accepting it.

mod congestion_control;
mod load_balancing;

use anabranch_base::{Bytes, Duration, Rate};
use anabranch_proto::PathFacts;

const FACTS: PathFacts = PathFacts {
    base_rtt: Duration::from_us(8),
    bdp: Bytes(8_000),
    packet: Bytes(1_000),
    line_rate: Rate::from_gbps(8),
    port_rate: Rate::from_gbps(8),
    queue: Bytes(1_000_000),
};
