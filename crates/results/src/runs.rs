//! `runs.parquet`: rows of runs to columns and back. Each number that a scheme or a model adds has a column.

use crate::columns::{Columns, batch_of, column, fixed_columns};
use crate::run_keys::{ColumnNames, RunKeys, sweeps};
use crate::{ResultsError, RunRow};
use arrow_array::{Array, Float64Array, RecordBatch};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// The metadata key of a column that names its numbers in [`RunRow::extra`].
const EXTRA: &str = "anabranch.extra";

/// All runs as one batch: number, `keys`, the numbers that every run has, and those that some have.
pub(crate) fn encode(rows: &[RunRow], keys: &RunKeys) -> Result<RecordBatch, String> {
    let mut columns = fixed_columns(rows);
    let mut names = ColumnNames::reserving_keys(keys)?;
    let extra: BTreeSet<&String> = rows.iter().flat_map(|row| row.extra.keys()).collect();
    columns.extend(extra.into_iter().map(|name| {
        let values = Float64Array::from_iter(rows.iter().map(|row| row.extra.get(name).copied()));
        let (field, values) = column(&names.unique("extra", name), Arc::new(values), true);
        (field.with_metadata(BTreeMap::from([(EXTRA.to_owned(), name.clone())])), values)
    }));
    keys.added_to(&batch_of(columns)?)
}

/// The columns as rows, before which `before` rows stand in earlier batches; `path` is for messages.
pub(crate) fn decode(path: &Path, batch: &RecordBatch, before: usize) -> Result<Vec<RunRow>, ResultsError> {
    let columns = Columns { path, batch };
    let scheme = columns.text("scheme")?;
    let seed = columns.u64("seed")?;
    let flows = columns.u64("flows")?;
    let flows_finished = columns.u64("flows_finished")?;
    let fct_mean_us = columns.f64("fct_mean_us")?;
    let fct_p50_us = columns.f64("fct_p50_us")?;
    let fct_p99_us = columns.f64("fct_p99_us")?;
    let fct_max_us = columns.f64("fct_max_us")?;
    let ideal_fct_max_us = columns.f64("ideal_fct_max_us")?;
    let slowdown_mean = columns.f64("slowdown_mean")?;
    let slowdown_p50 = columns.f64("slowdown_p50")?;
    let slowdown_p95 = columns.f64("slowdown_p95")?;
    let slowdown_p99 = columns.f64("slowdown_p99")?;
    let completion_us = columns.f64("completion_us")?;
    let jobs = columns.u64("jobs")?;
    let jobs_finished = columns.u64("jobs_finished")?;
    let cct_mean_us = columns.f64("cct_mean_us")?;
    let cct_max_us = columns.f64("cct_max_us")?;
    let baseline = columns.boolean("baseline")?;
    let ideal_cct_max_us = columns.f64("ideal_cct_max_us")?;
    let time_to_recover_us = columns.nullable_f64("time_to_recover_us")?;
    let queue_p99_bytes = columns.u64("queue_p99_bytes")?;
    let peak_queue_bytes = columns.u64("peak_queue_bytes")?;
    let peak_queue_link = columns.text("peak_queue_link")?;
    let drops = columns.u64("drops")?;
    let link_losses = columns.u64("link_losses")?;
    let trims = columns.u64("trims")?;
    let pause_frames = columns.u64("pause_frames")?;
    let pause_us = columns.f64("pause_us")?;
    let ecn_marks = columns.u64("ecn_marks")?;
    let retransmissions = columns.u64("retransmissions")?;
    let timeouts = columns.u64("timeouts")?;
    let packet_hops = columns.u64("packet_hops")?;
    let sim_time_us = columns.f64("sim_time_us")?;
    let wall_s = columns.f64("wall_s")?;
    let digest = columns.text("digest")?;
    let (sweeps, extras) = (sweeps(path, batch, before)?, extras(batch));
    let rows = sweeps.into_iter().zip(extras).enumerate();
    Ok(rows
        .map(|(row, (sweep, extra))| RunRow {
            scheme: scheme.value(row).to_owned(),
            seed: seed.value(row),
            sweep,
            flows: flows.value(row),
            flows_finished: flows_finished.value(row),
            fct_mean_us: fct_mean_us.value(row),
            fct_p50_us: fct_p50_us.value(row),
            fct_p99_us: fct_p99_us.value(row),
            fct_max_us: fct_max_us.value(row),
            ideal_fct_max_us: ideal_fct_max_us.value(row),
            slowdown_mean: slowdown_mean.value(row),
            slowdown_p50: slowdown_p50.value(row),
            slowdown_p95: slowdown_p95.value(row),
            slowdown_p99: slowdown_p99.value(row),
            completion_us: completion_us.value(row),
            jobs: jobs.value(row),
            jobs_finished: jobs_finished.value(row),
            cct_mean_us: cct_mean_us.value(row),
            cct_max_us: cct_max_us.value(row),
            baseline: baseline.value(row),
            ideal_cct_max_us: ideal_cct_max_us.value(row),
            time_to_recover_us: time_to_recover_us.is_valid(row).then(|| time_to_recover_us.value(row)),
            queue_p99_bytes: queue_p99_bytes.value(row),
            peak_queue_bytes: peak_queue_bytes.value(row),
            peak_queue_link: peak_queue_link.value(row).to_owned(),
            drops: drops.value(row),
            link_losses: link_losses.value(row),
            trims: trims.value(row),
            pause_frames: pause_frames.value(row),
            pause_us: pause_us.value(row),
            ecn_marks: ecn_marks.value(row),
            retransmissions: retransmissions.value(row),
            timeouts: timeouts.value(row),
            packet_hops: packet_hops.value(row),
            sim_time_us: sim_time_us.value(row),
            wall_s: wall_s.value(row),
            extra,
            faults: Vec::new(),
            warnings: Vec::new(),
            digest: digest.value(row).to_owned(),
        })
        .collect())
}

/// The extra numbers of the rows of `batch`, beside the columns that every run has.
fn extras(batch: &RecordBatch) -> Vec<BTreeMap<String, f64>> {
    let mut extras = vec![BTreeMap::new(); batch.num_rows()];
    for (field, values) in batch.schema().fields().iter().zip(batch.columns()) {
        let (Some(name), Some(values)) =
            (field.metadata().get(EXTRA), values.as_any().downcast_ref::<Float64Array>())
        else {
            continue;
        };
        for (row, extra) in extras.iter_mut().enumerate().filter(|(row, _)| values.is_valid(*row)) {
            extra.insert(name.clone(), values.value(row));
        }
    }
    extras
}
