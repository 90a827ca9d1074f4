//! Congestion control: the window and rate of a queue pair.

mod constant;
mod dcqcn;
mod dctcp;
mod hpcc;
mod interface;
mod mp_rdma;
mod nscc;
mod strack;

use crate::PathFacts;
use anabranch_base::{Parameters, Purpose, Registered, Stream, foreign, kinds, stream};
use serde::{Serialize, Serializer};

pub use constant::{Constant, ConstantConfig};
pub use dcqcn::{AlphaDecay, Dcqcn, DcqcnConfig, Increases, OnNack};
pub use dctcp::{Dctcp, DctcpConfig};
pub use hpcc::{BaseRtt, Hpcc, HpccConfig};
pub use interface::{
    AckReport, CcProperties, CongestionControl, LossCause, LossReport, TelemetryReport, Windows,
};
pub use mp_rdma::{MpRdmaCc, MpRdmaCcConfig};
pub use nscc::{Nscc, NsccAverage, NsccConfig, NsccConstants, NsccRules};
pub use strack::{StrackCc, StrackCcConfig};

kinds! {
    /// A congestion control and its parameters.
    #[derive(Clone, Debug, PartialEq)]
    pub enum CcConfig or RegisteredCc {
        /// DCTCP in the per-ACK form of MPRDMA (REPS, section 4.1).
        #[kind("dctcp")]
        Dctcp(DctcpConfig),
        /// DCQCN (SIGCOMM 2015), which sets a rate.
        #[kind("dcqcn")]
        Dcqcn(DcqcnConfig),
        /// HPCC (SIGCOMM 2019), which sets a window and a rate from in-network telemetry.
        #[kind("hpcc")]
        Hpcc(HpccConfig),
        /// STrack's congestion control (Algorithms 2 and 4).
        #[kind("strack")]
        Strack(StrackCcConfig),
        /// MP-RDMA (NSDI 2018), with one window for all paths, which each ACK changes.
        #[kind("mp-rdma")]
        MpRdma(MpRdmaCcConfig),
        /// NSCC of Ultra Ethernet (UET 1.0.3, section 3.6.13): a delay-based window at the sender.
        #[kind("nscc")]
        Nscc(NsccConfig),
        /// A window that never changes.
        #[kind("constant")]
        Constant(ConstantConfig),
    }
}

/// A user-defined congestion control with its parameters and required inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct RegisteredCc {
    /// The name, the parameters and the factory.
    pub registered: Registered<CcFactory>,
    /// The inputs that the congestion control needs besides ACKs and losses.
    pub wants: CcWants,
}

/// The inputs that a congestion control needs besides ACKs and losses; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CcWants {
    /// Telemetry of switches. Only the transport `go-back-n` and user-defined transports can forward it.
    pub telemetry: bool,
    /// The facts about the queue pair's own path instead of those about the fabric's longest path.
    pub own_path: bool,
}

/// Builds the congestion control of a new queue pair. The congestion control draws its random numbers from the stream.
pub type CcFactory = dyn Fn(&PathFacts, &Parameters, Stream) -> Box<dyn CongestionControl> + Send + Sync;

impl Serialize for RegisteredCc {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.registered.serialize(s)
    }
}

/// The name of the component in the error for a panic in a user-defined congestion control.
const PART: &str = "congestion control";

/// Any congestion control. It sets a window, a rate or both, and learns from feedback. It never sees a load balancer.
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
    /// See [`Nscc`].
    Nscc(Box<Nscc>),
    /// See [`Constant`].
    Constant(Constant),
    /// A user-defined congestion control.
    Custom(Box<dyn CongestionControl>),
}

impl CcConfig {
    /// Builds the congestion control of a new queue pair. This method is only for built-in kinds, which draw no random
    /// numbers.
    pub fn build(&self, facts: &PathFacts) -> AnyCc {
        self.build_with_stream(facts, stream(0, 0, Purpose::CongestionControl))
    }

    /// Whether switches must add telemetry to data packets.
    pub fn wants_telemetry(&self) -> bool {
        self.wants().telemetry
    }

    /// Whether [`build`](Self::build) needs the facts about the queue pair's own path. If not, the facts about the
    /// fabric's longest path are sufficient.
    pub fn wants_own_path(&self) -> bool {
        self.wants().own_path
    }
}

impl CcProperties for RegisteredCc {
    fn build_with_stream(&self, facts: &PathFacts, random: Stream) -> AnyCc {
        let its = &self.registered;
        AnyCc::Custom(foreign(PART, || its.factory()(facts, its.parameters(), random)))
    }

    fn windows(&self) -> Windows {
        Windows::Own
    }

    fn reacts_to_ecn(&self) -> bool {
        true
    }

    fn wants(&self) -> CcWants {
        self.wants
    }

    fn resumes_window(&self) -> bool {
        true
    }
}

macro_rules! each_config {
    ($self:ident, $config:ident => $call:expr) => {
        match $self {
            CcConfig::Dctcp($config) => $call,
            CcConfig::Dcqcn($config) => $call,
            CcConfig::Hpcc($config) => $call,
            CcConfig::Strack($config) => $call,
            CcConfig::MpRdma($config) => $call,
            CcConfig::Nscc($config) => $call,
            CcConfig::Constant($config) => $call,
            CcConfig::Registered($config) => $call,
        }
    };
}
use each_config;

macro_rules! each_cc {
    ($self:ident, $cc:ident => $call:expr) => {
        match $self {
            AnyCc::Dctcp($cc) => $call,
            AnyCc::Dcqcn($cc) => $call,
            AnyCc::Hpcc($cc) => $call,
            AnyCc::Strack($cc) => $call,
            AnyCc::MpRdma($cc) => $call,
            AnyCc::Nscc($cc) => $call,
            AnyCc::Constant($cc) => $call,
            AnyCc::Custom($cc) => anabranch_base::foreign($crate::cc::PART, || $call),
        }
    };
}

use each_cc;

impl AnyCc {
    /// A window of `bytes` bytes that never changes.
    pub fn constant(bytes: u64) -> Self {
        AnyCc::Constant(Constant(bytes))
    }
}
