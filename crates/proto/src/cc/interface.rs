//! The interface between congestion controls and transports.

use crate::IntStack;
use anabranch_base::{Duration, Rate, Time};

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

/// A congestion control, built-in or user-defined. There is one for each queue pair. The types of its parameters are
/// those of a [`LoadBalancer`](crate::lb::LoadBalancer).
pub trait CongestionControl: Send {
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
    /// Handles a loss: packets timed out, were trimmed, or were overtaken by later ones. `sack` and `strack` call it
    /// for each packet, other transports for each timeout and each recovery.
    fn handle_loss(&mut self, now: Time) {
        let _ = now;
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
    fn handle_nack(&mut self, now: Time) {
        self.handle_loss(now);
    }
}
