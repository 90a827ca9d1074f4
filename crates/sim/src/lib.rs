//! The simulator: scenario in, results out. No IO and no clock; parsers take text, never paths.
//!
//! Start reading at [`run()`].

mod collect;
mod engine;
mod explain;
mod host;
mod ideal;
pub mod model;
mod observer;
mod run;
pub mod scenario;
mod switch;
pub mod topology;
pub mod workload;

#[doc(hidden)]
pub use engine::bench_scheduler;
pub use run::{Built, Control, RunError, RunResult, build, run};
