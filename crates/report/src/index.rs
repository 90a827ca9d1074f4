//! An index of results by run. It is built once, so that nothing has to search all flows or all curves for those of one
//! run.

use anabranch_results::{CurvePoints, FiledCurves, FlowRow, JobRow, ResultSet, SeriesRow};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// A result set with its flows, jobs and curves grouped by run. The rows of a run keep their order.
pub(crate) struct Index<'a> {
    pub set: &'a ResultSet,
    flows: Vec<Vec<&'a FlowRow>>,
    jobs: Vec<Vec<&'a JobRow>>,
    /// Curves in memory, by run and series.
    series: Vec<BTreeMap<&'a str, Vec<&'a SeriesRow>>>,
    /// Curves in a file, by run.
    filed: Vec<Option<&'a FiledCurves>>,
    /// The last series that was requested. Curves may be larger than memory, so only one series is kept; most requests
    /// are for the same series as the request before.
    last: RefCell<Option<CachedSeries>>,
    /// The reasons why points could not be read from a file, by run and series.
    problems: RefCell<BTreeMap<(usize, String), String>>,
}

struct CachedSeries {
    run: usize,
    name: String,
    curves: Rc<Vec<CurvePoints>>,
}

impl<'a> Index<'a> {
    /// Rows that refer to a run that does not exist are left out.
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
        let mut filed = vec![None; set.runs.len()];
        for curves in &set.filed {
            if let Some(of_run) = filed.get_mut(curves.run() as usize) {
                *of_run = Some(curves);
            }
        }
        Index { set, flows, jobs, series, filed, last: RefCell::default(), problems: RefCell::default() }
    }

    /// The messages of a run, or none if messages were not recorded individually.
    pub(crate) fn flows(&self, run: usize) -> &[&'a FlowRow] {
        &self.flows[run]
    }

    pub(crate) fn jobs(&self, run: usize) -> &[&'a JobRow] {
        &self.jobs[run]
    }

    /// The points of a run's series. Each item has points of one entity, and an entity may have several items. The
    /// result is empty if the series was not measured or cannot be read; see [`Self::problem_of`].
    pub(crate) fn series(&self, run: usize, name: &str) -> Rc<Vec<CurvePoints>> {
        if let Some(last) = &*self.last.borrow()
            && (last.run, &*last.name) == (run, name)
        {
            return last.curves.clone();
        }
        // The memory of the last series is freed before the next one is read.
        *self.last.borrow_mut() = None;
        let curves = match self.filed[run] {
            Some(filed) => filed.points(name).unwrap_or_else(|error| {
                self.problems.borrow_mut().insert((run, name.to_owned()), error.to_string());
                Vec::new()
            }),
            None => by_entity(self.series[run].get(name).map_or(&[], Vec::as_slice)),
        };
        let curves = Rc::new(curves);
        *self.last.borrow_mut() = Some(CachedSeries { run, name: name.to_owned(), curves: curves.clone() });
        curves
    }

    /// The reason why a requested series could not be read.
    pub(crate) fn problem_of(&self, run: usize, name: &str) -> Option<String> {
        self.problems.borrow().get(&(run, name.to_owned())).cloned()
    }

    /// The reason why one of the requested series could not be read.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problems.borrow().values().next().cloned()
    }

    pub(crate) fn series_names(&self, run: usize) -> impl Iterator<Item = &'a str> {
        let mut names: Vec<&str> = self.series[run].keys().copied().collect();
        names.extend(self.filed[run].into_iter().flat_map(FiledCurves::names).map(|(series, _)| series));
        names.sort_unstable();
        names.dedup();
        names.into_iter()
    }

    /// The series and the entity of every curve of all runs. A pair may occur several times.
    pub(crate) fn curve_names(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let held = self.set.series.iter().map(|row| (&*row.series, &*row.entity));
        held.chain(self.set.filed.iter().flat_map(FiledCurves::names))
    }
}

/// One item for each stretch of adjacent rows of an entity, so that an entity may have several.
fn by_entity(rows: &[&SeriesRow]) -> Vec<CurvePoints> {
    let stretch = |rows: &[&SeriesRow]| CurvePoints {
        entity: Arc::from(rows[0].entity.as_str()),
        points: rows.iter().map(|row| (row.time_ps, row.value)).collect(),
    };
    rows.chunk_by(|a, b| a.entity == b.entity).map(stretch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_results::RunRow;
    use std::fs;

    #[test]
    fn a_file_that_cannot_be_read_is_the_reason_for_its_own_curves_only() {
        let folder = tempfile::tempdir().unwrap();
        let filed = |run: u32| {
            let (series, entity) = ("goodput".to_owned(), "a".to_owned());
            let row = SeriesRow { run: 0, series, entity, time_ps: 1, value: 1.0 };
            let path = folder.path().join(format!("{run}.parquet"));
            FiledCurves { run, ..FiledCurves::write(&path, &[row]).unwrap() }
        };
        let set = ResultSet {
            runs: vec![RunRow::default(), RunRow::default()],
            filed: vec![filed(0), filed(1)],
            ..ResultSet::default()
        };
        fs::remove_file(folder.path().join("1.parquet")).unwrap();
        let index = Index::new(&set);
        assert_eq!((index.series(1, "goodput").len(), index.series(0, "goodput").len()), (0, 1));
        assert!(index.problem_of(1, "goodput").is_some() && index.problem().is_some());
        assert_eq!((index.problem_of(0, "goodput"), index.problem_of(1, "queue")), (None, None));
    }
}
