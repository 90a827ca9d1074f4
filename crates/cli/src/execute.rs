//! Runs the points of a scenario on several threads. The results and their order do not depend on the number of
//! threads.

use crate::clock;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::note;
use crate::progress::Progress;
use crate::run_cache::RunCache;
use crate::run_outcome::RunOutcome;
use crate::spool::Spool;
use crate::store::Item;
use anabranch_results::{FiledCurves, MissingRun, ResultSet, RunFailure, Value};
use anabranch_sim::baseline::{self, Curve};
use anabranch_sim::scenario::RunPoint;
use anabranch_sim::{Control, RunError, RunResult, add, add_baseline, threads_of};
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

#[derive(Debug, Default)]
pub struct Outcome {
    /// The runs that have results, in the order of the points, and the runs that are missing. A run that failed with
    /// partial results is in both lists. Curves with many points are in files.
    set: ResultSet,
    /// The indices of the failed runs among the points, each with the reason.
    pub failed: Vec<(usize, RunFailure)>,
    /// Whether Ctrl-C ended the execution, so that runs are missing.
    pub interrupted: bool,
}

impl Outcome {
    pub fn is_whole(&self) -> bool {
        self.set.missing.is_empty() && !self.interrupted
    }

    /// The outcome of runs that all have results.
    pub fn finished(runs: impl IntoIterator<Item = RunOutcome>) -> Outcome {
        let mut outcome = Outcome::default();
        runs.into_iter().for_each(|ran| outcome.push(ran, add));
        outcome
    }

    /// The outcome if Ctrl-C ended the only run.
    pub fn interrupted() -> Outcome {
        Outcome { interrupted: true, ..Outcome::default() }
    }

    /// The outcome of a single run without results.
    pub fn missing(run: MissingRun) -> Outcome {
        Outcome { set: ResultSet { missing: vec![run], ..ResultSet::default() }, ..Outcome::default() }
    }

    fn push(&mut self, ran: RunOutcome, add: fn(&mut ResultSet, RunResult) -> u32) {
        let run = add(&mut self.set, ran.result);
        self.set.filed.extend(ran.filed.map(|filed| FiledCurves { run, ..filed }));
    }

    /// The results under a title, with the resolved scenario that they belong to.
    pub fn into_results(self, title: String, item: &Item) -> ResultSet {
        ResultSet { title, scenario_toml: item.toml.clone(), facts: item.facts.clone(), ..self.set }
    }
}

/// Runs all `points` on `threads` threads (`None` means one thread per core), except the points whose runs the cache
/// `kept` contains already. A long run is stored in the cache when it ends. If some runs do not finish, all finished
/// runs are stored in the cache. When a run ends, its curves are moved to a file in `spool` if they have many points,
/// because the curves of all runs together may be larger than memory.
///
/// # Errors
/// Threads cannot be started. A failed run is not an error, because it is part of the outcome.
pub fn execute(
    points: &[RunPoint],
    threads: Option<u16>,
    kept: &RunCache,
    spool: &Spool,
) -> Result<Outcome, Failure> {
    execute_with_baselines(points, points.len(), threads, kept, spool)
}

/// Runs all `points` like [`execute`]. The points from index `actual` on are baselines of the points before them, and
/// the runs with faults are compared with their baselines.
///
/// # Errors
/// The errors of [`execute`].
pub fn execute_with_baselines(
    points: &[RunPoint],
    actual: usize,
    threads: Option<u16>,
    kept: &RunCache,
    spool: &Spool,
) -> Result<Outcome, Failure> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.map_or(0, usize::from))
        .build()
        .map_err(|error| Failure::Run(format!("threads cannot be started: {error}")))?;
    let controls: Vec<Control> = points
        .iter()
        .enumerate()
        .map(|(index, point)| Control {
            threads: threads_of(point, pool.current_num_threads(), points.len()),
            goodput: actual < points.len() && (index >= actual || !point.faults.is_empty()),
            ..Control::default()
        })
        .collect();
    let progress = Progress::new(points.len());
    let mut ends = watched(
        &controls,
        || progress.draw(&controls),
        || {
            pool.install(|| {
                let each = points.into_par_iter().zip(&controls).enumerate().with_max_len(1);
                each.map(|(index, (point, control))| match kept.take(index, point, control.goodput, spool) {
                    Some(ran) => {
                        progress.count_cached();
                        RunEnd::Done(Box::new(ran))
                    }
                    None => one(index, point, control, &progress, kept, spool),
                })
                .collect::<Vec<RunEnd>>()
            })
        },
    );
    progress.clear();
    if kept.taken() > 0 {
        note(&format!(
            "{} of {} runs were finished before; --fresh simulates them again",
            kept.taken(),
            points.len()
        ));
    }
    if !ends.iter().all(|end| matches!(end, RunEnd::Done(_))) {
        for (index, end) in ends.iter_mut().enumerate() {
            if let RunEnd::Done(ran) = end {
                kept.keep(index, ran);
            }
        }
    }
    Ok(collect(points, actual, ends))
}

pub enum RunEnd {
    Done(Box<RunOutcome>),
    Failed {
        cause: RunFailure,
        /// The results until the failure, if the error has them.
        partial: Option<Box<RunOutcome>>,
    },
    Stopped,
}

/// Runs one point without a progress bar. A long run is stored in the cache under `index`.
pub fn one_alone(
    index: usize,
    point: &RunPoint,
    control: &Control,
    kept: &RunCache,
    spool: &Spool,
) -> RunEnd {
    one(index, point, control, &Progress::none(), kept, spool)
}

impl RunEnd {
    fn goodput(&self) -> Option<Curve> {
        match self {
            RunEnd::Done(ran) => ran.goodput(),
            RunEnd::Failed { .. } | RunEnd::Stopped => None,
        }
    }
}

fn one(
    index: usize,
    point: &RunPoint,
    control: &Control,
    progress: &Progress,
    kept: &RunCache,
    spool: &Spool,
) -> RunEnd {
    if interrupt::asked_to_stop() {
        return RunEnd::Stopped;
    }
    let name = describe(&point.scheme.name, point.seed, &point.sweep);
    let (ended, wall_s) = timed(index, &name, point, control, progress);
    let sealed = |mut result: RunResult| {
        result.run.wall_s = wall_s;
        Box::new(RunOutcome { result, filed: None })
    };
    let filed = |mut ran: Box<RunOutcome>| {
        ran.filed = spool.file(index, &mut ran.result.series);
        ran
    };
    match ended {
        Ok(Ok(result)) => {
            let mut ran = sealed(result);
            kept.keep_long(index, &mut ran);
            RunEnd::Done(filed(ran))
        }
        Ok(Err(RunError::Cancelled)) => RunEnd::Stopped,
        Ok(Err(error)) => {
            let (cause, partial) = error.into_failure();
            RunEnd::Failed { cause, partial: partial.map(|partial| filed(sealed(*partial))) }
        }
        Err(message) => RunEnd::Failed { cause: RunFailure::Other { message }, partial: None },
    }
}

/// Runs a point as run number `slot` of the runs that `progress` shows. Returns the result or the message of a panic,
/// and then the wall-clock time in seconds.
pub fn timed(
    slot: usize,
    name: &str,
    point: &RunPoint,
    control: &Control,
    progress: &Progress,
) -> (Result<Result<RunResult, RunError>, String>, f64) {
    progress.begin(slot, name);
    let begin = clock::now();
    let ended = guarded(|| anabranch_sim::run(point, control));
    progress.end(slot);
    (ended, begin.elapsed().as_secs_f64())
}

/// Calls `action`. Returns its value, or the message of its panic.
pub fn guarded<T>(action: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(action)).map_err(|payload| {
        let what = payload.downcast_ref::<String>().map(String::as_str);
        let what = what.or(payload.downcast_ref::<&str>().copied()).unwrap_or(NO_MESSAGE);
        let panics = PANICS.lock().unwrap_or_else(PoisonError::into_inner);
        let place = panics.iter().rfind(|panic| panic.what == what).map_or("", |panic| &panic.place);
        format!("internal error, a defect of anabranch: {what}{place}")
    })
}

/// Calls `action`, and meanwhile passes Ctrl-C on to the runs of `controls`.
pub fn pass_on_interrupts<T>(controls: &[Control], action: impl FnOnce() -> T) -> T {
    watched(controls, || (), action)
}

/// Calls `action` while another thread passes Ctrl-C on to the runs and draws their progress.
pub fn watched<T>(controls: &[Control], draw: impl Fn() + Sync, action: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    let watch = || {
        while !over.load(Ordering::SeqCst) {
            if interrupt::asked_to_stop() {
                controls.iter().for_each(|control| control.cancel.store(true, Ordering::Relaxed));
            }
            draw();
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(watch);
        // The thread must also be ended if the action panics, because the scope waits for it.
        let _end = EndOfWatch(&over);
        action()
    })
}

/// Ends the thread of [`watched`] when it is dropped.
struct EndOfWatch<'t>(&'t AtomicBool);

impl Drop for EndOfWatch<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

pub fn collect_rows(results: impl IntoIterator<Item = RunResult>) -> Outcome {
    Outcome::finished(results.into_iter().map(|result| RunOutcome { result, filed: None }))
}

fn collect(points: &[RunPoint], actual: usize, ends: Vec<RunEnd>) -> Outcome {
    let mut outcome = Outcome::default();
    let recoveries = match actual < points.len() {
        true => baseline::recoveries(points, actual, &ends.iter().map(RunEnd::goodput).collect::<Vec<_>>()),
        false => vec![None; points.len()],
    };
    for (index, (point, end)) in points.iter().zip(ends).enumerate() {
        let missing = |cause: Option<RunFailure>| MissingRun {
            scheme: point.scheme.name.clone(),
            seed: point.seed,
            sweep: point.sweep.clone(),
            baseline: index >= actual,
            cause,
        };
        let ran = match end {
            RunEnd::Done(ran) => Some(ran),
            RunEnd::Stopped => {
                outcome.interrupted = true;
                outcome.set.missing.push(missing(None));
                None
            }
            RunEnd::Failed { cause, partial } => {
                outcome.failed.push((index, cause.clone()));
                outcome.set.missing.push(missing(Some(cause)));
                partial
            }
        };
        if let Some(mut ran) = ran {
            ran.result.run.time_to_recover_us = recoveries[index];
            outcome.push(*ran, if index < actual { add } else { add_baseline });
        }
    }
    outcome
}

/// A run's name for people: `reps, seed 1, topology.oversubscription = 4`.
pub fn describe(scheme: &str, seed: u64, sweep: &BTreeMap<String, Value>) -> String {
    let mut text = format!("{scheme}, seed {seed}");
    for (name, value) in sweep {
        text.push_str(&format!(", {name} = {value}"));
    }
    text
}

struct Panic {
    what: String,
    place: String,
}

const NO_MESSAGE: &str = "no message";

/// The panics so far, on all threads. The panic that [`guarded`] catches may have begun on another thread.
static PANICS: Mutex<Vec<Panic>> = Mutex::new(Vec::new());

/// Installs a hook that records panics for [`guarded`] and does not print them.
pub fn keep_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        let what = info.payload_as_str().unwrap_or(NO_MESSAGE).to_owned();
        PANICS.lock().unwrap_or_else(PoisonError::into_inner).push(Panic { what, place });
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_with_its_place() {
        keep_panics();
        let error = guarded(|| panic!("queue {} is empty", 7)).unwrap_err();
        assert!(error.contains("internal error"), "{error}");
        assert!(error.contains("queue 7 is empty"), "{error}");
        assert!(error.contains("execute.rs:"), "{error}");
        assert_eq!(guarded(|| 5), Ok(5));
    }

    #[test]
    fn the_panic_of_another_thread_has_its_message_and_place() {
        keep_panics();
        let before = guarded(|| panic!("an earlier one of this thread"));
        assert!(before.is_err());
        let error = guarded(|| {
            let other = std::thread::spawn(|| panic!("host {} has no NIC", 3));
            std::panic::resume_unwind(other.join().unwrap_err());
        });
        let error = error.unwrap_err();
        assert!(error.contains("host 3 has no NIC (") && error.contains("execute.rs:"), "{error}");
    }

    #[test]
    fn a_panic_ends_the_watch() {
        keep_panics();
        let error = guarded(|| watched(&[], || (), || panic!("in the middle"))).unwrap_err();
        assert!(error.contains("in the middle"), "{error}");
    }
}
