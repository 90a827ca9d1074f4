//! What every transport is to those that drive it, and what they tell each other.

use crate::{IntStack, Packet};
use anabranch_base::{Bytes, HostId, MessageId, QpId, Time};

/// What the sending end of every transport implements, and of one of your own. See [`AnySender`](crate::transport::AnySender) for the order of calls.
pub trait Sender: Send {
    /// Queues a message of `bytes` bytes behind those already posted.
    ///
    /// # Errors
    /// When the queue pair would run out of PSNs.
    fn post(&mut self, message: MessageId, bytes: u64) -> Result<(), OutOfPsns>;
    /// Processes a packet that the receiver sent.
    fn handle_packet(&mut self, now: Time, packet: &Packet);
    /// Switches told the packet that an ACK answers of their load. Called right before
    /// [`handle_packet`](Self::handle_packet) for that ACK, which acknowledges every PSN below `cumulative`. A transport
    /// whose congestion control cannot ask for it takes no notice.
    fn handle_telemetry(&mut self, cumulative: u32, stack: &IntStack) {
        let _ = (cumulative, stack);
    }
    /// Its timer is due.
    fn handle_timeout(&mut self, now: Time);
    /// When [`handle_timeout`](Self::handle_timeout) is due: for a retransmission, a probe, or a paced packet.
    fn next_timeout(&mut self) -> Option<Time>;
    /// The time in [`next_timeout`](Self::next_timeout) at which a packet that only waits for its time, or for host memory, is
    /// to ask again: no timeout, so that it holds also where timers are coarse. Of one that does not tell it, those
    /// packets wait for ticks as well.
    fn next_pacing(&self) -> Option<Time> {
        None
    }
    /// The time of [`next_pacing`](Self::next_pacing) has come, and no timeout fires.
    fn handle_pacing(&mut self, now: Time) {
        let _ = now;
    }
    /// Whether [`poll_transmit`](Self::poll_transmit) may answer none for want of time alone, so that
    /// [`next_timeout`](Self::next_timeout) is to be asked after it did.
    fn paces(&self) -> bool {
        false
    }
    /// The next data packet, if there is one and it may go out now.
    fn poll_transmit(&mut self, now: Time) -> Option<Packet>;
    /// Whether the NIC is to go on with this queue pair after the packet that it just gave, before it turns to the
    /// others.
    fn holds_turn(&self) -> bool {
        false
    }
    /// Whether a packet that came in may have brought [`next_timeout`](Self::next_timeout) forward, so that it is to be
    /// asked for again. Where packets that come in only put it off, the driver need not.
    fn advances_timer(&self) -> bool {
        true
    }
    /// The next message of which every byte is acknowledged.
    fn poll_acknowledged(&mut self) -> Option<MessageId>;
    /// What it counted so far.
    fn counters(&self) -> SenderCounters;
}

/// What the receiving end of every transport implements, and of one of your own. See [`AnyReceiver`](crate::transport::AnyReceiver) for the order of calls.
pub trait Receiver: Send {
    /// Processes a received packet; returns the first message that it completes.
    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Option<MessageId>;
    /// The next message that the last packet delivered: where messages are delivered in order, one packet may be
    /// all that several waited for.
    fn poll_delivered(&mut self) -> Option<MessageId> {
        None
    }
    /// The next packet to send back.
    fn poll_transmit(&mut self) -> Option<Packet>;
    /// Data packets that it received for the first time so far, and so brought the application something new: no
    /// copies, none that it threw away, and no trimmed ones. Once all is delivered, the packets of all messages.
    fn fresh_packets(&self) -> u64;
    /// Whether the host's pull pacer is to come to it (`eqds`): asked after each packet and each pull; it is to be true
    /// once until the next [`pull`](Self::pull).
    fn requests_pull(&mut self) -> bool {
        false
    }
    /// The pacer has come to it: the pull packet, unless nothing is left to pull.
    fn pull(&mut self) -> Option<Packet> {
        None
    }
}

/// What a sender counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Data packets sent again.
    pub retransmissions: u64,
    /// Packets that timed out.
    pub timeouts: u64,
    /// NACKs that a NIC heard, old ones included (`rnic_sr`).
    pub nacks: u64,
    /// Batches of retransmissions fetched from host memory (`dcp`).
    pub fetches: u64,
}

/// A queue pair has used all its PSNs, or all its MSNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a queue pair carries at most 2^32 packets, and with the transport dcp 2^24 requests")]
pub struct OutOfPsns;

/// What both ends of a queue pair know of it.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// The queue pair.
    pub qp: QpId,
    /// Who sends.
    pub src: HostId,
    /// Who receives.
    pub dst: HostId,
}

/// How a transport cuts messages into packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Payload of a full packet.
    pub payload: Bytes,
    /// Headers of a data packet.
    pub header: Bytes,
    /// Size of an ACK.
    pub ack: Bytes,
}

/// What a queue pair can carry before its numbers run out ([`OutOfPsns`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberSpace {
    /// Data packets: PSNs.
    pub packets: u64,
    /// Where requests have numbers too: how many there may be (MSNs), and the most packets of one; a longer message
    /// goes as several.
    pub requests: Option<(u64, u64)>,
}

impl NumberSpace {
    /// One in which packets alone have numbers.
    pub(in crate::transport) fn of_packets(packets: u64) -> NumberSpace {
        NumberSpace { packets, requests: None }
    }

    /// Requests that a message of `packets` packets goes as; one where they are not counted.
    pub fn requests_of(&self, packets: u64) -> u64 {
        self.requests.map_or(1, |(_, largest)| packets.div_ceil(largest))
    }
}
