//! The columns that identify the run of each row of a table. With them, no query needs a join.

use crate::columns::fixed_columns;
use crate::error::damaged;
use crate::stored::{NamedArray, Row, Stored, batch_of, column};
use crate::{FlowRow, JobRow, PartRow, ResultsError, RunRow, SeriesRow, Value};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array,
};
use arrow_schema::Field;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// The metadata key under which a column stores the name of its swept parameter.
const PARAMETER: &str = "anabranch.sweep";
/// The metadata key under which a column stores the value of each run as JSON, if some value has another type than the
/// column.
const AS_WRITTEN: &str = "anabranch.as-written";

/// The scheme, the seed and the swept values of each run, as columns with a value for each run.
#[derive(Clone)]
pub(crate) struct RunKeys(Vec<NamedArray>);

impl RunKeys {
    /// The keys of `runs`. The error states the value that cannot be stored.
    pub(crate) fn of(runs: &[RunRow]) -> Result<RunKeys, String> {
        let mut columns = RunRow::named(true, &runs.iter().collect::<Vec<_>>());
        let mut names = ColumnNames::reserving(&columns)?;
        let parameters: BTreeSet<&String> = runs.iter().flat_map(|run| run.sweep.keys()).collect();
        for parameter in parameters {
            let values: Vec<Option<&Value>> = runs.iter().map(|run| run.sweep.get(parameter)).collect();
            columns.push(swept(names.unique("sweep", parameter), parameter, &values)?);
        }
        Ok(RunKeys(columns))
    }

    /// Adds a column that states whether the run is a baseline, for tables that also have rows of baselines.
    pub(crate) fn with_baseline(mut self, runs: &[RunRow]) -> RunKeys {
        let baseline = BooleanArray::from_iter(runs.iter().map(|run| Some(run.baseline)));
        self.0.push(column("baseline", Arc::new(baseline), false));
        self
    }

    /// Inserts the columns of the keys after the first column of `rows`, which must be the number of the run.
    pub(crate) fn added_to(&self, rows: &RecordBatch) -> Result<RecordBatch, String> {
        let runs: Option<&UInt32Array> = rows.column(0).as_any().downcast_ref();
        let runs = runs.expect("the first column is the number of the run");
        let count = self.0[0].1.len();
        if let Some(run) = runs.values().iter().find(|run| **run as usize >= count) {
            return Err(format!("a row belongs to run {run}, but there are {count} runs"));
        }
        let schema = rows.schema();
        let mut columns: Vec<NamedArray> = schema
            .fields()
            .iter()
            .zip(rows.columns())
            .map(|(f, c)| (f.as_ref().clone(), c.clone()))
            .collect();
        let mut keys = Vec::with_capacity(self.0.len());
        for (field, values) in &self.0 {
            let values = arrow_select::take::take(values, runs, None).map_err(|error| error.to_string())?;
            keys.push((field.clone(), values));
        }
        columns.splice(1..1, keys);
        batch_of(columns)
    }
}

/// Names of columns, none of which a table may use twice. They are compared without regard to case, because some
/// readers do not distinguish `A` from `a`.
pub(crate) struct ColumnNames(BTreeSet<String>);

impl ColumnNames {
    /// Reserves the names of `columns` and of the declared columns of all tables except the table of faults.
    fn reserving(columns: &[NamedArray]) -> Result<ColumnNames, String> {
        let tables =
            [FlowRow::encode(&[])?, JobRow::encode(&[])?, PartRow::encode(&[])?, SeriesRow::encode(&[])?];
        let mut own: Vec<String> = tables
            .iter()
            .flat_map(|table| table.schema().fields().iter().map(|f| f.name().clone()).collect::<Vec<_>>())
            .collect();
        own.extend(fixed_columns(&[]).iter().chain(columns).map(|(field, _)| field.name().clone()));
        Ok(ColumnNames(own.into_iter().map(|name| name.to_lowercase()).collect()))
    }

    pub(crate) fn reserving_keys(keys: &RunKeys) -> Result<ColumnNames, String> {
        ColumnNames::reserving(&keys.0)
    }

    /// The name `name`, prefixed with `what.` until no other column has it.
    pub(crate) fn unique(&mut self, what: &str, name: &str) -> String {
        let mut name = name.to_owned();
        while !self.0.insert(name.to_lowercase()) {
            name = format!("{what}.{name}");
        }
        name
    }
}

/// A column of a swept parameter. It contains truth values if all values are truth values, numbers if all values are
/// numbers, and otherwise text.
fn swept(name: String, parameter: &str, values: &[Option<&Value>]) -> Result<NamedArray, String> {
    let infinite = |value: &&Value| matches!(value, Value::Number(number) if !number.is_finite());
    if let Some(value) = values.iter().flatten().copied().find(infinite) {
        return Err(format!(
            "the swept parameter `{parameter}` has the value {value}; expected a finite number"
        ));
    }
    let all = |is: fn(&Value) -> bool| values.iter().flatten().all(|value| is(value));
    let values_of = values.iter().copied();
    let (array, exact): (ArrayRef, bool) = if all(|value| matches!(value, Value::Bool(_))) {
        let truth = |value: Option<&Value>| {
            value.and_then(|value| matches!(value, Value::Bool(_)).then(|| *value == Value::Bool(true)))
        };
        (Arc::new(BooleanArray::from_iter(values_of.map(truth))), true)
    } else if all(|value| matches!(value, Value::Integer(_))) {
        let integer = |value: Option<&Value>| match value {
            Some(Value::Integer(number)) => Some(*number),
            _ => None,
        };
        (Arc::new(Int64Array::from_iter(values_of.map(integer))), true)
    } else if all(|value| matches!(value, Value::Integer(_) | Value::Number(_))) {
        let number = |value: Option<&Value>| match value {
            Some(Value::Integer(number)) => Some(*number as f64),
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        };
        (
            Arc::new(Float64Array::from_iter(values_of.map(number))),
            all(|value| matches!(value, Value::Number(_))),
        )
    } else {
        let text = |value: Option<&Value>| value.map(ToString::to_string);
        (Arc::new(StringArray::from_iter(values_of.map(text))), all(|value| matches!(value, Value::Text(_))))
    };
    let mut about = BTreeMap::from([(PARAMETER.to_owned(), parameter.to_owned())]);
    if !exact {
        let written = serde_json::to_string(values).map_err(|error| error.to_string())?;
        about.insert(AS_WRITTEN.to_owned(), written);
    }
    let (field, array) = column(&name, array, true);
    Ok((field.with_metadata(about), array))
}

fn parameter(field: &Field) -> Option<&String> {
    field.metadata().get(PARAMETER)
}

/// The swept values of the runs of `batch`. Earlier batches contain `before` runs.
pub(crate) fn sweeps(
    path: &Path,
    batch: &RecordBatch,
    before: usize,
) -> Result<Vec<BTreeMap<String, Value>>, ResultsError> {
    let mut sweeps = vec![BTreeMap::new(); batch.num_rows()];
    for (field, values) in batch.schema().fields().iter().zip(batch.columns()) {
        let Some(parameter) = parameter(field) else { continue };
        let wrong = |why: &dyn std::fmt::Display| damaged(path, format!("column `{}`: {why}", field.name()));
        let written: Option<Vec<Option<Value>>> = match field.metadata().get(AS_WRITTEN) {
            Some(json) => Some(serde_json::from_str(json).map_err(|error| wrong(&error))?),
            None => None,
        };
        for (row, sweep) in sweeps.iter_mut().enumerate() {
            let value = match &written {
                Some(written) => written.get(before + row).cloned().flatten(),
                None if values.is_null(row) => None,
                None => Some(value_at(values, row).ok_or_else(|| wrong(&values.data_type()))?),
            };
            sweep.extend(value.map(|value| (parameter.clone(), value)));
        }
    }
    Ok(sweeps)
}

fn value_at(values: &ArrayRef, row: usize) -> Option<Value> {
    let values = values.as_any();
    None.or_else(|| Some(Value::Bool(values.downcast_ref::<BooleanArray>()?.value(row))))
        .or_else(|| Some(Value::Integer(values.downcast_ref::<Int64Array>()?.value(row))))
        .or_else(|| Some(Value::Number(values.downcast_ref::<Float64Array>()?.value(row))))
        .or_else(|| Some(Value::Text(values.downcast_ref::<StringArray>()?.value(row).to_owned())))
}
