//! Collection of the results of several runs in one result set.

use anabranch_engine::RunResult;
use anabranch_results::{FlowRow, JobRow, PartRow, ResultSet, SeriesRow};

/// Adds the results of a run to `set`, and returns the run's index in it.
pub fn add(set: &mut ResultSet, result: RunResult) -> u32 {
    let RunResult { run, flows, jobs, parts, series, spans: _ } = result;
    let index = set.runs.len() as u32;
    set.runs.push(run);
    set.flows.extend(flows.into_iter().map(|row| FlowRow { run: index, ..row }));
    set.jobs.extend(jobs.into_iter().map(|row| JobRow { run: index, ..row }));
    set.parts.extend(parts.into_iter().map(|row| PartRow { run: index, ..row }));
    set.series.extend(series.into_iter().map(|row| SeriesRow { run: index, ..row }));
    index
}

/// Adds the totals and the goodput of a baseline ([`crate::baseline`]) to `set`, and returns the baseline's index in
/// the set. The digest covers the complete results of the baseline.
pub fn add_baseline(set: &mut ResultSet, result: RunResult) -> u32 {
    let (flows, jobs, parts) = (set.flows.len(), set.jobs.len(), set.parts.len());
    let index = add(set, result);
    set.flows.truncate(flows);
    set.jobs.truncate(jobs);
    set.parts.truncate(parts);
    set.runs[index as usize].baseline = true;
    index
}
