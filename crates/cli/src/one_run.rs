//! A single run of a scenario, for `trace` and `pcap`, and the writing of the files of `trace`, `pcap` and `export`.

use crate::failure::{ANOTHER_FILE, Failure, unwritable};
use crate::source::{self, Prepared, ScenarioText};
use crate::whole_file;
use anabranch_sim::scenario::{Overrides, RunPoint};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// Reads a scenario. `scheme` and `seed`, if given, replace the schemes and the seeds of the scenario.
///
/// # Errors
/// Bad input.
pub fn load(
    scenario: &Path,
    scheme: Option<&String>,
    seed: Option<u64>,
) -> Result<(ScenarioText, Prepared), Failure> {
    let over = Overrides {
        schemes: scheme.into_iter().cloned().collect(),
        seeds: seed.into_iter().collect(),
        ..Overrides::default()
    };
    let written = source::open(scenario)?;
    let prepared = source::load(&written, &over)?;
    Ok((written, prepared))
}

/// The first run of a scenario.
///
/// # Errors
/// The scenario has no run.
pub fn first<'p>(prepared: &'p Prepared, scenario: &Path) -> Result<&'p RunPoint, Failure> {
    let none = || Failure::Input(format!("{}: there is nothing to run", scenario.display()));
    prepared.points.first().ok_or_else(none)
}

/// Writes a file, which appears only when it is complete. Symbolic links and devices (`/dev/stdout`) are written
/// directly.
///
/// # Errors
/// The file cannot be written.
pub fn write(file: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let refused = |error: io::Error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::NobodyReads,
        _ => unwritable(file, &error, ANOTHER_FILE),
    };
    whole_file::write(file, fill).map_err(refused)
}
