//! One run, on one screen: build the fabric, make the workload, run the engine, hand back the results.

use crate::engine::{Engine, Failure, Setup};
use crate::ideal::Ideal;
use crate::observer::{NoObserver, Observer, SeriesObserver};
use crate::scenario::{RunPoint, TopologySpec};
use crate::topology::{Routing, Selector, SelectorError, Topology, TopologyError};
use crate::workload::{self, Fabric, Workload, WorkloadError};
use anabranch_base::{MessageId, Purpose, Time, stream};
use anabranch_results::{FlowRow, RunRow, SeriesRow};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Runs one point of a scenario. Same point, same result, whatever else the process does.
///
/// # Errors
/// A point that cannot be built, a run that stalled or hit a limit (with what it came to), or a broken invariant.
pub fn run(point: &RunPoint, control: &Control) -> Result<RunResult, RunError> {
    let fabric = build(point)?;
    let observer = match point.measures.is_empty() {
        true => None,
        false => Some(watch(point, &fabric.topology)?),
    };
    control.flows_total.store(fabric.workload.messages.len() as u64, Ordering::Relaxed);
    let ideal = Ideal::new(&fabric.topology, fabric.routing.clone(), &point.scheme.transport);
    let setup = Setup {
        topology: &fabric.topology,
        routing: fabric.routing,
        workload: &fabric.workload,
        faults: &point.faults,
        scheme: &point.scheme,
        facts: ideal.path_facts(),
        limits: &point.limits,
        seed: point.seed,
    };
    match observer {
        None => drive(Engine::new(setup, NoObserver)?, point, &ideal, control, |_, _| Vec::new()),
        Some(observer) => drive(Engine::new(setup, observer)?, point, &ideal, control, |observer, end| {
            observer.into_rows(end, |link| fabric.topology.link_name(link))
        }),
    }
}

/// What a point builds before its engine.
pub struct Built {
    /// The fabric.
    pub topology: Topology,
    /// Routes with every link up.
    pub routing: Routing,
    /// What the hosts send.
    pub workload: Workload,
}

/// Builds fabric, routes and workload of a point.
///
/// # Errors
/// What in the point cannot be built.
pub fn build(point: &RunPoint) -> Result<Built, RunError> {
    let text = |name: &str| point.files.get(name).map(String::as_str);
    let topology = crate::topology::build(&point.topology, point.topology.file().and_then(text))?;
    let routing = Routing::new(&topology, &|_| true);
    let file = workload::file_needed(&point.workload).and_then(text);
    let workload = workload::build(&point.workload, &Fabric::of(&topology), point.seed, file)?;
    Ok(Built { topology, routing, workload })
}

fn watch(point: &RunPoint, topology: &Topology) -> Result<SeriesObserver, RunError> {
    let mut observer = SeriesObserver::new(topology.ports.len());
    for (number, measure) in point.measures.iter().enumerate() {
        // A random choice of links must be the one that a fault with the same selector would not disturb.
        let mut random = stream(point.seed, u64::MAX - number as u64, Purpose::FaultSelection);
        for link in measure.links.parse::<Selector>()?.links(topology, &mut random)? {
            observer.watch(measure.series, link, measure.every);
        }
    }
    Ok(observer)
}

fn drive<O: Observer>(
    mut engine: Engine<'_, O>,
    point: &RunPoint,
    ideal: &Ideal<'_>,
    control: &Control,
    series: impl FnOnce(O, Time) -> Vec<SeriesRow>,
) -> Result<RunResult, RunError> {
    let outcome = engine.run(control);
    let stuck: Vec<String> =
        engine.unfinished_messages().take(MOST_NAMED).map(|m| name_message(&engine, m)).collect();
    let mut result = collect(&engine, point, ideal);
    let at = engine.now();
    result.series = series(engine.into_observer(), at);
    let unfinished = result.run.flows - result.run.flows_finished;
    match outcome {
        Ok(()) => Ok(result),
        Err(Failure::Cancelled) => Err(RunError::Cancelled),
        Err(Failure::Invariant(what)) => Err(RunError::Invariant { what }),
        Err(failure @ (Failure::Stalled | Failure::NothingLeft)) => {
            let reason = match failure {
                Failure::Stalled => format!("nothing new was delivered for {}", point.limits.stall),
                _ => "nothing is left that could happen".to_owned(),
            };
            Err(RunError::Stalled { at, reason, flows: stuck, unfinished, partial: Box::new(result) })
        }
        Err(Failure::Limit(limit)) => {
            Err(RunError::Limit { limit, at, unfinished, partial: Box::new(result) })
        }
        Err(Failure::OutOfPsns(qp)) => Err(RunError::OutOfPsns { qp: qp.0 }),
    }
}

/// Most stalled flows that an error names.
const MOST_NAMED: usize = 10;

fn name_message<O: Observer>(engine: &Engine<'_, O>, (message, posted): (MessageId, Option<Time>)) -> String {
    let workload = engine.workload;
    let spec = &workload.messages[message.index()];
    let qp = workload.qps[spec.qp.index()];
    let state = match posted {
        Some(time) => format!("posted at {:.3} us", time.as_us()),
        None => "never started".to_owned(),
    };
    format!("flow {message} (host {} -> host {}, {} B, {state})", qp.src, qp.dst, spec.bytes)
}

fn collect<O: Observer>(engine: &Engine<'_, O>, point: &RunPoint, ideal: &Ideal<'_>) -> RunResult {
    let workload = engine.workload;
    let flows: Vec<FlowRow> = (0..workload.messages.len() as u32)
        .map(|number| {
            let message = &workload.messages[number as usize];
            let ends = workload.qps[message.qp.index()];
            let [posted, delivered, acknowledged] = engine.progress().times(MessageId(number));
            let since_posted = |time: Option<Time>| Some((time? - posted?).0);
            FlowRow {
                run: 0,
                flow: number,
                qp: message.qp.0,
                src: ends.src.0,
                dst: ends.dst.0,
                bytes: message.bytes,
                start_ps: posted.map(|time| time.0),
                delivery_ps: since_posted(delivered),
                fct_ps: since_posted(acknowledged),
                ideal_fct_ps: ideal.fct(ends.src, ends.dst, message.bytes).0,
            }
        })
        .collect();
    let mut fcts: Vec<u64> = flows.iter().filter_map(|flow| flow.fct_ps).collect();
    fcts.sort_unstable();
    let us = |ps: u64| ps as f64 / 1e6;
    // Nearest rank: the smallest FCT that at least this share of the flows does not exceed.
    let percentile =
        |share: usize| fcts.get((fcts.len() * share).div_ceil(100).max(1) - 1).map_or(0.0, |&ps| us(ps));
    let first_start = flows.iter().filter_map(|flow| flow.start_ps).min().unwrap_or(0);
    let last_end =
        flows.iter().filter_map(|flow| Some(flow.start_ps? + flow.fct_ps?)).max().unwrap_or(first_start);
    let counters = engine.counters();
    let (retransmissions, timeouts) = engine.sender_counters();
    let total: u128 = fcts.iter().map(|&ps| u128::from(ps)).sum();
    RunResult {
        run: RunRow {
            scheme: point.scheme.name.clone(),
            seed: point.seed,
            sweep: point.sweep.clone(),
            flows: flows.len() as u64,
            flows_finished: fcts.len() as u64,
            fct_mean_us: if fcts.is_empty() { 0.0 } else { total as f64 / fcts.len() as f64 / 1e6 },
            fct_p50_us: percentile(50),
            fct_p99_us: percentile(99),
            fct_max_us: percentile(100),
            ideal_fct_max_us: us(flows.iter().map(|flow| flow.ideal_fct_ps).max().unwrap_or(0)),
            completion_us: us(last_end - first_start),
            drops: counters.drops,
            link_losses: counters.link_losses,
            trims: counters.trims,
            ecn_marks: counters.ecn_marks,
            retransmissions,
            timeouts,
            packet_hops: counters.packet_hops,
            sim_time_us: engine.now().as_us(),
            ..RunRow::default()
        },
        flows,
        series: Vec::new(),
    }
}

/// What passes between a run and whoever waits for it.
#[derive(Debug, Default)]
pub struct Control {
    /// Set it to end the run soon.
    pub cancel: AtomicBool,
    /// Simulated time so far.
    pub sim_time_ps: AtomicU64,
    /// Packet-hops so far.
    pub packet_hops: AtomicU64,
    /// Messages acknowledged so far.
    pub flows_finished: AtomicU64,
    /// Messages of the workload.
    pub flows_total: AtomicU64,
}

impl Control {
    pub(crate) fn show(&self, now: Time, packet_hops: u64, unfinished: u64) {
        self.sim_time_ps.store(now.0, Ordering::Relaxed);
        self.packet_hops.store(packet_hops, Ordering::Relaxed);
        let total = self.flows_total.load(Ordering::Relaxed);
        self.flows_finished.store(total - unfinished.min(total), Ordering::Relaxed);
    }
}

/// What a run came to. The caller fills in `wall_s` and `digest`.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// Totals.
    pub run: RunRow,
    /// One row a message.
    pub flows: Vec<FlowRow>,
    /// Measured curves.
    pub series: Vec<SeriesRow>,
}

/// Why there is no whole result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The user stopped it.
    #[error("stopped")]
    Cancelled,
    /// Messages are left and nothing new has been delivered for long.
    #[error(
        "stalled at {:.3} us: {reason}, and {unfinished} flows are unfinished: {}{}",
        at.as_us(),
        flows.join("; "),
        if *unfinished > flows.len() as u64 { "; ..." } else { "" }
    )]
    Stalled {
        /// Simulated time.
        at: Time,
        /// What made it so.
        reason: String,
        /// Some of the unfinished flows, by name.
        flows: Vec<String>,
        /// How many there are.
        unfinished: u64,
        /// What the run came to.
        partial: Box<RunResult>,
    },
    /// A limit of the scenario was reached.
    #[error(
        "reached limits.{limit} at {:.3} us with {unfinished} flows unfinished; raise it in [limits] if that is too early",
        at.as_us()
    )]
    Limit {
        /// Its key.
        limit: &'static str,
        /// Simulated time.
        at: Time,
        /// Unfinished flows.
        unfinished: u64,
        /// What the run came to.
        partial: Box<RunResult>,
    },
    /// A checker found the engine wrong: a defect of Anabranch.
    #[error("an invariant is broken, which is a defect of anabranch: {what}")]
    Invariant {
        /// Which one, with the numbers.
        what: String,
    },
    /// A queue pair has more packets than PSNs.
    #[error("queue pair {qp} would need more than 2^32 packets; use smaller messages or a larger payload")]
    OutOfPsns {
        /// The queue pair.
        qp: u32,
    },
    /// The fabric cannot be built.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// The workload cannot be made.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A selector names nothing here.
    #[error(transparent)]
    Selector(#[from] SelectorError),
}

impl TopologySpec {
    /// The file it refers to.
    pub fn file(&self) -> Option<&str> {
        match self {
            TopologySpec::Graph { file, .. } => Some(file),
            TopologySpec::FatTree { .. }
            | TopologySpec::SingleSwitch { .. }
            | TopologySpec::Dumbbell { .. } => None,
        }
    }
}
