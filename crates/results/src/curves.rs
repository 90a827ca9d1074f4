//! Curves that stay in their file: which there are, and the points of those that are asked for.

use crate::columns::{Columns, ROWS_A_BATCH};
use crate::error::damaged;
use crate::sink::write_curves;
use crate::{CurvePoints, ResultsError, SeriesRow};
use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection};
use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file of curves. Its rows stay there; what is held is which curves it has.
#[derive(Debug, PartialEq)]
pub struct CurveFile {
    path: PathBuf,
    rows: usize,
    /// In the order of the rows.
    stretches: Vec<Stretch>,
}

/// Rows of one curve that stand together.
#[derive(Debug, PartialEq)]
struct Stretch {
    run: u32,
    series: Arc<str>,
    entity: Arc<str>,
    rows: Range<usize>,
}

/// The curves of one run of a result set, in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct FiledCurves {
    /// Their run in the result set ([`FiledCurves::run`]).
    pub run: u32,
    /// The file.
    pub file: Arc<CurveFile>,
    /// Their run in the file.
    pub run_in_file: u32,
}

impl CurveFile {
    /// Finds the curves in the file at `path`, of results with `runs` runs.
    ///
    /// # Errors
    /// When it cannot be read, or is no file of curves of so many runs in their order.
    pub(crate) fn open(path: &Path, runs: usize) -> Result<CurveFile, ResultsError> {
        let mut names: BTreeSet<Arc<str>> = BTreeSet::new();
        let mut stretches: Vec<Stretch> = Vec::new();
        let mut row = 0;
        for batch in reader(path, &["run", "series", "entity"], None)? {
            let batch = batch.map_err(|error| unreadable(path, &error))?;
            let columns = Columns { path, batch: &batch };
            let (of_run, series, entity) =
                (columns.u32("run")?, columns.text("series")?, columns.text("entity")?);
            for index in 0..batch.num_rows() {
                let (run, series, entity) = (of_run.value(index), series.value(index), entity.value(index));
                match stretches.last_mut() {
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
                        let (series, entity) = (shared(&mut names, series), shared(&mut names, entity));
                        stretches.push(Stretch { run, series, entity, rows: row..row + 1 });
                    }
                }
                row += 1;
            }
        }
        Ok(CurveFile { path: path.to_owned(), rows: row, stretches })
    }

    /// The runs that have curves here, in order.
    pub(crate) fn runs(&self) -> Vec<u32> {
        let mut runs: Vec<u32> = self.stretches.iter().map(|stretch| stretch.run).collect();
        runs.dedup();
        runs
    }

    fn of(&self, run: u32) -> &[Stretch] {
        let from = self.stretches.partition_point(|stretch| stretch.run < run);
        let to = self.stretches.partition_point(|stretch| stretch.run <= run);
        &self.stretches[from..to]
    }

    fn select(&self, ranges: impl Iterator<Item = Range<usize>>) -> RowSelection {
        RowSelection::from_consecutive_ranges(ranges, self.rows)
    }
}

impl FiledCurves {
    /// Writes the curves of one run to a file at `path`, for as long as the results are not written.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(path: &Path, rows: &[SeriesRow]) -> Result<FiledCurves, ResultsError> {
        write_curves(path, rows)?;
        FiledCurves::open(path)
    }

    /// The curves in a file at `path` that is of one run.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(path: &Path) -> Result<FiledCurves, ResultsError> {
        Ok(FiledCurves { run: 0, file: Arc::new(CurveFile::open(path, 1)?), run_in_file: 0 })
    }

    /// Their run in the result set.
    pub fn run(&self) -> u32 {
        self.run
    }

    /// Series and entity of each curve; a curve whose rows do not stand together comes several times.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.file.of(self.run_in_file).iter().map(|stretch| (&*stretch.series, &*stretch.entity))
    }

    /// The points of all curves of a series, in the order of the rows.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn points(&self, series: &str) -> Result<Vec<CurvePoints>, ResultsError> {
        let wanted: Vec<&Stretch> =
            self.file.of(self.run_in_file).iter().filter(|stretch| *stretch.series == *series).collect();
        let empty = |stretch: &&Stretch| CurvePoints {
            entity: stretch.entity.clone(),
            points: Vec::with_capacity(stretch.rows.len()),
        };
        let mut curves: Vec<CurvePoints> = wanted.iter().map(empty).collect();
        if wanted.is_empty() {
            return Ok(curves);
        }
        let path = &self.file.path;
        let selection = self.file.select(wanted.iter().map(|stretch| stretch.rows.clone()));
        let mut index = 0;
        for batch in reader(path, &["time_ps", "value"], Some(selection))? {
            let batch = batch.map_err(|error| unreadable(path, &error))?;
            let columns = Columns { path, batch: &batch };
            let (times, values) = (columns.u64("time_ps")?, columns.f64("value")?);
            for row in 0..batch.num_rows() {
                while curves.get(index).is_some_and(|curve| curve.points.len() == wanted[index].rows.len()) {
                    index += 1;
                }
                if let Some(curve) = curves.get_mut(index) {
                    curve.points.push((times.value(row), values.value(row)));
                }
            }
        }
        Ok(curves)
    }

    /// Hands all rows on in batches, as rows of this run of the result set.
    pub(crate) fn copy(
        &self,
        mut to: impl FnMut(RecordBatch) -> Result<(), ResultsError>,
    ) -> Result<(), ResultsError> {
        let path = &self.file.path;
        let stretches = self.file.of(self.run_in_file);
        let (Some(first), Some(last)) = (stretches.first(), stretches.last()) else { return Ok(()) };
        let selection = self.file.select(std::iter::once(first.rows.start..last.rows.end));
        for batch in reader(path, &["series", "entity", "time_ps", "value"], Some(selection))? {
            let batch = batch.map_err(|error| unreadable(path, &error))?;
            let columns = Columns { path, batch: &batch };
            let run: ArrayRef =
                Arc::new(UInt32Array::from_iter_values(std::iter::repeat_n(self.run, batch.num_rows())));
            let columns: [(&str, ArrayRef, bool); 5] = [
                ("run", run, false),
                ("series", Arc::new(columns.text("series")?.clone()), false),
                ("entity", Arc::new(columns.text("entity")?.clone()), false),
                ("time_ps", Arc::new(columns.u64("time_ps")?.clone()), false),
                ("value", Arc::new(columns.f64("value")?.clone()), false),
            ];
            let copied = RecordBatch::try_from_iter_with_nullable(columns)
                .map_err(|error| damaged(path, error.to_string()))?;
            to(copied)?;
        }
        Ok(())
    }
}

/// One text for all equal ones.
fn shared(names: &mut BTreeSet<Arc<str>>, name: &str) -> Arc<str> {
    if let Some(known) = names.get(name) {
        return known.clone();
    }
    let name: Arc<str> = name.into();
    names.insert(name.clone());
    name
}

/// Reads some columns, of some rows or all.
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
