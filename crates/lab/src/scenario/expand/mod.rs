//! The steps from a document to a resolved scenario with its sweep, and back to text.

pub(in crate::scenario) mod annotated;
pub(in crate::scenario) mod nccl_sweep;
pub(in crate::scenario) mod resolved;
pub(in crate::scenario) mod scenario;
pub(in crate::scenario) mod self_contained;
pub(in crate::scenario) mod sweep;
