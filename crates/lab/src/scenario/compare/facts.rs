//! The facts about a resolved scenario that readers of its results need.

use crate::scenario::expand::annotated::annotated;
use crate::scenario::expand::resolved::{Scenario, Step};
use anabranch_engine::{FaultKind, FaultSpec, Scheme};
use anabranch_fabric::TopologySpec;
use anabranch_proto::PathFacts;
use anabranch_results::{FaultFacts, Overflow, PointFacts, ScenarioFacts, SchemeFacts, WorkloadFacts};
use toml::Value;

impl Scenario {
    /// [`Scenario::to_toml`] with comments: in the compared schemes, each parameter that refers to the fabric has a
    /// comment with its value, `queue = "1bdp" # = 1.25 MB`. `facts` are the facts that [`Scenario::examine`] returns.
    pub fn to_annotated_toml(&self, facts: &[Vec<PathFacts>]) -> String {
        let own: Vec<bool> = self.variants.iter().map(|variant| variant.schemes.is_some()).collect();
        let differs = self.ground(facts).mismatch;
        annotated(&self.to_toml_saying(differs), facts, &own, &self.schemes)
    }

    /// The facts for readers of the results. `paths` has the facts about the paths for the schemes of each point, as
    /// [`examine`](Scenario::examine) returns them.
    pub fn facts(&self, paths: &[Vec<PathFacts>]) -> ScenarioFacts {
        let points = self.steps().into_iter().zip(paths).map(|(step, paths)| point(step, paths));
        ScenarioFacts {
            ground_differs: self.ground(paths).mismatch,
            points: points.collect(),
            fabric: self.first_fabric(),
        }
    }
}

fn point(step: Step<'_>, paths: &[PathFacts]) -> PointFacts {
    // In these topologies, the hosts below a ToR have consecutive numbers. The hosts below the leaf of a rail do not.
    let hosts_per_tor = match step.topology {
        TopologySpec::FatTree { tier, .. } => tier.first().map(|tier| tier.radix_down),
        TopologySpec::CrossDc(spec) => Some(spec.hosts_per_tor),
        TopologySpec::FullMesh(spec) => Some(spec.hosts_per_tor),
        TopologySpec::MultiPlane(spec) => Some(spec.segment.saturating_mul(spec.nics)),
        _ => None,
    };
    PointFacts {
        workload: workload(&as_toml(step.workload)),
        hosts: step.topology.hosts(),
        hosts_per_tor,
        faults: step.faults.iter().map(fault).collect(),
        schemes: step.schemes.iter().zip(paths).map(|(of, paths)| scheme(of, paths)).collect(),
        sweep: step.sweep,
    }
}

fn as_toml(spec: &impl serde::Serialize) -> Value {
    Value::try_from(spec).expect("a scenario is made of what TOML can say")
}

fn workload(spec: &Value) -> WorkloadFacts {
    let word = |key: &str| spec.get(key).and_then(Value::as_str).map(str::to_owned);
    let number = |value: Option<&Value>| u32::try_from(value?.as_integer()?).ok();
    let server = spec.get("server");
    WorkloadFacts {
        kind: word("kind").unwrap_or_default(),
        algorithm: word("algorithm"),
        placement: word("placement"),
        connections: number(spec.get("connections")),
        nvlink: server.is_some(),
        channels: number(server.and_then(|server| server.get("channels"))),
    }
}

fn fault(spec: &FaultSpec) -> FaultFacts {
    let names = spec.kind.names().0.0.clone();
    let (links, switches) = match spec.kind {
        FaultKind::SwitchDown { .. } => (Vec::new(), names),
        // The names of hosts are listed as links, because a fault of a host affects the host's links.
        _ => (names, Vec::new()),
    };
    let (period, down_for) = match spec.kind {
        FaultKind::LinkFlap { period, down_for, .. } if spec.per_hour.is_none() => {
            (Some(period), Some(down_for))
        }
        _ => (None, None),
    };
    FaultFacts {
        kind: spec.kind.word().to_owned(),
        links,
        switches,
        probability: spec.kind.probability(),
        starts_us: spec.at.0.iter().map(|at| at.as_us()).collect(),
        // A fault with random failures may be in effect at any time until the end of the run, so it has no duration.
        duration_us: spec.duration.filter(|_| spec.per_hour.is_none()).map(|duration| duration.as_us()),
        period_us: period.map(|period| period.as_us()),
        down_for_us: down_for.map(|down_for| down_for.as_us()),
        per_hour: spec.per_hour,
    }
}

fn scheme(scheme: &Scheme, paths: &PathFacts) -> SchemeFacts {
    let rto = as_toml(&scheme.transport).get("rto").and_then(Value::as_str).map(str::to_owned);
    let overflow = match (&scheme.fabric.pfc, scheme.fabric.trim) {
        (Some(_), _) => Overflow::Pauses,
        (None, true) => Overflow::Trims,
        (None, false) => Overflow::Drops,
    };
    SchemeFacts {
        name: scheme.name.clone(),
        rto: rto.map(|rto| paths.in_units(&rto).unwrap_or(rto)),
        path_choice: scheme.path_choice(),
        overflow,
        routing_delay: scheme.fabric.routing_delay.map(|delay| format!("{delay:#}")),
        adaptive_routing: scheme.fabric.routing == anabranch_engine::RoutingMode::Adaptive,
    }
}
