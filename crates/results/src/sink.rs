//! Curves on their way into a file, which may be more than memory holds.

use crate::columns::{ROWS_A_BATCH, Row};
use crate::digest::BytesDigest;
use crate::run_keys::RunKeys;
use crate::{ResultsError, SeriesRow};
use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A file as the manifest lists it.
#[derive(Serialize, Deserialize)]
pub(crate) struct FileEntry {
    pub name: String,
    pub bytes: u64,
    pub blake3_128: String,
}

/// A Parquet file of curves on its way to the disk, a batch at a time.
pub(crate) struct RowSink {
    path: PathBuf,
    /// Which run each row is from; none where all are from one.
    keys: Option<RunKeys>,
    file: Arc<Mutex<Counted>>,
    writer: ArrowWriter<Shared>,
}

/// A file with its length and digest so far, and what the file system refused.
struct Counted {
    file: BufWriter<File>,
    bytes: u64,
    digest: BytesDigest,
    refused: Option<io::Error>,
}

/// The Parquet writer's hold on the file.
struct Shared(Arc<Mutex<Counted>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match counted.file.write_all(bytes) {
            Ok(()) => {
                counted.bytes += bytes.len() as u64;
                counted.digest.add(bytes);
                Ok(bytes.len())
            }
            Err(error) => {
                let again = io::Error::new(error.kind(), error.to_string());
                counted.refused = Some(error);
                Err(again)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl RowSink {
    /// Begins the file of curves of runs with these keys, or of one run that needs none.
    pub(crate) fn create(path: PathBuf, keys: Option<RunKeys>) -> Result<RowSink, ResultsError> {
        let file =
            File::create(&path).map_err(|source| ResultsError::Write { path: path.clone(), source })?;
        let counted =
            Counted { file: BufWriter::new(file), bytes: 0, digest: BytesDigest::default(), refused: None };
        let file = Arc::new(Mutex::new(counted));
        let encode = |why: String| ResultsError::Encode { path: path.clone(), why };
        let schema = with_keys(keys.as_ref(), SeriesRow::encode(&[])).map_err(encode)?.schema();
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = ArrowWriter::try_new(Shared(file.clone()), schema, Some(properties))
            .map_err(|error| encode(error.to_string()))?;
        Ok(RowSink { path, keys, file, writer })
    }

    /// Appends rows.
    pub(crate) fn rows(&mut self, rows: &[SeriesRow]) -> Result<(), ResultsError> {
        rows.chunks(ROWS_A_BATCH).try_for_each(|rows| {
            let batch = SeriesRow::encode(rows)
                .map_err(|why| ResultsError::Encode { path: self.path.clone(), why })?;
            self.batch(batch)
        })
    }

    /// Appends a batch of rows that are columns already.
    pub(crate) fn batch(&mut self, batch: RecordBatch) -> Result<(), ResultsError> {
        let batch = with_keys(self.keys.as_ref(), Ok(batch))
            .map_err(|why| ResultsError::Encode { path: self.path.clone(), why })?;
        self.writer.write(&batch).map_err(|error| refused(&self.path, &self.file, &error))
    }

    /// Ends the file. With `sync` it is on the disk then.
    pub(crate) fn finish(self, sync: bool) -> Result<FileEntry, ResultsError> {
        let RowSink { path, file, writer, .. } = self;
        writer.close().map_err(|error| refused(&path, &file, &error))?;
        let mut counted = file.lock().unwrap_or_else(PoisonError::into_inner);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let flushed =
            counted.file.flush().and_then(|()| if sync { counted.file.get_ref().sync_all() } else { Ok(()) });
        flushed.map_err(|source| ResultsError::Write { path, source })?;
        Ok(FileEntry { name, bytes: counted.bytes, blake3_128: counted.digest.finish() })
    }
}

fn with_keys(keys: Option<&RunKeys>, batch: Result<RecordBatch, String>) -> Result<RecordBatch, String> {
    match keys {
        Some(keys) => keys.added_to(&batch?),
        None => batch,
    }
}

/// Writes rows to a file of curves at `path`, which nobody needs after a crash.
pub(crate) fn write_curves(path: &Path, rows: &[SeriesRow]) -> Result<(), ResultsError> {
    let mut sink = RowSink::create(path.to_owned(), None)?;
    sink.rows(rows)?;
    sink.finish(false).map(drop)
}

/// What the file system said, unwrapped, or what the rows cannot say.
fn refused(path: &Path, file: &Mutex<Counted>, error: &dyn std::fmt::Display) -> ResultsError {
    let path = path.to_owned();
    match file.lock().unwrap_or_else(PoisonError::into_inner).refused.take() {
        Some(source) => ResultsError::Write { path, source },
        None => ResultsError::Encode { path, why: error.to_string() },
    }
}
