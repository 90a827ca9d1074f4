//! Reliability: what makes messages whole over a fabric that loses and reorders packets.

mod dcp;
mod go_back_n;
mod irn;
mod mp_rdma;
mod rack_tlp;
mod rnic_sr;
mod sack;
mod strack;

use crate::cc::AnyCc;
use crate::lb::AnyLb;
use crate::packet::Msn;
use crate::{IntStack, Packet, PathFacts, Span};
use anabranch_base::{Bytes, HostId, MessageId, QpId, Time};
use serde::{Deserialize, Serialize};

pub use dcp::{DcpReceiver, DcpSender, reception as dcp_reception};
pub use go_back_n::{GoBackNReceiver, GoBackNSender};
pub use irn::{IrnConfig, IrnReceiver, IrnSender};
pub use mp_rdma::{MpRdmaConfig, MpRdmaReceiver, MpRdmaSender};
pub use rack_tlp::{RackTlpConfig, RackTlpSender};
pub use rnic_sr::{RnicSrReceiver, RnicSrSender};
pub use sack::{SackReceiver, SackSender};
pub use strack::{StrackReceiver, StrackSender};

/// A transport and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TransportConfig {
    /// Out-of-order delivery with selective acknowledgement and retransmission.
    Sack(SackConfig),
    /// In-order delivery as RoCEv2 NICs have it; a gap makes the sender go back.
    GoBackN(GoBackNConfig),
    /// Selective repeat as commodity RDMA NICs have it (Themis-spraying, section 2.3).
    RnicSr(RnicSrConfig),
    /// IRN (SIGCOMM 2018, section 3), as DCP retells it (section 2.2).
    Irn(IrnConfig),
    /// RACK-TLP (RFC 8985), as DCP compares itself with it (section 6.3).
    RackTlp(RackTlpConfig),
    /// STrack (section 3.3).
    Strack(StrackConfig),
    /// DCP (sections 4.3 to 4.5).
    Dcp(DcpConfig),
    /// MP-RDMA (NSDI 2018): paths clocked by ACKs, a small bitmap at the receiver, and going back.
    MpRdma(MpRdmaConfig),
}

/// Parameters of the `go-back-n` transport, with DCQCN's notification point in its receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoBackNConfig {
    /// Payload of a full packet.
    pub payload: Bytes,
    /// Headers of a data packet.
    pub header: Bytes,
    /// Size of an ACK, NACK or CNP.
    pub ack: Bytes,
    /// An ACK for every n-th packet that arrives in order (and for the last one of a message).
    pub ack_every: u32,
    /// A missing PSN is asked for again after this long.
    pub nack_interval: Span,
    /// At most one CNP in this time. 0: none; every marked packet is acknowledged at once and its ACK says so.
    pub cnp_interval: Span,
    /// Without a new acknowledgement for this long the sender goes back.
    pub rto: Span,
}

/// Parameters of the `rnic-sr` transport, with DCQCN's notification point in its receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RnicSrConfig {
    /// Payload of a full packet.
    pub payload: Bytes,
    /// Headers of a data packet.
    pub header: Bytes,
    /// Size of an ACK, NACK or CNP.
    pub ack: Bytes,
    /// An ACK for every n packets by which the ePSN advances (and for the last one of a message, and a duplicate).
    pub ack_every: u32,
    /// The transmit window: packets from the lowest unacknowledged one on that may have been sent.
    pub window_packets: u32,
    /// At most one CNP in this time. 0: none; every marked packet is acknowledged at once and its ACK says so.
    pub cnp_interval: Span,
    /// Without a new acknowledgement for this long everything unacknowledged is sent again.
    pub rto: Span,
    /// False: a NIC with timeouts alone, which takes no notice of a NACK, not even of what it acknowledges.
    pub hears_nacks: bool,
    /// The queue pair sends nothing for this long from the start of each retransmission that a NACK asked for.
    pub retransmission_block: Span,
}

/// Parameters of the `strack` transport.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StrackConfig {
    /// Payload of a full packet.
    pub payload: Bytes,
    /// Headers of a data packet, and the size of a probe.
    pub header: Bytes,
    /// Size of a SACK.
    pub ack: Bytes,
    /// A SACK once this many bytes (on the wire) have arrived since the last one.
    pub sack_bytes: Bytes,
    /// Losses are inferred from no fewer out-of-order packets than this (min_threshold).
    pub min_threshold: u32,
    /// A probe is sent after this long without a SACK.
    pub probe_after: Span,
    /// A probe's SACK that comes back within this time means loss, not queueing.
    pub probe_rtt: Span,
    /// Without a higher ePSN for this long everything unacknowledged is lost.
    pub rto: Span,
}

/// Parameters of the `dcp` transport, with DCQCN's notification point in its receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DcpConfig {
    /// Payload of a full packet.
    pub payload: Bytes,
    /// Headers of a data packet, and what is left of a trimmed one.
    pub header: Bytes,
    /// Size of an ACK or CNP.
    pub ack: Bytes,
    /// Bits of the packet counter of a message, 1 to 31. A longer message goes as several requests.
    pub counter_bits: u32,
    /// Requests from the oldest unacknowledged one on that the receiver tracks; also the WQEs of a turn (n).
    pub tracked_messages: u32,
    /// Payload that a queue pair sends in a turn.
    pub round_quota: Bytes,
    /// Packets to send again that are fetched from host memory at once.
    pub batch: u32,
    /// One round trip over PCIe; a fetch of packets to send again takes two. 0: none.
    pub pcie: Span,
    /// At most one CNP in this time; 0: one for every marked packet.
    pub cnp_interval: Span,
    /// The coarse timeout of the oldest unacknowledged request.
    pub rto: Span,
}

/// Parameters of the `sack` transport.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SackConfig {
    /// Payload of a full packet.
    pub payload: Bytes,
    /// Headers of a data packet, and the size of a trimmed one.
    pub header: Bytes,
    /// Size of an ACK or NACK.
    pub ack: Bytes,
    /// An ACK for every n-th packet (and for the last one of a message, a marked one and a duplicate).
    pub ack_every: u32,
    /// A packet that is not acknowledged this long after it was sent is sent again.
    pub rto: Span,
}

/// The sending end of a queue pair, whatever its transport.
///
/// Drive it: [`post`](Self::post) messages, [`handle_packet`](Self::handle_packet) for each packet that comes back,
/// [`handle_timeout`](Self::handle_timeout) at [`next_timeout`](Self::next_timeout), and after each of these
/// [`poll_acknowledged`](Self::poll_acknowledged) until it answers none. Whenever the wire is free,
/// [`poll_transmit`](Self::poll_transmit).
pub enum AnySender {
    /// See [`SackSender`].
    Sack(SackSender),
    /// See [`GoBackNSender`].
    GoBackN(GoBackNSender),
    /// See [`RnicSrSender`].
    RnicSr(RnicSrSender),
    /// See [`IrnSender`].
    Irn(IrnSender),
    /// See [`RackTlpSender`].
    RackTlp(RackTlpSender),
    /// See [`StrackSender`].
    Strack(StrackSender),
    /// See [`DcpSender`].
    Dcp(DcpSender),
    /// See [`MpRdmaSender`].
    MpRdma(MpRdmaSender),
    /// Somebody else's.
    Custom(Box<dyn Sender>),
}

/// The receiving end of a queue pair, whatever its transport.
///
/// Drive it: [`handle_packet`](Self::handle_packet) for each packet, then [`poll_transmit`](Self::poll_transmit)
/// until it answers none; and when the packet delivered a message, [`poll_delivered`](Self::poll_delivered) likewise.
pub enum AnyReceiver {
    /// See [`SackReceiver`].
    Sack(SackReceiver),
    /// See [`GoBackNReceiver`].
    GoBackN(GoBackNReceiver),
    /// See [`RnicSrReceiver`].
    RnicSr(RnicSrReceiver),
    /// See [`IrnReceiver`].
    Irn(IrnReceiver),
    /// The same as `irn`'s.
    RackTlp(IrnReceiver),
    /// See [`StrackReceiver`].
    Strack(StrackReceiver),
    /// See [`DcpReceiver`].
    Dcp(DcpReceiver),
    /// See [`MpRdmaReceiver`].
    MpRdma(MpRdmaReceiver),
    /// Somebody else's.
    Custom(Box<dyn Receiver>),
}

/// What the sending end of a transport of your own implements. See [`AnySender`] for the order of calls.
pub trait Sender: Send {
    /// Queues a message of `bytes` bytes behind those already posted.
    ///
    /// # Errors
    /// When the queue pair would run out of PSNs.
    fn post(&mut self, message: MessageId, bytes: u64) -> Result<(), OutOfPsns>;
    /// Takes a packet in that the receiver sent.
    fn handle_packet(&mut self, now: Time, packet: &Packet);
    /// Switches told the packet that an ACK answers of their load. Called right before
    /// [`handle_packet`](Self::handle_packet) for that ACK, which acknowledges every PSN below `cumulative`.
    fn handle_telemetry(&mut self, cumulative: u32, stack: &IntStack) {
        let _ = (cumulative, stack);
    }
    /// Its timer is due.
    fn handle_timeout(&mut self, now: Time);
    /// When [`handle_timeout`](Self::handle_timeout) is due: for a retransmission, a probe, or a paced packet.
    fn next_timeout(&mut self) -> Option<Time>;
    /// Whether [`poll_transmit`](Self::poll_transmit) may answer none for want of time alone, so that
    /// [`next_timeout`](Self::next_timeout) is to be asked after it did.
    fn paces(&self) -> bool {
        false
    }
    /// The next data packet, if there is one and it may go out now.
    fn poll_transmit(&mut self, now: Time) -> Option<Packet>;
    /// Whether the NIC is to go on with this queue pair after the packet that it just gave, before it turns to the
    /// others.
    fn keeps_turn(&self) -> bool {
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

/// What the receiving end of a transport of your own implements. See [`AnyReceiver`] for the order of calls.
pub trait Receiver: Send {
    /// Takes a packet in; answers with the first message that it delivers.
    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Option<MessageId>;
    /// The next message that the last packet delivered: where messages are delivered in order, one packet may be
    /// all that several waited for.
    fn poll_delivered(&mut self) -> Option<MessageId> {
        None
    }
    /// The next packet to send back.
    fn poll_transmit(&mut self) -> Option<Packet>;
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

impl TransportConfig {
    /// Both ends of a new queue pair on a fabric.
    pub fn build(&self, ends: Ends, facts: &PathFacts, cc: AnyCc, lb: AnyLb) -> (AnySender, AnyReceiver) {
        let rto = self.rto().on(facts);
        match self {
            TransportConfig::Sack(config) => (
                AnySender::Sack(SackSender::new(config, rto, ends.qp, ends.dst, cc, lb)),
                AnyReceiver::Sack(SackReceiver::new(config, ends.qp, ends.src)),
            ),
            TransportConfig::GoBackN(config) => (
                AnySender::GoBackN(GoBackNSender::new(config, facts, ends, cc, lb)),
                AnyReceiver::GoBackN(GoBackNReceiver::new(config, facts, ends)),
            ),
            TransportConfig::RnicSr(config) => (
                AnySender::RnicSr(RnicSrSender::new(config, facts, ends, cc, lb)),
                AnyReceiver::RnicSr(RnicSrReceiver::new(config, facts, ends)),
            ),
            TransportConfig::Irn(config) => {
                let cnp_interval = config.cnp_interval.on(facts);
                (
                    AnySender::Irn(IrnSender::new(config, facts, ends, cc, lb)),
                    AnyReceiver::Irn(IrnReceiver::new(config.ack, config.ack_every, cnp_interval, ends)),
                )
            }
            TransportConfig::RackTlp(config) => {
                let cnp_interval = config.cnp_interval.on(facts);
                (
                    AnySender::RackTlp(RackTlpSender::new(config, facts, ends, cc, lb)),
                    AnyReceiver::RackTlp(IrnReceiver::new(config.ack, config.ack_every, cnp_interval, ends)),
                )
            }
            TransportConfig::Strack(config) => (
                AnySender::Strack(StrackSender::new(config, facts, ends, cc, lb)),
                AnyReceiver::Strack(StrackReceiver::new(config, ends)),
            ),
            TransportConfig::Dcp(config) => (
                AnySender::Dcp(DcpSender::new(config, facts, ends, cc, lb)),
                AnyReceiver::Dcp(DcpReceiver::new(config, facts, ends)),
            ),
            TransportConfig::MpRdma(config) => (
                AnySender::MpRdma(MpRdmaSender::new(config, facts, ends, cc, lb)),
                AnyReceiver::MpRdma(MpRdmaReceiver::new(config, ends)),
            ),
        }
    }

    /// How packets are cut and how big they get.
    pub fn framing(&self) -> Framing {
        let (payload, header, ack) = match self {
            TransportConfig::Sack(config) => (config.payload, config.header, config.ack),
            TransportConfig::GoBackN(config) => (config.payload, config.header, config.ack),
            TransportConfig::RnicSr(config) => (config.payload, config.header, config.ack),
            TransportConfig::Irn(config) => (config.payload, config.header, config.ack),
            TransportConfig::RackTlp(config) => (config.payload, config.header, config.ack),
            TransportConfig::Strack(config) => (config.payload, config.header, config.ack),
            TransportConfig::Dcp(config) => (config.payload, config.header, config.ack),
            TransportConfig::MpRdma(config) => (config.payload, config.header, config.ack),
        };
        Framing { payload, header, ack }
    }

    /// For how much a queue pair has numbers, over all that it ever carries.
    pub fn number_space(&self) -> NumberSpace {
        let all = u64::from(u32::MAX);
        match self {
            // What is in flight must not come near the end of the numbers.
            TransportConfig::Sack(_) => NumberSpace::of_packets(all - u64::from(sack::MAX_SPAN) - 1),
            TransportConfig::Strack(_) => NumberSpace::of_packets(all - u64::from(strack::MAX_SPAN) - 1),
            TransportConfig::Dcp(config) => NumberSpace {
                packets: all,
                requests: Some((u64::from(Msn::LIMIT), u64::from(dcp::largest_request(config)))),
            },
            TransportConfig::GoBackN(_)
            | TransportConfig::RnicSr(_)
            | TransportConfig::Irn(_)
            | TransportConfig::RackTlp(_)
            | TransportConfig::MpRdma(_) => NumberSpace::of_packets(all),
        }
    }

    /// The retransmission timeout.
    pub fn rto(&self) -> Span {
        match self {
            TransportConfig::Sack(config) => config.rto,
            TransportConfig::GoBackN(config) => config.rto,
            TransportConfig::RnicSr(config) => config.rto,
            TransportConfig::Irn(config) => config.rto,
            TransportConfig::RackTlp(config) => config.rto,
            TransportConfig::Strack(config) => config.rto,
            TransportConfig::Dcp(config) => config.rto,
            TransportConfig::MpRdma(config) => config.rto,
        }
    }
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
    fn of_packets(packets: u64) -> NumberSpace {
        NumberSpace { packets, requests: None }
    }

    /// Requests that a message of `packets` packets goes as; one where they are not counted.
    pub fn requests_of(&self, packets: u64) -> u64 {
        self.requests.map_or(1, |(_, largest)| packets.div_ceil(largest))
    }
}

/// Hands each call on to whichever transport it is.
macro_rules! dispatch {
    ($any:ident, $self:ident, $end:ident => $call:expr) => {
        match $self {
            $any::Sack($end) => $call,
            $any::GoBackN($end) => $call,
            $any::RnicSr($end) => $call,
            $any::Irn($end) => $call,
            $any::RackTlp($end) => $call,
            $any::Strack($end) => $call,
            $any::Dcp($end) => $call,
            $any::MpRdma($end) => $call,
            $any::Custom($end) => $call,
        }
    };
}

impl AnySender {
    /// See [`Sender::post`].
    ///
    /// # Errors
    /// When the queue pair would run out of PSNs.
    pub fn post(&mut self, message: MessageId, bytes: u64) -> Result<(), OutOfPsns> {
        dispatch!(AnySender, self, end => end.post(message, bytes))
    }

    /// See [`Sender::handle_packet`].
    #[inline]
    pub fn handle_packet(&mut self, now: Time, packet: &Packet) {
        dispatch!(AnySender, self, end => end.handle_packet(now, packet));
    }

    /// See [`Sender::handle_telemetry`]. Transports whose congestion control cannot ask for it take no notice.
    #[inline]
    pub fn handle_telemetry(&mut self, cumulative: u32, stack: &IntStack) {
        match self {
            AnySender::GoBackN(sender) => sender.handle_telemetry(cumulative, stack),
            AnySender::Sack(_) | AnySender::RnicSr(_) | AnySender::Irn(_) | AnySender::RackTlp(_) => {}
            AnySender::Strack(_) | AnySender::Dcp(_) | AnySender::MpRdma(_) => {}
            AnySender::Custom(sender) => sender.handle_telemetry(cumulative, stack),
        }
    }

    /// See [`Sender::handle_timeout`].
    pub fn handle_timeout(&mut self, now: Time) {
        dispatch!(AnySender, self, end => end.handle_timeout(now));
    }

    /// See [`Sender::next_timeout`].
    pub fn next_timeout(&mut self) -> Option<Time> {
        dispatch!(AnySender, self, end => end.next_timeout())
    }

    /// See [`Sender::paces`].
    #[inline]
    pub fn paces(&self) -> bool {
        dispatch!(AnySender, self, end => end.paces())
    }

    /// See [`Sender::poll_transmit`].
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        dispatch!(AnySender, self, end => end.poll_transmit(now))
    }

    /// See [`Sender::keeps_turn`].
    #[inline]
    pub fn keeps_turn(&self) -> bool {
        match self {
            AnySender::Sack(_) | AnySender::GoBackN(_) | AnySender::RnicSr(_) => false,
            AnySender::Dcp(sender) => sender.keeps_turn(),
            AnySender::Irn(_) | AnySender::RackTlp(_) | AnySender::MpRdma(_) | AnySender::Strack(_) => false,
            AnySender::Custom(sender) => sender.keeps_turn(),
        }
    }

    /// See [`Sender::advances_timer`].
    #[inline]
    pub fn advances_timer(&self) -> bool {
        match self {
            AnySender::Sack(_) | AnySender::GoBackN(_) | AnySender::RnicSr(_) | AnySender::Strack(_) => false,
            // IRN: the shorter timeout of few packets in flight. RACK-TLP: the reordering window and the probe. MP-RDMA:
            // what an idle window waits for. DCP: the timer of a request that was sent long ago.
            AnySender::Irn(_) | AnySender::RackTlp(_) | AnySender::MpRdma(_) | AnySender::Dcp(_) => true,
            AnySender::Custom(sender) => sender.advances_timer(),
        }
    }

    /// See [`Sender::poll_acknowledged`].
    #[inline]
    pub fn poll_acknowledged(&mut self) -> Option<MessageId> {
        dispatch!(AnySender, self, end => end.poll_acknowledged())
    }

    /// See [`Sender::counters`].
    pub fn counters(&self) -> SenderCounters {
        dispatch!(AnySender, self, end => end.counters())
    }
}

impl AnyReceiver {
    /// See [`Receiver::handle_packet`].
    #[inline]
    pub fn handle_packet(&mut self, now: Time, packet: &Packet) -> Option<MessageId> {
        dispatch!(AnyReceiver, self, end => end.handle_packet(now, packet))
    }

    /// See [`Receiver::poll_delivered`].
    #[inline]
    pub fn poll_delivered(&mut self) -> Option<MessageId> {
        match self {
            AnyReceiver::RnicSr(receiver) => receiver.poll_delivered(),
            AnyReceiver::Dcp(receiver) => receiver.poll_delivered(),
            AnyReceiver::Irn(receiver) | AnyReceiver::RackTlp(receiver) => receiver.poll_delivered(),
            AnyReceiver::MpRdma(receiver) => receiver.poll_delivered(),
            AnyReceiver::Sack(_) | AnyReceiver::GoBackN(_) | AnyReceiver::Strack(_) => None,
            AnyReceiver::Custom(receiver) => receiver.poll_delivered(),
        }
    }

    /// See [`Receiver::poll_transmit`].
    #[inline]
    pub fn poll_transmit(&mut self) -> Option<Packet> {
        dispatch!(AnyReceiver, self, end => end.poll_transmit())
    }
}
