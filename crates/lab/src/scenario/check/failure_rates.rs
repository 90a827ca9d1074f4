//! Checks of faults with random failures (`per_hour`): the number of failures in a run is bounded, and failures that
//! most runs never have are reported.

use crate::scenario::keys::fault::MOST_PER_HOUR;
use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Diagnostic, Duration, Fix};
use anabranch_engine::{FaultSpec, FaultTargets};
use anabranch_fabric::Topology;
use std::collections::BTreeSet;

/// The largest expected number of failures of a fault. It is limited because each failure is kept in memory.
const MOST_FAILURES: f64 = 1e6;
/// The expected number of failures below which most runs have none.
const FEWEST: f64 = 0.5;
/// The expected number of failures with which most runs have at least one.
const SOME: f64 = 3.0;
/// The factor by which runs may be longer than the least time of a run.
const LONGER: u64 = 10;

/// Refuses a rate of failures that is too high for the longest permitted run.
pub(super) fn check(
    (number, spec): (usize, &FaultSpec),
    targets: &FaultTargets,
    on: &Topology,
    max_time: Duration,
    origin: &Origin,
) -> Result<(), Diagnostic> {
    let Some(per_hour) = spec.per_hour else { return Ok(()) };
    let (parts, hours) = (parts(targets, on), hours(max_time));
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

/// The number of cables or switches of a fault, each of which fails by itself.
fn parts(targets: &FaultTargets, on: &Topology) -> f64 {
    let cables: BTreeSet<_> = targets.links.iter().map(|&link| link.min(on.reverse(link))).collect();
    (if targets.switches.is_empty() { cables.len() } else { targets.switches.len() }) as f64
}

fn hours(time: Duration) -> f64 {
    time.0 as f64 / 3_600e12
}

/// A warning about failures that are so rare that most runs have none, even runs [`LONGER`] times as long as `soonest`
/// or of length `max_time`. `soonest` is the earliest possible end of a run.
pub(super) fn rare(
    (number, spec): (usize, &FaultSpec),
    targets: &FaultTargets,
    on: &Topology,
    [soonest, max_time]: [Duration; 2],
    origin: &Origin,
) -> Option<Diagnostic> {
    let (parts, per_hour) = (parts(targets, on), spec.per_hour?);
    let length = Duration(soonest.0.max(1).saturating_mul(LONGER)).min(max_time);
    let expected = |length: Duration| per_hour * hours(length) * parts;
    if expected(length) >= FEWEST {
        return None;
    }
    let by = match length == max_time {
        true => format!("{:.1e} times by max_time = \"{max_time}\"", expected(max_time)),
        false => format!("{:.1e} times in {}, the least time of a run", expected(soonest), soonest.about()),
    };
    let message = format!(
        "fault.{number} is expected to fail {by}, on {parts} cables or switches; a run without a failure says nothing about \
         the fault"
    );
    let enough = (SOME / (hours(soonest.max(Duration(1))) * parts)).min(MOST_PER_HOUR);
    let fix = Fix::set("per_hour", format!("{:.1}", enough.min(MOST_FAILURES / (hours(max_time) * parts))));
    Some(fault(&origin.file, origin.place(&format!("fault.{number}.per_hour")), message, Some(fix)))
}

#[cfg(test)]
mod tests {
    use crate::scenario::expand::scenario::read;
    use crate::scenario::input::{NoFiles, Overrides};

    fn warnings(per_hour: &str) -> Vec<String> {
        let text = format!(
            "schemes = [\"reps\"]\nseeds = [1]\n[topology]\nkind = \"rails\"\nservers = 4\nlink = \"400Gbps\"\n[workload]\nkind = \
             \"permutation\"\nbytes = \"1MB\"\n[[fault]]\nkind = \"link-down\"\nlinks = \"tor-uplinks\"\nduration = \
             \"1ms\"\n{per_hour}\n"
        );
        let scenario = read("s.toml", &text, &NoFiles, &Overrides::default()).unwrap();
        scenario.check().unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn failures_that_hardly_occur_are_warned_of_with_a_rate_that_does() {
        let [warning] = &warnings("per_hour = 0.01")[..] else { panic!("one warning") };
        let (message, help) = warning.split_once("\n  write: ").unwrap();
        assert_eq!(
            message,
            "s.toml:14:1: fault.0 is expected to fail 1.8e-9 times in 20 us, the least time of a run, on 32 cables or switches; a run without \
             a failure says nothing about the fault"
        );
        let [warning] = &warnings("per_hour = 4000")[..] else { panic!("one warning") };
        assert!(warning.contains("the least time of a run"), "{warning}");
        let [warning] = &warnings("per_hour = 0.01\n[limits]\nmax_time = \"50us\"")[..] else {
            panic!("one warning")
        };
        assert!(warning.contains(" times by max_time = \"50us\", on 32 cables"), "{warning}");
        assert_eq!(warnings(help), [""; 0], "{help}");
    }
}
