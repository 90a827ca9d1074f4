//! The simulator: scenario in, results out. No IO and no clock; parsers take text, never paths.

pub mod scenario;
pub mod topology;
pub mod workload;
