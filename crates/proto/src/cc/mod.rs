//! Congestion control: how much may be in the network.

mod constant;
mod dcqcn;
mod dctcp;
mod hpcc;
mod mp_rdma;
mod strack;

use crate::{IntStack, Pace, PathFacts, Size, Span};
use anabranch_base::{Bytes, Duration, Rate, Time};
use serde::{Deserialize, Serialize};

pub use constant::Constant;
pub use dcqcn::Dcqcn;
pub use dctcp::Dctcp;
pub use hpcc::{BaseRtt, Hpcc};
pub use mp_rdma::{MpRdmaCc, MpRdmaCcConfig};
pub use strack::StrackCc;

/// A congestion control and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum CcConfig {
    /// DCTCP in the per-ACK form of MPRDMA (REPS, section 4.1).
    Dctcp(DctcpConfig),
    /// DCQCN (SIGCOMM 2015): a rate.
    Dcqcn(DcqcnConfig),
    /// HPCC (SIGCOMM 2019): a window and a rate, from in-network telemetry.
    Hpcc(HpccConfig),
    /// STrack, Algorithms 2 and 4.
    Strack(StrackCcConfig),
    /// MP-RDMA (NSDI 2018): a window that each ACK changes, for all paths together.
    MpRdma(MpRdmaCcConfig),
    /// A window that never changes.
    Constant {
        /// The window.
        window: Size,
    },
}

/// Parameters of per-ACK DCTCP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DctcpConfig {
    /// Window at the start.
    pub initial_window: Size,
    /// Largest window.
    pub max_window: Size,
    /// Packets taken off the window by a marked ACK, for each packet that it acknowledges.
    pub decrease: f64,
    /// Packets taken off the window by a loss.
    pub loss_decrease: f64,
}

/// Parameters of DCQCN's reaction point. Its marking is the fabric's, its notification point the transport's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DcqcnConfig {
    /// Weight of a CNP in alpha.
    pub g: f64,
    /// Alpha when the first CNP comes.
    pub initial_alpha: f64,
    /// Alpha decays once in this time without a CNP.
    pub alpha_timer: Span,
    /// The rate rises once in this time.
    pub increase_timer: Span,
    /// The rate rises once in this many bytes; 0: by the timer alone.
    pub byte_counter: Bytes,
    /// Steps of fast recovery (F).
    pub fast_recovery: u32,
    /// Additive increase of the target rate.
    pub rate_ai: Pace,
    /// Hyper increase of the target rate.
    pub rate_hai: Pace,
    /// The rate never falls below.
    pub min_rate: Pace,
    /// The rate is cut at most once in this time; 0: at every CNP.
    pub decrease_interval: Span,
    /// Bytes that may be in flight, whatever the rate.
    pub window: Size,
}

/// Parameters of HPCC (section 3.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HpccConfig {
    /// The share of the busiest link to settle at (eta).
    pub eta: f64,
    /// So many round trips in a row a link below `eta` may be approached by `rate_ai` alone (maxStage); 0: none.
    pub max_stage: u32,
    /// Additive increase a round trip, as a rate (W_AI / T).
    pub rate_ai: Pace,
    /// Round trip of an idle path (T).
    pub base_rtt: BaseRtt,
}

/// Parameters of STrack's congestion control (Table 1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StrackCcConfig {
    /// Window at the start.
    pub initial_window: Size,
    /// Largest window (max_cwnd).
    pub max_window: Size,
    /// Queueing delay to settle at (target_Qdelay).
    pub target_qdelay: Span,
    /// Queueing delay above which the window follows what is delivered (target_Qhigh).
    pub target_qhigh: Span,
    /// Weight of a sample in the average delay (ewma).
    pub ewma: f64,
    /// Additive increase in packets, before scaling (beta = this * bdp_sf).
    pub beta: f64,
    /// Increase for fairness in packets, before scaling (eta = this * bdp_sf).
    pub eta: f64,
    /// Gain of the proportional increase, before scaling (alpha = this * bdp_sf * delay_sf / base_rtt).
    pub alpha: f64,
    /// Multiplicative decrease (gamma).
    pub gamma: f64,
    /// The window is cut to no less than this share at once (Algorithm 4, line 15).
    pub max_decrease: f64,
}

/// What an ACK tells a congestion control.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// When it arrived.
    pub now: Time,
    /// Packets that it acknowledges for the first time.
    pub packets: u32,
    /// Bytes on the wire that it acknowledges for the first time.
    pub bytes: u64,
    /// It answers a probe, not data.
    pub probe: bool,
    /// It carries a congestion mark.
    pub marked: bool,
    /// Round trip of the packet that caused it.
    pub rtt: Duration,
}

/// What telemetry tells a congestion control, with the ACK that brought it.
#[derive(Clone, Copy, Debug)]
pub struct Reported<'a> {
    /// What the ports on the way of the data packet said.
    pub stack: &'a IntStack,
    /// Every PSN below is acknowledged by this ACK.
    pub acked: u32,
    /// The PSN that the sender sends next.
    pub next: u32,
}

/// Any congestion control. It answers with an allowance and learns from feedback; it never sees a load balancer.
// The large ones are boxed: a sender's fields share few cache lines then, whatever its congestion control.
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
    /// Somebody else's.
    Custom(Box<dyn CongestionControl>),
}

/// What every congestion control implements, and one of your own.
pub trait CongestionControl: Send {
    /// Bytes that may be in flight.
    fn window(&self) -> u64;
    /// Whether it may give a [`rate`](Self::rate). Where it never does, senders need not ask.
    fn paces(&self) -> bool {
        true
    }
    /// The rate at which to send; none: as the window allows. Called at every send of a paced sender.
    fn rate(&mut self, now: Time) -> Option<Rate> {
        let _ = now;
        None
    }
    /// When the rate may rise by itself; a sender that waits for its turn asks for the rate again then.
    fn next_increase(&self) -> Option<Time> {
        None
    }
    /// A packet of `bytes` bytes was sent.
    fn handle_sent(&mut self, now: Time, bytes: u16) {
        let _ = (now, bytes);
    }
    /// A CNP arrived, or an ACK that stands for one.
    fn handle_cnp(&mut self, now: Time) {
        let _ = now;
    }
    /// An ACK arrived.
    fn handle_ack(&mut self, acked: &Acked) {
        let _ = acked;
    }
    /// Telemetry came with an ACK, which itself comes next.
    fn handle_telemetry(&mut self, report: &Reported<'_>) {
        let _ = report;
    }
    /// A packet was lost (timed out or trimmed).
    fn handle_loss(&mut self, now: Time) {
        let _ = now;
    }
    /// The queue pair sends again after a pause that its transport finds long.
    fn handle_restart(&mut self, now: Time) {
        let _ = now;
    }
    /// A NIC heard that a packet is missing, and thinks that congestion dropped it: a loss, where a congestion
    /// control has no other answer.
    fn handle_nack(&mut self, now: Time) {
        self.handle_loss(now);
    }
}

impl CcConfig {
    /// The congestion control of a new queue pair.
    pub fn build(&self, facts: &PathFacts) -> AnyCc {
        match self {
            CcConfig::Dctcp(config) => AnyCc::Dctcp(Dctcp::new(config, facts)),
            CcConfig::Dcqcn(config) => AnyCc::Dcqcn(Box::new(Dcqcn::new(config, facts))),
            CcConfig::Hpcc(config) => AnyCc::Hpcc(Box::new(Hpcc::new(config, facts))),
            CcConfig::Strack(config) => AnyCc::Strack(Box::new(StrackCc::new(config, facts))),
            CcConfig::MpRdma(config) => AnyCc::MpRdma(MpRdmaCc::new(config, facts)),
            CcConfig::Constant { window } => AnyCc::constant(window.on(facts).0),
        }
    }

    /// Whether switches are to add telemetry to data packets.
    pub fn wants_telemetry(&self) -> bool {
        matches!(self, CcConfig::Hpcc(_))
    }

    /// Whether [`build`](Self::build) wants to be told of the queue pair's own path, not of the fabric's longest one.
    pub fn wants_own_path(&self) -> bool {
        matches!(self, CcConfig::Hpcc(HpccConfig { base_rtt: BaseRtt::Path, .. }))
    }
}

/// Hands each call on to whichever congestion control it is.
macro_rules! dispatch {
    ($self:ident, $cc:ident => $call:expr) => {
        match $self {
            AnyCc::Dctcp($cc) => $call,
            AnyCc::Dcqcn($cc) => $call,
            AnyCc::Hpcc($cc) => $call,
            AnyCc::Strack($cc) => $call,
            AnyCc::MpRdma($cc) => $call,
            AnyCc::Constant($cc) => $call,
            AnyCc::Custom($cc) => $call,
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
    pub fn handle_ack(&mut self, acked: &Acked) {
        dispatch!(self, cc => cc.handle_ack(acked));
    }

    /// See [`CongestionControl::handle_telemetry`].
    #[inline]
    pub fn handle_telemetry(&mut self, report: &Reported<'_>) {
        dispatch!(self, cc => cc.handle_telemetry(report));
    }

    /// See [`CongestionControl::handle_loss`].
    #[inline]
    pub fn handle_loss(&mut self, now: Time) {
        dispatch!(self, cc => cc.handle_loss(now));
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
