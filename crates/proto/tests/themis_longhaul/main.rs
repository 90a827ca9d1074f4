//! Themis for long-haul networks: the paper's examples, its rules one by one, and properties over random inputs.

mod monitor;
mod pnp;
mod qp_field;
