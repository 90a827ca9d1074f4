//! The file `faults.parquet`: the packets that each fault affected in each run.

use crate::stored::{ArrowCell, Batch, Row, Stored, batch_of, column};
use crate::{FaultRow, ResultsError, RunRow};
use arrow_array::RecordBatch;
use std::path::Path;

pub(crate) struct FaultOfRun {
    pub run: u32,
    pub fault: FaultRow,
}

impl FaultOfRun {
    pub(crate) fn all(runs: &[RunRow]) -> Vec<FaultOfRun> {
        let of_run = |(run, row): (u32, &RunRow)| {
            row.faults.iter().map(move |fault| FaultOfRun { run, fault: fault.clone() }).collect::<Vec<_>>()
        };
        (0..).zip(runs).flat_map(of_run).collect()
    }
}

impl Row for FaultOfRun {
    fn encode(rows: &[Self]) -> Result<RecordBatch, String> {
        let mut columns = vec![column("run", u32::array(rows.iter().map(|row| &row.run)), false)];
        columns.extend(FaultRow::named(false, &rows.iter().map(|row| &row.fault).collect::<Vec<_>>()));
        batch_of(columns)
    }

    fn decode(path: &Path, batch: &RecordBatch) -> Result<Vec<Self>, ResultsError> {
        let batch = Batch { path, batch };
        let run = batch.cells::<u32>("run")?;
        let faults = FaultRow::rows(&batch)?;
        Ok(faults
            .into_iter()
            .enumerate()
            .map(|(row, fault)| FaultOfRun { run: run.value(row), fault })
            .collect())
    }
}
