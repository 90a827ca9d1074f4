//! The counters of a run. Their names are those of the columns of results.

use crate::error::OnlineError;
use anabranch_base::Problem;
use anabranch_sim::results::RunRow;

type Counter = (&'static str, fn(&RunRow) -> f64);

const COUNTERS: [Counter; 13] = [
    ("flows", |row| row.flows as f64),
    ("flows_finished", |row| row.flows_finished as f64),
    ("packet_hops", |row| row.packet_hops as f64),
    ("drops", |row| row.drops as f64),
    ("link_losses", |row| row.link_losses as f64),
    ("trims", |row| row.trims as f64),
    ("ecn_marks", |row| row.ecn_marks as f64),
    ("retransmissions", |row| row.retransmissions as f64),
    ("timeouts", |row| row.timeouts as f64),
    ("pause_frames", |row| row.pause_frames as f64),
    ("pause_us", |row| row.pause_us),
    ("peak_queue_bytes", |row| row.peak_queue_bytes as f64),
    ("queue_p99_bytes", |row| row.queue_p99_bytes as f64),
];

/// The value of the counter with this name in the totals of a run.
///
/// # Errors
/// There is no counter with this name, or the run has no totals.
pub fn counter(totals: Option<&RunRow>, name: &str) -> Result<f64, OnlineError> {
    let Some(row) = totals else {
        let what = "the run has failed without totals: the error of anabranch_run says why";
        return Err(OnlineError::Call(what.to_owned()));
    };
    let of_all = COUNTERS.iter().find(|(known, _)| *known == name).map(|(_, value)| value(row));
    of_all.or_else(|| row.extra.get(name).copied()).ok_or_else(|| {
        let names = COUNTERS.iter().map(|(name, _)| *name).chain(row.extra.keys().map(String::as_str));
        let names = names.collect::<Vec<_>>().join(", ");
        OnlineError::Call(
            Problem::with_text(format!("there is no counter {name:?}"), format!("one of {names}"))
                .to_string(),
        )
    })
}
