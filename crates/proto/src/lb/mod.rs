//! Host load balancing: the choice of the next packet's entropy value.

mod ack_clock;
mod bitmap;
mod ecmp;
mod flowlet;
mod interface;
mod mixed;
mod mp_rdma;
mod mrc;
mod ops;
mod plb;
mod reps;
mod round_robin;
mod strack;
#[cfg(test)]
mod testing;

use anabranch_base::{Parameters, Registered, Stream, foreign, kinds};

pub use crate::state::StateField;
pub use ack_clock::{AckClock, AckClockConfig};
pub use bitmap::{Bitmap, BitmapConfig, Decay};
pub use ecmp::Ecmp;
pub use flowlet::{Flowlet, FlowletConfig, PauseSince};
pub use interface::{Environment, LbProperties, LoadBalancer, NicPorts};
pub use mixed::{Mixed, MixedConfig};
pub use mp_rdma::{MpRdmaLb, MpRdmaLbConfig};
pub use mrc::{DeniedPath, MrcLb, MrcLbConfig};
pub use ops::{Ops, OpsConfig};
pub use plb::{Plb, PlbConfig};
pub use reps::{AfterFreezing, FreezingEnds, MAX_BUFFER, Reps, RepsConfig, ReuseOrder};
pub use round_robin::{RoundRobin, RoundRobinConfig};
pub use strack::{StrackLb, StrackLbConfig};

kinds! {
    /// A load balancer and its parameters.
    #[derive(Clone, Debug, PartialEq)]
    pub enum LbConfig or RegisteredLb {
        /// One entropy value for a queue pair's lifetime.
        #[kind("ecmp")]
        Ecmp {},
        /// A random entropy value for each packet (oblivious packet spraying).
        #[kind("ops")]
        Ops(OpsConfig),
        /// REPS: entropy values of unmarked ACKs are reused.
        #[kind("reps")]
        Reps(RepsConfig),
        /// STrack's load balancer (Algorithm 3).
        #[kind("strack")]
        Strack(StrackLbConfig),
        /// MP-RDMA (NSDI 2018), under which a packet takes the path of the ACK that clocks it out.
        #[kind("mp-rdma")]
        MpRdma(MpRdmaLbConfig),
        /// PLB (SIGCOMM 2022) or FlowBender (CoNEXT 2014), which take another path after congested round trips.
        #[kind("plb")]
        Plb(PlbConfig),
        /// Flowlets at the host, which take another path after an idle gap.
        #[kind("flowlet")]
        Flowlet(FlowletConfig),
        /// A penalty for each entropy value, and a round robin over the values without one.
        #[kind("bitmap")]
        Bitmap(BitmapConfig),
        /// An entropy value that came back unmarked, or if there is none, the one that the bitmap chooses.
        #[kind("mixed")]
        Mixed(MixedConfig),
        /// MRC (OCP 1.0): a set of entropy values with states, equally many in each plane.
        #[kind("mrc")]
        Mrc(MrcLbConfig),
        /// Each packet takes the entropy value of the ACK that clocks it out.
        #[kind("ack-clock")]
        AckClock(AckClockConfig),
        /// A few entropy values in turn.
        #[kind("round-robin")]
        RoundRobin(RoundRobinConfig),
    }
}

/// A user-defined load balancer with its parameters.
pub type RegisteredLb = Registered<LbFactory>;

/// Builds the load balancer of a new queue pair. The load balancer draws its random numbers from the stream.
pub type LbFactory = dyn Fn(&Environment, &Parameters, Stream) -> Box<dyn LoadBalancer> + Send + Sync;

/// The name of the component in the error for a panic in a user-defined load balancer.
const PART: &str = "load balancer";

/// Any load balancer. It chooses an entropy value and learns from feedback. The window is all that it sees of the
/// congestion control.
pub enum AnyLb {
    /// See [`Ecmp`].
    Ecmp(Ecmp),
    /// See [`Ops`].
    Ops(Ops),
    /// See [`Reps`].
    Reps(Reps),
    /// See [`StrackLb`].
    Strack(StrackLb),
    /// See [`MpRdmaLb`].
    MpRdma(MpRdmaLb),
    /// See [`Plb`].
    Plb(Plb),
    /// See [`Flowlet`].
    Flowlet(Flowlet),
    /// See [`Bitmap`].
    Bitmap(Box<Bitmap>),
    /// See [`Mixed`].
    Mixed(Box<Mixed>),
    /// See [`MrcLb`].
    Mrc(Box<MrcLb>),
    /// See [`AckClock`].
    AckClock(AckClock),
    /// See [`RoundRobin`].
    RoundRobin(RoundRobin),
    /// A user-defined load balancer.
    Custom(Box<dyn LoadBalancer>),
}

impl LbProperties for RegisteredLb {
    fn build(&self, environment: &Environment, random: Stream) -> AnyLb {
        AnyLb::Custom(foreign(PART, || self.factory()(environment, self.parameters(), random)))
    }

    fn state(&self) -> Vec<StateField> {
        Vec::new()
    }

    fn reacts_to_ecn(&self) -> bool {
        true
    }
}

macro_rules! each_config {
    ($self:ident, $config:ident => $call:expr) => {
        match $self {
            LbConfig::Ecmp {} => {
                let $config = &$crate::lb::ecmp::EcmpConfig;
                $call
            }
            LbConfig::Ops($config) => $call,
            LbConfig::Reps($config) => $call,
            LbConfig::Strack($config) => $call,
            LbConfig::MpRdma($config) => $call,
            LbConfig::Plb($config) => $call,
            LbConfig::Flowlet($config) => $call,
            LbConfig::Bitmap($config) => $call,
            LbConfig::Mixed($config) => $call,
            LbConfig::Mrc($config) => $call,
            LbConfig::AckClock($config) => $call,
            LbConfig::RoundRobin($config) => $call,
            LbConfig::Registered($config) => $call,
        }
    };
}
use each_config;

macro_rules! each_lb {
    ($self:ident, $lb:ident => $call:expr) => {
        match $self {
            AnyLb::Ecmp($lb) => $call,
            AnyLb::Ops($lb) => $call,
            AnyLb::Reps($lb) => $call,
            AnyLb::Strack($lb) => $call,
            AnyLb::MpRdma($lb) => $call,
            AnyLb::Plb($lb) => $call,
            AnyLb::Flowlet($lb) => $call,
            AnyLb::Bitmap($lb) => $call,
            AnyLb::Mixed($lb) => $call,
            AnyLb::Mrc($lb) => $call,
            AnyLb::AckClock($lb) => $call,
            AnyLb::RoundRobin($lb) => $call,
            AnyLb::Custom($lb) => anabranch_base::foreign($crate::lb::PART, || $call),
        }
    };
}

use each_lb;

impl AnyLb {
    /// A load balancer that always returns `ev`.
    pub fn ecmp(ev: u16) -> Self {
        AnyLb::Ecmp(Ecmp(ev))
    }
}
