//! The `rnic-sr` transport: the selective repeat of commodity RDMA NICs, as Themis-spraying describes it
//! (section 2.3).
//!
//! The receiver places packets in any order and takes the first out-of-order packet for a sign of loss: one NACK per
//! ePSN. The sender answers a NACK with two packets. Losses that the NACKs do not repair wait for the timeout. A NIC
//! that ignores NACKs has only the timeout (section 2.2). DCQCN's notification point is in the receiver.

mod config;
mod receiver;
mod sender;

use crate::cc::AnyCc;
use crate::lb::AnyLb;
use crate::transport::{AnyReceiver, AnySender, Ends, Framing, SenderCounter, TransportProperties, bitmap};
use crate::{PathFacts, Size, Span, StateField};

pub use config::RnicSrConfig;
pub use receiver::RnicSrReceiver;
pub use sender::RnicSrSender;

impl TransportProperties for RnicSrConfig {
    fn build_sender_with_seed(
        &self,
        ends: Ends,
        facts: &PathFacts,
        cc: AnyCc,
        lb: AnyLb,
        _seed: u64,
    ) -> AnySender {
        AnySender::RnicSr(RnicSrSender::new(self, facts, ends, cc, lb))
    }

    fn build_receiver_with_seed(&self, ends: Ends, facts: &PathFacts, _seed: u64) -> AnyReceiver {
        AnyReceiver::RnicSr(RnicSrReceiver::new(self, facts, ends))
    }

    fn framing(&self) -> Framing {
        Framing { payload: self.payload, header: self.header, ack: self.ack }
    }

    fn rto(&self) -> Span {
        self.rto
    }

    fn tracking(&self, packets: u32) -> Vec<StateField> {
        vec![bitmap("received", packets), StateField::new("missing", 24, 1), StateField::new("latest", 24, 1)]
    }

    fn ack_every(&self) -> u32 {
        self.ack_every.max(1)
    }

    fn window(&self) -> Option<(Size, &'static str)> {
        Some((Size::Packets(self.window_packets.into()), "transport.window_packets"))
    }

    fn counters(&self) -> &'static [SenderCounter] {
        &[SenderCounter::Nacks]
    }
}
