//! Errors for runs whose curves would have more points than a run may have.

use crate::observer::QpSelector;
use crate::spec::{MeasureSpec, RunPoint};
use anabranch_base::{Duration, Time};

/// The error for a run whose curves with a point per interval would have too many points. Within the time `room`, these
/// curves use up the `share` points that the run may have.
pub fn interval_points_exceeded(
    measures: &[MeasureSpec],
    share: u64,
    room: Duration,
    max_time: Duration,
) -> String {
    let shortest =
        measures.iter().filter(|m| m.every > Duration::ZERO && m.above.is_none()).map(|m| m.every).min();
    let every = shortest.unwrap_or_default();
    let times = |factor: f64| Duration((every.0 as f64 * factor) as u64).rounded_up(2);
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

/// The error for a run that had used up its points by `at`. Curves of events, curves with a threshold (`above`), or
/// observers made these points. The workload has `qps` queue pairs and `packets` packets.
pub fn event_points_exceeded(point: &RunPoint, qps: usize, packets: u64, at: Time) -> String {
    let share = point.most_points;
    if !point.measures.iter().any(|measure| measure.every == Duration::ZERO || measure.above.is_some()) {
        return format!(
            "the observers came to {share} points within {:.3} us, which is all that this run may have; observers that keep \
             fewer, or fewer runs",
            at.as_us()
        );
    }
    let of_acks = |measure: &&MeasureSpec| measure.every == Duration::ZERO;
    let acks = point.measures.iter().filter(of_acks);
    let watched =
        acks.clone().filter_map(|measure| QpSelector::parse(measure.qps.as_deref()?).ok()?.qps(qps).ok());
    let watched = watched.map(|its| its.len()).max().unwrap_or(0) as f64;
    // There is at most one ACK per packet. The number is doubled to be safe, since some packets are retransmitted.
    let expected = 2.0 * packets as f64 * (watched / qps.max(1) as f64) * acks.count() as f64;
    let advice = match (watched * share as f64 / expected.max(2.0 * share as f64)) as u64 {
        _ if watched == 0.0 => {
            "a larger `above` leaves more of them out, and a larger `every` has fewer".to_owned()
        }
        0 => "series = \"flow-throughput\" with an `every` has a point an interval instead".to_owned(),
        room => format!(
            "qps = \"0-{}\" has room, and series = \"flow-throughput\" with an `every` has a point an interval instead",
            room - 1
        ),
    };
    format!(
        "the curves of [[measure]] came to {share} points within {:.3} us, which is all that this run may have: sender-rtt \
         and sender-ecn have a point for each acknowledgement; {advice}; or have fewer runs",
        at.as_us()
    )
}
