//! What other programs bring: algorithms, fabrics, workloads and observers of their own, through the front door alone.

mod examples;
mod observed;
mod observers_by_name;
mod panics;
mod registered;
mod support;
