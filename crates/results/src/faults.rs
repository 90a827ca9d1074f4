//! `faults.parquet`: the packets that each fault hit in each run.

use crate::columns::{Columns, Row, batch, texts};
use crate::{FaultRow, ResultsError, RunRow};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, UInt32Array, UInt64Array};
use std::path::Path;
use std::sync::Arc;

/// A fault with the number of its run.
pub(crate) struct FaultOfRun {
    pub run: u32,
    pub fault: FaultRow,
}

impl FaultOfRun {
    /// The faults of all runs, in their order.
    pub(crate) fn all(runs: &[RunRow]) -> Vec<FaultOfRun> {
        let of_run = |(run, row): (u32, &RunRow)| {
            row.faults.iter().map(move |fault| FaultOfRun { run, fault: fault.clone() }).collect::<Vec<_>>()
        };
        (0..).zip(runs).flat_map(of_run).collect()
    }
}

impl Row for FaultOfRun {
    fn encode(rows: &[Self]) -> Result<RecordBatch, String> {
        let u32s = |field: fn(&FaultOfRun) -> u32| -> ArrayRef {
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(field)))
        };
        let u64s = |field: fn(&FaultOfRun) -> u64| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(field)))
        };
        let at_us = Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| row.fault.at_us)));
        batch([
            ("run", u32s(|row| row.run), false),
            ("fault", u32s(|row| row.fault.fault), false),
            ("kind", texts(rows.iter().map(|row| row.fault.kind.as_str())), false),
            ("on", texts(rows.iter().map(|row| row.fault.on.as_str())), false),
            ("at_us", at_us, false),
            ("packets_lost", u64s(|row| row.fault.packets_lost), false),
            ("packets_refused", u64s(|row| row.fault.packets_refused), false),
            ("packets_slowed", u64s(|row| row.fault.packets_slowed), false),
            ("data_packets", u64s(|row| row.fault.data_packets), false),
        ])
    }

    fn decode(path: &Path, batch: &RecordBatch) -> Result<Vec<Self>, ResultsError> {
        let columns = Columns { path, batch };
        let (run, fault) = (columns.u32("run")?, columns.u32("fault")?);
        let (kind, on) = (columns.text("kind")?, columns.text("on")?);
        let at_us = columns.f64("at_us")?;
        let (lost, refused) = (columns.u64("packets_lost")?, columns.u64("packets_refused")?);
        let (slowed, data) = (columns.u64("packets_slowed")?, columns.u64("data_packets")?);
        let row = |row| FaultOfRun {
            run: run.value(row),
            fault: FaultRow {
                fault: fault.value(row),
                kind: kind.value(row).to_owned(),
                on: on.value(row).to_owned(),
                at_us: at_us.value(row),
                packets_lost: lost.value(row),
                packets_refused: refused.value(row),
                packets_slowed: slowed.value(row),
                data_packets: data.value(row),
            },
        };
        Ok((0..batch.num_rows()).map(row).collect())
    }
}
