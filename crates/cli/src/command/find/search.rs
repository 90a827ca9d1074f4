//! The searches, one for each pair of a scheme and a seed, and the runs of each search.

use crate::execute::{RunEnd, one_alone};
use crate::failure::Failure;
use crate::question::{self, Condition, SCHEME};
use crate::run_cache::RunCache;
use crate::run_outcome::RunOutcome;
use crate::source::{Folder, input};
use crate::spool::Spool;
use anabranch_report::Measure;
use anabranch_results::{ClaimValue, ResultSet, RunRow};
use anabranch_sim::scenario::{Find, RunPoint, Search};
use anabranch_sim::{Control, RunResult};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A search tries fewer values than this. The number of a run is the number of its search times `MOST_TRIED`, plus the
/// run's position in the search.
const MOST_TRIED: usize = 1000;

pub(super) fn split(set: ResultSet) -> Vec<RunOutcome> {
    let ResultSet { runs, flows, jobs, parts, filed, .. } = set;
    let mut rans: Vec<RunOutcome> = runs
        .into_iter()
        .map(|run| RunOutcome {
            result: RunResult {
                run,
                flows: Vec::new(),
                jobs: Vec::new(),
                parts: Vec::new(),
                series: Vec::new(),
                spans: Vec::new(),
            },
            filed: None,
        })
        .collect();
    flows.into_iter().for_each(|flow| rans[flow.run as usize].result.flows.push(flow));
    jobs.into_iter().for_each(|job| rans[job.run as usize].result.jobs.push(job));
    parts.into_iter().for_each(|part| rans[part.run as usize].result.parts.push(part));
    filed.into_iter().for_each(|filed| {
        let run = filed.run as usize;
        rans[run].filed = Some(filed);
    });
    rans
}

/// The searches for all schemes and seeds, which share stored runs.
pub(super) struct Searches<'a> {
    pub find: &'a Find,
    pub holds: &'a Condition,
    pub folder: &'a Folder,
    /// Stored runs that no search has taken yet.
    pub before: Mutex<Vec<RunOutcome>>,
    pub kept: &'a RunCache,
    pub spool: &'a Spool,
    pub simulated: AtomicUsize,
    /// The limit on simulated time, in microseconds.
    pub max_time_us: f64,
}

pub(super) struct Run {
    pub index: usize,
    pub place: f64,
    pub ran: RunOutcome,
}

pub(super) struct Measurement {
    pub place: f64,
    pub value: toml::Value,
    pub finished: bool,
    /// Whether the run ended because it reached the limit on simulated time.
    pub cut_off: bool,
    /// The value of the measured side of the comparison.
    pub measured: Option<f64>,
    /// The value of the other side of the comparison.
    pub bound: Option<f64>,
}

/// The condition `where`, with the values that were measured at the ends of the range in place of the measures.
pub(super) struct ResolvedCondition {
    pub whole: Measure,
    pub bound: Option<Measure>,
}

/// The search for one scheme and one seed.
pub(super) struct Lane<'a> {
    pub scheme: String,
    pub seed: u64,
    pub search: Search<'a>,
    pub runs: Vec<Run>,
    /// Runs at the ends of the range that the search has not requested yet.
    pub ahead: Vec<Run>,
    pub measurements: Vec<Measurement>,
    /// The condition. `None` before the values at the ends are known, and if a run at an end did not finish.
    pub holds: Option<ResolvedCondition>,
    /// The number of runs that were requested, including stored runs.
    pub started: usize,
    pub ended: Option<Failure>,
}

impl<'a> Searches<'a> {
    pub(super) fn lane(&self, number: usize, scheme: &str, seed: u64, control: &Control) -> Lane<'a> {
        let mut lane = Lane {
            scheme: scheme.to_owned(),
            seed,
            search: Search::new(self.find),
            runs: Vec::new(),
            ahead: Vec::new(),
            measurements: Vec::new(),
            holds: None,
            started: 0,
            ended: None,
        };
        lane.ended = self
            .run_ends(number, &mut lane, control)
            .and_then(|()| self.run_search(number, &mut lane, control))
            .err();
        let mut ahead = std::mem::take(&mut lane.ahead);
        lane.runs.append(&mut ahead);
        lane
    }

    fn next_run(
        &self,
        number: usize,
        lane: &mut Lane<'a>,
        value: &toml::Value,
        control: &Control,
    ) -> Result<(usize, RunOutcome), Failure> {
        let index = number * MOST_TRIED + lane.started;
        lane.started += 1;
        Ok((index, self.run(index, &lane.scheme, lane.seed, value, control)?))
    }

    /// Runs the scenario at each end of the range at which the condition measures a value. The search uses these runs
    /// too.
    fn run_ends(&self, number: usize, lane: &mut Lane<'a>, control: &Control) -> Result<(), Failure> {
        let mut numbers = vec![Some(0.0); self.holds.count()];
        for largest in self.holds.ends() {
            let (place, value) = self.find.least_and_most()[usize::from(largest)].clone();
            let (index, mut ran) = self.next_run(number, lane, &value, control)?;
            for (which, measure) in self.holds.at(largest) {
                numbers[which] = with_results(&mut ran, |set| self.number(measure, set)).transpose()?;
            }
            lane.ahead.push(Run { index, place, ran });
        }
        // If a run at an end did not finish, the condition holds nowhere.
        lane.holds = match numbers.into_iter().collect::<Option<Vec<f64>>>() {
            Some(numbers) => Some(ResolvedCondition {
                whole: self.holds.with(&numbers).map_err(Failure::Input)?,
                bound: self.holds.bound(&numbers),
            }),
            None => None,
        };
        Ok(())
    }

    pub(super) fn run_search(
        &self,
        number: usize,
        lane: &mut Lane<'a>,
        control: &Control,
    ) -> Result<(), Failure> {
        while let Some((place, value)) = lane.search.next() {
            let known = lane.ahead.iter().position(|run| run.place == place);
            let mut tried = match known {
                Some(known) => lane.ahead.swap_remove(known),
                None => {
                    let (index, ran) = self.next_run(number, lane, &value, control)?;
                    Run { index, place, ran }
                }
            };
            let numbers = with_results(&mut tried.ran, |set| {
                let bound = lane.holds.as_ref().and_then(|holds| question::value(holds.bound.as_ref()?, set));
                let held = lane.holds.as_ref().map(|holds| self.number(&holds.whole, set));
                (held, self.holds.measured(set), bound)
            });
            let finished = numbers.is_some();
            let cut_off = !finished && tried.ran.result.run.sim_time_us >= self.max_time_us;
            let (held, measured, bound) = numbers.unwrap_or_default();
            lane.measurements.push(Measurement { place, value, finished, cut_off, measured, bound });
            lane.runs.push(tried);
            lane.search.tell(self.is_true(held.transpose()?)?);
        }
        Ok(())
    }

    fn run(
        &self,
        index: usize,
        scheme: &str,
        seed: u64,
        value: &toml::Value,
        control: &Control,
    ) -> Result<RunOutcome, Failure> {
        let scenario = self.find.scenario(std::slice::from_ref(value), self.folder).map_err(input)?;
        let points = scenario.points().map_err(input)?;
        let is_searched = |point: &RunPoint| point.scheme.name == scheme && point.seed == seed;
        let Some(point) = points.into_iter().find(is_searched) else {
            return Err(Failure::Run(format!("internal error: no run of {scheme} with seed {seed}")));
        };
        let mut before = self.before.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_of = |run: &RunRow| run.scheme == scheme && run.seed == seed && run.sweep == point.sweep;
        if let Some(known) = before.iter().position(|ran| is_of(&ran.result.run)) {
            return Ok(before.swap_remove(known));
        }
        drop(before);
        if let Some(ran) = self.kept.take(index, &point, false, self.spool) {
            return Ok(ran);
        }
        self.simulated.fetch_add(1, Ordering::Relaxed);
        let named = || format!("{scheme}, seed {seed}, {} = {value}", self.find.parameter);
        match one_alone(index, &point, control, self.kept, self.spool) {
            RunEnd::Done(ran) => Ok(*ran),
            RunEnd::Failed { partial: Some(ran), .. } => Ok(*ran),
            RunEnd::Failed { cause, partial: None } => Err(Failure::Run(format!("run {}: {cause}", named()))),
            RunEnd::Stopped => Err(Failure::Interrupted(
                "interrupted; the runs that finished are kept for the next time".to_owned(),
            )),
        }
    }

    fn number(&self, measure: &Measure, set: &ResultSet) -> Result<f64, Failure> {
        match measure.evaluate(set).map_err(|error| Failure::Input(format!("[find] where: {error}")))? {
            ClaimValue::Number(number) => Ok(number),
            other => Err(Failure::Input(format!(
                "[find] where: {:?} is {other:?}, which is no number",
                self.find.holds
            ))),
        }
    }

    /// Whether the condition holds, given the value of `where`. The condition fails for a run without a value, in
    /// which a message or a job did not finish.
    fn is_true(&self, number: Option<f64>) -> Result<bool, Failure> {
        match number {
            None | Some(0.0) => Ok(false),
            Some(1.0) => Ok(true),
            Some(other) => Err(input(self.find.wrong(
                format!("[find] where: {:?} is {other}, which is neither true nor false", self.find.holds),
                "a comparison, such as where = \"slowdown_p99(scheme) < 3\"",
            ))),
        }
    }
}

/// Calls `read` with the results of one run, in which the scheme has the name [`SCHEME`], as in the condition
/// `where`. The result is none if a message or job of the run did not finish.
fn with_results<T>(ran: &mut RunOutcome, read: impl FnOnce(&ResultSet) -> T) -> Option<T> {
    let row = &ran.result.run;
    if row.flows_finished < row.flows || row.jobs_finished < row.jobs {
        return None;
    }
    // The rows are moved into the set and moved back, because memory may have no room for a second copy of them.
    let mut set = ResultSet {
        runs: vec![RunRow { scheme: SCHEME.to_owned(), ..row.clone() }],
        flows: std::mem::take(&mut ran.result.flows),
        jobs: std::mem::take(&mut ran.result.jobs),
        series: std::mem::take(&mut ran.result.series),
        filed: ran.filed.iter().cloned().collect(),
        ..ResultSet::default()
    };
    set.flows.iter_mut().for_each(|flow| flow.run = 0);
    set.jobs.iter_mut().for_each(|job| job.run = 0);
    set.filed.iter_mut().for_each(|filed| filed.run = 0);
    let result = read(&set);
    let ResultSet { flows, jobs, series, .. } = set;
    (ran.result.flows, ran.result.jobs, ran.result.series) = (flows, jobs, series);
    Some(result)
}
