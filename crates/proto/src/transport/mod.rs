//! Transports: reliable delivery of messages over a fabric that loses and reorders packets.

mod common;
mod dcp;
mod eqds;
mod go_back_n;
mod irn;
mod mp_rdma;
mod mrc;
mod rack_tlp;
mod rnic_sr;
mod sack;
mod strack;
mod uet;

use crate::cc::AnyCc;
use crate::interface::interface;
use crate::lb::AnyLb;
use crate::state::StateField;
use crate::{Conflict, PathFacts, Size, Span};
use anabranch_base::{Bytes, Parameters, Purpose, Registered, Stream, foreign, kinds, stream};

pub use common::{
    Ends, Framing, Headers, NumberSpace, OutOfPsns, PayloadRange, Pull, Receiver, Sender, SenderCounters,
};
pub use dcp::{DcpConfig, DcpReceiver, DcpSender, reception as dcp_reception};
pub use eqds::{EqdsConfig, EqdsReceiver, EqdsSender, PullPacer};
pub use go_back_n::{GoBackNConfig, GoBackNReceiver, GoBackNSender};
pub use irn::{IrnConfig, IrnReceiver, IrnSender};
pub use mp_rdma::{MpRdmaConfig, MpRdmaReceiver, MpRdmaSender};
pub use mrc::MrcConfig;
pub use rack_tlp::{RackTlpConfig, RackTlpSender};
pub use rnic_sr::{RnicSrConfig, RnicSrReceiver, RnicSrSender};
pub use sack::{CachedState, Inherits, SackConfig, SackReceiver, SackSender};
pub use strack::{StrackConfig, StrackReceiver, StrackSender};
pub use uet::{CreditConfig, UetConfig, UetReceiver, UetSender};

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
        /// STrack's transport (section 3.3).
        #[kind("strack")]
        Strack(StrackConfig),
        /// DCP (sections 4.3 to 4.5).
        #[kind("dcp")]
        Dcp(DcpConfig),
        /// EQDS (NSDI 2022), in which the receiving host pulls packets.
        #[kind("eqds")]
        Eqds(EqdsConfig),
        /// MP-RDMA (NSDI 2018): ACK-clocked multipath, a small bitmap at the receiver, and go-back-N recovery.
        #[kind("mp-rdma")]
        MpRdma(MpRdmaConfig),
        /// Ultra Ethernet's packet delivery (UET 1.0.3) in its mode RUD: reliable, unordered.
        #[kind("uet")]
        Uet(UetConfig),
        /// MRC (OCP 1.0): delivery as in `uet`, with probes of paths, separate paths for answers, and the status of
        /// ports.
        #[kind("mrc")]
        Mrc(MrcConfig),
    }
}

/// A user-defined transport with its parameters, which always include `payload`, `header`, `ack` and `rto`.
pub type RegisteredTransport = Registered<TransportFactory>;

/// The largest number of packets that one ACK answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckInterval {
    /// The number of packets, at least 1.
    pub packets: u32,
    /// The parameter that determines `packets`.
    pub parameter: &'static str,
    /// The value of the parameter, as written in a scenario, with which every packet has an ACK of its own.
    pub every_packet: &'static str,
}

impl AckInterval {
    /// An ACK for every packet.
    pub const EVERY_PACKET: AckInterval = AckInterval::of_packets(1);

    /// An ACK for `packets` packets, as set by the parameter `ack_every`. Zero counts as 1.
    pub const fn of_packets(packets: u32) -> AckInterval {
        let packets = if packets == 0 { 1 } else { packets };
        AckInterval { packets, parameter: "transport.ack_every", every_packet: "1" }
    }
}

/// The number of packets of `packet` bytes that a window admits if each of them must fit into the window as a whole. It
/// is at least 1, since one packet may always be in flight.
pub(crate) fn whole_packets(window: u64, packet: u64) -> u64 {
    (window / packet).max(1)
}

/// The functions that build the sender and the receiver of a queue pair.
pub struct TransportFactory {
    /// Builds the sender, which owns the congestion control and the load balancer.
    pub sender: Box<SenderFactory>,
    /// Builds the receiver.
    pub receiver: Box<ReceiverFactory>,
}

/// Builds the sender of a queue pair.
pub type SenderFactory = dyn Fn(SenderParts, &Parameters) -> Box<dyn Sender> + Send + Sync;

/// Builds the receiver of a queue pair.
pub type ReceiverFactory = dyn Fn(ReceiverParts, &Parameters) -> Box<dyn Receiver> + Send + Sync;

/// The objects and facts from which the sender of a queue pair is built.
pub struct SenderParts {
    /// The queue pair.
    pub ends: Ends,
    /// The facts about the fabric's longest path.
    pub facts: PathFacts,
    /// The congestion control.
    pub cc: AnyCc,
    /// The load balancer.
    pub lb: AnyLb,
    /// The stream of random numbers.
    pub random: Stream,
}

/// The objects and facts from which the receiver of a queue pair is built.
pub struct ReceiverParts {
    /// The queue pair.
    pub ends: Ends,
    /// The facts about the fabric's longest path.
    pub facts: PathFacts,
    /// The stream of random numbers.
    pub random: Stream,
}

/// The sender of a queue pair, whatever its transport.
///
/// To drive it, [`post`](Self::post) messages, call [`handle_packet`](Self::handle_packet) for each packet that comes
/// back and [`handle_timeout`](Self::handle_timeout) at [`next_timeout`](Self::next_timeout). After each of these, call
/// [`poll_acknowledged`](Self::poll_acknowledged) until it returns None. Whenever the wire is free, call
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
    /// See [`UetSender`], which `mrc` shares.
    Uet(UetSender),
    /// A user-defined transport.
    Custom(Box<dyn Sender>),
}

/// The receiver of a queue pair, whatever its transport.
///
/// To drive it, call [`handle_packet`](Self::handle_packet) for each packet, then
/// [`poll_transmit`](Self::poll_transmit) until it returns None. If the packet completed a message, also call
/// [`poll_delivered`](Self::poll_delivered) until it returns None.
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
    /// See [`UetReceiver`], which `mrc` shares.
    Uet(UetReceiver),
    /// A user-defined transport.
    Custom(Box<dyn Receiver>),
}

/// The component that is named in the error for a panic in a user-defined transport.
const PART: &str = "transport";

/// A counter of senders that only some transports have ([`SenderCounters`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderCounter {
    /// NACKs, as in [`SenderCounters::nacks`].
    Nacks,
    /// Batches of retransmissions, as in [`SenderCounters::fetches`].
    Fetches,
}

/// The methods `framing` and `rto` of a configuration with the fields `payload`, `header`, `ack` and `rto`.
macro_rules! framing_and_rto {
    () => {
        fn framing(&self) -> $crate::transport::Framing {
            $crate::transport::Framing { payload: self.payload, header: self.header, ack: self.ack }
        }

        fn rto(&self) -> $crate::Span {
            self.rto
        }
    };
}
pub(crate) use framing_and_rto;

interface! {
    /// The properties of a transport that follow from its configuration.
    pub trait TransportProperties for each of TransportConfig by each_config {
        /// The sender of a new queue pair.
        fn build_sender(&self, ends: Ends, facts: &PathFacts, cc: AnyCc, lb: AnyLb) -> AnySender;
        /// The receiver of a new queue pair.
        fn build_receiver(&self, ends: Ends, facts: &PathFacts) -> AnyReceiver;
        /// The sender of a new queue pair, which may draw random numbers from a stream of `seed`. Built-in transports
        /// draw none.
        fn build_sender_with_seed(
            &self,
            ends: Ends,
            facts: &PathFacts,
            cc: AnyCc,
            lb: AnyLb,
            seed: u64,
        ) -> AnySender {
            let _ = seed;
            self.build_sender(ends, facts, cc, lb)
        }
        /// The receiver of a new queue pair, which may draw random numbers from a stream of `seed`. Of the built-in
        /// transports, only `mrc` draws any.
        fn build_receiver_with_seed(&self, ends: Ends, facts: &PathFacts, seed: u64) -> AnyReceiver {
            let _ = seed;
            self.build_receiver(ends, facts)
        }
        /// The sizes of packets.
        fn framing(&self) -> Framing;
        /// The size of a trimmed packet.
        fn trimmed_bytes(&self) -> Bytes {
            self.framing().header
        }
        /// The size of the smallest packet whose size is not in [`framing`](Self::framing). By default there is no such
        /// packet, and the result is the size of an ACK.
        fn shortest_packet(&self) -> Bytes {
            self.framing().ack
        }
        /// The retransmission timeout.
        fn rto(&self) -> Span;
        /// The hardware state of a queue pair that tracks which of `packets` packets in flight arrived and which are
        /// lost, field by field. Two parts are not listed: the timer at the sender, and the cumulative PSN at both
        /// hosts.
        fn tracking(&self, packets: u32) -> Vec<StateField>;
        /// Number of messages that the receiver tracks at the same time, with state of their own in
        /// [`tracking`](Self::tracking). None if the receiver tracks only packets.
        fn tracked_messages(&self) -> Option<u32> {
            None
        }
        /// Timeouts of the transport that must exceed a round trip, with the paths of their parameters.
        fn timeouts(&self) -> Vec<(&'static str, Span)> {
            vec![("transport.rto", self.rto())]
        }
        /// The capacity of a queue pair over its lifetime, for an initial window of `window` bytes.
        fn number_space(&self, window: u64) -> NumberSpace {
            let _ = window;
            NumberSpace::of_packets(u64::from(u32::MAX))
        }
        /// Length in packets of the requests into which a message of `message` packets is split, for an initial
        /// window of `window` bytes. The last request may be shorter. None for transports without requests.
        fn request_packets(&self, window: u64, message: u64) -> Option<u64> {
            let _ = (window, message);
            None
        }
        /// The transport's own window, which applies in addition to the window of the congestion control, and the path
        /// of the parameter that sets it. None if the transport has no such window.
        fn window(&self) -> Option<(Size, &'static str)> {
            None
        }
        /// The least number of packets of `packet` bytes that a window of `window` bytes admits. By default a packet is
        /// sent while less than the window is in flight.
        fn packets_in_window(&self, window: u64, packet: u64) -> u64 {
            window.div_ceil(packet)
        }
        /// The window that is large enough to keep a path busy, in BDPs.
        fn busy_window_bdps(&self) -> f64 {
            1.0
        }
        /// The interval of the receiver's ACKs with a window of `window` bytes. The last packet of a window may be
        /// acknowledged earlier.
        fn ack_interval(&self, window: u64) -> AckInterval {
            let _ = window;
            AckInterval::EVERY_PACKET
        }
        /// The largest number of round trips that a packet needs if nothing is lost, including the round trip in which
        /// the sender requests credit.
        fn round_trips(&self) -> u32 {
            1
        }
        /// The time in RTOs until `rounds` rounds of transmission have timed out.
        fn timeouts_of_rounds(&self, rounds: f64) -> f64 {
            rounds
        }
        /// The state that a connection takes over from the previous one between its two hosts.
        fn inherits(&self) -> Inherits {
            Inherits::Nothing
        }
        /// The pacer of a host's pulls. None for transports whose receivers do not pull.
        fn pull_pacer(&self, facts: &PathFacts) -> Option<PullPacer> {
            let _ = facts;
            None
        }
        /// Whether the transport paces packets at the rate of a congestion control.
        fn paces(&self) -> bool {
            true
        }
        /// Whether the transport passes the telemetry of switches to the congestion control.
        fn forwards_telemetry(&self) -> bool {
            false
        }
        /// The headers of the transport's packets.
        fn headers(&self) -> Headers {
            Headers::Extended
        }
        /// The counters of the transport's senders that results contain besides retransmissions and timeouts.
        fn counters(&self) -> &'static [SenderCounter] {
            &[]
        }
        /// Checks parameters that depend on each other.
        ///
        /// # Errors
        /// The first conflict.
        fn check_together(&self) -> Result<(), Conflict> {
            Ok(())
        }
    }
}

impl TransportProperties for RegisteredTransport {
    fn build_sender(&self, ends: Ends, facts: &PathFacts, cc: AnyCc, lb: AnyLb) -> AnySender {
        self.build_sender_with_seed(ends, facts, cc, lb, 0)
    }

    fn build_receiver(&self, ends: Ends, facts: &PathFacts) -> AnyReceiver {
        self.build_receiver_with_seed(ends, facts, 0)
    }

    fn build_sender_with_seed(
        &self,
        ends: Ends,
        facts: &PathFacts,
        cc: AnyCc,
        lb: AnyLb,
        seed: u64,
    ) -> AnySender {
        let random = stream(seed, 2 * u64::from(ends.qp.0), Purpose::Transport);
        let parts = SenderParts { ends, facts: *facts, cc, lb, random };
        AnySender::Custom(foreign(PART, || (self.factory().sender)(parts, self.parameters())))
    }

    fn build_receiver_with_seed(&self, ends: Ends, facts: &PathFacts, seed: u64) -> AnyReceiver {
        let random = stream(seed, 2 * u64::from(ends.qp.0) + 1, Purpose::Transport);
        let parts = ReceiverParts { ends, facts: *facts, random };
        AnyReceiver::Custom(foreign(PART, || (self.factory().receiver)(parts, self.parameters())))
    }

    fn framing(&self) -> Framing {
        let get = |name| self.parameters().get(name);
        Framing { payload: get("payload"), header: get("header"), ack: get("ack") }
    }

    fn rto(&self) -> Span {
        self.parameters().get("rto")
    }

    fn tracking(&self, _packets: u32) -> Vec<StateField> {
        Vec::new()
    }

    fn forwards_telemetry(&self) -> bool {
        true
    }
}

fn bitmap(name: &'static str, packets: u32) -> StateField {
    StateField::new(name, 1, packets)
}

fn sent_at(packets: u32) -> StateField {
    StateField::new("sent at", 32, packets)
}

macro_rules! each_config {
    ($self:ident, $config:ident => $call:expr) => {
        match $self {
            TransportConfig::Sack($config) => $call,
            TransportConfig::GoBackN($config) => $call,
            TransportConfig::RnicSr($config) => $call,
            TransportConfig::Irn($config) => $call,
            TransportConfig::RackTlp($config) => $call,
            TransportConfig::Strack($config) => $call,
            TransportConfig::Dcp($config) => $call,
            TransportConfig::Eqds($config) => $call,
            TransportConfig::MpRdma($config) => $call,
            TransportConfig::Uet($config) => $call,
            TransportConfig::Mrc($config) => $call,
            TransportConfig::Registered($config) => $call,
        }
    };
}
use each_config;

macro_rules! each_end {
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
            $any::Uet($end) => $call,
            $any::Custom($end) => anabranch_base::foreign($crate::transport::PART, || $call),
        }
    };
}

macro_rules! each_sender {
    ($self:ident, $end:ident => $call:expr) => {
        $crate::transport::each_end!(AnySender, $self, $end => $call)
    };
}

macro_rules! each_receiver {
    ($self:ident, $end:ident => $call:expr) => {
        $crate::transport::each_end!(AnyReceiver, $self, $end => $call)
    };
}
use {each_end, each_receiver, each_sender};

impl AnySender {
    /// The state for the next connection between the same two hosts, if connections
    /// [inherit](TransportConfig::inherits) any.
    pub fn cached_state(&self) -> Option<CachedState> {
        match self {
            AnySender::Sack(sender) => sender.cached_state(),
            _ => None,
        }
    }

    /// Replaces the initial state by that of an earlier connection, if connections inherit any.
    pub fn inherit(&mut self, earlier: &CachedState) {
        if let AnySender::Sack(sender) = self {
            sender.inherit(earlier);
        }
    }
}
