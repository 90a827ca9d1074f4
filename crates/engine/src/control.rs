//! Control and progress of a run.

use crate::context::Counters;
use anabranch_base::Time;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The control of a run: settings that do not change the simulated behaviour, counts of the progress so far, and
/// requests while the run goes on.
#[derive(Debug, Default)]
pub struct Control {
    /// The number of threads; 0 counts as 1.
    pub threads: usize,
    /// Whether goodput over time is recorded as one of the curves ([`anabranch_results::GOODPUT`]).
    pub goodput: bool,
    /// Whether the result has the activities of hosts over time ([`crate::RunResult::spans`]).
    pub spans: bool,
    /// Whether each switch handles the events of all its ports in one order, even if the ports share nothing. Such a
    /// run is slower.
    pub merge_ports: bool,
    /// A request to end the run soon.
    pub cancel: AtomicBool,
    /// Simulated time so far, in picoseconds.
    pub sim_time_ps: AtomicU64,
    /// Packet-hops so far.
    pub packet_hops: AtomicU64,
    /// Events so far, of any kind.
    pub events: AtomicU64,
    /// Steps of jobs (transfers over NVLink, computing) that have ended so far.
    pub steps_finished: AtomicU64,
    /// Steps of the workload.
    pub steps_total: AtomicU64,
    /// [`Self::flows_total`] minus the number of messages that are not acknowledged yet, including injected messages.
    pub flows_finished: AtomicU64,
    /// Messages of the workload.
    pub flows_total: AtomicU64,
    /// A request to update [`Self::packets_delivered`] soon. The update visits every host.
    pub count_packets: AtomicBool,
    /// Distinct data packets that receivers had received at the last update.
    pub packets_delivered: AtomicU64,
    /// Data packets of the workload.
    pub packets_total: AtomicU64,
}

impl Control {
    pub(crate) fn publish(&self, now: Time, counters: &Counters, unfinished: u64) {
        self.sim_time_ps.store(now.0, Ordering::Relaxed);
        self.packet_hops.store(counters.packet_hops, Ordering::Relaxed);
        self.events.store(counters.events, Ordering::Relaxed);
        self.steps_finished.store(counters.steps, Ordering::Relaxed);
        let total = self.flows_total.load(Ordering::Relaxed);
        self.flows_finished.store(total - unfinished.min(total), Ordering::Relaxed);
    }
}
