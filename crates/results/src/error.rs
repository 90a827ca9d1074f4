//! Errors of result files.

use std::io;
#[cfg(feature = "files")]
use std::path::Path;
use std::path::PathBuf;

/// Results that could not be written or read. Every error message begins with the path.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The file system refused a write, for example because the disk is full or the permission is missing.
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// Results cannot be encoded, for example because the file format cannot express a value.
    #[error("{}: cannot be written: {why}", path.display())]
    Encode {
        /// The file.
        path: PathBuf,
        /// The reason, in words.
        why: String,
    },
    /// The file system refused a read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// The path is not a folder of results.
    #[error("{}: not a folder of results: {why}. Name a folder that `anabranch run` or `anabranch reproduce` wrote, such as results/<name>-<digest>", path.display())]
    NotResults {
        /// The path.
        path: PathBuf,
        /// The reason, such as a missing manifest.
        why: &'static str,
    },
    /// The folder was written by a version of Anabranch with another file format.
    #[error("{}: results of format {found}, but this version reads format {expected}. Simulate them again: `anabranch run {}`, or `anabranch reproduce` where they are of a figure", path.display(), path.with_file_name("scenario.toml").display())]
    Format {
        /// The path of the manifest.
        path: PathBuf,
        /// The format that the manifest names.
        found: u64,
        /// The format that this version reads.
        expected: u64,
    },
    /// The file's content is not the content that was written, or cannot be decoded.
    #[error("{}: damaged: {why}. Run the scenario again with --fresh", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The kind of damage, in words.
        why: String,
    },
    /// A Parquet file lacks a column.
    #[error("{}: no column `{column}`; expected one of type {expected}", path.display())]
    MissingColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: &'static str,
        /// The expected type of the column.
        expected: &'static str,
    },
    /// A Parquet column has another type than expected.
    #[error("{}: column `{column}` has type {found}, expected {expected}", path.display())]
    ColumnType {
        /// The file.
        path: PathBuf,
        /// The column.
        column: &'static str,
        /// The type in the file.
        found: String,
        /// The expected type.
        expected: &'static str,
    },
}

#[cfg(feature = "files")]
pub(crate) fn damaged(path: &Path, why: String) -> ResultsError {
    ResultsError::Damaged { path: path.to_owned(), why }
}
