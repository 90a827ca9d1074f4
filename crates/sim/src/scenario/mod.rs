//! Scenarios: as written (short forms, defaults left out), then resolved (every default explicit).
//!
//! [`read`] takes the text of a scenario file; [`read_figure`] that of a figure file. Nothing here opens a
//! file: who calls supplies them through [`Files`].

mod error;
mod figure;
mod resolved;
mod schemes;
mod spec;

pub use error::ScenarioError;
pub use figure::{
    BallsVariant, ClaimKind, ClaimSpec, Figure, ModelSpec, PaperValue, PlotKind, PlotSpec, Scale, read_figure,
};
pub use resolved::{RunPoint, Scenario};
pub use schemes::{SchemeListing, scheme, schemes};
pub use spec::{
    FabricSpec, FaultKind, FaultSpec, Limits, MeasureSpec, Scheme, Series, TierSpec, TopologySpec,
    WorkloadSpec,
};

/// Where the files that a scenario names come from.
pub trait Files {
    /// The contents of `name`, as the scenario gives it.
    ///
    /// # Errors
    /// Why it cannot be read, in a few words: `no such file`.
    fn read(&self, name: &str) -> Result<String, String>;
}

/// What the command line says over the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Schemes to run instead of the file's; empty: the file's.
    pub schemes: Vec<String>,
    /// Seeds to run instead of the file's; empty: the file's.
    pub seeds: Vec<u64>,
}

/// Reads a scenario, in short or in resolved form.
///
/// # Errors
/// The first fault, with its place and what to write instead.
pub fn read(
    file_name: &str,
    text: &str,
    files: &dyn Files,
    over: &Overrides,
) -> Result<Scenario, ScenarioError> {
    let _ = (files, over);
    toml::from_str(text).map_err(|e| ScenarioError {
        file: file_name.to_owned(),
        line: None,
        column: None,
        message: e.message().to_owned(),
        help: None,
    })
}
