//! The interface between congestion controls and transports.

use super::{AnyCc, CcConfig, CcWants, each_cc, each_config};
use crate::interface::interface;
use crate::{Conflict, IntStack, PathFacts, Size, Span};
use anabranch_base::{Duration, Rate, Stream, Time};

/// The content of an ACK for a congestion control.
#[derive(Clone, Copy, Debug)]
pub struct AckReport {
    /// The time of arrival.
    pub now: Time,
    /// Number of newly acknowledged packets.
    pub packets: u32,
    /// Newly acknowledged bytes on the wire.
    pub bytes: u64,
    /// Whether the ACK answers a probe instead of data.
    pub probe: bool,
    /// Whether the ACK echoes a congestion mark.
    pub marked: bool,
    /// RTT of the packet that caused the ACK.
    pub rtt: Duration,
    /// Whether `rtt` is surely that of the copy that the sender takes for acknowledged. Only `uet` has ACKs of which that
    /// is not known.
    pub rtt_is_valid: bool,
    /// Bytes in flight after the ACK, headers included.
    pub in_flight: u64,
}

/// Lost packets, for a congestion control.
#[derive(Clone, Copy, Debug)]
pub struct LossReport {
    /// The time at which the sender learns of the loss.
    pub now: Time,
    /// Bytes lost, headers included: of the packet where the transport reports each one, otherwise those of a full packet.
    pub bytes: u64,
    /// The evidence of the loss.
    pub cause: LossCause,
    /// The RTT of the trimmed packet and its NACK, where the cause is a trim.
    pub rtt: Option<Duration>,
    /// Bytes in flight after the loss, headers included.
    pub in_flight: u64,
}

/// The evidence of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossCause {
    /// No acknowledgement came within the RTO.
    Timeout,
    /// Later packets overtook it, or a receiver or a probe said that it is missing.
    Inferred,
    /// A switch trimmed it.
    Trimmed,
    /// The last switch on its way trimmed it.
    TrimmedAtLastHop,
}

/// Telemetry for a congestion control, with the ACK that brought it.
#[derive(Clone, Copy, Debug)]
pub struct TelemetryReport<'a> {
    /// The records of the ports on the path of the data packet.
    pub stack: &'a IntStack,
    /// The ACK acknowledges every PSN below.
    pub acked: u32,
    /// The PSN that the sender sends next.
    pub next: u32,
}

interface! {
    /// A congestion control, built-in or user-defined. There is one for each queue pair. The types of its parameters are
    /// those of a [`LoadBalancer`](crate::lb::LoadBalancer).
    pub trait CongestionControl: Send for each of AnyCc by each_cc {
        /// Bytes, headers included, that may be in flight: sent, and neither acknowledged nor declared lost. With nothing
        /// in flight, the built-in transports send a packet however small the window is (except `mp-rdma`, which counts
        /// whole packets and at least one).
        fn window(&self) -> u64;
        /// Whether there may be a [`rate`](Self::rate). If false, senders never call it.
        fn paces(&self) -> bool {
            true
        }
        /// The sending rate; none if only the window limits the sender. Called at every send of a paced sender.
        fn rate(&mut self, now: Time) -> Option<Rate> {
            let _ = now;
            None
        }
        /// The time at which the rate may rise without feedback. A waiting sender then reads the rate again.
        fn next_increase(&self) -> Option<Time> {
            None
        }
        /// Handles the sending of a data packet of `bytes` bytes, headers included, retransmissions too. Called only if it
        /// [`paces`](Self::paces).
        fn handle_sent(&mut self, now: Time, bytes: u16) {
            let _ = (now, bytes);
        }
        /// Handles a CNP, or an ACK that stands for one.
        fn handle_cnp(&mut self, now: Time) {
            let _ = now;
        }
        /// Handles an ACK. Transports may leave out ACKs that acknowledge nothing new.
        fn handle_ack(&mut self, acked: &AckReport) {
            let _ = acked;
        }
        /// Handles telemetry. The call for the ACK that brought it follows.
        fn handle_telemetry(&mut self, report: &TelemetryReport<'_>) {
            let _ = report;
        }
        /// Handles a loss: packets timed out, were trimmed, or were overtaken by later ones. `sack`, `strack` and `uet` call
        /// it for each packet, other transports for each timeout and each recovery.
        fn handle_loss(&mut self, lost: &LossReport) {
            let _ = lost;
        }
        /// Sets the initial window to `bytes` bytes, headers included, which an earlier queue pair left, instead of that of
        /// the parameters. Only congestion controls with an adaptive window implement it.
        fn start_with_window(&mut self, bytes: u64) {
            let _ = bytes;
        }
        /// Handles the first packet after an idle period that is long for the transport.
        fn handle_restart(&mut self, now: Time) {
            let _ = now;
        }
        /// Handles a NACK that the NIC takes for congestion. By default it counts as a loss.
        fn handle_nack(&mut self, lost: &LossReport) {
            self.handle_loss(lost);
        }
    }
}

/// The windows of a congestion control, from its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Windows {
    /// One that never changes: `cc.window`.
    Constant(Size),
    /// One that adapts: `cc.initial_window` and `cc.max_window`.
    Adaptive {
        /// The window at the start.
        initial: Size,
        /// The largest window.
        max: Size,
    },
    /// One that no parameter decides: it follows from the path, or only the congestion control knows.
    Own,
}

interface! {
    /// The properties of a congestion control that its configuration tells: its file implements them.
    pub trait CcProperties for each of CcConfig by each_config {
        /// The congestion control of a new queue pair, which draws from `random`.
        fn build_with_stream(&self, facts: &PathFacts, random: Stream) -> AnyCc;
        /// Its windows.
        fn windows(&self) -> Windows;
        /// Whether ECN marks change its window or rate.
        fn reacts_to_ecn(&self) -> bool;
        /// The inputs that it needs besides ACKs and losses.
        fn wants(&self) -> CcWants {
            CcWants::default()
        }
        /// Whether a rate alone controls it, so that it needs a transport that paces, and has a window only where its
        /// parameters set one.
        fn has_only_rate(&self) -> bool {
            false
        }
        /// Whether its window can begin as that of an earlier queue pair ended
        /// ([`start_with_window`](super::CongestionControl::start_with_window)).
        fn resumes_window(&self) -> bool {
            false
        }
        /// The queueing delay that it settles at, with its parameter.
        fn target_delay(&self) -> Option<(&'static str, Span)> {
            None
        }
        /// The names of its published parameter sets, for `cc.preset`.
        fn presets(&self) -> &'static [&'static str] {
            &[]
        }
        /// The published parameter set of that name.
        fn preset(&self, name: &str) -> Option<CcConfig> {
            let _ = name;
            None
        }
        /// Checks parameters that must go together.
        ///
        /// # Errors
        /// The first conflict.
        fn check_together(&self) -> Result<(), Conflict> {
            Ok(())
        }
    }
}
