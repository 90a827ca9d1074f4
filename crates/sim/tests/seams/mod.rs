//! Tests of components from other programs: algorithms, fabrics, workloads and observers that use only the public API.

mod examples;
mod observed;
mod observers_by_name;
mod panics;
mod registered;
mod support;
