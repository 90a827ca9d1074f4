//! Parts of other programs: algorithms, fabrics, workloads and observers, by the public API alone.

mod examples;
mod observed;
mod observers_by_name;
mod panics;
mod registered;
mod support;
