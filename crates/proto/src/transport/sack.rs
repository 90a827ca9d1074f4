//! `sack`: out-of-order delivery, selective acknowledgement, selective retransmission, fixed RTO.
//!
//! This is the transport that the REPS paper assumes (sections 2.1 and 4.1): the receiver places packets in any order,
//! acknowledges them by number and echoes the entropy value of each. The sender retransmits a packet when its timer
//! expires, or at once if the fabric trimmed it.

mod cached_state;
mod config;
mod receiver;
mod sender;

use crate::cc::AnyCc;
use crate::lb::AnyLb;
use crate::transport::common::MAX_SPAN;
use crate::transport::{
    AnyReceiver, AnySender, Ends, Framing, NumberSpace, TransportProperties, bitmap, sent_at,
};
use crate::{PathFacts, Span, StateField};

pub use cached_state::CachedState;
pub use config::{Inherits, SackConfig};
pub use receiver::SackReceiver;
pub use sender::SackSender;

impl TransportProperties for SackConfig {
    fn build_sender_with_seed(
        &self,
        ends: Ends,
        facts: &PathFacts,
        cc: AnyCc,
        lb: AnyLb,
        _seed: u64,
    ) -> AnySender {
        AnySender::Sack(SackSender::new(self, facts, ends, cc, lb))
    }

    fn build_receiver_with_seed(&self, ends: Ends, _facts: &PathFacts, _seed: u64) -> AnyReceiver {
        AnyReceiver::Sack(SackReceiver::new(self, ends))
    }

    fn framing(&self) -> Framing {
        Framing { payload: self.payload, header: self.header, ack: self.ack }
    }

    fn rto(&self) -> Span {
        self.rto
    }

    fn tracking(&self, packets: u32) -> Vec<StateField> {
        vec![bitmap("received", packets), bitmap("acknowledged", packets), sent_at(packets)]
    }

    /// The PSNs in flight must not reach the end of the number space.
    fn number_space(&self, _window: u64) -> NumberSpace {
        NumberSpace::of_packets(u64::from(u32::MAX) - u64::from(MAX_SPAN) - 1)
    }

    fn ack_every(&self) -> u32 {
        self.ack_every.max(1)
    }

    fn inherits(&self) -> Inherits {
        self.inherits
    }
}
