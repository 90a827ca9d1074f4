//! Comparisons of the setups of schemes, and the facts about a scenario that results contain.

mod fabric;
pub(in crate::scenario) mod facts;
pub(in crate::scenario) mod fairness;
