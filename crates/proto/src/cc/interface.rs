//! What every congestion control is to the transports, and what they tell it.

use crate::IntStack;
use anabranch_base::{Duration, Rate, Time};

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
    /// What the ports on the path of the data packet recorded.
    pub stack: &'a IntStack,
    /// Every PSN below is acknowledged by this ACK.
    pub acked: u32,
    /// The PSN that the sender sends next.
    pub next: u32,
}

/// What every congestion control implements, and one of your own. There is one for each queue pair. Which types its
/// parameters may have, [`LoadBalancer`](crate::lb::LoadBalancer) says.
pub trait CongestionControl: Send {
    /// Bytes, headers included, that may be in flight: sent, and neither acknowledged nor given up. Where nothing is in
    /// flight our transports send a packet however small this is (`mp-rdma` excepted).
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
    /// A data packet of `bytes` bytes, headers included, was sent, for the first time or again. Only told where it
    /// [`paces`](Self::paces).
    fn handle_sent(&mut self, now: Time, bytes: u16) {
        let _ = (now, bytes);
    }
    /// A CNP arrived, or an ACK that stands for one.
    fn handle_cnp(&mut self, now: Time) {
        let _ = now;
    }
    /// An ACK arrived. What acknowledges nothing new may be left out.
    fn handle_ack(&mut self, acked: &Acked) {
        let _ = acked;
    }
    /// Telemetry came with an ACK, which itself comes next.
    fn handle_telemetry(&mut self, report: &Reported<'_>) {
        let _ = report;
    }
    /// Packets were given up: they timed out, were trimmed, or others that were sent after them arrived. `sack` and
    /// `strack` say it of each, other transports of each timeout and each recovery.
    fn handle_loss(&mut self, now: Time) {
        let _ = now;
    }
    /// A new queue pair starts with a window of `bytes` bytes, headers included, which an earlier one left, and not with
    /// the one that its parameters give. Only a congestion control whose window adapts has a use for it.
    fn start_with_window(&mut self, bytes: u64) {
        let _ = bytes;
    }
    /// The queue pair sends again after an idle period that is long for its transport.
    fn handle_restart(&mut self, now: Time) {
        let _ = now;
    }
    /// The NIC received a NACK and takes it for congestion. Default: treated as a loss.
    fn handle_nack(&mut self, now: Time) {
        self.handle_loss(now);
    }
}
