//! Rows to Arrow columns and back. Column names carry units; a column is nullable where its field is an option.

use crate::{FlowRow, JobRow, PartRow, ResultsError, RunRow, SeriesRow};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, Float64Array, PrimitiveArray, RecordBatch,
    StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{Field, Schema};
use std::path::Path;
use std::sync::Arc;

/// Rows that are encoded at a time, to bound memory.
pub(crate) const ROWS_A_BATCH: usize = 1 << 16;

/// A table of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// A row per run.
    Runs,
    /// A row per message.
    Flows,
    /// A row per job of a collective.
    Jobs,
    /// A row per rank and collective of a job from a trace.
    Parts,
    /// A row per point of a measured curve.
    Series,
    /// A row per fault of each run.
    Faults,
}

/// A row type that has a file, with the number of its run as the first column.
pub(crate) trait Row: Sized {
    /// The rows as columns. The error says which value does not fit.
    fn encode(rows: &[Self]) -> Result<RecordBatch, String>;

    /// The columns as rows; `path` is for messages.
    fn decode(path: &Path, batch: &RecordBatch) -> Result<Vec<Self>, ResultsError>;
}

impl Row for FlowRow {
    fn encode(rows: &[Self]) -> Result<RecordBatch, String> {
        let u32s = |field: fn(&FlowRow) -> u32| -> ArrayRef {
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(field)))
        };
        let u64s = |field: fn(&FlowRow) -> u64| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(field)))
        };
        let options = |field: fn(&FlowRow) -> Option<u64>| -> ArrayRef {
            Arc::new(UInt64Array::from_iter(rows.iter().map(field)))
        };
        let counts = |field: fn(&FlowRow) -> Option<u32>| -> ArrayRef {
            Arc::new(UInt32Array::from_iter(rows.iter().map(field)))
        };
        batch([
            ("run", u32s(|row| row.run), false),
            ("flow", u32s(|row| row.flow), false),
            ("qp", u32s(|row| row.qp), false),
            ("src", u32s(|row| row.src), false),
            ("dst", u32s(|row| row.dst), false),
            ("bytes", u64s(|row| row.bytes), false),
            ("start_ps", options(|row| row.start_ps), true),
            ("delivery_ps", options(|row| row.delivery_ps), true),
            ("fct_ps", options(|row| row.fct_ps), true),
            ("ideal_fct_ps", u64s(|row| row.ideal_fct_ps), false),
            ("group", texts(rows.iter().map(|row| row.group.as_ref())), false),
            ("packets", u64s(|row| row.packets), false),
            ("retransmissions", counts(|row| row.retransmissions), true),
            ("timeouts", counts(|row| row.timeouts), true),
            ("path_changes", counts(|row| row.path_changes), true),
            ("lost", counts(|row| row.lost), true),
        ])
    }

    fn decode(path: &Path, batch: &RecordBatch) -> Result<Vec<Self>, ResultsError> {
        let columns = Columns { path, batch };
        let run = columns.u32("run")?;
        let flow = columns.u32("flow")?;
        let qp = columns.u32("qp")?;
        let src = columns.u32("src")?;
        let dst = columns.u32("dst")?;
        let bytes = columns.u64("bytes")?;
        let start_ps = columns.nullable_u64("start_ps")?;
        let delivery_ps = columns.nullable_u64("delivery_ps")?;
        let fct_ps = columns.nullable_u64("fct_ps")?;
        let ideal_fct_ps = columns.u64("ideal_fct_ps")?;
        let group = columns.text("group")?;
        let packets = columns.u64("packets")?;
        let retransmissions = columns.nullable_u32("retransmissions")?;
        let timeouts = columns.nullable_u32("timeouts")?;
        let path_changes = columns.nullable_u32("path_changes")?;
        let lost = columns.nullable_u32("lost")?;
        Ok((0..batch.num_rows())
            .map(|row| FlowRow {
                run: run.value(row),
                flow: flow.value(row),
                qp: qp.value(row),
                src: src.value(row),
                dst: dst.value(row),
                bytes: bytes.value(row),
                start_ps: option(start_ps, row),
                delivery_ps: option(delivery_ps, row),
                fct_ps: option(fct_ps, row),
                ideal_fct_ps: ideal_fct_ps.value(row),
                group: FlowRow::group_named(group.value(row)),
                packets: packets.value(row),
                retransmissions: option(retransmissions, row),
                timeouts: option(timeouts, row),
                path_changes: option(path_changes, row),
                lost: option(lost, row),
            })
            .collect())
    }
}

impl Row for JobRow {
    fn encode(rows: &[Self]) -> Result<RecordBatch, String> {
        batch([
            ("run", Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| row.run))), false),
            ("job", Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| row.job))), false),
            ("algorithm", texts(rows.iter().map(|row| row.algorithm.as_str())), false),
            ("ranks", Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| row.ranks))), false),
            ("bytes", Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.bytes))), false),
            ("start_ps", Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.start_ps))), false),
            (
                "ideal_cct_ps",
                Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.ideal_cct_ps))),
                false,
            ),
            ("cct_ps", Arc::new(UInt64Array::from_iter(rows.iter().map(|row| row.cct_ps))), true),
        ])
    }

    fn decode(path: &Path, batch: &RecordBatch) -> Result<Vec<Self>, ResultsError> {
        let columns = Columns { path, batch };
        let run = columns.u32("run")?;
        let job = columns.u32("job")?;
        let algorithm = columns.text("algorithm")?;
        let ranks = columns.u32("ranks")?;
        let bytes = columns.u64("bytes")?;
        let start_ps = columns.u64("start_ps")?;
        let ideal_cct_ps = columns.u64("ideal_cct_ps")?;
        let cct_ps = columns.nullable_u64("cct_ps")?;
        Ok((0..batch.num_rows())
            .map(|row| JobRow {
                run: run.value(row),
                job: job.value(row),
                algorithm: algorithm.value(row).to_owned(),
                ranks: ranks.value(row),
                bytes: bytes.value(row),
                start_ps: start_ps.value(row),
                ideal_cct_ps: ideal_cct_ps.value(row),
                cct_ps: option(cct_ps, row),
            })
            .collect())
    }
}

impl Row for PartRow {
    fn encode(rows: &[Self]) -> Result<RecordBatch, String> {
        let u32s = |field: fn(&PartRow) -> u32| -> ArrayRef {
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(field)))
        };
        let u64s = |field: fn(&PartRow) -> u64| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(field)))
        };
        let options = |field: fn(&PartRow) -> Option<u64>| -> ArrayRef {
            Arc::new(UInt64Array::from_iter(rows.iter().map(field)))
        };
        batch([
            ("run", u32s(|row| row.run), false),
            ("job", u32s(|row| row.job), false),
            ("part", texts(rows.iter().map(|row| row.part.as_str())), false),
            ("number", u32s(|row| row.number), false),
            ("host", Arc::new(UInt32Array::from_iter(rows.iter().map(|row| row.host))), true),
            ("algorithm", texts(rows.iter().map(|row| row.algorithm.as_str())), false),
            ("place", options(|row| row.place), true),
            ("ranks", u32s(|row| row.ranks), false),
            ("bytes", u64s(|row| row.bytes), false),
            ("start_ps", options(|row| row.start_ps), true),
            ("end_ps", options(|row| row.end_ps), true),
            ("compute_ps", u64s(|row| row.compute_ps), false),
            ("exposed_ps", u64s(|row| row.exposed_ps), false),
        ])
    }

    fn decode(path: &Path, batch: &RecordBatch) -> Result<Vec<Self>, ResultsError> {
        let columns = Columns { path, batch };
        let u32s = |name| columns.u32(name);
        let u64s = |name| columns.u64(name);
        let (run, job, number, ranks) = (u32s("run")?, u32s("job")?, u32s("number")?, u32s("ranks")?);
        let (part, algorithm) = (columns.text("part")?, columns.text("algorithm")?);
        let (host, place) = (columns.nullable_u32("host")?, columns.nullable_u64("place")?);
        let (start_ps, end_ps) = (columns.nullable_u64("start_ps")?, columns.nullable_u64("end_ps")?);
        let (bytes, compute_ps, exposed_ps) = (u64s("bytes")?, u64s("compute_ps")?, u64s("exposed_ps")?);
        Ok((0..batch.num_rows())
            .map(|row| PartRow {
                run: run.value(row),
                job: job.value(row),
                part: part.value(row).to_owned(),
                number: number.value(row),
                host: option(host, row),
                algorithm: algorithm.value(row).to_owned(),
                place: option(place, row),
                ranks: ranks.value(row),
                bytes: bytes.value(row),
                start_ps: option(start_ps, row),
                end_ps: option(end_ps, row),
                compute_ps: compute_ps.value(row),
                exposed_ps: exposed_ps.value(row),
            })
            .collect())
    }
}

impl Row for SeriesRow {
    fn encode(rows: &[Self]) -> Result<RecordBatch, String> {
        batch([
            ("run", Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| row.run))), false),
            ("series", texts(rows.iter().map(|row| row.series.as_str())), false),
            ("entity", texts(rows.iter().map(|row| row.entity.as_str())), false),
            ("time_ps", Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.time_ps))), false),
            ("value", Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| row.value))), false),
        ])
    }

    fn decode(path: &Path, batch: &RecordBatch) -> Result<Vec<Self>, ResultsError> {
        let columns = Columns { path, batch };
        let run = columns.u32("run")?;
        let series = columns.text("series")?;
        let entity = columns.text("entity")?;
        let time_ps = columns.u64("time_ps")?;
        let value = columns.f64("value")?;
        Ok((0..batch.num_rows())
            .map(|row| SeriesRow {
                run: run.value(row),
                series: series.value(row).to_owned(),
                entity: entity.value(row).to_owned(),
                time_ps: time_ps.value(row),
                value: value.value(row),
            })
            .collect())
    }
}

/// A column with its name, type and metadata.
pub(crate) type Column = (Field, ArrayRef);

pub(crate) fn column(name: &str, values: ArrayRef, nullable: bool) -> Column {
    (Field::new(name, values.data_type().clone(), nullable), values)
}

/// A batch of columns of equal length.
pub(crate) fn batch_of(columns: Vec<Column>) -> Result<RecordBatch, String> {
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    let schema = Arc::new(Schema::new(fields));
    RecordBatch::try_new(schema, columns).map_err(|error| error.to_string())
}

pub(crate) fn batch<const N: usize>(columns: [(&str, ArrayRef, bool); N]) -> Result<RecordBatch, String> {
    batch_of(columns.into_iter().map(|(name, values, nullable)| column(name, values, nullable)).collect())
}

fn option<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    array.is_valid(row).then(|| array.value(row))
}

pub(crate) fn texts<T: AsRef<str>>(values: impl Iterator<Item = T>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

/// The columns that every run has, its number first, except for scheme, seed and swept values.
pub(crate) fn fixed_columns(rows: &[RunRow]) -> Vec<Column> {
    let u64s = |field: fn(&RunRow) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(field)))
    };
    let f64s = |field: fn(&RunRow) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(rows.iter().map(field)))
    };
    let columns = [
        ("run", Arc::new(UInt32Array::from_iter_values(0..rows.len() as u32)) as ArrayRef),
        ("flows", u64s(|row| row.flows)),
        ("flows_finished", u64s(|row| row.flows_finished)),
        ("fct_mean_us", f64s(|row| row.fct_mean_us)),
        ("fct_p50_us", f64s(|row| row.fct_p50_us)),
        ("fct_p99_us", f64s(|row| row.fct_p99_us)),
        ("fct_max_us", f64s(|row| row.fct_max_us)),
        ("ideal_fct_max_us", f64s(|row| row.ideal_fct_max_us)),
        ("slowdown_mean", f64s(|row| row.slowdown_mean)),
        ("slowdown_p50", f64s(|row| row.slowdown_p50)),
        ("slowdown_p95", f64s(|row| row.slowdown_p95)),
        ("slowdown_p99", f64s(|row| row.slowdown_p99)),
        ("completion_us", f64s(|row| row.completion_us)),
        ("jobs", u64s(|row| row.jobs)),
        ("jobs_finished", u64s(|row| row.jobs_finished)),
        ("cct_mean_us", f64s(|row| row.cct_mean_us)),
        ("cct_max_us", f64s(|row| row.cct_max_us)),
        ("ideal_cct_max_us", f64s(|row| row.ideal_cct_max_us)),
        ("queue_p99_bytes", u64s(|row| row.queue_p99_bytes)),
        ("peak_queue_bytes", u64s(|row| row.peak_queue_bytes)),
        ("peak_queue_link", texts(rows.iter().map(|row| row.peak_queue_link.as_str()))),
        ("drops", u64s(|row| row.drops)),
        ("link_losses", u64s(|row| row.link_losses)),
        ("trims", u64s(|row| row.trims)),
        ("pause_frames", u64s(|row| row.pause_frames)),
        ("pause_us", f64s(|row| row.pause_us)),
        ("ecn_marks", u64s(|row| row.ecn_marks)),
        ("retransmissions", u64s(|row| row.retransmissions)),
        ("timeouts", u64s(|row| row.timeouts)),
        ("packet_hops", u64s(|row| row.packet_hops)),
        ("sim_time_us", f64s(|row| row.sim_time_us)),
        ("wall_s", f64s(|row| row.wall_s)),
        ("digest", texts(rows.iter().map(|row| row.digest.as_str()))),
    ];
    let baseline = BooleanArray::from_iter(rows.iter().map(|row| Some(row.baseline)));
    let recovery = Float64Array::from_iter(rows.iter().map(|row| row.time_to_recover_us));
    let mut columns: Vec<Column> =
        columns.into_iter().map(|(name, values)| column(name, values, false)).collect();
    let before_digest = columns.len() - 1;
    columns.splice(
        before_digest..before_digest,
        [
            column("baseline", Arc::new(baseline), false),
            column("time_to_recover_us", Arc::new(recovery), true),
        ],
    );
    columns
}

/// Looks columns up by name and type.
pub(crate) struct Columns<'a> {
    pub path: &'a Path,
    pub batch: &'a RecordBatch,
}

impl<'a> Columns<'a> {
    pub(crate) fn u32(&self, column: &'static str) -> Result<&'a UInt32Array, ResultsError> {
        self.typed(column, "UInt32", false)
    }

    fn nullable_u32(&self, column: &'static str) -> Result<&'a UInt32Array, ResultsError> {
        self.typed(column, "UInt32", true)
    }

    pub(crate) fn u64(&self, column: &'static str) -> Result<&'a UInt64Array, ResultsError> {
        self.typed(column, "UInt64", false)
    }

    fn nullable_u64(&self, column: &'static str) -> Result<&'a UInt64Array, ResultsError> {
        self.typed(column, "UInt64", true)
    }

    pub(crate) fn f64(&self, column: &'static str) -> Result<&'a Float64Array, ResultsError> {
        self.typed(column, "Float64", false)
    }

    pub(crate) fn nullable_f64(&self, column: &'static str) -> Result<&'a Float64Array, ResultsError> {
        self.typed(column, "Float64", true)
    }

    pub(crate) fn boolean(&self, column: &'static str) -> Result<&'a BooleanArray, ResultsError> {
        self.typed(column, "Boolean", false)
    }

    pub(crate) fn text(&self, column: &'static str) -> Result<&'a StringArray, ResultsError> {
        self.typed(column, "Utf8", false)
    }

    fn typed<A: Array + 'static>(
        &self,
        column: &'static str,
        expected: &'static str,
        nullable: bool,
    ) -> Result<&'a A, ResultsError> {
        let path = || self.path.to_owned();
        let array = self.batch.column_by_name(column).ok_or_else(|| ResultsError::MissingColumn {
            path: path(),
            column,
            expected,
        })?;
        if !nullable && array.null_count() > 0 {
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
