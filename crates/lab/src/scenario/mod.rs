//! Scenarios: as written (short forms, defaults left out), then resolved (every default explicit).
//!
//! [`read`] takes the text of a scenario file; [`read_figure`] that of a figure file. Nothing here opens a
//! file: who calls supplies them through [`Files`].

mod annotated;
#[cfg(test)]
mod bad_input_cases;
#[cfg(test)]
mod bad_sweep_cases;
mod context;
mod curves;
mod declarations;
mod diagnostic;
mod draft;
mod figure;
mod find;
mod ground;
mod idle_queues;
mod in_step;
mod keys;
mod keys_jobs;
mod kinds;
mod known;
mod late;
mod left_out;
mod lossless;
mod misnamed;
mod mix;
mod number_space;
mod origin;
mod paths;
mod rare_loss;
mod registry;
mod resolved;
mod scheme_limits;
mod schemes;
mod section;
mod setups;
mod short_window;
mod stand_alone;
mod sweep;
mod table;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_bad_input;
#[cfg(test)]
mod tests_cross_dc;
#[cfg(test)]
mod tests_hpcc;
#[cfg(test)]
mod tests_lossless;
#[cfg(test)]
mod tests_mix;
#[cfg(test)]
mod tests_ns3_files;
#[cfg(test)]
mod tests_numbers;
#[cfg(test)]
mod tests_programs;
#[cfg(test)]
mod tests_registry;
#[cfg(test)]
mod tests_settings;
#[cfg(test)]
mod tests_setups;
#[cfg(test)]
mod tests_trimming;
#[cfg(test)]
mod tests_windows;
#[cfg(test)]
mod tests_workloads;
mod too_short;
mod tree;
mod unlike_hosts;
mod without_effect;
mod written;
mod written_jobs;
mod written_rest;
mod written_topology;
mod written_workload;

pub use figure::{
    BallsVariant, Chip, Figure, LosslessReach, ModelSpec, PacketTracking, Scale, Unsaid, read_figure,
    read_figure_under, read_figure_with,
};
pub use find::{Answer, Find, Search, Wanted, find_in, read_find};
pub use ground::{Ground, GroundDifference, Moved};
pub use keys::sections;
pub use registry::{KindListing, Listed, PartListing, Registry};
pub use resolved::{Examined, Scenario};
pub use schemes::{SchemeListing, scheme, scheme_on, schemes};
pub use section::{Key, Section, Unless};
pub use setups::{SetupListing, setups};
pub use stand_alone::INPUTS;
pub use written::{read, read_with};

// What a scenario says in the end is what those who carry it out are given.
pub use anabranch_base::{Code, Diagnostic, Fix, Severity, Span};
pub use anabranch_engine::{
    EcnStep, FabricSpec, FaultKind, FaultSpec, Limits, MeasureSpec, MixSpec, ObserverSpec, PfcSpec,
    RoutingMode, RunPoint, Scheme, Series, Several, WrrSpec,
};
pub use anabranch_fabric::{CrossDcSpec, TierSpec, TopologySpec};
pub use anabranch_workload::{IncastsSpec, MessageSpec, PipelineSpec, WorkloadSpec};

/// Where the files that a scenario names come from.
pub trait Files {
    /// The contents of `name`, as the scenario gives it.
    ///
    /// # Errors
    /// Why it cannot be read, in a few words: `no such file`.
    fn read(&self, name: &str) -> Result<String, String>;

    /// The same of a file that is no text.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    fn read_bytes(&self, name: &str) -> Result<Vec<u8>, String> {
        self.read(name).map(String::into_bytes)
    }
}

/// For scenarios that name no files.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str) -> Result<String, String> {
        Err("no files are given".to_owned())
    }
}

/// What the command line says over the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Schemes to run instead of the file's; empty: the file's.
    pub schemes: Vec<String>,
    /// Seeds to run instead of the file's; empty: the file's.
    pub seeds: Vec<u64>,
    /// Seeds to run where neither names any; empty: seed 1. A comparison wants several ([`Overrides::USUAL_SEEDS`]).
    pub usual_seeds: Vec<u64>,
}

impl Overrides {
    /// The seeds of a comparison that names none: the fewest that give an interval which is not absurdly wide.
    pub const USUAL_SEEDS: [u64; 3] = [1, 2, 3];
}
