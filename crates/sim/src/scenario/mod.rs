//! Scenarios: as written, then resolved.

mod spec;

pub use spec::{FabricSpec, FaultKind, FaultSpec, Scheme, TierSpec, TopologySpec, WorkloadSpec};
