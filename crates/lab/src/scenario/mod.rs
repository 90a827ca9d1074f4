//! Scenarios: as written (with short forms, and without defaults), and resolved (with every default explicit).
//!
//! [`read()`] takes the text of a scenario file, and [`read_figure`] the text of a figure file. This module opens no
//! files: the caller supplies their contents through [`Files`].
//!
//! Apart from tests, each submodule imports only from those before it in the order `diagnostic`, `input`, `keys`,
//! `read`, `schema`, `resolve`, `expand`, `check`, `compare`, `ask`, `json_schema`.

mod ask;
mod check;
mod compare;
mod diagnostic;
mod expand;
mod input;
mod json_schema;
mod keys;
mod read;
mod resolve;
mod schema;
#[cfg(test)]
mod tests;

pub use ask::bisection::{Answer, Search};
pub use ask::figure::{
    BallsVariant, Chip, Figure, LosslessReach, ModelSpec, PacketTracking, Scale, Unspecified, read_figure,
    read_figure_under, read_figure_with,
};
pub use ask::question::{Extremum, Find, find_in, read_find};
pub use check::Examined;
pub use compare::fairness::{DerivedChange, Ground, GroundDifference};
pub use expand::resolved::Scenario;
pub use expand::scenario::{read, read_with};
pub use expand::self_contained::INPUTS;
pub use input::{Files, NoFiles, Overrides};
pub use json_schema::{Completion, Completions, SchemaOf, completions, json_schema};
pub use keys::key_type::{Ends, High, KeyType, Low};
pub use keys::section::{Key, KeyDefault, Section};
pub use keys::sections;
pub use keys::series::{PointsOf, SeriesKind};
pub use resolve::scheme::builtin::{SchemeListing, scheme, scheme_on, schemes};
pub use resolve::scheme::catalog::{KindListing, PartListing, Registry};
pub use resolve::setup::{SetupListing, setups};
pub use schema::plugins::Listed;
pub use schema::unknown_keys::also_called;

pub use anabranch_base::{Code, Diagnostic, Fix, Severity, Span};
pub use anabranch_engine::{
    EcnStep, FabricSpec, FaultKind, FaultSpec, Limits, MeasureSpec, MixSpec, ObserverSpec, PfcSpec,
    RoutingMode, RunPoint, Scheme, Series, Several, WrrSpec,
};
pub use anabranch_fabric::{CrossDcSpec, GroupBy, TierSpec, TopologySpec};
pub use anabranch_workload::{IncastsSpec, MessageSpec, PipelineSpec, WorkloadSpec};
