//! Tests of the sender and the receiver of `rnic-sr`, call by call. The rules are those of commodity NICs, as the
//! Themis-spraying paper describes them (section 2.3).

mod receiver;
mod sender;

use crate::support::{ENDS, ids, us, wide_facts};
use anabranch_base::{Bytes, Duration, MessageId, Rate, Time};
use anabranch_proto::transport::RnicSrConfig;
use anabranch_proto::{PathFacts, Repr, Span};

const ACK: u16 = 64;

const FACTS: PathFacts = wide_facts(1_000);

/// Packets of 1,000 B, of which 64 B are headers, an ACK for every 4 packets, and the window and RTO of the paper.
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

fn ack(cumulative: u32) -> Repr {
    Repr::ack(cumulative)
}

fn nack(psn: u32) -> Repr {
    Repr::nack(psn)
}
