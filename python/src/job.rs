//! The runs of a scenario, which are carried out on threads that do not hold the interpreter's lock.

use crate::results::{Results, claimed};
use anabranch_sim::{Control, Session, run, threads_of};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The interval between checks for signals during a wait, and so the longest time until Ctrl-C takes effect.
const PATIENCE: Duration = Duration::from_millis(50);

/// A scenario whose runs are carried out in the background.
#[pyclass(frozen)]
pub struct Job {
    shared: Arc<Shared>,
    /// The channel on which the threads send the number of each run that has ended and was not cancelled. None before
    /// the threads start.
    ended: Mutex<Option<Receiver<usize>>>,
}

struct Shared {
    session: Mutex<Session>,
    inputs: Arc<BTreeMap<String, String>>,
    started: OnceLock<RunPlan>,
    /// The position in [`RunPlan::order`] of the run that is carried out next.
    next: AtomicUsize,
}

/// The choices that are fixed when the runs start.
struct RunPlan {
    /// The runs that are carried out, in this order.
    order: Vec<usize>,
    /// One control for each run of the scenario.
    controls: Vec<Control>,
}

#[expect(clippy::disallowed_methods, reason = "wall times and waits; no result depends on them")]
fn now() -> Instant {
    Instant::now()
}

fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Job {
    pub fn new(session: Session) -> Job {
        let shared = Shared {
            inputs: Arc::new(session.files().clone()),
            session: Mutex::new(session),
            started: OnceLock::new(),
            next: AtomicUsize::new(0),
        };
        Job { shared: Arc::new(shared), ended: Mutex::new(None) }
    }
}

impl Shared {
    /// Carries out runs until none is left or the runs are cancelled.
    fn work(&self, ended: &Sender<usize>) {
        let Some(RunPlan { order, controls }) = self.started.get() else { return };
        loop {
            let begun = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(&index) = order.get(begun) else { return };
            let control = &controls[index];
            if control.cancel.load(Ordering::Relaxed) {
                return;
            }
            let point = locked(&self.session).points()[index].clone();
            let begin = now();
            let mut end = run(&point, control);
            if let Ok(result) = &mut end {
                result.run.wall_s = begin.elapsed().as_secs_f64();
            }
            if control.cancel.load(Ordering::Relaxed) {
                return;
            }
            locked(&self.session).ended(index, end);
            if ended.send(index).is_err() {
                return;
            }
        }
    }

    /// The controls of all runs. Empty before the job starts.
    fn controls(&self) -> &[Control] {
        self.started.get().map_or(&[], |started| &started.controls)
    }

    fn cancel(&self) {
        self.controls().iter().for_each(|control| control.cancel.store(true, Ordering::Relaxed));
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.shared.cancel();
    }
}

#[pymethods]
impl Job {
    /// The number of runs, including baselines without faults.
    fn runs(&self) -> usize {
        locked(&self.shared.session).points().len()
    }

    /// The number of runs without the baselines.
    fn actual(&self) -> usize {
        locked(&self.shared.session).actual()
    }

    /// The name of a run.
    fn name(&self, index: usize) -> String {
        locked(&self.shared.session).name(index)
    }

    /// The warnings about the scenario, each with its place and, if there is one, its fix.
    fn warnings(&self) -> Vec<String> {
        locked(&self.shared.session).warnings().iter().map(ToString::to_string).collect()
    }

    /// The scenario with every default written out.
    fn resolved(&self) -> String {
        locked(&self.shared.session).resolved().to_owned()
    }

    /// Marks a folder as the one that holds the runs of this scenario.
    fn claim(&self, folder: PathBuf) -> PyResult<()> {
        claimed(&folder, locked(&self.shared.session).resolved(), &self.shared.inputs).map(drop)
    }

    /// Starts all runs, or those whose numbers `only` lists, on `threads` threads. If `threads` is 0, there is one
    /// thread per core.
    #[pyo3(signature = (threads, only=None))]
    fn start(&self, threads: usize, only: Option<Vec<usize>>) -> PyResult<()> {
        let mut ended = locked(&self.ended);
        if ended.is_some() {
            return Ok(());
        }
        let runs = self.runs();
        let order = only.unwrap_or_else(|| (0..runs).collect());
        if let Some(beyond) = order.iter().find(|index| **index >= runs) {
            return Err(PyIndexError::new_err(format!("there is no run {beyond} of {runs}")));
        }
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads = if threads == 0 { cores } else { threads };
        let (sender, receiver) = channel();
        let workers = threads.min(order.len());
        let controls = {
            let session = locked(&self.shared.session);
            let each = session.points().iter().enumerate();
            let control = |(index, point)| {
                let threads = threads_of(point, threads, order.len());
                Control { threads, ..session.control(index) }
            };
            each.map(control).collect()
        };
        // Nothing has been set before, because `ended` is locked and was none.
        let _ = self.shared.started.set(RunPlan { order, controls });
        for _ in 0..workers {
            let (shared, sender) = (self.shared.clone(), sender.clone());
            thread::spawn(move || shared.work(&sender));
        }
        *ended = Some(receiver);
        Ok(())
    }

    /// Waits at most `seconds` seconds for the next run to end. Returns the number of the run and true. Returns 0 and
    /// false if the time has passed. Returns none if no further run will end or the job has not started. Ctrl-C ends
    /// the wait and cancels the runs.
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<Option<(usize, bool)>> {
        let until = now() + Duration::from_secs_f64(seconds.clamp(0.0, 1e9));
        loop {
            let next = py.detach(|| match &*locked(&self.ended) {
                Some(ended) => ended.recv_timeout(PATIENCE),
                None => Err(RecvTimeoutError::Disconnected),
            });
            match next {
                Ok(index) => return Ok(Some((index, true))),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Err(error) = py.check_signals() {
                self.shared.cancel();
                return Err(error);
            }
            if now() >= until {
                return Ok(Some((0, false)));
            }
        }
    }

    /// Cancels the runs, which then end soon.
    fn cancel(&self) {
        self.shared.cancel();
    }

    /// The sums over the runs that have started: packet-hops so far, completed messages, and all messages.
    fn progress(&self) -> (u64, u64, u64) {
        let sum = |of: fn(&Control) -> &std::sync::atomic::AtomicU64| {
            self.shared.controls().iter().map(|control| of(control).load(Ordering::Relaxed)).sum()
        };
        (sum(|c| &c.packet_hops), sum(|c| &c.flows_finished), sum(|c| &c.flows_total))
    }

    /// The results of all runs so far.
    fn results(&self, py: Python<'_>) -> Results {
        py.detach(|| Results::new(locked(&self.shared.session).results(), self.shared.inputs.clone()))
    }

    /// The results of one run.
    fn result(&self, py: Python<'_>, index: usize) -> Results {
        py.detach(|| Results::new(locked(&self.shared.session).result(index), self.shared.inputs.clone()))
    }
}
