//! Host load balancing: which entropy value the next packet carries.

mod ecmp;
mod mp_rdma;
mod ops;
mod reps;
mod strack;

use crate::{PathFacts, Span};
use anabranch_base::{Duration, Stream, Time};
use serde::{Deserialize, Serialize};

pub use ecmp::Ecmp;
pub use mp_rdma::{MpRdmaLb, MpRdmaLbConfig};
pub use ops::Ops;
pub use reps::{MAX_BUFFER, Reps};
pub use strack::StrackLb;

/// A load balancer and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LbConfig {
    /// One entropy value for a queue pair's life.
    Ecmp {},
    /// A random entropy value for each packet (oblivious packet spraying).
    Ops {
        /// Number of entropy values (EVS size), 1 to 65,536.
        evs: u32,
    },
    /// Recycled entropies.
    Reps(RepsConfig),
    /// STrack, Algorithm 3.
    Strack(StrackLbConfig),
    /// MP-RDMA (NSDI 2018): a packet takes the path of the ACK that lets it go.
    MpRdma(MpRdmaLbConfig),
}

/// Parameters of STrack's load balancer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StrackLbConfig {
    /// Entropy values, and bits of the bitmap (max_paths), 1 to 256.
    pub max_paths: u32,
    /// The round robin covers at least this many (Algorithm 3, line 18).
    pub min_paths: u32,
}

/// Parameters of REPS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepsConfig {
    /// Number of entropy values (EVS_SIZE), 1 to 65,536.
    pub evs: u32,
    /// Entries of the circular buffer (REPS_BUFFER_SIZE), 1 to 32.
    pub buffer: u32,
    /// Freezing mode is there at all (Appendix C.4 studies REPS without it).
    pub freezing: bool,
    /// How long freezing lasts (FREEZING_TIMEOUT).
    pub freezing_timeout: Span,
    /// Packets after freezing of which every `buffer`-th explores (NUM_PKTS_CWND), at most 255.
    pub explore_packets: u32,
    /// A timeout means a failure when the highest RTT of the last two RTOs was below this many base RTTs
    /// (Appendix A, without trimming).
    pub failure_rtt: f64,
}

/// What a load balancer is told of its surroundings.
#[derive(Clone, Copy, Debug)]
pub struct Environment {
    /// The fabric's longest path.
    pub facts: PathFacts,
    /// The transport's retransmission timeout.
    pub rto: Duration,
    /// Switches trim instead of dropping.
    pub trimming: bool,
}

/// A piece of hardware state that an algorithm keeps for a queue pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StateField {
    /// The paper's name of it.
    pub name: &'static str,
    /// Bits of one.
    pub bits: u32,
    /// How many of them.
    pub count: u32,
}

impl StateField {
    /// `count` fields of `bits` bits.
    pub const fn new(name: &'static str, bits: u32, count: u32) -> Self {
        StateField { name, bits, count }
    }
}

/// Any load balancer. It answers with an entropy value and learns from feedback; it never sees congestion control.
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
    /// Somebody else's.
    Custom(Box<dyn LoadBalancer>),
}

/// What every load balancer implements, and one of your own.
pub trait LoadBalancer: Send {
    /// The entropy value of the packet that is sent now, within a window of `window` bytes.
    fn next_ev(&mut self, now: Time, window: u64) -> u16;
    /// An ACK arrived with the entropy value of the packet that caused it.
    fn handle_ack(&mut self, now: Time, ev: u16, marked: bool, rtt: Duration) {
        let _ = (now, ev, marked, rtt);
    }
    /// A packet timed out.
    fn handle_timeout(&mut self, now: Time) {
        let _ = now;
    }
    /// A packet with this entropy value was trimmed.
    fn handle_trim(&mut self, now: Time, ev: u16) {
        let _ = (now, ev);
    }
}

impl LbConfig {
    /// The load balancer of a new queue pair.
    pub fn build(&self, environment: &Environment, mut random: Stream) -> AnyLb {
        match self {
            LbConfig::Ecmp {} => AnyLb::ecmp(random.next_u32() as u16),
            LbConfig::Ops { evs } => AnyLb::Ops(Ops::new(*evs, random)),
            LbConfig::Reps(config) => AnyLb::Reps(Reps::new(config, environment, random)),
            LbConfig::Strack(config) => AnyLb::Strack(StrackLb::new(config, environment, random)),
            LbConfig::MpRdma(config) => AnyLb::MpRdma(MpRdmaLb::new(config, environment, random)),
        }
    }

    /// The state that hardware keeps for a queue pair, field by field.
    pub fn state(&self) -> Vec<StateField> {
        match self {
            LbConfig::Ecmp {} => Ecmp::state(),
            LbConfig::Ops { .. } => Vec::new(),
            LbConfig::Reps(config) => Reps::state(config),
            LbConfig::Strack(config) => StrackLb::state(config),
            LbConfig::MpRdma(_) => MpRdmaLb::state(),
        }
    }
}

/// Hands each call on to whichever load balancer it is.
macro_rules! dispatch {
    ($self:ident, $lb:ident => $call:expr) => {
        match $self {
            AnyLb::Ecmp($lb) => $call,
            AnyLb::Ops($lb) => $call,
            AnyLb::Reps($lb) => $call,
            AnyLb::Strack($lb) => $call,
            AnyLb::MpRdma($lb) => $call,
            AnyLb::Custom($lb) => $call,
        }
    };
}

impl AnyLb {
    /// The entropy value `ev` for ever.
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
