//! Results sorted by run, once, so that nobody scans all flows or all curves for one run.

use anabranch_results::{FlowRow, JobRow, ResultSet, SeriesRow};
use std::collections::BTreeMap;

/// A result set with its flows, jobs and curves by run. Rows of a run keep their order.
pub(crate) struct Index<'a> {
    pub set: &'a ResultSet,
    flows: Vec<Vec<&'a FlowRow>>,
    jobs: Vec<Vec<&'a JobRow>>,
    /// By run, then by series.
    series: Vec<BTreeMap<&'a str, Vec<&'a SeriesRow>>>,
}

impl<'a> Index<'a> {
    /// Rows of a run that is not there are left out.
    pub(crate) fn new(set: &'a ResultSet) -> Index<'a> {
        let mut flows = vec![Vec::new(); set.runs.len()];
        for flow in &set.flows {
            if let Some(of_run) = flows.get_mut(flow.run as usize) {
                of_run.push(flow);
            }
        }
        let mut jobs = vec![Vec::new(); set.runs.len()];
        for job in &set.jobs {
            if let Some(of_run) = jobs.get_mut(job.run as usize) {
                of_run.push(job);
            }
        }
        let mut series = vec![BTreeMap::new(); set.runs.len()];
        for row in &set.series {
            if let Some(of_run) = series.get_mut(row.run as usize) {
                of_run.entry(row.series.as_str()).or_insert_with(Vec::new).push(row);
            }
        }
        Index { set, flows, jobs, series }
    }

    /// The messages of a run; none when it does not record them one by one.
    pub(crate) fn flows(&self, run: usize) -> &[&'a FlowRow] {
        &self.flows[run]
    }

    /// The jobs of a run.
    pub(crate) fn jobs(&self, run: usize) -> &[&'a JobRow] {
        &self.jobs[run]
    }

    /// The points of a run's series; none when it was not measured.
    pub(crate) fn series(&self, run: usize, name: &str) -> &[&'a SeriesRow] {
        self.series[run].get(name).map_or(&[], Vec::as_slice)
    }

    /// What was measured in a run.
    pub(crate) fn series_names(&self, run: usize) -> impl Iterator<Item = &'a str> {
        self.series[run].keys().copied()
    }
}
