//! The measure language: what a claim computes from results.
//!
//! - Arithmetic: numbers, `+ - * /`, parentheses, `max(a, b)`, `min(a, b)`, `abs(a)`.
//! - Comparison: `a < b < c` (also `<= > >= ==`) is 1 when all hold, else 0.
//! - A field of the runs: `fct_max(reps)`, `drops(ops)`, `completion(ecmp)`; the unit at the end of the field's name
//!   may be left out. It is the mean over the seeds.
//! - `extra(ops, mean_max_queue)`: a number that a scheme or model added.
//! - `series_max(reps, queue_depth_bytes, entity="tor:0/up", from_us=200, to_us=300)`, also `series_min`,
//!   `series_mean`, `series_sum`, `series_first`, `series_last`: over all points of a run in the window
//!   `from_us < time <= to_us`, of the entity and what lies below it; then the mean over the seeds.
//! - `time_to_settle(strack, queue_delay_us, entity="tor:0/down:0", value=8, within=0.25)`: the microsecond from which on a
//!   curve stays within that share of the value to the end of the window; an error where it does not. `value` is a
//!   number, `max` (its own largest point) or `last` (the mean of the last tenth of its points, the default); `within` is
//!   0.1 unless said. `time_near(...)`, with a `value`: for how many microseconds it is near. A point stands for the time
//!   since the one before it. `smooth_us=100` takes the means over stretches of 100 us first; `from_us` and `to_us` are
//!   the window. Of several entities the last one to settle, and the mean of the times near.
//! - `fct(reps, p99, min_bytes=0, max_bytes=100000)` and `slowdown(...)`: over the messages of a run with
//!   `min_bytes <= length <= max_bytes`; a percentile (`p50`, `p99.9`), `mean`, `min`, `max`, `sum`, or `share`: how
//!   many of all are above 0. `group=incast` takes the messages of one part of the workload; where there are several
//!   data centres, `group=inter` those that cross them, `group=intra` the others, `group=incast/inter` those of a part.
//! - `retransmissions(irn, share, max_bytes=200000)`, `timeouts(irn, sum, group=background)`: what messages sent again
//!   and how often they timed out, likewise; without a statistic the number of the whole run.
//!   `retransmitted_share(irn, max)`: data packets of a message sent again over the packets that it takes.
//! - `cct(strack, max, min_bytes=0, max_bytes=100000)`: the completion times of a run's collective jobs, likewise.
//! - Filters in any call: `fct_max(ops, workload.bytes="8MiB", seed=1)`.
//! - `max over workload.bytes: ...`, also `min`, `mean`, `first`, `last`: over the values of a swept parameter (its
//!   last part is enough) or of `seed`, in the order of the runs. `range over ...` gives the lowest and the highest,
//!   and `[a, b]` a pair; both only as the whole measure.
//! - `mean over bins(10000, 1000000): slowdown(irn, p95) / slowdown(dcp, p95)`: over bins of messages (or jobs) by length,
//!   here up to 10 KB, above that up to 1 MB, and above that; in each, functions over messages take those of the bin
//!   alone. `bins(count=20)` has equally many messages in each, the shortest first. A bin without messages is an error.
//!
//! A claim of kind `order` holds when its comparisons are true of each seed on one side and each on the other; a side
//! that has `over seed` or `seed=` in it has one value.

mod curve;
mod error;
mod evaluate;
mod functions;
mod parse;
mod run_value;
mod tree;

use crate::index::Index;
use anabranch_results::{ClaimValue, ResultSet, Spread};
pub use error::MeasureError;
use tree::Node;
pub(crate) use tree::covers;

/// A measure that was read and whose functions exist.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    text: String,
    root: Node,
}

impl Measure {
    /// Reads a measure.
    ///
    /// # Errors
    /// When the text does not follow the language or names an unknown function.
    pub fn parse(text: &str) -> Result<Measure, MeasureError> {
        let root = parse::parse(text).map_err(|error| error.within(text))?;
        Ok(Measure { text: text.to_owned(), root })
    }

    /// Computes the measure from results.
    ///
    /// # Errors
    /// When it names a scheme, parameter, series or extra number that the results lack, when messages that it
    /// needs did not finish, or when it divides by zero.
    pub fn evaluate(&self, set: &ResultSet) -> Result<ClaimValue, MeasureError> {
        self.evaluate_indexed(&Index::new(set))
    }

    /// As [`Measure::evaluate`], for callers that evaluate several measures.
    pub(crate) fn evaluate_indexed(&self, index: &Index<'_>) -> Result<ClaimValue, MeasureError> {
        evaluate::evaluate(&self.root, index).map_err(|error| error.within(&self.text))
    }

    /// As [`Measure::evaluate_indexed`], but a comparison is true only if it is true for every seed on its left with
    /// every seed on its right; also returns the comparisons. A side that names seeds itself (`over seed`, `seed=1`)
    /// has one value.
    pub(crate) fn evaluate_by_spread(&self, index: &Index<'_>) -> Result<(ClaimValue, Spread), MeasureError> {
        evaluate::evaluate_by_spread(&self.root, index).map_err(|error| error.within(&self.text))
    }

    /// The schemes that the measure names, each once, in alphabetical order.
    pub fn schemes(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.root.collect_schemes(&mut names);
        names.sort_unstable();
        names.dedup();
        names
    }
}

#[cfg(test)]
mod tests;
