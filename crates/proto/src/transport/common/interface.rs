//! The interface between a transport and the code that drives it.

use super::payload_range::PayloadRange;
use crate::interface::interface;
use crate::lb::{AnyLb, NicPorts};
use crate::transport::{AnyReceiver, AnySender, each_receiver, each_sender};
use crate::{IntStack, Packet};
use anabranch_base::{Bytes, HostId, MessageId, QpId, Time};

interface! {
    /// The sender of a transport, built-in or user-defined. See [`AnySender`] for the order of calls.
    pub trait Sender: Send for each of AnySender by each_sender {
        /// Queues a message of `bytes` bytes after those already posted.
        ///
        /// # Errors
        /// The queue pair would run out of PSNs, or with `dcp` of MSNs.
        fn post(&mut self, message: MessageId, bytes: u64) -> Result<(), OutOfPsns>;
        /// Handles a packet from the receiver.
        fn handle_packet(&mut self, now: Time, packet: &Packet);
        /// Handles the telemetry that switches added to the data packet that an ACK answers. This is called right
        /// before [`handle_packet`](Self::handle_packet) for that ACK, which acknowledges every PSN below
        /// `cumulative`. By default the telemetry is ignored.
        fn handle_telemetry(&mut self, cumulative: u32, stack: &IntStack) {
            let _ = (cumulative, stack);
        }
        /// Handles the expiry of the timer.
        fn handle_timeout(&mut self, now: Time);
        /// The time at which [`handle_timeout`](Self::handle_timeout) is due, for example for a retransmission, a
        /// probe or a paced packet.
        fn next_timeout(&mut self) -> Option<Time>;
        /// The part of [`next_timeout`](Self::next_timeout) that is not a timeout: the time at which a packet that
        /// waits for its pacing, for host memory or for a blocked transmit path is tried again. It is exact even if
        /// the timers are coarse. Under a transport that does not implement this method, such packets wait for timer
        /// ticks.
        fn next_pacing(&self) -> Option<Time> {
            None
        }
        /// Does only the part of [`handle_timeout`](Self::handle_timeout) that is due at
        /// [`next_pacing`](Self::next_pacing).
        fn handle_pacing(&mut self, now: Time) {
            let _ = now;
        }
        /// Whether [`poll_transmit`](Self::poll_transmit) may return None although a packet is waiting for its time. If
        /// so, the driver must read [`next_timeout`](Self::next_timeout) after each None.
        fn paces(&self) -> bool {
            false
        }
        /// The load balancer of the sender, if it has one.
        fn load_balancer(&mut self) -> Option<&mut AnyLb> {
            None
        }
        /// The next packet to the receiver, if there is one and it may be sent now.
        fn poll_transmit(&mut self, now: Time) -> Option<Packet>;
        /// The payload of the data packet with this PSN. None if the PSN belongs to no posted message, or if its
        /// message (with `dcp`, its request) is acknowledged completely and no longer known. If a transport does not
        /// implement this method, the result is always None, and a driver cannot place payloads.
        fn payload_range(&self, psn: u32) -> Option<PayloadRange> {
            let _ = psn;
            None
        }
        /// Whether the NIC must serve this queue pair again after the packet that was just sent, before it serves other
        /// queue pairs.
        fn holds_turn(&self) -> bool {
            false
        }
        /// Whether a received packet may move [`next_timeout`](Self::next_timeout) to an earlier time. If so, the
        /// driver must read the timeout again after each received packet.
        fn advances_timer(&self) -> bool {
            true
        }
        /// The next message that has been acknowledged completely.
        fn poll_acknowledged(&mut self) -> Option<MessageId>;
        /// The counters so far.
        fn counters(&self) -> SenderCounters;
    }
}

interface! {
    /// The receiver of a transport, built-in or user-defined. See [`AnyReceiver`] for the order of calls.
    pub trait Receiver: Send for each of AnyReceiver by each_receiver {
        /// Handles a received packet, and returns the first message that the packet completes.
        fn handle_packet(&mut self, now: Time, packet: &Packet) -> Option<MessageId>;
        /// Whether [`see_ports`](Self::see_ports) has an effect.
        fn watches_ports(&self) -> bool {
            false
        }
        /// Tells the receiver the ports of its NIC, before [`handle_packet`](Self::handle_packet). This is called
        /// only if the NIC has several ports and the receiver [`watches_ports`](Self::watches_ports).
        fn see_ports(&mut self, ports: NicPorts) {
            let _ = ports;
        }
        /// The next message that the last packet completed. If messages are delivered in order, one packet may complete
        /// several.
        fn poll_delivered(&mut self) -> Option<MessageId> {
            None
        }
        /// The next packet to send back.
        fn poll_transmit(&mut self) -> Option<Packet>;
        /// The number of data packets received for the first time so far. Duplicates, discarded packets and trimmed
        /// packets do not count. Once everything is delivered, it is the number of packets of all messages.
        fn fresh_packets(&self) -> u64;
        /// Whether the receiver joins the queue of the host's pull pacer (`eqds`, and `uet` with credit). The driver
        /// calls this method after each packet and each pull. The result is true at most once before the next
        /// [`pull`](Self::pull).
        fn requests_pull(&mut self) -> bool {
            false
        }
        /// The pull packet, when the pacer serves this receiver. None if nothing is left to pull.
        fn pull(&mut self) -> Option<Pull> {
            None
        }
    }
}

/// The credit that a receiver grants when the pull pacer serves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pull {
    /// The packet with the pull.
    pub packet: Packet,
    /// Bytes that the pull grants, headers included.
    pub bytes: u64,
}

/// The counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Data packets that were sent again.
    pub retransmissions: u64,
    /// Timeouts. Transports with a timer for each packet (`sack`, `eqds`, `uet` and `mrc`) count the packets that
    /// timed out. The others count the timeouts of the queue pair.
    pub timeouts: u64,
    /// Under `rnic-sr` and `mp-rdma`, the NACKs that were handled, including outdated NACKs. Under `uet` and `mrc`,
    /// the NACKs that declared a packet lost. Other transports do not count NACKs.
    pub nacks: u64,
    /// Batches of retransmissions that were fetched from host memory (`dcp`).
    pub fetches: u64,
}

/// The remaining PSNs or MSNs of a queue pair do not suffice for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a queue pair carries at most 2^32 packets, and with the transport dcp 2^24 requests")]
pub struct OutOfPsns;

/// The identity of a queue pair, which both its hosts know.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// The queue pair.
    pub qp: QpId,
    /// The sending host.
    pub src: HostId,
    /// The receiving host.
    pub dst: HostId,
}

/// The sizes of a transport's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Payload of a full packet.
    pub payload: Bytes,
    /// Headers of a data packet.
    pub header: Bytes,
    /// Size of an ACK.
    pub ack: Bytes,
}

/// The headers of a transport's packets. The crate `anabranch-wire` encodes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headers {
    /// RoCEv2 with Writes of several packets, of which only the first has a RETH. The receiver therefore accepts
    /// packets only in the order of their PSNs.
    InOrder,
    /// RoCEv2 in which each packet is a Write of its own with a RETH, so that packets can be placed in any order
    /// (Themis-spraying, section 2.2).
    Direct,
    /// The headers of [`Direct`](Self::Direct), followed by an extension header with the fields that RoCEv2 lacks.
    Extended,
    /// The headers of [`Extended`](Self::Extended), with IRN's acknowledgements: the ePSN, and the PSN of the packet
    /// that caused the acknowledgement.
    Irn,
    /// The headers of [`Extended`](Self::Extended), with STrack's acknowledgements (STrack, figure 7).
    Strack,
    /// The headers of DCP (DCP, figure 4).
    Dcp,
    /// RoCEv2 with the headers of MRC (OCP 1.0): METH and TSETH in data packets, SETH in SACKs.
    Mrc,
    /// The headers of Ultra Ethernet's packet delivery and semantic sublayers (UE Specification 1.0), without a BTH.
    Uet {
        /// Whether data packets carry the target of receivers' credit (RCCC).
        credit: bool,
    },
}

/// The capacity of a queue pair before its sequence numbers run out ([`OutOfPsns`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberSpace {
    /// Number of PSNs, which limits the data packets.
    pub packets: u64,
    /// The number of MSNs, and the least number of packets in a request that is not the last of its message. None for
    /// transports that do not number requests.
    pub requests: Option<(u64, u64)>,
    /// Number of bytes on the wire for which the numbers of pulls suffice. None for transports whose pulls do not count
    /// bytes.
    pub pulled_bytes: Option<u64>,
}

impl NumberSpace {
    /// A number space with PSNs only.
    pub(in crate::transport) fn of_packets(packets: u64) -> NumberSpace {
        NumberSpace { packets, requests: None, pulled_bytes: None }
    }

    /// An upper bound on the number of requests into which a message of `packets` packets is split. It is 1 for
    /// transports without request numbers.
    pub fn requests_of(&self, packets: u64) -> u64 {
        self.requests.map_or(1, |(_, largest)| packets.div_ceil(largest))
    }
}
