//! Curves that stay on disk: an index of them, and the points of the curves that are requested.

use crate::columns::ROWS_A_BATCH;
use crate::error::damaged;
use crate::sink::write_curves;
use crate::stored::Batch;
use crate::{CurvePoints, ResultsError, SeriesRow};
use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection};
use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file of curves. The rows stay on disk, and only the index of the curves is in memory.
#[derive(Debug, PartialEq)]
pub struct CurveFile {
    path: PathBuf,
    rows: usize,
    /// The rows of each curve, in the order of the file. A curve whose rows are not adjacent has several ranges.
    ranges: Vec<RowRange>,
}

#[derive(Debug, PartialEq)]
struct RowRange {
    run: u32,
    series: Arc<str>,
    entity: Arc<str>,
    rows: Range<usize>,
}

/// The curves of one run of a result set, in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct FiledCurves {
    /// The index of the run in its result set.
    pub run: u32,
    /// The file with the curves.
    pub file: Arc<CurveFile>,
    /// The run's number within the file.
    pub run_in_file: u32,
}

impl CurveFile {
    /// Indexes the curves in the file at `path`. The results have `runs` runs.
    ///
    /// # Errors
    /// The file cannot be read, has a row of a run that does not exist, or is not in the order of the runs.
    pub(crate) fn open(path: &Path, runs: usize) -> Result<CurveFile, ResultsError> {
        let mut names: BTreeSet<Arc<str>> = BTreeSet::new();
        let mut ranges: Vec<RowRange> = Vec::new();
        let mut row = 0;
        for batch in reader(path, &["run", "series", "entity"], None)? {
            let batch = batch.map_err(|error| unreadable(path, &error))?;
            let columns = Batch { path, batch: &batch };
            let (of_run, series, entity) = (
                columns.cells::<u32>("run")?,
                columns.cells::<String>("series")?,
                columns.cells::<String>("entity")?,
            );
            for index in 0..batch.num_rows() {
                let (run, series, entity) = (of_run.value(index), series.value(index), entity.value(index));
                match ranges.last_mut() {
                    Some(last) if last.run == run && *last.series == *series && *last.entity == *entity => {
                        last.rows.end += 1;
                    }
                    last => {
                        if run as usize >= runs {
                            let why = format!("row {row} belongs to run {run}, but there are {runs} runs");
                            return Err(damaged(path, why));
                        }
                        if let Some(before) = last.map(|last| last.run).filter(|before| *before > run) {
                            let why =
                                format!("row {row} belongs to run {run}, and the one before it to {before}");
                            return Err(damaged(path, why));
                        }
                        let (series, entity) = (intern(&mut names, series), intern(&mut names, entity));
                        ranges.push(RowRange { run, series, entity, rows: row..row + 1 });
                    }
                }
                row += 1;
            }
        }
        Ok(CurveFile { path: path.to_owned(), rows: row, ranges })
    }

    /// The runs that have curves in this file, in order.
    pub(crate) fn runs(&self) -> Vec<u32> {
        let mut runs: Vec<u32> = self.ranges.iter().map(|range| range.run).collect();
        runs.dedup();
        runs
    }

    fn of(&self, run: u32) -> &[RowRange] {
        let from = self.ranges.partition_point(|range| range.run < run);
        let to = self.ranges.partition_point(|range| range.run <= run);
        &self.ranges[from..to]
    }

    fn select(&self, ranges: impl Iterator<Item = Range<usize>>) -> RowSelection {
        RowSelection::from_consecutive_ranges(ranges, self.rows)
    }
}

impl FiledCurves {
    /// Writes the curves of one run to a file at `path`.
    ///
    /// # Errors
    /// The file cannot be written or read back.
    pub fn write(path: &Path, rows: &[SeriesRow]) -> Result<FiledCurves, ResultsError> {
        write_curves(path, rows)?;
        FiledCurves::open(path)
    }

    /// The curves in a file at `path` that holds one run, with the number 0.
    ///
    /// # Errors
    /// The file cannot be read, or has curves of a run with another number.
    pub fn open(path: &Path) -> Result<FiledCurves, ResultsError> {
        Ok(FiledCurves { run: 0, file: Arc::new(CurveFile::open(path, 1)?), run_in_file: 0 })
    }

    /// The index of the run in its result set.
    pub fn run(&self) -> u32 {
        self.run
    }

    /// The series and the entity of each curve. A curve whose rows are not adjacent occurs several times.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.file.of(self.run_in_file).iter().map(|range| (&*range.series, &*range.entity))
    }

    /// The points of all curves of a series, in the order of the rows.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn points(&self, series: &str) -> Result<Vec<CurvePoints>, ResultsError> {
        let selected: Vec<&RowRange> =
            self.file.of(self.run_in_file).iter().filter(|range| *range.series == *series).collect();
        let empty = |range: &&RowRange| CurvePoints {
            entity: range.entity.clone(),
            points: Vec::with_capacity(range.rows.len()),
        };
        let mut curves: Vec<CurvePoints> = selected.iter().map(empty).collect();
        if selected.is_empty() {
            return Ok(curves);
        }
        let path = &self.file.path;
        let selection = self.file.select(selected.iter().map(|range| range.rows.clone()));
        let mut index = 0;
        for batch in reader(path, &["time_ps", "value"], Some(selection))? {
            let batch = batch.map_err(|error| unreadable(path, &error))?;
            let columns = Batch { path, batch: &batch };
            let (times, values) = (columns.cells::<u64>("time_ps")?, columns.cells::<f64>("value")?);
            for row in 0..batch.num_rows() {
                while curves.get(index).is_some_and(|curve| curve.points.len() == selected[index].rows.len())
                {
                    index += 1;
                }
                if let Some(curve) = curves.get_mut(index) {
                    curve.points.push((times.value(row), values.value(row)));
                }
            }
        }
        Ok(curves)
    }

    /// Passes all rows to `to` in batches. In each row, the number of the run is its index in the result set.
    pub(crate) fn copy(
        &self,
        mut to: impl FnMut(RecordBatch) -> Result<(), ResultsError>,
    ) -> Result<(), ResultsError> {
        let path = &self.file.path;
        let ranges = self.file.of(self.run_in_file);
        let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else { return Ok(()) };
        let selection = self.file.select(std::iter::once(first.rows.start..last.rows.end));
        for batch in reader(path, &["series", "entity", "time_ps", "value"], Some(selection))? {
            let batch = batch.map_err(|error| unreadable(path, &error))?;
            let columns = Batch { path, batch: &batch };
            let run: ArrayRef =
                Arc::new(UInt32Array::from_iter_values(std::iter::repeat_n(self.run, batch.num_rows())));
            let columns: [(&str, ArrayRef, bool); 5] = [
                ("run", run, false),
                ("series", Arc::new(columns.cells::<String>("series")?.clone()), false),
                ("entity", Arc::new(columns.cells::<String>("entity")?.clone()), false),
                ("time_ps", Arc::new(columns.cells::<u64>("time_ps")?.clone()), false),
                ("value", Arc::new(columns.cells::<f64>("value")?.clone()), false),
            ];
            let copied = RecordBatch::try_from_iter_with_nullable(columns)
                .map_err(|error| damaged(path, error.to_string()))?;
            to(copied)?;
        }
        Ok(())
    }
}

/// A string that is shared by all equal names.
fn intern(names: &mut BTreeSet<Arc<str>>, name: &str) -> Arc<str> {
    if let Some(known) = names.get(name) {
        return known.clone();
    }
    let name: Arc<str> = name.into();
    names.insert(name.clone());
    name
}

fn reader(
    path: &Path,
    columns: &[&str],
    rows: Option<RowSelection>,
) -> Result<ParquetRecordBatchReader, ResultsError> {
    let file = File::open(path).map_err(|source| ResultsError::Read { path: path.to_owned(), source })?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| unreadable(path, &error))?;
    let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
    let builder = builder.with_projection(mask).with_batch_size(ROWS_A_BATCH);
    let builder = match rows {
        Some(rows) => builder.with_row_selection(rows),
        None => builder,
    };
    builder.build().map_err(|error| unreadable(path, &error))
}

pub(crate) fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> ResultsError {
    damaged(path, format!("not a Parquet file that can be read: {error}"))
}
