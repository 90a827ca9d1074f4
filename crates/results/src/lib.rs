//! The results of runs: the schema, its Parquet files and its digests. This crate does not depend on the types of the
//! simulator.
//!
//! The rows are in [`RunRow`], [`FaultRow`], [`FlowRow`], [`JobRow`], [`PartRow`] and [`SeriesRow`]; a figure adds a
//! [`Figure`]. A [`ResultSet`] holds all results of a scenario. With the feature `files`, `ResultSet::write` writes
//! them to a folder, and `ResultSet::read` reads them. Curves may be larger than memory: `ResultSet::open` leaves
//! them on disk.
#![forbid(unsafe_code)]

mod answer;
#[cfg(feature = "files")]
mod columns;
#[cfg(feature = "files")]
mod curves;
#[cfg(feature = "files")]
mod dataset;
mod declared;
pub mod digest;
mod encoder;
mod error;
#[cfg(feature = "files")]
mod export;
mod facts;
#[cfg(feature = "files")]
mod faults;
mod figure;
#[cfg(feature = "files")]
mod files;
mod live;
#[cfg(not(feature = "files"))]
mod no_files;
mod recovery;
mod row_macro;
mod run_end;
#[cfg(feature = "files")]
mod run_keys;
#[cfg(feature = "files")]
mod runs;
mod schema;
mod set;
#[cfg(feature = "files")]
mod sink;
mod statistic;
#[cfg(feature = "files")]
mod stored;

pub use answer::{SearchAnswer, SearchMeasure, Trial};
#[cfg(feature = "files")]
pub use columns::Table;
#[cfg(feature = "files")]
pub use curves::{CurveFile, FiledCurves};
#[cfg(feature = "files")]
pub use dataset::{Dataset, DatasetError};
pub use declared::{Column, ColumnType, Columns};
pub use error::ResultsError;
#[cfg(feature = "files")]
pub use export::write_csv;
pub use facts::{
    FabricFacts, FaultFacts, Overflow, PathChoice, PlaneFacts, PointFacts, ScenarioFacts, SchemeFacts,
    TierFacts, WorkloadFacts,
};
pub use figure::{
    ClaimKind, ClaimResult, ClaimRow, ClaimSpec, ClaimValue, Comparison, DATA_PACKETS_HIT, Explanation,
    Figure, Outcome, PlotKind, PlotSpec, Sensitivity, SensitivityEntry, SetupRow, Spread,
};
#[cfg(feature = "files")]
pub use files::SERIES as SERIES_FILE;
pub use live::LiveRun;
#[cfg(not(feature = "files"))]
pub use no_files::FiledCurves;
pub use recovery::{ALL_HOSTS, GOODPUT, time_to_recover};
pub use run_end::{
    EmptyReason, LongerLimits, RunFailure, RunWarning, SharedWarning, StallReason, WarnedScheme,
};
pub use schema::{CurvePoints, FaultRow, FlowRow, JobRow, PartRow, RunRow, SeriesRow, Value};
pub use set::{MissingRun, ResultSet};
pub use statistic::{Estimate, Statistic};
