//! Comparisons of the ground that schemes run on.

pub(in crate::scenario) mod fairness;
