//! Congestion control: the window and rate of a queue pair.

mod constant;
mod dcqcn;
mod dctcp;
mod hpcc;
mod interface;
mod mp_rdma;
mod strack;

use crate::PathFacts;
use anabranch_base::{Parameters, Purpose, Rate, Registered, Stream, Time, foreign, kinds, stream};
use serde::{Serialize, Serializer};

pub use constant::{Constant, ConstantConfig};
pub use dcqcn::{AlphaDecay, Dcqcn, DcqcnConfig, Increases, OnNack};
pub use dctcp::{Dctcp, DctcpConfig};
pub use hpcc::{BaseRtt, Hpcc, HpccConfig};
pub use interface::{AckReport, CongestionControl, TelemetryReport};
pub use mp_rdma::{MpRdmaCc, MpRdmaCcConfig};
pub use strack::{StrackCc, StrackCcConfig};

kinds! {
    /// A congestion control and its parameters.
    #[derive(Clone, Debug, PartialEq)]
    pub enum CcConfig or RegisteredCc {
        /// DCTCP in the per-ACK form of MPRDMA (REPS, section 4.1).
        #[kind("dctcp")]
        Dctcp(DctcpConfig),
        /// DCQCN (SIGCOMM 2015): a rate.
        #[kind("dcqcn")]
        Dcqcn(DcqcnConfig),
        /// HPCC (SIGCOMM 2019): a window and a rate, from in-network telemetry.
        #[kind("hpcc")]
        Hpcc(HpccConfig),
        /// STrack, Algorithms 2 and 4.
        #[kind("strack")]
        Strack(StrackCcConfig),
        /// MP-RDMA (NSDI 2018): a window that each ACK changes, for all paths together.
        #[kind("mp-rdma")]
        MpRdma(MpRdmaCcConfig),
        /// A window that never changes.
        #[kind("constant")]
        Constant(ConstantConfig),
    }
}

/// A user-defined congestion control with its parameters and the inputs that it needs.
#[derive(Clone, Debug, PartialEq)]
pub struct RegisteredCc {
    /// Name, parameters and factory.
    pub registered: Registered<CcFactory>,
    /// The inputs besides ACKs and losses.
    pub wants: CcWants,
}

/// The inputs that a congestion control needs besides ACKs and losses; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CcWants {
    /// Telemetry of switches; only under a transport that forwards it (`go-back-n`).
    pub telemetry: bool,
    /// The facts of the queue pair's own path instead of the fabric's longest one.
    pub own_path: bool,
}

/// Builds the congestion control of a new queue pair, which draws from the stream.
pub type CcFactory = dyn Fn(&PathFacts, &Parameters, Stream) -> Box<dyn CongestionControl> + Send + Sync;

impl Serialize for RegisteredCc {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.registered.serialize(s)
    }
}

/// The part that the error for a panic in a user-defined congestion control names.
const PART: &str = "congestion control";

/// Any congestion control. It gives an allowance (window, rate or both) and learns from feedback; it never sees a load
/// balancer.
// Large variants are boxed, so that the fields of a sender share few cache lines whatever its congestion control is.
pub enum AnyCc {
    /// See [`Dctcp`].
    Dctcp(Dctcp),
    /// See [`Dcqcn`].
    Dcqcn(Box<Dcqcn>),
    /// See [`Hpcc`].
    Hpcc(Box<Hpcc>),
    /// See [`StrackCc`].
    Strack(Box<StrackCc>),
    /// See [`MpRdmaCc`].
    MpRdma(MpRdmaCc),
    /// See [`Constant`].
    Constant(Constant),
    /// A user-defined congestion control.
    Custom(Box<dyn CongestionControl>),
}

impl CcConfig {
    /// The congestion control of a new queue pair. For built-in ones, which draw no random numbers.
    pub fn build(&self, facts: &PathFacts) -> AnyCc {
        self.build_with_stream(facts, stream(0, 0, Purpose::CongestionControl))
    }

    /// The congestion control of a new queue pair, which draws from `random`.
    pub fn build_with_stream(&self, facts: &PathFacts, random: Stream) -> AnyCc {
        match self {
            CcConfig::Dctcp(config) => AnyCc::Dctcp(Dctcp::new(config, facts)),
            CcConfig::Dcqcn(config) => AnyCc::Dcqcn(Box::new(Dcqcn::new(config, facts))),
            CcConfig::Hpcc(config) => AnyCc::Hpcc(Box::new(Hpcc::new(config, facts))),
            CcConfig::Strack(config) => AnyCc::Strack(Box::new(StrackCc::new(config, facts))),
            CcConfig::MpRdma(config) => AnyCc::MpRdma(MpRdmaCc::new(config, facts)),
            CcConfig::Constant(config) => AnyCc::constant(config.window.window_on(facts).0),
            CcConfig::Registered(RegisteredCc { registered, .. }) => {
                AnyCc::Custom(foreign(PART, || registered.factory()(facts, registered.parameters(), random)))
            }
        }
    }

    /// Whether switches must add telemetry to data packets.
    pub fn wants_telemetry(&self) -> bool {
        matches!(
            self,
            CcConfig::Hpcc(_)
                | CcConfig::Registered(RegisteredCc { wants: CcWants { telemetry: true, .. }, .. })
        )
    }

    /// Whether [`build`](Self::build) needs the facts of the queue pair's own path instead of the fabric's longest one.
    pub fn wants_own_path(&self) -> bool {
        match self {
            CcConfig::Hpcc(config) => config.base_rtt == BaseRtt::Path,
            CcConfig::Registered(registered) => registered.wants.own_path,
            _ => false,
        }
    }
}

/// Forwards a call to the congestion control of the variant.
macro_rules! dispatch {
    ($self:ident, $cc:ident => $call:expr) => {
        match $self {
            AnyCc::Dctcp($cc) => $call,
            AnyCc::Dcqcn($cc) => $call,
            AnyCc::Hpcc($cc) => $call,
            AnyCc::Strack($cc) => $call,
            AnyCc::MpRdma($cc) => $call,
            AnyCc::Constant($cc) => $call,
            AnyCc::Custom($cc) => foreign(PART, || $call),
        }
    };
}

impl AnyCc {
    /// A window of `bytes` bytes that never changes.
    pub fn constant(bytes: u64) -> Self {
        AnyCc::Constant(Constant(bytes))
    }

    /// See [`CongestionControl::window`].
    #[inline]
    pub fn window(&self) -> u64 {
        dispatch!(self, cc => cc.window())
    }

    /// See [`CongestionControl::paces`].
    #[inline]
    pub fn paces(&self) -> bool {
        dispatch!(self, cc => cc.paces())
    }

    /// See [`CongestionControl::rate`].
    #[inline]
    pub fn rate(&mut self, now: Time) -> Option<Rate> {
        dispatch!(self, cc => cc.rate(now))
    }

    /// See [`CongestionControl::next_increase`].
    pub fn next_increase(&self) -> Option<Time> {
        dispatch!(self, cc => cc.next_increase())
    }

    /// See [`CongestionControl::handle_sent`].
    #[inline]
    pub fn handle_sent(&mut self, now: Time, bytes: u16) {
        dispatch!(self, cc => cc.handle_sent(now, bytes));
    }

    /// See [`CongestionControl::handle_cnp`].
    #[inline]
    pub fn handle_cnp(&mut self, now: Time) {
        dispatch!(self, cc => cc.handle_cnp(now));
    }

    /// See [`CongestionControl::handle_ack`].
    #[inline]
    pub fn handle_ack(&mut self, acked: &AckReport) {
        dispatch!(self, cc => cc.handle_ack(acked));
    }

    /// See [`CongestionControl::handle_telemetry`].
    #[inline]
    pub fn handle_telemetry(&mut self, report: &TelemetryReport<'_>) {
        dispatch!(self, cc => cc.handle_telemetry(report));
    }

    /// See [`CongestionControl::handle_loss`].
    #[inline]
    pub fn handle_loss(&mut self, now: Time) {
        dispatch!(self, cc => cc.handle_loss(now));
    }

    /// See [`CongestionControl::start_with_window`].
    pub fn start_with_window(&mut self, bytes: u64) {
        dispatch!(self, cc => cc.start_with_window(bytes));
    }

    /// See [`CongestionControl::handle_restart`].
    pub fn handle_restart(&mut self, now: Time) {
        dispatch!(self, cc => cc.handle_restart(now));
    }

    /// See [`CongestionControl::handle_nack`].
    pub fn handle_nack(&mut self, now: Time) {
        dispatch!(self, cc => cc.handle_nack(now));
    }
}
