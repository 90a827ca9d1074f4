//! The `rnic-sr` transport: the selective repeat of commodity RDMA NICs, as Themis-spraying describes it (section 2.3).
//!
//! The receiver places packets in any order. It takes the first out-of-order packet for a sign of loss, and sends one
//! NACK per ePSN. The sender answers a NACK with up to two packets. Losses that the NACKs do not repair wait for the
//! timeout. A NIC that ignores NACKs has only the timeout (section 2.2). DCQCN's notification point is in the
//! receiver.

mod config;
mod receiver;
mod sender;

use crate::cc::AnyCc;
use crate::lb::AnyLb;
use crate::transport::{
    AckInterval, AnyReceiver, AnySender, Ends, Headers, SenderCounter, TransportProperties, bitmap,
    framing_and_rto,
};
use crate::{PathFacts, Size, StateField};

pub use config::RnicSrConfig;
pub use receiver::RnicSrReceiver;
pub use sender::RnicSrSender;

impl TransportProperties for RnicSrConfig {
    fn build_sender(&self, ends: Ends, facts: &PathFacts, cc: AnyCc, lb: AnyLb) -> AnySender {
        AnySender::RnicSr(RnicSrSender::new(self, facts, ends, cc, lb))
    }

    fn build_receiver(&self, ends: Ends, facts: &PathFacts) -> AnyReceiver {
        AnyReceiver::RnicSr(RnicSrReceiver::new(self, facts, ends))
    }

    framing_and_rto!();

    fn headers(&self) -> Headers {
        Headers::Direct
    }

    fn tracking(&self, packets: u32) -> Vec<StateField> {
        vec![bitmap("received", packets), StateField::new("missing", 24, 1), StateField::new("latest", 24, 1)]
    }

    fn ack_interval(&self, _window: u64) -> AckInterval {
        AckInterval::of_packets(self.ack_every)
    }

    fn window(&self) -> Option<(Size, &'static str)> {
        Some((Size::Packets(self.window_packets.into()), "transport.window_packets"))
    }

    fn counters(&self) -> &'static [SenderCounter] {
        &[SenderCounter::Nacks]
    }
}
