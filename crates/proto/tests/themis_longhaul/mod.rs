//! Themis for long-haul networks: the paper's examples, its rules one by one, and properties over random inputs.

mod cnp_tables;
mod monitor;
mod pnp;
mod qp_field;
mod recirculation;
mod throttling;
mod trp;
mod trp_order;
