//! The number of threads of a run.

use anabranch_engine::RunPoint;

/// The fewest hosts per thread of a run: with fewer the threads would wait for each other more than they work.
const HOSTS_PER_THREAD: usize = 64;
/// Bytes of all messages below which a run has one thread: it takes a fraction of a second, and its windows have a few
/// packets each.
const LEAST_BYTES: u64 = 64 << 20;

/// The number of threads for each of `runs` concurrent runs on `all` threads: one, or several if there are fewer runs than
/// threads. No result depends on it.
pub fn threads_of(point: &RunPoint, all: usize, runs: usize) -> usize {
    let most = all / runs.max(1);
    let enough = point.topology.hosts().map_or(most, |hosts| hosts as usize / HOSTS_PER_THREAD);
    let is_little = point.workload.total_bytes().is_some_and(|bytes| bytes < LEAST_BYTES);
    if is_little { 1 } else { most.min(enough).max(1) }
}
