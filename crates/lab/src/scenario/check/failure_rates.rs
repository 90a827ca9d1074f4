//! A check of faults with random failures (`per_hour`): the number of failures in a run is bounded.

use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Diagnostic, Duration, Fix};
use anabranch_engine::{FaultSpec, FaultTargets};
use anabranch_fabric::Topology;
use std::collections::BTreeSet;

/// The largest expected number of failures of a fault. It is limited because each failure is kept in memory.
const MOST_FAILURES: f64 = 1e6;

/// Refuses a rate of failures that is too high for the longest permitted run.
pub(super) fn check(
    (number, spec): (usize, &FaultSpec),
    targets: &FaultTargets,
    on: &Topology,
    max_time: Duration,
    origin: &Origin,
) -> Result<(), Diagnostic> {
    let Some(per_hour) = spec.per_hour else { return Ok(()) };
    let cables: BTreeSet<_> = targets.links.iter().map(|&link| link.min(on.reverse(link))).collect();
    let parts = if targets.switches.is_empty() { cables.len() } else { targets.switches.len() } as f64;
    let hours = max_time.0 as f64 / 3_600e12;
    let expected = per_hour * hours * parts;
    if expected <= MOST_FAILURES {
        return Ok(());
    }
    let message = format!(
        "fault.{number} would fail about {expected:.1e} times by max_time = \"{max_time}\", on {parts} cables or switches; at \
         most {MOST_FAILURES:e} failures are simulated"
    );
    let fix = Fix::set("per_hour", format!("{:.1}", MOST_FAILURES / (hours * parts)));
    Err(fault(&origin.file, origin.place(&format!("fault.{number}.per_hour")), message, Some(fix)))
}
