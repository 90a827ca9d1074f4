//! Conversion of rows to Arrow columns and back.

use crate::declared::{CellType, Column, Columns, group_named};
use crate::error::ResultsError;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{Field, Schema};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// A row type that is stored in a file.
pub(crate) trait Row: Sized {
    fn encode(rows: &[Self]) -> Result<RecordBatch, String>;

    fn decode(path: &Path, batch: &RecordBatch) -> Result<Vec<Self>, ResultsError>;
}

impl<R: Stored> Row for R {
    fn encode(rows: &[Self]) -> Result<RecordBatch, String> {
        batch_of(R::named(false, &rows.iter().collect::<Vec<_>>()))
    }

    fn decode(path: &Path, batch: &RecordBatch) -> Result<Vec<Self>, ResultsError> {
        R::rows(&Batch { path, batch })
    }
}

/// A row type whose columns are stored in a file. The macro `columns!` implements this trait.
pub(crate) trait Stored: Columns + Sized {
    /// The values of each column, in the order of the fields.
    fn arrays(rows: &[&Self]) -> Vec<(&'static Column, ArrayRef)>;

    fn rows(batch: &Batch<'_>) -> Result<Vec<Self>, ResultsError>;

    /// The columns in the order of the file. With `key`, they are the columns that identify the run. Without `key`,
    /// they are all other columns.
    fn named(key: bool, rows: &[&Self]) -> Vec<NamedArray> {
        let mut arrays = Self::arrays(rows);
        arrays.retain(|(declared, _)| declared.key == key);
        arrays.sort_by_key(|(declared, _)| declared.last);
        arrays
            .into_iter()
            .map(|(declared, values)| column(declared.name, values, declared.nullable))
            .collect()
    }
}

pub(crate) type NamedArray = (Field, ArrayRef);

pub(crate) fn column(name: &str, values: ArrayRef, nullable: bool) -> NamedArray {
    (Field::new(name, values.data_type().clone(), nullable), values)
}

pub(crate) fn batch_of(columns: Vec<NamedArray>) -> Result<RecordBatch, String> {
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    let schema = Arc::new(Schema::new(fields));
    RecordBatch::try_new(schema, columns).map_err(|error| error.to_string())
}

/// The type of a field that is a column, with its representation in Arrow.
pub(crate) trait ArrowCell: CellType + Sized {
    type Array: Array + 'static;

    fn array<'a>(cells: impl Iterator<Item = &'a Self>) -> ArrayRef
    where
        Self: 'a;

    fn value(array: &Self::Array, row: usize) -> Self;
}

macro_rules! arrow_numbers {
    ($($type:ty: $array:ident),*) => { $(
        impl ArrowCell for $type {
            type Array = $array;

            fn array<'a>(cells: impl Iterator<Item = &'a Self>) -> ArrayRef {
                Arc::new($array::from_iter_values(cells.copied()))
            }
            fn value(array: &$array, row: usize) -> Self {
                array.value(row)
            }
        }

        impl ArrowCell for Option<$type> {
            type Array = $array;

            fn array<'a>(cells: impl Iterator<Item = &'a Self>) -> ArrayRef {
                Arc::new($array::from_iter(cells.copied()))
            }
            fn value(array: &$array, row: usize) -> Self {
                array.is_valid(row).then(|| array.value(row))
            }
        }
    )* };
}

arrow_numbers!(u32: UInt32Array, u64: UInt64Array, f64: Float64Array);

impl ArrowCell for bool {
    type Array = BooleanArray;

    fn array<'a>(cells: impl Iterator<Item = &'a Self>) -> ArrayRef {
        Arc::new(BooleanArray::from_iter(cells.map(|cell| Some(*cell))))
    }
    fn value(array: &BooleanArray, row: usize) -> Self {
        array.value(row)
    }
}

impl ArrowCell for String {
    type Array = StringArray;

    fn array<'a>(cells: impl Iterator<Item = &'a Self>) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(cells))
    }
    fn value(array: &StringArray, row: usize) -> Self {
        array.value(row).to_owned()
    }
}

/// Groups of flows are stored as text.
impl ArrowCell for Cow<'static, str> {
    type Array = StringArray;

    fn array<'a>(cells: impl Iterator<Item = &'a Self>) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(cells))
    }
    fn value(array: &StringArray, row: usize) -> Self {
        group_named(array.value(row))
    }
}

/// A batch of rows from a file. Its columns are looked up by name and type.
pub(crate) struct Batch<'a> {
    pub path: &'a Path,
    pub batch: &'a RecordBatch,
}

impl<'a> Batch<'a> {
    pub(crate) fn cells<T: ArrowCell>(&self, column: &'static str) -> Result<&'a T::Array, ResultsError> {
        let path = || self.path.to_owned();
        let expected = T::KIND.name();
        let array = self.batch.column_by_name(column).ok_or_else(|| ResultsError::MissingColumn {
            path: path(),
            column,
            expected,
        })?;
        if !T::NULLABLE && array.null_count() > 0 {
            let why = format!("column `{column}` holds nulls");
            return Err(ResultsError::Damaged { path: path(), why });
        }
        array.as_any().downcast_ref().ok_or_else(|| ResultsError::ColumnType {
            path: path(),
            column,
            found: array.data_type().to_string(),
            expected,
        })
    }
}
