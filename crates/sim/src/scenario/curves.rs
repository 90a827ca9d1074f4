//! How many points the curves of a scenario may have, and how many they have at least.

use super::origin::Origin;
use super::table::fault;
use super::{Limits, MeasureSpec, ScenarioError};
use crate::topology::Topology;
use crate::workload::{Start, Workload};
use anabranch_base::{Duration, LinkId, Time};

/// Points of all curves of all runs at most: some gigabytes on disk.
const MOST_POINTS: u64 = 50_000_000;
/// Points of all curves of a run at most: some three gigabytes of memory.
const MOST_POINTS_A_RUN: u64 = 20_000_000;

/// Points that each of `runs` runs may have. It depends on nothing else, so that no run's end depends on another's.
pub(super) fn share(runs: usize) -> u64 {
    (MOST_POINTS / runs.max(1) as u64).min(MOST_POINTS_A_RUN)
}

/// Points that a measure makes of `curves` curves within `time`, as far as that is known. A curve with a threshold, or
/// of events, has points only where there is something to say.
pub(crate) fn points_within(measure: &MeasureSpec, curves: usize, time: Duration) -> f64 {
    match measure.every {
        Duration::ZERO => 0.0,
        _ if measure.above.is_some() => 0.0,
        every => curves as f64 * (time.0 as f64 / every.0 as f64),
    }
}

/// Refuses measures that come to more than a run's share however fast the run is. `curves` says of how many links,
/// switches or queue pairs each is.
pub(super) fn check(
    measures: &[MeasureSpec],
    curves: &[usize],
    runs: usize,
    ends: Duration,
    origin: &Origin,
) -> Result<(), ScenarioError> {
    let share = share(runs);
    let points = |i: usize| points_within(&measures[i], curves[i], ends);
    let all: f64 = (0..measures.len()).map(points).sum();
    let Some(worst) = (0..measures.len()).max_by(|&a, &b| points(a).total_cmp(&points(b))) else {
        return Ok(());
    };
    if all <= share as f64 {
        return Ok(());
    }
    let message = format!(
        "the curves of [[measure]] would have {all:.0} points even in a run as short as can be, {}; {runs} runs have \
         room for {share} each",
        rounded_up(ends)
    );
    // Room for a run three times as long.
    let every = rounded_up(Duration((measures[worst].every.0 as f64 * all / share as f64 * 3.0) as u64));
    let help = format!(
        "every = \"{every}\", or fewer of what is measured ({} curves here), or fewer runs",
        curves[worst]
    );
    Err(fault(&origin.file, origin.place(&format!("measure.{worst}.every")), message, Some(help)))
}

/// No run ends before: the last start, and what the busiest host's link needs for its bytes.
pub(super) fn soonest_end(workload: &Workload, on: &Topology, limits: &Limits) -> Duration {
    let mut sent = vec![[0_u64; 2]; on.hosts as usize];
    let mut last = Time::ZERO;
    for message in &workload.messages {
        let ends = workload.qps[message.qp.index()];
        for (host, way) in [(ends.src, 0), (ends.dst, 1)] {
            let bytes = &mut sent[host.index()][way];
            *bytes = bytes.saturating_add(message.bytes);
        }
        if let Start::At(time) = message.start {
            last = last.max(time);
        }
    }
    let busy = sent.iter().zip(&on.port_base).flat_map(|(bytes, &link)| {
        let back = on.reverse(LinkId(link));
        [(bytes[0], LinkId(link)), (bytes[1], back)]
    });
    let busiest = busy.map(|(bytes, link)| on.ports[link.index()].rate.time_for(bytes)).max();
    busiest.unwrap_or_default().max(Duration(last.0)).min(limits.max_time)
}

/// Up to two digits that count, rounded up.
fn rounded_up(span: Duration) -> Duration {
    let unit = 10_u64.pow(span.0.max(1).ilog10().saturating_sub(1));
    Duration(span.0.div_ceil(unit).saturating_mul(unit))
}

/// What is said of a run whose curves had room for `room` alone.
pub(crate) fn too_many(measures: &[MeasureSpec], share: u64, room: Duration, max_time: Duration) -> String {
    let shortest =
        measures.iter().filter(|m| m.every > Duration::ZERO && m.above.is_none()).map(|m| m.every).min();
    let every = shortest.unwrap_or_default();
    let times = |factor: f64| rounded_up(Duration((every.0 as f64 * factor) as u64));
    let whole = (max_time.0 as f64 / room.0.max(1) as f64).max(1.0);
    let advice = match whole > 10.0 {
        true => format!(
            "every = \"{}\" in place of \"{every}\" has room for ten times as long, every = \"{}\" for all of \
             limits.max_time",
            times(10.0),
            times(whole)
        ),
        false => format!(
            "every = \"{}\" in place of \"{every}\" has room for all of limits.max_time",
            times(whole)
        ),
    };
    format!(
        "the curves of [[measure]] came to {share} points within {:.3} us, which is all that this run may have; {advice}; \
         or watch less, or have fewer runs",
        room.as_us()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_has_the_same_share() {
        assert_eq!(share(1), MOST_POINTS_A_RUN);
        assert_eq!(share(2), MOST_POINTS_A_RUN);
        assert_eq!(share(8), MOST_POINTS / 8);
        assert_eq!(share(100_000), 500);
    }

    #[test]
    fn times_are_rounded_up() {
        for (exact, up) in [(1, 1), (99, 99), (101, 110), (123_456, 130_000)] {
            assert_eq!(rounded_up(Duration(exact)), Duration(up));
        }
    }
}
