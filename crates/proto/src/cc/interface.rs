//! The interface between congestion controls and transports.

use super::{AnyCc, CcConfig, CcWants, each_cc, each_config};
use crate::interface::interface;
use crate::{Conflict, IntStack, PathFacts, Size, Span, StateField};
use anabranch_base::{Duration, Rate, Stream, Time};

/// The content of an ACK, as a congestion control receives it.
#[derive(Clone, Copy, Debug)]
pub struct AckReport {
    /// The time of arrival.
    pub now: Time,
    /// Number of newly acknowledged packets. With `mp-rdma`, it is 1 in every ACK.
    pub packets: u32,
    /// Newly acknowledged bytes on the wire. `sack`, `eqds` and `mp-rdma` count every packet as a full packet. Under
    /// `strack`, `uet` and `mrc`, this is the growth of the receiver's count of received bytes.
    pub bytes: u64,
    /// Whether the ACK answers a probe instead of data.
    pub probe: bool,
    /// Whether the ACK echoes a congestion mark.
    pub marked: bool,
    /// RTT of the packet that caused the ACK.
    pub rtt: Duration,
    /// Whether `rtt` certainly belongs to the copy of the packet that the sender counts as acknowledged. Only the
    /// ACKs of `uet` and `mrc` can leave this open.
    pub rtt_is_valid: bool,
    /// Bytes in flight after the ACK, headers included.
    pub in_flight: u64,
}

/// Lost packets, for a congestion control.
#[derive(Clone, Copy, Debug)]
pub struct LossReport {
    /// The time at which the sender learns of the loss.
    pub now: Time,
    /// Bytes lost, headers included. If the transport does not report each lost packet, this is the size of a full
    /// packet.
    pub bytes: u64,
    /// The evidence of the loss.
    pub cause: LossCause,
    /// The time from the sending of the trimmed packet to the arrival of its NACK. None for other causes.
    pub rtt: Option<Duration>,
    /// Bytes in flight after the loss, headers included.
    pub in_flight: u64,
}

/// The evidence of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossCause {
    /// No acknowledgement came within the RTO.
    Timeout,
    /// Later packets overtook the packet, or a receiver or a probe reported it missing. `mp-rdma` also uses this cause
    /// for an ACK of a slow path and for unused room in the window.
    Inferred,
    /// A switch trimmed the packet.
    Trimmed,
    /// The last switch before the receiver trimmed the packet.
    TrimmedAtLastHop,
}

/// Telemetry for a congestion control, with data of the ACK that carried it.
#[derive(Clone, Copy, Debug)]
pub struct TelemetryReport<'a> {
    /// The records of the ports on the path of the data packet.
    pub stack: &'a IntStack,
    /// The cumulative acknowledgement: the ACK acknowledges every PSN below this one.
    pub acked: u32,
    /// The PSN that the sender sends next.
    pub next: u32,
}

interface! {
    /// A congestion control, built-in or user-defined. There is one for each queue pair.
    /// [`LoadBalancer`](crate::lb::LoadBalancer) lists the types that the parameters of a user-defined congestion
    /// control may have.
    pub trait CongestionControl: Send for each of AnyCc by each_cc {
        /// The number of bytes that may be in flight, headers included. A packet is in flight if it was sent, and
        /// neither acknowledged nor declared lost. With nothing in flight, the built-in transports send a packet
        /// however small the window is. The transport `mp-rdma` rounds the window down to whole packets.
        fn window(&self) -> u64;
        /// The largest window that is possible now. By default there is no limit.
        fn max_window(&self) -> u64 {
            u64::MAX
        }
        /// Whether [`rate`](Self::rate) may return a rate. If this is false, senders never call `rate`.
        fn paces(&self) -> bool {
            true
        }
        /// The sending rate, or None if only the window limits the sender. A paced sender calls this at every send.
        fn rate(&mut self, now: Time) -> Option<Rate> {
            let _ = now;
            None
        }
        /// The time at which the rate may rise without feedback. A waiting sender then reads the rate again.
        fn next_increase(&self) -> Option<Time> {
            None
        }
        /// Handles the sending of a data packet or a retransmission with `bytes` bytes, headers included. Senders call
        /// this only if the congestion control [`paces`](Self::paces).
        fn handle_sent(&mut self, now: Time, bytes: u16) {
            let _ = (now, bytes);
        }
        /// Handles a CNP, or an ACK that takes the place of a CNP.
        fn handle_cnp(&mut self, now: Time) {
            let _ = now;
        }
        /// Handles an ACK, or a NACK of `go-back-n` or `rnic-sr` that acknowledges packets. Transports may leave out
        /// ACKs that acknowledge nothing new.
        fn handle_ack(&mut self, acked: &AckReport) {
            let _ = acked;
        }
        /// Handles the telemetry that an ACK carried. If the same ACK also causes a call of
        /// [`handle_ack`](Self::handle_ack), this call comes first.
        fn handle_telemetry(&mut self, report: &TelemetryReport<'_>) {
            let _ = report;
        }
        /// Handles a loss. The transports `sack`, `eqds`, `strack`, `uet` and `mrc` call this for each lost packet.
        /// The transport `mp-rdma` calls it for a timeout, for an ACK of a slow path, and for an ACK or NACK that
        /// makes room in the window while no packet waits. The other built-in transports call it for each timeout, and
        /// `go-back-n`, `irn` and `rack-tlp` also for each recovery.
        fn handle_loss(&mut self, lost: &LossReport) {
            let _ = lost;
        }
        /// Replaces the initial window by the last window of an earlier queue pair: `bytes` bytes, headers included. By
        /// default this method does nothing.
        fn start_with_window(&mut self, bytes: u64) {
            let _ = bytes;
        }
        /// Handles the first packet after an idle period that the transport considers long.
        fn handle_restart(&mut self, now: Time) {
            let _ = now;
        }
        /// Handles a NACK that the NIC treats as a sign of congestion. By default the NACK counts as a loss.
        fn handle_nack(&mut self, lost: &LossReport) {
            self.handle_loss(lost);
        }
    }
}

/// The windows of a congestion control, as its parameters set them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Windows {
    /// A window that never changes, set by `cc.window`.
    Constant(Size),
    /// A window that adapts, set by `cc.initial_window` and `cc.max_window`.
    Adaptive {
        /// The window at the start.
        initial: Size,
        /// The largest window.
        max: Size,
    },
    /// A window that no parameter sets: it follows from the path, or only the congestion control knows it.
    Own,
}

interface! {
    /// The properties of a congestion control that follow from its configuration.
    pub trait CcProperties for each of CcConfig by each_config {
        /// The congestion control of a new queue pair. It draws its random numbers from `random`.
        fn build_with_stream(&self, facts: &PathFacts, random: Stream) -> AnyCc;
        /// The windows that the parameters set.
        fn windows(&self) -> Windows;
        /// Whether ECN marks change the window or the rate.
        fn reacts_to_ecn(&self) -> bool;
        /// The hardware state of a queue pair. It is empty if the congestion control's paper has no list of it.
        fn state(&self) -> Vec<StateField> {
            Vec::new()
        }
        /// The inputs that the congestion control needs besides ACKs and losses.
        fn wants(&self) -> CcWants {
            CcWants::default()
        }
        /// Whether the congestion control adapts only a rate. Such a congestion control needs a transport that paces,
        /// and its window is constant.
        fn has_only_rate(&self) -> bool {
            false
        }
        /// Whether a queue pair can start with the last window of an earlier queue pair
        /// ([`start_with_window`](super::CongestionControl::start_with_window)).
        fn resumes_window(&self) -> bool {
            false
        }
        /// The queueing delay to which the congestion control converges, with the name of the parameter that sets it.
        fn target_delay(&self) -> Option<(&'static str, Span)> {
            None
        }
        /// The names of the published parameter sets, for `cc.preset`.
        fn presets(&self) -> &'static [&'static str] {
            &[]
        }
        /// The published parameter set of this name. None if no parameter set has this name.
        fn preset(&self, name: &str) -> Option<CcConfig> {
            let _ = name;
            None
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
