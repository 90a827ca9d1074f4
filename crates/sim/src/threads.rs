//! How many threads a run has.

use anabranch_engine::RunPoint;

/// Hosts for each thread of a run: with fewer the threads would wait for each other more than they work.
const HOSTS_PER_THREAD: usize = 64;

/// Threads of one run of `runs`, where there are `all` of them. Runs beside each other need all threads; with fewer runs
/// each has several. No result depends on it.
pub fn threads_of(point: &RunPoint, all: usize, runs: usize) -> usize {
    let most = all / runs.max(1);
    let enough = point.topology.hosts().map_or(most, |hosts| hosts as usize / HOSTS_PER_THREAD);
    most.min(enough).max(1)
}
