//! The number of threads of a run.

use anabranch_engine::RunPoint;

/// The smallest number of hosts per thread of a run. With fewer hosts, the threads would spend more time waiting for
/// each other than working.
const HOSTS_PER_THREAD: usize = 64;
/// If the messages of a run have fewer bytes than this in total, the run uses one thread. Such a run takes a fraction
/// of a second, and each synchronisation window of the engine has only a few packets.
const LEAST_BYTES: u64 = 64 << 20;

/// The number of threads for each of `runs` concurrent runs if `all` threads are available. It is more than one only
/// if there are at least two threads for each run. No result depends on it.
pub fn threads_of(point: &RunPoint, all: usize, runs: usize) -> usize {
    let most = all / runs.max(1);
    let enough = point.topology.hosts().map_or(most, |hosts| hosts as usize / HOSTS_PER_THREAD);
    let of_classes = point.classes.iter().filter_map(|class| Some(&class.traffic.as_ref()?.workload));
    let mut workloads = std::iter::once(&point.workload).chain(of_classes);
    let bytes = workloads.try_fold(0_u64, |sum, workload| Some(sum.saturating_add(workload.total_bytes()?)));
    let is_little = bytes.is_some_and(|bytes| bytes < LEAST_BYTES);
    if is_little { 1 } else { most.min(enough).max(1) }
}
