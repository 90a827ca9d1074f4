//! A check that the curves of a scenario fit into the number of points that a run may have.

use crate::scenario::expand::resolved::share_of_points;
use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Diagnostic, Duration, HostId, Time};
use anabranch_engine::MeasureSpec;
use anabranch_fabric::Topology;
use anabranch_workload::{Start, Workload};

/// Rejects measures whose curves exceed a run's share of points even if the run is as short as possible. `curves` has
/// the number of links, switches or queue pairs of each measure.
pub(in crate::scenario) fn check(
    measures: &[MeasureSpec],
    curves: &[usize],
    runs: usize,
    ends: Duration,
    origin: &Origin,
) -> Result<(), Diagnostic> {
    let share = share_of_points(runs);
    let points = |i: usize| measures[i].points(curves[i], ends);
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
        ends.rounded_up(2)
    );
    // With this interval, the curves of this measure alone fit even in a run three times as long.
    let every = Duration((measures[worst].every.0 as f64 * all / share as f64 * 3.0) as u64).rounded_up(2);
    let help = format!(
        "every = \"{every}\", or fewer of what is measured ({} curves here), or fewer runs",
        curves[worst]
    );
    Err(fault(&origin.file, origin.place(&format!("measure.{worst}.every")), message, Some(help.into())))
}

/// A lower bound on the end of a run. It follows from the last start, and from the time that the links of the busiest
/// host need for the host's bytes.
pub(in crate::scenario) fn soonest_end(workload: &Workload, on: &Topology) -> Duration {
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
    // A cable is equally fast in both directions.
    let busy = (0..).map(HostId).zip(sent).map(|(host, [out, into])| (host, out.max(into)));
    let busiest = busy.map(|(host, bytes)| on.host_rate(host).time_for(bytes)).max();
    busiest.unwrap_or_default().max(Duration(last.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::expand::resolved::{MOST_POINTS, MOST_POINTS_A_RUN};

    #[test]
    fn every_run_has_the_same_share() {
        assert_eq!(share_of_points(1), MOST_POINTS_A_RUN);
        assert_eq!(share_of_points(2), MOST_POINTS_A_RUN);
        assert_eq!(share_of_points(8), MOST_POINTS / 8);
        assert_eq!(share_of_points(100_000), 500);
    }
}
