//! One run, on one screen: build the fabric, make the workload, run the engine, hand back the results.

use crate::blind::{blind_measures, choice};
use crate::collect::{RunResult, collect, name_unfinished, packets};
use crate::context::Failure;
use crate::control::Control;
use crate::engine::{Engine, PointRoom, Setup};
use crate::explain::Stalled;
use crate::ideal::Ideal;
use crate::network::OwnPath;
use crate::observer::{Foreign, Named, NoObserver, Observer, Places, QpSelector};
use crate::points::{too_many, too_many_of_events};
use crate::poster::Poster;
use crate::series::SeriesObserver;
use crate::span::spans;
use crate::spec::{Limits, RunPoint, Scheme};
use crate::switch::{PfcError, PfcPlan, ProgramError, ProgramPlan, SwitchPlan, WeightError, weights};
use anabranch_base::{
    Duration, HostId, MessageId, OutOfRange, Panicked, Refused, Time, catch_panicked, foreign,
};
use anabranch_fabric::{Routing, Selector, SelectorError, Topology, TopologyError};
use anabranch_proto::cc::RegisteredCc;
use anabranch_proto::{CcConfig, LbConfig, PathFacts, ProgramConfig, TransportConfig};
use anabranch_results::SeriesRow;
use anabranch_workload::{self as workload, Fabric, Qp, Workload, WorkloadError};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Runs one point of a scenario. Same point, same result, whatever else the process does.
///
/// # Errors
/// A point that cannot be built, a run that stalled or hit a limit (with what it came to), a broken invariant, or a
/// panic in something that is registered.
pub fn run(point: &RunPoint, control: &Control) -> Result<RunResult, RunError> {
    told(point, || attempt(point, control, None, |_| NoObserver, drop))
}

/// [`run()`] of messages that `poster` posts while the run goes on, in the place of the point's workload. Nothing is recorded
/// over time: measures and observers of the point are left out.
///
/// # Errors
/// Those of [`run()`].
pub fn run_posted(
    point: &RunPoint,
    control: &Control,
    poster: Box<dyn Poster>,
) -> Result<RunResult, RunError> {
    let point = &RunPoint { measures: Vec::new(), observers: Vec::new(), ..point.clone() };
    told(point, || attempt(point, control, Some(poster), |_| NoObserver, drop))
}

/// [`run()`] while `observer` looks on, which changes nothing. Also of a run that fails it has seen what there was.
///
/// # Errors
/// Those of [`run()`].
pub fn run_observed<O: Observer>(
    point: &RunPoint,
    control: &Control,
    observer: &mut O,
) -> Result<RunResult, RunError> {
    told(point, || {
        let blank = foreign("observer", || observer.fork());
        let own = |built: &Built| Foreign::new("observer", blank, slots(point, built));
        attempt(point, control, None, own, |seen| seen.join_into(observer))
    })
}

/// A run, in which a panic of what somebody else brought is told with its name and its scheme.
fn told(point: &RunPoint, run: impl FnOnce() -> Result<RunResult, RunError>) -> Result<RunResult, RunError> {
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

/// A run while `own` looks on, which `give_back` gets at its end, however it ends.
fn attempt<O: Observer>(
    point: &RunPoint,
    control: &Control,
    poster: Option<Box<dyn Poster>>,
    own: impl FnOnce(&Built) -> O,
    give_back: impl FnOnce(O),
) -> Result<RunResult, RunError> {
    let refused = |error| RunError::Parameter { scheme: point.scheme.name.clone(), error };
    point.scheme.check().map_err(refused)?;
    let fabric = match poster {
        None => build(point)?,
        Some(_) => build_fabric(point)?,
    };
    let (observer, a_second) = match point.measures.is_empty() {
        true => (None, 0.0),
        false => watch(point, &fabric).map(|(observer, points)| (Some(observer), points))?,
    };
    let own = own(&fabric);
    let points = PointRoom { most: point.most_points, a_second };
    // Without any, the time that there is room for does not end.
    let room = Duration((points.most as f64 / a_second * 1e12) as u64);
    let limits = Limits { max_time: point.limits.max_time.min(room), ..point.limits.clone() };
    control.flows_total.store(fabric.workload.messages.len() as u64, Ordering::Relaxed);
    let payload = point.scheme.transport.framing().payload.0;
    let of_messages =
        fabric.workload.messages.iter().map(|message| packets(message.bytes, payload, point.scheme.qps));
    control.packets_total.store(of_messages.sum(), Ordering::Relaxed);
    let ideal = Ideal::new(&fabric.topology, fabric.routing.clone(), &point.scheme.transport);
    let ideal = ideal.carried_by(&point.scheme);
    let facts = point.scheme.fabric.facts(ideal.path_facts());
    let pfc = point.scheme.fabric.pfc.as_ref();
    let program = ProgramPlan::new(&point.scheme, &fabric.topology, &fabric.routing, &facts, point.seed)?;
    let header = point.scheme.transport.framing().header;
    let weights = weights(&point.scheme.fabric, &fabric.topology, &facts, header)?;
    let own_path = |src, dst| PathFacts { queue: facts.queue, ..ideal.path_facts_of(src, dst) };
    let setup = Setup {
        topology: &fabric.topology,
        routing: &fabric.routing,
        workload: &fabric.workload,
        faults: &point.faults,
        scheme: &point.scheme,
        switches: SwitchPlan {
            pfc: pfc
                .map(|spec| PfcPlan::new(spec, &fabric.topology, &facts, point.scheme.fabric.clock_ppm))
                .transpose()?,
            program,
            weights,
        },
        facts,
        own_path: point.scheme.cc.wants_own_path().then(|| Box::new(own_path) as OwnPath<'_>),
        poster,
        limits: &limits,
        points,
        seed: point.seed,
        threads: control.threads,
    };
    let on = (point, &fabric);
    let topology = &fabric.topology;
    let rows = |observer: SeriesObserver, end| {
        observer.into_rows(end, |link| topology.link_name(link), |node| topology.node_name(node))
    };
    if !point.observers.is_empty() {
        let named = Named::new(&point.observers, topology, &fabric.workload, &slots(point, &fabric));
        let named = named.map_err(|(observer, error)| RunError::Observer { observer, error })?;
        let observer = observer.unwrap_or_else(|| SeriesObserver::new(0, point.scheme.qps));
        let all = (observer, (named, own));
        return drive(
            Engine::new(setup, all)?,
            on,
            &limits,
            &ideal,
            control,
            |(observer, (named, seen)), end| {
                give_back(seen);
                let mut rows = rows(observer, end);
                rows.extend(named.into_rows(topology, end));
                rows
            },
        );
    }
    match observer {
        None => drive(Engine::new(setup, own)?, on, &limits, &ideal, control, |seen, _| {
            give_back(seen);
            Vec::new()
        }),
        Some(observer) => {
            let both = (observer, own);
            drive(Engine::new(setup, both)?, on, &limits, &ideal, control, |(observer, seen), end| {
                give_back(seen);
                rows(observer, end)
            })
        }
    }
}

/// At which nodes observers of other people are called.
fn slots(point: &RunPoint, built: &Built) -> Arc<Places> {
    Places::of(&built.topology, &built.workload, point.scheme.qps)
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

impl Built {
    /// Packet-hops of a run in which nothing is lost and each packet of `payload` bytes has an ACK: what it costs, more or
    /// less. Paths are those of an idle fabric.
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

/// Builds fabric, routes and workload of a point.
///
/// # Errors
/// What in the point cannot be built.
pub fn build(point: &RunPoint) -> Result<Built, RunError> {
    let Built { topology, routing, .. } = build_fabric(point)?;
    let text = |name: &str| point.files.get(name).map(String::as_str);
    let workload = workload::build(&point.workload, &Fabric::of(&topology), point.seed, &text)?;
    Ok(Built { topology, routing, workload })
}

/// The same without a message.
fn build_fabric(point: &RunPoint) -> Result<Built, RunError> {
    let text = |name: &str| point.files.get(name).map(String::as_str);
    let topology = anabranch_fabric::build(&point.topology, point.topology.file().and_then(text))?;
    let routing = Routing::new(&topology, &|_| true);
    Ok(Built { topology, routing, workload: Workload::default() })
}

/// What records the curves of a point, and how many points per second those have that have one per interval.
fn watch(point: &RunPoint, fabric: &Built) -> Result<(SeriesObserver, f64), RunError> {
    let topology = &fabric.topology;
    let mut points = 0.0;
    let mut observer = SeriesObserver::new(topology.ports.len(), point.scheme.qps);
    for (number, measure) in point.measures.iter().enumerate() {
        let a_curve = measure.points(1, Duration(1_000_000_000_000));
        if let Some(links) = &measure.links {
            for link in links.parse::<Selector>()?.links(topology, &mut choice(point.seed, number))? {
                observer.watch_link(measure, link, topology.ports[link.index()].rate);
                points += a_curve;
            }
        }
        if let Some(switches) = &measure.switches {
            for node in switches.parse::<Selector>()?.switches(topology, &mut choice(point.seed, number))? {
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

fn drive<O: Observer>(
    mut engine: Engine<'_, O>,
    (point, fabric): (&RunPoint, &Built),
    limits: &Limits,
    ideal: &Ideal<'_>,
    control: &Control,
    series: impl FnOnce(O, Time) -> Vec<SeriesRow>,
) -> Result<RunResult, RunError> {
    let outcome = engine.run(control);
    if matches!(outcome, Err(Failure::Limit("max_time"))) && limits.max_time < point.limits.max_time {
        let what = too_many(&point.measures, point.most_points, limits.max_time, point.limits.max_time);
        return Err(RunError::TooManyPoints { what });
    }
    let network = engine.network();
    let (qps, payload) = (network.connections() as usize, ideal.payload());
    let bytes = |message| network.message(message).bytes;
    let packets =
        (0..network.board.messages()).map(|number| bytes(MessageId(number)).div_ceil(payload)).sum();
    let stuck = name_unfinished(&engine);
    let longest = engine.unfinished_messages().map(|(message, _)| bytes(message)).max().unwrap_or(0);
    let cut_off = match outcome {
        Err(Failure::Stalled | Failure::NothingLeft) => engine.cut_off(),
        _ => None,
    };
    let mut result = collect(&engine, point, ideal);
    if control.spans {
        result.spans = spans(&engine);
    }
    let at = engine.now();
    let goodput = engine.goodput();
    result.series = engine.into_observer().map_or_else(Vec::new, |observer| series(observer, at));
    result.run.warnings.extend(blind_measures(
        point,
        &fabric.topology,
        fabric.workload.qps.len(),
        &result.series,
    )?);
    result.series.extend(goodput);
    let unfinished = result.run.flows - result.run.flows_finished;
    match outcome {
        Ok(()) => Ok(result),
        Err(Failure::Cancelled) => Err(RunError::Cancelled),
        Err(Failure::TooManyPoints) => {
            Err(RunError::TooManyPoints { what: too_many_of_events(point, qps, packets, at) })
        }
        Err(Failure::Invariant(what)) => Err(RunError::Invariant { what }),
        Err(failure @ (Failure::Stalled | Failure::NothingLeft)) => {
            let reason = match failure {
                Failure::Stalled => format!(
                    "nothing new was delivered for {}, a timeout and a round trip",
                    point.limits.stall
                ),
                _ => "nothing is left that could happen".to_owned(),
            };
            let (scheme, faults) = (&point.scheme, &point.faults);
            let facts = &scheme.fabric.facts(ideal.path_facts());
            let window = scheme.cc.build(facts).window();
            let (transport, qps, routing_delay) =
                (&scheme.transport, scheme.qps, scheme.fabric.routing_delay);
            let balancer = &scheme.lb;
            let stalled = Stalled {
                transport,
                window,
                qps,
                balancer,
                cut_off,
                routing_delay,
                faults,
                on: &fabric.topology,
                file: point.topology.file(),
                limits: &point.limits,
                facts,
                at,
                longest,
            };
            let help = stalled.explain();
            Err(RunError::Stalled { at, reason, flows: stuck, unfinished, help, partial: Box::new(result) })
        }
        Err(Failure::Deadlock(cycle)) => {
            Err(RunError::Deadlock { at, cycle, unfinished, partial: Box::new(result) })
        }
        Err(Failure::LosslessDrop(what)) => Err(RunError::LosslessDrop { at, what }),
        Err(Failure::Limit(limit)) => {
            // The last event was before the time that must not be passed.
            let at = if limit == "max_time" { Time(point.limits.max_time.0) } else { at };
            Err(RunError::Limit { limit, at, unfinished, partial: Box::new(result) })
        }
        Err(Failure::OutOfPsns(qp)) => Err(RunError::OutOfPsns { qp: qp.0 }),
    }
}

/// Why there is no whole result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The user stopped it.
    #[error("stopped")]
    Cancelled,
    /// Messages are left and nothing new has been delivered for long.
    #[error(
        "stalled at {:.3} us: {reason}, and {unfinished} flows are unfinished: {}{}{help}",
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
        /// What it would have taken, in lines of their own; empty where that is not known.
        help: String,
        /// What the run came to.
        partial: Box<RunResult>,
    },
    /// A cycle of paused links, each of which waits for the next (PFC deadlock).
    #[error(
        "deadlock at {:.3} us: these links are paused, each waiting for the next and the last for the first: {}; {unfinished} flows are unfinished",
        at.as_us(),
        cycle.join(" -> ")
    )]
    Deadlock {
        /// Simulated time at which it was found.
        at: Time,
        /// The links, by name.
        cycle: Vec<String>,
        /// Unfinished flows.
        unfinished: u64,
        /// What the run came to.
        partial: Box<RunResult>,
    },
    /// A lossless class had no room for a packet.
    #[error("a lossless class lost a packet at {:.3} us: {what}", at.as_us())]
    LosslessDrop {
        /// Simulated time.
        at: Time,
        /// Where, with the numbers, and what to write instead.
        what: String,
    },
    /// The lossless class cannot be built on this fabric.
    #[error("{}: {error}", .error.parameter())]
    Pfc {
        /// What is wrong.
        #[from]
        error: PfcError,
    },
    /// No weight keeps trimmed packets from being lost on this fabric.
    #[error("fabric.wrr: {error}")]
    Weight {
        /// What is wrong.
        #[from]
        error: WeightError,
    },
    /// A switch's program cannot be on this fabric.
    #[error("{}: {error}", .error.remedy().0)]
    Program {
        /// What is wrong.
        #[from]
        error: ProgramError,
    },
    /// A limit of the scenario was reached.
    #[error(
        "reached limits.{limit} at {:.3} us with {unfinished} flows unfinished; {}",
        at.as_us(),
        match *limit == "max_time" && *at >= Time::ZERO + Limits::MOST_TIME {
            true => "simulated time ends there: let messages start earlier",
            false => "raise it in [limits] if that is too early",
        }
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
    /// The curves over time would fill the memory.
    #[error("{what}")]
    TooManyPoints {
        /// For how long there was room, and what to write instead.
        what: String,
    },
    /// Something registered panicked, or an observer did.
    #[error("the {part} of scheme {scheme:?} panicked: {what}")]
    Panicked {
        /// The scheme that ran.
        scheme: String,
        /// What panicked, with its name where it has one: `load balancer "sticky"`.
        part: String,
        /// The message of the panic. Where it happened, the panic itself has said.
        what: String,
    },
    /// A checker found the engine wrong: a defect of Anabranch, or of something registered.
    #[error(
        "an invariant is broken, which is a defect of anabranch or of what is registered with it: {what}"
    )]
    Invariant {
        /// Which one, with the numbers.
        what: String,
    },
    /// A queue pair has more packets than PSNs.
    #[error(
        "queue pair {qp} would need more than 2^32 packets, or with the transport dcp 2^24 requests; use smaller messages or a larger payload"
    )]
    OutOfPsns {
        /// The queue pair.
        qp: u32,
    },
    /// A parameter of the scheme is none that it may be.
    #[error("scheme {scheme:?}: {error}")]
    Parameter {
        /// The scheme's name.
        scheme: String,
        /// Which parameter, and what to write instead.
        error: OutOfRange,
    },
    /// An observer of the scenario refuses its parameters on this fabric.
    #[error("observer {observer:?}: {error}")]
    Observer {
        /// Its name.
        observer: String,
        /// Which parameter, and why.
        error: Refused,
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
