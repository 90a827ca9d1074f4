//! The common part of the commands that store results: it simulates unless the results are stored already, and stores
//! the results.

use crate::args::OutputArgs;
use crate::execute::{Outcome, execute_with_baselines};
use crate::failure::Failure;
use crate::made_by::MadeBy;
use crate::output::{note, width};
use crate::run_cache::RunCache;
use crate::simulated::Simulated;
use crate::source::Prepared;
use crate::spool::Spool;
use crate::store::{Item, Pending, Store};
use anabranch_results::{Figure, ResultSet};
use anabranch_sim::baseline;
use std::path::PathBuf;

/// A scenario or model that can be simulated and stored.
pub struct Job<'a> {
    pub item: &'a Item,
    pub title: &'a str,
    /// The number of runs, including the baselines.
    pub runs: usize,
    /// The number of baselines among the runs.
    pub baselines: usize,
    /// Simulates the runs that the cache does not contain. The spool holds curves on disk.
    pub simulate: &'a dyn Fn(&RunCache, &Spool) -> Result<Outcome, Failure>,
    /// Computes the figure's part of the results from the other parts.
    pub figure: &'a dyn Fn(&ResultSet) -> Result<Option<Figure>, Failure>,
}

impl Job<'_> {
    /// Simulates the job, or returns its stored results.
    ///
    /// # Errors
    /// The folder of results cannot be used, or `simulate` or `figure` fails. Failed and stopped runs are not errors,
    /// because they are part of the result.
    pub fn perform(&self, output: &OutputArgs) -> Result<Simulated, Failure> {
        let store = Store::at(&output.folder);
        if !output.fresh
            && let Some((folder, mut results)) = store.stored(self.item)
            && (self.baselines == 0 || !results.baselines().is_empty())
        {
            if self.baselines == 0 {
                results.leave_out_baselines();
            }
            note(&format!("taken from {}, simulated before; --fresh simulates again", folder.display()));
            warn(&results);
            return self.judge_again(&store, folder, results);
        }
        let pending = store.begin(self.item)?;
        let kept = store.run_cache(self.item, output.fresh);
        let spool = pending.spool();
        let outcome = (self.simulate)(&kept, &spool)?;
        let whole = outcome.is_whole();
        let interrupted = outcome.interrupted;
        let mut results = outcome.into_results(self.title.to_owned(), self.item);
        results.warnings.clone_from(&self.item.warnings);
        warn(&results);
        results.figure = (self.figure)(&results)?;
        let folder = match results.runs.is_empty() {
            true => None,
            false => Some(write(pending, &results, whole)?),
        };
        if whole {
            kept.clear();
        }
        Ok(Simulated { results, folder, interrupted, runs_asked: self.runs, stored: false })
    }

    /// Evaluates the claims of stored results again, because a figure's claims may have changed since its results were
    /// stored.
    fn judge_again(
        &self,
        store: &Store,
        folder: PathBuf,
        mut results: ResultSet,
    ) -> Result<Simulated, Failure> {
        let judged = (self.figure)(&results)?;
        if judged != results.figure {
            results.figure = judged;
            write(store.begin(self.item)?, &results, true)?;
        }
        let runs_asked = self.runs;
        Ok(Simulated { results, folder: Some(folder), interrupted: false, runs_asked, stored: true })
    }
}

/// Simulates a scenario, or returns its stored results. With `baselines`, the scenario is also simulated without its
/// faults.
///
/// # Errors
/// The errors of [`Job::perform`].
pub fn scenario(prepared: &Prepared, baselines: bool, output: &OutputArgs) -> Result<Simulated, Failure> {
    let mut points = prepared.points.clone();
    let actual = points.len();
    if baselines {
        points.extend(baseline::points(&prepared.points));
    }
    let job = Job {
        item: &prepared.item,
        title: &prepared.scenario.title,
        runs: points.len(),
        baselines: points.len() - actual,
        simulate: &|kept, spool| execute_with_baselines(&points, actual, output.threads, kept, spool),
        figure: &|_| Ok(None),
    };
    job.perform(output)
}

/// Prints the warnings of the runs. The warnings about the scenario were printed when it was read.
fn warn(results: &ResultSet) {
    results.run_warnings().iter().for_each(|warning| note(&format!("warning: {warning}")));
}

/// Writes the results and their page. If writing fails, the table is printed, so that the results are not lost.
fn write(pending: Pending, results: &ResultSet, whole: bool) -> Result<PathBuf, Failure> {
    pending
        .finish(results, &anabranch_report::html(results, &MadeBy::this().provenance()), whole)
        .inspect_err(|_| note(&anabranch_report::table(results, width())))
}
