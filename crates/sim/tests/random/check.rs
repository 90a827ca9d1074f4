//! Properties that hold for every scenario that can be parsed.

use crate::draw::Case;
use crate::draw::MOST_EVENTS;
use anabranch_base::{Duration, NodeId};
use anabranch_proto::transport::Framing;
use anabranch_results::{FlowRow, StallReason};
use anabranch_sim::scenario::{self, FaultKind, FaultSpec, Files, Limits, Overrides, RunPoint, Scenario};
use anabranch_sim::topology::Topology;
use anabranch_sim::{Control, RunError, RunResult};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The outcome of a case in which no property is violated.
#[derive(Debug)]
pub enum Outcome {
    /// The reader refused the scenario with this error.
    Refused(String),
    /// The scenario ran. The list has the kind of end of each run.
    Ran(Vec<&'static str>),
}

struct InMemory<'a>(&'a BTreeMap<String, String>);

impl Files for InMemory<'_> {
    fn read(&self, name: &str) -> Result<String, String> {
        self.0.get(name).cloned().ok_or_else(|| "no such file".to_owned())
    }
}

/// Runs a case. The error describes the violated property.
pub fn check(case: &Case) -> Result<Outcome, String> {
    catch_unwind(AssertUnwindSafe(|| check_case(case))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("panicked: {}", text.unwrap_or_default()))
    })
}

fn check_case(case: &Case) -> Result<Outcome, String> {
    let scenario = match read(&case.text, &case.files) {
        Ok(scenario) => scenario,
        Err(refusal) => return refused(refusal),
    };
    let mut ends = Vec::new();
    for point in scenario.points().map_err(|e| e.to_string())? {
        let run_end = RunEnd::merged(&point);
        if std::env::var_os("ANABRANCH_CASE").is_some() {
            println!("{}\n{:?}", run_end.error_text(), run_end.result.as_ref().map(|result| &result.run));
        }
        ends.push(run_end.end(&point)?);
        let on_three = RunEnd::of(&point, 3);
        run_end.compare(&on_three).map_err(|what| format!("on 3 threads, port by port, {what}"))?;
    }
    if case.seed.is_multiple_of(4) {
        check_round_trip(&scenario)?;
    }
    Ok(Outcome::Ran(ends))
}

/// Parses a scenario and builds its components, as the command does before a run.
fn read(text: &str, files: &BTreeMap<String, String>) -> Result<Scenario, String> {
    let scenario = scenario::read("random.toml", text, &InMemory(files), &Overrides::default());
    let checked = scenario.and_then(|scenario| scenario.check().map(|_| scenario));
    checked.map_err(|error| error.to_string())
}

/// Checks that a refusal names the place and a correction.
fn refused(refusal: String) -> Result<Outcome, String> {
    match refusal.contains("write: ") && refusal.lines().next().is_some_and(|line| line.contains(':')) {
        true => Ok(Outcome::Refused(refusal)),
        false => Err(format!("refused without saying where or what to write: {refusal}")),
    }
}

fn check_round_trip(scenario: &Scenario) -> Result<(), String> {
    let text = scenario.to_toml();
    let again =
        read(&text, &scenario.files).map_err(|e| format!("the resolved form is refused: {e}\n{text}"))?;
    if again.to_toml() != text {
        return Err(format!("the resolved form resolves to something else:\n{text}\n{}", again.to_toml()));
    }
    let points = |scenario: &Scenario| scenario.points().map_err(|e| e.to_string());
    for (one, other) in points(scenario)?.iter().zip(&points(&again)?) {
        RunEnd::of(one, 1)
            .compare(&RunEnd::of(other, 1))
            .map_err(|what| format!("read back {what}\n{text}"))?;
    }
    Ok(())
}

/// The end of a run: its results, which are partial if it failed, and its error.
struct RunEnd {
    result: Option<RunResult>,
    error: Option<RunError>,
}

impl RunEnd {
    fn of(point: &RunPoint, threads: usize) -> RunEnd {
        RunEnd::under(point, &Control { threads, ..Control::default() })
    }

    /// The end of a run on one thread in which all events of each switch are processed in their full order.
    fn merged(point: &RunPoint) -> RunEnd {
        RunEnd::under(point, &Control { merge_ports: true, ..Control::default() })
    }

    fn under(point: &RunPoint, control: &Control) -> RunEnd {
        match anabranch_sim::run(point, control) {
            Ok(result) => RunEnd { result: Some(result), error: None },
            Err(error) => {
                let result = match &error {
                    RunError::Stalled { partial, .. }
                    | RunError::Deadlock { partial, .. }
                    | RunError::Limit { partial, .. } => Some((**partial).clone()),
                    _ => None,
                };
                RunEnd { result, error: Some(error) }
            }
        }
    }

    fn error_text(&self) -> String {
        self.error.as_ref().map_or_else(String::new, ToString::to_string)
    }

    fn compare(&self, other: &RunEnd) -> Result<(), String> {
        if self.error_text() != other.error_text() {
            return Err(format!("it ends otherwise: {:?} and {:?}", self.error_text(), other.error_text()));
        }
        let (Some(one), Some(other)) = (&self.result, &other.result) else { return Ok(()) };
        if one.run != other.run {
            return Err(format!("its row is another: {:?} and {:?}", one.run, other.run));
        }
        if let Some((one, other)) = one.flows.iter().zip(&other.flows).find(|(one, other)| one != other) {
            return Err(format!("a flow's row is another: {one:?} and {other:?}"));
        }
        let point = one.series.iter().zip(&other.series).find(|(one, other)| one != other);
        if let Some((one, other)) = point {
            return Err(format!("a curve is another: {one:?} and {other:?}"));
        }
        match one == other {
            true => Ok(()),
            false => Err("its jobs are others".to_owned()),
        }
    }

    /// The kind of end, if the run is permitted to end in this way.
    fn end(&self, point: &RunPoint) -> Result<&'static str, String> {
        if let Some(result) = &self.result {
            check_rows(point, result)?;
            check_speed(point, result)?;
        }
        let left = self.result.as_ref().map_or(0, |result| result.run.flows - result.run.flows_finished);
        match &self.error {
            None if left > 0 => Err(format!("it ended well with {left} flows unfinished")),
            None => Ok("finished"),
            Some(error @ RunError::Limit { limit, partial, .. }) => match may_reach(point, limit, partial) {
                true => Ok(limit),
                false => Err(format!("without a reason: {error}: {:?}", partial.run)),
            },
            Some(error @ RunError::Deadlock { .. }) => match may_deadlock(point) {
                true => Ok("deadlock"),
                false => Err(format!("on a tree: {error}")),
            },
            // A cable with one direction down carries no pause frames in that direction.
            Some(RunError::LosslessDrop { what, .. })
                if what.contains("no pause frame") && half_down(point) =>
            {
                Ok("lossless drop for want of pauses")
            }
            Some(error @ RunError::Stalled { reason, .. }) => {
                if *reason == StallReason::NothingLeft {
                    return Err(error.to_string());
                }
                may_stall(point).ok_or_else(|| format!("without a reason: {error}"))
            }
            Some(error) => Err(error.to_string()),
        }
    }
}

fn check_rows(point: &RunPoint, result: &RunResult) -> Result<(), String> {
    let run = &result.run;
    let wrong = |what: String| Err(format!("{what}: {run:?}"));
    if result.jobs.is_empty() && result.flows.len() as u64 != run.flows {
        return wrong(format!("{} rows of flows", result.flows.len()));
    }
    for flow in &result.flows {
        let ends = (flow.start_ps, flow.delivery_ps, flow.fct_ps);
        if matches!(ends, (None, Some(_), _) | (None, _, Some(_)) | (_, None, Some(_))) {
            return wrong(format!("a flow that ended before it began: {flow:?}"));
        }
        if flow.delivery_ps > flow.fct_ps && flow.fct_ps.is_some() {
            return wrong(format!("a flow acknowledged before it was delivered: {flow:?}"));
        }
    }
    let mut schemes = point.other_classes().map(|class| &class.scheme).chain([&point.scheme]);
    if schemes.all(|scheme| scheme.fabric.pfc.is_none()) && run.pause_frames > 0 {
        return wrong("pauses without a lossless class".to_owned());
    }
    if point.faults.is_empty() && run.link_losses > 0 && !lossy_cables(point) {
        return wrong("losses on links of which none is faulty".to_owned());
    }
    Ok(())
}

/// Checks that no flow is faster than the lower bound of these tests, nor than its ideal FCT.
fn check_speed(point: &RunPoint, result: &RunResult) -> Result<(), String> {
    let built = anabranch_sim::build(point).map_err(|e| e.to_string())?;
    // Fast clocks shorten all times except latencies. They also shorten each packet at each hop by up to one more
    // picosecond, for which 100 ps are subtracted.
    let ppm = u64::from(point.scheme.fabric.clock_ppm);
    let least = |time: u64| if ppm == 0 { time } else { time - time.div_ceil(1_000_000) * ppm - 100 };
    for flow in &result.flows {
        let Some(fct) = flow.fct_ps else { continue };
        let mut others = point.classes.iter().filter(|class| flow.in_group(&class.name));
        let other = others.find_map(|class| class.traffic.as_ref());
        let framing = other.map_or(&point.scheme, |class| &class.scheme).transport.framing();
        let floor = floor(&built.topology, &framing, flow, point.scheme.qps);
        if fct < least(floor) {
            return Err(format!("a flow faster than light, {floor} ps: {flow:?}"));
        }
        if fct < least(flow.ideal_fct_ps) {
            return Err(format!("a flow faster than alone: {flow:?}"));
        }
    }
    Ok(())
}

/// A lower bound of the FCT. All bytes leave the host on its link, one after the other. Then the shortest packet takes
/// the fastest path, and an ACK takes the fastest path back.
fn floor(topology: &Topology, framing: &Framing, flow: &FlowRow, split: u32) -> u64 {
    let full = framing.payload.0;
    let packets = flow.bytes.div_ceil(full);
    let shortest = match split {
        1 => flow.bytes - (packets - 1) * full,
        _ => 1,
    };
    let sent = flow.bytes + packets * framing.header.0;
    let first = &topology.ports[topology.link(NodeId(flow.src), 0).index()];
    let before = first.rate.time_for(sent).0 - first.rate.time_for(shortest + framing.header.0).0;
    before
        + fastest(topology, flow.src, flow.dst, shortest + framing.header.0)
        + fastest(topology, flow.dst, flow.src, framing.ack.0)
}

/// The time of `bytes` bytes from one host to another on the fastest path, with store-and-forward switches.
fn fastest(topology: &Topology, from: u32, to: u32, bytes: u64) -> u64 {
    let mut reached = vec![u64::MAX; topology.nodes() as usize];
    let mut next = BinaryHeap::from([Reverse((0, from))]);
    while let Some(Reverse((time, node))) = next.pop() {
        if time >= reached[node as usize] {
            continue;
        }
        reached[node as usize] = time;
        for link in topology.links_of(NodeId(node)) {
            let port = &topology.ports[link as usize];
            let through = topology.switch(port.peer).map_or(0, |switch| switch.latency.0);
            next.push(Reverse((time + port.rate.time_for(bytes).0 + port.latency.0 + through, port.peer.0)));
        }
    }
    reached[to as usize]
}

fn lossy_cables(point: &RunPoint) -> bool {
    point.files.get("graph.txt").is_some_and(|graph| graph.contains("0.002"))
}

/// Whether a run may deadlock. Up-down routes never deadlock, but routes around a failure and routes in graphs may.
fn may_deadlock(point: &RunPoint) -> bool {
    let reroutes = point.scheme.fabric.routing_delay.is_some()
        && point.faults.iter().any(|f| {
            matches!(
                f.kind,
                FaultKind::LinkDown { .. } | FaultKind::LinkFlap { .. } | FaultKind::SwitchDown { .. }
            )
        });
    reroutes || point.files.contains_key("graph.txt")
}

fn half_down(point: &RunPoint) -> bool {
    let half = |fault: &FaultSpec| {
        let (_, both_directions) = fault.kind.names();
        fault.kind.word().starts_with("link-") && both_directions == Some(false)
    };
    point.faults.iter().any(half)
}

/// Whether a run may reach a limit. Any run may reach a small limit, or the longest time that can be simulated. Only a
/// run that sends many packets may reach a larger limit on events. Only a run with a lasting fault may reach a larger
/// limit on time.
fn may_reach(point: &RunPoint, limit: &str, run_end: &RunResult) -> bool {
    match limit {
        "max_events" => point.limits.max_events < MOST_EVENTS || run_end.run.packet_hops > MOST_EVENTS / 20,
        "max_time" => {
            let drawn = point.limits.max_time < Duration::from_us(1_000_000);
            drawn || point.limits.max_time == Limits::MAX_TIME || may_stall(point).is_some()
        }
        _ => true,
    }
}

fn may_stall(point: &RunPoint) -> Option<&'static str> {
    point.faults.iter().any(|fault| fault.duration.is_none()).then_some("stalled by a lasting fault")
}
