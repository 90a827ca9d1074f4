//! Comparisons of the ground that schemes run on, and the facts that results keep of a scenario.

pub(in crate::scenario) mod facts;
pub(in crate::scenario) mod fairness;
