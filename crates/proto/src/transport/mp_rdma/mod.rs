//! The `mp-rdma` transport: MP-RDMA ("Multi-Path Transport for RDMA in Datacenters", NSDI 2018), as in DCP's comparison
//! (DCP, sections 3, 6.2 and 6.3).
//!
//! The receiver acknowledges every packet individually, on the same path. It tracks out-of-order packets in a small
//! bitmap, and answers packets beyond the bitmap with a NACK. Each ACK clocks out up to two packets on its path, if
//! the window allows them (multi-path ACK clocking). The ACK of a packet that arrived too late clocks out no packet
//! (out-of-order aware path selection). A NACK or a timeout makes the sender restart at the lowest unacknowledged
//! packet (go-back-N; DCP, section 3). PFC keeps the network lossless, and there is no DCQCN.
//!
//! The congestion control `mp-rdma` has the window, and the load balancer `mp-rdma` chooses the paths. This transport
//! determines how many packets an ACK clocks out, and reports the ACK to the balancer once for each of these packets.
//! It ignores the rate of a congestion control.
//!
//! The text of the paper was not available, so that no section of it is cited. The code follows the abstract of the
//! paper, later papers, and three public simulations where they agree. Where these sources differ or are silent, the
//! code says so. The paper's third mechanism, `synchronise`, which orders writes to memory, is left out, since
//! messages are delivered in order here.

mod config;
mod receiver;
mod sender;

use crate::cc::AnyCc;
use crate::lb::AnyLb;
use crate::transport::{
    AnyReceiver, AnySender, Ends, SenderCounter, TransportProperties, framing_and_rto, whole_packets,
};
use crate::{PathFacts, StateField};

pub use config::MpRdmaConfig;
pub use receiver::MpRdmaReceiver;
pub use sender::MpRdmaSender;

impl TransportProperties for MpRdmaConfig {
    fn build_sender(&self, ends: Ends, facts: &PathFacts, cc: AnyCc, lb: AnyLb) -> AnySender {
        AnySender::MpRdma(MpRdmaSender::new(self, facts, ends, cc, lb))
    }

    fn build_receiver(&self, ends: Ends, _facts: &PathFacts) -> AnyReceiver {
        AnyReceiver::MpRdma(MpRdmaReceiver::new(self, ends))
    }

    framing_and_rto!();

    fn tracking(&self, _packets: u32) -> Vec<StateField> {
        // The receiver has two bits for each of L packets, however many are in flight.
        let counters = ["inflate", "highest", "recovery"].map(|name| StateField::new(name, 24, 1));
        let mut fields = vec![StateField::new("bitmap", 2, self.bitmap)];
        fields.extend(counters);
        fields
    }

    fn packets_in_window(&self, window: u64, packet: u64) -> u64 {
        whole_packets(window, packet)
    }

    /// ACKs clock out packets, so that there is no pacing.
    fn paces(&self) -> bool {
        false
    }

    fn counters(&self) -> &'static [SenderCounter] {
        &[SenderCounter::Nacks]
    }
}
