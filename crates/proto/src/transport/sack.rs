//! The `sack` transport: out-of-order delivery, selective acknowledgement, selective retransmission, and a fixed RTO.
//!
//! This is the transport that the REPS paper assumes (sections 2.1 and 4.1). The receiver places packets in any
//! order, acknowledges them by their PSNs, and echoes entropy values. The sender retransmits a packet when its timer
//! expires, or immediately if the fabric trimmed the packet.

mod cached_state;
mod config;
mod receiver;
mod sender;

use crate::cc::AnyCc;
use crate::lb::AnyLb;
use crate::transport::common::MAX_SPAN;
use crate::transport::{
    AckInterval, AnyReceiver, AnySender, Ends, NumberSpace, TransportProperties, bitmap, framing_and_rto,
    sent_at,
};
use crate::{PathFacts, StateField};

pub use cached_state::CachedState;
pub use config::{Inherits, SackConfig};
pub use receiver::SackReceiver;
pub use sender::SackSender;

impl TransportProperties for SackConfig {
    fn build_sender(&self, ends: Ends, facts: &PathFacts, cc: AnyCc, lb: AnyLb) -> AnySender {
        AnySender::Sack(SackSender::new(self, facts, ends, cc, lb))
    }

    fn build_receiver(&self, ends: Ends, _facts: &PathFacts) -> AnyReceiver {
        AnyReceiver::Sack(SackReceiver::new(self, ends))
    }

    framing_and_rto!();

    fn tracking(&self, packets: u32) -> Vec<StateField> {
        vec![bitmap("received", packets), bitmap("acknowledged", packets), sent_at(packets)]
    }

    /// More than `MAX_SPAN` PSNs below 2^32 stay unused, so that the PSNs in flight never wrap.
    fn number_space(&self, _window: u64) -> NumberSpace {
        NumberSpace::of_packets(u64::from(u32::MAX) - u64::from(MAX_SPAN) - 1)
    }

    fn ack_interval(&self, _window: u64) -> AckInterval {
        AckInterval::of_packets(self.ack_every)
    }

    fn inherits(&self) -> Inherits {
        self.inherits
    }
}
