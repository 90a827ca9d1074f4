//! The `go-back-n` transport: RoCEv2 as in NICs.
//!
//! The receiver accepts packets in order only. It acknowledges them cumulatively, with one ACK for `ack_every`
//! packets. It answers a gap with a NACK, at most one per `nack_interval` for the same ePSN. The sender then restarts
//! at the missing packet. DCQCN's notification point is in the receiver. The congestion control, for example DCQCN's
//! reaction point, sets the sender's rate, window, or both.

mod config;
mod receiver;
mod sender;

use crate::cc::AnyCc;
use crate::lb::AnyLb;
use crate::transport::{
    AckInterval, AnyReceiver, AnySender, Ends, Headers, TransportProperties, framing_and_rto,
};
use crate::{PathFacts, StateField};

pub use config::GoBackNConfig;
pub use receiver::GoBackNReceiver;
pub use sender::GoBackNSender;

impl TransportProperties for GoBackNConfig {
    fn build_sender(&self, ends: Ends, facts: &PathFacts, cc: AnyCc, lb: AnyLb) -> AnySender {
        AnySender::GoBackN(GoBackNSender::new(self, facts, ends, cc, lb))
    }

    fn build_receiver(&self, ends: Ends, facts: &PathFacts) -> AnyReceiver {
        AnyReceiver::GoBackN(GoBackNReceiver::new(self, facts, ends))
    }

    framing_and_rto!();

    fn tracking(&self, _packets: u32) -> Vec<StateField> {
        Vec::new()
    }

    fn ack_interval(&self, _window: u64) -> AckInterval {
        AckInterval::of_packets(self.ack_every)
    }

    fn forwards_telemetry(&self) -> bool {
        true
    }

    fn headers(&self) -> Headers {
        Headers::InOrder
    }
}
