//! A cache on disk for runs that finished, although other runs of their scenario did not. The finished runs need not be
//! simulated again. If the program is killed, the cache holds only the runs that took long and the runs that have
//! names.

use crate::made_by::MadeBy;
use crate::output::note;
use crate::run_outcome::RunOutcome;
use crate::spool::Spool;
use crate::whole_file::{self, hidden_folder};
use anabranch_results::{ResultSet, RunFailure, RunRow, SERIES_FILE};
use anabranch_sim::RunResult;
use anabranch_sim::scenario::RunPoint;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{fs, io};

/// The shortest wall-clock time, in seconds, of a run without a name that is stored as soon as it ends. For a shorter
/// run, writing the files would cost more than it usually saves. Shorter runs are stored at the end of the command if
/// other runs did not finish.
const WORTH_KEEPING_S: f64 = 10.0;

/// The file name extension for the cause of a failed run, stored as JSON.
const FAILED: &str = "failed";

/// A cache of finished runs. Each run is a folder of results, named by the number or by the name of the run.
pub struct RunCache {
    folder: PathBuf,
    /// The names of the runs' folders. If there are none, the folders have the numbers of the runs. Runs with names are
    /// stored as soon as they end, and stay after the command.
    names: Option<Vec<String>>,
    taken: AtomicUsize,
    complained: AtomicBool,
}

impl RunCache {
    /// The runs in `folder`, if this build generated them. Runs of other builds are removed. With `fresh`, all runs are
    /// removed.
    pub fn at(folder: PathBuf, fresh: bool) -> RunCache {
        if folder.exists() && (fresh || !MadeBy::read(&folder).is_some_and(|made_by| made_by.is_this())) {
            let _ = fs::remove_dir_all(&folder);
        }
        RunCache { folder, names: None, taken: AtomicUsize::new(0), complained: AtomicBool::new(false) }
    }

    /// A cache like the one of [`at`](Self::at), in which the name of a run identifies everything that determines the
    /// run's result. Other commands can therefore use the run.
    pub fn by_name(folder: PathBuf, fresh: bool, names: Vec<String>) -> RunCache {
        RunCache { names: Some(names), ..RunCache::at(folder, fresh) }
    }

    /// The cache of some of the runs, which are renumbered from 0.
    pub fn subset(&self, runs: &[usize]) -> RunCache {
        let names = runs.iter().map(|&run| self.name(run)).collect();
        RunCache {
            folder: self.folder.clone(),
            names: Some(names),
            taken: AtomicUsize::new(0),
            complained: AtomicBool::new(false),
        }
    }

    /// Whether the result of run `index` or the cause of its failure is stored.
    pub fn has(&self, index: usize) -> bool {
        self.run(index).exists() || self.failure(index).is_some()
    }

    /// The result of run `index`. Its curves stay in their file.
    pub fn read(&self, index: usize, point: &RunPoint) -> Option<RunOutcome> {
        let ResultSet { mut runs, flows, jobs, parts, series, mut filed, .. } =
            ResultSet::open(&self.run(index)).ok()?;
        let run = runs.pop().filter(|run| runs.is_empty() && is_of(run, point))?;
        Some(RunOutcome {
            result: RunResult { run, flows, jobs, parts, series, spans: Vec::new() },
            filed: filed.pop(),
        })
    }

    pub fn row(&self, index: usize) -> Option<RunRow> {
        ResultSet::open(&self.run(index)).ok()?.runs.pop()
    }

    /// Stores the cause of the failure of run `index`, because the run would fail again.
    pub fn keep_failure(&self, index: usize, cause: &RunFailure) {
        let path = self.run(index).with_extension(FAILED);
        let written = serde_json::to_string(cause)
            .map_err(io::Error::from)
            .and_then(|text| self.create().and_then(|()| whole_file::put(&path, &text)));
        if let Err(error) = written {
            self.complain(&error.to_string());
        }
    }

    pub fn failure(&self, index: usize) -> Option<RunFailure> {
        serde_json::from_slice(&fs::read(self.run(index).with_extension(FAILED)).ok()?).ok()
    }

    /// The result of run number `index` of the points, if it is stored. If `needed` is set, the run's goodput must be
    /// stored as well.
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

    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Stores a run that has just finished, if it took long or has a name.
    pub fn keep_long(&self, index: usize, ran: &mut RunOutcome) {
        if self.names.is_some() || ran.result.run.wall_s >= WORTH_KEEPING_S {
            self.keep(index, ran);
        }
    }

    /// Creates the folder together with the record of this build, unless the folder exists. Without this record,
    /// another program would remove the folder.
    fn create(&self) -> io::Result<()> {
        if self.folder.exists() {
            return Ok(());
        }
        let root = self.folder.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(root)?;
        let fresh = hidden_folder(root)?;
        MadeBy::this().write(fresh.path())?;
        fs::rename(fresh.path(), &self.folder)
            .or_else(|error| if self.folder.exists() { Ok(()) } else { Err(error) })
    }

    /// Stores a finished run, unless it is stored already. Several programs may store the same run at the same time.
    /// Their results are equal.
    pub fn keep(&self, index: usize, ran: &mut RunOutcome) {
        let folder = self.run(index);
        if folder.exists() {
            return;
        }
        // The rows are moved into the set and moved back, because memory may have no room for a second copy of them.
        let set = ResultSet {
            runs: vec![ran.result.run.clone()],
            flows: std::mem::take(&mut ran.result.flows),
            jobs: std::mem::take(&mut ran.result.jobs),
            parts: std::mem::take(&mut ran.result.parts),
            series: std::mem::take(&mut ran.result.series),
            filed: ran.filed.iter().cloned().collect(),
            ..ResultSet::default()
        };
        let written = self
            .create()
            .and_then(|()| hidden_folder(&self.folder))
            .map_err(|error| error.to_string())
            .and_then(|unfinished| {
                set.write(unfinished.path()).map_err(|error| error.to_string())?;
                // If another program has stored the run already, dropping `unfinished` removes the unfinished folder.
                fs::rename(unfinished.path(), &folder)
                    .or_else(|error| if folder.exists() { Ok(()) } else { Err(error.to_string()) })
            });
        let ResultSet { flows, jobs, parts, series, .. } = set;
        (ran.result.flows, ran.result.jobs, ran.result.parts, ran.result.series) =
            (flows, jobs, parts, series);
        if let Err(error) = written {
            self.complain(&error);
        }
    }

    fn complain(&self, error: &str) {
        if !self.complained.swap(true, Ordering::Relaxed) {
            note(&format!("warning: {}: a finished run cannot be kept: {error}", self.folder.display()));
        }
    }

    /// Removes all stored runs, once the complete results are written.
    pub fn clear(&self) {
        // An error is ignored: the folder may not exist, and remaining files do no harm.
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

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_results::SeriesRow;

    fn ran() -> RunOutcome {
        let row = |time_ps| SeriesRow { run: 0, series: "s".into(), entity: "e".into(), time_ps, value: 0.5 };
        let result = RunResult {
            run: RunRow { scheme: "reps".into(), ..RunRow::default() },
            flows: Vec::new(),
            jobs: Vec::new(),
            parts: Vec::new(),
            series: (0..3_000).map(row).collect(),
            spans: Vec::new(),
        };
        RunOutcome { result, filed: None }
    }

    #[test]
    fn several_programs_keep_the_same_run_at_once() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join(".kept-x");
        for index in 0..5 {
            let keep = || {
                let cache = RunCache::at(folder.clone(), false);
                cache.keep(index, &mut ran());
                assert!(!cache.complained.load(Ordering::Relaxed));
            };
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(keep)).collect();
                threads.into_iter().for_each(|thread| thread.join().unwrap());
            });
            let kept = ResultSet::read(&folder.join(index.to_string())).unwrap();
            assert_eq!(kept.series.len(), 3_000);
        }
        let mut names: Vec<String> = Vec::new();
        for entry in fs::read_dir(&folder).unwrap() {
            names.push(entry.unwrap().file_name().to_string_lossy().into_owned());
        }
        names.sort();
        assert_eq!(names, ["0", "1", "2", "3", "4", "made-by.json"]);
    }
}
