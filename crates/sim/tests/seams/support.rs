//! Helpers for reading and running scenarios with a registry.

use anabranch_sim::results::FlowRow;
use anabranch_sim::scenario::{NoFiles, Overrides, Scenario, read_with};
use anabranch_sim::{Control, Registry, RunResult, run};

pub fn scenario(registry: &Registry, text: &str) -> Scenario {
    let read = read_with(registry, "test.toml", text, &NoFiles, &Overrides::default());
    let checked = read.and_then(|scenario| scenario.check().map(|_| scenario));
    checked.unwrap_or_else(|e| panic!("{e}\n{text}"))
}

pub fn on(threads: usize) -> Control {
    Control { threads, ..Control::default() }
}

/// Runs all points on one thread and on two. The digests must be equal.
pub fn results(scenario: &Scenario) -> Vec<RunResult> {
    let finish = |point: &_, threads| run(point, &on(threads)).unwrap_or_else(|e| panic!("{e}"));
    let points = scenario.points().unwrap();
    let one: Vec<RunResult> = points.iter().map(|point| finish(point, 1)).collect();
    for (point, result) in points.iter().zip(&one) {
        assert_eq!(result.run.digest, finish(point, 2).run.digest, "{} on two threads", point.scheme.name);
        assert_eq!(result.run.digest.len(), 32, "the library fills the digest in");
        assert!(!result.flows.is_empty() && result.run.flows == result.run.flows_finished);
    }
    one
}

/// The rows of flows, which do not depend on the names of the scheme, the fabric or the workload.
pub fn flows(scenario: &Scenario) -> Vec<Vec<FlowRow>> {
    results(scenario).into_iter().map(|result| result.flows).collect()
}
