//! Themis for long-haul networks: tests of the paper's examples, of each rule, and of properties for random inputs.

mod cnp_tables;
mod monitor;
mod pnp;
mod qp_field;
mod recirculation;
mod throttling;
mod trp;
mod trp_order;
