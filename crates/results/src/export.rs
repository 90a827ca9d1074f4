//! Export of tables of results as comma-separated values.

use crate::columns::Table;
use crate::curves::unreadable;
use crate::files::{check_file, read_manifest};
use crate::{ResultsError, error::damaged};
use arrow_array::{
    Array, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Writes a table of the results in `dir` as comma-separated values: a line of column names, then a line for each row.
/// A null is written as an empty cell, and a number as text that parses to the same number.
///
/// # Errors
/// `dir` holds no complete results, the table's file cannot be read, or `out` refuses a write
/// ([`ResultsError::Write`]).
pub fn write_csv(dir: &Path, table: Table, out: &mut dyn Write) -> Result<(), ResultsError> {
    let name = table.file();
    check_file(dir, name, &read_manifest(dir)?)?;
    let path = dir.join(name);
    let file = File::open(&path).map_err(|source| ResultsError::Read { path: path.clone(), source })?;
    let builder =
        ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| unreadable(&path, &error))?;
    let mut csv = csv::Writer::from_writer(out);
    let refused = |error: csv::Error| {
        let source = match error.into_kind() {
            csv::ErrorKind::Io(source) => source,
            other => io::Error::other(format!("{other:?}")),
        };
        ResultsError::Write { path: path.clone(), source }
    };
    csv.write_record(builder.schema().fields().iter().map(|field| field.name())).map_err(refused)?;
    let mut text = String::new();
    for batch in builder.build().map_err(|error| unreadable(&path, &error))? {
        let batch = batch.map_err(|error| unreadable(&path, &error))?;
        for row in 0..batch.num_rows() {
            for column in 0..batch.num_columns() {
                text.clear();
                cell(&batch, row, column, &mut text).ok_or_else(|| {
                    let schema = batch.schema();
                    let field = schema.field(column);
                    damaged(&path, format!("column `{}` has type {}", field.name(), field.data_type()))
                })?;
                csv.write_field(&text).map_err(refused)?;
            }
            csv.write_record(None::<&[u8]>).map_err(refused)?;
        }
    }
    csv.flush().map_err(|source| ResultsError::Write { path: path.clone(), source })
}

/// Appends a value to `text`, or returns none if result files have no columns of its type.
fn cell(batch: &RecordBatch, row: usize, column: usize, text: &mut String) -> Option<()> {
    use std::fmt::Write as _;
    let array = batch.column(column);
    if array.is_null(row) {
        return Some(());
    }
    let any = array.as_any();
    macro_rules! of {
        ($($type:ty),*) => {
            $(if let Some(array) = any.downcast_ref::<$type>() {
                return write!(text, "{}", array.value(row)).ok();
            })*
        };
    }
    of!(UInt32Array, UInt64Array, Int64Array, Float64Array, StringArray, BooleanArray);
    None
}
