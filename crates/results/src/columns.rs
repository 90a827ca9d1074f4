//! The tables of results, and the columns of their files.

use crate::declared::Columns;
use crate::stored::{NamedArray, Stored, column};
use crate::{Column, FaultRow, FlowRow, JobRow, PartRow, RunRow, SeriesRow};
use arrow_array::UInt32Array;
use std::sync::Arc;

/// The number of rows that are encoded at a time, which limits memory.
pub(crate) const ROWS_A_BATCH: usize = 1 << 16;

/// A table of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// A row per run.
    Runs,
    /// A row per message that belongs to no job.
    Flows,
    /// A row per job.
    Jobs,
    /// A row per rank of each job that has steps, such as a job from a trace or with transfers over NVLink. Each
    /// collective of a job from a trace also has a row.
    Parts,
    /// A row per point of a measured curve.
    Series,
    /// A row per fault of each run.
    Faults,
}

impl Table {
    /// All tables.
    pub const ALL: [Table; 6] =
        [Table::Runs, Table::Flows, Table::Jobs, Table::Parts, Table::Series, Table::Faults];

    /// The declared columns in the order of the file. The file has further columns, for example one for each swept
    /// parameter.
    pub fn columns(self) -> Vec<&'static Column> {
        let mut declared: Vec<&'static Column> = match self {
            Table::Runs => RunRow::columns().collect(),
            Table::Flows => FlowRow::columns().collect(),
            Table::Jobs => JobRow::columns().collect(),
            Table::Parts => PartRow::columns().collect(),
            Table::Series => SeriesRow::columns().collect(),
            Table::Faults => FaultRow::columns().collect(),
        };
        declared.sort_by_key(|column| column.last);
        declared
    }
}

/// The columns that every run has, except for scheme, seed and swept values. The first column is the run's number.
pub(crate) fn fixed_columns(rows: &[RunRow]) -> Vec<NamedArray> {
    let number = UInt32Array::from_iter_values(0..rows.len() as u32);
    let mut columns = vec![column("run", Arc::new(number), false)];
    columns.extend(RunRow::named(false, &rows.iter().collect::<Vec<_>>()));
    columns
}
