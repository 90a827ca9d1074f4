//! The engine from outside.

mod closed_forms;
mod clusters;
mod constants;
mod cross_dc;
mod determinism;
mod engine_rules;
mod faults;
mod flow_rows;
mod hpcc;
mod ideal_bounds;
mod injected;
mod late;
mod livelock;
mod lockstep;
mod longhaul;
mod lossless;
mod mix;
mod parameters;
mod peers;
mod programs;
mod qp_split;
mod support;
mod threads;
mod threads_failing;
mod timers;
mod trimming;
