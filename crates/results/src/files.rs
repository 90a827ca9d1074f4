//! A folder of results.
//!
//! | file | content |
//! |---|---|
//! | `scenario.toml` | the resolved scenario |
//! | `runs.parquet` | one [`RunRow`] a row, with its number (`run`); each swept parameter and each name of `extra` is a column, null in runs that lack it |
//! | `flows.parquet` | one [`FlowRow`] a row; times of events that never happened and unknown counts are null |
//! | `jobs.parquet` | one [`JobRow`] a row; no rows if the workload has no jobs |
//! | `parts.parquet` | one [`PartRow`] a row; no rows if no job has steps, such as computations or transfers over NVLink |
//! | `series.parquet` | one [`SeriesRow`] a row |
//! | `faults.parquet` | one [`FaultRow`](crate::FaultRow) a row |
//! | `facts.json` | the [`ScenarioFacts`](crate::ScenarioFacts) |
//! | `missing.json` | the [`MissingRun`](crate::MissingRun)s, when there are any |
//! | `figure.json` | the [`Figure`](crate::Figure), when there is one |
//! | `answer.json` | the search for a value and its answer ([`SearchAnswer`](crate::SearchAnswer)), when there is one |
//! | `live.json` | the [`LiveRun`](crate::LiveRun) of each run, when the runs are on real packets |
//! | `manifest.json` | the format's number, the title, warnings, and length and digest of the files above; written last |
//!
//! Parquet columns have the names of the fields, which contain units. The rows of all tables have the scheme, the seed
//! and the swept values of their run, so that queries need no join. The column of a swept parameter has the parameter's
//! path as its name (`workload.load`). It contains truth values or numbers if all its values are of that kind, and
//! otherwise text. If another column has the same name, the column of a swept parameter has the prefix `sweep.`, and a
//! column of `extra` has the prefix `extra.`. Pages are compressed with Snappy, and repeated values are stored in a
//! dictionary.

use crate::columns::{ROWS_A_BATCH, Table};
use crate::curves::{CurveFile, FiledCurves};
use crate::digest::{BytesDigest, bytes_digest};
use crate::error::damaged;
use crate::faults::FaultOfRun;
use crate::run_keys::RunKeys;
use crate::runs;
use crate::sink::{FileEntry, RowSink};
use crate::stored::Row;
use crate::{FlowRow, JobRow, PartRow, ResultSet, ResultsError, RunRow, RunWarning, SeriesRow};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::sync::Arc;

/// The number of the file format. Some changes, by format number: 5: the fields of runs that were JSON are columns, and
/// all rows have the keys of their run. 6: baselines, ideal CCTs, recovery, peak queues, and missing runs. 7: data
/// packets that faults hit. 8: each point of a curve has `baseline`, and faults are numbered from 0, as in the paths of
/// keys. 12: facts. 13: warnings of runs and causes of failures are values. 14: bandwidths of collectives.
const FORMAT: u64 = 14;
const MANIFEST: &str = "manifest.json";
const SCENARIO: &str = "scenario.toml";
const FACTS: &str = "facts.json";
pub(crate) const RUNS: &str = "runs.parquet";
pub(crate) const FLOWS: &str = "flows.parquet";
pub(crate) const JOBS: &str = "jobs.parquet";
pub(crate) const PARTS: &str = "parts.parquet";
/// The file of the curves.
pub const SERIES: &str = "series.parquet";
pub(crate) const FAULTS: &str = "faults.parquet";
const FIGURE: &str = "figure.json";
const MISSING: &str = "missing.json";
const ANSWER: &str = "answer.json";
const LIVE: &str = "live.json";
impl ResultSet {
    /// Writes the result files into `dir`, which must exist.
    ///
    /// The manifest is written last, after all other files are on disk, so a folder without a manifest is incomplete.
    /// To let other programs see only complete results, write into a temporary folder and rename it.
    ///
    /// # Errors
    /// A file cannot be written, or a row has a value that its column cannot store, or belongs to no run of the set.
    pub fn write(&self, dir: &Path) -> Result<(), ResultsError> {
        let of_runs = |why: String| ResultsError::Encode { path: dir.join(RUNS), why };
        let keys = RunKeys::of(&self.runs).map_err(of_runs)?;
        let runs = runs::encode(&self.runs, &keys).map_err(of_runs)?;
        let mut files = vec![
            write_file(dir, SCENARIO, self.scenario_toml.as_bytes())?,
            write_file(dir, FACTS, &to_json(dir, FACTS, &self.facts)?)?,
            write_batches(dir, RUNS, &runs.schema(), std::iter::once(Ok(runs.clone())))?,
            write_rows(dir, FLOWS, &self.flows, &keys)?,
            write_rows(dir, JOBS, &self.jobs, &keys)?,
            write_rows(dir, PARTS, &self.parts, &keys)?,
        ];
        if !self.missing.is_empty() {
            files.push(write_file(dir, MISSING, &to_json(dir, MISSING, &self.missing)?)?);
        }
        files.push(write_rows(dir, FAULTS, &FaultOfRun::all(&self.runs), &keys)?);
        files.push(self.write_series(dir, keys)?);
        if let Some(figure) = &self.figure {
            files.push(write_file(dir, FIGURE, &to_json(dir, FIGURE, figure)?)?);
        }
        if let Some(answer) = &self.answer {
            files.push(write_file(dir, ANSWER, &to_json(dir, ANSWER, answer)?)?);
        }
        if !self.live.is_empty() {
            files.push(write_file(dir, LIVE, &to_json(dir, LIVE, &self.live)?)?);
        }
        let warned = self.runs.iter().any(|run| !run.warnings.is_empty());
        let of_runs = self.runs.iter().filter(|_| warned).map(|run| run.warnings.clone());
        let of_runs: Vec<Vec<RunWarning>> = of_runs.collect();
        let as_text = |warnings: &Vec<RunWarning>| warnings.iter().map(RunWarning::to_string).collect();
        let manifest = Manifest {
            format: FORMAT,
            title: self.title.clone(),
            warnings: self.warnings.clone(),
            run_warnings: of_runs.iter().map(as_text).collect(),
            run_warning_values: of_runs,
            files,
        };
        write_file(dir, MANIFEST, &to_json(dir, MANIFEST, &manifest)?)?;
        Ok(())
    }

    /// The rows of a table as the columns of its file. For curves, these are only the rows in memory, not those in
    /// files.
    ///
    /// # Errors
    /// A row has a value that its column cannot store, or belongs to no run of the set.
    pub fn columns(&self, table: Table) -> Result<RecordBatch, String> {
        let keys = RunKeys::of(&self.runs)?;
        match table {
            Table::Runs => runs::encode(&self.runs, &keys),
            Table::Flows => keys.added_to(&FlowRow::encode(&self.flows)?),
            Table::Jobs => keys.added_to(&JobRow::encode(&self.jobs)?),
            Table::Parts => keys.added_to(&PartRow::encode(&self.parts)?),
            Table::Series => keys.with_baseline(&self.runs).added_to(&SeriesRow::encode(&self.series)?),
            Table::Faults => keys.added_to(&FaultOfRun::encode(&FaultOfRun::all(&self.runs))?),
        }
    }

    /// Writes the curves of all runs, in the order of the runs, so that the curves of a run are adjacent.
    fn write_series(&self, dir: &Path, keys: RunKeys) -> Result<FileEntry, ResultsError> {
        let mut sink = RowSink::create(dir.join(SERIES), Some(keys.with_baseline(&self.runs)))?;
        if self.filed.is_empty() {
            sink.rows(&self.series)?;
            return sink.finish(true);
        }
        let mut held = self.series.chunk_by(|a, b| a.run == b.run).peekable();
        for filed in &self.filed {
            while let Some(rows) = held.next_if(|rows| rows[0].run < filed.run) {
                sink.rows(rows)?;
            }
            filed.copy(|batch| sink.batch(batch))?;
        }
        held.try_for_each(|rows| sink.rows(rows))?;
        sink.finish(true)
    }

    /// Reads the files that [`ResultSet::write`] wrote. The curves stay in their file and are read on request.
    ///
    /// # Errors
    /// The errors of [`ResultSet::read`].
    pub fn open(dir: &Path) -> Result<ResultSet, ResultsError> {
        let (mut set, manifest) = ResultSet::read_all_but_curves(dir)?;
        check_file(dir, SERIES, &manifest)?;
        let file = Arc::new(CurveFile::open(&dir.join(SERIES), set.runs.len())?);
        let filed = |run| FiledCurves { run, file: file.clone(), run_in_file: run };
        set.filed = file.runs().into_iter().map(filed).collect();
        Ok(set)
    }

    /// Reads the files that [`ResultSet::write`] wrote, including the curves.
    ///
    /// # Errors
    /// `dir` is not a folder of results, or a file is missing, unreadable, in another format, or not the file
    /// that was written.
    pub fn read(dir: &Path) -> Result<ResultSet, ResultsError> {
        let (mut set, manifest) = ResultSet::read_all_but_curves(dir)?;
        set.series = read_rows::<SeriesRow>(dir, SERIES, &manifest)?;
        check_run_indices(&dir.join(SERIES), set.series.iter().map(|row| row.run), set.runs.len())?;
        Ok(set)
    }

    /// Reads the rows of the runs and their warnings, but not their faults, from the files that [`ResultSet::write`]
    /// wrote.
    ///
    /// # Errors
    /// The errors of [`ResultSet::read`].
    pub fn open_runs(dir: &Path) -> Result<Vec<RunRow>, ResultsError> {
        let manifest = manifest_of(dir)?;
        let mut runs = read_runs(dir, &manifest)?;
        manifest.give_warnings(&mut runs);
        Ok(runs)
    }

    fn read_all_but_curves(dir: &Path) -> Result<(ResultSet, Manifest), ResultsError> {
        let manifest = manifest_of(dir)?;
        let scenario = read_file(dir, SCENARIO, &manifest)?;
        let mut set = ResultSet {
            scenario_toml: String::from_utf8(scenario)
                .map_err(|error| damaged(&dir.join(SCENARIO), error.to_string()))?,
            facts: read_json(dir, FACTS, &manifest)?.unwrap_or_default(),
            runs: read_runs(dir, &manifest)?,
            flows: read_rows::<FlowRow>(dir, FLOWS, &manifest)?,
            jobs: read_rows::<JobRow>(dir, JOBS, &manifest)?,
            parts: read_rows::<PartRow>(dir, PARTS, &manifest)?,
            series: Vec::new(),
            filed: Vec::new(),
            missing: read_json(dir, MISSING, &manifest)?.unwrap_or_default(),
            figure: read_json(dir, FIGURE, &manifest)?,
            answer: read_json(dir, ANSWER, &manifest)?,
            live: read_json(dir, LIVE, &manifest)?.unwrap_or_default(),
            title: manifest.title.clone(),
            warnings: manifest.warnings.clone(),
        };
        if !set.live.is_empty() && set.live.len() != set.runs.len() {
            let lengths = format!("it has {} rows for {} runs", set.live.len(), set.runs.len());
            return Err(damaged(&dir.join(LIVE), lengths));
        }
        check_run_indices(&dir.join(FLOWS), set.flows.iter().map(|row| row.run), set.runs.len())?;
        check_run_indices(&dir.join(JOBS), set.jobs.iter().map(|row| row.run), set.runs.len())?;
        check_run_indices(&dir.join(PARTS), set.parts.iter().map(|row| row.run), set.runs.len())?;
        if manifest.files.iter().any(|file| file.name == FAULTS) {
            let faults = read_rows::<FaultOfRun>(dir, FAULTS, &manifest)?;
            check_run_indices(&dir.join(FAULTS), faults.iter().map(|row| row.run), set.runs.len())?;
            faults.into_iter().for_each(|row| set.runs[row.run as usize].faults.push(row.fault));
        }
        manifest.give_warnings(&mut set.runs);
        Ok((set, manifest))
    }
}

fn manifest_of(dir: &Path) -> Result<Manifest, ResultsError> {
    if !dir.is_dir() {
        let why = if dir.exists() { "it is a file" } else { "it does not exist" };
        return Err(ResultsError::NotResults { path: dir.to_owned(), why });
    }
    read_manifest(dir)
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Manifest {
    format: u64,
    title: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// The warnings of each run as text. The list is empty if no run has a warning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    run_warnings: Vec<Vec<String>>,
    /// The warnings of each run, as values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    run_warning_values: Vec<Vec<RunWarning>>,
    files: Vec<FileEntry>,
}

impl Manifest {
    fn give_warnings(&self, runs: &mut [RunRow]) {
        for (run, warnings) in runs.iter_mut().zip(&self.run_warning_values) {
            run.warnings.clone_from(warnings);
        }
    }
}

fn to_json<T: Serialize>(dir: &Path, name: &str, value: &T) -> Result<Vec<u8>, ResultsError> {
    let mut json = serde_json::to_vec_pretty(value)
        .map_err(|error| ResultsError::Encode { path: dir.join(name), why: error.to_string() })?;
    json.push(b'\n');
    Ok(json)
}

/// The result is none if the manifest does not list the file.
fn read_json<T: serde::de::DeserializeOwned>(
    dir: &Path,
    name: &str,
    manifest: &Manifest,
) -> Result<Option<T>, ResultsError> {
    if !manifest.files.iter().any(|file| file.name == name) {
        return Ok(None);
    }
    let json = read_file(dir, name, manifest)?;
    serde_json::from_slice(&json).map(Some).map_err(|error| damaged(&dir.join(name), error.to_string()))
}

fn write_rows<R: Row>(dir: &Path, name: &str, rows: &[R], keys: &RunKeys) -> Result<FileEntry, ResultsError> {
    let encode = |rows: &[R]| keys.added_to(&R::encode(rows)?);
    let schema = encode(&[]).map_err(|why| ResultsError::Encode { path: dir.join(name), why })?.schema();
    write_batches(dir, name, &schema, rows.chunks(ROWS_A_BATCH).map(encode))
}

/// Builds the file in memory and then writes it, so that errors of the file system are reported directly and not as
/// errors of the encoder.
fn write_batches(
    dir: &Path,
    name: &str,
    schema: &SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch, String>>,
) -> Result<FileEntry, ResultsError> {
    let bytes =
        encode_parquet(schema, batches).map_err(|why| ResultsError::Encode { path: dir.join(name), why })?;
    write_file(dir, name, &bytes)
}

fn encode_parquet(
    schema: &SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch, String>>,
) -> Result<Vec<u8>, String> {
    let text = |error: parquet::errors::ParquetError| error.to_string();
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), schema.clone(), Some(properties)).map_err(text)?;
    for batch in batches {
        writer.write(&batch?).map_err(text)?;
    }
    writer.into_inner().map_err(text)
}

fn write_file(dir: &Path, name: &str, bytes: &[u8]) -> Result<FileEntry, ResultsError> {
    let path = dir.join(name);
    fs::File::create(&path)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        })
        .map_err(|source| ResultsError::Write { path, source })?;
    Ok(FileEntry { name: name.to_owned(), bytes: bytes.len() as u64, blake3_128: bytes_digest(bytes) })
}

impl Table {
    /// The name of the table's file.
    pub fn file(self) -> &'static str {
        match self {
            Table::Runs => RUNS,
            Table::Flows => FLOWS,
            Table::Jobs => JOBS,
            Table::Parts => PARTS,
            Table::Series => SERIES,
            Table::Faults => FAULTS,
        }
    }
}

pub(crate) fn read_manifest(dir: &Path) -> Result<Manifest, ResultsError> {
    let path = dir.join(MANIFEST);
    let json = fs::read(&path).map_err(|source| match source.kind() {
        ErrorKind::NotFound if dir.is_dir() => ResultsError::NotResults {
            path: dir.to_owned(),
            why: "it has no manifest.json, which is written last",
        },
        ErrorKind::NotFound => ResultsError::NotResults { path: dir.to_owned(), why: "it does not exist" },
        ErrorKind::NotADirectory => ResultsError::NotResults { path: dir.to_owned(), why: "it is a file" },
        _ => ResultsError::Read { path: path.clone(), source },
    })?;
    /// Only the format number of the manifest. It is read first to distinguish a newer manifest from a damaged one.
    #[derive(Deserialize)]
    struct Version {
        format: u64,
    }
    let text = |error: serde_json::Error| damaged(&path, error.to_string());
    let version: Version = serde_json::from_slice(&json).map_err(text)?;
    if version.format != FORMAT {
        return Err(ResultsError::Format { path, found: version.format, expected: FORMAT });
    }
    let manifest: Manifest = serde_json::from_slice(&json).map_err(text)?;
    let known = [SCENARIO, FACTS, RUNS, FLOWS, JOBS, PARTS, FAULTS, SERIES, MISSING, FIGURE, ANSWER, LIVE];
    match manifest.files.iter().find(|file| !known.contains(&file.name.as_str())) {
        Some(file) => Err(damaged(&path, format!("it lists {:?}; expected {}", file.name, known.join(", ")))),
        None => Ok(manifest),
    }
}

/// Reads a file and compares it with the manifest. The comparison is necessary because the Parquet reader can panic on
/// damaged bytes.
fn read_file(dir: &Path, name: &str, manifest: &Manifest) -> Result<Vec<u8>, ResultsError> {
    let path = dir.join(name);
    let Some(entry) = manifest.files.iter().find(|file| file.name == name) else {
        return Err(damaged(&dir.join(MANIFEST), format!("it does not list {name}")));
    };
    let bytes = fs::read(&path).map_err(|source| ResultsError::Read { path: path.clone(), source })?;
    if bytes.len() as u64 != entry.bytes {
        let why = format!("it has {} bytes, but {} were written", bytes.len(), entry.bytes);
        return Err(damaged(&path, why));
    }
    if bytes_digest(&bytes) != entry.blake3_128 {
        return Err(damaged(&path, "its content is not what was written".to_owned()));
    }
    Ok(bytes)
}

/// Compares a file with the manifest. The file is read in pieces, because it may be larger than memory.
pub(crate) fn check_file(dir: &Path, name: &str, manifest: &Manifest) -> Result<(), ResultsError> {
    let path = dir.join(name);
    let Some(entry) = manifest.files.iter().find(|file| file.name == name) else {
        return Err(damaged(&dir.join(MANIFEST), format!("it does not list {name}")));
    };
    let failed = |source| ResultsError::Read { path: path.clone(), source };
    let mut file = File::open(&path).map_err(failed)?;
    let (mut bytes, mut digest, mut buffer) = (0, BytesDigest::default(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut buffer).map_err(failed)? {
            0 => break,
            some => {
                bytes += some as u64;
                digest.add(&buffer[..some]);
            }
        }
    }
    if bytes != entry.bytes {
        let why = format!("it has {bytes} bytes, but {} were written", entry.bytes);
        return Err(damaged(&path, why));
    }
    if digest.finish() != entry.blake3_128 {
        return Err(damaged(&path, "its content is not what was written".to_owned()));
    }
    Ok(())
}

fn read_runs(dir: &Path, manifest: &Manifest) -> Result<Vec<RunRow>, ResultsError> {
    let (path, mut rows) = (dir.join(RUNS), Vec::new());
    for batch in batches(&path, read_file(dir, RUNS, manifest)?)? {
        rows.extend(runs::decode(&path, &batch?, rows.len())?);
    }
    Ok(rows)
}

fn read_rows<R: Row>(dir: &Path, name: &str, manifest: &Manifest) -> Result<Vec<R>, ResultsError> {
    decode_parquet(&dir.join(name), read_file(dir, name, manifest)?)
}

fn decode_parquet<R: Row>(path: &Path, bytes: Vec<u8>) -> Result<Vec<R>, ResultsError> {
    let mut rows = Vec::new();
    for batch in batches(path, bytes)? {
        rows.extend(R::decode(path, &batch?)?);
    }
    Ok(rows)
}

fn batches(
    path: &Path,
    bytes: Vec<u8>,
) -> Result<impl Iterator<Item = Result<RecordBatch, ResultsError>>, ResultsError> {
    let text = |error: String| damaged(path, format!("not a Parquet file that can be read: {error}"));
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes))
        .and_then(|builder| builder.with_batch_size(ROWS_A_BATCH).build())
        .map_err(|error| text(error.to_string()))?;
    Ok(reader.map(move |batch| batch.map_err(|error| text(error.to_string()))))
}

fn check_run_indices(path: &Path, runs: impl Iterator<Item = u32>, count: usize) -> Result<(), ResultsError> {
    for (row, run) in runs.enumerate() {
        if run as usize >= count {
            return Err(damaged(path, format!("row {row} belongs to run {run}, but there are {count} runs")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
