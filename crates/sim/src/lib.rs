//! The simulator, for other programs: scenario in, results out. No IO and no clock; parsers take text, never paths.
//!
//! [`scenario::read`] makes a [`scenario::Scenario`] of a text, [`scenario::Scenario::points`] its runs, and [`run()`]
//! carries one out. Everything here is at home in a crate of its own.

pub use anabranch_engine::{Built, Control, RunError, RunResult, build, run};
pub use anabranch_fabric as topology;
pub use anabranch_lab::{model, scenario};
pub use anabranch_workload as workload;
