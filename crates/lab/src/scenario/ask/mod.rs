//! Uses of scenarios beyond single runs: searches for a value, and figures.

pub(in crate::scenario) mod bisection;
pub(in crate::scenario) mod figure;
pub(in crate::scenario) mod question;
