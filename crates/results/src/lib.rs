//! What a run leaves behind: the schema, its Parquet files and its digests. Knows no simulator type.
#![forbid(unsafe_code)]

mod schema;

pub use schema::{FlowRow, ResultSet, RunRow, SeriesRow, Value};
