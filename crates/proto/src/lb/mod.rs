//! Host load balancing: the choice of the next packet's entropy value.

mod ack_clock;
mod bitmap;
mod ecmp;
mod flowlet;
mod interface;
mod mp_rdma;
mod ops;
mod plb;
mod reps;
mod round_robin;
mod strack;
#[cfg(test)]
mod testing;

use anabranch_base::{Duration, Parameters, Registered, Stream, Time, foreign, kinds};

pub use crate::state::StateField;
pub use ack_clock::{AckClock, AckClockConfig};
pub use bitmap::{Bitmap, BitmapConfig};
pub use ecmp::Ecmp;
pub use flowlet::{Flowlet, FlowletConfig, PauseSince};
pub use interface::{Environment, LoadBalancer};
pub use mp_rdma::{MpRdmaLb, MpRdmaLbConfig};
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
        /// Recycled entropies.
        #[kind("reps")]
        Reps(RepsConfig),
        /// STrack, Algorithm 3.
        #[kind("strack")]
        Strack(StrackLbConfig),
        /// MP-RDMA (NSDI 2018): a packet takes the path of the ACK that clocks it out.
        #[kind("mp-rdma")]
        MpRdma(MpRdmaLbConfig),
        /// PLB (SIGCOMM 2022) or FlowBender (CoNEXT 2014): another path after congested round trips.
        #[kind("plb")]
        Plb(PlbConfig),
        /// Flowlets at the host: another path after an idle gap.
        #[kind("flowlet")]
        Flowlet(FlowletConfig),
        /// Penalties for each entropy value, and a round robin over those without.
        #[kind("bitmap")]
        Bitmap(BitmapConfig),
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

/// Builds the load balancer of a new queue pair, which draws from the stream.
pub type LbFactory = dyn Fn(&Environment, &Parameters, Stream) -> Box<dyn LoadBalancer> + Send + Sync;

/// The part that the error for a panic in a user-defined load balancer names.
const PART: &str = "load balancer";

/// Any load balancer. It chooses an entropy value and learns from feedback; it never sees the congestion control.
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
    /// See [`Bitmap`]. Boxed, since it is large and rarely used.
    Bitmap(Box<Bitmap>),
    /// See [`AckClock`].
    AckClock(AckClock),
    /// See [`RoundRobin`].
    RoundRobin(RoundRobin),
    /// A user-defined load balancer.
    Custom(Box<dyn LoadBalancer>),
}

impl LbConfig {
    /// The load balancer of a new queue pair.
    pub fn build(&self, environment: &Environment, mut random: Stream) -> AnyLb {
        match self {
            LbConfig::Ecmp {} => AnyLb::ecmp(random.next_u32() as u16),
            LbConfig::Ops(config) => AnyLb::Ops(Ops::new(config, random)),
            LbConfig::Reps(config) => AnyLb::Reps(Reps::new(config, environment, random)),
            LbConfig::Strack(config) => AnyLb::Strack(StrackLb::new(config, environment, random)),
            LbConfig::MpRdma(config) => AnyLb::MpRdma(MpRdmaLb::new(config, environment, random)),
            LbConfig::Plb(config) => AnyLb::Plb(Plb::new(config, environment, random)),
            LbConfig::Flowlet(config) => AnyLb::Flowlet(Flowlet::new(config, environment, random)),
            LbConfig::Bitmap(config) => AnyLb::Bitmap(Box::new(Bitmap::new(config, environment, random))),
            LbConfig::AckClock(config) => AnyLb::AckClock(AckClock::new(config, random)),
            LbConfig::RoundRobin(config) => AnyLb::RoundRobin(RoundRobin::new(config, random)),
            LbConfig::Registered(its) => {
                AnyLb::Custom(foreign(PART, || its.factory()(environment, its.parameters(), random)))
            }
        }
    }

    /// The hardware state of a queue pair, field by field; empty for user-defined load balancers.
    pub fn state(&self) -> Vec<StateField> {
        match self {
            LbConfig::Ecmp {} => Ecmp::state(),
            LbConfig::Ops(_) => Vec::new(),
            LbConfig::Reps(config) => Reps::state(config),
            LbConfig::Strack(config) => StrackLb::state(config),
            LbConfig::MpRdma(_) => MpRdmaLb::state(),
            LbConfig::Plb(_) => Plb::state(),
            LbConfig::Flowlet(_) => Flowlet::state(),
            LbConfig::Bitmap(config) => Bitmap::state(config),
            LbConfig::AckClock(_) => AckClock::state(),
            LbConfig::RoundRobin(_) => RoundRobin::state(),
            LbConfig::Registered(_) => Vec::new(),
        }
    }
}

/// Forwards a call to the load balancer of the variant.
macro_rules! dispatch {
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
            AnyLb::AckClock($lb) => $call,
            AnyLb::RoundRobin($lb) => $call,
            AnyLb::Custom($lb) => foreign(PART, || $call),
        }
    };
}

impl AnyLb {
    /// A load balancer that always returns `ev`.
    pub fn ecmp(ev: u16) -> Self {
        AnyLb::Ecmp(Ecmp(ev))
    }

    /// See [`LoadBalancer::next_ev`].
    #[inline]
    pub fn next_ev(&mut self, now: Time, window: u64) -> u16 {
        dispatch!(self, lb => lb.next_ev(now, window))
    }

    /// See [`LoadBalancer::handle_ack`].
    #[inline]
    pub fn handle_ack(&mut self, now: Time, ev: u16, marked: bool, rtt: Duration) {
        dispatch!(self, lb => lb.handle_ack(now, ev, marked, rtt));
    }

    /// See [`LoadBalancer::handle_timeout`].
    pub fn handle_timeout(&mut self, now: Time) {
        dispatch!(self, lb => lb.handle_timeout(now));
    }

    /// See [`LoadBalancer::handle_trim`].
    pub fn handle_trim(&mut self, now: Time, ev: u16) {
        dispatch!(self, lb => lb.handle_trim(now, ev));
    }
}
