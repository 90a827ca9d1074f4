//! The `irn` transport: RoCE with selective acknowledgement and a BDP of packets in flight, after Mittal et al.,
//! "Revisiting Network Support for RDMA" (SIGCOMM 2018), section 3, as DCP describes it (section 2.2).
//!
//! The receiver places packets in any order. It acknowledges an out-of-order packet by a SACK, which carries the PSN of
//! the packet and the ePSN. The sender keeps a bitmap of the SACKed packets. A SACK or a timeout begins a loss
//! recovery, in which the sender retransmits each lost packet once. A packet is declared lost if a higher PSN was
//! SACKed. Reordering therefore costs a spurious retransmission, and the loss of a retransmission costs a timeout.
//! These are the two problems that motivate DCP.

mod config;
mod receiver;
mod sender;

use crate::cc::AnyCc;
use crate::lb::AnyLb;
use crate::transport::{
    AckInterval, AnyReceiver, AnySender, Ends, Headers, TransportProperties, framing_and_rto,
};
use crate::{PathFacts, Size, Span, StateField};

pub use config::IrnConfig;
pub use receiver::IrnReceiver;
pub use sender::IrnSender;

impl TransportProperties for IrnConfig {
    fn build_sender(&self, ends: Ends, facts: &PathFacts, cc: AnyCc, lb: AnyLb) -> AnySender {
        AnySender::Irn(IrnSender::new(self, facts, ends, cc, lb))
    }

    fn build_receiver(&self, ends: Ends, facts: &PathFacts) -> AnyReceiver {
        let cnp_interval = self.cnp_interval.on(facts);
        AnyReceiver::Irn(IrnReceiver::new(self.ack, self.ack_every, cnp_interval, ends))
    }

    framing_and_rto!();

    fn headers(&self) -> Headers {
        Headers::Irn
    }

    /// IRN has five bitmaps (DCP, Table 3).
    fn tracking(&self, packets: u32) -> Vec<StateField> {
        vec![StateField::new("bitmaps", 5, packets)]
    }

    fn ack_interval(&self, _window: u64) -> AckInterval {
        AckInterval::of_packets(self.ack_every)
    }

    fn window(&self) -> Option<(Size, &'static str)> {
        Some((self.window, "transport.window"))
    }

    fn timeouts(&self) -> Vec<(&'static str, Span)> {
        vec![("transport.rto", self.rto), ("transport.rto_low", self.rto_low)]
    }
}
