//! One run: it builds the fabric and the workload, runs the engine, and collects the results.

use crate::collect::{RunResult, collect, name_unfinished, packets};
use crate::context::Failure;
use crate::control::Control;
use crate::empty_measures::{empty_measures, link_groups, selector_stream};
use crate::engine::{ClassInputs, Engine, EngineInputs, PointBudget};
use crate::explain::Stalled;
use crate::ideal::Ideal;
use crate::injection::Injection;
use crate::injector::Injector;
use crate::network::OwnPath;
use crate::observer::{HookNodes, NamedObservers, NoObserver, Observer, PerNode, QpSelector};
use crate::points::{event_points_exceeded, interval_points_exceeded};
use crate::run_error::RunError;
use crate::series::{CurveGroup, SeriesObserver};
use crate::span::spans;
use crate::spec::{ClassSpec, ClassTraffic, Limits, RoutingMode, RunPoint, Scheme};
use crate::switch::{PfcPlan, ProgramPlan, SwitchPlan, weights};
use anabranch_base::{
    Duration, HostId, MessageId, Panicked, Purpose, QpId, Time, catch_panicked, foreign, stream,
};
use anabranch_fabric::{LinkGroup, Routing, Selector, Topology};
use anabranch_proto::cc::RegisteredCc;
use anabranch_proto::{CcConfig, LbConfig, PathFacts, ProgramConfig, TransportConfig};
use anabranch_results::{SeriesRow, StallReason};
use anabranch_workload::{self as workload, Fabric, Qp, Workload};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Runs one point of a scenario. The simulation depends only on the point.
///
/// # Errors
/// The point cannot be built, or the run failed. A run fails if it stalls, deadlocks or reaches a limit, and the error
/// then has the partial result. It also fails if a lossless class has no room for a packet, a queue pair runs out of
/// PSNs, the curves have too many points, an invariant is broken, a registered part panics, or the run is cancelled.
pub fn run(point: &RunPoint, control: &Control) -> Result<RunResult, RunError> {
    with_panic_context(point, || run_point(point, control, None, |_| NoObserver, drop))
}

/// Runs a point, as [`run()`] does, with messages that `injector` posts during the run in place of the point's
/// workload. The measures and observers of the point are ignored.
///
/// # Errors
/// See [`run()`].
pub fn run_injected(
    point: &RunPoint,
    control: &Control,
    injector: Box<dyn Injector>,
) -> Result<RunResult, RunError> {
    let point = &RunPoint { measures: Vec::new(), observers: Vec::new(), ..point.clone() };
    let injection = Injection::new(injector, false);
    with_panic_context(point, || run_point(point, control, Some(injection), |_| NoObserver, drop))
}

/// Runs a point, as [`run()`] does, with an observer that has no part in the result. If the run fails without a panic,
/// the observer has the events until the failure.
///
/// # Errors
/// See [`run()`].
pub fn run_observed<O: Observer>(
    point: &RunPoint,
    control: &Control,
    observer: &mut O,
) -> Result<RunResult, RunError> {
    with_panic_context(point, || {
        let blank = foreign("observer", || observer.fork());
        let per_node = |built: &Built| PerNode::new("observer", blank, hook_nodes(point, built));
        run_point(point, control, None, per_node, |seen| seen.join_into(observer))
    })
}

/// Calls `run`. A panic in a registered part, an observer or an injector becomes an error with the names of the part
/// and the scheme.
pub(crate) fn with_panic_context<T>(
    point: &RunPoint,
    run: impl FnOnce() -> Result<T, RunError>,
) -> Result<T, RunError> {
    catch_panicked(run).unwrap_or_else(|Panicked { part, message }| {
        let Scheme { name, cc, transport, fabric, .. } = &point.scheme;
        let mut lbs = point.scheme.all_lbs();
        let registered = match (part.as_str(), cc, transport, &fabric.program) {
            ("load balancer", ..) => lbs.find_map(|lb| match lb {
                LbConfig::Registered(its) => Some(its.name()),
                _ => None,
            }),
            ("congestion control", CcConfig::Registered(RegisteredCc { registered, .. }), ..) => {
                Some(registered.name())
            }
            ("transport", _, TransportConfig::Registered(its), _) => Some(its.name()),
            ("program", .., Some(ProgramConfig::Registered(its))) => Some(its.name()),
            _ => None,
        };
        let registered = registered.map(|name| format!(" {name:?}")).unwrap_or_default();
        Err(RunError::Panicked { scheme: name.clone(), part: format!("{part}{registered}"), what: message })
    })
}

/// Runs a point with an observer that `caller_observer` creates. When the engine has ended, `give_back` gets this
/// observer, even if the run has failed. After a panic, or an error before the start of the engine, `give_back` is not
/// called.
fn run_point<O: Observer>(
    point: &RunPoint,
    control: &Control,
    injection: Option<Injection>,
    caller_observer: impl FnOnce(&Built) -> O,
    give_back: impl FnOnce(O),
) -> Result<RunResult, RunError> {
    check_scheme(point)?;
    let fabric = match injection {
        None => build(point)?,
        Some(_) => build_fabric(point)?,
    };
    let (series, per_second) = match point.measures.is_empty() {
        true => (None, 0.0),
        false => series_observer(point, &fabric).map(|(observer, points)| (Some(observer), points))?,
    };
    let caller_observer = caller_observer(&fabric);
    let points = PointBudget { most: point.most_points, per_second };
    // Without curves that have a point in each interval, `per_second` is 0 and the time has no limit.
    let time_for_points = Duration((points.most as f64 / per_second * 1e12) as u64);
    let limits = Limits { max_time: point.limits.max_time.min(time_for_points), ..point.limits.clone() };
    publish_totals(point, &fabric, control);
    let ideal = ideal(point, &fabric);
    let inputs = EngineInputs {
        injection,
        points,
        threads: control.threads,
        ..engine_inputs(point, &fabric, &limits, &ideal, control.merge_ports)?
    };
    let run = RunContext { point, fabric: &fabric, limits: &limits, ideal: &ideal, control };
    let topology = &fabric.topology;
    if !point.observers.is_empty() {
        let named =
            NamedObservers::new(&point.observers, topology, &fabric.workload, &hook_nodes(point, &fabric));
        let named = named.map_err(|(observer, error)| RunError::Observer { observer, error })?;
        let series = series.unwrap_or_else(|| SeriesObserver::new(0, point.scheme.qps));
        let engine = Engine::new(inputs, (series, (named, caller_observer)))?;
        return run.finish(engine, |(series, (named, observer)), end| {
            give_back(observer);
            let mut rows = series_rows(series, topology, end);
            rows.extend(named.into_rows(topology, end));
            rows
        });
    }
    match series {
        None => run.finish(Engine::new(inputs, caller_observer)?, |observer, _| {
            give_back(observer);
            Vec::new()
        }),
        Some(series) => {
            run.finish(Engine::new(inputs, (series, caller_observer))?, |(series, observer), end| {
                give_back(observer);
                series_rows(series, topology, end)
            })
        }
    }
}

pub(crate) fn check_scheme(point: &RunPoint) -> Result<(), RunError> {
    let refused = |error| RunError::Parameter { scheme: point.scheme.name.clone(), error };
    point.scheme.check().map_err(refused)?;
    let mut others = point.other_classes().map(|class| &class.scheme);
    others.try_for_each(|scheme| {
        let refused = |error| RunError::Parameter { scheme: scheme.name.clone(), error };
        scheme.check().map_err(refused)
    })
}

pub(crate) fn ideal<'a>(point: &RunPoint, fabric: &'a Built) -> Arc<Ideal<'a>> {
    ideal_of(&point.scheme, fabric)
}

fn ideal_of<'a>(scheme: &Scheme, fabric: &'a Built) -> Arc<Ideal<'a>> {
    let ideal = Ideal::new(&fabric.topology, fabric.routing.clone(), &scheme.transport);
    Arc::new(ideal.carried_by(scheme))
}

/// The inputs of an engine with one thread, without injection and curves.
pub(crate) fn engine_inputs<'a>(
    point: &'a RunPoint,
    fabric: &'a Built,
    limits: &'a Limits,
    ideal: &Arc<Ideal<'a>>,
    merge_ports: bool,
) -> Result<EngineInputs<'a>, RunError> {
    let facts = point.scheme.fabric.facts(ideal.path_facts());
    let of_paths = ideal.clone();
    let own_path = move |src, dst| PathFacts { queue: facts.queue, ..of_paths.path_facts_of(src, dst) };
    Ok(EngineInputs {
        topology: &fabric.topology,
        routing: &fabric.routing,
        workload: &fabric.workload,
        faults: &point.faults,
        scheme: &point.scheme,
        switches: switch_plan(point, fabric, &facts, merge_ports)?,
        facts,
        own_path: point.scheme.cc.wants_own_path().then(|| Box::new(own_path) as OwnPath<'_>),
        classes: class_inputs(point, fabric),
        shares: point.classes.iter().map(ClassSpec::share).collect(),
        injection: None,
        limits,
        points: PointBudget { most: point.most_points, per_second: 0.0 },
        seed: point.seed,
        threads: 1,
    })
}

fn class_inputs<'a>(point: &'a RunPoint, fabric: &'a Built) -> Vec<ClassInputs<'a>> {
    let inputs = |(class, &first_connection): (&'a ClassTraffic, &u32)| {
        let ideal = ideal_of(&class.scheme, fabric);
        let facts = class.scheme.fabric.facts(ideal.path_facts());
        let own_path = move |src, dst| PathFacts { queue: facts.queue, ..ideal.path_facts_of(src, dst) };
        ClassInputs {
            scheme: &class.scheme,
            facts,
            own_path: class.scheme.cc.wants_own_path().then(|| Box::new(own_path) as OwnPath<'_>),
            first_connection,
        }
    };
    point.other_classes().zip(&fabric.first_connections).map(inputs).collect()
}

fn publish_totals(point: &RunPoint, fabric: &Built, control: &Control) {
    let messages = &fabric.workload.messages;
    control.flows_total.store(messages.len() as u64, Ordering::Relaxed);
    let payload_of = |qp: QpId| {
        let class = fabric.first_connections.partition_point(|first| *first <= qp.0).checked_sub(1);
        let other = class.and_then(|class| point.other_classes().nth(class));
        other.map_or(&point.scheme, |class| &class.scheme).transport.framing().payload.0
    };
    let of_messages =
        messages.iter().map(|message| packets(message.bytes, payload_of(message.qp), point.scheme.qps));
    control.packets_total.store(of_messages.sum(), Ordering::Relaxed);
    control.steps_total.store(fabric.workload.steps.len() as u64, Ordering::Relaxed);
}

pub(crate) fn switch_plan(
    point: &RunPoint,
    fabric: &Built,
    facts: &PathFacts,
    merge_ports: bool,
) -> Result<SwitchPlan, RunError> {
    let (spec, topology) = (&point.scheme.fabric, &fabric.topology);
    let program = ProgramPlan::new(&point.scheme, topology, &fabric.routing, facts, point.seed)?;
    let weights = weights(spec, topology, facts, point.scheme.transport.trimmed_bytes())?;
    let pfc = spec.pfc.as_ref().map(|pfc| PfcPlan::new(pfc, topology, facts, spec.clock_ppm)).transpose()?;
    let class_pfc = class_inputs(point, fabric).into_iter().map(|class| {
        let fabric = &class.scheme.fabric;
        let plan = |pfc| PfcPlan::new(pfc, topology, &class.facts, spec.clock_ppm);
        fabric.pfc.as_ref().map(plan).transpose()
    });
    let class_pfc = class_pfc.collect::<Result<_, _>>()?;
    Ok(SwitchPlan { pfc, class_pfc, program, by_port: !merge_ports, weights })
}

fn series_rows(series: SeriesObserver, topology: &Topology, end: Time) -> Vec<SeriesRow> {
    series.into_rows(end, |link| topology.link_name(link), |node| topology.node_name(node))
}

fn hook_nodes(point: &RunPoint, built: &Built) -> Arc<HookNodes> {
    HookNodes::of(&built.topology, &built.workload, point.scheme.qps)
}

/// The parts of a point that are built before its engine.
pub struct Built {
    /// The fabric.
    pub topology: Topology,
    /// Routes with every link up.
    pub routing: Routing,
    /// Messages and their start conditions.
    pub workload: Workload,
    /// The number of the first connection of each traffic class beyond the first class.
    pub first_connections: Vec<u32>,
}

impl Built {
    /// The number of transfers over NVLink.
    pub fn nvlink_transfers(&self) -> u64 {
        self.workload.steps.iter().filter(|step| step.is_sending()).count() as u64
    }

    /// An estimate of the packet-hops of a run. It assumes that nothing is lost, that each packet of `payload` bytes
    /// has an ACK, and that packets take the paths of an idle fabric.
    pub fn packet_hops(&self, payload: u64) -> u64 {
        let mut links: BTreeMap<(HostId, HostId), u64> = BTreeMap::new();
        self.workload.messages.iter().fold(0, |sum, message| {
            let Qp { src, dst } = self.workload.qps[message.qp.index()];
            let path = links
                .entry((src, dst))
                .or_insert_with(|| self.topology.ideal_path(&self.routing, src, dst).len() as u64);
            let packets = message.bytes.div_ceil(payload.max(1)).max(1);
            sum.saturating_add(packets.saturating_mul(*path * 2))
        })
    }
}

/// Builds the fabric, the routes and the workload of a point.
///
/// # Errors
/// A part of the point cannot be built.
pub fn build(point: &RunPoint) -> Result<Built, RunError> {
    let mut built = build_fabric(point)?;
    let text = |name: &str| point.files.get(name).map(String::as_str);
    let on = Fabric::of(&built.topology);
    built.workload = workload::build(&point.workload, &on, point.seed, &text)?;
    for (class, traffic) in (1..).zip(point.other_classes()) {
        let others = workload::build(&traffic.workload, &on, seed_of_class(point.seed, class), &text)?;
        built.first_connections.push(built.workload.qps.len() as u32);
        built.workload = built.workload.beside(others)?;
    }
    Ok(built)
}

pub(crate) fn build_fabric(point: &RunPoint) -> Result<Built, RunError> {
    let text = |name: &str| point.files.get(name).map(String::as_str);
    let topology = anabranch_fabric::build(&point.topology, point.topology.file().and_then(text))?;
    let routing = Routing::new(&topology, &|_| true);
    Ok(Built { topology, routing, workload: Workload::default(), first_connections: Vec::new() })
}

/// The seed of the workload of a traffic class. Two classes with the same workload draw different messages.
fn seed_of_class(seed: u64, class: u64) -> u64 {
    stream(seed, class, Purpose::WorkloadPairs).next_u64()
}

/// The observer that records the measures of a point. Also returns the number of points per simulated second of all
/// curves that have a point in each interval.
fn series_observer(point: &RunPoint, fabric: &Built) -> Result<(SeriesObserver, f64), RunError> {
    let topology = &fabric.topology;
    let mut points = 0.0;
    let mut observer = SeriesObserver::new(topology.ports.len(), point.scheme.qps);
    for (number, measure) in point.measures.iter().enumerate() {
        let a_curve = measure.points(1, Duration(1_000_000_000_000));
        if let Some(links) = &measure.links {
            for link in
                links.parse::<Selector>()?.links(topology, &mut selector_stream(point.seed, number))?
            {
                observer.watch_link(measure, link, topology.ports[link.index()].rate);
                points += a_curve;
            }
            for LinkGroup { name, links } in link_groups(number, measure, point.seed, topology)? {
                let links = links.into_iter().map(|link| link.0).collect();
                observer.watch_group(CurveGroup { series: measure.series, name, links });
            }
        }
        if let Some(switches) = &measure.switches {
            for node in
                switches.parse::<Selector>()?.switches(topology, &mut selector_stream(point.seed, number))?
            {
                observer.watch_switch(measure, node);
                points += a_curve;
            }
        }
        if let Some(qps) = &measure.qps {
            for qp in QpSelector::parse(qps)?.qps(fabric.workload.qps.len())? {
                observer.watch_flow(measure, qp);
                points += a_curve;
            }
        }
    }
    Ok((observer, points))
}

pub(crate) struct RunContext<'a> {
    pub point: &'a RunPoint,
    pub fabric: &'a Built,
    pub limits: &'a Limits,
    pub ideal: &'a Ideal<'a>,
    pub control: &'a Control,
}

/// The state of a run at its end, for the error if the run failed.
struct EarlyEnd {
    at: Time,
    qps: usize,
    /// An estimate of the number of data packets of all messages.
    packets: u64,
    /// Some of the unfinished flows, by name.
    stuck: Vec<String>,
    /// The length of the longest unfinished message in bytes.
    longest: u64,
    /// The hosts of an unfinished message that has no path left, and the number of such messages.
    cut_off: Option<([HostId; 2], usize)>,
}

impl RunContext<'_> {
    /// Runs the engine and collects the results. `series` makes the curves from the observer and the end of the run.
    fn finish<O: Observer>(
        &self,
        mut engine: Engine<'_, O>,
        series: impl FnOnce(O, Time) -> Vec<SeriesRow>,
    ) -> Result<RunResult, RunError> {
        let outcome = engine.run(self.control);
        self.conclude(engine, outcome, series)
    }

    pub fn conclude<O: Observer>(
        &self,
        engine: Engine<'_, O>,
        outcome: Result<(), Failure>,
        series: impl FnOnce(O, Time) -> Vec<SeriesRow>,
    ) -> Result<RunResult, RunError> {
        let RunContext { point, fabric, limits, ideal, control } = *self;
        if matches!(outcome, Err(Failure::Limit("max_time"))) && limits.max_time < point.limits.max_time {
            let what = interval_points_exceeded(
                &point.measures,
                point.most_points,
                limits.max_time,
                point.limits.max_time,
            );
            let at = engine.now();
            if let Some(observer) = engine.into_observer() {
                series(observer, at);
            }
            return Err(RunError::TooManyPoints { what });
        }
        let network = engine.network();
        let bytes = |message| network.message(message).bytes;
        let messages = (0..network.board.messages()).map(|number| bytes(MessageId(number)));
        let early = EarlyEnd {
            at: engine.now(),
            qps: network.connections() as usize,
            packets: messages.map(|bytes| bytes.div_ceil(ideal.payload())).sum(),
            stuck: name_unfinished(&engine),
            longest: engine.unfinished_messages().map(|(message, _)| bytes(message)).max().unwrap_or(0),
            cut_off: match outcome {
                Err(Failure::Stalled | Failure::NothingLeft) => engine.cut_off(),
                _ => None,
            },
        };
        let mut result = collect(&engine, point, ideal);
        if control.spans {
            result.spans = spans(&engine);
        }
        let goodput = engine.goodput();
        result.series = engine.into_observer().map_or_else(Vec::new, |observer| series(observer, early.at));
        let qps = fabric.workload.qps.len();
        let empty = empty_measures(point, &fabric.topology, qps, &result.series)?;
        result.run.warnings.extend(empty);
        result.series.extend(goodput);
        match outcome {
            Ok(()) => Ok(result),
            Err(failure) => Err(self.error(failure, early, result)),
        }
    }

    fn error(&self, failure: Failure, early: EarlyEnd, result: RunResult) -> RunError {
        let (point, at) = (self.point, early.at);
        let unfinished = result.run.flows - result.run.flows_finished;
        match failure {
            Failure::Cancelled => RunError::Cancelled,
            Failure::TooManyPoints => {
                RunError::TooManyPoints { what: event_points_exceeded(point, early.qps, early.packets, at) }
            }
            Failure::Invariant(what) => RunError::Invariant { what },
            Failure::Stalled => {
                let stall = point.limits.stall.to_string();
                self.stalled(StallReason::NoDelivery { stall }, early, result)
            }
            Failure::NothingLeft => self.stalled(StallReason::NothingLeft, early, result),
            Failure::Deadlock(cycle) => {
                RunError::Deadlock { at, cycle, unfinished, partial: Box::new(result) }
            }
            Failure::LosslessDrop(what) => RunError::LosslessDrop { at, what },
            Failure::Limit(limit) => {
                // The reported time is `max_time` itself. The last event may be earlier.
                let at = if limit == "max_time" { Time(point.limits.max_time.0) } else { at };
                RunError::Limit { limit, at, unfinished, partial: Box::new(result) }
            }
            Failure::OutOfPsns(qp) => RunError::OutOfPsns { qp: qp.0 },
        }
    }

    fn stalled(&self, reason: StallReason, early: EarlyEnd, result: RunResult) -> RunError {
        let (point, scheme) = (self.point, &self.point.scheme);
        let facts = &scheme.fabric.facts(self.ideal.path_facts());
        let stalled = Stalled {
            transport: &scheme.transport,
            window: scheme.cc.build(facts).window(),
            qps: scheme.qps,
            balancer: &scheme.lb,
            cut_off: early.cut_off,
            routing_delay: scheme.fabric.routing_delay,
            source_routed: scheme.fabric.routing == RoutingMode::Source,
            faults: &point.faults,
            topology: &self.fabric.topology,
            file: point.topology.file(),
            limits: &point.limits,
            facts,
            at: early.at,
            longest: early.longest,
        };
        let (help, limits) = stalled.explain();
        RunError::Stalled {
            at: early.at,
            reason,
            flows: early.stuck,
            unfinished: result.run.flows - result.run.flows_finished,
            help,
            limits,
            partial: Box::new(result),
        }
    }
}
