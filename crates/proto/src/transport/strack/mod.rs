//! The `strack` transport: out-of-order delivery, coalesced selective acknowledgement and three kinds of loss detection
//! (STrack, section 3.3).
//!
//! The receiver sends a SACK when enough bytes have arrived, when the ePSN advances, and on request. A SACK has a
//! bitmap of 64 PSNs. It also has two counts: of the received bytes, and of the packets since the ePSN last advanced.
//! From these counts the sender derives the bytes in flight and the losses.

mod config;
mod receiver;
mod sender;

use crate::cc::AnyCc;
use crate::lb::AnyLb;
use crate::transport::common::MAX_SPAN;
use crate::transport::{
    AnyReceiver, AnySender, Ends, Headers, NumberSpace, TransportProperties, bitmap, framing_and_rto,
    whole_packets,
};
use crate::{Conflict, PathFacts, Span, StateField};
use std::cmp::Ordering;

pub use config::StrackConfig;
pub use receiver::StrackReceiver;
pub use sender::StrackSender;

impl TransportProperties for StrackConfig {
    fn build_sender(&self, ends: Ends, facts: &PathFacts, cc: AnyCc, lb: AnyLb) -> AnySender {
        AnySender::Strack(StrackSender::new(self, facts, ends, cc, lb))
    }

    fn build_receiver(&self, ends: Ends, _facts: &PathFacts) -> AnyReceiver {
        AnyReceiver::Strack(StrackReceiver::new(self, ends))
    }

    framing_and_rto!();

    fn headers(&self) -> Headers {
        Headers::Strack
    }

    fn tracking(&self, packets: u32) -> Vec<StateField> {
        vec![bitmap("received", packets), bitmap("acknowledged", packets), bitmap("lost", packets)]
    }

    /// More than `MAX_SPAN` PSNs below 2^32 stay unused, so that the PSNs in flight never wrap.
    fn number_space(&self, _window: u64) -> NumberSpace {
        NumberSpace::of_packets(u64::from(u32::MAX) - u64::from(MAX_SPAN) - 1)
    }

    fn packets_in_window(&self, window: u64, packet: u64) -> u64 {
        whole_packets(window, packet)
    }

    fn timeouts(&self) -> Vec<(&'static str, Span)> {
        vec![("transport.rto", self.rto), ("transport.probe_after", self.probe_after)]
    }

    /// Only the SACK of the latest probe counts, and the next probe is due after `probe_after`. Times in different
    /// units have no order before the fabric is known.
    fn check_together(&self) -> Result<(), Conflict> {
        if self.probe_rtt.partial_cmp(&self.probe_after) != Some(Ordering::Greater) {
            return Ok(());
        }
        let message = "transport.probe_rtt is above transport.probe_after: a SACK that takes longer than probe_after \
                       never counts, as the next probe has been sent by then";
        let most = format!("\"{}\"", self.probe_after);
        Err(Conflict::value("transport.probe_rtt".to_owned(), message.to_owned(), most)
            .involving("transport.probe_after"))
    }
}
