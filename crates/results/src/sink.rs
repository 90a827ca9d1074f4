//! A writer for files of curves, which may be larger than memory.

use crate::columns::ROWS_A_BATCH;
use crate::digest::BytesDigest;
use crate::run_keys::RunKeys;
use crate::stored::Row;
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

/// A file's entry in the manifest.
#[derive(Serialize, Deserialize)]
pub(crate) struct FileEntry {
    pub name: String,
    pub bytes: u64,
    pub blake3_128: String,
}

/// A Parquet file of curves, which is written one batch at a time.
pub(crate) struct RowSink {
    path: PathBuf,
    /// The keys of the run of each row, or `None` if all rows belong to one run.
    keys: Option<RunKeys>,
    file: Arc<Mutex<HashedFile>>,
    writer: ArrowWriter<SharedFile>,
}

struct HashedFile {
    file: BufWriter<File>,
    bytes: u64,
    digest: BytesDigest,
    write_error: Option<io::Error>,
}

/// Gives the Parquet writer, which owns its output, access to the file.
struct SharedFile(Arc<Mutex<HashedFile>>);

impl Write for SharedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut hashed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match hashed.file.write_all(bytes) {
            Ok(()) => {
                hashed.bytes += bytes.len() as u64;
                hashed.digest.add(bytes);
                Ok(bytes.len())
            }
            Err(error) => {
                let again = io::Error::new(error.kind(), error.to_string());
                hashed.write_error = Some(error);
                Err(again)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl RowSink {
    pub(crate) fn create(path: PathBuf, keys: Option<RunKeys>) -> Result<RowSink, ResultsError> {
        let file =
            File::create(&path).map_err(|source| ResultsError::Write { path: path.clone(), source })?;
        let hashed = HashedFile {
            file: BufWriter::new(file),
            bytes: 0,
            digest: BytesDigest::default(),
            write_error: None,
        };
        let file = Arc::new(Mutex::new(hashed));
        let encode = |why: String| ResultsError::Encode { path: path.clone(), why };
        let schema = with_keys(keys.as_ref(), SeriesRow::encode(&[])).map_err(encode)?.schema();
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = ArrowWriter::try_new(SharedFile(file.clone()), schema, Some(properties))
            .map_err(|error| encode(error.to_string()))?;
        Ok(RowSink { path, keys, file, writer })
    }

    pub(crate) fn rows(&mut self, rows: &[SeriesRow]) -> Result<(), ResultsError> {
        rows.chunks(ROWS_A_BATCH).try_for_each(|rows| {
            let batch = SeriesRow::encode(rows)
                .map_err(|why| ResultsError::Encode { path: self.path.clone(), why })?;
            self.batch(batch)
        })
    }

    pub(crate) fn batch(&mut self, batch: RecordBatch) -> Result<(), ResultsError> {
        let batch = with_keys(self.keys.as_ref(), Ok(batch))
            .map_err(|why| ResultsError::Encode { path: self.path.clone(), why })?;
        self.writer.write(&batch).map_err(|error| write_error(&self.path, &self.file, &error))
    }

    pub(crate) fn finish(self, sync: bool) -> Result<FileEntry, ResultsError> {
        let RowSink { path, file, writer, .. } = self;
        writer.close().map_err(|error| write_error(&path, &file, &error))?;
        let mut hashed = file.lock().unwrap_or_else(PoisonError::into_inner);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let flushed =
            hashed.file.flush().and_then(|()| if sync { hashed.file.get_ref().sync_all() } else { Ok(()) });
        flushed.map_err(|source| ResultsError::Write { path, source })?;
        Ok(FileEntry { name, bytes: hashed.bytes, blake3_128: hashed.digest.finish() })
    }
}

fn with_keys(keys: Option<&RunKeys>, batch: Result<RecordBatch, String>) -> Result<RecordBatch, String> {
    match keys {
        Some(keys) => keys.added_to(&batch?),
        None => batch,
    }
}

/// Writes rows to a file of curves at `path`. The file is not synced, because it is of no use after a crash.
pub(crate) fn write_curves(path: &Path, rows: &[SeriesRow]) -> Result<(), ResultsError> {
    let mut sink = RowSink::create(path.to_owned(), None)?;
    sink.rows(rows)?;
    sink.finish(false).map(drop)
}

fn write_error(path: &Path, file: &Mutex<HashedFile>, error: &dyn std::fmt::Display) -> ResultsError {
    let path = path.to_owned();
    match file.lock().unwrap_or_else(PoisonError::into_inner).write_error.take() {
        Some(source) => ResultsError::Write { path, source },
        None => ResultsError::Encode { path, why: error.to_string() },
    }
}
