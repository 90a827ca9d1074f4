//! The `eqds` transport: EQDS (NSDI 2022), in which the receiving host pulls packets.
//!
//! Reliability is that of `sack`: delivery in any order, selective acknowledgement, and one timeout per packet. In
//! addition a packet needs credit, which the receiver grants in pull packets. Every receiving host paces its pulls at
//! `pull_rate` and distributes them round robin ([`PullPacer`]). A new sender has a window of speculative credit, and
//! the first ACK or NACK cancels the rest of this credit. Data packets carry a target, which is the number of the
//! last pull for which the sender has data. The target exceeds the number of the last pull that arrived by at most a
//! window. A sender without credit sends its target in a request to send (RTS), and repeats the RTS after each RTO
//! without an answer.
//!
//! The numbers of pulls and targets are cumulative, so that a later packet compensates for the loss of an earlier one.
//! Credit is counted in packets, while EQDS counts bytes. A short last packet therefore costs as much as a full one.
//!
//! An RTS that is repeated after an RTO takes the next entropy value. The pulls of a receiver take the next entropy
//! value when an RTS shows that the last pull has not arrived, because it was lost or is under way. A dead link on the
//! path of RTSs or pulls therefore costs RTOs. In htsim, an RTS takes the next value of the sender's balancer. All
//! pulls have the same value there, since the counter that should rotate the value does not advance.

mod config;
mod pacer;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

use crate::cc::AnyCc;
use crate::lb::AnyLb;
use crate::transport::common::MAX_SPAN;
use crate::transport::{
    AnyReceiver, AnySender, Ends, NumberSpace, TransportProperties, bitmap, framing_and_rto, sent_at,
};
use crate::{PathFacts, StateField};

pub use config::EqdsConfig;
pub(super) use pacer::PULL_EVS;
pub use pacer::PullPacer;
pub use receiver::EqdsReceiver;
pub use sender::EqdsSender;

impl TransportProperties for EqdsConfig {
    fn build_sender(&self, ends: Ends, facts: &PathFacts, cc: AnyCc, lb: AnyLb) -> AnySender {
        AnySender::Eqds(EqdsSender::new(self, facts, ends, cc, lb))
    }

    fn build_receiver(&self, ends: Ends, _facts: &PathFacts) -> AnyReceiver {
        AnyReceiver::Eqds(EqdsReceiver::new(self, ends))
    }

    framing_and_rto!();

    fn tracking(&self, packets: u32) -> Vec<StateField> {
        let credit = ["granted", "target", "pulled", "told"].map(|name| StateField::new(name, 20, 1));
        let mut fields = vec![bitmap("received", packets), bitmap("acknowledged", packets), sent_at(packets)];
        fields.extend(credit);
        fields
    }

    /// More than `MAX_SPAN` PSNs below 2^32 stay unused, so that the PSNs in flight never wrap.
    fn number_space(&self, _window: u64) -> NumberSpace {
        NumberSpace::of_packets(u64::from(u32::MAX) - u64::from(MAX_SPAN) - 1)
    }

    /// An RTS and the pull that answers it may precede the packet.
    fn round_trips(&self) -> u32 {
        2
    }

    fn pull_pacer(&self, facts: &PathFacts) -> Option<PullPacer> {
        Some(PullPacer::new(self, facts))
    }
}
