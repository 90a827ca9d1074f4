//! Tests of the sender and the receiver of `irn`, call by call. The rules are those of the IRN paper (section 3), as
//! the DCP paper describes them (section 2.2).

mod receiver;
mod sender;

use crate::support::{ENDS, facts, ids, us};
use anabranch_base::{Bytes, Duration, MessageId, Rate, Time};
use anabranch_proto::transport::IrnConfig;
use anabranch_proto::{PathFacts, Repr, Size, Span};

const ACK: u16 = 64;

const FACTS: PathFacts = facts(1_000);

/// Packets of 1,000 B, of which 64 B are headers, an ACK per packet, a BDP of 100 packets, and the timeouts of the IRN
/// paper.
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
        sack_takes_all: false,
        cnp_interval: Span::Time(Duration::from_us(50)),
    }
}

/// An ACK for the arrival of `psn`, after which the ePSN is `cumulative`.
fn ack(cumulative: u32, psn: u32) -> Repr {
    Repr::ack(cumulative).with_received(psn, 1)
}
