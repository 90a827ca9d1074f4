//! The measure language, in which a claim or a question states how to compute a value from results.
//!
//! - Arithmetic: numbers, `+ - * /`, parentheses, `max(a, b)`, `min(a, b)`, `abs(a)`.
//! - Comparison: `a < b < c` (also `<= > >= ==`) is 1 if all comparisons are true, else 0.
//! - A field of the runs: `fct_max(reps)`, `drops(ops)`, `completion(ecmp)`. A unit of time at the end of the field's
//!   name (`_us`, `_s`) may be left out. The value is the mean over the seeds.
//! - `extra(ops, mean_max_queue)` is a number that a scheme or a model added to the results.
//! - `series_max(reps, queue_depth_bytes, entity="tor:0/up", from_us=200, to_us=300)`, also `series_min`,
//!   `series_mean`, `series_sum`, `series_first` and `series_last`: the statistic over all points of a run in the time
//!   interval `from_us < time <= to_us`, for the entity and all entities below it, then the mean over the seeds.
//! - `time_to_settle(strack, queue_delay_us, entity="tor:0/down:0", value=8, within=0.25)` is the time in microseconds
//!   from which a curve stays near the value until the end of the time interval. A curve that does not settle is an
//!   error. A point is near the value if it differs from the value by at most the fraction `within` of the value, which
//!   is 0.1 by default. `value` is a number, `max` (the largest point of the curve) or `last` (the mean of the last
//!   tenth of its points, the default). `time_near(...)`, which requires `value`, is the number of microseconds during
//!   which the curve is near the value. The value of a point applies to the time since the previous point. With
//!   `smooth_us=100`, the curve is first replaced by its means over intervals of 100 us. `from_us` and `to_us` bound
//!   the time interval. With several entities, `time_to_settle` gives the latest of their times, and `time_near` the
//!   mean.
//! - `fct(reps, p99, min_bytes=0, max_bytes=100000)` and `slowdown(...)` are statistics over the messages of a run with
//!   `min_bytes <= length <= max_bytes`: a percentile (`p50`, `p99.9`), `mean`, `min`, `max`, `sum` or `share`. `share`
//!   is the fraction of the messages whose value is above 0. `group=incast` selects the messages of one part of the
//!   workload. If there are several data centres, `group=inter` selects the messages between data centres,
//!   `group=intra` the others, and `group=incast/inter` those of one part of the workload between data centres.
//! - `retransmissions(irn, share, max_bytes=200000)` and `timeouts(irn, sum, group=background)` count the retransmitted
//!   packets and the timeouts of a message. Filters and statistics are those of `fct`. Without a statistic and without
//!   these filters, the result is the total of the run. `retransmitted_share(irn, max)` is the number of retransmitted
//!   data packets of a message divided by the number of packets that the message consists of.
//! - `cct(strack, max, min_bytes=0, max_bytes=100000)` is a statistic over the completion times of a run's collective
//!   jobs, with the same filters by length.
//! - Filters are allowed in any call: `fct_max(ops, workload.bytes="8MiB", seed=1)`.
//! - `max over workload.bytes: ...`, also `min`, `mean`, `first` and `last`, is taken over the values of a swept
//!   parameter or of `seed`, in the order of the runs. The last component of the parameter's name is enough. `range
//!   over ...` gives the lowest and the highest value, and `[a, b]` is a pair. Both are allowed only as the whole
//!   measure.
//! - `mean over bins(10000, 1000000): slowdown(irn, p95) / slowdown(dcp, p95)` is taken over bins of messages (or jobs)
//!   by length: here up to 10 KB, from there up to 1 MB, and above 1 MB. In each bin, functions over messages use only
//!   the messages of that bin. `bins(count=20)` makes 20 bins whose numbers of messages differ by at most one. The
//!   first bin has the shortest messages. A bin without messages is an error.
//!
//! A claim of kind `order` holds if its comparison is true for every pair of a seed on the left and a seed on the
//! right. A side that contains `over seed` or `seed=` has a single value.

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

/// A measure that was parsed and whose functions exist.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    text: String,
    root: Node,
}

impl Measure {
    /// Parses a measure.
    ///
    /// # Errors
    /// The text is not in the measure language or names an unknown function.
    pub fn parse(text: &str) -> Result<Measure, MeasureError> {
        let root = parse::parse(text).map_err(|error| error.within(text))?;
        Ok(Measure { text: text.to_owned(), root })
    }

    /// Computes the measure from results.
    ///
    /// # Errors
    /// The measure cannot be computed from these results: for example, it names something that they lack, does not
    /// choose between values of a swept parameter, needs messages that did not finish, or divides by zero.
    pub fn evaluate(&self, set: &ResultSet) -> Result<ClaimValue, MeasureError> {
        self.evaluate_indexed(&Index::new(set))
    }

    /// Evaluates the measure like [`Measure::evaluate`], for callers that evaluate several measures on the same
    /// results.
    pub(crate) fn evaluate_indexed(&self, index: &Index<'_>) -> Result<ClaimValue, MeasureError> {
        evaluate::evaluate(&self.root, index).map_err(|error| error.within(&self.text))
    }

    /// Evaluates the measure like [`Measure::evaluate_indexed`], but a comparison is true only if it is true for every
    /// pair of a seed on its left and a seed on its right. Also returns the comparisons. A side that names seeds itself
    /// (`over seed`, `seed=1`) has a single value.
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
