//! The `rack-tlp` transport: loss detection by time (RFC 8985), as in DCP's comparison (sections 6.3 and 8).
//!
//! The sender knows the time at which it last sent each packet, including retransmissions. From each ACK it learns
//! when the packet that caused the ACK was sent. A packet that was sent earlier is lost once an RTT and a reordering
//! window have passed since its transmission. Packets may therefore overtake each other within the reordering window,
//! and the loss of a retransmission is detected like any other. A probe detects a lost tail, after which nothing was
//! sent. The timeout is the last resort. The receiver is that of `irn`.

mod config;
mod flights;
mod sender;

use crate::cc::AnyCc;
use crate::lb::AnyLb;
use crate::transport::{
    AckInterval, AnyReceiver, AnySender, Ends, Headers, IrnReceiver, TransportProperties, bitmap,
    framing_and_rto, sent_at, whole_packets,
};
use crate::{PathFacts, Size, StateField};

pub use config::RackTlpConfig;
pub use sender::RackTlpSender;

impl TransportProperties for RackTlpConfig {
    fn build_sender(&self, ends: Ends, facts: &PathFacts, cc: AnyCc, lb: AnyLb) -> AnySender {
        AnySender::RackTlp(RackTlpSender::new(self, facts, ends, cc, lb))
    }

    fn build_receiver(&self, ends: Ends, facts: &PathFacts) -> AnyReceiver {
        let cnp_interval = self.cnp_interval.on(facts);
        AnyReceiver::RackTlp(IrnReceiver::new(self.ack, self.ack_every, cnp_interval, ends))
    }

    framing_and_rto!();

    fn headers(&self) -> Headers {
        Headers::Irn
    }

    fn tracking(&self, packets: u32) -> Vec<StateField> {
        vec![
            bitmap("received", packets),
            bitmap("acknowledged", packets),
            bitmap("lost", packets),
            sent_at(packets),
        ]
    }

    fn ack_interval(&self, _window: u64) -> AckInterval {
        AckInterval::of_packets(self.ack_every)
    }

    fn window(&self) -> Option<(Size, &'static str)> {
        Some((self.window, "transport.window"))
    }

    fn packets_in_window(&self, window: u64, packet: u64) -> u64 {
        whole_packets(window, packet)
    }
}
