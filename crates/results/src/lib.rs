//! What a run leaves behind: the schema, its Parquet files and its digests. Knows no simulator type.
//!
//! The rows are in [`RunRow`], [`FlowRow`], [`JobRow`] and [`SeriesRow`]; a figure adds a [`Figure`].
//! [`ResultSet::write`] and [`ResultSet::read`] say how they lie in files. Curves may be more than memory holds:
//! [`ResultSet::open`] leaves them where they are.
#![forbid(unsafe_code)]

mod columns;
mod curves;
pub mod digest;
mod error;
mod figure;
mod files;
mod schema;
mod statistic;

pub use curves::{CurveFile, CurvePoints, FiledCurves};
pub use error::ResultsError;
pub use figure::{
    ClaimKind, ClaimResult, ClaimRow, ClaimSpec, ClaimValue, Figure, Outcome, PlotKind, PlotSpec,
};
pub use files::SERIES as SERIES_FILE;
pub use schema::{FlowRow, JobRow, ResultSet, RunRow, SeriesRow, Value};
pub use statistic::Statistic;
