//! Rows to Arrow columns and back. Column names carry units; a column is nullable where its field is an option.

use crate::{FlowRow, JobRow, ResultsError, RunRow, SeriesRow, Value};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, Float64Array, PrimitiveArray, RecordBatch, StringArray, UInt32Array,
    UInt64Array,
};
use arrow_schema::ArrowError;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Rows that are turned into columns at a time, to bound memory.
pub(crate) const ROWS_A_BATCH: usize = 1 << 16;

/// A row type with its file.
pub(crate) trait Row: Sized {
    /// The rows as columns. The error says which value does not fit.
    fn encode(rows: &[Self]) -> Result<RecordBatch, String>;

    /// The columns as rows; `path` is for messages.
    fn decode(path: &Path, batch: &RecordBatch) -> Result<Vec<Self>, ResultsError>;
}

impl Row for RunRow {
    fn encode(rows: &[Self]) -> Result<RecordBatch, String> {
        let u64s = |field: fn(&RunRow) -> u64| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(field)))
        };
        let f64s = |field: fn(&RunRow) -> f64| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(rows.iter().map(field)))
        };
        let sweeps: Vec<String> = rows.iter().map(|row| sweep_json(&row.sweep)).collect::<Result<_, _>>()?;
        batch([
            ("scheme", texts(rows.iter().map(|row| row.scheme.as_str())), false),
            ("seed", u64s(|row| row.seed), false),
            ("sweep_json", texts(sweeps.iter().map(String::as_str)), false),
            ("flows", u64s(|row| row.flows), false),
            ("flows_finished", u64s(|row| row.flows_finished), false),
            ("fct_mean_us", f64s(|row| row.fct_mean_us), false),
            ("fct_p50_us", f64s(|row| row.fct_p50_us), false),
            ("fct_p99_us", f64s(|row| row.fct_p99_us), false),
            ("fct_max_us", f64s(|row| row.fct_max_us), false),
            ("ideal_fct_max_us", f64s(|row| row.ideal_fct_max_us), false),
            ("slowdown_mean", f64s(|row| row.slowdown_mean), false),
            ("slowdown_p50", f64s(|row| row.slowdown_p50), false),
            ("slowdown_p95", f64s(|row| row.slowdown_p95), false),
            ("slowdown_p99", f64s(|row| row.slowdown_p99), false),
            ("completion_us", f64s(|row| row.completion_us), false),
            ("jobs", u64s(|row| row.jobs), false),
            ("jobs_finished", u64s(|row| row.jobs_finished), false),
            ("cct_mean_us", f64s(|row| row.cct_mean_us), false),
            ("cct_max_us", f64s(|row| row.cct_max_us), false),
            ("drops", u64s(|row| row.drops), false),
            ("link_losses", u64s(|row| row.link_losses), false),
            ("trims", u64s(|row| row.trims), false),
            ("pause_frames", u64s(|row| row.pause_frames), false),
            ("pause_us", f64s(|row| row.pause_us), false),
            ("ecn_marks", u64s(|row| row.ecn_marks), false),
            ("retransmissions", u64s(|row| row.retransmissions), false),
            ("timeouts", u64s(|row| row.timeouts), false),
            ("packet_hops", u64s(|row| row.packet_hops), false),
            ("sim_time_us", f64s(|row| row.sim_time_us), false),
            ("wall_s", f64s(|row| row.wall_s), false),
            ("extra_json", texts(rows.iter().map(|row| extra_json(&row.extra))), false),
            ("digest", texts(rows.iter().map(|row| row.digest.as_str())), false),
        ])
    }

    fn decode(path: &Path, batch: &RecordBatch) -> Result<Vec<Self>, ResultsError> {
        let columns = Columns { path, batch };
        let scheme = columns.text("scheme")?;
        let seed = columns.u64("seed")?;
        let sweep = columns.text("sweep_json")?;
        let flows = columns.u64("flows")?;
        let flows_finished = columns.u64("flows_finished")?;
        let fct_mean_us = columns.f64("fct_mean_us")?;
        let fct_p50_us = columns.f64("fct_p50_us")?;
        let fct_p99_us = columns.f64("fct_p99_us")?;
        let fct_max_us = columns.f64("fct_max_us")?;
        let ideal_fct_max_us = columns.f64("ideal_fct_max_us")?;
        // Formats 2 and 3 lack them; whoever reads the folder computes them from the flows.
        let slowdown_mean = columns.newer("slowdown_mean", Columns::f64)?;
        let slowdown_p50 = columns.newer("slowdown_p50", Columns::f64)?;
        let slowdown_p95 = columns.newer("slowdown_p95", Columns::f64)?;
        let slowdown_p99 = columns.newer("slowdown_p99", Columns::f64)?;
        let completion_us = columns.f64("completion_us")?;
        let jobs = columns.u64("jobs")?;
        // Format 2 lacks it; whoever reads the folder counts it from the jobs.
        let jobs_finished = columns.newer("jobs_finished", Columns::u64)?;
        let cct_mean_us = columns.f64("cct_mean_us")?;
        let cct_max_us = columns.f64("cct_max_us")?;
        let drops = columns.u64("drops")?;
        let link_losses = columns.u64("link_losses")?;
        let trims = columns.u64("trims")?;
        let pause_frames = columns.u64("pause_frames")?;
        let pause_us = columns.f64("pause_us")?;
        let ecn_marks = columns.u64("ecn_marks")?;
        let retransmissions = columns.u64("retransmissions")?;
        let timeouts = columns.u64("timeouts")?;
        let packet_hops = columns.u64("packet_hops")?;
        let sim_time_us = columns.f64("sim_time_us")?;
        let wall_s = columns.f64("wall_s")?;
        let extra = columns.text("extra_json")?;
        let digest = columns.text("digest")?;
        (0..batch.num_rows())
            .map(|row| {
                Ok(RunRow {
                    scheme: scheme.value(row).to_owned(),
                    seed: seed.value(row),
                    sweep: columns.json("sweep_json", row, sweep.value(row))?,
                    flows: flows.value(row),
                    flows_finished: flows_finished.value(row),
                    fct_mean_us: fct_mean_us.value(row),
                    fct_p50_us: fct_p50_us.value(row),
                    fct_p99_us: fct_p99_us.value(row),
                    fct_max_us: fct_max_us.value(row),
                    ideal_fct_max_us: ideal_fct_max_us.value(row),
                    slowdown_mean: slowdown_mean.map_or(0.0, |column| column.value(row)),
                    slowdown_p50: slowdown_p50.map_or(0.0, |column| column.value(row)),
                    slowdown_p95: slowdown_p95.map_or(0.0, |column| column.value(row)),
                    slowdown_p99: slowdown_p99.map_or(0.0, |column| column.value(row)),
                    completion_us: completion_us.value(row),
                    jobs: jobs.value(row),
                    jobs_finished: jobs_finished.map_or(0, |column| column.value(row)),
                    cct_mean_us: cct_mean_us.value(row),
                    cct_max_us: cct_max_us.value(row),
                    drops: drops.value(row),
                    link_losses: link_losses.value(row),
                    trims: trims.value(row),
                    pause_frames: pause_frames.value(row),
                    pause_us: pause_us.value(row),
                    ecn_marks: ecn_marks.value(row),
                    retransmissions: retransmissions.value(row),
                    timeouts: timeouts.value(row),
                    packet_hops: packet_hops.value(row),
                    sim_time_us: sim_time_us.value(row),
                    wall_s: wall_s.value(row),
                    extra: extra_values(columns.json("extra_json", row, extra.value(row))?),
                    digest: digest.value(row).to_owned(),
                })
            })
            .collect()
    }
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
        // Formats 2 and 3 lack these.
        let group = columns.newer("group", Columns::text)?;
        let packets = columns.newer("packets", Columns::u64)?;
        let retransmissions = columns.newer("retransmissions", Columns::nullable_u32)?;
        let timeouts = columns.newer("timeouts", Columns::nullable_u32)?;
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
                group: group.map_or(Cow::Borrowed(""), |column| FlowRow::group_named(column.value(row))),
                packets: packets.map_or(0, |column| column.value(row)),
                retransmissions: retransmissions.and_then(|column| option(column, row)),
                timeouts: timeouts.and_then(|column| option(column, row)),
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
        let cct_ps = columns.nullable_u64("cct_ps")?;
        Ok((0..batch.num_rows())
            .map(|row| JobRow {
                run: run.value(row),
                job: job.value(row),
                algorithm: algorithm.value(row).to_owned(),
                ranks: ranks.value(row),
                bytes: bytes.value(row),
                start_ps: start_ps.value(row),
                cct_ps: option(cct_ps, row),
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

fn batch<const N: usize>(columns: [(&'static str, ArrayRef, bool); N]) -> Result<RecordBatch, String> {
    RecordBatch::try_from_iter_with_nullable(columns).map_err(|error: ArrowError| error.to_string())
}

fn option<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    array.is_valid(row).then(|| array.value(row))
}

fn texts<T: AsRef<str>>(values: impl Iterator<Item = T>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

/// Swept values are JSON as in the scenario: JSON has no infinity, and no scenario sweeps one.
fn sweep_json(sweep: &BTreeMap<String, Value>) -> Result<String, String> {
    for (name, value) in sweep {
        if matches!(value, Value::Number(number) if !number.is_finite()) {
            return Err(format!(
                "the swept parameter `{name}` has the value {value}; expected a finite number"
            ));
        }
    }
    serde_json::to_string(sweep).map_err(|error| error.to_string())
}

/// A number of [`RunRow::extra`] in JSON; those that JSON lacks are texts, so that no measurement is lost.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
enum Extra {
    Finite(f64),
    Other(Special),
}

#[derive(serde::Serialize, serde::Deserialize)]
enum Special {
    #[serde(rename = "NaN")]
    NotANumber,
    #[serde(rename = "inf")]
    Infinity,
    #[serde(rename = "-inf")]
    MinusInfinity,
}

fn extra_json(extra: &BTreeMap<String, f64>) -> String {
    let values: serde_json::Map<String, serde_json::Value> = extra
        .iter()
        .map(|(name, &value)| {
            let json = match value {
                value if value.is_nan() => "NaN".into(),
                f64::INFINITY => "inf".into(),
                f64::NEG_INFINITY => "-inf".into(),
                value => value.into(),
            };
            (name.clone(), json)
        })
        .collect();
    serde_json::Value::Object(values).to_string()
}

fn extra_values(extra: BTreeMap<String, Extra>) -> BTreeMap<String, f64> {
    extra
        .into_iter()
        .map(|(name, value)| {
            let number = match value {
                Extra::Finite(number) => number,
                Extra::Other(Special::NotANumber) => f64::NAN,
                Extra::Other(Special::Infinity) => f64::INFINITY,
                Extra::Other(Special::MinusInfinity) => f64::NEG_INFINITY,
            };
            (name, number)
        })
        .collect()
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

    pub(crate) fn text(&self, column: &'static str) -> Result<&'a StringArray, ResultsError> {
        self.typed(column, "Utf8", false)
    }

    /// A column that earlier formats lack.
    fn newer<A>(
        &self,
        column: &'static str,
        read: fn(&Self, &'static str) -> Result<A, ResultsError>,
    ) -> Result<Option<A>, ResultsError> {
        self.batch.column_by_name(column).map(|_| read(self, column)).transpose()
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

    fn json<T: serde::de::DeserializeOwned>(
        &self,
        column: &str,
        row: usize,
        text: &str,
    ) -> Result<T, ResultsError> {
        serde_json::from_str(text).map_err(|error| ResultsError::Damaged {
            path: self.path.to_owned(),
            why: format!("column `{column}`, row {row}: {error}"),
        })
    }
}
