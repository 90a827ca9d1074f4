//! Runs that finished before their scenario did, kept on disk: what was simulated is not lost, whatever ends the
//! program, and is not simulated again.

use crate::made_by::MadeBy;
use crate::output::note;
use crate::run_outcome::RunOutcome;
use crate::spool::Spool;
use anabranch_results::{ResultSet, RunRow, SERIES_FILE};
use anabranch_sim::RunResult;
use anabranch_sim::scenario::RunPoint;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Shorter runs are worth less than their files while all goes well.
const WORTH_KEEPING_S: f64 = 10.0;

/// The end of the name of a file that says why a run failed.
const FAILED: &str = "failed";

/// The finished runs of one scenario, each a folder of results called by its number.
pub struct RunCache {
    folder: PathBuf,
    /// The names of the runs' folders, where these are not their numbers; runs with names stay for good.
    names: Option<Vec<String>>,
    taken: AtomicUsize,
    complained: AtomicBool,
}

impl RunCache {
    /// The runs in `folder`, if this very build made them; others are removed. `fresh` removes all.
    pub fn at(folder: PathBuf, fresh: bool) -> RunCache {
        if fresh || !MadeBy::read(&folder).is_some_and(|made_by| made_by.is_this()) {
            // The folder may not exist.
            let _ = fs::remove_dir_all(&folder);
        }
        RunCache { folder, names: None, taken: AtomicUsize::new(0), complained: AtomicBool::new(false) }
    }

    /// Like [`at`](Self::at), but each run has a name that stands for all that its result depends on, so that other commands
    /// can use it.
    pub fn by_name(folder: PathBuf, fresh: bool, names: Vec<String>) -> RunCache {
        RunCache { names: Some(names), ..RunCache::at(folder, fresh) }
    }

    /// The cache of some of the runs, whose numbers become 0, 1 and so on.
    pub fn subset(&self, runs: &[usize]) -> RunCache {
        let names = runs.iter().map(|&run| self.name(run)).collect();
        RunCache {
            folder: self.folder.clone(),
            names: Some(names),
            taken: AtomicUsize::new(0),
            complained: AtomicBool::new(false),
        }
    }

    /// Whether run `index` is kept, or the reason why it failed.
    pub fn has(&self, index: usize) -> bool {
        self.run(index).exists() || self.failure(index).is_some()
    }

    /// The result of run `index`, whose curves stay in their file.
    pub fn read(&self, index: usize, point: &RunPoint) -> Option<RunOutcome> {
        let ResultSet { mut runs, flows, jobs, parts, series, mut filed, .. } =
            ResultSet::open(&self.run(index)).ok()?;
        let run = runs.pop().filter(|run| runs.is_empty() && is_of(run, point))?;
        Some(RunOutcome {
            result: RunResult { run, flows, jobs, parts, series, spans: Vec::new() },
            filed: filed.pop(),
        })
    }

    /// The row of run `index`.
    pub fn row(&self, index: usize) -> Option<RunRow> {
        ResultSet::open(&self.run(index)).ok()?.runs.pop()
    }

    /// Keeps the reason why run `index` failed: it would fail again.
    pub fn keep_failure(&self, index: usize, error: &str) {
        let path = self.run(index).with_extension(FAILED);
        let written = fs::create_dir_all(&self.folder)
            .and_then(|()| MadeBy::this().write(&self.folder))
            .and_then(|()| fs::write(path, error));
        if let Err(error) = written {
            self.complain(&error.to_string());
        }
    }

    /// The reason why run `index` failed, if it did.
    pub fn failure(&self, index: usize) -> Option<String> {
        fs::read_to_string(self.run(index).with_extension(FAILED)).ok()
    }

    /// The result of run `index` of the points, if it is kept, with its goodput where that is `needed`.
    pub fn take(&self, index: usize, point: &RunPoint, needed: bool, spool: &Spool) -> Option<RunOutcome> {
        let folder = self.run(index);
        let ResultSet { mut runs, flows, jobs, parts, filed, .. } = ResultSet::open(&folder).ok()?;
        let run = runs.pop().filter(|run| runs.is_empty() && is_of(run, point))?;
        let filed = match filed.is_empty() {
            true => None,
            false => Some(spool.adopt(index, &folder.join(SERIES_FILE))?),
        };
        let ran = RunOutcome {
            result: RunResult { run, flows, jobs, parts, series: Vec::new(), spans: Vec::new() },
            filed,
        };
        if needed && ran.goodput().is_none() {
            return None;
        }
        self.taken.fetch_add(1, Ordering::Relaxed);
        Some(ran)
    }

    /// The number of runs taken so far.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Keeps a run that has just finished, if it was long or is kept for good.
    pub fn keep_long(&self, index: usize, ran: &mut RunOutcome) {
        if self.names.is_some() || ran.result.run.wall_s >= WORTH_KEEPING_S {
            self.keep(index, ran);
        }
    }

    /// Keeps a finished run, unless it is kept already.
    pub fn keep(&self, index: usize, ran: &mut RunOutcome) {
        let folder = self.run(index);
        if folder.exists() {
            return;
        }
        // Rows are moved and given back: a second copy of them may be larger than memory.
        let set = ResultSet {
            runs: vec![ran.result.run.clone()],
            flows: std::mem::take(&mut ran.result.flows),
            jobs: std::mem::take(&mut ran.result.jobs),
            parts: std::mem::take(&mut ran.result.parts),
            series: std::mem::take(&mut ran.result.series),
            filed: ran.filed.iter().cloned().collect(),
            ..ResultSet::default()
        };
        let unfinished = folder.with_extension("unfinished");
        let written = fs::create_dir_all(&unfinished)
            .and_then(|()| MadeBy::this().write(&self.folder))
            .map_err(|error| error.to_string())
            .and_then(|()| set.write(&unfinished).map_err(|error| error.to_string()))
            .and_then(|()| fs::rename(&unfinished, &folder).map_err(|error| error.to_string()));
        let ResultSet { flows, jobs, parts, series, .. } = set;
        (ran.result.flows, ran.result.jobs, ran.result.parts, ran.result.series) =
            (flows, jobs, parts, series);
        if let Err(error) = written {
            let _ = fs::remove_dir_all(&unfinished);
            self.complain(&error);
        }
    }

    fn complain(&self, error: &str) {
        if !self.complained.swap(true, Ordering::Relaxed) {
            note(&format!("warning: {}: a finished run cannot be kept: {error}", self.folder.display()));
        }
    }

    /// Removes all kept runs, once the complete results are stored.
    pub fn clear(&self) {
        // The folder may not exist, and a rest of it harms nothing.
        let _ = fs::remove_dir_all(&self.folder);
    }

    fn name(&self, index: usize) -> String {
        self.names.as_ref().map_or_else(|| index.to_string(), |names| names[index].clone())
    }

    fn run(&self, index: usize) -> PathBuf {
        self.folder.join(self.name(index))
    }
}

fn is_of(run: &RunRow, point: &RunPoint) -> bool {
    run.scheme == point.scheme.name && run.seed == point.seed && run.sweep == point.sweep
}
