//! The interface between a transport and its driver.

use crate::interface::interface;
use crate::lb::AnyLb;
use crate::transport::{AnyReceiver, AnySender, each_receiver, each_sender};
use crate::{IntStack, Packet};
use anabranch_base::{Bytes, HostId, MessageId, QpId, Time};

interface! {
    /// The sending end of a transport, built-in or user-defined. See [`AnySender`] for the
    /// order of calls.
    pub trait Sender: Send for each of AnySender by each_sender {
        /// Queues a message of `bytes` bytes after those already posted.
        ///
        /// # Errors
        /// The queue pair would run out of PSNs.
        fn post(&mut self, message: MessageId, bytes: u64) -> Result<(), OutOfPsns>;
        /// Handles a packet from the receiver.
        fn handle_packet(&mut self, now: Time, packet: &Packet);
        /// Handles the telemetry that switches added to the data packet that an ACK answers. Called right before
        /// [`handle_packet`](Self::handle_packet) for that ACK, which acknowledges every PSN below `cumulative`. Ignored by
        /// transports whose congestion controls use no telemetry.
        fn handle_telemetry(&mut self, cumulative: u32, stack: &IntStack) {
            let _ = (cumulative, stack);
        }
        /// Handles the expiry of the timer.
        fn handle_timeout(&mut self, now: Time);
        /// The time at which [`handle_timeout`](Self::handle_timeout) is due: for a retransmission, a probe or a paced
        /// packet.
        fn next_timeout(&mut self) -> Option<Time>;
        /// The part of [`next_timeout`](Self::next_timeout) that is no timeout: the time at which a packet that waits for
        /// its pacing, or for host memory, is tried again. It is exact even where timers are coarse. Under a transport that
        /// does not implement it, such packets wait for timer ticks as well.
        fn next_pacing(&self) -> Option<Time> {
            None
        }
        /// Handles the time of [`next_pacing`](Self::next_pacing), without any timeout.
        fn handle_pacing(&mut self, now: Time) {
            let _ = now;
        }
        /// Whether [`poll_transmit`](Self::poll_transmit) may return none only because it is too early, so that the driver
        /// must read [`next_timeout`](Self::next_timeout) afterwards.
        fn paces(&self) -> bool {
            false
        }
        /// Its load balancer, if it has one.
        fn load_balancer(&mut self) -> Option<&mut AnyLb> {
            None
        }
        /// The next data packet, if there is one and it may be sent now.
        fn poll_transmit(&mut self, now: Time) -> Option<Packet>;
        /// Whether the NIC must serve this queue pair again after the packet that it just sent, before the other queue
        /// pairs.
        fn holds_turn(&self) -> bool {
            false
        }
        /// Whether a received packet may move [`next_timeout`](Self::next_timeout) to an earlier time, so that the driver
        /// must read it again. Where received packets only postpone it, the driver need not.
        fn advances_timer(&self) -> bool {
            true
        }
        /// The next message that is acknowledged completely.
        fn poll_acknowledged(&mut self) -> Option<MessageId>;
        /// The counters so far.
        fn counters(&self) -> SenderCounters;
    }
}

interface! {
    /// The receiving end of a transport, built-in or user-defined. See [`AnyReceiver`] for
    /// the order of calls.
    pub trait Receiver: Send for each of AnyReceiver by each_receiver {
        /// Handles a received packet; returns the first message that it completes.
        fn handle_packet(&mut self, now: Time, packet: &Packet) -> Option<MessageId>;
        /// The next message that the last packet completed. Where messages are delivered in order, one packet may complete
        /// several.
        fn poll_delivered(&mut self) -> Option<MessageId> {
            None
        }
        /// The next packet to send back.
        fn poll_transmit(&mut self) -> Option<Packet>;
        /// Data packets received for the first time so far, each with new payload for the application: no duplicates, no
        /// discarded packets and no trimmed ones. Once everything is delivered, the number of packets of all messages.
        fn fresh_packets(&self) -> u64;
        /// Whether the receiver joins the queue of the host's pull pacer (`eqds`, and `uet` with credit). Read after each packet and each pull;
        /// true only once until the next [`pull`](Self::pull).
        fn requests_pull(&mut self) -> bool {
            false
        }
        /// The pull, when the pacer serves this receiver; none if nothing is left to pull.
        fn pull(&mut self) -> Option<Pull> {
            None
        }
    }
}

/// The credit that a receiver grants at its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pull {
    /// The packet with the pull.
    pub packet: Packet,
    /// Bytes that it grants, headers included.
    pub bytes: u64,
}

/// The counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Data packets sent again.
    pub retransmissions: u64,
    /// Packets that timed out.
    pub timeouts: u64,
    /// NACKs received, outdated ones included (`rnic-sr`).
    pub nacks: u64,
    /// Batches of retransmissions fetched from host memory (`dcp`).
    pub fetches: u64,
}

/// A queue pair has used all its PSNs, or all its MSNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a queue pair carries at most 2^32 packets, and with the transport dcp 2^24 requests")]
pub struct OutOfPsns;

/// The identity of a queue pair, known at both ends.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// The queue pair.
    pub qp: QpId,
    /// The sending host.
    pub src: HostId,
    /// The receiving host.
    pub dst: HostId,
}

/// The sizes of packets into which a transport divides messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Payload of a full packet.
    pub payload: Bytes,
    /// Headers of a data packet.
    pub header: Bytes,
    /// Size of an ACK.
    pub ack: Bytes,
}

/// The capacity of a queue pair before its sequence numbers run out ([`OutOfPsns`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberSpace {
    /// Number of PSNs: the most data packets.
    pub packets: u64,
    /// For transports that number requests too: the number of MSNs, and the most packets of a request. A longer message
    /// is sent as several requests.
    pub requests: Option<(u64, u64)>,
}

impl NumberSpace {
    /// A number space with PSNs only.
    pub(in crate::transport) fn of_packets(packets: u64) -> NumberSpace {
        NumberSpace { packets, requests: None }
    }

    /// Requests as which a message of `packets` packets is sent; 1 for transports without request numbers.
    pub fn requests_of(&self, packets: u64) -> u64 {
        self.requests.map_or(1, |(_, largest)| packets.div_ceil(largest))
    }
}
