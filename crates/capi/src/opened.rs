//! Reads a scenario that has no workload and a single run.

use crate::error::OnlineError;
use crate::files::Folder;
use anabranch_base::{HostId, Refused, Time};
use anabranch_sim::build;
use anabranch_sim::scenario::{Overrides, Registry, RunPoint, read_with};
use anabranch_sim::workload::Start;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub struct Opened {
    pub point: RunPoint,
    pub warnings: Vec<String>,
}

/// Reads a scenario without `[workload]`, with one scheme and at most one seed (default 1).
pub fn open(scenario: &str, folder: Option<PathBuf>) -> Result<Opened, OnlineError> {
    let wrong = |what: String| OnlineError::Scenario(what);
    let table: toml::Table =
        toml::from_str(scenario).map_err(|error| wrong(format!("the scenario: {error}")))?;
    if table.contains_key("workload") {
        return Err(wrong(
            "the scenario has a [workload]; leave it out: messages come by anabranch_send".to_owned(),
        ));
    }
    // A scenario needs a workload with a message to a host that can be reached. This workload satisfies the reader, and
    // the run ignores it.
    let reached = Arc::new(AtomicU32::new(1));
    let to = reached.clone();
    let registry = Registry::new().workload("posted", [], move |workload, _, _, _| -> Result<(), Refused> {
        let qp = workload.add_qp(HostId(0), HostId(to.load(Ordering::Relaxed)));
        workload.add_message(qp, 1 << 20, Start::At(Time::ZERO));
        Ok(())
    });
    // The workload is appended at the end, so that the lines of the scenario keep their numbers in errors.
    let whole = format!("{scenario}\n[workload]\nkind = \"posted\"\n");
    let scenario = read_with(&registry, "scenario.toml", &whole, &Folder(folder), &Overrides::default())
        .map_err(|error| wrong(error.to_string()))?;
    let mut points = scenario.points().map_err(|error| wrong(error.to_string()))?;
    let runs = points.len();
    let (Some(point), 1) = (points.pop(), runs) else {
        return Err(wrong(format!(
            "the scenario has {runs} runs; name one scheme, one seed and no sweep: schemes = [\"reps\"], seeds = [1]"
        )));
    };
    let built = build(&point).map_err(|error| wrong(error.to_string()))?;
    let is_reached =
        |host: &u32| !built.topology.ideal_path(&built.routing, HostId(0), HostId(*host)).is_empty();
    reached.store((1..built.topology.hosts).find(is_reached).unwrap_or(1), Ordering::Relaxed);
    let examined = scenario.examine().map_err(|error| wrong(error.to_string()))?;
    let mut warnings: Vec<String> = examined.warnings.iter().map(ToString::to_string).collect();
    for key in ["measure", "observer"].into_iter().filter(|key| table.contains_key(*key)) {
        warnings.push(format!(
            "scenario.toml: [[{key}]] has no effect: a simulation with posted messages keeps no curves; leave it out, and \
             read counters by anabranch_counter"
        ));
    }
    Ok(Opened { point, warnings })
}
