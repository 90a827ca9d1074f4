//! The file `runs.parquet`: conversion of the rows of runs to columns and back. Each number of [`RunRow::extra`] has
//! a column.

use crate::columns::fixed_columns;
use crate::run_keys::{ColumnNames, RunKeys, sweeps};
use crate::stored::{Row, batch_of, column};
use crate::{ResultsError, RunRow};
use arrow_array::{Array, Float64Array, RecordBatch};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// The metadata key under which a column stores the name of its numbers in [`RunRow::extra`].
const EXTRA: &str = "anabranch.extra";

/// All runs as one batch. Its columns are the run's index, `keys`, the declared columns, and the numbers of
/// [`RunRow::extra`].
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

/// The columns as rows. Earlier batches contain `before` rows. `path` is used in error messages.
pub(crate) fn decode(path: &Path, batch: &RecordBatch, before: usize) -> Result<Vec<RunRow>, ResultsError> {
    let runs = RunRow::decode(path, batch)?;
    let (sweeps, extras) = (sweeps(path, batch, before)?, extras(batch));
    let whole = |(run, (sweep, extra))| RunRow { sweep, extra, ..run };
    Ok(runs.into_iter().zip(sweeps.into_iter().zip(extras)).map(whole).collect())
}

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
