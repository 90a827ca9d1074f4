//! The parts of a scenario, read from their tables with every default made explicit.

pub(in crate::scenario) mod class;
mod cluster;
pub(in crate::scenario) mod fabric_values;
mod link_names;
pub(in crate::scenario) mod no_algorithm;
pub(in crate::scenario) mod other_tools;
pub(in crate::scenario) mod rest;
pub(in crate::scenario) mod scheme;
mod server;
pub(in crate::scenario) mod setup;
pub(in crate::scenario) mod simai_conf;
pub(in crate::scenario) mod topology;
pub(in crate::scenario) mod trace;
pub(in crate::scenario) mod workload;
