//! What passes between a run and whoever waits for it.

use anabranch_base::Time;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What passes between a run and whoever waits for it.
#[derive(Debug, Default)]
pub struct Control {
    /// Threads to run on, which change nothing but the time that it takes; 0 counts as 1.
    pub threads: usize,
    /// Whether the run's goodput over time is recorded, among its curves ([`anabranch_results::GOODPUT`]). It changes
    /// nothing else.
    pub goodput: bool,
    /// Whether what hosts did from when to when comes with the result ([`crate::RunResult::spans`]). It changes nothing
    /// else.
    pub spans: bool,
    /// Set it to end the run soon.
    pub cancel: AtomicBool,
    /// Simulated time so far.
    pub sim_time_ps: AtomicU64,
    /// Packet-hops so far.
    pub packet_hops: AtomicU64,
    /// Messages acknowledged so far.
    pub flows_finished: AtomicU64,
    /// Messages of the workload.
    pub flows_total: AtomicU64,
    /// Set it to have [`Self::packets_delivered`] counted soon, which looks at every host.
    pub count_packets: AtomicBool,
    /// Data packets that receivers received for the first time, when that was last asked for.
    pub packets_delivered: AtomicU64,
    /// Data packets of the workload.
    pub packets_total: AtomicU64,
}

impl Control {
    pub(crate) fn publish(&self, now: Time, packet_hops: u64, unfinished: u64) {
        self.sim_time_ps.store(now.0, Ordering::Relaxed);
        self.packet_hops.store(packet_hops, Ordering::Relaxed);
        let total = self.flows_total.load(Ordering::Relaxed);
        self.flows_finished.store(total - unfinished.min(total), Ordering::Relaxed);
    }
}
