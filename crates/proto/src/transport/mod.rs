//! Transports: reliable delivery of messages over a fabric that loses and reorders packets.

mod common;
mod dcp;
mod eqds;
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
use crate::state::StateField;
use crate::{IntStack, Packet, PathFacts, Span};
use anabranch_base::{MessageId, Parameters, Purpose, Registered, Stream, Time, foreign, kinds, stream};

pub use common::{Ends, Framing, NumberSpace, OutOfPsns, Receiver, Sender, SenderCounters};
pub use dcp::{DcpConfig, DcpReceiver, DcpSender, reception as dcp_reception};
pub use eqds::{EqdsConfig, EqdsReceiver, EqdsSender, PullPacer};
pub use go_back_n::{GoBackNConfig, GoBackNReceiver, GoBackNSender};
pub use irn::{IrnConfig, IrnReceiver, IrnSender};
pub use mp_rdma::{MpRdmaConfig, MpRdmaReceiver, MpRdmaSender};
pub use rack_tlp::{RackTlpConfig, RackTlpSender};
pub use rnic_sr::{RnicSrConfig, RnicSrReceiver, RnicSrSender};
pub use sack::{CachedState, Inherits, SackConfig, SackReceiver, SackSender};
pub use strack::{StrackConfig, StrackReceiver, StrackSender};

kinds! {
    /// A transport and its parameters.
    #[derive(Clone, Debug, PartialEq)]
    pub enum TransportConfig or RegisteredTransport {
        /// Out-of-order delivery with selective acknowledgement and retransmission.
        #[kind("sack")]
        Sack(SackConfig),
        /// In-order delivery as in RoCEv2 NICs, with go-back-N recovery.
        #[kind("go-back-n")]
        GoBackN(GoBackNConfig),
        /// Selective repeat as in commodity RDMA NICs (Themis-spraying, section 2.3).
        #[kind("rnic-sr")]
        RnicSr(RnicSrConfig),
        /// IRN (SIGCOMM 2018, section 3), as DCP describes it (section 2.2).
        #[kind("irn")]
        Irn(IrnConfig),
        /// RACK-TLP (RFC 8985), as in DCP's comparison (section 6.3).
        #[kind("rack-tlp")]
        RackTlp(RackTlpConfig),
        /// STrack (section 3.3).
        #[kind("strack")]
        Strack(StrackConfig),
        /// DCP (sections 4.3 to 4.5).
        #[kind("dcp")]
        Dcp(DcpConfig),
        /// EQDS (NSDI 2022): the receiving host pulls.
        #[kind("eqds")]
        Eqds(EqdsConfig),
        /// MP-RDMA (NSDI 2018): ACK-clocked multipath, a small bitmap at the receiver, and go-back-N recovery.
        #[kind("mp-rdma")]
        MpRdma(MpRdmaConfig),
    }
}

impl TransportConfig {
    /// The hardware state of a queue pair that tracks which of `packets` in flight arrived and which are lost, field by
    /// field. Every transport also has a cumulative PSN and one timer at either end, which are not listed. DCP counts
    /// messages instead (section 4.5), so that its state does not grow with `packets`.
    ///
    /// Bitmaps have a bit for each packet in flight: IRN has five (DCP, Table 3), the others one for each set that they
    /// keep here. The timer of each packet in `sack` and the transmission times of RACK take 32 bits each.
    pub fn tracking(&self, packets: u32) -> Vec<StateField> {
        let bitmap = |name| StateField::new(name, 1, packets);
        let received = || bitmap("received");
        let times = || StateField::new("sent at", 32, packets);
        match self {
            TransportConfig::GoBackN(_) | TransportConfig::Registered(_) => Vec::new(),
            TransportConfig::Sack(_) => vec![received(), bitmap("acknowledged"), times()],
            TransportConfig::Eqds(_) => {
                // Numbers of pulls and targets take 20 bits each, as in a packet.
                let credit = ["granted", "target", "pulled", "told"].map(|name| StateField::new(name, 20, 1));
                let mut fields = vec![received(), bitmap("acknowledged"), times()];
                fields.extend(credit);
                fields
            }
            TransportConfig::RnicSr(_) => {
                vec![received(), StateField::new("missing", 24, 1), StateField::new("latest", 24, 1)]
            }
            TransportConfig::Irn(_) => vec![StateField::new("bitmaps", 5, packets)],
            TransportConfig::RackTlp(_) => vec![received(), bitmap("acknowledged"), bitmap("lost"), times()],
            TransportConfig::Strack(_) => vec![received(), bitmap("acknowledged"), bitmap("lost")],
            TransportConfig::Dcp(config) => config.state(),
            // MP-RDMA: two bits for each of L packets, however many are in flight; the sender has counters only.
            TransportConfig::MpRdma(config) => {
                let counters = ["inflate", "highest", "recovery"].map(|name| StateField::new(name, 24, 1));
                let mut fields = vec![StateField::new("bitmap", 2, config.bitmap)];
                fields.extend(counters);
                fields
            }
        }
    }
}

/// A user-defined transport with its parameters, among which are always `payload`, `header`, `ack` and `rto`.
pub type RegisteredTransport = Registered<TransportFactory>;

/// The functions that build the two ends of a queue pair.
pub struct TransportFactory {
    /// The sending end, which owns the congestion control and the load balancer.
    pub sender: Box<SenderFactory>,
    /// The receiving end.
    pub receiver: Box<ReceiverFactory>,
}

/// Builds the sending end of a queue pair.
pub type SenderFactory = dyn Fn(SenderParts, &Parameters) -> Box<dyn Sender> + Send + Sync;

/// Builds the receiving end of a queue pair.
pub type ReceiverFactory = dyn Fn(ReceiverParts, &Parameters) -> Box<dyn Receiver> + Send + Sync;

/// The parts from which the sending end of a queue pair is built.
pub struct SenderParts {
    /// The queue pair.
    pub ends: Ends,
    /// The fabric's longest path.
    pub facts: PathFacts,
    /// The congestion control.
    pub cc: AnyCc,
    /// The load balancer.
    pub lb: AnyLb,
    /// The stream of random numbers.
    pub random: Stream,
}

/// The parts from which the receiving end of a queue pair is built.
pub struct ReceiverParts {
    /// The queue pair.
    pub ends: Ends,
    /// The fabric's longest path.
    pub facts: PathFacts,
    /// The stream of random numbers.
    pub random: Stream,
}

/// The sending end of a queue pair, whatever its transport.
///
/// Drive it: [`post`](Self::post) messages, [`handle_packet`](Self::handle_packet) for each packet that comes back,
/// [`handle_timeout`](Self::handle_timeout) at [`next_timeout`](Self::next_timeout), and after each of these
/// [`poll_acknowledged`](Self::poll_acknowledged) until it returns none. Whenever the wire is free,
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
    /// See [`EqdsSender`].
    Eqds(EqdsSender),
    /// See [`MpRdmaSender`].
    MpRdma(MpRdmaSender),
    /// A user-defined transport.
    Custom(Box<dyn Sender>),
}

/// The receiving end of a queue pair, whatever its transport.
///
/// Drive it: [`handle_packet`](Self::handle_packet) for each packet, then [`poll_transmit`](Self::poll_transmit)
/// until it returns none; and when the packet completed a message, [`poll_delivered`](Self::poll_delivered) likewise.
pub enum AnyReceiver {
    /// See [`SackReceiver`].
    Sack(SackReceiver),
    /// See [`GoBackNReceiver`].
    GoBackN(GoBackNReceiver),
    /// See [`RnicSrReceiver`].
    RnicSr(RnicSrReceiver),
    /// See [`IrnReceiver`].
    Irn(IrnReceiver),
    /// The receiver of `irn`, which `rack-tlp` shares.
    RackTlp(IrnReceiver),
    /// See [`StrackReceiver`].
    Strack(StrackReceiver),
    /// See [`DcpReceiver`].
    Dcp(DcpReceiver),
    /// See [`EqdsReceiver`].
    Eqds(EqdsReceiver),
    /// See [`MpRdmaReceiver`].
    MpRdma(MpRdmaReceiver),
    /// A user-defined transport.
    Custom(Box<dyn Receiver>),
}

/// The part that the error for a panic in a user-defined transport names.
const PART: &str = "transport";

impl TransportConfig {
    /// The sending end of a new queue pair. For built-in transports, which draw no random numbers.
    pub fn build_sender(&self, ends: Ends, facts: &PathFacts, cc: AnyCc, lb: AnyLb) -> AnySender {
        self.build_sender_with_seed(ends, facts, cc, lb, 0)
    }

    /// The sending end of a new queue pair, which draws random numbers under `seed`.
    pub fn build_sender_with_seed(
        &self,
        ends: Ends,
        facts: &PathFacts,
        cc: AnyCc,
        lb: AnyLb,
        seed: u64,
    ) -> AnySender {
        match self {
            TransportConfig::Sack(config) => AnySender::Sack(SackSender::new(config, facts, ends, cc, lb)),
            TransportConfig::GoBackN(config) => {
                AnySender::GoBackN(GoBackNSender::new(config, facts, ends, cc, lb))
            }
            TransportConfig::RnicSr(config) => {
                AnySender::RnicSr(RnicSrSender::new(config, facts, ends, cc, lb))
            }
            TransportConfig::Irn(config) => AnySender::Irn(IrnSender::new(config, facts, ends, cc, lb)),
            TransportConfig::RackTlp(config) => {
                AnySender::RackTlp(RackTlpSender::new(config, facts, ends, cc, lb))
            }
            TransportConfig::Strack(config) => {
                AnySender::Strack(StrackSender::new(config, facts, ends, cc, lb))
            }
            TransportConfig::Dcp(config) => AnySender::Dcp(DcpSender::new(config, facts, ends, cc, lb)),
            TransportConfig::Eqds(config) => AnySender::Eqds(EqdsSender::new(config, facts, ends, cc, lb)),
            TransportConfig::MpRdma(config) => {
                AnySender::MpRdma(MpRdmaSender::new(config, facts, ends, cc, lb))
            }
            TransportConfig::Registered(its) => {
                let random = stream(seed, 2 * u64::from(ends.qp.0), Purpose::Transport);
                let parts = SenderParts { ends, facts: *facts, cc, lb, random };
                AnySender::Custom(foreign(PART, || (its.factory().sender)(parts, its.parameters())))
            }
        }
    }

    /// The receiving end of a new queue pair. For built-in transports, which draw no random numbers.
    pub fn build_receiver(&self, ends: Ends, facts: &PathFacts) -> AnyReceiver {
        self.build_receiver_with_seed(ends, facts, 0)
    }

    /// The receiving end of a new queue pair, which draws random numbers under `seed`.
    pub fn build_receiver_with_seed(&self, ends: Ends, facts: &PathFacts, seed: u64) -> AnyReceiver {
        match self {
            TransportConfig::Sack(config) => AnyReceiver::Sack(SackReceiver::new(config, ends)),
            TransportConfig::GoBackN(config) => {
                AnyReceiver::GoBackN(GoBackNReceiver::new(config, facts, ends))
            }
            TransportConfig::RnicSr(config) => AnyReceiver::RnicSr(RnicSrReceiver::new(config, facts, ends)),
            TransportConfig::Irn(config) => {
                let cnp_interval = config.cnp_interval.on(facts);
                AnyReceiver::Irn(IrnReceiver::new(config.ack, config.ack_every, cnp_interval, ends))
            }
            TransportConfig::RackTlp(config) => {
                let cnp_interval = config.cnp_interval.on(facts);
                AnyReceiver::RackTlp(IrnReceiver::new(config.ack, config.ack_every, cnp_interval, ends))
            }
            TransportConfig::Strack(config) => AnyReceiver::Strack(StrackReceiver::new(config, ends)),
            TransportConfig::Dcp(config) => AnyReceiver::Dcp(DcpReceiver::new(config, facts, ends)),
            TransportConfig::Eqds(config) => AnyReceiver::Eqds(EqdsReceiver::new(config, ends)),
            TransportConfig::MpRdma(config) => AnyReceiver::MpRdma(MpRdmaReceiver::new(config, ends)),
            TransportConfig::Registered(its) => {
                let random = stream(seed, 2 * u64::from(ends.qp.0) + 1, Purpose::Transport);
                let parts = ReceiverParts { ends, facts: *facts, random };
                AnyReceiver::Custom(foreign(PART, || (its.factory().receiver)(parts, its.parameters())))
            }
        }
    }

    /// The sizes of packets.
    pub fn framing(&self) -> Framing {
        let (payload, header, ack) = match self {
            TransportConfig::Sack(config) => (config.payload, config.header, config.ack),
            TransportConfig::GoBackN(config) => (config.payload, config.header, config.ack),
            TransportConfig::RnicSr(config) => (config.payload, config.header, config.ack),
            TransportConfig::Irn(config) => (config.payload, config.header, config.ack),
            TransportConfig::RackTlp(config) => (config.payload, config.header, config.ack),
            TransportConfig::Strack(config) => (config.payload, config.header, config.ack),
            TransportConfig::Dcp(config) => (config.payload, config.header, config.ack),
            TransportConfig::Eqds(config) => (config.payload, config.header, config.ack),
            TransportConfig::MpRdma(config) => (config.payload, config.header, config.ack),
            TransportConfig::Registered(its) => {
                let get = |name| its.parameters().get(name);
                (get("payload"), get("header"), get("ack"))
            }
        };
        Framing { payload, header, ack }
    }

    /// The capacity of a queue pair over its lifetime, under an initial window of so many bytes.
    pub fn number_space(&self, window: u64) -> NumberSpace {
        let all = u64::from(u32::MAX);
        match self {
            // The PSNs in flight must not reach the end of the number space.
            TransportConfig::Sack(_) | TransportConfig::Strack(_) | TransportConfig::Eqds(_) => {
                NumberSpace::of_packets(all - u64::from(common::MAX_SPAN) - 1)
            }
            TransportConfig::Dcp(config) => NumberSpace {
                packets: all,
                requests: Some((u64::from(Msn::LIMIT), dcp::Requests::new(config, window).least().into())),
            },
            TransportConfig::GoBackN(_)
            | TransportConfig::RnicSr(_)
            | TransportConfig::Irn(_)
            | TransportConfig::RackTlp(_)
            | TransportConfig::MpRdma(_)
            | TransportConfig::Registered(_) => NumberSpace::of_packets(all),
        }
    }

    /// Packets of each request into which a message of so many packets is split, under an initial window of so many
    /// bytes; none for transports without requests.
    pub fn request_packets(&self, window: u64, message: u64) -> Option<u64> {
        match self {
            TransportConfig::Dcp(config) => Some(dcp::Requests::new(config, window).packets(message).into()),
            _ => None,
        }
    }

    /// The state that a connection takes over from the previous one between its two hosts.
    pub fn inherits(&self) -> Inherits {
        match self {
            TransportConfig::Sack(config) => config.inherits,
            _ => Inherits::Nothing,
        }
    }

    /// The pacer of a host's pulls, for transports whose receivers pull.
    pub fn pull_pacer(&self, facts: &PathFacts) -> Option<PullPacer> {
        match self {
            TransportConfig::Eqds(config) => Some(PullPacer::new(config, facts)),
            _ => None,
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
            TransportConfig::Eqds(config) => config.rto,
            TransportConfig::MpRdma(config) => config.rto,
            TransportConfig::Registered(its) => its.parameters().get("rto"),
        }
    }
}

/// Forwards a call to the transport of the variant.
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
            $any::Eqds($end) => $call,
            $any::MpRdma($end) => $call,
            $any::Custom($end) => foreign(PART, || $call),
        }
    };
}

impl AnySender {
    /// See [`Sender::post`].
    ///
    /// # Errors
    /// The queue pair would run out of PSNs.
    pub fn post(&mut self, message: MessageId, bytes: u64) -> Result<(), OutOfPsns> {
        dispatch!(AnySender, self, end => end.post(message, bytes))
    }

    /// See [`Sender::handle_packet`].
    #[inline]
    pub fn handle_packet(&mut self, now: Time, packet: &Packet) {
        dispatch!(AnySender, self, end => end.handle_packet(now, packet));
    }

    /// See [`Sender::handle_telemetry`].
    #[inline]
    pub fn handle_telemetry(&mut self, cumulative: u32, stack: &IntStack) {
        dispatch!(AnySender, self, end => end.handle_telemetry(cumulative, stack));
    }

    /// See [`Sender::handle_timeout`].
    pub fn handle_timeout(&mut self, now: Time) {
        dispatch!(AnySender, self, end => end.handle_timeout(now));
    }

    /// See [`Sender::next_timeout`].
    pub fn next_timeout(&mut self) -> Option<Time> {
        dispatch!(AnySender, self, end => end.next_timeout())
    }

    /// See [`Sender::next_pacing`].
    pub fn next_pacing(&self) -> Option<Time> {
        dispatch!(AnySender, self, end => end.next_pacing())
    }

    /// See [`Sender::handle_pacing`].
    pub fn handle_pacing(&mut self, now: Time) {
        dispatch!(AnySender, self, end => end.handle_pacing(now));
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

    /// See [`Sender::holds_turn`].
    #[inline]
    pub fn holds_turn(&self) -> bool {
        dispatch!(AnySender, self, end => end.holds_turn())
    }

    /// See [`Sender::advances_timer`].
    #[inline]
    pub fn advances_timer(&self) -> bool {
        dispatch!(AnySender, self, end => end.advances_timer())
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

    /// The state for the next connection between its two hosts, if connections [inherit](TransportConfig::inherits)
    /// any.
    pub fn cached_state(&self) -> Option<CachedState> {
        match self {
            AnySender::Sack(sender) => sender.cached_state(),
            _ => None,
        }
    }

    /// Starts with the state of an earlier connection.
    pub fn inherit(&mut self, earlier: &CachedState) {
        if let AnySender::Sack(sender) = self {
            sender.inherit(earlier);
        }
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
        dispatch!(AnyReceiver, self, end => end.poll_delivered())
    }

    /// See [`Receiver::poll_transmit`].
    #[inline]
    pub fn poll_transmit(&mut self) -> Option<Packet> {
        dispatch!(AnyReceiver, self, end => end.poll_transmit())
    }

    /// See [`Receiver::fresh_packets`].
    #[inline]
    pub fn fresh_packets(&self) -> u64 {
        dispatch!(AnyReceiver, self, end => end.fresh_packets())
    }

    /// See [`Receiver::requests_pull`].
    #[inline]
    pub fn requests_pull(&mut self) -> bool {
        dispatch!(AnyReceiver, self, end => end.requests_pull())
    }

    /// See [`Receiver::pull`].
    #[inline]
    pub fn pull(&mut self) -> Option<Packet> {
        dispatch!(AnyReceiver, self, end => end.pull())
    }
}
