//! What a run leaves behind: the schema, its Parquet files and its digests. Knows no simulator type.
//!
//! The rows are in [`RunRow`], [`FlowRow`], [`JobRow`] and [`SeriesRow`]; a figure adds a [`Figure`].
//! `ResultSet::write` and `ResultSet::read`, of the feature `files`, say how they lie in files.
#![forbid(unsafe_code)]

#[cfg(feature = "files")]
mod columns;
pub mod digest;
mod error;
mod figure;
#[cfg(feature = "files")]
mod files;
mod schema;
mod statistic;

pub use error::ResultsError;
pub use figure::{
    ClaimKind, ClaimResult, ClaimRow, ClaimSpec, ClaimValue, Figure, Outcome, PlotKind, PlotSpec,
};
pub use schema::{FlowRow, JobRow, ResultSet, RunRow, SeriesRow, Value};
pub use statistic::Statistic;
